//! People over HTTP: in, out, and what they have open meanwhile.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use warren_testkit::{Call, Warren};

use crate::events::Frames;
use crate::local;
use crate::terminal::Terminal;

fn pair(answer: &warren_testkit::Answer) -> String {
    answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned()
}

/// The cookie of somebody new with this role.
async fn person(warren: &Warren, name: &str, role: &str) -> String {
    let made = warren.post("/api/v1/users", &json!({ "name": name, "role": role })).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let link = warren.post(&format!("/api/v1/users/{name}/sign-in-links"), &json!({})).await.json();
    let secret = link["path"].as_str().unwrap().strip_prefix("/#sign-in=").unwrap();
    pair(&warren.call("POST", "/api/v1/sign-in").json(&json!({ "secret": secret })).send().await)
}

/// A call of the page.
fn by(warren: &Warren, cookie: &str, method: &str, path: &str) -> Call {
    let call = warren.call(method, path).header("cookie", cookie).header("x-warren-csrf", "1");
    call.header("origin", &warren.url)
}

async fn invite(warren: &Warren, body: &Value) -> String {
    let made = warren.post("/api/v1/invitations", body).await;
    assert_eq!(made.status, 201, "{}", made.text());
    made.json()["path"].as_str().unwrap().strip_prefix("/#invitation=").unwrap().to_owned()
}

