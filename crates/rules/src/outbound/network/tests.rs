use proptest::prelude::*;
use serde_json::json;
use warren_model::NetworkPolicy;

use super::chunks::{Chunks, Piece};
use super::head::{Asked, BodyLength, HeadRefusal, parse};
use super::hello::{Hello, HelloRefusal, read};
use super::*;

fn network(value: serde_json::Value) -> GrantedNetwork {
    GrantedNetwork::compile(&serde_json::from_value::<NetworkPolicy>(value).unwrap()).unwrap()
}

fn at(text: &str) -> HostPort {
    let (host, port) = text.split_once(':').unwrap();
    HostPort { host: HostName::from_wire(host).unwrap(), port: port.parse().unwrap() }
}

// A81, sec/S29
#[test]
fn a_tunnel_is_granted_by_its_exact_host_and_port() {
    let network =
        network(json!({ "allow": ["pypi", "Example.COM", "*.wild.example", "other.example:8443"] }));
    for granted in [
        "pypi.org:443",
        "files.pythonhosted.org:443",
        "example.com:443",
        "a.wild.example:443",
        "a.b.wild.example:443",
        "other.example:8443",
    ] {
        assert_eq!(network.judge_tunnel(&at(granted)), Verdict::Granted, "{granted}");
    }
    for not in [
        "example.com:80",
        "example.com:8443",
        "www.example.com:443",
        "notexample.com:443",
        "example.com.evil.example:443",
        "wild.example:443",
        "evilwild.example:443",
        "a.wild.example:8443",
        "other.example:443",
        "registry.npmjs.org:443",
    ] {
        assert_eq!(network.judge_tunnel(&at(not)), Verdict::NotGranted, "{not}");
    }
}

// A81
#[test]
fn who_asks_is_asked_about_hosts_on_open_ports_alone() {
    let network = network(json!({ "allow": ["example.com"], "ask": true }));
    assert_eq!(network.judge_tunnel(&at("other.example:443")), Verdict::Ask);
    assert_eq!(network.judge_tunnel(&at("other.example:8443")), Verdict::Ask);
    for port in [1, 22, 25, 53, 465, 587, 853, 993] {
        assert_eq!(
            network.judge_tunnel(&at(&format!("other.example:{port}"))),
            Verdict::NotGranted,
            "{port}"
        );
    }
    assert!(!network.is_none());
    assert!(GrantedNetwork::default().is_none());
}

// A81
#[test]
fn a_request_is_granted_by_host_method_and_path() {
    let network = network(json!({ "allow": [
        { "host": "plain.example", "scheme": "http" },
        { "host": "api.example", "scheme": "secured", "methods": ["GET"], "paths": ["/org", "/public/"] },
        { "host": "api.example", "scheme": "secured", "methods": ["POST"], "paths": ["/org/issues"] },
        "tunnel.example",
    ] }));
    let judge = |method: &str, url: &str| {
        let url = Url::parse(url).unwrap();
        let to = at(&format!("{}:{}", url.host_str().unwrap(), url.port_or_known_default().unwrap()));
        network.judge_request(method, &to, &url)
    };
    assert_eq!(judge("GET", "http://plain.example/x?y"), RequestVerdict::Plain);
    assert_eq!(judge("GET", "http://plain.example:8080/"), RequestVerdict::NotGranted);
    assert_eq!(judge("GET", "http://tunnel.example/"), RequestVerdict::HttpsOnly);
    assert_eq!(judge("GET", "http://other.example/"), RequestVerdict::NotGranted);
    let secured = RequestVerdict::Secured { port: 443 };
    for path in ["/org", "/org/", "/org/a/b?c=/d", "/public/", "/public/a"] {
        assert_eq!(judge("GET", &format!("http://api.example{path}")), secured, "{path}");
    }
    assert_eq!(judge("POST", "http://api.example/org/issues"), secured);
    for path in [
        "/",
        "/organisation",
        "/public",
        "/org/../private",
        "/org/%2e%2e/private",
        "/org/..%2fprivate",
        "/org/%2E%2E%2Fprivate",
        "/org%2f..%2fprivate",
        "/org/..%5cprivate",
        "/org//private",
        "/org/..;/private",
        "/org/%252e%252e/private",
        "/org/a%00b",
        "/private?/org/",
    ] {
        assert_eq!(judge("GET", &format!("http://api.example{path}")), RequestVerdict::Path, "{path}");
    }
    for method in ["DELETE", "PUT", "PATCH"] {
        assert_eq!(judge(method, "http://api.example/org"), RequestVerdict::Method, "{method}");
    }
    assert_eq!(judge("POST", "http://api.example/org"), RequestVerdict::Path);
}

