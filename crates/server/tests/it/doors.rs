//! The doors of real boxes: what programs in there reach through Warren, and what they do not (A81).

use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use warren_doors::{Environment, OsEntropy, SystemClock};
use warren_llm::server::{ServerOptions, serve};
use warren_llm::{ProviderSettings, Script, Wire};
use warren_model::{Status, WorkspaceId};
use warren_providers::{DockerProvider, DockerSettings, SandboxProvider, SandboxSettings};
use warren_testkit::Warren;
use warren_workspace::Provider;

use crate::fleet::{create, events, eventually, show};
use crate::residents::{answer_of, docker_daemon, say};

/// What Warren holds and no box ever may.
const CANARY: &str = "sk-canary-9d1e77a0-canary";
const SCRIPT: &str = r#"
turns:
  - when: { user_contains: slowly }
    text: "one two three four five six seven eight nine ten eleven twelve"
    chunk_characters: 4
    delay_ms: 400
  - when: { user_contains: hello }
    text: "hello out of the model"
    usage: { input_tokens: 1000, output_tokens: 100 }
otherwise: { text: "what?" }
"#;
/// One request out of the box, as the words of a shell: the head and the body as they are, and whatever comes back.
const ASK: &str = r#"
ask() { # PORT METHOD PATH HEADERS BODY
  exec 3<>/dev/tcp/127.0.0.1/$1 || return 1
  printf '%s %s HTTP/1.1\r\nhost: x\r\nconnection: close\r\n%bcontent-length: %d\r\n\r\n%s' "$2" "$3" "$4" "${#5}" "$5" >&3
  cat <&3
}
"#;
const VERSION: &str = r"anthropic-version: 2023-06-01\r\n";

/// A Warren with real sandboxes, and a provider of models on this machine that takes one key.
struct House {
    warren: Warren,
    _folder: TempDir,
    model_server: tokio::task::JoinHandle<()>,
    model_url: String,
}

impl Drop for House {
    fn drop(&mut self) {
        self.model_server.abort();
    }
}

async fn house() -> House {
    let folder = tempfile::tempdir().unwrap();
    let sandbox = SandboxProvider::new(
        &folder.path().join("sandbox"),
        SandboxSettings::default(),
        Environment::default(),
        Arc::new(SystemClock),
        &OsEntropy,
    );
    house_with(folder, Arc::new(sandbox.unwrap())).await
}

async fn house_with(folder: TempDir, provider: Arc<dyn Provider>) -> House {
    provider.availability().await.expect("install the Debian package bubblewrap");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let model_url = format!("http://{}/v1", listener.local_addr().unwrap());
    let options = ServerOptions { key: Some(CANARY.to_owned()) };
    let model_server = tokio::spawn(async move {
        serve(listener, Script::read(SCRIPT).unwrap(), options).await.unwrap();
    });
    let settings = ProviderSettings::new(Wire::Anthropic, model_url.clone(), Some("ANTHROPIC_API_KEY"));
    let warren = Warren::builder()
        .provider(provider)
        .reaches_loopback()
        .model_provider("anthropic", settings)
        .script("doors", Script::read(SCRIPT).unwrap())
        .start()
        .await;
    let set = warren.call("PUT", "/api/v1/secrets/ANTHROPIC_API_KEY").token(&warren.token);
    let set = set.json(&json!({ "value": CANARY })).send().await;
    assert!(matches!(set.status, 200 | 201), "{}", set.text());
    House { warren, _folder: folder, model_server, model_url }
}

async fn with_doors(warren: &Warren, doors: Value) -> WorkspaceId {
    let id =
        create(warren, &json!({ "name": "boxed", "provider": { "kind": "sandbox" }, "doors": doors })).await;
    warren.wait_for_status(id, Status::Online).await;
    id
}

/// Runs a text of bash in the box.
async fn run(warren: &Warren, id: WorkspaceId, script: &str) -> Value {
    let body = json!({ "argv": ["/bin/bash", "-c", format!("{ASK}{script}")] });
    let ran = warren.post(&format!("/api/v1/workspaces/{id}/exec"), &body).await;
    assert_eq!(ran.status, 200, "{}", ran.text());
    ran.json()
}

