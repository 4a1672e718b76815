//! Any stream that a session can tell becomes a message that its client survives, and the same one for whoever comes back.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};
use warren_model::session::{
    Decision, OutcomeKind, StopReason, StreamEntry, StreamItem, Suspension, TokenUsage,
};
use warren_model::{ApprovalId, Part, SessionMessageId, Timestamp};

use super::{AiMajor, ChunkWriter, Ending};

const CLIENT_TOOL: &str = "weather";

/// What a client of a major understands.
fn is_known(major: AiMajor, kind: &str) -> bool {
    let always = [
        "start",
        "finish",
        "error",
        "start-step",
        "finish-step",
        "text-start",
        "text-delta",
        "text-end",
        "reasoning-start",
        "reasoning-delta",
        "reasoning-end",
        "tool-input-start",
        "tool-input-delta",
        "tool-input-available",
        "tool-input-error",
        "tool-output-available",
        "tool-output-error",
    ];
    always.contains(&kind)
        || kind.starts_with("data-")
        || major >= AiMajor::V6 && ["tool-approval-request", "tool-output-denied"].contains(&kind)
        || major >= AiMajor::V7
            && ["tool-approval-response", "reset-step", "steering-message"].contains(&kind)
}

/// A client as the AI SDK has it: panics where the real one throws.
#[derive(Debug, Default, Clone, PartialEq)]
struct Client {
    parts: Vec<Value>,
    open: BTreeMap<String, usize>,
    is_started: bool,
    is_finished: bool,
    /// Calls that the client was told to carry out.
    ran: Vec<String>,
}

impl Client {
    fn step_start(&self) -> usize {
        self.parts.iter().rposition(|part| part["type"] == "step-start").map_or(0, |at| at + 1)
    }

    fn tool(&mut self, chunk: &Value) -> &mut Value {
        let id = &chunk["toolCallId"];
        let at = self.parts.iter().rposition(|part| part["toolCallId"] == *id);
        &mut self.parts[at.unwrap_or_else(|| panic!("no such call: {chunk}"))]
    }

    fn read(&mut self, major: AiMajor, chunk: &Value) {
        let kind = chunk["type"].as_str().unwrap();
        assert!(is_known(major, kind), "{kind} kills {major:?}");
        assert!(!self.is_finished, "{kind} after the end");
        assert_eq!(self.is_started, kind != "start", "{kind}");
        match kind {
            "start" => self.is_started = true,
            "finish" => {
                assert!(self.open.is_empty(), "{:?} is open", self.open);
                self.is_finished = true;
            }
            "start-step" => self.parts.push(json!({ "type": "step-start" })),
            "reset-step" => {
                self.parts.truncate(self.step_start());
                self.open.clear();
            }
            "text-start" | "reasoning-start" => {
                let id = chunk["id"].as_str().unwrap().to_owned();
                assert!(self.open.insert(id, self.parts.len()).is_none(), "{chunk}");
                self.parts.push(json!({ "type": kind.trim_end_matches("-start"), "text": "" }));
            }
            "text-delta" | "reasoning-delta" => {
                let part = &mut self.parts[self.open[chunk["id"].as_str().unwrap()]];
                part["text"] =
                    format!("{}{}", part["text"].as_str().unwrap(), chunk["delta"].as_str().unwrap()).into();
            }
            "text-end" | "reasoning-end" => {
                self.open.remove(chunk["id"].as_str().unwrap()).unwrap_or_else(|| panic!("{chunk}"));
            }
            "tool-input-start" | "tool-input-available" | "tool-input-error" => {
                let from = self.step_start();
                let id = &chunk["toolCallId"];
                let at = self.parts[from..].iter().position(|part| part["toolCallId"] == *id);
                let at = at.map_or(self.parts.len(), |at| from + at);
                if at == self.parts.len() {
                    self.parts.push(json!({ "type": "tool", "toolCallId": id }));
                }
                let part = &mut self.parts[at];
                assert_ne!((kind, &part["state"]), ("tool-input-start", &json!("output")), "{chunk}");
                part["state"] = kind.into();
                if kind == "tool-input-error" {
                    part["state"] = "output".into();
                }
                part["input"] = chunk["input"].clone();
                if kind == "tool-input-available" && chunk["providerExecuted"] != true {
                    self.ran.push(id.as_str().unwrap().to_owned());
                }
            }
            "tool-input-delta" => assert_eq!(self.tool(chunk)["state"], "tool-input-start"),
            "tool-approval-request" => self.tool(chunk)["approval"] = chunk["approvalId"].clone(),
            "tool-approval-response" => {
                let is_asked = |part: &Value| part["approval"] == chunk["approvalId"];
                assert!(self.parts.iter().any(is_asked), "{chunk}");
            }
            "tool-output-available" | "tool-output-error" | "tool-output-denied" => {
                let part = self.tool(chunk);
                assert_ne!(part["state"], "output", "a call has one outcome: {chunk}");
                if chunk["preliminary"] != true {
                    part["state"] = "output".into();
                    part["output"] = chunk["output"].clone();
                }
            }
            "error" | "finish-step" => {}
            _ if chunk["transient"] == true => {}
            _ => self.parts.push(chunk.clone()),
        }
    }

