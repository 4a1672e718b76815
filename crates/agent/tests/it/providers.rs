//! Sessions on models that are asked over their providers' wires, with keys that people set.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use warren_agent::{AgentHost, Definitions, EnvironmentKeys, Parts, ProviderModels};
use warren_fleet::SecretScope;
use warren_llm::server::{ServerOptions, serve};
use warren_llm::{ApiKey, Prices, ProviderSettings, Providers, Script, Wire};
use warren_model::SecretValue;
use warren_model::session::{FailureKind, Phase, SessionName, StreamItem};
use warren_operations::Operations;
use warren_outbound::{Connector, OutboundPolicy};
use warren_testkit::eventually;

use crate::bed::{AgentBed, Engine, config};

/// The only key that the server takes.
const KEY: &str = "sk-test-0123456789";
/// For the bed's own model, which is asked by nobody.
const UNUSED: &str = "turns: [{ text: nobody asks }]";
const LOOKS_AND_ANSWERS: &str = r#"
turns:
  - when: { not_called: workspace_ls }
    reasoning: "I look first."
    calls: [{ tool: workspace_ls, arguments: { path: "" } }]
    usage: { input_tokens: 1000, output_tokens: 10 }
  - when: { result_of: workspace_ls, result_failed: false }
    text: "I looked."
    usage: { input_tokens: 2000, output_tokens: 20 }
"#;

const THINKS: &str = r#"
turns:
  - when: { user_contains: think }
    reasoning: "I look first."
    calls: [{ tool: workspace_ls, arguments: { path: "" } }]
  - when: { result_of: workspace_ls, result_failed: false }
    text: "I looked."
"#;

