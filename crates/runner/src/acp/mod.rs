//! A program that lives on between messages and speaks the Agent Client Protocol (A80, A82).
//!
//! ```text
//!   run_loop ── a message ──▶ turn ── session/prompt ──▶ connection ──▶ program
//!                              │ ◀── session/update ────────┤   text: the answer; all else: progress
//!                              │ ◀── request_permission ────┤   a question in Warren's inbox, and its decision
//!                              │ ◀── fs/*, terminal/* ──────┘   served here, below the workspace's root
//! ```
//!
//! A conversation of Warren is a session of the program, and is taken up again after a death. A program that dies with a
//! prompt in hand is started again and asked once more; what it had asked people is void.

mod connection;
mod files;
mod lines;
mod modes;
mod permission;
mod prompt;
mod sessions;
mod terminals;
mod transcript;
mod turn;

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Mutex;

use self::connection::CallError;
pub(crate) use self::connection::Connection;
pub(crate) use self::lines::{Line, LineSplitter};
use self::modes::{ModeChoice, choose};
use self::prompt::AgentAbilities;
use self::sessions::KnownSessions;
use crate::adapter::{Failure, ProgressLog};
use crate::backoff;
use crate::program::no_such_program;
use crate::settings::AgentOptions;

/// What the runner does for a program that asks for it.
const SERVED: [&str; 8] = [
    "session/request_permission",
    "fs/read_text_file",
    "fs/write_text_file",
    "terminal/create",
    "terminal/output",
    "terminal/wait_for_exit",
    "terminal/kill",
    "terminal/release",
];
const PROTOCOL_VERSION: i64 = 1;

/// The program of a runner, over all its lives.
#[derive(Debug)]
pub(crate) struct AcpAgent<'a> {
    command: &'a [String],
    options: &'a AgentOptions,
    root: PathBuf,
    life: RefCell<Option<Rc<Life>>>,
    /// Held by whoever starts it.
    starting: Mutex<()>,
    /// Ends since it last did something well.
    deaths: Cell<u32>,
    sessions: RefCell<KnownSessions>,
    /// A session takes one prompt at a time.
    contexts: RefCell<HashMap<String, Rc<Mutex<()>>>>,
}

/// The program from a start to its end.
#[derive(Debug)]
struct Life {
    connection: Connection,
    abilities: AgentAbilities,
    /// Sessions that were begun or taken up again in this life, each with the mode that it was put into.
    open: RefCell<HashMap<String, Option<String>>>,
    /// Those of them to which nothing was said yet.
    fresh: RefCell<HashSet<String>>,
}

/// Why a turn came to no end of its own.
#[derive(Debug)]
enum TurnError {
    /// The program ended, and how.
    Died(String),
    Failed(Failure),
}

impl From<CallError> for TurnError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Ended(how) => Self::Died(how),
            CallError::Answered { message, .. } => Self::Failed(Failure::passing(message)),
        }
    }
}

impl<'a> AcpAgent<'a> {
    pub(crate) fn new(command: &'a [String], options: &'a AgentOptions) -> Self {
        Self {
            command,
            options,
            root: options.root.canonicalize().unwrap_or_else(|_| options.root.clone()),
            life: RefCell::default(),
            starting: Mutex::default(),
            deaths: Cell::new(0),
            sessions: RefCell::new(KnownSessions::read(options.sessions_file.clone())),
            contexts: RefCell::default(),
        }
    }

    fn root(&self) -> &Path {
        &self.root
    }

    /// Starts the program if it does not run, so that what is wrong with it is known before the first message.
    pub(crate) async fn warm_up(&self) -> Result<(), Failure> {
        self.alive().await.map(drop)
    }

