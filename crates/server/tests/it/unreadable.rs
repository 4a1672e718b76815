//! Rows that another version of Warren wrote, as after a downgrade: they hold up nobody else, and are there again for
//! whoever can read them.

use std::sync::Arc;

use serde_json::{Value, json};
use warren_outbound::OutboundPolicy;
use warren_testkit::Warren;

use crate::events::{Frames, follow};
use crate::exchange::{say, task_in};
use crate::fleet::{beat, clock, create, events, eventually, register, reporting};
use crate::memory;

const HOUR_MS: i64 = 3_600_000;

/// Writes what no Warren of this version would.
fn edit(warren: &Warren, sql: &str) {
    let database = rusqlite::Connection::open(warren.folder().join("warren.db")).unwrap();
    database.busy_timeout(std::time::Duration::from_secs(20)).unwrap();
    assert_eq!(database.execute(sql, []).unwrap(), 1, "{sql}");
}

async fn fired(warren: &Warren, id: &str) -> usize {
    let runs = warren.get(&format!("/api/v1/schedules/{id}/runs")).await.json();
    runs["items"].as_array().unwrap().iter().filter(|run| run["state"] == "fired").count()
}

// X40, X41
#[tokio::test]
async fn a_schedule_that_cannot_be_read_is_shown_as_broken_and_the_others_fire() {
    let clock = clock();
    let warren = Warren::builder().clock(Arc::clone(&clock)).start().await;
    let id = create(&warren, &json!({ "name": "w", "provider": memory(), "runtime": "external" })).await;
    let mut made = Vec::new();
    for name in ["broken", "whole"] {
        let body = json!({ "name": name, "every_seconds": 3_600, "prompt": "?", "overlap": "allow" });
        let answer = warren.post(&format!("/api/v1/workspaces/{id}/schedules"), &body).await;
        made.push(answer.json()["id"].as_str().unwrap().to_owned());
    }
    let [broken, whole] = <[String; 2]>::try_from(made).unwrap();
    edit(&warren, "UPDATE schedules SET overlap = 'braid' WHERE name = 'broken'");
    clock.advance_ms(HOUR_MS);
    warren.exchange.scheduler.fire_due().await.unwrap();
    eventually("the other one fires", async || fired(&warren, &whole).await == 1).await;
    assert_eq!(fired(&warren, &broken).await, 0);

    let list = warren.get(&format!("/api/v1/workspaces/{id}/schedules")).await.json();
    let shown = list["items"].as_array().unwrap().iter().find(|one| one["name"] == "broken").unwrap();
    let problem = shown["problem"].as_str().unwrap();
    assert!(problem.contains("`braid`"), "{problem}");
    assert_eq!(shown["upcoming"], json!([]));
    let told = events(&warren, Some(id)).await;
    assert!(told.iter().any(|event| event["data"]["change"] == "set_aside"), "{told:?}");
    // It is not written over, nor sent.
    let path = format!("/api/v1/schedules/{broken}");
    let patch = warren.call("PATCH", &path).token(&warren.token).json(&json!({ "prompt": "!" })).send().await;
    assert_eq!((patch.status, patch.code().as_str()), (409, "schedule_unreadable"));
    assert_eq!(warren.post(&format!("{path}/run"), &json!({})).await.code(), "schedule_unreadable");

    // Whoever can read it again goes on with it, by itself.
    edit(&warren, "UPDATE schedules SET overlap = 'allow' WHERE name = 'broken' AND overlap = 'braid'");
    assert_eq!(warren.get(&path).await.json()["problem"], Value::Null);
    clock.advance_ms(HOUR_MS);
    warren.exchange.scheduler.fire_due().await.unwrap();
    eventually("it fires again", async || fired(&warren, &broken).await >= 1).await;
    edit(&warren, "UPDATE schedules SET created_by = 'moon:1' WHERE name = 'broken'");
    assert_eq!(warren.call("DELETE", &path).token(&warren.token).send().await.status, 204);
}

