//! The server is killed again and again in the middle of work, and started again on what it left.
//!
//! ```text
//!   writers ──requests──▶ server ──killed after the n-th acknowledgement
//!      │                    │
//!      └── ledger           └── data folder ──▶ read by SQLite's own library, and asked of the next server
//!             └──────────── must agree ───────────────┘
//! ```
//!
//! Each writer keeps a ledger of what was acknowledged, and of the one change that was on its way when the server
//! died: that one may be there or not, whole; everything else must be as the ledger says.

use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::TryStreamExt as _;
use rusqlite::{Connection, OpenFlags};
use serde_json::json;
use tokio::sync::mpsc;
use warren_api::client::{ByteRange, Client, Error, PathContents, WorkspaceQuery};
use warren_api::{CreateToken, CreateWorkspace, ExecRequest, MintableKind, PatchWorkspace, Status};

use crate::warren::{Machine, Server};

const ROUNDS: u64 = 8;
const WRITERS: usize = 4;
const FILE: &str = "notes/latest.txt";
/// How long what goes on in the background after a start may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What the server acknowledged, and what it may have done without being able to say so.
#[derive(Debug, Clone)]
struct Known<T> {
    acknowledged: T,
    on_its_way: Option<T>,
}

impl<T: PartialEq + std::fmt::Debug> Known<T> {
    const fn new(acknowledged: T) -> Self {
        Self { acknowledged, on_its_way: None }
    }

    fn acknowledge(&mut self) {
        if let Some(value) = self.on_its_way.take() {
            self.acknowledged = value;
        }
    }

    /// After a restart, what is there is what counts from now on.
    #[track_caller]
    fn settle(&mut self, found: T, what: &str) {
        assert!(
            found == self.acknowledged || Some(&found) == self.on_its_way.as_ref(),
            "{what}: {found:?}, {self:?}"
        );
        *self = Self::new(found);
    }
}

#[derive(Debug)]
struct Token {
    id: String,
    secret: String,
    is_revoked: Known<bool>,
}

/// A client with one workspace, and its ledger.
#[derive(Debug)]
struct Writer {
    workspace: String,
    name: Known<String>,
    contents: Known<Vec<u8>>,
    tokens: Vec<Token>,
    steps: usize,
}

impl Writer {
    async fn new(client: &Client, number: usize) -> Self {
        let name = format!("writer-{number}");
        let provider = json!({ "kind": "local" });
        let wish = CreateWorkspace::new(name.clone(), provider);
        let workspace = client.create_workspace(&wish).await.unwrap().id;
        client.put_bytes(&workspace, FILE, b"0".to_vec(), true).await.unwrap();
        Self {
            workspace,
            name: Known::new(name),
            contents: Known::new(b"0".to_vec()),
            tokens: Vec::new(),
            steps: number,
        }
    }

    /// Works until the server is gone.
    async fn work(mut self, client: Client, acknowledgements: mpsc::UnboundedSender<()>) -> Self {
        loop {
            match self.step(&client).await {
                Ok(()) => acknowledgements.send(()).unwrap(),
                Err(Error::Unreachable { .. } | Error::Interrupted { .. }) => return self,
                Err(other) => panic!("{other}: {other:?}"),
            }
        }
    }

    async fn step(&mut self, client: &Client) -> Result<(), Error> {
        self.steps += 1;
        match self.steps % 5 {
            0 => self.mint(client).await,
            1 => self.revoke(client).await,
            2 => self.rename(client).await,
            _ => self.write(client).await,
        }
    }

    async fn rename(&mut self, client: &Client) -> Result<(), Error> {
        let name = format!("writer-{}-at-step-{}", &self.workspace[24..], self.steps);
        self.name.on_its_way = Some(name.clone());
        let patch = PatchWorkspace { name: Some(name), ..PatchWorkspace::default() };
        client.patch_workspace(&self.workspace, &patch, None).await?;
        self.name.acknowledge();
        Ok(())
    }

