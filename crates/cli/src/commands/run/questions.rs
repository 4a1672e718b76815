//! Questions to the person at the terminal: what the agent may do, and what it wants to know.

use serde_json::{Value, json};
use warren_api::{Approval, CallDecision, SessionCall, SessionEntry, SubmitToolResult};
use warren_model::ErrorCode;

use super::attend::{Attendance, Next, label};
use super::keyboard::Keyboard;
use super::labels;
use super::link::News;
use crate::failure::{Failure, Outcome};
use crate::output::Tone;
use crate::terminal_text::visible;

/// Of the arguments that a person decides about, so many lines are shown.
const MAX_ARGUMENT_LINES: usize = 60;
/// And so many characters of each.
const MAX_ARGUMENT_LINE: usize = 1_000;

/// What became of a question to the person here.
#[derive(Debug, PartialEq, Eq)]
enum Asked {
    Answered(String),
    /// Somebody else was faster, or it is not asked any more.
    Over,
    /// The person wants to answer later.
    Later,
    Stopped,
}

impl Attendance<'_> {
    pub(super) async fn ask_approval(&mut self, approval: &Approval) -> Outcome<Next> {
        let question = self.screen.painted("?", Tone::Careful);
        let (label, reason) = (visible(&label(approval)), visible(&approval.reason));
        self.screen.talk(&format!("{question} May it? {label}  ({reason})"))?;
        let arguments = approval.call.as_ref().map_or(&approval.context, |call| &call.arguments);
        let is_all_said = approval.call.as_ref().is_some_and(|call| labels::says_all(&call.tool, arguments));
        for line in if is_all_said { Vec::new() } else { argument_lines(arguments) } {
            let line = self.screen.painted(&format!("  {}", visible(&line)), Tone::Quiet);
            self.screen.talk(&line)?;
        }
        let call_id = approval.call.as_ref().map_or("", |call| call.call_id.as_str());
        loop {
            let prompt = "  y approve · a always in this session · n deny · e edit the arguments · q leave it waiting > ";
            let line = match self.ask(prompt, call_id).await? {
                Asked::Answered(line) => line,
                Asked::Over => {
                    self.screen.talk("  It was decided elsewhere.")?;
                    return Ok(Next::GoOn);
                }
                Asked::Later => return Ok(Next::Leave),
                Asked::Stopped => return self.stop().await,
            };
            let (word, rest) = line.trim().split_once(char::is_whitespace).unwrap_or((line.trim(), ""));
            let rest = Some(rest.trim().to_owned()).filter(|rest| !rest.is_empty());
            match word {
                "y" | "Y" | "yes" => {
                    self.decide(approval, CallDecision::Approve, rest, None).await?;
                    return Ok(Next::GoOn);
                }
                "a" | "A" | "always" => {
                    self.allow_always(approval).await?;
                    return Ok(Next::GoOn);
                }
                "n" | "N" | "no" => {
                    let reason = match rest {
                        Some(reason) => Some(reason),
                        None => {
                            match self.ask("  Why? The agent is told (Enter: no reason) > ", call_id).await? {
                                Asked::Answered(reason) => {
                                    Some(reason.trim().to_owned()).filter(|reason| !reason.is_empty())
                                }
                                Asked::Over => return Ok(Next::GoOn),
                                Asked::Later => return Ok(Next::Leave),
                                Asked::Stopped => return self.stop().await,
                            }
                        }
                    };
                    self.decide(approval, CallDecision::Deny, reason, None).await?;
                    return Ok(Next::GoOn);
                }
                "e" | "E" | "edit" => {
                    if let Some(next) = self.edit(approval, rest, call_id).await? {
                        return Ok(next);
                    }
                }
                "q" | "Q" | "quit" => return Ok(Next::Leave),
                _ => self.screen.talk("  Type y, a, n, e or q.")?,
            }
        }
    }

    /// Other arguments than the model proposed. `None`: ask again what to do.
    async fn edit(
        &mut self,
        approval: &Approval,
        typed: Option<String>,
        call_id: &str,
    ) -> Outcome<Option<Next>> {
        let text = match typed {
            Some(text) => text,
            None => {
                let now =
                    approval.call.as_ref().map_or(&approval.context, |call| &call.arguments).to_string();
                self.screen.talk(&format!("  Now: {}", visible(&now)))?;
                match self
                    .ask("  New arguments, as a JSON object on one line (Enter: back) > ", call_id)
                    .await?
                {
                    Asked::Answered(text) if text.trim().is_empty() => return Ok(None),
                    Asked::Answered(text) => text,
                    Asked::Over => return Ok(Some(Next::GoOn)),
                    Asked::Later => return Ok(Some(Next::Leave)),
                    Asked::Stopped => return self.stop().await.map(Some),
                }
            }
        };
        let arguments = match serde_json::from_str::<warren_api::Document>(&text) {
            Ok(document) if document.0.is_object() => document.0,
            Ok(_) => {
                self.screen.talk("  That is JSON, but no object.")?;
                return Ok(None);
            }
            Err(error) => {
                self.screen.talk(&format!("  That is no JSON: {}.", visible(&error.to_string())))?;
                return Ok(None);
            }
        };
        match self.decide(approval, CallDecision::Approve, None, Some(arguments)).await {
            Ok(()) => Ok(Some(Next::GoOn)),
            Err(Failure::Told(report)) if report.code == ErrorCode::InvalidRequest.as_str() => {
                let why = report.causes.first().unwrap_or(&report.message);
                self.screen.talk(&format!("  They are refused: {}", visible(why)))?;
                Ok(None)
            }
            Err(other) => Err(other),
        }
    }

    pub(super) async fn ask_question(&mut self, call: &SessionCall) -> Outcome<Next> {
        let choices: Vec<&str> = call
            .arguments
            .get("choices")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let question =
            call.arguments.get("question").and_then(Value::as_str).unwrap_or("It asks you something.");
        let sign = self.screen.painted("?", Tone::Careful);
        for (number, line) in question.lines().enumerate() {
            let sign = if number == 0 { sign.as_str() } else { " " };
            self.screen.talk(&format!("{sign} {}", visible(line)))?;
        }
        for (number, choice) in choices.iter().enumerate() {
            self.screen.talk(&format!("  {} {}", number + 1, visible(choice)))?;
        }
        let prompt = if choices.is_empty() {
            "  Your answer (Ctrl-D: later) > "
        } else {
            "  A number, or your own answer (Ctrl-D: later) > "
        };
        let text = loop {
            match self.ask(prompt, &call.id).await? {
                Asked::Answered(text) if text.trim().is_empty() => {}
                Asked::Answered(text) => break text,
                Asked::Over => {
                    self.screen.talk("  It was answered elsewhere.")?;
                    return Ok(Next::GoOn);
                }
                Asked::Later => return Ok(Next::Leave),
                Asked::Stopped => return self.stop().await,
            }
        };
        let chosen = text.trim().parse::<usize>().ok().and_then(|number| choices.get(number.checked_sub(1)?));
        let output = Some(json!(chosen.map_or_else(|| text.trim(), |choice| *choice)));
        let result = SubmitToolResult { call_id: call.id.clone(), output, error: None };
        let handed_in =
            self.link.ask(async |client, session| client.submit_tool_result(session, &result).await).await;
        self.unless_over(handed_in.map(drop))?;
        Ok(Next::GoOn)
    }

    /// Asks one thing. Entries that come meanwhile are kept; one that ends `call_id` ends the question.
    async fn ask(&mut self, prompt: &str, call_id: &str) -> Outcome<Asked> {
        let mut keyboard = self.keyboard.take().unwrap_or_else(Keyboard::open);
        keyboard.forget();
        self.screen.prompt(prompt)?;
        let asked = loop {
            tokio::select! {
                _ = self.interrupts.recv() => {
                    self.screen.prompt("\n")?;
                    break Asked::Stopped;
                }
                line = keyboard.line() => match line {
                    Some(line) => break Asked::Answered(line),
                    None => {
                        self.screen.prompt("\n")?;
                        break Asked::Later;
                    }
                },
                news = self.link.next() => match news? {
                    News::Entry(entry) => {
                        let is_over = ends(&entry, call_id);
                        self.heard.push_back(entry);
                        if is_over {
                            self.screen.prompt("\n")?;
                            break Asked::Over;
                        }
                    }
                    News::Lost => {
                        self.screen.prompt("\n")?;
                        self.tell(&self.link.lost())?;
                    }
                    News::Back => {
                        self.tell("Connected again, without a gap.")?;
                        self.screen.prompt(prompt)?;
                    }
                },
            }
        };
        self.keyboard = Some(keyboard);
        Ok(asked)
    }
}

