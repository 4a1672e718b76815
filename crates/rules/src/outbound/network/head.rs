//! The head of a request to the web door, read strictly (sec/S29): one that two readers could read in two ways is refused.

use url::Url;

use super::{BadHost, HostName, HostPort};
use crate::outbound::MAX_URL_BYTES;

/// As long as a head may be, and as many headers as it may have.
pub const MAX_HEAD_BYTES: usize = 32 << 10;
const MAX_HEADERS: usize = 100;
const MAX_METHOD_BYTES: usize = 16;

/// Said about one connection, or set by us, or another method than the one that was judged.
const NOT_PASSED_ON: [&str; 20] = [
    "connection",
    "content-length",
    "expect",
    "forwarded",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
    "warren-hops",
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "x-real-ip",
];
const PREFIXES_NOT_PASSED_ON: [&str; 3] = ["proxy-", "x-forwarded-", "x-warren-"];

/// Why a request is not one that the door carries out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeadRefusal {
    #[error("the request's head is longer than {MAX_HEAD_BYTES} bytes or has too many headers")]
    TooLong,
    #[error("the request is malformed: {0}")]
    Malformed(&'static str),
    #[error("this door speaks HTTP/1.1, and HTTP/2 only inside a tunnel")]
    Http2,
    #[error("the proxy itself is spoken to in plain HTTP; write http:// in HTTPS_PROXY too")]
    TlsToProxy,
    #[error("this is a proxy: a request names a whole http:// URL, or is a CONNECT")]
    NotForAProxy,
    #[error("only http:// URLs are requested from a proxy; https:// goes through CONNECT")]
    Scheme,
    #[error("a URL with a user name or a password is not called")]
    UserInfo,
    #[error("the host is not one that can be called: {0}")]
    Host(#[from] BadHost),
    #[error("the port is none")]
    Port,
    #[error("the header Host names another host than the request")]
    HostHeader,
    #[error("the length of the body is told in two ways, or in one that is not taken")]
    Framing,
}

/// How long the body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyLength {
    Empty,
    Known(u64),
    Chunked,
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    Tunnel(HostPort),
    Request { to: HostPort, url: Url },
}

/// A request that has one reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyHead {
    pub method: String,
    pub asked: Asked,
    /// Those that are passed on, with small letters in their names.
    pub headers: Vec<(String, String)>,
    pub body: BodyLength,
    pub expects_continue: bool,
    /// HTTP/1.0, which has no chunks.
    pub is_http_1_0: bool,
}

impl ProxyHead {
    pub fn to(&self) -> &HostPort {
        match &self.asked {
            Asked::Tunnel(to) | Asked::Request { to, .. } => to,
        }
    }
}

/// How long the head is, with the empty line at its end; none while it is not whole. Told early where it cannot become one.
pub fn length(bytes: &[u8]) -> Result<Option<usize>, HeadRefusal> {
    if bytes.first() == Some(&22) {
        return Err(HeadRefusal::TlsToProxy);
    }
    if b"PRI * HTTP/2".starts_with(&bytes[..bytes.len().min(12)]) && bytes.len() >= 12 {
        return Err(HeadRefusal::Http2);
    }
    let seen = &bytes[..bytes.len().min(MAX_HEAD_BYTES)];
    let end = seen.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4);
    let head = &seen[..end.unwrap_or(seen.len())];
    let mut before = 0;
    for (at, byte) in head.iter().enumerate() {
        let is_odd = match byte {
            b'\n' => before != b'\r',
            b'\t' | b'\r' => false,
            0..=31 | 127 => true,
            _ => false,
        };
        if is_odd || (before == b'\r' && *byte != b'\n') || (at == 0 && *byte == b'\r') {
            return Err(HeadRefusal::Malformed(
                "a control character, or a line that does not end with CR LF",
            ));
        }
        before = *byte;
    }
    if end.is_none() && bytes.len() >= MAX_HEAD_BYTES {
        return Err(HeadRefusal::TooLong);
    }
    Ok(end)
}

