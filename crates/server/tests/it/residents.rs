//! Agents that Warren runs in real boxes: from the request to the answer, through wedges, rotations and kills.

use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;
use warren_doors::{Environment, OsEntropy, SystemClock};
use warren_fleet::Config as FleetConfig;
use warren_model::{Status, Token, TokenId, TokenKind, WorkspaceId};
use warren_providers::{DockerProvider, DockerSettings, SandboxProvider, SandboxSettings};
use warren_store::TokenQuery;
use warren_testkit::{Faults, Warren};
use warren_workspace::Provider;

use crate::fleet::{arrivals, ask, clock, create, events, eventually, register, show, status, sweep};

/// Answers what it is asked; whatever it does not know is an error.
pub(crate) const AGENT: &str = r#"
read -r asked
echo "thinking about $asked" >&2
case "$asked" in
  hello) echo "hello back" ;;
  who) echo "$WARREN_AUTHOR $WARREN_TASK_ID" ;;
  secret) echo "it is $API_KEY of ${#API_KEY}" ;;
  network) cat /proc/net/dev | tail -n +3 | cut -d: -f1 | tr -d ' \n' ;;
  nothing) ;;
  long) sleep 600 ;;
  key) echo "Error: 401 Unauthorized" >&2; exit 1 ;;
  *) echo "no idea" >&2; exit 3 ;;
esac
"#;
/// The number of the runner's process, for programs in its box.
const RUNNER: &str = "runner() { for p in /proc/[0-9]*; do case \"$(tr '\\0' ' ' < $p/cmdline)\" in \
                      */warren-runner\\ run\\ *) echo ${p#/proc/} ;; esac; done; }; ";

/// A Warren with real sandboxes, and the folder that they are in.
pub(crate) struct House {
    pub(crate) warren: Warren,
    pub(crate) _folder: TempDir,
}

pub(crate) async fn house() -> House {
    house_with(FleetConfig::default()).await
}

async fn house_with(config: FleetConfig) -> House {
    let folder = tempfile::tempdir().unwrap();
    let settings = SandboxSettings::default();
    let clock = Arc::new(SystemClock);
    let provider = SandboxProvider::new(
        &folder.path().join("sandbox"),
        settings,
        Environment::default(),
        clock,
        &OsEntropy,
    );
    let provider: Arc<dyn Provider> = Arc::new(provider.unwrap());
    provider.availability().await.expect("install the Debian package bubblewrap");
    let warren = Warren::builder().provider(provider).fleet_config(config).start().await;
    House { warren, _folder: folder }
}

fn wish(provider: &Value) -> Value {
    json!({
        "name": "resident", "provider": provider, "runtime": "resident",
        "command": ["/bin/sh", "-c", AGENT],
    })
}

/// A resident agent that is online.
async fn resident(warren: &Warren) -> WorkspaceId {
    let id = create(warren, &wish(&json!({ "kind": "sandbox" }))).await;
    warren.wait_for_status(id, Status::Online).await;
    id
}

/// Sends a text and waits for what comes of it.
pub(crate) async fn say(warren: &Warren, id: WorkspaceId, text: &str) -> Value {
    let body = json!({ "message": { "parts": [{ "text": text }] }, "wait_ms": 20_000 });
    let answer = warren.post(&format!("/api/v1/workspaces/{id}/messages"), &body).await;
    assert!(matches!(answer.status, 200 | 202), "{}", answer.text());
    answer.json()["task"].clone()
}

/// The text that a task ended with.
pub(crate) fn answer_of(task: &Value) -> &str {
    task["status_message"]["parts"][0]["text"].as_str().unwrap_or_else(|| panic!("no answer: {task}"))
}

