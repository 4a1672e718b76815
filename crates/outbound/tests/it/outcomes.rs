//! What became of a call: above all whether anything was sent.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use warren_model::{DeliveryReason, PublicFailure as _};
use warren_outbound::{BadAnswer, Call, CallError, CallLimits, Connector, OutboundPolicy, Refused};
use warren_rules::messages::dispatch::Outcome;

use crate::peer::{Peer, Script, open, opening, short};

async fn closed_port() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}/", listener.local_addr().unwrap())
}

// X6, X11
#[tokio::test]
async fn nobody_listening_is_told_from_a_connection_that_was_cut_after_the_request() {
    let refused = open().call(Call::post(closed_port().await)).await.unwrap_err();
    assert!(matches!(refused, CallError::NobodyListens { .. }), "{refused}");
    assert_eq!(
        (refused.outcome(), refused.may_have_been_sent()),
        (Outcome::Busy { retry_after_ms: None }, false)
    );

    let cut = Peer::new(|stream| async move { drop(stream) }).await;
    let unknown = open().call(Call::post(cut.url())).await.unwrap_err();
    assert!(matches!(unknown, CallError::NoAnswer { .. }), "{unknown}");
    assert_eq!((unknown.outcome(), unknown.may_have_been_sent()), (Outcome::Unknown, true));
    assert_eq!(cut.hits(), 1, "what may have been acted upon is not sent again");
}

/// Answers every request of a connection, until it is closed.
async fn keep_answering(mut stream: tokio::net::TcpStream) {
    let answer = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
    let mut asked = [0; 4096];
    while stream.write_all(answer).await.is_ok() && stream.read(&mut asked).await.is_ok_and(|read| read > 0) {
    }
}

// X6, P9
#[tokio::test]
async fn a_connection_is_used_again_for_a_moment_and_not_once_it_may_be_stale() {
    let peer = Peer::new(keep_answering).await;
    let connector = open();
    for _ in 0..3 {
        connector.call(Call::get(peer.url())).await.unwrap().bytes().await.unwrap();
        // The connection comes back on a task of its own.
        tokio::task::yield_now().await;
    }
    assert_eq!(peer.hits(), 1, "one after the other over the same");
    // How long it is kept is measured by the HTTP client's own clock.
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    connector.call(Call::get(peer.url())).await.unwrap().bytes().await.unwrap();
    assert_eq!(peer.hits(), 2, "the peer may have closed the old one by now");
}

// X6, X11
#[tokio::test]
async fn an_answer_that_breaks_off_is_unknown_and_an_answer_of_any_status_is_one() {
    let half =
        Peer::saying("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{").await;
    let answer = open().call(Call::post(half.url())).await.unwrap();
    let error = answer.bytes().await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::Unknown, "{error}");

    let busy = Peer::saying("HTTP/1.1 503 Busy\r\nretry-after: 7\r\ncontent-length: 0\r\n\r\n").await;
    let answer = open().call(Call::post(busy.url())).await.unwrap();
    assert!(answer.is_busy());
    assert_eq!(answer.retry_after(), Some(Duration::from_secs(7)));
    let other = Peer::saying("HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n").await;
    assert!(!open().call(Call::post(other.url())).await.unwrap().is_busy());
}

// X6, X11
#[tokio::test]
async fn a_name_that_leads_nowhere_and_a_peer_without_tls_are_told_apart() {
    let connector = Connector::new(opening(&["127.0.0.0/8"]), Script::of(&[&[]]));
    let nowhere = connector.call(Call::get("http://nobody.example/")).await.unwrap_err();
    assert_eq!(nowhere.outcome(), Outcome::Failed { reason: DeliveryReason::CallRefused }, "{nowhere}");

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/s3cret", listener.local_addr().unwrap());
    let plain = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        let mut seen = Vec::new();
        let _ = stream.read_to_end(&mut seen).await;
        seen
    });
    let untrusted = open().call(Call::get(url)).await.unwrap_err();
    assert!(matches!(untrusted, CallError::Untrusted { .. }), "{untrusted}");
    assert_eq!(
        (untrusted.outcome(), untrusted.may_have_been_sent()),
        (Outcome::Failed { reason: DeliveryReason::Untrusted }, false)
    );
    let seen = plain.await.unwrap();
    assert!(!seen.windows(6).any(|window| window == b"s3cret"), "nothing is sent in the clear");
}