// A81: what cannot be held is refused, with where it stands and what to write
#[test]
fn a_policy_that_cannot_be_held_is_refused_with_its_path() {
    for (grant, path, words) in [
        (json!("127.0.0.1"), "host", "address"),
        (json!("127.1"), "host", "address"),
        (json!("0x7f.0.0.1"), "host", "address"),
        (json!("0177.0.0.1"), "host", "address"),
        (json!("1.2.3.4:443"), "host", "address"),
        (json!({ "host": "2130706433" }), "host", "address"),
        (json!({ "host": "[::1]" }), "host", "address"),
        (json!({ "host": "::1" }), "host", "address"),
        (json!({ "host": "::ffff:10.0.0.1" }), "host", "address"),
        (json!({ "host": "localhost" }), "host", "never"),
        (json!("a.localhost"), "host", "never"),
        (json!("printer.local"), "host", "never"),
        (json!({ "host": "intranet" }), "host", "whole name"),
        (json!({ "host": "" }), "host", "name"),
        (json!("http://example.com"), "host", "without scheme"),
        (json!("user@example.com"), "host", "name"),
        (json!("example.com/path"), "host", "name"),
        (json!("exam%70le.com"), "host", "name"),
        (json!("exam ple.com"), "host", "name"),
        (json!("example.com\u{0}.evil.example"), "host", "name"),
        (json!("example..com"), "host", "name"),
        (json!("-example.com"), "host", "name"),
        (json!("*.com"), "host", "*.example.com"),
        (json!({ "host": "*" }), "host", "*.example.com"),
        (json!("a.*.example.com"), "host", "*.example.com"),
        (json!("*example.com"), "host", "*.example.com"),
        (json!("example.com:25"), "port", "from 1024"),
        (json!("example.com:22"), "port", "from 1024"),
        (json!({ "host": "example.com", "methods": ["GET"] }), "methods", "secured"),
        (json!({ "host": "example.com", "paths": ["/"] }), "paths", "secured"),
        (json!({ "host": "example.com", "scheme": "http", "methods": ["get"] }), "methods", "GET"),
        (json!({ "host": "example.com", "scheme": "http", "methods": ["CONNECT"] }), "methods", "GET"),
        (json!({ "host": "example.com", "scheme": "http", "paths": ["a"] }), "paths", "/org"),
        (json!({ "host": "example.com", "scheme": "http", "paths": ["/a/../b"] }), "paths", "/org"),
        (json!({ "host": "example.com", "scheme": "http", "paths": ["/a?b"] }), "paths", "/org"),
    ] {
        let policy: NetworkPolicy = serde_json::from_value(json!({ "allow": ["pypi", grant] })).unwrap();
        let error = GrantedNetwork::compile(&policy).unwrap_err();
        assert_eq!(error.path, format!("allow[1].{path}"), "{grant}: {error}");
        assert!(error.problem.contains(words), "{grant}: {error}");
    }
    let many: NetworkPolicy = serde_json::from_value(json!({ "allow": vec!["example.com"; 129] })).unwrap();
    assert_eq!(GrantedNetwork::compile(&many).unwrap_err().path, "allow");
}

