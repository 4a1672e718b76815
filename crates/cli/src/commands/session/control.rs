//! Decisions, answers and stops.

use serde_json::Value;
use warren_api::client::Client;
use warren_api::{
    Approval, CallDecision, DecideCall, PendingWork, RememberDecision, SessionStatus, StopRun,
    SubmitToolResult,
};
use warren_model::ErrorCode;

use super::tell;
use crate::arguments::{AnswerArguments, DecisionArguments, RememberScope, StopArguments};
use crate::commands::facts::word;
use crate::commands::run::{standard_input, waits};
use crate::context::Context;
use crate::failure::{Outcome, Report};

pub(super) async fn approve(
    context: &Context,
    client: &Client,
    which: &DecisionArguments,
    arguments: Option<&str>,
    remember: Option<RememberScope>,
) -> Outcome<()> {
    let arguments = arguments.map(|text| parse_json("--arguments", text)).transpose()?;
    if arguments.as_ref().is_some_and(|arguments| !arguments.is_object()) {
        let problem = "--arguments: a JSON object is expected";
        return Err(Report::new(ErrorCode::InvalidUsage).because(problem).into());
    }
    let of_scope = |scope: RememberScope| RememberDecision {
        scope: scope.into(),
        arguments: Default::default(),
        expires_in_seconds: None,
    };
    let answer = Answer { decision: CallDecision::Approve, arguments, remember: remember.map(of_scope) };
    decide(context, client, which, answer).await
}

pub(super) async fn deny(context: &Context, client: &Client, which: &DecisionArguments) -> Outcome<()> {
    let answer = Answer { decision: CallDecision::Deny, arguments: None, remember: None };
    decide(context, client, which, answer).await
}

/// What is decided.
struct Answer {
    decision: CallDecision,
    arguments: Option<Value>,
    remember: Option<RememberDecision>,
}

async fn decide(
    context: &Context,
    client: &Client,
    which: &DecisionArguments,
    answer: Answer,
) -> Outcome<()> {
    let ids = match &which.approval {
        Some(id) => vec![id.clone()],
        None => {
            let pending = client.session_pending(&which.session).await?;
            let ids: Vec<String> = pending.approvals.iter().map(|one| one.id.clone()).collect();
            only(&which.session, ids, which.all, "approval", &pending)?
        }
    };
    // What comes of it is behind this.
    let after = client.session(&which.session).await?.latest_sequence;
    let mut decided: Vec<Approval> = Vec::with_capacity(ids.len());
    for approval_id in ids {
        let decision = DecideCall {
            approval_id,
            decision: answer.decision,
            note: which.note.clone(),
            arguments: answer.arguments.clone(),
            remember: answer.remember.clone(),
        };
        decided.push(client.decide_call(&which.session, &decision).await?);
    }
    if context.output.is_json {
        return match decided.as_slice() {
            [one] if !which.all => context.output.json(one),
            all => context.output.json(&all),
        };
    }
    for approval in &decided {
        context.output.line(&format!("{}  {}", approval.id, word(approval.state)))?;
    }
    context.output.note(&format!(
        "See what comes of it with `warren session follow {} --after {after}`.",
        which.session
    ));
    Ok(())
}

/// The one that is meant where nobody says which.
fn only(
    session: &str,
    ids: Vec<String>,
    all: bool,
    what: &str,
    pending: &PendingWork,
) -> Outcome<Vec<String>> {
    match ids.len() {
        0 => {
            let report =
                Report::new(ErrorCode::NotPending).because(format!("`{session}` waits for no {what}"));
            let others = pending.approvals.len() + pending.calls.len();
            let hint = match others {
                0 => format!("Look with `warren session show {session}`."),
                _ => format!("It waits for something else: `warren session show {session}`."),
            };
            Err(report.hint(hint).into())
        }
        1 => Ok(ids),
        _ if all => Ok(ids),
        count => {
            let report = Report::new(ErrorCode::AmbiguousName)
                .because(format!("`{session}` waits for {count}: {}", ids.join(", ")));
            let all = if what == "approval" { ", or `--all`" } else { "" };
            Err(report
                .hint(format!("Say which{all}; `warren session show {session}` tells what they are."))
                .into())
        }
    }
}

pub(super) async fn answer(context: &Context, client: &Client, arguments: AnswerArguments) -> Outcome<()> {
    let (output, error) = match (arguments.text, arguments.output, arguments.error) {
        (_, _, Some(error)) => (None, Some(error)),
        (_, Some(output), None) => (Some(parse_json("--output", &output)?), None),
        (Some(text), None, None) if text == "-" => (Some(Value::String(standard_input()?)), None),
        (text, None, None) => (Some(Value::String(text.unwrap_or_default())), None),
    };
    let session = &arguments.session;
    let call_id = match arguments.call {
        Some(call) => call,
        None => {
            let pending = client.session_pending(session).await?;
            let ids = pending.calls.iter().map(|one| one.id.clone()).collect();
            only(session, ids, false, "answer", &pending)?.remove(0)
        }
    };
    let result = SubmitToolResult { call_id, output, error };
    tell(context, &client.submit_tool_result(session, &result).await?)
}

fn parse_json(flag: &str, text: &str) -> Outcome<Value> {
    let read = serde_json::from_str::<warren_api::Document>(text);
    Ok(read
        .map_err(|error| Report::new(ErrorCode::InvalidUsage).because(format!("{flag} is no JSON: {error}")))?
        .0)
}

pub(super) async fn interrupt(context: &Context, client: &Client, arguments: &StopArguments) -> Outcome<()> {
    let stop = stop(client, arguments).await?;
    let session = client.interrupt_session(&arguments.session, stop).await?;
    tell(context, &session)?;
    let waits =
        waits(&session, &PendingWork { approvals: Vec::new(), calls: Vec::new(), messages: Vec::new() });
    match waits.first().and_then(|one| one.commands.first()) {
        Some(command) if session.status == SessionStatus::Interrupted => {
            context.output.note(&format!("Go on with `{command}`."));
        }
        _ => context.output.note("It stops at the next safe point."),
    }
    Ok(())
}

pub(super) async fn abort(context: &Context, client: &Client, arguments: &StopArguments) -> Outcome<()> {
    let stop = stop(client, arguments).await?;
    tell(context, &client.abort_session(&arguments.session, stop).await?)
}

/// The latest run, unless one is named.
async fn stop(client: &Client, arguments: &StopArguments) -> Outcome<StopRun> {
    let run = match arguments.run {
        Some(run) => run,
        None => client.session(&arguments.session).await?.run,
    };
    Ok(StopRun { run, within_seconds: arguments.within })
}