    /// The program, started if it does not run; after a death, ever more slowly.
    async fn alive(&self) -> Result<Rc<Life>, Failure> {
        let _starting = self.starting.lock().await;
        let known = self.life.borrow().clone();
        if let Some(life) = known {
            if life.connection.ended().is_none() {
                return Ok(life);
            }
            self.life.replace(None);
            self.deaths.set(self.deaths.get() + 1);
        }
        if self.deaths.get() > 0 {
            tokio::time::sleep(Duration::from_millis(backoff::wait_ms(self.deaths.get()))).await;
        }
        match self.start().await {
            Ok(life) => {
                let life = Rc::new(life);
                self.life.replace(Some(Rc::clone(&life)));
                Ok(life)
            }
            Err(failure) => {
                self.deaths.set(self.deaths.get() + 1);
                Err(failure)
            }
        }
    }

    async fn start(&self) -> Result<Life, Failure> {
        let connection = Connection::start(self.command, &self.options.variables)
            .map_err(|error| Failure::lasting(no_such_program(self.command, &error)))?;
        let asked = json!({
            "protocolVersion": PROTOCOL_VERSION,
            "clientCapabilities": { "fs": { "readTextFile": true, "writeTextFile": true }, "terminal": true },
            "clientInfo": { "name": "warren-runner", "version": env!("CARGO_PKG_VERSION") },
        });
        let patience = self.options.start_timeout;
        let answer = match tokio::time::timeout(patience, connection.call("initialize", &asked)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => return Err(Failure::lasting(error.to_string())),
            Err(_) => {
                let told = format!("the program did not answer `initialize` within {} s", patience.as_secs());
                return Err(Failure::lasting(with_words(told, &connection.last_words())));
            }
        };
        match answer.get("protocolVersion").and_then(Value::as_i64) {
            Some(PROTOCOL_VERSION) => {}
            other => {
                let other =
                    other.map_or_else(|| "an unknown version".to_owned(), |other| format!("version {other}"));
                let told = format!("the program speaks {other} of the protocol, and the runner version 1");
                return Err(Failure::lasting(told));
            }
        }
        Ok(Life {
            connection,
            abilities: AgentAbilities::of(&answer),
            open: RefCell::default(),
            fresh: RefCell::default(),
        })
    }

    /// The session of a conversation: the one that is open, the one that was, or a new one.
    async fn session(
        &self,
        life: &Life,
        context: &str,
        progress: &ProgressLog<'_>,
    ) -> Result<String, TurnError> {
        let known = self.sessions.borrow().get(context);
        if let Some(session) = known {
            if life.open.borrow().contains_key(&session) {
                return Ok(session);
            }
            match self.bring_back(life, &session, progress).await {
                Ok(()) => return Ok(session),
                Err(TurnError::Died(how)) => return Err(TurnError::Died(how)),
                Err(TurnError::Failed(why)) => progress.say(&format!(
                    "[the conversation could not be taken up again, and a new one is begun: {}]\n",
                    why.text
                )),
            }
        }
        let answer = self.begin_session(life).await?;
        let session = answer.get("sessionId").and_then(Value::as_str).unwrap_or_default().to_owned();
        if session.is_empty() {
            let told = "the program began a session without an id".to_owned();
            return Err(TurnError::Failed(Failure::lasting(told)));
        }
        self.sessions.borrow_mut().put(context, &session);
        life.fresh.borrow_mut().insert(session.clone());
        self.put_into_mode(life, &session, &answer, progress).await?;
        Ok(session)
    }

    async fn begin_session(&self, life: &Life) -> Result<Value, TurnError> {
        let asked = json!({ "cwd": self.root(), "mcpServers": self.tool_servers(life) });
        let refused = match self.call(life, "session/new", &asked).await {
            Err(TurnError::Failed(why)) if why.is_auth => why,
            other => return other,
        };
        // Some programs have the key and want to be told to use it.
        let by_key = |id: &&String| ["key", "env"].iter().any(|word| id.to_lowercase().contains(word));
        let tried = match life.abilities.sign_ins.iter().find(by_key) {
            Some(id) => self.call(life, "authenticate", &json!({ "methodId": id })).await,
            None => Err(TurnError::Failed(refused.clone())),
        };
        match tried {
            Ok(_) => self.call(life, "session/new", &asked).await.map_err(lasting),
            Err(TurnError::Died(how)) => Err(TurnError::Died(how)),
            Err(TurnError::Failed(why)) if why.text == refused.text => {
                Err(lasting(TurnError::Failed(refused)))
            }
            Err(TurnError::Failed(why)) => {
                Err(TurnError::Failed(Failure::lasting(format!("{}: {}", refused.text, why.text))))
            }
        }
    }

