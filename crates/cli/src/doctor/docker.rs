//! Whether a Docker daemon answers on its socket.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use warren_doors::Environment;

use super::Check;

const DEFAULT_SOCKET: &str = "/var/run/docker.sock";
const PATIENCE: Duration = Duration::from_secs(1);
const MAX_ANSWER_BYTES: u64 = 4_096;

pub(super) async fn check(environment: &Environment) -> Check {
    let check = |finding: String| {
        Check::ok("host", "docker", finding)
            .effect("Keeps the containers of the `docker` provider; the others do without.")
    };
    let socket = match environment.get("DOCKER_HOST") {
        Some(host) => match host.strip_prefix("unix://") {
            Some(path) => PathBuf::from(path),
            None => {
                return check(format!("DOCKER_HOST names {host}, which is no local socket"))
                    .warn("Set it to `unix:///path`: daemons on other machines cannot be used yet.");
            }
        },
        None => PathBuf::from(DEFAULT_SOCKET),
    };
    let shown = socket.display();
    match tokio::time::timeout(PATIENCE, ping(&socket)).await {
        Ok(Ok(true)) => check(format!("answers on {shown}")),
        Ok(Ok(false)) => {
            check(format!("something else than Docker answers on {shown}")).warn("Check DOCKER_HOST.")
        }
        Ok(Err(error)) => check(format!("{shown}: {error}")).warn(
            "Install and start it: `apt-get install docker.io`, and add yourself to the group `docker`.",
        ),
        Err(_) => {
            check(format!("{shown} does not answer in time")).warn("Restart it: `systemctl restart docker`.")
        }
    }
}

async fn ping(socket: &std::path::Path) -> io::Result<bool> {
    let mut stream = UnixStream::connect(socket).await?;
    stream.write_all(b"GET /_ping HTTP/1.0\r\nHost: docker\r\n\r\n").await?;
    let mut answer = Vec::new();
    stream.take(MAX_ANSWER_BYTES).read_to_end(&mut answer).await?;
    let text = String::from_utf8_lossy(&answer);
    let is_success = text.lines().next().is_some_and(|line| line.contains(" 200"));
    Ok(is_success && text.trim_end().ends_with("OK"))
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    fn with_socket(path: &std::path::Path) -> Environment {
        [("DOCKER_HOST", format!("unix://{}", path.display()))].into_iter().collect()
    }

    // O1
    #[tokio::test]
    async fn a_daemon_is_recognized_by_its_answer() {
        let folder = tempfile::tempdir().unwrap();
        for (answer, expected) in [
            ("HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nOK", State::Ok),
            ("HTTP/1.0 404 Not Found\r\n\r\n", State::Warn),
        ] {
            let path = folder.path().join(format!("{expected:?}.sock"));
            let listener = tokio::net::UnixListener::bind(&path).unwrap();
            let serving = tokio::spawn(async move {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = [0; 256];
                let _ = stream.read(&mut request).await.unwrap();
                stream.write_all(answer.as_bytes()).await.unwrap();
            });
            assert_eq!(check(&with_socket(&path)).await.state, expected, "{answer}");
            serving.await.unwrap();
        }
    }

    // O1
    #[tokio::test]
    async fn no_daemon_is_a_warning() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(check(&with_socket(&folder.path().join("none"))).await.state, State::Warn);
    }
}
