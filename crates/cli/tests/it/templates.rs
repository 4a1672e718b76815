use serde_json::json;

use crate::warren::Machine;

const TEAM: &str = "
name: team
description: one who leads, one who reads
provider: {kind: memory}
children:
  - name: critic
    provider: {kind: memory}
    prompts: {system: You review.}
    required_env: [REVIEW_KEY]
";

// F50, S10
#[test]
fn a_tree_is_checked_stored_imported_and_taken_down_from_the_command_line() {
    let machine = Machine::new();
    std::fs::write(machine.path().join("team.yaml"), TEAM).unwrap();
    std::fs::write(machine.path().join("bad.yaml"), "provider: {kind: memory}\ncolour: red\n").unwrap();
    // Without a server.
    assert_eq!(
        machine.run(&["template", "check", "team.yaml", "--json"]).expect_ok().json()["workspaces"],
        2
    );
    let wrong = machine.run(&["template", "check", "bad.yaml", "--json"]);
    let wrong = wrong.expect_error(1, "invalid_template");
    assert!(wrong["causes"][0].as_str().unwrap().starts_with("colour: unknown field"), "{wrong}");
    machine.run(&["template", "check", "none.yaml", "--json"]).expect_error(1, "local_file_failed");

    let _server = machine.start();
    machine.run(&["template", "put", "team.yaml"]).expect_ok();
    machine
        .run(&["template", "put", "bad.yaml", "--name", "x", "--json"])
        .expect_error(1, "invalid_template");
    let listed = machine.run(&["template", "ls", "--json"]).expect_ok().json();
    assert_eq!((&listed[0]["name"], &listed[0]["is_tree"]), (&json!("team"), &json!(true)));
    assert_eq!(machine.run(&["template", "show", "team"]).expect_ok().text().trim(), TEAM.trim());

    let missing = machine.run(&["org", "import", "--template", "team", "--json"]);
    let missing = missing.expect_error(5, "required_env_missing");
    assert_eq!(missing["causes"][0], "team/critic: REVIEW_KEY");
    let provided = ["--provided-env", "REVIEW_KEY"];
    let import = [&["org", "import", "team.yaml", "--name", "lead", "--json"][..], &provided].concat();
    let report = machine.run(&import).expect_ok().json();
    assert_eq!((&report["created"], &report["nodes"][1]["path"]), (&json!(2), &json!("lead/critic")));
    let expand = [&["ws", "expand", "lead", "--template", "team", "--json"][..], &provided].concat();
    let taken = machine.run(&expand);
    assert_eq!(
        (taken.code, &taken.json()["nodes"][1]["problem"]["code"]),
        (Some(1), &json!("workspace_exists"))
    );
    let collapsed = machine.run(&["ws", "collapse", "lead", "--json"]).expect_ok().json();
    assert_eq!(collapsed["removal"]["marked"], 2);
    assert_eq!(machine.run(&expand).expect_ok().json()["created"], 2);
    machine.run(&["template", "rm", "team"]).expect_ok();
    machine.run(&["template", "show", "team", "--json"]).expect_error(3, "template_not_found");
}

// F50, S10
#[test]
fn a_workspace_is_made_from_a_template_by_name() {
    let machine = Machine::new();
    let _server = machine.start();
    let yaml = "{name: small, provider: {kind: memory, max_file_mb: 1}, role: helper}";
    machine.run_with_input(&["template", "put", "-"], yaml.as_bytes()).expect_ok();
    machine.run(&["ws", "create", "one", "--template", "small"]).expect_ok();
    let shown = machine.run(&["ws", "show", "one", "--json"]).expect_ok().json();
    assert_eq!((&shown["template"]["name"], &shown["role"]), (&json!("small"), &json!("helper")));
    assert_eq!(shown["provider"]["max_file_mb"], 1);
    let replaced = ["ws", "create", "two", "--template", "small", "--provider", "local", "--json"];
    assert_eq!(machine.run(&replaced).expect_ok().json()["provider"]["kind"], "local");
    let knobs = ["ws", "create", "x", "--template", "small", "--allow-run", "ls", "--json"];
    machine.run(&knobs).expect_error(2, "invalid_usage");
    let unknown = ["ws", "create", "x", "--template", "none", "--json"];
    machine.run(&unknown).expect_error(3, "template_not_found");
}

// F51, S10
#[test]
fn a_bundle_goes_from_one_machine_to_another() {
    let (from, to) = (Machine::new(), Machine::new());
    let (_one, _other) = (from.start(), to.start());
    from.run(&["ws", "create", "lead", "--provider", "memory", "--role", "boss"]).expect_ok();
    from.run(&["ws", "create", "below", "--provider", "memory", "--parent", "lead"]).expect_ok();
    std::fs::write(from.path().join("hello.txt"), "hello").unwrap();
    from.run(&["ws", "cp", "hello.txt", "below:docs/hello.txt"]).expect_ok();
    from.run(&["memory", "set", "lead", "build", "make all"]).expect_ok();
    from.run(&["peers", "lead", "--circle", "nobody", "--allow", "below"]).expect_ok();
    from.run(&["bundle", "export", "lead", "--files", "-o", "lead.json"]).expect_ok();
    let bundle = std::fs::read(from.path().join("lead.json")).unwrap();
    std::fs::write(to.path().join("lead.json"), &bundle).unwrap();
    let report = to.run(&["bundle", "import", "lead.json", "--json"]).expect_ok().json();
    assert_eq!(report["created"], 2);
    assert_eq!(report["nodes"][1]["files"]["written"], 1, "{report}");
    assert_eq!(to.run(&["ws", "files", "cat", "below", "docs/hello.txt"]).expect_ok().text(), "hello");
    assert_eq!(to.run(&["memory", "get", "lead", "build"]).expect_ok().text(), "make all\n");
    let policy = to.run(&["peers", "lead", "--policy"]).expect_ok().text();
    assert!(policy.lines().any(|line| line.starts_with("allow ") && line.ends_with(" below")), "{policy}");
    let again = to.run(&["bundle", "export", "lead", "--files"]).expect_ok().json();
    let first: serde_json::Value = serde_json::from_slice(&bundle).unwrap();
    assert_eq!(again["root"], first["root"]);
    let newer = String::from_utf8(bundle).unwrap().replace("\"version\": 2", "\"version\": 9");
    std::fs::write(to.path().join("newer.json"), newer).unwrap();
    to.run(&["bundle", "import", "newer.json", "--json"]).expect_error(1, "bundle_newer");
}