// X15
#[tokio::test]
async fn a_message_that_cannot_be_read_does_not_stop_those_behind_it() {
    let clock = clock();
    let warren = Warren::builder().clock(Arc::clone(&clock)).start().await;
    let (id, secret) = reporting(&warren).await;
    let (first, second) = (say(&warren, id, "first").await, say(&warren, id, "second").await);
    let third = say(&warren, id, "third").await;
    let queue_id = first["queue_id"].as_str().unwrap();
    edit(&warren, &format!("UPDATE deliveries SET author = 'moon:1' WHERE id = '{queue_id}'"));
    let path = format!("/api/v1/workspaces/{id}/queue/claim");
    let got = warren.call("POST", &path).token(&secret).json(&json!({})).send().await;
    assert_eq!(got.json()["claimed"]["queue_id"], second["queue_id"], "{}", got.text());
    // Nor does it stop the look at what is due: the last one expires all the same.
    clock.advance_ms(25 * HOUR_MS);
    task_in(&warren, &third, "failed").await;
    let first = crate::exchange::task(&warren, &first).await;
    assert_eq!(first["state"], "submitted", "it is left for whoever can read it");
}

/// A list of two rows.
struct List {
    path: String,
    /// Where a word stands that no Warren of this version would write.
    table: &'static str,
    column: &'static str,
    ids: [String; 2],
}

impl List {
    /// As it is told while all can be read.
    async fn of(warren: &Warren, path: String, (table, column): (&'static str, &'static str)) -> Self {
        let page = warren.get(&path).await.json();
        let items = page["items"].as_array().unwrap_or_else(|| panic!("{path}: {page}"));
        let id = |item: &Value| item["id"].as_str().unwrap().to_owned();
        let [first, second] = items.as_slice() else { panic!("{path}: two are expected: {page}") };
        assert_eq!(page["unreadable"], Value::Null, "{path}");
        Self { ids: [id(first), id(second)], path, table, column }
    }

    /// Writes into the first row, and answers with what stood there.
    fn write(&self, warren: &Warren, word: &str) -> String {
        let database = rusqlite::Connection::open(warren.folder().join("warren.db")).unwrap();
        database.busy_timeout(std::time::Duration::from_secs(20)).unwrap();
        // A newer Warren has more words, and constraints that know them.
        database.pragma_update(None, "ignore_check_constraints", true).unwrap();
        database.execute("DROP TRIGGER IF EXISTS chat_messages_are_final", []).unwrap();
        let (table, column, id) = (self.table, self.column, &self.ids[0]);
        let was = database
            .query_row(&format!("SELECT {column} FROM {table} WHERE id = ?1"), [id], |row| row.get(0))
            .unwrap();
        let edit = format!("UPDATE {table} SET {column} = ?1 WHERE id = ?2");
        assert_eq!(database.execute(&edit, [word, id]).unwrap(), 1, "{edit}");
        was
    }

    async fn assert_one_is_named(&self, warren: &Warren) {
        let page = warren.get(&self.path).await;
        assert_eq!(page.status, 200, "{}: {}", self.path, page.text());
        let page = page.json();
        let shown: Vec<&Value> = page["items"].as_array().unwrap().iter().map(|item| &item["id"]).collect();
        assert_eq!(
            json!([shown, page["unreadable"]]),
            json!([[self.ids[1]], [self.ids[0]]]),
            "{}",
            self.path
        );
    }
}