async fn out(warren: &Warren, id: WorkspaceId, script: &str) -> String {
    run(warren, id, script).await["stdout"].as_str().unwrap().trim().to_owned()
}

fn messages(text: &str, model: &str, is_stream: bool) -> String {
    let messages = json!([{ "role": "user", "content": text }]);
    json!({ "model": model, "max_tokens": 200, "stream": is_stream, "messages": messages }).to_string()
}

fn post(port: u16, path: &str, headers: &str, body: &str) -> String {
    format!("ask {port} POST {path} '{headers}' '{body}'")
}

async fn model_calls(warren: &Warren, id: WorkspaceId) -> Vec<Value> {
    let all = events(warren, Some(id)).await;
    let calls = all.into_iter().filter(|event| event["kind"] == "workspace.model.called");
    calls.map(|event| event["data"].clone()).collect()
}

async fn spent(warren: &Warren, id: WorkspaceId) -> u64 {
    warren.get(&format!("/api/v1/workspaces/{id}/budget")).await.json()["spent_micros"].as_u64().unwrap()
}

// A81, F36, A14
#[tokio::test]
async fn a_program_in_a_box_asks_a_model_and_the_ledger_knows_what_it_cost() {
    let house = house().await;
    let warren = &house.warren;
    let id = with_doors(warren, json!({ "models": ["anthropic/claude-*"] })).await;
    let body = messages("hello", "claude-sonnet-4-5", true);
    let answer = out(warren, id, &post(7701, "/v1/messages", VERSION, &body)).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("message_stop"), "{answer}");
    assert!(answer.contains("hello out of the model"), "{answer}");
    eventually("it is settled", async || model_calls(warren, id).await.len() == 1).await;
    let call = model_calls(warren, id).await.remove(0);
    assert_eq!((&call["model"], &call["status"]), (&json!("anthropic/claude-sonnet-4-5"), &json!(200)));
    assert_eq!((&call["input_tokens"], &call["output_tokens"]), (&json!(1000), &json!(100)));
    // 1000 × 3 + 100 × 15 dollars a million.
    assert_eq!((&call["cost_micros"], &call["counted"]), (&json!(4_500), &json!(true)), "{call}");
    assert_eq!(spent(warren, id).await, 4_500);
    // In one piece too.
    let body = messages("hello", "anthropic/claude-sonnet-4-5", false);
    let answer = out(warren, id, &post(7701, "/v1/messages", VERSION, &body)).await;
    assert!(answer.contains(r#""text":"hello out of the model""#), "{answer}");
    eventually("it is settled", async || spent(warren, id).await == 9_000).await;
}

// A81: all works without a key
#[tokio::test]
async fn a_script_answers_for_any_name_on_each_wire() {
    let house = house().await;
    let warren = &house.warren;
    let id = with_doors(warren, json!({ "models": ["*=scripted/doors"] })).await;
    let responses = json!({ "model": "gpt-5", "input": "hello", "stream": true }).to_string();
    let chat =
        json!({ "model": "gpt-5", "messages": [{ "role": "user", "content": "hello" }], "stream": true });
    let gemini = json!({ "contents": [{ "role": "user", "parts": [{ "text": "hello" }] }] }).to_string();
    for (path, body, end) in [
        ("/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse", gemini, "finishReason"),
        ("/v1/messages", messages("hello", "claude-x", true), "message_stop"),
        ("/v1/responses", responses, "response.completed"),
        ("/v1/chat/completions", chat.to_string(), "[DONE]"),
    ] {
        let answer = out(warren, id, &post(7701, path, VERSION, &body)).await;
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains(end), "{path}: {answer}");
        assert!(!answer.contains("prompt_tokens"), "nobody asked how much it was: {answer}");
    }
    eventually("all are told", async || model_calls(warren, id).await.len() == 4).await;
    let told = model_calls(warren, id).await;
    assert!(told.iter().all(|call| call["model"] == "scripted/doors" && call["counted"] == true), "{told:?}");
    let told = out(warren, id, "env | sort").await;
    for line in [
        "ANTHROPIC_API_KEY=warren",
        "ANTHROPIC_BASE_URL=http://127.0.0.1:7701",
        "OPENAI_BASE_URL=http://127.0.0.1:7701/v1",
    ] {
        assert!(told.contains(line), "{told}");
    }
    assert!(!told.contains("WARREN_MCP_URL"), "{told}");
}

