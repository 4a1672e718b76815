//! The terminal over a WebSocket.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};
use warren_model::WorkspaceId;
use warren_testkit::Warren;

use crate::local;

const PATIENCE: Duration = Duration::from_secs(20);

/// A client of a terminal, and all it was told.
pub(crate) struct Terminal {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    attached: Value,
    output: Vec<u8>,
}

/// The answer to a refused upgrade: status and code.
type Refused = (u16, String);

impl Terminal {
    pub(crate) async fn open(warren: &Warren, id: WorkspaceId, query: &str) -> Self {
        let headers = [("authorization", format!("Bearer {}", warren.token))];
        Self::try_open(warren, id, query, &headers).await.unwrap()
    }

    pub(crate) async fn try_open(
        warren: &Warren,
        id: WorkspaceId,
        query: &str,
        headers: &[(&'static str, String)],
    ) -> Result<Self, Refused> {
        let url = format!("ws://{}/api/v1/workspaces/{id}/terminal?{query}", warren.address);
        let mut request = url.as_str().into_client_request().unwrap();
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        let mut socket = match tokio_tungstenite::connect_async(request).await {
            Ok((socket, _)) => socket,
            Err(Error::Http(answer)) => {
                let body: Value = serde_json::from_slice(answer.body().as_deref().unwrap()).unwrap();
                return Err((answer.status().as_u16(), body["code"].as_str().unwrap().to_owned()));
            }
            Err(other) => panic!("{other}"),
        };
        let first = socket.next().await.unwrap().unwrap().into_text().unwrap();
        let attached: Value = serde_json::from_str(&first).unwrap();
        assert_eq!(attached["type"], "attached");
        Ok(Self { socket, attached, output: Vec::new() })
    }

    fn process(&self) -> u64 {
        self.attached["process"]["id"].as_u64().unwrap()
    }

    pub(crate) async fn type_in(&mut self, text: &str) {
        self.socket.send(Message::Binary(text.as_bytes().to_vec().into())).await.unwrap();
    }

    pub(crate) async fn ask(&mut self, request: Value) {
        self.socket.send(Message::Text(request.to_string().into())).await.unwrap();
    }

    /// Reads on until the output holds `text`.
    pub(crate) async fn see(&mut self, text: &str) {
        while !String::from_utf8_lossy(&self.output).contains(text) {
            let frame = self.next().await;
            assert!(
                frame.is_none(),
                "{frame:?} before {text:?}: {:?}",
                String::from_utf8_lossy(&self.output)
            );
        }
    }

    /// The next message: output is collected, anything else is handed out.
    async fn next(&mut self) -> Option<Value> {
        let Ok(message) = tokio::time::timeout(PATIENCE, self.socket.next()).await else {
            panic!("nothing comes after {:?}", String::from_utf8_lossy(&self.output));
        };
        match message {
            Some(Ok(Message::Binary(bytes))) => {
                self.output.extend_from_slice(&bytes);
                None
            }
            Some(Ok(Message::Text(text))) => Some(serde_json::from_str(&text).unwrap()),
            Some(Ok(_)) => None,
            Some(Err(_)) | None => Some(json!({ "type": "gone" })),
        }
    }

    /// The first message that is not output.
    pub(crate) async fn frame(&mut self) -> Value {
        loop {
            if let Some(frame) = self.next().await {
                return frame;
            }
        }
    }
}

async fn state_of(warren: &Warren, id: WorkspaceId, process: u64) -> Value {
    warren.get(&format!("/api/v1/workspaces/{id}/processes/{process}")).await.json()["state"].clone()
}

// W30, S11
#[tokio::test]
async fn a_terminal_is_typed_into_resized_and_ended() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    let mut terminal = Terminal::open(&warren, id, "rows=30&columns=100").await;
    terminal.type_in("stty size; echo $((6*7)) $TERM\n").await;
    terminal.see("30 100").await;
    terminal.see("42 xterm").await;
    terminal.ask(json!({ "type": "resize", "rows": 50, "columns": 120 })).await;
    terminal.type_in("stty size\n").await;
    terminal.see("50 120").await;
    // Interrupted once it runs: a shell that is only about to start a program may lose its terminal to it. The program's own
    // shell may miss the first interrupt, between its two commands.
    terminal.type_in("sh -c 'echo un\"\"der way; sleep 600'\n").await;
    terminal.see("under way").await;
    loop {
        terminal.type_in("\u{3}").await;
        terminal.type_in("echo back; exit 5\n").await;
        if tokio::time::timeout(Duration::from_secs(3), terminal.see("back\r\n")).await.is_ok() {
            break;
        }
    }
    let ended = terminal.frame().await;
    assert_eq!((&ended["type"], &ended["exit_code"]), (&json!("exited"), &json!(5)));
    assert_eq!(terminal.frame().await["type"], "gone");
}

// S20: RFC 6455, 5.5.1
#[tokio::test]
async fn who_closes_a_websocket_is_answered() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    let Terminal { socket: terminal, .. } = Terminal::open(&warren, id, "").await;
    let url = format!("ws://{}/api/v1/events/ws?after=0", warren.address);
    let mut request = url.as_str().into_client_request().unwrap();
    request.headers_mut().insert("authorization", format!("Bearer {}", warren.token).parse().unwrap());
    let (events, _) = tokio_tungstenite::connect_async(request).await.unwrap();
    for mut socket in [terminal, events] {
        socket.close(None).await.unwrap();
        let answered = async {
            loop {
                match socket.next().await {
                    Some(Ok(Message::Close(_))) => return true,
                    Some(Ok(_)) => {}
                    Some(Err(_)) | None => return false,
                }
            }
        };
        assert!(tokio::time::timeout(PATIENCE, answered).await.unwrap(), "it was hung up on");
    }
}

