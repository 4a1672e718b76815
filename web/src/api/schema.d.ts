// Generated from openapi/v1.json by `npm run generate`. Do not edit.

export interface paths {
    "/api/v1/workspaces": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List workspaces, oldest first. */
        get: operations["list_workspaces"];
        put?: never;
        /**
         * Make a workspace.
         * @description The answer is durable. A hosted workspace is `online` a moment later, or `failed` with a reason.
         */
        post: operations["create_workspace"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show one workspace. */
        get: operations["show_workspace"];
        put?: never;
        post?: never;
        /**
         * Remove a workspace, all workspaces below it, and their files.
         * @description The intent is durable before anything is stopped. The answer waits a few seconds for the stop and tells how far it
         *     went: 200 when nothing is left, 202 when something is; that goes on by itself, also after a crash. Removing twice is
         *     fine, and tries again.
         */
        delete: operations["remove_workspace"];
        options?: never;
        head?: never;
        /**
         * Change a workspace. What is absent stays as it is.
         * @description A change of its provider's config or of its capabilities needs a new box: the answer has the status `provisioning` and
         *     `behind_of`, and the workspace is brought up anew by itself.
         */
        patch: operations["change_workspace"];
        trace?: never;
    };
    "/api/v1/workspaces/{id}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Put a workspace and all below it to rest.
         * @description What runs in them ends; files stay. Nothing but a resume brings them back.
         */
        post: operations["pause_workspace"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End the rest of a workspace and of all below it.
         * @description Refused below a workspace that is paused.
         */
        post: operations["resume_workspace"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/hibernate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Put a workspace to sleep until a message comes. */
        post: operations["hibernate_workspace"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/wake": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Wake a workspace. */
        post: operations["wake_workspace"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/restart": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Bring a workspace up anew.
         * @description What runs in it ends, files stay. A change that comes meanwhile is not lost: the generation tells them apart.
         */
        post: operations["restart_workspace"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/reset": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Have a failed workspace tried again (operators). */
        post: operations["reset_workspace"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What is known about the place behind a workspace. */
        get: operations["workspace_health"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/expand": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make a team below a workspace.
         * @description As an import: 412 with all that is missing, 201 when all were made, 207 with a problem for each that was not.
         */
        post: operations["expand_workspace"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/collapse": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Remove all below a workspace; the workspace itself stays.
         * @description As a removal: 200 when nothing is left of them, 202 when something is, which goes on by itself.
         */
        post: operations["collapse_workspace"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/position": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Put a workspace somewhere on your map. Nobody else sees it there. */
        put: operations["put_position"];
        post?: never;
        /** Take a workspace off its place on your map. */
        delete: operations["remove_position"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/bundle": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export a workspace as a bundle: with what it remembers and its schedules, without ids, tokens, secrets and state.
         * @description Files come along on request, as they are: what somebody wrote into them is not masked. Links and special files are left
         *     out, and `warnings` says so. A bundle of more than `limits.max_bundle_bytes` is refused (413, `bundle_too_large`), by the
         *     name of the workspace with which it became too large.
         */
        get: operations["export_bundle"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/bundles": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Import a bundle, under new ids.
         * @description All of its workspaces are made, with what they remember and their schedules, or none: 412 with all that is missing, 207
         *     with the problem of each that could not be. Then their files are written. 201: all is there; 207 with ids: some files
         *     could not be written, and `files` says which. Rules about peers follow the workspaces of the bundle; those about
         *     workspaces that are not here are left out, and `warnings` says so. The body may be larger than others, by
         *     `limits.max_bundle_bytes`.
         */
        post: operations["import_bundle"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/templates": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List templates, by name. */
        get: operations["list_templates"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/templates/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show one template. */
        get: operations["show_template"];
        /**
         * Store a template, in place of what has its name.
         * @description The document is YAML or JSON; it may leave its own name out, or must have this one. Templates that it names may come
         *     later, but must not lead back to it.
         */
        put: operations["put_template"];
        post?: never;
        /** Remove a template. Workspaces that were made from it stay. */
        delete: operations["remove_template"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/orgs/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make a tree of workspaces.
         * @description Required variables are checked first, over the whole tree: if one is missing, the answer is 412 with all that are,
         *     and nothing is made. Then parents are made before their children. 201: all of them; 207: some could not be made, and
         *     each has its own problem.
         */
        post: operations["import_tree"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/schedules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the schedules of a workspace. */
        get: operations["list_workspace_schedules"];
        put?: never;
        /** Make a schedule of a workspace. */
        post: operations["create_schedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List all schedules. */
        get: operations["list_schedules"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** When a schedule would fire. Nothing is stored. */
        post: operations["preview_schedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show one schedule, with its next slots. */
        get: operations["show_schedule"];
        put?: never;
        post?: never;
        /** Remove a schedule, with the record of its runs. */
        delete: operations["remove_schedule"];
        options?: never;
        head?: never;
        /** Change a schedule. What is absent stays. */
        patch: operations["change_schedule"];
        trace?: never;
    };
    "/api/v1/schedules/{id}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Pause a schedule. Slots that pass meanwhile are not missed. */
        post: operations["pause_schedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Resume a schedule: its next slot is the first from now on. */
        post: operations["resume_schedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{id}/run": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Have a schedule fire now, whether it is paused or not.
         * @description The answer is durable; what became of it is in the list of runs.
         */
        post: operations["run_schedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{id}/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What became of a schedule's slots, the newest first. */
        get: operations["list_schedule_runs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/memory": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List all that a workspace can read, in order of creation. */
        get: operations["list_memories"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/memory/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Search what a workspace can read, the best first.
         * @description Words of the key count most, then how often they come, then how new it is.
         */
        get: operations["search_memories"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/memory/{scope}/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Recall what is remembered under a key. */
        get: operations["recall"];
        /**
         * Remember something, in place of what is there under its key.
         * @description Credentials in the value are masked before it is written: the secrets of the workspace and its org, and what looks like
         *     one.
         */
        put: operations["remember"];
        post?: never;
        /** Forget something. */
        delete: operations["forget"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the providers of models, and which of them have a key. No key is ever shown. */
        get: operations["list_models"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/agents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List agents, by name: the version that each name stands for now. */
        get: operations["list_agents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/agents/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show an agent: the version that its name stands for now. */
        get: operations["show_agent"];
        /**
         * Store an agent. From now on its name stands for this version.
         * @description The document is YAML or JSON; it may leave its own name out, or must have this one. Sessions keep the version that
         *     they began with until they are upgraded. 201: the content is new; 200: it was stored before.
         */
        put: operations["put_agent"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/agents/{name}/versions/{hash}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show one version of an agent. */
        get: operations["show_agent_version"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List sessions, the newest first. */
        get: operations["list_sessions"];
        put?: never;
        /**
         * Begin a session with an agent in a workspace. It waits for its first message.
         * @description The same `Idempotency-Key` is the same session.
         */
        post: operations["create_session"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a session, by its name or its id. */
        get: operations["show_session"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session}/pending": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What a session waits for: approvals, calls that the caller runs, and messages that the model has not seen. */
        get: operations["list_pending"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session}/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow a session: all that happens in it, from any entry on.
         * @description Server-sent events: `id` is the sequence, `event` the type, `data` a `SessionEntry`. `Last-Event-ID` resumes,
         *     without gap or repeat. Hanging up cancels nothing.
         */
        get: operations["follow_session"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session}/chat": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Chat with a session through the AI SDK (`useChat`).
         * @description The body and the answer are those of `DefaultChatTransport`. Read from the body are the last message of the user, results
         *     of calls that wait for the client, and decisions about calls that wait for a person; the history in it is ignored. The
         *     answer ends when the run ends or waits for somebody. Hanging up cancels nothing.
         */
        post: operations["chat_with_session"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session}/chat/{chat}/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Go on reading the current message of a chat, from its start. This is where the AI SDK's `resumeStream` asks.
         * @description 204: nothing is under way. `chat` is whatever the client calls its chat, or the id of a message of the assistant, which
         *     is then shown even if it is over.
         */
        get: operations["resume_chat"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Say something to the agent of a session.
         * @description What is accepted is on disk and ends as delivered or dropped; the answer does not wait for that. The same
         *     `Idempotency-Key` is the same message. While a run is under way, `mode` says what becomes of it.
         */
        post: operations["send_session_message"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session}/messages/{message}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a message to a session, and what became of it. */
        get: operations["show_session_message"];
        put?: never;
        post?: never;
        /** Take back a message that the model has not seen. */
        delete: operations["cancel_session_message"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session}/approvals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Decide about a tool call that waits for a person. People only.
         * @description Each question is decided once. `arguments` replace what the model proposed; both are kept. With an `Idempotency-Key`
         *     the same decision again, by the same one, is answered with what was decided.
         */
        post: operations["decide_call"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session}/tool-results": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Hand in what a tool of the caller gave, or what the user answered. The same again is answered the same. */
        post: operations["submit_tool_result"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session}/interrupt": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Stop a run at its next safe point. It can be resumed.
         * @description The same `Idempotency-Key` is the same stop: it is answered as before, also once the run has ended.
         */
        post: operations["interrupt_session"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session}/abort": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Fail a run now. Its messages that wait are dropped.
         * @description The same `Idempotency-Key` is the same stop: it is answered as before, also once the run has ended.
         */
        post: operations["abort_session"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Go on after an interrupt, an exhausted budget or a circle. Only people set new limits. */
        post: operations["resume_session"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session}/rewind": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Go back to the end of a step, in place. Later steps stay stored and are not shown to the model. */
        post: operations["rewind_session"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session}/branch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Begin a new session with the steps of this one up to one of them. */
        post: operations["branch_session"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session}/upgrade": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Move a session to the version that its agent's name stands for now, and tell what is different. */
        post: operations["upgrade_session"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session}/steps": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the steps that the model is shown, in their order, and the one that is under way. */
        get: operations["list_steps"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session}/steps/{step}/context": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show what the model was shown for a step, without the secrets of its workspace, and what took how much of it. */
        get: operations["show_step_context"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session}/checkpoints": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the places to go back to (`rewind`) or to begin a new session from (`branch`): the end of each step. */
        get: operations["list_checkpoints"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/approvals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the questions of a workspace, the newest first. */
        get: operations["list_workspace_approvals"];
        put?: never;
        /** Ask people for a decision, as a workspace. */
        post: operations["request_approval"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/approvals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List all questions, the newest first. */
        get: operations["list_approvals"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/approvals/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a question, or wait for its answer.
         * @description With `wait_ms` the answer comes at once when it is decided, on whichever replica that happens. Who waits longer asks
         *     again; nothing is lost in between, not by a restart either.
         */
        get: operations["show_approval"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/approvals/{id}/approve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Approve what a workspace asks for. People only.
         * @description With an `Idempotency-Key` the same decision again, by the same one, is answered with what was decided.
         */
        post: operations["approve"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/approvals/{id}/withdraw": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Take a question of one's own back.
         * @description For the workspace that asked: it waits for no answer any more, since its work ended or its program died. The question
         *     is `void`, with the reason as its note. One that is decided already stays as it is.
         */
        post: operations["withdraw_approval"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/approvals/{id}/deny": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Deny what a workspace asks for. People only.
         * @description With an `Idempotency-Key` the same decision again, by the same one, is answered with what was decided.
         */
        post: operations["deny"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tool-rules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List rules about tool calls, the newest first, also those that count no more. */
        get: operations["list_tool_rules"];
        put?: never;
        /**
         * Make a rule about tool calls. People only.
         * @description A rule that denies wins over every other, whoever made it; what the agent's own policies deny no rule allows. Among
         *     the others the narrowest scope decides, and in it the newest rule.
         */
        post: operations["create_tool_rule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tool-rules/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a rule about tool calls. */
        get: operations["show_tool_rule"];
        put?: never;
        post?: never;
        /** Revoke a rule about tool calls. People only. It stays in the list. */
        delete: operations["revoke_tool_rule"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/files": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a file or list a directory.
         * @description A file comes as bytes (`Range` is understood), a directory as JSON; the header `X-Warren-Entry` says which. A client that
         *     was generated from this document reads files here, and directories with `list_directory`.
         */
        get: operations["read_file"];
        /** Write a file, atomically: readers see the old contents or the new. */
        put: operations["write_file"];
        post?: never;
        /** Delete a file or directory. A link is deleted itself. */
        delete: operations["delete_file"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/files/move": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Move or rename something inside the workspace. */
        post: operations["move_file"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/files/directory": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List a directory. */
        get: operations["list_directory"];
        put?: never;
        /** Make a directory; there already is fine. */
        post: operations["make_directory"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/files/watch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Watch files.
         * @description Waits for the next changes from now on and answers with them. With `Accept: text/event-stream` they come as they happen,
         *     one `FileWatchFrame` per event; the first is `watching`. What changed before, or between two streams, is not told: list
         *     the directory after `watching`.
         */
        get: operations["watch_files"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/exec": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Run a command to its end.
         * @description With `Accept: text/event-stream` the output comes as it is made, one `ExecFrame` per event. A client that
         *     hangs up ends the command, and so does the end of its token.
         */
        post: operations["run_command"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/processes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the processes of a workspace. */
        get: operations["list_processes"];
        put?: never;
        /**
         * Start a process that outlives the request.
         * @description It lives until it ends, its timeout comes, it is signalled, or the workspace closes.
         */
        post: operations["start_process"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/processes/{process}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show one process. */
        get: operations["get_process"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/processes/{process}/output": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the output of a process from an offset on.
         * @description With `Accept: text/event-stream` it comes as it is made, one `ProcessFrame` per event; `id` is the offset behind
         *     it, and `Last-Event-ID` resumes. Whoever resumes behind `exited`, as an `EventSource` does by itself, is answered 204:
         *     nothing follows, and it does not ask again.
         */
        get: operations["read_process_output"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/processes/{process}/stdin": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Write to the input of a process. */
        post: operations["write_process_input"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/processes/{process}/resize": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Change the size of a process's terminal. */
        post: operations["resize_process"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/processes/{process}/signal": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Signal a process and all it started.
         * @description One that has ended already is left as it is.
         */
        post: operations["signal_process"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/terminal": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Work in a terminal, over a WebSocket.
         * @description Binary messages are bytes, both ways. Text messages are a `TerminalFrame` from the server and a `TerminalRequest`
         *     from the client. A browser's request must carry an `Origin` that is served.
         */
        get: operations["open_terminal"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/tools": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The tools a model can be given for this workspace. */
        get: operations["list_tools"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/tools/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Call a tool with its arguments.
         * @description A refusal by policy is an answer (`refused`), in words a model can act on; it is no error.
         */
        post: operations["call_tool"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List tokens that work, oldest first; never their secrets. */
        get: operations["list_tokens"];
        put?: never;
        /** Make a token. Its secret is in this answer and nowhere else. */
        post: operations["create_token"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke a token, and end what was made with it.
         * @description Tokens that were made with it are revoked too, schedules paused, webhooks stopped and channels removed. Streams opened
         *     with it end within seconds. Revoking twice is fine.
         */
        delete: operations["revoke_token"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens/{id}/made": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List what was made with a token and is still active: tokens, schedules, webhooks and channels, also those that were made
         *     with tokens that it made. This is what ends when it is revoked.
         */
        get: operations["list_made_with_token"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/secrets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the org's secrets by name; never their values. */
        get: operations["list_secrets"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/secrets/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Set a secret of the org, for all its workspaces.
         * @description Running workspaces get the new value by a restart, a few at a time; commands that start from now on get it at once.
         */
        put: operations["set_secret"];
        post?: never;
        /** Remove a secret of the org. */
        delete: operations["remove_secret"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/secrets/rotate-key": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Seal all secrets anew (operators): under a new key where the server keeps its keys in a file. */
        post: operations["rotate_secret_key"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/secrets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List a workspace's own secrets by name; never their values. */
        get: operations["list_workspace_secrets"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/secrets/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Set a secret of one workspace. It wins over the org's of the same name. */
        put: operations["set_workspace_secret"];
        post?: never;
        /** Remove a secret of one workspace. The org's of the same name, if there is one, takes its place. */
        delete: operations["remove_workspace_secret"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/image-logins": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List who Warren signs in as at registries of images (operators); never the passwords. */
        get: operations["list_image_logins"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/image-logins/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Set who Warren signs in as when it pulls images from a registry (operators).
         * @description It counts for every workspace from the next pull on. The registry must also be in `docker.registries`.
         */
        put: operations["set_image_login"];
        post?: never;
        /** Remove the login at a registry of images (operators). Images that are on the host stay. */
        delete: operations["remove_image_login"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the audit log, from either end (operators). */
        get: operations["list_audit_entries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/audit/head": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The end of the audit log (operators). Note it elsewhere: it shows later whether the log was cut. */
        get: operations["show_audit_head"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sign-in": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Who is asking, and what they may do. */
        get: operations["show_sign_in"];
        put?: never;
        /** Exchange the secret of a sign-in link for a cookie. A link works once. */
        post: operations["sign_in"];
        /** Sign out: the token behind the cookie is revoked. */
        delete: operations["sign_out"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sign-in/links": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Make a new sign-in link for oneself (who runs this Warren). */
        post: operations["make_sign_in_link"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sign-in/ways": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** How one may sign in. */
        get: operations["list_sign_in_ways"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sign-in/org": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Work in another org from now on. What the browser has open in the old one ends. */
        put: operations["switch_org"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sign-in/invitation/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** See what an invitation leads to. It stays unused. */
        post: operations["preview_invitation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sign-in/invitation": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Take an invitation: as somebody new, which needs a name, or as who one is signed in as. */
        post: operations["use_invitation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/invitations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the org's invitations, oldest first (operators); never their secrets. */
        get: operations["list_invitations"];
        put?: never;
        /** Invite somebody into the org (operators). The secret is in this answer and nowhere else. */
        post: operations["create_invitation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/invitations/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Take an invitation back that nobody used (operators). */
        delete: operations["revoke_invitation"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the people of an org. */
        get: operations["list_users"];
        put?: never;
        /** Take a person into an org (operators). They come in by a sign-in link, or by a sign-in provider. */
        post: operations["create_user"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/users/{user}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a person, by name or id. */
        get: operations["show_user"];
        put?: never;
        post?: never;
        /**
         * Take a person out of the org (operators), or leave it oneself.
         * @description Their tokens of the org and the invitations that they made end, and unless told so does what acts in their name. What they
         *     have open ends within seconds.
         */
        delete: operations["remove_user"];
        options?: never;
        head?: never;
        /** Change what a person is called, or what they may do (operators). Anybody may change their own name to be shown. */
        patch: operations["change_user"];
        trace?: never;
    };
    "/api/v1/users/{user}/sign-in-links": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Make a link by which a person signs in: for oneself in the browser, or by operators for people of their orgs alone. */
        post: operations["make_user_sign_in_link"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/orgs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the orgs that one is in; for who runs this Warren, all. */
        get: operations["list_orgs"];
        put?: never;
        /** Make an org (who runs this Warren). Nobody is in it yet: take people in with `POST /api/v1/users?org=NAME`. */
        post: operations["create_org"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/orgs/{org}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show an org, by name or id. */
        get: operations["show_org"];
        put?: never;
        post?: never;
        /** Remove an org that has no workspaces any more (who runs this Warren). */
        delete: operations["remove_org"];
        options?: never;
        head?: never;
        /** Rename an org, or say how much it may have (who runs this Warren). */
        patch: operations["change_org"];
        trace?: never;
    };
    "/api/v1/sign-in/provider": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Sign in by the organisation's own provider: leads there. For browsers. */
        get: operations["begin_provider_sign_in"];
        put?: never;
        /**
         * Take an invitation by signing in at the organisation's own provider. For the page.
         * @description The secret travels in the body, so that it stands in no address and in no log. The answer says where the browser is to go.
         */
        post: operations["begin_provider_sign_in_with_invitation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sign-in/provider/callback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Where the provider sends the browser back to. For browsers. */
        get: operations["finish_provider_sign_in"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow events.
         * @description Server-sent events by default: `id` is the sequence, `data` an `EventFrame`. `Last-Event-ID` resumes. With
         *     `Accept: application/json`, one page of the log instead.
         */
        get: operations["follow_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/ws": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow events over a WebSocket: each text message is an `EventFrame`. A browser's request must carry an `Origin` that is
         *     served.
         */
        get: operations["follow_events_by_websocket"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a message to a workspace.
         * @description Answers 202 while it waits in the queue, and 200 once its agent has it. What was accepted ends exactly once:
         *     answered, failed, expired or cancelled. The same `Idempotency-Key`, or the same message id, is the same message.
         */
        post: operations["send_message"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/tasks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the tasks of a workspace, the youngest first.
         * @description A peer sees what it asked for itself.
         */
        get: operations["list_tasks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/tasks/{task}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a task. */
        get: operations["show_task"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/tasks/{task}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a task.
         * @description What waits ends at once. Where an agent works on it, it is asked to stop; one that refuses is believed.
         */
        post: operations["cancel_task"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/queue": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the messages of a workspace, the oldest first. */
        get: operations["list_queue"];
        put?: never;
        post?: never;
        /**
         * Take all that wait out of a queue.
         * @description They end as cancelled, and so do their tasks. What an agent has already is left alone.
         */
        delete: operations["clear_queue"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/queue/{delivery}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a message on its way. */
        get: operations["show_queued_message"];
        put?: never;
        post?: never;
        /** Take a message that waits out of the queue. It ends as cancelled. */
        delete: operations["drop_queued_message"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/queue/claim": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Take the next message of one's own workspace.
         * @description For the workspace's runtime alone. It tells how it goes with `progress`, which also renews the claim, and ends it with
         *     `answer`; a claim that is neither renewed nor ended is lost.
         */
        post: operations["claim_message"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/queue/{delivery}/progress": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Tell how work goes on, and renew the claim.
         * @description With nothing in it the claim is renewed and the work has not moved: a runtime that only does this is found out.
         */
        post: operations["report_progress"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/queue/{delivery}/answer": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** End a claim: answered, busy or failed. */
        post: operations["answer_message"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/delegations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List what a workspace handed on, the youngest first. Results are in the single ones. */
        get: operations["list_delegations"];
        put?: never;
        /**
         * Hand work to a peer of this workspace.
         * @description The delegation is a row that survives restarts of both sides; `queued` is not `completed`.
         */
        post: operations["delegate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/delegations/{delegation}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a delegation, with its result once it has ended. */
        get: operations["show_delegation"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/delegations/{delegation}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Take work back. The other side is told to stop. */
        post: operations["cancel_delegation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/conversations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the conversations of a workspace, the youngest first. */
        get: operations["list_conversations"];
        put?: never;
        /** Begin a conversation with a workspace. */
        post: operations["create_conversation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/conversations/{conversation}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a conversation. */
        get: operations["show_conversation"];
        put?: never;
        post?: never;
        /** Delete a conversation with its messages. Work that it began goes on. */
        delete: operations["remove_conversation"];
        options?: never;
        head?: never;
        /** Change a conversation's title. What is absent stays. */
        patch: operations["change_conversation"];
        trace?: never;
    };
    "/api/v1/workspaces/{id}/conversations/{conversation}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a conversation, from either end. */
        get: operations["list_chat_messages"];
        put?: never;
        /**
         * Post a message in a conversation.
         * @description The message and the work that it asks for are written together. The answer comes as a message of its own, in the
         *     transaction that ends the work; `chat.message.posted` tells the ids of both.
         */
        post: operations["post_message"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Search the conversations of a workspace, the youngest message first. */
        get: operations["search_conversations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/uploads": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Upload files to a workspace, to be sent along with a message.
         * @description They land in `uploads/` of the workspace, each upload in a folder of its own, and are all there or none. The answer is
         *     parts to be put into a message. A type that the bytes contradict is refused.
         */
        post: operations["upload_files"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/notify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Tell people something, with files of one's own workspace.
         * @description For the workspace's runtime alone. All files are looked at first; if one is not there, too large or not what it is said
         *     to be, nothing is told. Who follows the events hears of it once it is written. The same `Idempotency-Key`, or the same
         *     `message_id`, is the same notice: it stands once, and is answered as the first was.
         */
        post: operations["notify"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/feed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Watch what a workspace does: the last 20 lines, repeats folded into one. */
        get: operations["show_feed"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/peers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List exactly those that a workspace may talk to. */
        get: operations["list_peers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/peer-policy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show whom a workspace may talk to, as a rule. */
        get: operations["show_peer_policy"];
        /** Widen or narrow whom a workspace may talk to. Both sides must agree. */
        put: operations["set_peer_policy"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/budget": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show what a workspace spent this month, and what it may. */
        get: operations["show_budget"];
        /**
         * Set what a workspace may spend in a month.
         * @description Past it, models' work in the workspace is answered with 402 until the next month.
         */
        put: operations["set_budget"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/registry/register": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make a runtime known, with a join token.
         * @description The token works once. The answer carries the credential of this boot; the one of an earlier boot ends with it.
         */
        post: operations["register_runtime"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/registry/heartbeat": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Report how a runtime is, with the credential that it got when it registered.
         * @description Every field is optional; absent means unchanged. A report is proof of life.
         */
        post: operations["heartbeat"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/registry/agent-card": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Change how a runtime describes itself, with the credential that it got when it registered.
         * @description Messages go where the new card leads from then on. Its URLs are judged as those of a registration are. An agent that
         *     Warren runs has no card.
         */
        put: operations["change_agent_card"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/sweeps": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the sweeps of this process, with their last runs (operators). */
        get: operations["list_sweeps"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/sweeps/{name}/run": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Run a sweep now (operators). */
        post: operations["run_sweep"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/backup": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Download a backup of everything, as a tar file (operators).
         * @description It is made while it is sent, one at a time. Its last entry vouches for all before it: what ends early is no backup. Keys of
         *     secrets are not in it. `warren backup` verifies what it gets, and `warren restore` unpacks it.
         */
        get: operations["download_backup"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List webhooks, oldest first. */
        get: operations["list_webhooks"];
        put?: never;
        /**
         * Have somebody outside told of events. The secret is in this answer and nowhere else.
         * @description Each event is posted as JSON, signed as Standard Webhooks says, at least once, with waits that grow between the
         *     attempts. Events that happened before are not told.
         */
        post: operations["create_webhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a webhook. */
        get: operations["show_webhook"];
        put?: never;
        post?: never;
        /** Remove a webhook, with what is owed to it. */
        delete: operations["remove_webhook"];
        options?: never;
        head?: never;
        /** Stop a webhook, or let it go on. */
        patch: operations["change_webhook"];
        trace?: never;
    };
    "/api/v1/webhooks/{id}/calls": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List what is and was owed to a webhook, the youngest first. Calls that have ended are kept for a week. */
        get: operations["list_webhook_calls"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{id}/calls/{call}/redeliver": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Put a call that has ended back into the queue, under the same id. */
        post: operations["redeliver_webhook_call"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/channels": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List a workspace's channels, oldest first. */
        get: operations["list_channels"];
        put?: never;
        /** Open a door through which another system sends messages to a workspace. The secret is in this answer and nowhere else. */
        post: operations["create_channel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{id}/channels/{channel}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Close a channel. */
        delete: operations["remove_channel"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/hooks/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a message through a channel: signed with its secret, as Standard Webhooks says.
         * @description `{"text": "…"}` and what is not JSON is said to the workspace in words, any other JSON as data. The same
         *     `webhook-id` again is no second message.
         */
        post: operations["receive_hook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The keys that verify what Warren signs, as a JSON Web Key Set.
         * @description What reaches a runtime carries an HTTP Message Signature (RFC 9421); its `keyid` is the `kid` of one of these. The
         *     first is the current one.
         */
        get: operations["signing_keys"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/info": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What this server is and offers. */
        get: operations["server_info"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** This document. */
        get: operations["openapi"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description A message that was accepted. It ends exactly once, through any crash. */
        AcceptedMessage: {
            /** @description It waits until the workspace is free. */
            queued: boolean;
            /** @description Its row in the queue. */
            queue_id: string;
            /**
             * Format: int64
             * @description How many are before it; absent unless it waits.
             */
            position?: number | null;
            /** @description It was accepted before, under the same key or message id. */
            is_repeat: boolean;
            task: components["schemas"]["Task"];
        };
        /** @description What an agent is told to be. */
        Agent: {
            /** @description The stored agent that runs it, if it is hosted. */
            name?: string | null;
            model?: string | null;
            prompts: {
                [key: string]: string;
            };
            skills: string[];
            schedules: components["schemas"]["ScheduleSpec"][];
            required_env: string[];
            /** @description The program that is the agent of a resident runtime; empty: somebody else starts it. */
            command?: string[];
            /** @description Phrases of its errors after which it counts as wedged; empty: the usual ones. */
            wedge_signs?: string[];
            runner?: components["schemas"]["RunnerSpec"] | null;
        };
        /** @description How a runtime describes itself now. */
        AgentCardAnswer: {
            workspace_id: string;
            /**
             * Format: int64
             * @description How often a runtime of this workspace registered.
             */
            boots: number;
            agent_card?: Record<string, unknown> | null;
        };
        /** @description A part of an agent's definition that is not what it was. */
        AgentChange: {
            /** @description Where it stands in the definition: `model`, `tools.workspace.workspace_rm`. */
            path: string;
            change: components["schemas"]["AgentChangeKind"];
            /** @description What stood there, where that is short. */
            before?: unknown;
            /** @description What stands there now, where that is short. */
            after?: unknown;
        };
        /** @enum {string} */
        AgentChangeKind: "added" | "removed" | "changed";
        AgentPage: {
            items: components["schemas"]["AgentSummary"][];
            /** @description Pass as `cursor` for the next page; absent on the last. */
            next_cursor?: string | null;
            /** @description Names of entries of this page that this version of Warren cannot read. They are left as they are. */
            unreadable?: string[];
        };
        /** @description An agent in a list. */
        AgentSummary: {
            name: string;
            /** @description Of the version that the name stands for now. */
            hash: string;
            /** @description `provider/name`. */
            model: string;
            description: string;
            created_at: string;
        };
        /** @description A part of what a model answered. What only its provider understands is left out. */
        AnswerBlock: {
            text: string;
            /** @enum {string} */
            type: "text";
        } | {
            text: string;
            /** @enum {string} */
            type: "reasoning";
        } | {
            call_id: string;
            /** @enum {string} */
            type: "call";
        };
        /** @description The end of a claim. */
        AnswerMessage: {
            /** Format: int32 */
            attempt: number;
            outcome: components["schemas"]["AnswerOutcome"];
            state?: components["schemas"]["TaskState"] | null;
            message?: components["schemas"]["TaskMessage"] | null;
            artifacts?: components["schemas"]["ArtifactUpdate"][];
            /**
             * Format: int64
             * @description With `busy`: not to be tried before.
             */
            retry_after_ms?: number | null;
        };
        /**
         * @description How a runtime ends a claim.
         * @enum {string}
         */
        AnswerOutcome: "answered" | "busy" | "failed";
        /** @description A question of a workspace, with its answer once there is one. */
        Approval: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            workspace_id: string;
            /** Format: uuid */
            task_id?: string | null;
            action: string;
            reason: string;
            context: Record<string, unknown>;
            call?: components["schemas"]["ApprovalCall"] | null;
            state: components["schemas"]["ApprovalState"];
            asked_by: components["schemas"]["Principal"];
            decided_by?: components["schemas"]["Principal"] | null;
            decided_at?: string | null;
            note?: string | null;
            created_at: string;
            expires_at: string;
        };
        /** @description The tool call of a session that a question is about. */
        ApprovalCall: {
            /** Format: uuid */
            session_id: string;
            /** Format: int32 */
            step: number;
            call_id: string;
            tool: string;
            /** @description As the model wrote them. */
            arguments: unknown;
            /** @description What the person changed them to. */
            edited?: unknown;
        };
        /** @description A question was decided, or nobody decided it in time; `state` says which. */
        ApprovalDecidedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["ApprovalDecidedEventData"];
            /** @enum {string} */
            kind: "exchange.approval.decided";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "exchange.approval.decided";
        };
        ApprovalDecidedEventData: {
            action: string;
            /** Format: uuid */
            approval_id: string;
            /** @enum {string} */
            state: "pending" | "approved" | "denied" | "expired" | "void";
        };
        ApprovalPage: {
            items: components["schemas"]["Approval"][];
            /** @description Pass as `cursor` for the next page; absent on the last. */
            next_cursor?: string | null;
            /** @description Ids of entries of this page that this version of Warren cannot read. They are left as they are. */
            unreadable?: string[];
        };
        /** @description A workspace asks for a person's decision. */
        ApprovalRequestedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["ApprovalRequestedEventData"];
            /** @enum {string} */
            kind: "exchange.approval.requested";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "exchange.approval.requested";
        };
        ApprovalRequestedEventData: {
            action: string;
            /** Format: uuid */
            approval_id: string;
            /** Format: date-time */
            expires_at: string;
        };
        /** @enum {string} */
        ApprovalState: "pending" | "approved" | "denied" | "expired" | "void";
        /** @description A new artifact, or a piece of one. */
        ArtifactUpdate: {
            artifact: components["schemas"]["TaskArtifact"];
            /** @description Its parts follow those that are there. */
            append?: boolean;
            last?: boolean;
        };
        /** @description A file of the agent's own workspace that goes with what it tells people. */
        Attachment: {
            /** @description Relative to the workspace root. */
            path: string;
            /** @description What it is; absent: what its bytes look like. One that its bytes contradict is refused. */
            media_type?: string | null;
        };
        /** @description Who did what to which. Nothing here changes once it is written. */
        AuditEntry: {
            /**
             * Format: int64
             * @description Counts from 1 without gaps.
             */
            seq: number;
            at: string;
            org_id: string;
            /** @description `kind:id` */
            principal: string;
            /** @description The token that was used; absent where Warren itself acts. */
            token_id?: string | null;
            token_prefix?: string | null;
            /** @description Such as `workspace.removed`; a word never changes its meaning. */
            action: string;
            target: components["schemas"]["AuditTarget"];
            /** @description `done` or `refused` */
            outcome: string;
            request_id?: string | null;
            /** @description Names and counts; never a secret. */
            details: Record<string, unknown>;
            /** @description Of the entry before; zeros for the first. */
            previous_hash: string;
            /** @description SHA-256 over everything above, in the encoding that the guide describes. */
            hash: string;
        };
        /** @description The end of the log. Noted elsewhere, it shows later whether the log was cut or written anew. */
        AuditHead: {
            /**
             * Format: int64
             * @description 0 for an empty log.
             */
            seq: number;
            hash: string;
        };
        AuditPage: {
            items: components["schemas"]["AuditEntry"][];
            next_cursor?: string | null;
            /** @description Numbers of entries of this page that this version of Warren cannot read. They are left as they are. */
            unreadable?: string[];
        };
        /** @description What something was done to. */
        AuditTarget: {
            /** @description `workspace`, `token`, `secret` or `secret_key`. */
            kind: string;
            id: string;
        };
        /** @description Who said or asked something. */
        Author: {
            /** @description `user`, `workspace`, `schedule`, `channel` or `system`. */
            kind: string;
            id: string;
            /** @description What a person is called, where the answer looks it up. */
            name?: string | null;
        };
        /** @description The secret of an invitation that a sign-in by the provider is to take. */
        BeginProviderSignIn: {
            invitation: string;
        };
        /**
         * @description Why a workspace runs with something older than is wanted.
         * @enum {string}
         */
        BehindOf: "secrets" | "change";
        /** @description One workspace to be made, with those below it. What is absent comes from its template, or is the default. */
        Blueprint: {
            /**
             * @description The workspace's name; absent: the template's.
             * @default null
             */
            name: string | null;
            /**
             * @description For people.
             * @default null
             */
            description: string | null;
            /**
             * @description The template that it begins from. What else is said here wins; required variables and children are added, and of
             *     two provision timeouts the larger holds.
             * @default null
             */
            template: string | null;
            /** @default null */
            runtime: components["schemas"]["Runtime"] | null;
            /** @default null */
            provider: components["schemas"]["ProviderConfig"] | null;
            /** @default null */
            limits: components["schemas"]["BoxLimits"] | null;
            /** @default null */
            capabilities: components["schemas"]["Capability"][] | null;
            /** @default null */
            tier: components["schemas"]["Tier"] | null;
            /** @default null */
            role: string | null;
            /**
             * Format: int32
             * @default null
             */
            provision_timeout_seconds: number | null;
            /**
             * Format: int32
             * @default null
             */
            hibernate_after_seconds: number | null;
            /**
             * Format: int32
             * @default null
             */
            max_concurrent_tasks: number | null;
            /**
             * @description With the runtime `hosted`: the stored agent that Warren runs in it.
             * @default null
             */
            agent: string | null;
            /** @default null */
            model: string | null;
            /**
             * @description By name, such as `system`.
             * @default {}
             */
            prompts: {
                [key: string]: string;
            };
            /** @default null */
            skills: string[] | null;
            /** @default null */
            schedules: components["schemas"]["ScheduleSpec"][] | null;
            /**
             * @description Names of variables without which it cannot work.
             * @default []
             */
            required_env: string[];
            /**
             * @description The program that is the agent of a resident runtime, and its arguments.
             * @default null
             */
            command: string[] | null;
            /**
             * @description Phrases of its errors after which it counts as wedged; absent: the usual ones.
             * @default null
             */
            wedge_signs: string[] | null;
            /** @default null */
            runner: components["schemas"]["RunnerSpec"] | null;
            /** @default null */
            doors: components["schemas"]["Doors"] | null;
            /** @default [] */
            children: components["schemas"]["Blueprint"][];
        };
        /** @description What a box may use; zero is refused. */
        BoxLimits: {
            /** Format: int32 */
            memory_mb?: number | null;
            /** Format: double */
            cpus?: number | null;
            /** Format: int32 */
            pids?: number | null;
            /**
             * Format: int32
             * @description The box's own `/tmp`, which is memory.
             */
            tmp_mb?: number | null;
            /**
             * Format: int32
             * @description The workspace's files together.
             */
            disk_mb?: number | null;
        };
        /** @description Where a session was branched from. */
        BranchPoint: {
            /** Format: uuid */
            session_id: string;
            /** Format: int32 */
            step: number;
        };
        BranchSession: {
            /**
             * Format: int32
             * @description The last step that the new session has; absent: the latest.
             * @default null
             */
            step: number | null;
            /**
             * @description Of the new session. Absent: its id.
             * @default null
             */
            name: string | null;
        };
        /** @description What a workspace spent this month, and what it may. Amounts are millionths of the currency's unit. */
        Budget: {
            /** @description Such as `2026-11`, in UTC. */
            month: string;
            /**
             * Format: int64
             * @description Absent: no limit.
             */
            monthly_limit_micros?: number | null;
            /** Format: int64 */
            spent_micros: number;
            /**
             * Format: int64
             * @description Absent: no limit.
             */
            left_micros?: number | null;
        };
        /** @description A workspace, or a tree of them, as one document without ids, tokens, secrets and state; with their files on request. */
        Bundle: {
            /** @description `warren-bundle`. */
            format: string;
            /** Format: int32 */
            version: number;
            /** @description Where and when it was made, for people. */
            origin: components["schemas"]["BundleOrigin"];
            /** @description What is not in it, as sentences for people. */
            warnings?: string[];
            root: components["schemas"]["BundleNode"];
        };
        /** @description A file: either its text or its bytes. */
        BundleFile: {
            /** @description Relative to the workspace's root. */
            path: string;
            text?: string | null;
            base64?: string | null;
            /** @description Whether its owner could run it. It is told at the import, not done. */
            executable?: boolean;
        };
        /** @description The files of a workspace. Links and special files are never among them. */
        BundleFiles: {
            /**
             * @description Those that hold nothing; others follow from the paths of files.
             * @default []
             */
            empty_directories: string[];
            /** @default [] */
            files: components["schemas"]["BundleFile"][];
        };
        /** @description Something remembered, of a workspace or of the team that it leads. What an org remembers is not its workspaces'. */
        BundleMemory: {
            scope: components["schemas"]["MemoryScope"];
            key: string;
            value: string;
            /** Format: date-time */
            expires_at?: string | null;
        };
        /** @description One workspace with those below it. */
        BundleNode: {
            name: string;
            /** @description What was wanted of it, as Warren keeps it. Versioned with the bundle. */
            spec: Record<string, unknown>;
            peers?: components["schemas"]["BundlePeers"] | null;
            /** @description What it remembers, and what the team remembers that it leads. */
            memory?: components["schemas"]["BundleMemory"][];
            /** @description All that it has; absent in bundles of version 1: those that its spec was made with. */
            schedules?: components["schemas"]["BundleSchedule"][] | null;
            files?: components["schemas"]["BundleFiles"] | null;
            children?: components["schemas"]["BundleNode"][];
        };
        BundleOrigin: {
            workspace_id: string;
            exported_at: string;
        };
        /**
         * @description A workspace that a rule names: by its name, where it is in the bundle, and by its id where it stayed behind. Of the
         *     latter, only those that are in the importer's org are kept.
         */
        BundlePeer: {
            name: string;
        } | {
            id: string;
        };
        /** @description Whom a workspace of a bundle talks to. */
        BundlePeers: {
            circle: components["schemas"]["PeerCircle"];
            allow?: components["schemas"]["BundlePeer"][];
            deny?: components["schemas"]["BundlePeer"][];
        };
        /** @description A schedule, by `cron` or every so many seconds. Whoever imports it owns it. */
        BundleSchedule: {
            name: string;
            cron?: string | null;
            time_zone?: string | null;
            /** Format: int32 */
            every_seconds?: number | null;
            prompt: string;
            /** Format: int32 */
            jitter_seconds?: number;
            missed: components["schemas"]["MissedPolicy"];
            overlap: components["schemas"]["OverlapPolicy"];
            is_paused?: boolean;
        };
        /**
         * @description What becomes of a message that comes while a run is under way.
         * @enum {string}
         */
        BusyMode: "queue" | "steer" | "interrupt" | "reject";
        /** @enum {string} */
        CallDecision: "approve" | "deny";
        /**
         * @description What a workspace can do.
         * @enum {string}
         */
        Capability: "fs" | "shell" | "code" | "script" | "snapshot";
        /** @description Another agent card in the place of the one that a runtime registered with. */
        ChangeAgentCard: {
            /** @description How the agent describes itself from now on, an object of at most 256 KiB; `null` takes the card away. */
            agent_card: Record<string, unknown> | null;
        };
        /** @description What of a conversation changes. */
        ChangeConversation: {
            title?: string | null;
        };
        /**
         * @description What became of a path.
         * @enum {string}
         */
        ChangeKind: "created" | "modified" | "removed";
        Channel: {
            id: string;
            workspace_id: string;
            name: string;
            /** @description Where signed messages are posted to. */
            path: string;
            created_at: string;
            created_by: components["schemas"]["Principal"];
        };
        /** @description A door was made through which another system sends messages to a workspace. */
        ChannelCreatedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["ChannelCreatedEventData"];
            /** @enum {string} */
            kind: "channel.door.created";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "channel.door.created";
        };
        ChannelCreatedEventData: {
            /** Format: uuid */
            channel_id: string;
            name: string;
        };
        ChannelList: {
            items: components["schemas"]["Channel"][];
            /** @description Ids of entries of this page that this version of Warren cannot read. They are left as they are. */
            unreadable?: string[];
        };
        /** @description Such a door was removed. */
        ChannelRemovedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["ChannelRemovedEventData"];
            /** @enum {string} */
            kind: "channel.door.removed";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "channel.door.removed";
        };
        ChannelRemovedEventData: {
            /** Format: uuid */
            channel_id: string;
        };
        /** @description One message of a conversation. It never changes; a later one has a greater id. */
        ChatMessage: {
            /** @description Made by Warren. The live event and the list name a message by the same id. */
            id: string;
            conversation_id: string;
            /** @description Who said it: a person is a `user`; an agent, a schedule or Warren itself never is. */
            author: components["schemas"]["Author"];
            /** @description Which side: `user` asks, `agent` answers. */
            role: components["schemas"]["MessageRole"];
            parts: components["schemas"]["MessagePart"][];
            /** @description The work that it asked for, or came of. */
            task_id?: string | null;
            created_at: string;
        };
        ChatMessagePage: {
            items: components["schemas"]["ChatMessage"][];
            next_cursor?: string | null;
            /** @description Ids of entries of this page that this version of Warren cannot read. They are left as they are. */
            unreadable?: string[];
        };
        /** @description A message stands in a conversation, under this id and no other. What it says is read from the conversation. */
        ChatMessagePostedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["ChatMessagePostedEventData"];
            /** @enum {string} */
            kind: "chat.message.posted";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "chat.message.posted";
        };
        ChatMessagePostedEventData: {
            author: components["schemas"]["Principal"];
            /** Format: uuid */
            conversation_id: string;
            /** Format: uuid */
            message_id: string;
            /** Format: uuid */
            task_id: string | null;
        };
        /** @description What a chat client sends. Fields that are not listed are its own and are ignored. */
        ChatRequest: {
            /** @description The last is the user's, or the assistant's with a decision or a result. Earlier ones are ignored. */
            messages: components["schemas"]["UiMessage"][];
            /** @enum {string} */
            trigger?: "submit-message" | "regenerate-message";
            /** @description The message that goes on, is said anew, or is to be answered again. */
            messageId?: string | null;
        };
        /** @description A place to go back to, or to branch from: the end of a step. It is a number; nothing is copied for it. */
        Checkpoint: {
            /** Format: int32 */
            step: number;
            /** @description The session in which the step was taken: this one, or one that it was branched from. */
            session_id: string;
        };
        CheckpointPage: {
            items: components["schemas"]["Checkpoint"][];
            /**
             * Format: int32
             * @description Pass as `after` for the next page; absent on the last.
             */
            next_after?: number | null;
        };
        /** @description What came of asking; without a message, none came. */
        Claim: {
            claimed?: components["schemas"]["ClaimedMessage"] | null;
        };
        /** @description A runtime asks for its next message. */
        ClaimMessage: {
            /**
             * Format: int64
             * @description Waits so long for one to come.
             */
            wait_ms?: number;
            /**
             * Format: int64
             * @description The claim ends after so long without a word; 30000 unless told.
             */
            lease_ms?: number | null;
        };
        /** @description A message that a runtime has claimed. */
        ClaimedMessage: {
            queue_id: string;
            /**
             * Format: int32
             * @description To be named with progress and answer; an old one is refused.
             */
            attempt: number;
            lease_until: string;
            author: components["schemas"]["Author"];
            message: components["schemas"]["TaskMessage"];
            task: components["schemas"]["Task"];
        };
        /** @description What was taken out of a queue. */
        ClearedQueue: {
            /** Format: int64 */
            messages: number;
        };
        /** @description A workspace without those that were below it, and how far their removal went. */
        CollapsedWorkspace: components["schemas"]["Workspace"] & {
            removal: components["schemas"]["RemovalCounts"];
        };
        /** @enum {string} */
        CommandMode: "argv" | "command" | "full";
        /** @description A call with its outcome, as the model is shown it. */
        ContextCall: {
            id: string;
            tool: string;
            arguments: unknown;
            outcome: components["schemas"]["SessionCallOutcome"];
        };
        /** @enum {string} */
        ContextOrigin: "system" | "tools" | "user" | "assistant" | "results";
        /** @description How much of what a model was shown comes from one origin. */
        ContextShare: {
            origin: components["schemas"]["ContextOrigin"];
            /** Format: int64 */
            bytes: number;
            /**
             * Format: int64
             * @description Of the tokens that the provider counted in all, in proportion to the bytes: no provider tells them apart. Absent
             *     where it has not counted.
             */
            tokens?: number | null;
        };
        ContextTool: {
            name: string;
            description: string;
            input_schema: Record<string, unknown>;
        };
        /** @description What one side said. */
        ContextTurn: {
            parts: components["schemas"]["MessagePart"][];
            /** @enum {string} */
            role: "user";
        } | {
            blocks: components["schemas"]["AnswerBlock"][];
            calls: components["schemas"]["ContextCall"][];
            /** @enum {string} */
            role: "assistant";
        };
        /** @description A chat with a workspace. Its id is the `context_id` of its tasks. */
        Conversation: {
            id: string;
            workspace_id: string;
            title: string;
            /** @description Who began it. */
            author: components["schemas"]["Author"];
            /**
             * Format: int64
             * @description How many messages it has.
             */
            messages: number;
            /**
             * @description The session in which the agent of a hosted workspace answers it; absent before its first message, and where another
             *     runtime answers.
             */
            session_id?: string | null;
            created_at: string;
            updated_at: string;
            /** Format: int64 */
            version: number;
        };
        /** @description A conversation has another title. */
        ConversationChangedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["ConversationChangedEventData"];
            /** @enum {string} */
            kind: "chat.conversation.changed";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "chat.conversation.changed";
        };
        ConversationChangedEventData: {
            /** Format: uuid */
            conversation_id: string;
        };
        /** @description A conversation with a workspace began. */
        ConversationCreatedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["ConversationCreatedEventData"];
            /** @enum {string} */
            kind: "chat.conversation.created";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "chat.conversation.created";
        };
        ConversationCreatedEventData: {
            /** Format: uuid */
            conversation_id: string;
        };
        ConversationPage: {
            items: components["schemas"]["Conversation"][];
            next_cursor?: string | null;
            /** @description Ids of entries of this page that this version of Warren cannot read. They are left as they are. */
            unreadable?: string[];
        };
        /** @description A conversation was deleted, with its messages. */
        ConversationRemovedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["ConversationRemovedEventData"];
            /** @enum {string} */
            kind: "chat.conversation.removed";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "chat.conversation.removed";
        };
        ConversationRemovedEventData: {
            /** Format: uuid */
            conversation_id: string;
            /** Format: int64 */
            messages: number;
        };
        /** @description A door for messages from another system to a workspace. */
        CreateChannel: {
            name: string;
            /** @description A secret that the sender has already: `whsec_` and 24 to 64 bytes in base64. Absent: a new one. */
            secret?: string | null;
        };
        /** @description A conversation to begin. */
        CreateConversation: {
            title?: string | null;
        };
        CreateInvitation: {
            role: components["schemas"]["OrgRole"];
            /** @description Whom it is for: then only a provider's sign-in with this address, proven by the provider, may take it. */
            email?: string | null;
            /**
             * Format: int64
             * @description Absent: seven days.
             */
            expires_in_seconds?: number | null;
        };
        CreateOrg: {
            /** @description 1 to 63 of `a-z 0-9 . _ -`. */
            name: string;
            quotas?: components["schemas"]["OrgQuotas"] | null;
        };
        /** @description A schedule to be made: by `cron`, or every so many seconds. */
        CreateSchedule: {
            /** @description Its own within the workspace. */
            name: string;
            /** @description Five fields, or six with seconds in front; either this or `every_seconds`. */
            cron?: string | null;
            /** Format: int32 */
            every_seconds?: number | null;
            /** @description Of the IANA database, such as `Europe/Zurich`; absent: UTC. Only with `cron`. */
            time_zone?: string | null;
            /** @description What is said to the agent. */
            prompt: string;
            /**
             * Format: int32
             * @description Each slot fires up to so much later. Absent: 0.
             */
            jitter_seconds?: number | null;
            missed?: components["schemas"]["MissedPolicy"] | null;
            overlap?: components["schemas"]["OverlapPolicy"] | null;
        };
        /** @description A session to begin. It waits for its first message. */
        CreateSession: {
            /**
             * Format: uuid
             * @description Where its tools work, and whose budget it spends.
             */
            workspace_id: string;
            /** @description The name of a stored agent. */
            agent: string;
            /** @description 1 to 128 of `A-Z a-z 0-9 . _ : -`. Absent: its id. */
            name?: string | null;
            /** @description For people. Absent: the beginning of the first message. */
            title?: string | null;
            /** @description Fields of the state that begin with something else than the agent says. */
            initial_state?: {
                [key: string]: unknown;
            };
        };
        /** @description A token to be made. */
        CreateToken: {
            kind: components["schemas"]["MintableKind"];
            name: string;
            /**
             * @description For `user`: what it may do. See the reference for the names. Absent: `workspaces:read`, `workspaces:write`,
             *     `workspaces:use` and `events:read`, as far as the caller may.
             */
            scopes?: string[] | null;
            /** @description For `workspace` and `join`: the only one it speaks for. */
            workspace_id?: string | null;
            /**
             * Format: int64
             * @description Absent: does not expire.
             */
            expires_in_seconds?: number | null;
        };
        /** @description A rule about tool calls. It counts in one session, one workspace, for one agent, or, where none is named, in the org. */
        CreateToolRule: {
            /** @description A tool's name; `*` stands for any characters. */
            tool: string;
            /** @description Patterns for arguments by their name, `a.b` for one further in. `*` stands for any characters. All must fit. */
            arguments?: {
                [key: string]: string;
            };
            decision: components["schemas"]["ToolRuleDecision"];
            /** @description Told to the model where the call is denied, and to the person who is asked. */
            reason?: string | null;
            /**
             * Format: int32
             * @description Absent: until it is revoked.
             */
            expires_in_seconds?: number | null;
            /** Format: uuid */
            session_id?: string | null;
            /** Format: uuid */
            workspace_id?: string | null;
            agent?: string | null;
        };
        /** @description A person who is to be in the org. They come in by a sign-in link or a sign-in provider. */
        CreateUser: {
            /** @description 1 to 63 of `a-z 0-9 . _ -`. Who runs this Warren may name somebody who is in another org. */
            name: string;
            /** @description Absent: the name. */
            display_name?: string | null;
            email?: string | null;
            role: components["schemas"]["OrgRole"];
        };
        /** @description Somebody outside who is to be told of events. */
        CreateWebhook: {
            name: string;
            /** @description Where each event is posted to. A public http or https address, unless the config opens a private range. */
            url: string;
            /** @description Kinds of events, such as `workspace.status.changed`. Absent or empty: all. */
            events?: string[];
            /** @description Only what happens in this workspace. */
            workspace_id?: string | null;
            /** @description A secret that the receiver has already: `whsec_` and 24 to 64 bytes in base64. Absent: a new one. */
            secret?: string | null;
        };
        /** @description A workspace to be made. */
        CreateWorkspace: {
            /** @description 1 to 100 characters, no control characters, no space at its ends. */
            name: string;
            /** @description A stored template of one workspace; what else is said here wins. */
            template?: string | null;
            provider?: components["schemas"]["ProviderConfig"] | null;
            /** @description Absent: all that the provider offers. */
            capabilities?: components["schemas"]["Capability"][] | null;
            /** Format: uuid */
            parent_id?: string | null;
            runtime?: components["schemas"]["Runtime"] | null;
            tier?: components["schemas"]["Tier"] | null;
            /** @description What it is there for: 1 to 100 characters. */
            role?: string | null;
            /**
             * Format: int32
             * @description Absent: ten minutes, or what this Warren is configured to.
             */
            provision_timeout_seconds?: number | null;
            /**
             * Format: int32
             * @description Asleep after so long without a task. Absent: never.
             */
            hibernate_after_seconds?: number | null;
            /** Format: int32 */
            max_concurrent_tasks?: number | null;
            /**
             * @description With the runtime `resident`: the program that is its agent, and its arguments. Warren runs it in the box; each
             *     message comes on its input, and its output is the answer.
             */
            command?: string[] | null;
            /** @description Phrases of its errors after which it counts as wedged; absent: the usual ones. */
            wedge_signs?: string[] | null;
            runner?: components["schemas"]["RunnerSpec"] | null;
            doors?: components["schemas"]["Doors"] | null;
            /** @description With the runtime `hosted`: the stored agent that Warren runs in it. */
            agent?: string | null;
            /**
             * @description With the runtime `hosted`: its agent's model, such as `anthropic/claude-sonnet-4-5`. Without `agent`, Warren makes
             *     an agent of it; with one, this stands over the agent's own.
             */
            model?: string | null;
            /**
             * @description By name. `system` is the system prompt of a hosted workspace's agent, over that of the stored one; `initial` is said
             *     first in each conversation with a resident one that speaks ACP; others are kept and not used yet.
             */
            prompts?: {
                [key: string]: string;
            };
            /** @description With a template: names of required variables that the runtime gets elsewhere. */
            provided_env?: string[];
        };
        /** @description A channel with its secret, in the one moment in which it is shown. */
        CreatedChannel: {
            channel: components["schemas"]["Channel"];
            secret: string;
        };
        /** @description The one answer that holds an invitation's secret. */
        CreatedInvitation: {
            /** @description Path and fragment, to be put behind the server's address. A fragment is never sent, so it enters no log. */
            path: string;
            invitation: components["schemas"]["Invitation"];
        };
        /** @description The one answer that holds a token's secret. */
        CreatedToken: {
            /** @description Shown once, stored nowhere. */
            secret: string;
            token: components["schemas"]["Token"];
        };
        /** @description A webhook with its secret, in the one moment in which it is shown. */
        CreatedWebhook: {
            webhook: components["schemas"]["Webhook"];
            /** @description What each call is signed with, as Standard Webhooks says. */
            secret: string;
        };
        /** @description What a person says with a decision. */
        DecideApproval: {
            /** @default null */
            note: string | null;
            /** @description Other arguments for the tool call that is asked about; only with an approval. */
            arguments?: Record<string, unknown> | null;
            /** @default null */
            remember: components["schemas"]["RememberDecision"] | null;
        };
        /** @description A person's decision about a tool call of a session. */
        DecideCall: {
            /** Format: uuid */
            approval_id: string;
            decision: components["schemas"]["CallDecision"];
            note?: string | null;
            /** @description Other arguments than the model proposed; only with `approve`. */
            arguments?: Record<string, unknown> | null;
            remember?: components["schemas"]["RememberDecision"] | null;
        };
        /** @description Work for another workspace. */
        Delegate: {
            /** @description Who is to do it: the id or the name of a peer. */
            to: string;
            message: components["schemas"]["TaskMessage"];
            /** @description The task out of which it is handed on; absent: the one in hand. */
            parent_task?: string | null;
            /** @description The result comes as a message; otherwise it is asked for. */
            tell?: boolean;
            /** Format: int32 */
            priority?: number;
            /** Format: int64 */
            expires_in_ms?: number | null;
            /** Format: int64 */
            timeout_ms?: number | null;
            /**
             * Format: int64
             * @description Waits so long for the result.
             */
            wait_ms?: number;
        };
        /** @description Work that one workspace handed to another. */
        Delegation: {
            id: string;
            from: string;
            to: string;
            task_id: string;
            parent_task?: string | null;
            state: components["schemas"]["DelegationState"];
            /** @description What came of it, once it has ended. */
            result: components["schemas"]["MessagePart"][];
            /**
             * Format: int64
             * @description How many are before it, if it waits; only in the answer to its creation.
             */
            position?: number | null;
            created_at: string;
            updated_at: string;
            ended_at?: string | null;
        };
        /** @description A delegation changed and has not ended. */
        DelegationChangedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["DelegationChangedEventData"];
            /** @enum {string} */
            kind: "exchange.delegation.changed";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "exchange.delegation.changed";
        };
        DelegationChangedEventData: {
            /** Format: uuid */
            delegation_id: string;
            /** @enum {string} */
            state: "pending" | "queued" | "dispatched" | "completed" | "failed" | "cancelled" | "expired";
            /** Format: uuid */
            task_id: string;
            /** Format: uuid */
            to: string;
        };
        /** @description A delegation ended, and its result is stitched to it; told to the one that handed it on. */
        DelegationCompletedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["DelegationCompletedEventData"];
            /** @enum {string} */
            kind: "exchange.delegation.completed";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "exchange.delegation.completed";
        };
        DelegationCompletedEventData: {
            /** Format: uuid */
            delegation_id: string;
            /** @enum {string} */
            state: "pending" | "queued" | "dispatched" | "completed" | "failed" | "cancelled" | "expired";
            /** Format: uuid */
            task_id: string;
            /** Format: uuid */
            to: string;
        };
        DelegationPage: {
            items: components["schemas"]["Delegation"][];
            next_cursor?: string | null;
            /** @description Ids of entries of this page that this version of Warren cannot read. They are left as they are. */
            unreadable?: string[];
        };
        /**
         * @description How a delegation is.
         * @enum {string}
         */
        DelegationState: "pending" | "queued" | "dispatched" | "completed" | "failed" | "cancelled" | "expired";
        /** @description A message was put back into the queue, to be tried again. */
        DeliveryRequeuedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["DeliveryRequeuedEventData"];
            /** @enum {string} */
            kind: "exchange.delivery.requeued";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "exchange.delivery.requeued";
        };
        DeliveryRequeuedEventData: {
            /** Format: int32 */
            attempts: number;
            /** Format: uuid */
            delivery_id: string;
            /** @enum {string|null} */
            reason: "busy" | "gone" | "resumed" | "no_answer" | "lease_lost" | "given_back" | "no_progress" | "deadline_passed" | "expired" | "cancelled" | "workspace_removed" | "answer_too_large" | "failed" | "unauthorized" | "forbidden" | "cannot_be_called" | "call_refused" | "untrusted" | "bad_answer" | "task_unknown" | "not_cancelable" | "version_not_supported" | "content_type_not_supported" | "not_supported" | "message_refused" | "agent_error" | "unrecognized" | null;
            /** Format: uuid */
            task_id: string;
        };
        /**
         * @description Where a message is on its way.
         * @enum {string}
         */
        DeliveryState: "queued" | "claimed" | "ended";
        /**
         * @description What is wanted of a workspace. `removed` is reached by DELETE only.
         * @enum {string}
         */
        Desired: "running" | "paused" | "hibernated" | "removed";
        /** @description Files and commands in a hardened container. */
        DockerConfig: {
            image?: string | null;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "docker";
            limits?: components["schemas"]["BoxLimits"] | null;
            /** Format: int32 */
            max_file_mb?: number | null;
            /** Format: int32 */
            max_grep_file_mb?: number | null;
            /**
             * Format: int64
             * @description Kept of each of stdout and stderr.
             */
            max_output_bytes?: number | null;
            /**
             * Format: int64
             * @description The longest timeout a caller may ask for.
             */
            max_timeout_ms?: number | null;
            /** @description Host paths that the box sees besides its own files. */
            mounts?: components["schemas"]["Mount"][] | null;
            /** @description Names of host variables that commands may see. */
            pass_env?: string[] | null;
            pull_policy?: components["schemas"]["PullPolicy"] | null;
            relax?: components["schemas"]["DockerRelaxations"] | null;
            reuse?: components["schemas"]["Reuse"] | null;
            run?: components["schemas"]["RunPolicy"] | null;
        };
        /** @description Each makes the container weaker than the hardened one. */
        DockerRelaxations: {
            cap_add?: string[] | null;
            ulimits?: components["schemas"]["Ulimit"][] | null;
            /** @description Further writable memory directories. */
            tmpfs?: components["schemas"]["TmpfsMount"][] | null;
            /** Format: int32 */
            memory_swap_mb?: number | null;
            /** @description `uid` or `uid:gid`, instead of the owner of the files. */
            user?: string | null;
        };
        /** @description What programs of a box reach through Warren. */
        Doors: {
            /**
             * @description Models that they may ask at `http://127.0.0.1:7701`, with Warren's key: `PROVIDER/NAME`, where `*` in the name stands
             *     for anything, or `NAME=PROVIDER/MODEL`, which has that model answer for what they call NAME. Empty: none.
             * @default []
             */
            models: string[];
            /**
             * @description Warren's tools by MCP, at `http://127.0.0.1:7702/mcp`. Absent: for agents that Warren itself runs in their boxes.
             * @default null
             */
            tools: boolean | null;
            /** @default null */
            network: components["schemas"]["NetworkAccess"] | null;
        };
        /** @description Something in a directory. */
        Entry: {
            /** @description Relative to the workspace root. */
            path: string;
            /** @description The name has bytes that are not UTF-8; they are shown as U+FFFD, and the path cannot be used to open it. */
            is_lossy: boolean;
            kind: components["schemas"]["EntryKind"];
            /** Format: int64 */
            bytes: number;
            modified_at: string;
            /** @description Permission bits, octal. */
            mode: string;
            link_target?: string | null;
        };
        /** @enum {string} */
        EntryKind: "file" | "directory" | "symlink" | "special";
        /** @description A fact that happened. */
        Event: components["schemas"]["WorkspaceCreatedEvent"] | components["schemas"]["WorkspaceSpecChangedEvent"] | components["schemas"]["WorkspaceStatusChangedEvent"] | components["schemas"]["WorkspaceRemovedEvent"] | components["schemas"]["WorkspaceRemovalFailedEvent"] | components["schemas"]["WorkspaceRegisteredEvent"] | components["schemas"]["WorkspaceCardChangedEvent"] | components["schemas"]["WorkspaceProbedEvent"] | components["schemas"]["WorkspaceImageRefreshedEvent"] | components["schemas"]["WorkspaceFileChangedEvent"] | components["schemas"]["WorkspaceProcessStartedEvent"] | components["schemas"]["WorkspaceCommandFinishedEvent"] | components["schemas"]["WorkspaceToolRefusedEvent"] | components["schemas"]["WorkspaceNetworkUsedEvent"] | components["schemas"]["TemplateStoredEvent"] | components["schemas"]["TemplateRemovedEvent"] | components["schemas"]["WorkspaceBudgetExhaustedEvent"] | components["schemas"]["WorkspaceModelCalledEvent"] | components["schemas"]["TaskSubmittedEvent"] | components["schemas"]["TaskChangedEvent"] | components["schemas"]["TaskProgressedEvent"] | components["schemas"]["DeliveryRequeuedEvent"] | components["schemas"]["MessageRefusedEvent"] | components["schemas"]["DelegationChangedEvent"] | components["schemas"]["DelegationCompletedEvent"] | components["schemas"]["ConversationCreatedEvent"] | components["schemas"]["ConversationChangedEvent"] | components["schemas"]["ConversationRemovedEvent"] | components["schemas"]["ChatMessagePostedEvent"] | components["schemas"]["PushConfigSetEvent"] | components["schemas"]["PushConfigRemovedEvent"] | components["schemas"]["PushGivenUpEvent"] | components["schemas"]["ScheduleChangedEvent"] | components["schemas"]["ScheduleFiredEvent"] | components["schemas"]["ScheduleSkippedEvent"] | components["schemas"]["ScheduleFailedEvent"] | components["schemas"]["MemoryWrittenEvent"] | components["schemas"]["MemoryForgottenEvent"] | components["schemas"]["ApprovalRequestedEvent"] | components["schemas"]["ApprovalDecidedEvent"] | components["schemas"]["SessionChangedEvent"] | components["schemas"]["ToolRuleCreatedEvent"] | components["schemas"]["ToolRuleRevokedEvent"] | components["schemas"]["TokenCreatedEvent"] | components["schemas"]["TokenRevokedEvent"] | components["schemas"]["SignedInEvent"] | components["schemas"]["UserJoinedEvent"] | components["schemas"]["UserChangedEvent"] | components["schemas"]["UserLeftEvent"] | components["schemas"]["SecretSetEvent"] | components["schemas"]["SecretRemovedEvent"] | components["schemas"]["SecretKeyRotatedEvent"] | components["schemas"]["WebhookCreatedEvent"] | components["schemas"]["WebhookStoppedEvent"] | components["schemas"]["WebhookResumedEvent"] | components["schemas"]["WebhookRemovedEvent"] | components["schemas"]["WebhookCallDeadEvent"] | components["schemas"]["ChannelCreatedEvent"] | components["schemas"]["ChannelRemovedEvent"] | components["schemas"]["ServerStartedEvent"] | components["schemas"]["ServerStoppingEvent"];
        /** @description One frame of a stream, as SSE `data:` or a WebSocket text message. */
        EventFrame: {
            event: components["schemas"]["Event"];
            /** @enum {string} */
            type: "event";
        } | {
            event: components["schemas"]["LiveEvent"];
            /** @enum {string} */
            type: "live";
        } | {
            /** Format: int64 */
            after: number;
            /** Format: int64 */
            oldest: number;
            /** @enum {string} */
            type: "truncated";
        } | {
            /** Format: int64 */
            seq: number;
            /** @enum {string} */
            type: "caught_up";
        } | {
            /** Format: int64 */
            after: number;
            /** @enum {string} */
            type: "lagged";
        } | {
            code: string;
            /** Format: int64 */
            after: number;
            /** @enum {string} */
            type: "closing";
        };
        /** @description What every `Event` has, whatever its kind. */
        EventHeader: {
            /** @description RFC 3339. */
            at: string;
            principal: components["schemas"]["Principal"];
            /**
             * Format: int64
             * @description Global, ascending.
             */
            seq: number;
            workspace_id?: string | null;
        };
        EventPage: {
            items: components["schemas"]["Event"][];
            /**
             * Format: int64
             * @description Pass as `after` to go on.
             */
            next_after: number;
            /** @description Whether the end of the log was reached. */
            is_last: boolean;
            /** @description Numbers of events of this page that this version of Warren cannot read. They are left as they are. */
            unreadable?: string[];
        };
        /** @description One frame of a streamed command (`Accept: text/event-stream`). */
        ExecFrame: {
            base64: string;
            /** @enum {string} */
            type: "stdout";
        } | {
            base64: string;
            /** @enum {string} */
            type: "stderr";
        } | {
            result: components["schemas"]["ExecResult"];
            /** @enum {string} */
            type: "finished";
        } | {
            problem: components["schemas"]["Problem"];
            /** @enum {string} */
            type: "failed";
        };
        /** @description A command: either `argv` (no shell reads it) or `command` (read by `/bin/sh`). */
        ExecRequest: {
            argv?: string[] | null;
            command?: string | null;
            /** @description Relative to the workspace root. */
            cwd?: string | null;
            /** @description Added to an environment that is built from nothing. */
            env?: {
                [key: string]: string;
            };
            stdin?: string | null;
            /**
             * Format: int64
             * @description Clamped to the workspace's maximum.
             */
            timeout_ms?: number | null;
            /** @description Keep the whole output in this file of the workspace. */
            spill_to?: string | null;
        };
        /** @description How a command ended. */
        ExecResult: {
            /**
             * Format: int32
             * @description Absent when a signal ended it.
             */
            exit_code?: number | null;
            /** Format: int32 */
            signal?: number | null;
            /** @description Text; bytes that are not UTF-8 are replaced, and the exact ones are in `stdout_base64`. */
            stdout: string;
            stderr: string;
            stdout_base64?: string | null;
            stderr_base64?: string | null;
            timed_out: boolean;
            /** @description Some output was left out: head and tail are here, and a line between them says how much is not. */
            truncated: boolean;
            /**
             * Format: int64
             * @description Bytes of stdout and stderr together.
             */
            total_bytes: number;
            /** Format: int64 */
            duration_ms: number;
        };
        /** @description A team to be made below a workspace: a template's root with all below it, or a list of children. */
        ExpandWorkspace: {
            /**
             * @description A stored template; either this or `children`.
             * @default null
             */
            template: string | null;
            /** @default null */
            children: components["schemas"]["Blueprint"][] | null;
            /**
             * @description Names of required variables that the runtimes get elsewhere.
             * @default []
             */
            provided_env: string[];
        };
        /** @description What a workspace does, for people who watch: the last lines, with repeats folded into one. */
        Feed: {
            /** @description At most 20, the oldest first. */
            lines: components["schemas"]["FeedLine"][];
        };
        FeedLine: {
            /** @description When it happened last. */
            at: string;
            /** @description The kind of the event, such as `exchange.task.progressed`. */
            kind: string;
            text: string;
            /**
             * Format: int32
             * @description How often it happened in a row.
             */
            count: number;
        };
        /** @description A file or directory that changed. */
        FileChange: {
            kind: components["schemas"]["ChangeKind"];
            /** @description Relative to the workspace root. */
            path: string;
        };
        /** @description What changed while somebody waited; nothing, if nothing did. */
        FileChanges: {
            changes: components["schemas"]["FileChange"][];
            /** @description Some changes were not told: list the directory again. */
            lagged: boolean;
        };
        /** @description What a watcher is told. */
        FileWatchFrame: {
            /** @enum {string} */
            type: "watching";
        } | {
            kind: components["schemas"]["ChangeKind"];
            path: string;
            /** @enum {string} */
            type: "changed";
        } | {
            /** @enum {string} */
            type: "lagged";
        } | {
            code: string;
            /** @enum {string} */
            type: "closing";
        };
        FileWritten: {
            path: string;
            /** Format: int64 */
            bytes: number;
            created: boolean;
        };
        /** @description What a search found, the best first. */
        FoundMemories: {
            items: components["schemas"]["Memory"][];
            /** @description Ids of entries of this page that this version of Warren cannot read. They are left as they are. */
            unreadable?: string[];
        };
        /**
         * @description A report of a runtime. Every field is optional; absent means unchanged. A field that Warren does not know, or whose value
         *     cannot be, is left out, and `warnings` in the answer says so: the rest of the report counts.
         */
        Heartbeat: {
            /**
             * Format: double
             * @description Of its recent work, the part that failed.
             */
            error_rate?: number | null;
            /** @description One of the errors behind the rate; empty: none any more. */
            sample_error?: string | null;
            /** Format: int32 */
            active_tasks?: number | null;
            /** Format: int64 */
            uptime_s?: number | null;
            /** @description Empty: none. */
            current_task?: string | null;
            /**
             * Format: date-time
             * @description RFC 3339. A time in the future is taken as now.
             */
            last_progress_at?: string | null;
            /** @description Empty: well. `wedged`: it cannot work. Anything else is kept and not interpreted. */
            runtime_state?: string | null;
            runtime_metadata?: components["schemas"]["RuntimeMetadata"] | null;
        };
        /** @description The answer to a report. */
        HeartbeatAnswer: {
            workspace_id: string;
            status: components["schemas"]["Status"];
            reason?: string | null;
            /** @description What is wanted of the workspace now. */
            desired: components["schemas"]["Desired"];
            /** Format: int64 */
            generation: number;
            /** Format: int64 */
            liveness_timeout_ms: number;
            /**
             * Format: int32
             * @description How many messages the runtime is given at once, as of now.
             */
            max_concurrent_tasks?: number;
            /** @description What Warren did not take at its word. */
            warnings: string[];
        };
        /** @description A host, and what may be asked of it. */
        HostGrant: {
            /** @description `example.com`, or `*.example.com` for what is below it. */
            host: string;
            /**
             * Format: int32
             * @description 80, 443, or from 1024 on. Absent: 443, and 80 for `http`.
             */
            port?: number | null;
            scheme?: components["schemas"]["NetworkScheme"] | null;
            /** @description Such as `GET`. Empty: all. Not for `https`, of which Warren sees no request. */
            methods?: string[];
            /** @description What a path begins with, such as `/org/project/`. Empty: all. Not for `https`. */
            paths?: string[];
        };
        /** @description Who Warren signs in as at a registry of images: never the password. */
        ImageLogin: {
            /** @description Its host, with a port unless it is the usual one; `docker.io` is Docker Hub. */
            registry: string;
            username: string;
            updated_at: string;
            updated_by: components["schemas"]["Principal"];
        };
        /** @description All of them; there are not many. */
        ImageLogins: {
            items: components["schemas"]["ImageLogin"][];
            /** @description Names of entries that no key at hand opens. They are left as they are. */
            unreadable?: string[];
        };
        /** @description A bundle to be taken in. */
        ImportBundle: {
            /** @description As it was exported. Kept as JSON, so that one of a newer version can be told from one that is wrong. */
            bundle: components["schemas"]["Bundle"];
            /**
             * Format: uuid
             * @description The workspace below which it is made.
             */
            parent_id?: string | null;
            /** @description Names of required variables that the runtimes get elsewhere. */
            provided_env?: string[];
        };
        /** @description What became of each workspace of an import, parents first. */
        ImportReport: {
            nodes: components["schemas"]["ImportedNode"][];
            /** Format: int32 */
            created: number;
            /** Format: int32 */
            failed: number;
        };
        /** @description A tree to be made: from a template, or as it stands here. */
        ImportTree: {
            /**
             * @description A stored template; either this or `tree`.
             * @default null
             */
            template: string | null;
            /** @default null */
            tree: components["schemas"]["Blueprint"] | null;
            /**
             * @description The name of the root; absent: its own.
             * @default null
             */
            name: string | null;
            /**
             * Format: uuid
             * @description The workspace below which the tree is made.
             * @default null
             */
            parent_id: string | null;
            /**
             * @description Names of required variables that the runtimes get elsewhere.
             * @default []
             */
            provided_env: string[];
        };
        /** @description What became of the files of an imported workspace. */
        ImportedFiles: {
            /** Format: int32 */
            written: number;
            /** Format: int64 */
            bytes: number;
            /** Format: int32 */
            failed: number;
            /** @description Why, for the first of those that failed. */
            problems?: string[];
        };
        /** @description One workspace of an import: either it has an id, or a problem. */
        ImportedNode: {
            /** @description Names from the root down, such as `lead/critic`. */
            path: string;
            name: string;
            workspace_id?: string | null;
            tier?: components["schemas"]["Tier"] | null;
            problem?: components["schemas"]["Problem"] | null;
            /** @description What did not come along as it was, as sentences for people. */
            warnings?: string[];
            files?: components["schemas"]["ImportedFiles"] | null;
        };
        /** @description A way into the org for one person; never its secret. */
        Invitation: {
            id: string;
            role: components["schemas"]["OrgRole"];
            /** @description Only a provider's sign-in with this address may take it. */
            email?: string | null;
            state: components["schemas"]["InvitationState"];
            invited_by: components["schemas"]["Principal"];
            created_at: string;
            expires_at: string;
            used_at?: string | null;
            used_by?: components["schemas"]["Principal"] | null;
            revoked_at?: string | null;
        };
        InvitationPage: {
            items: components["schemas"]["Invitation"][];
            next_cursor?: string | null;
            /** @description Ids of entries of this page that this version of Warren cannot read. They are left as they are. */
            unreadable?: string[];
        };
        /** @description What an invitation leads to. Looking does not use it up. */
        InvitationPreview: {
            /** @description The name of the org. */
            org: string;
            role: components["schemas"]["OrgRole"];
            /** @description The name of whoever made it. */
            invited_by: string;
            expires_at: string;
            /** @description Whether it is taken by a provider's sign-in alone: it was made for one address. */
            needs_provider: boolean;
        };
        /**
         * @description How an invitation stands.
         * @enum {string}
         */
        InvitationState: "open" | "used" | "expired" | "revoked";
        /**
         * @description What keeps a sandbox shut.
         * @enum {string}
         */
        Isolation: "auto" | "bwrap" | "seatbelt";
        /** @description What a rotation of the key did. */
        KeyRotation: {
            /** @description The key that all secrets are under now. */
            key_id: string;
            /**
             * @description Whether it was made for this. Where keys come from a variable or a command, their owner makes them: put the new
             *     one in front of the old and start Warren again.
             */
            is_new_key: boolean;
            /** Format: int64 */
            resealed: number;
            /**
             * Format: int64
             * @description Secrets that no key at hand opens, or that this version of Warren cannot read; they were left as they are.
             */
            unreadable: number;
            /** @description The latter, by name; those of a workspace as `ID/NAME`. */
            unreadable_rows?: string[];
        };
        /** @description Which models can be asked. */
        KnownModels: {
            providers: components["schemas"]["ModelProvider"][];
            /** @description Scripts that answer without any key, as `scripted/{name}`. */
            scripts: string[];
            /** @description The day on which the table of prices was looked up. */
            prices_date?: string | null;
        };
        /**
         * @description A directory, sorted by path. One of more than 100,000 entries, listed with depth 1, may come in an order of its
         *     own; each entry is told once either way.
         */
        Listing: {
            path: string;
            entries: components["schemas"]["Entry"][];
            next_cursor?: string | null;
        };
        /** @description A fact that is told and not stored: it has no sequence, and whoever was not there missed it. */
        LiveEvent: components["schemas"]["WorkspaceHeartbeatEvent"];
        /** @description What every `LiveEvent` has, whatever its kind. */
        LiveEventHeader: {
            /** @description RFC 3339. */
            at: string;
            workspace_id?: string | null;
        };
        /** @description Files and commands in a host directory, as the host user, without isolation. */
        LocalConfig: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "local";
            /** Format: int32 */
            max_file_mb?: number | null;
            /** Format: int32 */
            max_grep_file_mb?: number | null;
            /**
             * Format: int64
             * @description Kept of each of stdout and stderr.
             */
            max_output_bytes?: number | null;
            /**
             * Format: int64
             * @description The longest timeout a caller may ask for.
             */
            max_timeout_ms?: number | null;
            /** @description Names of host variables that commands may see. */
            pass_env?: string[] | null;
            run?: components["schemas"]["RunPolicy"] | null;
            share?: components["schemas"]["Sharing"] | null;
        };
        /** @description Something that was made with a token and is still active. */
        MadeWithToken: {
            /** @description `token`, `schedule`, `webhook` or `channel`. */
            kind: string;
            id: string;
            name: string;
            workspace_id?: string | null;
        };
        /** @description What was made with a token and is still active, by itself or with tokens that were made with it. */
        MadeWithTokenList: {
            /** @description How many there are of each kind. */
            counts: {
                [key: string]: number;
            };
            /** @description The first thousand of them. */
            items: components["schemas"]["MadeWithToken"][];
        };
        /** @description Something remembered. */
        Memory: {
            /** Format: uuid */
            id: string;
            scope: components["schemas"]["MemoryScope"];
            key: string;
            value: string;
            /**
             * Format: int64
             * @description Also the ETag.
             */
            version: number;
            /**
             * Format: int32
             * @description How many credentials were masked in it.
             */
            masked: number;
            /** @description Who wrote it last. */
            author: components["schemas"]["Principal"];
            /**
             * Format: uuid
             * @description The workspace through which it was written last.
             */
            workspace_id: string;
            /** Format: uuid */
            task_id?: string | null;
            created_at: string;
            updated_at: string;
            expires_at?: string | null;
        };
        /** @description Files that live and die with the process. */
        MemoryConfig: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "memory";
            /** Format: int32 */
            max_file_mb?: number | null;
            /** Format: int32 */
            max_grep_file_mb?: number | null;
            /**
             * Format: int32
             * @description All files together.
             */
            max_total_mb?: number | null;
        };
        /** @description Something was forgotten. */
        MemoryForgottenEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["MemoryForgottenEventData"];
            /** @enum {string} */
            kind: "exchange.memory.forgotten";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "exchange.memory.forgotten";
        };
        MemoryForgottenEventData: {
            key: string;
            /** Format: uuid */
            memory_id: string;
            /** @enum {string} */
            scope: "local" | "team" | "org";
        };
        MemoryPage: {
            items: components["schemas"]["Memory"][];
            /** @description Pass as `cursor` for the next page; absent on the last. */
            next_cursor?: string | null;
            /** @description Ids of entries of this page that this version of Warren cannot read. They are left as they are. */
            unreadable?: string[];
        };
        /**
         * @description With whom something is shared.
         * @enum {string}
         */
        MemoryScope: "local" | "team" | "org";
        /** @description Something was remembered, under a new key or in place of what was there. */
        MemoryWrittenEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["MemoryWrittenEventData"];
            /** @enum {string} */
            kind: "exchange.memory.written";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "exchange.memory.written";
        };
        MemoryWrittenEventData: {
            key: string;
            /** Format: int32 */
            masked: number;
            /** Format: uuid */
            memory_id: string;
            /** @enum {string} */
            scope: "local" | "team" | "org";
            /** Format: int64 */
            version: number;
        };
        /** @description One part of a message: exactly one of `text`, `raw`, `url` and `data`. */
        MessagePart: {
            text?: string | null;
            /** @description Bytes, in base64. */
            raw?: string | null;
            url?: string | null;
            data?: unknown;
            media_type?: string | null;
            filename?: string | null;
            metadata?: Record<string, unknown>;
        };
        /** @description A message was refused because the agent is busy and keeps its own session: nothing was queued. */
        MessageRefusedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["MessageRefusedEventData"];
            /** @enum {string} */
            kind: "exchange.message.refused";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "exchange.message.refused";
        };
        MessageRefusedEventData: {
            /** @enum {string} */
            reason: "busy" | "gone" | "resumed" | "no_answer" | "lease_lost" | "given_back" | "no_progress" | "deadline_passed" | "expired" | "cancelled" | "workspace_removed" | "answer_too_large" | "failed" | "unauthorized" | "forbidden" | "cannot_be_called" | "call_refused" | "untrusted" | "bad_answer" | "task_unknown" | "not_cancelable" | "version_not_supported" | "content_type_not_supported" | "not_supported" | "message_refused" | "agent_error" | "unrecognized";
        };
        /**
         * @description Which side speaks.
         * @enum {string}
         */
        MessageRole: "user" | "agent";
        /**
         * @description What kinds of token are made on request.
         * @enum {string}
         */
        MintableKind: "admin" | "user" | "workspace" | "join";
        /**
         * @description What becomes of slots that passed while nobody could fire them.
         * @enum {string}
         */
        MissedPolicy: "skip" | "once" | "all";
        /** @description A variable that a workspace requires and that is not set. */
        MissingEnv: {
            /** @description The workspace, by names from the root down. */
            path: string;
            name: string;
        };
        /** @description A provider of models, which are written `{name}/{model}`. */
        ModelProvider: {
            name: string;
            /** @description How it is spoken to: `anthropic`, `responses`, `chat` or `scripted`. */
            wire: string;
            /** @description Empty where it is in Warren itself. */
            base_url: string;
            needs_key: boolean;
            /** @description The secret, or the variable of Warren's own environment, that holds the key. */
            key_name?: string | null;
            /** @description Whether the org, or the workspace that was asked about, has the key. Always, where none is needed. */
            has_key: boolean;
        };
        /** @description A host path in a box; both paths are absolute. */
        Mount: {
            source: string;
            target: string;
            mode?: components["schemas"]["MountMode"] | null;
        };
        /** @enum {string} */
        MountMode: "ro" | "rw";
        /** @description Moves or renames something inside the workspace. */
        MoveFile: {
            from: string;
            to: string;
            overwrite?: boolean;
        };
        /** @description `none`, or which hosts. */
        NetworkAccess: components["schemas"]["NoNetwork"] | components["schemas"]["NetworkPolicy"];
        /** @description A host with everything on it, the name of a set of hosts, or a host with what may be asked of it. */
        NetworkGrant: string | components["schemas"]["HostGrant"];
        /** @description Hosts that are reached. */
        NetworkPolicy: {
            /** @default [] */
            allow: components["schemas"]["NetworkGrant"][];
            /**
             * @description Whether people are asked about hosts that are not named, in their inbox.
             * @default false
             */
            ask: boolean;
        };
        /**
         * @description How a host is reached.
         * @enum {string}
         */
        NetworkScheme: "https" | "http" | "secured";
        /**
         * @description Nothing is reached.
         * @enum {string}
         */
        NoNetwork: "none";
        /** @description What an agent tells people of its own accord. */
        Notify: {
            text: string;
            /** @description Where; absent: in the youngest conversation, or a new one. */
            conversation_id?: string | null;
            attachments?: components["schemas"]["Attachment"][];
            /** @description Of the sender's own making: the same one again is the same notice, told once. */
            message_id?: string | null;
        };
        Org: {
            id: string;
            name: string;
            role?: components["schemas"]["OrgRole"] | null;
            created_at: string;
            quotas?: components["schemas"]["OrgQuotas"] | null;
            usage?: components["schemas"]["OrgUsage"] | null;
        };
        /** @description An org that one is in, and what one may do there. */
        OrgMembership: {
            id: string;
            name: string;
            role?: components["schemas"]["OrgRole"] | null;
        };
        /** @description The orgs that one is in; for who runs this Warren, all. */
        OrgPage: {
            items: components["schemas"]["Org"][];
            next_cursor?: string | null;
            /** @description Ids of entries of this page that this version of Warren cannot read. They are left as they are. */
            unreadable?: string[];
        };
        /** @description How much an org may have. Absent: as much as this Warren allows anybody. */
        OrgQuotas: {
            /** Format: int32 */
            max_workspaces?: number | null;
            /** Format: int32 */
            max_members?: number | null;
            /** Format: int32 */
            max_sessions_running?: number | null;
            /**
             * Format: int64
             * @description What all its workspaces together may spend in a month, in millionths of the currency's unit.
             */
            monthly_spend_micros?: number | null;
            max_tier?: components["schemas"]["Tier"] | null;
        };
        /**
         * @description What a person may do in an org: `viewer` reads, `member` works, `operator` runs the org.
         * @enum {string}
         */
        OrgRole: "viewer" | "member" | "operator";
        /** @description How much an org has now. */
        OrgUsage: {
            /** Format: int64 */
            workspaces: number;
            /** Format: int64 */
            members: number;
            /** Format: int64 */
            sessions_running: number;
            /** @description Such as `2026-11`. */
            month: string;
            /** Format: int64 */
            spent_micros: number;
        };
        /**
         * @description What becomes of a slot while the task of the one before is not over.
         * @enum {string}
         */
        OverlapPolicy: "skip" | "queue" | "allow";
        /** @description What is to change about an org. Absent fields stay; `quotas` is written as a whole. */
        PatchOrg: {
            name?: string | null;
            quotas?: components["schemas"]["OrgQuotas"] | null;
        };
        /**
         * @description Absent means unchanged. A new `cron` or `every_seconds` takes the place of whichever was there; a `time_zone` alone
         *     moves a cron to another one.
         */
        PatchSchedule: {
            /** @default null */
            cron: string | null;
            /**
             * Format: int32
             * @default null
             */
            every_seconds: number | null;
            /** @default null */
            time_zone: string | null;
            /** @default null */
            prompt: string | null;
            /**
             * Format: int32
             * @default null
             */
            jitter_seconds: number | null;
            /** @default null */
            missed: components["schemas"]["MissedPolicy"] | null;
            /** @default null */
            overlap: components["schemas"]["OverlapPolicy"] | null;
        };
        /** @description What is to change about a person. Absent fields stay. */
        PatchUser: {
            name?: string | null;
            display_name?: string | null;
            email?: string | null;
            role?: components["schemas"]["OrgRole"] | null;
            /** @description By those who run this Warren. */
            is_admin?: boolean | null;
        };
        PatchWebhook: {
            /** @description `false` stops it: what is owed waits, and what happens meanwhile is not told. */
            is_active: boolean;
        };
        /** @description A partial change: what is absent stays as it is. */
        PatchWorkspace: {
            name?: string | null;
            /** @description `null` makes it a root; absent leaves it where it is. */
            parent_id?: string | null;
            desired?: components["schemas"]["Desired"] | null;
            /** @description `null` takes it back. */
            role?: string | null;
            /** Format: int32 */
            provision_timeout_seconds?: number | null;
            /** Format: int32 */
            hibernate_after_seconds?: number | null;
            /** Format: int32 */
            max_concurrent_tasks?: number | null;
            /**
             * @description The program of a resident agent, and its arguments; empty: Warren runs none. Counts from the runner's next start
             *     on, such as a restart.
             */
            command?: string[] | null;
            /**
             * @description The stored agent that runs a hosted workspace; `null`: none. Counts for sessions that begin from now on, as do
             *     `model` and `prompts`.
             */
            agent?: string | null;
            model?: string | null;
            doors?: components["schemas"]["Doors"] | null;
            /** @description By name; `null` takes one away, and what is not named stays. */
            prompts?: {
                [key: string]: string | null;
            };
            /**
             * @description Fields of its provider's config: what is absent stays, `null` has its default again, the fields of an object such as
             *     `limits` are changed one by one, and a list is replaced whole. `kind` and `share` stay as they are. Judged like a
             *     new workspace's, and what it has already is not held against it. All but `run`, which counts from the next call on,
             *     needs a new box: the workspace is brought up anew, what runs in it ends, and its files stay.
             */
            provider?: Record<string, unknown> | null;
            /** @description `null`: all that the provider offers. They need a new box too. */
            capabilities?: components["schemas"]["Capability"][] | null;
            tier?: components["schemas"]["Tier"] | null;
            peers?: components["schemas"]["PeerPolicy"] | null;
        };
        /** @description Somebody a workspace may talk to. */
        Peer: {
            id: string;
            name: string;
            role?: string | null;
            status: components["schemas"]["Status"];
            parent_id?: string | null;
        };
        /**
         * @description Whom a workspace talks to unless it says more.
         * @enum {string}
         */
        PeerCircle: "nobody" | "family" | "org";
        PeerList: {
            items: components["schemas"]["Peer"][];
        };
        /** @description Whom a workspace may talk to. Both sides must agree. */
        PeerPolicy: {
            circle?: components["schemas"]["PeerCircle"];
            allow?: string[];
            deny?: string[];
        };
        /** @description What waits for somebody outside. */
        PendingWork: {
            approvals: components["schemas"]["Approval"][];
            /** @description Calls that the caller runs, and questions to the user: answered with a tool result. */
            calls: components["schemas"]["SessionCall"][];
            messages: components["schemas"]["SessionMessage"][];
        };
        /** @description A place on a map. */
        Position: {
            /** Format: double */
            x: number;
            /** Format: double */
            y: number;
        };
        /** @description A message to post in a conversation. */
        PostMessage: {
            message: components["schemas"]["TaskMessage"];
            /** @description Work that waits for this message. Absent: work of this conversation that asked for input, or else new work. */
            task_id?: string | null;
            /**
             * Format: int64
             * @description Waits so long for the answer; 0: not at all.
             */
            wait_ms?: number;
        };
        /** @description A message that stands in its conversation, and the work that it led to. */
        PostedMessage: {
            message: components["schemas"]["ChatMessage"];
            task_id: string;
            task_state: components["schemas"]["TaskState"];
            /** @description It waits until the workspace is free. */
            queued: boolean;
            /**
             * Format: int64
             * @description How many are before it; absent unless it waits.
             */
            position?: number | null;
            /** @description It was posted before, under the same key or message id. */
            is_repeat: boolean;
            answer?: components["schemas"]["ChatMessage"] | null;
        };
        /** @description When a schedule would fire. */
        PreviewSchedule: {
            /** @default null */
            cron: string | null;
            /**
             * Format: int32
             * @default null
             */
            every_seconds: number | null;
            /** @default null */
            time_zone: string | null;
            /**
             * Format: int32
             * @description How many slots; 10 unless told.
             * @default null
             */
            count: number | null;
        };
        /** @description Who acts. */
        Principal: {
            kind: components["schemas"]["PrincipalKind"];
            id: string;
            /** @description What a person is called, where the answer looks it up. */
            name?: string | null;
        };
        /** @enum {string} */
        PrincipalKind: "user" | "workspace" | "schedule" | "channel" | "system";
        /** @description What went wrong (RFC 9457). Match on `code`; the sentences may change. */
        Problem: {
            /** @description Where the code is explained, relative to the server. */
            type: string;
            /** @description A fixed sentence for the code. */
            title: string;
            /** Format: int32 */
            status: number;
            /** @description Stable; see the error reference. */
            code: string;
            /** @description What it was about in this request. */
            detail?: string | null;
            /** @description What to do about it. */
            remedy: string;
            /** @description Variables that must be set first, where that is what is wrong. */
            missing?: components["schemas"]["MissingEnv"][];
            /** @description The agent keeps its own session: nothing was queued for it. */
            native_session?: boolean | null;
            /** @description Finds the log lines of this request. */
            request_id: string;
        };
        /** @description A process of a workspace. */
        Process: {
            /**
             * Format: int32
             * @description Counts from 1 while the workspace is open; opened again, it begins anew.
             */
            id: number;
            /** @description The program's name, without its arguments. */
            program: string;
            /**
             * @description In a list: what it was started with, with secrets masked, up to 1,000 bytes. Absent where Warren does not know it any
             *     more, for a shell, and for who may not read its output.
             */
            command_line?: string | null;
            state: components["schemas"]["ProcessState"];
            /**
             * Format: int32
             * @description Absent while it runs, and when a signal ended it.
             */
            exit_code?: number | null;
            /** Format: int32 */
            signal?: number | null;
            timed_out: boolean;
            /** @description RFC 3339. Tells two processes with the same id apart. */
            started_at: string;
            /**
             * Format: int64
             * @description Bytes of output so far, stdout and stderr together.
             */
            output_bytes: number;
            has_pty: boolean;
        };
        /** @description One frame of streamed output (`Accept: text/event-stream`). The SSE `id` is the offset to resume from. */
        ProcessFrame: {
            base64: string;
            /** Format: int64 */
            offset: number;
            /** @enum {string} */
            type: "output";
        } | {
            /** Format: int32 */
            exit_code?: number | null;
            /** Format: int32 */
            signal?: number | null;
            timed_out: boolean;
            /** @enum {string} */
            type: "exited";
        } | {
            code: string;
            /** Format: int64 */
            next_offset: number;
            /** @enum {string} */
            type: "closing";
        };
        /** @description Input for a process. */
        ProcessInput: {
            /** @description Text to write; or bytes, in `base64`. */
            text?: string | null;
            base64?: string | null;
            /** @description Nothing more will come. */
            close?: boolean;
        };
        /** @description The processes of a workspace, by id; finished ones are kept for a while. */
        ProcessList: {
            items: components["schemas"]["Process"][];
        };
        /** @description A stretch of output, stdout and stderr in the order they came. */
        ProcessOutput: {
            /** @description Text; bytes that are not UTF-8 are replaced, and the exact ones are in `output_base64`. */
            output: string;
            output_base64?: string | null;
            /**
             * Format: int64
             * @description Where it begins: later than asked if older output is no longer kept.
             */
            offset: number;
            /**
             * Format: int64
             * @description Ask from here next.
             */
            next_offset: number;
            /** @description `exited` only once all output before the end was handed out. */
            state: components["schemas"]["ProcessState"];
            /** Format: int32 */
            exit_code?: number | null;
            /** Format: int32 */
            signal?: number | null;
            timed_out: boolean;
        };
        /** @enum {string} */
        ProcessState: "running" | "exited";
        ProgressTaken: {
            lease_until?: string | null;
        };
        /** @description Where the provider asks who it is. */
        ProviderAddress: {
            /** @description Where the browser is to go now. */
            url: string;
        };
        /** @description How a workspace is backed, tagged by `kind`. What is absent has its default. */
        ProviderConfig: components["schemas"]["MemoryConfig"] | components["schemas"]["LocalConfig"] | components["schemas"]["SandboxConfig"] | components["schemas"]["DockerConfig"];
        ProviderInfo: {
            kind: string;
            capabilities: components["schemas"]["Capability"][];
            /** @description What somebody who picks it should know. */
            note: string;
            /** @description Why no workspace of it can be opened here, and what to do about it. Absent: it can. */
            unavailable?: string | null;
        };
        /** @description The size of a terminal, in characters. */
        PtySize: {
            /** Format: int32 */
            rows: number;
            /** Format: int32 */
            columns: number;
        };
        /** @enum {string} */
        PullPolicy: "missing" | "always" | "never";
        /** @description Somebody does not want to be told about a task any more. */
        PushConfigRemovedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["PushConfigRemovedEventData"];
            /** @enum {string} */
            kind: "exchange.push_config.removed";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "exchange.push_config.removed";
        };
        PushConfigRemovedEventData: {
            config_id: string;
            /** Format: uuid */
            task_id: string;
        };
        /** @description Somebody wants to be told about a task at an address of theirs. */
        PushConfigSetEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["PushConfigSetEventData"];
            /** @enum {string} */
            kind: "exchange.push_config.set";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "exchange.push_config.set";
        };
        PushConfigSetEventData: {
            config_id: string;
            /** Format: uuid */
            task_id: string;
        };
        /** @description An address did not take what it was told about a task, as often as it was tried. */
        PushGivenUpEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["PushGivenUpEventData"];
            /** @enum {string} */
            kind: "exchange.push_config.given_up";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "exchange.push_config.given_up";
        };
        PushGivenUpEventData: {
            /** Format: int32 */
            attempts: number;
            config_id: string;
            /** Format: uuid */
            task_id: string;
        };
        QueuePage: {
            items: components["schemas"]["QueuedMessage"][];
            next_cursor?: string | null;
            /** @description Ids of entries of this page that this version of Warren cannot read. They are left as they are. */
            unreadable?: string[];
        };
        /** @description One message on its way to a workspace. */
        QueuedMessage: {
            id: string;
            task_id: string;
            author: components["schemas"]["Author"];
            message: components["schemas"]["TaskMessage"];
            /** Format: int32 */
            priority: number;
            state: components["schemas"]["DeliveryState"];
            /**
             * Format: int64
             * @description How many are before it, as the queue stands now; absent unless it waits.
             */
            position?: number | null;
            /** @description `answered`, `failed`, `expired` or `cancelled`, once it has ended. */
            end?: string | null;
            /** @description Why it ended or was put back, such as `busy` or `lease_lost`. */
            reason?: string | null;
            /** Format: int32 */
            attempts: number;
            not_before: string;
            expires_at: string;
            lease_until?: string | null;
            created_at: string;
            ended_at?: string | null;
        };
        /** @description A message that came through a channel and is in the workspace's queue. */
        ReceivedHook: {
            task_id: string;
            /** @description It came before, and nothing was done a second time. */
            is_repeat: boolean;
        };
        /** @description What a runtime says when it makes itself known, with its join token as the credential. */
        RegisterRuntime: {
            version?: string | null;
            /** @description How the agent describes itself; an object of at most 256 KiB. */
            agent_card?: Record<string, unknown> | null;
            heartbeat?: components["schemas"]["Heartbeat"] | null;
        };
        /** @description A runtime that was taken in. */
        RegisteredRuntime: {
            workspace_id: string;
            status: components["schemas"]["Status"];
            /**
             * Format: int64
             * @description How often a runtime of this workspace registered.
             */
            boots: number;
            /** @description The credential of this boot, shown once. The one before has ended. */
            token: string;
            /**
             * Format: int64
             * @description Silent for longer: offline. Report three times as often.
             */
            liveness_timeout_ms: number;
            /**
             * Format: int32
             * @description How many messages it is given at once; the answer to each report says so too.
             */
            max_concurrent_tasks?: number;
            /** Format: int64 */
            generation: number;
            /** @description What Warren did not take at its word. */
            warnings: string[];
            /**
             * @description The workspace counts as wedged, by this error of a runtime before. A runner goes on from there: it reports the wedge
             *     until it has done some work.
             */
            wedge?: string | null;
        };
        /** @description What the registry knows about a workspace. */
        RegistryDescription: {
            state: string;
            provider: string;
            opened_at?: string | null;
            last_error?: string | null;
            last_attempt_at?: string | null;
            last_success_at?: string | null;
            /** Format: int64 */
            opens: number;
            /** Format: int64 */
            evictions: number;
            /** @description As the open workspace tells them; absent unless it is open. */
            limits?: Record<string, unknown> | null;
        };
        /** @description Something to be remembered, in place of what is there under its key. */
        Remember: {
            /** @description Credentials in it are masked before it is written. */
            value: string;
            /**
             * Format: int32
             * @description Forgotten after so long; absent: never.
             */
            ttl_seconds?: number | null;
            /**
             * Format: uuid
             * @description The task in which it is written.
             */
            task_id?: string | null;
            /**
             * Format: int64
             * @description Only if this is still the version that is there; 0: only if nothing is. Absent: the last write counts.
             */
            expected_version?: number | null;
        };
        /** @description Makes a rule of an approval, so that nobody is asked about such calls again. */
        RememberDecision: {
            /** @description Where calls of this tool are allowed from now on. */
            scope: components["schemas"]["ToolRuleScope"];
            /** @description Only calls whose arguments fit; absent: every call of the tool. */
            arguments?: {
                [key: string]: string;
            };
            /**
             * Format: int32
             * @description Absent: until it is revoked.
             */
            expires_in_seconds?: number | null;
        };
        /** @description Of the workspace and all below it. */
        RemovalCounts: {
            /**
             * Format: int32
             * @description Marked as removed, now or before.
             */
            marked: number;
            /**
             * Format: int32
             * @description Nothing is left of them.
             */
            finished: number;
            /**
             * Format: int32
             * @description Could not be stopped: their files are kept, and it is tried again.
             */
            failed: number;
            /**
             * Format: int32
             * @description Still being stopped.
             */
            pending: number;
        };
        /** @description A person who is no longer in the org. */
        RemovedUser: {
            id: string;
            name: string;
            /** @description Whether what acts in their name was ended with it. */
            ended: boolean;
            made: components["schemas"]["MadeWithTokenList"];
        };
        /** @description A workspace that was removed, and how far that went. */
        RemovedWorkspace: components["schemas"]["Workspace"] & {
            removal: components["schemas"]["RemovalCounts"];
        };
        /** @description How work goes on. Without anything in it the claim is renewed, and the work has not moved. */
        ReportProgress: {
            /** Format: int32 */
            attempt: number;
            message?: components["schemas"]["TaskMessage"] | null;
            artifacts?: components["schemas"]["ArtifactUpdate"][];
            /** @description The work has moved, though there is nothing to say about it. */
            moved?: boolean;
        };
        /** @description A question to people. */
        RequestApproval: {
            /** @description What is to be done, in a few words, such as `deploy`. */
            action: string;
            /** @description Why, for the person who decides. */
            reason: string;
            /** @description What else they should see. */
            context?: Record<string, unknown> | null;
            /**
             * Format: int32
             * @description Nobody decided after so long: expired. Absent: a day; 30 days at most.
             */
            expires_in_seconds?: number | null;
            /**
             * Format: uuid
             * @description The task that waits for it.
             */
            task_id?: string | null;
        };
        /** @description How a session goes on. */
        ResumeSession: {
            /** @default null */
            limits: components["schemas"]["RunLimits"] | null;
        };
        /**
         * @description What happens to a container when its workspace is opened again.
         * @enum {string}
         */
        Reuse: "recreate" | "reconnect";
        /** @description A token that is revoked. */
        RevokedToken: {
            id: string;
            /**
             * @description Whether what was made with it was ended with it: tokens are revoked, schedules paused, webhooks stopped, channels
             *     removed.
             */
            ended: boolean;
            made: components["schemas"]["MadeWithTokenList"];
        };
        RewindSession: {
            /**
             * Format: int32
             * @description The last step that stays; 0 is the beginning.
             */
            step: number;
        };
        /**
         * @description Why there is a run.
         * @enum {string}
         */
        RunCause: "slot" | "missed" | "manual";
        /** @description What a run may use at most; absent: no limit of its own. */
        RunLimits: {
            /**
             * Format: int64
             * @description Millionths of the currency's unit.
             * @default null
             */
            cost_micros: number | null;
            /**
             * Format: int64
             * @default null
             */
            tokens: number | null;
            /**
             * Format: int32
             * @default null
             */
            steps: number | null;
            /**
             * Format: int32
             * @default null
             */
            tool_calls: number | null;
            /**
             * Format: int32
             * @default null
             */
            seconds: number | null;
        };
        /** @description What a model may run. */
        RunPolicy: {
            mode?: components["schemas"]["CommandMode"] | null;
            /** @description Allowed programs, by name. Absent: none. */
            allow?: string[] | null;
            /**
             * @description Allowed programs that can start any other, such as `git` or `python3`: with one of them the list holds nothing back.
             *     Without a box they are run only if they are named here.
             */
            allow_unrestrained?: string[];
        };
        /** @enum {string} */
        RunState: "claimed" | "waiting" | "fired" | "skipped" | "failed";
        /** @description What was used. */
        RunUsage: {
            /**
             * Format: int64
             * @description Millionths of the currency's unit.
             */
            cost_micros: number;
            /** Format: int64 */
            tokens: number;
            /** Format: int32 */
            steps: number;
            /** Format: int32 */
            tool_calls: number;
            /**
             * Format: int64
             * @description Time in which it worked; waiting for people does not count.
             */
            active_ms: number;
            /**
             * Format: int64
             * @description How long the conversation is for the model, as far as is known.
             */
            context_tokens: number;
        };
        /**
         * @description What passes between a runner and its program.
         * @enum {string}
         */
        RunnerAdapter: "stdio" | "json" | "acp" | "a2a";
        /** @description How the program of a resident agent is spoken with. */
        RunnerSpec: {
            adapter: components["schemas"]["RunnerAdapter"];
            /** @description The mode in which the program works; absent: one in which it asks before it acts. */
            mode?: string | null;
            /** @description What the program takes over from Warren: `scheduler`, `session`, `status_mgmt`, `deduplication`. */
            declares?: string[];
            /**
             * Format: int32
             * @description How long its work may show no progress; absent: as long as for others.
             */
            idle_timeout_seconds?: number | null;
            /**
             * Format: int32
             * @description How long the program may take to answer for the first time; absent: a minute.
             */
            start_timeout_seconds?: number | null;
            /** @description Where a program that serves A2A listens, on loopback; only with the adapter `a2a`. */
            a2a_url?: string | null;
        };
        /**
         * @description What runs the agent of a workspace.
         * @enum {string}
         */
        Runtime: "hosted" | "resident" | "external";
        /** @description What a runtime takes over from Warren, one switch each. What is absent stays as it is. */
        RuntimeCapabilities: {
            /** @description It fires its own schedule; Warren only moves it on. */
            scheduler?: boolean | null;
            /** @description It answers "busy" itself; Warren queues nothing for it. */
            session?: boolean | null;
            /** @description Warren infers nothing from its numbers. */
            status_mgmt?: boolean | null;
            /** @description It takes a message id once, so that a message without an answer may be sent again. */
            deduplication?: boolean | null;
        };
        RuntimeMetadata: {
            capabilities?: components["schemas"]["RuntimeCapabilities"] | null;
            /**
             * Format: int32
             * @description How long its work may show no progress; 0: back to the default.
             */
            idle_timeout_seconds?: number | null;
        };
        /** @description Files and commands in a box of the kernel's: no network, no host files. */
        SandboxConfig: {
            isolation?: components["schemas"]["Isolation"] | null;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "sandbox";
            limits?: components["schemas"]["BoxLimits"] | null;
            /** Format: int32 */
            max_file_mb?: number | null;
            /** Format: int32 */
            max_grep_file_mb?: number | null;
            /**
             * Format: int64
             * @description Kept of each of stdout and stderr.
             */
            max_output_bytes?: number | null;
            /**
             * Format: int64
             * @description The longest timeout a caller may ask for.
             */
            max_timeout_ms?: number | null;
            /** @description Host paths that the box sees besides its own files. */
            mounts?: components["schemas"]["Mount"][] | null;
            /** @description Names of host variables that commands may see. */
            pass_env?: string[] | null;
            run?: components["schemas"]["RunPolicy"] | null;
        };
        /** @description Messages sent to a workspace at set times. */
        Schedule: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            workspace_id: string;
            name: string;
            cron?: string | null;
            /** @description Present with `cron`. */
            time_zone?: string | null;
            /** Format: int32 */
            every_seconds?: number | null;
            prompt: string;
            /** Format: int32 */
            jitter_seconds: number;
            missed: components["schemas"]["MissedPolicy"];
            overlap: components["schemas"]["OverlapPolicy"];
            is_paused: boolean;
            /** @description The next slots, without jitter; none while it is paused. */
            upcoming: string[];
            /** @description When the next one fires, jitter included. */
            next_at?: string | null;
            created_by: components["schemas"]["Principal"];
            created_at: string;
            updated_at: string;
            /**
             * Format: int64
             * @description Also the ETag.
             */
            version: number;
            /**
             * @description Present when it is broken: what of it this version of Warren cannot read. It does not fire, and what is shown in
             *     that place is not what was set.
             */
            problem?: string | null;
        };
        /** @description A schedule was made, changed, paused, resumed or removed; `change` says which. */
        ScheduleChangedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["ScheduleChangedEventData"];
            /** @enum {string} */
            kind: "exchange.schedule.changed";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "exchange.schedule.changed";
        };
        ScheduleChangedEventData: {
            /** @enum {string} */
            change: "created" | "changed" | "paused" | "resumed" | "removed" | "set_aside" | "unreadable" | "stopped" | "revoked";
            name: string;
            problem?: string;
            /** Format: uuid */
            schedule_id: string;
        };
        /** @description A slot of a schedule could not be fired. */
        ScheduleFailedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["ScheduleFailedEventData"];
            /** @enum {string} */
            kind: "exchange.schedule.failed";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "exchange.schedule.failed";
        };
        ScheduleFailedEventData: {
            name: string;
            reason: string;
            /** Format: uuid */
            run_id: string;
            /** Format: uuid */
            schedule_id: string;
            /** Format: date-time */
            slot: string | null;
        };
        /** @description A schedule fired: its message is on its way. */
        ScheduleFiredEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["ScheduleFiredEventData"];
            /** @enum {string} */
            kind: "exchange.schedule.fired";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "exchange.schedule.fired";
        };
        ScheduleFiredEventData: {
            /** @enum {string} */
            cause: "slot" | "missed" | "manual";
            name: string;
            /** Format: uuid */
            run_id: string;
            /** Format: uuid */
            schedule_id: string;
            /** Format: date-time */
            slot: string | null;
            /** Format: uuid */
            task_id: string | null;
        };
        SchedulePage: {
            items: components["schemas"]["Schedule"][];
            /** @description Pass as `cursor` for the next page; absent on the last. */
            next_cursor?: string | null;
            /** @description Ids of entries of this page that this version of Warren cannot read. They are left as they are. */
            unreadable?: string[];
        };
        SchedulePreview: {
            slots: string[];
        };
        /** @description One firing of a schedule, or the record of slots that did not fire. */
        ScheduleRun: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            schedule_id: string;
            /** @description The slot, or the first of several; absent where somebody asked for the run. */
            slot?: string | null;
            /** @description The last of several. */
            last_slot?: string | null;
            /**
             * Format: int32
             * @description How many slots this stands for; 10000 where there were more.
             */
            slots: number;
            cause: components["schemas"]["RunCause"];
            state: components["schemas"]["RunState"];
            /** @description Why it was skipped or failed, as a stable word. */
            reason?: string | null;
            /** Format: uuid */
            task_id?: string | null;
            asked_by?: components["schemas"]["Principal"] | null;
            /** Format: int32 */
            attempts: number;
            created_at: string;
            ended_at?: string | null;
        };
        ScheduleRunPage: {
            items: components["schemas"]["ScheduleRun"][];
            /** @description Pass as `cursor` for the next page; absent on the last. */
            next_cursor?: string | null;
            /** @description Ids of entries of this page that this version of Warren cannot read. They are left as they are. */
            unreadable?: string[];
        };
        /** @description Slots of a schedule did not fire. */
        ScheduleSkippedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["ScheduleSkippedEventData"];
            /** @enum {string} */
            kind: "exchange.schedule.skipped";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "exchange.schedule.skipped";
        };
        ScheduleSkippedEventData: {
            name: string;
            /** @enum {string|null} */
            reason: "missed" | "coalesced" | "catch_up_limit" | "overlap" | "queue_full" | "workspace_paused" | "own_scheduler" | null;
            /** Format: uuid */
            run_id: string;
            /** Format: uuid */
            schedule_id: string;
            /** Format: date-time */
            slot: string | null;
            /** Format: int32 */
            slots: number;
        };
        /** @description Something to be said to an agent again and again: by `cron`, or every so many seconds. */
        ScheduleSpec: {
            name: string;
            /** @description Five or six fields. */
            cron?: string | null;
            /** Format: int32 */
            every_seconds?: number | null;
            /** @description Such as `Europe/Zurich`; absent: UTC. */
            time_zone?: string | null;
            prompt: string;
        };
        /** @description A secret as it may be shown: never the value. */
        Secret: {
            /** @description The variable that it becomes. */
            name: string;
            owner: components["schemas"]["SecretOwner"];
            workspace_id?: string | null;
            /**
             * Format: int64
             * @description Goes up with each new value.
             */
            version: number;
            /** @description The key that it is sealed under. */
            key_id: string;
            /** @description Whether the server has that key. Without it, commands of the workspaces concerned are refused. */
            is_readable: boolean;
            created_at: string;
            updated_at: string;
            updated_by: components["schemas"]["Principal"];
        };
        /** @description All secrets are sealed under another key. */
        SecretKeyRotatedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["SecretKeyRotatedEventData"];
            /** @enum {string} */
            kind: "secret.key.rotated";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "secret.key.rotated";
        };
        SecretKeyRotatedEventData: {
            key_id: string;
            /** Format: int64 */
            resealed: number;
            /** Format: int64 */
            unreadable: number;
        };
        /**
         * @description Whose secret it is: an org's, for all its workspaces, or one workspace's own, which wins.
         * @enum {string}
         */
        SecretOwner: "org" | "workspace";
        SecretPage: {
            items: components["schemas"]["Secret"][];
            next_cursor?: string | null;
            /** @description Names of entries of this page that this version of Warren cannot read. They are left as they are. */
            unreadable?: string[];
        };
        /** @description A secret was removed. */
        SecretRemovedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["SecretRemovedEventData"];
            /** @enum {string} */
            kind: "secret.value.removed";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "secret.value.removed";
        };
        SecretRemovedEventData: {
            name: string;
            /** @enum {string} */
            owner: "org" | "workspace";
            /** Format: int64 */
            workspaces: number;
        };
        /** @description A secret was set, or got a new value. Workspaces that run with it get it by a restart, a few at a time. */
        SecretSetEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["SecretSetEventData"];
            /** @enum {string} */
            kind: "secret.value.set";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "secret.value.set";
        };
        SecretSetEventData: {
            name: string;
            /** @enum {string} */
            owner: "org" | "workspace";
            /** Format: int64 */
            version: number;
            /** Format: int64 */
            workspaces: number;
        };
        /** @description A message to a workspace. */
        SendMessage: {
            message: components["schemas"]["TaskMessage"];
            /** @description Groups tasks that belong together. */
            context_id?: string | null;
            /** @description A task that waits for this message; absent: a new one. */
            task_id?: string | null;
            /**
             * Format: int32
             * @description Higher goes first.
             */
            priority?: number;
            /**
             * Format: int64
             * @description Not delivered after so long: expired.
             */
            expires_in_ms?: number | null;
            /**
             * Format: int64
             * @description The end of all patience for the work itself.
             */
            timeout_ms?: number | null;
            /**
             * Format: int64
             * @description Waits so long for the work to end, or to stop for input; 0: not at all.
             */
            wait_ms?: number;
        };
        /** @description A message to a session: either `text` or `parts`. */
        SendSessionMessage: {
            /** @default null */
            text: string | null;
            /** @default null */
            parts: components["schemas"]["MessagePart"][] | null;
            /** @default null */
            mode: components["schemas"]["BusyMode"] | null;
            /**
             * @description The sender's own name for it.
             * @default null
             */
            client_id: string | null;
        };
        ServerInfo: {
            version: string;
            providers: components["schemas"]["ProviderInfo"][];
            /**
             * @description The kind that a workspace gets whose request names none: `sandbox` where it works, else `docker`. Absent: neither
             *     works here, and such a request is refused.
             */
            default_provider?: string | null;
            /** @description `sqlite` or `postgres`. */
            database: string;
            durability: string;
        };
        /** @description Warren started. */
        ServerStartedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["ServerStartedEventData"];
            /** @enum {string} */
            kind: "server.process.started";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "server.process.started";
        };
        ServerStartedEventData: {
            version: string;
        };
        /** @description Warren was asked to stop and is closing. */
        ServerStoppingEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["ServerStoppingEventData"];
            /** @enum {string} */
            kind: "server.process.stopping";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "server.process.stopping";
        };
        ServerStoppingEventData: {
            version: string;
        };
        /** @description A durable conversation with an agent in a workspace. */
        Session: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            workspace_id: string;
            /** @description Its own, or its id. */
            name: string;
            title: string;
            agent: string;
            /** @description The version of the agent that it keeps until it is upgraded. */
            agent_hash: string;
            status: components["schemas"]["SessionStatus"];
            suspension?: components["schemas"]["SessionSuspension"] | null;
            failure?: components["schemas"]["SessionFailure"] | null;
            /** @description Why the model stopped, if its latest run is completed. */
            finish?: string | null;
            /**
             * Format: int32
             * @description The number of its latest run, from 1; 0 before the first.
             */
            run: number;
            /**
             * Format: int32
             * @description The latest step that the model is shown; 0 before the first.
             */
            last_step: number;
            /**
             * Format: int32
             * @description The step that is under way.
             */
            open_step?: number | null;
            /**
             * Format: int64
             * @description Raised by whatever makes earlier decisions void.
             */
            generation: number;
            /** @description What the agent keeps for itself. */
            state: {
                [key: string]: unknown;
            };
            stop?: components["schemas"]["SessionStop"] | null;
            limits: components["schemas"]["RunLimits"];
            /** @description Of the latest run. */
            usage: components["schemas"]["RunUsage"];
            /** @description Of all runs. */
            total_usage: components["schemas"]["RunUsage"];
            /**
             * Format: int64
             * @description The sequence of the latest entry of its stream. In a list, pieces of an answer that is under way may stand behind it.
             */
            latest_sequence: number;
            branched_from?: components["schemas"]["BranchPoint"] | null;
            created_by: components["schemas"]["Principal"];
            created_at: string;
            updated_at: string;
        };
        /** @description A tool call that a model asked for. */
        SessionCall: {
            /** @description As the model named it. Unique within its session. */
            id: string;
            tool: string;
            /** @description Who carries it out: `workspace`, `session`, `client`, `person` or `unknown`. */
            place: string;
            /** @description As the model wrote them; a string where they are no JSON. */
            proposed: unknown;
            /** @description What it is carried out with: what a person changed the arguments to, or what the model wrote. */
            arguments: unknown;
            decision?: components["schemas"]["SessionCallDecision"] | null;
            /** @description `waiting`, `started` or `closed`. */
            state: string;
            /** @description What it waits for: `turn`, `approval`, `client` or `answer`. */
            waits_for?: string | null;
            /** Format: uuid */
            approval_id?: string | null;
            outcome?: components["schemas"]["SessionCallOutcome"] | null;
            started_at?: string | null;
            ended_at?: string | null;
        };
        /** @description What was decided about a call. */
        SessionCallDecision: {
            /** @description `allowed` (by the policies), `approved` or `denied`. */
            decision: string;
            by?: string | null;
            /** @description The note, or the reason of a denial. */
            note?: string | null;
        };
        /** @description How a tool call ended. */
        SessionCallOutcome: {
            /** @description `done`, `failed`, `denied` or `unknown` (begun, and nobody knows how it ended). */
            kind: string;
            /** @description What the model is told. */
            result: unknown;
            /**
             * Format: int64
             * @description How long the whole result is, where `result` is only its beginning.
             */
            whole_bytes?: number | null;
        };
        /** @description A session with an agent went on, waits, or ended; `phase` is idle, active, suspended, completed, failed or interrupted. */
        SessionChangedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["SessionChangedEventData"];
            /** @enum {string} */
            kind: "agent.session.changed";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "agent.session.changed";
        };
        SessionChangedEventData: {
            name: string;
            /** @enum {string} */
            phase: "idle" | "active" | "suspended" | "completed" | "failed" | "interrupted";
            /** Format: int32 */
            run: number;
            /** Format: uuid */
            session_id: string;
            /** @enum {string|null} */
            suspended_by: "approval" | "client_tool" | "input" | "timer" | "budget" | "stuck" | "workspace" | null;
        };
        /**
         * @description One entry of a session's stream.
         *
         *     `type` is one of `run_started`, `message_delivered`, `step_started`, `step_reset`, `text_delta`, `reasoning_delta`,
         *     `call_delta`, `step_answered`, `call_proposed`, `approval_requested`, `call_decided`, `call_offered`, `call_started`,
         *     `call_output`, `call_ended`, `step_ended`, `state_changed`, `suspended`, `resumed`, `rewound`,
         *     `interrupted`, `run_ended`. Other
         *     fields belong to the type. A stream that must end before its reader wants it to says `closing` with a `code`, without
         *     a sequence.
         */
        SessionEntry: {
            /**
             * Format: int64
             * @description From 1; resume behind it.
             */
            sequence: number;
            at: string;
            type: string;
        } & {
            [key: string]: unknown;
        };
        /** @description Why its latest run failed. */
        SessionFailure: {
            /** @description `model`, `model_refused`, `no_model`, `aborted`, `agent` or `internal`. */
            kind: string;
            /** @description For people. */
            message: string;
        };
        /** @description A message to a session. */
        SessionMessage: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            session_id: string;
            author: components["schemas"]["Principal"];
            parts: components["schemas"]["MessagePart"][];
            mode: components["schemas"]["BusyMode"];
            state: components["schemas"]["SessionMessageState"];
            /** Format: int32 */
            step?: number | null;
            /** @description `cancelled`, `aborted` or `rewound`. */
            dropped_because?: string | null;
            client_id?: string | null;
            created_at: string;
        };
        /**
         * @description What became of a message. The last two are final.
         * @enum {string}
         */
        SessionMessageState: "queued" | "delivered" | "dropped";
        SessionPage: {
            items: components["schemas"]["Session"][];
            /** @description Pass as `cursor` for the next page; absent on the last. */
            next_cursor?: string | null;
            /** @description Ids of entries of this page that this version of Warren cannot read. They are left as they are. */
            unreadable?: string[];
        };
        /**
         * @description What a session is doing.
         * @enum {string}
         */
        SessionStatus: "idle" | "running" | "suspended" | "completed" | "failed" | "interrupted";
        /** @description One call of the model with the tool calls that it asked for. */
        SessionStep: {
            /** Format: int32 */
            number: number;
            /**
             * Format: uuid
             * @description The session in which it was taken: this one, or the one it was branched from.
             */
            session_id: string;
            /** Format: int32 */
            run: number;
            /** @description `asking`, `acting` or `closed`. */
            phase: string;
            /**
             * Format: int32
             * @description How often the model was asked.
             */
            attempt: number;
            /** @description Who answered, `provider/name`. */
            model?: string | null;
            /** @description The messages that the model was first shown with this step. */
            messages: string[];
            blocks: components["schemas"]["AnswerBlock"][];
            calls: components["schemas"]["SessionCall"][];
            stop_reason?: string | null;
            usage: components["schemas"]["TokenUsage"];
            /**
             * Format: int64
             * @description Millionths of the currency's unit.
             */
            cost_micros: number;
            started_at: string;
            answered_at?: string | null;
            ended_at?: string | null;
        };
        SessionStepPage: {
            items: components["schemas"]["SessionStep"][];
            /**
             * Format: int32
             * @description Pass as `after` for the next page; absent on the last.
             */
            next_after?: number | null;
        };
        /** @description Somebody asked for the run to stop. */
        SessionStop: {
            /** @description `interrupt` or `abort`. */
            kind: string;
            /** @description Tools that still run then are cut. */
            deadline: string;
            by: components["schemas"]["Principal"];
        };
        SessionSuspension: {
            by: components["schemas"]["SuspendedBy"];
            /** @description For people. */
            reason: string;
        };
        /** @description What a workspace may spend in a month. */
        SetBudget: {
            /**
             * Format: int64
             * @description `null`: no limit.
             */
            monthly_limit_micros: number | null;
        };
        /** @description A login on its way in. The password does not come out again. */
        SetImageLogin: {
            username: string;
            /** @description Or a token that the registry gave out. */
            password: string;
        };
        /** @description A value on its way in. It does not come out again. */
        SetSecret: {
            /** @description Text without NUL, at least one character. */
            value: string;
        };
        /** @description A directory shared by name between workspaces. */
        Sharing: {
            id: string;
            /** @description Must be true: sharing has to be said twice. */
            share_across_sessions: boolean;
        };
        /** @description The secret of an invitation, to see what it is. */
        ShowInvitation: {
            secret: string;
        };
        /** @description Who is asking. */
        SignIn: {
            principal: components["schemas"]["Principal"];
            token_kind: components["schemas"]["TokenKind"];
            /** @description What the caller may do: of a person, what their role in the org lets them. */
            scopes: string[];
            expires_at?: string | null;
            user?: components["schemas"]["SignedInUser"] | null;
            /** @description The org in which the caller works now. */
            org: components["schemas"]["OrgMembership"];
            /** @description Whether they run this Warren. */
            is_admin: boolean;
            /** @description Where else they may work; for who runs this Warren, everywhere. The first hundred. */
            orgs: components["schemas"]["OrgMembership"][];
        };
        /** @description A new sign-in link. It works once, within ten minutes. */
        SignInLink: {
            /** @description Path and fragment, to be put behind the server's address. A fragment is never sent, so it enters no log. */
            path: string;
            expires_at: string;
        };
        /** @description The organisation's own sign-in. */
        SignInProvider: {
            /** @description As its button says. */
            name: string;
            /** @description Where the browser is to go. */
            path: string;
        };
        /** @description How one may sign in to this Warren. */
        SignInWays: {
            /** @description By a link that somebody hands out. */
            link: boolean;
            provider?: components["schemas"]["SignInProvider"] | null;
        };
        /** @enum {string} */
        SignalName: "interrupt" | "terminate" | "kill";
        /** @description A signal for the process and all it started. */
        SignalProcess: {
            signal?: components["schemas"]["SignalName"];
        };
        /** @description Somebody opened a sign-in link. */
        SignedInEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["SignedInEventData"];
            /** @enum {string} */
            kind: "identity.session.started";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "identity.session.started";
        };
        SignedInEventData: {
            /** @enum {string} */
            kind: "admin" | "user" | "workspace" | "join" | "runner" | "login" | "session";
            name: string;
            /** Format: uuid */
            token_id: string;
        };
        /** @description The person who is asking. */
        SignedInUser: {
            id: string;
            name: string;
            display_name: string;
        };
        /** @description A public key of the kind Ed25519 (RFC 8037). */
        SigningKey: {
            /** @description `OKP`. */
            kty: string;
            /** @description `Ed25519`. */
            crv: string;
            /** @description `EdDSA`. */
            alg: string;
            /** @description `sig`. */
            use: string;
            /** @description The key's thumbprint (RFC 7638). */
            kid: string;
            /** @description The key, in base64url. */
            x: string;
        };
        /** @description A JSON Web Key Set (RFC 7517). */
        SigningKeys: {
            keys: components["schemas"]["SigningKey"][];
        };
        /** @description A process that outlives the request: either `argv` (no shell reads it) or `command` (read by `/bin/sh`). */
        StartProcess: {
            argv?: string[] | null;
            command?: string | null;
            /** @description Relative to the workspace root. */
            cwd?: string | null;
            /** @description Added to an environment that is built from nothing. */
            env?: {
                [key: string]: string;
            };
            /** @description Its first input; more can follow, and its input stays open. */
            stdin?: string | null;
            /**
             * Format: int64
             * @description When to end it, clamped to the workspace's maximum. Absent: it lives as long as the workspace is open.
             */
            timeout_ms?: number | null;
            pty?: components["schemas"]["PtySize"] | null;
        };
        /**
         * @description How a workspace is.
         * @enum {string}
         */
        Status: "provisioning" | "awaiting_agent" | "online" | "degraded" | "offline" | "failed" | "paused" | "hibernated" | "removed";
        /** @description What the model was shown for a step. */
        StepContext: {
            model: string;
            system: string;
            turns: components["schemas"]["ContextTurn"][];
            tools: components["schemas"]["ContextTool"][];
            /** Format: int32 */
            max_output_tokens?: number | null;
            effort?: string | null;
            output_schema?: unknown;
            /** @description The provider's own. */
            parameters: Record<string, unknown>;
            /** @description What took how much of it. */
            shares: components["schemas"]["ContextShare"][];
            usage?: components["schemas"]["TokenUsage"] | null;
            /** @description False where the step has no answer yet: this is what the model would be asked with now. */
            was_asked: boolean;
        };
        /** @description A run that is to stop. */
        StopRun: {
            /**
             * Format: int32
             * @description The number of the run that is meant. If it is not under way, the answer is 409.
             */
            run: number;
            /**
             * Format: int32
             * @description How long calls that run may still take; 10 unless told.
             */
            within_seconds?: number | null;
        };
        /** @description One version of a stored agent. It never changes. */
        StoredAgent: {
            name: string;
            /** @description Of the content: the same content is the same version. */
            hash: string;
            /** @description With the defaults filled in. */
            definition: Record<string, unknown>;
            /** @description When this content was stored first. */
            created_at: string;
            created_by: components["schemas"]["Principal"];
        };
        /** @description What a tool of the caller gave, or a user answered: either `output` or `error`. */
        SubmitToolResult: {
            call_id: string;
            /** @description Any JSON, `null` included. */
            output?: unknown;
            error?: string | null;
        };
        /**
         * @description What a suspended session waits for.
         * @enum {string}
         */
        SuspendedBy: "approval" | "client_tool" | "input" | "timer" | "budget" | "stuck" | "workspace";
        /** @description A sweep, as this process runs it. */
        Sweep: {
            name: string;
            /** @description What it does. */
            meaning: string;
            /** Format: int64 */
            interval_ms: number;
            last_run?: components["schemas"]["SweepRun"] | null;
            /** Format: int64 */
            runs: number;
            /** Format: int64 */
            acted_on: number;
            /** Format: int64 */
            failures: number;
            /** Format: int64 */
            panics: number;
        };
        SweepList: {
            items: components["schemas"]["Sweep"][];
        };
        /** @description How a run of a sweep ended. */
        SweepOutcome: {
            /**
             * Format: int64
             * @description What was due.
             */
            looked_at: number;
            /**
             * Format: int64
             * @description About how many something was done.
             */
            acted_on: number;
            /**
             * Format: int64
             * @description How many could not be dealt with.
             */
            failed: number;
            /** @enum {string} */
            kind: "done";
        } | {
            owner: string;
            /** @enum {string} */
            kind: "elsewhere";
        } | {
            owner: string;
            /** Format: int64 */
            looked_at: number;
            /** Format: int64 */
            acted_on: number;
            /** Format: int64 */
            failed: number;
            /** @enum {string} */
            kind: "taken_over";
        } | {
            code: string;
            /** Format: int64 */
            looked_at?: number;
            /** Format: int64 */
            acted_on?: number;
            /** Format: int64 */
            failed?: number;
            /** @enum {string} */
            kind: "failed";
        } | {
            /** @enum {string} */
            kind: "panicked";
        };
        SweepRun: {
            started_at: string;
            finished_at: string;
            outcome: components["schemas"]["SweepOutcome"];
        };
        /** @description Another org to work in, by name or id. */
        SwitchOrg: {
            org: string;
        };
        /** @description Work that somebody asked a workspace for. */
        Task: {
            id: string;
            workspace_id: string;
            context_id: string;
            author: components["schemas"]["Author"];
            state: components["schemas"]["TaskState"];
            status_message?: components["schemas"]["TaskMessage"] | null;
            history: components["schemas"]["TaskMessage"][];
            artifacts: components["schemas"]["TaskArtifact"][];
            created_at: string;
            updated_at: string;
        };
        /** @description Something that work produced. */
        TaskArtifact: {
            id: string;
            name?: string | null;
            description?: string | null;
            parts: components["schemas"]["MessagePart"][];
            metadata?: Record<string, unknown>;
        };
        /** @description A task's state changed. */
        TaskChangedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["TaskChangedEventData"];
            /** @enum {string} */
            kind: "exchange.task.changed";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "exchange.task.changed";
        };
        TaskChangedEventData: {
            /** Format: uuid */
            delivery_id: string;
            /** @enum {string} */
            from: "submitted" | "working" | "input_required" | "auth_required" | "completed" | "failed" | "cancelled" | "rejected";
            /** @enum {string|null} */
            reason: "busy" | "gone" | "resumed" | "no_answer" | "lease_lost" | "given_back" | "no_progress" | "deadline_passed" | "expired" | "cancelled" | "workspace_removed" | "answer_too_large" | "failed" | "unauthorized" | "forbidden" | "cannot_be_called" | "call_refused" | "untrusted" | "bad_answer" | "task_unknown" | "not_cancelable" | "version_not_supported" | "content_type_not_supported" | "not_supported" | "message_refused" | "agent_error" | "unrecognized" | null;
            /** Format: uuid */
            task_id: string;
            /** @enum {string} */
            to: "submitted" | "working" | "input_required" | "auth_required" | "completed" | "failed" | "cancelled" | "rejected";
        };
        /** @description One message. */
        TaskMessage: {
            /** @description Made by who sends it: the same id again is the same message. Absent: Warren makes one. */
            id?: string | null;
            role?: components["schemas"]["MessageRole"];
            parts: components["schemas"]["MessagePart"][];
            metadata?: Record<string, unknown>;
        };
        TaskPage: {
            items: components["schemas"]["Task"][];
            next_cursor?: string | null;
            /**
             * Format: int64
             * @description How many there are in all, with the same filters.
             */
            total: number;
            /** @description Ids of entries of this page that this version of Warren cannot read. They are left as they are. */
            unreadable?: string[];
        };
        /** @description An agent said something about work under way; the first line of it. */
        TaskProgressedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["TaskProgressedEventData"];
            /** @enum {string} */
            kind: "exchange.task.progressed";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "exchange.task.progressed";
        };
        TaskProgressedEventData: {
            line: string;
            /** Format: uuid */
            task_id: string;
        };
        /**
         * @description How a task is.
         * @enum {string}
         */
        TaskState: "submitted" | "working" | "input_required" | "auth_required" | "completed" | "failed" | "cancelled" | "rejected";
        /** @description A message was accepted; `position` says how many are before it, if it has to wait. */
        TaskSubmittedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["TaskSubmittedEventData"];
            /** @enum {string} */
            kind: "exchange.task.submitted";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "exchange.task.submitted";
        };
        TaskSubmittedEventData: {
            context_id: string;
            /** Format: uuid */
            delivery_id: string;
            /** Format: int64 */
            position: number | null;
            /** Format: uuid */
            task_id: string;
        };
        /** @description A stored template. */
        Template: {
            name: string;
            /** @description Of the content; also the ETag. */
            hash: string;
            description?: string | null;
            /** @description With the provider's defaults filled in. */
            blueprint: components["schemas"]["Blueprint"];
            /** @description As it was written, YAML or JSON, comments included. */
            source: string;
            created_at: string;
            updated_at: string;
        };
        TemplatePage: {
            items: components["schemas"]["TemplateSummary"][];
            /** @description Pass as `cursor` for the next page; absent on the last. */
            next_cursor?: string | null;
            /** @description Names of entries of this page that this version of Warren cannot read. They are left as they are. */
            unreadable?: string[];
        };
        /** @description A template was removed. Workspaces made from it stay. */
        TemplateRemovedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["TemplateRemovedEventData"];
            /** @enum {string} */
            kind: "fleet.template.removed";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "fleet.template.removed";
        };
        TemplateRemovedEventData: {
            hash: string;
            name: string;
        };
        /** @description Which template a workspace was made from, and which content it had then. */
        TemplateStamp: {
            name: string;
            hash: string;
        };
        /** @description A template was stored, under a new name or in place of what was there. */
        TemplateStoredEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["TemplateStoredEventData"];
            /** @enum {string} */
            kind: "fleet.template.stored";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "fleet.template.stored";
        };
        TemplateStoredEventData: {
            hash: string;
            name: string;
        };
        /** @description A template in a list. */
        TemplateSummary: {
            name: string;
            hash: string;
            description?: string | null;
            /** @description Templates that it names. */
            uses: string[];
            /** @description Whether it describes more than one workspace. */
            is_tree: boolean;
            created_at: string;
            updated_at: string;
        };
        /** @description A text message from the server of a terminal. Binary messages are the terminal's output, byte for byte. */
        TerminalFrame: {
            process: components["schemas"]["Process"];
            /** Format: int64 */
            offset: number;
            /** Format: int64 */
            replay_end: number;
            /** @enum {string} */
            type: "attached";
        } | {
            /** Format: int64 */
            offset: number;
            /** @enum {string} */
            type: "skipped";
        } | {
            code: string;
            /** @enum {string} */
            type: "input_refused";
        } | {
            /** Format: int32 */
            exit_code?: number | null;
            /** Format: int32 */
            signal?: number | null;
            timed_out: boolean;
            /** @enum {string} */
            type: "exited";
        } | {
            code: string;
            /** Format: int64 */
            next_offset: number;
            /** @enum {string} */
            type: "closing";
        };
        /** @description A text message to the server of a terminal. Binary messages are what was typed, byte for byte. */
        TerminalRequest: {
            /** Format: int32 */
            rows: number;
            /** Format: int32 */
            columns: number;
            /** @enum {string} */
            type: "resize";
        };
        /**
         * @description How much a workspace is given beyond its own box. Everything above `basic` is given by operators only.
         * @enum {string}
         */
        Tier: "basic" | "extended" | "privileged";
        TmpfsMount: {
            target: string;
            /** Format: int32 */
            size_mb: number;
        };
        /** @description A token as it may be shown: never the secret. */
        Token: {
            id: string;
            kind: components["schemas"]["TokenKind"];
            name: string;
            /** @description The beginning of the secret, to recognize it by. */
            prefix: string;
            owner: components["schemas"]["Principal"];
            workspace_id?: string | null;
            scopes: string[];
            created_at: string;
            expires_at?: string | null;
            last_used_at?: string | null;
            revoked_at?: string | null;
        };
        /** @description A token was made. */
        TokenCreatedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["TokenCreatedEventData"];
            /** @enum {string} */
            kind: "identity.token.created";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "identity.token.created";
        };
        TokenCreatedEventData: {
            /** @enum {string} */
            kind: "admin" | "user" | "workspace" | "join" | "runner" | "login" | "session";
            name: string;
            /** Format: uuid */
            token_id: string;
        };
        /**
         * @description What a token is for.
         * @enum {string}
         */
        TokenKind: "admin" | "user" | "workspace" | "join" | "runner" | "login" | "session";
        TokenPage: {
            items: components["schemas"]["Token"][];
            next_cursor?: string | null;
            /** @description Ids of entries of this page that this version of Warren cannot read. They are left as they are. */
            unreadable?: string[];
        };
        /** @description A token was revoked. */
        TokenRevokedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["TokenRevokedEventData"];
            /** @enum {string} */
            kind: "identity.token.revoked";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "identity.token.revoked";
        };
        TokenRevokedEventData: {
            /** @enum {string} */
            kind: "admin" | "user" | "workspace" | "join" | "runner" | "login" | "session";
            name: string;
            /** Format: uuid */
            token_id: string;
        };
        /** @description Tokens, as the provider told them. */
        TokenUsage: {
            /**
             * Format: int64
             * @description Everything that was read, from the cache or not.
             */
            input_tokens: number;
            /** Format: int64 */
            cached_input_tokens: number;
            /** Format: int64 */
            cache_write_tokens: number;
            /**
             * Format: int64
             * @description Everything that was written, reasoning included.
             */
            output_tokens: number;
            /** Format: int64 */
            reasoning_tokens: number;
        };
        /** @description A tool that a model can be given. */
        Tool: {
            name: string;
            description: string;
            /** @description JSON Schema of its arguments. */
            input_schema: Record<string, unknown>;
        };
        /** @description What a tool answered. Exactly one of the two is present. */
        ToolAnswer: {
            result?: Record<string, unknown> | null;
            refused?: components["schemas"]["ToolRefusal"] | null;
        };
        ToolCatalog: {
            tools: components["schemas"]["Tool"][];
            /** @description A fragment for the system prompt. */
            system_prompt: string;
        };
        /** @description A refusal by policy, in words a model can act on. */
        ToolRefusal: {
            kind: string;
            message: string;
            /** @description What would be allowed. */
            allowed: string;
        };
        /** @description A rule about tool calls that a person made. */
        ToolRule: {
            /** Format: uuid */
            id: string;
            scope: components["schemas"]["ToolRuleScope"];
            /**
             * Format: uuid
             * @description Where the scope is a session.
             */
            session_id?: string | null;
            /**
             * Format: uuid
             * @description Where the scope is a workspace.
             */
            workspace_id?: string | null;
            /** @description Where the scope is an agent. */
            agent?: string | null;
            tool: string;
            arguments: {
                [key: string]: string;
            };
            decision: components["schemas"]["ToolRuleDecision"];
            reason?: string | null;
            expires_at?: string | null;
            created_by: components["schemas"]["Principal"];
            created_at: string;
            revoked_by?: components["schemas"]["Principal"] | null;
            revoked_at?: string | null;
        };
        /** @description A person made a rule about tool calls, by itself or with an approval. */
        ToolRuleCreatedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["ToolRuleCreatedEventData"];
            /** @enum {string} */
            kind: "agent.tool_rule.created";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "agent.tool_rule.created";
        };
        ToolRuleCreatedEventData: {
            /** @enum {string} */
            decision: "allow" | "deny" | "ask";
            /** Format: date-time */
            expires_at: string | null;
            /** Format: uuid */
            rule_id: string;
            /** @enum {string} */
            scope: "session" | "workspace" | "agent" | "org";
            tool: string;
        };
        /**
         * @description What becomes of calls that a rule is about.
         * @enum {string}
         */
        ToolRuleDecision: "allow" | "deny" | "ask";
        ToolRulePage: {
            items: components["schemas"]["ToolRule"][];
            /** @description Pass as `cursor` for the next page; absent on the last. */
            next_cursor?: string | null;
            /** @description Ids of entries of this page that this version of Warren cannot read. They are left as they are. */
            unreadable?: string[];
        };
        /** @description A rule about tool calls counts no more. */
        ToolRuleRevokedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["ToolRuleRevokedEventData"];
            /** @enum {string} */
            kind: "agent.tool_rule.revoked";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "agent.tool_rule.revoked";
        };
        ToolRuleRevokedEventData: {
            /** Format: uuid */
            rule_id: string;
            tool: string;
        };
        /**
         * @description Where a rule counts.
         * @enum {string}
         */
        ToolRuleScope: "session" | "workspace" | "agent" | "org";
        /** @description A message as a chat client keeps it. */
        UiMessage: {
            id?: string | null;
            /** @description `user` or `assistant`. */
            role: string;
            parts?: Record<string, unknown>[];
            /** @description Of an assistant's message: what its `finish` said. */
            metadata?: Record<string, unknown>;
        };
        Ulimit: {
            name: string;
            /** Format: int64 */
            soft: number;
            /** Format: int64 */
            hard: number;
        };
        /** @description A session with the version of its agent that it had before, and what is different now. */
        UpgradedSession: {
            session: components["schemas"]["Session"];
            previous_agent_hash: string;
            /** @description Empty if it had the latest version. */
            changes: components["schemas"]["AgentChange"][];
        };
        /** @description Files that were uploaded to a workspace. */
        Uploaded: {
            /** @description To be put into a message to this workspace, as they are. */
            parts: components["schemas"]["MessagePart"][];
            /**
             * Format: int64
             * @description Of all files.
             */
            bytes: number;
        };
        /** @description Takes an invitation. Whoever is signed in joins the org as who they are, and says no names. */
        UseInvitation: {
            secret: string;
            /** @description 1 to 63 of `a-z 0-9 . _ -`. */
            name?: string | null;
            /** @description Absent: the name. */
            display_name?: string | null;
        };
        /** @description The secret of a sign-in link, exchanged for a cookie. */
        UseSignInLink: {
            secret: string;
        };
        /** @description A person, as an org knows them. */
        User: {
            id: string;
            name: string;
            display_name: string;
            /** @description Shown to operators, and to the person. */
            email?: string | null;
            /** @description Whether they run this Warren. */
            is_admin: boolean;
            role?: components["schemas"]["OrgRole"] | null;
            /** @description Since when they are in the org. */
            since?: string | null;
            /** @description When one of their tokens or browsers was last used in the org, to the minute. Shown to operators. */
            last_seen_at?: string | null;
            /** @description When they left it. */
            left_at?: string | null;
        };
        /** @description Somebody's name or role was changed. */
        UserChangedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["UserChangedEventData"];
            /** @enum {string} */
            kind: "identity.user.changed";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "identity.user.changed";
        };
        UserChangedEventData: {
            name: string;
            /** @enum {string} */
            role?: "viewer" | "member" | "operator";
            /** Format: uuid */
            user_id: string;
        };
        /** @description Somebody was taken into the org. */
        UserJoinedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["UserJoinedEventData"];
            /** @enum {string} */
            kind: "identity.user.joined";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "identity.user.joined";
        };
        UserJoinedEventData: {
            name: string;
            /** @enum {string} */
            role: "viewer" | "member" | "operator";
            /** Format: uuid */
            user_id: string;
        };
        /** @description Somebody left the org, or was taken out of it. */
        UserLeftEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["UserLeftEventData"];
            /** @enum {string} */
            kind: "identity.user.left";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "identity.user.left";
        };
        UserLeftEventData: {
            name: string;
            /** Format: uuid */
            user_id: string;
        };
        UserPage: {
            items: components["schemas"]["User"][];
            next_cursor?: string | null;
            /** @description Ids of entries of this page that this version of Warren cannot read. They are left as they are. */
            unreadable?: string[];
        };
        /** @description What a runtime reported, as it stands. */
        Vitals: {
            /** Format: double */
            error_rate: number;
            sample_error?: string | null;
            /** Format: int32 */
            active_tasks: number;
            current_task?: string | null;
            /** Format: int64 */
            uptime_s?: number | null;
            runtime_state: string;
            /** @description The names of what the runtime takes over: `scheduler`, `session`, `status_mgmt`. */
            displaces: string[];
            /** Format: int32 */
            idle_timeout_seconds?: number | null;
            /**
             * Format: int32
             * @description Of the last work that Warren handed it, as many pieces it saw end.
             */
            seen_outcomes: number;
            /**
             * Format: int32
             * @description Of these, the ones that failed.
             */
            seen_failures: number;
            last_outcome_at?: string | null;
            last_heartbeat_at?: string | null;
            last_progress_at?: string | null;
            last_task_at?: string | null;
        };
        Webhook: {
            id: string;
            name: string;
            url: string;
            /** @description Empty: all. */
            events: string[];
            workspace_id?: string | null;
            is_active: boolean;
            created_at: string;
            created_by: components["schemas"]["Principal"];
        };
        /** @description One event that is, or was, owed to a webhook. */
        WebhookCall: {
            /** @description What `webhook-id` says, in every attempt. */
            id: string;
            /**
             * Format: int64
             * @description The event's number in the log.
             */
            seq: number;
            event: string;
            state: components["schemas"]["WebhookCallState"];
            /** Format: int32 */
            attempts: number;
            next_attempt_at?: string | null;
            /**
             * Format: int32
             * @description What the receiver answered last.
             */
            last_status?: number | null;
            /** @description A stable word for what went wrong last. */
            last_error?: string | null;
            created_at: string;
            ended_at?: string | null;
        };
        /** @description An event could not be delivered to a webhook and is a dead letter now. Told to people, never to webhooks. */
        WebhookCallDeadEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["WebhookCallDeadEventData"];
            /** @enum {string} */
            kind: "webhook.call.dead";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "webhook.call.dead";
        };
        WebhookCallDeadEventData: {
            /** Format: int32 */
            attempts: number;
            /** Format: uuid */
            call_id: string;
            reason: string | null;
            /** Format: uuid */
            webhook_id: string;
        };
        WebhookCallPage: {
            items: components["schemas"]["WebhookCall"][];
            next_cursor?: string | null;
            /** @description Ids of entries of this page that this version of Warren cannot read. They are left as they are. */
            unreadable?: string[];
        };
        /** @enum {string} */
        WebhookCallState: "queued" | "delivered" | "dead";
        /** @description Somebody outside is told of events from now on. */
        WebhookCreatedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["WebhookCreatedEventData"];
            /** @enum {string} */
            kind: "webhook.subscription.created";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "webhook.subscription.created";
        };
        WebhookCreatedEventData: {
            name: string;
            origin: string;
            /** Format: uuid */
            webhook_id: string;
        };
        WebhookPage: {
            items: components["schemas"]["Webhook"][];
            next_cursor?: string | null;
            /** @description Ids of entries of this page that this version of Warren cannot read. They are left as they are. */
            unreadable?: string[];
        };
        /** @description A webhook was removed, with what was owed to it. */
        WebhookRemovedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["WebhookRemovedEventData"];
            /** @enum {string} */
            kind: "webhook.subscription.removed";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "webhook.subscription.removed";
        };
        WebhookRemovedEventData: {
            /** Format: uuid */
            webhook_id: string;
        };
        /** @description A webhook that was stopped goes on. */
        WebhookResumedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["WebhookResumedEventData"];
            /** @enum {string} */
            kind: "webhook.subscription.resumed";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "webhook.subscription.resumed";
        };
        WebhookResumedEventData: {
            /** Format: uuid */
            webhook_id: string;
        };
        /** @description A webhook was stopped, by a person or because its receiver said that it is gone. */
        WebhookStoppedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["WebhookStoppedEventData"];
            /** @enum {string} */
            kind: "webhook.subscription.stopped";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "webhook.subscription.stopped";
        };
        WebhookStoppedEventData: {
            /** @enum {string} */
            reason: "asked" | "gone" | "revoked";
            /** Format: uuid */
            webhook_id: string;
        };
        /** @description Why a question is taken back by who asked it. */
        WithdrawApproval: {
            /** @default null */
            note: string | null;
        };
        /** @description A place for an agent to work. */
        Workspace: {
            /** @description UUIDv7, lower case. */
            id: string;
            org_id: string;
            parent_id?: string | null;
            name: string;
            status: components["schemas"]["Status"];
            /** @description Why it has this status, as a sentence for people. */
            reason?: string | null;
            desired: components["schemas"]["Desired"];
            runtime: components["schemas"]["Runtime"];
            /** @description The provider's config with its defaults filled in. */
            provider: components["schemas"]["ProviderConfig"];
            capabilities: components["schemas"]["Capability"][];
            tier: components["schemas"]["Tier"];
            /** @description What it is there for, in a few words. */
            role?: string | null;
            /**
             * Format: int64
             * @description How long it may take from the start of provisioning to its first sign of life, in milliseconds.
             */
            provision_timeout_ms: number;
            /** @description When its place began to be brought up, the last time. */
            provisioning_started_at?: string | null;
            /**
             * Format: int32
             * @description Asleep after so long without a task; absent: never.
             */
            hibernate_after_seconds?: number | null;
            /**
             * Format: int32
             * @description Tasks that it takes at once; absent: the default.
             */
            max_concurrent_tasks?: number | null;
            template?: components["schemas"]["TemplateStamp"] | null;
            agent?: components["schemas"]["Agent"] | null;
            doors?: components["schemas"]["Doors"] | null;
            position?: components["schemas"]["Position"] | null;
            vitals?: components["schemas"]["Vitals"] | null;
            /**
             * Format: int64
             * @description Raised by each change of what is wanted.
             */
            generation: number;
            /**
             * Format: int64
             * @description The generation that was last brought about.
             */
            observed_generation: number;
            behind_of?: components["schemas"]["BehindOf"] | null;
            /**
             * Format: int64
             * @description Raised by every change; also the ETag.
             */
            version: number;
            /** @description RFC 3339. */
            created_at: string;
            updated_at: string;
            removed_at?: string | null;
            /** @description What whoever made it should know about its config, as sentences for people. */
            warnings?: string[];
        };
        /** @description A workspace has spent its budget for the month. */
        WorkspaceBudgetExhaustedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["WorkspaceBudgetExhaustedEventData"];
            /** @enum {string} */
            kind: "workspace.budget.exhausted";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "workspace.budget.exhausted";
        };
        WorkspaceBudgetExhaustedEventData: {
            /** Format: int64 */
            limit_micros: number | null;
            month: string;
            /** Format: int64 */
            spent_micros: number;
        };
        /** @description The runtime of a workspace describes itself differently, or no longer. */
        WorkspaceCardChangedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["WorkspaceCardChangedEventData"];
            /** @enum {string} */
            kind: "workspace.card.changed";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "workspace.card.changed";
        };
        WorkspaceCardChangedEventData: {
            /** Format: int64 */
            boots: number;
            has_card: boolean;
        };
        /** @description A command in a workspace ended; `abandoned` if Warren ended it because nobody waited for it any more. `process` is the number of a background process. */
        WorkspaceCommandFinishedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["WorkspaceCommandFinishedEventData"];
            /** @enum {string} */
            kind: "workspace.command.finished";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "workspace.command.finished";
        };
        WorkspaceCommandFinishedEventData: {
            abandoned: boolean;
            /** Format: int64 */
            duration_ms: number;
            /** Format: int32 */
            exit_code: number | null;
            /** Format: int32 */
            process: number | null;
            program: string;
            /** Format: int32 */
            signal: number | null;
            timed_out: boolean;
        };
        /** @description A workspace was created. */
        WorkspaceCreatedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["WorkspaceCreatedEventData"];
            /** @enum {string} */
            kind: "workspace.lifecycle.created";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "workspace.lifecycle.created";
        };
        WorkspaceCreatedEventData: {
            name: string;
            /** @enum {string} */
            provider: "memory" | "local" | "sandbox" | "docker";
            /** @enum {string} */
            status: "provisioning" | "awaiting_agent" | "online" | "degraded" | "offline" | "failed" | "paused" | "hibernated" | "removed";
            template: string | null;
            /** @enum {string} */
            tier: "basic" | "extended" | "privileged";
        };
        /** @description A file of a workspace was written, moved or deleted through Warren. */
        WorkspaceFileChangedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["WorkspaceFileChangedEventData"];
            /** @enum {string} */
            kind: "workspace.file.changed";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "workspace.file.changed";
        };
        WorkspaceFileChangedEventData: {
            /** Format: int64 */
            bytes: number;
            /** @enum {string} */
            operation: "write" | "upload" | "mkdir" | "delete" | "move";
            path: string;
        };
        WorkspaceHealth: {
            workspace_id: string;
            status: components["schemas"]["Status"];
            reason?: string | null;
            registry?: components["schemas"]["RegistryDescription"] | null;
        };
        /** @description The runtime of a workspace reported. Never stored: it has no sequence, and only who asks for live events sees it. */
        WorkspaceHeartbeatEvent: components["schemas"]["LiveEventHeader"] & {
            data: components["schemas"]["WorkspaceHeartbeatEventData"];
            /** @enum {string} */
            kind: "workspace.heartbeat";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "workspace.heartbeat";
        };
        WorkspaceHeartbeatEventData: {
            /** Format: int32 */
            active_tasks: number;
            current_task: string | null;
            /** Format: double */
            error_rate: number;
            runtime_state: string;
            /** @enum {string} */
            status: "provisioning" | "awaiting_agent" | "online" | "degraded" | "offline" | "failed" | "paused" | "hibernated" | "removed";
            /** Format: int64 */
            uptime_s: number | null;
        };
        /** @description The image that a workspace is made from is another now: it is made anew. */
        WorkspaceImageRefreshedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["WorkspaceImageRefreshedEventData"];
            /** @enum {string} */
            kind: "workspace.image.refreshed";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "workspace.image.refreshed";
        };
        WorkspaceImageRefreshedEventData: {
            from: string | null;
            image: string;
            to: string;
        };
        /** @description A program of a box asked a model, through Warren. `counted` says whether the provider told what was used; otherwise it is estimated, as where the answer was broken off. */
        WorkspaceModelCalledEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["WorkspaceModelCalledEventData"];
            /** @enum {string} */
            kind: "workspace.model.called";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "workspace.model.called";
        };
        WorkspaceModelCalledEventData: {
            /** Format: int64 */
            cached_input_tokens: number;
            /** Format: int64 */
            cost_micros: number;
            counted: boolean;
            /** Format: int64 */
            duration_ms: number;
            /** Format: int64 */
            input_tokens: number;
            model: string;
            /** Format: int64 */
            output_tokens: number;
            /** Format: int32 */
            status: number;
        };
        /** @description Programs of a box reached a host, through the web door: so many connections since the last event of this kind about the host, with the bytes that went out and came in. `problem` says what became of those that were cut. */
        WorkspaceNetworkUsedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["WorkspaceNetworkUsedEventData"];
            /** @enum {string} */
            kind: "workspace.network.used";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "workspace.network.used";
        };
        WorkspaceNetworkUsedEventData: {
            /** Format: int64 */
            connections: number;
            /** Format: int64 */
            duration_ms: number;
            host: string;
            /** Format: int32 */
            port: number;
            problem?: string;
            /** Format: int64 */
            received_bytes: number;
            /** @enum {string} */
            scheme: "https" | "http" | "secured";
            /** Format: int64 */
            sent_bytes: number;
        };
        WorkspacePage: {
            items: components["schemas"]["Workspace"][];
            /** @description Pass as `cursor` for the next page; absent on the last. */
            next_cursor?: string | null;
            /** @description Ids of entries of this page that this version of Warren cannot read. They are left as they are. */
            unreadable?: string[];
        };
        /** @description A runtime whose work shows no progress was asked whether it is there. */
        WorkspaceProbedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["WorkspaceProbedEventData"];
            /** @enum {string} */
            kind: "workspace.runtime.probed";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "workspace.runtime.probed";
        };
        WorkspaceProbedEventData: {
            /** @enum {string} */
            found: "answers" | "silent" | "unknown";
            reason: string;
            /** @enum {string} */
            way: "card" | "box" | "claims";
        };
        /** @description A background process or terminal was started in a workspace; its end is a `workspace.command.finished`. */
        WorkspaceProcessStartedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["WorkspaceProcessStartedEventData"];
            /** @enum {string} */
            kind: "workspace.process.started";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "workspace.process.started";
        };
        WorkspaceProcessStartedEventData: {
            has_pty: boolean;
            /** Format: int32 */
            process: number;
            program: string;
        };
        /** @description The runtime of a workspace registered; `boots` counts how often one did. */
        WorkspaceRegisteredEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["WorkspaceRegisteredEventData"];
            /** @enum {string} */
            kind: "workspace.runtime.registered";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "workspace.runtime.registered";
        };
        WorkspaceRegisteredEventData: {
            /** Format: int64 */
            boots: number;
            version: string | null;
        };
        /** @description A removed workspace could not be stopped: its files are kept, and it is tried again. */
        WorkspaceRemovalFailedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["WorkspaceRemovalFailedEventData"];
            /** @enum {string} */
            kind: "workspace.removal.failed";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "workspace.removal.failed";
        };
        WorkspaceRemovalFailedEventData: {
            /** Format: int32 */
            attempts: number;
            reason: string;
        };
        /** @description A workspace was removed. */
        WorkspaceRemovedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["WorkspaceRemovedEventData"];
            /** @enum {string} */
            kind: "workspace.lifecycle.removed";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "workspace.lifecycle.removed";
        };
        WorkspaceRemovedEventData: {
            /** @enum {string} */
            from: "provisioning" | "awaiting_agent" | "online" | "degraded" | "offline" | "failed" | "paused" | "hibernated" | "removed";
            /** Format: int64 */
            generation: number;
            reason: string | null;
            /** @enum {string} */
            to: "provisioning" | "awaiting_agent" | "online" | "degraded" | "offline" | "failed" | "paused" | "hibernated" | "removed";
        };
        /** @description A workspace's name, parent or spec changed; its generation went up if the spec did. */
        WorkspaceSpecChangedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["WorkspaceSpecChangedEventData"];
            /** @enum {string} */
            kind: "workspace.spec.changed";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "workspace.spec.changed";
        };
        WorkspaceSpecChangedEventData: {
            fields: string[];
            /** Format: int64 */
            generation: number;
        };
        /** @description A workspace's status changed; the reason is a public sentence. */
        WorkspaceStatusChangedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["WorkspaceStatusChangedEventData"];
            /** @enum {string} */
            kind: "workspace.status.changed";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "workspace.status.changed";
        };
        WorkspaceStatusChangedEventData: {
            /** @enum {string} */
            from: "provisioning" | "awaiting_agent" | "online" | "degraded" | "offline" | "failed" | "paused" | "hibernated" | "removed";
            /** Format: int64 */
            generation: number;
            reason: string | null;
            /** @enum {string} */
            to: "provisioning" | "awaiting_agent" | "online" | "degraded" | "offline" | "failed" | "paused" | "hibernated" | "removed";
        };
        /** @description A tool call was refused by policy, or several were: a roll-up carries their exact count. */
        WorkspaceToolRefusedEvent: components["schemas"]["EventHeader"] & {
            data: components["schemas"]["WorkspaceToolRefusedEventData"];
            /** @enum {string} */
            kind: "workspace.tool.refused";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "workspace.tool.refused";
        };
        WorkspaceToolRefusedEventData: {
            /** Format: int64 */
            count: number;
            /** @enum {string} */
            kind: "malformed" | "mode" | "metacharacter" | "program_path" | "program_not_allowed" | "nothing_allowed" | "launcher" | "argument" | "variable" | "network" | "other";
            sentence?: string;
            tool?: string;
        };
    };
    responses: {
        /** @description The request is not one that this route understands; `detail` names the field. */
        BadRequest: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The budget of the workspace is spent. */
        BudgetExhausted: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The state of things does not allow it; `code` says what is in the way. */
        Conflict: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The token may not do that, or the request comes from a place that may not ask. */
        Forbidden: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description It was there and has ended. */
        Gone: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description There is no such thing, or none that the token may see. */
        NotFound: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description A condition of the request does not hold, such as the version that it names. */
        PreconditionFailed: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The body is larger than allowed. */
        TooLarge: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Too many requests; `Retry-After` says when to try again. */
        TooManyRequests: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The request took too long to arrive. */
        TooSlow: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description There is no valid token, or what was shown in its place is not valid any more. */
        Unauthenticated: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The request is well-formed and asks for something that cannot be. */
        Unprocessable: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The content type is not one that this route takes. */
        UnsupportedMediaType: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    list_workspaces: {
        parameters: {
            query?: {
                /** @description From `next_cursor` of the page before. */
                cursor?: string;
                /** @description At most so many; 100 unless told, 500 at most. */
                limit?: number;
                /** @description Only this status. */
                status?: components["schemas"]["Status"];
                /** @description Only this name, exactly. */
                name?: string;
                /** @description Only children of this workspace. */
                parent_id?: string;
                /** @description Also those that were removed. */
                include_removed?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkspacePage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    create_workspace: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateWorkspace"];
            };
        };
        responses: {
            /** @description Made. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Workspace"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    show_workspace: {
        parameters: {
            query?: {
                /** @description Show it also if it was removed. */
                include_removed?: boolean;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Workspace"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    remove_workspace: {
        parameters: {
            query?: {
                /** @description Erase the rows too, once nothing is left. Events and the audit log stay. */
                purge?: boolean;
            };
            header?: {
                /** @description Only if this is still its ETag. */
                "If-Match"?: string | null;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RemovedWorkspace"];
                };
            };
            /** @description Taken; it happens in its own time. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RemovedWorkspace"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    change_workspace: {
        parameters: {
            query?: never;
            header?: {
                /** @description Only if this is still its ETag. */
                "If-Match"?: string | null;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PatchWorkspace"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Workspace"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    pause_workspace: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Workspace"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    resume_workspace: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Workspace"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    hibernate_workspace: {
        parameters: {
            query?: {
                /** @description Also with tasks in flight. */
                force?: boolean;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Workspace"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    wake_workspace: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Workspace"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    restart_workspace: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Workspace"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    reset_workspace: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Workspace"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    workspace_health: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkspaceHealth"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    expand_workspace: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ExpandWorkspace"];
            };
        };
        responses: {
            /** @description Made. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImportReport"];
                };
            };
            /** @description Done for some; each part tells how it went. */
            207: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImportReport"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    collapse_workspace: {
        parameters: {
            query?: {
                /** @description Erase the rows too, once nothing is left. Events and the audit log stay. */
                purge?: boolean;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CollapsedWorkspace"];
                };
            };
            /** @description Taken; it happens in its own time. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CollapsedWorkspace"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    put_position: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Position"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Workspace"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    remove_position: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Workspace"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    export_bundle: {
        parameters: {
            query?: {
                /** @description With all below it; so unless told. */
                tree?: boolean;
                /** @description With their files; not so unless told. The workspaces must be running. */
                files?: boolean;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Bundle"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    import_bundle: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ImportBundle"];
            };
        };
        responses: {
            /** @description Made. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImportReport"];
                };
            };
            /** @description Done for some; each part tells how it went. */
            207: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImportReport"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_templates: {
        parameters: {
            query?: {
                /** @description From `next_cursor` of the page before. */
                cursor?: string;
                /** @description At most so many; 50 unless told. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TemplatePage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    show_template: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Template"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    put_template: {
        parameters: {
            query?: never;
            header?: {
                /** @description Only if this is still its ETag. */
                "If-Match"?: string | null;
            };
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Blueprint"];
                "application/yaml": string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Template"];
                };
            };
            /** @description Made. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Template"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    remove_template: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done, and nothing to tell. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    import_tree: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ImportTree"];
            };
        };
        responses: {
            /** @description Made. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImportReport"];
                };
            };
            /** @description Done for some; each part tells how it went. */
            207: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImportReport"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_workspace_schedules: {
        parameters: {
            query?: {
                /** @description From `next_cursor` of the page before. */
                cursor?: string;
                /** @description At most so many; 100 unless told, 500 at most. */
                limit?: number;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SchedulePage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    create_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateSchedule"];
            };
        };
        responses: {
            /** @description Made. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_schedules: {
        parameters: {
            query?: {
                /** @description From `next_cursor` of the page before. */
                cursor?: string;
                /** @description At most so many; 100 unless told, 500 at most. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SchedulePage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    preview_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PreviewSchedule"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SchedulePreview"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    show_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    remove_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done, and nothing to tell. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    change_schedule: {
        parameters: {
            query?: never;
            header?: {
                /** @description Only if this is still its ETag. */
                "If-Match"?: string | null;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PatchSchedule"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    pause_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    resume_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    run_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Taken; it happens in its own time. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleRun"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_schedule_runs: {
        parameters: {
            query?: {
                /** @description From `next_cursor` of the page before. */
                cursor?: string;
                /** @description At most so many; 100 unless told, 500 at most. */
                limit?: number;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleRunPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_memories: {
        parameters: {
            query?: {
                /** @description Only of this scope; absent: of all. */
                scope?: "local" | "team" | "org";
                /** @description From `next_cursor` of the page before. */
                cursor?: string;
                /** @description At most so many; 100 unless told, 500 at most. */
                limit?: number;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemoryPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    search_memories: {
        parameters: {
            query: {
                /** @description Words that must all be there, or begin one that is. */
                q: string;
                /** @description Only of this scope; absent: of all. */
                scope?: "local" | "team" | "org";
                /** @description At most so many; 20 unless told. */
                limit?: number;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FoundMemories"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    recall: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                scope: components["schemas"]["MemoryScope"];
                /** @description The key. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Memory"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    remember: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                scope: components["schemas"]["MemoryScope"];
                /** @description The key. */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Remember"];
            };
        };
        responses: {
            /** @description It has a new value. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Memory"];
                };
            };
            /** @description It is new. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Memory"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    forget: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                scope: components["schemas"]["MemoryScope"];
                /** @description The key. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done, and nothing to tell. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_models: {
        parameters: {
            query?: {
                /** @description Tell about the keys that this workspace has, which are its own and its org's. */
                workspace_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KnownModels"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_agents: {
        parameters: {
            query?: {
                /** @description From `next_cursor` of the page before. */
                cursor?: string;
                /** @description At most so many; 100 unless told, 500 at most. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    show_agent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredAgent"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    put_agent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": Record<string, unknown>;
                "application/yaml": string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredAgent"];
                };
            };
            /** @description Made. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredAgent"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    show_agent_version: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
                hash: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredAgent"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_sessions: {
        parameters: {
            query?: {
                /** @description Only those of this workspace. */
                workspace_id?: string;
                /** @description Only those with this agent, in any of its versions. */
                agent?: string;
                /**
                 * @description Only those in this status. `idle` and `running` are told apart by a lease that comes and goes: a page of either
                 *     may have fewer entries than `limit` before the last.
                 */
                status?: "idle" | "running" | "suspended" | "completed" | "failed" | "interrupted";
                /** @description From `next_cursor` of the page before. */
                cursor?: string;
                /** @description At most so many; 100 unless told, 500 at most. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    create_session: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateSession"];
            };
        };
        responses: {
            /** @description Made. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    show_session: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                session: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_pending: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                session: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PendingWork"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    follow_session: {
        parameters: {
            query?: {
                /** @description Only entries after this sequence; 0 unless told: from the start. */
                after?: number;
                /** @description Absent: the stream has no end. */
                until?: "idle";
            };
            header?: {
                /** @description Wins over `after`. */
                "Last-Event-ID"?: number | null;
            };
            path: {
                session: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["SessionEntry"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    chat_with_session: {
        parameters: {
            query?: {
                /** @description The major version of npm `ai` that the client uses; 6 unless told, which 7 understands too. */
                v?: "5" | "6" | "7";
            };
            header?: never;
            path: {
                session: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChatRequest"];
            };
        };
        responses: {
            /** @description A UI message stream, version 1. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    resume_chat: {
        parameters: {
            query?: {
                /** @description The major version of npm `ai` that the client uses; 6 unless told, which 7 understands too. */
                v?: "5" | "6" | "7";
            };
            header?: never;
            path: {
                session: string;
                chat: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A UI message stream, version 1. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description There is nothing to go on with. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    send_session_message: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path: {
                session: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SendSessionMessage"];
            };
        };
        responses: {
            /** @description Taken; it happens in its own time. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionMessage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    show_session_message: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                session: string;
                message: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionMessage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    cancel_session_message: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                session: string;
                message: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionMessage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    decide_call: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path: {
                session: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DecideCall"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Approval"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    submit_tool_result: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path: {
                session: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SubmitToolResult"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    interrupt_session: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path: {
                session: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StopRun"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    abort_session: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path: {
                session: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StopRun"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    resume_session: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                session: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ResumeSession"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    rewind_session: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                session: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RewindSession"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    branch_session: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                session: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BranchSession"];
            };
        };
        responses: {
            /** @description Made. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    upgrade_session: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                session: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UpgradedSession"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_steps: {
        parameters: {
            query?: {
                /** @description Only steps after this one; 0 unless told. */
                after?: number;
                /** @description At most so many; 100 unless told, 500 at most. */
                limit?: number;
            };
            header?: never;
            path: {
                session: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionStepPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    show_step_context: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                session: string;
                step: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StepContext"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_checkpoints: {
        parameters: {
            query?: {
                /** @description Only steps after this one; 0 unless told. */
                after?: number;
                /** @description At most so many; 100 unless told, 500 at most. */
                limit?: number;
            };
            header?: never;
            path: {
                session: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CheckpointPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_workspace_approvals: {
        parameters: {
            query?: {
                /** @description Only in this state; absent: in any. */
                state?: "pending" | "approved" | "denied" | "expired" | "void";
                /** @description From `next_cursor` of the page before. */
                cursor?: string;
                /** @description At most so many; 100 unless told, 500 at most. */
                limit?: number;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApprovalPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    request_approval: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RequestApproval"];
            };
        };
        responses: {
            /** @description Made. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Approval"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_approvals: {
        parameters: {
            query?: {
                /** @description Only in this state; absent: in any. */
                state?: "pending" | "approved" | "denied" | "expired" | "void";
                /** @description From `next_cursor` of the page before. */
                cursor?: string;
                /** @description At most so many; 100 unless told, 500 at most. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApprovalPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    show_approval: {
        parameters: {
            query?: {
                /** @description Answer once it is decided, or after so long; 0 unless told. */
                wait_ms?: number;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Approval"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    approve: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DecideApproval"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Approval"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    withdraw_approval: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WithdrawApproval"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Approval"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    deny: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DecideApproval"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Approval"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_tool_rules: {
        parameters: {
            query?: {
                /** @description Only those of this session. */
                session_id?: string;
                /** @description Only those of this workspace. */
                workspace_id?: string;
                /** @description Only those of this agent. */
                agent?: string;
                /** @description From `next_cursor` of the page before. */
                cursor?: string;
                /** @description At most so many; 100 unless told, 500 at most. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolRulePage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    create_tool_rule: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateToolRule"];
            };
        };
        responses: {
            /** @description Made. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolRule"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    show_tool_rule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolRule"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    revoke_tool_rule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolRule"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    read_file: {
        parameters: {
            query?: {
                /** @description Relative to the workspace root. */
                path?: string;
                /** @description Files: begin here. */
                offset?: number;
                /** @description Files: at most so many bytes. */
                length?: number;
                /** @description Directories: how deep, 1 to 32. */
                depth?: number;
                /** @description Directories: at most so many entries, 1 to 5000. */
                limit?: number;
                /** @description Directories: from `next_cursor` of the page before. */
                cursor?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                    "application/json": components["schemas"]["Listing"];
                };
            };
            /** @description The part that was asked for. */
            206: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            /** @description The range begins behind the end of the file; `Content-Range` says how long it is. */
            416: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    write_file: {
        parameters: {
            query: {
                /** @description Relative to the workspace root; missing directories are made. */
                path: string;
                /** @description Fail if something is there. */
                create_new?: boolean;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/octet-stream": string;
            };
        };
        responses: {
            /** @description Replaced. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FileWritten"];
                };
            };
            /** @description Made. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FileWritten"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    delete_file: {
        parameters: {
            query: {
                /** @description Relative to the workspace root. */
                path: string;
                /** @description Also a directory that is not empty. */
                recursive?: boolean;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done, and nothing to tell. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    move_file: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MoveFile"];
            };
        };
        responses: {
            /** @description Done, and nothing to tell. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_directory: {
        parameters: {
            query?: {
                /** @description Relative to the workspace root; absent: the root itself. */
                path?: string;
                /** @description How deep, 1 to 32. */
                depth?: number;
                /** @description At most so many entries, 1 to 5000. */
                limit?: number;
                /** @description From `next_cursor` of the page before. */
                cursor?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Listing"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    make_directory: {
        parameters: {
            query: {
                /** @description Relative to the workspace root; missing parents are made. */
                path: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done, and nothing to tell. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    watch_files: {
        parameters: {
            query?: {
                /** @description The directory or file to watch, with all below it; absent: the workspace root. */
                path?: string;
                /** @description How long to wait for a change; 10 seconds unless told. For JSON. */
                wait_ms?: number;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FileChanges"];
                    "text/event-stream": components["schemas"]["FileWatchFrame"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    run_command: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ExecRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExecResult"];
                    "text/event-stream": components["schemas"]["ExecFrame"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_processes: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProcessList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    start_process: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StartProcess"];
            };
        };
        responses: {
            /** @description Made. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Process"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_process: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                process: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Process"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    read_process_output: {
        parameters: {
            query?: {
                /** @description The byte to begin at; 0 unless told. */
                offset?: number;
                /** @description At most so many; 65536 unless told. For JSON. */
                max_bytes?: number;
                /** @description How long to wait for something new; not at all unless told. For JSON. */
                wait_ms?: number;
            };
            header?: {
                /** @description Wins over `offset`. For a stream. */
                "Last-Event-ID"?: number | null;
            };
            path: {
                id: string;
                process: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProcessOutput"];
                    "text/event-stream": components["schemas"]["ProcessFrame"];
                };
            };
            /** @description It has ended, and the caller has seen that. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    write_process_input: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                process: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ProcessInput"];
            };
        };
        responses: {
            /** @description Done, and nothing to tell. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    resize_process: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                process: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PtySize"];
            };
        };
        responses: {
            /** @description Done, and nothing to tell. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    signal_process: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                process: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SignalProcess"];
            };
        };
        responses: {
            /** @description Done, and nothing to tell. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    open_terminal: {
        parameters: {
            query?: {
                /** @description Attach to this process. Absent: start a shell. */
                process?: number;
                /** @description Where its output begins; 0 unless told, which is all that is kept. */
                offset?: number;
                /** @description Run this, read by `/bin/sh`, instead of a shell for people. */
                command?: string;
                /** @description Where to start it, relative to the workspace root. */
                cwd?: string;
                rows?: number;
                columns?: number;
                /** @description End the process with the connection. Otherwise it goes on, and can be attached to again. */
                ends_with_connection?: boolean;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The connection is a WebSocket now. */
            101: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TerminalFrame"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_tools: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolCatalog"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    call_tool: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": Record<string, unknown>;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_tokens: {
        parameters: {
            query?: {
                /** @description From `next_cursor` of the page before. */
                cursor?: string;
                /** @description At most so many; 100 unless told, 500 at most. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    create_token: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateToken"];
            };
        };
        responses: {
            /** @description Made. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedToken"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    revoke_token: {
        parameters: {
            query?: {
                /** @description Whether what was made with it goes on. Unless told, it ends too. */
                keep?: boolean;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RevokedToken"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_made_with_token: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MadeWithTokenList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_secrets: {
        parameters: {
            query?: {
                /** @description From `next_cursor` of the page before. */
                cursor?: string;
                /** @description At most so many; 100 unless told, 500 at most. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SecretPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    set_secret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SetSecret"];
            };
        };
        responses: {
            /** @description It has a new value. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Secret"];
                };
            };
            /** @description It is new. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Secret"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    remove_secret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done, and nothing to tell. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    rotate_secret_key: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyRotation"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_workspace_secrets: {
        parameters: {
            query?: {
                /** @description From `next_cursor` of the page before. */
                cursor?: string;
                /** @description At most so many; 100 unless told, 500 at most. */
                limit?: number;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SecretPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    set_workspace_secret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SetSecret"];
            };
        };
        responses: {
            /** @description It has a new value. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Secret"];
                };
            };
            /** @description It is new. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Secret"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    remove_workspace_secret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done, and nothing to tell. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_image_logins: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImageLogins"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    set_image_login: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The registry's host, with a port unless it is the usual one. */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SetImageLogin"];
            };
        };
        responses: {
            /** @description It was there, and is another. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImageLogin"];
                };
            };
            /** @description It is new. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImageLogin"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    remove_image_login: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The registry's host, with a port unless it is the usual one. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done, and nothing to tell. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_audit_entries: {
        parameters: {
            query?: {
                order?: "oldest" | "newest";
                /** @description From `next_cursor` of the page before, or a number behind which to begin. */
                cursor?: string;
                /** @description At most so many; 100 unless told, 500 at most. */
                limit?: number;
                /** @description Only what was done to this kind of thing: `workspace`, `token`, `secret`, `secret_key`. */
                target_kind?: string;
                target_id?: string;
                /** @description Only what this principal did, as `kind:id`. */
                principal?: string;
                /** @description Only this action, such as `token.created`. */
                action?: string;
                /** @description From this time on, in RFC 3339. */
                since?: string;
                /** @description Before this time, in RFC 3339. */
                until?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    show_audit_head: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditHead"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    show_sign_in: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignIn"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    sign_in: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UseSignInLink"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignIn"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    sign_out: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done, and nothing to tell. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    make_sign_in_link: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Made. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignInLink"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_sign_in_ways: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignInWays"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    switch_org: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SwitchOrg"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignIn"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    preview_invitation: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ShowInvitation"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvitationPreview"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["Gone"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    use_invitation: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UseInvitation"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignIn"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["Gone"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_invitations: {
        parameters: {
            query?: {
                /** @description From `next_cursor` of the page before. */
                cursor?: string;
                /** @description At most so many; 100 unless told, 500 at most. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvitationPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    create_invitation: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateInvitation"];
            };
        };
        responses: {
            /** @description Made. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedInvitation"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    revoke_invitation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done, and nothing to tell. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["Gone"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_users: {
        parameters: {
            query?: {
                /** @description Of this org, by name or id (who runs this Warren). Absent: the one in which the caller works. */
                org?: string;
                /** @description Also those who left it. */
                past?: boolean;
                /** @description From `next_cursor` of the page before. */
                cursor?: string;
                /** @description At most so many; 100 unless told, 500 at most. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    create_user: {
        parameters: {
            query?: {
                /** @description In this org, by name or id (who runs this Warren). Absent: the one in which the caller works. */
                org?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateUser"];
            };
        };
        responses: {
            /** @description Made. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    show_user: {
        parameters: {
            query?: {
                /** @description In this org, by name or id (who runs this Warren). Absent: the one in which the caller works. */
                org?: string;
            };
            header?: never;
            path: {
                user: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    remove_user: {
        parameters: {
            query?: {
                /** @description Out of this org, by name or id (who runs this Warren). Absent: the one in which the caller works. */
                org?: string;
                /** @description Out of all orgs: they come in nowhere any more (who runs this Warren). */
                everywhere?: boolean;
                /** @description Whether what acts in their name goes on: schedules, webhooks, channels and other tokens. Unless told, it ends too. */
                keep?: boolean;
            };
            header?: never;
            path: {
                user: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RemovedUser"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    change_user: {
        parameters: {
            query?: {
                /** @description In this org, by name or id (who runs this Warren). Absent: the one in which the caller works. */
                org?: string;
            };
            header?: never;
            path: {
                user: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PatchUser"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    make_user_sign_in_link: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                user: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Made. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignInLink"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_orgs: {
        parameters: {
            query?: {
                /** @description From `next_cursor` of the page before. */
                cursor?: string;
                /** @description At most so many; 100 unless told, 500 at most. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OrgPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    create_org: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateOrg"];
            };
        };
        responses: {
            /** @description Made. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Org"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    show_org: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                org: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Org"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    remove_org: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                org: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done, and nothing to tell. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    change_org: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                org: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PatchOrg"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Org"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    begin_provider_sign_in: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description To the provider, or to the page, with `#sign-in-failed=CODE` */
            303: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It takes no parameters. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            /** @description There is no provider. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    begin_provider_sign_in_with_invitation: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BeginProviderSignIn"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProviderAddress"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["Gone"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    finish_provider_sign_in: {
        parameters: {
            query?: {
                /** @description What the provider gave the browser for us */
                code?: string;
                /** @description What the browser was sent there with */
                state?: string;
                /** @description The provider's name for itself */
                iss?: string;
                /** @description Why the provider did not let the person in */
                error?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description To the page, signed in, or with `#sign-in-failed=CODE` */
            303: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    follow_events: {
        parameters: {
            query?: {
                /** @description Only events after this sequence; 0 from the start. Absent: only new ones. */
                after?: number;
                /** @description Only events of this workspace. */
                workspace_id?: string;
                /** @description Also what is told and not stored, such as heartbeats. */
                live?: boolean;
                /** @description For a JSON page: at most so many. */
                limit?: number;
            };
            header?: {
                /** @description Wins over `after`. */
                "Last-Event-ID"?: number | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventPage"];
                    "text/event-stream": components["schemas"]["EventFrame"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    follow_events_by_websocket: {
        parameters: {
            query?: {
                /** @description Only events after this sequence; 0 from the start. Absent: only new ones. */
                after?: number;
                /** @description Only events of this workspace. */
                workspace_id?: string;
                /** @description Also what is told and not stored, such as heartbeats. */
                live?: boolean;
                /** @description For a JSON page: at most so many. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The connection goes on as a WebSocket. */
            101: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    send_message: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SendMessage"];
            };
        };
        responses: {
            /** @description Its agent has it. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AcceptedMessage"];
                };
            };
            /** @description It waits. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AcceptedMessage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_tasks: {
        parameters: {
            query?: {
                context_id?: string;
                state?: components["schemas"]["TaskState"];
                /** @description From `next_cursor` of the page before. */
                cursor?: string;
                /** @description At most so many; 100 unless told, 500 at most. */
                limit?: number;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    show_task: {
        parameters: {
            query?: {
                /** @description Waits so long for it to end, or to stop for input. */
                wait_ms?: number;
            };
            header?: never;
            path: {
                id: string;
                task: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    cancel_task: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                task: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_queue: {
        parameters: {
            query?: {
                /** @description `queued` unless told; `claimed` is what its agent has, `ended` what came of the rest (dead letters among them). */
                state?: components["schemas"]["DeliveryState"];
                /** @description From `next_cursor` of the page before. */
                cursor?: string;
                /** @description At most so many; 100 unless told, 500 at most. */
                limit?: number;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueuePage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    clear_queue: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClearedQueue"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    show_queued_message: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                delivery: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueuedMessage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    drop_queued_message: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                delivery: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueuedMessage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    claim_message: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ClaimMessage"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Claim"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    report_progress: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                delivery: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReportProgress"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProgressTaken"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    answer_message: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                delivery: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AnswerMessage"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_delegations: {
        parameters: {
            query?: {
                state?: components["schemas"]["DelegationState"];
                /** @description From `next_cursor` of the page before. */
                cursor?: string;
                /** @description At most so many; 100 unless told, 500 at most. */
                limit?: number;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DelegationPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    delegate: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Delegate"];
            };
        };
        responses: {
            /** @description Made. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Delegation"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    show_delegation: {
        parameters: {
            query?: {
                /** @description Waits so long for it to end, or to stop for input. */
                wait_ms?: number;
            };
            header?: never;
            path: {
                id: string;
                delegation: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Delegation"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    cancel_delegation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                delegation: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Delegation"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_conversations: {
        parameters: {
            query?: {
                /** @description From `next_cursor` of the page before. */
                cursor?: string;
                /** @description At most so many; 100 unless told, 500 at most. */
                limit?: number;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConversationPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    create_conversation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateConversation"];
            };
        };
        responses: {
            /** @description Made. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Conversation"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    show_conversation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                conversation: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Conversation"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    remove_conversation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                conversation: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done, and nothing to tell. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    change_conversation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                conversation: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangeConversation"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Conversation"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_chat_messages: {
        parameters: {
            query?: {
                order?: "oldest" | "newest";
                /** @description From `next_cursor` of the page before, or any message's id: what lies behind it. */
                cursor?: string;
                /** @description At most so many; 100 unless told, 100 at most. */
                limit?: number;
            };
            header?: never;
            path: {
                id: string;
                conversation: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChatMessagePage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    post_message: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path: {
                id: string;
                conversation: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PostMessage"];
            };
        };
        responses: {
            /** @description It was posted before, or its agent has it. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PostedMessage"];
                };
            };
            /** @description It stands there, and its work waits. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PostedMessage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    search_conversations: {
        parameters: {
            query: {
                /** @description 1 to 16 words; each must begin a word of what is found. */
                q: string;
                /** @description From `next_cursor` of the page before. */
                cursor?: string;
                /** @description At most so many; 100 unless told, 100 at most. */
                limit?: number;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChatMessagePage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    upload_files: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "multipart/form-data": {
                    /** @description One or several, each with a `filename`. */
                    file: string[];
                };
            };
        };
        responses: {
            /** @description Made. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Uploaded"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    notify: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Notify"];
            };
        };
        responses: {
            /** @description It was told before. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChatMessage"];
                };
            };
            /** @description Made. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChatMessage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    show_feed: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Feed"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_peers: {
        parameters: {
            query?: {
                /** @description Looks for names and roles, whatever the case; blank finds all. */
                q?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PeerList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    show_peer_policy: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PeerPolicy"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    set_peer_policy: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PeerPolicy"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PeerPolicy"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    show_budget: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Budget"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    set_budget: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SetBudget"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Budget"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    register_runtime: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RegisterRuntime"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RegisteredRuntime"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    heartbeat: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Heartbeat"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HeartbeatAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    change_agent_card: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangeAgentCard"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentCardAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_sweeps: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SweepList"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    run_sweep: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Sweep"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    download_backup: {
        parameters: {
            query?: {
                /** @description Leave the database out: for PostgreSQL, whose own tools back it up. */
                files_only?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-tar": number[];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_webhooks: {
        parameters: {
            query?: {
                /** @description From `next_cursor` of the page before. */
                cursor?: string;
                /** @description At most so many; 100 unless told, 500 at most. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    create_webhook: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateWebhook"];
            };
        };
        responses: {
            /** @description Made. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedWebhook"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    show_webhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhook"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    remove_webhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done, and nothing to tell. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    change_webhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PatchWebhook"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhook"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_webhook_calls: {
        parameters: {
            query?: {
                /** @description Only those that stand so. */
                state?: "queued" | "delivered" | "dead";
                /** @description From `next_cursor` of the page before. */
                cursor?: string;
                /** @description At most so many; 100 unless told, 500 at most. */
                limit?: number;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookCallPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    redeliver_webhook_call: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                call: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Taken; it happens in its own time. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookCall"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_channels: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChannelList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    create_channel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateChannel"];
            };
        };
        responses: {
            /** @description Made. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedChannel"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    remove_channel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                channel: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done, and nothing to tell. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    receive_hook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": Record<string, unknown>;
            };
        };
        responses: {
            /** @description Taken; it happens in its own time. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReceivedHook"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["BudgetExhausted"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    signing_keys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SigningKeys"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
        };
    };
    server_info: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServerInfo"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            /** @description Anything else that went wrong. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    openapi: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, unknown>;
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
        };
    };
}
