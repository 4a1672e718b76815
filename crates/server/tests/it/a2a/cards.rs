use serde_json::{Value, json};

use super::agent::{Stage, card};
use crate::fleet::{external, join_token, try_register};
use crate::local;

// X1, X2
#[tokio::test]
async fn the_card_is_warrens_own_and_tells_no_address_of_the_agent() {
    let stage = Stage::set().await;
    let answer = stage.get("/.well-known/agent-card.json").await;
    let cache = Some("private, max-age=0, must-revalidate");
    assert_eq!((answer.status, answer.header("cache-control")), (200, cache));
    let url = format!("{}/a2a/{}", stage.warren.url, stage.id);
    let card = answer.json();
    assert_eq!(
        card,
        json!({
            "name": "agent", "description": "Does as it is told", "version": "7",
            "supportedInterfaces": [
                { "url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0" },
                { "url": url, "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0" },
            ],
            "capabilities": { "streaming": true, "pushNotifications": true, "extendedAgentCard": false },
            "securitySchemes": { "bearer": { "httpAuthSecurityScheme": {
                "scheme": "Bearer", "description": "A token of this Warren that may use the workspace",
            } } },
            "securityRequirements": [{ "schemes": { "bearer": { "list": [] } } }],
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "skills": [{ "id": "echo", "name": "Echo", "description": "Says it again", "tags": ["test"] }],
        })
    );
    assert!(!answer.text().contains("example"), "no URL of the agent's own card");
}

// X1
#[tokio::test]
async fn a_card_that_is_known_is_not_sent_again() {
    let stage = Stage::set().await;
    let path = stage.path("/.well-known/agent-card.json");
    let first = stage.get("/.well-known/agent-card.json").await;
    let tag = first.header("etag").unwrap().to_owned();
    let call = || stage.warren.call("GET", &path).token(&stage.warren.token);
    let again = call().header("if-none-match", &tag).send().await;
    assert_eq!((again.status, again.body.len(), again.header("etag")), (304, 0, Some(tag.as_str())));
    let other = call().header("if-none-match", "\"other\"").send().await;
    assert_eq!(other.status, 200);
    let by_proxy = call().header("x-forwarded-proto", "https").send().await;
    assert!(by_proxy.json()["supportedInterfaces"][0]["url"].as_str().unwrap().starts_with("https://"));
}

// X1
#[tokio::test]
async fn a_workspace_without_a_runtime_has_a_card_too() {
    let stage = Stage::set().await;
    let bare = stage.warren.workspace(local()).await;
    let card: Value = stage.warren.get(&format!("/a2a/{bare}/.well-known/agent-card.json")).await.json();
    assert_eq!((&card["name"], &card["skills"]), (&json!("test"), &json!([])));
    for required in ["description", "version", "capabilities", "defaultInputModes", "defaultOutputModes"] {
        assert!(!card[required].is_null(), "{required}");
    }
}

// X1, X2: what the agent shows to those it knows is passed on, and still no address of it
#[tokio::test]
async fn the_extended_card_of_an_agent_is_passed_on() {
    let mut stage = Stage::set().await;
    let id = external(&stage.warren).await;
    let join = join_token(&stage.warren, id).await;
    let mut told = card();
    told["capabilities"] = json!({ "extendedAgentCard": true });
    let registered = try_register(&stage.warren, &join, &json!({ "agent_card": told })).await;
    assert_eq!(registered.status, 200, "{}", registered.text());
    stage.id = id;
    let shown = stage.get("/.well-known/agent-card.json").await.json();
    assert_eq!(shown["capabilities"]["extendedAgentCard"], true);
    let by_rpc = stage.result("GetExtendedAgentCard", &json!({})).await;
    let by_rest = stage.get("/extendedAgentCard").await;
    assert_eq!((by_rest.status, by_rest.json()), (200, by_rpc.clone()));
    assert_eq!(by_rpc["skills"][0]["id"], "more");
    assert!(!by_rest.text().contains("example"), "no URL of the agent's own card");
}