/// Two of everything that is listed.
async fn two_of_everything(warren: &Warren) -> Vec<List> {
    let (id, runtime) = reporting(warren).await;
    let at = format!("/api/v1/workspaces/{id}");
    let post = async |path: &str, token: &str, body: Value| {
        let made = warren.call("POST", path).token(token).json(&body).send().await;
        assert!((200..300).contains(&made.status), "{path}: {}", made.text());
        made.json()
    };
    let admin = warren.token.as_str();
    let below =
        json!({ "name": "below", "provider": memory(), "runtime": "external", "parent_id": id.to_string() });
    let below = create(warren, &below).await;
    warren.wait_for_status(below, warren_model::Status::AwaitingAgent).await;
    register(warren, below).await;
    let every = json!({ "name": "tick", "every_seconds": 3_600, "prompt": "?", "overlap": "allow" });
    let schedule = post(&format!("{at}/schedules"), admin, every).await["id"].as_str().unwrap().to_owned();
    let hook =
        json!({ "name": "hook", "url": "http://127.0.0.1:9/", "events": ["workspace.lifecycle.removed"] });
    let mut talk = String::new();
    for n in 0..2 {
        let named = json!({ "name": format!("n{n}") });
        talk =
            post(&format!("{at}/conversations"), admin, json!({})).await["id"].as_str().unwrap().to_owned();
        post("/api/v1/webhooks", admin, hook.clone()).await;
        post(&format!("{at}/channels"), admin, named).await;
        let wish = json!({ "action": "deploy", "reason": "because", "context": {} });
        post(&format!("{at}/approvals"), &runtime, wish).await;
        let memory = format!("{at}/memory/local/key{n}");
        let kept =
            warren.call("PUT", &memory).token(&runtime).json(&json!({ "value": "moonlight" })).send().await;
        assert_eq!(kept.status, 201, "{}", kept.text());
        let wish = json!({ "to": below.to_string(), "message": { "parts": [{ "text": "go" }] } });
        post(&format!("{at}/delegations"), &runtime, wish).await;
        post(&format!("/api/v1/schedules/{schedule}/run"), admin, json!({})).await;
    }
    for text in ["moonlight", "moonlight sonata"] {
        let said = json!({ "message": { "parts": [{ "text": text }] } });
        post(&format!("{at}/conversations/{talk}/messages"), admin, said).await;
    }
    eventually("both runs have fired", async || fired(warren, &schedule).await == 2).await;
    let below = format!("/api/v1/workspaces/{below}");
    let lists = [
        (format!("{below}/queue"), ("deliveries", "author")),
        (format!("{below}/tasks"), ("tasks", "author")),
        (format!("{at}/delegations"), ("delegations", "state")),
        (format!("{at}/conversations"), ("conversations", "author")),
        (format!("{at}/conversations/{talk}/messages"), ("chat_messages", "author")),
        (format!("{at}/search?q=moonlight"), ("chat_messages", "author")),
        (format!("{at}/approvals"), ("approvals", "state")),
        (format!("{at}/memory"), ("memories", "author")),
        (format!("{at}/memory/search?q=moonlight"), ("memories", "author")),
        (format!("{at}/channels"), ("channels", "network")),
        ("/api/v1/webhooks".to_owned(), ("webhooks", "network")),
        (format!("/api/v1/schedules/{schedule}/runs"), ("schedule_runs", "state")),
    ];
    let mut found = Vec::new();
    for (path, broken) in lists {
        found.push(List::of(warren, path, broken).await);
    }
    found
}

// X12, X15, X20, X30, X35, X40, X50, X51, X52
#[tokio::test]
async fn every_list_names_what_it_cannot_read_and_shows_the_rest() {
    let warren = Warren::builder().outbound(OutboundPolicy::default().with_loopback()).start().await;
    for list in two_of_everything(&warren).await {
        let was = list.write(&warren, "moon:1");
        list.assert_one_is_named(&warren).await;
        list.write(&warren, &was);
    }
}

async fn told(warren: &Warren, path: &str, id: &str) -> Value {
    let page = warren.get(path).await;
    assert_eq!(page.status, 200, "{path}: {}", page.text());
    let page = page.json();
    let shown: Vec<&Value> = page["items"].as_array().unwrap().iter().map(|item| &item[id]).collect();
    json!([shown, page["unreadable"]])
}

