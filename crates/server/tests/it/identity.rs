use std::sync::Arc;

use serde_json::{Value, json};
use warren_doors::ManualClock;
use warren_model::Timestamp;
use warren_testkit::Warren;

use crate::memory;

async fn mint(warren: &Warren, body: Value) -> (String, String) {
    let answer = warren.post("/api/v1/tokens", &body).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let made = answer.json();
    (made["secret"].as_str().unwrap().to_owned(), made["token"]["id"].as_str().unwrap().to_owned())
}

async fn link(warren: &Warren) -> String {
    let answer = warren.post("/api/v1/sign-in/links", &json!({})).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json()["path"].as_str().unwrap().strip_prefix("/#sign-in=").unwrap().to_owned()
}

async fn sign_in(warren: &Warren, secret: &str) -> warren_testkit::Answer {
    warren.call("POST", "/api/v1/sign-in").json(&json!({ "secret": secret })).send().await
}

// F30
#[tokio::test]
async fn a_token_works_until_it_is_revoked_and_is_never_shown_again() {
    let warren = Warren::start().await;
    let (secret, id) =
        mint(&warren, json!({ "kind": "user", "name": "ci", "scopes": ["workspaces:read"] })).await;
    let list = warren.call("GET", "/api/v1/workspaces").token(&secret).send().await;
    assert_eq!(list.status, 200);
    let shown = warren.get("/api/v1/tokens").await.text();
    assert!(shown.contains(&id) && !shown.contains(&secret), "{shown}");
    for _ in 0..2 {
        assert_eq!(warren.delete(&format!("/api/v1/tokens/{id}")).await.status, 200, "twice is fine");
    }
    let refused = warren.call("GET", "/api/v1/workspaces").token(&secret).send().await;
    assert_eq!((refused.status, refused.code()), (401, "token_expired".into()));
    assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
}

// F30: what `warren token create NAME` asks for
#[tokio::test]
async fn a_user_token_without_scopes_works_with_workspaces_as_far_as_its_maker_may() {
    let warren = Warren::start().await;
    let made = warren.post("/api/v1/tokens", &json!({ "kind": "user", "name": "plain" })).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let usual = json!(["workspaces:read", "workspaces:write", "workspaces:use", "events:read"]);
    assert_eq!(made.json()["token"]["scopes"], usual);
    let scopes = json!(["tokens:write", "workspaces:read"]);
    let (narrow, _) = mint(&warren, json!({ "kind": "user", "name": "narrow", "scopes": scopes })).await;
    let call = warren.call("POST", "/api/v1/tokens").token(&narrow);
    let made = call.json(&json!({ "kind": "user", "name": "below" })).send().await;
    assert_eq!(made.json()["token"]["scopes"], json!(["workspaces:read"]), "{}", made.text());
}

// F30, sec/U07
#[tokio::test]
async fn nobody_makes_a_token_wider_than_their_own() {
    let warren = Warren::start().await;
    let scopes = json!(["tokens:write", "workspaces:read"]);
    let (secret, _) = mint(&warren, json!({ "kind": "user", "name": "narrow", "scopes": scopes })).await;
    let id = warren.workspace(memory()).await.to_string();
    for (body, status) in [
        (json!({ "kind": "user", "name": "n", "scopes": ["workspaces:read"] }), 201),
        (json!({ "kind": "user", "name": "n", "scopes": ["workspaces:write"] }), 403),
        (json!({ "kind": "admin", "name": "n" }), 403),
        (json!({ "kind": "workspace", "name": "n", "workspace_id": id }), 403),
        (json!({ "kind": "session", "name": "n" }), 400),
        (json!({ "kind": "user", "name": "n", "scopes": ["everything"] }), 400),
        (json!({ "kind": "user", "name": "n", "scopes": [] }), 400),
        (json!({ "kind": "user", "name": "", "scopes": ["workspaces:read"] }), 400),
        (json!({ "kind": "user", "name": "n", "scopes": ["workspaces:read"], "expires_in_seconds": 0 }), 400),
    ] {
        let answer = warren.call("POST", "/api/v1/tokens").token(&secret).json(&body).send().await;
        assert_eq!(answer.status, status, "{body}: {}", answer.text());
    }
}

