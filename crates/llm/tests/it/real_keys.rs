//! With a real key, where there is one. Where there is none, that is said.

use warren_doors::Environment;
use warren_llm::{ApiKey, CallOptions, ModelClient as _, Models, Providers};
use warren_outbound::{Connector, OutboundPolicy};

// A10
#[tokio::test]
async fn a_real_model_answers_where_there_is_a_key() {
    let environment = Environment::of_process();
    for (variable, models) in [
        ("ANTHROPIC_API_KEY", &["anthropic/claude-haiku-4-5"][..]),
        ("OPENAI_API_KEY", &["openai/gpt-5-nano", "openai-chat/gpt-4.1-nano"]),
    ] {
        let Some(key) = ApiKey::from_environment(&environment, variable) else {
            println!("{variable} is not set: no real model was called");
            continue;
        };
        let connector = Connector::with_system_names(OutboundPolicy::default());
        let client = Models::new(connector, Providers::default());
        for model in models {
            let (provider, name) = model.split_once('/').unwrap();
            let request = crate::support::request(provider, name, "Say the word `warren` and nothing else.");
            let options = CallOptions { key: Some(key.clone()), ..CallOptions::default() };
            let answer = client.start(&request, options).await.unwrap().answer().await.unwrap();
            println!("{model}: {} ({:?})", answer.text(), answer.usage);
            assert!(answer.text().to_lowercase().contains("warren"));
            assert!(answer.usage.output_tokens > 0);
        }
    }
}
