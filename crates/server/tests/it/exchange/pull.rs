use serde_json::{Value, json};
use warren_model::WorkspaceId;
use warren_testkit::{Answer, Warren};

use super::{answer_of, say, task};
use crate::fleet::reporting;

async fn claim(warren: &Warren, id: WorkspaceId, secret: &str, body: Value) -> Answer {
    let path = format!("/api/v1/workspaces/{id}/queue/claim");
    warren.call("POST", &path).token(secret).json(&body).send().await
}

async fn tell(
    warren: &Warren,
    id: WorkspaceId,
    secret: &str,
    claimed: &Value,
    what: &str,
    mut body: Value,
) -> Answer {
    let path = format!("/api/v1/workspaces/{id}/queue/{}/{what}", claimed["queue_id"].as_str().unwrap());
    body["attempt"] = claimed["attempt"].clone();
    warren.call("POST", &path).token(secret).json(&body).send().await
}

fn text(text: &str) -> Value {
    json!({ "parts": [{ "text": text }] })
}

// X15, X4
#[tokio::test]
async fn a_runtime_that_comes_and_asks_gets_its_messages_and_answers_them() {
    let warren = Warren::start().await;
    let (id, secret) = reporting(&warren).await;
    assert_eq!(claim(&warren, id, &secret, json!({})).await.json()["claimed"], json!(null));
    let accepted = say(&warren, id, "do it").await;
    assert_eq!(accepted["queued"], true);
    let got = claim(&warren, id, &secret, json!({})).await.json()["claimed"].clone();
    assert_eq!(
        (&got["message"]["parts"][0]["text"], &got["author"]["kind"]),
        (&json!("do it"), &json!("user"))
    );
    assert_eq!(task(&warren, &accepted).await["state"], "working");
    let moved = json!({ "message": text("half way"), "artifacts": [{ "artifact": { "id": "a", "parts": [{ "text": "x" }] } }] });
    assert_eq!(tell(&warren, id, &secret, &got, "progress", moved).await.status, 200);
    assert_eq!(answer_of(&task(&warren, &accepted).await), "half way");
    let answer = json!({ "outcome": "answered", "message": text("done") });
    let done = tell(&warren, id, &secret, &got, "answer", answer.clone()).await;
    assert_eq!((done.status, &done.json()["state"]), (200, &json!("completed")), "{}", done.text());
    let twice = tell(&warren, id, &secret, &got, "answer", answer).await;
    assert_eq!((twice.status, twice.code().as_str()), (409, "claim_lost"));
    let task = task(&warren, &accepted).await;
    assert_eq!((answer_of(&task).as_str(), &task["artifacts"][0]["id"]), ("done", &json!("a")));
}
