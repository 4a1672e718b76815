//! The web door of a box (A81): an HTTP proxy at Warren's end of one byte stream.
//!
//! ```text
//!   bytes ──▶ head ──▶ judged by the policy ──┬─ CONNECT ──▶ open ──▶ 200 ──▶ first message of TLS judged ──▶ tunnel
//!                        │ 400, 403            └─ http:// ──▶ forward, by TLS where the grant says so ──▶ answer
//!                        └── ask ──▶ a person
//! ```
//!
//! - Nothing goes out before it is judged: no name is looked up for a host that is not granted, and no byte of a tunnel
//!   passes before the name in TLS is the one that was granted.
//! - One request per stream. A second one would be judged by nobody, so that what follows the first is refused.
//! - A box sees one sentence for each refusal, in the reason of the answer (which `pip` and others print) and in its body.
//! - What is recorded of a connection is its host, port, bytes and duration: no path, no header, no body.

mod answer;
mod forward;
mod tunnel;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio::time::{Instant, timeout};
use url::Url;
use warren_model::{NetworkScheme, WorkspaceId};
use warren_rules::outbound::network::head::{self, Asked, ProxyHead};
use warren_rules::outbound::network::{GrantedNetwork, HostPort, RequestVerdict, Verdict};

use crate::{CallError, Connector, Credential};
pub use answer::{DoorRefusal, RefusalCause};

/// Whoever knows the workspaces behind the door.
#[async_trait]
pub trait DoorKeeper: Send + Sync + std::fmt::Debug {
    /// Asks a person about a host that no grant names, and waits for the answer, but not for ever.
    async fn ask(&self, workspace: WorkspaceId, to: &HostPort, scheme: NetworkScheme) -> PersonSays;
    /// The credential that is bound to an origin, for requests that Warren makes.
    async fn credential(&self, workspace: WorkspaceId, origin: &Url) -> Result<Option<Credential>, String>;
    /// A connection is over, or was refused.
    fn record(&self, workspace: WorkspaceId, record: DoorRecord);
}

/// What became of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PersonSays {
    Granted,
    Denied,
    /// Nobody has decided so far.
    Nothing,
    /// The question could not be put.
    NotAsked,
}

/// What is kept of one connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoorRecord {
    /// Absent where the request named none that can be read.
    pub to: Option<HostPort>,
    pub scheme: NetworkScheme,
    pub outcome: DoorOutcome,
    /// Bytes from the box to the host, and back.
    pub sent: u64,
    pub received: u64,
    pub duration: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DoorOutcome {
    /// It was carried to its end.
    Closed,
    /// It was cut: by a limit, or by either side.
    Cut(&'static str),
    /// Nothing was carried.
    Refused(DoorRefusal),
}

/// As much as the door carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DoorLimits {
    /// Connections of one box at once.
    pub connections: usize,
    /// Until the head of a request is there, or the first message of TLS.
    pub head: Duration,
    /// Without a byte either way.
    pub idle: Duration,
    pub whole: Duration,
    /// Each way.
    pub bytes: u64,
}

impl Default for DoorLimits {
    fn default() -> Self {
        Self {
            connections: 64,
            head: Duration::from_secs(15),
            idle: Duration::from_secs(300),
            whole: Duration::from_secs(3_600),
            bytes: 16 << 30,
        }
    }
}

/// The door. Cheap to clone; all clones count together.
#[derive(Debug, Clone)]
pub struct WebDoor(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    connector: Connector,
    keeper: Arc<dyn DoorKeeper>,
    limits: DoorLimits,
    open: Mutex<BTreeMap<WorkspaceId, usize>>,
}

/// What may be carried over.
pub trait DoorStream: AsyncRead + AsyncWrite + Send + Unpin + 'static {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin + 'static> DoorStream for S {}

/// What was carried so far.
#[derive(Debug, Default, Clone, Copy)]
struct Carried {
    sent: u64,
    received: u64,
}

/// How a connection ended, apart from being refused.
struct Ended {
    scheme: NetworkScheme,
    outcome: DoorOutcome,
    carried: Carried,
}

