//! What a box may reach through the web door (A81, sec/S29), decided on paper.
//!
//! ```text
//!   policy as written ──compile──▶ GrantedNetwork
//!   bytes of a request ──head::parse──▶ ProxyHead ──judge_tunnel / judge_request──▶ granted | ask | refused
//!   first bytes in a tunnel ──hello::read──▶ the name that the host is asked for: equal to the tunnel's, or refused
//! ```
//!
//! Hosts are compared as text, in one spelling: [`HostName`] has no other. Whatever has several readings (a number that some
//! reader takes for an address, two lengths of one body, a line that goes on in the next) is refused, since the next
//! reader may not be ours.

pub mod asking;
pub mod chunks;
pub mod head;
pub mod hello;
mod host;

pub use host::{BadHost, HostName, HostPattern};

use std::fmt;

use url::Url;
use warren_model::{HostGrant, NetworkGrant, NetworkPolicy, NetworkScheme};

/// A policy whose every grant can be held.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GrantedNetwork {
    grants: Vec<Grant>,
    ask: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Grant {
    host: HostPattern,
    port: u16,
    scheme: NetworkScheme,
    methods: Vec<String>,
    paths: Vec<String>,
}

/// Why a policy cannot be held, and where that stands in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct BadPolicy {
    /// Such as `allow[2].host`.
    pub path: String,
    pub problem: String,
}

impl GrantedNetwork {
    /// Checks a policy and makes it ready to decide by.
    pub fn compile(policy: &NetworkPolicy) -> Result<Self, BadPolicy> {
        if policy.allow.len() > NetworkPolicy::MAX_GRANTS {
            let problem = format!("expected at most {} entries", NetworkPolicy::MAX_GRANTS);
            return Err(BadPolicy { path: "allow".into(), problem });
        }
        let mut grants = Vec::new();
        for (number, grant) in policy.allow.iter().enumerate() {
            match grant {
                NetworkGrant::Set(set) => {
                    let schemes: &[_] = match set.is_plain_too() {
                        true => &[NetworkScheme::Https, NetworkScheme::Http],
                        false => &[NetworkScheme::Https],
                    };
                    for (host, scheme) in
                        set.hosts().iter().flat_map(|host| schemes.iter().map(move |one| (host, one)))
                    {
                        let grant = HostGrant { scheme: *scheme, ..HostGrant::of(*host) };
                        grants.push(Grant::compile(&grant).map_err(|bad| bad.below(number))?);
                    }
                }
                NetworkGrant::Host(grant) => {
                    grants.push(Grant::compile(grant).map_err(|bad| bad.below(number))?);
                }
            }
        }
        Ok(Self { grants, ask: policy.ask })
    }

    /// Whether nothing can be reached, whoever is asked.
    pub fn is_none(&self) -> bool {
        self.grants.is_empty() && !self.ask
    }

    /// Judges a tunnel, by all that can be known of it: its host and port.
    pub fn judge_tunnel(&self, to: &HostPort) -> Verdict {
        let is_granted =
            self.on(&to.host).any(|grant| grant.scheme == NetworkScheme::Https && grant.port == to.port);
        if is_granted { Verdict::Granted } else { self.otherwise(to) }
    }

    /// Judges a request in plain HTTP. `url` is what would be sent, in its plainest spelling.
    pub fn judge_request(&self, method: &str, to: &HostPort, url: &Url) -> RequestVerdict {
        let mut refused = None;
        for grant in self.on(&to.host) {
            let way = match grant.scheme {
                NetworkScheme::Https => continue,
                NetworkScheme::Http if grant.port == to.port => RequestVerdict::Plain,
                // The box says `http://host/`, and means what is secured for it.
                NetworkScheme::Secured if grant.port == to.port || (to.port, grant.port) == (80, 443) => {
                    RequestVerdict::Secured { port: grant.port }
                }
                NetworkScheme::Http | NetworkScheme::Secured => continue,
            };
            if !grant.takes_method(method) {
                refused.get_or_insert(RequestVerdict::Method);
            } else if !grant.takes_path(url.path()) {
                refused = Some(RequestVerdict::Path);
            } else {
                return way;
            }
        }
        if let Some(refused) = refused {
            return refused;
        }
        let has_https = self.on(&to.host).any(|grant| grant.scheme == NetworkScheme::Https);
        if has_https && to.port == 80 {
            return RequestVerdict::HttpsOnly;
        }
        match self.otherwise(to) {
            Verdict::Granted => RequestVerdict::Plain,
            Verdict::Ask => RequestVerdict::Ask,
            Verdict::NotGranted => RequestVerdict::NotGranted,
        }
    }