// A81: what comes is passed on as it comes, and who hangs up pays for what came
#[tokio::test]
async fn an_answer_is_passed_on_piece_by_piece_and_hanging_up_ends_it() {
    let house = house().await;
    let warren = &house.warren;
    let id = with_doors(warren, json!({ "models": ["anthropic/*"] })).await;
    let body = messages("slowly", "claude-sonnet-4-5", true);
    let script = format!(
        "timeout 2 bash -c '{}{}' | tee got",
        ASK.replace('\'', "'\\''"),
        post(7701, "/v1/messages", VERSION, &body).replace('\'', "'\\''")
    );
    let answer = out(warren, id, &script).await;
    assert!(answer.contains("content_block_delta"), "the first pieces came before the last: {answer}");
    assert!(!answer.contains("message_stop"), "{answer}");
    eventually("it is settled", async || model_calls(warren, id).await.len() == 1).await;
    let call = model_calls(warren, id).await.remove(0);
    assert_eq!(call["counted"], false, "{call}");
    assert!(
        call["cost_micros"].as_u64().unwrap() > 0 && call["output_tokens"].as_u64().unwrap() < 14,
        "{call}"
    );
}

// A81, sec: no key is ever in a box
#[tokio::test]
async fn a_canary_key_is_found_nowhere_in_a_box_nor_in_what_comes_out_of_it() {
    let house = house().await;
    let warren = &house.warren;
    let id = with_doors(warren, json!({ "models": ["anthropic/*"], "tools": true })).await;
    // The control: the key is used, or nothing would have been answered.
    let body = messages("hello", "claude-sonnet-4-5", true);
    let asked = post(7701, "/v1/messages", VERSION, &body);
    let answer = out(warren, id, &asked).await;
    assert!(answer.contains("hello out of the model"), "{answer}");
    let needle = CANARY.strip_suffix("-canary").unwrap();
    // While an answer is under way, with the control that the search finds what is there.
    let slow = post(7701, "/v1/messages", VERSION, &messages("slowly", "claude-sonnet-4-5", true));
    let search = format!(
        r#"all=$(mktemp); {slow} > slow.out & sleep 1
        echo planted-canary > planted; export PLANTED=planted-canary
        (for f in /proc/[0-9]*/environ /proc/[0-9]*/cmdline; do tr '\0' '\n' < $f 2>/dev/null; done; env
         grep -rIs . /workspace /tmp /etc /run 2>/dev/null; cat /proc/net/* 2>/dev/null) > $all
        grep -c planted-canary $all; grep -c {needle} $all; wait"#,
    );
    // The shell that runs the search has its words in them.
    let search = search.replace(needle, "sk-''canary-9d1e77a0");
    let found = out(warren, id, &search).await;
    let counts: Vec<u32> = found.lines().map(|line| line.parse().unwrap()).collect();
    assert!(counts[0] >= 2, "the control: {found}");
    assert_eq!(counts[1], 0, "{found}");
    // A provider that does not take it says so without it, and so does a log.
    let all = serde_json::to_string(&events(warren, None).await).unwrap();
    assert!(!all.contains(needle) && !answer.contains(needle));
    assert!(house.model_url.starts_with("http://127.0.0.1"), "it was asked over the wire");
}

// A81
#[tokio::test]
async fn nothing_is_open_that_was_not_granted_and_a_grant_that_is_taken_back_ends_at_once() {
    let house = house().await;
    let warren = &house.warren;
    let plain = with_doors(warren, json!({})).await;
    let shut =
        run(warren, plain, "ask 7701 GET /v1/models '' '' || echo shut; env | grep -c 127.0.0.1").await;
    assert_eq!(shut["stdout"].as_str().unwrap().trim(), "shut\n0", "{shut}");
    assert_eq!(show(warren, plain).await["doors"], Value::Null);
    let id = with_doors(
        warren,
        json!({ "models": ["anthropic/claude-haiku-4-5", "opus=anthropic/claude-opus-4-5"] }),
    )
    .await;
    assert_eq!(show(warren, id).await["doors"]["tools"], false);
    let listed = out(warren, id, "ask 7701 GET /v1/models '' ''").await;
    assert!(listed.contains(r#""id":"claude-haiku-4-5""#) && listed.contains(r#""id":"opus""#), "{listed}");
    let ask = post(7701, "/v1/messages", VERSION, &messages("hello", "claude-haiku-4-5", false));
    assert!(out(warren, id, &ask).await.contains("hello out of the model"));
    let other = post(7701, "/v1/messages", VERSION, &messages("hello", "claude-sonnet-4-5", false));
    let refused = out(warren, id, &other).await;
    assert!(refused.starts_with("HTTP/1.1 403") && refused.contains("permission_error"), "{refused}");
    assert!(
        refused.contains("claude-sonnet-4-5") && refused.contains("granted is anthropic/claude-haiku-4-5"),
        "{refused}"
    );
    let tools = out(warren, id, "ask 7702 POST /mcp 'content-type: application/json\\r\\n' '{}'").await;
    assert!(tools.starts_with("HTTP/1.1 403") && tools.contains("no tool door"), "{tools}");
    let web = out(warren, id, "ask 7703 GET http://example.com/ '' ''").await;
    assert!(web.starts_with("HTTP/1.1 403"), "{web}");
    let patched =
        warren.patch(&format!("/api/v1/workspaces/{id}"), &json!({ "doors": { "tools": true } })).await;
    assert_eq!(patched.status, 200, "{}", patched.text());
    assert_eq!(patched.json()["doors"], json!({ "tools": true }));
    eventually("it is shut", async || out(warren, id, &ask).await.contains("no model door")).await;
    // And all of them.
    warren.patch(&format!("/api/v1/workspaces/{id}"), &json!({ "doors": {} })).await;
    eventually("nobody listens", async || {
        run(warren, id, "ask 7701 GET /v1/models '' ''").await["exit_code"] != 0
    })
    .await;
}

// A81, F36
#[tokio::test]
async fn a_budget_is_kept_and_told_in_the_words_of_the_provider() {
    let house = house().await;
    let warren = &house.warren;
    let id = with_doors(warren, json!({ "models": ["anthropic/*"] })).await;
    let limit = warren.call("PUT", &format!("/api/v1/workspaces/{id}/budget")).token(&warren.token);
    let limit = limit.json(&json!({ "monthly_limit_micros": 9_000 })).send().await;
    assert_eq!(limit.status, 200, "{}", limit.text());
    let ask = post(7701, "/v1/messages", VERSION, &messages("hello", "claude-sonnet-4-5", false));
    assert!(out(warren, id, &ask).await.contains("hello out of the model"));
    eventually("it is settled", async || spent(warren, id).await == 4_500).await;
    // 200 tokens of an answer may cost 3000; then 1500 are left.
    assert!(out(warren, id, &ask).await.contains("hello out of the model"));
    eventually("it is settled", async || spent(warren, id).await == 9_000).await;
    let refused = out(warren, id, &ask).await;
    assert!(refused.starts_with("HTTP/1.1 429") && refused.contains("rate_limit_error"), "{refused}");
    assert!(refused.contains("budget") && refused.contains("x-should-retry: false"), "{refused}");
    assert_eq!(spent(warren, id).await, 9_000, "what was refused costs nothing");
}

// A81, sec/A07: bad input
#[tokio::test]
async fn requests_that_try_to_get_around_the_door_do_not() {
    let house = house().await;
    let warren = &house.warren;
    let id = with_doors(warren, json!({ "models": ["anthropic/*"], "tools": true })).await;
    let other = with_doors(warren, json!({ "models": ["anthropic/*"], "tools": true })).await;
    let hello = messages("hello", "claude-sonnet-4-5", false);
    for path in [
        "/",
        "/v1/files",
        "/v1/organizations",
        "/v1/messages/../files",
        "/api/v1/workspaces",
        "//v1/messages",
        "/v1/messages/batches",
    ] {
        let answer = out(warren, id, &post(7701, path, VERSION, &hello)).await;
        assert!(answer.starts_with("HTTP/1.1 404") && answer.contains("not_found_error"), "{path}: {answer}");
    }
    // Whatever it says of itself: it is its box, and the key is Warren's.
    let operator = &warren.token;
    let claims = format!(
        r"{VERSION}authorization: Bearer {operator}\r\nx-api-key: sk-mine\r\nx-warren-workspace: {other}\r\ncookie: a=b\r\nx-forwarded-for: 1.2.3.4\r\n"
    );
    let answer = out(warren, id, &post(7701, "/v1/messages", &claims, &hello)).await;
    assert!(answer.contains("hello out of the model"), "{answer}");
    eventually("it is told of its own workspace", async || model_calls(warren, id).await.len() == 1).await;
    assert!(model_calls(warren, other).await.is_empty());
    let json = r"content-type: application/json\r\naccept: application/json, text/event-stream\r\n";
    let info = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "get_workspace_info", "arguments": {} } });
    let claims = format!(r"{json}authorization: Bearer {operator}\r\n");
    let answer = out(warren, id, &post(7702, "/mcp", &claims, &info.to_string())).await;
    assert!(answer.contains(&id.to_string()) && !answer.contains(&other.to_string()), "{answer}");
    for path in ["/mcp/../api/v1/workspaces", "/api/v1/workspaces", &format!("/mcp/workspaces/{other}")] {
        let answer = out(warren, id, &post(7702, path, json, &info.to_string())).await;
        assert!(answer.starts_with("HTTP/1.1 404"), "{path}: {answer}");
    }
    // Two lengths, a line break in a header, a name twice.
    let two = r#"exec 3<>/dev/tcp/127.0.0.1/7701; printf 'POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n' >&3; timeout 5 cat <&3"#;
    let answer = out(warren, id, two).await;
    assert!(answer.starts_with("HTTP/1.1 400") && !answer.contains("HTTP/1.1 200"), "{answer}");
    let twice = r#"{"model":"claude-haiku-4-5","model":"other","max_tokens":1,"messages":[]}"#;
    let answer = out(warren, id, &post(7701, "/v1/messages", VERSION, twice)).await;
    assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("stands twice"), "{answer}");
    let web = r#"{"model":"claude-haiku-4-5","max_tokens":1,"messages":[],"tools":[{"type":"web_fetch_20250910","name":"web_fetch"}]}"#;
    let answer = out(warren, id, &post(7701, "/v1/messages", VERSION, web)).await;
    assert!(answer.starts_with("HTTP/1.1 403") && answer.contains("tools[0].type"), "{answer}");
    // Without end, and too long.
    let endless = r#"exec 3<>/dev/tcp/127.0.0.1/7701; printf 'POST /v1/messages HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n' >&3
        (while printf '10000\r\n%065536d\r\n' 0 >&3; do :; done) 2>/dev/null & head -n 1 <&3; kill $! 2>/dev/null"#;
    let answer = out(warren, id, endless).await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    let long = r#"exec 3<>/dev/tcp/127.0.0.1/7701; printf 'POST /v1/messages HTTP/1.1\r\nhost: x\r\nx: %0100000d\r\n\r\n' 0 >&3; head -n 1 <&3"#;
    let answer = out(warren, id, long).await;
    assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
    // After all of this it is as it was.
    let answer = out(warren, id, &post(7701, "/v1/messages", VERSION, &hello)).await;
    assert!(answer.contains("hello out of the model"), "{answer}");
}

// A81: bad input
#[tokio::test]
async fn doors_are_for_boxes_and_a_grant_names_a_provider() {
    let house = house().await;
    let warren = &house.warren;
    for (body, sentence) in [
        (
            json!({ "name": "a", "provider": { "kind": "memory" }, "doors": { "tools": true } }),
            "only a box has doors",
        ),
        (
            json!({ "name": "a", "provider": { "kind": "sandbox" }, "doors": { "models": ["ok/x", "*"] } }),
            "doors.models[1]: expected",
        ),
        (json!({ "name": "a", "provider": { "kind": "sandbox" }, "doors": { "kitchen": true } }), "kitchen"),
        (
            json!({ "name": "a", "provider": { "kind": "sandbox" }, "capabilities": ["fs"], "doors": { "tools": true } }),
            "capability `shell`",
        ),
    ] {
        let answer = warren.create(&body).await;
        assert_eq!(answer.status, 400, "{}", answer.text());
        assert!(answer.json()["detail"].as_str().unwrap().contains(sentence), "{}", answer.text());
    }
}

// X23, X31, X33, X50, X51, A81
#[tokio::test]
async fn a_resident_agent_reaches_people_peers_and_its_memory_from_its_box() {
    let house = house().await;
    let warren = &house.warren;
    let agent = r#"
        read -r asked
        case "$asked" in
          notify) echo "a report" > report.txt; warren notify "it is done" --attach report.txt ;;
          remember) warren remember port 7701 && warren recall port ;;
          info) warren info ;;
          peers) warren peers ;;
          ask) warren ask "delete everything" --reason "there is too much" ;;
          delegate) echo "some data" > data.txt; warren delegate helper "read this" --file data.txt ;;
          secret) warren notify "the secret is $API_TOKEN" ;;
          *) echo "$WARREN_MCP_URL" ;;
        esac 2>&1
    "#;
    let set = warren.call("PUT", "/api/v1/secrets/API_TOKEN").token(&warren.token);
    set.json(&json!({ "value": "hunter2-hunter2-hunter2" })).send().await;
    let wish = json!({
        "name": "worker", "provider": { "kind": "sandbox" }, "runtime": "resident",
        "command": ["/bin/sh", "-c", agent],
    });
    let id = create(warren, &wish).await;
    warren.wait_for_status(id, Status::Online).await;
    assert_eq!(show(warren, id).await["doors"], json!({ "tools": true }), "it has tools without asking");
    assert_eq!(answer_of(&say(warren, id, "where").await), "http://127.0.0.1:7702/mcp");
    // X31: people are told, with the file.
    assert_eq!(answer_of(&say(warren, id, "notify").await), "told");
    let conversations = warren.get(&format!("/api/v1/workspaces/{id}/conversations")).await.json();
    let conversation =
        conversations["items"][0]["id"].as_str().unwrap_or_else(|| panic!("{conversations}")).to_owned();
    let told =
        warren.get(&format!("/api/v1/workspaces/{id}/conversations/{conversation}/messages")).await.text();
    assert!(told.contains("it is done") && told.contains("report.txt"), "{told}");
    // X50
    assert_eq!(answer_of(&say(warren, id, "remember").await), "remembered\nport\t7701");
    let info = answer_of(&say(warren, id, "info").await).to_owned();
    assert!(info.contains(&id.to_string()) && info.contains("worker"), "{info}");
    // sec/T10: what it says to people, it says without its secrets.
    say(warren, id, "secret").await;
    let told =
        warren.get(&format!("/api/v1/workspaces/{id}/conversations/{conversation}/messages")).await.text();
    assert!(told.contains("the secret is") && !told.contains("hunter2"), "{told}");
    // X51: a person decides, and the program goes on.
    let deciding = async {
        let mut approval = Value::Null;
        eventually("it asks", async || {
            let pending = warren.get("/api/v1/approvals?state=pending").await.json();
            approval = pending["items"][0].clone();
            approval["id"].is_string()
        })
        .await;
        assert_eq!(approval["action"], "delete everything", "{approval}");
        let path = format!("/api/v1/approvals/{}/deny", approval["id"].as_str().unwrap());
        let decided = warren.post(&path, &json!({ "note": "no" })).await;
        assert!(decided.status == 200, "{}", decided.text());
    };
    let (asked, ()) = tokio::join!(say(warren, id, "ask"), deciding);
    assert_eq!(asked["state"], "failed", "its program was told no by its exit code: {asked}");
    // X33: work is handed on with a file of the box.
    let helper = json!({
        "name": "helper", "provider": { "kind": "sandbox" }, "runtime": "resident", "parent_id": id.to_string(),
        "command": ["/bin/sh", "-c", "read -r asked; echo \"$asked\"; find . -name 'data.txt*' | xargs cat"],
    });
    let helper = create(warren, &helper).await;
    warren.wait_for_status(helper, Status::Online).await;
    let peers = answer_of(&say(warren, id, "peers").await).to_owned();
    assert!(peers.contains("helper\tonline"), "{peers}");
    let handed = say(warren, id, "delegate").await;
    assert!(answer_of(&handed).contains("read this") && answer_of(&handed).contains("some data"), "{handed}");
}

// X23, A81
#[tokio::test]
async fn the_tools_of_the_door_are_those_that_reach_others() {
    let house = house().await;
    let warren = &house.warren;
    let id = with_doors(warren, json!({ "tools": true })).await;
    let json = r"content-type: application/json\r\naccept: application/json, text/event-stream\r\n";
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
    let answer = out(warren, id, &post(7702, "/mcp", json, &list.to_string())).await;
    for name in [
        "list_peers",
        "delegate_task",
        "send_message_to_user",
        "request_approval",
        "remember",
        "recall",
        "get_workspace_info",
    ] {
        assert!(answer.contains(&format!("\"name\":\"{name}\"")), "{answer}");
    }
    assert!(!answer.contains("workspace_run") && !answer.contains("workspace_read"), "{answer}");
    assert_eq!(
        out(warren, id, "warren remember a b && warren recall a; warren peers; echo $?").await,
        "remembered\na\tb\n\n0"
    );
    let wrong = run(warren, id, "warren dance").await;
    assert_eq!(wrong["exit_code"], 2, "{wrong}");
    assert!(wrong["stderr"].as_str().unwrap().contains("there is no command `dance`"), "{wrong}");
}

// A81: the same in a container
#[tokio::test]
async fn a_container_has_the_same_doors_and_no_key() {
    let (host, mut daemon) = docker_daemon();
    let folder = tempfile::tempdir().unwrap();
    let settings = DockerSettings { host: Some(host), ..DockerSettings::default() };
    let base = folder.path().join("docker");
    let provider =
        DockerProvider::new(&base, settings, Environment::default(), Arc::new(SystemClock), &OsEntropy)
            .unwrap();
    let house = house_with(folder, Arc::new(provider)).await;
    let warren = &house.warren;
    let body = json!({
        "name": "contained",
        "provider": { "kind": "docker", "image": "warren-test:busybox", "pull_policy": "never" },
        "doors": { "models": ["anthropic/*"], "tools": true },
    });
    let id = create(warren, &body).await;
    warren.wait_for_status(id, Status::Online).await;
    let hello = messages("hello", "claude-sonnet-4-5", true);
    let script = format!(
        "wget -q -O - --header 'anthropic-version: 2023-06-01' --post-data '{hello}' $ANTHROPIC_BASE_URL/v1/messages; \
         warren remember a b; warren recall a; env; cat /proc/[0-9]*/environ | tr '\\0' '\\n'"
    );
    let body = json!({ "argv": ["/bin/sh", "-c", script] });
    let ran = warren.post(&format!("/api/v1/workspaces/{id}/exec"), &body).await.json();
    let said = ran["stdout"].as_str().unwrap();
    assert!(said.contains("message_stop") && said.contains("remembered\na\tb"), "{ran}");
    assert!(said.contains("ANTHROPIC_API_KEY=warren") && !said.contains("sk-canary"), "{ran}");
    assert_eq!(warren.delete(&format!("/api/v1/workspaces/{id}")).await.status, 200);
    if let Some(daemon) = &mut daemon {
        drop(daemon.stdin.take());
        daemon.wait().unwrap();
    }
}
