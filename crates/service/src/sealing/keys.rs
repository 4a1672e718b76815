//! The keys that secrets are sealed with, and where they come from.
//!
//! ```text
//!   text of a source:   NEW-KEY OLD-KEY OLDER-KEY      32 bytes each, base64, white space between
//!                       seals   only open
//! ```
//!
//! The same form serves a file, a variable and a command's output. A key is known by its fingerprint, so that a row says
//! which key it needs, and a wrong key is told apart from a damaged row.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use warren_model::KeyId;
use zeroize::Zeroizing;

pub(crate) const KEY_BYTES: usize = 32;
/// More than any rotation leaves behind.
const MAX_KEYS: usize = 16;

/// Why there is no key. The sentence is for the person who runs Warren, and holds no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct KeyError(String);

impl KeyError {
    pub fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }
}

/// One key.
#[derive(Clone)]
pub struct Key {
    id: KeyId,
    bytes: Zeroizing<[u8; KEY_BYTES]>,
}

impl Key {
    pub fn new(bytes: [u8; KEY_BYTES]) -> Self {
        let mut context = ring::digest::Context::new(&ring::digest::SHA256);
        context.update(b"warren.secret.key.1");
        context.update(&bytes);
        let digest = context.finish();
        let mut fingerprint = [0; 8];
        fingerprint.copy_from_slice(&digest.as_ref()[..8]);
        Self { id: KeyId::from_fingerprint(fingerprint), bytes: Zeroizing::new(bytes) }
    }

    pub fn id(&self) -> &KeyId {
        &self.id
    }

    pub(crate) fn bytes(&self) -> &[u8; KEY_BYTES] {
        &self.bytes
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.id)
    }
}

/// The keys at hand: the first seals, all open. There is at least one.
#[derive(Debug, Clone)]
pub struct Keyring(Vec<Key>);

impl Keyring {
    pub fn of(key: Key) -> Self {
        Self(vec![key])
    }

    /// Reads the text of a source.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let words: Vec<&str> = text.split_whitespace().collect();
        if words.is_empty() || words.len() > MAX_KEYS {
            return Err(KeyError::new(format!("expected 1 to {MAX_KEYS} keys, found {}", words.len())));
        }
        let mut keys: Vec<Key> = Vec::new();
        for (position, word) in words.iter().enumerate() {
            let decoded = Zeroizing::new(STANDARD.decode(word).unwrap_or_default());
            let bytes: [u8; KEY_BYTES] = decoded.as_slice().try_into().map_err(|_| {
                KeyError::new(format!("key {} is not 32 bytes in base64 (44 characters)", position + 1))
            })?;
            let key = Key::new(bytes);
            if keys.iter().any(|known| known.id == key.id) {
                return Err(KeyError::new(format!("key {} stands there twice", position + 1)));
            }
            keys.push(key);
        }
        Ok(Self(keys))
    }

    /// The text of a source.
    pub fn to_text(&self) -> Zeroizing<String> {
        let mut text = Zeroizing::new(String::new());
        for key in &self.0 {
            text.push_str(&Zeroizing::new(STANDARD.encode(key.bytes.as_slice())));
            text.push('\n');
        }
        text
    }

    /// The one that seals.
    pub fn current(&self) -> &Key {
        &self.0[0]
    }

    /// All of them, the current one first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Key> {
        self.0.iter()
    }

    /// The ids of all of them, the current one first.
    pub fn ids(&self) -> Vec<KeyId> {
        self.0.iter().map(|key| key.id.clone()).collect()
    }

    pub fn find(&self, id: &KeyId) -> Option<&Key> {
        self.0.iter().find(|key| key.id == *id)
    }

    /// With a new key in front.
    #[must_use]
    pub fn led_by(&self, key: Key) -> Self {
        Self([key].into_iter().chain(self.0.iter().cloned()).take(MAX_KEYS).collect())
    }

    /// Without keys that nothing needs. The one before the current stays: another replica may have sealed with it a
    /// moment ago, and yesterday's backup surely has.
    #[must_use]
    pub fn without_unused(&self, is_used: impl Fn(&KeyId) -> bool) -> Self {
        let kept = self.0.iter().enumerate().filter(|(position, key)| *position < 2 || is_used(&key.id));
        Self(kept.map(|(_, key)| key.clone()).collect())
    }
}

/// Where keys come from.
pub trait KeySource: Send + Sync + fmt::Debug {
    fn load(&self) -> Result<Keyring, KeyError>;