// F1, F16, F30, F32
#[tokio::test]
async fn a_list_of_the_fleet_names_what_it_cannot_read_and_shows_the_rest() {
    let warren = Warren::start().await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        let (id, runtime) = reporting(&warren).await;
        beat(&warren, &runtime, &json!({})).await;
        ids.push(id.to_string());
    }
    let all = "/api/v1/workspaces";
    assert_eq!(told(&warren, all, "id").await, json!([ids, null]));
    edit(&warren, &format!("UPDATE workspaces SET spec = '{{}}' WHERE id = '{}'", ids[0]));
    edit(&warren, &format!("UPDATE vitals SET outcomes = 'moon' WHERE workspace_id = '{}'", ids[1]));
    assert_eq!(told(&warren, all, "id").await, json!([[ids[2]], [ids[0], ids[1]]]));
    let pages = format!("{all}?limit=1");
    let first = warren.get(&pages).await.json();
    assert_eq!((&first["items"], &first["unreadable"]), (&json!([]), &json!([ids[0]])));
    let cursor = first["next_cursor"].as_str().expect("a page of nothing is not the end");
    assert_eq!(told(&warren, &format!("{pages}&cursor={cursor}"), "id").await, json!([[], [ids[1]]]));

    for name in ["ALPHA_NAME_OF_16", "BETA"] {
        let set = warren.call("PUT", &format!("/api/v1/secrets/{name}")).token(&warren.token);
        assert_eq!(set.json(&json!({ "value": "some value" })).send().await.status, 201);
    }
    edit(&warren, "UPDATE secrets SET updated_by = 'moon:1' WHERE name = 'ALPHA_NAME_OF_16'");
    assert_eq!(
        told(&warren, "/api/v1/secrets", "name").await,
        json!([["BETA"], ["ALPHA_NAME_OF_16"]]),
        "whichever column cannot be read"
    );

    let made = warren.post("/api/v1/tokens", &json!({ "kind": "admin", "name": "spare" })).await.json();
    let id = made["token"]["id"].as_str().unwrap();
    let before = told(&warren, "/api/v1/tokens", "name").await;
    assert!(before[0].as_array().unwrap().contains(&json!("spare")), "{before}");
    edit(&warren, "UPDATE tokens SET scopes = 'moon:howl' WHERE name = 'spare'");
    let after = told(&warren, "/api/v1/tokens", "name").await;
    assert_eq!(after[1], json!([id]));
    assert_eq!(after[0].as_array().unwrap().len() + 1, before[0].as_array().unwrap().len(), "{after}");
}

// F3, F8
#[tokio::test]
async fn a_workspace_that_cannot_be_read_keeps_nobody_from_starting_and_no_tree_is_cut_around_it() {
    let warren = Warren::start().await;
    let root = create(&warren, &json!({ "name": "root", "provider": memory() })).await;
    create(&warren, &json!({ "name": "leaf", "provider": memory(), "parent_id": root.to_string() })).await;
    warren.wait_for_status(root, warren_model::Status::Online).await;
    edit(&warren, "UPDATE workspaces SET spec = '{}' WHERE name = 'leaf'");
    let cut = warren.call("DELETE", &format!("/api/v1/workspaces/{root}")).token(&warren.token).send().await;
    assert_eq!(cut.status, 500, "{}", cut.text());
    let shown = warren.get(&format!("/api/v1/workspaces/{root}")).await.json();
    assert_eq!(shown["status"], "online", "all or nothing: {shown}");

    let warren = warren.restart().await;
    assert_eq!(warren.get(&format!("/api/v1/workspaces/{root}")).await.status, 200);
}

/// The same for tables that guard themselves: a newer Warren has other guards.
fn edit_unguarded(warren: &Warren, guards: &str, sql: &str) {
    let database = rusqlite::Connection::open(warren.folder().join("warren.db")).unwrap();
    database.busy_timeout(std::time::Duration::from_secs(20)).unwrap();
    database.pragma_update(None, "ignore_check_constraints", true).unwrap();
    database.execute_batch(guards).unwrap();
    assert_eq!(database.execute(sql, []).unwrap(), 1, "{sql}");
}

