//! Where the daemon is.

use warren_model::ErrorCode;
use warren_workspace::Error;

const DEFAULT_SOCKET: &str = "/var/run/docker.sock";

/// A daemon on this machine: it sees the directories that Warren sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Host {
    socket: String,
}

impl Host {
    /// Reads what `DOCKER_HOST` holds; absent or empty: the usual socket.
    ///
    /// A daemon elsewhere has no directory in common with Warren, so that files and channel would have to go through
    /// process 1's own input and output. Until they do, it is refused rather than half served.
    pub(super) fn parse(text: Option<&str>) -> Result<Self, Error> {
        let text = text.filter(|text| !text.is_empty());
        let Some(text) = text else {
            return Ok(Self { socket: DEFAULT_SOCKET.to_owned() });
        };
        match text.strip_prefix("unix://") {
            Some(socket) if socket.starts_with('/') => Ok(Self { socket: socket.to_owned() }),
            _ => {
                let detail = "the Docker daemon's address must be a local socket, `unix:///path`; daemons on other \
                              machines cannot be used yet";
                Err(Error::permanent(ErrorCode::ProviderUnavailable, detail))
            }
        }
    }

    pub(super) fn socket(&self) -> &str {
        &self.socket
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // W74
    #[test]
    fn only_a_local_socket_is_taken() {
        assert_eq!(Host::parse(None).unwrap().socket(), DEFAULT_SOCKET);
        assert_eq!(Host::parse(Some("")).unwrap().socket(), DEFAULT_SOCKET);
        assert_eq!(
            Host::parse(Some("unix:///run/user/7/docker.sock")).unwrap().socket(),
            "/run/user/7/docker.sock"
        );
        for elsewhere in
            ["tcp://10.0.0.1:2375", "http://a", "ssh://a", "npipe://a", "unix://relative", "/socket"]
        {
            let error = Host::parse(Some(elsewhere)).unwrap_err();
            assert!(!error.is_transient() && error.to_string().contains("other machines"), "{elsewhere}");
        }
    }
}
