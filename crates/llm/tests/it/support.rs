//! A scripted server on a port of its own, and a client that reaches it.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use warren_llm::server::{ServerOptions, serve};
use warren_llm::{
    ApiKey, CallOptions, ModelAnswer, ModelClient as _, ModelError, Models, ProviderSettings, Providers,
    Script, Timers, Wire,
};
use warren_model::Part;
use warren_model::session::{CallOutcome, ClosedCall, ModelRequest, ToolOffer, ToolResult, Turn};
use warren_outbound::{Call, Connector, OutboundPolicy};

pub(crate) const KEY: &str = "sk-test-0123456789";
pub(crate) const WIRES: [&str; 4] = ["messages", "messages-2023", "responses", "chat"];

pub(crate) fn connector() -> Connector {
    let allow_private = vec!["127.0.0.0/8".parse().unwrap()];
    Connector::with_system_names(OutboundPolicy { allow_private, connect_timeout_ms: 1_000 })
}

/// Quick enough for tests of silence.
pub(crate) fn quick() -> Timers {
    Timers {
        first_byte: Duration::from_millis(600),
        between: Duration::from_millis(300),
        whole: Duration::from_secs(20),
        pings: 3,
    }
}

/// Providers of all wires at `base_url`, by the names of [`WIRES`], and `background`.
pub(crate) fn providers(anthropic: &str, openai: &str) -> Providers {
    let key = Some("TEST_KEY");
    let mut old = ProviderSettings::new(Wire::Anthropic, anthropic, key);
    old.version = Some("2023-06-01".to_owned());
    let mut background = ProviderSettings::new(Wire::Responses, openai, key);
    background.background = true;
    Providers::default().with(
        [
            ("messages", ProviderSettings::new(Wire::Anthropic, anthropic, key)),
            ("messages-2023", old),
            ("responses", ProviderSettings::new(Wire::Responses, openai, key)),
            ("background", background),
            ("chat", ProviderSettings::new(Wire::Chat, openai, key)),
        ]
        .map(|(name, settings)| (name.to_owned(), settings)),
    )
}

/// A server that ends with its value.
pub(crate) struct ScriptedServer {
    pub(crate) url: String,
    pub(crate) models: Models,
    task: JoinHandle<()>,
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl ScriptedServer {
    pub(crate) async fn start(script: &str) -> Self {
        Self::with(Script::read(script).unwrap()).await
    }

    pub(crate) async fn with(script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let options = ServerOptions { key: Some(KEY.to_owned()) };
        let task = tokio::spawn(async move { serve(listener, script, options).await.unwrap() });
        let models = Models::new(connector(), providers(&url, &url)).with_timers(quick());
        Self { url, models, task }
    }

    pub(crate) async fn ask(&self, request: &ModelRequest) -> Result<ModelAnswer, ModelError> {
        self.models.start(request, options()).await?.answer().await
    }

    /// What was asked so far.
    pub(crate) async fn journal(&self) -> Vec<Value> {
        let url = format!("{}/_requests", self.url.trim_end_matches("/v1"));
        let answer = connector().call(Call::get(url)).await.unwrap();
        let journal: Value = answer.json().await.unwrap();
        journal["requests"].as_array().unwrap().clone()
    }
}

pub(crate) fn options() -> CallOptions {
    CallOptions { key: Some(ApiKey::new(KEY)), ..CallOptions::default() }
}

pub(crate) fn request(provider: &str, model: &str, text: &str) -> ModelRequest {
    ModelRequest {
        model: format!("{provider}/{model}").parse().unwrap(),
        system: "You are helpful.".to_owned(),
        turns: vec![Turn::User(vec![Part::text(text)]).into()],
        tools: vec![ToolOffer {
            name: "get_weather".to_owned(),
            description: "The weather of a city.".to_owned(),
            input_schema: json!({ "type": "object", "properties": { "city": { "type": "string" } } }),
        }]
        .into(),
        max_output_tokens: Some(1_000),
        effort: None,
        output_schema: None,
        extra: Map::new(),
    }
}

/// A model of the provider's own, so that the table of parameters fits.
pub(crate) fn model_of(wire: &str) -> &'static str {
    if wire.starts_with("messages") { "claude-opus-4-6" } else { "gpt-5.1" }
}

/// The conversation one step on.
pub(crate) fn go_on(request: &mut ModelRequest, answer: &ModelAnswer, result: &str) {
    let calls = answer.calls.iter().map(|call| ClosedCall {
        id: call.id.clone(),
        tool: call.tool.clone(),
        arguments: call.arguments.clone().unwrap_or_else(Value::String),
        outcome: CallOutcome::Done { result: ToolResult::text(result) },
    });
    let turn = Turn::Assistant {
        origin: Some(answer.origin.clone()),
        blocks: answer.blocks.clone(),
        calls: calls.collect(),
    };
    request.turns.push(turn.into());
}

/// The script that people use to install and start the peers.
#[expect(clippy::disallowed_methods, reason = "the peers are started by the script that people use")]
pub(crate) fn peers() -> Command {
    let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/peers.sh"));
    command.arg("model");
    command
}
