//! Who may do what: default deny (F30).

pub mod audit;
pub mod budget;
pub mod people;
pub mod rate;
pub mod secrets;

use warren_model::{
    Holder, OrgId, OrgRole, PrincipalKind, Scope, ScopeSet, Timestamp, Token, TokenKind, WorkspaceId,
};

/// Who asks, as far as the decision needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub kind: TokenKind,
    pub org_id: OrgId,
    /// What they may do now; see [`scopes_of`].
    pub scopes: ScopeSet,
    /// Of a person, in that org.
    pub role: Option<OrgRole>,
    /// Whether they run this Warren.
    pub is_admin: bool,
    /// The only workspace a `workspace` or `runner` token speaks for.
    pub workspace_id: Option<WorkspaceId>,
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// See workspaces, their health, files and tools.
    ReadWorkspaces,
    /// Read what is said to a workspace and what came of it: chats, tasks, the queue, what it handed on.
    ReadWork,
    /// Create, change and remove workspaces.
    WriteWorkspaces,
    /// Change files, call tools and read processes' output, under the workspace's policy.
    UseWorkspace,
    /// Run any command, past the policy for models.
    RunAnyCommand,
    ReadEvents,
    ReadTokens,
    WriteTokens,
    /// See which secrets there are; nobody sees their values.
    ReadSecrets,
    WriteSecrets,
    /// Decide what workspaces ask people for.
    DecideApprovals,
    /// Tell somebody outside of what happens in the org.
    TellOutside,
    /// What the operators of an org do in it: people, the audit log, resets.
    OperateOrg,
    /// What only those do who run this Warren: orgs, metrics, sweeps, keys.
    OperateWarren,
    /// Ask who one is, and sign out.
    KnowOneself,
}

impl Action {
    pub const ALL: [Self; 15] = [
        Self::ReadWorkspaces,
        Self::ReadWork,
        Self::WriteWorkspaces,
        Self::UseWorkspace,
        Self::RunAnyCommand,
        Self::ReadEvents,
        Self::ReadTokens,
        Self::WriteTokens,
        Self::ReadSecrets,
        Self::WriteSecrets,
        Self::DecideApprovals,
        Self::TellOutside,
        Self::OperateOrg,
        Self::OperateWarren,
        Self::KnowOneself,
    ];
}

/// What somebody does with a process of a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessDeed {
    /// See that it is there, by number and program.
    See,
    /// Read its output. A terminal shows what people typed, so this is more than seeing files.
    Read,
    /// End it.
    Signal,
    /// Start it.
    Start,
    /// Give it input, or change its terminal. Typing into a shell is running any command.
    Type,
}

impl ProcessDeed {
    pub const ALL: [Self; 5] = [Self::See, Self::Read, Self::Signal, Self::Start, Self::Type];

    /// The action that must be allowed. An agent may do with processes over HTTP what its tools let it do: read and
    /// end them.
    pub const fn action(self) -> Action {
        match self {
            Self::See => Action::ReadWorkspaces,
            Self::Read | Self::Signal => Action::UseWorkspace,
            Self::Start | Self::Type => Action::RunAnyCommand,
        }
    }
}

/// What it is asked of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// No one thing: a list, a new thing.
    Org(OrgId),
    Workspace {
        id: WorkspaceId,
        org_id: OrgId,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Allowed,
    /// The caller may know it exists, but may not do this; the scope that would allow it, if one would.
    Forbidden(Option<Scope>),
    /// To the caller it does not exist.
    Hidden,
}

/// Decides. What is not allowed here is denied.
pub fn decide(caller: &Caller, action: Action, target: Target) -> Access {
    match caller.kind {
        TokenKind::Admin => Access::Allowed,
        TokenKind::User | TokenKind::SignIn => decide_person(caller, action, target),
        TokenKind::Workspace | TokenKind::Runner => decide_workspace(caller, action, target),
        TokenKind::Join | TokenKind::Login => decide_single_use(caller, target),
    }
}

