//! A program that lives on between messages and serves A2A over HTTP on loopback (A80).
//!
//! It is started, called when a message comes, asked how it goes, and started again when it dies. A message that it had
//! then is sent once more, under the same id.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Mutex;
use warren_api::{ArtifactUpdate, ClaimedMessage, MessagePart, TaskArtifact, TaskState};

use crate::acp::Connection;
use crate::adapter::{Failure, ProgramAnswer, ProgramOutcome, ProgressLog};
use crate::backoff;
use crate::loopback::LoopbackUrl;
use crate::program::no_such_program;
use crate::settings::AgentOptions;

/// How long one call may take; work goes on beside it.
const CALL_PATIENCE: Duration = Duration::from_secs(30);
/// Between two looks at the work.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// Between two tries to reach a program that is starting.
const KNOCK_AGAIN: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(crate) struct A2aAgent<'a> {
    command: &'a [String],
    options: &'a AgentOptions,
    program: RefCell<Option<Rc<Connection>>>,
    starting: Mutex<()>,
    /// Ends since it last did something well.
    deaths: Cell<u32>,
}

impl<'a> A2aAgent<'a> {
    pub(crate) fn new(command: &'a [String], options: &'a AgentOptions) -> Self {
        let (program, starting) = (RefCell::default(), Mutex::default());
        Self { command, options, program, starting, deaths: Cell::new(0) }
    }

    /// The program, started if it does not run, once it listens.
    pub(crate) async fn alive(&self) -> Result<Rc<Connection>, Failure> {
        let _starting = self.starting.lock().await;
        let known = self.program.borrow().clone();
        if let Some(program) = known {
            if program.ended().is_none() {
                return Ok(program);
            }
            self.program.replace(None);
            self.deaths.set(self.deaths.get() + 1);
        }
        if self.deaths.get() > 0 {
            tokio::time::sleep(Duration::from_millis(backoff::wait_ms(self.deaths.get()))).await;
        }
        let started = self.start().await;
        match &started {
            Ok(program) => drop(self.program.replace(Some(Rc::clone(program)))),
            Err(_) => self.deaths.set(self.deaths.get() + 1),
        }
        started
    }

    async fn start(&self) -> Result<Rc<Connection>, Failure> {
        let url = self.url()?;
        let program = Connection::start(self.command, &self.options.variables)
            .map_err(|error| Failure::lasting(no_such_program(self.command, &error)))?;
        let patience = self.options.start_timeout;
        let listens = async {
            while url.connect().await.is_err() && program.ended().is_none() {
                tokio::time::sleep(KNOCK_AGAIN).await;
            }
        };
        let is_late = tokio::time::timeout(patience, listens).await.is_err();
        if let Some(how) = program.ended() {
            return Err(Failure::lasting(how));
        }
        if is_late {
            let told = format!(
                "the program did not listen within {} s\n{}",
                patience.as_secs(),
                program.last_words()
            );
            return Err(Failure::lasting(told.trim().to_owned()));
        }
        Ok(Rc::new(program))
    }

    fn url(&self) -> Result<LoopbackUrl, Failure> {
        let told = self.options.a2a_url.as_deref().unwrap_or_default();
        LoopbackUrl::parse(told).ok_or_else(|| {
            Failure::lasting(format!("`{told}` is no address on loopback, such as `http://127.0.0.1:8000/`"))
        })
    }

    /// Gives a message to the program. One that dies with it is started again and given it once more.
    pub(crate) async fn work_on(
        &self,
        message: &ClaimedMessage,
        progress: &ProgressLog<'_>,
    ) -> ProgramOutcome {
        let mut has_died = false;
        loop {
            let program = match self.alive().await {
                Ok(program) => program,
                Err(failure) => return ProgramOutcome::Failed(failure),
            };
            let told = self.ask(message, progress).await;
            // Its end is seen a moment after its calls have failed.
            if told.is_err() {
                tokio::time::sleep(KNOCK_AGAIN).await;
            }
            match (told, program.ended()) {
                (Ok(outcome), _) => {
                    self.deaths.set(0);
                    return outcome;
                }
                (Err(_), Some(how)) if !has_died && !progress.is_cancelled() => {
                    has_died = true;
                    let how = how.lines().next().unwrap_or_default().to_owned();
                    progress.say(&format!("[{how}; it is started again and asked once more]\n"));
                }
                (Err(_), Some(how)) => return ProgramOutcome::Failed(Failure::passing(how)),
                (Err(why), None) => return ProgramOutcome::Failed(Failure::passing(why)),
            }
        }
    }

