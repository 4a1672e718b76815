//! A session and its steps, as a person reads them.

use serde_json::json;
use warren_api::client::Client;
use warren_api::{PendingWork, Session, SessionStep};
use warren_model::Timestamp;

use super::status;
use crate::commands::facts::{Facts, word};
use crate::commands::run::{call_label, duration, waits};
use crate::context::Context;
use crate::failure::Outcome;

pub(super) async fn session(context: &Context, client: &Client, name: &str) -> Outcome<()> {
    let session = client.session(name).await?;
    let pending = client.session_pending(name).await?;
    if context.output.is_json {
        let mut document = serde_json::to_value(&session).expect("a session is JSON");
        document["pending"] = json!(pending);
        let waits = waits(&session, &pending);
        document["waits_for"] =
            waits.iter().map(|one| json!({ "what": one.what, "commands": one.commands })).collect();
        return context.output.json(&document);
    }
    facts(&session, &pending).print(context)
}

fn facts(session: &Session, pending: &PendingWork) -> Facts {
    let mut facts = Facts::default();
    facts.add("name", &session.name);
    facts.add("id", &session.id);
    facts.add("status", status(session));
    facts.add_known("finish", session.finish.as_deref());
    facts.add_known("failure", session.failure.as_ref().map(|one| format!("{}: {}", one.kind, one.message)));
    facts.add_known(
        "stopping",
        session.stop.as_ref().map(|stop| format!("{} until {}", stop.kind, stop.deadline)),
    );
    facts.add("title", if session.title.is_empty() { "-" } else { &session.title });
    facts.add("agent", format!("{} {}", session.agent, session.agent_hash));
    facts.add("workspace", &session.workspace_id);
    facts.add("run", session.run.to_string());
    facts.add("steps", session.last_step.to_string());
    let used = &session.total_usage;
    let cost = format!("{}.{:06}", used.cost_micros / 1_000_000, used.cost_micros % 1_000_000);
    facts.add(
        "used",
        format!(
            "{} steps, {} tool calls, {} tokens, cost {cost}, {}",
            used.steps,
            used.tool_calls,
            used.tokens,
            duration(used.active_ms)
        ),
    );
    facts.add_known(
        "branched from",
        session.branched_from.as_ref().map(|one| format!("{} at step {}", one.session_id, one.step)),
    );
    facts.add("begun", &session.created_at);
    facts.add("changed", &session.updated_at);
    if !session.state.is_empty() {
        facts.add_document("state", &json!(session.state));
    }
    for message in &pending.messages {
        let text = message.parts.iter().find_map(|part| part.text.clone()).unwrap_or_default();
        facts.add("message waits", format!("{} ({}): {text}", message.id, word(message.mode)));
    }
    for wait in waits(session, pending) {
        let commands: String = wait.commands.iter().map(|command| format!("\n  {command}")).collect();
        facts.add("waits for", format!("{}{commands}", wait.what));
    }
    facts
}

pub(super) async fn steps(context: &Context, client: &Client, name: &str) -> Outcome<()> {
    let mut found: Vec<SessionStep> = Vec::new();
    let mut after = 0;
    loop {
        let page = client.session_steps(name, after).await?;
        found.extend(page.items);
        match page.next_after {
            // Numbers of steps grow; a server that says otherwise would lead in a circle.
            Some(next) if next > after => after = next,
            _ => break,
        }
    }
    if context.output.is_json {
        return context.output.json(&found);
    }
    if found.is_empty() {
        context.output.note("No steps yet.");
        return Ok(());
    }
    let rows: Vec<_> = found.iter().map(row).collect();
    context.output.table(&["step", "run", "phase", "model", "tokens", "cost", "time", "calls"], &rows)
}

fn row(step: &SessionStep) -> Vec<String> {
    let dash = || "-".to_owned();
    let call = |call: &warren_api::SessionCall| {
        let how = call.outcome.as_ref().map_or(call.state.as_str(), |outcome| outcome.kind.as_str());
        format!("{} [{how}]", call_label(&call.tool, &call.arguments))
    };
    let calls: Vec<String> = step.calls.iter().map(call).collect();
    let cost = step.cost_micros;
    vec![
        step.number.to_string(),
        step.run.to_string(),
        step.phase.clone(),
        step.model.clone().unwrap_or_else(dash),
        (step.usage.input_tokens + step.usage.output_tokens).to_string(),
        if cost == 0 { dash() } else { format!("{}.{:06}", cost / 1_000_000, cost % 1_000_000) },
        took(step).unwrap_or_else(dash),
        if calls.is_empty() { dash() } else { calls.join("; ") },
    ]
}

fn took(step: &SessionStep) -> Option<String> {
    let begun: Timestamp = step.started_at.parse().ok()?;
    let ended: Timestamp = step.ended_at.as_ref()?.parse().ok()?;
    u64::try_from(ended.ms_since(begun)).ok().map(duration)
}
