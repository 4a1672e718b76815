//! A secret that a command prints is masked, whatever way the output takes (sec/T10).

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use warren_model::WorkspaceId;
use warren_testkit::Warren;

use crate::fleet::{beat, reporting, show};
use crate::local;

const SECRET: &str = "s3cr3t/canary+value%with&odd=parts";

/// Prints the value in every form, in a script that does not hold it.
const PRINT: &str = "printf 'raw %s\\n' \"$CANARY\"
    printf 'base64 '; printf %s \"$CANARY\" | base64 -w0; echo
    printf 'basic '; printf 'user:%s' \"$CANARY\" | base64 -w0; echo
    printf 'hex '; printf %s \"$CANARY\" | od -An -v -tx1 | tr -d ' \\n'; echo
    printf 'url '; printf %s \"$CANARY\" | sed 's/%/%25/g; s,/,%2F,g; s/+/%2B/g; s/&/%26/g; s/=/%3D/g'; echo
    printf 'error %s\\n' \"$CANARY\" >&2
    printf 'pieces '; printf %.10s \"$CANARY\"; sleep 0.05; printf %s \"$CANARY\" | cut -c11-; echo end";

async fn place(with_secret: bool) -> (Warren, WorkspaceId) {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    if with_secret {
        let set = warren.call("PUT", "/api/v1/secrets/CANARY").token(&warren.token);
        assert_eq!(set.json(&json!({ "value": SECRET })).send().await.status, 201);
    }
    (warren, id)
}

/// What an attacker would look for: any twelve bytes of the value in a row, in any form.
fn leaks(output: &str) -> bool {
    use base64::Engine as _;
    let parts: Vec<&[u8]> = SECRET.as_bytes().windows(12).collect();
    let hex = |part: &[u8]| part.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let url = |part: &[u8]| {
        let plain = |byte: &u8| byte.is_ascii_alphanumeric();
        part.iter()
            .map(|byte| if plain(byte) { char::from(*byte).into() } else { format!("%{byte:02X}") })
            .collect::<String>()
    };
    let base64 = |part: &[u8]| {
        let text = base64::engine::general_purpose::STANDARD_NO_PAD.encode(part);
        text[..text.len() - 1].to_owned()
    };
    let raw = |part: &[u8]| String::from_utf8(part.to_vec()).unwrap();
    parts.iter().any(|part| {
        [raw(part), hex(part), url(part), base64(part)].iter().any(|form| output.contains(form.as_str()))
    })
}

fn assert_masked(output: &str) {
    assert!(!leaks(output), "{output}");
    assert!(output.contains("raw ****") && output.contains("hex ****"), "the rest is there: {output}");
}

fn decoded(frames: &str) -> String {
    use base64::Engine as _;
    let mut output = Vec::new();
    for line in frames.lines().filter_map(|line| line.strip_prefix("data:")) {
        let frame: Value = serde_json::from_str(line.trim()).unwrap();
        // The two outputs of a command come in an order of their own.
        if let (Some(text), true) = (frame["base64"].as_str(), frame["type"] != "stderr") {
            output.extend(base64::engine::general_purpose::STANDARD.decode(text).unwrap());
        }
    }
    String::from_utf8(output).unwrap()
}

// sec/T10
#[tokio::test]
async fn a_printed_secret_is_masked_in_the_answer_of_a_command_and_of_a_tool() {
    let (warren, id) = place(true).await;
    let base = format!("/api/v1/workspaces/{id}");
    let answer = warren.post(&format!("{base}/exec"), &json!({ "command": PRINT })).await;
    assert!(!leaks(&answer.text()));
    assert_masked(answer.json()["stdout"].as_str().unwrap());
    assert!(answer.json()["stderr"].as_str().unwrap().starts_with("error ***"));
    let tool = warren.workspace(json!({ "kind": "local", "run": { "allow_unrestrained": ["sh"] } })).await;
    let body = json!({ "argv": ["sh", "-c", PRINT] });
    let answer = warren.post(&format!("/api/v1/workspaces/{tool}/tools/workspace_run"), &body).await.json();
    assert_masked(answer["result"]["stdout"].as_str().unwrap_or_else(|| panic!("{answer}")));
}

