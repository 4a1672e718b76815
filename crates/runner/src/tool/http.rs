//! One POST to the tool door. HTTP/1.0, so that the end of the answer is the end of the connection.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use serde_json::Value;
use warren_line::Door;

const MAX_ANSWER_BYTES: u64 = 16 << 20;
/// Longer than any tool waits.
const PATIENCE: Duration = Duration::from_secs(3_700);

pub(super) fn post(body: &str) -> Result<Value, String> {
    let port = Door::Tools.port();
    let unreachable =
        |error: std::io::Error| format!("Warren cannot be reached through port {port}: {error}");
    let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).map_err(unreachable)?;
    connection.set_read_timeout(Some(PATIENCE)).map_err(unreachable)?;
    let head = format!(
        "POST /mcp HTTP/1.0\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    connection
        .write_all(head.as_bytes())
        .and_then(|()| connection.write_all(body.as_bytes()))
        .map_err(unreachable)?;
    let mut answer = Vec::new();
    connection.take(MAX_ANSWER_BYTES).read_to_end(&mut answer).map_err(unreachable)?;
    read(&answer).ok_or_else(|| "Warren's answer could not be read".to_owned())
}

fn read(answer: &[u8]) -> Option<Value> {
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&answer[..end]).ok()?;
    if !head.starts_with("HTTP/1.") {
        return None;
    }
    let body = std::str::from_utf8(&answer[end + 4..]).ok()?;
    // A stream of one event, where progress was told.
    let event = body.lines().filter_map(|line| line.strip_prefix("data:")).next_back();
    serde_json::from_str(event.unwrap_or(body).trim()).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // X23
    #[test]
    fn an_answer_is_read_as_it_is_or_as_an_event() {
        let plain = b"HTTP/1.0 200 OK\r\ncontent-type: application/json\r\n\r\n{\"result\":1}";
        assert_eq!(read(plain), Some(json!({ "result": 1 })));
        let event = b"HTTP/1.0 200 OK\r\n\r\n: hello\n\ndata: {\"a\":1}\n\ndata: {\"result\":2}\n\n";
        assert_eq!(read(event), Some(json!({ "result": 2 })));
        for bad in [&b""[..], b"HTTP/1.0 200 OK\r\n", b"SSH-2.0\r\n\r\n{}", b"HTTP/1.0 200 OK\r\n\r\nhello"] {
            assert_eq!(read(bad), None);
        }
    }
}
