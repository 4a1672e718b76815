//! The mark of a request that a replica passed on to another (O10): who passed it on, to whom, when, and what it asks,
//! under a key that only the replicas of one Warren have.
//!
//! ```text
//!   key for secrets ──HKDF──▶ key ──HMAC-SHA-256──▶ `Warren-Forwarded: from=…; at=…; id=…; mac=…`
//! ```
//!
//! It lets nobody in: the client's own credential travels along and is judged where the request arrives. What it says is
//! that another replica judged the host, the origin and the pace, and that the request is not to be passed on again.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{HeaderName, Method};
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use ring::hmac;
use warren_model::Timestamp;

/// The header that carries it.
pub const MARK_HEADER: HeaderName = HeaderName::from_static("warren-forwarded");
/// What the key is derived for, from a key for secrets.
pub const MARK_PURPOSE: &str = "warren.forwarding.hmac.1";
/// As far as the clocks of two replicas may be apart, with the way between them.
const VALID_MS: i64 = 60_000;
const MAX_MARK_BYTES: usize = 2_048;

/// What a mark is bound to: it is of no use for another request, nor at another replica.
#[derive(Debug, Clone, Copy)]
pub struct MarkedRequest<'a> {
    /// The replica that is to answer.
    pub to: &'a str,
    pub method: &'a Method,
    /// With its query.
    pub path: &'a str,
}

/// What a mark says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// The replica that passed it on.
    pub from: String,
    /// The id of the request there, which it keeps.
    pub request_id: String,
    pub at: Timestamp,
}

/// Why a mark is not believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadMark {
    #[error("it cannot be read")]
    Unreadable,
    #[error("it is not signed with a key of this Warren, or is about another request or replica")]
    Forged,
    #[error("it is too old, or the clocks of the replicas disagree")]
    Late,
}

impl Mark {
    pub fn sign(&self, key: &[u8; 32], request: MarkedRequest<'_>) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, key);
        let mac = URL_SAFE_NO_PAD.encode(hmac::sign(&key, self.text(request).as_bytes()));
        let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let at_ms = self.at.as_micros() / 1_000;
        format!("from={}; at={at_ms}; id={}; mac={mac}", encoded(&self.from), encoded(&self.request_id))
    }

    /// Reads a mark and judges it by all keys at hand: during a rotation replicas may sign with different ones.
    pub fn verify<'k>(
        value: &str,
        keys: impl IntoIterator<Item = &'k [u8; 32]>,
        request: MarkedRequest<'_>,
        now: Timestamp,
    ) -> Result<Self, BadMark> {
        let (mark, mac) = read(value).ok_or(BadMark::Unreadable)?;
        let text = mark.text(request);
        let is_ours = keys.into_iter().any(|key| {
            let key = hmac::Key::new(hmac::HMAC_SHA256, key);
            hmac::verify(&key, text.as_bytes(), &mac).is_ok()
        });
        if !is_ours {
            return Err(BadMark::Forged);
        }
        let apart_us = now.as_micros().abs_diff(mark.at.as_micros());
        if apart_us > VALID_MS.unsigned_abs() * 1_000 {
            return Err(BadMark::Late);
        }
        Ok(mark)
    }

    /// What is signed: one line each, none of which can hold a line break.
    fn text(&self, request: MarkedRequest<'_>) -> String {
        let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let at_ms = self.at.as_micros() / 1_000;
        let (from, to, id) = (encoded(&self.from), encoded(request.to), encoded(&self.request_id));
        format!("{MARK_PURPOSE}\n{from}\n{to}\n{at_ms}\n{id}\n{}\n{}", request.method, encoded(request.path))
    }
}

fn read(value: &str) -> Option<(Mark, Vec<u8>)> {
    if value.len() > MAX_MARK_BYTES {
        return None;
    }
    let (mut from, mut at, mut id, mut mac) = (None, None, None, None);
    for part in value.split(';') {
        let (name, text) = part.trim().split_once('=')?;
        let slot = match name {
            "from" => &mut from,
            "at" => &mut at,
            "id" => &mut id,
            "mac" => &mut mac,
            _ => return None,
        };
        if slot.replace(text).is_some() {
            return None;
        }
    }
    let decoded = |text: &str| percent_decode_str(text).decode_utf8().ok().map(std::borrow::Cow::into_owned);
    let at_ms: i64 = at?.parse().ok()?;
    let mark = Mark {
        from: decoded(from?)?,
        request_id: decoded(id?)?,
        at: Timestamp::from_micros(at_ms.checked_mul(1_000)?),
    };
    Some((mark, URL_SAFE_NO_PAD.decode(mac?).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: [u8; 32] = [7; 32];
    const NOW: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);

    fn request() -> MarkedRequest<'static> {
        MarkedRequest { to: "b", method: &Method::PUT, path: "/api/v1/workspaces/1/files?path=a" }
    }

    fn mark() -> Mark {
        Mark { from: "/data/a; from=b".to_owned(), request_id: "req-1".to_owned(), at: NOW }
    }

    // O10
    #[test]
    fn a_mark_is_believed_for_its_request_at_its_replica_for_a_minute() {
        let value = mark().sign(&KEY, request());
        let judged = |request, now| Mark::verify(&value, [&[1; 32], &KEY], request, now);
        assert_eq!(judged(request(), NOW.plus_ms(59_000)), Ok(mark()));
        assert_eq!(judged(request(), NOW.plus_ms(-59_000)), Ok(mark()), "its clock may be behind");
        assert_eq!(judged(request(), NOW.plus_ms(61_000)), Err(BadMark::Late));
        let others = [
            MarkedRequest { to: "c", ..request() },
            MarkedRequest { method: &Method::DELETE, ..request() },
            MarkedRequest { path: "/api/v1/workspaces/1/files?path=b", ..request() },
        ];
        for other in others {
            assert_eq!(judged(other, NOW), Err(BadMark::Forged), "{other:?}");
        }
    }

    // O10
    #[test]
    fn a_mark_of_another_key_or_with_another_word_is_not_believed() {
        let value = mark().sign(&KEY, request());
        assert_eq!(Mark::verify(&value, [&[8; 32]], request(), NOW), Err(BadMark::Forged));
        assert_eq!(Mark::verify(&value, [], request(), NOW), Err(BadMark::Forged));
        let renamed = value.replace("req%2D1", "req%2D2");
        assert_eq!(Mark::verify(&renamed, [&KEY], request(), NOW), Err(BadMark::Forged));
        let twice = format!("{value}; from=c");
        for text in ["", "1", "from=a; at=x; id=b; mac=AA", "from=a; at=1; id=b", &twice, &"x".repeat(4_096)]
        {
            assert_eq!(Mark::verify(text, [&KEY], request(), NOW), Err(BadMark::Unreadable), "{text}");
        }
    }
}
