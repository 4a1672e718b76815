//! A PostgreSQL for tests: the one that `WARREN_TEST_POSTGRES` names, or a private one by `scripts/postgres.sh run`,
//! which ends with the process since it waits on a pipe that we hold.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use warren_doors::{Entropy as _, Environment, OsEntropy};

/// A server of this test's own, which can be stopped and started.
#[derive(Debug)]
pub struct PostgresServer {
    url: String,
    folder: PathBuf,
    /// Closing it ends the server.
    stdin: Option<ChildStdin>,
    script: Child,
}

impl PostgresServer {
    pub fn start() -> Self {
        use std::os::unix::fs::PermissionsExt as _;
        let parent = tempfile::tempdir().expect("a temp folder can be made").keep();
        // As root the server runs as another user, who must get through.
        std::fs::set_permissions(&parent, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
        let folder = parent.join("pg");
        let mut child = script("run", &folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("scripts/postgres.sh can be started");
        let mut url = String::new();
        let stdout = child.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut url).expect("the script speaks");
        let url = url.trim().to_owned();
        assert!(
            url.starts_with("postgres://"),
            "no PostgreSQL for this test: install the Debian package postgresql, or set WARREN_TEST_POSTGRES to the \
             URL of a server in which databases may be created"
        );
        Self { url, folder, stdin: child.stdin.take(), script: child }
    }

    /// Its first database.
    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// Stops it as an operator would, keeping its data.
    pub fn halt(&self) {
        let ended = script("halt", &self.folder).status().expect("the script runs");
        assert!(ended.success());
    }

    /// Starts it again where it was.
    pub fn resume(&self) {
        let ended = script("start", &self.folder).stdout(Stdio::null()).status().expect("the script runs");
        assert!(ended.success());
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.script.wait();
        if let Some(parent) = self.folder.parent() {
            let _ = std::fs::remove_dir(parent);
        }
    }
}

/// A database of its own, dropped with this value.
#[derive(Debug)]
pub struct PostgresDatabase {
    url: String,
    name: String,
    server_url: String,
    /// Absent where the server is not ours. Dropped after the database.
    _server: Option<PostgresServer>,
}

impl PostgresDatabase {
    pub fn create() -> Self {
        let named = Environment::of_process().get("WARREN_TEST_POSTGRES").map(str::to_owned);
        let (server_url, server) = match named {
            Some(url) => (url, None),
            None => {
                let server = PostgresServer::start();
                (server.url(), Some(server))
            }
        };
        let mut mark = [0; 8];
        OsEntropy.fill(&mut mark);
        let name = format!("warren_test_{}", u64::from_ne_bytes(mark));
        execute(&server_url, &format!("CREATE DATABASE {name}"));
        let (head, _) = server_url.rsplit_once('/').expect("a URL with a path");
        Self { url: format!("{head}/{name}"), name, server_url, _server: server }
    }

    /// One, where `WARREN_TEST_POSTGRES` names a server, as in `make test`.
    pub fn where_one_is_named() -> Option<Self> {
        Environment::of_process().get("WARREN_TEST_POSTGRES").is_some().then(Self::create)
    }

    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// How many of its connections wait for what another one holds.
    pub fn waiting_for_locks(&self) -> usize {
        let sql = "SELECT count(*) FROM pg_stat_activity \
                   WHERE datname = current_database() AND wait_event_type = 'Lock'";
        execute(&self.url, sql).trim().parse().expect("a count is a number")
    }
}

impl Drop for PostgresDatabase {
    fn drop(&mut self) {
        execute(&self.server_url, &format!("DROP DATABASE {} WITH (FORCE)", self.name));
    }
}

#[expect(clippy::disallowed_methods, reason = "tests start the database by the script that people use")]
fn script(verb: &str, folder: &Path) -> Command {
    let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/postgres.sh"));
    command.arg(verb).arg(folder);
    command
}

#[expect(clippy::disallowed_methods, reason = "tests prepare the database by its own tool")]
fn execute(server: &str, sql: &str) -> String {
    let options = ["--no-psqlrc", "--quiet", "--tuples-only", "--command"];
    let ended = Command::new("psql").args(options).args([sql, server]).output();
    let ended = ended.expect("psql can be started: install the Debian package postgresql-client");
    assert!(ended.status.success(), "{ended:?}");
    String::from_utf8(ended.stdout).expect("psql writes text")
}
