//! The web door of real boxes: what their programs reach, what they do not, and who learns of it (A81, sec/S28, sec/S29).

use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use warren_doors::{Environment, OsEntropy, SystemClock};
use warren_exchange::WebAccess;
use warren_model::{Status, WorkspaceId};
use warren_outbound::Resolver;
use warren_providers::{SandboxProvider, SandboxSettings};
use warren_testkit::Warren;

use crate::fleet::{create, events, eventually, show};

/// `host.example` and `evil.example` lead to this machine; whoever asks is noted.
#[derive(Debug, Default)]
struct Names(Mutex<Vec<String>>);

#[async_trait]
impl Resolver for Names {
    async fn look_up(&self, name: &str) -> std::io::Result<Vec<IpAddr>> {
        self.0.lock().unwrap().push(name.to_owned());
        Ok(vec!["127.0.0.1".parse().unwrap()])
    }
}

struct House {
    warren: Warren,
    names: Arc<Names>,
    /// Of a host on this machine, and what it was asked.
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
    _folder: TempDir,
}

async fn house() -> House {
    let folder = tempfile::tempdir().unwrap();
    let (clock, places) = (Arc::new(SystemClock), folder.path().join("sandbox"));
    let sandbox =
        SandboxProvider::new(&places, SandboxSettings::default(), Environment::default(), clock, &OsEntropy);
    let names = Arc::new(Names::default());
    let web_access =
        WebAccess { allow_private: vec!["127.0.0.0/8".parse().unwrap()], ..WebAccess::default() };
    let warren = Warren::builder()
        .provider(Arc::new(sandbox.expect("install the Debian package bubblewrap")))
        .resolver(Arc::clone(&names) as Arc<dyn Resolver>)
        .web_access(web_access)
        .start()
        .await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let heads = Arc::clone(&asked);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = vec![0; 4_096];
            let count = stream.read(&mut head).await.unwrap_or_default();
            heads.lock().unwrap().push(String::from_utf8_lossy(&head[..count]).into_owned());
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\nhello, box!\n").await;
        }
    });
    House { warren, names, port, asked, _folder: folder }
}

async fn boxed(warren: &Warren, network: Value) -> WorkspaceId {
    let doors = json!({ "network": network });
    let id =
        create(warren, &json!({ "name": "boxed", "provider": { "kind": "sandbox" }, "doors": doors })).await;
    warren.wait_for_status(id, Status::Online).await;
    id
}

async fn out(warren: &Warren, id: WorkspaceId, script: &str) -> String {
    let body = json!({ "argv": ["/bin/bash", "-c", script] });
    let ran = warren.post(&format!("/api/v1/workspaces/{id}/exec"), &body).await;
    assert_eq!(ran.status, 200, "{}", ran.text());
    ran.json()["stdout"].as_str().unwrap().trim().to_owned()
}

/// A request of a program that knows of no proxy but the one in its variables.
fn get(host: &str, port: u16) -> String {
    format!(
        "at=${{HTTP_PROXY#http://}}; exec 3<>/dev/tcp/${{at%:*}}/${{at#*:}} || exit 1; \
         printf 'GET http://{host}:{port}/ HTTP/1.1\\r\\nHost: {host}:{port}\\r\\n\\r\\n' >&3; cat <&3"
    )
}