    /// What a person is shown: without what was taken back.
    fn shown(&self) -> Vec<Value> {
        let mut shown: Vec<Value> = Vec::new();
        for part in &self.parts {
            if part["type"] == "data-reset" {
                let from = shown.iter().rposition(|part| part["type"] == "step-start").unwrap_or(0);
                shown.truncate(from);
            } else {
                shown.push(part.clone());
            }
        }
        shown
    }
}

/// Makes a run out of random bytes, as the rules would tell it.
struct Teller<'a> {
    dice: std::slice::Iter<'a, u8>,
    told: Vec<StreamItem>,
    step: u32,
    attempt: u32,
}

impl Teller<'_> {
    fn dice(&mut self, sides: u8) -> u8 {
        self.dice.next().copied().unwrap_or(0) % sides
    }

    fn tell(&mut self, item: StreamItem) {
        self.told.push(item);
    }

    fn suspend(&mut self, by: Suspension) {
        self.tell(StreamItem::Suspended { by, reason: "so".into() });
        self.tell(StreamItem::Resumed);
    }

    fn begin_step(&mut self) {
        self.step += 1;
        self.attempt = 0;
        if self.step == 1 || self.dice(4) == 0 {
            let message_id = SessionMessageId::from_bytes([u8::try_from(self.step).unwrap(); 16]);
            let parts = vec![Part::text("say")];
            self.tell(StreamItem::MessageDelivered { message_id, step: self.step, parts, client_id: None });
        }
    }

    fn pieces(&mut self) -> u8 {
        let step = self.step;
        let mut calls = 0;
        for block in 0..u32::from(self.dice(4)) {
            let kind = self.dice(3);
            for _ in 0..=self.dice(2) {
                let text = "bit ".to_owned();
                match kind {
                    0 => self.tell(StreamItem::TextDelta { step, block, text }),
                    1 => self.tell(StreamItem::ReasoningDelta { step, block, text }),
                    _ => {
                        let (call_id, tool) = (format!("call_{step}_{calls}"), tool(calls).to_owned());
                        self.tell(StreamItem::CallDelta {
                            step,
                            block,
                            call_id,
                            tool,
                            arguments: "{".into(),
                        });
                    }
                }
            }
            calls += u8::from(kind == 2);
        }
        calls
    }

    fn ask(&mut self) -> u8 {
        loop {
            self.attempt += 1;
            let (step, attempt) = (self.step, self.attempt);
            if attempt > 1 {
                self.tell(StreamItem::StepReset { step, reason: "again".into() });
            }
            self.tell(StreamItem::StepStarted { step, attempt, model: "m".into() });
            let calls = self.pieces();
            match self.dice(6) {
                0 if attempt < 4 => self.suspend(Suspension::Timer),
                1 if attempt < 4 => {}
                2 if attempt < 4 => {
                    self.tell(StreamItem::Interrupted { run: 1 });
                    self.tell(StreamItem::Resumed);
                }
                _ => {
                    let usage = TokenUsage::default();
                    let stop_reason = StopReason::ToolUse;
                    self.tell(StreamItem::StepAnswered { step, stop_reason, usage, cost_micros: 0 });
                    return calls;
                }
            }
        }
    }

    fn call(&mut self, index: u8) {
        let step = self.step;
        let (call_id, tool) = (format!("call_{step}_{index}"), tool(index).to_owned());
        let arguments = json!({ "n": index });
        let problem = (self.dice(6) == 0).then(|| "wrong".to_owned());
        let has_problem = problem.is_some();
        let id = call_id.clone();
        let name = tool.clone();
        let proposed =
            StreamItem::CallProposed { step, call_id: id, tool: name, arguments: arguments.clone(), problem };
        self.tell(proposed);
        let ended =
            |outcome| StreamItem::CallEnded { step, call_id: call_id.clone(), outcome, result: json!("r") };
        if has_problem {
            return self.tell(ended(OutcomeKind::Failed));
        }
        match self.dice(5) {
            0 => return self.tell(ended(OutcomeKind::Denied)),
            1 | 2 => {
                let approval_id = ApprovalId::from_bytes([index; 16]);
                let (reason, expires_at) = ("because".to_owned(), Timestamp::from_micros(1));
                let (call_id, tool) = (call_id.clone(), tool.clone());
                let arguments = arguments.clone();
                self.tell(StreamItem::ApprovalRequested {
                    step,
                    call_id: call_id.clone(),
                    approval_id,
                    tool,
                    arguments,
                    reason,
                    expires_at,
                });
                self.tell(StreamItem::Suspended { by: Suspension::Approval, reason: "asked".into() });
                let is_approved = self.dice(2) == 0;
                let decision = if is_approved {
                    let arguments = (self.dice(2) == 0).then(|| json!({ "n": "edited" }));
                    Decision::Approved { by: "me".into(), arguments, note: None }
                } else {
                    Decision::Denied { by: "me".into(), reason: "no".into() }
                };
                self.tell(StreamItem::CallDecided { step, call_id, decision });
                if !is_approved {
                    self.tell(ended(OutcomeKind::Denied));
                    return self.tell(StreamItem::Resumed);
                }
                self.tell(StreamItem::Resumed);
            }
            _ => {}
        }
        if tool == CLIENT_TOOL {
            let call_id = call_id.clone();
            self.tell(StreamItem::CallOffered { step, call_id, tool, arguments });
            self.suspend(Suspension::ClientTool);
        } else {
            self.tell(StreamItem::CallStarted { step, call_id: call_id.clone() });
            for _ in 0..self.dice(3) {
                self.tell(StreamItem::CallOutput { step, call_id: call_id.clone(), text: "out".into() });
            }
        }
        let outcome =
            [OutcomeKind::Done, OutcomeKind::Failed, OutcomeKind::Unknown][usize::from(self.dice(3))];
        self.tell(ended(outcome));
    }

    fn run(mut self) -> Vec<StreamEntry> {
        self.tell(StreamItem::RunStarted { run: 1 });
        for _ in 0..=self.dice(4) {
            self.begin_step();
            let begun = self.ask();
            // A model may say less, or more, than what it began.
            let calls = begun.saturating_add(self.dice(3)).saturating_sub(1);
            for index in 0..calls {
                self.call(index);
            }
            self.tell(StreamItem::StepEnded { step: self.step });
            match self.dice(8) {
                0 => self.suspend(Suspension::Budget),
                1 => self.tell(StreamItem::StateChanged { step: self.step, names: vec!["x".into()] }),
                _ => {}
            }
        }
        let (status, finish, message) = match self.dice(3) {
            0 => ("failed", None, Some("broken".to_owned())),
            1 => ("interrupted", None, None),
            _ => ("completed", Some(StopReason::EndTurn), None),
        };
        self.tell(StreamItem::RunEnded { run: 1, status: status.into(), finish, message });
        let at = Timestamp::from_micros(1);
        (1..).zip(self.told).map(|(sequence, item)| StreamEntry { sequence, at, item }).collect()
    }
}

