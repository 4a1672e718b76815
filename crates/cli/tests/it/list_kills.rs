//! Somebody reads the list of workspaces page by page, over and over, while others make and remove them and the server is
//! killed again and again. What was acknowledged before a pass began and not asked to go before it ended is in the pass, once;
//! what was acknowledged as removed before it began is not shown as running (issue 17, number 23).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use warren_api::client::{Client, Error, WorkspaceQuery};
use warren_api::{CreateWorkspace, Status};

use crate::warren::{Machine, Server};

/// Kills of one run; `WARREN_LIST_KILLS` asks for more.
const KILLS: u64 = 30;
const ACTORS: usize = 3;
const READERS: usize = 2;
/// Small, so that a pass takes many requests and others change the list between them.
const PAGE: u32 = 3;
/// How many workspaces an actor keeps before it removes the oldest.
const KEPT: usize = 8;
const PAUSE: Duration = Duration::from_millis(10);

/// When things happened to a workspace, by a clock that counts.
#[derive(Debug, Clone, Copy)]
struct Life {
    made: u64,
    removal_asked: Option<u64>,
    removal_acknowledged: Option<u64>,
}

#[derive(Debug, Default)]
struct World {
    clock: AtomicU64,
    lives: Mutex<BTreeMap<String, Life>>,
    client: Mutex<Option<Client>>,
    is_over: AtomicBool,
    passes: AtomicU64,
    rows: AtomicU64,
    wrong: Mutex<Vec<String>>,
}

impl World {
    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    fn meet(&self, server: &Server) {
        *self.client.lock().unwrap() = Some(Client::new(server.url(), Some(server.token())).unwrap());
    }

    fn client(&self) -> Client {
        self.client.lock().unwrap().clone().unwrap()
    }

    /// After an answer that did not come: false once all is over, true after a pause.
    async fn goes_on_after(&self, error: Error) -> bool {
        match error {
            Error::Unreachable { .. } | Error::Interrupted { .. } if self.is_over() => false,
            Error::Unreachable { .. } | Error::Interrupted { .. } => {
                tokio::time::sleep(PAUSE).await;
                true
            }
            other => panic!("{other}: {other:?}"),
        }
    }

    async fn act(&self, number: usize) {
        let mut own: Vec<String> = Vec::new();
        for step in 0_u64.. {
            if self.is_over() {
                return;
            }
            if own.len() >= KEPT {
                self.remove(&own.remove(0)).await;
                continue;
            }
            let wish = CreateWorkspace::new(format!("actor-{number}-{step}"), json!({ "kind": "local" }));
            // One that was made without an answer is nobody's to look for.
            match self.client().create_workspace(&wish).await {
                Ok(made) => {
                    let life = Life { made: self.tick(), removal_asked: None, removal_acknowledged: None };
                    self.lives.lock().unwrap().insert(made.id.clone(), life);
                    own.push(made.id);
                }
                Err(Error::Unreachable { .. } | Error::Interrupted { .. }) => tokio::time::sleep(PAUSE).await,
                Err(other) => panic!("{other}: {other:?}"),
            }
        }
    }

    async fn remove(&self, id: &str) {
        let asked = self.tick();
        self.lives.lock().unwrap().get_mut(id).unwrap().removal_asked = Some(asked);
        while let Err(error) = self.client().remove_workspace(id, None, false).await {
            if !self.goes_on_after(error).await {
                return;
            }
        }
        let acknowledged = self.tick();
        self.lives.lock().unwrap().get_mut(id).unwrap().removal_acknowledged = Some(acknowledged);
    }

    async fn read(&self) {
        while let Some(()) = self.pass().await {
            self.passes.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// One pass over the list; a page that a kill cut off is asked for again, with the same cursor.
    async fn pass(&self) -> Option<()> {
        let begin = self.tick();
        let mut seen: BTreeMap<String, Status> = BTreeMap::new();
        let mut cursor: Option<String> = None;
        loop {
            if self.is_over() {
                return None;
            }
            let query =
                WorkspaceQuery { cursor: cursor.clone(), limit: Some(PAGE), ..WorkspaceQuery::default() };
            let page = match self.client().workspaces(&query).await {
                Ok(page) => page,
                Err(error) => match self.goes_on_after(error).await {
                    true => continue,
                    false => return None,
                },
            };
            self.rows.fetch_add(page.items.len() as u64, Ordering::Relaxed);
            for row in page.items {
                if seen.insert(row.id.clone(), row.status).is_some() {
                    self.note(format!("{} is there twice", row.id));
                }
            }
            match page.next_cursor {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        let end = self.tick();
        self.judge(begin, end, &seen);
        Some(())
    }

    fn judge(&self, begin: u64, end: u64, seen: &BTreeMap<String, Status>) {
        let lives = self.lives.lock().unwrap().clone();
        for (id, life) in &lives {
            let is_living = life.made < begin && life.removal_asked.is_none_or(|asked| asked > end);
            if is_living && !seen.contains_key(id) {
                self.note(format!("{id} is missing: {life:?}, a pass from {begin} to {end}"));
            }
            let is_gone = life.removal_acknowledged.is_some_and(|at| at < begin);
            let runs = seen.get(id).is_some_and(|status| {
                matches!(status, Status::Provisioning | Status::AwaitingAgent | Status::Online)
            });
            if is_gone && runs {
                self.note(format!("{id} is shown as {:?}: {life:?}, from {begin} to {end}", seen[id]));
            }
        }
    }

    fn note(&self, what: String) {
        self.wrong.lock().unwrap().push(what);
    }
}

// F4, F8, Q21, sec/D1
#[tokio::test(flavor = "multi_thread")]
async fn a_list_read_through_kills_lacks_nothing_that_lives_and_shows_nothing_that_is_gone() {
    let kills = warren_doors::Environment::of_process()
        .get("WARREN_LIST_KILLS")
        .map_or(KILLS, |text| text.parse().expect("a number of kills"));
    let machine = Machine::new();
    let mut server = machine.start();
    let world = Arc::new(World::default());
    world.meet(&server);
    let mut working = Vec::new();
    for number in 0..ACTORS {
        let world = Arc::clone(&world);
        working.push(tokio::spawn(async move { world.act(number).await }));
    }
    for _ in 0..READERS {
        let world = Arc::clone(&world);
        working.push(tokio::spawn(async move { world.read().await }));
    }
    for round in 0..kills {
        tokio::time::sleep(Duration::from_millis(60 + (round * 83) % 340)).await;
        server.kill();
        server = machine.start();
        world.meet(&server);
    }
    // A pass or two without a kill, too.
    tokio::time::sleep(Duration::from_secs(1)).await;
    world.is_over.store(true, Ordering::SeqCst);
    for one in working {
        one.await.unwrap();
    }
    let lives = world.lives.lock().unwrap().clone();
    let removed: BTreeSet<_> =
        lives.iter().filter(|(_, life)| life.removal_acknowledged.is_some()).map(|(id, _)| id).collect();
    let wrong = world.wrong.lock().unwrap().clone();
    let (passes, rows) = (world.passes.load(Ordering::Relaxed), world.rows.load(Ordering::Relaxed));
    println!(
        "lists through kills: {kills} kills, {} made, {} removed, {passes} passes, {rows} rows, {} wrong",
        lives.len(),
        removed.len(),
        wrong.len()
    );
    assert!(passes > 0 && !removed.is_empty(), "or it shows nothing");
    assert!(wrong.is_empty(), "{wrong:#?}");
}
