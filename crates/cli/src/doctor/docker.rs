//! Whether the Docker daemon that `warren up` would use answers.

use std::time::Duration;

use warren_providers::DockerSettings;
use warren_providers::docker::{DaemonProblem, DaemonTimeouts, check_daemon};

use super::Check;

const PATIENCE: Duration = Duration::from_secs(2);

pub(super) async fn check(settings: &DockerSettings) -> Check {
    let check = |finding: String| {
        Check::ok("host", "docker", finding)
            .effect("Keeps the containers of the `docker` provider; the others do without.")
    };
    let patience = DaemonTimeouts { call: PATIENCE, ..DaemonTimeouts::default() };
    match check_daemon(settings, patience).await {
        Ok(found) => {
            let check = check(format!("version {} answers on {}", found.version, found.address));
            match found.remark {
                Some(remark) => check.warn(remark),
                None => check,
            }
        }
        Err(DaemonProblem::Address(problem)) => {
            check("its address cannot be used".into()).warn(format!("{}.", sentence(&problem)))
        }
        Err(DaemonProblem::NoAnswer { address, cause }) => check(format!("{address}: {cause}")).warn(
            "Install and start it: `apt-get install docker.io`, and add yourself to the group `docker`; or set \
             DOCKER_HOST to where it is.",
        ),
    }
}

fn sentence(phrase: &str) -> String {
    let mut characters = phrase.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::super::State;
    use super::*;

    fn at(host: String) -> DockerSettings {
        DockerSettings { host: Some(host), ..DockerSettings::default() }
    }

    /// Answers every request alike.
    async fn answering(answer: &'static str) -> (tempfile::TempDir, DockerSettings) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("docker.sock");
        let listener = tokio::net::UnixListener::bind(&path).unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = [0; 1_024];
                let _ = stream.read(&mut request).await;
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        let settings = at(format!("unix://{}", path.display()));
        (folder, settings)
    }

    // O1
    #[tokio::test]
    async fn a_daemon_is_recognized_by_its_answer() {
        let daemon = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n\
                      {\"Version\":\"27.1\",\"ApiVersion\":\"1.41\"}";
        for (answer, expected) in [
            (daemon, State::Ok),
            ("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", State::Warn),
            ("220 mail.example.com\r\n", State::Warn),
        ] {
            let (_folder, settings) = answering(answer).await;
            let check = check(&settings).await;
            assert_eq!(check.state, expected, "{check:?}");
            assert!(expected != State::Ok || check.finding.contains("version 27.1"), "{check:?}");
        }
    }

    // O1
    #[tokio::test]
    async fn no_daemon_is_a_warning() {
        let folder = tempfile::tempdir().unwrap();
        let check = check(&at(format!("unix://{}", folder.path().join("none").display()))).await;
        assert_eq!(check.state, State::Warn);
        assert!(check.remedy.unwrap().contains("apt-get install docker.io"));
    }

    // O1, W83
    #[tokio::test]
    async fn an_address_that_is_not_used_is_a_warning_with_its_remedy() {
        let refused = check(&at("tcp://203.0.113.7:2375".into())).await;
        assert_eq!(refused.state, State::Warn);
        assert!(refused.remedy.unwrap().contains("allow_plain_tcp"));
    }
}
