//! Decisions of people about tool calls, taken into their sessions in the transaction of the decision (A30).

use async_trait::async_trait;
use serde_json::Value;
use warren_exchange::{CallDecisions, RememberDecision};
use warren_model::{Approval, ApprovalState, ErrorCode, Principal, Timestamp, fingerprint};
use warren_rules::sessions::{Input, PersonDecision};
use warren_service::{Actor, Error};
use warren_store::WriteTx;

use crate::commit::{self, Change};
use crate::engine::Engine;
use crate::tool_rules::{self, NewRemembered};

/// Takes decisions into sessions.
#[derive(Debug, Clone)]
pub(crate) struct Decisions {
    engine: Engine,
}

impl Decisions {
    pub(crate) fn new(engine: Engine) -> Self {
        Self { engine }
    }
}

#[async_trait]
impl CallDecisions for Decisions {
    /// The same check that the model's own arguments went through.
    async fn check_edited(&self, approval: &Approval, arguments: &Value) -> Result<(), Error> {
        let Some(subject) = &approval.subject else { return Ok(()) };
        let offer = self.engine.offer_to(subject.session_id).await?;
        match offer.tools.problem(&subject.tool, arguments, &self.engine.surroundings().schemas) {
            Some(problem) => {
                let detail = format!("the edited arguments cannot be used: {problem}");
                Err(Error::with_detail(ErrorCode::InvalidRequest, detail))
            }
            None => Ok(()),
        }
    }

    /// A decision counts for the call, the arguments, the version and the generation that it was asked about, and once.
    fn decided(&self, tx: &mut dyn WriteTx, approval: &Approval, now: Timestamp) -> Result<(), Error> {
        let Some(subject) = &approval.subject else { return Ok(()) };
        let session = tx.session(subject.session_id)?;
        let session = session.ok_or_else(|| Error::new(ErrorCode::SessionNotFound))?;
        let is_the_same = session.generation == subject.generation
            && session.agent.hash == subject.agent_hash
            && fingerprint(&subject.arguments) == subject.arguments_hash;
        if !is_the_same {
            let detail = "the session has changed since this was asked";
            return Err(Error::with_detail(ErrorCode::NotPending, detail));
        }
        let Some(decision) = decision_of(approval) else { return Ok(()) };
        let by = approval.decided_by.clone().unwrap_or_else(|| Principal::system("exchange"));
        let input = Input::Decided { approval_id: approval.id, decision };
        let change = Change::new(subject.session_id, now, by, vec![input]);
        commit::apply(tx, self.engine.surroundings(), &change).map(drop)
    }

    fn remember(
        &self,
        tx: &mut dyn WriteTx,
        approval: &Approval,
        remembered: &RememberDecision,
        actor: &Actor,
        now: Timestamp,
    ) -> Result<(), Error> {
        let Some(subject) = &approval.subject else { return Ok(()) };
        let session = tx.session(subject.session_id)?;
        let session = session.ok_or_else(|| Error::new(ErrorCode::SessionNotFound))?;
        let id = self.engine.context().new_id();
        tool_rules::remember(tx, NewRemembered { id, approval, session: &session, remembered, actor, now })
    }

    fn committed(&self, approval: &Approval) {
        if let Some(subject) = &approval.subject {
            self.engine.look_at(subject.session_id);
        }
    }
}

fn decision_of(approval: &Approval) -> Option<PersonDecision> {
    let by = approval.decided_by.as_ref().map(ToString::to_string).unwrap_or_default();
    match approval.state {
        ApprovalState::Approved => {
            let edited = approval.edited.clone().map(|arguments| {
                let problem = (!arguments.is_object()).then(|| "expected a JSON object".to_owned());
                (arguments, problem)
            });
            Some(PersonDecision::Approve { by, edited, note: approval.note.clone() })
        }
        ApprovalState::Denied => {
            let reason = approval.note.clone().unwrap_or_else(|| "a person denied it".to_owned());
            Some(PersonDecision::Deny { by, reason })
        }
        ApprovalState::Expired => Some(PersonDecision::Expired),
        ApprovalState::Pending | ApprovalState::Void => None,
    }
}