/// A model server on a port of its own. It ends with its value.
struct ModelServer {
    url: String,
    task: JoinHandle<()>,
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl ModelServer {
    async fn start(script: &str) -> Self {
        Self::with(script, ServerOptions { key: Some(KEY.to_owned()) }).await
    }

    async fn with(script: &str, options: ServerOptions) -> Self {
        let script = Script::read(script).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        Self { url, task: tokio::spawn(async move { serve(listener, script, options).await.unwrap() }) }
    }

    /// What it was asked so far, as text.
    async fn requests(&self) -> String {
        let address = self.url.trim_start_matches("http://").trim_end_matches("/v1");
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET /_requests HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    /// The last one, with its path and body.
    async fn last_request(&self) -> Value {
        let answer = self.requests().await;
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let mut told: Value = serde_json::from_str(body).unwrap();
        told["requests"].as_array_mut().unwrap().pop().unwrap()
    }

    /// A provider for each wire. Their key is a secret that production keeps from boxes too.
    fn providers(&self) -> Providers {
        let of = |wire| ProviderSettings::new(wire, &self.url, Some("ANTHROPIC_API_KEY"));
        let background = ProviderSettings { background: true, ..of(Wire::Responses) };
        Providers::default().with(
            [
                ("messages", of(Wire::Anthropic)),
                ("responses", of(Wire::Responses)),
                ("background", background),
                ("chat", of(Wire::Chat)),
            ]
            .map(|(name, settings)| (name.to_owned(), settings)),
        )
    }
}

/// The bed's own host is replaced by one that asks over the wires.
async fn over_wires(bed: &mut AgentBed, providers: Providers, environment: EnvironmentKeys) {
    let allow_private = vec!["127.0.0.0/8".parse().unwrap()];
    let connector = Connector::with_system_names(OutboundPolicy { allow_private, connect_timeout_ms: 1_000 });
    let prices = "date = '2026-11-01'\n[[price]]\nmodel = 'dear'\ninput = 3.0\noutput = 15.0\n";
    let models = warren_llm::Models::new(connector, providers);
    let fleet = bed.bed.fleet.clone();
    let models = ProviderModels::new(models, Prices::read(prices).unwrap(), fleet.clone(), environment);
    bed.host.stop().await;
    let host = AgentHost::new(Parts {
        operations: Operations::new(fleet.clone()),
        fleet,
        models: Arc::new(models),
        config: config(),
    });
    let starting = host.clone();
    bed.bed.inside(async move { starting.start() }).await;
    bed.host = host;
}

async fn set_key(bed: &AgentBed, scope: SecretScope, key: &str) {
    let value = SecretValue::new(key.to_owned().into()).unwrap();
    let name = "ANTHROPIC_API_KEY".parse().unwrap();
    bed.bed.fleet.secrets.set(bed.who(), scope, name, value).await.unwrap();
}

async fn agent_on(bed: &AgentBed, model: &str, more: Value) {
    let mut document = json!({ "name": "helper", "model": model });
    for (name, value) in more.as_object().unwrap() {
        document[name] = value.clone();
    }
    bed.host.definitions.put(bed.who(), Definitions::check(document).unwrap()).await.unwrap();
}

// A10, A11, A14: a tool loop over each wire with the org's key, and what it cost by the table
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_works_over_every_wire_with_the_key_of_its_org() {
    let server = ModelServer::start(LOOKS_AND_ANSWERS).await;
    let mut bed = AgentBed::start(Engine::Sqlite, UNUSED).await;
    over_wires(&mut bed, server.providers(), EnvironmentKeys::default()).await;
    set_key(&bed, SecretScope::Org, KEY).await;
    for provider in ["messages", "responses", "background", "chat"] {
        agent_on(&bed, &format!("{provider}/dear"), json!({})).await;
        let (name, session) = bed.run("look around").await;
        assert_eq!(bed.last_text(&name).await, "I looked.", "{provider}");
        // (3,000 × 3 + 30 × 15) millionths of a dollar.
        assert_eq!(session.total_usage.cost_micros, 9_450, "{provider}");
        let budget = bed.bed.fleet.budgets.get(bed.who(), bed.workspace.id).await.unwrap();
        assert!(budget.spent_micros >= 9_450, "the workspace's own ledger has it: {budget:?}");
    }
}

// A10: the nearest key is taken; Warren's own environment is the last resort
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workspaces_key_is_taken_before_the_orgs_and_the_environments() {
    let server = ModelServer::start("turns: [{ text: hi }]").await;
    let mut bed = AgentBed::start(Engine::Sqlite, UNUSED).await;
    let environment = [("ANTHROPIC_API_KEY".to_owned(), ApiKey::new(KEY))].into_iter().collect();
    over_wires(&mut bed, server.providers(), environment).await;
    agent_on(&bed, "messages/any", json!({})).await;
    bed.run("the environment's is good").await;

    set_key(&bed, SecretScope::Org, "sk-wrong-0123456789").await;
    let name = bed.session().await;
    bed.say(&name, "the org's is not").await;
    let session = bed.wait(&name, "failed").await;
    let Phase::Failed { failure } = &session.phase else { panic!("{:?}", session.phase) };
    assert_eq!(failure.kind, FailureKind::NoModel);
    assert!(!format!("{failure:?}").contains("sk-wrong"), "no key is told: {failure:?}");

    set_key(&bed, SecretScope::Workspace(bed.workspace.id), KEY).await;
    bed.run("the workspace's is").await;
}

// A12, A14: the provider counted what it was shown before the answer broke off
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_broke_off_is_booked_as_counted_or_by_its_length() {
    let script = r#"
turns:
  - text: "A long answer, in many small pieces, with an end."
    chunk_characters: 3
    usage: { input_tokens: 1000, output_tokens: 10 }
    fault: { kind: cut, after_chunks: 5, times: 1 }
"#;
    for (provider, is_counted) in [("messages", true), ("chat", false)] {
        let server = ModelServer::start(script).await;
        let mut bed = AgentBed::start(Engine::Sqlite, UNUSED).await;
        over_wires(&mut bed, server.providers(), EnvironmentKeys::default()).await;
        set_key(&bed, SecretScope::Org, KEY).await;
        agent_on(&bed, &format!("{provider}/dear"), json!({})).await;
        let (name, session) = bed.run("go").await;
        let step = bed.steps(&name).await.remove(0);
        assert_eq!(step.attempt, 2, "{provider}");
        // The whole answer: 1,000 × 3 + 10 × 15. The broken one: at least what was shown to it.
        let (whole, cost) = (3_150, session.total_usage.cost_micros);
        if is_counted {
            assert!(
                cost >= whole + 3_000 && step.usage.input_tokens == 2_000,
                "{provider}: {cost} {:?}",
                step.usage
            );
        } else {
            // It would have counted at the end; what came is counted by its length.
            let read = step.usage.input_tokens;
            assert!(read > 1_000 && cost > whole + (read - 1_000) * 3, "{provider}: {cost} {:?}", step.usage);
        }
        assert_eq!(step.cost_micros, cost);
        let budget = bed.bed.fleet.budgets.get(bed.who(), bed.workspace.id).await.unwrap();
        assert_eq!(budget.spent_micros, cost, "the ledger has both");
    }
}

// A13, A6: the agent gets another model, of another provider, between two messages; and its account changes
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_changed_in_the_middle_is_shown_the_history_and_no_reasoning_of_another() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let server = ModelServer::with(THINKS, ServerOptions { key: None }).await;
        let mut bed = AgentBed::start(engine, UNUSED).await;
        over_wires(&mut bed, server.providers(), EnvironmentKeys::default()).await;
        set_key(&bed, SecretScope::Org, KEY).await;
        let change = async |bed: &AgentBed, name: &SessionName, model: &str| {
            agent_on(bed, model, json!({})).await;
            bed.host.sessions.upgrade(bed.who(), name).await.unwrap();
        };
        let say = async |bed: &AgentBed, name: &SessionName, run| {
            bed.say(name, "think again").await;
            crate::bed::settled(bed, name, run).await;
            assert_eq!(bed.get(name).await.phase.as_str(), "completed", "{:?}", bed.get(name).await.phase);
            server.last_request().await
        };
        agent_on(&bed, "messages/first", json!({})).await;
        let (name, _) = bed.run("think").await;
        let own = server.last_request().await;
        assert!(own["body"]["messages"].to_string().contains("sig_"), "its own goes back: {own}");

        // Every other wire. The server refuses a call without its result, and reasoning that it did not give.
        for (run, (provider, path)) in
            (2..).zip([("responses", "/v1/responses"), ("chat", "/v1/chat/completions")])
        {
            change(&bed, &name, &format!("{provider}/other")).await;
            let asked = say(&bed, &name, run).await;
            let body = asked["body"].to_string();
            assert_eq!((&asked["path"], &asked["body"]["model"]), (&json!(path), &json!("other")), "{body}");
            assert!(!body.contains("sig_"), "{body}");
            let own = usize::from(provider == "responses");
            assert_eq!(body.matches("I look first").count(), own, "nor in words, but its own: {body}");
            assert_eq!(body.matches("enc_").count(), own, "{body}");
            assert!(body.contains("workspace_ls") && body.contains("I looked."), "the rest is there: {body}");
        }
        // Back at the first: what it thought itself is sent again, and what others thought is not.
        change(&bed, &name, "messages/first").await;
        let body = say(&bed, &name, 4).await["body"].to_string();
        assert!(body.contains("sig_") && !body.contains("enc_"), "{body}");
        // Another key is another account.
        set_key(&bed, SecretScope::Org, "sk-second-0123456789").await;
        let asked = say(&bed, &name, 5).await;
        let of_before = asked["body"]["messages"].as_array().unwrap();
        let last_user = of_before.iter().rposition(|turn| turn.to_string().contains("think again")).unwrap();
        let before = json!(of_before[..last_user]).to_string();
        assert!(!before.contains("sig_") && before.contains("I looked."), "{before}");
        let models: Vec<_> = bed.steps(&name).await.iter().map(|step| step.origin.clone().unwrap()).collect();
        let accounts: std::collections::BTreeSet<_> = models.iter().map(|one| one.account.clone()).collect();
        assert_eq!((models.len(), accounts.len()), (10, 2), "every answer says whose it is");
    }
}

