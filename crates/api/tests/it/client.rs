use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _};
use warren_api::client::{ByteRange, Client, Error, EventQuery, McpAgreement, PathContents, WorkspaceQuery};
use warren_api::{EventFrame, ExecFrame, ExecRequest, PatchWorkspace, SendMessage, Status};

use crate::peer::{Peer, answer, json};

const TOKEN: &str = "wrn_admin_secret";
const EVENT: &str = r#"{"seq":7,"at":"2026-11-15T00:00:00.000000Z","kind":"workspace.lifecycle.created","workspace_id":null,"principal":{"kind":"user","id":"u"},"data":{}}"#;

fn client_of(peer: &Peer) -> Client {
    Client::new(&peer.url, Some(TOKEN)).unwrap()
}

fn workspace_json() -> String {
    serde_json::json!({
        "id": "w1", "org_id": "o", "parent_id": null, "name": "demo", "status": "online", "reason": null,
        "desired": "running", "runtime": "hosted", "provider": {"kind": "memory"}, "capabilities": ["fs"],
        "tier": "basic", "provision_timeout_ms": 600_000, "generation": 1, "observed_generation": 1, "version": 3, "created_at": "t", "updated_at": "t",
        "removed_at": null, "added_by_a_later_version": true,
    })
    .to_string()
}

// S24
#[tokio::test]
async fn a_request_carries_the_token_and_an_id_cannot_change_the_route() {
    let peer = Peer::start(vec![json("200 OK", &workspace_json())]);
    let workspace = client_of(&peer).workspace("../tokens?x=1").await.unwrap();
    assert_eq!((workspace.name.as_str(), workspace.status), ("demo", Status::Online));
    let seen = peer.seen();
    assert_eq!(seen[0].line(), "GET /api/v1/workspaces/..%2Ftokens%3Fx=1 HTTP/1.1");
    assert_eq!(seen[0].header("authorization"), Some("Bearer wrn_admin_secret"));
}

// S24: `DELETE …/queue/..` would be `DELETE …/queue`, which empties it
#[tokio::test]
async fn what_no_path_or_header_can_hold_is_refused_before_any_call() {
    let client = Client::new("http://127.0.0.1:9", Some(TOKEN)).unwrap();
    let unsendable = |error: Error| matches!(error, Error::Unsendable) && !error.is_transient();
    for id in ["", ".", "..", "a\r\nb", "a\tb", "\0"] {
        assert!(unsendable(client.drop_queued_message("w1", id).await.unwrap_err()), "{id:?}");
        assert!(unsendable(client.workspace(id).await.unwrap_err()), "{id:?}");
        let answer = client.mcp(Some(id), &serde_json::json!({}), &McpAgreement::default()).await;
        assert!(unsendable(answer.unwrap_err()), "{id:?}");
    }
    let key = client.send_message("w1", &SendMessage::default(), Some("a\r\nX-Injected: 1")).await;
    assert!(unsendable(key.unwrap_err()));
}

// S24
#[tokio::test]
async fn queries_and_preconditions_reach_the_server() {
    let page = format!(r#"{{"items":[{}],"next_cursor":null}}"#, workspace_json());
    let peer = Peer::start(vec![json("200 OK", &page), json("200 OK", &workspace_json())]);
    let client = client_of(&peer);
    let query = WorkspaceQuery {
        name: Some("a b&c".into()),
        status: Some(Status::AwaitingAgent),
        includes_removed: true,
        ..WorkspaceQuery::default()
    };
    assert_eq!(client.workspaces(&query).await.unwrap().items.len(), 1);
    let patch = PatchWorkspace { parent_id: Some(None), ..PatchWorkspace::default() };
    client.patch_workspace("w1", &patch, Some(3)).await.unwrap();
    let seen = peer.seen();
    assert_eq!(
        seen[0].line(),
        "GET /api/v1/workspaces?status=awaiting_agent&name=a+b%26c&include_removed=true HTTP/1.1"
    );
    assert_eq!(seen[1].header("if-match"), Some("\"3\""));
    assert_eq!(seen[1].body, br#"{"parent_id":null}"#);
}

// S24
#[tokio::test]
async fn a_problem_document_becomes_a_typed_error() {
    let problem = r#"{"type":"/x","title":"There is no such workspace.","status":404,"code":"workspace_not_found","remedy":"Look.","request_id":"r"}"#;
    let peer =
        Peer::start(vec![answer("404 Not Found", "content-type: application/problem+json\r\n", problem)]);
    let error = client_of(&peer).workspace("w1").await.unwrap_err();
    assert_eq!(error.code(), Some("workspace_not_found"));
    assert!(matches!(error, Error::Problem(problem) if problem.status == 404 && problem.detail.is_none()));
}

// S24
#[tokio::test]
async fn an_answer_of_something_else_than_warren_is_told_apart() {
    let peer = Peer::start(vec![
        answer("502 Bad Gateway", "content-type: text/html\r\n", "<h1>nginx</h1>"),
        json("200 OK", r#"{"items":"#),
    ]);
    let client = client_of(&peer);
    let bad = client.workspace("w1").await.unwrap_err();
    assert!(
        matches!(&bad, Error::BadAnswer { detail } if detail.contains("502") && detail.contains("nginx")),
        "{bad:?}"
    );
    let bad = client.info().await.unwrap_err();
    assert!(matches!(bad, Error::BadAnswer { .. }), "{bad:?}");
}

// S24
#[tokio::test]
async fn a_redirect_is_not_followed_so_that_the_token_stays_home() {
    let peer = Peer::start(vec![answer("302 Found", "location: http://127.0.0.1:9/\r\n", "")]);
    let error = client_of(&peer).info().await.unwrap_err();
    assert!(matches!(error, Error::BadAnswer { .. }), "{error:?}");
}

// S24
#[tokio::test]
async fn nobody_listening_is_unreachable() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = Client::new(&url, None).unwrap().info().await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }) && error.is_transient(), "{error:?}");
}

