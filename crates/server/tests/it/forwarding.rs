//! Two Warrens on one PostgreSQL, and requests that reach the one that does not have the box (O10).

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use warren_doors::ManualClock;
use warren_model::{Limits, WorkspaceId};
use warren_outbound::forwarding::{MARK_PURPOSE, Mark, MarkedRequest};
use warren_store::{BoxHolder, ReplicaRow};
use warren_testkit::{PostgresDatabase, Warren};

use crate::commands::{BOTH_KINDS_OF_CHILDREN, running, started_commands, workspace_folder};
use crate::events::Frames;
use crate::fleet::{clock, eventually};
use crate::mcp;
use crate::terminal::Terminal;

/// A Warren that has the box of a workspace, and another that is asked.
struct Pair {
    holder: Warren,
    front: Warren,
    id: WorkspaceId,
    clock: Arc<ManualClock>,
    _database: PostgresDatabase,
}

impl Pair {
    async fn start() -> Self {
        Self::with_limits(Limits::default()).await
    }

    async fn with_limits(limits: Limits) -> Self {
        let (database, clock) = (PostgresDatabase::create(), clock());
        let builder = || {
            let builder = Warren::builder().database(database.url()).clock(Arc::clone(&clock));
            builder.limits(limits.clone()).reachable()
        };
        let holder = builder().crashable().start().await;
        let disk = holder.folder().join("workspaces");
        let front = builder().key_of(holder.folder()).disk(disk).start().await;
        let run = json!({ "mode": "argv", "allow": ["echo", "true"] });
        let id = holder.workspace(json!({ "kind": "local", "max_file_mb": 64, "run": run })).await;
        Self { holder, front, id, clock, _database: database }
    }

    fn path(&self, rest: &str) -> String {
        format!("/api/v1/workspaces/{}/{rest}", self.id)
    }

    /// Nothing was opened where it was asked.
    fn assert_untouched(&self) {
        assert_eq!(self.front.fleet.registry.open_ids(), []);
    }
}

// O10
#[tokio::test]
async fn files_are_reached_through_the_replica_that_does_not_have_the_box() {
    let pair = Pair::start().await;
    let (front, note) = (&pair.front, pair.path("files?path=note%20one.txt"));
    let written = front.put(&note, "by way of another").await;
    assert!(written.status < 300, "{}", written.text());
    assert_eq!(pair.holder.get(&note).await.text(), "by way of another");
    let read = front.get(&note).await;
    assert_eq!((read.status, read.text().as_str()), (200, "by way of another"));
    let part = front.call("GET", &note).token(&front.token).header("range", "bytes=3-5").send().await;
    assert_eq!((part.status, part.text().as_str()), (206, "way"));
    assert_eq!(part.header("content-range"), Some("bytes 3-5/17"));
    let missing = front.get(&pair.path("files?path=missing")).await;
    assert_eq!((missing.status, missing.code().as_str()), (404, "file_not_found"));
    assert_eq!(missing.header("x-request-id"), missing.json()["request_id"].as_str(), "one id all the way");
    let moved = front.post(&pair.path("files/move"), &json!({ "from": "note one.txt", "to": "two" })).await;
    assert!(moved.status < 300, "{}", moved.text());
    let listed = front.get(&pair.path("files?path=.")).await.json();
    assert_eq!(listed["entries"][0]["path"], "two", "{listed}");
    assert!(front.delete(&pair.path("files?path=two")).await.status < 300);
    assert_eq!(pair.holder.get(&pair.path("files?path=two")).await.status, 404);
    pair.assert_untouched();
}