/// Runs a text of the shell in the box; answers with its output.
pub(crate) async fn in_box(warren: &Warren, id: WorkspaceId, script: &str) -> String {
    let body = json!({ "argv": ["/bin/sh", "-c", format!("{RUNNER}{script}")] });
    let ran = warren.post(&format!("/api/v1/workspaces/{id}/exec"), &body).await;
    assert_eq!(ran.status, 200, "{}", ran.text());
    let ran = ran.json();
    assert_eq!(ran["exit_code"], 0, "{ran}");
    ran["stdout"].as_str().unwrap().trim().to_owned()
}

pub(crate) async fn registrations(warren: &Warren, id: WorkspaceId) -> usize {
    let all = events(warren, Some(id)).await;
    all.iter().filter(|event| event["kind"] == "workspace.runtime.registered").count()
}

// F4, F18
#[tokio::test]
async fn a_resident_agent_is_started_registers_and_answers_what_it_is_asked() {
    let house = house().await;
    let warren = &house.warren;
    let id = resident(warren).await;
    let task = say(warren, id, "hello").await;
    assert_eq!((task["state"].as_str(), answer_of(&task)), (Some("completed"), "hello back"));
    // What it did up to here: work that fails is told of, and may change how it stands.
    let steps: Vec<_> = events(warren, Some(id)).await;
    let failed = say(warren, id, "what is this").await;
    assert_eq!(failed["state"], "failed", "{failed}");
    assert!(answer_of(&failed).ends_with("thinking about what is this\nno idea"), "{failed}");
    let moves = steps.iter().filter(|event| event["kind"] == "workspace.status.changed");
    let moves: Vec<_> = moves.filter_map(|event| event["data"]["to"].as_str()).collect();
    assert_eq!(
        moves,
        ["awaiting_agent", "online"],
        "it was ready before it was expected, and came by itself"
    );
    let made = steps.iter().position(|event| event["kind"] == "identity.token.created").unwrap();
    let came = steps.iter().position(|event| event["kind"] == "workspace.runtime.registered").unwrap();
    assert!(made < came, "its token was there before it came");
}

// F18: its own messages carry its identity
#[tokio::test]
async fn what_an_agent_says_is_said_by_its_workspace_and_it_knows_who_asked() {
    let house = house().await;
    let warren = &house.warren;
    let id = resident(warren).await;
    let task = say(warren, id, "who").await;
    let author = &task["author"];
    let expected = format!(
        "{}:{} {}",
        author["kind"].as_str().unwrap(),
        author["id"].as_str().unwrap(),
        task["id"].as_str().unwrap()
    );
    assert_eq!(answer_of(&task), expected);
    assert_eq!(task["status_message"]["role"], "agent");
    let all = events(warren, Some(id)).await;
    let ended = all.iter().rev().find(|event| event["kind"] == "exchange.task.changed").unwrap();
    assert_eq!(ended["data"]["to"], "completed", "{ended}");
    assert_eq!(ended["principal"]["id"], id.to_string(), "{ended}");
}

// F18, F12
#[tokio::test]
async fn a_wedge_is_set_by_its_first_sign_and_lasts_until_a_reply_with_content() {
    let house = house().await;
    let warren = &house.warren;
    let id = resident(warren).await;
    assert_eq!(say(warren, id, "key").await["state"], "failed");
    warren.wait_for_status(id, Status::Degraded).await;
    let shown = show(warren, id).await;
    assert_eq!(shown["vitals"]["runtime_state"], "wedged", "{shown}");
    assert!(shown["vitals"]["sample_error"].as_str().unwrap().contains("401 Unauthorized"), "{shown}");
    assert_eq!(say(warren, id, "nothing").await["state"], "completed");
    eventually("it has reported since", async || {
        show(warren, id).await["vitals"]["error_rate"] == json!(0.5)
    })
    .await;
    assert_eq!(show(warren, id).await["vitals"]["runtime_state"], "wedged", "an empty reply proves nothing");
    for _ in 0..10 {
        assert_eq!(say(warren, id, "hello").await["state"], "completed");
    }
    warren.wait_for_status(id, Status::Online).await;
    assert_eq!(show(warren, id).await["vitals"]["runtime_state"], "");
}

