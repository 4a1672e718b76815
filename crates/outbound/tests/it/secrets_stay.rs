//! What goes out with a call: what the caller may say, and nothing of ours.

use warren_outbound::{Call, CallError, Credential, Refused};

use crate::peer::{Peer, open};

// sec/A07, X6; the control is in the test: an ordinary value arrives
#[tokio::test]
async fn nothing_is_injected_through_a_header() {
    let peer = Peer::ok().await;
    let bad = [
        ("x-agent", "a\r\nx-injected: 1"),
        ("x-agent", "a\nb"),
        ("x-agent", "a\rb"),
        ("x-agent", "a\0b"),
        ("x-agent", "a\u{7f}"),
        ("x-agent", "a\u{85}b"),
        ("x-agent\r\nx-injected", "1"),
        ("x agent", "1"),
        ("", "1"),
        ("connection", "x-internal"),
        ("Transfer-Encoding", "chunked"),
        ("content-length", "0"),
        ("host", "other"),
        ("te", "trailers"),
        ("upgrade", "h2c"),
        ("expect", "100-continue"),
        ("accept-encoding", "gzip"),
        ("warren-hops", "0"),
    ];
    for (name, value) in bad {
        let error = open().call(Call::get(peer.url()).header(name, value)).await.unwrap_err();
        assert!(matches!(error, CallError::Refused(Refused::Header(_))), "{name:?}: {value:?}: {error}");
        assert!(!error.to_string().contains(['\r', '\n']), "{error:?}");
    }
    assert_eq!(peer.hits(), 0);
    // Control
    let good = Call::get(peer.url()).header("X-Agent", "Zoë, agent\tno. 1");
    open().call(good).await.unwrap();
    let heads = peer.heads();
    assert!(heads[0].contains("x-agent: zoë, agent\tno. 1\r\n"), "{}", heads[0]);
    assert!(!heads[0].contains("x-injected"));
}

// sec/A08, X6; the control is in the test: the peer's own credential arrives at its own origin
#[tokio::test]
async fn a_peer_gets_its_own_credential_and_nothing_of_ours() {
    let (peer, other) = (Peer::ok().await, Peer::ok().await);
    for (name, value) in [
        ("authorization", "Bearer ours"),
        ("cookie", "session=ours"),
        ("x-forwarded-for", "10.0.0.1"),
        ("X-Forwarded-Host", "warren.internal"),
        ("forwarded", "for=10.0.0.1"),
        ("via", "1.1 warren"),
        ("x-real-ip", "10.0.0.1"),
        ("proxy-authorization", "Basic x"),
        ("referer", "http://warren.internal/"),
        ("x-warren-csrf", "1"),
    ] {
        let error = open().call(Call::get(peer.url()).header(name, value)).await.unwrap_err();
        assert!(matches!(error, CallError::Refused(Refused::Header(_))), "{name}");
    }
    let credential = Credential::bearer(&peer.url().parse().unwrap(), "theirs");
    assert!(!format!("{credential:?}").contains("theirs"));
    let error = open().call(Call::get(other.url()).credential(Some(credential.clone()))).await.unwrap_err();
    assert_eq!(error, CallError::Refused(Refused::Credential));
    assert_eq!((peer.hits(), other.hits()), (0, 0));

    // Control
    open().call(Call::get(peer.url()).credential(Some(credential))).await.unwrap();
    open().call(Call::get(other.url())).await.unwrap();
    assert!(peer.heads()[0].contains("authorization: bearer theirs\r\n"));
    let plain = &other.heads()[0];
    let names: Vec<&str> =
        plain.lines().skip(1).filter_map(|line| line.split_once(':')).map(|(name, _)| name).collect();
    assert_eq!(names, ["warren-hops", "accept-encoding", "accept", "user-agent", "host"], "{plain}");
}
