//! P9: an A2A message through Warren, durable, against the same call to the agent itself, in one run; and a queue of a
//! million messages. The goals are less than 1 ms more in the middle, 3,000 messages a second, and a claim under 2 ms.
//!
//! `cargo bench -p warren-cli --bench messages`. The agent and the clients run on the same cores as Warren.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod measured;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use measured::{Connection, HEAD, Server, more_ms, row};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use warren_doors::{Clock as _, Entropy, OsEntropy, SystemClock};
use warren_model::{
    Delivery, DeliveryState, Message, OrgId, Part, Principal, Role, Task, Workspace, WorkspaceId,
};
use warren_store::Store;
use warren_store_sql::sqlite::{SqliteOptions, SqliteStore};

const WARM_UP: usize = 100;
const RUNS: usize = 2_000;
const CLIENTS: usize = 64;
const WORKSPACES: usize = 8;
const ROUND: Duration = Duration::from_secs(5);
const ROUNDS: usize = 3;
const SHORT_QUEUE: usize = 1_000;
const LONG_QUEUE: usize = 1_000_000;
const CLAIMS: usize = 500;
/// Clients of a benchmark ask faster than anybody should.
const CONFIG: &str =
    "[outbound]\nallow_private = [\"127.0.0.0/8\"]\n\n[limits]\nmax_requests_per_minute = 0\n";

fn main() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder on the real file system");
    let config = folder.path().join("warren.toml");
    std::fs::write(&config, CONFIG).expect("the config can be written");
    let config = config.to_str().expect("a path of text").to_owned();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.expect("a runtime starts");
    let agent = runtime.block_on(serve_agent());

    let server = Server::start(&folder.path().join("messages"), &["--config", &config]);
    latency(&server, &agent);
    throughput(&runtime, &server, &agent);
    server.stop();
    println!("\n## A queue of {LONG_QUEUE} messages\n\n{HEAD}");
    let short = queue(&runtime, &folder.path().join("short"), &config, SHORT_QUEUE);
    let long = queue(&runtime, &folder.path().join("long"), &config, LONG_QUEUE);
    println!(
        "\na claim out of {LONG_QUEUE}: p50 {:.3} ms (goal under 2 ms), {:.2}x one out of {SHORT_QUEUE}",
        long.as_secs_f64() * 1_000.0,
        long.as_secs_f64() / short.as_secs_f64()
    );
}

/// One message after the other over one connection each.
fn latency(server: &Server, agent: &str) {
    let (id, _) = server.join("measured", 1, Some(card(agent)));
    let (mut warren, mut direct) = (server.connect(), Connection::to(agent, "none"));
    let path = format!("/a2a/{id}");
    let (mut through, mut straight) = (Vec::new(), Vec::new());
    for round in 0..WARM_UP + RUNS {
        let body = message(&format!("latency-{round}"));
        let started = Instant::now();
        answered(&direct.post_text("/", &body));
        let alone = started.elapsed();
        let started = Instant::now();
        answered(&warren.post_text(&path, &body));
        if round >= WARM_UP {
            straight.push(alone);
            through.push(started.elapsed());
        }
    }
    let (straight_line, straight) = row("the agent itself", straight);
    let (through_line, through) = row("through Warren, two commits on disk", through);
    println!("## P9: an A2A message through Warren\n\n{HEAD}\n{straight_line}\n{through_line}");
    println!(
        "\nmore through Warren: p50 {:.3} ms (goal under 1 ms), p99 {:.3} ms",
        more_ms(through.p50, straight.p50),
        more_ms(through.p99, straight.p99)
    );
}

