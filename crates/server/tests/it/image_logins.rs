//! Who Warren is to registries of images: set by operators, sealed, and never shown (F52).

use serde_json::{Value, json};
use warren_testkit::{Answer, Warren};

const REGISTRIES: &str = "/api/v1/image-logins";

async fn set(warren: &Warren, registry: &str, body: &Value) -> Answer {
    let path = format!("{REGISTRIES}/{registry}");
    warren.call("PUT", &path).token(&warren.token).json(body).send().await
}

async fn remove(warren: &Warren, registry: &str) -> Answer {
    warren.call("DELETE", &format!("{REGISTRIES}/{registry}")).token(&warren.token).send().await
}

// F52
#[tokio::test]
async fn a_login_is_set_changed_listed_without_its_password_used_and_removed() {
    let warren = Warren::start().await;
    let login = |username: &str, password: &str| json!({ "username": username, "password": password });
    let made = set(&warren, "Registry.Example.com:443", &login("ci", "first-password")).await;
    assert_eq!(made.status, 201, "{}", made.text());
    assert_eq!(
        (&made.json()["registry"], &made.json()["username"]),
        (&json!("registry.example.com"), &json!("ci"))
    );
    assert_eq!(set(&warren, "registry.example.com", &login("bot", "second-password")).await.status, 200);
    assert_eq!(set(&warren, "docker.io", &login("hub", "third-password")).await.status, 201);
    let listed = warren.get(REGISTRIES).await;
    let names: Vec<_> =
        listed.json()["items"].as_array().unwrap().iter().map(|one| one["registry"].clone()).collect();
    assert_eq!(names, ["docker.io", "registry.example.com"]);
    assert!(!listed.text().contains("password"), "{}", listed.text());
    // What a pull gets, also after the key was changed.
    let logins = &warren.fleet.image_logins;
    let rotated = warren.post("/api/v1/secrets/rotate-key", &json!({})).await;
    assert_eq!(rotated.status, 200, "{}", rotated.text());
    let used = logins.login_at("registry.example.com").await.unwrap().unwrap();
    assert_eq!((used.username.as_str(), used.password.reveal()), ("bot", "second-password"));
    assert!(
        logins.login_at("registry.example.com:5000").await.unwrap().is_none(),
        "another port is another registry"
    );
    // They are no secrets of the org, and in the audit log without their passwords.
    assert!(!warren.get("/api/v1/secrets").await.text().contains("IMAGES"));
    let audit = warren.get("/api/v1/audit").await;
    assert!(audit.text().contains("image_login.set") && audit.text().contains("registry.example.com"));
    assert!(!audit.text().contains("password"), "{}", audit.text());
    assert_eq!(remove(&warren, "registry.example.com").await.status, 204);
    assert!(logins.login_at("registry.example.com").await.unwrap().is_none());
    let gone = remove(&warren, "registry.example.com").await;
    assert_eq!((gone.status, gone.code()), (404, "image_login_not_found".into()));
}

// F52
#[tokio::test]
async fn what_cannot_be_a_login_is_refused_and_not_repeated() {
    let warren = Warren::start().await;
    let password = "canary-canary-canary";
    for (registry, body) in [
        ("registry.example.com", json!(password)),
        ("registry.example.com", json!({ "username": "ci", "password": [password] })),
        ("registry.example.com", json!({ "username": "ci", "password": password, "more": password })),
        ("registry.example.com", json!({ "username": "", "password": password })),
        ("registry.example.com", json!({ "username": "a:b", "password": password })),
        ("registry.example.com", json!({ "username": "ci", "password": "" })),
        ("*.example.com", json!({ "username": "ci", "password": password })),
        ("registry.example.com%2Fpath", json!({ "username": "ci", "password": password })),
        ("a%20b", json!({ "username": "ci", "password": password })),
    ] {
        let refused = set(&warren, registry, &body).await;
        assert_eq!(refused.status, 400, "{registry} {body}: {}", refused.text());
        assert!(!refused.text().contains("canary"), "{}", refused.text());
    }
    assert_eq!(warren.get(REGISTRIES).await.json(), json!({ "items": [] }));
}
