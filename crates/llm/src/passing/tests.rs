use serde_json::json;
use tokio::net::TcpListener;
use warren_outbound::{Connector, OutboundPolicy, SystemResolver};

use super::*;
use crate::server::{ServerOptions, serve};
use crate::{Providers, Script};

const KEY: &str = "sk-canary-4711";

/// Models of a provider on this machine that takes one key, and of the scripts.
async fn models() -> Models {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let options = ServerOptions { key: Some(KEY.to_owned()) };
    tokio::spawn(serve(listener, Script::built_in("hello").unwrap(), options));
    let one = |wire| {
        // Its paths have another version.
        let url = if wire == Wire::Gemini { format!("{url}beta") } else { url.clone() };
        ProviderSettings::new(wire, url, Some("SOME_KEY"))
    };
    let all = [
        ("claude", Wire::Anthropic),
        ("answers", Wire::Responses),
        ("talk", Wire::Chat),
        ("gem", Wire::Gemini),
    ];
    let providers = Providers::default().with(all.map(|(name, wire)| (name.to_owned(), one(wire))));
    let policy = OutboundPolicy::default().with_loopback();
    Models::new(Connector::new(policy, std::sync::Arc::new(SystemResolver)), providers)
}

async fn pass(
    models: &Models,
    name: &str,
    path: PassedPath,
    body: Value,
    key: Option<&str>,
) -> (u16, String) {
    let request =
        PassedRequest::read(PassedTarget { path, model: Some("m".to_owned()) }, body.to_string().into())
            .unwrap();
    let headers = [("anthropic-version", "2023-06-01"), ("x-api-key", "warren"), ("cookie", "a=b")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let model = name.parse().unwrap();
    let answer = models.pass(&model, &request, &headers, key.map(ApiKey::new)).await.unwrap();
    let status = answer.status;
    let mut body = answer.body;
    let mut whole = Vec::new();
    while let Some(piece) = body.chunk().await.unwrap() {
        whole.extend_from_slice(&piece);
    }
    (status, String::from_utf8(whole).unwrap())
}

// A81
#[tokio::test]
async fn each_wire_is_passed_on_with_the_key_and_so_is_a_script() {
    let models = models().await;
    let ask = json!([{ "role": "user", "content": "hello" }]);
    let messages = json!({ "model": "m", "max_tokens": 100, "messages": ask, "stream": true });
    let responses = json!({ "model": "m", "input": "hello", "stream": true });
    let chat = json!({ "model": "m", "messages": ask, "stream": true });
    let gemini = json!({ "contents": [{ "role": "user", "parts": [{ "text": "hello" }] }] });
    let streamed = PassedPath::Gemini { is_stream: true, is_sse: true };
    let whole = PassedPath::Gemini { is_stream: false, is_sse: false };
    for (provider, path, body, end) in [
        ("gem", streamed, &gemini, "\"finishReason\":\"STOP\""),
        ("gem", whole, &gemini, "\"finishReason\":\"STOP\""),
        ("claude", PassedPath::Messages, &messages, "message_stop"),
        ("answers", PassedPath::Responses, &responses, "response.completed"),
        ("talk", PassedPath::Chat, &chat, "[DONE]"),
        // One place, one key: what is known by another name for another wire.
        ("claude", PassedPath::Chat, &chat, "[DONE]"),
    ] {
        let (status, answer) = pass(&models, &format!("{provider}/m"), path, body.clone(), Some(KEY)).await;
        assert!(status == 200 && answer.contains(end), "{provider}: {status} {answer}");
        let (status, answer) = pass(&models, "scripted/hello", path, body.clone(), None).await;
        assert!(status == 200 && answer.contains(end), "scripted, {path:?}: {status} {answer}");
    }
    assert!(
        !models.answers_on("anthropic", PassedPath::Chat) && !models.answers_on("nobody", PassedPath::Chat)
    );
}

// A81, sec: what the provider says about the key is not passed on
#[tokio::test]
async fn a_key_that_is_wrong_or_missing_is_told_without_it() {
    let models = models().await;
    let body = json!({ "model": "m", "max_tokens": 1, "messages": [{ "role": "user", "content": "hi" }] });
    let (status, answer) =
        pass(&models, "claude/m", PassedPath::Messages, body.clone(), Some("sk-wrong")).await;
    assert_eq!(status, 401);
    assert!(answer.contains("does not take the key that Warren has") && !answer.contains("sk-"), "{answer}");
    let request = PassedRequest::read(
        PassedTarget { path: PassedPath::Messages, model: None },
        body.to_string().into(),
    )
    .unwrap();
    let error = models.pass(&"claude/m".parse().unwrap(), &request, &[], None).await.unwrap_err();
    assert_eq!(error.advice, Advice::NoKey);
    assert!(error.sentence.contains("SOME_KEY"), "{}", error.sentence);
}
