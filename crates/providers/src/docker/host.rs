//! Where the daemon is, and how it is spoken to.
//!
//! A daemon behind a local socket sees the directories that Warren sees, and a box shares one with it. One behind TCP
//! shares none, also on the same machine: what listens there may be a tunnel. Its boxes have their files in volumes.
//!
//! Whoever reaches a daemon by TCP is root where it runs, so that without TLS only loopback is taken unasked.

use std::net::IpAddr;
use std::path::PathBuf;

const DEFAULT_SOCKET: &str = "/var/run/docker.sock";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Host {
    /// On this machine.
    Local { socket: String },
    /// Anywhere; nothing on disk is shared with it.
    Remote { address: String, transport: Transport },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Transport {
    Plain,
    /// A folder with `ca.pem`, `cert.pem` and `key.pem`, as Docker's own client has it.
    Tls(PathBuf),
}

/// What decides how an address is used.
#[derive(Debug, Clone, Default)]
pub(super) struct Access {
    pub(super) certificates: Option<PathBuf>,
    pub(super) allow_plain_tcp: bool,
}

impl Host {
    /// Reads what `DOCKER_HOST` holds; absent or empty: the usual socket. The error is a sentence with its remedy.
    pub(super) fn parse(text: Option<&str>, access: &Access) -> Result<Self, String> {
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return Ok(Self::Local { socket: DEFAULT_SOCKET.to_owned() });
        };
        match text.split_once("://") {
            Some(("unix", socket)) if socket.starts_with('/') => Ok(Self::Local { socket: socket.to_owned() }),
            Some(("tcp", address)) => remote(address, access),
            Some(("ssh", _)) => Err("daemons are not reached by ssh itself: make a tunnel, such as `ssh -N -L \
                                     127.0.0.1:2375:/var/run/docker.sock user@host`, and name `tcp://127.0.0.1:2375`"
                .to_owned()),
            _ => Err("the Docker daemon's address must be `unix:///path` or `tcp://host:port`".to_owned()),
        }
    }

    pub(super) const fn is_remote(&self) -> bool {
        matches!(self, Self::Remote { .. })
    }

    /// Whether nobody can be on the way to it.
    pub(super) fn is_on_loopback(&self) -> bool {
        match self {
            Self::Local { .. } => true,
            Self::Remote { address, .. } => name_of(address).is_some_and(is_loopback),
        }
    }
}

fn remote(address: &str, access: &Access) -> Result<Host, String> {
    let Some(name) = name_of(address) else {
        return Err("the Docker daemon's address must be `tcp://host:port`, and nothing more".to_owned());
    };
    let transport = match &access.certificates {
        Some(folder) => Transport::Tls(folder.clone()),
        None if access.allow_plain_tcp || is_loopback(name) => Transport::Plain,
        None => {
            return Err("a Docker daemon on another machine is not spoken to in the clear: set DOCKER_TLS_VERIFY=1 and \
                        DOCKER_CERT_PATH, or make a tunnel by ssh to a port of this machine, or, on a network of your \
                        own, set `docker.allow_plain_tcp = true`"
                .to_owned());
        }
    };
    Ok(Host::Remote { address: address.to_owned(), transport })
}

/// Host of `host:port` or `[host]:port`. Absent: it is no such thing.
fn name_of(address: &str) -> Option<&str> {
    let (name, port) = address.rsplit_once(':')?;
    port.parse::<u16>().ok().filter(|&port| port != 0)?;
    match name.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']').filter(|inner| inner.parse::<IpAddr>().is_ok()),
        None => {
            let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
            (!name.is_empty() && name.bytes().all(is_name)).then_some(name)
        }
    }
}

fn is_loopback(name: &str) -> bool {
    name == "localhost" || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Host, String> {
        Host::parse(Some(text), &Access::default())
    }

    // W74
    #[test]
    fn a_local_socket_is_a_daemon_on_this_machine() {
        let usual = Host::Local { socket: DEFAULT_SOCKET.into() };
        assert_eq!(Host::parse(None, &Access::default()).unwrap(), usual);
        assert_eq!(parse("").unwrap(), usual);
        let named = Host::Local { socket: "/run/user/7/docker.sock".into() };
        assert_eq!(parse("unix:///run/user/7/docker.sock").unwrap(), named);
    }

    // W83
    #[test]
    fn without_tls_only_loopback_is_taken_unasked() {
        for address in ["127.0.0.1:2375", "localhost:2375", "[::1]:2375"] {
            let host = parse(&format!("tcp://{address}")).unwrap();
            assert_eq!(host, Host::Remote { address: address.into(), transport: Transport::Plain });
            assert!(host.is_remote());
        }
        for address in
            ["10.0.0.1:2375", "docker.example.com:2375", "127.0.0.1.example.com:2375", "[fd00::1]:2375"]
        {
            let text = format!("tcp://{address}");
            assert!(parse(&text).unwrap_err().contains("allow_plain_tcp"), "{address}");
            let asked = Access { allow_plain_tcp: true, ..Access::default() };
            assert!(Host::parse(Some(&text), &asked).is_ok(), "{address}");
            let certificates = Some(PathBuf::from("/certs"));
            let by_tls = Host::parse(Some(&text), &Access { certificates, ..Access::default() }).unwrap();
            let transport = Transport::Tls("/certs".into());
            assert_eq!(by_tls, Host::Remote { address: address.into(), transport });
        }
    }

    // W83
    #[test]
    fn what_is_no_address_is_refused_with_the_remedy() {
        for text in [
            "http://a",
            "npipe://a",
            "unix://relative",
            "/socket",
            "tcp://",
            "tcp://:1",
            "tcp://a",
            "tcp://a:0",
            "tcp://a:70000",
            "tcp://a:1/x",
            "tcp://u@a:1",
            "tcp://a b:1",
            "tcp://[a]:1",
            "tcp://::1:1",
        ] {
            assert!(parse(text).unwrap_err().contains("tcp://host:port"), "{text}");
        }
        assert!(parse("ssh://a").unwrap_err().contains("ssh -N -L"));
    }
}
