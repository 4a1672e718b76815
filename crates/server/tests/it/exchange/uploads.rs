//! Files that come in as forms (X32), and files that go from one workspace to another (X33).

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use warren_model::{Limits, Status, WorkspaceId};
use warren_testkit::{Answer, Warren};

use super::{agent, with_agent};
use crate::fleet::{create, events, eventually, register, reporting};
use crate::{local, memory};

const BOUNDARY: &str = "a-boundary-of-a-form";
const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";

/// One part of a form, with its header lines as they are given.
fn part(head: &str, contents: &[u8]) -> Vec<u8> {
    let mut part = format!("--{BOUNDARY}\r\n{head}\r\n\r\n").into_bytes();
    part.extend_from_slice(contents);
    part.extend_from_slice(b"\r\n");
    part
}

fn file(name: &str, media_type: Option<&str>, contents: &[u8]) -> Vec<u8> {
    let mut head = format!("Content-Disposition: form-data; name=\"file\"; filename=\"{name}\"");
    if let Some(media_type) = media_type {
        head += &format!("\r\nContent-Type: {media_type}");
    }
    part(&head, contents)
}

fn form(parts: &[Vec<u8>]) -> Vec<u8> {
    let mut whole = parts.concat();
    whole.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
    whole
}

async fn upload(warren: &Warren, id: WorkspaceId, form: Vec<u8>) -> Answer {
    let call = warren.call("POST", &format!("/api/v1/workspaces/{id}/uploads")).token(&warren.token);
    call.header("content-type", &format!("multipart/form-data; boundary={BOUNDARY}")).body(form).send().await
}

/// All files below `uploads/`, with their sizes.
pub(super) async fn landed(warren: &Warren, id: WorkspaceId) -> BTreeMap<String, u64> {
    let listing = warren.get(&format!("/api/v1/workspaces/{id}/files?path=uploads&depth=9&limit=5000")).await;
    if listing.status == 404 {
        return BTreeMap::new();
    }
    let listing = listing.json();
    let entries = listing["entries"].as_array().unwrap_or_else(|| panic!("{listing}"));
    let files = entries.iter().filter(|entry| entry["kind"] == "file");
    files.map(|file| (file["path"].as_str().unwrap().to_owned(), file["bytes"].as_u64().unwrap())).collect()
}

pub(super) async fn read(warren: &Warren, id: WorkspaceId, url: &Value) -> Vec<u8> {
    let path = url.as_str().and_then(|url| url.strip_prefix("workspace:")).unwrap_or_else(|| panic!("{url}"));
    let answer = warren.get(&format!("/api/v1/workspaces/{id}/files?path={path}")).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    answer.body
}

// X32
#[tokio::test]
async fn a_form_of_files_becomes_parts_that_a_message_carries() {
    let (warren, peer) = with_agent().await;
    let (id, _) = agent(&warren, json!({})).await;
    let large: Vec<u8> = (0..=255_u8).cycle().take(3 << 20).collect();
    let files = [
        file("a.txt", Some("text/markdown"), b"# hello"),
        file("a.txt", None, PNG),
        file("large.bin", Some("application/octet-stream"), &large),
        file("empty", None, b""),
    ];
    let uploaded = upload(&warren, id, form(&files)).await;
    assert_eq!(uploaded.status, 201, "{}", uploaded.text());
    let uploaded = uploaded.json();
    let parts = uploaded["parts"].as_array().unwrap();
    let told: Vec<_> = parts.iter().map(|part| (&part["filename"], &part["media_type"])).collect();
    assert_eq!(told[0], (&json!("a.txt"), &json!("text/markdown")), "the declared type is kept");
    assert_eq!(told[1], (&json!("a-2.txt"), &json!("image/png")), "and without one, the bytes tell");
    assert_eq!(read(&warren, id, &parts[0]["url"]).await, b"# hello");
    assert_eq!(read(&warren, id, &parts[1]["url"]).await, PNG);
    assert_eq!(read(&warren, id, &parts[2]["url"]).await, large);
    assert_eq!(read(&warren, id, &parts[3]["url"]).await, b"");
    assert_eq!(uploaded["bytes"], json!(7 + PNG.len() + large.len()));
    eventually("each file is an event", async || {
        events(&warren, Some(id)).await.iter().filter(|event| event["data"]["operation"] == "upload").count()
            == 4
    })
    .await;

    let conversation =
        warren.post(&format!("/api/v1/workspaces/{id}/conversations"), &json!({})).await.json();
    let conversation = conversation["id"].as_str().unwrap();
    let path = format!("/api/v1/workspaces/{id}/conversations/{conversation}/messages");
    let said = json!({ "message": { "parts": [{ "text": "look" }, parts[0]] }, "wait_ms": 10_000 });
    let posted = warren.post(&path, &said).await;
    assert_eq!(posted.status, 200, "{}", posted.text());
    let heard = serde_json::to_value(&peer.seen()[0].message.parts[1]).unwrap();
    assert_eq!(heard["url"], parts[0]["url"], "the agent is told where its file is: {heard}");

    let outside = json!({ "message": { "parts": [{ "url": "workspace:../../etc/passwd" }] } });
    let refused = warren.post(&path, &outside).await;
    assert_eq!((refused.status, refused.code()), (400, "invalid_path".into()), "{}", refused.text());
}

