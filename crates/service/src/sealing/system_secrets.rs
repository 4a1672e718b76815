//! Secrets of Warren's own, such as those that it shares with the receivers of webhooks: sealed and rotated like all
//! others, under an org that no workspace belongs to, so that none of them becomes a variable anywhere.

use warren_model::{
    ErrorCode, Id, IdKind, OrgId, Principal, SealedSecret, SecretName, SecretOwner, SecretValue, Timestamp,
};

use super::Sealer;
use crate::Error;

impl Sealer {
    /// The owner under which they are stored.
    pub const SYSTEM_SECRETS: SecretOwner = SecretOwner::Org(OrgId::WARREN);

    /// The name of the secret that belongs to something with an id, such as a webhook or a channel.
    pub fn system_secret_name<K: IdKind>(id: Id<K>) -> SecretName {
        let hex: String = id.as_bytes().iter().map(|byte| format!("{byte:02X}")).collect();
        format!("WEBHOOK_{hex}").parse().expect("letters, digits and `_`")
    }

    /// A row that is not written yet.
    pub fn seal_system_secret(
        &self,
        name: &SecretName,
        value: &SecretValue,
        by: &Principal,
        at: Timestamp,
    ) -> SealedSecret {
        let ring = self.keys.ring();
        let mut row = SealedSecret {
            owner: Self::SYSTEM_SECRETS,
            name: name.clone(),
            version: 1,
            key_id: ring.current().id().clone(),
            nonce: [0; 12],
            sealed: Vec::new(),
            created_at: at,
            updated_at: at,
            updated_by: by.clone(),
        };
        self.seal_row(&mut row, value, ring.current());
        row
    }

    pub fn open_system_secret(&self, row: &SealedSecret) -> Result<SecretValue, Error> {
        self.open_row(row, &self.keys_for([row])).map_err(|error| {
            tracing::error!(secret = row.name.as_str(), %error, "a secret of Warren's own does not open");
            Error::new(ErrorCode::SecretUnreadable).caused_by(error.to_string())
        })
    }
}
