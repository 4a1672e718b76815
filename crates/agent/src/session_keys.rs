//! Keys of requests: the same again under the same key gets the same answer (A7).

use serde_json::Value;
use warren_model::{ErrorCode, Principal, SessionId, Timestamp, fingerprint};
use warren_service::Error;
use warren_store::{KeyScope, SessionKey, WriteTx};

const MAX_KEY_BYTES: usize = 256;
/// A key is remembered for so long.
pub(crate) const KEY_MS: i64 = 24 * 3_600_000;

pub(crate) fn check_key(key: Option<&str>) -> Result<(), Error> {
    match key {
        Some(key) if key.is_empty() || key.len() > MAX_KEY_BYTES || key.chars().any(char::is_control) => {
            let detail = format!("key: expected 1 to {MAX_KEY_BYTES} bytes without control characters");
            Err(Error::with_detail(ErrorCode::InvalidRequest, detail))
        }
        Some(_) | None => Ok(()),
    }
}

/// A key under which something is asked for.
#[derive(Debug, Clone)]
pub(crate) struct Key {
    pub(crate) scope: KeyScope,
    pub(crate) key: String,
    /// A fingerprint of what is asked.
    pub(crate) asked: String,
}

impl Key {
    /// The key of something that is asked of a session.
    pub(crate) fn of_session(
        id: SessionId,
        key: Option<String>,
        asked: &Value,
    ) -> Result<Option<Self>, Error> {
        check_key(key.as_deref())?;
        Ok(key.map(|key| Self { scope: KeyScope::Session(id), key, asked: fingerprint(asked) }))
    }
}

/// What the same request was answered before.
pub(crate) fn repeated(
    tx: &mut dyn WriteTx,
    by: &Principal,
    key: Option<&Key>,
    now: Timestamp,
) -> Result<Option<Value>, Error> {
    let Some(key) = key else { return Ok(None) };
    let before = tx.session_key(key.scope, by, &key.key)?;
    match before.filter(|before| before.at > now.plus_ms(-KEY_MS)) {
        Some(before) if before.fingerprint == key.asked => Ok(Some(before.answer)),
        Some(_) => Err(Error::new(ErrorCode::KeyReused)),
        None => Ok(None),
    }
}

pub(crate) fn remember(
    tx: &mut dyn WriteTx,
    by: &Principal,
    key: Option<&Key>,
    now: Timestamp,
    answer: &Value,
) -> Result<(), Error> {
    let Some(key) = key else { return Ok(()) };
    let row = SessionKey {
        scope: key.scope,
        sender: by.clone(),
        key: key.key.clone(),
        fingerprint: key.asked.clone(),
        answer: answer.clone(),
        at: now,
    };
    match tx.insert_session_key(&row, now.plus_ms(-KEY_MS))? {
        true => Ok(()),
        // Another request with the same key was faster; this one is decided anew.
        false => Err(Error::new(ErrorCode::VersionConflict)),
    }
}