// X32
#[tokio::test]
async fn one_byte_too_many_is_refused_and_nothing_lands() {
    let limits = Limits { max_attachment_bytes: 1_000, max_attachments_bytes: 1_500, ..Limits::default() };
    let warren = Warren::builder().limits(limits).start().await;
    for provider in [local(), memory()] {
        let id = warren.workspace(provider).await;
        let of = |bytes: usize| file("f.txt", None, &vec![b'x'; bytes]);
        let refused = upload(&warren, id, form(&[of(10), of(1_001)])).await;
        assert_eq!((refused.status, refused.code()), (413, "payload_too_large".into()));
        let detail = refused.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains("file[1]") && detail.contains("limits.max_attachment_bytes"), "{detail}");
        let refused = upload(&warren, id, form(&[of(1_000), of(501)])).await;
        assert_eq!((refused.status, refused.code()), (413, "payload_too_large".into()));
        assert!(refused.text().contains("limits.max_attachments_bytes"), "{}", refused.text());
        assert_eq!(landed(&warren, id).await, BTreeMap::new(), "what came before it is gone too");
        assert_eq!(upload(&warren, id, form(&[of(1_000), of(500)])).await.status, 201);
        let sizes: Vec<u64> = landed(&warren, id).await.into_values().collect();
        assert_eq!(sizes.iter().sum::<u64>(), 1_500);
    }
}

// X32, W22: without any setting.
#[tokio::test]
async fn a_file_with_a_message_may_be_larger_than_one_that_is_written() {
    let warren = Warren::start().await;
    for provider in [local(), memory()] {
        let id = warren.workspace(provider).await;
        let of = |bytes: usize| file("f.bin", None, &vec![b'x'; bytes]);
        let refused = upload(&warren, id, form(&[of((25 << 20) + 1)])).await;
        assert_eq!((refused.status, refused.code()), (413, "payload_too_large".into()), "{}", refused.text());
        assert_eq!(landed(&warren, id).await, BTreeMap::new());
        let uploaded = upload(&warren, id, form(&[of(25 << 20)])).await;
        assert_eq!(uploaded.status, 201, "{}", uploaded.text());
        assert_eq!(read(&warren, id, &uploaded.json()["parts"][0]["url"]).await.len(), 25 << 20);
        let path = format!("/api/v1/workspaces/{id}/files?path=by-hand");
        let refused = warren.put(&path, vec![b'x'; (10 << 20) + 1]).await;
        assert_eq!((refused.status, refused.code()), (413, "file_too_large".into()), "{}", refused.text());
    }
}

// X32, sec/P02
#[tokio::test]
async fn a_file_that_is_not_what_it_is_said_to_be_is_refused() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    for (media_type, contents) in [
        ("image/png", b"<html><script>".as_slice()),
        ("text/plain", PNG),
        ("nonsense", b"x"),
        ("image/jpeg", PNG),
    ] {
        let refused = upload(&warren, id, form(&[file("f", Some(media_type), contents)])).await;
        assert_eq!((refused.status, refused.code()), (400, "invalid_upload".into()), "{media_type}");
    }
    assert_eq!(landed(&warren, id).await, BTreeMap::new());
}