/// Reads a whole head.
pub fn parse(bytes: &[u8]) -> Result<ProxyHead, HeadRefusal> {
    let whole = length(bytes)?.ok_or(HeadRefusal::Malformed("it is cut"))?;
    let text = std::str::from_utf8(&bytes[..whole])
        .map_err(|_| HeadRefusal::Malformed("a header that is not UTF-8"))?;
    let mut lines = text.trim_end_matches("\r\n").split("\r\n");
    let (method, target, is_old) = request_line(lines.next().unwrap_or_default())?;
    let headers = lines.map(header).collect::<Result<Vec<_>, _>>()?;
    if headers.len() > MAX_HEADERS {
        return Err(HeadRefusal::TooLong);
    }
    let asked = if method == "CONNECT" { Asked::Tunnel(authority(target, None)?) } else { absolute(target)? };
    let default_port = if method == "CONNECT" { 443 } else { 80 };
    let (Asked::Tunnel(to) | Asked::Request { to, .. }) = &asked;
    match only(&headers, "host")? {
        Some(host) if authority(host, Some(default_port)).is_ok_and(|named| named == *to) => {}
        Some(_) => return Err(HeadRefusal::HostHeader),
        // Python before 3.12 sends none with its CONNECT, which is HTTP/1.0.
        None if is_old => {}
        None => return Err(HeadRefusal::HostHeader),
    }
    let body = body_length(&headers, is_old)?;
    if method == "CONNECT" && !matches!(body, BodyLength::Empty | BodyLength::Known(0)) {
        return Err(HeadRefusal::Framing);
    }
    let expects_continue = match only(&headers, "expect")? {
        None => false,
        Some(value) if value.eq_ignore_ascii_case("100-continue") => true,
        Some(_) => return Err(HeadRefusal::Malformed("the header Expect")),
    };
    let (method, headers) = (method.to_owned(), passed_on(headers));
    Ok(ProxyHead { method, asked, headers, body, expects_continue, is_http_1_0: is_old })
}

/// Capital letters and dashes, as all methods of the registry are.
pub fn is_method(text: &str) -> bool {
    (1..=MAX_METHOD_BYTES).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-')
}

fn request_line(line: &str) -> Result<(&str, &str, bool), HeadRefusal> {
    let parts: Vec<&str> = line.split(' ').collect();
    let [method, target, version] = parts[..] else {
        return Err(HeadRefusal::Malformed("its first line"));
    };
    let is_old = match version {
        "HTTP/1.1" => false,
        "HTTP/1.0" => true,
        "HTTP/2.0" | "HTTP/2" => return Err(HeadRefusal::Http2),
        _ => return Err(HeadRefusal::Malformed("its version")),
    };
    if !is_method(method) {
        return Err(HeadRefusal::Malformed("its method"));
    }
    let is_plain = target.bytes().all(|byte| byte.is_ascii_graphic() && !b"\\\"<>^`{|}".contains(&byte));
    if target.is_empty() || !is_plain {
        return Err(HeadRefusal::Malformed("its target"));
    }
    if target.len() > MAX_URL_BYTES {
        return Err(HeadRefusal::TooLong);
    }
    // They would show what we added, or ask the proxy and not the host.
    if matches!(method, "TRACE" | "TRACK") {
        return Err(HeadRefusal::Malformed("its method"));
    }
    Ok((method, target, is_old))
}

fn header(line: &str) -> Result<(String, String), HeadRefusal> {
    if line.starts_with([' ', '\t']) {
        return Err(HeadRefusal::Malformed("a header that goes on in the next line"));
    }
    let (name, value) = line.split_once(':').ok_or(HeadRefusal::Malformed("a header without a colon"))?;
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_token) {
        return Err(HeadRefusal::Malformed("the name of a header"));
    }
    Ok((name.to_ascii_lowercase(), value.trim_matches([' ', '\t']).to_owned()))
}