/// These open one door each, by their own routes, and no other. Nor do they tell which workspaces there are.
fn decide_single_use(caller: &Caller, target: Target) -> Access {
    match target {
        Target::Workspace { id, .. } if caller.workspace_id != Some(id) => Access::Hidden,
        Target::Workspace { .. } | Target::Org(_) => Access::Forbidden(None),
    }
}

/// What a token lets its holder do at this moment. A browser may what its user's role says; a token that a person made, never
/// more than they; and whoever runs this Warren may everything in the org in which they are.
pub fn scopes_of(token: &Token, holder: Option<&Holder>) -> ScopeSet {
    let of_role = holder.map(|holder| holder.role_there().map_or(ScopeSet::EMPTY, OrgRole::scopes));
    match token.kind {
        TokenKind::Admin => ScopeSet::all(),
        TokenKind::SignIn => of_role.unwrap_or(ScopeSet::EMPTY),
        TokenKind::User => of_role.map_or(token.scopes, |of_role| token.scopes.and(of_role)),
        TokenKind::Workspace | TokenKind::Join | TokenKind::Runner | TokenKind::Login => token.scopes,
    }
}

/// Whether the person whose token it is may still come in with it. Tokens that are nobody's are judged by other rules.
pub fn is_holder_in(token: &Token, holder: Option<&Holder>) -> bool {
    if token.owner.kind != PrincipalKind::User {
        return true;
    }
    let Some(holder) = holder else { return false };
    if holder.is_removed || holder.is_org_removed {
        return false;
    }
    match token.kind {
        TokenKind::Admin => holder.is_admin,
        TokenKind::User | TokenKind::SignIn | TokenKind::Login => holder.role_there().is_some(),
        TokenKind::Workspace | TokenKind::Join | TokenKind::Runner => true,
    }
}

/// Whether somebody who was let in as `before` would be let in for the same as `after`.
pub fn may_still(before: &Caller, after: &Caller) -> bool {
    let keeps_rights = before.scopes.is_within(after.scopes) && (after.is_admin || !before.is_admin);
    before.org_id == after.org_id && keeps_rights
}

fn decide_person(caller: &Caller, action: Action, target: Target) -> Access {
    let org_id = match target {
        Target::Org(org_id) | Target::Workspace { org_id, .. } => org_id,
    };
    if org_id != caller.org_id {
        return Access::Hidden;
    }
    let needed = match action {
        Action::KnowOneself => return Access::Allowed,
        Action::OperateWarren if caller.is_admin => return Access::Allowed,
        Action::OperateWarren => return Access::Forbidden(None),
        // The org's events leave it: its operators decide that. The right to hand out access goes with it, as with tokens.
        Action::TellOutside if caller.role != Some(OrgRole::Operator) => return Access::Forbidden(None),
        Action::TellOutside => Scope::TokensWrite,
        Action::OperateOrg => Scope::OrgOperate,
        // Whoever may ask may also read the answer.
        Action::ReadWork if caller.scopes.contains(Scope::WorkspacesUse) => Scope::WorkspacesUse,
        Action::ReadWorkspaces | Action::ReadWork => Scope::WorkspacesRead,
        Action::WriteWorkspaces => Scope::WorkspacesWrite,
        Action::UseWorkspace | Action::RunAnyCommand => Scope::WorkspacesUse,
        Action::ReadEvents => Scope::EventsRead,
        Action::ReadTokens => Scope::TokensRead,
        Action::WriteTokens => Scope::TokensWrite,
        Action::ReadSecrets => Scope::SecretsRead,
        Action::WriteSecrets => Scope::SecretsWrite,
        Action::DecideApprovals => Scope::ApprovalsDecide,
    };
    if caller.scopes.contains(needed) { Access::Allowed } else { Access::Forbidden(Some(needed)) }
}