// F31
#[tokio::test]
async fn a_sign_in_link_works_once_and_gives_a_strict_cookie() {
    let warren = Warren::start().await;
    let secret = link(&warren).await;
    let (first, second) = tokio::join!(sign_in(&warren, &secret), sign_in(&warren, &secret));
    let mut statuses = [first.status, second.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 401], "of two, one");
    let winner = if first.status == 200 { first } else { second };
    let cookie = winner.header("set-cookie").unwrap().to_owned();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age="] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(!cookie.contains("Domain="));
    let pair = cookie.split(';').next().unwrap();
    let me = warren.call("GET", "/api/v1/sign-in").header("cookie", pair).send().await;
    assert_eq!((me.status, &me.json()["token_kind"]), (200, &json!("session")));
    let as_bearer = warren.call("GET", "/api/v1/workspaces").token(&secret).send().await;
    assert_eq!(as_bearer.status, 401, "a used link is nothing");
}

// F31
#[tokio::test]
async fn a_link_that_was_not_used_ends_after_ten_minutes_and_opens_no_other_door() {
    let clock = Arc::new(ManualClock::at(Timestamp::from_micros(1_800_000_000_000_000)));
    let warren = Warren::builder().clock(Arc::clone(&clock)).start().await;
    let secret = link(&warren).await;
    let as_bearer = warren.call("GET", "/api/v1/workspaces").token(&secret).send().await;
    assert_eq!((as_bearer.status, as_bearer.code()), (403, "forbidden".into()));
    clock.advance_ms(10 * 60 * 1_000);
    assert_eq!(sign_in(&warren, &secret).await.code(), "token_expired");
    assert_eq!(sign_in(&warren, "wrn_login_nonsense").await.code(), "unauthenticated");
    assert_eq!(sign_in(&warren, &warren.token).await.code(), "unauthenticated", "an admin token is no link");
}

// F31, sec/W01: cookies know no ports, so that only what is made for a browser belongs there
#[tokio::test]
async fn the_cookie_takes_sign_ins_alone_and_a_sign_in_is_no_bearer_token_without_the_pages_header() {
    let warren = Warren::start().await;
    let signed_in = sign_in(&warren, &link(&warren).await).await;
    let pair = signed_in.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let (name, session) = pair.split_once('=').unwrap();
    let user = json!({ "kind": "user", "name": "u", "scopes": ["workspaces:read"] });
    let user = warren.post("/api/v1/tokens", &user).await.json()["secret"].as_str().unwrap().to_owned();
    let list = || warren.call("GET", "/api/v1/workspaces");
    for token in [&warren.token, &user] {
        let refused = list().header("cookie", &format!("{name}={token}")).send().await;
        assert_eq!((refused.status, refused.code()), (401, "unauthenticated".into()));
        assert_eq!(list().token(token).send().await.status, 200, "the control: it is good as a bearer token");
    }
    let refused = list().token(session).send().await;
    assert_eq!((refused.status, refused.code()), (403, "csrf_failed".into()));
    assert_eq!(list().token(session).header("x-warren-csrf", "1").send().await.status, 200);
    assert_eq!(
        list().header("cookie", &pair).send().await.status,
        200,
        "the control: it is good in the cookie"
    );
}

