//! `warren schedule`, `warren memory` and `warren approval`: what people see and do of agents' own affairs.

use serde_json::json;
use warren_api::RequestApproval;
use warren_api::client::Client;

use crate::warren::Machine;

// X40
#[test]
fn a_schedule_is_made_named_paused_fired_and_removed_from_the_command_line() {
    let machine = Machine::new();
    let _server = machine.start();
    for name in ["one", "two"] {
        machine.run(&["ws", "create", name, "--provider", "memory", "--runtime", "external"]).expect_ok();
        let add = ["schedule", "add", name, "daily", "Run the tests", "--cron", "0 9 * * *", "--json"];
        machine.run(&add).expect_ok();
    }
    machine.run(&["ws", "create", "hosted", "--provider", "memory"]).expect_ok();
    let add = ["schedule", "add", "hosted", "daily", "Run the tests", "--cron", "0 9 * * *", "--json"];
    machine.run(&add).expect_error(5, "no_agent");
    let add = ["schedule", "add", "one", "hourly", "Look around", "--every", "3600", "--json"];
    let made = machine.run(&add).expect_ok().json();
    let listed = machine.run(&["schedule", "ls", "one", "--json"]).expect_ok().json();
    assert_eq!(listed.as_array().unwrap().len(), 2, "{listed}");
    let shown = machine.run(&["schedule", "show", "hourly", "--json"]).expect_ok().json();
    assert_eq!((&shown["id"], &shown["every_seconds"]), (&made["id"], &json!(3_600)), "by its name");
    machine.run(&["schedule", "show", "daily", "--json"]).expect_error(5, "ambiguous_name");
    let of_two = machine.run(&["schedule", "show", "two/daily", "--json"]).expect_ok().json();
    assert_eq!(of_two["cron"], "0 9 * * *", "{of_two}");
    machine.run(&["schedule", "show", "weekly", "--json"]).expect_error(3, "schedule_not_found");
    assert!(machine.run(&["schedule", "pause", "hourly"]).expect_ok().text().ends_with("paused\n"));
    machine.run(&["schedule", "resume", "hourly"]).expect_ok();
    let run = machine.run(&["schedule", "run", "hourly", "--json"]).expect_ok().json();
    let history = machine.run(&["schedule", "history", "hourly", "--json"]).expect_ok().json();
    assert_eq!(history[0]["id"], run["id"], "{history}");
    let next = ["schedule", "next", "--cron", "0 9 * * *", "--time-zone", "Europe/Zurich", "--count", "2"];
    assert_eq!(machine.run(&next).expect_ok().text().lines().count(), 2);
    machine.run(&["schedule", "rm", "hourly"]).expect_ok();
    machine.run(&["schedule", "history", "hourly", "--json"]).expect_error(3, "schedule_not_found");
}

// X50
#[test]
fn memory_is_set_found_and_forgotten_from_the_command_line() {
    let machine = Machine::new();
    let _server = machine.start();
    machine.run(&["ws", "create", "lead", "--provider", "memory"]).expect_ok();
    machine.run(&["memory", "set", "lead", "how to/build", "make all"]).expect_ok();
    machine.run(&["memory", "set", "lead", "colour", "blue", "--scope", "org"]).expect_ok();
    assert_eq!(machine.run(&["memory", "get", "lead", "how to/build"]).expect_ok().text(), "make all\n");
    // What `ls` shows is found, in the nearest scope that has it.
    assert_eq!(machine.run(&["memory", "get", "lead", "colour"]).expect_ok().text(), "blue\n");
    let own = ["memory", "get", "lead", "colour", "--scope", "local", "--json"];
    machine.run(&own).expect_error(3, "memory_not_found");
    let all = machine.run(&["memory", "ls", "lead", "--json"]).expect_ok().json();
    assert_eq!(all.as_array().unwrap().len(), 2, "{all}");
    let found = machine.run(&["memory", "search", "lead", "mak", "--json"]).expect_ok().json();
    assert_eq!(found[0]["key"], "how to/build", "{found}");
    let stale = ["memory", "set", "lead", "colour", "red", "--scope", "org", "--if-version", "7", "--json"];
    machine.run(&stale).expect_error(5, "precondition_failed");
    machine.run(&["memory", "rm", "lead", "how to/build"]).expect_ok();
    machine.run(&["memory", "get", "lead", "how to/build", "--json"]).expect_error(3, "memory_not_found");
}

// X51
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_workspace_asks_for_is_decided_from_the_command_line() {
    let machine = Machine::new();
    let server = machine.start();
    let id = machine.run(&["ws", "create", "lead", "--provider", "memory", "--json"]).expect_ok().json();
    let mint = ["token", "create", "agent", "--kind", "workspace", "--workspace", "lead", "--json"];
    let minted = machine.run(&mint).expect_ok().json();
    let client = Client::new(server.url(), minted["secret"].as_str()).unwrap();
    let ask = async |action: &str| {
        let question = RequestApproval {
            action: action.to_owned(),
            reason: "it is time".to_owned(),
            context: None,
            expires_in_seconds: None,
            task_id: None,
        };
        client.request_approval(id["id"].as_str().unwrap(), &question).await.unwrap().id
    };
    let (deploy, delete) = (ask("deploy").await, ask("delete").await);
    let waiting = machine.run(&["approval", "ls", "lead", "--json"]).expect_ok().json();
    assert_eq!(waiting.as_array().unwrap().len(), 2, "{waiting}");
    let approved = machine.run(&["approval", "approve", &deploy, "--note", "go"]).expect_ok().text();
    assert_eq!(approved, format!("{deploy}  approved\n"));
    machine.run(&["approval", "deny", &delete]).expect_ok();
    assert_eq!(machine.run(&["approval", "ls", "--json"]).expect_ok().json(), json!([]));
    let all = machine.run(&["approval", "ls", "--all", "--json"]).expect_ok().json();
    assert_eq!(all.as_array().unwrap().len(), 2, "{all}");
    let shown = machine.run(&["approval", "show", &deploy]).expect_ok().text();
    assert!(shown.contains("approved") && shown.contains("go"), "{shown}");
    machine.run(&["approval", "deny", &deploy, "--json"]).expect_error(5, "approval_over");
}