fn tool(index: u8) -> &'static str {
    if index % 2 == 0 { "workspace_rm" } else { CLIENT_TOOL }
}

fn a_run() -> impl Strategy<Value = Vec<StreamEntry>> {
    proptest::collection::vec(any::<u8>(), 0..200)
        .prop_map(|dice| Teller { dice: dice.iter(), told: Vec::new(), step: 0, attempt: 0 }.run())
}

fn writer(major: AiMajor) -> ChunkWriter {
    ChunkWriter::new(major, "s.1".into(), 1, [CLIENT_TOOL.to_owned()])
}

/// Chunks of every entry, and of the end.
fn chunks(mut writer: ChunkWriter, entries: &[StreamEntry]) -> Vec<Value> {
    let mut all = vec![writer.start()];
    all.extend(entries.iter().flat_map(|entry| writer.push(entry)));
    let ending = writer.ending().cloned().unwrap_or(Ending::Interrupted);
    all.extend(writer.finish(&ending));
    all
}

fn client(major: AiMajor, chunks: &[Value]) -> Client {
    let mut client = Client::default();
    chunks.iter().for_each(|chunk| client.read(major, chunk));
    client
}

/// What a reader finds who comes after the end: pieces of arguments, of output, and of answers that were begun anew are
/// gone.
fn as_found_later(entries: &[StreamEntry]) -> Vec<StreamEntry> {
    let is_kept = |(at, entry): &(usize, &StreamEntry)| match &entry.item {
        StreamItem::CallDelta { .. } | StreamItem::CallOutput { .. } => false,
        StreamItem::TextDelta { step, .. } | StreamItem::ReasoningDelta { step, .. } => {
            let is_reset = |later: &StreamEntry| matches!(&later.item, StreamItem::StepReset { step: of, .. } if of == step);
            !entries[*at..].iter().any(is_reset)
        }
        _ => true,
    };
    entries.iter().enumerate().filter(is_kept).map(|(_, entry)| entry.clone()).collect()
}

