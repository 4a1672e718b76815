//! What was fetched from the provider: kept for a while, fetched by one at a time, and asked for again within bounds.
//!
//! ```text
//!   fresh ──1 h──▶ fetched again ── fails ──▶ the old one, tried again each minute, until it is a day old
//!   nothing ─────▶ fetched ──────── fails ──▶ that failure, for 5 s
//! ```

use std::future::Future;
use std::sync::Arc;

use tokio::sync::Mutex;
use warren_model::Timestamp;

use crate::error::{Error, Reason};

const FRESH_MS: i64 = 3_600 * 1_000;
/// A provider that cannot be reached may have been well a moment ago.
const USABLE_MS: i64 = 24 * 3_600 * 1_000;
const RETRY_STALE_MS: i64 = 60 * 1_000;
const RETRY_FAILED_MS: i64 = 5 * 1_000;
/// Between two fetches because something was missing in what is kept.
const REFRESH_MS: i64 = 60 * 1_000;

#[derive(Debug)]
pub(crate) struct Cache<T> {
    name: &'static str,
    state: Mutex<State<T>>,
}

#[derive(Debug)]
struct State<T> {
    kept: Option<Kept<T>>,
    failure: Option<(Error, Timestamp)>,
    refreshed_at: Option<Timestamp>,
}

#[derive(Debug)]
struct Kept<T> {
    value: Arc<T>,
    fetched_at: Timestamp,
}

impl<T> Cache<T> {
    pub(crate) fn new(name: &'static str) -> Self {
        Self { name, state: Mutex::new(State { kept: None, failure: None, refreshed_at: None }) }
    }

    /// What is kept, if `is_of_use` says so, or what is fetched.
    pub(crate) async fn get(
        &self,
        now: Timestamp,
        is_of_use: impl Fn(&T) -> bool,
        fetch: impl Future<Output = Result<T, Error>>,
    ) -> Result<Arc<T>, Error> {
        let mut state = self.state.lock().await;
        state.kept = state.kept.take().filter(|kept| is_of_use(&kept.value));
        if let Some(kept) = &state.kept {
            let is_fresh = is_within(kept.fetched_at, now, FRESH_MS);
            let is_usable = is_within(kept.fetched_at, now, USABLE_MS);
            let has_failed =
                state.failure.as_ref().is_some_and(|(_, at)| is_within(*at, now, RETRY_STALE_MS));
            if is_fresh || is_usable && has_failed {
                return Ok(Arc::clone(&kept.value));
            }
        } else if let Some((error, at)) = &state.failure
            && is_within(*at, now, RETRY_FAILED_MS)
        {
            return Err(error.clone());
        }
        self.take(&mut state, now, fetch.await)
    }

    /// Fetches although something fresh is kept, if that was not done just now.
    pub(crate) async fn refresh(
        &self,
        now: Timestamp,
        fetch: impl Future<Output = Result<T, Error>>,
    ) -> Option<Result<Arc<T>, Error>> {
        let mut state = self.state.lock().await;
        if state.refreshed_at.is_some_and(|at| is_within(at, now, REFRESH_MS)) {
            return None;
        }
        state.refreshed_at = Some(now);
        let fetched = fetch.await;
        Some(self.take(&mut state, now, fetched))
    }

    fn take(&self, state: &mut State<T>, now: Timestamp, fetched: Result<T, Error>) -> Result<Arc<T>, Error> {
        match fetched {
            Ok(value) => {
                let value = Arc::new(value);
                state.kept = Some(Kept { value: Arc::clone(&value), fetched_at: now });
                state.failure = None;
                Ok(value)
            }
            Err(error) => {
                state.failure = Some((error.clone(), now));
                // One that answers something else is another matter than one that does not answer.
                let is_away = error.reason() == Reason::Unreachable;
                match &state.kept {
                    Some(kept) if is_away && is_within(kept.fetched_at, now, USABLE_MS) => {
                        let what = self.name;
                        tracing::warn!(what, %error, "the sign-in provider does not answer; what is kept is used");
                        Ok(Arc::clone(&kept.value))
                    }
                    _ => Err(error),
                }
            }
        }
    }
}

/// A clock that was set back makes nothing last longer.
fn is_within(at: Timestamp, now: Timestamp, ms: i64) -> bool {
    (0..ms).contains(&now.ms_since(at))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    struct Source {
        calls: AtomicU32,
        is_away: std::sync::atomic::AtomicBool,
    }

    impl Source {
        async fn fetch(&self) -> Result<u32, Error> {
            let call = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
            let is_away = self.is_away.load(Ordering::SeqCst);
            if is_away { Err(Error::new(Reason::Unreachable, "away")) } else { Ok(call) }
        }
    }

    // F38
    #[tokio::test]
    async fn what_is_kept_is_used_for_an_hour_and_while_the_provider_is_away_for_a_day() {
        let source = Source { calls: AtomicU32::new(0), is_away: false.into() };
        let cache = Cache::new("numbers");
        let get = async |seconds| cache.get(at(seconds), |_| true, source.fetch()).await.map(|value| *value);
        assert_eq!(get(0).await, Ok(1));
        assert_eq!(get(3_599).await, Ok(1));
        assert_eq!(get(3_600).await, Ok(2));
        source.is_away.store(true, Ordering::SeqCst);
        assert_eq!(get(7_300).await, Ok(2), "away: the old one");
        assert_eq!(get(7_330).await, Ok(2), "not asked again within the minute");
        assert_eq!(source.calls.load(Ordering::SeqCst), 3);
        assert!(get(3_600 + 24 * 3_600).await.is_err(), "a day is too long");
        let calls = source.calls.load(Ordering::SeqCst);
        source.is_away.store(false, Ordering::SeqCst);
        assert_eq!(get(3_600 + 24 * 3_600 + 61).await, Ok(calls + 1));
    }

    // F38
    #[tokio::test]
    async fn a_provider_that_is_away_is_asked_once_in_five_seconds() {
        let source = Source { calls: AtomicU32::new(0), is_away: true.into() };
        let cache: Cache<u32> = Cache::new("numbers");
        for seconds in [0, 1, 4, 5] {
            assert!(cache.get(at(seconds), |_| true, source.fetch()).await.is_err());
        }
        assert_eq!(source.calls.load(Ordering::SeqCst), 2);
    }

    // F38
    #[tokio::test]
    async fn what_lacks_something_is_fetched_again_once_a_minute() {
        let source = Source { calls: AtomicU32::new(0), is_away: false.into() };
        let cache = Cache::new("numbers");
        assert_eq!(cache.get(at(0), |_| true, source.fetch()).await.map(|value| *value), Ok(1));
        assert_eq!(cache.refresh(at(1), source.fetch()).await, Some(Ok(Arc::new(2))));
        assert_eq!(cache.refresh(at(60), source.fetch()).await, None);
        assert_eq!(cache.refresh(at(61), source.fetch()).await, Some(Ok(Arc::new(3))));
        assert_eq!(cache.get(at(62), |kept| *kept == 7, source.fetch()).await, Ok(Arc::new(4)), "of no use");
    }
}
