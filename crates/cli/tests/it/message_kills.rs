//! The server is killed again and again under a load of messages. Afterwards what was accepted and what ended are counted
//! by a program that reads the database itself: equal, each once, and nothing was done twice by a runtime that cannot
//! tell.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use serde_json::json;
use tokio::sync::mpsc;
use warren_api::client::{Client, Error};
use warren_api::{
    AnswerMessage, AnswerOutcome, ClaimMessage, CreateToken, CreateWorkspace, Heartbeat, MessagePart,
    MintableKind, RegisterRuntime, Runtime, RuntimeCapabilities, RuntimeMetadata, SendMessage, TaskMessage,
};

use crate::warren::{Machine, Server};

/// Kills of one run; `WARREN_MESSAGE_KILLS` asks for more.
const KILLS: u64 = 10;
const SENDERS: usize = 3;
const PATIENCE: Duration = Duration::from_secs(60);

/// A workspace whose runtime comes and asks; what it did is its own ledger, which no crash of Warren touches.
#[derive(Debug, Clone)]
struct Worker {
    workspace: String,
    credential: String,
    deduplicates: bool,
    /// Message ids, and how often each was done.
    ledger: Arc<Mutex<BTreeMap<String, u32>>>,
}

impl Worker {
    async fn join(client: &Client, url: &str, name: &str, deduplicates: bool) -> Self {
        let provider = json!({ "kind": "local" });
        let wish = CreateWorkspace {
            runtime: Some(Runtime::External),
            ..CreateWorkspace::new(name.to_owned(), provider)
        };
        let workspace = client.create_workspace(&wish).await.unwrap().id;
        let join = CreateToken {
            kind: MintableKind::Join,
            name: "boot".into(),
            scopes: None,
            workspace_id: Some(workspace.clone()),
            expires_in_seconds: None,
        };
        let join = client.create_token(&join).await.unwrap().secret;
        let capabilities =
            RuntimeCapabilities { deduplication: Some(deduplicates), ..RuntimeCapabilities::default() };
        let metadata = RuntimeMetadata { capabilities: Some(capabilities), idle_timeout_seconds: None };
        let heartbeat = Heartbeat { runtime_metadata: Some(metadata), ..Heartbeat::default() };
        let register = RegisterRuntime { heartbeat: Some(heartbeat), ..RegisterRuntime::default() };
        let registered = Client::new(url, Some(&join)).unwrap().register(&register).await.unwrap();
        Self { workspace, credential: registered.token, deduplicates, ledger: Arc::default() }
    }

    async fn work(self, url: String) {
        let client = Client::new(&url, Some(&self.credential)).unwrap();
        loop {
            let claim = ClaimMessage { wait_ms: 1_000, lease_ms: Some(1_000) };
            let claimed = match client.claim_message(&self.workspace, &claim).await {
                Ok(claim) => claim.claimed,
                Err(Error::Unreachable { .. } | Error::Interrupted { .. }) => return,
                Err(other) => panic!("{other}: {other:?}"),
            };
            let Some(message) = claimed else { continue };
            self.perform(message.message.id.as_deref().unwrap());
            let answer = AnswerMessage {
                attempt: message.attempt,
                outcome: AnswerOutcome::Answered,
                state: None,
                message: None,
                artifacts: Vec::new(),
                retry_after_ms: None,
            };
            match client.answer_message(&self.workspace, &message.queue_id, &answer).await {
                Ok(_) => {}
                // Its lease ran out over a restart: what was done is known here, and Warren says that it does not know.
                Err(Error::Problem(problem)) if problem.code == "claim_lost" => {}
                Err(Error::Unreachable { .. } | Error::Interrupted { .. }) => return,
                Err(other) => panic!("{other}: {other:?}"),
            }
        }
    }

    /// Does the work; one that takes a message once does it once.
    fn perform(&self, id: &str) {
        let mut ledger = self.ledger.lock().unwrap();
        let done = ledger.entry(id.to_owned()).or_default();
        if *done == 0 || !self.deduplicates {
            *done += 1;
        }
    }
}

/// Somebody who sends one message after the other, and knows which were acknowledged.
#[derive(Debug)]
struct Sender {
    number: usize,
    sent: usize,
    accepted: BTreeSet<String>,
    /// Sent when the server died: it is sent again under the same id.
    unheard: Option<(String, usize)>,
}

impl Sender {
    async fn work(
        mut self,
        client: Client,
        to: Vec<String>,
        acknowledgements: mpsc::UnboundedSender<()>,
    ) -> Self {
        loop {
            let (id, at) = self.unheard.take().unwrap_or_else(|| {
                self.sent += 1;
                (format!("m-{}-{}", self.number, self.sent), self.sent % to.len())
            });
            let message = TaskMessage {
                id: Some(id.clone()),
                parts: vec![MessagePart::text("work")],
                ..TaskMessage::default()
            };
            let send = SendMessage { message, ..SendMessage::default() };
            match client.send_message(&to[at], &send, None).await {
                Ok(_) => {
                    assert!(self.accepted.insert(id), "each is sent once");
                    let _ = acknowledgements.send(());
                }
                Err(Error::Unreachable { .. } | Error::Interrupted { .. }) => {
                    self.unheard = Some((id, at));
                    return self;
                }
                Err(Error::Problem(problem)) if problem.code == "shutting_down" => {
                    self.unheard = Some((id, at));
                }
                Err(other) => panic!("{other}: {other:?}"),
            }
        }
    }
}

