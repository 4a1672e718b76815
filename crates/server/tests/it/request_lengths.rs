//! Requests whose length can be read in two ways.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

// sec/A07; the control is in the test: a plain length is served
#[tokio::test]
async fn a_request_to_us_whose_length_is_unclear_is_refused() {
    let warren = warren_testkit::Warren::start().await;
    let ask = async |lengths: &str, connection: &str| {
        let mut stream = tokio::net::TcpStream::connect(warren.address).await.unwrap();
        let request = format!(
            "POST /api/v1/registry/heartbeat HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\nconnection: {connection}\r\n{lengths}\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n",
            warren.address
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer).await;
        answer
    };
    for lengths in [
        "content-length: 5\r\ncontent-length: 6\r\n",
        "content-length: 5, 6\r\n",
        "content-length: +5\r\n",
        "transfer-encoding: chunked, identity\r\n",
        "transfer-encoding: \x0bchunked\r\n",
        "transfer-encoding : chunked\r\n",
        "content-length: 5\r\ntransfer-encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
    ] {
        // Also a connection that would be kept is closed, and what follows is not read as a request.
        let answer = ask(lengths, "keep-alive").await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{lengths:?}: {answer}");
        assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{answer}");
    }
    // Control
    for lengths in ["content-length: 5\r\n", "transfer-encoding: chunked\r\n"] {
        let answer = ask(lengths, "close").await;
        assert!(answer.starts_with("HTTP/1.1 401"), "{lengths:?}: {answer}");
    }
    warren.stop().await;
}
