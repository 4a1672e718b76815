//! Sealing and opening: AES-256-GCM with a random nonce, and everything that identifies the row as associated data.

use std::collections::BTreeMap;

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use warren_doors::Entropy;
use warren_model::{ErrorCode, KeyId, SealedSecret, SecretValue, WorkspaceId};
use warren_rules::access::secrets;
use zeroize::Zeroizing;

use super::Sealer;
use super::keys::{Key, Keyring};
use crate::Error;

/// Why a secret did not open.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    #[error("its key {0} is not at hand")]
    KeyMissing(KeyId),
    /// Changed, moved to another owner or name, or put back from an earlier version.
    #[error("it is not what was sealed under {0} for this owner, name and version")]
    NotWhatWasSealed(KeyId),
}

impl Sealer {
    /// Seals `value` into the row: sets its key, nonce and sealed bytes. Owner, name and version must be set before.
    pub fn seal_row(&self, row: &mut SealedSecret, value: &SecretValue, key: &Key) {
        seal(row, value, key, &*self.entropy);
    }

    pub fn open_row(&self, row: &SealedSecret, keys: &Keyring) -> Result<SecretValue, OpenError> {
        open(row, keys)
    }

    /// Opens all that commands of a workspace get: its own secrets before its org's. One that does not open is an error: a
    /// command that runs without what it counts on does harm of its own.
    pub fn open_all(
        &self,
        id: WorkspaceId,
        rows: Vec<SealedSecret>,
    ) -> Result<BTreeMap<String, Zeroizing<String>>, Error> {
        let in_effect = secrets::in_effect(rows);
        let keys = self.keys_for(in_effect.values());
        let mut values = BTreeMap::new();
        for (name, row) in in_effect {
            let value = open(&row, &keys).map_err(|error| {
                tracing::error!(workspace.id = %id, secret = name.as_str(), %error, "a secret does not open");
                let detail = format!("{name}, sealed under {}", row.key_id);
                Error::with_detail(ErrorCode::SecretUnreadable, detail)
            })?;
            values.insert(name.as_str().to_owned(), Zeroizing::new(value.reveal().to_owned()));
        }
        Ok(values)
    }
}

fn seal(row: &mut SealedSecret, value: &SecretValue, key: &Key, entropy: &dyn Entropy) {
    row.key_id = key.id().clone();
    entropy.fill(&mut row.nonce);
    let mut bytes = value.reveal().as_bytes().to_vec();
    cipher(key)
        .seal_in_place_append_tag(
            Nonce::assume_unique_for_key(row.nonce),
            Aad::from(row.associated_data()),
            &mut bytes,
        )
        .expect("64 KiB are far below what the cipher takes");
    row.sealed = bytes;
}

fn open(row: &SealedSecret, keys: &Keyring) -> Result<SecretValue, OpenError> {
    let key = keys.find(&row.key_id).ok_or_else(|| OpenError::KeyMissing(row.key_id.clone()))?;
    let damaged = || OpenError::NotWhatWasSealed(row.key_id.clone());
    let mut bytes = Zeroizing::new(row.sealed.clone());
    let nonce = Nonce::assume_unique_for_key(row.nonce);
    let opened = cipher(key).open_in_place(nonce, Aad::from(row.associated_data()), &mut bytes);
    let text = std::str::from_utf8(opened.map_err(|_| damaged())?).map_err(|_| damaged())?;
    SecretValue::new(Zeroizing::new(text.to_owned())).map_err(|_| damaged())
}

const _: () = assert!(NONCE_LEN == 12);

fn cipher(key: &Key) -> LessSafeKey {
    LessSafeKey::new(UnboundKey::new(&AES_256_GCM, key.bytes()).expect("a key has 32 bytes"))
}

#[cfg(test)]
mod tests {
    use warren_doors::SeededEntropy;
    use warren_model::{OrgId, Principal, SecretOwner, Timestamp, WorkspaceId};

    use super::*;

    fn value(text: &str) -> SecretValue {
        SecretValue::new(Zeroizing::new(text.to_owned())).unwrap()
    }

    fn sealed(entropy: &dyn Entropy) -> (SealedSecret, Keyring) {
        let key = Key::new([1; 32]);
        let at = Timestamp::from_micros(1);
        let mut row = SealedSecret {
            owner: SecretOwner::Org(OrgId::DEFAULT),
            name: "API_KEY".parse().unwrap(),
            version: 1,
            key_id: key.id().clone(),
            nonce: [0; 12],
            sealed: Vec::new(),
            created_at: at,
            updated_at: at,
            updated_by: Principal::system("test"),
        };
        seal(&mut row, &value("hunter2"), &key, entropy);
        (row, Keyring::of(key))
    }

    // F32
    #[test]
    fn what_was_sealed_opens_and_shows_nothing_of_itself() {
        let entropy = SeededEntropy::new(1);
        let (row, keys) = sealed(&entropy);
        assert_eq!(open(&row, &keys).unwrap().reveal(), "hunter2");
        assert!(!row.sealed.windows(4).any(|window| window == b"hunt"));
        let (again, _) = sealed(&entropy);
        assert_ne!((row.nonce, row.sealed), (again.nonce, again.sealed), "a nonce is used once");
    }

    // F32, sec/U08
    #[test]
    fn a_row_that_was_moved_flipped_or_put_back_does_not_open() {
        let (row, keys) = sealed(&SeededEntropy::new(1));
        let id = WorkspaceId::from_parts(Timestamp::from_micros(1), [1; 10]);
        let own = SecretOwner::Workspace { id, org_id: OrgId::DEFAULT };
        let mut flipped = row.clone();
        flipped.sealed[0] ^= 1;
        let mut short = row.clone();
        short.sealed.clear();
        let mut other_nonce = row.clone();
        other_nonce.nonce[0] ^= 1;
        for moved in [
            SealedSecret { owner: own, ..row.clone() },
            SealedSecret { owner: SecretOwner::Org(OrgId::from_bytes([9; 16])), ..row.clone() },
            SealedSecret { name: "OTHER".parse().unwrap(), ..row.clone() },
            SealedSecret { version: 2, ..row.clone() },
            flipped,
            short,
            other_nonce,
        ] {
            let damaged = OpenError::NotWhatWasSealed(row.key_id.clone());
            assert_eq!(open(&moved, &keys).unwrap_err(), damaged, "{moved:?}");
        }
        let other = Key::new([2; 32]);
        let relabelled = SealedSecret { key_id: other.id().clone(), ..row.clone() };
        assert!(matches!(open(&relabelled, &Keyring::of(other)), Err(OpenError::NotWhatWasSealed(_))));
        assert_eq!(
            open(&row, &Keyring::of(Key::new([2; 32]))).unwrap_err(),
            OpenError::KeyMissing(row.key_id.clone())
        );
    }
}