// sec/P01
#[tokio::test]
async fn a_file_lands_under_a_plain_name_or_not_at_all() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    let named = |disposition: &str| {
        form(&[part(&format!("Content-Disposition: form-data; name=\"file\"; {disposition}"), b"x")])
    };
    // Control: what is stored under a plain name is found under it, so that a traversal would be seen.
    let plain = upload(&warren, id, named("filename=\"passwd\"")).await.json();
    assert!(plain["parts"][0]["url"].as_str().unwrap().ends_with("/passwd"));
    let before = landed(&warren, id).await.len();
    for cleaned in
        ["filename=\"../../../passwd\"", "filename=\"/etc/passwd\"", "filename=\"..\\\\..\\\\passwd\""]
    {
        let stored = upload(&warren, id, named(cleaned)).await;
        assert_eq!(stored.status, 201, "{cleaned}: {}", stored.text());
        assert_eq!(stored.json()["parts"][0]["filename"], "passwd", "{cleaned}");
    }
    let all = landed(&warren, id).await;
    assert_eq!(all.len(), before + 3);
    assert!(all.keys().all(|path| path.split('/').count() == 3 && path.starts_with("uploads/")), "{all:?}");
    let long = format!("filename=\"{}\"", "x".repeat(4_000));
    let refused = [
        "filename=\"..\"",
        "filename=\"\"",
        "filename=\"a\"; filename=\"b\"",
        "filename=\"a\"; filename*=utf-8''b",
        "filename*=utf-8''a%00b",
        long.as_str(),
        "",
    ];
    for refused in refused {
        let answer = upload(&warren, id, named(refused)).await;
        assert_eq!((answer.status, answer.code()), (400, "invalid_upload".into()), "{refused}");
    }
    let nul = upload(&warren, id, named("filename=\"a\0b\"")).await;
    assert_eq!((nul.status, nul.code()), (400, "invalid_upload".into()));
    assert_eq!(landed(&warren, id).await, all, "nothing else came");
    assert_eq!(
        warren.get(&format!("/api/v1/workspaces/{id}/files")).await.json()["entries"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

// sec/P04
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hundred_uploads_at_once_do_not_pass_the_quota() {
    let quota = 100_000;
    let limits = Limits { max_uploads_bytes: quota, ..Limits::default() };
    let warren = Warren::builder().limits(limits).start().await;
    let id = warren.workspace(local()).await;
    let at_once = async |bytes: usize| {
        let uploads = (0..100).map(|_| upload(&warren, id, form(&[file("f", None, &vec![b'x'; bytes])])));
        let answers = futures_util::future::join_all(uploads).await;
        let refused: Vec<&Answer> = answers.iter().filter(|answer| answer.status != 201).collect();
        for answer in &refused {
            assert_eq!(answer.status, 507, "{}", answer.text());
            assert_eq!(answer.code(), "storage_full");
        }
        answers.len() - refused.len()
    };
    // Each fits alone; two that are half there may also be in each other's way.
    assert!(at_once(90_000).await <= 1);
    let used = landed(&warren, id).await.values().sum::<u64>();
    assert!(used == 0 || used == 90_000, "{used}");
    // Small ones come in one piece: the room that is left is used to the last byte.
    assert_eq!(at_once(1_000).await as u64, (quota - used) / 1_000);
    assert_eq!(landed(&warren, id).await.values().sum::<u64>(), quota);
    assert_eq!(at_once(1).await, 0);
    // Control: where there is room, a hundred come in and are more than that.
    let other = Warren::start().await;
    let id = other.workspace(local()).await;
    let uploads = (0..100).map(|_| upload(&other, id, form(&[file("f", None, &vec![b'x'; 90_000])])));
    let answers = futures_util::future::join_all(uploads).await;
    assert!(answers.iter().all(|answer| answer.status == 201));
    assert_eq!(landed(&other, id).await.values().sum::<u64>(), 9_000_000);
}

// sec/P04: deleted files make room again
#[tokio::test]
async fn what_is_deleted_makes_room_and_what_failed_took_none() {
    let limits = Limits { max_uploads_bytes: 1_000, max_attachment_bytes: 900, ..Limits::default() };
    let warren = Warren::builder().limits(limits).start().await;
    let id = warren.workspace(memory()).await;
    let of = |bytes: usize| form(&[file("f", None, &vec![b'x'; bytes])]);
    for _ in 0..3 {
        assert_eq!(upload(&warren, id, of(901)).await.status, 413);
    }
    assert_eq!(upload(&warren, id, of(900)).await.status, 201);
    assert_eq!(upload(&warren, id, of(101)).await.status, 507);
    assert_eq!(
        warren.delete(&format!("/api/v1/workspaces/{id}/files?path=uploads&recursive=true")).await.status,
        204
    );
    assert_eq!(upload(&warren, id, of(900)).await.status, 201);
}

/// A request by hand, so that it can be cut.
fn request(warren: &Warren, id: WorkspaceId, form: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST /api/v1/workspaces/{id}/uploads HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
         Content-Type: multipart/form-data; boundary={BOUNDARY}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        warren.address,
        warren.token,
        form.len(),
    );
    [head.as_bytes(), form].concat()
}

// sec/P05
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_upload_that_is_cut_at_any_byte_leaves_nothing() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    let form = form(&[file("first", None, &[b'x'; 600]), file("second", None, &[b'y'; 600])]);
    let whole = request(&warren, id, &form);
    let head = whole.len() - form.len();
    // Control: what is not cut is there.
    let mut stream = TcpStream::connect(warren.address).await.unwrap();
    stream.write_all(&whole).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    let kept = landed(&warren, id).await;
    assert_eq!(kept.len(), 2, "{kept:?}");
    // The last line break behind the last boundary is no part of the form.
    let end = whole.len() - 2;
    for round in 0..500 {
        let cut = head + (end - head) * round / 500;
        let mut stream = TcpStream::connect(warren.address).await.unwrap();
        stream.write_all(&whole[..cut]).await.unwrap();
        if round % 2 == 0 {
            // Not a word more, but the line stays open for the answer.
            stream.shutdown().await.unwrap();
            let mut answer = String::new();
            let _ = stream.read_to_string(&mut answer).await;
            assert!(!answer.starts_with("HTTP/1.1 201"), "cut at {cut}: {answer}");
        }
    }
    eventually("nothing is left of them", async || landed(&warren, id).await == kept).await;
    let folders = async || {
        let uploads = warren.get(&format!("/api/v1/workspaces/{id}/files?path=uploads")).await.json();
        uploads["entries"].as_array().unwrap().len()
    };
    eventually("no empty folder either", async || folders().await == 1).await;
    eventually("and no file that was begun", async || staged(warren.folder()) == 0).await;
}