/// The credentials of its runner that are good, by their ids.
async fn credentials(warren: &Warren, id: WorkspaceId) -> Vec<TokenId> {
    let query = TokenQuery {
        org_id: None,
        owner: None,
        only_of: None,
        includes_ended: false,
        after: None,
        limit: 1_000,
    };
    let all = warren.store.read(move |tx| tx.tokens(&query)).await.unwrap().rows;
    let of_it = |token: &Token| token.kind == TokenKind::Runner && token.workspace_id == Some(id);
    all.into_iter().filter(of_it).filter(|token| token.revoked_at.is_none()).map(|token| token.id).collect()
}

// F18
#[tokio::test]
async fn a_runner_whose_credential_was_ended_is_started_again_with_one_of_its_own() {
    let mut config = FleetConfig::default();
    // It asks three times in that, and so learns of it.
    config.expectations.liveness_ms = 9_000;
    let house = house_with(config).await;
    let warren = &house.warren;
    let id = resident(warren).await;
    let first = in_box(warren, id, "runner").await;
    let ours = register(warren, id).await;
    eventually("it is started again", async || registrations(warren, id).await >= 3).await;
    assert_eq!(answer_of(&say(warren, id, "hello").await), "hello back");
    assert_ne!(in_box(warren, id, "runner").await, first, "another process");
    assert_eq!(credentials(warren, id).await.len(), 1, "one run, one credential");
    let beat = warren.call("POST", "/api/v1/registry/heartbeat").token(&ours).json(&json!({})).send().await;
    assert_eq!(beat.status, 401, "{}", beat.text());
}

// F18, F16
#[tokio::test]
async fn a_runner_that_is_killed_is_started_again_with_a_new_credential() {
    let house = house().await;
    let warren = &house.warren;
    let id = resident(warren).await;
    let old = credentials(warren, id).await;
    in_box(warren, id, "kill -9 $(runner)").await;
    eventually("it registers again", async || registrations(warren, id).await == 2).await;
    assert_eq!(answer_of(&say(warren, id, "hello").await), "hello back");
    let new = credentials(warren, id).await;
    assert!((old.len(), new.len()) == (1, 1) && old != new, "one run, one credential: {old:?} {new:?}");
    assert_eq!(status(warren, id).await, "online");
}

// X15: nobody waits for the lease of one that is known to be gone
#[tokio::test]
async fn what_a_killed_runner_had_in_hand_ends_when_the_next_one_begins() {
    let house = house().await;
    let warren = &house.warren;
    let id = resident(warren).await;
    let body = json!({ "message": { "parts": [{ "text": "long" }] } });
    let sent = warren.post(&format!("/api/v1/workspaces/{id}/messages"), &body).await.json();
    let path = format!("/api/v1/workspaces/{id}/tasks/{}", sent["task"]["id"].as_str().unwrap());
    let task = async || warren.get(&path).await.json();
    eventually("it works on it", async || task().await["state"] == "working").await;
    in_box(warren, id, "kill -9 $(runner)").await;
    eventually("it has ended", async || task().await["state"] == "failed").await;
    let ended = task().await;
    assert_eq!(ended["status_message"]["metadata"]["warren/reason"], "lease_lost", "{ended}");
    let passed = |name: &str| -> warren_model::Timestamp { ended[name].as_str().unwrap().parse().unwrap() };
    let lease_ms = warren_exchange::Config::default().lease_ms;
    assert!(passed("updated_at") < passed("created_at").plus_ms(lease_ms), "no lease had run out: {ended}");
    assert_eq!(answer_of(&say(warren, id, "hello").await), "hello back");
}

