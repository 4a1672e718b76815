//! P4: `true` in an open sandbox over HTTP, by the real binary, against the same through the library, in one run. The goal
//! is less than 1 ms more in the middle, and less than 2 ms more for the slowest hundredth.
//!
//! `cargo bench -p warren-cli --bench exec_over_http`
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod measured;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use measured::{Connection, Server, more_ms, row};
use serde_json::json;
use warren_doors::{Clock as _, Entropy, Environment, OsEntropy, SystemClock};
use warren_model::{Capability, ProviderConfig, SandboxConfig};
use warren_providers::{SandboxProvider, SandboxSettings};
use warren_workspace::shell::Command;
use warren_workspace::{OpenRequest, Provider as _, Workspace};

const WARM_UP: usize = 50;
const RUNS: usize = 1_000;

fn main() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder on the real file system");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime starts");
    let workspace = runtime.block_on(open(&folder.path().join("library")));
    let server = Server::start(&folder.path().join("server"), &[]);
    let mut connection = server.connect();
    let made =
        connection.post("/api/v1/workspaces", &json!({ "name": "bench", "provider": { "kind": "sandbox" } }));
    let path = format!("/api/v1/workspaces/{}/exec", made["id"].as_str().expect("it has an id"));
    let (mut library, mut http) = (Vec::new(), Vec::new());
    for round in 0..WARM_UP + RUNS {
        let started = Instant::now();
        runtime.block_on(run(&workspace));
        let by_library = started.elapsed();
        let started = Instant::now();
        run_over_http(&mut connection, &path);
        if round >= WARM_UP {
            library.push(by_library);
            http.push(started.elapsed());
        }
    }
    let (library_line, library) = row("through the library", library);
    let (http_line, http) = row("over HTTP, one connection, with its event on disk", http);
    println!("## P4: `true` in an open sandbox over HTTP\n\n{}\n{library_line}\n{http_line}", measured::HEAD);
    println!(
        "\nmore over HTTP: p50 {:.3} ms (goal under 1 ms), p99 {:.3} ms (goal under 2 ms)",
        more_ms(http.p50, library.p50),
        more_ms(http.p99, library.p99)
    );
    runtime.block_on(workspace.close()).expect("it closes");
    server.stop();
}

async fn open(base: &Path) -> Arc<dyn Workspace> {
    let settings = SandboxSettings::default();
    let provider =
        SandboxProvider::new(base, settings, Environment::default(), Arc::new(SystemClock), &OsEntropy)
            .expect("the provider can be made");
    let workspace_id = (&OsEntropy as &dyn Entropy).id(SystemClock.now());
    let config = ProviderConfig::Sandbox(SandboxConfig::default());
    let declared = [Capability::Fs, Capability::Shell].into_iter().collect();
    provider.open(OpenRequest { workspace_id, config, declared }).await.expect("the box opens").workspace
}

async fn run(workspace: &Arc<dyn Workspace>) {
    let shell = workspace.shell().expect("there is a shell");
    let result = shell.run(Command::argv(["/bin/true"])).await.expect("it runs");
    assert_eq!(result.exit_code, Some(0));
}

fn run_over_http(connection: &mut Connection, path: &str) {
    let result = connection.post(path, &json!({ "argv": ["/bin/true"] }));
    assert_eq!(result["exit_code"], 0, "{result}");
}
