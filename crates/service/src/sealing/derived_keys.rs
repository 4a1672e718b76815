//! Keys for other purposes, made from the keys for secrets: whoever has the same key file has the same ones, so that
//! replicas agree without telling each other anything.

use ring::hkdf::{HKDF_SHA256, KeyType, Salt};
use warren_model::KeyId;
use zeroize::Zeroizing;

use super::Sealer;
use super::keys::{KEY_BYTES, Key};

struct Length;

impl KeyType for Length {
    fn len(&self) -> usize {
        KEY_BYTES
    }
}

impl Sealer {
    /// The key that the first of the derived keys is made from. It changes with a rotation.
    pub fn current_key_id(&self) -> KeyId {
        self.keys.current_id()
    }

    /// One key per key at hand, the current one first. Another purpose gives keys that tell nothing of these, and a
    /// rotation puts a new one in front.
    pub fn derived_keys(&self, purpose: &str) -> Vec<Zeroizing<[u8; KEY_BYTES]>> {
        let derive = |key: &Key| {
            let mut bytes = Zeroizing::new([0; KEY_BYTES]);
            Salt::new(HKDF_SHA256, b"warren.derived.key.1")
                .extract(key.bytes())
                .expand(&[purpose.as_bytes()], Length)
                .and_then(|derived| derived.fill(bytes.as_mut_slice()))
                .expect("32 bytes are one block of the hash");
            bytes
        };
        self.keys.ring().iter().map(derive).collect()
    }
}