// F4, F7
#[tokio::test]
async fn a_restart_and_a_rest_end_the_runner_and_bring_a_new_one() {
    let house = house().await;
    let warren = &house.warren;
    let id = resident(warren).await;
    let old = credentials(warren, id).await;
    assert_eq!(ask(warren, id, "restart").await.status, 200);
    eventually("it registers again", async || registrations(warren, id).await == 2).await;
    warren.wait_for_status(id, Status::Online).await;
    assert_ne!(credentials(warren, id).await, old);
    assert_eq!(ask(warren, id, "pause").await.status, 200);
    warren.wait_for_status(id, Status::Paused).await;
    assert_eq!(ask(warren, id, "resume").await.status, 200);
    warren.wait_for_status(id, Status::Online).await;
    assert_eq!(registrations(warren, id).await, 3, "one for each start, and none for the rest");
    assert_eq!(answer_of(&say(warren, id, "hello").await), "hello back");
}

// F4, F32, sec/T10, sec/U02
#[tokio::test]
async fn an_agent_has_its_secrets_and_neither_they_nor_its_tokens_are_seen_anywhere() {
    let house = house().await;
    let warren = &house.warren;
    let secret = "canary-5f2d8c41-canary";
    let set = warren.call("PUT", "/api/v1/secrets/API_KEY").token(&warren.token);
    let set = set.json(&json!({ "value": secret })).send().await;
    assert!(matches!(set.status, 200 | 201), "{}", set.text());
    let id = resident(warren).await;
    let task = say(warren, id, "secret").await;
    assert!(answer_of(&task).ends_with(" of 22"), "it has it: {task}");
    assert!(!task.to_string().contains(secret), "and is not heard to say it: {task}");
    let lists = in_box(warren, id, "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ | tr '\\0' '\\n'").await;
    assert!(lists.contains("warren-runner"), "the control: {lists}");
    assert!(!lists.contains("wrn_"), "{lists}");
    let processes = warren.get(&format!("/api/v1/workspaces/{id}/processes")).await;
    assert_eq!(processes.json()["items"], json!([]), "nobody can listen to the runner");
    let told = serde_json::to_string(&events(warren, None).await).unwrap();
    assert!(!told.contains("wrn_join_") && !told.contains("wrn_runner_") && !told.contains(secret));
    let files = in_box(warren, id, "ls -a /workspace; find /tmp -mindepth 1").await;
    assert_eq!(files, ".\n..", "nothing of it is among the files of the box");
}

// F4, F5: what is fetched takes nothing of the time to boot
#[tokio::test]
async fn the_clock_of_the_boot_begins_when_the_image_is_there() {
    let (clock, faults) = (clock(), Arc::new(Faults::default()));
    faults.hold_fetches();
    let warren = Warren::builder().clock(Arc::clone(&clock)).faults(Arc::clone(&faults)).start().await;
    let body = json!({ "name": "a", "provider": { "kind": "memory" }, "provision_timeout_seconds": 60 });
    let id = create(&warren, &body).await;
    let asked_at = show(&warren, id).await["provisioning_started_at"].clone();
    eventually("the fetch is under way", async || {
        let row = warren.store.read(move |tx| tx.workspace(id)).await.unwrap().unwrap();
        row.provision_deadline.is_none()
    })
    .await;
    clock.advance_ms(600_000);
    sweep(&warren, "provisioning").await;
    assert_eq!(status(&warren, id).await, "provisioning", "a slow registry fails nobody");
    faults.release_fetches();
    warren.wait_for_status(id, Status::Online).await;
    let began_at = show(&warren, id).await["provisioning_started_at"].clone();
    assert!(began_at.as_str() > asked_at.as_str(), "{asked_at} {began_at}");
}

// F4
#[tokio::test]
async fn a_program_that_cannot_be_run_is_refused_before_anything_is_made() {
    let warren = Warren::start().await;
    let refused = |body: Value| {
        let warren = &warren;
        async move {
            let answer = warren.create(&body).await;
            (answer.status, answer.json()["detail"].as_str().unwrap_or_default().to_owned())
        }
    };
    let (code, detail) = refused(wish(&json!({ "kind": "local" }))).await;
    assert!(code == 400 && detail.contains("sandbox"), "{code} {detail}");
    let mut hosted = wish(&json!({ "kind": "local" }));
    hosted["runtime"] = json!("hosted");
    let (code, detail) = refused(hosted).await;
    assert!(code == 400 && detail.contains("resident"), "{code} {detail}");
    let mut empty = wish(&json!({ "kind": "local" }));
    empty["command"] = json!([""]);
    let (code, detail) = refused(empty).await;
    assert!(code == 400 && detail.starts_with("command[0]"), "{code} {detail}");
}