// W30
#[tokio::test]
async fn a_process_outlives_its_terminal_and_is_attached_to_with_its_output() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    let mut terminal = Terminal::open(&warren, id, "").await;
    terminal.type_in("x=kept; echo fir''st\n").await;
    terminal.see("first").await;
    let process = terminal.process();
    drop(terminal);
    let mut again = Terminal::open(&warren, id, &format!("process={process}&rows=20&columns=60")).await;
    again.see("first").await;
    let replayed = again.attached["replay_end"].as_u64().unwrap();
    assert!(replayed >= again.output.len() as u64 - 10, "{:?}", again.attached);
    again.type_in("echo $x; stty size\n").await;
    again.see("kept").await;
    again.see("20 60").await;
    // From an offset, only what came after it.
    let end = again.output.len();
    let mut late = Terminal::open(&warren, id, &format!("process={process}&offset={end}")).await;
    again.type_in("echo n''ew\n").await;
    late.see("new").await;
    assert!(!String::from_utf8_lossy(&late.output).contains("first"));
    let beyond = Terminal::open(&warren, id, &format!("process={process}&offset=99999999")).await;
    let shown = beyond.attached["offset"].as_u64().unwrap();
    assert!(shown < 99_999_999, "{:?}", beyond.attached);
}

// W30
#[tokio::test]
async fn a_process_ends_with_its_terminal_when_asked_to() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    let kept = Terminal::open(&warren, id, "").await;
    let ended = Terminal::open(&warren, id, "ends_with_connection=true").await;
    let (kept_id, ended_id) = (kept.process(), ended.process());
    drop((kept, ended));
    let waiting = async {
        while state_of(&warren, id, ended_id).await != "exited" {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("it ends");
    assert_eq!(state_of(&warren, id, kept_id).await, "running");
}

// sec/W01, F30
#[tokio::test]
async fn a_terminal_is_refused_to_strangers_before_anything_is_started() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    let link = warren.post("/api/v1/sign-in/links", &json!({})).await.json();
    let secret = link["path"].as_str().unwrap().strip_prefix("/#sign-in=").unwrap();
    let signed_in = warren.call("POST", "/api/v1/sign-in").json(&json!({ "secret": secret })).send().await;
    let cookie = signed_in.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let own = format!("http://{}", warren.address);
    let bearer = format!("Bearer {}", warren.token);
    let cases: &[(&[(&'static str, String)], Refused)] = &[
        (&[], (401, "unauthenticated".into())),
        (&[("authorization", "Bearer nonsense".into())], (401, "unauthenticated".into())),
        (&[("cookie", cookie.clone())], (403, "origin_not_allowed".into())),
        (
            &[("cookie", cookie.clone()), ("origin", "http://evil.example".into())],
            (403, "origin_not_allowed".into()),
        ),
        (&[("cookie", cookie.clone()), ("origin", "null".into())], (403, "origin_not_allowed".into())),
        (
            &[("authorization", bearer.clone()), ("origin", "http://evil.example".into())],
            (403, "origin_not_allowed".into()),
        ),
        (
            &[("authorization", bearer.clone()), ("host", "evil.example".into())],
            (403, "host_not_allowed".into()),
        ),
    ];
    for (headers, refused) in cases {
        let outcome = Terminal::try_open(&warren, id, "", headers).await;
        assert_eq!(outcome.err().as_ref(), Some(refused), "{headers:?}");
    }
    let plain = warren.get(&format!("/api/v1/workspaces/{id}/terminal")).await;
    assert_eq!((plain.status, plain.code()), (400, "invalid_request".into()), "no upgrade, no terminal");
    let headers = [("authorization", bearer)];
    for (query, code) in [
        ("process=7", "process_not_found"),
        ("rows=0", "invalid_request"),
        ("process=1&command=ls", "invalid_request"),
        ("colour=1", "invalid_request"),
        ("cwd=../..", "path_escapes"),
    ] {
        let refused = Terminal::try_open(&warren, id, query, &headers).await.err().unwrap();
        assert_eq!(refused.1, code, "{query}");
    }
    let listed = warren.get(&format!("/api/v1/workspaces/{id}/processes")).await.json();
    assert_eq!(listed["items"], json!([]));
    let page = [("cookie", cookie), ("origin", own)];
    assert!(Terminal::try_open(&warren, id, "", &page).await.is_ok(), "the page itself is let in");
}

// sec/U05
#[tokio::test]
async fn a_terminal_closes_soon_after_its_token_is_revoked() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    let body = json!({ "kind": "user", "name": "hand", "scopes": ["workspaces:read", "workspaces:use"] });
    let made = warren.post("/api/v1/tokens", &body).await.json();
    let headers = [("authorization", format!("Bearer {}", made["secret"].as_str().unwrap()))];
    let mut terminal = Terminal::try_open(&warren, id, "", &headers).await.unwrap();
    warren.delete(&format!("/api/v1/tokens/{}", made["token"]["id"].as_str().unwrap())).await;
    let started = std::time::Instant::now();
    let closing = terminal.frame().await;
    assert_eq!((&closing["type"], &closing["code"]), (&json!("closing"), &json!("token_expired")));
    assert_eq!(terminal.frame().await["type"], "gone");
    assert!(started.elapsed() <= Duration::from_secs(15), "{:?}", started.elapsed());
    assert_eq!(state_of(&warren, id, terminal.process()).await, "running", "it can be attached to by others");
}

// O4, S44
#[tokio::test]
async fn a_stopping_server_says_goodbye_to_its_terminals() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    let mut terminal = Terminal::open(&warren, id, "").await;
    warren.begin_stop();
    let closing = terminal.frame().await;
    assert_eq!((&closing["type"], &closing["code"]), (&json!("closing"), &json!("shutting_down")));
}

// sec/W08
#[tokio::test]
async fn a_message_past_the_limit_ends_the_connection_and_not_the_process() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    let mut terminal = Terminal::open(&warren, id, "").await;
    let _ = terminal.socket.send(Message::Binary(vec![b'x'; 64 << 20].into())).await;
    assert_eq!(terminal.frame().await["type"], "gone");
    assert_eq!(state_of(&warren, id, terminal.process()).await, "running");
}

// sec/W08, W31: a reader that comes late is told what it missed
#[tokio::test]
async fn a_reader_that_was_too_slow_is_told_where_output_goes_on() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    let path = format!("/api/v1/workspaces/{id}/processes");
    let script = "head -c 3000000 /dev/zero | tr '\\0' x; printf THE-END; read x";
    let body = json!({ "command": script, "pty": { "rows": 24, "columns": 80 } });
    assert_eq!(warren.post(&path, &body).await.status, 201);
    let waiting = async {
        while warren.get(&format!("{path}/1")).await.json()["output_bytes"].as_u64().unwrap() < 3_000_007 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("it prints");
    let mut terminal = Terminal::open(&warren, id, "process=1").await;
    let skipped = terminal.frame().await;
    assert_eq!(skipped["type"], "skipped");
    assert!(skipped["offset"].as_u64().unwrap() >= 1_000_000, "{skipped}");
    terminal.see("THE-END").await;
    assert_eq!(skipped["offset"].as_u64().unwrap() + terminal.output.len() as u64, 3_000_007);
}
