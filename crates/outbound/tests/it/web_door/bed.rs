//! A door with hosts around it, a resolver that tells what it was asked, and a keeper that says what it is told to.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, TlsConnector};
use url::Url;
use warren_model::{NetworkPolicy, NetworkScheme, WorkspaceId};
use warren_outbound::web_door::{DoorKeeper, DoorLimits, DoorRecord, PersonSays, WebDoor};
use warren_outbound::{Connector, Credential, Resolver};
use warren_rules::outbound::network::{GrantedNetwork, HostPort};

use crate::peer::opening;

pub(crate) const ROOT: &[u8] = include_bytes!("../tls/root.pem");
/// The one name that the certificate is for.
pub(crate) const PEER: &str = "peer.example";

/// Names as a test says, and which of them were asked for.
#[derive(Debug, Default)]
pub(crate) struct Names {
    answers: Mutex<BTreeMap<String, VecDeque<Vec<IpAddr>>>>,
    asked: Mutex<Vec<String>>,
}

impl Names {
    /// Answers in turn, the last one for ever.
    pub(crate) fn set(&self, name: &str, answers: &[&[&str]]) {
        let parse = |texts: &&[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        self.answers.lock().unwrap().insert(name.to_owned(), answers.iter().map(parse).collect());
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl Resolver for Names {
    async fn look_up(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        self.asked.lock().unwrap().push(name.to_owned());
        let mut answers = self.answers.lock().unwrap();
        let answers = answers.get_mut(name).ok_or(io::ErrorKind::NotFound)?;
        let answer = if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
        Ok(answer.unwrap_or_default())
    }
}

#[derive(Debug, Default)]
pub(crate) struct Keeper {
    pub(crate) says: Mutex<Option<PersonSays>>,
    pub(crate) questions: Mutex<Vec<String>>,
    pub(crate) records: Mutex<Vec<DoorRecord>>,
    pub(crate) token: Mutex<Option<String>>,
}

#[async_trait]
impl DoorKeeper for Keeper {
    async fn ask(&self, _workspace: WorkspaceId, to: &HostPort, scheme: NetworkScheme) -> PersonSays {
        self.questions.lock().unwrap().push(format!("{scheme} {to}"));
        loop {
            if let Some(says) = *self.says.lock().unwrap() {
                return says;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn credential(&self, _workspace: WorkspaceId, origin: &Url) -> Result<Option<Credential>, String> {
        let token = self.token.lock().unwrap().clone();
        Ok(token.map(|token| Credential::basic(origin, "x-access-token", &token)))
    }

    fn record(&self, _workspace: WorkspaceId, record: DoorRecord) {
        self.records.lock().unwrap().push(record);
    }
}

/// A host that counts, and answers as it is told.
pub(crate) struct Host {
    pub(crate) address: SocketAddr,
    connections: Arc<AtomicU64>,
    bytes: Arc<AtomicU64>,
    heads: Arc<Mutex<Vec<String>>>,
}

pub(crate) type Answering = Arc<dyn Fn(&str) -> Vec<u8> + Send + Sync>;

impl Host {
    pub(crate) async fn at(
        address: SocketAddr,
        tls: Option<TlsAcceptor>,
        answering: Answering,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let host = Self {
            address: listener.local_addr()?,
            connections: Arc::default(),
            bytes: Arc::default(),
            heads: Arc::default(),
        };
        let (connections, bytes, heads) =
            (Arc::clone(&host.connections), Arc::clone(&host.bytes), Arc::clone(&host.heads));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                connections.fetch_add(1, Ordering::SeqCst);
                let counted = Counted { stream, bytes: Arc::clone(&bytes) };
                let (heads, answering, tls) = (Arc::clone(&heads), Arc::clone(&answering), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(counted).await {
                                answer(stream, &heads, &answering).await;
                            }
                        }
                        None => answer(counted, &heads, &answering).await,
                    }
                });
            }
        });
        Ok(host)
    }

    pub(crate) fn connections(&self) -> u64 {
        self.connections.load(Ordering::SeqCst)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::SeqCst)
    }

    /// Requests as they arrived, with their bodies.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

async fn answer<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    heads: &Mutex<Vec<String>>,
    answering: &Answering,
) {
    loop {
        let (mut seen, mut piece) = (Vec::new(), [0; 4_096]);
        while !is_whole(&seen) {
            match stream.read(&mut piece).await {
                Ok(0) | Err(_) => return,
                Ok(count) => seen.extend_from_slice(&piece[..count]),
            }
        }
        let request = String::from_utf8_lossy(&seen).into_owned();
        let said = answering(&request);
        heads.lock().unwrap().push(request);
        if stream.write_all(&said).await.is_err() {
            return;
        }
        let _ = stream.flush().await;
    }
}