/// The daemon that tests share, or one of this test's own that ends with it.
#[expect(clippy::disallowed_methods, reason = "the daemon is started by the script that people use")]
pub(crate) fn docker_daemon() -> (String, Option<std::process::Child>) {
    if let Some(host) = Environment::of_process().get("WARREN_TEST_DOCKER") {
        return (host.to_owned(), None);
    }
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/docker.sh");
    let folder = tempfile::tempdir().unwrap().keep().join("docker");
    let mut child = std::process::Command::new(script)
        .arg("run")
        .arg(folder)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("scripts/docker.sh can be started");
    let mut host = String::new();
    let mut said = std::io::BufReader::new(child.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut said, &mut host).unwrap();
    let host = host.trim().to_owned();
    assert!(host.starts_with("unix://"), "install the Debian packages docker.io and busybox-static, as root");
    (host, Some(child))
}

// F4, F18: the same in a container, and in one with nothing in it
#[tokio::test]
async fn a_resident_agent_in_a_container_answers_too() {
    let (host, mut daemon) = docker_daemon();
    let folder = tempfile::tempdir().unwrap();
    let settings = DockerSettings { host: Some(host), ..DockerSettings::default() };
    let base = folder.path().join("docker");
    let provider =
        DockerProvider::new(&base, settings, Environment::default(), Arc::new(SystemClock), &OsEntropy)
            .unwrap();
    let warren = Warren::builder().provider(Arc::new(provider)).start().await;
    let config = |image: &str| json!({ "kind": "docker", "image": image, "pull_policy": "never" });
    let id = create(&warren, &wish(&config("warren-test:busybox"))).await;
    let bare = create(&warren, &wish(&config("warren-test:empty"))).await;
    warren.wait_for_status(id, Status::Online).await;
    assert_eq!(answer_of(&say(&warren, id, "hello").await), "hello back");
    assert_eq!(answer_of(&say(&warren, id, "network").await), "lo");
    // The runner needs nothing, and tells at once that its program is not there.
    warren.wait_for_status(bare, Status::Degraded).await;
    let told = warren.get(&format!("/api/v1/workspaces/{bare}")).await.json();
    assert!(told["reason"].as_str().unwrap().contains("`/bin/sh` could not be started"), "{told}");
    for id in [id, bare] {
        assert_eq!(warren.delete(&format!("/api/v1/workspaces/{id}")).await.status, 200);
    }
    warren.stop().await;
    if let Some(daemon) = &mut daemon {
        drop(daemon.stdin.take());
        daemon.wait().unwrap();
    }
}

/// Ends once two of it are at work.
const PAIR: &str = "read -r asked; touch at-$WARREN_TASK_ID; \
                    until [ $(ls at-* | wc -l) -ge 2 ]; do sleep 0.02; done; echo \"$asked is done\"";

