//! The server that tests run against, and a database of its own for each.
//!
//! `WARREN_TEST_POSTGRES` names a server in which tests may create databases. Without it the test process starts a
//! private one by `scripts/postgres.sh run`, which ends with the process: it waits on a pipe that we hold.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::str::FromStr as _;
use std::sync::{Arc, OnceLock};

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _};
use tempfile::TempDir;
use warren_doors::Environment;
use warren_model::RequestId;
use warren_store::{Store, Waker};
use warren_store_sql::postgres::{PostgresOptions, PostgresStore};

use crate::rows;

#[expect(clippy::disallowed_methods, reason = "tests start the database by the script that people use")]
fn script(verb: &str, folder: &Path) -> Command {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/postgres.sh");
    let mut command = Command::new(script);
    command.arg(verb).arg(folder);
    command
}

/// In the system's own place for such: the server's user may not enter a build folder that lies in somebody's home.
fn new_folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// A PostgreSQL that lives no longer than this value, nor than the process.
pub(crate) struct Server {
    pub(crate) url: String,
    folder: PathBuf,
    /// Closing it ends the server.
    stdin: Option<ChildStdin>,
    script: Child,
}

impl Server {
    pub(crate) fn start() -> Self {
        // The script makes the folder and removes it.
        let parent = new_folder().keep();
        open_to_others(&parent);
        let folder = parent.join("pg");
        let mut child = script("run", &folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("scripts/postgres.sh can be started");
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        let url = url.trim().to_owned();
        assert!(
            url.starts_with("postgres://"),
            "no PostgreSQL for the tests: install the Debian package postgresql, or set WARREN_TEST_POSTGRES to the \
             URL of a server in which databases may be created"
        );
        Self { url, folder, stdin: child.stdin.take(), script: child }
    }

    /// Stops it as an operator would, keeping its data.
    pub(crate) fn halt(&self) {
        assert!(script("halt", &self.folder).status().unwrap().success());
    }

    /// Starts it again where it was.
    pub(crate) fn resume(&self) {
        let output = script("start", &self.folder).stderr(Stdio::inherit()).output().unwrap();
        assert!(output.status.success());
        assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), self.url, "it came back elsewhere");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.script.wait();
        let _ = std::fs::remove_dir(self.folder.parent().unwrap());
    }
}

/// The server runs as another user when we are root, and must be able to pass through.
fn open_to_others(folder: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn shared_url() -> &'static str {
    static URL: OnceLock<String> = OnceLock::new();
    URL.get_or_init(|| match Environment::of_process().get("WARREN_TEST_POSTGRES") {
        Some(url) => url.to_owned(),
        None => {
            // Never dropped: the pipe closes with the process.
            let server = Box::leak(Box::new(Server::start()));
            server.url.clone()
        }
    })
}

/// A database of its own, dropped with this value.
pub(crate) struct Database {
    server: String,
    name: String,
    stores: Vec<Arc<dyn Store>>,
}

impl Database {
    pub(crate) async fn create() -> Self {
        Self::create_on(shared_url()).await
    }

    pub(crate) async fn create_on(server: &str) -> Self {
        let id: RequestId = rows::id();
        let name = format!("warren_test_{}", id.to_string().replace('-', ""));
        execute(server, &format!("CREATE DATABASE {name}")).await;
        Self { server: server.to_owned(), name, stores: Vec::new() }
    }

    pub(crate) fn url(&self) -> String {
        let (head, _) = self.server.rsplit_once('/').unwrap();
        format!("{head}/{}", self.name)
    }

    /// Opens another replica on this database.
    pub(crate) async fn open(&mut self, options: PostgresOptions) -> Arc<dyn Store> {
        let store: Arc<dyn Store> = Arc::new(PostgresStore::connect(&self.url(), options).await.unwrap());
        self.stores.push(Arc::clone(&store));
        store
    }

    /// As `open`, with something else than the database to carry wake-ups.
    pub(crate) async fn open_with_waker(
        &mut self,
        options: PostgresOptions,
        waker: Arc<dyn Waker>,
    ) -> Arc<dyn Store> {
        let store = PostgresStore::connect_with_waker(&self.url(), options, waker).await.unwrap();
        let store: Arc<dyn Store> = Arc::new(store);
        self.stores.push(Arc::clone(&store));
        store
    }

    /// The first replica.
    pub(crate) fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.stores[0])
    }

    /// A connection beside the stores.
    pub(crate) async fn connect(&self) -> PgConnection {
        connect(&self.url()).await
    }
}

async fn connect(url: &str) -> PgConnection {
    let options = PgConnectOptions::from_str(url).unwrap();
    PgConnection::connect_with(&options).await.unwrap()
}

async fn execute(server: &str, sql: &str) {
    let mut connection = connect(server).await;
    connection.execute(AssertSqlSafe(sql.to_owned())).await.unwrap();
    connection.close().await.unwrap();
}

impl Drop for Database {
    /// Also after a failed test, hence on a thread with a runtime of its own.
    fn drop(&mut self) {
        let (server, drop_it) = (self.server.clone(), format!("DROP DATABASE {} WITH (FORCE)", self.name));
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let options = PgConnectOptions::from_str(&server).unwrap();
                if let Ok(mut connection) = PgConnection::connect_with(&options).await {
                    let _ = connection.execute(AssertSqlSafe(drop_it)).await;
                }
            });
        });
        let _ = thread.join();
    }
}