impl WebDoor {
    pub fn new(connector: Connector, keeper: Arc<dyn DoorKeeper>, limits: DoorLimits) -> Self {
        Self(Arc::new(Inner { connector, keeper, limits, open: Mutex::default() }))
    }

    /// Serves one stream of a box until it is over, and records what became of it.
    pub async fn serve<S: DoorStream>(&self, workspace: WorkspaceId, network: &GrantedNetwork, stream: S) {
        let begun = Instant::now();
        let Some(_slot) = self.take_slot(workspace) else {
            let refusal = DoorRefusal::too_many(self.0.limits.connections);
            answer::refuse(stream, &refusal).await;
            return self.record(workspace, None, Ended::refused(NetworkScheme::Https, refusal), begun);
        };
        let mut visit = Visit { door: self, workspace, network, stream, buffer: Vec::new() };
        let request = match visit.read_head().await {
            Ok(Some(request)) => request,
            // Nobody asked for anything.
            Ok(None) => return,
            Err(refusal) => {
                answer::refuse(visit.stream, &refusal).await;
                return self.record(workspace, None, Ended::refused(NetworkScheme::Http, refusal), begun);
            }
        };
        let to = request.to().clone();
        if let Some(ended) = visit.carry(request).await {
            self.record(workspace, Some(to), ended, begun);
        }
    }

    fn record(&self, workspace: WorkspaceId, to: Option<HostPort>, ended: Ended, begun: Instant) {
        let Ended { scheme, outcome, carried: Carried { sent, received } } = ended;
        let duration = begun.elapsed();
        self.0.keeper.record(workspace, DoorRecord { to, scheme, outcome, sent, received, duration });
    }

    fn take_slot(&self, workspace: WorkspaceId) -> Option<Slot<'_>> {
        let mut open = self.0.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(workspace).or_default();
        if *count >= self.0.limits.connections {
            return None;
        }
        *count += 1;
        Some(Slot { door: self, workspace })
    }
}

/// One of the connections that a box may have.
struct Slot<'a> {
    door: &'a WebDoor,
    workspace: WorkspaceId,
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        let mut open = self.door.0.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.workspace) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.workspace);
            }
        }
    }
}

impl Ended {
    fn refused(scheme: NetworkScheme, refusal: DoorRefusal) -> Self {
        Self { scheme, outcome: DoorOutcome::Refused(refusal), carried: Carried::default() }
    }
}

/// One stream, on its way.
struct Visit<'a, S> {
    door: &'a WebDoor,
    workspace: WorkspaceId,
    network: &'a GrantedNetwork,
    stream: S,
    /// What was read and is not used yet.
    buffer: Vec<u8>,
}

