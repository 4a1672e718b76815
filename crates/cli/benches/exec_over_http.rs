//! P4: `true` in an open sandbox over HTTP, by the real binary, against the same through the library, in one run. The goal
//! is less than 1 ms more in the middle, and less than 2 ms more for the slowest hundredth.
//!
//! `cargo bench -p warren-cli --bench exec_over_http`
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command as Process, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use warren_doors::{Clock as _, Entropy, Environment, OsEntropy, SystemClock};
use warren_model::{Capability, ProviderConfig, SandboxConfig};
use warren_providers::{SandboxProvider, SandboxSettings};
use warren_workspace::shell::Command;
use warren_workspace::{OpenRequest, Provider as _, Workspace};

const WARM_UP: usize = 50;
const RUNS: usize = 1_000;

fn main() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder on the real file system");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime starts");
    let workspace = runtime.block_on(open(&folder.path().join("library")));
    let mut server = Server::start(&folder.path().join("server"));
    let (mut library, mut http) = (Vec::new(), Vec::new());
    for round in 0..WARM_UP + RUNS {
        let started = Instant::now();
        runtime.block_on(run(&workspace));
        let by_library = started.elapsed();
        let started = Instant::now();
        server.run();
        if round >= WARM_UP {
            library.push(by_library);
            http.push(started.elapsed());
        }
    }
    println!("## P4: `true` in an open sandbox over HTTP\n");
    println!("| | p50 | p95 | p99 | lowest |\n|---|---|---|---|---|");
    let library = row("through the library", library);
    let http = row("over HTTP, one connection, with its event on disk", http);
    let more = |at: fn(&Row) -> Duration| (at(&http).as_secs_f64() - at(&library).as_secs_f64()) * 1_000.0;
    println!(
        "\nmore over HTTP: p50 {:.3} ms (goal under 1 ms), p99 {:.3} ms (goal under 2 ms)",
        more(|row| row.p50),
        more(|row| row.p99)
    );
    runtime.block_on(workspace.close()).expect("it closes");
    server.stop();
}

async fn open(base: &Path) -> Arc<dyn Workspace> {
    let settings = SandboxSettings::default();
    let provider =
        SandboxProvider::new(base, settings, Environment::default(), Arc::new(SystemClock), &OsEntropy)
            .expect("the provider can be made");
    let workspace_id = (&OsEntropy as &dyn Entropy).id(SystemClock.now());
    let config = ProviderConfig::Sandbox(SandboxConfig::default());
    let declared = [Capability::Fs, Capability::Shell].into_iter().collect();
    provider.open(OpenRequest { workspace_id, config, declared }).await.expect("the box opens").workspace
}

async fn run(workspace: &Arc<dyn Workspace>) {
    let shell = workspace.shell().expect("there is a shell");
    let result = shell.run(Command::argv(["/bin/true"])).await.expect("it runs");
    assert_eq!(result.exit_code, Some(0));
}

/// The binary, and one connection to it.
struct Server {
    process: Child,
    connection: BufReader<TcpStream>,
    head: String,
    workspace: String,
}

impl Server {
    #[expect(clippy::disallowed_methods, reason = "runs the binary under measurement")]
    fn start(data: &Path) -> Self {
        let mut process = Process::new(env!("CARGO_BIN_EXE_warren"))
            .args(["up", "--json", "--listen", "127.0.0.1:0", "--data"])
            .arg(data)
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
        let address = told("url").trim_start_matches("http://").to_owned();
        let stream = TcpStream::connect(&address).expect("the server accepts");
        stream.set_nodelay(true).expect("a socket");
        let head = format!(
            "Host: {address}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json",
            told("token")
        );
        let mut server = Self { process, connection: BufReader::new(stream), head, workspace: String::new() };
        let made =
            server.post("/api/v1/workspaces", &json!({ "name": "bench", "provider": { "kind": "sandbox" } }));
        server.workspace = made["id"].as_str().expect("it has an id").to_owned();
        server
    }

    fn run(&mut self) {
        let path = format!("/api/v1/workspaces/{}/exec", self.workspace);
        let result = self.post(&path, &json!({ "argv": ["/bin/true"] }));
        assert_eq!(result["exit_code"], 0, "{result}");
    }

    fn post(&mut self, path: &str, body: &Value) -> Value {
        let body = body.to_string();
        let request =
            format!("POST {path} HTTP/1.1\r\n{}\r\nContent-Length: {}\r\n\r\n{body}", self.head, body.len());
        self.connection.get_mut().write_all(request.as_bytes()).expect("it reads");
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.connection.read_line(&mut line).expect("it answers");
            if line.trim().is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().expect("a length");
            }
        }
        let mut answer = vec![0; length];
        self.connection.read_exact(&mut answer).expect("the whole answer");
        serde_json::from_slice(&answer).expect("JSON")
    }

    fn stop(mut self) {
        let id = rustix::process::Pid::from_child(&self.process);
        rustix::process::kill_process(id, rustix::process::Signal::TERM).expect("the server is alive");
        self.process.wait().expect("the server ends");
    }
}

struct Row {
    p50: Duration,
    p99: Duration,
}

fn row(name: &str, mut times: Vec<Duration>) -> Row {
    times.sort_unstable();
    let at = |share: usize| times[(times.len() * share / 100).min(times.len() - 1)];
    let shown = |time: Duration| format!("{:.3} ms", time.as_secs_f64() * 1_000.0);
    println!("| {name} | {} | {} | {} | {} |", shown(at(50)), shown(at(95)), shown(at(99)), shown(times[0]));
    Row { p50: at(50), p99: at(99) }
}
