//! How fast callers may ask, and how often a token may be wrong. What is too much is decided by `rules`.
//!
//! Kept in memory only: to lose it with the process gives a caller one more burst.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use warren_model::{Principal, Timestamp, TokenId, TokenKind};
use warren_rules::access::FailureWindow;
use warren_rules::access::rate::{Bucket, RateLimit};
use warren_service::{Context, Identity};

/// Principals that are kept before those with nothing to remember are forgotten.
const MAX_PRINCIPALS: usize = 10_000;

/// Counts requests and wrong tokens. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Throttle {
    context: Context,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    failures: Mutex<FailureWindow>,
    buckets: Mutex<HashMap<Payer, Bucket>>,
}

/// Before one more is kept. Where all of them are busy, all are forgotten: each gets one more burst, and the memory of it has
/// an end.
fn make_room(buckets: &mut HashMap<Payer, Bucket>, limit: RateLimit, now: Timestamp) {
    if buckets.len() < MAX_PRINCIPALS {
        return;
    }
    buckets.retain(|_, bucket| !bucket.is_idle(limit, now));
    // What a burst of callers took is given back, and a full map is not looked through for every request.
    if buckets.len() > MAX_PRINCIPALS / 2 {
        buckets.clear();
    }
    buckets.shrink_to(MAX_PRINCIPALS / 2);
}

/// Whose pace a request counts against. Each `user` token has its own: they belong to different programs, and one that
/// hurries must not stop the others. Those of a workspace are one agent's.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Payer {
    Token(TokenId),
    Principal(Principal),
}

impl Payer {
    fn of(who: &Identity) -> Self {
        match who.token.kind {
            TokenKind::User => Self::Token(who.token.id),
            TokenKind::Admin
            | TokenKind::Workspace
            | TokenKind::Join
            | TokenKind::Runner
            | TokenKind::Login
            | TokenKind::SignIn => Self::Principal(who.principal.clone()),
        }
    }
}

/// A caller asks too fast.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooFast {
    pub retry_after_seconds: u64,
    /// What the caller may do in a minute.
    pub per_minute: u32,
}

impl Throttle {
    pub(crate) fn new(context: Context) -> Self {
        Self { context, counts: Arc::default() }
    }

    /// Counts a wrong token. Returns true if there were too many (sec/U06).
    pub fn is_one_failure_too_many(&self) -> bool {
        let mut window = self.counts.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let is_too_many;
        (*window, is_too_many) = window.after_failure(self.context.now());
        is_too_many
    }

    /// Counts a request (F36). By token or by principal.
    pub fn admit(&self, who: &Identity) -> Result<(), TooFast> {
        let per_minute = self.context.limits().max_requests_per_minute;
        if per_minute == 0 || who.runs_warren() {
            return Ok(());
        }
        let (limit, now) = (RateLimit { per_minute }, self.context.now());
        let mut buckets = self.counts.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        make_room(&mut buckets, limit, now);
        let bucket = buckets.entry(Payer::of(who)).or_insert_with(|| Bucket::full(limit, now));
        match bucket.take(limit, now) {
            Ok(left) => {
                *bucket = left;
                Ok(())
            }
            Err(retry_after_seconds) => Err(TooFast { retry_after_seconds, per_minute }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // F36: not by timing
    #[test]
    fn busy_callers_beyond_the_limit_do_not_grow_the_memory_of_them() {
        let (limit, now) = (RateLimit { per_minute: 10 }, Timestamp::from_micros(0));
        let mut buckets = HashMap::new();
        for number in 0..5 * u128::try_from(MAX_PRINCIPALS).unwrap() {
            make_room(&mut buckets, limit, now);
            let bucket = Bucket::full(limit, now).take(limit, now).unwrap();
            buckets.insert(Payer::Token(TokenId::from_bytes(number.to_be_bytes())), bucket);
            assert!(buckets.len() <= MAX_PRINCIPALS, "{}", buckets.len());
        }
    }
}
