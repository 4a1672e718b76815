//! What a failed call asks for, decided from what the provider said. Nothing here waits or calls.

use std::time::Duration;

use http::HeaderMap;

use crate::Advice;

/// The longest wait that a provider can ask for. Beyond it another model or a person is better.
const MAX_AFTER: Duration = Duration::from_secs(3_600);

/// What a provider says about trying again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RetryHints {
    /// `x-should-retry`.
    pub should_retry: Option<bool>,
    /// `retry-after-ms`, else `retry-after` in seconds.
    pub after: Option<Duration>,
}

impl RetryHints {
    pub fn of(headers: &HeaderMap) -> Self {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
        let should_retry = match text("x-should-retry") {
            Some("true") => Some(true),
            Some("false") => Some(false),
            Some(_) | None => None,
        };
        let duration = |name: &str, unit_ms: f64| {
            let number: f64 = text(name)?.parse().ok()?;
            let seconds = number * unit_ms / 1_000.0;
            // A date, a negative or an absurd number is as good as nothing said.
            Duration::try_from_secs_f64(seconds).ok().map(|after| after.min(MAX_AFTER))
        };
        let after = duration("retry-after-ms", 1.0).or_else(|| duration("retry-after", 1_000.0));
        Self { should_retry, after }
    }
}

/// What to do about an answer that is an error. `kind` and `message` are the provider's own words for it; empty where it
/// said nothing that can be read.
pub fn judge(status: u16, hints: RetryHints, kind: &str, message: &str) -> Advice {
    let retry = Advice::Retry { after: hints.after };
    if status == 401 {
        return Advice::Unauthorized;
    }
    // Said with 429, but no wait brings money.
    if matches!(kind, "insufficient_quota" | "billing_error" | "billing_hard_limit_reached") || status == 402
    {
        return Advice::Fallback;
    }
    match hints.should_retry {
        Some(true) => return retry,
        Some(false) if is_retried(status) => return Advice::Fallback,
        Some(false) | None => {}
    }
    if is_retried(status) {
        return retry;
    }
    match status {
        403 | 404 => Advice::Fallback,
        _ => Advice::Refused { is_too_long: status == 413 || is_too_long(kind, message) },
    }
}

/// What to do about an error that comes in mid-stream, where the status was 200 and only its type tells it.
pub fn judge_in_stream(kind: &str, message: &str) -> Advice {
    let status = match kind {
        "authentication_error" | "invalid_api_key" => 401,
        "permission_error" => 403,
        "not_found_error" | "model_not_found" => 404,
        "invalid_request_error" | "invalid_prompt" | "context_length_exceeded" | "invalid_request" => 400,
        "request_too_large" => 413,
        "rate_limit_error" | "rate_limit_exceeded" => 429,
        "overloaded_error" => 529,
        // Whatever went wrong there, the request was good enough to be begun.
        _ => 500,
    };
    judge(status, RetryHints::default(), kind, message)
}

const fn is_retried(status: u16) -> bool {
    matches!(status, 408 | 409 | 429 | 500..)
}

fn is_too_long(kind: &str, message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    matches!(kind, "context_length_exceeded" | "request_too_large")
        || ["prompt is too long", "context window", "maximum context length", "context length"]
            .iter()
            .any(|words| message.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hints(pairs: &[(&'static str, &str)]) -> RetryHints {
        let pairs = pairs.iter().map(|(name, value)| {
            (http::HeaderName::from_static(name), http::HeaderValue::from_str(value).unwrap())
        });
        RetryHints::of(&pairs.collect())
    }

    // A11
    #[test]
    fn statuses_are_judged_by_what_the_caller_can_do() {
        let retry = Advice::Retry { after: None };
        let refused = Advice::Refused { is_too_long: false };
        for (status, expected) in [
            (400, refused),
            (401, Advice::Unauthorized),
            (402, Advice::Fallback),
            (403, Advice::Fallback),
            (404, Advice::Fallback),
            (408, retry),
            (409, retry),
            (413, Advice::Refused { is_too_long: true }),
            (422, refused),
            (429, retry),
            (500, retry),
            (503, retry),
            (529, retry),
        ] {
            assert_eq!(judge(status, RetryHints::default(), "", ""), expected, "{status}");
        }
        let quota = judge(429, RetryHints::default(), "insufficient_quota", "");
        assert_eq!(quota, Advice::Fallback);
        let long = judge(400, RetryHints::default(), "invalid_request_error", "prompt is too long: 9 > 8");
        assert_eq!(long, Advice::Refused { is_too_long: true });
    }

    // A11
    #[test]
    fn should_retry_wins_over_the_status() {
        let yes = hints(&[("x-should-retry", "true")]);
        let no = hints(&[("x-should-retry", "false")]);
        assert_eq!(judge(400, yes, "", ""), Advice::Retry { after: None });
        assert_eq!(judge(429, no, "", ""), Advice::Fallback);
        assert_eq!(judge(400, no, "", ""), Advice::Refused { is_too_long: false });
    }

    // A11
    #[test]
    fn the_wait_is_told_in_milliseconds_before_seconds() {
        let after = |pairs: &[(&'static str, &str)]| hints(pairs).after;
        assert_eq!(
            after(&[("retry-after-ms", "250"), ("retry-after", "9")]),
            Some(Duration::from_millis(250))
        );
        assert_eq!(after(&[("retry-after", "1.5")]), Some(Duration::from_millis(1_500)));
        for absurd in ["-1", "nan", "Wed, 21 Oct 2026 07:28:00 GMT", "1e999", ""] {
            assert_eq!(after(&[("retry-after", absurd)]), None, "{absurd}");
        }
        assert_eq!(after(&[("retry-after", "999999999")]), Some(MAX_AFTER));
    }

    // A11
    #[test]
    fn errors_in_mid_stream_are_judged_by_their_type() {
        assert_eq!(judge_in_stream("overloaded_error", ""), Advice::Retry { after: None });
        assert_eq!(judge_in_stream("something_new", ""), Advice::Retry { after: None });
        assert_eq!(judge_in_stream("invalid_request_error", "x"), Advice::Refused { is_too_long: false });
        assert_eq!(judge_in_stream("authentication_error", ""), Advice::Unauthorized);
    }
}
