//! The line to a program that speaks the Agent Client Protocol: JSON-RPC 2.0, one message per line on its stdio.
//!
//! ```text
//!   call ──▶ writer ──▶ stdin        stdout ──▶ lines ──▶ answers, by id      ──▶ whoever called
//!                                                    ├──▶ updates, requests   ──▶ the turn of their session
//!                                                    └──▶ anything else       ──▶ talk, like stderr
//! ```
//!
//! What is not known is passed on or answered with −32601; nothing that the program says ends the runner. A session that
//! does not keep up holds up the program, and nothing is kept without a limit.

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::lines::{Line, LineSplitter};
use crate::program::{StderrTail, door};

/// Messages of one session that wait to be read; a program that says more waits.
const MAX_UNREAD: usize = 256;
/// Messages that wait to be written; a program that does not read them is ended.
const MAX_UNWRITTEN: usize = 1_024;
const PIECE_BYTES: usize = 16 << 10;
/// How long the pipes of a program that has ended are read.
const REST: Duration = Duration::from_secs(1);

pub(crate) const METHOD_NOT_FOUND: i64 = -32601;
pub(crate) const INVALID_PARAMS: i64 = -32602;
pub(crate) const INTERNAL_ERROR: i64 = -32603;
pub(crate) const AUTH_REQUIRED: i64 = -32000;

/// What the program says in a session.
#[derive(Debug)]
pub(crate) enum Incoming {
    Update(Value),
    Request(Request),
    /// Something that is not of the protocol: on its error output, or between its messages.
    Talk(String),
}

/// What the program asks of its client.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Request {
    pub(crate) id: Value,
    pub(crate) method: String,
    pub(crate) params: Value,
}

/// Why a call was not answered as one would like.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum CallError {
    #[error("{message}")]
    Answered { code: i64, message: String },
    /// How the program ended, with what it said last.
    #[error("{0}")]
    Ended(String),
}

impl CallError {
    pub(crate) fn is_auth_required(&self) -> bool {
        matches!(self, Self::Answered { code: AUTH_REQUIRED, .. })
    }
}

type Answer = Result<Value, CallError>;

#[derive(Debug, Default)]
struct State {
    last_id: u64,
    waiting: HashMap<u64, oneshot::Sender<Answer>>,
    sessions: HashMap<String, mpsc::Sender<Incoming>>,
    talk: StderrTail,
    /// How it ended, once it has.
    ended: Option<String>,
    /// Why the runner itself ended it.
    killed: Option<String>,
}

#[derive(Debug, Default)]
struct Shared(Mutex<State>);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One life of a program. Dropped, it ends the program and all of its group.
#[derive(Debug)]
pub(crate) struct Connection {
    outgoing: mpsc::Sender<Vec<u8>>,
    shared: Arc<Shared>,
    group: Option<Pid>,
    tasks: [JoinHandle<()>; 2],
}

impl Connection {
    /// Must be called within the runtime.
    pub(crate) fn start(command: &[String], variables: &[(String, String)]) -> std::io::Result<Self> {
        let (program, arguments) = command.split_first().ok_or(std::io::ErrorKind::InvalidInput)?;
        let mut command = door(program);
        command
            .args(arguments)
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let mut child = command.spawn()?;
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let shared = Arc::new(Shared::default());
        let (outgoing, unwritten) = mpsc::channel(MAX_UNWRITTEN);
        let writing = tokio::spawn(write(child.stdin.take(), unwritten));
        let reader = Reader { shared: Arc::clone(&shared), outgoing: outgoing.clone(), group };
        let reading = tokio::spawn(reader.attend(child));
        Ok(Self { outgoing, shared, group, tasks: [reading, writing] })
    }

    /// How the program ended, if it has.
    pub(crate) fn ended(&self) -> Option<String> {
        self.shared.lock().ended.clone()
    }

    /// What the program said last that is not of the protocol.
    pub(crate) fn last_words(&self) -> String {
        self.shared.lock().talk.last()
    }

    /// From now on, what is said in this session comes here.
    pub(crate) fn attend_session(&self, session: &str) -> mpsc::Receiver<Incoming> {
        let (sender, incoming) = mpsc::channel(MAX_UNREAD);
        self.shared.lock().sessions.insert(session.to_owned(), sender);
        incoming
    }

    pub(crate) fn leave_session(&self, session: &str) {
        self.shared.lock().sessions.remove(session);
    }

    /// Sends a request. The answer comes in its time.
    pub(crate) fn request(
        &self,
        method: &str,
        params: &Value,
    ) -> Result<oneshot::Receiver<Answer>, CallError> {
        let (sender, answer) = oneshot::channel();
        let id = {
            let mut state = self.shared.lock();
            if let Some(how) = &state.ended {
                return Err(CallError::Ended(how.clone()));
            }
            state.last_id += 1;
            let id = state.last_id;
            state.waiting.insert(id, sender);
            id
        };
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        Ok(answer)
    }

