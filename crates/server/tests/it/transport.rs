//! The socket's edge: slow, large and strange clients.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use warren_model::Limits;
use warren_testkit::Warren;

/// Reads until the server closes; panics if it does not.
async fn read_to_close(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let reading = stream.read_to_end(&mut bytes);
    match tokio::time::timeout(Duration::from_secs(20), reading).await {
        Ok(_) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(_) => panic!("the server keeps the connection: {}", String::from_utf8_lossy(&bytes)),
    }
}

fn impatient() -> Limits {
    Limits { header_timeout_ms: 300, body_timeout_ms: 300, ..Limits::default() }
}

// S22, sec/W05
#[tokio::test]
async fn slow_clients_are_closed_and_others_are_served_meanwhile() {
    let warren = Warren::builder().limits(impatient()).start().await;
    let head = format!("GET /healthz HTTP/1.1\r\nHost: {}\r\n", warren.address);
    let body = format!(
        "POST /api/v1/sign-in HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{{",
        warren.address
    );
    let shapes = [String::new(), "GET /".to_owned(), head, body];
    let started = Instant::now();
    let address = warren.address;
    let slow = shapes.into_iter().map(|shape| async move {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(shape.as_bytes()).await.unwrap();
        read_to_close(&mut stream).await
    });
    let served = async {
        let answer = warren.call("GET", "/healthz").send().await;
        assert_eq!(answer.status, 200);
    };
    let (answers, ()) = tokio::join!(futures_util::future::join_all(slow), served);
    assert!(answers[3].contains("408"), "a body that does not come is told: {}", answers[3]);
    assert!(started.elapsed() >= Duration::from_millis(250), "they were given their time");
}

