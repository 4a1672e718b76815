//! Peers that answer with more than anybody can take: cut at the limit, in flat memory (sec/A06).

use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use warren_outbound::{BadAnswer, Call, CallError, CallLimits};

use crate::peer::{Peer, open, short};

const MAX_GROWTH: usize = 16 << 20;

/// What the process holds in memory.
fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("proc is mounted");
    let pages: usize = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4_096
}

/// Writes the same bytes for as long as somebody takes them.
async fn pour(mut stream: TcpStream, head: &'static str, piece: &'static [u8], pieces: usize) {
    if stream.write_all(head.as_bytes()).await.is_err() {
        return;
    }
    for _ in 0..pieces {
        if stream.write_all(piece).await.is_err() {
            return;
        }
    }
}

static ZEROS: [u8; 64 << 10] = [b'0'; 64 << 10];

fn bad(error: CallError) -> BadAnswer {
    match error {
        CallError::BadAnswer(bad) => bad,
        other => panic!("{other}"),
    }
}

// sec/A06, X6; the control is in the test: what is within the limit comes whole
#[tokio::test]
async fn ten_gigabytes_are_cut_at_the_limit_in_flat_memory() {
    const LENGTH_UNKNOWN: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n";
    let endless = Peer::new(|stream| pour(stream, LENGTH_UNKNOWN, &ZEROS, 163_840)).await;
    let limits = CallLimits { body_bytes: 4 << 20, ..short() };
    let before = resident_bytes();
    let answer = open().call(Call::get(endless.url()).limits(limits)).await.unwrap();
    let mut body = answer.into_body();
    let mut taken = 0;
    let error = loop {
        match body.chunk().await {
            Ok(Some(chunk)) => taken += chunk.len(),
            Ok(None) => panic!("it ended"),
            Err(error) => break error,
        }
    };
    assert_eq!(bad(error), BadAnswer::BodyBytes(4 << 20));
    assert!(taken <= 4 << 20);
    let answer = open().call(Call::get(endless.url()).limits(limits)).await.unwrap();
    assert_eq!(bad(answer.bytes().await.unwrap_err()), BadAnswer::BodyBytes(4 << 20));
    let growth = resident_bytes().saturating_sub(before);
    assert!(growth < MAX_GROWTH, "{growth} bytes more");

    const DECLARED: &str = "HTTP/1.1 200 OK\r\ncontent-length: 10737418240\r\n\r\n";
    let declared = Peer::new(|stream| pour(stream, DECLARED, &ZEROS, 163_840)).await;
    let error = open().call(Call::get(declared.url()).limits(limits)).await.unwrap_err();
    assert_eq!(bad(error), BadAnswer::BodyBytes(4 << 20), "refused by its head");

    // Control
    let bounded = Peer::new(|stream| pour(stream, LENGTH_UNKNOWN, &ZEROS, 64)).await;
    let answer = open().call(Call::get(bounded.url()).limits(limits)).await.unwrap();
    assert_eq!(answer.bytes().await.unwrap().len(), 4 << 20);
}

// sec/A06, X10; the control is in the test: with more time the same peer is heard out
#[tokio::test]
async fn a_drip_of_bytes_ends_with_the_time_of_the_whole_call() {
    let drip = Peer::new(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n").await;
        for _ in 0..20 {
            tokio::time::sleep(Duration::from_millis(50)).await;
            if stream.write_all(b"x").await.is_err() {
                return;
            }
        }
    })
    .await;
    let limits = CallLimits { idle: Duration::from_secs(10), whole: Duration::from_millis(200), ..short() };
    let begun = Instant::now();
    let answer = open().call(Call::get(drip.url()).limits(limits)).await.unwrap();
    let error = answer.bytes().await.unwrap_err();
    assert!(error.to_string().contains("did not end within"), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(9));
    // Control
    let limits = CallLimits { idle: Duration::from_secs(10), ..short() };
    let answer = open().call(Call::get(drip.url()).limits(limits)).await.unwrap();
    assert_eq!(answer.bytes().await.unwrap().len(), 20);
}

// sec/A06, X6; the control is in the test: the same bytes without the header are taken as they are
#[tokio::test]
async fn what_comes_compressed_is_refused_and_not_unpacked() {
    for encoding in ["gzip", "br", "zstd", "deflate", "gzip, gzip", "identity, gzip", "x"] {
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-encoding: {encoding}\r\ncontent-length: 3\r\n\r\n\x1f\u{8}x");
        let peer = Peer::saying(head).await;
        let error = open().call(Call::get(peer.url())).await.unwrap_err();
        assert_eq!(bad(error), BadAnswer::Encoded, "{encoding}");
        assert!(peer.heads()[0].contains("accept-encoding: identity\r\n"));
    }
    // Control
    let peer =
        Peer::saying("HTTP/1.1 200 OK\r\ncontent-encoding: identity\r\ncontent-length: 3\r\n\r\n\x1f\u{8}x")
            .await;
    assert_eq!(open().call(Call::get(peer.url())).await.unwrap().bytes().await.unwrap().len(), 3);
}

