//! An agent's command that runs while Warren is killed or stopped, in a container that lives on.

use serde_json::{Value, json};
use warren_api::client::Client;
use warren_api::{CreateSession, CreateWorkspace, SendSessionMessage, SessionStatus, Status};

use crate::warren::{Machine, Server, wait_until};

const SCRIPT: &str = r#"
turns:
  - when: { answers: 0 }
    calls:
      - tool: workspace_run
        arguments:
          argv:
            - sh
            - -c
            - "echo begun >> log; echo first; until [ -e go ]; do sleep 0.05; done; echo last; echo ended >> log"
  - when: { answers: 1 }
    text: "It is done."
"#;

fn client_of(server: &Server) -> Client {
    Client::new(server.url(), Some(server.token())).unwrap()
}

/// The daemon that tests share, or one that lives as long as this value.
#[expect(clippy::disallowed_methods, reason = "the daemon is started by the script that people use")]
pub(crate) fn docker_daemon() -> (String, Option<std::process::Child>) {
    if let Some(host) = warren_doors::Environment::of_process().get("WARREN_TEST_DOCKER") {
        return (host.to_owned(), None);
    }
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/docker.sh");
    let folder = tempfile::tempdir().unwrap().keep().join("docker");
    let mut child = std::process::Command::new(script)
        .arg("run")
        .arg(folder)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("scripts/docker.sh can be started");
    let mut host = String::new();
    let mut said = std::io::BufReader::new(child.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut said, &mut host).unwrap();
    assert!(host.starts_with("unix://"), "install the Debian packages docker.io and busybox-static, as root");
    (host.trim().to_owned(), Some(child))
}

struct House {
    machine: Machine,
    server: Option<Server>,
    workspace: String,
}

impl House {
    fn start(host: &str) -> Self {
        let machine = Machine::new();
        let scripts = machine.path().join("scripts");
        std::fs::create_dir(&scripts).unwrap();
        std::fs::write(scripts.join("patient.yaml"), SCRIPT).unwrap();
        let config =
            format!("[docker]\nhost = {host:?}\n\n[models]\nscripts_folder = {:?}\n", scripts.display());
        std::fs::create_dir_all(machine.data()).unwrap();
        std::fs::write(machine.data().join("warren.toml"), config).unwrap();
        let server = machine.start();
        Self { machine, server: Some(server), workspace: String::new() }
    }

    fn client(&self) -> Client {
        client_of(self.server.as_ref().unwrap())
    }

    async fn make_workspace(&mut self, reuse: &str) {
        let provider = json!({
            "kind": "docker", "image": "warren-test:busybox", "pull_policy": "never", "reuse": reuse,
        });
        let wish = CreateWorkspace::new(format!("patient-{reuse}"), provider);
        let made = self.client().create_workspace(&wish).await.unwrap();
        let agent = "name: patient\nmodel: scripted/patient\n".to_owned();
        self.client().put_agent("patient", warren_api::YAML, agent).await.unwrap();
        for _ in 0..600 {
            if self.client().workspace(&made.id).await.unwrap().status == Status::Online {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        self.workspace = made.id;
    }

    /// A session whose command has begun.
    async fn begin(&self, name: &str) {
        let new = CreateSession {
            workspace_id: self.workspace.clone(),
            agent: "patient".to_owned(),
            name: Some(name.to_owned()),
            ..CreateSession::default()
        };
        self.client().create_session(&new, None).await.unwrap();
        let message = SendSessionMessage { text: Some("go".to_owned()), ..SendSessionMessage::default() };
        self.client().send_session_message(name, &message, None).await.unwrap();
        for _ in 0..400 {
            if self.log().contains("begun") {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        panic!("it did not begin: {}", self.machine.run(&["session", "steps", name, "--json"]).text());
    }

    fn run(&self, command: &str) -> String {
        self.machine.run(&["ws", "exec", &self.workspace, "--", "sh", "-c", command]).text()
    }

    fn log(&self) -> String {
        self.run("cat log 2>/dev/null || true")
    }

    /// The only call of a session, once the session has ended.
    async fn call_of(&self, name: &str) -> Value {
        for _ in 0..1_200 {
            let session = self.client().session(name).await.unwrap();
            if session.status == SessionStatus::Completed {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        let steps = self.machine.run(&["session", "steps", name, "--json"]).expect_ok().json();
        assert_eq!(steps.as_array().unwrap().len(), 2, "{steps}");
        steps[0]["calls"][0].clone()
    }
}

impl Drop for House {
    fn drop(&mut self) {
        if self.server.is_some() {
            self.machine.run(&["ws", "rm", &self.workspace, "--yes"]);
            wait_until("the container is removed", || {
                self.machine.run(&["ws", "ls", "--json"]).text().trim() == "[]"
            });
        }
    }
}

// A4: the command runs once, and its end reaches the session
#[tokio::test(flavor = "multi_thread")]
async fn a_command_goes_on_in_a_living_container_while_warren_is_killed_or_stopped() {
    let (host, mut daemon) = docker_daemon();
    for is_killed in [true, false] {
        let mut house = House::start(&host);
        house.make_workspace("reconnect").await;
        house.begin("s").await;
        let server = house.server.take().unwrap();
        if is_killed {
            server.kill();
        } else {
            server.signal(rustix::process::Signal::TERM);
            assert_eq!(server.wait(), Some(0));
        }
        house.server = Some(house.machine.start());
        house.run("touch go");
        let call = house.call_of("s").await;
        assert_eq!(call["outcome"]["kind"], "done", "{call:#}");
        let told = call.to_string();
        assert!(told.contains("first\\nlast\\n") && told.contains("\"exit_code\":0"), "{told}");
        assert_eq!(house.log(), "begun\nended\n", "it ran once, to its end");
    }
    daemon.iter_mut().for_each(|child| child.kill().unwrap());
}

// A4: where the container did not live on, that is what the model is told, and nothing is begun again
#[tokio::test(flavor = "multi_thread")]
async fn a_command_whose_container_is_gone_is_not_begun_again() {
    let (host, mut daemon) = docker_daemon();
    for reuse in ["reconnect", "recreate"] {
        let mut house = House::start(&host);
        house.make_workspace(reuse).await;
        house.begin("s").await;
        house.server.take().unwrap().kill();
        // One that is not to be met again ends by itself.
        if reuse == "reconnect" {
            remove_container(&host, &house.workspace);
        }
        house.server = Some(house.machine.start());
        let call = house.call_of("s").await;
        assert_eq!(call["outcome"]["kind"], "unknown", "{call:#}");
        assert!(call.to_string().contains("owner"), "the evidence says why: {call:#}");
        assert_eq!(house.log(), "begun\n", "once, and not to its end");
    }
    daemon.iter_mut().for_each(|child| child.kill().unwrap());
}

#[expect(clippy::disallowed_methods, reason = "removed behind Warren's back, as an operator may")]
fn remove_container(host: &str, workspace: &str) {
    let docker = |arguments: &[&str]| {
        let output =
            std::process::Command::new("docker").args(["--host", host]).args(arguments).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let filter = format!("label=dev.warren.workspace={workspace}");
    let found = docker(&["ps", "--quiet", "--filter", &filter]);
    assert_eq!(found.lines().count(), 1, "{found:?}");
    docker(&["rm", "--force", found.trim()]);
}