/// Files that are being written, beside the workspaces.
fn staged(folder: &std::path::Path) -> usize {
    let mut found = 0;
    let mut pending = vec![folder.to_path_buf()];
    while let Some(next) = pending.pop() {
        let Ok(entries) = std::fs::read_dir(&next) else { continue };
        for entry in entries.flatten() {
            let path = entry.path();
            if path.is_dir() {
                pending.push(path);
            } else if path.to_string_lossy().contains(".staging/")
                && !path.to_string_lossy().ends_with(".lease")
            {
                found += 1;
            }
        }
    }
    found
}

// sec/P06
#[tokio::test]
async fn a_form_that_has_no_end_of_parts_or_headers_is_refused_early() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    let small = || file("f", None, b"x");
    // Control: as many as may come, and headers of a size that may come.
    let twenty: Vec<_> = (0..20).map(|_| small()).collect();
    assert_eq!(upload(&warren, id, form(&twenty)).await.status, 201);
    let padded = |bytes: usize| {
        part(
            &format!("X-Padding: {}\r\nContent-Disposition: form-data; filename=\"f\"", "x".repeat(bytes)),
            b"x",
        )
    };
    assert_eq!(upload(&warren, id, form(&[padded(8_000)])).await.status, 201);
    let before = landed(&warren, id).await;

    let many: Vec<_> = (0..21).map(|_| small()).collect();
    let cases = [
        ("21 parts", form(&many)),
        ("a long head", form(&[padded(17_000)])),
        ("a head of a megabyte", form(&[padded(1 << 20)])),
        ("no last boundary", small()),
        ("half a last boundary", [small(), format!("--{BOUNDARY}").into_bytes()].concat()),
        ("nothing", Vec::new()),
        ("no parts", form(&[])),
        ("no boundary at all", vec![b'x'; 1 << 20]),
        ("a field that is no file", form(&[part("Content-Disposition: form-data; name=\"a\"", b"x")])),
    ];
    for (name, form) in cases {
        let refused = upload(&warren, id, form).await;
        assert_eq!((refused.status, refused.code()), (400, "invalid_upload".into()), "{name}");
    }
    // A million parts: refused after the first of them, long before they have all been sent.
    let mut stream = TcpStream::connect(warren.address).await.unwrap();
    let million = small().repeat(1_000_000 / 4);
    let bytes = request(&warren, id, &million);
    let _ = stream.write_all(&bytes[..bytes.len().min(1 << 20)]).await;
    let mut answer = vec![0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(String::from_utf8_lossy(&answer), "HTTP/1.1 400");
    assert_eq!(landed(&warren, id).await, before);

    let untyped = warren.call("POST", &format!("/api/v1/workspaces/{id}/uploads")).token(&warren.token);
    assert_eq!(untyped.body("x").send().await.code(), "unsupported_media_type");
    let unbound = warren.call("POST", &format!("/api/v1/workspaces/{id}/uploads")).token(&warren.token);
    let unbound = unbound.header("content-type", "multipart/form-data").body("x").send().await;
    assert_eq!((unbound.status, unbound.code()), (400, "invalid_upload".into()));
}

