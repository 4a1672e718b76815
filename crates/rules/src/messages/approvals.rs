//! Who may decide a question, and until when (X51).

use warren_model::{Approval, ApprovalState, Principal, PrincipalKind, Timestamp, TokenKind};

/// How long a question waits, unless told, and at most.
pub const DEFAULT_WAIT_SECONDS: u32 = 24 * 3_600;
pub const MAX_WAIT_SECONDS: u32 = 30 * 24 * 3_600;

/// Who wants to decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decider {
    /// Somebody with a token.
    Caller { principal: Principal, token: TokenKind },
    /// A rule that people wrote down beforehand, by its name.
    Policy(String),
}

impl Decider {
    /// As the record names them.
    pub fn principal(&self) -> Principal {
        match self {
            Self::Caller { principal, .. } => principal.clone(),
            Self::Policy(name) => Principal::system(&format!("policy/{name}")),
        }
    }

    fn is_person_or_policy(&self) -> bool {
        match self {
            Self::Policy(_) => true,
            Self::Caller { principal, token } => {
                let is_persons = match token {
                    TokenKind::Admin | TokenKind::SignIn | TokenKind::User => true,
                    TokenKind::Workspace | TokenKind::Runner | TokenKind::Join | TokenKind::Login => false,
                };
                is_persons && principal.kind == PrincipalKind::User
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    Approve,
    Deny,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalRefusal {
    /// Only people and their policies decide.
    NotAPerson,
    /// Nobody answers their own question.
    OwnQuestion,
    /// A question is taken back by who asked it.
    NotTheAsker,
    /// Somebody was faster, or nobody was in time.
    Over(ApprovalState),
}

/// The question with its answer. An answer that comes too late is none, whether somebody has noted that or not.
pub fn decide(
    approval: &Approval,
    decider: &Decider,
    decision: Decision,
    note: Option<String>,
    now: Timestamp,
) -> Result<Approval, ApprovalRefusal> {
    if !decider.is_person_or_policy() {
        return Err(ApprovalRefusal::NotAPerson);
    }
    let principal = decider.principal();
    if principal == approval.asked_by {
        return Err(ApprovalRefusal::OwnQuestion);
    }
    if approval.state != ApprovalState::Pending {
        return Err(ApprovalRefusal::Over(approval.state));
    }
    if is_late(approval, now) {
        return Err(ApprovalRefusal::Over(ApprovalState::Expired));
    }
    let state = match decision {
        Decision::Approve => ApprovalState::Approved,
        Decision::Deny => ApprovalState::Denied,
    };
    let (decided_by, decided_at) = (Some(principal), Some(now));
    Ok(Approval { state, decided_by, decided_at, note, ..approval.clone() })
}

/// The question once who asked it waits for no answer any more, and says why.
pub fn withdraw(
    approval: &Approval,
    by: &Principal,
    note: Option<String>,
    now: Timestamp,
) -> Result<Approval, ApprovalRefusal> {
    if *by != approval.asked_by {
        return Err(ApprovalRefusal::NotTheAsker);
    }
    let state = expire(approval, now).map_or(approval.state, |expired| expired.state);
    match state {
        ApprovalState::Pending => {
            Ok(Approval { state: ApprovalState::Void, decided_at: Some(now), note, ..approval.clone() })
        }
        // Taken back twice is taken back.
        ApprovalState::Void => Ok(approval.clone()),
        over @ (ApprovalState::Approved | ApprovalState::Denied | ApprovalState::Expired) => {
            Err(ApprovalRefusal::Over(over))
        }
    }
}

/// The question once nobody decided it in time; none where it is not that late.
pub fn expire(approval: &Approval, now: Timestamp) -> Option<Approval> {
    let is_over = approval.state != ApprovalState::Pending || !is_late(approval, now);
    (!is_over).then(|| Approval {
        state: ApprovalState::Expired,
        decided_at: Some(approval.expires_at),
        ..approval.clone()
    })
}

fn is_late(approval: &Approval, now: Timestamp) -> bool {
    approval.expires_at <= now
}

#[cfg(test)]
mod tests {
    use warren_model::{ApprovalId, OrgId, UserId, WorkspaceId};

    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_000_000);

    fn pending() -> Approval {
        Approval {
            id: ApprovalId::from_bytes([1; 16]),
            org_id: OrgId::DEFAULT,
            workspace_id: WorkspaceId::from_bytes([2; 16]),
            task_id: None,
            action: "deploy".into(),
            reason: "it is done".into(),
            context: serde_json::json!({}),
            subject: None,
            asked_by: Principal::workspace(WorkspaceId::from_bytes([2; 16])),
            state: ApprovalState::Pending,
            decided_by: None,
            decided_at: None,
            note: None,
            edited: None,
            created_at: NOW,
            expires_at: NOW.plus_ms(1_000),
        }
    }

    fn person(token: TokenKind) -> Decider {
        Decider::Caller { principal: Principal::user(UserId::OPERATOR), token }
    }

    // X51
    #[test]
    fn only_people_and_policies_decide() {
        let workspace = Principal::workspace(WorkspaceId::from_bytes([9; 16]));
        let tokens = [
            TokenKind::Admin,
            TokenKind::SignIn,
            TokenKind::User,
            TokenKind::Workspace,
            TokenKind::Runner,
            TokenKind::Join,
            TokenKind::Login,
        ];
        for token in tokens {
            let is_allowed = matches!(token, TokenKind::Admin | TokenKind::SignIn | TokenKind::User);
            let decided = decide(&pending(), &person(token), Decision::Approve, None, NOW);
            assert_eq!(decided.is_ok(), is_allowed, "{token:?}");
            for principal in [
                workspace.clone(),
                pending().asked_by,
                Principal::system("exchange"),
                Principal { kind: PrincipalKind::Schedule, id: "x".into() },
                Principal { kind: PrincipalKind::Channel, id: "x".into() },
            ] {
                let other = Decider::Caller { principal, token };
                assert_eq!(
                    decide(&pending(), &other, Decision::Approve, None, NOW),
                    Err(ApprovalRefusal::NotAPerson)
                );
            }
        }
        let policy =
            decide(&pending(), &Decider::Policy("office hours".into()), Decision::Deny, None, NOW).unwrap();
        assert_eq!(policy.decided_by.unwrap().to_string(), "system:policy/office hours");
    }

    // X51
    #[test]
    fn a_question_is_decided_once_in_time_and_not_by_who_asked() {
        let approved =
            decide(&pending(), &person(TokenKind::Admin), Decision::Approve, Some("ok".into()), NOW).unwrap();
        assert_eq!((approved.state, approved.note.as_deref()), (ApprovalState::Approved, Some("ok")));
        let again = decide(&approved, &person(TokenKind::Admin), Decision::Deny, None, NOW);
        assert_eq!(again, Err(ApprovalRefusal::Over(ApprovalState::Approved)));
        let own = Approval { asked_by: Principal::user(UserId::OPERATOR), ..pending() };
        assert_eq!(
            decide(&own, &person(TokenKind::Admin), Decision::Approve, None, NOW),
            Err(ApprovalRefusal::OwnQuestion)
        );
        let late = NOW.plus_ms(1_000);
        let decided = decide(&pending(), &person(TokenKind::Admin), Decision::Approve, None, late);
        assert_eq!(decided, Err(ApprovalRefusal::Over(ApprovalState::Expired)));
        assert_eq!(expire(&pending(), NOW.plus_ms(999)), None);
        assert_eq!(expire(&pending(), late).unwrap().state, ApprovalState::Expired);
        assert_eq!(expire(&approved, late), None);
    }

    // A82
    #[test]
    fn a_question_is_taken_back_by_who_asked_it_while_nobody_has_decided() {
        let (asker, why) = (pending().asked_by, Some("its program ended".to_owned()));
        let void = withdraw(&pending(), &asker, why.clone(), NOW).unwrap();
        assert_eq!((void.state, void.note.clone(), void.decided_at), (ApprovalState::Void, why, Some(NOW)));
        assert_eq!(withdraw(&void, &asker, None, NOW), Ok(void.clone()), "twice is once");
        let other = Principal::system("other");
        assert_eq!(withdraw(&pending(), &other, None, NOW), Err(ApprovalRefusal::NotTheAsker));
        for state in [ApprovalState::Approved, ApprovalState::Denied, ApprovalState::Expired] {
            let over = Approval { state, ..pending() };
            assert_eq!(withdraw(&over, &asker, None, NOW), Err(ApprovalRefusal::Over(state)));
        }
        let late = pending().expires_at;
        let refused = withdraw(&pending(), &asker, None, late);
        assert_eq!(refused, Err(ApprovalRefusal::Over(ApprovalState::Expired)), "too late for that too");
    }
}