    fn on<'a>(&'a self, host: &'a HostName) -> impl Iterator<Item = &'a Grant> {
        self.grants.iter().filter(|grant| grant.host.matches(host))
    }

    fn otherwise(&self, to: &HostPort) -> Verdict {
        if self.ask && is_open_port(to.port) { Verdict::Ask } else { Verdict::NotGranted }
    }
}

impl Grant {
    fn compile(grant: &HostGrant) -> Result<Self, BadGrant> {
        let host =
            HostPattern::parse(&grant.host).map_err(|error| BadGrant::new("host", error.to_string()))?;
        let port = grant.port.unwrap_or(grant.scheme.default_port());
        if !is_open_port(port) {
            let problem = format!("{port} cannot be granted: expected 80, 443, or a port from 1024 on");
            return Err(BadGrant::new("port", problem));
        }
        if grant.scheme == NetworkScheme::Https && !(grant.methods.is_empty() && grant.paths.is_empty()) {
            let field = if grant.methods.is_empty() { "paths" } else { "methods" };
            let problem = "Warren does not see what goes through a tunnel, so that only the host and the port of `https` \
                           can be granted; write `\"scheme\": \"secured\"` to have Warren make the TLS connection";
            return Err(BadGrant::new(field, problem));
        }
        if grant.methods.len() > NetworkPolicy::MAX_METHODS || grant.paths.len() > NetworkPolicy::MAX_PATHS {
            let field = if grant.methods.len() > NetworkPolicy::MAX_METHODS { "methods" } else { "paths" };
            return Err(BadGrant::new(field, "there are too many"));
        }
        let mut methods = Vec::new();
        for method in &grant.methods {
            if !head::is_method(method) || method == "CONNECT" {
                return Err(BadGrant::new(
                    "methods",
                    format!("`{}` is no method such as `GET`", shown(method)),
                ));
            }
            methods.push(method.clone());
        }
        for path in &grant.paths {
            let is_plain = path.starts_with('/')
                && path.len() <= NetworkPolicy::MAX_PATH_BYTES
                && path.bytes().all(|byte| byte.is_ascii_graphic() && !b"\\?#%".contains(&byte))
                && !has_ambiguous_parts(path)
                && !path.split('/').any(|part| part == "." || part == "..");
            if !is_plain {
                let problem = format!("`{}` is no plain path such as `/org/project/`", shown(path));
                return Err(BadGrant::new("paths", problem));
            }
        }
        Ok(Self { host, port, scheme: grant.scheme, methods, paths: grant.paths.clone() })
    }

    fn takes_method(&self, method: &str) -> bool {
        self.methods.is_empty() || self.methods.iter().any(|one| one == method)
    }

    fn takes_path(&self, path: &str) -> bool {
        self.paths.is_empty()
            || (!has_ambiguous_parts(path) && self.paths.iter().any(|one| is_below(path, one)))
    }
}

/// Whether `path` is `prefix` or below it. `/org` holds `/org/project` and not `/organisation`.
fn is_below(path: &str, prefix: &str) -> bool {
    let Some(rest) = path.strip_prefix(prefix) else { return false };
    prefix.ends_with('/') || rest.is_empty() || rest.starts_with('/')
}

/// What servers read in different ways: an encoded slash, backslash, percent sign or NUL, two slashes, parameters of a
/// part of the path.
fn has_ambiguous_parts(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    ["%2f", "%5c", "%25", "%00", "%2e", "//", ";", "\\"].iter().any(|part| lower.contains(part))
}

/// Ports on which something other than HTTP is usual are not for boxes: mail above all.
pub fn is_open_port(port: u16) -> bool {
    matches!(port, 80 | 443 | 1_024..)
}

fn shown(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).take(64).collect()
}

struct BadGrant {
    field: &'static str,
    problem: String,
}

impl BadGrant {
    fn new(field: &'static str, problem: impl Into<String>) -> Self {
        Self { field, problem: problem.into() }
    }

    fn below(self, number: usize) -> BadPolicy {
        BadPolicy { path: format!("allow[{number}].{}", self.field), problem: self.problem }
    }
}

/// A host with its port.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostPort {
    pub host: HostName,
    pub port: u16,
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// What becomes of a tunnel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Granted,
    /// A person decides.
    Ask,
    NotGranted,
}

/// What becomes of a request in plain HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestVerdict {
    /// It goes out as it came.
    Plain,
    /// It goes out by TLS, to this port.
    Secured {
        port: u16,
    },
    Ask,
    NotGranted,
    /// The host is granted, but not by plain HTTP.
    HttpsOnly,
    /// The host is granted, but not with this method.
    Method,
    /// The host is granted, but not this path.
    Path,
}

#[cfg(test)]
mod tests;
