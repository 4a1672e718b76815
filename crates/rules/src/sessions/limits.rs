//! What a run may use, and what is set aside before the model is asked (A14).

use warren_model::session::Session;

use super::{Facts, OpenSession};

/// How much a model is expected to write, where no limit says it.
pub const DEFAULT_OUTPUT_TOKENS: u32 = 4_096;

/// The price of a model, in millionths for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenPrice {
    pub input: u64,
    pub output: u64,
}

/// Which limit of the run or the workspace does not allow a further step, as a sentence.
pub(super) fn exhausted(facts: &Facts<'_>, session: &Session) -> Option<String> {
    let (limits, usage) = (&session.limits, &session.usage);
    let reached = |what: &str, used: u64, most: Option<u64>| {
        let most = most.filter(|most| used >= *most)?;
        Some(format!("the run has used {used} of {most} {what}"))
    };
    // The step that is about to ask is counted already.
    let steps = u64::from(usage.steps.saturating_sub(1));
    let next = estimate(facts, session, 0);
    let costs = |left: u64| next > left || left == 0;
    reached("steps", steps, limits.steps.map(u64::from))
        .or_else(|| reached("tool calls", usage.tool_calls.into(), limits.tool_calls.map(u64::from)))
        .or_else(|| reached("tokens", usage.tokens, limits.tokens))
        .or_else(|| reached("seconds", usage.active_ms / 1_000, limits.seconds.map(u64::from)))
        .or_else(|| {
            let left = limits.cost_micros?.saturating_sub(usage.cost_micros);
            costs(left)
                .then(|| format!("the run may still spend {left} millionths, and a step may cost {next}"))
        })
        .or_else(|| {
            let left = facts.workspace_left_micros?;
            costs(left).then(|| {
                format!("the workspace may still spend {left} millionths, and a step may cost {next}")
            })
        })
}

/// What is set aside for the answer that is about to be asked for. Nothing where nobody counts.
pub(super) fn reservation(facts: &Facts<'_>, open: &OpenSession) -> u64 {
    let is_counted = facts.workspace_left_micros.is_some() || open.session.limits.cost_micros.is_some();
    let index = open.step.as_ref().map_or(0, |step| step.model_index);
    if is_counted { estimate(facts, &open.session, index) } else { 0 }
}

/// The most that a step is expected to cost: the conversation as long as it was, and an answer as long as it may be.
fn estimate(facts: &Facts<'_>, session: &Session, model_index: u32) -> u64 {
    let Some(Some(price)) = facts.prices.get(model_index as usize) else { return 0 };
    let output = u64::from(facts.agent.limits.output_tokens.unwrap_or(DEFAULT_OUTPUT_TOKENS));
    let of = |tokens: u64, price: u64| {
        u64::try_from(u128::from(tokens) * u128::from(price) / 1_000_000).unwrap_or(u64::MAX)
    };
    of(session.usage.context_tokens, price.input).saturating_add(of(output, price.output))
}

#[cfg(test)]
mod tests {
    use warren_model::session::{RunLimits, RunUsage, SessionStart};
    use warren_model::{
        AgentDefinition, AgentVersion, OrgId, Principal, SessionId, Timestamp, UserId, WorkspaceId,
    };

    use super::*;

    // A14: each limit by itself stops the run before its next step, and says which it was
    #[test]
    fn every_limit_ends_a_run_before_the_step_that_would_pass_it() {
        let agent = AgentDefinition::new("a".parse().unwrap(), "x/y".parse().unwrap());
        let now = Timestamp::from_micros(1_000_000);
        let prices = [Some(TokenPrice { input: 1_000_000, output: 1_000_000 })];
        let (used, full) = (
            RunUsage {
                steps: 3,
                tool_calls: 5,
                tokens: 700,
                active_ms: 9_000,
                cost_micros: 100,
                context_tokens: 4,
            },
            RunLimits::default(),
        );
        // An answer may cost 4,096 and the conversation 4.
        for (limits, left, told) in [
            (RunLimits { steps: Some(2), ..full }, None, Some("2 of 2 steps")),
            (RunLimits { steps: Some(3), ..full }, None, None),
            (RunLimits { tool_calls: Some(5), ..full }, None, Some("5 of 5 tool calls")),
            (RunLimits { tool_calls: Some(6), ..full }, None, None),
            (RunLimits { tokens: Some(700), ..full }, None, Some("700 of 700 tokens")),
            (RunLimits { tokens: Some(701), ..full }, None, None),
            (RunLimits { seconds: Some(9), ..full }, None, Some("9 of 9 seconds")),
            (RunLimits { seconds: Some(10), ..full }, None, None),
            (
                RunLimits { cost_micros: Some(4_199), ..full },
                None,
                Some("4099 millionths, and a step may cost 4100"),
            ),
            (RunLimits { cost_micros: Some(4_200), ..full }, None, None),
            (full, Some(4_099), Some("the workspace may still spend 4099")),
            (full, Some(4_100), None),
        ] {
            let facts = Facts {
                now,
                agent: &agent,
                rules: &[],
                prices: &prices,
                workspace_left_micros: left,
                workspace: crate::lifecycle::Usability::Usable,
                is_owner: true,
            };
            let mut session = Session::start(SessionStart {
                id: SessionId::from_bytes([1; 16]),
                org_id: OrgId::DEFAULT,
                workspace_id: WorkspaceId::from_bytes([2; 16]),
                created_by: Principal::user(UserId::OPERATOR),
                agent: AgentVersion { name: "a".parse().unwrap(), hash: "h".into() },
                state: Default::default(),
                limits,
                now,
            });
            session.usage = used;
            let found = exhausted(&facts, &session);
            match told {
                Some(told) => {
                    assert!(found.as_deref().is_some_and(|found| found.contains(told)), "{told}: {found:?}");
                }
                None => assert_eq!(found, None, "{limits:?} {left:?}"),
            }
        }
    }
}