impl<S: DoorStream> Visit<'_, S> {
    fn limits(&self) -> &DoorLimits {
        &self.door.0.limits
    }

    /// The head of the request; none where the stream ended without one.
    async fn read_head(&mut self) -> Result<Option<ProxyHead>, DoorRefusal> {
        let until = Instant::now() + self.limits().head;
        loop {
            if let Some(length) = head::length(&self.buffer)? {
                let request = head::parse(&self.buffer[..length])?;
                self.buffer.drain(..length);
                return Ok(Some(request));
            }
            match tokio::time::timeout_at(until, self.stream.read_buf(&mut self.buffer)).await {
                Ok(Ok(0) | Err(_)) if self.buffer.is_empty() => return Ok(None),
                Ok(Ok(0) | Err(_)) => return Err(DoorRefusal::cut()),
                Ok(Ok(_)) => {}
                Err(_) => return Err(DoorRefusal::too_slow()),
            }
        }
    }

    /// Does what is asked for. None where the box hung up before anything was decided.
    async fn carry(mut self, request: ProxyHead) -> Option<Ended> {
        match request.asked.clone() {
            Asked::Tunnel(to) => {
                let scheme = NetworkScheme::Https;
                let verdict = match self.network.judge_tunnel(&to) {
                    Verdict::Ask => self.ask(&to, scheme).await?,
                    Verdict::Granted => Ok(()),
                    Verdict::NotGranted => Err(DoorRefusal::not_granted(&to, scheme)),
                };
                match verdict {
                    Ok(()) => Some(self.tunnel(to).await),
                    Err(refusal) => Some(self.refuse(scheme, refusal).await),
                }
            }
            Asked::Request { to, url } => {
                let granted = match self.network.judge_request(&request.method, &to, &url) {
                    RequestVerdict::Plain => Ok((NetworkScheme::Http, url)),
                    RequestVerdict::Secured { port } => {
                        let url = secured(url, port)
                            .ok_or_else(|| DoorRefusal::not_granted(&to, NetworkScheme::Http));
                        url.map(|url| (NetworkScheme::Secured, url))
                    }
                    RequestVerdict::Ask => {
                        self.ask(&to, NetworkScheme::Http).await?.map(|()| (NetworkScheme::Http, url))
                    }
                    RequestVerdict::NotGranted => Err(DoorRefusal::not_granted(&to, NetworkScheme::Http)),
                    RequestVerdict::HttpsOnly => Err(DoorRefusal::https_only(&to)),
                    RequestVerdict::Method => Err(DoorRefusal::method(&request.method, &to)),
                    RequestVerdict::Path => Err(DoorRefusal::path(&to)),
                };
                match granted {
                    Ok((scheme, url)) => Some(self.forward(request, scheme, url).await),
                    Err(refusal) => Some(self.refuse(NetworkScheme::Http, refusal).await),
                }
            }
        }
    }

    /// Waits for a person, as long as the box does. None where it hung up.
    async fn ask(&mut self, to: &HostPort, scheme: NetworkScheme) -> Option<Result<(), DoorRefusal>> {
        let keeper = Arc::clone(&self.door.0.keeper);
        let mut answer = std::pin::pin!(keeper.ask(self.workspace, to, scheme));
        let says = loop {
            let has_room = self.buffer.len() < head::MAX_HEAD_BYTES;
            tokio::select! {
                says = &mut answer => break says,
                read = self.stream.read_buf(&mut self.buffer), if has_room => {
                    if matches!(read, Ok(0) | Err(_)) {
                        return None;
                    }
                }
            }
        };
        Some(match says {
            PersonSays::Granted => Ok(()),
            PersonSays::Denied => Err(DoorRefusal::denied(to)),
            PersonSays::Nothing => Err(DoorRefusal::undecided(to)),
            PersonSays::NotAsked => Err(DoorRefusal::not_asked(to)),
        })
    }

    async fn refuse(self, scheme: NetworkScheme, refusal: DoorRefusal) -> Ended {
        answer::refuse(self.stream, &refusal).await;
        Ended::refused(scheme, refusal)
    }
}

/// The URL as Warren calls it by TLS.
fn secured(mut url: Url, port: u16) -> Option<Url> {
    url.set_port(None).ok()?;
    url.set_scheme("https").ok()?;
    url.set_port(Some(port)).ok()?;
    Some(url)
}

/// Which refusal a failed call is for the box.
fn of_call(error: &CallError, to: &HostPort) -> DoorRefusal {
    match error {
        CallError::Refused(_) => DoorRefusal::no_address(to),
        CallError::NobodyListens { .. } | CallError::Unreachable { .. } => DoorRefusal::unreachable(to),
        CallError::Untrusted { .. } => DoorRefusal::untrusted(to),
        CallError::NoAnswer { .. } | CallError::BadAnswer(_) => DoorRefusal::no_answer(to),
    }
}

/// Runs until it is done, nothing was carried for too long, or it took too long in all.
async fn within<T>(
    limits: &DoorLimits,
    count: impl Fn() -> u64,
    work: impl Future<Output = T>,
) -> Result<T, &'static str> {
    let mut work = std::pin::pin!(work);
    let end = Instant::now() + limits.whole;
    loop {
        let before = count();
        let wait = limits.idle.min(end.saturating_duration_since(Instant::now()));
        match timeout(wait, &mut work).await {
            Ok(done) => return Ok(done),
            Err(_) if Instant::now() >= end => return Err("it took too long"),
            Err(_) if count() == before => return Err("nothing was carried for too long"),
            Err(_) => {}
        }
    }
}