// A81, sec/S28; the controls are in the test
#[tokio::test]
async fn a_program_in_a_box_reaches_what_its_workspace_names_and_nothing_else() {
    let house = house().await;
    let (warren, port) = (&house.warren, house.port);
    let id = boxed(
        warren,
        json!({ "allow": [{ "host": "host.example", "port": port, "scheme": "http" }, "pypi"] }),
    )
    .await;
    assert_eq!(
        out(warren, id, "echo $HTTPS_PROXY $http_proxy").await,
        "http://127.0.0.1:7703 http://127.0.0.1:7703"
    );
    let answer = out(warren, id, &get("host.example", port)).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("hello, box!"), "{answer}");
    let refused = out(warren, id, &get("evil.example", port)).await;
    assert!(refused.starts_with("HTTP/1.1 403 Warren: evil.example:"), "{refused}");
    // Around the door there is nothing: not the host itself, and no name server.
    for around in [
        format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached"),
        format!("exec 3<>/dev/tcp/host.example/{port} && echo reached"),
        "exec 3<>/dev/udp/127.0.0.53/53 && printf x >&3 && read -t 1 -n 1 <&3 && echo reached".to_owned(),
        "getent hosts host.example && echo reached".to_owned(),
    ] {
        assert_eq!(out(warren, id, &format!("({around}) 2>/dev/null; true")).await, "", "{around}");
    }
    assert_eq!(house.asked.lock().unwrap().len(), 1);
    assert_eq!(
        *house.names.0.lock().unwrap(),
        ["host.example"],
        "only Warren asks, and only for what is granted"
    );
    eventually("it is told", async || {
        let told = events(warren, Some(id)).await;
        let used = told.iter().find(|event| event["kind"] == "workspace.network.used");
        let refused = told.iter().find(|event| event["kind"] == "workspace.tool.refused");
        used.is_some_and(|event| {
            event["data"]["host"] == "host.example" && event["data"]["received_bytes"] == 12
        }) && refused.is_some_and(|event| event["data"]["kind"] == "network")
    })
    .await;
    // What is taken back is over with the next connection.
    let doors = json!({ "doors": { "network": "none" } });
    let path = format!("/api/v1/workspaces/{id}");
    let patched = warren.call("PATCH", &path).token(&warren.token).json(&doors).send().await;
    assert_eq!(patched.status, 200, "{}", patched.text());
    let answer =
        out(warren, id, &format!("HTTP_PROXY=http://127.0.0.1:7703; {}", get("host.example", port))).await;
    assert!(!answer.contains("hello"), "{answer}");
    assert_eq!(house.asked.lock().unwrap().len(), 1);
}

// A81, X51
#[tokio::test]
async fn a_program_in_a_box_waits_until_a_person_agrees() {
    let house = house().await;
    let (warren, port) = (&house.warren, house.port);
    let id = boxed(warren, json!({ "ask": true })).await;
    let (answer, ()) = tokio::join!(async { out(warren, id, &get("host.example", port)).await }, async {
        let mut found = Value::Null;
        eventually("the question is there", async || {
            found = warren.get("/api/v1/approvals?state=pending").await.json()["items"][0].clone();
            !found.is_null()
        })
        .await;
        assert_eq!(found["action"], format!("reach http://host.example:{port}"));
        assert!(house.asked.lock().unwrap().is_empty());
        let path = format!("/api/v1/approvals/{}/approve", found["id"].as_str().unwrap());
        let decided = warren.post(&path, &json!({})).await;
        assert_eq!(decided.status, 200, "{}", decided.text());
    });
    assert!(answer.ends_with("hello, box!"), "{answer}");
}

// A81: bad input is told with its place
#[tokio::test]
async fn a_network_policy_that_cannot_be_held_is_refused_with_its_place() {
    let house = house().await;
    let warren = &house.warren;
    let make = async |provider: &str, network: Value| {
        let body = json!({ "name": "x", "provider": { "kind": provider }, "doors": { "network": network } });
        warren.post("/api/v1/workspaces", &body).await
    };
    for (network, place) in [
        (json!("all"), "doors.network: "),
        (json!({ "allow": ["pipy"] }), "doors.network.allow[0]: "),
        (json!({ "allow": ["pypi", { "host": "a.example", "path": "/" }] }), "doors.network.allow[1].path: "),
        (json!({ "allow": ["127.0.0.1"] }), "doors.network.allow[0].host: "),
        (
            json!({ "allow": [{ "host": "a.example", "methods": ["GET"] }] }),
            "doors.network.allow[0].methods: ",
        ),
        (json!({ "allow": ["a.example:25"] }), "doors.network.allow[0].port: "),
    ] {
        let refused = make("sandbox", network.clone()).await;
        assert_eq!(refused.status, 400, "{network}: {}", refused.text());
        let detail = refused.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.starts_with(place), "{network}: {detail}");
    }
    let refused = make("memory", json!({ "allow": ["pypi"] })).await;
    assert!(refused.text().contains("only a box has doors"), "{}", refused.text());
    let id = boxed(
        warren,
        json!({ "allow": ["pypi", { "host": "a.example", "scheme": "secured", "paths": ["/x/"] }] }),
    )
    .await;
    let shown = show(warren, id).await["doors"]["network"].clone();
    let expected = json!({ "allow": ["pypi", { "host": "a.example", "scheme": "secured", "paths": ["/x/"] }], "ask": false });
    assert_eq!(shown, expected);
    assert_eq!(
        out(warren, id, "echo $GIT_CONFIG_COUNT $GIT_CONFIG_KEY_0 $GIT_CONFIG_VALUE_0").await,
        "1 url.http://a.example/.insteadOf https://a.example/"
    );
}