// F35, F50
#[tokio::test]
async fn the_audit_log_and_the_templates_name_what_they_cannot_read_and_show_the_rest() {
    let warren = Warren::start().await;
    for name in ["one", "two"] {
        let put = warren.call("PUT", &format!("/api/v1/templates/{name}")).token(&warren.token);
        let put = put.header("content-type", "application/yaml").body(format!("name: {name}")).send().await;
        assert_eq!(put.status, 201, "{}", put.text());
    }
    assert_eq!(told(&warren, "/api/v1/templates", "name").await, json!([["one", "two"], null]));
    edit(&warren, "UPDATE templates SET blueprint = '\"moon\"' WHERE name = 'one'");
    assert_eq!(told(&warren, "/api/v1/templates", "name").await, json!([["two"], ["one"]]));

    for _ in 0..2 {
        warren.workspace(memory()).await;
    }
    let first = "/api/v1/audit?limit=2";
    assert_eq!(told(&warren, first, "seq").await, json!([[1, 2], null]));
    let broken = "UPDATE audit SET hash = x'00' WHERE seq = 2";
    edit_unguarded(&warren, "DROP TRIGGER audit_is_not_changed", broken);
    assert_eq!(told(&warren, first, "seq").await, json!([[1], ["2"]]));
}

// F40
#[tokio::test]
async fn an_event_that_cannot_be_read_is_named_and_stops_no_reader() {
    let warren = Warren::start().await;
    warren.workspace(memory()).await;
    let all: Vec<u64> =
        events(&warren, None).await.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    let bad = all[1];
    edit(&warren, &format!("UPDATE events SET principal = 'moon:1' WHERE seq = {bad}"));
    let page = async |after: u64, limit: u32| {
        let path = format!("/api/v1/events?after={after}&limit={limit}");
        warren
            .call("GET", &path)
            .token(&warren.token)
            .header("accept", "application/json")
            .send()
            .await
            .json()
    };
    let whole = page(0, 500).await;
    assert_eq!(whole["unreadable"], json!([bad.to_string()]));
    assert_eq!(whole["items"].as_array().unwrap().len(), all.len() - 1);
    let alone = page(bad - 1, 1).await;
    assert_eq!(
        json!([alone["items"], alone["unreadable"], alone["next_after"], alone["is_last"]]),
        json!([[], [bad.to_string()], bad, false]),
        "a page of nothing is not the end"
    );

    let mut frames = Frames::open(follow(&warren, "?after=0")).await;
    let others: Vec<u64> = all.into_iter().filter(|seq| *seq != bad).collect();
    assert_eq!(frames.history().await, others);
    // And what comes after it, as it happens.
    warren.workspace(memory()).await;
    assert!(frames.next().await.is_some());
}

// F32
#[tokio::test]
async fn a_rotation_seals_what_it_can_and_names_what_it_cannot_read() {
    let warren = Warren::start().await;
    let (id, _) = reporting(&warren).await;
    let own = format!("/api/v1/workspaces/{id}/secrets/OWN");
    for path in ["/api/v1/secrets/ALPHA", "/api/v1/secrets/BETA", "/api/v1/secrets/GAMMA", &own] {
        let set = warren.call("PUT", path).token(&warren.token).json(&json!({ "value": "some value" }));
        assert_eq!(set.send().await.status, 201);
    }
    let rotate = async || {
        let done = warren.post("/api/v1/secrets/rotate-key", &json!({})).await;
        assert_eq!(done.status, 200, "{}", done.text());
        let done = done.json();
        json!([done["resealed"], done["unreadable"], done["unreadable_rows"]])
    };
    edit(&warren, "UPDATE secrets SET updated_by = 'moon:1' WHERE name = 'OWN'");
    edit(&warren, "UPDATE secrets SET key_id = 'moon ' || key_id WHERE name = 'BETA'");
    let mut told = rotate().await;
    told[2].as_array_mut().unwrap().sort_by_key(ToString::to_string);
    let mut named = [json!("BETA"), json!(format!("{id}/OWN"))];
    named.sort_by_key(ToString::to_string);
    assert_eq!(told, json!([2, 2, named]));
    // The keys that they are under are kept, for whoever can read them.
    edit(&warren, "UPDATE secrets SET updated_by = 'system:test' WHERE name = 'OWN'");
    edit(&warren, "UPDATE secrets SET key_id = substr(key_id, 6) WHERE name = 'BETA'");
    assert_eq!(rotate().await, json!([4, 0, null]));
}
