//! The server is killed again and again while workspaces come up, are restarted, rest and are removed. Whatever was
//! acknowledged is what each of them comes to, by itself, after the next start: no orphan box, no stuck status, no lost
//! intent.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use serde_json::json;
use tokio::sync::mpsc;
use warren_api::client::{Client, Error, WorkspaceQuery};
use warren_api::{CreateWorkspace, Status};

use crate::warren::{Machine, Server};

/// Kills of one run; `WARREN_LIFECYCLE_KILLS` asks for more.
const KILLS: u64 = 10;
const ACTORS: usize = 3;
/// How long a start may take to bring everything to what is wanted.
const PATIENCE: Duration = Duration::from_secs(30);

/// What somebody wants of a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    Running,
    Paused,
    Removed,
}

impl Wish {
    const fn status(self) -> Status {
        match self {
            Self::Running => Status::Online,
            Self::Paused => Status::Paused,
            Self::Removed => Status::Removed,
        }
    }
}

#[derive(Debug)]
struct Known {
    id: String,
    acknowledged: Wish,
    /// Asked for when the server died: it may have been done or not.
    on_its_way: Option<Wish>,
}

/// Somebody who makes a workspace, restarts it, rests it, wakes it and removes it, over and over.
#[derive(Debug)]
struct Actor {
    number: usize,
    steps: usize,
    known: Vec<Known>,
    /// Names under which one may have been made without our hearing of it.
    unheard: Vec<String>,
}

impl Actor {
    async fn work(mut self, client: Client, acknowledgements: mpsc::UnboundedSender<()>) -> Self {
        loop {
            match self.step(&client).await {
                Ok(()) => {
                    // The one that counts may have left already.
                    let _ = acknowledgements.send(());
                }
                Err(Error::Unreachable { .. } | Error::Interrupted { .. }) => return self,
                Err(other) => panic!("{other}: {other:?}"),
            }
        }
    }

    async fn step(&mut self, client: &Client) -> Result<(), Error> {
        self.steps += 1;
        let Some(at) = self.known.iter().position(|one| one.acknowledged != Wish::Removed) else {
            return self.make(client).await;
        };
        match self.steps % 5 {
            0 => self.ask(client, at, Wish::Removed).await,
            1 | 3 => self.restart(client, at).await,
            2 => self.ask(client, at, Wish::Paused).await,
            _ => self.make(client).await,
        }
    }

    async fn make(&mut self, client: &Client) -> Result<(), Error> {
        let name = format!("actor-{}-{}", self.number, self.steps);
        self.unheard.push(name.clone());
        let made = client.create_workspace(&CreateWorkspace::new(name, json!({ "kind": "sandbox" }))).await?;
        self.unheard.pop();
        self.known.push(Known { id: made.id, acknowledged: Wish::Running, on_its_way: None });
        Ok(())
    }

    async fn ask(&mut self, client: &Client, at: usize, wish: Wish) -> Result<(), Error> {
        let known = &mut self.known[at];
        known.on_its_way = Some(wish);
        match wish {
            Wish::Paused => drop(client.pause_workspace(&known.id).await?),
            Wish::Removed => drop(client.remove_workspace(&known.id, None, false).await?),
            Wish::Running => drop(client.resume_workspace(&known.id).await?),
        }
        (known.acknowledged, known.on_its_way) = (wish, None);
        Ok(())
    }

    /// What is paused is resumed instead.
    async fn restart(&mut self, client: &Client, at: usize) -> Result<(), Error> {
        if self.known[at].acknowledged == Wish::Paused {
            return self.ask(client, at, Wish::Running).await;
        }
        client.restart_workspace(&self.known[at].id).await?;
        Ok(())
    }