/// A port that takes no connection and refuses none, as behind a filter: its queue is full.
async fn filtered_port() -> (String, Vec<tokio::task::JoinHandle<()>>) {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut held = vec![tokio::spawn(async move {
        let _listener = listener;
        std::future::pending::<()>().await;
    })];
    held.extend((0..8).map(|_| {
        tokio::spawn(async move {
            let _stream = tokio::net::TcpStream::connect(address).await;
            std::future::pending::<()>().await;
        })
    }));
    tokio::time::sleep(Duration::from_millis(100)).await;
    (format!("http://{address}/"), held)
}

// X6, X10
#[tokio::test]
async fn silence_before_the_answer_and_within_it_has_an_end() {
    let silent = Peer::new(|stream| async move {
        tokio::time::sleep(Duration::from_secs(60)).await;
        drop(stream);
    })
    .await;
    let limits = CallLimits { whole: Duration::from_millis(300), ..short() };
    let error = open().call(Call::get(silent.url()).limits(limits)).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::Unknown, "{error}");

    let stalled = Peer::new(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\na").await;
        tokio::time::sleep(Duration::from_secs(60)).await;
    })
    .await;
    let answer = open().call(Call::get(stalled.url()).limits(short())).await.unwrap();
    let error = answer.bytes().await.unwrap_err();
    assert!(error.to_string().contains("no byte for"), "{error}");
}

// sec/A10, X6; the control is in the test: the causes in the log differ
#[tokio::test]
async fn open_closed_and_filtered_ports_look_the_same_from_outside() {
    let garbage = Peer::saying("SSH-2.0-OpenSSH_9.2 s3cret banner\r\n").await;
    let mute = Peer::new(|stream| async move { drop(stream) }).await;
    let page = Peer::saying("HTTP/1.1 302 Found\r\nlocation: /s3cret\r\ncontent-length: 0\r\n\r\n").await;
    let (filtered, held) = filtered_port().await;
    let hasty = OutboundPolicy { connect_timeout_ms: 300, ..opening(&["127.0.0.0/8"]) };
    let calls = [
        open().call(Call::get(closed_port().await)).await,
        open().call(Call::get(garbage.url())).await,
        open().call(Call::get(mute.url())).await,
        open().call(Call::get(page.url())).await,
        Connector::with_system_names(hasty).call(Call::get(filtered)).await,
    ];
    assert!(matches!(calls[4], Err(CallError::Unreachable { .. })), "{:?}", calls[4]);
    let errors: Vec<CallError> = calls.into_iter().map(Result::unwrap_err).collect();
    let causes: std::collections::BTreeSet<String> = errors.iter().map(ToString::to_string).collect();
    assert!(causes.len() >= 4, "control: {causes:?}");
    assert!(causes.iter().all(|cause| !cause.contains("s3cret")), "{causes:?}");
    let public: Vec<(String, Option<String>)> = errors
        .into_iter()
        .map(|error| {
            assert!(error.cause().is_some());
            (error.code().to_string(), error.detail())
        })
        .collect();
    assert!(public.iter().all(|one| *one == public[0]), "{public:?}");
    assert_eq!(public[0].0, "peer_failed");
    held.iter().for_each(tokio::task::JoinHandle::abort);
}

// X6
#[tokio::test]
async fn a_refusal_of_ours_says_why_but_not_what_a_name_leads_to() {
    let inside = Connector::new(opening(&[]), Script::of(&[&["10.1.2.3"]]));
    let nowhere = Connector::new(opening(&[]), Script::of(&[&[]]));
    let told = |refused: Refused| (refused.code().to_string(), refused.detail().unwrap());
    let one = told(inside.check("http://intranet.example/").await.unwrap_err());
    let other = told(nowhere.check("http://intranet.example/").await.unwrap_err());
    assert_eq!(one, other);
    assert_eq!(one.0, "outbound_refused");
    assert!(!one.1.contains("10.1.2.3"));
}

// X6
#[tokio::test]
async fn an_answer_of_another_kind_than_expected_is_not_read() {
    let page =
        Peer::saying("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\r\n{}").await;
    let answer = open().call(Call::get(page.url())).await.unwrap();
    let error = answer.json::<serde_json::Value>().await.unwrap_err();
    assert_eq!(error, CallError::BadAnswer(BadAnswer::ContentType("JSON")));
    let answer = open().call(Call::get(page.url())).await.unwrap();
    assert!(answer.events().is_err());
    let ok = Peer::ok().await;
    let answer = open().call(Call::get(ok.url())).await.unwrap();
    assert_eq!(answer.json::<serde_json::Value>().await.unwrap(), serde_json::json!({}));
}