/// Two that may talk to each other, with files to hand over: (lead, its credential), (helper, its credential).
async fn pair(warren: &Warren) -> [(WorkspaceId, String); 2] {
    let lead = agent(warren, json!({ "name": "lead" })).await;
    let helper = agent(warren, json!({ "name": "helper", "parent_id": lead.0.to_string() })).await;
    [lead, helper]
}

fn pointing(path: &str) -> Value {
    json!({ "parts": [{ "text": "see this" }, { "url": format!("workspace:{path}") }] })
}

// X33
#[tokio::test]
async fn a_file_goes_along_with_work_and_is_the_receivers_own_copy() {
    let (warren, peer) = with_agent().await;
    let [lead, helper] = pair(&warren).await;
    let own = format!("/api/v1/workspaces/{}/files?path=out/report.md", lead.0);
    assert_eq!(warren.put(&own, "# first").await.status, 201);
    let delegations = format!("/api/v1/workspaces/{}/delegations", lead.0);
    let wish = json!({ "to": helper.0.to_string(), "message": pointing("out/report.md"), "wait_ms": 10_000 });
    let made = warren.call("POST", &delegations).token(&lead.1).json(&wish).send().await;
    assert_eq!(made.status, 201, "{}", made.text());
    let messages = format!("/api/v1/workspaces/{}/messages", helper.0);
    let wish = json!({ "message": pointing("out/report.md"), "wait_ms": 10_000 });
    let sent = warren.call("POST", &messages).token(&lead.1).json(&wish).send().await;
    assert_eq!(sent.status, 200, "{}", sent.text());
    assert_eq!(warren.put(&own, "# changed").await.status, 200);
    assert_eq!(peer.seen().len(), 2);
    for turn in peer.seen() {
        let part = serde_json::to_value(&turn.message.parts[1]).unwrap();
        assert_eq!((&part["filename"], &part["media_type"]), (&json!("report.md"), &json!("text/plain")));
        assert!(part["url"].as_str().unwrap().starts_with("workspace:uploads/"), "{part}");
        assert_eq!(read(&warren, helper.0, &part["url"]).await, b"# first", "as it was when it was sent");
    }
    assert_eq!(landed(&warren, helper.0).await.len(), 2);
}

