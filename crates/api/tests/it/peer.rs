//! A peer that takes one request per connection and answers with the bytes it was given.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

/// What the peer was asked.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Seen {
    pub(crate) fn line(&self) -> &str {
        self.head.lines().next().unwrap_or_default()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

pub(crate) struct Peer {
    pub(crate) url: String,
    thread: JoinHandle<Vec<Seen>>,
}

impl Peer {
    /// Answers the n-th request with the n-th list of pieces, each sent by itself, and closes.
    pub(crate) fn start(answers: Vec<Vec<Vec<u8>>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let thread = std::thread::spawn(move || {
            let serve = |pieces: Vec<Vec<u8>>| {
                let (mut stream, _) = listener.accept().unwrap();
                stream.set_nodelay(true).unwrap();
                let seen = read_request(&mut stream);
                for piece in pieces {
                    stream.write_all(&piece).unwrap();
                    stream.flush().unwrap();
                }
                seen
            };
            answers.into_iter().map(serve).collect()
        });
        Self { url, thread }
    }

    pub(crate) fn seen(self) -> Vec<Seen> {
        self.thread.join().unwrap()
    }
}

pub(crate) fn answer(status: &str, headers: &str, body: &str) -> Vec<Vec<u8>> {
    let length = body.len();
    vec![
        format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}")
            .into_bytes(),
    ]
}

pub(crate) fn json(status: &str, body: &str) -> Vec<Vec<u8>> {
    answer(status, "content-type: application/json\r\n", body)
}

fn read_request(stream: &mut TcpStream) -> Seen {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        read_more(stream, &mut bytes);
    };
    let seen = Seen { head: String::from_utf8(bytes[..end].to_vec()).unwrap(), body: Vec::new() };
    let is_chunked = seen.header("transfer-encoding") == Some("chunked");
    let length: usize = seen.header("content-length").map_or(0, |value| value.parse().unwrap());
    let is_whole = |body: &[u8]| {
        if is_chunked { body.ends_with(b"0\r\n\r\n") } else { body.len() >= length }
    };
    while !is_whole(&bytes[end..]) {
        read_more(stream, &mut bytes);
    }
    Seen { body: bytes[end..].to_vec(), ..seen }
}

fn read_more(stream: &mut TcpStream, bytes: &mut Vec<u8>) {
    let mut piece = [0; 4096];
    let count = stream.read(&mut piece).unwrap();
    assert!(count > 0, "the request ended early");
    bytes.extend_from_slice(&piece[..count]);
}