    /// Small and large ones, each telling its step in every line, so that a mixture would show.
    async fn write(&mut self, client: &Client) -> Result<(), Error> {
        let lines = if self.steps.is_multiple_of(3) { 20_000 } else { 3 };
        let contents = format!("{}\n", self.steps).repeat(lines).into_bytes();
        self.contents.on_its_way = Some(contents.clone());
        client.put_bytes(&self.workspace, FILE, contents, false).await?;
        self.contents.acknowledge();
        Ok(())
    }

    async fn mint(&mut self, client: &Client) -> Result<(), Error> {
        let wish = CreateToken {
            kind: MintableKind::Admin,
            name: format!("token-{}", self.steps),
            scopes: None,
            workspace_id: None,
            expires_in_seconds: None,
        };
        let made = client.create_token(&wish).await?;
        self.tokens.push(Token { id: made.token.id, secret: made.secret, is_revoked: Known::new(false) });
        Ok(())
    }

    async fn revoke(&mut self, client: &Client) -> Result<(), Error> {
        let Some(token) = self.tokens.iter_mut().find(|token| !token.is_revoked.acknowledged) else {
            return Ok(());
        };
        token.is_revoked.on_its_way = Some(true);
        client.revoke_token(&token.id, false).await?;
        token.is_revoked.acknowledge();
        Ok(())
    }

    /// Compares the ledger with the database file and with the server's answers.
    async fn check(&mut self, database: &Connection, server: &Server) {
        let client = client_of(server, None);
        let stored: String = database
            .query_row("SELECT name FROM workspaces WHERE id = ?1", [&self.workspace], |row| row.get(0))
            .unwrap();
        assert_eq!(client.workspace(&self.workspace).await.unwrap().name, stored);
        self.name.settle(stored, "name");
        self.contents.settle(read(&client, &self.workspace).await, "contents");
        for token in &mut self.tokens {
            let answer = client_of(server, Some(&token.secret)).sign_in().await;
            let is_revoked = match answer {
                Ok(_) => false,
                Err(Error::Problem(problem)) if problem.status == 401 => true,
                Err(other) => panic!("{other}: {other:?}"),
            };
            token.is_revoked.settle(is_revoked, "revoked");
        }
        // Enough was seen of those; each counts as a wrong token in the next round.
        self.tokens.retain(|token| !token.is_revoked.acknowledged);
    }
}

// S3, O2, Q21, W16, sec/D1
#[tokio::test(flavor = "multi_thread")]
async fn a_server_killed_again_and_again_keeps_what_it_acknowledged_and_leaves_nothing_behind() {
    let machine = Machine::new();
    let mut server = machine.start();
    let client = client_of(&server, None);
    let mut writers = Vec::new();
    for number in 0..WRITERS {
        writers.push(Writer::new(&client, number).await);
    }
    let mut log = Vec::new();
    for round in 0..ROUNDS {
        let running = begin_command(&server, &writers[0].workspace, round).await;
        writers = work_until_killed(server, writers, acknowledgements_before_the_kill(round)).await;
        running.await.unwrap();

        server = machine.start();
        let database = open_read_only(&machine.data().join("warren.db"));
        check_integrity(&database);
        log = check_log(&database, &log);
        for writer in &mut writers {
            writer.check(&database, &server).await;
        }
        eventually("no workspace is in between", async || {
            let query = WorkspaceQuery { status: Some(Status::Provisioning), ..WorkspaceQuery::default() };
            client_of(&server, None).workspaces(&query).await.unwrap().items.is_empty()
        })
        .await;
        let places = machine.data().join("workspaces");
        eventually("no process is left", async || processes_below(&places).is_empty()).await;
        eventually("no temp file is left", async || staged_by_others(&places) == 0).await;
    }
}

fn client_of(server: &Server, token: Option<&str>) -> Client {
    Client::new(server.url(), Some(token.unwrap_or_else(|| server.token()))).unwrap()
}

