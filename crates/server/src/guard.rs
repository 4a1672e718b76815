//! Which hosts and origins are served (sec/W01): without this, any page on the web could reach a Warren on
//! localhost by pointing a name of its own at 127.0.0.1.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderMap, Method, Uri, header};
use warren_model::ErrorCode;

use crate::problem::Failure;
use crate::{App, forwarding};

/// The allowlists, in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard {
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl Guard {
    pub fn new(listen: SocketAddr, more_hosts: &[String], more_origins: &[String]) -> Self {
        let port = listen.port();
        let mut hosts = vec![listen.to_string()];
        if listen.ip().is_loopback() {
            hosts.extend(["localhost", "127.0.0.1", "[::1]"].map(|name| format!("{name}:{port}")));
            if port == 80 {
                hosts.extend(["localhost", "127.0.0.1", "[::1]"].map(str::to_owned));
            }
        }
        hosts.extend(more_hosts.iter().map(|host| host.to_lowercase()));
        let mut origins: Vec<_> = hosts.iter().map(|host| format!("http://{host}")).collect();
        origins.extend(hosts.iter().map(|host| format!("https://{host}")));
        origins.extend(more_origins.iter().map(|origin| origin.to_lowercase()));
        Self { hosts, origins }
    }

    /// Decides by the request's head alone.
    pub fn check(&self, method: &Method, target: &Uri, headers: &HeaderMap) -> Result<(), ErrorCode> {
        // A target with an authority of its own overrules the Host header.
        if let Some(authority) = target.authority()
            && !self.hosts.contains(&authority.as_str().to_lowercase())
        {
            return Err(ErrorCode::HostNotAllowed);
        }
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok()).map(str::to_lowercase);
        match host {
            Some(host) if hosts.next().is_none() && self.hosts.contains(&host) => {}
            _ => return Err(ErrorCode::HostNotAllowed),
        }
        for origin in headers.get_all(header::ORIGIN) {
            let is_known = origin.to_str().is_ok_and(|origin| self.origins.contains(&origin.to_lowercase()));
            if !is_known {
                return Err(ErrorCode::OriginNotAllowed);
            }
        }
        let changes_something = !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
        let site = headers.get("sec-fetch-site").and_then(|site| site.to_str().ok());
        if changes_something && matches!(site, Some("cross-site" | "same-site")) {
            return Err(ErrorCode::OriginNotAllowed);
        }
        Ok(())
    }
}

pub(crate) async fn check_host_and_origin(
    State(app): State<Arc<App>>,
    request: Request,
    next: Next,
) -> Result<Response, Failure> {
    // What another replica passed on, it has judged by the host and the origin that the client named.
    if !forwarding::check_mark(&request)? {
        app.guard.check(request.method(), request.uri(), request.headers())?;
    }
    Ok(next.run(request).await)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(method: &Method, pairs: &[(&'static str, &str)]) -> Result<(), ErrorCode> {
        check_target(method, "/api/v1/info", pairs)
    }

    fn check_target(method: &Method, target: &str, pairs: &[(&'static str, &str)]) -> Result<(), ErrorCode> {
        let guard = Guard::new(
            "127.0.0.1:7878".parse().unwrap(),
            &["Warren.example".into()],
            &["http://localhost:5173".into()],
        );
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        guard.check(method, &target.parse().unwrap(), &headers)
    }

    // F31, sec/W01
    #[test]
    fn an_absolute_target_must_name_a_served_host_too() {
        let host = [("host", "localhost:7878")];
        assert_eq!(check_target(&Method::GET, "http://localhost:7878/api/v1/info", &host), Ok(()));
        let strange = check_target(&Method::GET, "http://evil.example/api/v1/info", &host);
        assert_eq!(strange, Err(ErrorCode::HostNotAllowed));
    }

    // F31, sec/W01
    #[test]
    fn only_named_hosts_are_served() {
        for host in ["127.0.0.1:7878", "localhost:7878", "LOCALHOST:7878", "[::1]:7878", "warren.example"] {
            assert_eq!(check(&Method::GET, &[("host", host)]), Ok(()), "{host}");
        }
        for host in ["evil.example", "127.0.0.1", "127.0.0.1:80", "localhost:7878.evil.example", ""] {
            assert_eq!(check(&Method::GET, &[("host", host)]), Err(ErrorCode::HostNotAllowed), "{host}");
        }
        assert_eq!(check(&Method::GET, &[]), Err(ErrorCode::HostNotAllowed));
        let twice = [("host", "localhost:7878"), ("host", "evil.example")];
        assert_eq!(check(&Method::GET, &twice), Err(ErrorCode::HostNotAllowed));
    }

    // F31, sec/W01
    #[test]
    fn pages_of_other_origins_are_refused() {
        let host = ("host", "localhost:7878");
        for origin in ["http://localhost:7878", "http://127.0.0.1:7878", "http://localhost:5173"] {
            assert_eq!(check(&Method::POST, &[host, ("origin", origin)]), Ok(()), "{origin}");
        }
        for origin in ["http://evil.example", "null", "http://localhost:9", "https://evil.example:7878"] {
            for method in [Method::POST, Method::GET] {
                let refused = check(&method, &[host, ("origin", origin)]);
                assert_eq!(refused, Err(ErrorCode::OriginNotAllowed), "{origin}");
            }
        }
        for site in ["cross-site", "same-site"] {
            let sent = [host, ("sec-fetch-site", site)];
            assert_eq!(check(&Method::POST, &sent), Err(ErrorCode::OriginNotAllowed));
            assert_eq!(check(&Method::GET, &sent), Ok(()));
        }
    }
}