// A81
#[test]
fn a_person_may_write_a_name_as_it_is_read() {
    for (written, name) in [
        ("EXAMPLE.com", "example.com"),
        ("example.com.", "example.com"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("BÜCHER.example", "xn--bcher-kva.example"),
        ("ｅxample.com", "example.com"),
    ] {
        assert_eq!(HostName::from_person(written).unwrap().as_str(), name, "{written}");
    }
    // A look-alike is another name.
    assert_ne!(HostName::from_person("еxample.com").unwrap().as_str(), "example.com");
}

fn head(line: &str, headers: &[&str]) -> Result<head::ProxyHead, HeadRefusal> {
    parse(
        format!("{line}\r\n{}\r\n", headers.iter().map(|one| format!("{one}\r\n")).collect::<String>())
            .as_bytes(),
    )
}

// sec/S29
#[test]
fn a_head_has_one_reading_and_loses_what_concerns_one_connection() {
    let read = head(
        "POST http://Example.com/a?b=c HTTP/1.1",
        &[
            "Host: example.COM:80",
            "Connection: keep-alive, X-Secret-Hop",
            "Proxy-Authorization: Basic eDp5",
            "Proxy-Connection: keep-alive",
            "Keep-Alive: timeout=5",
            "X-Secret-Hop: 1",
            "X-Forwarded-For: 10.0.0.1",
            "X-Warren-Anything: 1",
            "X-HTTP-Method-Override: DELETE",
            "Upgrade: h2c",
            "TE: trailers",
            "Via: 1.1 box",
            "Content-Length: 5",
            "Accept: */*",
            "X-Own:  two words\t",
        ],
    )
    .unwrap();
    assert_eq!(read.method, "POST");
    assert_eq!(read.to().to_string(), "example.com:80");
    assert!(matches!(&read.asked, Asked::Request { url, .. } if url.as_str() == "http://example.com/a?b=c"));
    assert_eq!(read.body, BodyLength::Known(5));
    assert_eq!(
        read.headers,
        [("accept", "*/*"), ("x-own", "two words")].map(|(a, b)| (a.to_owned(), b.to_owned()))
    );

    let tunnel = head("CONNECT example.com:443 HTTP/1.1", &["Host: example.com:443"]).unwrap();
    assert_eq!(tunnel.asked, Asked::Tunnel(at("example.com:443")));
    assert!(head("CONNECT example.com:443 HTTP/1.1", &["Host: example.com"]).is_ok());
    assert!(head("CONNECT example.com:443 HTTP/1.0", &[]).is_ok());
    let expecting =
        head("PUT http://example.com/ HTTP/1.1", &["Host: example.com", "Expect: 100-continue"]).unwrap();
    assert!(expecting.expects_continue);
    let chunked =
        head("PUT http://example.com/ HTTP/1.1", &["Host: example.com", "Transfer-Encoding: chunked"]);
    assert_eq!(chunked.unwrap().body, BodyLength::Chunked);
}

// sec/S29
#[test]
fn a_head_is_told_to_be_partial_until_its_end_and_refused_as_soon_as_it_can_be() {
    let whole = b"CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\nmore";
    for end in 0..whole.len() - 4 {
        assert_eq!(head::length(&whole[..end]), Ok(None), "{end}");
    }
    assert_eq!(head::length(whole), Ok(Some(whole.len() - 4)));
    assert_eq!(head::length(b"\x16\x03\x01"), Err(HeadRefusal::TlsToProxy));
    assert_eq!(head::length(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), Err(HeadRefusal::Http2));
    assert!(head::length(b"GET http://a.example/\0").is_err());
    assert!(head::length(b"GET http://a.example/ HTTP/1.1\nHost").is_err());
    assert_eq!(head::length(&vec![b'a'; head::MAX_HEAD_BYTES]), Err(HeadRefusal::TooLong));
}

/// A first message of TLS with these extensions.
fn hello(extensions: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let mut listed = Vec::new();
    for (kind, body) in extensions {
        listed.extend(kind.to_be_bytes());
        listed.extend(u16::try_from(body.len()).unwrap().to_be_bytes());
        listed.extend(body);
    }
    let mut message = vec![3, 3];
    message.extend([7; 32]);
    message.push(0);
    message.extend([0, 2, 0x13, 1, 1, 0]);
    message.extend(u16::try_from(listed.len()).unwrap().to_be_bytes());
    message.extend(listed);
    let mut record = vec![22, 3, 1];
    record.extend(u16::try_from(message.len() + 4).unwrap().to_be_bytes());
    record.extend([1, 0]);
    record.extend(u16::try_from(message.len()).unwrap().to_be_bytes());
    record.extend(message);
    record
}

fn names(names: &[(u8, &[u8])]) -> Vec<u8> {
    let mut list = Vec::new();
    for (kind, name) in names {
        list.push(*kind);
        list.extend(u16::try_from(name.len()).unwrap().to_be_bytes());
        list.extend(*name);
    }
    let mut body = u16::try_from(list.len()).unwrap().to_be_bytes().to_vec();
    body.extend(list);
    body
}

// sec/S29
#[test]
fn the_name_in_the_first_message_of_tls_is_read_or_it_is_refused() {
    let good = hello(&[(10, vec![0, 2, 0, 29]), (0, names(&[(0, b"Example.com")]))]);
    assert_eq!(read(&good), Ok(Hello::Name(HostName::from_wire("example.com").unwrap())));
    for end in 0..good.len() {
        assert_eq!(read(&good[..end]), Ok(Hello::Partial), "{end}");
    }
    let mut followed = good.clone();
    followed.extend([20, 3, 3, 0, 1, 1]);
    assert!(read(&followed).is_ok());

    let one = |name: &[u8]| read(&hello(&[(0, names(&[(0, name)]))]));
    for bad in [
        &b"127.0.0.1"[..],
        b"example.com.",
        b"exa\0mple.com",
        b"",
        b"localhost",
        b"[::1]",
        b"ex ample.com",
        b"\xff.com",
    ] {
        assert_eq!(one(bad), Err(HelloRefusal::BadName), "{bad:?}");
    }
    assert_eq!(read(&hello(&[])), Err(HelloRefusal::NoName));
    let twice = (0, names(&[(0, b"example.com")]));
    assert_eq!(read(&hello(&[twice.clone(), twice.clone()])), Err(HelloRefusal::Malformed));
    let two = names(&[(0, b"example.com"), (0, b"evil.example")]);
    assert_eq!(read(&hello(&[(0, two)])), Err(HelloRefusal::BadName));
    assert_eq!(read(&hello(&[(0, names(&[(1, b"example.com")]))])), Err(HelloRefusal::BadName));
    assert_eq!(read(&hello(&[(0, vec![0, 0])])), Err(HelloRefusal::NoName));
    assert_eq!(read(&hello(&[(0, vec![])])), Err(HelloRefusal::Malformed));
    assert_eq!(read(&hello(&[twice, (0xfe0d, vec![0])])), Err(HelloRefusal::Encrypted));
    assert_eq!(read(b"SSH-2.0-OpenSSH"), Err(HelloRefusal::NotTls));
    assert_eq!(read(b"GET / HTTP/1.1"), Err(HelloRefusal::NotTls));
    assert_eq!(read(&[0x80, 0x2e, 1, 3, 1]), Err(HelloRefusal::NotTls), "SSL 2");

    // The name in the second record.
    let mut cut = good.clone();
    let length = u16::from_be_bytes([good[3], good[4]]) - 20;
    cut[3..5].copy_from_slice(&length.to_be_bytes());
    assert_eq!(read(&cut), Err(HelloRefusal::Fragmented));
    // Something hidden behind the message, in its record.
    let mut long = good.clone();
    long[3..5].copy_from_slice(&(length + 24).to_be_bytes());
    long.extend([0; 4]);
    assert_eq!(read(&long), Err(HelloRefusal::Malformed));
}

fn body_of(input: &[u8], step: usize) -> Result<Option<Vec<u8>>, chunks::BadChunk> {
    let (mut chunks, mut shown, mut body) = (Chunks::default(), Vec::new(), Vec::new());
    for piece in input.chunks(step) {
        shown.extend_from_slice(piece);
        loop {
            let (skipped, piece) = chunks.next(&shown)?;
            shown.drain(..skipped);
            match piece {
                Piece::Partial => break,
                Piece::Data(count) => body.extend(shown.drain(..count)),
                Piece::End => return Ok(Some(body)),
            }
        }
    }
    Ok(None)
}

// sec/S29
#[test]
fn chunks_are_a_size_and_so_many_bytes_however_they_arrive() {
    for step in 1..30 {
        let read = body_of(b"5\r\nhello\r\n00000A\r\n, world!!!\r\n0\r\n\r\n", step);
        assert_eq!(read, Ok(Some(b"hello, world!!!".to_vec())), "{step}");
        for bad in [
            &b"5;a=b\r\nhello\r\n0\r\n\r\n"[..],
            b"5\nhello\r\n0\r\n\r\n",
            b"+5\r\nhello\r\n0\r\n\r\n",
            b"0x5\r\nhello\r\n0\r\n\r\n",
            b" 5\r\nhello\r\n0\r\n\r\n",
            b"5 \r\nhello\r\n0\r\n\r\n",
            b"5\r\nhelloX\r\n0\r\n\r\n",
            b"5\r\nhello\n0\r\n\r\n",
            b"\r\n\r\n",
            b"0\r\nTrailer: 1\r\n\r\n",
            b"FFFFFFFFF\r\n",
            b"5\rxhello",
        ] {
            assert!(body_of(bad, step).is_err(), "{step}: {}", String::from_utf8_lossy(bad));
        }
        assert_eq!(body_of(b"5\r\nhel", step), Ok(None));
    }
}

proptest! {
    // sec/S29
    #[test]
    fn no_bytes_make_a_reader_fail(bytes in proptest::collection::vec(any::<u8>(), 0..600), at in 0_usize..200) {
        let _ = (head::length(&bytes), parse(&bytes), read(&bytes), body_of(&bytes, 7));
        // Close to the real thing.
        let mut near = hello(&[(0, names(&[(0, b"example.com")]))]);
        for (number, byte) in bytes.iter().take(3).enumerate() {
            let place = (at + number * 13) % near.len();
            near[place] = *byte;
        }
        if let Ok(Hello::Name(name)) = read(&near) {
            prop_assert!(HostName::from_wire(name.as_str()).is_ok());
        }
    }

    // A81: whatever spelling of an address is granted or called, it is none
    #[test]
    fn an_address_is_no_name_in_any_spelling(bits in any::<u32>()) {
        let [a, b, c, d] = bits.to_be_bytes();
        for text in [
            format!("{a}.{b}.{c}.{d}"),
            format!("{bits}"),
            format!("{bits:#x}"),
            format!("0{bits:o}"),
            format!("{a:#x}.{b:#x}.{c:#x}.{d:#x}"),
            format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
            format!("{a}.{}", bits & 0xff_ffff),
            format!("{a}.{b}.{}", bits & 0xffff),
            format!("[::ffff:{a}.{b}.{c}.{d}]"),
            format!("::ffff:{a}.{b}.{c}.{d}"),
            format!("{a}.{b}.{c}.{d}."),
        ] {
            prop_assert!(HostName::from_wire(&text).is_err(), "{}", text);
            prop_assert!(HostName::from_person(&text).is_err(), "{}", text);
        }
    }
}