// S24
#[test]
fn addresses_and_tokens_that_cannot_be_are_refused_before_any_call() {
    for url in ["", "127.0.0.1:7878", "ftp://host", "http://user:pass@host", "http://host/?a=b"] {
        let refused = Client::new(url, None);
        assert!(matches!(refused, Err(Error::InvalidUrl { .. })), "{url}: {refused:?}");
    }
    assert!(matches!(Client::new("http://host", Some("a\nb")), Err(Error::InvalidToken)));
    let shown = format!("{:?}", Client::new("http://host", Some(TOKEN)).unwrap());
    assert!(!shown.contains(TOKEN), "{shown}");
}

// S24
#[tokio::test]
async fn events_are_read_however_the_stream_is_cut() {
    let stream = format!(
        ": hello\n\nid: 7\ndata: {{\"type\":\"event\",\"event\":{EVENT}}}\n\ndata: {{\"type\":\"caught_up\",\"seq\":7}}\n\n"
    );
    let mut pieces =
        vec![b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\r\n".to_vec()];
    pieces.extend(stream.as_bytes().chunks(3).map(<[u8]>::to_vec));
    let peer = Peer::start(vec![pieces]);
    let query = EventQuery { after: Some(6), ..EventQuery::default() };
    let frames: Vec<EventFrame> = client_of(&peer).events(&query).await.unwrap().try_collect().await.unwrap();
    assert!(matches!(&frames[0], EventFrame::Event { event } if event.seq == 7), "{frames:?}");
    assert_eq!(frames[1], EventFrame::CaughtUp { seq: 7 });
    assert_eq!(peer.seen()[0].line(), "GET /api/v1/events?after=6 HTTP/1.1");
}

// S24
#[tokio::test]
async fn a_frame_that_cannot_be_read_ends_the_stream_with_an_error() {
    let stream =
        "data: {\"type\":\"stdout\",\"base64\":\"aGk=\"}\n\ndata: {\"type\":\"noise\"}\n\ndata: {}\n\n";
    let peer = Peer::start(vec![answer("200 OK", "content-type: text/event-stream\r\n", stream)]);
    let mut frames = client_of(&peer).exec_stream("w1", &ExecRequest::default()).await.unwrap();
    assert!(matches!(frames.next().await, Some(Ok(ExecFrame::Stdout { .. }))));
    assert!(matches!(frames.next().await, Some(Err(Error::BadAnswer { .. }))));
    assert!(frames.next().await.is_none());
    assert_eq!(peer.seen()[0].header("accept"), Some("text/event-stream"));
}

// S24
#[tokio::test]
async fn a_file_and_a_directory_are_told_apart_and_a_file_is_streamed() {
    let file = "x-warren-entry: file\r\ncontent-type: application/octet-stream\r\n";
    let directory = "x-warren-entry: directory\r\ncontent-type: application/json\r\n";
    let listing = r#"{"path":"","entries":[],"next_cursor":null}"#;
    let peer = Peer::start(vec![answer("200 OK", file, "bytes"), answer("200 OK", directory, listing)]);
    let client = client_of(&peer);
    let range = ByteRange { offset: Some(2), length: None };
    let PathContents::File(bytes) = client.open_path("w1", "a/ä b", range).await.unwrap() else {
        panic!("a file was expected");
    };
    assert_eq!(bytes.length, Some(5));
    let pieces: Vec<Bytes> = bytes.try_collect().await.unwrap();
    assert_eq!(pieces.concat(), b"bytes");
    let contents = client.open_path("w1", "", ByteRange::default()).await.unwrap();
    assert!(matches!(contents, PathContents::Directory(_)));
    assert_eq!(peer.seen()[0].line(), "GET /api/v1/workspaces/w1/files?path=a%2F%C3%A4+b&offset=2 HTTP/1.1");
}

// S24
#[tokio::test]
async fn an_upload_is_streamed_with_its_length() {
    let written = r#"{"path":"f","bytes":6,"created":true}"#;
    let peer = Peer::start(vec![json("201 Created", written), json("201 Created", written)]);
    let client = client_of(&peer);
    let pieces = || futures_util::stream::iter(["abc", "def"].map(Ok::<_, std::io::Error>));
    assert!(client.put_file("w1", "f", Some(6), pieces()).await.unwrap().created);
    assert!(client.put_file("w1", "f", None, pieces()).await.unwrap().created);
    let seen = peer.seen();
    assert_eq!((seen[0].header("content-length"), &seen[0].body[..]), (Some("6"), &b"abcdef"[..]));
    assert_eq!(seen[1].header("transfer-encoding"), Some("chunked"));
}