    async fn ask(
        &self,
        message: &ClaimedMessage,
        progress: &ProgressLog<'_>,
    ) -> Result<ProgramOutcome, String> {
        let sent = json!({
            "message": {
                "messageId": message.queue_id, "role": "ROLE_USER", "contextId": message.task.context_id,
                "parts": message.message.parts.iter().map(part_to_a2a).collect::<Vec<_>>(),
            },
            "configuration": { "returnImmediately": true },
        });
        let answer = self.call("SendMessage", &sent).await?;
        if let Some(said) = answer.get("message") {
            return Ok(ProgramOutcome::Answered(ProgramAnswer::text(text_of(said))));
        }
        let mut task = answer.get("task").cloned().ok_or("it answered with neither a message nor a task")?;
        let id = task.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut last = String::new();
        loop {
            let status = task.get("status").cloned().unwrap_or_default();
            let now = status.to_string();
            if let Some(outcome) = outcome_of(&task) {
                return Ok(outcome);
            }
            if now != last {
                last = now;
                progress.moved();
                let words = status.get("message").map(text_of).unwrap_or_default();
                if !words.is_empty() {
                    progress.say(&format!("{words}\n"));
                }
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK_AGAIN) => {}
                () = progress.cancelled() => {
                    self.call("CancelTask", &json!({ "id": id })).await?;
                    return Ok(ProgramOutcome::Failed(Failure::passing("the task was taken back".to_owned())));
                }
            }
            task = self.call("GetTask", &json!({ "id": id })).await?;
        }
    }

    async fn call(&self, method: &str, params: &Value) -> Result<Value, String> {
        let url = self.url().map_err(|failure| failure.text)?;
        let asked = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let mut answer = url.post(&asked, CALL_PATIENCE).await?;
        if let Some(error) = answer.get("error").filter(|error| !error.is_null()) {
            let text = error.get("message").and_then(Value::as_str).unwrap_or("an error without a message");
            return Err(format!("`{method}`: {text}"));
        }
        answer
            .get_mut("result")
            .map(Value::take)
            .ok_or_else(|| format!("`{method}` was answered with no result"))
    }
}

fn part_to_a2a(part: &MessagePart) -> Value {
    let mut wire = json!({});
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            wire[name] = value;
        }
    };
    put("text", part.text.clone().map(Value::from));
    put("raw", part.raw.clone().map(Value::from));
    put("url", part.url.clone().map(Value::from));
    put("data", part.data.clone());
    put("mediaType", part.media_type.clone().map(Value::from));
    put("filename", part.filename.clone().map(Value::from));
    wire
}

fn part_from_a2a(part: &Value) -> MessagePart {
    let word = |name: &str| part.get(name).and_then(Value::as_str).map(str::to_owned);
    MessagePart {
        text: word("text"),
        raw: word("raw"),
        url: word("url"),
        data: part.get("data").cloned(),
        media_type: word("mediaType"),
        filename: word("filename"),
        ..MessagePart::default()
    }
}

fn parts(of: &Value) -> impl Iterator<Item = &Value> {
    of.get("parts").and_then(Value::as_array).into_iter().flatten()
}

fn text_of(message: &Value) -> String {
    let texts: Vec<&str> = parts(message).filter_map(|part| part.get("text")?.as_str()).collect();
    texts.join("\n")
}

/// What came of a task, once it has ended or waits for input.
fn outcome_of(task: &Value) -> Option<ProgramOutcome> {
    let status = task.get("status")?;
    let text = status.get("message").map(text_of).unwrap_or_default();
    let state = match status.get("state").and_then(Value::as_str)? {
        "TASK_STATE_COMPLETED" => TaskState::Completed,
        "TASK_STATE_INPUT_REQUIRED" => TaskState::InputRequired,
        "TASK_STATE_AUTH_REQUIRED" => TaskState::AuthRequired,
        "TASK_STATE_REJECTED" => TaskState::Rejected,
        "TASK_STATE_FAILED" | "TASK_STATE_CANCELED" => {
            let told = if text.is_empty() { "the program says that it failed".to_owned() } else { text };
            return Some(ProgramOutcome::Failed(Failure::passing(told)));
        }
        _ => return None,
    };
    let artifacts: Vec<_> = task
        .get("artifacts")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .enumerate()
        .map(|(number, artifact)| {
            let word = |name: &str| artifact.get(name).and_then(Value::as_str).map(str::to_owned);
            let artifact = TaskArtifact {
                id: word("artifactId").unwrap_or_else(|| format!("artifact-{number}")),
                name: word("name"),
                description: word("description"),
                parts: parts(artifact).map(part_from_a2a).collect(),
                metadata: serde_json::Map::new(),
            };
            ArtifactUpdate { artifact, append: false, last: true }
        })
        .collect();
    Some(ProgramOutcome::Answered(ProgramAnswer { text, artifacts, state: Some(state) }))
}