fn decide_workspace(caller: &Caller, action: Action, target: Target) -> Access {
    let is_own = match target {
        Target::Workspace { id, org_id } => caller.workspace_id == Some(id) && caller.org_id == org_id,
        Target::Org(org_id) => org_id == caller.org_id,
    };
    if !is_own {
        return Access::Hidden;
    }
    match (action, target) {
        (Action::KnowOneself, _)
        // Its own secrets are variables of its commands anyway; what its org has is none of its business.
        | (
            Action::ReadWorkspaces
            | Action::ReadWork
            | Action::UseWorkspace
            | Action::ReadEvents
            | Action::ReadSecrets,
            Target::Workspace { .. },
        ) => Access::Allowed,
        (
            Action::ReadWorkspaces
            | Action::ReadWork
            | Action::WriteWorkspaces
            | Action::UseWorkspace
            | Action::RunAnyCommand
            | Action::ReadEvents
            | Action::ReadTokens
            | Action::WriteTokens
            | Action::ReadSecrets
            | Action::WriteSecrets
            | Action::DecideApprovals
            | Action::TellOutside
            | Action::OperateOrg
            | Action::OperateWarren,
            _,
        ) => Access::Forbidden(None),
    }
}

/// Whether a token no longer lets anybody in: expired, revoked, or used up.
pub fn has_ended(token: &Token, now: Timestamp) -> bool {
    let has_expired = token.expires_at.is_some_and(|at| at <= now);
    has_expired || token.revoked_at.is_some() || token.used_at.is_some()
}

/// Whether a token lets its holder speak out of this workspace's box. Whatever somebody brought into a box, or found in it,
/// it is good there for that workspace alone.
pub fn speaks_for_box(token: &Token, workspace: WorkspaceId) -> bool {
    let is_of_workspaces = match token.kind {
        TokenKind::Workspace | TokenKind::Join | TokenKind::Runner => true,
        TokenKind::Admin | TokenKind::User | TokenKind::Login | TokenKind::SignIn => false,
    };
    is_of_workspaces && token.workspace_id == Some(workspace)
}

/// `last_used_at` is that exact, so that a busy token does not cost a write per request.
const TOUCH_INTERVAL_MS: i64 = 60 * 1_000;

/// Whether this use is worth writing down.
pub fn is_use_noted(token: &Token, now: Timestamp) -> bool {
    token.last_used_at.is_none_or(|last| now.ms_since(last) >= TOUCH_INTERVAL_MS)
}

/// Wrong tokens per minute after which the answer is "too many" (sec/U06). Right ones always pass.
const MAX_FAILURES_PER_MINUTE: u32 = 300;

/// Wrong tokens within the current minute.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FailureWindow {
    minute: i64,
    count: u32,
}

impl FailureWindow {
    /// The window with one more failure in it, and whether that is too many.
    #[must_use]
    pub fn after_failure(self, now: Timestamp) -> (Self, bool) {
        let minute = now.as_millis().div_euclid(60_000);
        let count = if minute == self.minute { self.count.saturating_add(1) } else { 1 };
        (Self { minute, count }, count > MAX_FAILURES_PER_MINUTE)
    }
}

/// A token somebody wants made, or ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MintRequest {
    pub kind: TokenKind,
    pub scopes: ScopeSet,
    pub workspace_id: Option<WorkspaceId>,
}

/// When a new token ends: as asked, but never after the one it was made with.
pub fn expiry_of_mint(own: Option<Timestamp>, asked: Option<Timestamp>) -> Option<Timestamp> {
    match (own, asked) {
        (Some(own), Some(asked)) => Some(own.min(asked)),
        (own, asked) => own.or(asked),
    }
}

/// Whether `caller`, who may write tokens, may end this one: what it could have made itself, and nothing wider. Other
/// people's tokens are ended by operators.
pub fn may_revoke(caller: &Caller, token: &MintRequest, is_own: bool) -> bool {
    let runs_org = caller.scopes.contains(Scope::OrgOperate);
    match token.kind {
        _ if caller.is_admin => true,
        // In the browser one is oneself, whatever one's tokens may.
        _ if is_own && caller.kind == TokenKind::SignIn => true,
        TokenKind::User => (is_own || sees_all_tokens(caller)) && token.scopes.is_within(caller.scopes),
        TokenKind::Workspace | TokenKind::Join | TokenKind::Runner => {
            caller.scopes.contains(Scope::WorkspacesUse)
        }
        TokenKind::SignIn => runs_org,
        TokenKind::Admin | TokenKind::Login => false,
    }
}