/// Whether nobody waits for an answer to this call any more.
fn ends(entry: &SessionEntry, call_id: &str) -> bool {
    match entry.kind.as_str() {
        "call_decided" | "call_ended" => entry.fields.get("call_id").and_then(Value::as_str) == Some(call_id),
        "run_ended" | "interrupted" => true,
        _ => false,
    }
}

/// Everything that is decided about, as far as a screen holds it; what is left out is said.
fn argument_lines(arguments: &Value) -> Vec<String> {
    let pretty = serde_json::to_string_pretty(arguments).unwrap_or_default();
    let lines: Vec<&str> = pretty.lines().collect();
    let mut shown: Vec<String> = lines.iter().take(MAX_ARGUMENT_LINES).map(|line| beginning(line)).collect();
    if lines.len() > MAX_ARGUMENT_LINES {
        shown.push(format!(
            "… {} more lines; `warren approval show` has all",
            lines.len() - MAX_ARGUMENT_LINES
        ));
    }
    shown
}

fn beginning(line: &str) -> String {
    match line.char_indices().nth(MAX_ARGUMENT_LINE) {
        Some((end, _)) => {
            let left = line[end..].chars().count();
            format!("{} … {left} more characters; `warren approval show` has all", &line[..end])
        }
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // S12, A30: who decides is told when something is left out
    #[test]
    fn arguments_are_shown_whole_or_said_to_be_cut() {
        assert_eq!(argument_lines(&json!({ "path": "a" })), ["{", "  \"path\": \"a\"", "}"]);
        let long = argument_lines(&json!({ "text": "x".repeat(5_000) }));
        assert!(long[1].contains("more characters"), "{}", long[1]);
        let many = argument_lines(&json!(vec![1; 500]));
        assert_eq!(many.len(), MAX_ARGUMENT_LINES + 1);
        assert!(many.last().unwrap().starts_with("… 442 more lines"), "{many:?}");
    }
}