const MAJORS: [AiMajor; 3] = [AiMajor::V5, AiMajor::V6, AiMajor::V7];

fn is_step_mark(part: &Value) -> bool {
    part["type"] == "step-start"
}

proptest! {
    // A61, A63
    #[test]
    fn any_run_is_a_message_that_its_client_survives(entries in a_run(), cut in any::<prop::sample::Index>()) {
        for major in MAJORS {
            let whole = client(major, &chunks(writer(major), &entries));
            prop_assert!(whole.is_finished);
            let asks = |part: &&Value| part["type"] == "tool" && part["state"] != "output";
            // What a client sees of a run that ends anywhere is a message, too.
            let part = &entries[..cut.index(entries.len())];
            client(major, &chunks(writer(major), part));
            prop_assert_eq!(whole.shown().iter().filter(asks).count(), 0, "every call has an outcome");
            for id in &whole.ran {
                prop_assert!(entries.iter().any(|entry| matches!(&entry.item,
                    StreamItem::CallOffered { call_id, .. } if call_id == id)), "{id} was not the client's to run");
            }
        }
    }

    // A61: no gap and no repeat
    #[test]
    fn who_goes_on_with_a_message_gets_what_follows(entries in a_run(), known in any::<prop::sample::Index>()) {
        for major in MAJORS {
            let waits = |entry: &&StreamEntry| matches!(&entry.item, StreamItem::Suspended { by, .. } if *by != Suspension::Timer);
            let stops: Vec<u64> = entries.iter().filter(waits).map(|entry| entry.sequence).collect();
            prop_assume!(!stops.is_empty());
            let known = stops[known.index(stops.len())];
            let first = chunks(writer(major), &entries[..usize::try_from(known).unwrap()]);
            let rest = chunks(writer(major).continued(known), &entries);
            let told = |chunks: &[Value]| -> Vec<Value> {
                let is_frame = |kind: &str| ["start", "finish", "finish-step"].contains(&kind);
                chunks.iter().filter(|chunk| !is_frame(chunk["type"].as_str().unwrap())).cloned().collect()
            };
            let both = [told(&first), told(&rest)].concat();
            prop_assert_eq!(both, told(&chunks(writer(major), &entries)));
            prop_assert_eq!(&rest[0]["messageId"], "s.1");
        }
    }

    // A60, A61, A63: the same message, however late
    #[test]
    fn who_comes_later_is_shown_the_same_message(entries in a_run()) {
        for major in MAJORS {
            let live = client(major, &chunks(writer(major), &entries));
            let late = client(major, &chunks(writer(major), &as_found_later(&entries)));
            let is_half = |part: &&Value| part["type"] != "tool" || !part["input"].is_null();
            let told = |client: &Client| -> Vec<Value> {
                client.shown().iter().filter(|part| !is_step_mark(part)).filter(is_half).cloned().collect()
            };
            // Where a call stands among the texts of its answer is told only while it comes.
            let (is_tool, is_other) = (|part: &Value| part["type"] == "tool", |part: &Value| part["type"] != "tool");
            for kind in [&is_tool as &dyn Fn(&Value) -> bool, &is_other] {
                let of = |client: &Client| told(client).into_iter().filter(|part| kind(part)).collect::<Vec<_>>();
                prop_assert_eq!(of(&live), of(&late));
            }
        }
    }
}