// sec/A06, X6; the control is in the test: an ordinary stream is read event by event
#[tokio::test]
async fn an_endless_event_stream_is_cut_by_line_by_event_and_as_a_whole() {
    const STREAM: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n\r\n";
    let limits = CallLimits { body_bytes: 2 << 20, line_bytes: 64 << 10, ..short() };
    let before = resident_bytes();
    let no_line_end = Peer::new(|stream| pour(stream, STREAM, &ZEROS, 163_840)).await;
    let no_event_end = Peer::new(|stream| pour(stream, STREAM, b"data: 0123456789\n", 1 << 30)).await;
    let no_end = Peer::new(|stream| pour(stream, STREAM, b"data: 0123456789\n\n", 1 << 30)).await;
    for (peer, expected) in [
        (no_line_end, BadAnswer::LineBytes(64 << 10)),
        (no_event_end, BadAnswer::LineBytes(64 << 10)),
        (no_end, BadAnswer::BodyBytes(2 << 20)),
    ] {
        let mut events = open().call(Call::get(peer.url()).limits(limits)).await.unwrap().events().unwrap();
        let error = loop {
            match events.next().await {
                Ok(Some(_)) => {}
                Ok(None) => panic!("it ended"),
                Err(error) => break error,
            }
        };
        assert_eq!(bad(error), expected);
    }
    let growth = resident_bytes().saturating_sub(before);
    assert!(growth < MAX_GROWTH, "{growth} bytes more");
    // Control
    let text =
        format!("{STREAM}: hello\nid: 1\nevent: task\ndata: {{\"a\":\ndata:1}}\n\ndata: b\n\nevent: cut");
    let peer = Peer::saying(text).await;
    let mut events = open().call(Call::get(peer.url()).limits(limits)).await.unwrap().events().unwrap();
    let first = events.next().await.unwrap().unwrap();
    assert_eq!((first.event.as_deref(), first.data.as_str()), (Some("task"), "{\"a\":\n1}"));
    let second = events.next().await.unwrap().unwrap();
    assert_eq!((second.event.as_deref(), second.data.as_str()), (None, "b"));
    assert_eq!(second.id.as_deref(), Some("1"));
    assert_eq!(events.next().await.unwrap(), None);
}

fn json_answer(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/a2a+json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

// sec/A06, X6; the control is in the test: JSON of an ordinary size is read
#[tokio::test]
async fn json_that_is_too_deep_or_has_too_many_keys_is_refused_before_it_is_built() {
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let keys: Vec<String> = (0..1_000_000).map(|number| format!("\"{number}\":0")).collect();
    let many = format!("{{{}}}", keys.join(","));
    drop(keys);
    let limits = CallLimits { body_bytes: 32 << 20, ..short() };
    for (body, what) in [(deep, "nested"), (many, "values")] {
        let peer = Peer::saying(json_answer(&body)).await;
        let answer = open().call(Call::get(peer.url()).limits(limits)).await.unwrap();
        let error = answer.json::<serde_json::Value>().await.unwrap_err();
        assert!(matches!(bad(error.clone()), BadAnswer::Json(_)), "{error}");
        assert!(error.to_string().contains(what), "{error}");
    }
    // Control
    let peer = Peer::saying(json_answer(r#"{"a":[1,{"b":2}]}"#)).await;
    let answer = open().call(Call::get(peer.url()).limits(limits)).await.unwrap();
    assert_eq!(answer.json::<serde_json::Value>().await.unwrap()["a"][1]["b"], 2);
}

// sec/A06, X6; the control is in the test: fewer headers are taken
#[tokio::test]
async fn headers_are_counted() {
    let head = |count: usize| {
        let lines: String =
            (0..count).map(|number| format!("x-{number}: {}\r\n", "y".repeat(1_000))).collect();
        format!("HTTP/1.1 200 OK\r\n{lines}content-length: 0\r\n\r\n")
    };
    let peer = Peer::saying(head(50)).await;
    let error = open().call(Call::get(peer.url())).await.unwrap_err();
    assert_eq!(bad(error), BadAnswer::HeaderBytes(32 << 10));
    let endless = Peer::new(|stream| pour(stream, "HTTP/1.1 200 OK\r\nx: ", &ZEROS, 163_840)).await;
    let before = resident_bytes();
    open().call(Call::get(endless.url())).await.unwrap_err();
    assert!(resident_bytes().saturating_sub(before) < MAX_GROWTH);
    // Control
    let peer = Peer::saying(head(10)).await;
    open().call(Call::get(peer.url())).await.unwrap();
}
