use super::*;

fn shut() -> OutboundPolicy {
    OutboundPolicy::default()
}

/// Every one leads, or tries to lead, somewhere that is not the public internet, or is read differently by different
/// readers.
const FORBIDDEN: [&str; 66] = [
    "http://127.0.0.1/",
    "http://127.1/",
    "http://127.0.1/",
    "http://2130706433/",
    "http://017700000001/",
    "http://0177.0.0.1/",
    "http://0x7f000001/",
    "http://0x7f.0x0.0x0.0x1/",
    "http://0x7f.1/",
    "http://127.0.0.1./",
    "http://127%2e0%2e0%2e1/",
    "http://%31%32%37.0.0.1/",
    "http://１２７.０.０.１/",
    "http://127。0。0。1/",
    "http://①②⑦.⓪.⓪.①/",
    "http://0.0.0.0/",
    "http://0/",
    "http://localhost/",
    "http://LOCALHOST/",
    "http://localhost./",
    "http://sub.localhost/",
    "http://10.0.0.1/",
    "http://172.16.0.1/",
    "http://172.31.255.254/",
    "http://192.168.1.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://2852039166/",
    "http://0xa9fea9fe/",
    "http://0251.0376.0251.0376/",
    "http://169.254.170.2/",
    "http://100.100.100.200/",
    "http://168.63.129.16/",
    "http://metadata.google.internal/",
    "http://METADATA.GOOGLE.INTERNAL./",
    "http://metadata/",
    "http://100.64.0.1/",
    "http://192.0.2.1/",
    "http://198.51.100.1/",
    "http://203.0.113.1/",
    "http://198.18.0.1/",
    "http://224.0.0.1/",
    "http://255.255.255.255/",
    "http://[::1]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[64:ff9b:1::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[2001:0:4136:e378:8000:63bf:80ff:fffe]/",
    "http://[fe80::1]/",
    "http://[fe80::1%25eth0]/",
    "http://[fec0::1]/",
    "http://[fd00:ec2::254]/",
    "http://[ff02::1]/",
    "http://[2001:db8::1]/",
    "http://user@127.0.0.1/",
    "http://example.com@127.0.0.1/",
    "http://example.com\\@127.0.0.1/",
    "http://example.com\t/",
    "http://exa\nmple.com/",
    "file:///etc/passwd",
    "gopher://example.com/",
    "ftp://example.com/",
];

// sec/A01, X6; the control is in the test: the same spellings of a public address pass
#[test]
fn sixty_six_spellings_of_forbidden_places_are_refused() {
    for text in FORBIDDEN {
        assert!(judge_url(text, &shut()).is_err(), "{text} passed");
    }
    // Control: it is what they lead to that is refused, not how these are written.
    for text in [
        "http://8.8.8.8/",
        "http://134744072/",
        "http://0x8.8.8.8/",
        "http://8.8.2056/",
        "http://[::ffff:8.8.8.8]/",
    ] {
        let target = judge_url(text, &shut()).unwrap_or_else(|refusal| panic!("{text}: {refusal}"));
        assert_eq!(target.host, Host::Address("8.8.8.8".parse().unwrap()), "{text}");
    }
    let open = shut().with_loopback();
    let reached = FORBIDDEN.iter().filter(|text| judge_url(text, &open).is_ok()).count();
    assert!(reached > 12, "with this machine opened, its other spellings lead to it: {reached}");
}

// X6
#[test]
fn odd_texts_are_refused_by_what_is_odd_about_them() {
    let table = [
        ("", UrlRefusal::Scheme),
        ("http://", UrlRefusal::NotAUrl),
        ("http://example.com:0/", UrlRefusal::Port),
        ("http://example.com:99999/", UrlRefusal::NotAUrl),
        ("http://a b/", UrlRefusal::Characters),
        ("http://a/\0", UrlRefusal::Characters),
        ("http://a:b@example.com/", UrlRefusal::UserInfo),
        ("http://@example.com/", UrlRefusal::UserInfo),
        ("http:example.com/", UrlRefusal::Scheme),
        ("//example.com/", UrlRefusal::Scheme),
        ("javascript:alert(1)", UrlRefusal::Scheme),
        ("http://[fe80::1%25eth0]/", UrlRefusal::NotAUrl),
    ];
    for (text, refusal) in table {
        assert_eq!(judge_url(text, &shut()), Err(refusal), "{text:?}");
    }
    assert_eq!(judge_url(&format!("http://a/{}", "x".repeat(5_000)), &shut()), Err(UrlRefusal::TooLong));
    let named = judge_url("HTTPS://Example.com:8443/a?b#c", &shut()).unwrap();
    assert_eq!(named.host, Host::Name("example.com".into()));
}

// sec/A03, X6; the control is in the test: each of the public ones alone passes
#[test]
fn one_private_address_spoils_the_whole_answer() {
    let ip = |text: &str| text.parse::<IpAddr>().unwrap();
    for bad in ["10.0.0.1", "127.0.0.1", "169.254.169.254", "::1", "::ffff:10.0.0.1"] {
        for answer in [[ip("8.8.8.8"), ip(bad)], [ip(bad), ip("8.8.8.8")]] {
            let refused = judge_addresses(answer, &shut());
            assert!(matches!(refused, Err(UrlRefusal::LeadsTo { .. })), "{answer:?}");
        }
    }
    assert_eq!(judge_addresses([ip("8.8.8.8")], &shut()), Ok(vec![ip("8.8.8.8")]));
    assert_eq!(judge_addresses([], &shut()), Err(UrlRefusal::NoAddress));
    assert_eq!(judge_addresses(vec![ip("8.8.8.8"); MAX_ADDRESSES + 1], &shut()), Err(UrlRefusal::NoAddress));
}

// sec/A10, X6; the control is in the test: the internal sentences differ
#[test]
fn whether_a_name_exists_inside_is_not_told() {
    let inside = UrlRefusal::LeadsTo { address: "10.0.0.1".parse().unwrap(), range: Range::Private };
    assert_eq!(inside.public(), UrlRefusal::NoAddress.public());
    assert_ne!(inside.to_string(), UrlRefusal::NoAddress.to_string());
}
