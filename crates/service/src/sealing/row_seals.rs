//! Small secrets in rows of other tables, such as the credential with which a receiver of notifications is called. Each is
//! sealed under the current key for its place alone, and a rotation of the key seals it anew.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use warren_model::KeyId;
use zeroize::Zeroizing;

use super::Sealer;
use super::keys::{Key, Keyring};

/// Stands in front of the text, so that its form can change.
const VERSION: &str = "v1";

impl Sealer {
    /// Seals a text for one place: it opens nowhere else.
    pub fn seal_text(&self, place: &str, text: &str) -> String {
        seal(self.keys.ring().current(), self.nonce(), place, text)
    }

    /// `None`: its key is not at hand, or it is not what was sealed for this place.
    pub fn open_text(&self, place: &str, sealed: &str) -> Option<Zeroizing<String>> {
        open(&self.keys.ring(), place, sealed)
    }

    /// Seals a text anew under the current key of this ring, where it is under another.
    pub fn reseal_text(&self, ring: &Keyring, place: &str, sealed: &str) -> RowSeal {
        if key_id_of(sealed).as_ref() == Some(ring.current().id()) {
            return RowSeal::NotNeeded;
        }
        let Some(text) = open(ring, place, sealed) else { return RowSeal::Unreadable };
        RowSeal::Sealed(seal(ring.current(), self.nonce(), place, &text))
    }

    fn nonce(&self) -> [u8; NONCE_LEN] {
        let mut nonce = [0; NONCE_LEN];
        self.entropy.fill(&mut nonce);
        nonce
    }
}

/// What a rotation of the key makes of a text that is sealed in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowSeal {
    NotNeeded,
    Unreadable,
    Sealed(String),
}

fn key_id_of(sealed: &str) -> Option<KeyId> {
    let (key_id, _) = sealed.strip_prefix(VERSION)?.strip_prefix('.')?.split_once('.')?;
    KeyId::parse(key_id)
}

fn seal(key: &Key, nonce: [u8; NONCE_LEN], place: &str, text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    cipher(key)
        .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(place), &mut bytes)
        .expect("a few kilobytes are far below what the cipher takes");
    let sealed: Vec<u8> = nonce.into_iter().chain(bytes).collect();
    format!("{VERSION}.{}.{}", key.id(), URL_SAFE_NO_PAD.encode(sealed))
}

fn open(ring: &Keyring, place: &str, sealed: &str) -> Option<Zeroizing<String>> {
    let (key_id, bytes) = sealed.strip_prefix(VERSION)?.strip_prefix('.')?.split_once('.')?;
    let key = ring.find(&KeyId::parse(key_id)?)?;
    let mut bytes = Zeroizing::new(URL_SAFE_NO_PAD.decode(bytes).ok()?);
    let (nonce, text) = bytes.split_at_mut_checked(NONCE_LEN)?;
    let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
    let opened = cipher(key).open_in_place(nonce, Aad::from(place), text).ok()?;
    Some(Zeroizing::new(std::str::from_utf8(opened).ok()?.to_owned()))
}

fn cipher(key: &Key) -> LessSafeKey {
    LessSafeKey::new(UnboundKey::new(&AES_256_GCM, key.bytes()).expect("a key has 32 bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    // sec/U08
    #[test]
    fn what_was_sealed_for_one_place_opens_there_and_nowhere_else() {
        let ring = Keyring::of(Key::new([1; 32]));
        let sealed = seal(ring.current(), [7; NONCE_LEN], "here", "s3cret");
        assert!(!sealed.contains("s3cret"));
        assert_eq!(open(&ring, "here", &sealed).as_deref().map(String::as_str), Some("s3cret"));
        assert_eq!(open(&ring, "there", &sealed), None);
        assert_eq!(open(&Keyring::of(Key::new([2; 32])), "here", &sealed), None, "another key");
        let flipped = format!("{}{}", &sealed[..sealed.len() - 4], "AAAA");
        for other in ["", "v1", "v1..", "v2.x.y", &sealed[..sealed.len() - 5], &flipped] {
            assert_eq!(open(&ring, "here", other), None, "{other}");
        }
    }
}
