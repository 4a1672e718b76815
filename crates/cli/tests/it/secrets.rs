//! `warren secret`, and where the key comes from (F32).

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::pty::Pty;
use crate::warren::{Ended, Machine, ended};

fn configure(machine: &Machine, text: &str) {
    std::fs::create_dir_all(machine.data()).unwrap();
    std::fs::write(machine.data().join("warren.toml"), text).unwrap();
}

fn set(machine: &Machine, arguments: &[&str], value: &str) -> Ended {
    machine.run_with_input(&[&["secret", "set"], arguments].concat(), value.as_bytes())
}

/// Runs a script in the workspace `demo` and answers with what it wrote to a file, which is not masked.
fn written_by(machine: &Machine, script: &str) -> String {
    let script = format!("({script}) > out");
    machine.run(&["ws", "exec", "demo", "--", "sh", "-c", &script]).expect_ok();
    machine.run(&["ws", "files", "cat", "demo", "out"]).expect_ok().text()
}

// F32
#[test]
fn a_secret_is_set_from_standard_input_listed_by_name_and_removed() {
    let machine = Machine::new();
    let _server = machine.start();
    machine.run(&["ws", "create", "demo"]).expect_ok();
    let told = set(&machine, &["API_KEY"], "of the org\n").expect_ok();
    assert!(told.stderr.starts_with("API_KEY is set (version 1, sealed under k"), "{told:?}");
    assert!(told.stdout.is_empty());
    set(&machine, &["API_KEY", "--workspace", "demo"], "two\nlines\r\n").expect_ok();
    assert_eq!(written_by(&machine, "printf %s \"$API_KEY\""), "two\nlines");
    let listed = machine.run(&["secret", "ls", "--json"]).expect_ok().json();
    assert_eq!((&listed[0]["name"], &listed[0]["owner"]), (&json!("API_KEY"), &json!("org")));
    let table = machine.run(&["secret", "ls", "--workspace", "demo"]).expect_ok().text();
    assert!(table.contains("API_KEY") && table.contains("workspace"), "{table}");
    let rotated = machine.run(&["secret", "rotate-key", "--json"]).expect_ok().json();
    assert_eq!((&rotated["resealed"], &rotated["is_new_key"]), (&json!(2), &json!(true)));
    machine.run(&["secret", "rm", "API_KEY", "--workspace", "demo"]).expect_ok();
    assert_eq!(written_by(&machine, "printf %s \"$API_KEY\""), "of the org");
    machine.run(&["secret", "rm", "NONE", "--json"]).expect_error(3, "secret_not_found");
}

// F32
#[test]
fn a_value_is_never_taken_from_the_command_line_and_none_is_an_error() {
    let machine = Machine::new();
    let _server = machine.start();
    let told = machine.run(&["secret", "set", "API_KEY=hunter2", "--json"]);
    told.expect_error(2, "invalid_usage");
    assert!(!told.stderr.contains("hunter2"), "{told:?}");
    assert_eq!(machine.run(&["secret", "set", "API_KEY", "hunter2"]).code, Some(2));
    set(&machine, &["API_KEY", "--json"], "\n").expect_error(1, "invalid_secret");
    set(&machine, &["PATH", "--json"], "x").expect_error(1, "invalid_secret");
    assert_eq!(machine.run(&["secret", "ls", "--json"]).expect_ok().json(), json!([]));
}

// F32
#[test]
fn at_a_terminal_the_value_is_asked_for_and_not_shown() {
    let machine = Machine::new();
    let _server = machine.start();
    machine.run(&["ws", "create", "demo"]).expect_ok();
    let mut terminal = Pty::spawn(&machine.command(&["secret", "set", "API_KEY"]), 24, 80);
    terminal.see("Value of API_KEY (not shown): ");
    terminal.type_in("hunterr\u{7f}2-hunter2\r");
    terminal.see("API_KEY is set");
    assert_eq!(terminal.wait(), Some(0));
    assert!(!terminal.screen().contains("hunter"), "{}", terminal.screen());
    assert_eq!(written_by(&machine, "printf %s \"$API_KEY\""), "hunter2-hunter2");
}

