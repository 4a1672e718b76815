//! Whether the Docker daemon answers, before any workspace needs it (`warren doctor`).

use super::daemon::{Daemon, DaemonError, DaemonTimeouts};
use super::host::{Host, Transport};
use super::provider::DockerSettings;

/// A daemon that answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DaemonStatus {
    pub address: String,
    pub version: String,
    /// What an operator should know about the way to it.
    pub remark: Option<&'static str>,
}

/// Why no daemon can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DaemonProblem {
    /// The address cannot be used; a sentence with its remedy.
    Address(String),
    /// Nothing that can be used answers there.
    NoAnswer { address: String, cause: String },
}

pub async fn check_daemon(
    settings: &DockerSettings,
    patience: DaemonTimeouts,
) -> Result<DaemonStatus, DaemonProblem> {
    let host = settings.read_host().map_err(DaemonProblem::Address)?;
    let (address, remark) = match &host {
        Host::Local { socket } => (format!("unix://{socket}"), None),
        Host::Remote { address, transport: Transport::Tls(_) } => (format!("tcp://{address} (TLS)"), None),
        Host::Remote { address, transport: Transport::Plain } => {
            let remark = (!host.is_on_loopback()).then_some(
                "It is spoken to in the clear: whoever is on the way reads everything and is root over there. Use TLS.",
            );
            (format!("tcp://{address}"), remark)
        }
    };
    match Daemon::new(Ok(host), patience).version().await {
        Ok(version) => Ok(DaemonStatus { address, version, remark }),
        Err(error) => Err(DaemonProblem::NoAnswer { address, cause: cause_of(&error) }),
    }
}

/// The innermost cause: "does not answer" alone does not tell a missing socket from one without permission.
fn cause_of(error: &DaemonError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = cause.to_string();
        source = cause.source();
    }
    text
}