// A13, A11: the second step of one run is answered by another provider, because the first no longer does
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fallback_in_the_middle_of_a_run_is_shown_no_reasoning_of_another() {
    let server = ModelServer::start(THINKS).await;
    let broken = r#"
turns:
  - when: { not_called: workspace_ls }
    reasoning: "I look first."
    calls: [{ tool: workspace_ls, arguments: { path: "" } }]
  - when: { result_of: workspace_ls }
    text: never
    fault: { kind: status, status: 400, times: 100 }
"#;
    let broken = ModelServer::start(broken).await;
    let mut bed = AgentBed::start(Engine::Sqlite, UNUSED).await;
    let mut providers = server.providers();
    let first = ProviderSettings::new(Wire::Anthropic, &broken.url, Some("ANTHROPIC_API_KEY"));
    providers = providers.with([("first".to_owned(), first)]);
    over_wires(&mut bed, providers, EnvironmentKeys::default()).await;
    set_key(&bed, SecretScope::Org, KEY).await;
    agent_on(&bed, "first/one", json!({ "fallbacks": ["responses/two"] })).await;
    let (name, _) = bed.run("think").await;
    assert_eq!(bed.last_text(&name).await, "I looked.");
    let asked = server.last_request().await;
    let body = asked["body"].to_string();
    assert_eq!(asked["body"]["model"], "two");
    assert!(
        body.contains("function_call_output") && !body.contains("sig_") && !body.contains("I look first")
    );
}