/// As many as are answered, by clients that each wait for their answer. All of them are on the agent's thread, so that
/// they take as little as they can of the two cores that Warren has.
fn throughput(runtime: &tokio::runtime::Runtime, server: &Server, agent: &str) {
    let at_once = u32::try_from(CLIENTS).expect("few");
    let ids: Vec<String> = (0..WORKSPACES)
        .map(|number| server.join(&format!("busy-{number}"), at_once, Some(card(agent))).0)
        .collect();
    let mut rates: Vec<f64> = (0..ROUNDS)
        .map(|round| {
            let started = Instant::now();
            let clients: Vec<_> = (0..CLIENTS)
                .map(|client| {
                    let path = format!("/a2a/{}", ids[client % WORKSPACES]);
                    let head = measured::head(&server.address, &server.token);
                    let (address, name) = (server.address.clone(), format!("busy-{round}-{client}"));
                    runtime.spawn(async move { send_for_a_while(&address, &path, &head, &name).await })
                })
                .collect();
            let done: usize =
                clients.into_iter().map(|client| runtime.block_on(client).expect("no client fails")).sum();
            done as f64 / started.elapsed().as_secs_f64()
        })
        .collect();
    rates.sort_unstable_by(f64::total_cmp);
    println!(
        "\n{CLIENTS} clients, {WORKSPACES} workspaces, {ROUNDS} rounds of {} s: {:.0} answered a second (lowest {:.0}, highest \
         {:.0}; goal 3000)",
        ROUND.as_secs(),
        rates[ROUNDS / 2],
        rates[0],
        rates[ROUNDS - 1]
    );
}

async fn send_for_a_while(address: &str, path: &str, head: &str, name: &str) -> usize {
    let stream = TcpStream::connect(address).await.expect("it accepts");
    stream.set_nodelay(true).expect("a socket");
    let mut stream = BufReader::new(stream);
    let started = Instant::now();
    let mut sent = 0;
    while started.elapsed() < ROUND {
        let body = message(&format!("{name}-{sent}"));
        let length = body.len();
        let request = format!("POST {path} HTTP/1.1\r\n{head}\r\nContent-Length: {length}\r\n\r\n{body}");
        stream.get_mut().write_all(request.as_bytes()).await.expect("it reads");
        let (first, body) = read_message(&mut stream).await.expect("it answers").expect("it stays");
        answered(&(u16::from(first.contains(" 200 ")) * 200, body));
        sent += 1;
    }
    sent
}

/// Fills the queue of one workspace and lets its runtime claim over HTTP. Answers the median.
fn queue(runtime: &tokio::runtime::Runtime, data: &Path, config: &str, size: usize) -> Duration {
    // The runtime's credential outlives the server.
    let server = Server::start(data, &["--config", config]);
    let at_once = u32::try_from(CLAIMS + WARM_UP).expect("few");
    let (id, credential) = server.join("queued", at_once, None);
    server.stop();
    runtime.block_on(fill(&data.join("warren.db"), &id, size));
    let server = Server::start(data, &["--config", config]);
    let mut connection = Connection::to(&server.address, &credential);
    let path = format!("/api/v1/workspaces/{id}/queue/claim");
    let mut times = Vec::new();
    for round in 0..WARM_UP + CLAIMS {
        let started = Instant::now();
        let claimed = connection.post(&path, &json!({ "wait_ms": 0 }));
        let elapsed = started.elapsed();
        assert!(claimed["claimed"].is_object(), "{claimed}");
        if round >= WARM_UP {
            times.push(elapsed);
        }
    }
    let (line, figures) = row(&format!("a claim over HTTP, on disk, {size} waiting"), times);
    println!("{line}");
    server.stop();
    figures.p50
}

async fn fill(database: &Path, id: &str, size: usize) {
    let store: Arc<dyn Store> =
        Arc::new(SqliteStore::open(database, SqliteOptions::default()).await.expect("the database opens"));
    let id: WorkspaceId = id.parse().expect("an id");
    let found: Result<Option<Workspace>, warren_store::Error> = store.read(move |tx| tx.workspace(id)).await;
    let workspace = found.expect("the database answers").expect("the workspace is there");
    for from in (0..size).step_by(1_000) {
        let rows: Vec<_> =
            (from..size.min(from + 1_000)).map(|number| waiting(workspace.org_id, id, number)).collect();
        let written: Result<(), warren_store::Error> = store
            .write(move |tx| {
                rows.iter().try_for_each(|(task, delivery)| {
                    tx.insert_task(task)?;
                    tx.insert_delivery(delivery)
                })
            })
            .await;
        written.expect("messages are inserted");
    }
    store.close().await;
}