// O10, W30
#[tokio::test]
async fn a_command_is_streamed_through_another_replica_as_it_speaks() {
    let pair = Pair::start().await;
    let front = &pair.front;
    let whole = front.post(&pair.path("exec"), &json!({ "argv": ["sh", "-c", "echo out; exit 3"] })).await;
    assert_eq!((whole.status, &whole.json()["exit_code"]), (200, &json!(3)), "{}", whole.text());
    let call = front.call("POST", &pair.path("exec")).token(&front.token);
    let script = "echo first; while [ ! -e go ]; do sleep 0.01; done; echo second; exit 4";
    let call = call.header("accept", "text/event-stream").json(&json!({ "command": script }));
    let mut pieces = call.open().await.bytes_stream();
    let mut text = String::new();
    while !text.contains("Zmlyc3QK") {
        text.push_str(&String::from_utf8_lossy(&pieces.next().await.expect("more").unwrap()));
    }
    assert!(!text.contains("finished"), "it is told before it ends");
    front.put(&pair.path("files?path=go"), "").await;
    while let Some(piece) = pieces.next().await {
        text.push_str(&String::from_utf8_lossy(&piece.unwrap()));
    }
    assert!(text.contains("c2Vjb25kCg==") && text.contains(r#""exit_code":4"#), "{text}");
    pair.assert_untouched();
}

// O10, W32
#[tokio::test]
async fn a_client_that_hangs_up_ends_its_command_at_the_other_replica() {
    let pair = Pair::start().await;
    let front = &pair.front;
    let call = front.call("POST", &pair.path("exec")).token(&front.token);
    let call = call.header("accept", "text/event-stream").json(&json!({ "command": BOTH_KINDS_OF_CHILDREN }));
    let answer = call.open().await.bytes_stream();
    let commands = started_commands(&workspace_folder(pair.holder.folder(), pair.id)).await;
    drop(answer);
    eventually("the command ends with its client", async || running(&commands).is_empty()).await;
}

// O10, W31
#[tokio::test]
async fn a_process_is_started_fed_followed_and_ended_through_another_replica() {
    let pair = Pair::start().await;
    let front = &pair.front;
    let started = front.post(&pair.path("processes"), &json!({ "argv": ["cat"] })).await;
    assert_eq!(started.status, 201, "{}", started.text());
    let process = pair.path(&format!("processes/{}", started.json()["id"]));
    let call = front.call("GET", &format!("{process}/output")).token(&front.token);
    let mut output = Frames::open(call.header("accept", "text/event-stream")).await;
    let fed = front.post(&format!("{process}/stdin"), &json!({ "text": "said\n" })).await;
    assert!(fed.status < 300, "{}", fed.text());
    let mut told = String::new();
    while !told.contains("c2FpZAo=") {
        told.push_str(&output.next().await.expect("the stream goes on").1.to_string());
    }
    let ended = front.post(&format!("{process}/signal"), &json!({ "signal": "kill" })).await;
    assert!(ended.status < 300, "{}", ended.text());
    eventually("it has ended", async || front.get(&process).await.json()["state"] != "running").await;
    let listed = front.get(&pair.path("processes")).await.json();
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(1), "{listed}");
    pair.assert_untouched();
}

// O10, W33
#[tokio::test]
async fn a_terminal_is_used_through_another_replica() {
    let pair = Pair::start().await;
    // As a browser does, from a page of the replica that it reaches.
    let headers = [
        ("authorization", format!("Bearer {}", pair.front.token)),
        ("origin", format!("http://{}", pair.front.address)),
    ];
    let mut terminal =
        Terminal::try_open(&pair.front, pair.id, "rows=30&columns=90", &headers).await.unwrap();
    terminal.type_in("echo $((6 * 7)) && stty size\n").await;
    terminal.see("42").await;
    terminal.see("30 90").await;
    terminal.ask(json!({ "type": "resize", "rows": 40, "columns": 100 })).await;
    terminal.type_in("sleep 0.2; stty size\n").await;
    terminal.see("40 100").await;
    terminal.type_in("exit 5\n").await;
    let frame = terminal.frame().await;
    assert_eq!(frame["type"], "exited", "{frame}");
    let nobody = [("authorization", "Bearer wrong".to_owned())];
    let refused = Terminal::try_open(&pair.front, pair.id, "", &nobody).await.err().unwrap();
    assert_eq!(refused, (401, "unauthenticated".to_owned()));
    pair.assert_untouched();
}

// O10, W20
#[tokio::test]
async fn changes_of_files_are_told_through_another_replica() {
    let pair = Pair::start().await;
    let call = pair.front.call("GET", &pair.path("files/watch?path=.")).token(&pair.front.token);
    let mut frames = Frames::open(call.header("accept", "text/event-stream")).await;
    assert_eq!(frames.next().await.unwrap().1["type"], "watching");
    pair.holder.put(&pair.path("files?path=new"), "x").await;
    let (_, frame) = frames.next().await.expect("a change is told");
    assert_eq!((&frame["type"], &frame["path"]), (&json!("changed"), &json!("new")), "{frame}");
}

// O10, S30
#[tokio::test]
async fn both_endpoints_of_mcp_use_a_box_of_another_replica() {
    let pair = Pair::start().await;
    let client = mcp::connect(&pair.front, &mcp::of_workspace(pair.id)).await;
    let ran = mcp::result(&client, "workspace_run", json!({ "argv": ["echo", "hello"] })).await;
    assert!(ran.to_string().contains("hello"), "{ran}");
    let platform = mcp::connect(&pair.front, "/mcp").await;
    let arguments = json!({ "workspace_id": pair.id.to_string(), "argv": ["echo", "again"] });
    let ran = mcp::result(&platform, "exec", arguments).await;
    assert!(ran.to_string().contains("again") || ran["exit_code"] == 0, "{ran}");
    let listed = mcp::result(&platform, "list_workspaces", json!({})).await;
    assert!(listed.to_string().contains(&pair.id.to_string()), "{listed}");
    let called = pair.front.post(&pair.path("tools/workspace_run"), &json!({ "argv": ["true"] })).await;
    assert_eq!(called.status, 200, "{}", called.text());
    pair.assert_untouched();
}

/// So many pieces of 64 KB, and how many of them were taken.
fn pieces(
    count: usize,
) -> (impl futures_util::Stream<Item = std::io::Result<Bytes>>, Arc<std::sync::atomic::AtomicUsize>) {
    let taken = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counter = Arc::clone(&taken);
    let body = stream::iter(0..count).map(move |number| {
        counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Ok(Bytes::from(vec![u8::try_from(number % 251).unwrap(); 64 << 10]))
    });
    (body, taken)
}

// O10: 50 MB, in and out, piece by piece
#[tokio::test]
async fn a_large_file_goes_through_another_replica_as_a_stream() {
    let pair = Pair::start().await;
    let (body, taken) = pieces(800);
    let large = pair.path("files?path=large");
    let written = pair.front.put(&large, reqwest::Body::wrap_stream(body)).await;
    assert!(written.status < 300, "{}", written.text());
    assert_eq!(taken.load(std::sync::atomic::Ordering::Relaxed), 800);
    let mut answer = pair.front.call("GET", &large).token(&pair.front.token).open().await.bytes_stream();
    let mut total = 0_usize;
    while let Some(piece) = answer.next().await {
        for byte in piece.unwrap() {
            assert_eq!(usize::from(byte), (total >> 16) % 251, "at {total}");
            total += 1;
        }
    }
    assert_eq!(total, 800 << 16);
    pair.assert_untouched();
}

// O10: whoever took in the whole body first would never answer
#[tokio::test]
async fn an_upload_that_never_ends_is_refused_by_the_other_replica_while_it_is_sent() {
    let pair = Pair::start().await;
    let (body, taken) = pieces(1_000_000);
    let call = pair.front.call("PUT", &pair.path("files?path=endless")).token(&pair.front.token);
    let call = call.body(reqwest::Body::wrap_stream(body));
    let answer = tokio::time::timeout(Duration::from_secs(25), call.send()).await.expect("it is answered");
    assert_eq!(answer.status, 413, "{}", answer.text());
    assert!(taken.load(std::sync::atomic::Ordering::Relaxed) < 1_000_000);
}

/// A request to the front as if `from` had passed it on.
fn mark(from: &Warren, key_of: &Warren, to: &Warren, method: &Method, path: &str) -> String {
    let key = key_of.fleet.sealer.derived_keys(MARK_PURPOSE).into_iter().next().unwrap();
    let name = from.fleet.box_holders.name().to_owned();
    let mark = Mark { from: name, request_id: "req-of-the-test".to_owned(), at: from.fleet.context.now() };
    mark.sign(&key, MarkedRequest { to: to.fleet.box_holders.name(), method, path })
}

// O10: nobody outside can pretend to be a replica
#[tokio::test]
async fn a_forged_mark_is_refused_and_a_true_one_lets_nobody_in() {
    let pair = Pair::start().await;
    let stranger = Warren::start().await;
    let (front, holder, path) = (&pair.front, &pair.holder, pair.path("files?path=note"));
    assert!(holder.put(&path, "x").await.status < 300);
    let other = pair.path("files?path=other");
    let forged = [
        "yes".to_owned(),
        mark(front, &stranger, holder, &Method::GET, &path),
        mark(front, front, front, &Method::GET, &path),
        mark(front, front, holder, &Method::GET, &other),
        mark(front, front, holder, &Method::PUT, &path),
    ];
    for value in forged {
        let call = holder.call("GET", &path).token(&holder.token).header("warren-forwarded", &value);
        let refused = call.send().await;
        assert_eq!((refused.status, refused.code().as_str()), (403, "forward_refused"), "{value}");
    }
    let value = mark(front, front, holder, &Method::GET, &path);
    let with_mark = || holder.call("GET", &path).header("warren-forwarded", &value);
    assert_eq!(with_mark().send().await.status, 401, "it says nothing of who asks");
    let read = with_mark().token(&holder.token).header("host", "another.example").send().await;
    assert_eq!((read.status, read.header("x-request-id")), (200, Some("req-of-the-test")));
    let strange = front.call("GET", &path).token(&front.token).header("host", "evil.example").send().await;
    assert_eq!(strange.code(), "host_not_allowed", "the replica that is asked judges the client's words");
    let strange = front.call("PUT", &path).token(&front.token).header("origin", "http://evil.example");
    assert_eq!(strange.body("y").send().await.code(), "origin_not_allowed");
    pair.clock.advance_ms(61_000);
    let late = with_mark().token(&holder.token).send().await;
    assert_eq!(late.code(), "forward_refused", "it is too old");
    stranger.stop().await;
}

// O10: two replicas that disagree do not send a request round in circles
#[tokio::test]
async fn what_was_passed_on_once_is_not_passed_on_again() {
    let pair = Pair::start().await;
    let path = pair.path("files?path=note");
    let value = mark(&pair.holder, &pair.holder, &pair.front, &Method::GET, &path);
    let call = pair.front.call("GET", &path).token(&pair.front.token).header("warren-forwarded", &value);
    let answer = call.send().await;
    assert_eq!((answer.status, answer.code().as_str()), (503, "workspace_elsewhere"));
    assert_eq!(answer.header("retry-after"), Some("5"));
}

// O10
#[tokio::test]
async fn a_holder_that_is_gone_is_told_and_its_box_is_taken_over_when_its_lease_ends() {
    let pair = Pair::start().await;
    let note = pair.path("files?path=note");
    assert!(pair.front.put(&note, "before").await.status < 300);
    let Pair { holder, front, clock, .. } = pair;
    let _disk = holder.kill();
    let refused = front.put(&note, "too early").await;
    assert_eq!((refused.status, refused.code().as_str()), (503, "workspace_elsewhere"), "{}", refused.text());
    assert!(refused.header("retry-after").is_some());
    assert!(refused.json()["remedy"].as_str().unwrap().contains("Try again in half a minute"));
    clock.advance_ms(30_000);
    assert_eq!(front.get(&note).await.text(), "before");
    assert!(front.put(&note, "after").await.status < 300);
}

// O10: what may have been done is not done again
#[tokio::test]
async fn a_request_that_was_sent_and_not_answered_is_not_sent_again() {
    let pair = Pair::start().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (seen, mut calls) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut bytes = vec![0; 64 << 10];
            let read = stream.read(&mut bytes).await.unwrap_or(0);
            let _ = seen.send(String::from_utf8_lossy(&bytes[..read]).into_owned());
            let _ = stream.shutdown().await;
        }
    });
    let (id, now) = (pair.id, pair.front.fleet.context.now());
    let moved: Result<(), warren_store::Error> = pair
        .front
        .store
        .write(move |tx| {
            let held = tx.place(id)?.expect("it is held");
            tx.take_lease("replica/third", "third", now, now.plus_ms(30_000))?;
            tx.put_replica(&ReplicaRow { name: "third".into(), url: Some(url.clone()), seen_at: now })?;
            let third = BoxHolder { replica: "third".into(), epoch: held.epoch + 1, ..held.clone() };
            tx.put_place(&third, Some(held.epoch))
        })
        .await;
    assert_eq!(moved, Ok(()));
    let answer = pair.front.post(&pair.path("exec"), &json!({ "argv": ["true"] })).await;
    assert_eq!((answer.status, answer.code().as_str()), (502, "replica_lost"), "{}", answer.text());
    let sent = calls.recv().await.unwrap();
    assert!(sent.to_lowercase().contains("warren-forwarded: from="), "{sent}");
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(calls.try_recv().is_err(), "it was sent once");
}

