//! The binary under measurement, connections to it that cost as little as possible, and rows of a table.
#![expect(dead_code, reason = "each benchmark uses a part of it")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

/// `warren up` on a free port.
pub(crate) struct Server {
    process: Child,
    pub(crate) address: String,
    pub(crate) token: String,
}

impl Server {
    /// With these arguments of `up` besides.
    #[expect(clippy::disallowed_methods, reason = "runs the binary under measurement")]
    pub(crate) fn start(data: &Path, arguments: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_warren"))
            .args(["up", "--json", "--listen", "127.0.0.1:0", "--data"])
            .arg(data)
            .args(arguments)
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let mut line = String::new();
        let output = process.stdout.take().expect("the output is piped");
        BufReader::new(output).read_line(&mut line).expect("the server prints its address");
        let ready: Value = serde_json::from_str(&line).expect("one JSON line");
        let told = |name: &str| ready[name].as_str().expect("it is told").to_owned();
        Self { process, address: told("url").trim_start_matches("http://").to_owned(), token: told("token") }
    }

    /// A connection as the operator.
    pub(crate) fn connect(&self) -> Connection {
        Connection::to(&self.address, &self.token)
    }

    /// A workspace whose runtime runs elsewhere, and the runtime's credential.
    pub(crate) fn join(
        &self,
        name: &str,
        max_concurrent_tasks: u32,
        card: Option<Value>,
    ) -> (String, String) {
        let mut operator = self.connect();
        let made = operator.post(
            "/api/v1/workspaces",
            &json!({
                "name": name, "provider": { "kind": "memory" }, "runtime": "external",
                "max_concurrent_tasks": max_concurrent_tasks,
            }),
        );
        let id = made["id"].as_str().unwrap_or_else(|| panic!("it is made: {made}")).to_owned();
        let join =
            operator.post("/api/v1/tokens", &json!({ "kind": "join", "name": "boot", "workspace_id": id }));
        let join = join["secret"].as_str().expect("a secret").to_owned();
        let mut runtime = Connection::to(&self.address, &join);
        let mut wish = json!({});
        if let Some(card) = card {
            wish["agent_card"] = card;
        }
        let registered = runtime.post("/api/v1/registry/register", &wish);
        let token = registered["token"].as_str().unwrap_or_else(|| panic!("it joins: {registered}"));
        (id, token.to_owned())
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn stop(mut self) {
        let id = rustix::process::Pid::from_child(&self.process);
        rustix::process::kill_process(id, rustix::process::Signal::TERM).expect("the server is alive");
        self.process.wait().expect("the server ends");
    }
}

/// The lines that every request has, but its length.
pub(crate) fn head(address: &str, token: &str) -> String {
    format!(
        "Host: {address}\r\nAuthorization: Bearer {token}\r\nA2A-Version: 1.0\r\nContent-Type: application/json"
    )
}

/// One connection, kept open; one request after the other.
pub(crate) struct Connection {
    stream: BufReader<TcpStream>,
    head: String,
}

impl Connection {
    pub(crate) fn to(address: &str, token: &str) -> Self {
        let stream = TcpStream::connect(address).expect("it accepts");
        stream.set_nodelay(true).expect("a socket");
        Self { stream: BufReader::new(stream), head: head(address, token) }
    }

    pub(crate) fn post(&mut self, path: &str, body: &Value) -> Value {
        serde_json::from_slice(&self.post_text(path, &body.to_string()).1).expect("JSON")
    }

    /// The status and the body of the answer.
    pub(crate) fn post_text(&mut self, path: &str, body: &str) -> (u16, Vec<u8>) {
        self.send("POST", path, body)
    }

    /// The same with any method.
    pub(crate) fn send(&mut self, method: &str, path: &str, body: &str) -> (u16, Vec<u8>) {
        let request = format!(
            "{method} {path} HTTP/1.1\r\n{}\r\nContent-Length: {}\r\n\r\n{body}",
            self.head,
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes()).expect("it reads");
        let (mut length, mut status) = (0, 0);
        let mut line = String::new();
        loop {
            line.clear();
            self.stream.read_line(&mut line).expect("it answers");
            if line.trim().is_empty() {
                break;
            }
            if let Some(rest) = line.strip_prefix("HTTP/1.1 ") {
                status = rest.get(..3).and_then(|code| code.parse().ok()).expect("a status");
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().expect("a length");
            }
        }
        let mut answer = vec![0; length];
        self.stream.read_exact(&mut answer).expect("the whole answer");
        (status, answer)
    }
}

/// Figures of one row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
}

/// Head of the tables that [`row`] fills.
pub(crate) const HEAD: &str = "| | p50 | p95 | p99 | lowest |\n|---|---|---|---|---|";

/// One line of a table, and its figures.
pub(crate) fn row(name: &str, mut times: Vec<Duration>) -> (String, Row) {
    times.sort_unstable();
    let at = |share: usize| times[(times.len() * share / 100).min(times.len() - 1)];
    let shown = |time: Duration| format!("{:.3} ms", time.as_secs_f64() * 1_000.0);
    let line = format!(
        "| {name} | {} | {} | {} | {} |",
        shown(at(50)),
        shown(at(95)),
        shown(at(99)),
        shown(times[0])
    );
    (line, Row { p50: at(50), p99: at(99) })
}

/// How much longer, in milliseconds.
pub(crate) fn more_ms(longer: Duration, than: Duration) -> f64 {
    (longer.as_secs_f64() - than.as_secs_f64()) * 1_000.0
}
