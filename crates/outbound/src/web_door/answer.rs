//! What a box is told when something is not carried: a status, and one sentence that says what to do.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::timeout;
use warren_model::NetworkScheme;
use warren_rules::outbound::network::HostPort;
use warren_rules::outbound::network::head::HeadRefusal;
use warren_rules::outbound::network::hello::HelloRefusal;

/// How long a box may take to read why, and how much of what it still sends is read meanwhile.
const LAST_WORDS: Duration = Duration::from_secs(2);
const MAX_UNREAD_BYTES: u64 = 1 << 20;
/// The alert `access_denied` of TLS, which every client knows how to print.
const ACCESS_DENIED: [u8; 7] = [21, 3, 3, 0, 2, 2, 49];

/// What stood in the way, in one word for programs and records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalCause {
    /// The bytes are no request that has one reading.
    Malformed,
    /// No grant names it.
    NotGranted,
    /// A person said no, or nobody has said anything.
    NotApproved,
    /// The name leads to an address that is not public.
    Address,
    /// TLS asks for another host, or for one that cannot be seen.
    TlsName,
    /// A limit.
    TooMany,
    /// The host could not be reached, or did not answer.
    Unreachable,
}

impl RefusalCause {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::NotGranted => "not_granted",
            Self::NotApproved => "not_approved",
            Self::Address => "address",
            Self::TlsName => "tls_name",
            Self::TooMany => "too_many",
            Self::Unreachable => "unreachable",
        }
    }

    /// Whether policy stood in the way, and not the host or the network.
    pub const fn is_by_policy(self) -> bool {
        match self {
            Self::Malformed
            | Self::NotGranted
            | Self::NotApproved
            | Self::Address
            | Self::TlsName
            | Self::TooMany => true,
            Self::Unreachable => false,
        }
    }
}

/// Why nothing was carried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoorRefusal {
    pub status: u16,
    pub cause: RefusalCause,
    /// For the program in the box and whoever reads its output.
    pub sentence: String,
}

impl DoorRefusal {
    fn new(status: u16, cause: RefusalCause, sentence: impl Into<String>) -> Self {
        Self { status, cause, sentence: sentence.into() }
    }

    pub(super) fn not_granted(to: &HostPort, scheme: NetworkScheme) -> Self {
        let host = &to.host;
        let grant = match (scheme, to.port) {
            (NetworkScheme::Https | NetworkScheme::Secured, 443) => format!("\"{host}\""),
            (NetworkScheme::Https | NetworkScheme::Secured, _) => format!("\"{to}\""),
            (NetworkScheme::Http, 80) => format!("{{\"host\": \"{host}\", \"scheme\": \"http\"}}"),
            (NetworkScheme::Http, port) => {
                format!("{{\"host\": \"{host}\", \"port\": {port}, \"scheme\": \"http\"}}")
            }
        };
        let sentence = format!(
            "Warren: {to} is not granted to this workspace; allow {grant} in its network policy (warren ws set --network)"
        );
        Self::new(403, RefusalCause::NotGranted, sentence)
    }

    pub(super) fn https_only(to: &HostPort) -> Self {
        let host = &to.host;
        let sentence =
            format!("Warren: {host} is granted to this workspace by https:// alone; use https://{host}/");
        Self::new(403, RefusalCause::NotGranted, sentence)
    }

    pub(super) fn method(method: &str, to: &HostPort) -> Self {
        let sentence = format!(
            "Warren: {method} to {to} is not granted to this workspace; add it to methods in its network policy"
        );
        Self::new(403, RefusalCause::NotGranted, sentence)
    }

    pub(super) fn path(to: &HostPort) -> Self {
        let sentence = format!(
            "Warren: this path of {to} is not granted to this workspace; add it to paths in its network policy"
        );
        Self::new(403, RefusalCause::NotGranted, sentence)
    }

    pub(super) fn denied(to: &HostPort) -> Self {
        let sentence =
            format!("Warren: a person denied {to} to this workspace; ask them, or go on without it");
        Self::new(403, RefusalCause::NotApproved, sentence)
    }

    pub(super) fn undecided(to: &HostPort) -> Self {
        let sentence = format!(
            "Warren: nobody has decided about {to} yet; the question is in the inbox, try again later"
        );
        Self::new(403, RefusalCause::NotApproved, sentence)
    }

