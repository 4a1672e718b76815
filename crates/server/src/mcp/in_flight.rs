//! Calls under way that a later request may cancel.
//!
//! It lives in memory: a cancellation that is lost costs a command that runs to its own time limit.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// What names a call: nobody can name a call of another token.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) token: String,
    pub(super) label: Option<String>,
    /// The JSON-RPC id as it was written, since `1` and `"1"` are two.
    pub(super) id: Value,
}

/// As many entries as there are calls under way, each of which has a connection.
#[derive(Debug, Clone, Default)]
pub(super) struct InFlight(Arc<Mutex<HashMap<Key, Entry>>>);

#[derive(Debug, Clone)]
struct Entry {
    cancelled: CancellationToken,
    /// Tells apart two calls under one key.
    serial: u64,
}

impl InFlight {
    /// A call that can be cancelled as long as the guard lives. A second one under the same key takes its place.
    pub(super) fn begin(&self, key: Key) -> Guard {
        let cancelled = CancellationToken::new();
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let serial = calls.get(&key).map_or(0, |earlier| earlier.serial + 1);
        calls.insert(key.clone(), Entry { cancelled: cancelled.clone(), serial });
        drop(calls);
        Guard { calls: self.clone(), key, serial, cancelled }
    }

    pub(super) fn cancel(&self, key: &Key) {
        let calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = calls.get(key) {
            entry.cancelled.cancel();
        }
    }
}

/// Forgets the call when dropped.
#[derive(Debug)]
pub(super) struct Guard {
    calls: InFlight,
    key: Key,
    serial: u64,
    pub(super) cancelled: CancellationToken,
}

impl Drop for Guard {
    fn drop(&mut self) {
        let mut calls = self.calls.0.lock().unwrap_or_else(PoisonError::into_inner);
        if calls.get(&self.key).is_some_and(|entry| entry.serial == self.serial) {
            calls.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn key(token: &str, label: Option<&str>, id: Value) -> Key {
        Key { token: token.to_owned(), label: label.map(str::to_owned), id }
    }

    // S30
    #[test]
    fn only_the_same_token_label_and_id_cancels_a_call() {
        let calls = InFlight::default();
        let guard = calls.begin(key("a", Some("x"), json!(1)));
        for other in [
            key("b", Some("x"), json!(1)),
            key("a", Some("y"), json!(1)),
            key("a", None, json!(1)),
            key("a", Some("x"), json!("1")),
        ] {
            calls.cancel(&other);
            assert!(!guard.cancelled.is_cancelled(), "{other:?}");
        }
        calls.cancel(&key("a", Some("x"), json!(1)));
        assert!(guard.cancelled.is_cancelled());
    }

    // S30
    #[test]
    fn a_call_that_ended_is_forgotten_and_does_not_take_its_successor_along() {
        let calls = InFlight::default();
        let first = calls.begin(key("a", None, json!(1)));
        let second = calls.begin(key("a", None, json!(1)));
        drop(first);
        calls.cancel(&key("a", None, json!(1)));
        assert!(second.cancelled.is_cancelled());
        drop(second);
        assert!(calls.0.lock().unwrap().is_empty());
    }
}