    /// Waits until all is as it was acknowledged, or as it was being asked for.
    async fn check(&mut self, client: &Client) {
        for name in std::mem::take(&mut self.unheard) {
            let query = WorkspaceQuery { name: Some(name), ..WorkspaceQuery::default() };
            let found = client.workspaces(&query).await.unwrap().items;
            let made = |id| Known { id, acknowledged: Wish::Running, on_its_way: None };
            self.known.extend(found.into_iter().map(|row| made(row.id)));
        }
        for known in &mut self.known {
            let (mut found, mut row) = (None, None);
            for _ in 0..PATIENCE.as_millis() / 20 {
                let now = status_of(client, &known.id).await;
                let wishes = [Some(known.acknowledged), known.on_its_way];
                found = wishes.into_iter().flatten().find(|wish| wish.status() == now);
                row = Some(now);
                if found.is_some() {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            let wish = found.unwrap_or_else(|| panic!("{known:?} is {row:?}"));
            (known.acknowledged, known.on_its_way) = (wish, None);
        }
    }
}

async fn status_of(client: &Client, id: &str) -> Status {
    match client.workspace(id).await {
        Ok(workspace) => workspace.status,
        Err(Error::Problem(problem)) if problem.code == "workspace_not_found" => Status::Removed,
        Err(other) => panic!("{other}: {other:?}"),
    }
}

// F3, F4, F8, Q21
#[tokio::test(flavor = "multi_thread")]
async fn killed_in_the_middle_of_any_change_every_workspace_comes_to_what_was_acknowledged() {
    let kills = warren_doors::Environment::of_process()
        .get("WARREN_LIFECYCLE_KILLS")
        .map_or(KILLS, |text| text.parse().expect("a number of kills"));
    let machine = Machine::new();
    let mut server = machine.start();
    let mut actors: Vec<_> = (0..ACTORS)
        .map(|number| Actor { number, steps: number, known: Vec::new(), unheard: Vec::new() })
        .collect();
    for round in 0..kills {
        actors = work_until_killed(server, actors, 1 + (round * 7) % 19).await;
        server = machine.start();
        let client = client_of(&server);
        for actor in &mut actors {
            actor.check(&client).await;
            let gone = actor.known.extract_if(.., |known| known.acknowledged == Wish::Removed);
            for known in gone.collect::<Vec<_>>() {
                eventually("nothing is left of what was removed", || has_left(&machine.data(), &known.id))
                    .await;
            }
        }
    }
    // In the end nothing but what is wanted is there.
    let client = client_of(&server);
    for known in actors.iter().flat_map(|actor| &actor.known) {
        client.remove_workspace(&known.id, None, false).await.unwrap();
    }
    let data = machine.data();
    eventually("no box is left", || boxes_of(&data) == 0).await;
    let left =
        stored(&data, "SELECT count(*) FROM workspaces WHERE status <> 'removed' OR reference IS NOT NULL");
    assert_eq!(left, 0, "rows that are not removed, or have something left");
}

async fn work_until_killed(server: Server, actors: Vec<Actor>, acknowledgements: u64) -> Vec<Actor> {
    let (sender, mut received) = mpsc::unbounded_channel();
    let working: Vec<_> = actors
        .into_iter()
        .map(|actor| tokio::spawn(actor.work(client_of(&server), sender.clone())))
        .collect();
    for _ in 0..acknowledgements {
        received.recv().await.unwrap();
    }
    server.kill();
    let mut stopped = Vec::new();
    for actor in working {
        stopped.push(actor.await.unwrap());
    }
    stopped
}

fn client_of(server: &Server) -> Client {
    Client::new(server.url(), Some(server.token())).unwrap()
}

fn stored(data: &Path, sql: &str) -> i64 {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let database = Connection::open_with_flags(data.join("warren.db"), flags).unwrap();
    database.query_row(sql, [], |row| row.get(0)).unwrap()
}

/// No row with remains, and no box that has its files mounted.
fn has_left(data: &Path, id: &str) -> bool {
    let sql = format!("SELECT count(*) FROM workspaces WHERE id = '{id}' AND reference IS NOT NULL");
    stored(data, &sql) == 0 && mounted_by(&format!("/{id}")) == 0
}

/// Processes in boxes of this data folder.
fn boxes_of(data: &Path) -> usize {
    let folder = data.canonicalize().unwrap().join("sandbox");
    mounted_by(folder.to_str().unwrap())
}

/// Processes in whose mounts a text stands.
fn mounted_by(text: &str) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap();
    let mounts =
        entries.filter_map(|entry| std::fs::read_to_string(entry.ok()?.path().join("mountinfo")).ok());
    mounts.filter(|mounts| mounts.contains(text)).count()
}

async fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let asked = tokio::time::timeout(PATIENCE, async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    assert!(asked.await.is_ok(), "not within {PATIENCE:?}: {what}");
}
