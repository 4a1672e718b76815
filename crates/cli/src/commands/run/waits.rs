//! What a session waits for, in words, with the commands that answer it.

use warren_api::{Approval, PendingWork, Session, SessionCall, SessionStatus, SuspendedBy};

use super::labels;

/// One thing that is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::commands) struct Wait {
    pub(in crate::commands) what: String,
    /// To be typed as they are, but for words in capitals.
    pub(in crate::commands) commands: Vec<String>,
}

/// Everything that somebody outside has to do.
pub(in crate::commands) fn waits(session: &Session, pending: &PendingWork) -> Vec<Wait> {
    let name = &session.name;
    if session.status == SessionStatus::Interrupted {
        let what = "somebody to go on with it: it was interrupted".to_owned();
        return vec![Wait { what, commands: vec![format!("warren session resume {name}")] }];
    }
    let mut waits: Vec<Wait> = pending.approvals.iter().map(|one| of_approval(name, one)).collect();
    waits.extend(pending.calls.iter().map(|one| of_call(name, one)));
    let Some(suspension) = &session.suspension else { return waits };
    let resume = match suspension.by {
        SuspendedBy::Budget => format!("warren session resume {name} --steps COUNT"),
        SuspendedBy::Stuck => format!("warren session resume {name}"),
        SuspendedBy::Approval | SuspendedBy::ClientTool | SuspendedBy::Input | SuspendedBy::Timer => {
            return waits;
        }
    };
    let what = format!("somebody to go on with it: {}", suspension.reason);
    waits.push(Wait { what, commands: vec![resume] });
    waits
}

fn of_approval(session: &str, approval: &Approval) -> Wait {
    let (reason, id) = (&approval.reason, &approval.id);
    let what = match &approval.call {
        Some(call) => format!("an approval: {} ({reason})", labels::call(&call.tool, &call.arguments)),
        None => format!("an approval: {} ({reason})", approval.action),
    };
    let commands = vec![
        format!("warren session approve {session} {id}"),
        format!("warren session deny {session} {id} --reason TEXT"),
    ];
    Wait { what, commands }
}

fn of_call(session: &str, call: &SessionCall) -> Wait {
    let (id, label) = (&call.id, labels::call(&call.tool, &call.arguments));
    if is_question(call) {
        let question = call.arguments.get("question").and_then(|text| text.as_str()).unwrap_or(&label);
        let what = format!("an answer: {question}");
        return Wait { what, commands: vec![format!("warren session answer {session} TEXT --call {id}")] };
    }
    let what = format!("the result of a tool that its caller runs: {label}");
    Wait { what, commands: vec![format!("warren session answer {session} --call {id} --output JSON")] }
}

/// Whether a person answers it, and not a program.
pub(super) fn is_question(call: &SessionCall) -> bool {
    call.place == "person"
}
