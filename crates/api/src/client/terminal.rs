//! The terminal: a WebSocket over the client's own connection, so that its address, token and TLS are those of every
//! other call.

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use reqwest::header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE};
use reqwest::{Method, Response, StatusCode, Upgraded};
use serde::Serialize;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{self, Message};

use super::{Client, Error};
use crate::{PtySize, TerminalFrame, TerminalRequest};

/// The server takes no longer message.
const MAX_INPUT_BYTES: usize = 32 << 10;
/// The server's messages are far shorter.
const MAX_MESSAGE_BYTES: usize = 1 << 20;
/// Three pings of the server missed.
const SILENCE_LIMIT: Duration = Duration::from_secs(45);

/// What to open a terminal on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TerminalQuery {
    /// A process to attach to. Absent: a new shell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<u16>,
    /// End the process with the connection.
    pub ends_with_connection: bool,
}

/// An open terminal, in its two directions.
#[derive(Debug)]
pub struct Terminal {
    pub input: TerminalInput,
    pub output: TerminalOutput,
}

#[derive(Debug)]
pub struct TerminalInput(SplitSink<WebSocketStream<Upgraded>, Message>);

#[derive(Debug)]
pub struct TerminalOutput(SplitStream<WebSocketStream<Upgraded>>);

#[derive(Debug, Clone, PartialEq)]
pub enum TerminalMessage {
    Output(Bytes),
    Frame(TerminalFrame),
}

impl Client {
    /// The first message is `Attached`; the last one is `Exited` or `Closing`.
    pub async fn terminal(&self, id: &str, query: &TerminalQuery) -> Result<Terminal, Error> {
        let key = generate_key();
        let request = self
            .request(Method::GET, &["workspaces", id, "terminal"])
            .query(query)
            .header(CONNECTION, "Upgrade")
            .header(UPGRADE, "websocket")
            .header(SEC_WEBSOCKET_VERSION, "13")
            .header(SEC_WEBSOCKET_KEY, &key);
        let response = request.send().await.map_err(|error| Error::from_send(self.url(), error))?;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Err(super::failure(response).await);
        }
        check_accept(&response, &key)?;
        let connection = response.upgrade().await.map_err(Error::from_body)?;
        let config = WebSocketConfig::default()
            .max_message_size(Some(MAX_MESSAGE_BYTES))
            .max_frame_size(Some(MAX_MESSAGE_BYTES));
        let socket = WebSocketStream::from_raw_socket(connection, Role::Client, Some(config)).await;
        let (input, output) = socket.split();
        Ok(Terminal { input: TerminalInput(input), output: TerminalOutput(output) })
    }
}

/// Whatever else answers 101 to this is no WebSocket.
fn check_accept(response: &Response, key: &str) -> Result<(), Error> {
    let accept = response.headers().get(SEC_WEBSOCKET_ACCEPT).and_then(|value| value.to_str().ok());
    if accept == Some(derive_accept_key(key.as_bytes()).as_str()) {
        return Ok(());
    }
    Err(Error::BadAnswer { detail: "the answer to the terminal's handshake is wrong".to_owned() })
}

impl TerminalInput {
    /// Sends what was typed, in as many messages as it takes.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        for piece in bytes.chunks(MAX_INPUT_BYTES) {
            self.send(Message::Binary(Bytes::copy_from_slice(piece))).await?;
        }
        Ok(())
    }

    pub async fn resize(&mut self, size: PtySize) -> Result<(), Error> {
        let request = TerminalRequest::Resize { rows: size.rows, columns: size.columns };
        let text = serde_json::to_string(&request)
            .map_err(|error| Error::BadAnswer { detail: format!("a request cannot be written: {error}") })?;
        self.send(Message::Text(text.into())).await
    }

    /// Says goodbye. The process goes on unless the terminal was opened to end it.
    pub async fn close(&mut self) -> Result<(), Error> {
        self.0.close().await.map_err(broken)
    }

    async fn send(&mut self, message: Message) -> Result<(), Error> {
        self.0.send(message).await.map_err(broken)
    }
}

impl TerminalOutput {
    /// `None` when the server has closed the connection.
    pub async fn next(&mut self) -> Option<Result<TerminalMessage, Error>> {
        loop {
            let message = match tokio::time::timeout(SILENCE_LIMIT, self.0.next()).await {
                Err(_) => return Some(Err(Error::Silent)),
                Ok(None) => return None,
                Ok(Some(Err(error))) => return Some(Err(broken(error))),
                Ok(Some(Ok(message))) => message,
            };
            match message {
                Message::Binary(bytes) => return Some(Ok(TerminalMessage::Output(bytes))),
                Message::Text(text) => {
                    let frame = serde_json::from_str(&text).map(TerminalMessage::Frame);
                    let unreadable =
                        |error| Error::BadAnswer { detail: format!("a frame cannot be read: {error}") };
                    return Some(frame.map_err(unreadable));
                }
                // Pings are answered below; they only show that the server is there.
                Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
                Message::Close(_) => return None,
            }
        }
    }
}

fn broken(error: tungstenite::Error) -> Error {
    match error {
        tungstenite::Error::Protocol(_) | tungstenite::Error::Capacity(_) | tungstenite::Error::Utf8(_) => {
            Error::BadAnswer { detail: error.to_string() }
        }
        other => Error::Disconnected { source: Box::new(other) },
    }
}
