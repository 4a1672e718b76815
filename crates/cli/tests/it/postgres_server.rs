//! A database of its own on a PostgreSQL: on the server that `WARREN_TEST_POSTGRES` names, or else on a private one
//! that `scripts/postgres.sh run` keeps for as long as its input is open.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;
use warren_doors::Environment;

/// Fields are dropped in order: the database before the server.
pub(crate) struct Database {
    pub(crate) url: String,
    name: String,
    server_url: String,
    /// Absent where the server is not ours.
    _server: Option<PrivateServer>,
}

impl Database {
    pub(crate) fn create() -> Self {
        let named = Environment::of_process().get("WARREN_TEST_POSTGRES").map(str::to_owned);
        let server = named.is_none().then(PrivateServer::start);
        let server_url = named.or_else(|| server.as_ref().map(|server| server.url.clone())).unwrap();
        let name = format!("warren_test_cli_{}", std::process::id());
        execute(&server_url, &format!("CREATE DATABASE {name}"));
        let (head, _) = server_url.rsplit_once('/').unwrap();
        Self { url: format!("{head}/{name}"), name, server_url, _server: server }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        execute(&self.server_url, &format!("DROP DATABASE {} WITH (FORCE)", self.name));
    }
}

#[expect(clippy::disallowed_methods, reason = "tests prepare the database by its own tool")]
fn execute(server: &str, sql: &str) {
    let ended = Command::new("psql").args(["--no-psqlrc", "--quiet", "--command", sql, server]).output();
    let ended = ended.expect("psql can be started: install the Debian package postgresql-client");
    assert!(ended.status.success(), "{ended:?}");
}

/// Ends with this value, and with the process: it waits on a pipe that we hold.
struct PrivateServer {
    url: String,
    script: Child,
    _folder: TempDir,
}

impl PrivateServer {
    #[expect(clippy::disallowed_methods, reason = "tests start the database by the script that people use")]
    fn start() -> Self {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        // As root the server runs as another user, who must get through.
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut script =
            Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/postgres.sh"))
                .arg("run")
                .arg(folder.path().join("pg"))
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .expect("scripts/postgres.sh can be started");
        let mut url = String::new();
        BufReader::new(script.stdout.take().unwrap()).read_line(&mut url).unwrap();
        let url = url.trim().to_owned();
        assert!(
            url.starts_with("postgres://"),
            "no PostgreSQL for this test: install the Debian package postgresql, or set WARREN_TEST_POSTGRES to the \
             URL of a server in which databases may be created"
        );
        Self { url, script, _folder: folder }
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        drop(self.script.stdin.take());
        let _ = self.script.wait();
    }
}
