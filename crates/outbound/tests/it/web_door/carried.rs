//! What is carried, how it is counted, who is asked, and where it ends.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use warren_model::NetworkScheme;
use warren_outbound::web_door::{DoorLimits, DoorOutcome, DoorRecord, PersonSays, RefusalCause};

use super::bed::{Bed, PEER, read_all};

async fn records(bed: &Bed, count: usize) -> Vec<DoorRecord> {
    for _ in 0..500 {
        let records = bed.keeper.records.lock().unwrap().clone();
        if records.len() >= count {
            return records;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{:?}", bed.keeper.records.lock().unwrap());
}

fn get(url: &str, host: &str, more: &str) -> String {
    format!("GET {url} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n")
}

// A81
#[tokio::test]
async fn every_connection_is_recorded_with_its_host_and_bytes_and_without_its_path() {
    let bed = Bed::new().await;
    let r = bed.plain_port();
    assert!(bed.get_by_tls().await.ends_with("hello"));
    let first = records(&bed, 1).await.remove(0);
    assert_eq!(first.to.as_ref().unwrap().to_string(), format!("{PEER}:{}", bed.port()));
    assert_eq!((first.scheme, &first.outcome), (NetworkScheme::Https, &DoorOutcome::Closed));
    assert_eq!(first.sent, bed.peer.bytes());
    assert!(first.received > 500, "{first:?}");

    let host = format!("plain.example:{r}");
    bed.send(get(
        &format!("http://{host}/secret-path?token=s3cret"),
        &host,
        "Authorization: Bearer s3cret\r\n",
    ))
    .await;
    bed.send(get("http://evil.example/secret-path?token=s3cret", "evil.example", "")).await;
    let all = records(&bed, 3).await;
    assert_eq!((all[1].scheme, all[1].received), (NetworkScheme::Http, 5));
    let DoorOutcome::Refused(refusal) = &all[2].outcome else { panic!("{all:?}") };
    assert_eq!((refusal.status, refusal.cause), (403, RefusalCause::NotGranted));
    let told = format!("{all:?}");
    assert!(!told.contains("secret-path") && !told.contains("s3cret"), "{told}");
    // Control: it did arrive.
    assert!(bed.plain.heads()[0].contains("/secret-path?token=s3cret"));
}

// A81: where it is not granted, a program's output says so in one sentence
#[tokio::test]
async fn a_refusal_names_the_host_and_what_to_write() {
    let bed = Bed::new().await;
    let answer = bed.send("CONNECT pypi.org:443 HTTP/1.1\r\nHost: pypi.org:443\r\n\r\n").await;
    let sentence = "Warren: pypi.org:443 is not granted to this workspace; allow \"pypi.org\" in its network policy (warren ws set --network)";
    assert!(answer.starts_with(&format!("HTTP/1.1 403 {sentence}\r\n")), "{answer}");
    assert!(answer.ends_with(&format!("\r\n\r\n{sentence}\n")), "{answer}");
    assert!(answer.contains("warren-refused: not_granted\r\n"), "{answer}");
    // Whether a granted name exists inside is not told apart.
    let target = |name: &str| format!("{name}:{}", bed.port());
    let inside = bed.tunnel("inside.example").await.unwrap_err();
    assert!(inside.contains("leads to no address that a workspace may reach"), "{inside} {}", target("x"));
}

// A81; the controls are in the test
#[tokio::test]
async fn warren_makes_the_tls_connection_where_methods_and_paths_are_granted() {
    let bed = Bed::new().await;
    let p = bed.port();
    let bed = bed.granting(json!({ "allow": [
        { "host": PEER, "port": p, "scheme": "secured", "methods": ["GET", "POST"], "paths": ["/org/"] },
    ] }));
    let host = format!("{PEER}:{p}");
    let answer = bed.send(get(&format!("http://{host}/org/a?b"), &host, "Accept: x/y\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("hello"), "{answer}");
    let head = bed.peer.heads().remove(0).to_lowercase();
    assert!(head.starts_with("get /org/a?b http/1.1\r\n") && head.contains("accept: x/y\r\n"), "{head}");
    assert!(head.contains(&format!("host: {host}\r\n")), "{head}");
    for (method, path, words) in [
        ("DELETE", "/org/a", "DELETE to"),
        ("GET", "/other", "this path"),
        ("GET", "/org/../other", "this path"),
        ("GET", "/org/%2e%2e/other", "this path"),
        ("GET", "/org/..%2fother", "this path"),
    ] {
        let request = format!("{method} http://{host}{path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        let answer = bed.send(request).await;
        assert!(
            answer.starts_with("HTTP/1.1 403 Warren: ") && answer.contains(words),
            "{method} {path}: {answer}"
        );
    }
    // No tunnel, in which neither could be held.
    assert!(bed.tunnel(PEER).await.unwrap_err().starts_with("HTTP/1.1 403 "));
    // A method that is written into a header does not arrive.
    let body = "Content-Length: 2\r\nX-HTTP-Method-Override: DELETE\r\n\r\nok";
    let answer = bed.send(format!("POST http://{host}/org/ HTTP/1.1\r\nHost: {host}\r\n{body}")).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    let head = bed.peer.heads().pop().unwrap().to_lowercase();
    assert!(head.ends_with("\r\n\r\nok") && !head.contains("override"), "{head}");
    assert_eq!(bed.peer.heads().len(), 2);
}

// A81; the control is in the test: plain HTTP never carries it
#[tokio::test]
async fn a_credential_is_put_in_by_warren_for_its_origin_alone() {
    let answering = Arc::new(|request: &str| {
        let place = request.split(' ').nth(1).unwrap_or_default();
        let host = request.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
        match place {
            "/moved" => format!("HTTP/1.1 301 Moved\r\nlocation: https://{host}/new\r\nstrict-transport-security: max-age=9\r\ncontent-length: 0\r\n\r\n"),
            "/away" => "HTTP/1.1 301 Moved\r\nlocation: https://evil.example/x\r\ncontent-length: 0\r\n\r\n".to_owned(),
            _ => "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello".to_owned(),
        }
        .into_bytes()
    });
    let bed = Bed::with(answering, DoorLimits::default()).await;
    *bed.keeper.token.lock().unwrap() = Some("s3cret".to_owned());
    let host = format!("{PEER}:{}", bed.port());
    let answer =
        bed.send(get(&format!("http://{host}/"), &host, "Authorization: Bearer of-the-box\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && !answer.contains("s3cret"), "{answer}");
    let head = bed.peer.heads().remove(0).to_lowercase();
    assert!(
        head.contains("authorization: basic eC1hY2Nlc3MtdG9rZW46czNjcmV0\r\n".to_lowercase().as_str()),
        "{head}"
    );
    assert!(!head.contains("of-the-box"), "{head}");
    // Places at the same origin are told as the box asks for them; others stay, and are judged when they are asked for.
    let moved = bed.send(get(&format!("http://{host}/moved"), &host, "")).await;
    assert!(moved.contains(&format!("location: http://{host}/new\r\n")), "{moved}");
    assert!(!moved.contains("strict-transport-security"), "{moved}");
    let away = bed.send(get(&format!("http://{host}/away"), &host, "")).await;
    assert!(away.contains("location: https://evil.example/x\r\n"), "{away}");

    let host = format!("plain.example:{}", bed.plain_port());
    bed.send(get(&format!("http://{host}/"), &host, "")).await;
    assert!(!bed.plain.heads()[0].to_lowercase().contains("authorization"));
    let told = format!("{:?}", records(&bed, 4).await);
    assert!(!told.contains("s3cret"));
}

// A81, X51; the control is in the test: what is granted is not asked about
#[tokio::test]
async fn a_host_that_is_not_named_waits_for_a_person() {
    let bed = Bed::new().await;
    let (p, r) = (bed.port(), bed.plain_port());
    let bed = bed.granting(
        json!({ "allow": [{ "host": "plain.example", "port": r, "scheme": "http" }], "ask": true }),
    );
    // Nothing goes out while nobody has decided.
    let mut stream = bed.connect();
    stream
        .write_all(format!("CONNECT {PEER}:{p} HTTP/1.1\r\nHost: {PEER}:{p}\r\n\r\n").as_bytes())
        .await
        .unwrap();
    let early = tokio::time::timeout(Duration::from_millis(200), stream.read(&mut [0; 64])).await;
    assert!(early.is_err(), "it waits");
    assert_eq!((bed.peer.connections(), bed.names.asked().len()), (0, 0));
    *bed.keeper.says.lock().unwrap() = Some(PersonSays::Granted);
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
    assert_eq!(*bed.keeper.questions.lock().unwrap(), [format!("https {PEER}:{p}")]);

    for (says, words) in [
        (PersonSays::Denied, "a person denied"),
        (PersonSays::Nothing, "nobody has decided"),
        (PersonSays::NotAsked, "nobody could be asked"),
    ] {
        *bed.keeper.says.lock().unwrap() = Some(says);
        let answer =
            bed.send(get(&format!("http://evil.example:{r}/"), &format!("evil.example:{r}"), "")).await;
        assert!(answer.starts_with("HTTP/1.1 403 Warren: ") && answer.contains(words), "{answer}");
        bed.nothing_leaked(words);
    }
    let asked = bed.keeper.questions.lock().unwrap().len();
    let host = format!("plain.example:{r}");
    assert!(bed.send(get(&format!("http://{host}/"), &host, "")).await.ends_with("hello"));
    // Some things nobody is asked about.
    for target in ["127.0.0.1:443", "localhost:443", "evil.example:25", "metadata.google.internal.:80"] {
        let answer = bed.send(format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n")).await;
        assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    }
    assert_eq!(bed.keeper.questions.lock().unwrap().len(), asked);
    // Whoever hangs up waits no longer, and frees the place.
    *bed.keeper.says.lock().unwrap() = None;
    for _ in 0..DoorLimits::default().connections + 10 {
        let mut stream = bed.connect();
        stream
            .write_all(b"CONNECT other.example:443 HTTP/1.1\r\nHost: other.example:443\r\n\r\n")
            .await
            .unwrap();
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(bed.send(get(&format!("http://{host}/"), &host, "")).await.ends_with("hello"));
}

// A81: limits
#[tokio::test]
async fn a_box_has_so_many_connections_and_each_so_much_time() {
    let limits = DoorLimits {
        connections: 3,
        head: Duration::from_millis(300),
        idle: Duration::from_millis(300),
        whole: Duration::from_secs(2),
        bytes: 100_000,
    };
    let bed = Bed::with(
        Arc::new(|_: &str| {
            format!("HTTP/1.1 200 OK\r\ncontent-length: 200000\r\n\r\n{}", "x".repeat(200_000)).into_bytes()
        }),
        limits,
    )
    .await;
    let waiting: Vec<_> = (0..3).map(|_| bed.connect()).collect();
    tokio::task::yield_now().await;
    let host = format!("plain.example:{}", bed.plain_port());
    let answer = bed.send(get(&format!("http://{host}/"), &host, "")).await;
    assert!(answer.starts_with("HTTP/1.1 503 Warren: this workspace has 3 connections already"), "{answer}");
    for mut stream in waiting {
        assert!(read_all(&mut stream).await.starts_with("HTTP/1.1 408 "), "a head has to come");
    }
    // Too much, either way.
    let answer = bed.send(get(&format!("http://{host}/"), &host, "")).await;
    assert!(
        answer.len() < 150_000 && answer.starts_with("HTTP/1.1 200 OK\r\ncontent-length: 200000"),
        "{}",
        answer.len()
    );
    // A tunnel in which nothing happens ends.
    let stream = bed.tunnel(PEER).await.unwrap();
    let name = rustls::pki_types::ServerName::try_from(PEER).unwrap();
    let mut stream = super::bed::tls_client().connect(name, stream).await.unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(2), stream.read(&mut [0; 8])).await;
    assert!(matches!(ended, Ok(Ok(0) | Err(_))), "{ended:?}");
    let outcomes: Vec<_> = records(&bed, 6).await.into_iter().map(|record| record.outcome).collect();
    assert_eq!(outcomes[5], DoorOutcome::Cut("nothing was carried for too long"), "{outcomes:?}");
    assert_eq!(outcomes[4], DoorOutcome::Cut("one side broke off"));
}

// A81: bodies pass unchanged, however they are framed
#[tokio::test]
async fn bodies_pass_whole_and_in_one_framing() {
    let answering = Arc::new(|request: &str| {
        let body = request.split_once("\r\n\r\n").map(|(_, body)| body.len()).unwrap_or_default();
        format!(
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nkeep-alive: 5\r\n\r\n{:x}\r\n{}\r\n0\r\n\r\n",
            body.max(1),
            "y".repeat(body.max(1))
        )
        .into_bytes()
    });
    let bed = Bed::with(answering, DoorLimits::default()).await;
    let host = format!("plain.example:{}", bed.plain_port());
    let post = format!("POST http://{host}/ HTTP/1.1\r\nHost: {host}\r\n");
    let large = "z".repeat(300_000);
    let answer = bed.send(format!("{post}Content-Length: {}\r\n\r\n{large}", large.len())).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("transfer-encoding: chunked") && !head.contains("keep-alive"), "{head}");
    assert!(head.ends_with("connection: close") && body.ends_with("0\r\n\r\n"), "{head}");
    assert_eq!(body.matches('y').count(), 300_000);
    let sent = bed.plain.heads().remove(0).to_lowercase();
    assert!(sent.contains("content-length: 300000\r\n") && sent.ends_with(&large), "{}", sent.len());
    // With an expectation, and chunks; and an old client is not given any.
    let chunked = format!(
        "{post}Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    );
    let answer = bed.send(chunked).await;
    assert!(answer.starts_with("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"), "{answer}");
    let sent = bed.plain.heads().remove(1).to_lowercase();
    assert!(sent.contains("transfer-encoding: chunked") && !sent.contains("expect:"), "{sent}");
    let old = bed.send(format!("GET http://{host}/ HTTP/1.0\r\n\r\n")).await;
    assert!(!old.contains("chunked") && old.ends_with("\r\n\r\ny"), "{old}");
}
