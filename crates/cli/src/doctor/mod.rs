//! `warren doctor`: what this host, the data folder, the database and the server can and cannot do, and the remedy
//! for what they cannot (O1). It changes nothing, and a missing optional part never makes it fail.

mod docker;
mod host;
mod program;
mod sign_in;
mod storage;
mod warren;

use serde::Serialize;
use serde_json::json;
use warren_providers::SandboxSettings;

use crate::config::Overrides;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Outcome;
use crate::output::Tone;
use crate::terminal_text::visible;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    Ok,
    /// Something optional is missing, or somebody should know about it.
    Warn,
    /// Warren cannot do its work.
    Fail,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Check {
    pub(crate) area: &'static str,
    pub(crate) name: &'static str,
    pub(crate) state: State,
    /// What was found.
    pub(crate) finding: String,
    /// What that means: what is enforced with it, or not without it.
    pub(crate) effect: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) remedy: Option<String>,
}

impl Check {
    pub(crate) fn ok(area: &'static str, name: &'static str, finding: impl Into<String>) -> Self {
        Self { area, name, state: State::Ok, finding: finding.into(), effect: "", remedy: None }
    }

    #[must_use]
    pub(crate) fn effect(mut self, effect: &'static str) -> Self {
        self.effect = effect;
        self
    }

    #[must_use]
    pub(crate) fn warn(mut self, remedy: impl Into<String>) -> Self {
        self.state = State::Warn;
        self.remedy = Some(remedy.into());
        self
    }

    #[must_use]
    pub(crate) fn fail(mut self, remedy: impl Into<String>) -> Self {
        self.state = State::Fail;
        self.remedy = Some(remedy.into());
        self
    }
}

pub(crate) async fn run(context: &Context) -> Outcome<Exit> {
    let mut checks = host::checks();
    checks.push(program::bubblewrap(&SandboxSettings::default()));
    // A config that cannot be read is told below.
    let section =
        context.load_config(&Overrides::new()).map(|loaded| loaded.config.docker).unwrap_or_default();
    checks.push(docker::check(&section.to_settings(&context.environment)).await);
    checks.extend(storage::checks(context));
    checks.extend(warren::checks(context).await);
    let verdict = checks.iter().map(|check| check.state).max().unwrap_or(State::Ok);
    if context.output.is_json {
        context.output.json(&json!({ "verdict": verdict, "checks": checks }))?;
    } else {
        print(context, &checks, verdict)?;
    }
    Ok(exit_of(verdict))
}

const fn exit_of(verdict: State) -> Exit {
    match verdict {
        State::Ok | State::Warn => Exit::OK,
        State::Fail => Exit::FAILURE,
    }
}

fn print(context: &Context, checks: &[Check], verdict: State) -> Outcome<()> {
    let mut area = "";
    for check in checks {
        if check.area != area {
            area = check.area;
            context.output.text(&format!("{area}\n"))?;
        }
        let (word, tone) = match check.state {
            State::Ok => ("ok  ", Tone::Good),
            State::Warn => ("warn", Tone::Careful),
            State::Fail => ("fail", Tone::Bad),
        };
        let word = context.output.paint(word, tone);
        context.output.text(&format!("  {word}  {:<18}{}\n", check.name, visible(&check.finding)))?;
        let more = [Some(check.effect).filter(|effect| !effect.is_empty()), check.remedy.as_deref()];
        for line in more.into_iter().flatten() {
            context.output.text(&format!("{:26}{}\n", "", visible(line)))?;
        }
    }
    let count = |state| checks.iter().filter(|check| check.state == state).count();
    let summary = format!("{} warnings, {} failures", count(State::Warn), count(State::Fail));
    context.output.line(&match verdict {
        State::Ok => "Everything is in order.".to_owned(),
        State::Warn => format!("Warren works here; {summary}."),
        State::Fail => format!("Warren does not work here as it should; {summary}."),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // O1
    #[test]
    fn only_a_failure_changes_the_exit_code() {
        assert_eq!(exit_of(State::Ok), Exit::OK);
        assert_eq!(exit_of(State::Warn), Exit::OK);
        assert_eq!(exit_of(State::Fail), Exit::FAILURE);
    }
}