// A10: a thing that cannot work is refused with the remedy
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_key_the_run_fails_and_says_which_secret_to_set() {
    let server = ModelServer::start("turns: [{ text: hi }]").await;
    let mut bed = AgentBed::start(Engine::Sqlite, UNUSED).await;
    over_wires(&mut bed, server.providers(), EnvironmentKeys::default()).await;
    agent_on(&bed, "chat/any", json!({})).await;
    let name = bed.session().await;
    bed.say(&name, "hello").await;
    let session = bed.wait(&name, "failed").await;
    let Phase::Failed { failure } = &session.phase else { panic!("{:?}", session.phase) };
    assert_eq!(failure.kind, FailureKind::NoModel);
    assert!(failure.message.contains("ANTHROPIC_API_KEY"), "{}", failure.message);

    // Once it is set, the same session goes on.
    set_key(&bed, SecretScope::Org, KEY).await;
    bed.say(&name, "again").await;
    bed.wait(&name, "completed").await;
}

// A11: an overloaded provider is asked again when it said; a model that is not there hands over to the next
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn trouble_at_a_provider_is_retried_and_then_handed_to_the_fallback() {
    let script = r#"
turns:
  - text: "it went through"
    fault: { kind: status, status: 529, times: 2, retry_after_ms: 20 }
"#;
    let server = ModelServer::start(script).await;
    let mut bed = AgentBed::start(Engine::Sqlite, UNUSED).await;
    over_wires(&mut bed, server.providers(), EnvironmentKeys::default()).await;
    set_key(&bed, SecretScope::Org, KEY).await;
    agent_on(&bed, "messages/any", json!({})).await;
    let (name, _) = bed.run("hello").await;
    assert_eq!(bed.steps(&name).await[0].attempt, 3);

    agent_on(&bed, "nobody/knows", json!({ "fallbacks": ["chat/any"] })).await;
    let (name, _) = bed.run("hello").await;
    let steps = bed.steps(&name).await;
    assert_eq!(steps[0].origin.as_ref().unwrap().model.to_string(), "chat/any");
}

// A12: whoever goes on with a session takes up the answer that was being given, instead of asking for it anew
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_under_way_is_taken_up_by_the_next_owner_where_the_provider_keeps_it() {
    let script = r#"
turns:
  - text: "one two three four five six seven eight"
    chunk_characters: 4
    delay_ms: 150
"#;
    let server = ModelServer::start(script).await;
    let mut bed = AgentBed::start(Engine::Sqlite, UNUSED).await;
    over_wires(&mut bed, server.providers(), EnvironmentKeys::default()).await;
    set_key(&bed, SecretScope::Org, KEY).await;
    for (provider, times_asked) in [("background", 1), ("responses", 2)] {
        agent_on(&bed, &format!("{provider}/any"), json!({})).await;
        let before = server.requests().await.matches("POST").count();
        let name = bed.session().await;
        bed.say(&name, "count").await;
        eventually("a piece was shown", async || {
            let entries = bed.entries(&name, 0).await;
            entries.iter().any(|entry| matches!(entry.item, StreamItem::TextDelta { .. }))
        })
        .await;
        over_wires(&mut bed, server.providers(), EnvironmentKeys::default()).await;
        bed.wait(&name, "completed").await;
        assert_eq!(bed.last_text(&name).await, "one two three four five six seven eight");
        assert_eq!(bed.steps(&name).await[0].attempt, 2);
        let asked = server.requests().await;
        assert_eq!(asked.matches("POST").count() - before, times_asked, "{provider}: {asked}");
    }
}

// A10, A81: what can be asked is told, and no key with it
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_catalog_tells_which_providers_have_a_key() {
    let server = ModelServer::start(UNUSED).await;
    let mut bed = AgentBed::start(Engine::Sqlite, UNUSED).await;
    over_wires(&mut bed, server.providers(), EnvironmentKeys::default()).await;
    let has_key = async |bed: &AgentBed| {
        let known = bed.host.models.list(bed.who(), None).await.unwrap();
        assert!(known.scripts.contains(&"tour".to_owned()));
        assert!(!format!("{known:?}").contains(KEY));
        known.providers.into_iter().find(|one| one.name == "chat").unwrap().has_key
    };
    assert!(!has_key(&bed).await);
    set_key(&bed, SecretScope::Org, KEY).await;
    assert!(has_key(&bed).await);
}
