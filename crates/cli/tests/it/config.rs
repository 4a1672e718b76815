use crate::warren::{Machine, ended};

fn with_file(text: &str) -> Machine {
    let machine = Machine::new();
    std::fs::create_dir_all(machine.data()).unwrap();
    std::fs::write(machine.data().join("warren.toml"), text).unwrap();
    machine
}

// S50
#[test]
fn a_misspelt_key_stops_the_server_and_names_the_nearest() {
    let machine = with_file("[server]\nlisten = \"127.0.0.1:0\"\nalowed_hosts = []\n");
    for arguments in [&["up", "--json"][..], &["config", "check", "--json"]] {
        let error = machine.run(arguments).expect_error(1, "config_invalid");
        let cause = error["causes"][0].as_str().unwrap();
        assert!(
            cause.ends_with(
                "warren.toml:3: unknown key `server.alowed_hosts`; did you mean `server.allowed_hosts`?"
            ),
            "{cause}"
        );
    }
}

// S50
#[test]
fn every_value_says_where_it_comes_from_and_no_password_is_shown() {
    let machine = with_file("[database]\nurl = \"postgres://me:hunter2@db/warren\"\n");
    let mut command = machine.command(&["config", "show", "--origin", "--json"]);
    command.env("WARREN_LIMITS_MAX_PAGE_SIZE", "7");
    let shown = ended(command).expect_ok();
    assert!(!shown.text().contains("hunter2"), "{}", shown.text());
    let shown = shown.json();
    assert_eq!(shown["limits.max_page_size"]["value"], 7);
    assert_eq!(shown["limits.max_page_size"]["origin"], "variable WARREN_LIMITS_MAX_PAGE_SIZE");
    assert!(shown["database.url"]["origin"].as_str().unwrap().ends_with("warren.toml:2"), "{shown}");
    assert_eq!(shown["server.listen"]["origin"], "default");
    let text = machine.run(&["config", "show"]).expect_ok().text();
    assert!(text.contains("postgres://me:***@db/warren") && text.contains("[limits]"), "{text}");
}

// S50
#[test]
fn what_config_show_prints_is_a_valid_config() {
    let machine = Machine::new();
    let text = machine.run(&["config", "show"]).expect_ok().text();
    let copy = machine.path().join("copy.toml");
    std::fs::write(&copy, text).unwrap();
    let checked = machine.run(&["config", "check", "--config", copy.to_str().unwrap(), "--json"]).expect_ok();
    assert_eq!(checked.json()["valid"], true);
    machine.run(&["config", "check", "--config", "nowhere.toml", "--json"]).expect_error(1, "config_invalid");
}

// S50
#[test]
fn the_schema_is_json_and_knows_every_section() {
    let schema = Machine::new().run(&["config", "schema"]).expect_ok().json();
    for section in ["server", "database", "limits", "registry", "log"] {
        assert!(schema["properties"][section]["properties"].is_object(), "{section}");
    }
    assert_eq!(schema["additionalProperties"], false);
}

// S50
#[test]
fn a_server_for_other_machines_needs_to_be_asked_for_twice() {
    let machine = Machine::new();
    let up = ["up", "--json", "--listen", "0.0.0.0:0"];
    let error = machine.run(&up).expect_error(1, "config_invalid");
    assert!(error["causes"][0].as_str().unwrap().contains("server.allowed_hosts"), "{error}");
    assert!(!machine.data().join("warren.db").exists(), "nothing was made");
}

// S50
#[test]
fn the_file_s_limits_hold_in_the_server() {
    let machine = with_file("[limits]\nmax_workspaces_per_org = 1\n");
    let _server = machine.start();
    machine.run(&["ws", "create", "one", "--provider", "memory"]).expect_ok();
    machine
        .run(&["ws", "create", "two", "--provider", "memory", "--json"])
        .expect_error(5, "workspace_limit");
}
