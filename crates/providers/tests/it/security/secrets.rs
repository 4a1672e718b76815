//! What the launcher has and no program in a box may see.

use std::io::Write as _;

use warren_doors::Environment;
use warren_workspace::shell::Command;

use super::case::{Case, Kind};
use super::in_each_box;
use super::oracles::{assert_no_canary, forms};
use super::outside::program;
use super::probe::{self, results};

in_each_box!(a_command_has_three_descriptors_whatever_the_supervisor_holds);

const CANARY: &str = "canary-8d1f4b6c90e27a35";
/// Names the provider to the copy of this test that has the canary in its environment and its arguments.
const ROLE: &str = "WARREN_SECURITY_ROLE";

// sec/S04
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_launchers_environment_and_arguments_are_nowhere_in_a_box() {
    let own = "security::secrets::the_launchers_environment_and_arguments_are_nowhere_in_a_box";
    match Environment::of_process().get(ROLE) {
        None => {
            for role in ["sandbox", "docker"] {
                let output = program(std::env::current_exe().unwrap())
                    .args([own, CANARY, "--exact", "--nocapture"])
                    .env(ROLE, role)
                    .env("CANARY", CANARY)
                    .output()
                    .unwrap();
                let said = String::from_utf8_lossy(&output.stdout);
                let told = String::from_utf8_lossy(&output.stderr);
                assert!(
                    output.status.success() && said.contains("nothing was seen"),
                    "{role}: {said} {told}"
                );
            }
        }
        Some("sandbox") => look_for_the_canary(Kind::Sandbox).await,
        Some(_) => look_for_the_canary(Kind::Docker).await,
    }
}

async fn look_for_the_canary(kind: Kind) {
    let case = Case::new(kind, Environment::of_process());
    let boxed = case.open().await;
    let command = Command { stdin: CANARY.into(), ..Command::argv([probe::IN_BOX, "secrets"]) };
    let result = boxed.shell().run(command).await.unwrap();
    let said = String::from_utf8_lossy(&result.stdout.bytes).into_owned();
    let facts = results(&said);
    assert_eq!(facts["hits"], "0", "{said}");
    assert!(facts["looked"].parse::<u32>().unwrap() > 0, "{said}");
    for script in
        ["env; set", "cat /proc/1/environ /proc/1/cmdline /proc/self/environ", "cat /proc/*/environ 2>&1"]
    {
        let said = boxed.says(script).await;
        assert_no_canary(&said, CANARY);
    }
    println!("nothing was seen");
}

// control: sec/S04
#[test]
fn outside_of_a_box_the_environment_and_arguments_of_others_are_seen() {
    let mut holder = program("sleep").arg("60").env("CANARY", CANARY).spawn().unwrap();
    let mut child = program(probe::path())
        .arg("secrets")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(CANARY.as_bytes()).unwrap();
    let said = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert_ne!(results(&said)["hits"], "0", "{said}");
    // The oracle itself knows every form.
    for form in forms(CANARY) {
        let caught = std::panic::catch_unwind(|| assert_no_canary(&format!("x{form}y"), CANARY));
        assert!(caught.is_err(), "{form}");
    }
}

/// A folder, a file that could be a database, and a listener, all left open to whatever is started.
struct Leaky {
    _files: [std::fs::File; 2],
    _listener: std::net::TcpListener,
}

impl Leaky {
    fn open() -> Self {
        let files = [std::fs::File::open("/").unwrap(), tempfile::tempfile().unwrap()];
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        for file in &files {
            rustix::io::fcntl_setfd(file, rustix::io::FdFlags::empty()).unwrap();
        }
        rustix::io::fcntl_setfd(&listener, rustix::io::FdFlags::empty()).unwrap();
        Self { _files: files, _listener: listener }
    }
}

// sec/S05
async fn a_command_has_three_descriptors_whatever_the_supervisor_holds(case: Case) {
    let before = Leaky::open();
    let boxed = case.open().await;
    let meanwhile = Leaky::open();
    assert_eq!(boxed.probe(&["descriptors"]).await.trim(), "0 1 2");
    // Process 1 has more of its own; none of them is a file or a listener of the host.
    let said = boxed.says("ls -l /proc/1/fd 2>&1").await;
    assert!(!said.contains("-> /\n") && !said.contains("tempfile"), "{said}");
    drop((before, meanwhile));
}

// control: sec/S05
#[test]
fn outside_of_a_box_a_child_inherits_what_is_left_open() {
    let leaky = Leaky::open();
    let said = super::outside::probe_says(&["descriptors"]);
    assert!(said.split_whitespace().count() > 3, "{said}");
    drop(leaky);
}