    /// Sends a request and waits for its answer.
    pub(crate) async fn call(&self, method: &str, params: &Value) -> Answer {
        let answer = self.request(method, params)?;
        self.answer_of(answer).await
    }

    pub(crate) async fn answer_of(&self, answer: oneshot::Receiver<Answer>) -> Answer {
        match answer.await {
            Ok(answer) => answer,
            Err(_) => Err(CallError::Ended(self.ended().unwrap_or_else(|| "it has ended".to_owned()))),
        }
    }

    pub(crate) fn notify(&self, method: &str, params: &Value) {
        self.write(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    pub(crate) fn respond(&self, id: &Value, result: &Value) {
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    }

    pub(crate) fn refuse(&self, id: &Value, code: i64, message: &str) {
        self.write(&refusal(id, code, message));
    }

    /// Ends the program; `why` is told as the way it ended.
    pub(crate) fn kill(&self, why: &str) {
        kill(&self.shared, self.group, why);
    }

    fn write(&self, message: &Value) {
        if !write_line(&self.outgoing, message) {
            self.kill("it does not read its input");
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.shared.lock().ended.is_none() {
            self.kill("its runner has ended");
        }
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

fn kill(shared: &Shared, group: Option<Pid>, why: &str) {
    let mut state = shared.lock();
    // The number of a group that has ended may be another's by now.
    if state.ended.is_some() {
        return;
    }
    state.killed.get_or_insert_with(|| why.to_owned());
    if let Some(group) = group {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

fn refusal(id: &Value, code: i64, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

/// Whether there was room for it.
fn write_line(outgoing: &mpsc::Sender<Vec<u8>>, message: &Value) -> bool {
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    !matches!(outgoing.try_send(line), Err(mpsc::error::TrySendError::Full(_)))
}

async fn write(input: Option<ChildStdin>, mut unwritten: mpsc::Receiver<Vec<u8>>) {
    let Some(mut input) = input else { return };
    while let Some(line) = unwritten.recv().await {
        if input.write_all(&line).await.is_err() || input.flush().await.is_err() {
            return;
        }
    }
}

/// Reads what a program says until it has ended.
struct Reader {
    shared: Arc<Shared>,
    outgoing: mpsc::Sender<Vec<u8>>,
    group: Option<Pid>,
}

impl Reader {
    async fn attend(self, mut child: Child) {
        let (mut stdout, mut stderr) = (child.stdout.take(), child.stderr.take());
        let (mut out, mut err) = (vec![0_u8; PIECE_BYTES], vec![0_u8; PIECE_BYTES]);
        let mut lines = LineSplitter::default();
        let mut status = None;
        let mut rest = std::pin::pin!(tokio::time::sleep(REST));
        while status.is_none() || stdout.is_some() || stderr.is_some() {
            tokio::select! {
                biased;
                read = read_some(&mut stdout, &mut out) => {
                    for line in lines.push(&out[..read]) {
                        self.take_line(line).await;
                    }
                }
                read = read_some(&mut stderr, &mut err) => self.take_talk(&err[..read]),
                ended = child.wait(), if status.is_none() => {
                    // What it left behind would keep its pipes open.
                    if let Some(group) = self.group {
                        let _ = kill_process_group(group, Signal::KILL);
                    }
                    status = Some(match ended {
                        Ok(status) => status.to_string(),
                        Err(error) => error.to_string(),
                    });
                    rest.as_mut().reset(tokio::time::Instant::now() + REST);
                }
                () = &mut rest, if status.is_some() => break,
            }
        }
        self.end(&status.unwrap_or_default());
    }

    fn end(&self, status: &str) {
        let mut state = self.shared.lock();
        let why = state.killed.clone().unwrap_or_else(|| format!("the program ended ({status})"));
        let words = state.talk.last();
        state.ended = Some(if words.is_empty() { why } else { format!("{why}\n{words}") });
        // Whoever waits is told by the end of their channel.
        state.waiting.clear();
        state.sessions.clear();
    }

    fn take_talk(&self, piece: &[u8]) {
        if piece.is_empty() {
            return;
        }
        let mut state = self.shared.lock();
        state.talk.push(piece);
        for session in state.sessions.values() {
            // One that has much to read already moves anyway.
            let _ = session.try_send(Incoming::Talk(String::from_utf8_lossy(piece).into_owned()));
        }
    }

    async fn take_line(&self, line: Line) {
        let bytes = match line {
            Line::Whole(bytes) => bytes,
            Line::TooLong { head, bytes } => return self.take_long_line(&head, bytes),
        };
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        match serde_json::from_slice::<Value>(&bytes) {
            Ok(message) if message.is_object() => self.take_message(message).await,
            // A banner, a warning, garbage: what it says counts as talk.
            _ => {
                self.take_talk(&bytes);
                self.take_talk(b"\n");
            }
        }
    }

    /// An update that is too long is left out; where somebody may wait for the message, nothing is left to wait for.
    fn take_long_line(&self, head: &[u8], bytes: usize) {
        let is_update = String::from_utf8_lossy(head).contains("\"session/update\"");
        let max = super::lines::MAX_LINE_BYTES >> 20;
        if is_update {
            self.take_talk(
                format!("[an update of {bytes} bytes is left out: at most {max} MiB are read]\n").as_bytes(),
            );
        } else {
            kill(
                &self.shared,
                self.group,
                &format!("it sent a message of {bytes} bytes; at most {max} MiB are read"),
            );
        }
    }

    async fn take_message(&self, mut message: Value) {
        let id = message.get("id").cloned().filter(|id| !id.is_null());
        let method = message.get("method").and_then(Value::as_str).map(str::to_owned);
        let mut params = message.get_mut("params").map(Value::take).unwrap_or_default();
        match (method, id) {
            (Some(method), Some(id)) => self.take_request(Request { id, method, params }).await,
            (Some(method), None) if method == "session/update" => {
                let session = session_of(&params);
                let update = params.get_mut("update").map(Value::take).unwrap_or_default();
                if let Some(session) = session {
                    let _ = session_sender(&self.shared, &session).send(Incoming::Update(update)).await;
                }
            }
            // Another notification; none of them asks for anything.
            (Some(_), None) => {}
            (None, Some(id)) => self.take_answer(&id, message),
            (None, None) => self.take_talk(format!("{message}\n").as_bytes()),
        }
    }

    async fn take_request(&self, request: Request) {
        if !super::SERVED.contains(&request.method.as_str()) {
            let told = format!("`{}` is not served here", request.method);
            return self.refuse(&request.id, METHOD_NOT_FOUND, &told);
        }
        let id = request.id.clone();
        let sender = session_of(&request.params).map(|session| session_sender(&self.shared, &session));
        let taken = match sender {
            Some(sender) => sender.send(Incoming::Request(request)).await.is_ok(),
            None => false,
        };
        if !taken {
            self.refuse(&id, INVALID_PARAMS, "nobody works in that session");
        }
    }

    fn take_answer(&self, id: &Value, mut message: Value) {
        let waiting = id.as_u64().and_then(|id| self.shared.lock().waiting.remove(&id));
        let Some(waiting) = waiting else { return };
        let answer = match message.get("error").filter(|error| !error.is_null()) {
            Some(error) => Err(CallError::Answered {
                code: error.get("code").and_then(Value::as_i64).unwrap_or(INTERNAL_ERROR),
                message: error_text(error),
            }),
            None => Ok(message.get_mut("result").map(Value::take).unwrap_or_default()),
        };
        let _ = waiting.send(answer);
    }

    fn refuse(&self, id: &Value, code: i64, message: &str) {
        if !write_line(&self.outgoing, &refusal(id, code, message)) {
            kill(&self.shared, self.group, "it does not read its input");
        }
    }
}

/// A sender to whoever works in the session; to nobody, where nobody does.
fn session_sender(shared: &Shared, session: &str) -> mpsc::Sender<Incoming> {
    let known = shared.lock().sessions.get(session).cloned();
    known.unwrap_or_else(|| mpsc::channel(1).0)
}

fn session_of(params: &Value) -> Option<String> {
    params.get("sessionId").and_then(Value::as_str).map(str::to_owned)
}

/// What an error says, with its details, which often hold the real reason.
fn error_text(error: &Value) -> String {
    const MAX_DETAILS: usize = 2_000;
    let message = error.get("message").and_then(Value::as_str).unwrap_or("an error without a message");
    let details = match error.get("data") {
        None | Some(Value::Null) => return message.to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(data) => {
            let inner = ["details", "message", "error"].iter().find_map(|name| data.get(name)?.as_str());
            inner.map_or_else(|| data.to_string(), str::to_owned)
        }
    };
    if details == message {
        return details;
    }
    let details: String = details.chars().take(MAX_DETAILS).collect();
    format!("{message}: {details}")
}

/// Reads a piece; at its end, or on an error, the pipe is let go of.
async fn read_some<R: AsyncRead + Unpin>(pipe: &mut Option<R>, into: &mut [u8]) -> usize {
    let Some(open) = pipe else { return std::future::pending().await };
    match open.read(into).await {
        Ok(read) if read > 0 => read,
        _ => {
            *pipe = None;
            0
        }
    }
}