fn assert_clean(folder: &Path, values: &[&str]) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            assert_clean(&path, values);
        } else if path.file_name().unwrap() != "secrets.key" {
            // As text, whose search is fast in a debug build too; what is looked for is ASCII and survives it.
            let bytes = std::fs::read(&path).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            for value in values {
                let hex: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
                for form in [(*value).to_owned(), STANDARD.encode(value), hex] {
                    assert!(!text.contains(&form), "{} holds a planted value", path.display());
                }
            }
        }
    }
}

// F32, sec/U02: the server logs all it can, and everything the commands print is kept
#[test]
fn a_planted_value_is_in_no_output_log_or_file() {
    const VALUES: [&str; 4] =
        ["canary-one-4f9d2c", "canary-two-8b1e77", "canary-three-0a6c3e", "canary-four-77d0f1"];
    let machine = Machine::new();
    configure(&machine, "[log]\nfilter = \"trace\"\n");
    let server = machine.start();
    machine.run(&["ws", "create", "demo"]).expect_ok();
    let mut said = vec![
        set(&machine, &["GLOBAL"], VALUES[0]),
        set(&machine, &["OWN", "--workspace", "demo", "--json"], VALUES[1]),
        set(&machine, &["PATH", "--json"], VALUES[2]),
        set(&machine, &["LARGE", "--json"], &VALUES[3].repeat(5_000)),
    ];
    for arguments in [
        &["ws", "exec", "demo", "--", "sh", "-c", "echo $GLOBAL; echo $OWN | base64 >&2"][..],
        &["ws", "exec", "demo", "--", "sh", "-c", "exec \"$OWN\""],
        &["ws", "start", "demo", "--", "sh", "-c", "echo $GLOBAL"],
        &["secret", "ls", "--json"],
        &["secret", "rotate-key"],
        &["events", "--json"],
        &["audit", "ls"],
        &["audit", "ls", "--json"],
        &["config", "show"],
        &["doctor"],
    ] {
        said.push(machine.run(arguments));
    }
    let printed = machine.path().join("said.txt");
    std::fs::write(&printed, format!("{}{said:?}", said.iter().map(Ended::text).collect::<String>()))
        .unwrap();
    assert!(std::fs::read_to_string(machine.path().join("server.log")).unwrap().contains("DEBUG"));
    // While it runs, with the database's log beside it, and after it was closed.
    assert_clean(machine.path(), &VALUES);
    server.signal(rustix::process::Signal::TERM);
    assert_eq!(server.wait(), Some(0));
    assert_clean(machine.path(), &VALUES);
}