async fn read(client: &Client, workspace: &str) -> Vec<u8> {
    match client.open_path(workspace, FILE, ByteRange::default()).await.unwrap() {
        PathContents::File(bytes) => {
            bytes.try_fold(Vec::new(), async |read, piece| Ok([read, piece.to_vec()].concat())).await.unwrap()
        }
        PathContents::Directory(_) => panic!("a file became a directory"),
    }
}

/// Spread over the beginning, the middle and the thick of it; the same in every run.
const fn acknowledgements_before_the_kill(round: u64) -> u64 {
    1 + (round * 37) % 150
}

/// A command with a child of its own that left its session; returns once it runs.
async fn begin_command(server: &Server, workspace: &str, round: u64) -> tokio::task::JoinHandle<()> {
    let client = client_of(server, None);
    let id = workspace.to_owned();
    let begun = format!("begun-{round}");
    let script = format!("setsid sleep 600 & echo > {begun}; sleep 600");
    let running = tokio::spawn(async move {
        let request = ExecRequest { command: Some(script), ..ExecRequest::default() };
        let ended = client.exec(&id, &request).await;
        assert!(matches!(ended, Err(Error::Interrupted { .. })), "{ended:?}");
    });
    let client = client_of(server, None);
    eventually("the command runs", async || {
        client.open_path(workspace, &begun, ByteRange::default()).await.is_ok()
    })
    .await;
    running
}

async fn work_until_killed(server: Server, writers: Vec<Writer>, acknowledgements: u64) -> Vec<Writer> {
    let (sender, mut received) = mpsc::unbounded_channel();
    let working: Vec<_> = writers
        .into_iter()
        .map(|writer| tokio::spawn(writer.work(client_of(&server, None), sender.clone())))
        .collect();
    for _ in 0..acknowledgements {
        received.recv().await.unwrap();
    }
    server.kill();
    let mut stopped = Vec::new();
    for writer in working {
        stopped.push(writer.await.unwrap());
    }
    stopped
}

fn open_read_only(path: &Path) -> Connection {
    Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap()
}

fn check_integrity(database: &Connection) {
    let verdict: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok");
    let orphans: i64 =
        database.query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| row.get(0)).unwrap();
    assert_eq!(orphans, 0);
}

/// The log is numbered without a gap, and nothing that was in it before has changed.
fn check_log(database: &Connection, before: &[(i64, String)]) -> Vec<(i64, String)> {
    let mut statement = database
        .prepare("SELECT seq, json_array(at, kind, workspace_id, principal, data) FROM events ORDER BY seq")
        .unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let log: Vec<(i64, String)> = rows.collect::<Result<_, _>>().unwrap();
    assert!(log.iter().map(|(seq, _)| *seq).eq((1..).take(log.len())), "a gap or a repetition");
    assert!(log.starts_with(before), "history changed");
    log
}

/// Processes whose current directory lies in a workspace.
fn processes_below(places: &Path) -> Vec<PathBuf> {
    let places = places.canonicalize().unwrap();
    let directories = std::fs::read_dir("/proc").unwrap();
    directories
        .filter_map(|entry| std::fs::read_link(entry.ok()?.path().join("cwd")).ok())
        .filter(|directory| directory.starts_with(&places))
        .collect()
}

/// Directories for temp files, beside the one of the running server.
fn staged_by_others(places: &Path) -> usize {
    let entries = std::fs::read_dir(places.join(".staging")).unwrap();
    let directories = entries.filter(|entry| entry.as_ref().unwrap().path().is_dir()).count();
    directories.saturating_sub(1)
}

/// Asks until it is so.
async fn eventually(what: &str, is_so: impl AsyncFn() -> bool) {
    let asked = tokio::time::timeout(PATIENCE, async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    assert!(asked.await.is_ok(), "not within {PATIENCE:?}: {what}");
}
