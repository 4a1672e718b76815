//! Signs calls to agents with a key that the keys for secrets yield (X2). How a call is signed is in
//! `warren_outbound::signing`.

use std::sync::{Arc, Mutex, PoisonError};

use warren_doors::Clock;
use warren_model::KeyId;
use warren_outbound::signing::{About, KEY_PURPOSE, PublicKey, SigningKey};
use warren_outbound::{Call, Connector, Refused};
use warren_service::Sealer;

/// Signs calls to agents. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Signer {
    sealer: Sealer,
    clock: Arc<dyn Clock>,
    connector: Connector,
    last: Arc<Mutex<Option<LastKey>>>,
}

/// The key of the last call.
#[derive(Debug)]
struct LastKey {
    /// The key for secrets that it was derived from.
    made_from: KeyId,
    key: Arc<SigningKey>,
}

impl Signer {
    pub fn new(sealer: Sealer, clock: Arc<dyn Clock>, connector: Connector) -> Self {
        Self { sealer, clock, connector, last: Arc::default() }
    }

    /// Names author and message in the call's headers and signs it. Nothing of what is signed may change afterwards.
    pub fn sign(&self, call: Call, about: About<'_>) -> Result<Call, Refused> {
        self.signing_key().sign(&self.connector, call, about, self.clock.now())
    }

    /// The keys that verify what we sign, the current one first. Older ones stay published for as long as their origin is
    /// kept.
    pub fn public_keys(&self) -> Vec<PublicKey> {
        let seeds = self.sealer.derived_keys(KEY_PURPOSE);
        seeds.iter().map(|seed| SigningKey::from_seed(seed).public_key()).collect()
    }

    /// The current key. A rotation brings another one.
    fn signing_key(&self) -> Arc<SigningKey> {
        let made_from = self.sealer.current_key_id();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*last
            && known.made_from == made_from
        {
            return Arc::clone(&known.key);
        }
        let mut seeds = self.sealer.derived_keys(KEY_PURPOSE).into_iter();
        let seed = seeds.next().expect("there is at least one key for secrets");
        let key = Arc::new(SigningKey::from_seed(&seed));
        *last = Some(LastKey { made_from, key: Arc::clone(&key) });
        key
    }
}
