//! A call to a program on loopback: HTTP/1.1, JSON both ways, one request per connection.
//!
//! Written by hand since the runner is in every box, and a client for the whole of HTTP would be most of it.

use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Of an answer, with its head.
const MAX_ANSWER_BYTES: usize = 8 << 20;

/// Where a program listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LoopbackUrl {
    port: u16,
    path: String,
}

impl LoopbackUrl {
    /// `http://127.0.0.1:PORT/PATH`, or the same with `localhost`.
    pub(crate) fn parse(url: &str) -> Option<Self> {
        let rest = url.strip_prefix("http://127.0.0.1:").or_else(|| url.strip_prefix("http://localhost:"))?;
        let (port, path) = rest.split_once('/').unwrap_or((rest, ""));
        let is_plain = path.bytes().all(|byte| byte.is_ascii_graphic());
        is_plain
            .then_some(Self { port: port.parse().ok().filter(|port| *port > 0)?, path: format!("/{path}") })
    }

    pub(crate) async fn connect(&self) -> std::io::Result<TcpStream> {
        TcpStream::connect(("127.0.0.1", self.port)).await
    }

    /// Sends a document and returns the one that is answered.
    pub(crate) async fn post(&self, body: &Value, patience: Duration) -> Result<Value, String> {
        let call = async {
            let mut stream = self.connect().await.map_err(|error| format!("it cannot be called: {error}"))?;
            let body = body.to_string();
            let head = format!(
                "POST {} HTTP/1.1\r\nhost: 127.0.0.1:{}\r\ncontent-type: application/json\r\n\
                 accept: application/json\r\na2a-version: 1.0\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
                self.path,
                self.port,
                body.len()
            );
            let sent = async {
                stream.write_all(head.as_bytes()).await?;
                stream.write_all(body.as_bytes()).await?;
                let mut answer = Vec::new();
                stream.take(MAX_ANSWER_BYTES as u64 + 1).read_to_end(&mut answer).await?;
                Ok::<_, std::io::Error>(answer)
            };
            let answer = sent.await.map_err(|error| format!("the call broke off: {error}"))?;
            if answer.len() > MAX_ANSWER_BYTES {
                return Err(format!("its answer has more than {MAX_ANSWER_BYTES} bytes"));
            }
            let (status, body) = read_answer(&answer).ok_or("its answer is not HTTP")?;
            match serde_json::from_slice(&body) {
                Ok(document) => Ok(document),
                Err(_) => Err(format!("it answered {status}: {}", head_of(&body))),
            }
        };
        match tokio::time::timeout(patience, call).await {
            Ok(answer) => answer,
            Err(_) => Err(format!("it did not answer within {} s", patience.as_secs())),
        }
    }
}

fn head_of(body: &[u8]) -> String {
    String::from_utf8_lossy(body).chars().take(500).collect()
}

/// The status and the body.
fn read_answer(answer: &[u8]) -> Option<(u16, Vec<u8>)> {
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&answer[..end]).ok()?.to_lowercase();
    let body = &answer[end + 4..];
    let mut lines = head.split("\r\n");
    let status = lines.next()?.strip_prefix("http/1.")?.split(' ').nth(1)?.parse().ok()?;
    let is_chunked = lines.any(|line| line.starts_with("transfer-encoding:") && line.contains("chunked"));
    let body = if is_chunked { join_chunks(body)? } else { body.to_vec() };
    Some((status, body))
}

fn join_chunks(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut joined = Vec::new();
    loop {
        let end = rest.windows(2).position(|window| window == b"\r\n")?;
        let size = std::str::from_utf8(&rest[..end]).ok()?.split(';').next()?.trim();
        let size = usize::from_str_radix(size, 16).ok()?;
        rest = &rest[end + 2..];
        if size == 0 {
            return Some(joined);
        }
        joined.extend_from_slice(rest.get(..size)?);
        rest = rest.get(size + 2..)?;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    // A80
    #[test]
    fn answers_are_read_whole_or_in_chunks() {
        let whole = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
        assert_eq!(read_answer(whole), Some((200, b"{}".to_vec())));
        let chunked =
            b"HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1;x=y\r\n}\r\n0\r\n\r\n";
        assert_eq!(read_answer(chunked), Some((503, b"{}".to_vec())));
        let cut = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nff\r\n{";
        assert_eq!(read_answer(cut), None);
    }

    // A80: nothing but loopback is called
    #[test]
    fn only_addresses_on_loopback_are_taken() {
        let known = LoopbackUrl::parse("http://127.0.0.1:8000/a2a/v1").unwrap();
        assert_eq!((known.port, known.path.as_str()), (8000, "/a2a/v1"));
        assert_eq!(LoopbackUrl::parse("http://localhost:80").unwrap().path, "/");
        for url in [
            "http://192.0.2.1:80/",
            "https://127.0.0.1:80/",
            "http://127.0.0.1:80@192.0.2.1/",
            "http://127.0.0.1:0/",
            "http://127.0.0.1/",
            "http://127.0.0.1:80/a b",
            "http://127.0.0.1:80/\r\nx: y",
            "",
        ] {
            assert_eq!(LoopbackUrl::parse(url), None, "{url}");
        }
    }

    proptest! {
        // A80
        #[test]
        fn nothing_that_is_answered_breaks_the_reading(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = read_answer(&bytes);
            let _ = read_answer(&[b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", &bytes[..]].concat());
        }
    }
}
