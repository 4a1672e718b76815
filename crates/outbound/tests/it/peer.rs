//! Peers that behave as a test says, byte by byte, and names that lead where it says.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use warren_outbound::{CallLimits, Connector, OutboundPolicy, Resolver};

/// A peer on this machine. It ends with its value.
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    hits: Arc<AtomicUsize>,
    heads: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Peer {
    /// Reads one request, and then does with the connection as it is told.
    pub(crate) async fn new<F, Fut>(act: F) -> Self
    where
        F: Fn(TcpStream) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        Self::at("127.0.0.1:0".parse().unwrap(), act).await
    }

    pub(crate) async fn at<F, Fut>(address: SocketAddr, act: F) -> Self
    where
        F: Fn(TcpStream) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind(address).await.expect("an address of this machine");
        let address = listener.local_addr().unwrap();
        let (hits, heads) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
        let (counted, kept, act) = (Arc::clone(&hits), Arc::clone(&heads), Arc::new(act));
        let task = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                let (kept, act) = (Arc::clone(&kept), Arc::clone(&act));
                tokio::spawn(async move {
                    let head = read_request(&mut stream).await;
                    kept.lock().unwrap().push(head);
                    act(stream).await;
                });
            }
        });
        Self { address, hits, heads, task }
    }

    /// Always the same bytes, and then the end.
    pub(crate) async fn saying(answer: impl Into<Vec<u8>>) -> Self {
        let answer = Arc::new(answer.into());
        Self::new(move |stream| say(stream, Arc::clone(&answer))).await
    }

    pub(crate) async fn ok() -> Self {
        Self::saying("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}").await
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// How many connections there were.
    pub(crate) fn hits(&self) -> usize {
        self.hits.load(Ordering::SeqCst)
    }

    /// What arrived, request by request, in small letters.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.raw_heads().iter().map(|head| head.to_lowercase()).collect()
    }

    /// What arrived, request by request.
    pub(crate) fn raw_heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn say(mut stream: TcpStream, answer: Arc<Vec<u8>>) {
    let _ = stream.write_all(&answer).await;
    let _ = stream.shutdown().await;
}

/// The head, and as much body as it announces.
async fn read_request(stream: &mut TcpStream) -> String {
    let (mut seen, mut buffer) = (Vec::new(), [0; 4096]);
    while !is_whole(&seen) {
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => break,
            Ok(count) => seen.extend_from_slice(&buffer[..count]),
        }
    }
    String::from_utf8_lossy(&seen).into_owned()
}

fn is_whole(seen: &[u8]) -> bool {
    let Some(end) = seen.windows(4).position(|window| window == b"\r\n\r\n") else { return false };
    let head = String::from_utf8_lossy(&seen[..end]).to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    seen.len() >= end + 4 + length.map_or(0, |text| text.parse::<usize>().unwrap())
}

/// Answers in turn, the last one for ever.
#[derive(Debug)]
pub(crate) struct Script {
    answers: Mutex<VecDeque<Vec<IpAddr>>>,
    pub(crate) asked: AtomicUsize,
}

impl Script {
    pub(crate) fn of(answers: &[&[&str]]) -> Arc<Self> {
        let parse = |texts: &&[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        Arc::new(Self {
            answers: Mutex::new(answers.iter().map(parse).collect()),
            asked: AtomicUsize::new(0),
        })
    }
}

#[async_trait]
impl Resolver for Script {
    async fn look_up(&self, _name: &str) -> io::Result<Vec<IpAddr>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let mut answers = self.answers.lock().unwrap();
        let answer = answers.pop_front().unwrap_or_default();
        if answers.is_empty() {
            answers.push_back(answer.clone());
        }
        Ok(answer)
    }
}

/// A policy that opens these blocks, and connects quickly or not at all.
pub(crate) fn opening(blocks: &[&str]) -> OutboundPolicy {
    OutboundPolicy {
        allow_private: blocks.iter().map(|text| text.parse().unwrap()).collect(),
        connect_timeout_ms: 2_000,
    }
}

/// A connector that reaches this machine.
pub(crate) fn open() -> Connector {
    Connector::with_system_names(opening(&["127.0.0.0/8"]))
}

pub(crate) fn short() -> CallLimits {
    CallLimits {
        first_byte: Duration::from_secs(10),
        idle: Duration::from_millis(300),
        whole: Duration::from_secs(20),
        ..CallLimits::default()
    }
}