// X33
#[tokio::test]
async fn files_of_an_answer_are_the_askers_own_copies_and_one_that_cannot_be_copied_says_why() {
    let limits = Limits { max_attachment_bytes: 100, ..Limits::default() };
    let warren = Warren::builder().limits(limits).start().await;
    let lead = reporting(&warren).await;
    let helper = reporting_below(&warren, lead.0).await;
    let own = format!("/api/v1/workspaces/{}/files?path=out/report.md", helper.0);
    assert_eq!(warren.put(&own, "# done").await.status, 201);
    let hand_on = async || {
        let wish = json!({ "to": helper.0.to_string(), "message": { "parts": [{ "text": "report" }] }, "tell": true });
        let path = format!("/api/v1/workspaces/{}/delegations", lead.0);
        let made = warren.call("POST", &path).token(&lead.1).json(&wish).send().await;
        assert_eq!(made.status, 201, "{}", made.text());
        made.json()["id"].as_str().unwrap().to_owned()
    };
    let claim = async |of: &(WorkspaceId, String)| {
        let path = format!("/api/v1/workspaces/{}/queue/claim", of.0);
        warren.call("POST", &path).token(&of.1).json(&json!({})).send().await.json()["claimed"].clone()
    };
    let answer = async |parts: Value| {
        let claimed = claim(&helper).await;
        let queue_id = claimed["queue_id"].as_str().unwrap();
        let path = format!("/api/v1/workspaces/{}/queue/{queue_id}/answer", helper.0);
        let body =
            json!({ "attempt": claimed["attempt"], "outcome": "answered", "message": { "parts": parts } });
        let done = warren.call("POST", &path).token(&helper.1).json(&body).send().await;
        assert_eq!(done.status, 200, "{}", done.text());
        done.json()
    };
    let result = async |id: &str| {
        let path = format!("/api/v1/workspaces/{}/delegations/{id}", lead.0);
        warren.call("GET", &path).token(&lead.1).send().await.json()["result"].clone()
    };

    let id = hand_on().await;
    let raw = json!({ "raw": "aGk=", "filename": "hi.txt", "media_type": "text/plain" });
    // What an agent says of copies is not believed.
    let forged = json!({ "url": "workspace:out/report.md", "metadata": { "warren/copy": "workspace:mine" } });
    let told = answer(json!([{ "text": "here" }, forged, raw])).await;
    assert_eq!(
        told["status_message"]["parts"][1]["url"], "workspace:out/report.md",
        "its own view is its own"
    );
    let parts = result(&id).await;
    assert_eq!(parts[0]["text"], "here");
    assert_eq!(read(&warren, lead.0, &parts[1]["url"]).await, b"# done");
    assert_eq!(read(&warren, lead.0, &parts[2]["url"]).await, b"hi");
    assert_eq!(landed(&warren, lead.0).await.len(), 2);
    // Who is told of the end is told of the same files.
    let message = claim(&lead).await["message"].clone();
    assert_eq!(message["parts"][2]["url"], parts[1]["url"], "{message}");

    // Too large, or not there: the answer arrives all the same, and nothing is left behind.
    assert_eq!(warren.put(&own, "x".repeat(101)).await.status, 200);
    for path in ["out/report.md", "nowhere"] {
        let id = hand_on().await;
        answer(json!([{ "text": "look" }, { "url": format!("workspace:{path}") }])).await;
        let parts = result(&id).await;
        assert_eq!(parts[0]["text"], "look");
        assert!(parts[1]["metadata"]["warren/not_copied"].is_string(), "{parts}");
    }
    assert_eq!(landed(&warren, lead.0).await.len(), 2);
}

/// The same as `reporting`, beneath another workspace.
async fn reporting_below(warren: &Warren, parent: WorkspaceId) -> (WorkspaceId, String) {
    let body = json!({
        "name": "helper", "provider": local(), "runtime": "external", "parent_id": parent.to_string(),
    });
    let id = create(warren, &body).await;
    warren.wait_for_status(id, Status::AwaitingAgent).await;
    (id, register(warren, id).await)
}

