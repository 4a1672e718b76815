//! `warren mcp`: MCP over standard input and output, carried to the server's own endpoint.
//!
//! ```text
//!   desktop agent ── a line ──▶ warren mcp ── POST /mcp… ──▶ server
//!                 ◀─ lines ──            ◀── JSON or SSE ──
//! ```
//!
//! It understands as little as it can: a message goes as it came, so that whatever the server offers is offered here.
//! What it must know is how an older client began (for the headers of what follows), and which request a cancellation
//! means: it hangs up on that one, which ends the command behind it.
//!
//! When the input ends, what was asked is still answered. A desktop agent that does not want to wait ends the process.

use std::collections::HashMap;

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _};
use tokio::task::{AbortHandle, JoinSet};
use tokio_util::io::StreamReader;
use warren_api::client::{Client, Error, McpAgreement};

use super::local_files;
use crate::arguments::McpArguments;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::{Outcome, Report};
use crate::output::Output;
use crate::workspace_name::resolve;

/// More than any server takes.
const MAX_LINE_BYTES: u64 = 64 << 20;
const MAX_CALLS: usize = 64;

const PARSE_ERROR: i32 = -32_700;
const INVALID_REQUEST: i32 = -32_600;
const INTERNAL_ERROR: i32 = -32_603;

pub(crate) async fn run(context: &Context, arguments: &McpArguments) -> Outcome<Exit> {
    let client = context.client()?;
    let workspace_id = match &arguments.workspace {
        Some(workspace) => Some(resolve(&client, workspace).await?),
        None => None,
    };
    let wire = Wire { client, workspace_id, output: context.output };
    let mut bridge =
        Bridge { wire, agreed: McpAgreement::default(), calls: JoinSet::new(), by_id: HashMap::new() };
    let mut input = StreamReader::new(Box::pin(local_files::stdin()?));
    let mut line = Vec::new();
    while next_line(&mut input, &mut line).await? {
        bridge.take(&line).await?;
    }
    while let Some(ended) = bridge.calls.join_next().await {
        told(ended)?;
    }
    Ok(Exit::OK)
}

/// The way to the server and back, for one call.
#[derive(Debug, Clone)]
struct Wire {
    client: Client,
    workspace_id: Option<String>,
    output: Output,
}

/// What was begun and is not over.
#[derive(Debug)]
struct Bridge {
    wire: Wire,
    agreed: McpAgreement,
    calls: JoinSet<Outcome<()>>,
    /// By the JSON of the id, since `1` and `"1"` are two.
    by_id: HashMap<String, AbortHandle>,
}

impl Bridge {
    async fn take(&mut self, line: &[u8]) -> Outcome<()> {
        while let Some(ended) = self.calls.try_join_next() {
            told(ended)?;
        }
        self.by_id.retain(|_, call| !call.is_finished());
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        let Ok(message) = serde_json::from_slice::<Value>(line) else {
            return self.wire.refuse(&Value::Null, PARSE_ERROR, "the line is not JSON", None);
        };
        match message["method"].as_str() {
            // Nothing may overtake it: what follows depends on what it settles.
            Some("initialize") => self.begin(&message).await,
            Some("notifications/cancelled") => {
                if let Some(call) = self.by_id.remove(&message["params"]["requestId"].to_string()) {
                    call.abort();
                }
                Ok(())
            }
            _ => self.start(message),
        }
    }

    async fn begin(&mut self, message: &Value) -> Outcome<()> {
        let agreed = std::mem::take(&mut self.agreed);
        if let Some((answer, label)) = self.wire.first_answer(message, &agreed).await? {
            let protocol_version = answer["result"]["protocolVersion"].as_str().map(str::to_owned);
            self.agreed = McpAgreement { protocol_version, label };
            self.wire.write(&answer)?;
        }
        Ok(())
    }