    /// Replaces what is there, durably and in one step. `false`: this source is not Warren's to write.
    fn replace(&self, keyring: &Keyring) -> Result<bool, KeyError>;
}

/// Keys that were read once: from a variable, or from a command's output.
#[derive(Debug)]
pub struct FixedKeys(pub Keyring);

impl KeySource for FixedKeys {
    fn load(&self) -> Result<Keyring, KeyError> {
        Ok(self.0.clone())
    }

    fn replace(&self, _keyring: &Keyring) -> Result<bool, KeyError> {
        Ok(false)
    }
}

/// The keys of a running Warren. All clones are one.
#[derive(Debug, Clone)]
pub struct Keys(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    source: Arc<dyn KeySource>,
    ring: RwLock<Keyring>,
}

impl Keys {
    /// Reads the source; a Warren without a key for secrets does not start.
    pub fn open(source: Arc<dyn KeySource>) -> Result<Self, KeyError> {
        let ring = RwLock::new(source.load()?);
        Ok(Self(Arc::new(Inner { source, ring })))
    }

    /// The keys as they were last read.
    pub fn ring(&self) -> Keyring {
        self.0.ring.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn current_id(&self) -> KeyId {
        self.0.ring.read().unwrap_or_else(PoisonError::into_inner).current().id().clone()
    }

    /// Reads the source again: another replica may have changed a shared file. What is there now stays where it
    /// cannot be read.
    pub fn reload(&self) -> Keyring {
        match self.0.source.load() {
            Ok(fresh) => {
                *self.0.ring.write().unwrap_or_else(PoisonError::into_inner) = fresh.clone();
                fresh
            }
            Err(error) => {
                tracing::warn!(%error, "the keys for secrets could not be read again");
                self.ring()
            }
        }
    }

    /// Puts `keyring` in place of what is there; returns true if the source can be written at all.
    pub fn replace(&self, keyring: &Keyring) -> Result<bool, KeyError> {
        let is_written = self.0.source.replace(keyring)?;
        if is_written {
            *self.0.ring.write().unwrap_or_else(PoisonError::into_inner) = keyring.clone();
        }
        Ok(is_written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(seeds: &[u8]) -> Keyring {
        Keyring(seeds.iter().map(|seed| Key::new([*seed; 32])).collect())
    }

    fn ids(ring: &Keyring) -> Vec<String> {
        ring.0.iter().map(|key| key.id.to_string()).collect()
    }

    // F32
    #[test]
    fn keys_survive_their_text_and_the_first_seals() {
        let three = ring(&[1, 2, 3]);
        let read = Keyring::parse(&three.to_text()).unwrap();
        assert_eq!(ids(&read), ids(&three));
        assert_eq!(read.current().id(), Key::new([1; 32]).id());
        assert!(Keyring::parse(&three.to_text().replace('\n', " ")).is_ok(), "a variable has no lines");
    }

    // F32
    #[test]
    fn a_bad_key_is_refused_by_its_place_and_not_repeated() {
        let good = ring(&[1]).to_text();
        let hunter = STANDARD.encode("hunter2");
        for (text, expected) in [
            (String::new(), "found 0"),
            (hunter.clone(), "key 1 is not 32 bytes"),
            (format!("{} {hunter}", *good), "key 2 is not 32 bytes"),
            (format!("{}{}", *good, *good), "key 2 stands there twice"),
        ] {
            let error = Keyring::parse(&text).unwrap_err().to_string();
            assert!(error.contains(expected) && !error.contains(&hunter), "{error}");
        }
    }

    // F32
    #[test]
    fn printing_a_key_for_programmers_tells_its_id_and_nothing_else() {
        let text = format!("{:?} {:?}", ring(&[7]), FixedKeys(ring(&[7])));
        assert!(text.contains(Key::new([7; 32]).id().as_str()));
        assert!(!text.contains("[7") && !text.contains(ring(&[7]).to_text().trim()), "{text}");
    }

    // F32
    #[test]
    fn the_key_before_the_current_is_kept_and_older_ones_while_something_needs_them() {
        let rotated = ring(&[1, 2, 3]).led_by(Key::new([9; 32]));
        let third = Key::new([2; 32]);
        let kept = rotated.without_unused(|id| id == third.id());
        assert_eq!(ids(&kept), ids(&ring(&[9, 1, 2])));
    }
}