// F32
#[test]
fn keys_come_from_a_file_a_variable_or_a_command_and_a_bad_one_stops_the_start() {
    let machine = Machine::new();
    let refused = |config: &str, expected: &str| {
        configure(&machine, config);
        let told = machine.run(&["up", "--listen", "127.0.0.1:0", "--json"]);
        let error = told.expect_error(1, "secret_key_unusable");
        assert!(error["causes"][0].as_str().unwrap().contains(expected), "{error}");
    };
    let key = machine.path().join("my.key");
    refused(&format!("[secrets]\nkey_file = {key:?}\n"), "cannot be read");
    std::fs::write(&key, STANDARD.encode([1; 32])).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    refused(&format!("[secrets]\nkey_file = {key:?}\n"), "chmod 600");
    refused("[secrets]\nkey_env = \"MY_KEY\"\n", "the variable MY_KEY: is not set");
    refused("[secrets]\nkey_command = [\"/nonexistent\"]\n", "cannot be run");
    refused("[secrets]\nkey_command = [\"false\"]\n", "failed with exit status: 1");
    refused("[secrets]\nkey_command = [\"echo\", \"hunter2\"]\n", "key 1 is not 32 bytes");
    configure(&machine, "[secrets]\nkey_env = \"A\"\nkey_command = [\"b\"]\n");
    let told = machine.run(&["config", "check", "--json"]);
    let error = told.expect_error(1, "config_invalid");
    assert!(error["causes"][0].as_str().unwrap().contains("set only one of"), "{error}");

    // The same key from each of the three opens what the others sealed.
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    configure(&machine, &format!("[secrets]\nkey_file = {key:?}\n"));
    let server = machine.start();
    machine.run(&["ws", "create", "demo"]).expect_ok();
    set(&machine, &["API_KEY"], "value").expect_ok();
    server.kill();
    configure(&machine, &format!("[secrets]\nkey_command = [\"cat\", {key:?}]\n"));
    let server = machine.start();
    assert_eq!(written_by(&machine, "printf %s \"$API_KEY\""), "value");
    let rotated = machine.run(&["secret", "rotate-key"]).expect_ok();
    assert!(rotated.stderr.contains("not Warren's to write"), "{rotated:?}");
    server.kill();
    assert!(!machine.data().join("secrets.key").exists(), "no key is made that is not needed");
}

// F32: a workspace may ask for variables of the host by name, but not for the key
#[test]
fn the_variable_with_the_key_is_not_passed_to_workspaces() {
    let machine = Machine::new();
    configure(&machine, "[secrets]\nkey_env = \"MY_KEY\"\n");
    let log = std::fs::File::create(machine.path().join("server.log")).unwrap();
    let mut command = machine.command(&["up", "--listen", "127.0.0.1:0", "--json"]);
    command.env("MY_KEY", STANDARD.encode([1; 32])).env("OTHER", "passed").stderr(log);
    command.stdout(std::process::Stdio::piped());
    let mut server = command.spawn().unwrap();
    let mut line = String::new();
    let mut stdout = std::io::BufReader::new(server.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut stdout, &mut line).unwrap();
    let config = r#"{"pass_env": ["MY_KEY", "OTHER"]}"#;
    machine.run(&["ws", "create", "demo", "--provider", "local", "--provider-config", config]).expect_ok();
    let seen = machine.run(&["ws", "exec", "demo", "--", "env"]).expect_ok().text();
    assert!(seen.contains("OTHER=passed") && !seen.contains("MY_KEY"), "{seen}");
    server.kill().unwrap();
    server.wait().unwrap();
}

// F32: rotation where the keys are not Warren's to write: the new one in front, and a restart
#[test]
fn a_new_key_in_front_of_the_old_seals_everything_anew_at_the_next_start() {
    let machine = Machine::new();
    let key = machine.path().join("my.key");
    let write = |text: String| {
        std::fs::write(&key, text).unwrap();
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    };
    configure(&machine, &format!("[secrets]\nkey_command = [\"cat\", {key:?}]\n"));
    let (old, new) = (STANDARD.encode([1; 32]), STANDARD.encode([2; 32]));
    write(old.clone());
    let server = machine.start();
    machine.run(&["ws", "create", "demo"]).expect_ok();
    set(&machine, &["API_KEY"], "value").expect_ok();
    let before = machine.run(&["secret", "ls", "--json"]).expect_ok().json()[0]["key_id"].clone();
    server.kill();
    write(format!("{new} {old}"));
    let server = machine.start();
    crate::warren::wait_until("the secret is under the new key", || {
        machine.run(&["secret", "ls", "--json"]).expect_ok().json()[0]["key_id"] != before
    });
    server.kill();
    write(new);
    let _server = machine.start();
    assert_eq!(written_by(&machine, "printf %s \"$API_KEY\""), "value");
    assert_eq!(ended(machine.command(&["audit", "verify"])).expect_ok().code, Some(0));
}
