//! Connections and requests that are carried for somebody else, byte by byte (A81). They go where calls go, by the same
//! look-up and the same judgement of every address.

use std::io;
use std::net::SocketAddr;

use bytes::Bytes;
use futures_util::Stream;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode, header};
use tokio::net::TcpStream;
use tokio::time::timeout;
use url::Url;
use warren_rules::outbound::{Target, judge_url};

use super::resolver::LookUpError;
use super::{CallError, Connector, Credential, Refused, judge_failure};

/// A request that is passed on. Its headers are the sender's own, without those that concern one connection.
#[derive(Debug)]
pub struct Forward {
    pub method: Method,
    pub url: Url,
    pub headers: Vec<(String, String)>,
    /// Put in in place of the sender's.
    pub credential: Option<Credential>,
    /// How long the body is, where that is known.
    pub length: Option<u64>,
}

/// The head of an answer that is passed on, and its body, piece by piece.
#[derive(Debug)]
pub struct Forwarded {
    pub status: StatusCode,
    pub headers: HeaderMap,
    response: reqwest::Response,
}

impl Forwarded {
    /// The next piece of the body; none at its end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, CallError> {
        self.response.chunk().await.map_err(|error| judge_failure(&error))
    }
}

impl Connector {
    /// Connects to a host by its name: looked up once, every address judged, and the first that listens taken.
    pub async fn open(&self, name: &str, port: u16) -> Result<TcpStream, CallError> {
        let opened = timeout(self.connect_timeout(), async {
            let addresses = self.0.guarded.look_up(name).await.map_err(|error| match error {
                LookUpError::Refused(refusal) => CallError::from(refusal),
                LookUpError::Failed(error) => CallError::Unreachable { cause: error.to_string() },
            })?;
            let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
            for address in addresses {
                match TcpStream::connect(SocketAddr::new(address, port)).await {
                    Ok(stream) => {
                        let _ = stream.set_nodelay(true);
                        return Ok(stream);
                    }
                    Err(error) => last = error,
                }
            }
            let cause = last.to_string();
            match last.kind() {
                io::ErrorKind::ConnectionRefused => Err(CallError::NobodyListens { cause }),
                _ => Err(CallError::Unreachable { cause }),
            }
        });
        let cause = || format!("no connection within {:?}", self.connect_timeout());
        opened.await.unwrap_or_else(|_| Err(CallError::Unreachable { cause: cause() }))
    }

    /// Passes a request on, and hands back the head of its answer. No redirect is followed: it is an answer.
    pub async fn forward<B>(&self, request: Forward, body: Option<B>) -> Result<Forwarded, CallError>
    where
        B: Stream<Item = io::Result<Bytes>> + Send + 'static,
    {
        let Target { url, host: _ } = judge_url(request.url.as_str(), self.policy())?;
        let mut head = HeaderMap::with_capacity(request.headers.len() + 2);
        for (name, value) in &request.headers {
            let refused = || CallError::from(Refused::Header(name.clone()));
            let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| refused())?;
            head.append(header, HeaderValue::from_bytes(value.as_bytes()).map_err(|_| refused())?);
        }
        if let Some(credential) = &request.credential {
            credential.put_into(&mut head, &url)?;
        }
        if let Some(length) = request.length {
            head.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
        }
        let mut sending = self.client(url.scheme())?.request(request.method, url).headers(head);
        if let Some(body) = body {
            sending = sending.body(reqwest::Body::wrap_stream(body));
        }
        let response = sending.send().await.map_err(|error| judge_failure(&error))?;
        Ok(Forwarded { status: response.status(), headers: response.headers().clone(), response })
    }
}
