//! The public conformance suite, run over our transport.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::fixture;

/// Scenarios of the older revision in which the server asks the client something while it answers. That needs a session,
/// and Warren has none and asks nothing: the current revision does it otherwise, and there they pass.
const NEED_A_SESSION: &str =
    "tools-call-sampling tools-call-elicitation elicitation-sep1034-defaults elicitation-sep1330-enums";

#[expect(clippy::disallowed_methods, reason = "runs a peer of the tests")]
async fn run(revision: &'static str, expected_failures: &'static str) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/conformance.sh");
    let url = fixture::serve().await;
    let mut command = Command::new(script);
    command.args(["run", &url, revision]).args(expected_failures.split(' ')).stdin(Stdio::null());
    tokio::task::spawn_blocking(move || command.output().expect("the script can be started")).await.unwrap()
}

fn passed(output: &Output) {
    let told = String::from_utf8_lossy(&output.stdout);
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}\n{why}");
}

// S30
#[tokio::test(flavor = "multi_thread")]
async fn the_conformance_suite_of_the_current_revision_passes() {
    passed(&run("2026-07-28", "").await);
}

// S30
#[tokio::test(flavor = "multi_thread")]
async fn the_conformance_suite_of_the_revision_before_passes_but_for_what_needs_a_session() {
    passed(&run("2025-11-25", NEED_A_SESSION).await);
}
