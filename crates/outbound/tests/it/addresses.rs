//! Where a call may go: what a name leads to, when it is looked up, and where an answer may send us.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use warren_outbound::{
    BadAnswer, Call, CallError, Connector, Credential, MAX_HOPS, Refused, UrlRefusal, hops_of,
};

use crate::peer::{Peer, Script, open, opening};

const TRIES: usize = 1_000;

/// One port on two addresses: `127.0.0.2` stands for the internet, `127.0.0.1` for what nobody may reach.
async fn outside_and_inside() -> (Peer, Peer) {
    for _ in 0..20 {
        let outside = Peer::at("127.0.0.2:0".parse().unwrap(), answer).await;
        let address = format!("127.0.0.1:{}", outside.port());
        if tokio::net::TcpListener::bind(&address).await.is_ok() {
            return (outside, Peer::at(address.parse().unwrap(), answer).await);
        }
    }
    panic!("no port is free on both addresses");
}

async fn answer(mut stream: tokio::net::TcpStream) {
    use tokio::io::AsyncWriteExt as _;
    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
}

// sec/A02, X6; the control is in the test: the same name is reached where the inside is open
#[tokio::test]
async fn a_name_that_leads_elsewhere_the_second_time_is_never_followed_inside() {
    let (outside, inside) = outside_and_inside().await;
    let url = format!("http://rebinding.example:{}/", outside.port());
    let policy = opening(&["127.0.0.2/32"]);
    let (mut refused, mut reached) = (0, 0);
    for number in 0..TRIES {
        // First the check, then the call; or the call alone.
        let script = Script::of(&[&["127.0.0.2"], &["127.0.0.1"]]);
        let connector = Connector::new(policy.clone(), script.clone());
        let is_checked_before = number % 2 == 0;
        if is_checked_before {
            connector.check(&url).await.expect("the first answer may be called");
        }
        match connector.call(Call::get(&url)).await {
            Ok(answer) => reached += usize::from(answer.status == 200),
            Err(CallError::Refused(Refused::Url(UrlRefusal::LeadsTo { .. }))) => refused += 1,
            Err(other) => panic!("{other}"),
        }
        let looked_up = script.asked.load(Ordering::SeqCst);
        assert_eq!(looked_up, 1 + usize::from(is_checked_before), "a call looks a name up once");
    }
    assert_eq!((refused, reached), (TRIES / 2, TRIES / 2));
    assert_eq!((outside.hits(), inside.hits()), (TRIES / 2, 0));

    // Control: it is the policy that keeps us out.
    let connector = Connector::new(opening(&["127.0.0.0/8"]), Script::of(&[&["127.0.0.1"]]));
    connector.call(Call::get(&url)).await.expect("the inside can be reached");
    assert_eq!(inside.hits(), 1);
}

// sec/A03, X6; the control is in the test: without the private one the answer is used
#[tokio::test]
async fn an_answer_with_one_private_address_is_refused_whole() {
    let (outside, inside) = outside_and_inside().await;
    let url = format!("http://two.example:{}/", outside.port());
    let policy = opening(&["127.0.0.2/32"]);
    for answer in [["127.0.0.2", "127.0.0.1"], ["127.0.0.1", "127.0.0.2"], ["127.0.0.2", "169.254.169.254"]] {
        let connector = Connector::new(policy.clone(), Script::of(&[&answer]));
        let error = connector.call(Call::get(&url)).await.unwrap_err();
        assert!(matches!(error, CallError::Refused(_)), "{error}");
        assert!(connector.check(&url).await.is_err());
    }
    assert_eq!((outside.hits(), inside.hits()), (0, 0));
    // Control
    let connector = Connector::new(policy, Script::of(&[&["127.0.0.2"]]));
    connector.call(Call::get(&url)).await.unwrap();
    assert_eq!(outside.hits(), 1);
}

// sec/A04, X6; the control is in the test: a client that follows redirects brings the credential there
#[tokio::test]
async fn a_redirect_is_an_answer_that_leads_nowhere() {
    let inside = Peer::ok().await;
    let places = [inside.url(), "file:///etc/passwd".to_owned(), "/".to_owned(), "//127.0.0.1/".to_owned()];
    for status in [301, 302, 303, 307, 308] {
        for place in &places {
            let head = format!("HTTP/1.1 {status} Moved\r\nlocation: {place}\r\ncontent-length: 0\r\n\r\n");
            let peer = Peer::saying(head).await;
            let credential = Credential::bearer(&peer.url().parse().unwrap(), "s3cret");
            let call = Call::post(peer.url()).json(&serde_json::json!({})).credential(Some(credential));
            let error = open().call(call).await.unwrap_err();
            assert_eq!(error, CallError::BadAnswer(BadAnswer::Redirect(status)));
            assert_eq!(peer.hits(), 1, "a loop is not walked");
        }
    }
    assert_eq!(inside.hits(), 0);

    // Control: whoever follows gets there.
    let head = format!("HTTP/1.1 302 Found\r\nlocation: {}\r\ncontent-length: 0\r\n\r\n", inside.url());
    let peer = Peer::saying(head).await;
    #[expect(clippy::disallowed_methods, reason = "the control uses another door")]
    let client = reqwest::Client::builder().no_proxy().tls_certs_only([]).build().unwrap();
    client.get(peer.url()).send().await.unwrap();
    assert_eq!(inside.hits(), 1);
}

// sec/A09, X6; control: the last call of the circle is refused, the ones before it are answered
#[tokio::test]
async fn a_circle_of_warrens_ends_at_the_hop_limit() {
    use axum::Router;
    use axum::extract::State;
    use axum::http::{HeaderMap, StatusCode};

    struct Circle {
        connector: Connector,
        url: String,
        seen: std::sync::atomic::AtomicU32,
    }

    async fn pass_on(State(circle): State<Arc<Circle>>, headers: HeaderMap) -> StatusCode {
        circle.seen.fetch_add(1, Ordering::SeqCst);
        let call = Call::post(&circle.url).hops(hops_of(&headers));
        match Box::pin(circle.connector.call(call)).await {
            Ok(answer) => answer.status,
            Err(CallError::Refused(Refused::Hops)) => StatusCode::LOOP_DETECTED,
            Err(_) => StatusCode::BAD_GATEWAY,
        }
    }

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let circle = Arc::new(Circle { connector: open(), url: url.clone(), seen: Default::default() });
    let app = Router::new().fallback(pass_on).with_state(Arc::clone(&circle));
    let server = tokio::spawn(async move { axum::serve(listener, app).await });

    let answer = open().call(Call::post(&url)).await.unwrap();
    assert_eq!(answer.status, StatusCode::LOOP_DETECTED);
    assert_eq!(circle.seen.load(Ordering::SeqCst), MAX_HOPS);
    server.abort();
}

// sec/A09, X6; no control: a plain number is read in the circle above
#[test]
fn a_spoilt_hop_count_counts_as_too_many() {
    let of = |values: &[&'static str]| {
        let mut headers = http::HeaderMap::new();
        for value in values {
            headers.append("warren-hops", http::HeaderValue::from_static(value));
        }
        hops_of(&headers)
    };
    assert_eq!(of(&[]), 0);
    assert_eq!(of(&["3"]), 3);
    for spoilt in [&["-1"][..], &["1", "1"], &["x"], &[""], &["+1"], &["99999999999999"]] {
        assert!(of(spoilt) >= MAX_HOPS, "{spoilt:?}");
    }
}
