//! A sign-in provider in the config, as whoever sets one up meets it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;

use serde_json::{Value, json};

use crate::warren::{Machine, ended};

fn with_file(text: &str) -> Machine {
    let machine = Machine::new();
    std::fs::create_dir_all(machine.data()).unwrap();
    std::fs::write(machine.data().join("warren.toml"), text).unwrap();
    machine
}

/// A provider's two documents, for as long as the test runs.
fn documents() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let issuer = format!("http://{}", listener.local_addr().unwrap());
    let url = issuer.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let first = lines.next().unwrap().unwrap();
            let _ = lines.take_while(|line| line.as_ref().is_ok_and(|line| !line.is_empty())).count();
            let body = if first.contains("/.well-known/openid-configuration") {
                json!({
                    "issuer": url, "authorization_endpoint": format!("{url}/auth"),
                    "token_endpoint": format!("{url}/token"), "jwks_uri": format!("{url}/jwks"),
                })
            } else {
                let x = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU";
                let y = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0";
                json!({ "keys": [{ "kty": "EC", "crv": "P-256", "x": x, "y": y, "kid": "1" }] })
            };
            let body = body.to_string();
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
            write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len()).unwrap();
        }
    });
    issuer
}

fn row(machine: &Machine) -> Value {
    let mut command = machine.command(&["doctor", "--json"]);
    command.env("OIDC_CLIENT_SECRET", "s3cret");
    let document = ended(command).expect_ok().json();
    let checks = document["checks"].as_array().unwrap();
    checks.iter().find(|check| check["name"] == "sign-in provider").cloned().unwrap_or_default()
}

// F38, O1, S50
#[test]
fn half_a_provider_does_not_start_and_doctor_looks_at_a_whole_one() {
    let machine = with_file("[sign_in.provider]\nissuer = \"https://login.example.com\"\n");
    for arguments in [&["up", "--json"][..], &["config", "check", "--json"]] {
        let error = machine.run(arguments).expect_error(1, "config_invalid");
        let causes = error["causes"].to_string();
        for key in ["sign_in.provider.client_id", "sign_in.provider.client_secret_env"] {
            assert!(causes.contains(key), "{key}: {causes}");
        }
    }
    assert_eq!(row(&Machine::new()), Value::Null, "none is configured, none is looked at");

    let issuer = documents();
    let whole = |issuer: &str| {
        format!(
            "[sign_in.provider]\nissuer = \"{issuer}\"\nclient_id = \"warren\"\n\
             client_secret_env = \"OIDC_CLIENT_SECRET\"\n"
        )
    };
    let opened = "[outbound]\nallow_private = [\"127.0.0.0/8\"]\n";
    let machine = with_file(&format!("{opened}{}", whole(&issuer)));
    let error = machine.run(&["up", "--listen", "127.0.0.1:0", "--json"]).expect_error(1, "config_invalid");
    assert!(error["causes"].to_string().contains("the variable OIDC_CLIENT_SECRET is not set"), "{error}");
    let found = row(&machine);
    assert_eq!(found["state"], "ok", "{found}");
    assert!(found["finding"].as_str().unwrap().ends_with("answers, with 1 keys"), "{found}");

    for (config, remedy) in [
        (whole(&issuer), "outbound.allow_private"),
        (format!("{opened}{}", whole(&format!("{issuer}/"))), "a slash at the end counts"),
        (format!("{opened}{}", whole("http://127.0.0.1:1")), "can be reached"),
    ] {
        let found = row(&with_file(&config));
        assert_eq!(found["state"], "warn", "{found}");
        assert!(found["remedy"].as_str().unwrap().contains(remedy), "{found}");
        assert!(!found.to_string().contains("s3cret"), "{found}");
    }
}