/// Whether somebody sees what tokens other people have in the org.
pub fn sees_all_tokens(caller: &Caller) -> bool {
    caller.is_admin || caller.role == Some(OrgRole::Operator)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MintRefusal {
    /// This kind is not made on request.
    KindNotOffered,
    /// Nobody makes a token that can do more than their own.
    WiderThanOwn,
    ScopesMissing,
    ScopesNotForKind,
    WorkspaceMissing,
    WorkspaceNotForKind,
}

impl MintRefusal {
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::KindNotOffered => "kind: only admin, user and workspace tokens are made on request",
            Self::WiderThanOwn => "a token cannot make one that may do more than itself",
            Self::ScopesMissing => "scopes: a user token needs at least one",
            Self::ScopesNotForKind => "scopes: only user tokens have them",
            Self::WorkspaceMissing => "workspace_id: a workspace token needs one",
            Self::WorkspaceNotForKind => "workspace_id: only workspace tokens have one",
        }
    }
}

/// Whether `caller`, who may write tokens, may make this one.
pub fn decide_mint(caller: &Caller, request: &MintRequest) -> Result<(), MintRefusal> {
    match request.kind {
        TokenKind::Admin if !caller.is_admin => Err(MintRefusal::WiderThanOwn),
        TokenKind::Admin | TokenKind::User if request.workspace_id.is_some() => {
            Err(MintRefusal::WorkspaceNotForKind)
        }
        TokenKind::Admin | TokenKind::Workspace | TokenKind::Join if !request.scopes.is_empty() => {
            Err(MintRefusal::ScopesNotForKind)
        }
        TokenKind::Admin => Ok(()),
        TokenKind::User if request.scopes.is_empty() => Err(MintRefusal::ScopesMissing),
        TokenKind::User if request.scopes.is_within(caller.scopes) => Ok(()),
        TokenKind::User => Err(MintRefusal::WiderThanOwn),
        TokenKind::Workspace | TokenKind::Join if request.workspace_id.is_none() => {
            Err(MintRefusal::WorkspaceMissing)
        }
        TokenKind::Workspace | TokenKind::Join if caller.scopes.contains(Scope::WorkspacesUse) => Ok(()),
        TokenKind::Workspace | TokenKind::Join => Err(MintRefusal::WiderThanOwn),
        TokenKind::Runner | TokenKind::Login | TokenKind::SignIn => Err(MintRefusal::KindNotOffered),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn workspace(seed: u8) -> WorkspaceId {
        WorkspaceId::from_parts(Timestamp::from_micros(1), [seed; 10])
    }

    fn caller(kind: TokenKind, scopes: &[Scope]) -> Caller {
        let workspace_id = matches!(kind, TokenKind::Workspace | TokenKind::Runner).then(|| workspace(1));
        let is_admin = kind == TokenKind::Admin;
        let scopes = if is_admin { ScopeSet::all() } else { scopes.iter().copied().collect() };
        Caller { kind, org_id: OrgId::DEFAULT, scopes, role: None, is_admin, workspace_id }
    }

    fn person(role: Option<OrgRole>) -> Holder {
        Holder {
            user_id: warren_model::UserId::OPERATOR,
            name: "somebody".parse().unwrap(),
            display_name: "Somebody".into(),
            is_admin: false,
            is_removed: false,
            role,
            is_org_removed: false,
            org_name: None,
        }
    }

    fn of_person(kind: TokenKind, scopes: &[Scope]) -> Token {
        Token {
            id: warren_model::TokenId::from_parts(Timestamp::from_micros(1), [1; 10]),
            kind,
            hash: warren_model::TokenSecret::new(kind, [1; 32]).hash(),
            prefix: String::new(),
            name: String::new(),
            owner: warren_model::Principal::user(warren_model::UserId::OPERATOR),
            org_id: OrgId::DEFAULT,
            workspace_id: None,
            scopes: scopes.iter().copied().collect(),
            created_at: Timestamp::from_micros(1),
            expires_at: None,
            last_used_at: None,
            revoked_at: None,
            used_at: None,
        }
    }

    fn in_browser(role: OrgRole) -> Caller {
        let scopes = scopes_of(&of_person(TokenKind::SignIn, &Scope::ALL), Some(&person(Some(role))));
        Caller { scopes, role: Some(role), ..caller(TokenKind::SignIn, &[]) }
    }

    // F30: a browser has its user's rights, never more
    #[test]
    fn a_browser_may_what_its_users_role_says() {
        let allowed = |role| {
            let who = in_browser(role);
            let may = |action: &Action| decide(&who, *action, Target::Org(OrgId::DEFAULT)) == Access::Allowed;
            Action::ALL.iter().copied().filter(may).collect::<Vec<_>>()
        };
        let reads = [Action::ReadWorkspaces, Action::ReadWork, Action::ReadEvents, Action::KnowOneself];
        assert_eq!(allowed(OrgRole::Viewer), reads);
        let of_operators =
            [Action::WriteSecrets, Action::TellOutside, Action::OperateOrg, Action::OperateWarren];
        let without = |left: &[Action]| {
            Action::ALL.iter().copied().filter(|action| !left.contains(action)).collect::<Vec<_>>()
        };
        assert_eq!(allowed(OrgRole::Member), without(&of_operators));
        assert_eq!(allowed(OrgRole::Operator), without(&[Action::OperateWarren]));
        for role in OrgRole::ALL {
            let elsewhere = Target::Org(OTHER_ORG);
            assert_eq!(decide(&in_browser(*role), Action::ReadWorkspaces, elsewhere), Access::Hidden);
        }
        let runs_warren = Caller { is_admin: true, ..in_browser(OrgRole::Operator) };
        assert_eq!(decide(&runs_warren, Action::OperateWarren, Target::Org(OrgId::DEFAULT)), Access::Allowed);
        assert_eq!(decide(&runs_warren, Action::ReadWorkspaces, Target::Org(OTHER_ORG)), Access::Hidden);
    }

    // F30: a token that was made when its holder could do more does not keep it
    #[test]
    fn a_persons_token_never_may_more_than_they() {
        let wide = of_person(TokenKind::User, &Scope::ALL);
        for role in OrgRole::ALL {
            assert_eq!(scopes_of(&wide, Some(&person(Some(*role)))), role.scopes());
        }
        assert_eq!(scopes_of(&wide, Some(&person(None))), ScopeSet::EMPTY);
        let narrow = of_person(TokenKind::User, &[Scope::EventsRead]);
        assert_eq!(scopes_of(&narrow, Some(&person(Some(OrgRole::Operator)))), narrow.scopes);
    }

    // F30: whoever is gone does not come in
    #[test]
    fn a_token_lets_nobody_in_whose_holder_is_gone_unknown_or_not_in_the_org() {
        let is_in = |kind, holder: Option<&Holder>| is_holder_in(&of_person(kind, &[]), holder);
        let member = person(Some(OrgRole::Member));
        let admin = Holder { is_admin: true, ..person(None) };
        for kind in [TokenKind::User, TokenKind::SignIn, TokenKind::Login] {
            assert!(is_in(kind, Some(&member)) && is_in(kind, Some(&admin)), "{kind:?}");
            assert!(!is_in(kind, Some(&person(None))) && !is_in(kind, None), "{kind:?}");
        }
        assert!(is_in(TokenKind::Admin, Some(&admin)) && !is_in(TokenKind::Admin, Some(&member)));
        for gone in
            [Holder { is_removed: true, ..admin.clone() }, Holder { is_org_removed: true, ..admin.clone() }]
        {
            assert!(!is_in(TokenKind::Admin, Some(&gone)) && !is_in(TokenKind::SignIn, Some(&gone)));
        }
    }

    // F30, sec/U05: a role that is taken away ends what is open
    #[test]
    fn who_may_less_now_or_works_elsewhere_comes_in_anew() {
        let all = OrgRole::ALL;
        for (at, before) in all.iter().enumerate() {
            for (now, after) in all.iter().enumerate() {
                assert_eq!(may_still(&in_browser(*before), &in_browser(*after)), now >= at);
            }
        }
        let operator = in_browser(OrgRole::Operator);
        let moved = Caller { org_id: OTHER_ORG, ..operator.clone() };
        let admin = Caller { is_admin: true, ..operator.clone() };
        assert!(
            !may_still(&operator, &moved) && !may_still(&admin, &operator) && may_still(&operator, &admin)
        );
    }

    // F30: other people's tokens are operators'
    #[test]
    fn members_end_their_own_tokens_and_operators_those_of_others() {
        let ends = |who: &Caller, kind, scopes: &[Scope], is_own| {
            let token = MintRequest { kind, scopes: scopes.iter().copied().collect(), workspace_id: None };
            may_revoke(who, &token, is_own)
        };
        let (member, operator) = (in_browser(OrgRole::Member), in_browser(OrgRole::Operator));
        assert!(ends(&member, TokenKind::User, &Scope::ALL, true), "one's own, however wide it was");
        assert!(!ends(&member, TokenKind::User, &[Scope::EventsRead], false));
        assert!(ends(&operator, TokenKind::User, &Scope::ALL, false));
        assert!(ends(&member, TokenKind::SignIn, &[], true) && !ends(&member, TokenKind::SignIn, &[], false));
        assert!(ends(&operator, TokenKind::SignIn, &[], false));
        assert!(!ends(&operator, TokenKind::Admin, &[], false));
    }

    // F18
    #[test]
    fn only_tokens_of_a_box_s_own_workspace_speak_out_of_it() {
        let token = |kind, workspace_id| Token {
            id: warren_model::TokenId::from_parts(Timestamp::from_micros(1), [1; 10]),
            kind,
            hash: warren_model::TokenSecret::new(kind, [1; 32]).hash(),
            prefix: String::new(),
            name: String::new(),
            owner: warren_model::Principal::workspace(workspace(1)),
            org_id: OrgId::DEFAULT,
            workspace_id,
            scopes: ScopeSet::EMPTY,
            created_at: Timestamp::from_micros(1),
            expires_at: None,
            last_used_at: None,
            revoked_at: None,
            used_at: None,
        };
        for kind in TokenKind::ALL {
            let is_of_workspaces = matches!(kind, TokenKind::Workspace | TokenKind::Join | TokenKind::Runner);
            assert_eq!(
                speaks_for_box(&token(kind, Some(workspace(1))), workspace(1)),
                is_of_workspaces,
                "{kind:?}"
            );
            assert!(!speaks_for_box(&token(kind, Some(workspace(2))), workspace(1)), "{kind:?}");
            assert!(!speaks_for_box(&token(kind, None), workspace(1)), "{kind:?}");
        }
    }

    const OTHER_ORG: OrgId = OrgId::from_bytes([9; 16]);

    // F30
    #[test]
    fn a_user_without_scopes_can_do_nothing_but_know_who_it_is() {
        let nobody = caller(TokenKind::User, &[]);
        for action in Action::ALL {
            let allowed = decide(&nobody, action, Target::Org(OrgId::DEFAULT)) == Access::Allowed;
            assert_eq!(allowed, action == Action::KnowOneself, "{action:?}");
        }
    }

    // F30
    #[test]
    fn a_workspace_token_reaches_its_own_workspace_and_sees_no_other() {
        for kind in [TokenKind::Workspace, TokenKind::Runner] {
            let own = Target::Workspace { id: workspace(1), org_id: OrgId::DEFAULT };
            let other = Target::Workspace { id: workspace(2), org_id: OrgId::DEFAULT };
            assert_eq!(decide(&caller(kind, &[]), Action::UseWorkspace, own), Access::Allowed);
            assert_eq!(decide(&caller(kind, &[]), Action::RunAnyCommand, own), Access::Forbidden(None));
            for action in Action::ALL {
                assert_eq!(decide(&caller(kind, &[]), action, other), Access::Hidden, "{action:?}");
            }
        }
    }

    // F30, W61
    #[test]
    fn an_agent_reads_and_ends_processes_but_starts_none_past_its_policy() {
        let own = Target::Workspace { id: workspace(1), org_id: OrgId::DEFAULT };
        let agent = caller(TokenKind::Workspace, &[]);
        let reader = caller(TokenKind::User, &[Scope::WorkspacesRead]);
        let worker = caller(TokenKind::User, &[Scope::WorkspacesUse, Scope::WorkspacesRead]);
        for deed in ProcessDeed::ALL {
            let may = |who: &Caller| decide(who, deed.action(), own) == Access::Allowed;
            assert_eq!(may(&agent), !matches!(deed, ProcessDeed::Start | ProcessDeed::Type), "{deed:?}");
            assert_eq!(may(&reader), deed == ProcessDeed::See, "{deed:?}");
            assert!(may(&worker), "{deed:?}");
        }
    }

    // F30: who only looks reads chats, and says nothing in them
    #[test]
    fn what_was_said_is_read_by_who_may_see_or_use_a_workspace() {
        let own = Target::Workspace { id: workspace(1), org_id: OrgId::DEFAULT };
        let may = |scope, action| decide(&caller(TokenKind::User, &[scope]), action, own) == Access::Allowed;
        for scope in Scope::ALL {
            let reads = matches!(scope, Scope::WorkspacesRead | Scope::WorkspacesUse);
            assert_eq!(may(scope, Action::ReadWork), reads, "{scope:?}");
        }
        assert!(!may(Scope::WorkspacesRead, Action::UseWorkspace));
    }

    // F32
    #[test]
    fn an_agent_sees_the_names_of_its_own_secrets_and_changes_none() {
        let own = Target::Workspace { id: workspace(1), org_id: OrgId::DEFAULT };
        let agent = caller(TokenKind::Workspace, &[]);
        assert_eq!(decide(&agent, Action::ReadSecrets, own), Access::Allowed);
        assert_eq!(decide(&agent, Action::ReadSecrets, Target::Org(OrgId::DEFAULT)), Access::Forbidden(None));
        for target in [own, Target::Org(OrgId::DEFAULT)] {
            assert_eq!(decide(&agent, Action::WriteSecrets, target), Access::Forbidden(None));
        }
        let reader = caller(TokenKind::User, &[Scope::SecretsRead]);
        assert_eq!(decide(&reader, Action::ReadSecrets, own), Access::Allowed);
        assert_eq!(decide(&reader, Action::WriteSecrets, own), Access::Forbidden(Some(Scope::SecretsWrite)));
    }

    // F30, F10
    #[test]
    fn single_use_tokens_open_no_ordinary_door() {
        for kind in [TokenKind::Join, TokenKind::Login] {
            for action in Action::ALL {
                let mut caller = caller(kind, &Scope::ALL);
                let access = decide(&caller, action, Target::Org(OrgId::DEFAULT));
                assert_eq!(access, Access::Forbidden(None));
                caller.workspace_id = Some(workspace(1));
                let at = |number| Target::Workspace { id: workspace(number), org_id: OrgId::DEFAULT };
                assert_eq!(decide(&caller, action, at(1)), Access::Forbidden(None));
                assert_eq!(decide(&caller, action, at(2)), Access::Hidden);
            }
        }
    }

    // F30
    #[test]
    fn another_org_does_not_exist() {
        let user = caller(TokenKind::User, &Scope::ALL);
        let target = Target::Workspace { id: workspace(3), org_id: OTHER_ORG };
        assert_eq!(decide(&user, Action::ReadWorkspaces, target), Access::Hidden);
    }

    proptest! {
        // F30, sec/U07
        #[test]
        fn nobody_mints_a_token_that_can_do_more_than_their_own(
            own in proptest::collection::vec(proptest::sample::select(Scope::ALL.to_vec()), 0..6),
            asked in proptest::collection::vec(proptest::sample::select(Scope::ALL.to_vec()), 0..6),
        ) {
            let minter = caller(TokenKind::User, &own);
            let request = MintRequest {
                kind: TokenKind::User, scopes: asked.iter().copied().collect(), workspace_id: None,
            };
            if decide_mint(&minter, &request).is_ok() {
                let made = caller(TokenKind::User, &asked);
                for action in Action::ALL {
                    let target = Target::Org(OrgId::DEFAULT);
                    if decide(&made, action, target) == Access::Allowed {
                        prop_assert_eq!(decide(&minter, action, target), Access::Allowed);
                    }
                }
            }
        }
    }

    // F30, sec/U07
    #[test]
    fn nobody_ends_a_token_that_can_do_more_than_their_own() {
        let narrow = caller(TokenKind::User, &[Scope::TokensWrite]);
        let token = |kind, scopes: &[Scope]| MintRequest {
            kind,
            scopes: scopes.iter().copied().collect(),
            workspace_id: None,
        };
        for kind in [TokenKind::Admin, TokenKind::SignIn, TokenKind::Login, TokenKind::Workspace] {
            assert!(!may_revoke(&narrow, &token(kind, &[]), true), "{kind:?}");
            assert!(may_revoke(&caller(TokenKind::Admin, &[]), &token(kind, &[]), false));
        }
        assert!(may_revoke(&narrow, &token(TokenKind::User, &[Scope::TokensWrite]), true));
        assert!(!may_revoke(&narrow, &token(TokenKind::User, &[Scope::WorkspacesWrite]), true));
    }

    // sec/U06
    #[test]
    fn failures_are_counted_by_the_minute_and_forgotten_with_it() {
        let at = |ms: i64| Timestamp::from_micros(ms * 1_000);
        let mut window = FailureWindow::default();
        for number in 1..=MAX_FAILURES_PER_MINUTE + 1 {
            let is_too_many;
            (window, is_too_many) = window.after_failure(at(60_000));
            assert_eq!(is_too_many, number > MAX_FAILURES_PER_MINUTE);
        }
        assert!(!window.after_failure(at(120_000)).1);
    }

    // F30, sec/U07
    #[test]
    fn a_token_that_ends_makes_none_that_outlives_it() {
        let at = |micros| Some(Timestamp::from_micros(micros));
        assert_eq!(expiry_of_mint(at(5), None), at(5));
        assert_eq!(expiry_of_mint(at(5), at(9)), at(5));
        assert_eq!(expiry_of_mint(at(5), at(3)), at(3));
        assert_eq!(expiry_of_mint(None, at(9)), at(9));
        assert_eq!(expiry_of_mint(None, None), None);
    }

    // F30, sec/U07
    #[test]
    fn kinds_that_are_not_made_on_request_are_refused() {
        let admin = caller(TokenKind::Admin, &[]);
        for kind in [TokenKind::Runner, TokenKind::Login, TokenKind::SignIn] {
            let request = MintRequest { kind, scopes: ScopeSet::EMPTY, workspace_id: None };
            assert_eq!(decide_mint(&admin, &request), Err(MintRefusal::KindNotOffered));
        }
        let user = caller(TokenKind::User, &Scope::ALL);
        let request = MintRequest { kind: TokenKind::Admin, scopes: ScopeSet::EMPTY, workspace_id: None };
        assert_eq!(decide_mint(&user, &request), Err(MintRefusal::WiderThanOwn));
    }
}