    pub(super) fn not_asked(to: &HostPort) -> Self {
        let sentence = format!(
            "Warren: nobody could be asked about {to}; decide what waits in the inbox, then try again"
        );
        Self::new(403, RefusalCause::NotApproved, sentence)
    }

    /// Whether the name exists, and where it leads, is not told: that would be a map of the network behind Warren.
    pub(super) fn no_address(to: &HostPort) -> Self {
        let sentence = format!("Warren: {to} leads to no address that a workspace may reach");
        Self::new(403, RefusalCause::Address, sentence)
    }

    pub(super) fn unreachable(to: &HostPort) -> Self {
        Self::new(
            502,
            RefusalCause::Unreachable,
            format!("Warren: {to} is granted, but cannot be reached now"),
        )
    }

    pub(super) fn untrusted(to: &HostPort) -> Self {
        let sentence = format!("Warren: {to} is granted, but shows no certificate that Warren trusts");
        Self::new(502, RefusalCause::Unreachable, sentence)
    }

    pub(super) fn no_answer(to: &HostPort) -> Self {
        Self::new(504, RefusalCause::Unreachable, format!("Warren: {to} is granted, but gave no answer"))
    }

    pub(super) fn no_credential(to: &HostPort) -> Self {
        let sentence = format!("Warren: the credential for {to} cannot be read; set the secret again");
        Self::new(502, RefusalCause::Unreachable, sentence)
    }

    pub(super) fn other_name(to: &HostPort) -> Self {
        Self::new(403, RefusalCause::TlsName, format!("Warren: TLS asks for another host than {}", to.host))
    }

    pub(super) fn hello(refusal: HelloRefusal) -> Self {
        Self::new(403, RefusalCause::TlsName, format!("Warren: {refusal}"))
    }

    pub(super) fn pipelined() -> Self {
        Self::new(400, RefusalCause::Malformed, "Warren: one request at a time; something followed this one")
    }

    pub(super) fn too_many(most: usize) -> Self {
        let sentence =
            format!("Warren: this workspace has {most} connections already; close some, or try again");
        Self::new(503, RefusalCause::TooMany, sentence)
    }

    pub(super) fn too_slow() -> Self {
        Self::new(408, RefusalCause::Malformed, "Warren: the request did not come in time")
    }

    pub(super) fn cut() -> Self {
        Self::new(400, RefusalCause::Malformed, "Warren: the request is cut")
    }

    fn to_bytes(&self) -> Vec<u8> {
        let Self { status, cause, sentence } = self;
        let line: String =
            sentence.chars().map(|one| if one.is_ascii_graphic() { one } else { ' ' }).collect();
        let length = sentence.len() + 1;
        format!(
            "HTTP/1.1 {status} {line}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {length}\r\n\
             warren-refused: {}\r\nconnection: close\r\n\r\n{sentence}\n",
            cause.as_str()
        )
        .into_bytes()
    }
}

impl From<HeadRefusal> for DoorRefusal {
    fn from(refusal: HeadRefusal) -> Self {
        let status = match refusal {
            HeadRefusal::TooLong => 431,
            HeadRefusal::Http2 => 505,
            HeadRefusal::Malformed(_)
            | HeadRefusal::TlsToProxy
            | HeadRefusal::NotForAProxy
            | HeadRefusal::Framing => 400,
            HeadRefusal::Scheme
            | HeadRefusal::UserInfo
            | HeadRefusal::Host(_)
            | HeadRefusal::Port
            | HeadRefusal::HostHeader => 403,
        };
        Self::new(status, RefusalCause::Malformed, format!("Warren: {refusal}"))
    }
}

/// Says why, and lets the box read it to its end.
pub(super) async fn refuse<S: AsyncRead + AsyncWrite + Unpin>(stream: S, refusal: &DoorRefusal) {
    say_and_close(stream, &refusal.to_bytes()).await;
}

/// Inside a tunnel nothing can be said but that it is denied.
pub(super) async fn refuse_tls<S: AsyncRead + AsyncWrite + Unpin>(stream: S) {
    say_and_close(stream, &ACCESS_DENIED).await;
}

async fn say_and_close<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S, words: &[u8]) {
    let saying = async {
        stream.write_all(words).await?;
        stream.shutdown().await?;
        // What is left unread when a connection closes may take the answer away with it.
        tokio::io::copy(&mut (&mut stream).take(MAX_UNREAD_BYTES), &mut tokio::io::sink()).await
    };
    let _ = timeout(LAST_WORDS, saying).await;
}