fn is_whole(seen: &[u8]) -> bool {
    let text = String::from_utf8_lossy(seen).to_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    if head.contains("transfer-encoding: chunked") {
        return body.ends_with("0\r\n\r\n");
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    body.len() >= length.map_or(0, |text| text.parse::<usize>().unwrap())
}

struct Counted {
    stream: TcpStream,
    bytes: Arc<AtomicU64>,
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
        buffer: &mut tokio::io::ReadBuf<'_>,
    ) -> std::task::Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = std::pin::Pin::new(&mut self.stream).poll_read(context, buffer);
        self.bytes.fetch_add((buffer.filled().len() - before) as u64, Ordering::SeqCst);
        polled
    }
}

impl AsyncWrite for Counted {
    fn poll_write(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
        bytes: &[u8],
    ) -> std::task::Poll<io::Result<usize>> {
        std::pin::Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<io::Result<()>> {
        std::pin::Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<io::Result<()>> {
        std::pin::Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

pub(crate) fn acceptor() -> TlsAcceptor {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let chain = vec![CertificateDer::from_pem_slice(include_bytes!("../tls/peer.pem")).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("../tls/peer.key")).unwrap();
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key).unwrap();
    TlsAcceptor::from(Arc::new(config))
}

pub(crate) fn tls_client() -> TlsConnector {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(ROOT) {
        roots.add(certificate.unwrap()).unwrap();
    }
    TlsConnector::from(Arc::new(ClientConfig::builder().with_root_certificates(roots).with_no_client_auth()))
}

pub(crate) fn hello_answer(_request: &str) -> Vec<u8> {
    b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello".to_vec()
}

/// The door and what stands around it. `peer.example:PORT` is granted as a tunnel and `plain.example:PLAIN` as plain
/// HTTP; both lead to 127.0.0.2.
pub(crate) struct Bed {
    pub(crate) door: WebDoor,
    pub(crate) network: Arc<GrantedNetwork>,
    pub(crate) names: Arc<Names>,
    pub(crate) keeper: Arc<Keeper>,
    /// By TLS, granted.
    pub(crate) peer: Host,
    /// By plain HTTP, granted.
    pub(crate) plain: Host,
    /// Not granted, on both ports, and one more port of the granted address.
    pub(crate) shut: Vec<Host>,
}

pub(crate) const WORKSPACE: WorkspaceId = WorkspaceId::from_bytes([7; 16]);

impl Bed {
    pub(crate) async fn new() -> Self {
        Self::with(
            Arc::new(hello_answer),
            DoorLimits { head: Duration::from_secs(2), ..DoorLimits::default() },
        )
        .await
    }

    pub(crate) async fn with(answering: Answering, limits: DoorLimits) -> Self {
        let nothing: Answering = Arc::new(hello_answer);
        for _ in 0..50 {
            let any: SocketAddr = "127.0.0.2:0".parse().unwrap();
            let peer = Host::at(any, Some(acceptor()), Arc::clone(&answering)).await.unwrap();
            let plain = Host::at(any, None, Arc::clone(&answering)).await.unwrap();
            let other = Host::at(any, None, Arc::clone(&nothing)).await.unwrap();
            let mut shut = vec![other];
            for address in ["127.0.0.1", "127.0.0.3"] {
                for port in [peer.address.port(), plain.address.port()] {
                    let address = SocketAddr::new(address.parse().unwrap(), port);
                    if let Ok(host) = Host::at(address, None, Arc::clone(&nothing)).await {
                        shut.push(host);
                    }
                }
            }
            if shut.len() == 5 {
                return Self::of(peer, plain, shut, limits);
            }
        }
        panic!("no ports are free on all addresses");
    }

    fn of(peer: Host, plain: Host, shut: Vec<Host>, limits: DoorLimits) -> Self {
        let names = Arc::new(Names::default());
        for granted in [PEER, "plain.example", "sub.wild.example"] {
            names.set(granted, &[&["127.0.0.2"]]);
        }
        for evil in ["evil.example", "sub.peer.example", "xpeer.example", "peer.example.evil.example"] {
            names.set(evil, &[&["127.0.0.3"]]);
        }
        names.set("inside.example", &[&["127.0.0.1"]]);
        names.set("both.example", &[&["127.0.0.2", "127.0.0.1"]]);
        names.set("mapped.example", &[&["::ffff:127.0.0.1"]]);
        names.set("metadata.example", &[&["169.254.169.254"]]);
        let (port, plain_port) = (peer.address.port(), plain.address.port());
        let mut allow = vec![
            json!(format!("{PEER}:{port}")),
            json!({ "host": "plain.example", "port": plain_port, "scheme": "http" }),
            json!({ "host": PEER, "port": port, "scheme": "secured" }),
        ];
        for name in
            ["inside.example", "both.example", "mapped.example", "metadata.example", "nowhere.example"]
        {
            allow.push(json!(format!("{name}:{port}")));
            allow.push(json!({ "host": name, "port": plain_port, "scheme": "http" }));
        }
        let policy: NetworkPolicy = serde_json::from_value(json!({ "allow": allow })).unwrap();
        let network = Arc::new(GrantedNetwork::compile(&policy).unwrap());
        let connector = Connector::new(opening(&["127.0.0.2/31"]), Arc::clone(&names) as Arc<dyn Resolver>);
        let keeper = Arc::new(Keeper::default());
        let connector = connector.trusting(ROOT).unwrap();
        let door = WebDoor::new(connector, Arc::clone(&keeper) as Arc<dyn DoorKeeper>, limits);
        Self { door, network, names, keeper, peer, plain, shut }
    }

    /// The same hosts, under another policy.
    pub(crate) fn granting(mut self, policy: serde_json::Value) -> Self {
        let policy: NetworkPolicy = serde_json::from_value(policy).unwrap();
        self.network = Arc::new(GrantedNetwork::compile(&policy).unwrap());
        self
    }

    pub(crate) fn port(&self) -> u16 {
        self.peer.address.port()
    }

    pub(crate) fn plain_port(&self) -> u16 {
        self.plain.address.port()
    }

    /// A stream to the door, as a box has it.
    pub(crate) fn connect(&self) -> DuplexStream {
        let (own, theirs) = tokio::io::duplex(64 << 10);
        let (door, network) = (self.door.clone(), Arc::clone(&self.network));
        tokio::spawn(async move { door.serve(WORKSPACE, &network, theirs).await });
        own
    }

    /// The door on a port of this machine, for programs.
    pub(crate) async fn listen(&self) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (door, network) = (self.door.clone(), Arc::clone(&self.network));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (door, network) = (door.clone(), Arc::clone(&network));
                tokio::spawn(async move { door.serve(WORKSPACE, &network, stream).await });
            }
        });
        address
    }

    /// Sends these bytes and reads all that comes back.
    pub(crate) async fn send(&self, bytes: impl AsRef<[u8]>) -> String {
        let mut stream = self.connect();
        let _ = stream.write_all(bytes.as_ref()).await;
        read_all(&mut stream).await
    }

    /// Opens a tunnel that is granted, sends these bytes in it, and reads what comes back.
    pub(crate) async fn send_in_tunnel(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = self.tunnel(PEER).await.expect("the tunnel is granted");
        let _ = stream.write_all(bytes).await;
        let mut answer = Vec::new();
        let reading = stream.read_to_end(&mut answer);
        tokio::time::timeout(Duration::from_secs(10), reading).await.expect("the door ends it").unwrap();
        answer
    }

    pub(crate) async fn tunnel(&self, host: &str) -> Result<DuplexStream, String> {
        let target = format!("{host}:{}", self.port());
        let mut stream = self.connect();
        stream
            .write_all(format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n").as_bytes())
            .await
            .unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            if stream.read(&mut byte).await.unwrap() == 0 {
                break;
            }
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap();
        if head.starts_with("HTTP/1.1 200 ") { Ok(stream) } else { Err(head) }
    }

    /// A whole request by TLS, through the door.
    pub(crate) async fn get_by_tls(&self) -> String {
        let stream = self.tunnel(PEER).await.unwrap();
        let name = ServerName::try_from(PEER).unwrap();
        let mut stream = tls_client().connect(name, stream).await.unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nhost: peer.example\r\n\r\n").await.unwrap();
        let mut answer = vec![0; 1_024];
        let count = stream.read(&mut answer).await.unwrap();
        let _ = stream.shutdown().await;
        String::from_utf8_lossy(&answer[..count]).into_owned()
    }

    /// Nobody who is not granted saw a connection, and no name was asked for but these.
    pub(crate) fn nothing_leaked(&self, form: &str) {
        for host in &self.shut {
            assert_eq!((host.connections(), host.bytes()), (0, 0), "{form}: {} was reached", host.address);
        }
        let granted = ["peer.example", "plain.example", "inside.example", "both.example", "mapped.example"];
        let also = ["metadata.example", "nowhere.example"];
        for name in self.names.asked() {
            assert!(
                granted.contains(&name.as_str()) || also.contains(&name.as_str()),
                "{form}: {name} was looked up"
            );
        }
    }
}

pub(crate) async fn read_all(stream: &mut DuplexStream) -> String {
    let mut answer = Vec::new();
    let reading = stream.read_to_end(&mut answer);
    tokio::time::timeout(Duration::from_secs(10), reading).await.expect("the door ends it").unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}