    async fn bring_back(
        &self,
        life: &Life,
        session: &str,
        progress: &ProgressLog<'_>,
    ) -> Result<(), TurnError> {
        let method = match (life.abilities.resumes_sessions, life.abilities.loads_sessions) {
            (true, _) => "session/resume",
            (false, true) => "session/load",
            (false, false) => {
                let told = "the program cannot take up a session again".to_owned();
                return Err(TurnError::Failed(Failure::passing(told)));
            }
        };
        let asked =
            json!({ "sessionId": session, "cwd": self.root(), "mcpServers": self.tool_servers(life) });
        // What was said before is told again by `session/load`; nobody listens, since it is known.
        let answer = self.call(life, method, &asked).await?;
        self.put_into_mode(life, session, &answer, progress).await
    }

    /// A mode in which it asks, or the one that the workspace names.
    async fn put_into_mode(
        &self,
        life: &Life,
        session: &str,
        answer: &Value,
        progress: &ProgressLog<'_>,
    ) -> Result<(), TurnError> {
        let mode = match choose(answer.get("modes").unwrap_or(&Value::Null), self.options.mode.as_deref()) {
            ModeChoice::Keep => {
                answer.pointer("/modes/currentModeId").and_then(Value::as_str).map(str::to_owned)
            }
            ModeChoice::Set(mode) => {
                self.call(life, "session/set_mode", &json!({ "sessionId": session, "modeId": mode })).await?;
                Some(mode)
            }
            ModeChoice::NoneAsks { current } => {
                progress.say(&format!(
                    "[the program works in its mode `{current}` and has none in which it asks]\n"
                ));
                None
            }
            ModeChoice::Unknown { wanted, offered } => {
                let told = format!("the program has no mode `{wanted}`; it has: {}", offered.join(", "));
                return Err(TurnError::Failed(Failure::lasting(told)));
            }
        };
        life.open.borrow_mut().insert(session.to_owned(), mode);
        Ok(())
    }

    /// Warren's tools, for a program that calls tools over HTTP.
    fn tool_servers(&self, life: &Life) -> Value {
        match &self.options.tools_url {
            Some(url) if life.abilities.calls_http_tools => {
                json!([{ "type": "http", "name": "warren", "url": url, "headers": [] }])
            }
            Some(_) | None => json!([]),
        }
    }

    /// A call that is answered soon, or the program is ended.
    async fn call(&self, life: &Life, method: &str, params: &Value) -> Result<Value, TurnError> {
        let patience = self.options.start_timeout * 2;
        match tokio::time::timeout(patience, life.connection.call(method, params)).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) if error.is_auth_required() => {
                Err(TurnError::Failed(Failure { is_auth: true, ..Failure::passing(error.to_string()) }))
            }
            Ok(Err(error)) => Err(error.into()),
            Err(_) => {
                let told = format!("the program did not answer `{method}` within {} s", patience.as_secs());
                life.connection.kill(&told);
                Err(TurnError::Died(with_words(told, &life.connection.last_words())))
            }
        }
    }
}

fn lasting(error: TurnError) -> TurnError {
    match error {
        TurnError::Failed(why) => TurnError::Failed(Failure::lasting(why.text)),
        TurnError::Died(how) => TurnError::Died(how),
    }
}

fn with_words(told: String, words: &str) -> String {
    if words.is_empty() { told } else { format!("{told}\n{words}") }
}