// control: sec/T10
#[tokio::test]
async fn a_value_that_warren_does_not_know_is_shown_as_it_is_printed() {
    let (warren, id) = place(false).await;
    let body = json!({ "command": PRINT, "env": { "CANARY": SECRET } });
    let answer = warren.post(&format!("/api/v1/workspaces/{id}/exec"), &body).await.json();
    let output = answer["stdout"].as_str().unwrap();
    assert!(leaks(output) && output.contains(SECRET));
    for line in output.lines().filter(|line| !line.starts_with("pieces") && !line.starts_with("end")) {
        assert!(leaks(line), "{line}");
    }
}

// sec/T10
#[tokio::test]
async fn a_printed_secret_is_masked_in_streams() {
    let (warren, id) = place(true).await;
    let base = format!("/api/v1/workspaces/{id}");
    let call = warren.call("POST", &format!("{base}/exec")).token(&warren.token);
    let stream = call.header("accept", "text/event-stream").json(&json!({ "command": PRINT })).send().await;
    assert!(!leaks(&stream.text()));
    assert_masked(&decoded(&stream.text()));
    let output = decoded(&stream.text());
    assert!(output.contains("pieces ****"), "also where it is printed in two pieces: {output}");

    let started = warren.post(&format!("{base}/processes"), &json!({ "command": PRINT })).await.json();
    let output = format!("{base}/processes/{}/output", started["id"]);
    let call = warren.call("GET", &output).token(&warren.token).header("accept", "text/event-stream");
    let stream = call.send().await;
    assert_masked(&decoded(&stream.text()));
    // And byte by byte, as a reader who wants to outwit it would.
    let mut shown = String::new();
    loop {
        let piece = warren.get(&format!("{output}?offset={}&max_bytes=7", shown.len())).await.json();
        match piece["output"].as_str().unwrap() {
            "" => break,
            text => shown.push_str(text),
        }
    }
    assert!(!shown.contains(&SECRET[SECRET.len() / 2..]), "{shown}");
}

// sec/T10
#[tokio::test]
async fn a_printed_secret_is_masked_on_a_terminal() {
    let (warren, id) = place(true).await;
    use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
    let command: String = PRINT.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let url = format!("ws://{}/api/v1/workspaces/{id}/terminal?command={command}", warren.address);
    let mut request = url.as_str().into_client_request().unwrap();
    request.headers_mut().insert("authorization", format!("Bearer {}", warren.token).parse().unwrap());
    let (mut socket, _) = tokio_tungstenite::connect_async(request).await.unwrap();
    let mut output = Vec::new();
    while let Some(Ok(message)) = socket.next().await {
        if message.is_binary() {
            output.extend_from_slice(&message.into_data());
        }
        if output.windows(3).any(|window| window == b"end") {
            break;
        }
    }
    assert_masked(&String::from_utf8_lossy(&output));
}

// F32: sec/T10
#[tokio::test]
async fn a_secret_in_the_report_of_a_runtime_is_masked_before_it_is_kept() {
    let warren = Warren::start().await;
    let (id, runtime) = reporting(&warren).await;
    let set = warren.call("PUT", &format!("/api/v1/workspaces/{id}/secrets/CANARY")).token(&warren.token);
    assert_eq!(set.json(&json!({ "value": SECRET })).send().await.status, 201);
    let said = json!({
        "sample_error": format!("401 for {SECRET}"), "current_task": SECRET, "runtime_state": SECRET, "uptime_s": 7,
    });
    let answer = beat(&warren, &runtime, &said).await;
    let shown = show(&warren, id).await;
    assert!(!leaks(&answer.to_string()) && !leaks(&shown.to_string()), "{shown}");
    let stars = "*".repeat(SECRET.len());
    assert_eq!(shown["vitals"]["sample_error"], format!("401 for {stars}"));
    for file in ["warren.db", "warren.db-wal"] {
        let bytes = std::fs::read(warren.folder().join(file)).unwrap_or_default();
        assert!(!bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes()), "{file}");
    }

    // Where it is not known what to look for, words are left out, and the report counts.
    let database = rusqlite::Connection::open(warren.folder().join("warren.db")).unwrap();
    database.busy_timeout(std::time::Duration::from_secs(20)).unwrap();
    assert_eq!(database.execute("UPDATE secrets SET updated_by = 'moon:1'", []).unwrap(), 1);
    beat(&warren, &runtime, &json!({ "sample_error": format!("403 for {SECRET}"), "uptime_s": 8 })).await;
    let vitals = show(&warren, id).await["vitals"].clone();
    assert_eq!(
        (&vitals["sample_error"], &vitals["uptime_s"]),
        (&json!(format!("401 for {stars}")), &json!(8))
    );
}
