//! Servers of others that stand for model APIs (npm `@copilotkit/aimock`, PyPI `llmock`): our client reads them on every wire,
//! and one of them judges how it takes faults.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use serde_json::{Value, json};
use warren_llm::{ModelClient as _, Models};
use warren_model::session::StopReason;
use warren_outbound::Call;

use crate::support::{connector, go_on, options, peers, providers, quick, request};

const WIRES: [(&str, &str); 3] =
    [("messages-2023", "claude-sonnet-4-5"), ("responses", "gpt-4.1"), ("chat", "gpt-4.1")];

/// A server that ends with its stdin.
struct Peer {
    child: Child,
    url: String,
}

impl Drop for Peer {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

impl Peer {
    fn start(arguments: &[&str]) -> Self {
        let mut command = peers();
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("scripts/peers.sh can be started");
        let mut url = String::new();
        let stdout = child.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut url).expect("the server speaks");
        let url = url.trim().to_owned();
        assert!(url.starts_with("http://"), "no server: see what scripts/peers.sh says");
        Self { child, url }
    }
}

// A10
#[tokio::test]
async fn our_client_reads_aimock_on_every_wire() {
    let peer = Peer::start(&["aimock"]);
    let url = format!("{}/v1", peer.url);
    let models = Models::new(connector(), providers(&url, &url));
    for (wire, model) in WIRES {
        let hello =
            models.start(&request(wire, model, "hello"), options()).await.unwrap().answer().await.unwrap();
        assert_eq!(hello.text(), "Hello from aimock, in pieces.", "{wire}");
        assert_eq!(hello.stop_reason, StopReason::EndTurn, "{wire}");
        let mut talk = request(wire, model, "How is the weather?");
        let answer = models.start(&talk, options()).await.unwrap().answer().await.unwrap();
        assert_eq!(answer.stop_reason, StopReason::ToolUse, "{wire}");
        assert_eq!(answer.calls[0].arguments, Ok(json!({ "city": "Oslo" })), "{wire}");
        go_on(&mut talk, &answer, "-3 degrees");
        let last = models.start(&talk, options()).await.unwrap().answer().await.unwrap();
        assert_eq!(last.text(), "It is cold in Oslo.", "{wire}");
    }
}

// A10
#[tokio::test]
async fn our_client_reads_llmock_on_every_wire() {
    let peer = Peer::start(&["llmock"]);
    let models = Models::new(
        connector(),
        providers(&format!("{}/anthropic/v1", peer.url), &format!("{}/v1", peer.url)),
    );
    for (wire, model) in WIRES {
        let mut talk = request(wire, model, "How is the weather?");
        let answer = models.start(&talk, options()).await.unwrap().answer().await.unwrap();
        assert_eq!(answer.stop_reason, StopReason::ToolUse, "{wire}");
        assert_eq!(answer.calls[0].tool, "get_weather", "{wire}");
        assert!(answer.calls[0].arguments.is_ok(), "{wire}");
        go_on(&mut talk, &answer, "-3 degrees");
        let last = models.start(&talk, options()).await.unwrap().answer().await.unwrap();
        assert!(!last.text().is_empty() && last.usage.output_tokens > 0, "{wire}: {last:?}");
    }
}

// A11
#[tokio::test]
async fn every_stream_that_llmock_breaks_is_an_error_that_may_be_retried() {
    for fault in ["disconnect", "truncate", "stall", "malformed"] {
        let peer = Peer::start(&[
            "llmock",
            "--stream-fault",
            &format!("{fault}=1.0"),
            "--stream-stall-seconds",
            "3",
        ]);
        let openai = format!("{}/v1", peer.url);
        let models = Models::new(connector(), providers(&format!("{}/anthropic/v1", peer.url), &openai));
        let models = models.with_timers(quick());
        for (wire, model) in WIRES {
            let mut talk = request(wire, model, "Tell me something long.");
            talk.tools = Default::default();
            let outcome = async { models.start(&talk, options()).await?.answer().await }.await;
            let error = outcome.expect_err(&format!("{wire} {fault}"));
            assert!(error.may_be_retried(), "{wire} {fault}: {error:?}");
        }
        let verdict: Value = connector()
            .call(Call::get(format!("{}/_llmock/verdict", peer.url)))
            .await
            .unwrap()
            .json()
            .await
            .unwrap();
        println!("llmock's verdict after {fault}: {verdict}");
    }
}

// A11
#[tokio::test]
async fn llmock_s_errors_are_judged_by_what_to_do() {
    for (rate, may_be_retried) in
        [("429=1.0", true), ("503=1.0", true), ("500=1.0", true), ("400=1.0", false)]
    {
        let peer = Peer::start(&["llmock", "--error-rate", rate]);
        let openai = format!("{}/v1", peer.url);
        let models = Models::new(connector(), providers(&format!("{}/anthropic/v1", peer.url), &openai));
        for (wire, model) in WIRES {
            let error = models.start(&request(wire, model, "x"), options()).await.unwrap_err();
            assert_eq!(error.may_be_retried(), may_be_retried, "{wire} {rate}: {error:?}");
        }
    }
}