/// A question of a workspace.
async fn question(warren: &Warren, of: &str) -> String {
    let token = json!({ "kind": "workspace", "name": "agent", "workspace_id": of });
    let token = warren.post("/api/v1/tokens", &token).await.json()["secret"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/workspaces/{of}/approvals");
    let body = json!({ "action": "deploy", "reason": "it is ready" });
    let asked = warren.call("POST", &path).token(&token).json(&body).send().await;
    assert_eq!(asked.status, 201, "{}", asked.text());
    asked.json()["id"].as_str().unwrap().to_owned()
}

// F9, F37
#[tokio::test]
async fn an_invitation_is_looked_at_taken_once_and_signs_the_browser_in() {
    let warren = Warren::start().await;
    let secret = invite(&warren, &json!({ "role": "member" })).await;
    let look = json!({ "secret": secret });
    let preview = || warren.call("POST", "/api/v1/sign-in/invitation/preview").json(&look).send();
    let seen = preview().await.json();
    assert_eq!((&seen["org"], &seen["role"]), (&json!("default"), &json!("member")));
    assert_eq!((&seen["invited_by"], &seen["needs_provider"]), (&json!("Operator"), &json!(false)));
    let take = |name: &str| json!({ "secret": secret, "name": name, "display_name": "Anna M" });
    let accept = |body: Value| warren.call("POST", "/api/v1/sign-in/invitation").json(&body).send();
    assert_eq!(accept(json!({ "secret": secret })).await.status, 400, "somebody new needs a name");
    assert_eq!(accept(take("operator")).await.code(), "name_taken");
    let taken = accept(take("anna")).await;
    assert_eq!(taken.status, 200, "{}", taken.text());
    let cookie = pair(&taken);
    let me = by(&warren, &cookie, "GET", "/api/v1/sign-in").send().await.json();
    assert_eq!((&me["user"]["name"], &me["org"]["role"]), (&json!("anna"), &json!("member")));
    assert_eq!((&me["is_admin"], me["orgs"].as_array().unwrap().len()), (&json!(false), 1));
    let again = accept(take("bert")).await;
    assert_eq!((again.status, again.code()), (410, "invitation_used".into()));
    assert_eq!(preview().await.code(), "invitation_used");
    let forged = json!({ "secret": format!("{secret}x"), "name": "bert" });
    assert_eq!(accept(forged).await.code(), "invitation_not_found");
    let meant = invite(&warren, &json!({ "role": "viewer", "email": "eve@example.org" })).await;
    let forwarded = accept(json!({ "secret": meant, "name": "mallory" })).await;
    assert_eq!((forwarded.status, forwarded.code()), (403, "invitation_for_another".into()));
    let listed = warren.get("/api/v1/invitations").await.json();
    assert_eq!(listed["items"][0]["used_by"]["name"], "Anna M");
    let ways = warren.call("GET", "/api/v1/sign-in/ways").send().await.json();
    assert_eq!(ways, json!({ "link": true, "provider": null }));
}

// F30, F37, X51: a viewer who decides an approval; names in approvals
#[tokio::test]
async fn a_viewer_sees_and_decides_nothing_and_people_are_named() {
    let warren = Warren::start().await;
    let of = warren.workspace(local()).await.to_string();
    let (viewer, member) = (person(&warren, "vie", "viewer").await, person(&warren, "mem", "member").await);
    let asked = question(&warren, &of).await;
    let approve = format!("/api/v1/approvals/{asked}/approve");
    assert_eq!(by(&warren, &viewer, "GET", &format!("/api/v1/approvals/{asked}")).send().await.status, 200);
    let refused = by(&warren, &viewer, "POST", &approve).json(&json!({})).send().await;
    assert_eq!((refused.status, refused.code()), (403, "forbidden".into()));
    assert!(refused.text().contains("the role `viewer`"), "{}", refused.text());
    let decided = by(&warren, &member, "POST", &approve).json(&json!({})).send().await;
    assert_eq!((decided.status, &decided.json()["decided_by"]["name"]), (200, &json!("mem")));
    // A member's browser makes no token wider than their role.
    let wide = json!({ "kind": "user", "name": "t", "scopes": ["secrets:write"] });
    assert_eq!(by(&warren, &member, "POST", "/api/v1/tokens").json(&wide).send().await.status, 403);
    let admin = json!({ "kind": "admin", "name": "t" });
    assert_eq!(by(&warren, &member, "POST", "/api/v1/tokens").json(&admin).send().await.status, 403);
    let host = json!({ "name": "host", "provider": local() });
    assert_eq!(by(&warren, &member, "POST", "/api/v1/workspaces").json(&host).send().await.status, 403);
}

// F37, sec/U05: bad input: a user removed in the middle of a stream, a terminal, an approval
#[tokio::test]
async fn whoever_is_taken_out_loses_what_they_have_open_within_seconds() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    let (gone, stays) = (person(&warren, "gone", "member").await, person(&warren, "stays", "member").await);
    let follow = |cookie: &str| by(&warren, cookie, "GET", "/api/v1/events");
    let (mut events, mut control) = (Frames::open(follow(&gone)).await, Frames::open(follow(&stays)).await);
    events.history().await;
    control.history().await;
    let headers = [("cookie", gone.clone()), ("origin", warren.url.clone())];
    let mut terminal = Terminal::try_open(&warren, id, "", &headers).await.unwrap();
    let asked = question(&warren, &id.to_string()).await;
    let path = format!("/api/v1/approvals/{asked}?wait_ms=60000");
    let started = Instant::now();
    let remove = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        warren.delete("/api/v1/users/gone").await
    };
    let (waiting, removed) = tokio::join!(by(&warren, &gone, "GET", &path).send(), remove);
    assert_eq!(removed.status, 200, "{}", removed.text());
    assert_eq!((waiting.status, waiting.code()), (401, "token_expired".into()));
    loop {
        let (_, frame) = events.next().await.expect("a goodbye before the end");
        if frame["type"] == "closing" {
            assert_eq!(frame["code"], "token_expired");
            break;
        }
    }
    let closing = loop {
        let frame = terminal.frame().await;
        if frame["type"] == "closing" {
            break frame;
        }
    };
    assert_eq!(closing["code"], "token_expired");
    assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
    let approve = format!("/api/v1/approvals/{asked}/approve");
    assert_eq!(by(&warren, &gone, "POST", &approve).json(&json!({})).send().await.status, 401);
    // The control: whoever stays goes on, and hears of it.
    loop {
        let (_, frame) = control.next().await.expect("it goes on");
        assert_ne!(frame["type"], "closing");
        if frame["event"]["kind"] == "identity.user.left" {
            break;
        }
    }
    assert_eq!(by(&warren, &stays, "POST", &approve).json(&json!({})).send().await.status, 200);
}
