//! Sealing what must not be read in the database: secrets, and small texts in other rows.
//!
//! | file | what it seals |
//! |---|---|
//! | `rows` | rows of the table of secrets |
//! | `row_seals` | texts in rows of other tables |
//! | `system_secrets` | secrets of Warren's own, such as those shared with the receivers of webhooks |
//! | `keys`, `key_file` | nothing: the keys, and where they come from |
//! | `derived_keys` | nothing: keys for other purposes, made from these |

mod derived_keys;
mod key_file;
mod keys;
mod row_seals;
mod rows;
mod system_secrets;

pub use key_file::KeyFile;
pub use keys::{FixedKeys, Key, KeyError, KeySource, Keyring, Keys};
pub use row_seals::RowSeal;
pub use rows::OpenError;

use std::sync::Arc;

use warren_doors::Entropy;
use warren_model::SealedSecret;

/// Seals and opens under the keys at hand. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Sealer {
    keys: Keys,
    entropy: Arc<dyn Entropy>,
}

impl Sealer {
    pub fn new(keys: Keys, entropy: Arc<dyn Entropy>) -> Self {
        Self { keys, entropy }
    }

    pub fn keys(&self) -> &Keys {
        &self.keys
    }

    /// The keys at hand, read again if one of the rows needs another.
    pub fn keys_for<'a>(&self, rows: impl IntoIterator<Item = &'a SealedSecret>) -> Keyring {
        let ring = self.keys.ring();
        let has_all = rows.into_iter().all(|row| ring.find(&row.key_id).is_some());
        if has_all { ring } else { self.keys.reload() }
    }
}