    fn start(&mut self, message: Value) -> Outcome<()> {
        let id = message["id"].clone();
        if self.calls.len() >= MAX_CALLS {
            let detail = format!("at most {MAX_CALLS} requests at a time");
            return self.wire.refuse(&id, INVALID_REQUEST, &detail, None);
        }
        let (wire, agreed) = (self.wire.clone(), self.agreed.clone());
        let call = self.calls.spawn(async move { wire.carry(&message, &agreed).await });
        if !id.is_null() {
            self.by_id.insert(id.to_string(), call);
        }
        Ok(())
    }
}

impl Wire {
    /// Sends a message and writes down every answer to it.
    async fn carry(&self, message: &Value, agreed: &McpAgreement) -> Outcome<()> {
        let mut answer = match self.client.mcp(self.workspace_id.as_deref(), message, agreed).await {
            Ok(answer) => answer,
            Err(error) => return self.fail(message, error),
        };
        while let Some(one) = answer.messages.next().await {
            match one {
                Ok(one) => self.write(&one)?,
                Err(error) => return self.fail(message, error),
            }
        }
        Ok(())
    }

    /// The first answer and the label that came with it; nothing if it was a failure, which is told here.
    async fn first_answer(
        &self,
        message: &Value,
        agreed: &McpAgreement,
    ) -> Outcome<Option<(Value, Option<String>)>> {
        match self.client.mcp(self.workspace_id.as_deref(), message, agreed).await {
            Ok(mut answer) => match answer.messages.next().await {
                Some(Ok(one)) => Ok(Some((one, answer.label))),
                Some(Err(error)) => self.fail(message, error).map(|()| None),
                None => Ok(None),
            },
            Err(error) => self.fail(message, error).map(|()| None),
        }
    }

    /// A request that did not get through is answered here; of a notification only the person is told.
    fn fail(&self, message: &Value, error: Error) -> Outcome<()> {
        let report = Report::from(error);
        let id = &message["id"];
        if id.is_null() {
            self.output.report(&report);
            return Ok(());
        }
        let detail = match report.causes.first() {
            Some(cause) => format!("{} {cause}", report.message),
            None => report.message.clone(),
        };
        self.refuse(id, INTERNAL_ERROR, &detail, Some(json!(report)))
    }

    fn refuse(&self, id: &Value, code: i32, message: &str, data: Option<Value>) -> Outcome<()> {
        let mut error = json!({ "code": code, "message": message });
        if let Some(data) = data {
            error["data"] = data;
        }
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "error": error }))
    }

    /// One message, one line: JSON has no line breaks outside of strings, and escapes those within.
    fn write(&self, message: &Value) -> Outcome<()> {
        self.output.bytes(format!("{message}\n").as_bytes())
    }
}

/// How a call ended. One that was cancelled is not worth a word.
fn told(ended: Result<Outcome<()>, tokio::task::JoinError>) -> Outcome<()> {
    match ended {
        Ok(outcome) => outcome,
        Err(error) if error.is_cancelled() => Ok(()),
        Err(error) => Err(Report::new(warren_model::ErrorCode::Internal).because(error.to_string()).into()),
    }
}

/// Reads the next line into `line`; false at the end of the input.
async fn next_line(input: &mut (impl AsyncBufRead + Unpin), line: &mut Vec<u8>) -> Outcome<bool> {
    line.clear();
    let read = input.take(MAX_LINE_BYTES).read_until(b'\n', line).await;
    let bytes = read.map_err(|error| {
        Report::new(warren_model::ErrorCode::LocalFileFailed).because(format!("standard input: {error}"))
    })?;
    if bytes as u64 >= MAX_LINE_BYTES && line.last() != Some(&b'\n') {
        let detail = format!("a line of the input is longer than {MAX_LINE_BYTES} bytes");
        return Err(Report::new(warren_model::ErrorCode::PayloadTooLarge).because(detail).into());
    }
    Ok(bytes > 0)
}
