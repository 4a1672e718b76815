//! What people have said about a host that no grant names, and for how long that counts (A81, X51).

use warren_model::{Approval, ApprovalId, ApprovalState, NetworkScheme, Principal, Timestamp};

use super::HostPort;

/// How long a connection waits for a person, and how long the question stays in the inbox.
pub const WAIT_MS: u64 = 5 * 60_000;
pub const QUESTION_SECONDS: u32 = 3_600;
/// How long an answer counts, for its workspace.
pub const GRANTED_FOR_MS: i64 = 24 * 3_600_000;
pub const DENIED_FOR_MS: i64 = 3_600_000;

/// Who asks. No agent can ask in this name, so that no question of an agent's own wording opens anything.
pub fn asker() -> Principal {
    Principal::system("web-door")
}

/// The question, as it stands in the inbox and is found there again.
pub fn action(to: &HostPort, scheme: NetworkScheme) -> String {
    format!("reach {scheme}://{to}")
}

/// What is known about a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    Granted,
    Denied,
    /// It was asked, and nobody has said anything yet.
    Waiting(ApprovalId),
    /// It has to be asked.
    Nothing,
}

/// Looks through the questions of a workspace, the newest first.
pub fn known<'a>(questions: impl IntoIterator<Item = &'a Approval>, action: &str, now: Timestamp) -> Known {
    let asker = asker();
    let mut about = questions.into_iter().filter(|one| one.asked_by == asker && one.action == action);
    let counts = |decided: Option<Timestamp>, for_ms: i64| decided.is_some_and(|at| now < at.plus_ms(for_ms));
    // The newest decides: an older answer was given before somebody thought again.
    about
        .find_map(|question| match question.state {
            ApprovalState::Pending if now < question.expires_at => Some(Known::Waiting(question.id)),
            ApprovalState::Approved if counts(question.decided_at, GRANTED_FOR_MS) => Some(Known::Granted),
            ApprovalState::Denied if counts(question.decided_at, DENIED_FOR_MS) => Some(Known::Denied),
            ApprovalState::Approved | ApprovalState::Denied => Some(Known::Nothing),
            ApprovalState::Pending | ApprovalState::Expired | ApprovalState::Void => None,
        })
        .unwrap_or(Known::Nothing)
}

#[cfg(test)]
mod tests {
    use warren_model::{OrgId, UserId, WorkspaceId};

    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_000_000_000_000_000);

    fn question(number: u8, state: ApprovalState, decided_ms_ago: i64) -> Approval {
        let decided = state == ApprovalState::Approved || state == ApprovalState::Denied;
        Approval {
            id: ApprovalId::from_bytes([number; 16]),
            org_id: OrgId::DEFAULT,
            workspace_id: WorkspaceId::from_bytes([2; 16]),
            task_id: None,
            action: "reach https://example.com:443".into(),
            reason: "a program".into(),
            context: serde_json::json!({}),
            subject: None,
            asked_by: asker(),
            state,
            decided_by: decided.then(|| Principal::user(UserId::OPERATOR)),
            decided_at: decided.then(|| NOW.plus_ms(-decided_ms_ago)),
            note: None,
            edited: None,
            created_at: NOW.plus_ms(-decided_ms_ago - 1),
            expires_at: NOW.plus_ms(1_000 - decided_ms_ago),
        }
    }

    fn about(questions: &[Approval]) -> Known {
        known(questions, "reach https://example.com:443", NOW)
    }

    // A81, X51
    #[test]
    fn an_answer_counts_for_its_host_and_its_time() {
        use ApprovalState::{Approved, Denied, Expired, Pending, Void};
        assert_eq!(about(&[]), Known::Nothing);
        assert_eq!(about(&[question(1, Approved, 5)]), Known::Granted);
        assert_eq!(about(&[question(1, Approved, GRANTED_FOR_MS)]), Known::Nothing);
        assert_eq!(about(&[question(1, Denied, 5)]), Known::Denied);
        assert_eq!(about(&[question(1, Denied, DENIED_FOR_MS)]), Known::Nothing);
        let pending = question(1, Pending, 5);
        assert_eq!(about(std::slice::from_ref(&pending)), Known::Waiting(pending.id));
        assert_eq!(about(&[question(1, Pending, 1_000)]), Known::Nothing, "nobody decided it in time");
        // The newest one that was answered.
        assert_eq!(about(&[question(2, Denied, 5), question(1, Approved, 50)]), Known::Denied);
        assert_eq!(
            about(&[question(2, Denied, DENIED_FOR_MS), question(1, Approved, DENIED_FOR_MS + 5)]),
            Known::Nothing
        );
        assert_eq!(
            about(&[question(3, Expired, 5), question(2, Void, 5), question(1, Approved, 50)]),
            Known::Granted
        );
        // Another host, another scheme, another asker.
        assert_eq!(
            known(&[question(1, Approved, 5)], "reach https://other.example:443", NOW),
            Known::Nothing
        );
        assert_eq!(known(&[question(1, Approved, 5)], "reach http://example.com:443", NOW), Known::Nothing);
        let own = Approval {
            asked_by: Principal::workspace(WorkspaceId::from_bytes([2; 16])),
            ..question(1, Approved, 5)
        };
        assert_eq!(about(&[own]), Known::Nothing, "an agent's own question opens nothing");
    }
}