// S22, X32: most clients look for an answer only when all is sent
#[tokio::test]
async fn a_client_that_goes_on_with_what_was_refused_still_reads_why() {
    let warren = Warren::start().await;
    let piece = vec![b'a'; 64 << 10];
    let head = format!(
        "POST /api/v1/workspaces HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer wrong\r\nContent-Length: {}\r\n\r\n",
        warren.address,
        piece.len() * 256
    );
    let mut stream = TcpStream::connect(warren.address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    for _ in 0..256 {
        stream.write_all(&piece).await.expect("it is taken");
    }
    let answer = read_to_close(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
}

// S22: whoever keeps connections must know which one ends
#[tokio::test]
async fn an_answer_to_a_request_that_was_not_read_says_that_the_connection_ends() {
    let warren = Warren::start().await;
    let head = |token: &str| {
        format!(
            "POST /api/v1/workspaces HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: 2\r\n\r\n",
            warren.address
        )
    };
    for body in ["", "{}"] {
        let mut stream = TcpStream::connect(warren.address).await.unwrap();
        stream.write_all((head("wrong") + body).as_bytes()).await.unwrap();
        let answer = read_to_close(&mut stream).await.to_lowercase();
        assert!(answer.starts_with("http/1.1 401") && answer.contains("connection: close"), "{answer}");
    }
    // A refusal of what was read ends nothing: the next request is answered on the same connection.
    let mut stream = TcpStream::connect(warren.address).await.unwrap();
    let next = format!("GET /healthz HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", warren.address);
    stream.write_all((head(&warren.token) + "{}" + &next).as_bytes()).await.unwrap();
    let answers = read_to_close(&mut stream).await;
    let statuses: Vec<_> =
        answers.match_indices("HTTP/1.1 ").map(|(at, _)| &answers[at + 9..at + 12]).collect();
    assert_eq!(statuses, ["400", "200"], "{answers}");
}

// S22: a client that drips one byte at a time does not win time
#[tokio::test]
async fn a_dripping_head_is_closed_at_its_deadline() {
    let warren = Warren::builder().limits(impatient()).start().await;
    let mut stream = TcpStream::connect(warren.address).await.unwrap();
    let dripping = async {
        loop {
            if stream.write_all(b"G").await.is_err() {
                return;
            }
            let mut byte = [0; 1];
            tokio::select! {
                read = stream.read(&mut byte) => if matches!(read, Ok(0) | Err(_)) { return },
                () = tokio::time::sleep(Duration::from_millis(20)) => {}
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), dripping).await.expect("the server closes it");
}

// S22, sec/W06
#[tokio::test]
async fn heads_are_limited_in_size_and_number() {
    let warren = Warren::start().await;
    let base = format!("GET /healthz HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", warren.address);
    let long = format!("{base}X-Long: {}\r\n\r\n", "x".repeat(300_000));
    let many = format!("{base}{}\r\n", "X-Many: 1\r\n".repeat(101));
    let fine = format!("{base}{}\r\n", "X-Many: 1\r\n".repeat(90));
    for (request, status) in [(long, "431"), (many, "431"), (fine, "200")] {
        let mut stream = TcpStream::connect(warren.address).await.unwrap();
        let _ = stream.write_all(request.as_bytes()).await;
        let answer = read_to_close(&mut stream).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{status}: {}",
            &answer[..answer.len().min(80)]
        );
    }
}

// S22: connections are bounded; the place is free again afterwards
#[tokio::test]
async fn connections_beyond_the_limit_are_closed_at_once() {
    let limits = Limits { max_connections: 2, header_timeout_ms: 60_000, ..Limits::default() };
    let warren = Warren::builder().limits(limits).start().await;
    let first = TcpStream::connect(warren.address).await.unwrap();
    let second = TcpStream::connect(warren.address).await.unwrap();
    let mut third = TcpStream::connect(warren.address).await.unwrap();
    assert_eq!(read_to_close(&mut third).await, "");
    drop((first, second));
    let served = async {
        loop {
            let mut stream = TcpStream::connect(warren.address).await.unwrap();
            let request =
                format!("GET /healthz HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", warren.address);
            if stream.write_all(request.as_bytes()).await.is_ok()
                && read_to_close(&mut stream).await.starts_with("HTTP/1.1 200")
            {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), served).await.expect("the place is free again");
}

// F31, sec/W01
#[tokio::test]
async fn strange_hosts_and_origins_are_refused_on_every_kind_of_route() {
    let warren = Warren::start().await;
    for path in ["/", "/healthz", "/api/v1/workspaces", "/api/v1/events", "/metrics"] {
        let strange =
            warren.call("GET", path).token(&warren.token).header("host", "evil.example").send().await;
        assert_eq!((strange.status, strange.code()), (403, "host_not_allowed".into()), "{path}");
        let foreign = warren.call("GET", path).token(&warren.token).header("origin", "http://evil.example");
        assert_eq!(foreign.send().await.code(), "origin_not_allowed", "{path}");
    }
    let cross = warren.call("POST", "/api/v1/workspaces").token(&warren.token);
    let cross = cross.header("sec-fetch-site", "cross-site").json(&serde_json::json!({})).send().await;
    assert_eq!(cross.code(), "origin_not_allowed");
    let none = warren.call("GET", "/healthz").send().await;
    assert!(none.header("access-control-allow-origin").is_none());
}

// O4
#[tokio::test]
async fn a_request_in_flight_is_finished_before_the_server_stops() {
    let warren = Warren::start().await;
    let id = warren.workspace(crate::local()).await;
    let call = warren.call("POST", &format!("/api/v1/workspaces/{id}/exec")).token(&warren.token);
    let script = "touch begun; while [ ! -e go ]; do sleep 0.01; done; echo done";
    let running = tokio::spawn(call.json(&serde_json::json!({ "command": script })).send());
    let place = warren.folder().join("workspaces").join(id.to_string());
    while !place.join("begun").exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    warren.begin_stop();
    let address = warren.address;
    let closed = async {
        while TcpStream::connect(address).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), closed).await.expect("no new connections");
    std::fs::write(place.join("go"), "").unwrap();
    let answer = running.await.unwrap();
    assert_eq!((answer.status, &answer.json()["stdout"]), (200, &serde_json::json!("done\n")));
    warren.stop().await;
}

// S22, sec/W05: an upload must make progress, piece by piece and as a whole
#[tokio::test]
async fn a_dripping_upload_is_ended() {
    let warren = Warren::builder().limits(impatient()).start().await;
    let id = warren.workspace(crate::memory()).await;
    let mut stream = TcpStream::connect(warren.address).await.unwrap();
    let head = format!(
        "PUT /api/v1/workspaces/{id}/files?path=slow HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
         Content-Length: 100000\r\n\r\n",
        warren.address, warren.token
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let (mut reader, mut writer) = stream.into_split();
    let dripping = tokio::spawn(async move {
        while writer.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    let mut answer = vec![0; 64];
    let read = tokio::time::timeout(Duration::from_secs(20), reader.read(&mut answer)).await;
    let read = read.expect("an answer before the body is whole").unwrap();
    assert!(answer[..read].starts_with(b"HTTP/1.1 408"), "{}", String::from_utf8_lossy(&answer[..read]));
    dripping.abort();
    let listing = warren.get(&format!("/api/v1/workspaces/{id}/files")).await.json();
    assert_eq!(listing["entries"], serde_json::json!([]));
}
