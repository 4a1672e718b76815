use crate::warren::Machine;

// O1
#[test]
fn doctor_names_a_state_for_each_check_and_a_remedy_where_it_is_not_good() {
    let machine = Machine::new();
    let ended = machine.run(&["doctor", "--json"]).expect_ok();
    let document = ended.json();
    let checks = document["checks"].as_array().unwrap();
    let named: Vec<&str> = checks.iter().map(|check| check["name"].as_str().unwrap()).collect();
    for name in [
        "kernel",
        "openat2",
        "user namespaces",
        "bubblewrap",
        "cgroups",
        "seccomp",
        "landlock",
        "docker",
        "clock",
        "folder",
        "disk space",
        "config",
        "server",
        "database",
        "provider local",
    ] {
        assert!(named.contains(&name), "{name}: {named:?}");
    }
    for check in checks {
        let is_good = check["state"] == "ok";
        assert_eq!(is_good, check.get("remedy").is_none(), "{check}");
    }
    assert!(!machine.data().exists(), "looking changes nothing");
}

// O1
#[test]
fn doctor_sees_the_running_server_and_its_database() {
    let machine = Machine::new();
    let server = machine.start();
    let find = |name: &str| {
        let document = machine.run(&["doctor", "--json"]).expect_ok().json();
        let checks = document["checks"].as_array().unwrap();
        checks.iter().find(|check| check["name"] == name).unwrap()["finding"].as_str().unwrap().to_owned()
    };
    assert!(find("server").contains("answers, version"), "{}", find("server"));
    assert!(find("database").contains("synchronous=FULL"), "{}", find("database"));
    server.kill();
    assert!(find("database").contains("schema"), "{}", find("database"));
}

// O1
#[test]
fn doctor_fails_for_what_stops_warren_from_working() {
    let machine = Machine::new();
    let file = machine.path().join("file");
    std::fs::write(&file, "").unwrap();
    assert_eq!(machine.run(&["doctor", "--data", file.to_str().unwrap()]).code, Some(1));
    let named = machine.run(&["doctor", "--url", "http://127.0.0.1:9"]);
    assert_eq!(named.code, Some(1), "a server that was named must answer: {named:?}");
}
