use serde_json::json;
use warren_testkit::Warren;

use crate::{local, memory};

// W20, S20
#[tokio::test]
async fn bytes_come_back_as_they_went_in_on_both_providers() {
    let warren = Warren::start().await;
    let bytes: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    for provider in [local(), memory()] {
        let id = warren.workspace(provider).await;
        let path = format!("/api/v1/workspaces/{id}/files?path=dir/data.bin");
        let written = warren.put(&path, bytes.clone()).await;
        assert_eq!((written.status, &written.json()["bytes"]), (201, &json!(300_000)));
        let read = warren.get(&path).await;
        assert_eq!((read.status, &read.body), (200, &bytes));
        assert_eq!(read.header("x-warren-entry"), Some("file"));
        assert_eq!(warren.put(&path, "replaced").await.status, 200);
        assert_eq!(warren.get(&path).await.text(), "replaced");
        let create_new = warren.put(&format!("{path}&create_new=true"), "again").await;
        assert_eq!((create_new.status, create_new.code()), (409, "file_exists".into()));
    }
}

// W20
#[tokio::test]
async fn a_range_is_answered_in_part() {
    let warren = Warren::start().await;
    let id = warren.workspace(memory()).await;
    let path = format!("/api/v1/workspaces/{id}/files?path=a.txt");
    warren.put(&path, "0123456789").await;
    let ranged = warren.call("GET", &path).token(&warren.token).header("range", "bytes=2-4").send().await;
    assert_eq!((ranged.status, ranged.text()), (206, "234".into()));
    assert_eq!(ranged.header("content-range"), Some("bytes 2-4/10"));
    assert_eq!(warren.get(&format!("{path}&offset=8")).await.text(), "89");
    assert_eq!(warren.get(&format!("{path}&offset=3&length=2")).await.text(), "34");
    let beyond = warren.get(&format!("{path}&offset=99")).await;
    assert_eq!((beyond.status, beyond.text()), (200, String::new()));
    let range = |value: &str| warren.call("GET", &path).token(&warren.token).header("range", value).send();
    let beyond = range("bytes=10-20").await;
    assert_eq!((beyond.status, beyond.code()), (416, "range_not_satisfiable".into()));
    assert_eq!(beyond.header("content-range"), Some("bytes */10"), "the client learns how long it is");
    assert_eq!(range("bytes=7-18446744073709551615").await.text(), "789");
    for unsupported in ["bytes=9-1", "bytes=-3", "bytes=0-0,2-3", "items=0-1", "nonsense"] {
        let whole = range(unsupported).await;
        assert_eq!((whole.status, whole.text()), (200, "0123456789".into()), "{unsupported} is ignored");
    }
}

// W20
#[tokio::test]
async fn directories_are_listed_made_moved_and_deleted() {
    let warren = Warren::start().await;
    for provider in [local(), memory()] {
        let id = warren.workspace(provider).await;
        let base = format!("/api/v1/workspaces/{id}/files");
        let made =
            warren.call("POST", &format!("{base}/directory?path=one/two")).token(&warren.token).send().await;
        assert_eq!(made.status, 204);
        warren.put(&format!("{base}?path=one/a.txt"), "a").await;
        let listing = warren.get(&format!("{base}?path=one")).await.json();
        let shown: Vec<_> =
            listing["entries"].as_array().unwrap().iter().map(|entry| &entry["path"]).collect();
        assert_eq!(shown, [&json!("one/a.txt"), &json!("one/two")]);
        let deep = warren.get(&format!("{base}?depth=3")).await.json();
        assert_eq!(deep["entries"].as_array().unwrap().len(), 3, "{deep}");
        let moved =
            warren.post(&format!("{base}/move"), &json!({ "from": "one/a.txt", "to": "b.txt" })).await;
        assert_eq!(moved.status, 204);
        assert_eq!(warren.get(&format!("{base}?path=b.txt")).await.text(), "a");
        let full = warren.delete(&format!("{base}?path=one")).await;
        assert_eq!((full.status, full.code()), (409, "directory_not_empty".into()));
        assert_eq!(warren.delete(&format!("{base}?path=one&recursive=true")).await.status, 204);
        assert_eq!(warren.get(&format!("{base}?path=one")).await.code(), "file_not_found");
        let root = warren.delete(&format!("{base}?path=/&recursive=true")).await;
        assert_eq!((root.status, root.code()), (409, "root_protected".into()));
    }
}

// sec/P02
#[tokio::test]
async fn what_an_agent_wrote_is_never_rendered_by_a_browser() {
    let warren = Warren::start().await;
    let id = warren.workspace(memory()).await;
    let path = format!("/api/v1/workspaces/{id}/files?path=evil.html");
    warren.put(&path, "<script>alert(1)</script>").await;
    let read = warren.get(&path).await;
    assert_eq!(read.header("content-type"), Some("application/octet-stream"));
    assert_eq!(read.header("x-content-type-options"), Some("nosniff"));
    assert!(read.header("content-disposition").unwrap().starts_with("attachment"));
}

// W3, S20
#[tokio::test]
async fn a_missing_capability_is_told() {
    let warren = Warren::start().await;
    let id = warren.workspace(memory()).await;
    let answer = warren.post(&format!("/api/v1/workspaces/{id}/exec"), &json!({ "argv": ["true"] })).await;
    assert_eq!((answer.status, answer.code()), (422, "capability_missing".into()));
}

// W20
#[tokio::test]
async fn changes_are_streamed_as_they_happen() {
    use futures_util::StreamExt as _;
    let warren = Warren::start().await;
    for provider in [crate::local(), crate::memory()] {
        let id = warren.workspace(provider).await;
        let watch =
            warren.call("GET", &format!("/api/v1/workspaces/{id}/files/watch?path=a")).token(&warren.token);
        assert_eq!(
            warren.post(&format!("/api/v1/workspaces/{id}/files/directory?path=a"), &json!({})).await.status,
            204
        );
        let mut stream = watch.header("accept", "text/event-stream").open().await.bytes_stream();
        let mut seen = String::new();
        let reading = async {
            while !seen.contains("a/new.txt") {
                seen.push_str(std::str::from_utf8(&stream.next().await.unwrap().unwrap()).unwrap());
                if seen.contains("watching") && !seen.contains("changed") {
                    warren.put(&format!("/api/v1/workspaces/{id}/files?path=outside.txt"), "x").await;
                    warren.put(&format!("/api/v1/workspaces/{id}/files?path=a/new.txt"), "x").await;
                }
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(20), reading).await.unwrap();
        assert!(seen.contains(r#""kind":"created""#) && !seen.contains("outside"), "{seen}");
    }
}

// W20
#[tokio::test]
async fn who_asks_for_json_waits_for_the_next_changes() {
    let warren = Warren::start().await;
    let id = warren.workspace(crate::memory()).await;
    let path = format!("/api/v1/workspaces/{id}/files/watch");
    let quiet = warren.get(&format!("{path}?wait_ms=20")).await;
    assert_eq!((quiet.status, quiet.json()), (200, json!({ "changes": [], "lagged": false })));
    let writing = async {
        for count in 0..200 {
            warren.put(&format!("/api/v1/workspaces/{id}/files?path=f{count}"), "x").await;
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    let seen = tokio::select! {
        seen = warren.get(&path) => seen.json(),
        () = writing => panic!("nothing was seen"),
    };
    assert_eq!(seen["changes"][0]["kind"], "created", "{seen}");
    let refused = warren.get(&format!("{path}?wait_ms=60001")).await;
    assert_eq!(refused.code(), "invalid_request");
}