/// `host:port`; without a port only where there is one to assume.
fn authority(text: &str, default_port: Option<u16>) -> Result<HostPort, HeadRefusal> {
    if text.contains('@') {
        return Err(HeadRefusal::UserInfo);
    }
    if text.starts_with('[') || text.matches(':').count() > 1 {
        return Err(BadHost::Address.into());
    }
    let (host, port) = match text.split_once(':') {
        Some((host, port)) => (host, self::port(port)?),
        None => (text, default_port.ok_or(HeadRefusal::Port)?),
    };
    Ok(HostPort { host: HostName::from_wire(host)?, port })
}

fn port(text: &str) -> Result<u16, HeadRefusal> {
    let is_plain = (1..=5).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_digit())
        && !text.starts_with('0');
    Some(text).filter(|_| is_plain).and_then(|text| text.parse().ok()).ok_or(HeadRefusal::Port)
}

fn absolute(target: &str) -> Result<Asked, HeadRefusal> {
    let Some((scheme, rest)) = target.split_once("://") else { return Err(HeadRefusal::NotForAProxy) };
    if !scheme.eq_ignore_ascii_case("http") {
        return Err(HeadRefusal::Scheme);
    }
    if target.contains('#') {
        return Err(HeadRefusal::Malformed("its target"));
    }
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let to = authority(&rest[..end], Some(80))?;
    let url = Url::parse(target).map_err(|_| HeadRefusal::Malformed("its target"))?;
    // Both readers see the same.
    if url.host_str() != Some(to.host.as_str()) || url.port_or_known_default() != Some(to.port) {
        return Err(HeadRefusal::Malformed("its target"));
    }
    Ok(Asked::Request { to, url })
}

/// The value of a header that may stand there once.
fn only<'a>(headers: &'a [(String, String)], name: &str) -> Result<Option<&'a str>, HeadRefusal> {
    let mut values = headers.iter().filter(|(one, _)| one == name).map(|(_, value)| value.as_str());
    match (values.next(), values.next()) {
        (value, None) => Ok(value),
        (_, Some(_)) => Err(HeadRefusal::Malformed("a header that stands there twice")),
    }
}

fn body_length(headers: &[(String, String)], is_old: bool) -> Result<BodyLength, HeadRefusal> {
    let refused = |_| HeadRefusal::Framing;
    let length = only(headers, "content-length").map_err(refused)?;
    let encoding = only(headers, "transfer-encoding").map_err(refused)?;
    match (length, encoding) {
        (None, None) => Ok(BodyLength::Empty),
        (Some(text), None) => {
            let is_number = (1..=19).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
            let length = Some(text).filter(|_| is_number).and_then(|text| text.parse().ok());
            length.map(BodyLength::Known).ok_or(HeadRefusal::Framing)
        }
        (None, Some(value)) if value.eq_ignore_ascii_case("chunked") && !is_old => Ok(BodyLength::Chunked),
        (None, Some(_)) | (Some(_), Some(_)) => Err(HeadRefusal::Framing),
    }
}

/// Without what concerns one connection, whether by its own name or because `Connection` says so.
fn passed_on(headers: Vec<(String, String)>) -> Vec<(String, String)> {
    let named: Vec<String> = headers
        .iter()
        .filter(|(name, _)| name == "connection" || name == "proxy-connection")
        .flat_map(|(_, value)| value.split(',').map(|name| name.trim().to_ascii_lowercase()))
        .collect();
    let is_passed_on = |name: &String| {
        !NOT_PASSED_ON.contains(&name.as_str())
            && !PREFIXES_NOT_PASSED_ON.iter().any(|prefix| name.starts_with(prefix))
            && !named.contains(name)
    };
    headers.into_iter().filter(|(name, _)| is_passed_on(name)).collect()
}
