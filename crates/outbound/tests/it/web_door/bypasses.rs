//! Ways around the policy, each of which fails, beside one that works.

use std::fmt::Write as _;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use warren_outbound::web_door::{DoorOutcome, RefusalCause};

use super::bed::{Bed, PEER, read_all};

/// Targets of CONNECT that are not `peer.example:PORT`, or are written as nobody should. `P` is the port that is granted, `Q` one
/// that is not.
const TARGETS: &[&str] = &[
    // Another host.
    "evil.example:P",
    "EVIL.EXAMPLE:P",
    "sub.peer.example:P",
    "xpeer.example:P",
    "peer.example.evil.example:P",
    "peer.exampl:P",
    "peer-example:P",
    "peer_example:P",
    "plain.example:P",
    "*.example:P",
    "*:P",
    // Dots.
    "evil.example.:P",
    "peer.example.:P",
    "peer.example..:P",
    ".peer.example:P",
    "peer..example:P",
    // Ports.
    "peer.example:Q",
    "peer.example:443",
    "peer.example:80",
    "peer.example:22",
    "peer.example:25",
    "peer.example:0",
    "peer.example:65536",
    "peer.example:99999999999",
    "peer.example:+P",
    "peer.example:0P",
    "peer.example:-1",
    "peer.example:P:Q",
    "peer.example:",
    "peer.example",
    ":P",
    // Addresses, in every spelling.
    "127.0.0.1:P",
    "127.0.0.3:P",
    "127.1:P",
    "127.0.1:P",
    "127.3:P",
    "2130706433:P",
    "2130706435:P",
    "0x7f000001:P",
    "0x7f000003:P",
    "0X7F000003:P",
    "0x7f.0.0.1:P",
    "0x7f.3:P",
    "0177.0.0.1:P",
    "0177.0.0.03:P",
    "017700000001:P",
    "017700000003:P",
    "127.0.0.1.:P",
    "0:P",
    "0.0.0.0:P",
    "[::1]:P",
    "[::]:P",
    "[::ffff:127.0.0.1]:P",
    "[::ffff:7f00:3]:P",
    "[0:0:0:0:0:ffff:127.0.0.3]:P",
    "[64:ff9b::7f00:1]:P",
    "[fe80::1%25lo]:P",
    "::1:P",
    "::ffff:127.0.0.3:P",
    // Places that are never for a box.
    "169.254.169.254:80",
    "[fd00:ec2::254]:80",
    "metadata.google.internal:80",
    "metadata:80",
    "localhost:P",
    "LOCALHOST:P",
    "a.localhost:P",
    "printer.local:P",
    "localhost.localdomain:P",
    // Letters that look alike, or become others.
    "ｐeer.example:P",
    "peer。example:P",
    "рeer.example:P",
    "①②⑦.⓪.⓪.③:P",
    "xn--eer-7cd.example:P",
    "peer.exampleſ:P",
    // Users and passwords.
    "peer.example@evil.example:P",
    "evil.example@peer.example:P",
    "user:pass@peer.example:P",
    "peer.example:P@evil.example:P",
    "@peer.example:P",
    // Encodings and separators.
    "peer.example%00.evil.example:P",
    "evil.example%00.peer.example:P",
    "evil.example\0.peer.example:P",
    "peer%2eexample:P",
    "peer.example%2eevil.example:P",
    "evil.example%0d%0aHost:%20peer.example:P",
    "evil.example\r\nHost: peer.example:P",
    "http://peer.example:P",
    "https://evil.example:P/",
    "//peer.example:P",
    "/peer.example:P",
    "peer.example:P/",
    "peer.example:P?",
    "peer.example:P#",
    "peer.example/evil.example:P",
    "evil.example?peer.example:P",
    "evil.example#peer.example:P",
    "evil.example\\peer.example:P",
    "peer.example,evil.example:P",
    "evil.example;peer.example:P",
    "peer.example evil.example:P",
    "peer.example\t:P",
    // Granted names that lead to where nobody may go.
    "inside.example:P",
    "both.example:P",
    "mapped.example:P",
    "metadata.example:P",
    "nowhere.example:P",
];