// X33, X16
#[tokio::test]
async fn the_same_message_again_brings_its_files_once() {
    let (warren, _) = with_agent().await;
    let [lead, helper] = pair(&warren).await;
    let own = format!("/api/v1/workspaces/{}/files?path=a.txt", lead.0);
    warren.put(&own, "one").await;
    let mut message = pointing("a.txt");
    message["id"] = json!("m-1");
    let path = format!("/api/v1/workspaces/{}/messages", helper.0);
    let send = async |message: &Value| {
        warren.call("POST", &path).token(&lead.1).json(&json!({ "message": message })).send().await
    };
    let first = send(&message).await;
    assert!(matches!(first.status, 200 | 202), "{}", first.text());
    let brought = landed(&warren, helper.0).await;
    assert_eq!(brought.len(), 1, "{brought:?}");
    assert_eq!(warren.delete(&own).await.status, 204);
    let again = send(&message).await.json();
    assert_eq!(again["is_repeat"], true, "{again}");
    assert_eq!(landed(&warren, helper.0).await, brought);

    warren.put(&format!("/api/v1/workspaces/{}/files?path=b.txt", lead.0), "two").await;
    let mut other = pointing("b.txt");
    other["id"] = json!("m-1");
    let refused = send(&other).await;
    assert_eq!(
        (refused.status, refused.code()),
        (422, "idempotency_key_reused".into()),
        "{}",
        refused.text()
    );
    assert_eq!(landed(&warren, helper.0).await, brought, "what was not accepted leaves nothing");
}

// X33
#[tokio::test]
async fn a_file_that_cannot_go_is_named_and_nothing_is_sent() {
    let limits = Limits { max_attachment_bytes: 100, ..Limits::default() };
    let agents = warren_testkit::ScriptedAgent::default();
    let warren =
        Warren::builder().limits(limits).called_agents(std::sync::Arc::new(agents.clone())).start().await;
    let [lead, helper] = pair(&warren).await;
    let stranger = agent(&warren, json!({ "name": "stranger" })).await;
    let policy = format!("/api/v1/workspaces/{}/peer-policy", stranger.0);
    let alone = json!({ "circle": "nobody" });
    assert_eq!(warren.call("PUT", &policy).token(&warren.token).json(&alone).send().await.status, 200);
    let put = async |path: &str, bytes: usize| {
        let path = format!("/api/v1/workspaces/{}/files?path={path}", lead.0);
        assert_eq!(warren.put(&path, vec![b'x'; bytes]).await.status, 201);
    };
    put("good.txt", 100).await;
    put("large.txt", 101).await;
    put("dir/x.txt", 1).await;
    let run = json!({ "argv": ["ln", "-s", "/etc/passwd", "link"] });
    assert_eq!(warren.post(&format!("/api/v1/workspaces/{}/exec", lead.0), &run).await.status, 200);
    let cases = [
        ("nowhere.txt", 404, "file_not_found"),
        ("large.txt", 413, "payload_too_large"),
        ("dir", 409, "not_a_file"),
        ("link", 409, "not_a_file"),
        ("../../etc/passwd", 403, "path_escapes"),
    ];
    for (path, status, code) in cases {
        let mut message = pointing("good.txt");
        message["parts"].as_array_mut().unwrap().push(json!({ "url": format!("workspace:{path}") }));
        let sent = json!({ "message": message });
        let to = format!("/api/v1/workspaces/{}/messages", helper.0);
        let by_message = warren.call("POST", &to).token(&lead.1).json(&sent).send().await;
        let sent = json!({ "to": helper.0.to_string(), "message": message });
        let from = format!("/api/v1/workspaces/{}/delegations", lead.0);
        let by_delegation = warren.call("POST", &from).token(&lead.1).json(&sent).send().await;
        for refused in [by_message, by_delegation] {
            assert_eq!((refused.status, refused.code()), (status, code.into()), "{path}: {}", refused.text());
            assert!(refused.text().contains("message.parts[2]"), "{}", refused.text());
        }
    }
    let hidden = json!({ "message": pointing("good.txt") });
    let to = format!("/api/v1/workspaces/{}/messages", stranger.0);
    assert_eq!(warren.call("POST", &to).token(&lead.1).json(&hidden).send().await.status, 404);
    for id in [helper.0, stranger.0] {
        assert_eq!(landed(&warren, id).await, BTreeMap::new());
    }
    assert_eq!(agents.seen().len(), 0);
}