// F41, sec/W01: a page's cookie travels with every connection that any page opens
#[tokio::test]
async fn events_by_websocket_are_refused_to_a_cookie_without_an_origin() {
    let warren = Warren::start().await;
    let signed_in = sign_in(&warren, &link(&warren).await).await;
    let pair = signed_in.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let socket = || {
        let call = warren.call("GET", "/api/v1/events/ws").header("connection", "upgrade");
        let call = call.header("upgrade", "websocket").header("sec-websocket-version", "13");
        call.header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
    };
    let refused = socket().header("cookie", &pair).send().await;
    assert_eq!((refused.status, refused.code()), (403, "origin_not_allowed".into()));
    let strange = socket().header("cookie", &pair).header("origin", "http://evil.example").send().await;
    assert_eq!((strange.status, strange.code()), (403, "origin_not_allowed".into()));
    // The controls: the page itself, and a program with a token.
    let page = socket().header("cookie", &pair).header("origin", &warren.url).open().await;
    let program = socket().token(&warren.token).open().await;
    assert_eq!((page.status().as_u16(), program.status().as_u16()), (101, 101));
}

// F31: CSRF
#[tokio::test]
async fn a_cookie_changes_nothing_without_the_pages_header() {
    let warren = Warren::start().await;
    let secret = link(&warren).await;
    let cookie = sign_in(&warren, &secret).await.header("set-cookie").unwrap().to_owned();
    let pair = cookie.split(';').next().unwrap().to_owned();
    let create = || {
        let body = json!({ "name": "x", "provider": memory() });
        warren.call("POST", "/api/v1/workspaces").header("cookie", &pair).json(&body)
    };
    let refused = create().send().await;
    assert_eq!((refused.status, refused.code()), (403, "csrf_failed".into()));
    assert_eq!(create().header("x-warren-csrf", "1").send().await.status, 201);
    let out = warren.call("DELETE", "/api/v1/sign-in").header("cookie", &pair).header("x-warren-csrf", "1");
    let out = out.send().await;
    assert_eq!(out.status, 204);
    assert!(out.header("set-cookie").unwrap().contains("Max-Age=0"));
    let after = warren.call("GET", "/api/v1/sign-in").header("cookie", &pair).send().await;
    assert_eq!(after.code(), "token_expired");
}

// sec/U04
#[tokio::test]
async fn a_token_counts_only_where_it_belongs() {
    let warren = Warren::start().await;
    let path = "/api/v1/workspaces";
    let query = warren.call("GET", &format!("{path}?token={}", warren.token)).send().await;
    assert_eq!(query.status, 401, "not in a query");
    let twice = warren.call("GET", path).token(&warren.token).token(&warren.token).send().await;
    assert_eq!(twice.status, 401, "not twice");
    let lower =
        warren.call("GET", path).header("authorization", &format!("bearer {}", warren.token)).send().await;
    assert_eq!(lower.status, 200, "a scheme has no case");
    for value in ["Basic abc", "Bearer", "Bearer ", "wrn_admin_x", &format!("Bearer {}", "x".repeat(10_000))]
    {
        let answer = warren.call("GET", path).header("authorization", value).send().await;
        assert_eq!(answer.status, 401, "{}", &value[..value.len().min(20)]);
    }
}

// sec/U06
#[tokio::test]
async fn a_flood_of_wrong_tokens_is_slowed_and_right_ones_pass() {
    let clock = Arc::new(ManualClock::at(Timestamp::from_micros(1_800_000_000_000_000)));
    let warren = Warren::builder().clock(Arc::clone(&clock)).start().await;
    let mut last = 0;
    for _ in 0..301 {
        last = warren.call("GET", "/api/v1/workspaces").token("wrn_user_wrong").send().await.status;
    }
    assert_eq!(last, 429);
    assert_eq!(warren.get("/api/v1/workspaces").await.status, 200);
    clock.advance_ms(60_000);
    let later = warren.call("GET", "/api/v1/workspaces").token("wrn_user_wrong").send().await;
    assert_eq!(later.status, 401);
}

// sec/U06
#[tokio::test]
async fn wrong_sign_in_secrets_are_counted_like_wrong_tokens() {
    let clock = Arc::new(ManualClock::at(Timestamp::from_micros(1_800_000_000_000_000)));
    let warren = Warren::builder().clock(clock).start().await;
    let mut last = 0;
    for _ in 0..301 {
        last = sign_in(&warren, "wrn_login_wrong").await.status;
    }
    assert_eq!(last, 429);
}