fn waiting(org_id: OrgId, workspace_id: WorkspaceId, number: usize) -> (Task, Delivery) {
    let now = SystemClock.now();
    let entropy: &dyn Entropy = &OsEntropy;
    let author = Principal::system(&format!("sender-{}", number % 10));
    let text = Part::text(format!("message number {number}"));
    let message = Message::new(format!("m-{number}"), Role::User, vec![text]);
    let context = format!("context-{number}");
    let task = Task {
        history: vec![message.clone()],
        ..Task::submitted(entropy.id(now), org_id, workspace_id, context, author.clone(), now)
    };
    let mut delivery = Delivery {
        id: entropy.id(now),
        org_id,
        workspace_id,
        task_id: task.id,
        author,
        message,
        priority: 0,
        turn: (number / 10) as u64,
        state: DeliveryState::Queued,
        end: None,
        reason: None,
        attempts: 0,
        not_before: now,
        expires_at: now.plus_ms(24 * 3_600_000),
        idle_timeout_ms: 300_000,
        deadline_at: None,
        owner: None,
        lease_until: None,
        has_begun: false,
        progress_at: None,
        due_at: None,
        created_at: now,
        ended_at: None,
    };
    delivery.due_at = warren_rules::messages::dispatch::due_at(&delivery);
    (task, delivery)
}

fn message(id: &str) -> String {
    json!({
        "jsonrpc": "2.0", "id": 1, "method": "SendMessage",
        "params": { "message": { "messageId": id, "role": "ROLE_USER", "parts": [{ "text": "what is the time?" }] } },
    })
    .to_string()
}

fn answered((status, body): &(u16, Vec<u8>)) {
    let text = String::from_utf8_lossy(body);
    assert!(*status == 200 && text.contains("a quarter past"), "{status}: {text}");
}

fn card(agent: &str) -> Value {
    json!({
        "name": "echo", "description": "answers at once", "version": "1", "skills": [],
        "capabilities": { "streaming": false },
        "supportedInterfaces": [
            { "url": format!("http://{agent}/"), "protocolBinding": "JSONRPC", "protocolVersion": "1.0" },
        ],
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
    })
}

/// An agent that answers at once and does nothing else: what it costs is the baseline.
async fn serve_agent() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address").to_string();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // Whoever hangs up is done.
            tokio::spawn(async move { serve_connection(stream).await.unwrap_or_default() });
        }
    });
    address
}

async fn serve_connection(stream: TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    while let Some((_, body)) = read_message(&mut stream).await? {
        let asked: Value = serde_json::from_slice(&body)?;
        let answer = json!({
            "jsonrpc": "2.0", "id": asked["id"],
            "result": { "message": { "messageId": "a", "role": "ROLE_AGENT", "parts": [{ "text": "a quarter past" }] } },
        })
        .to_string();
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            answer.len()
        );
        stream.get_mut().write_all((head + &answer).as_bytes()).await?;
    }
    Ok(())
}

/// The first line and the body of a request or an answer; nothing once the other side has hung up.
async fn read_message(stream: &mut BufReader<TcpStream>) -> std::io::Result<Option<(String, Vec<u8>)>> {
    let (mut first, mut line, mut length) = (String::new(), String::new(), 0);
    if stream.read_line(&mut first).await? == 0 {
        return Ok(None);
    }
    loop {
        line.clear();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(None);
        }
        if line == "\r\n" {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok(Some((first, body)))
}