fn with_ports(text: &str, granted: u16, other: u16) -> String {
    // `P` and `Q` stand behind a colon, or a sign.
    let mut written = text.to_owned();
    for (sign, port) in [('P', granted), ('Q', other)] {
        for before in [":", ":+", ":0"] {
            written = written.replace(&format!("{before}{sign}"), &format!("{before}{port}"));
        }
    }
    written
}

// A81, sec/S29; the control is in the test: the one target that is granted is carried, by every spelling that is one
#[tokio::test]
async fn no_other_target_is_reached_by_a_tunnel() {
    let bed = Bed::new().await;
    let (port, other) = (bed.port(), bed.shut[0].address.port());
    for form in TARGETS {
        let target = with_ports(form, port, other);
        let answer = bed.send(format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n")).await;
        let status: u16 = answer.split(' ').nth(1).and_then(|text| text.parse().ok()).unwrap_or(0);
        assert!(matches!(status, 400 | 403 | 502), "{form}: {answer}");
        assert!(answer.contains("Warren: "), "{form}: {answer}");
        bed.nothing_leaked(form);
    }
    assert_eq!(bed.peer.connections(), 0);
    assert!(TARGETS.len() >= 100, "{}", TARGETS.len());

    assert!(bed.get_by_tls().await.ends_with("hello"));
    for spelling in ["PEER.example", "Peer.Example"] {
        assert!(bed.tunnel(spelling).await.is_ok(), "{spelling}");
    }
    bed.nothing_leaked("control");
}

// sec/S29; the control is in the test: the same head without what is odd
#[tokio::test]
async fn a_head_that_can_be_read_in_two_ways_is_refused() {
    let bed = Bed::new().await;
    let (p, r) = (bed.port(), bed.plain_port());
    let connect = format!("CONNECT peer.example:{p} HTTP/1.1\r\n");
    let get = format!("GET http://plain.example:{r}/ HTTP/1.1\r\nHost: plain.example:{r}\r\n");
    let post = format!("POST http://plain.example:{r}/ HTTP/1.1\r\nHost: plain.example:{r}\r\n");
    let evil = format!("GET http://evil.example:{r}/ HTTP/1.1\r\nHost: evil.example:{r}\r\n\r\n");
    let mut long = format!("{connect}Host: peer.example:{p}\r\n");
    for number in 0..101 {
        let _ = write!(long, "X-{number}: 1\r\n");
    }
    let forms: Vec<(&str, Vec<u8>)> = vec![
        ("Host is not CONNECT's", format!("{connect}Host: evil.example:{p}\r\n\r\n").into()),
        ("Host has another port", format!("{connect}Host: peer.example:1{p}\r\n\r\n").into()),
        (
            "Host is another way round",
            format!("CONNECT evil.example:{p} HTTP/1.1\r\nHost: peer.example:{p}\r\n\r\n").into(),
        ),
        ("two Hosts", format!("{connect}Host: peer.example:{p}\r\nHost: peer.example:{p}\r\n\r\n").into()),
        ("no Host", format!("{connect}\r\n").into()),
        ("a user in Host", format!("{connect}Host: a@peer.example:{p}\r\n\r\n").into()),
        ("a space before the colon", format!("{connect}Host : peer.example:{p}\r\n\r\n").into()),
        ("a folded line", format!("{connect}Host: evil.example\r\n peer.example:{p}\r\n\r\n").into()),
        (
            "a folded line with a tab",
            format!("{connect}X: a\r\n\tb\r\nHost: peer.example:{p}\r\n\r\n").into(),
        ),
        (
            "a line that ends with LF",
            format!("CONNECT peer.example:{p} HTTP/1.1\nHost: peer.example:{p}\n\n").into(),
        ),
        ("a CR alone", format!("{connect}Host: peer.example:{p}\rX: 1\r\n\r\n").into()),
        ("a NUL in a header", format!("{connect}Host: peer.example:{p}\r\nX: a\0b\r\n\r\n").into()),
        ("a NUL in Host", format!("{connect}Host: peer.example:{p}\0\r\n\r\n").into()),
        ("a header without a colon", format!("{connect}Host: peer.example:{p}\r\nodd\r\n\r\n").into()),
        ("a header without a name", format!("{connect}Host: peer.example:{p}\r\n: odd\r\n\r\n").into()),
        ("bytes that are no UTF-8", [connect.as_bytes(), b"X: \xff\r\n\r\n"].concat()),
        (
            "small letters in the method",
            format!("connect peer.example:{p} HTTP/1.1\r\nHost: peer.example:{p}\r\n\r\n").into(),
        ),
        (
            "two spaces",
            format!("CONNECT  peer.example:{p} HTTP/1.1\r\nHost: peer.example:{p}\r\n\r\n").into(),
        ),
        (
            "a tab for a space",
            format!("CONNECT\tpeer.example:{p} HTTP/1.1\r\nHost: peer.example:{p}\r\n\r\n").into(),
        ),
        ("an empty line first", format!("\r\n{connect}Host: peer.example:{p}\r\n\r\n").into()),
        ("no version", format!("GET http://evil.example:{r}/\r\n\r\n").into()),
        ("HTTP/0.9", format!("GET http://plain.example:{r}/ HTTP/0.9\r\n\r\n").into()),
        ("HTTP/1.2", format!("CONNECT peer.example:{p} HTTP/1.2\r\nHost: peer.example:{p}\r\n\r\n").into()),
        (
            "HTTP/2 in the version",
            format!("CONNECT peer.example:{p} HTTP/2.0\r\nHost: peer.example:{p}\r\n\r\n").into(),
        ),
        ("HTTP/2 with prior knowledge", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec()),
        ("TLS to the door", b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03".to_vec()),
        ("SOCKS 5", b"\x05\x01\0\x05\x01\0\x03\x0cevil.example\x01\xbb\r\n\r\n".to_vec()),
        ("SOCKS 4", b"\x04\x01\x01\xbb\x7f\0\0\x01\0\r\n\r\n".to_vec()),
        (
            "a body for CONNECT",
            format!("{connect}Host: peer.example:{p}\r\nContent-Length: 4\r\n\r\nabcd").into(),
        ),
        (
            "chunks for CONNECT",
            format!("{connect}Host: peer.example:{p}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n").into(),
        ),
        ("too many headers", format!("{long}\r\n").into()),
        ("a head that is too long", format!("{connect}X: {}\r\n\r\n", "a".repeat(40_000)).into()),
        // In plain HTTP.
        ("another host", evil.clone().into()),
        (
            "Host is not the URL's",
            format!("GET http://plain.example:{r}/ HTTP/1.1\r\nHost: evil.example:{r}\r\n\r\n").into(),
        ),
        (
            "the URL is not Host's",
            format!("GET http://evil.example:{r}/ HTTP/1.1\r\nHost: plain.example:{r}\r\n\r\n").into(),
        ),
        ("no URL", format!("GET / HTTP/1.1\r\nHost: plain.example:{r}\r\n\r\n").into()),
        ("no scheme", format!("GET //evil.example:{r}/ HTTP/1.1\r\nHost: plain.example:{r}\r\n\r\n").into()),
        ("OPTIONS of the door", format!("OPTIONS * HTTP/1.1\r\nHost: plain.example:{r}\r\n\r\n").into()),
        (
            "https in the URL",
            format!("GET https://plain.example:{r}/ HTTP/1.1\r\nHost: plain.example:{r}\r\n\r\n").into(),
        ),
        ("ftp", format!("GET ftp://plain.example:{r}/ HTTP/1.1\r\nHost: plain.example:{r}\r\n\r\n").into()),
        ("a file", b"GET file:///etc/passwd HTTP/1.1\r\nHost: plain.example\r\n\r\n".to_vec()),
        (
            "a user in the URL",
            format!(
                "GET http://plain.example:{r}@evil.example:{r}/ HTTP/1.1\r\nHost: evil.example:{r}\r\n\r\n"
            )
            .into(),
        ),
        (
            "a user for a granted host",
            format!("GET http://u:p@plain.example:{r}/ HTTP/1.1\r\nHost: plain.example:{r}\r\n\r\n").into(),
        ),
        (
            "a fragment",
            format!(
                "GET http://evil.example:{r}#@plain.example:{r}/ HTTP/1.1\r\nHost: plain.example:{r}\r\n\r\n"
            )
            .into(),
        ),
        (
            "a backslash",
            format!(
                "GET http://evil.example:{r}\\@plain.example:{r}/ HTTP/1.1\r\nHost: plain.example:{r}\r\n\r\n"
            )
            .into(),
        ),
        (
            "one slash",
            format!("GET http:/evil.example:{r}/ HTTP/1.1\r\nHost: plain.example:{r}\r\n\r\n").into(),
        ),
        (
            "no slash",
            format!("GET http:evil.example:{r}/ HTTP/1.1\r\nHost: plain.example:{r}\r\n\r\n").into(),
        ),
        (
            "three slashes",
            format!("GET http:///evil.example:{r}/ HTTP/1.1\r\nHost: evil.example:{r}\r\n\r\n").into(),
        ),
        ("an address", format!("GET http://127.0.0.3:{r}/ HTTP/1.1\r\nHost: 127.0.0.3:{r}\r\n\r\n").into()),
        (
            "a decimal address",
            format!("GET http://2130706435:{r}/ HTTP/1.1\r\nHost: 2130706435:{r}\r\n\r\n").into(),
        ),
        (
            "a hexadecimal address",
            format!("GET http://0x7f.3:{r}/ HTTP/1.1\r\nHost: 0x7f.3:{r}\r\n\r\n").into(),
        ),
        ("an IPv6 address", format!("GET http://[::1]:{r}/ HTTP/1.1\r\nHost: [::1]:{r}\r\n\r\n").into()),
        (
            "a dot at the end",
            format!("GET http://plain.example.:{r}/ HTTP/1.1\r\nHost: plain.example.:{r}\r\n\r\n").into(),
        ),
        (
            "a port that is not granted",
            format!("GET http://plain.example:1{r}/ HTTP/1.1\r\nHost: plain.example:1{r}\r\n\r\n").into(),
        ),
        (
            "a name that leads inside",
            format!("GET http://inside.example:{r}/ HTTP/1.1\r\nHost: inside.example:{r}\r\n\r\n").into(),
        ),
        (
            "a name that leads both ways",
            format!("GET http://both.example:{r}/ HTTP/1.1\r\nHost: both.example:{r}\r\n\r\n").into(),
        ),
        ("two lengths", format!("{post}Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde").into()),
        ("the same length twice", format!("{post}Content-Length: 4\r\nContent-Length: 4\r\n\r\nabcd").into()),
        ("a list of lengths", format!("{post}Content-Length: 4, 4\r\n\r\nabcd").into()),
        ("a length with a sign", format!("{post}Content-Length: +4\r\n\r\nabcd").into()),
        ("a negative length", format!("{post}Content-Length: -1\r\n\r\n").into()),
        ("a hexadecimal length", format!("{post}Content-Length: 0x4\r\n\r\nabcd").into()),
        ("a length that overflows", format!("{post}Content-Length: 99999999999999999999\r\n\r\n").into()),
        (
            "a length and chunks",
            format!("{post}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{evil}").into(),
        ),
        (
            "chunks and a length",
            format!("{post}Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n0\r\n\r\n{evil}").into(),
        ),
        ("two encodings", format!("{post}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n").into()),
        ("an unknown encoding", format!("{post}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n").into()),
        (
            "an encoding twice",
            format!("{post}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n").into(),
        ),
        (
            "an encoding with an odd space",
            format!("{post}Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n").into(),
        ),
        (
            "an encoding with a space before its colon",
            format!("{post}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n").into(),
        ),
        ("a second request behind the first", format!("{get}\r\n{evil}").into()),
        ("a second request behind a body", format!("{post}Content-Length: 4\r\n\r\nabcd{evil}").into()),
        ("a second request behind no body", format!("{post}Content-Length: 0\r\n\r\n{evil}").into()),
        (
            "a method that shows headers",
            format!("TRACE http://plain.example:{r}/ HTTP/1.1\r\nHost: plain.example:{r}\r\n\r\n").into(),
        ),
        ("an expectation that nobody knows", format!("{post}Expect: magic\r\n\r\n").into()),
        (
            "proxy auth for another host",
            format!(
                "{}Proxy-Authorization: Basic YWRtaW46YWRtaW4=\r\n\r\n",
                evil.trim_end_matches("\r\n").to_owned() + "\r\n"
            )
            .into(),
        ),
    ];
    for (form, bytes) in &forms {
        let answer = bed.send(bytes).await;
        let status: u16 = answer.split(' ').nth(1).and_then(|text| text.parse().ok()).unwrap_or(0);
        assert!((400..=505).contains(&status), "{form}: {answer}");
        assert!(answer.contains("Warren: "), "{form}: {answer}");
        bed.nothing_leaked(form);
        assert_eq!((bed.plain.connections(), bed.peer.connections()), (0, 0), "{form}");
    }
    // Chunks in two readings are known only while they pass: the request that they belong to is cut, and nothing more.
    for odd in [
        "5;x=y\r\nhello\r\n0\r\n\r\n",
        "5\nhello\r\n0\r\n\r\n",
        "0\r\nTrailer: x\r\n\r\n",
        "-1\r\n",
        "fffffffff\r\n",
    ] {
        let answer = bed.send(format!("{post}Transfer-Encoding: chunked\r\n\r\n{odd}{evil}")).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 50"), "{odd}: {answer}");
        bed.nothing_leaked(odd);
        assert!(bed.plain.heads().is_empty(), "{odd}");
    }
    assert!(forms.len() >= 70, "{}", forms.len());

    // Controls.
    let answer = bed.send(format!("{get}\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("hello"), "{answer}");
    let answer = bed.send(format!("{post}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    let answer = bed.send(format!("{get}Proxy-Authorization: Basic YTpi\r\n\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(bed.get_by_tls().await.ends_with("hello"));
    bed.nothing_leaked("control");
}

/// A first message of TLS with these extensions, in one record.
fn hello(extensions: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let mut listed = Vec::new();
    for (kind, body) in extensions {
        listed.extend(kind.to_be_bytes());
        listed.extend(u16::try_from(body.len()).unwrap().to_be_bytes());
        listed.extend(body);
    }
    let mut message = vec![3, 3];
    message.extend([7; 32]);
    message.extend([0, 0, 2, 0x13, 1, 1, 0]);
    message.extend(u16::try_from(listed.len()).unwrap().to_be_bytes());
    message.extend(listed);
    let mut whole = vec![1, 0];
    whole.extend(u16::try_from(message.len()).unwrap().to_be_bytes());
    whole.extend(message);
    record(&whole)
}

fn record(body: &[u8]) -> Vec<u8> {
    let mut record = vec![22, 3, 1];
    record.extend(u16::try_from(body.len()).unwrap().to_be_bytes());
    record.extend(body);
    record
}

fn name(kind: u8, name: &[u8]) -> Vec<u8> {
    let mut body = u16::try_from(name.len() + 3).unwrap().to_be_bytes().to_vec();
    body.push(kind);
    body.extend(u16::try_from(name.len()).unwrap().to_be_bytes());
    body.extend(name);
    body
}

// A81, sec/S29; the control is in the test: the granted name passes in the same message
#[tokio::test]
async fn no_byte_of_a_tunnel_passes_before_its_name_in_tls_is_the_granted_one() {
    let bed = Bed::new().await;
    let sni = |text: &[u8]| hello(&[(0, name(0, text))]);
    let good = sni(PEER.as_bytes());
    let in_two = |cut: usize| [record(&good[5..5 + cut]), record(&good[5 + cut..])].concat();
    let mut two_names = name(0, PEER.as_bytes());
    two_names.extend(&name(0, b"evil.example")[2..]);
    let length = u16::try_from(two_names.len() - 2).unwrap().to_be_bytes();
    two_names[..2].copy_from_slice(&length);
    let mut too_long = good.clone();
    too_long[3..5].copy_from_slice(&[0xff, 0xff]);
    let mut hidden = good.clone();
    hidden.extend(b"GET / HTTP/1.1\r\n\r\n");
    let mut cut_extension = good.clone();
    let at = cut_extension.len() - 15;
    cut_extension[at] = 0xff;
    let forms: Vec<(&str, Vec<u8>)> = vec![
        ("another name", sni(b"evil.example")),
        ("a name above", sni(b"example.com")),
        ("a name below", sni(b"sub.peer.example")),
        ("a name behind", sni(b"peer.example.evil.example")),
        ("a dot at the end", sni(b"peer.example.")),
        ("a NUL", sni(b"peer.example\0.evil.example")),
        ("a NUL at the end", sni(b"peer.example\0")),
        ("an address", sni(b"127.0.0.3")),
        ("an IPv6 address", sni(b"::1")),
        ("a look-alike", sni("рeer.example".as_bytes())),
        ("an empty name", sni(b"")),
        ("localhost", sni(b"localhost")),
        ("no name", hello(&[(10, vec![0, 2, 0, 29])])),
        ("no extensions", hello(&[])),
        ("an empty list of names", hello(&[(0, vec![0, 0])])),
        ("the extension twice", hello(&[(0, name(0, PEER.as_bytes())), (0, name(0, b"evil.example"))])),
        ("two names", hello(&[(0, two_names)])),
        ("a name of another kind", hello(&[(0, name(1, PEER.as_bytes()))])),
        ("a hidden name", hello(&[(0, name(0, PEER.as_bytes())), (0xfe0d, vec![0; 40])])),
        ("a hidden name first", hello(&[(0xfe0d, vec![0; 40]), (0, name(0, PEER.as_bytes()))])),
        ("in two records", in_two(40)),
        ("in two records, cut in the head", in_two(2)),
        ("one byte in the first record", in_two(1)),
        ("a record that is too long", too_long),
        ("something behind it", hidden),
        ("a length that is not true", cut_extension),
        ("SSL 2", vec![0x80, 0x2e, 1, 3, 1, 0, 0x15]),
        ("an alert", vec![21, 3, 3, 0, 2, 2, 40]),
        ("data", vec![23, 3, 3, 0, 5, 1, 2, 3, 4, 5]),
        ("another message of TLS", record(&[2, 0, 0, 2, 3, 3])),
        ("HTTP", b"GET / HTTP/1.1\r\nHost: peer.example\r\n\r\n".to_vec()),
        ("HTTP/2 without TLS", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec()),
        ("SSH", b"SSH-2.0-OpenSSH_9.6\r\n".to_vec()),
        ("mail", b"EHLO evil.example\r\n".to_vec()),
        ("another CONNECT", b"CONNECT evil.example:443 HTTP/1.1\r\n\r\n".to_vec()),
        ("half of it, and then nothing", good[..30].to_vec()),
    ];
    for (form, bytes) in &forms {
        let answer = bed.send_in_tunnel(bytes).await;
        assert_eq!(answer, [21, 3, 3, 0, 2, 2, 49], "{form}");
        assert_eq!(bed.peer.bytes(), 0, "{form}");
        bed.nothing_leaked(form);
    }
    for record in bed.keeper.records.lock().unwrap().iter() {
        let DoorOutcome::Refused(refusal) = &record.outcome else { panic!("{record:?}") };
        assert!(matches!(refusal.cause, RefusalCause::TlsName | RefusalCause::Malformed), "{record:?}");
        assert_eq!((record.sent, record.received), (0, 0));
    }
    assert!(forms.len() >= 30);

    // Controls: the message of the forms above with the right name, in pieces too; and a real client.
    for pieces in [1, 7, good.len()] {
        let before = bed.peer.bytes();
        let mut stream = bed.tunnel(PEER).await.unwrap();
        for piece in good.chunks(pieces) {
            stream.write_all(piece).await.unwrap();
            tokio::task::yield_now().await;
        }
        let _ = stream.read(&mut [0; 64]).await;
        assert_eq!(bed.peer.bytes() - before, good.len() as u64, "in pieces of {pieces}");
    }
    assert!(bed.get_by_tls().await.ends_with("hello"));
}

// A81, sec/A02; the control is in the test: as often as the name leads outside, it is reached
#[tokio::test]
async fn a_name_that_leads_elsewhere_the_next_time_is_never_followed_inside() {
    const TRIES: usize = 100;
    let bed = Bed::new().await;
    let (mut reached, mut refused) = (0, 0);
    for number in 0..TRIES {
        let answers: [&[&str]; 2] = [&["127.0.0.2"], &["127.0.0.1"]];
        bed.names.set(PEER, if number % 2 == 0 { &answers } else { &answers[1..] });
        bed.names.set("plain.example", if number % 2 == 0 { &answers } else { &answers[1..] });
        let asked = bed.names.asked().len();
        match bed.tunnel(PEER).await {
            Ok(_) => reached += 1,
            Err(head) => refused += usize::from(head.starts_with("HTTP/1.1 403 ")),
        }
        assert_eq!(bed.names.asked().len() - asked, 1, "a name is looked up once for a connection");
        bed.nothing_leaked("rebinding");
    }
    assert_eq!((reached, refused), (TRIES / 2, TRIES / 2));
}

// A81, sec/A04; the control is in the test: the box gets the redirect, and asking for its place is judged anew
#[tokio::test]
async fn a_redirect_is_handed_back_and_its_place_is_judged_like_any_other() {
    let answering = std::sync::Arc::new(|request: &str| {
        let port = request.split("example:").nth(1).and_then(|rest| rest.split('/').next()).unwrap_or("80");
        let port: String = port.chars().take_while(char::is_ascii_digit).collect();
        format!("HTTP/1.1 302 Found\r\nlocation: http://evil.example:{port}/\r\ncontent-length: 0\r\n\r\n")
            .into_bytes()
    });
    let bed = Bed::with(answering, Default::default()).await;
    let r = bed.plain_port();
    let answer =
        bed.send(format!("GET http://plain.example:{r}/ HTTP/1.1\r\nHost: plain.example:{r}\r\n\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 302 Found\r\n"), "{answer}");
    let place = answer.lines().find_map(|line| line.strip_prefix("location: ")).unwrap();
    let host = place.trim_start_matches("http://").trim_end_matches('/');
    let answer = bed.send(format!("GET {place} HTTP/1.1\r\nHost: {host}\r\n\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 403 Warren: evil.example:"), "{answer}");
    bed.nothing_leaked("redirect");
}

// sec/S29; the control is in the test: what is granted passes through the same relay
#[tokio::test]
async fn a_relay_in_the_box_reaches_no_more_than_the_box() {
    let bed = Bed::new().await;
    let door = bed.listen().await;
    let relay = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = relay.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = relay.accept().await {
            let mut onward = tokio::net::TcpStream::connect(door).await.unwrap();
            tokio::spawn(async move { tokio::io::copy_bidirectional(&mut stream, &mut onward).await });
        }
    });
    for (host, status) in [("evil.example", "403"), ("plain.example", "200")] {
        let r = bed.plain_port();
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let request = format!(
            "GET http://{host}:{r}/ HTTP/1.1\r\nHost: {host}:{r}\r\nVia: 1.1 relay\r\nX-Forwarded-For: 10.0.0.1\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{host}: {answer}");
    }
    bed.nothing_leaked("relay");
    // A box in whose name nothing is granted reaches nothing at all.
    let none = Bed::new().await.granting(serde_json::json!("none"));
    assert!(none.tunnel(PEER).await.unwrap_err().starts_with("HTTP/1.1 403 "));
    let r = none.plain_port();
    let mut stream = none.connect();
    let request = format!("GET http://plain.example:{r}/ HTTP/1.1\r\nHost: plain.example:{r}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    assert!(read_all(&mut stream).await.starts_with("HTTP/1.1 403 "));
    assert_eq!((none.peer.connections(), none.plain.connections()), (0, 0));
    assert!(none.names.asked().is_empty(), "no name is looked up for nothing");
}