// F18: its box works on as many messages as the workspace says, also when that changes under way
#[tokio::test]
async fn a_resident_agent_works_on_several_messages_at_once_when_its_workspace_says_so() {
    let mut config = FleetConfig::default();
    // It reports, and so learns of changes, three times in that.
    config.expectations.liveness_ms = 3_000;
    let house = house_with(config).await;
    let warren = &house.warren;
    let mut wish = wish(&json!({ "kind": "sandbox" }));
    wish["command"] = json!(["/bin/sh", "-c", PAIR]);
    let id = create(warren, &wish).await;
    warren.wait_for_status(id, Status::Online).await;
    let raise = async {
        eventually("the first is in hand", async || in_box(warren, id, "ls").await.contains("at-")).await;
        assert_eq!(
            in_box(warren, id, "ls -d at-* | wc -l").await,
            "1",
            "one at a time unless told otherwise"
        );
        let path = format!("/api/v1/workspaces/{id}");
        let raised = warren.patch(&path, &json!({ "max_concurrent_tasks": 2 })).await;
        assert_eq!(raised.status, 200, "{}", raised.text());
    };
    let (first, second, ()) = tokio::join!(say(warren, id, "one"), say(warren, id, "two"), raise);
    for (task, answer) in [(first, "one is done"), (second, "two is done")] {
        assert_eq!((task["state"].as_str(), answer_of(&task)), (Some("completed"), answer));
    }
}

// F18, F3: the command of an agent is changed in place
#[tokio::test]
async fn a_changed_command_counts_from_the_next_start_on() {
    let house = house().await;
    let warren = &house.warren;
    let id = resident(warren).await;
    let path = format!("/api/v1/workspaces/{id}");
    assert_eq!(answer_of(&say(warren, id, "hello").await), "hello back");
    for (bad, said) in [
        (json!({ "command": [""] }), "command[0]: expected a program"),
        (json!({ "command": ["a\u{0}b"] }), "command[0]: a word has no NUL"),
    ] {
        let refused = warren.patch(&path, &bad).await;
        assert_eq!(refused.status, 400, "{}", refused.text());
        assert!(refused.text().contains(said), "{}", refused.text());
    }
    let changed = warren.patch(&path, &json!({ "command": ["/bin/sh", "-c", "echo changed"] })).await;
    assert_eq!(changed.status, 200, "{}", changed.text());
    assert_eq!(changed.json()["agent"]["command"][2], "echo changed");
    let told = events(warren, Some(id)).await;
    let told = told.iter().rev().find(|event| event["kind"] == "workspace.spec.changed").unwrap();
    assert_eq!(told["data"]["fields"], json!(["command"]), "its words are not told");
    assert_eq!(answer_of(&say(warren, id, "hello").await), "hello back", "what runs goes on");
    assert_eq!(ask(warren, id, "restart").await.status, 200);
    eventually("it is back", async || registrations(warren, id).await >= 2).await;
    assert_eq!(answer_of(&say(warren, id, "hello").await), "changed");
    // Taken back, nobody starts it any more; what is not a resident agent cannot have one.
    assert_eq!(warren.patch(&path, &json!({ "command": [] })).await.status, 200);
    let before = registrations(warren, id).await;
    in_box(warren, id, "kill -9 $(runner)").await;
    eventually("it is let go of", async || in_box(warren, id, "runner").await.is_empty()).await;
    assert_eq!(registrations(warren, id).await, before);
    let hosted = create(warren, &json!({ "name": "hosted", "provider": { "kind": "sandbox" } })).await;
    let refused =
        warren.patch(&format!("/api/v1/workspaces/{hosted}"), &json!({ "command": ["agent"] })).await;
    assert_eq!(refused.status, 400);
    assert!(refused.text().contains("only a `resident` runtime"), "{}", refused.text());
}

// F18, F16: it reports from the loop that does the work
#[tokio::test]
async fn a_runner_that_hangs_falls_silent_and_its_box_is_restarted() {
    let mut config = FleetConfig::default();
    config.expectations.liveness_ms = 2_000;
    let house = house_with(config).await;
    let warren = &house.warren;
    let id = resident(warren).await;
    in_box(warren, id, "kill -STOP $(runner)").await;
    eventually("it is found to be silent", async || {
        sweep(warren, "liveness").await;
        arrivals(warren, id, "offline").await == 1
    })
    .await;
    eventually("it is brought up anew", async || {
        sweep(warren, "mending").await;
        registrations(warren, id).await >= 2
    })
    .await;
    assert_eq!(answer_of(&say(warren, id, "hello").await), "hello back");
}
