//! The server is killed again and again under a load of sessions: tools that leave a trace, approvals, tools of the
//! caller, questions, messages while busy, stops, aborts and branches. Afterwards everything is counted by a reader that
//! opens the database and the workspaces' files itself.
//!
//! ```text
//!   people (load) ──requests, again until answered──▶ warren up ──killed at random moments
//!        │                                              │   └──▶ warren model-server, strict, never killed
//!        └── what was acknowledged, what was streamed   └── database, ledgers on disk
//!                    └───────────────── must agree (reader) ───────┘
//! ```
//!
//! `WARREN_SESSION_KILLS` asks for more kills than the usual few, `WARREN_SESSION_SEED` for the same moments again.

mod load;
mod reader;

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;
use warren_api::client::Client;

use crate::warren::{Machine, Server};
use load::{Gate, Person, Story};

const KILLS: u64 = 8;
const PEOPLE: usize = 8;
/// The server lives this long after it is ready, at least and at most.
const LIFE_MS: (u64, u64) = (60, 700);
/// How long what is left may take after the last kill, as long as nothing more ends.
const PATIENCE: Duration = Duration::from_secs(90);

const SCRIPT: &str = include_str!("script.yaml");
const AGENT: &str = include_str!("agent.yaml");
/// One agent for each wire.
const AGENTS: [&str; 3] = ["chat", "responses", "anthropic"];

/// A scripted model behind HTTP, as strict as the real ones. It outlives the server that asks it, as a provider does.
struct ModelServer {
    process: Child,
    url: String,
}

impl ModelServer {
    fn start(machine: &Machine) -> Self {
        let script = machine.path().join("script.yaml");
        std::fs::write(&script, SCRIPT).unwrap();
        let mut command = machine.command(&["model-server", "--json", "--script"]);
        let mut process = command.arg(script).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let told: Value = serde_json::from_str(&line).unwrap();
        Self { process, url: told["url"].as_str().unwrap().to_owned() }
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Moments that look random and are the same for the same seed.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most.max(1)
    }
}

fn client_of(server: &Server) -> Client {
    Client::new(server.url(), Some(server.token())).unwrap()
}

// A2, A4, A7, A8, A30-A34, A60, A63, Q21
#[tokio::test(flavor = "multi_thread")]
async fn killed_under_a_load_of_sessions_nothing_is_lost_repeated_orphaned_or_stuck() {
    tokio::task::LocalSet::new().run_until(kill_under_load()).await;
}

async fn kill_under_load() {
    let environment = warren_doors::Environment::of_process();
    let number =
        |name: &str, usual: u64| environment.get(name).map_or(usual, |text| text.parse().expect("a number"));
    let (kills, seed) = (number("WARREN_SESSION_KILLS", KILLS), number("WARREN_SESSION_SEED", 15));
    let machine = Machine::new();
    let models = ModelServer::start(&machine);
    let config = machine.path().join("warren.toml");
    std::fs::write(&config, models_config(&models.url)).unwrap();
    let start = || {
        let arguments = ["up", "--json", "--listen", "127.0.0.1:0", "--config", config.to_str().unwrap()];
        let mut command = machine.command(&arguments);
        command.env("MODEL_KEY", "any");
        machine.start_from(command)
    };
    let mut server = start();
    for wire in AGENTS {
        let document = AGENT.replace("WIRE", wire);
        client_of(&server).put_agent(wire, warren_api::YAML, document).await.unwrap();
    }
    let (line, gate) = watch::channel(Gate { client: client_of(&server), is_closing: false });
    let mut people = tokio::task::JoinSet::new();
    for number in 0..PEOPLE {
        let person = Person::new(number, seed, gate.clone());
        people.spawn_local(person.live());
    }
    let mut dice = Dice::new(seed);
    for round in 0..kills {
        let life = LIFE_MS.0 + dice.below(LIFE_MS.1 - LIFE_MS.0);
        tokio::time::sleep(Duration::from_millis(life)).await;
        server.kill();
        server = start();
        let is_closing = round + 1 == kills;
        line.send_replace(Gate { client: client_of(&server), is_closing });
    }
    let mut stories: Vec<Story> = Vec::new();
    while !people.is_empty() {
        let ended = tokio::time::timeout(PATIENCE, people.join_next()).await;
        let ended =
            ended.unwrap_or_else(|_| panic!("somebody is stuck: {}", reader::what_is_open(&machine.data())));
        stories.extend(ended.unwrap().unwrap());
    }
    server.kill();
    let counts = reader::count(&machine.data(), &stories);
    tell(kills, seed, &counts);
    assert!(counts.failures.is_empty(), "{:#?}", counts.failures);
    assert!(stories.len() >= PEOPLE, "too little happened to say anything");
    assert!(counts.calls_with_traces > 0 && counts.decisions > 0, "{counts:?}");
    drop(models);
}

/// The models are reached as any compatible provider is.
fn models_config(url: &str) -> String {
    let provider = |wire: &str| {
        format!(
            "[models.providers.on-{wire}]\nwire = \"{wire}\"\nbase_url = \"{url}/v1\"\nkey = \"MODEL_KEY\"\n"
        )
    };
    format!("[outbound]\nallow_private = [\"127.0.0.0/8\"]\n{}", AGENTS.map(provider).concat())
}

#[expect(clippy::print_stderr, reason = "the counts are what this test is run for")]
fn tell(kills: u64, seed: u64, counts: &reader::Counts) {
    eprintln!("{kills} kills (seed {seed}): {counts}");
}