// O10, sec/U06
#[tokio::test]
async fn a_request_that_is_passed_on_counts_once_against_its_pace() {
    let limits = Limits { max_requests_per_minute: 10, ..Limits::default() };
    let pair = Pair::with_limits(limits).await;
    let body = json!({ "kind": "user", "name": "somebody", "scopes": ["workspaces:read"] });
    let minted = pair.front.post("/api/v1/tokens", &body).await.json();
    let secret = minted["secret"].as_str().unwrap_or_else(|| panic!("{minted}"));
    let path = pair.path("files?path=.");
    let ask = async |warren: &Warren| warren.call("GET", &path).token(secret).send().await.status;
    for number in 0..10 {
        assert_eq!(ask(&pair.front).await, 200, "{number}");
    }
    assert_eq!(ask(&pair.front).await, 429);
    assert_eq!(ask(&pair.holder).await, 200, "there it was not counted");
}

// O10: a form with files, and what an agent shows with its notice
#[tokio::test]
async fn uploads_land_in_the_box_of_another_replica() {
    let pair = Pair::start().await;
    let form =
        "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\nhello\r\n--b--\r\n";
    let call = pair.front.call("POST", &pair.path("uploads")).token(&pair.front.token);
    let landed = call.header("content-type", "multipart/form-data; boundary=b").body(form).send().await;
    assert_eq!(landed.status, 201, "{}", landed.text());
    let url: Value = landed.json()["parts"][0]["url"].clone();
    let path = url.as_str().and_then(|url| url.strip_prefix("workspace:")).unwrap().to_owned();
    assert_eq!(pair.holder.get(&pair.path(&format!("files?path={path}"))).await.text(), "hello");
    pair.assert_untouched();
}