// X15, X16, Q21
#[tokio::test(flavor = "multi_thread")]
async fn killed_under_load_every_accepted_message_ends_exactly_once() {
    let kills = warren_doors::Environment::of_process()
        .get("WARREN_MESSAGE_KILLS")
        .map_or(KILLS, |text| text.parse().expect("a number of kills"));
    let machine = Machine::new();
    let mut server = machine.start();
    let client = client_of(&server);
    let workers = [
        Worker::join(&client, server.url(), "can-tell", true).await,
        Worker::join(&client, server.url(), "cannot-tell", false).await,
    ];
    let to: Vec<String> = workers.iter().map(|worker| worker.workspace.clone()).collect();
    let new = |number| Sender { number, sent: 0, accepted: BTreeSet::new(), unheard: None };
    let mut senders: Vec<_> = (0..SENDERS).map(new).collect();
    for round in 0..kills {
        let (sender, mut received) = mpsc::unbounded_channel();
        let serving: Vec<_> =
            workers.iter().map(|worker| tokio::spawn(worker.clone().work(server.url().to_owned()))).collect();
        let sending: Vec<_> = senders
            .into_iter()
            .map(|one| tokio::spawn(one.work(client_of(&server), to.clone(), sender.clone())))
            .collect();
        for _ in 0..=(round * 7) % 23 {
            received.recv().await.unwrap();
        }
        server.kill();
        senders = Vec::new();
        for one in sending {
            senders.push(one.await.unwrap());
        }
        for one in serving {
            one.await.unwrap();
        }
        server = machine.start();
    }
    let client = client_of(&server);
    for sender in &mut senders {
        if let Some((id, at)) = sender.unheard.take() {
            let message = TaskMessage {
                id: Some(id.clone()),
                parts: vec![MessagePart::text("work")],
                ..TaskMessage::default()
            };
            client
                .send_message(&to[at], &SendMessage { message, ..SendMessage::default() }, None)
                .await
                .unwrap();
            sender.accepted.insert(id);
        }
    }
    for worker in &workers {
        tokio::spawn(worker.clone().work(server.url().to_owned()));
    }
    let accepted: BTreeSet<String> = senders.into_iter().flat_map(|sender| sender.accepted).collect();
    wait_for_the_end(&machine.data()).await;
    let ended = count(&machine.data());
    assert_eq!(ended.keys().cloned().collect::<BTreeSet<_>>(), accepted, "what was accepted is what ended");
    assert!(ended.values().all(|ends| ends.len() == 1), "each once: {ended:?}");
    for worker in &workers {
        let ledger = worker.ledger.lock().unwrap();
        assert!(ledger.values().all(|times| *times == 1), "done twice: {ledger:?}");
        for (id, ends) in &ended {
            let is_mine = ledger.contains_key(id);
            assert!(
                ends[0] != "answered" || is_mine || !belongs(&machine.data(), id, &worker.workspace),
                "{id}"
            );
        }
    }
    let how = |end: &str| ended.values().filter(|ends| ends[0] == end).count();
    eprintln_counts(kills, accepted.len(), how("answered"), how("failed"));
}

#[expect(clippy::print_stderr, reason = "the counts are what this test is run for")]
fn eprintln_counts(kills: u64, accepted: usize, answered: usize, failed: usize) {
    eprintln!("{kills} kills: {accepted} accepted, {answered} answered, {failed} failed");
}

fn client_of(server: &Server) -> Client {
    Client::new(server.url(), Some(server.token())).unwrap()
}

fn open(data: &Path) -> Connection {
    Connection::open_with_flags(data.join("warren.db"), OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap()
}

/// Many kills leave many messages behind, and a slow machine takes its time with them: patience ends when nothing more does.
async fn wait_for_the_end(data: &Path) {
    let open_ones = || -> i64 {
        open(data)
            .query_row("SELECT count(*) FROM deliveries WHERE state <> 'ended'", [], |row| row.get(0))
            .unwrap()
    };
    let mut left = open_ones();
    while left > 0 {
        let fewer = tokio::time::timeout(PATIENCE, async {
            while open_ones() >= left {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        });
        assert!(fewer.await.is_ok(), "of {left} messages none ended within {PATIENCE:?}");
        left = open_ones();
    }
}

/// Message ids with the ends of all their deliveries, as they stand in the database.
fn count(data: &Path) -> BTreeMap<String, Vec<String>> {
    let database = open(data);
    let mut rows =
        database.prepare("SELECT json_extract(message, '$.id'), ended_how FROM deliveries").unwrap();
    let rows = rows.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))).unwrap();
    let mut ends: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in rows {
        let (id, end) = row.unwrap();
        ends.entry(id).or_default().push(end);
    }
    ends
}

fn belongs(data: &Path, message: &str, workspace: &str) -> bool {
    let sql =
        "SELECT count(*) FROM deliveries WHERE json_extract(message, '$.id') = ?1 AND workspace_id = ?2";
    open(data).query_row(sql, [message, workspace], |row| row.get::<_, i64>(0)).unwrap() > 0
}
