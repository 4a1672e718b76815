//! What can go wrong with a model, on every wire: each a clear error that says what to do, and never half an answer.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use warren_llm::{Advice, ApiKey, CallOptions, ModelClient as _};

use crate::support::{KEY, ScriptedServer, WIRES, model_of, options, request};

async fn advice_of(wire: &str, fault: &str) -> (Advice, String) {
    let script =
        format!("turns: [{{ text: 'It worked after all, at last, as it should.', fault: {fault} }}]");
    let server = ScriptedServer::start(&script).await;
    let request = request(wire, model_of(wire), "hello");
    let begun = Instant::now();
    let error = server.ask(&request).await.unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(5), "{wire} {fault}: {:?}", begun.elapsed());
    assert!(!error.sentence.contains(KEY), "{}", error.sentence);
    // The fault comes once; the same request is answered then.
    let answer = server.ask(&request).await.unwrap_or_else(|error| panic!("{wire} {fault}: {error:?}"));
    assert_eq!(answer.text(), "It worked after all, at last, as it should.");
    (error.advice, error.sentence)
}

// A11
#[tokio::test]
async fn whatever_breaks_a_stream_is_an_error_that_may_be_retried() {
    for wire in WIRES {
        for fault in [
            "{ kind: error, after_chunks: 1 }",
            "{ kind: error, after_chunks: 1, error: rate_limit_error }",
            "{ kind: error, error: api_error }",
            "{ kind: cut, after_chunks: 1 }",
            "{ kind: cut }",
            "{ kind: truncated, after_chunks: 1 }",
            "{ kind: truncated, after_chunks: 99 }",
            "{ kind: garbage, after_chunks: 1 }",
            "{ kind: pings }",
            "{ kind: pings, after_chunks: 1 }",
            "{ kind: silence, after_chunks: 1 }",
            "{ kind: silence }",
            "{ kind: never }",
        ] {
            let (advice, sentence) = advice_of(wire, fault).await;
            assert_eq!(advice, Advice::Retry { after: None }, "{wire} {fault}: {sentence}");
        }
    }
}

// A11
#[tokio::test]
async fn statuses_say_what_to_do_and_how_long_to_wait() {
    let after = Some(Duration::from_millis(1_250));
    let retry = Advice::Retry { after: None };
    for wire in WIRES {
        for (fault, expected) in [
            ("{ kind: status, status: 429, retry_after_ms: 1250 }", Advice::Retry { after }),
            ("{ kind: status, status: 500 }", retry),
            ("{ kind: status, status: 503 }", retry),
            ("{ kind: status, status: 529 }", retry),
            ("{ kind: status, status: 500, should_retry: false }", Advice::Fallback),
            ("{ kind: status, status: 400, should_retry: true }", retry),
            ("{ kind: status, status: 400 }", Advice::Refused { is_too_long: false }),
            ("{ kind: status, status: 413 }", Advice::Refused { is_too_long: true }),
            ("{ kind: status, status: 401 }", Advice::Unauthorized),
            ("{ kind: status, status: 403 }", Advice::Fallback),
            ("{ kind: status, status: 404 }", Advice::Fallback),
        ] {
            let (advice, sentence) = advice_of(wire, fault).await;
            assert_eq!(advice, expected, "{wire} {fault}: {sentence}");
        }
    }
}

// A11
#[tokio::test]
async fn a_missing_or_wrong_key_is_told_without_the_key() {
    let server = ScriptedServer::start("otherwise: { text: x }").await;
    for wire in WIRES {
        let request = request(wire, model_of(wire), "hello");
        let none = server.models.start(&request, CallOptions::default()).await.unwrap_err();
        assert_eq!(none.advice, Advice::NoKey);
        assert!(none.sentence.contains("TEST_KEY"), "{}", none.sentence);
        let wrong = CallOptions { key: Some(ApiKey::new("sk-wrong-key")), ..CallOptions::default() };
        assert!(!format!("{wrong:?}").contains("sk-wrong"));
        let error = server.models.start(&request, wrong).await.unwrap_err();
        assert_eq!(error.advice, Advice::Unauthorized, "{wire}");
        assert!(!format!("{error:?}").contains("sk-wrong"), "{error:?}");
    }
    let unknown = request("nowhere", "x", "hello");
    let error = server.models.start(&unknown, options()).await.unwrap_err();
    assert_eq!(error.advice, Advice::Fallback);
    assert!(error.sentence.contains("anthropic"), "{}", error.sentence);
}

// A10: bad input
#[tokio::test]
async fn malformed_arguments_are_handed_on_as_text_and_can_be_sent_back() {
    let script = "turns: [{ calls: [{ tool: get_weather, raw_arguments: '{\"city\": ' }] }, { text: sorry }]";
    let server = ScriptedServer::start(script).await;
    for wire in WIRES {
        let mut request = request(wire, model_of(wire), "hello");
        let answer = server.ask(&request).await.unwrap();
        assert_eq!(answer.calls[0].arguments, Err("{\"city\": ".to_owned()), "{wire}");
        crate::support::go_on(&mut request, &answer, "the arguments are no JSON");
        assert_eq!(server.ask(&request).await.unwrap().text(), "sorry", "{wire}");
    }
}

// A11
#[tokio::test]
async fn whoever_drops_a_stream_hangs_up() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let models = warren_llm::Models::new(crate::support::connector(), crate::support::providers(&url, &url));
    let peer = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut buffer = vec![0_u8; 64 << 10];
        let _ = stream.read(&mut buffer).await.unwrap();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
        let chunk = r#"data: {"choices": [{"delta": {"content": "x"}}]}"#;
        stream.write_all(format!("{head}{chunk}\n\n").as_bytes()).await.unwrap();
        // Nothing more is sent; whoever hangs up ends this read.
        while stream.read(&mut buffer).await.is_ok_and(|bytes| bytes > 0) {}
    });
    let mut stream = models.start(&request("chat", "x", "x"), options()).await.unwrap();
    assert!(stream.next().await.unwrap().is_some());
    assert!(!peer.is_finished());
    drop(stream);
    tokio::time::timeout(Duration::from_secs(5), peer).await.expect("it hung up").unwrap();
}

// A11: bad input
#[tokio::test]
async fn an_answer_over_the_limits_is_refused() {
    let server = ScriptedServer::start(
        "otherwise: { text: 'more than ten bytes', calls: [{ tool: a }, { tool: b }] }",
    )
    .await;
    for limits in [
        warren_llm::AnswerLimits { content_bytes: 10, ..Default::default() },
        warren_llm::AnswerLimits { calls: 1, ..Default::default() },
        warren_llm::AnswerLimits { blocks: 1, ..Default::default() },
        warren_llm::AnswerLimits { argument_bytes: 2, ..Default::default() },
    ] {
        let models = server.models.clone().with_limits(limits);
        for wire in WIRES {
            let started = models.start(&request(wire, model_of(wire), "x"), options()).await.unwrap();
            let error = started.answer().await.unwrap_err();
            assert!(error.sentence.contains("more than"), "{wire} {limits:?}: {}", error.sentence);
        }
    }
}
