//! `warren image`, and where images are pulled from (W74, F52).

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use serde_json::json;

use crate::cut_commands::docker_daemon;
use crate::warren::{Ended, Machine};

/// A registry that has no image, and tells that only to who signs in. Returns its address, and what it was told.
fn private_registry() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let heard = Arc::clone(&told);
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let lines = BufReader::new(client.try_clone().unwrap()).lines().map_while(Result::ok);
            let lines: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            let said = lines.iter().find(|line| line.to_ascii_lowercase().starts_with("authorization:"));
            heard.lock().unwrap().push(said.cloned().unwrap_or_default());
            let status = if said.is_some() { "404 Not Found" } else { "401 Unauthorized" };
            let body = r#"{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}"#;
            let _ = write!(
                client,
                "HTTP/1.1 {status}\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Type: application/json\r\n\
                 Docker-Distribution-Api-Version: registry/2.0\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            );
        }
    });
    (address, told)
}

fn create(machine: &Machine, name: &str, image: &str) -> Ended {
    let config = json!({ "image": image }).to_string();
    machine.run(&["ws", "create", name, "--provider", "docker", "--provider-config", &config])
}

// W74, F52, sec/A11
#[test]
fn images_are_pulled_from_listed_registries_and_with_their_own_login() {
    let (host, daemon) = docker_daemon();
    let (registry, told) = private_registry();
    let machine = Machine::new();
    std::fs::create_dir_all(machine.data()).unwrap();
    // The last one is listed, and what it names is shut by the rules for all calls.
    let config = format!("[docker]\nhost = {host:?}\nregistries = [\"127.0.0.1:*\", \"169.254.169.254\"]\n");
    std::fs::write(machine.data().join("warren.toml"), config).unwrap();
    let server = machine.start();
    for (name, image, reason) in [
        ("unlisted", "registry.example.net/x/y:1", "it is not in `docker.registries`"),
        ("metadata", "169.254.169.254/x/y:1", "points to the address of a metadata service"),
    ] {
        let refused = create(&machine, name, image);
        assert!(refused.code != Some(0) && refused.stderr.contains(reason), "{refused:?}");
    }
    let image = format!("{registry}/x/y:1");
    let refused = create(&machine, "stranger", &image);
    assert!(refused.stderr.contains("Warren has no login there"), "{refused:?}");
    assert!(told.lock().unwrap().iter().all(String::is_empty), "{told:?}");
    // By standard input, and never shown.
    let login = ["image", "login", &registry, "--username", "ci"];
    let set = machine.run_with_input(&login, b"open sesame\n").expect_ok();
    assert!(set.stderr.contains(&registry) && !set.stderr.contains("sesame"), "{set:?}");
    let listed = machine.run(&["image", "logins", "--json"]).expect_ok();
    assert_eq!(
        (&listed.json()[0]["registry"], &listed.json()[0]["username"]),
        (&json!(registry), &json!("ci"))
    );
    assert!(!listed.text().contains("sesame"));
    let missing = create(&machine, "known", &image);
    assert!(missing.stderr.contains("no registry gives out the image"), "{missing:?}");
    let basic = "Basic Y2k6b3BlbiBzZXNhbWU=";
    assert!(told.lock().unwrap().iter().any(|told| told.ends_with(basic)), "{told:?}");
    machine.run(&["image", "logout", &registry]).expect_ok();
    machine.run(&["image", "logout", &registry, "--json"]).expect_error(3, "image_login_not_found");
    let nothing = [&login[..], &["--json"]].concat();
    machine.run_with_input(&nothing, b"\n").expect_error(1, "invalid_secret");
    server.kill();
    for file in std::fs::read_dir(machine.data()).unwrap().flatten().filter(|file| file.path().is_file()) {
        let bytes = std::fs::read(file.path()).unwrap();
        assert!(memchr::memmem::find(&bytes, b"open sesame").is_none(), "{:?}", file.path());
    }
    if let Some(mut daemon) = daemon {
        drop(daemon.stdin.take());
        let _ = daemon.wait();
    }
}
