//! Stable error codes: one table from which the API's problem documents, the CLI's hints and the reference page
//! are made. A code never changes its meaning; a sentence may be improved.

/// One row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorEntry {
    pub code: &'static str,
    /// The HTTP status it answers with.
    pub status: u16,
    /// The fixed public sentence (F34).
    pub sentence: &'static str,
    /// What to do about it.
    pub remedy: &'static str,
}

macro_rules! error_codes {
    ($($variant:ident = $code:literal, $status:literal, $sentence:literal, $remedy:literal;)*) => {
        /// A stable code for a public failure.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ErrorCode { $($variant),* }

        impl ErrorCode {
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            pub const fn entry(self) -> ErrorEntry {
                match self {
                    $(Self::$variant => ErrorEntry {
                        code: $code, status: $status, sentence: $sentence, remedy: $remedy,
                    }),*
                }
            }
        }
    };
}

error_codes! {
    // Requests
    InvalidJson = "invalid_json", 400, "The request body is not valid JSON.", "Send a JSON document with `Content-Type: application/json`.";
    InvalidRequest = "invalid_request", 400, "The request has a field that is missing, unknown or of the wrong type.", "Compare the request with the API reference; `detail` names the field.";
    InvalidCursor = "invalid_cursor", 400, "The page cursor is not one that Warren gave out.", "Start again without `cursor`.";
    PayloadTooLarge = "payload_too_large", 413, "The request body is larger than this route takes.", "Send less, or raise the limit that `detail` names.";
    UnsupportedMediaType = "unsupported_media_type", 415, "The content type is not one this route takes.", "Send what `detail` names, or `Content-Type: application/json`.";
    MethodNotAllowed = "method_not_allowed", 405, "The route exists, but not with this method.", "See the `Allow` header.";
    RequestTimeout = "request_timeout", 408, "The request took too long to arrive.", "Send the request again, faster.";
    RouteNotFound = "route_not_found", 404, "There is no such route.", "See the API reference.";
    HostNotAllowed = "host_not_allowed", 403, "The Host header names a host that this Warren does not serve.", "Use the address that `warren up` printed, or add the name to `server.allowed_hosts`.";
    OriginNotAllowed = "origin_not_allowed", 403, "The request comes from a page of another origin.", "Open the page from Warren's own address, or add the origin to `server.allowed_origins`.";
    TooManyRequests = "too_many_requests", 429, "Too many requests at once.", "Wait for `Retry-After` seconds and try again.";
    // Identity
    Unauthenticated = "unauthenticated", 401, "The request has no valid token.", "Send `Authorization: Bearer <token>`; `warren token create` makes one.";
    TokenExpired = "token_expired", 401, "The token has expired, was revoked, or was used up.", "Make a new one with `warren token create`, or restart `warren up` for a new sign-in link.";
    Forbidden = "forbidden", 403, "This token may not do that.", "Use a token with the scope that `detail` names.";
    CsrfFailed = "csrf_failed", 403, "A browser request that changes something must carry the page's own header.", "Send the header `X-Warren-Csrf: 1` from the page.";
    TokenNotFound = "token_not_found", 404, "There is no such token.", "List tokens with `warren token ls`.";
    TokenLimit = "token_limit", 409, "This owner already holds as many tokens as allowed.", "Revoke one, or raise `limits.max_tokens_per_owner`.";
    // Sign-in by a provider
    SignInProviderOff = "sign_in_provider_off", 409, "This Warren has no sign-in provider.", "Sign in with a link, or set `[sign_in.provider]` in the config.";
    SignInExpired = "sign_in_expired", 401, "This sign-in was not begun in this browser, or was begun too long ago.", "Begin again from the sign-in page, and finish within ten minutes.";
    SignInDenied = "sign_in_denied", 403, "The sign-in provider did not let you in.", "Try again, perhaps with another account, or ask whoever looks after your account there.";
    SignInFailed = "sign_in_failed", 401, "The answer of the sign-in provider cannot be trusted.", "Try again. If it happens again, tell whoever runs this Warren: the log has the cause.";
    SignInUnavailable = "sign_in_unavailable", 503, "The sign-in provider does not answer.", "Try again in a minute, or sign in with a link.";
    SignInMisconfigured = "sign_in_misconfigured", 502, "Warren and the sign-in provider are not set up for each other.", "Tell whoever runs this Warren: its log and `warren doctor` say what to change. A sign-in link still works.";
    SignInClock = "sign_in_clock", 502, "The clocks of Warren and of the sign-in provider disagree.", "Tell whoever runs this Warren to set its machine's clock. A sign-in link still works.";
    SignInEmailUnverified = "sign_in_email_unverified", 403, "The sign-in provider does not say that your e-mail address is yours.", "Confirm your address at the provider, and sign in again.";
    // Workspaces
    WorkspaceNotFound = "workspace_not_found", 404, "There is no such workspace.", "List workspaces with `warren ws ls`.";
    WorkspaceNotReady = "workspace_not_ready", 409, "The workspace is not in a state that allows this.", "See its status and reason; wait, resume or wake it.";
    WorkspaceFailed = "workspace_failed", 409, "The workspace could not be opened.", "See its reason with `warren ws show`; fix the cause, then reset it or create it again.";
    WorkspaceEvicted = "workspace_evicted", 503, "The workspace was lost while it was in use, and could not be opened again in time.", "Try again; see `warren ws show` if it keeps happening.";
    WorkspaceElsewhere = "workspace_elsewhere", 503, "Another Warren on this database has the workspace's box, and cannot be reached from here.", "Nothing was done. Try again in half a minute: if it is gone, another takes over. `detail` says what is missing otherwise.";
    ReplicaLost = "replica_lost", 502, "The Warren that has the workspace's box broke off before it answered.", "It may have done what was asked, wholly or in part: look before you ask again.";
    ForwardRefused = "forward_refused", 403, "The request says that another Warren passed it on, and that cannot be believed.", "Clients do not send `Warren-Forwarded`. Between replicas: give all of them the same key for secrets, and set their clocks.";
    NotServedHere = "not_served_here", 421, "This Warren is a worker and serves no clients.", "Ask one that was started with `--role api` or `--role all`.";
    WorkspaceLimit = "workspace_limit", 409, "The org already has as many workspaces as allowed.", "Remove some, or raise `limits.max_workspaces_per_org`.";
    ParentNotFound = "parent_not_found", 422, "The parent workspace does not exist in this org.", "Name an existing workspace as parent, or none.";
    ParentCycle = "parent_cycle", 422, "A workspace cannot be its own ancestor.", "Choose another parent.";
    VersionConflict = "version_conflict", 409, "Somebody else changed this in the meantime.", "Read it again and repeat the change.";
    PreconditionFailed = "precondition_failed", 412, "The version that the change names is not the current one.", "Read it again and repeat the change with the version that it has now.";
    TransitionRefused = "transition_refused", 409, "The workspace cannot go from its status to the one asked for.", "See the lifecycle diagram in the reference.";
    CapabilityMissing = "capability_missing", 422, "The workspace does not have this capability.", "Create one with a provider and capabilities that include it.";
    ProviderUnavailable = "provider_unavailable", 503, "The provider is not available on this host.", "Run `warren doctor`; it names what is missing.";
    ImageNotFound = "image_not_found", 422, "The container image was not found.", "Check the name in `image`; pull it first if `pull_policy` is `never`.";
    RegistryNotAllowed = "registry_not_allowed", 403, "Images are not pulled from this registry.", "Use an image of a listed registry, or have an operator list it in `docker.registries` or pull the image on the host.";
    RegistryRefused = "registry_refused", 422, "The registry of images asks for a sign-in, or refuses Warren's.", "An operator sets one with `warren image login REGISTRY`.";
    ImageLoginNotFound = "image_login_not_found", 404, "There is no login for this registry of images.", "List them with `warren image logins`.";
    InvalidConfig = "invalid_config", 422, "The provider's config is not valid.", "`detail` names the field.";
    SharingRefused = "sharing_refused", 422, "Sharing files by id must be allowed explicitly.", "Set `share_across_sessions: true`, or leave `share` out.";
    RefUnreadable = "ref_unreadable", 409, "The record of this workspace was written by a version too far away.", "Run a version of Warren closer to the one that wrote it, or create the workspace again.";
    // Secrets
    SecretNotFound = "secret_not_found", 404, "There is no such secret.", "List secrets with `warren secret ls`.";
    InvalidSecret = "invalid_secret", 422, "The secret's name or value is not one that a variable can have.", "`detail` says what is wrong; a name has letters, digits and `_`, and none that Warren or the system reserves.";
    SecretTooLarge = "secret_too_large", 413, "The secret's value is larger than allowed.", "Keep large things in a file of the workspace, or raise `limits.max_secret_bytes`.";
    SecretLimit = "secret_limit", 409, "This owner already has as many secrets as allowed.", "Remove one, or raise `limits.max_secrets_per_owner`.";
    SecretUnreadable = "secret_unreadable", 503, "A secret of this workspace cannot be opened, so that nothing is run without it.", "Give Warren the key that sealed it (`warren secret ls` shows its id), or set the secret anew.";
    SecretKeyUnusable = "secret_key_unusable", 500, "The key for secrets cannot be used.", "Check `[secrets]` in the config: exactly one of `key_file`, `key_env` and `key_command`, with keys of 32 bytes in base64.";
    // Audit
    AuditBroken = "audit_broken", 500, "The audit log is not what it was when it was written.", "Compare it with a backup or an export; `detail` names the first entry that does not fit.";
    // Backups
    BackupRunning = "backup_running", 409, "Another backup is being made.", "Wait until it has ended, and try again.";
    BackupNeedsDump = "backup_needs_dump", 409, "The database is PostgreSQL, which has its own backups.", "Run `pg_dump` on the database first, then `warren backup --files-only FILE` for the files of each replica.";
    BackupUnusable = "backup_unusable", 422, "The file is not a backup that can be restored. Nothing was changed.", "Take an earlier backup, or one that was copied whole.";
    BackupNewer = "backup_newer", 422, "The backup was made by a newer Warren. Nothing was changed.", "Restore it with that version or a later one.";
    BudgetExhausted = "budget_exhausted", 402, "The workspace has spent its budget for this month.", "Raise it with PUT …/budget, or wait for the next month.";
    SweepNotFound = "sweep_not_found", 404, "There is no such sweep.", "List them with GET /api/v1/admin/sweeps.";
    // Templates and bundles
    InvalidYaml = "invalid_yaml", 400, "The document is not YAML that Warren takes.", "`detail` names the place. Keys stand once; anchors, aliases, merge keys and tags are not taken.";
    InvalidTemplate = "invalid_template", 422, "The template is not valid.", "`detail` names the field; `warren template check FILE` tells the same without a server.";
    TemplateNotFound = "template_not_found", 404, "There is no such template.", "List templates with `warren template ls`, or store it with `warren template put FILE`.";
    TemplateCycle = "template_cycle", 422, "A template leads back to itself.", "`detail` shows the way round; take one of its steps out.";
    TemplateLimit = "template_limit", 409, "The org already has as many templates as allowed.", "Remove some, or raise `limits.max_templates_per_org`.";
    TreeTooLarge = "tree_too_large", 422, "The tree has more workspaces, or is deeper, than one request may make.", "Import it in parts: the branches below a workspace with `expand`.";
    RequiredEnvMissing = "required_env_missing", 412, "Variables that the template requires are not set. Nothing was created.", "Set what `missing` lists, or name in `provided_env` what the runtimes get elsewhere.";
    ParentNotCreated = "parent_not_created", 422, "The workspace above it could not be created.", "See the problem of the one above; import again below an existing workspace.";
    InvalidBundle = "invalid_bundle", 422, "The bundle is not valid.", "`detail` names the field; export it again with `warren bundle export`.";
    BundleTooLarge = "bundle_too_large", 413, "The bundle would be larger than this Warren takes in.", "Export without files, fewer workspaces at once, or raise `limits.max_bundle_bytes`; `detail` names the workspace.";
    BundleNotMade = "bundle_not_made", 422, "Not created, since another workspace of the bundle could not be: a bundle is made whole or not at all.", "See the problems of the others, mend them, and import the bundle again.";
    BundleNewer = "bundle_newer", 422, "The bundle was written by a newer Warren.", "Import it with that version or a later one; nothing was created.";
    // Agents and sessions
    InvalidAgent = "invalid_agent", 422, "The agent's definition is not valid.", "`detail` names the field; mend it and store it again with `warren agent put FILE`.";
    AgentNotFound = "agent_not_found", 404, "There is no such agent, or no such version of it.", "List agents with `warren agent ls`, or store one with `warren agent put FILE`.";
    SessionNotFound = "session_not_found", 404, "There is no such session.", "List sessions with `warren session ls`.";
    WorkspaceExists = "workspace_exists", 409, "The org already has a workspace of this name.", "Choose another name, or use the one that is there: `warren ws show NAME`. A workspace that is removed leaves its name free.";
    SessionExists = "session_exists", 409, "The org already has a session of this name.", "Choose another name, or go on with the one that is there: `warren session send NAME TEXT`.";
    SessionBusy = "session_busy", 409, "A run of the session is under way.", "Wait for its end with `warren session follow NAME`; send with `warren session send NAME TEXT --mode queue`, `steer` or `interrupt`; or stop the run with `warren session interrupt NAME`.";
    StaleRun = "stale_run", 409, "That run is not under way.", "Look at it with `warren session show NAME`: `run` is the number of its latest run.";
    NotPending = "not_pending", 409, "Nothing waits for this: it was decided, handed in or delivered already.", "See what waits with `warren session show NAME`.";
    NothingToResume = "nothing_to_resume", 409, "The session is not one that can be resumed now.", "See what it waits for with `warren session show NAME`; send it a message with `warren session send NAME TEXT`.";
    ToolRuleNotFound = "tool_rule_not_found", 404, "There is no such rule about tool calls.", "List rules with `warren session rules`.";
    StepNotFound = "step_not_found", 404, "The session has no such step.", "List its steps with `warren session steps NAME`.";
    SessionMessageNotFound = "session_message_not_found", 404, "The session has no such message.", "See which messages wait with `warren session show NAME`.";
    BlankMessage = "blank_message", 422, "The message has no text.", "Write something: `warren session send NAME TEXT`.";
    // People and orgs
    UserNotFound = "user_not_found", 404, "There is no such person in this org.", "List people with `warren user ls`, or GET /api/v1/users.";
    OrgNotFound = "org_not_found", 404, "There is no such org, or you are not in it.", "List yours with `warren org ls`, or GET /api/v1/orgs.";
    NameTaken = "name_taken", 409, "Somebody has this name, or one that looks like it.", "Choose a name that nobody takes for somebody else's; `detail` names who has it, if you may see them.";
    AlreadyMember = "already_member", 409, "This person is in the org already.", "Change what they may do with `warren user role NAME ROLE`.";
    LastOperator = "last_operator", 409, "This is the org's last operator: nobody would be left to run it.", "Make somebody else operator first: `warren user role NAME operator`.";
    LastAdmin = "last_admin", 409, "This is the last person who runs this Warren.", "Make somebody else admin first: PATCH /api/v1/users/{user} with `is_admin`.";
    InvitationNotFound = "invitation_not_found", 404, "There is no such invitation.", "Ask whoever invited you for a new link; operators list invitations with `warren user invitations`.";
    InvitationUsed = "invitation_used", 410, "The invitation was used already.", "Sign in as you did before, or ask whoever invited you for a new link.";
    InvitationExpired = "invitation_expired", 410, "The invitation has expired.", "Ask whoever invited you for a new link.";
    InvitationRevoked = "invitation_revoked", 410, "The invitation was taken back.", "Ask whoever invited you.";
    InvitationForAnother = "invitation_for_another", 403, "The invitation is for another person's address.", "Sign in with your organisation's sign-in, by the address that the invitation was made for, or ask for one of your own.";
    NotInvited = "not_invited", 403, "Nobody invited you to this Warren.", "Ask an operator for an invitation, and open its link before you sign in.";
    QuotaExceeded = "quota_exceeded", 409, "The org has as much of this as it may have.", "Remove something, or ask who runs this Warren to raise the org's quota: `warren org set ORG`.";
    OrgNotEmpty = "org_not_empty", 409, "The org still has workspaces.", "Remove them first; `warren ws ls` lists them.";
    OrgProtected = "org_protected", 409, "The first org of a Warren cannot be removed.", "Leave it empty, if you do not need it.";
    // Files
    InvalidPath = "invalid_path", 400, "The path is not valid.", "Use a path relative to the workspace root, without NUL, of at most 4096 bytes.";
    PathEscapes = "path_escapes", 403, "The path leads out of the workspace.", "Stay within the workspace; links that point outside are not followed.";
    FileNotFound = "file_not_found", 404, "There is no such file or directory.", "List the directory to see what is there.";
    FileExists = "file_exists", 409, "Something is already there.", "Choose another name, or allow overwriting.";
    RangeNotSatisfiable = "range_not_satisfiable", 416, "The range begins behind the end of the file.", "Ask for a range within the size that `Content-Range` names.";
    NotAFile = "not_a_file", 409, "The path names a directory where a file is needed.", "Name a file.";
    NotADirectory = "not_a_directory", 409, "The path names a file where a directory is needed.", "Name a directory.";
    DirectoryNotEmpty = "directory_not_empty", 409, "The directory is not empty.", "Remove it recursively.";
    SpecialFile = "special_file", 409, "The path names a device, fifo or socket; these are never opened.", "Name a regular file.";
    FileTooLarge = "file_too_large", 413, "The file is larger than the limit.", "Read a range, or raise `max_file_mb` in the workspace's provider config.";
    NotText = "not_text", 409, "The file is not UTF-8 text.", "Read it as base64.";
    EditNoMatch = "edit_no_match", 409, "The text to replace is not in the file.", "Read the file and copy the text exactly.";
    EditManyMatches = "edit_many_matches", 409, "The text to replace is in the file more than once.", "Add surrounding text to make it unique, or set `all`.";
    InvalidPattern = "invalid_pattern", 400, "The pattern is not valid or too complex.", "See `detail` for the place.";
    RootProtected = "root_protected", 409, "The workspace's own root cannot be removed or moved.", "Name something inside it.";
    PermissionDenied = "permission_denied", 403, "The host does not permit this.", "Check the owner and mode of the file.";
    StorageFull = "storage_full", 507, "There is no space left.", "Free space, or raise the limit.";
    // Commands
    CommandRefused = "command_refused", 403, "The command is not allowed by this workspace's policy.", "`detail` says what was refused and what is allowed.";
    InvalidCommand = "invalid_command", 400, "The command is empty, too long, or has a character that no command may have.", "Send `argv` with at least one word, at most 128 KiB in all, without NUL.";
    ProgramNotFound = "program_not_found", 422, "The program was not found, or is not executable.", "Name a program that exists in the workspace's PATH.";
    ProcessNotFound = "process_not_found", 404, "There is no such process.", "List processes; finished ones are forgotten after a while.";
    ToolNotFound = "tool_not_found", 404, "The workspace has no such tool.", "List its tools with GET …/tools.";
    // Calls to others
    OutboundRefused = "outbound_refused", 422, "The address is not one that Warren calls.", "`detail` says why. Use a public http or https address, or open a private range with `outbound.allow_private`.";
    PeerFailed = "peer_failed", 502, "The peer gave no answer that can be used.", "See whether it runs and can be reached; the log has the cause under the `request_id`.";
    WebhookNotFound = "webhook_not_found", 404, "There is no such webhook, or no such call of it.", "List them with `warren webhook ls`.";
    WebhookLimit = "webhook_limit", 409, "There are as many webhooks or channels as allowed.", "Remove one, or raise `limits.max_webhooks_per_org`.";
    ChannelNotFound = "channel_not_found", 404, "There is no such channel.", "List them with `warren webhook doors`.";
    HookRefused = "hook_refused", 403, "The message is not signed as it should be, or the channel does not exist.", "Sign it with the channel's secret, at the time at which it is sent.";
    HopLimit = "hop_limit", 508, "The message has passed through too many Warrens.", "Look for agents that send to each other in a circle.";
    // Messages, tasks and delegations
    InvalidUpload = "invalid_upload", 400, "The form is not one that files can be taken from.", "Send `multipart/form-data` with 1 to 20 files, each with a name and the type that its bytes have.";
    InvalidMessage = "invalid_message", 422, "The message is not one that can be delivered.", "`detail` names what is wrong; a message has an id and at least one part.";
    TaskNotFound = "task_not_found", 404, "There is no such task.", "List the workspace's tasks with `warren task ls`, or GET …/tasks.";
    TaskNotOpen = "task_not_open", 409, "The task takes no message now.", "Wait until it asks for input, or send the message without a task to begin a new one.";
    TaskNotCancelable = "task_not_cancelable", 409, "The task has ended, or its agent does not let go of it.", "Look at its state with `warren task show`, or GET …/tasks/{task}.";
    DeliveryNotFound = "delivery_not_found", 404, "There is no such message in the queue.", "List the queue with `warren queue ls`.";
    ClaimLost = "claim_lost", 409, "This claim on the message has ended; somebody else may have it, or it has ended.", "Stop working on it, and claim the next one.";
    RuntimeBusy = "runtime_busy", 503, "The agent is busy and keeps its own session: nothing was queued.", "Try again after `Retry-After` seconds.";
    NoAgent = "no_agent", 409, "The workspace has no agent that could answer: it is hosted, and names neither an agent nor a model.", "Give it one: `PATCH /api/v1/workspaces/{id}` with `agent` (a stored agent) or `model`; or make a workspace that has one: `warren ws create NAME --agent AGENT`, or `--model scripted/tour` to try it; `warren ws create NAME --runtime resident -- PROGRAM` runs a program in it; with `--runtime external`, a program that runs elsewhere registers.";
    QueueFull = "queue_full", 429, "As many messages wait for this workspace as may.", "Try again later, or raise `exchange.max_waiting`.";
    KeyReused = "idempotency_key_reused", 422, "The same key, or message id, was used for something else.", "Use a new key for a new message.";
    DelegationNotFound = "delegation_not_found", 404, "There is no such delegation.", "List them with GET …/delegations.";
    DelegationCycle = "delegation_cycle", 409, "The work has come through that workspace already.", "Hand it to another one, or do it here.";
    DelegationTooDeep = "delegation_too_deep", 409, "The work has been handed on as often as it may.", "Do it here, or begin anew.";
    // Chat
    ConversationNotFound = "conversation_not_found", 404, "There is no such conversation.", "List them with `warren chat ls WORKSPACE`.";
    ConversationLimit = "conversation_limit", 409, "The workspace has as many conversations, or this one as many messages, as allowed.", "Delete a conversation, or begin a new one; `exchange.max_conversations` and `exchange.max_chat_messages` are the limits.";
    // Schedules
    ScheduleNotFound = "schedule_not_found", 404, "There is no such schedule.", "List a workspace's schedules with `warren schedule ls`.";
    InvalidSchedule = "invalid_schedule", 422, "The schedule is not valid.", "`detail` names the field and what it may be.";
    ScheduleNeverFires = "schedule_never_fires", 422, "No moment matches the cron expression.", "Name a day that exists: the 30th of February never comes.";
    UnknownTimeZone = "unknown_time_zone", 422, "There is no such time zone.", "Use a name of the IANA database such as `Europe/Zurich`; `detail` names the nearest.";
    ScheduleTooFrequent = "schedule_too_frequent", 422, "The schedule fires more often than allowed.", "Choose a longer interval, or lower `limits.min_schedule_interval_seconds`.";
    ScheduleExists = "schedule_exists", 409, "The workspace already has a schedule by this name.", "Choose another name, or change the one that is there.";
    ScheduleLimit = "schedule_limit", 409, "There are already as many schedules as allowed.", "Remove one, or raise `limits.max_schedules_per_workspace` or `limits.max_schedules_per_org`.";
    ScheduleUnreadable = "schedule_unreadable", 409, "The schedule was written by another version of Warren, and cannot be read.", "Go back to that version, or remove the schedule and make it anew.";
    // Memory and approvals
    MemoryNotFound = "memory_not_found", 404, "Nothing is remembered under this key.", "Search with `warren memory search`, or look in another scope.";
    InvalidMemory = "invalid_memory", 422, "The key or value cannot be remembered.", "`detail` says what is wrong; a key has 1 to 200 characters and is no credential.";
    MemoryTooLarge = "memory_too_large", 413, "The value is larger than is remembered.", "Keep large things in a file of the workspace, or raise `limits.max_memory_bytes`.";
    MemoryLimit = "memory_limit", 409, "As much is remembered there as may be.", "Forget something, use a time to live, or raise `limits.max_memories_per_place`.";
    ApprovalNotFound = "approval_not_found", 404, "There is no such question.", "List them with `warren approval ls`.";
    InvalidApproval = "invalid_approval", 422, "The question is not valid.", "`detail` names the field and what it may be.";
    ApprovalOver = "approval_over", 409, "The question is decided already, or nobody decided it in time.", "See what was decided with `warren approval show`.";
    ApprovalLimit = "approval_limit", 409, "As many questions of this workspace wait as may.", "Decide some, or raise `limits.max_pending_approvals`.";
    NotAPerson = "not_a_person", 403, "Only a person decides this.", "Decide it with a person's token, on the page or with `warren approval approve`.";
    // Platform
    PlatformUnavailable = "platform_unavailable", 503, "Warren cannot reach its database.", "Check the database; Warren recovers by itself when it is back.";
    ShuttingDown = "shutting_down", 503, "Warren is shutting down.", "Try again in a moment.";
    Internal = "internal", 500, "Something went wrong inside Warren.", "Look for the `request_id` in the log.";
    // Start-up; these reach people through the CLI.
    ConfigInvalid = "config_invalid", 500, "The configuration is not valid.", "Run `warren config check`.";
    DataFolderUnusable = "data_folder_unusable", 500, "The data folder cannot be used.", "Choose another one with `--data`, or fix its owner and mode.";
    DataFolderNotEmpty = "data_folder_not_empty", 409, "There is something in the data folder already.", "Name a folder that does not exist yet, or is empty, with `--data DIR`; a restore writes over nothing.";
    DataFolderInUse = "data_folder_in_use", 500, "Another Warren is running on this data folder.", "Stop it, or choose another folder with `--data`.";
    AddressInUse = "address_in_use", 500, "The address is already in use.", "Choose another one with `--listen`, for example `--listen 127.0.0.1:0`.";
    DatabaseNewer = "database_newer", 500, "The database was written by a newer Warren.", "Run that version or a later one; the database was not changed.";
    DatabaseDamaged = "database_damaged", 500, "The database is damaged, lost, or not one that this Warren made.", "Restore a backup, or run the version that wrote the database.";
    InvalidUsage = "invalid_usage", 400, "The command line is not valid.", "Run the command with `--help`.";
    AmbiguousName = "ambiguous_name", 409, "More than one workspace has this name.", "Name it by its id; `warren ws ls` shows the ids.";
    LocalFileFailed = "local_file_failed", 500, "A file on this machine could not be read or written.", "Check that it exists, and its owner and mode.";
    UnexpectedAnswer = "unexpected_answer", 500, "What answered is not a Warren of this version.", "Check WARREN_URL, and compare `warren version` with the server's.";
    ServerUnreachable = "server_unreachable", 500, "The server does not answer.", "Start it with `warren up`, or set WARREN_URL to where it runs.";
}

impl ErrorCode {
    pub const fn as_str(self) -> &'static str {
        self.entry().code
    }

    pub fn parse(code: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|one| one.as_str() == code)
    }
}

impl std::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // S20
    #[test]
    fn codes_are_unique_and_every_one_has_a_sentence_and_a_remedy() {
        let mut seen = std::collections::BTreeSet::new();
        for code in ErrorCode::ALL {
            let entry = code.entry();
            assert!(seen.insert(entry.code), "{} twice", entry.code);
            assert!(entry.sentence.ends_with('.') && entry.remedy.ends_with('.'), "{}", entry.code);
            assert!((400..600).contains(&entry.status), "{}", entry.code);
            assert_eq!(ErrorCode::parse(entry.code), Some(*code));
        }
    }
}
