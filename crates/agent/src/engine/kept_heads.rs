//! Which heads of requests are on disk already, so that they are not written with every step.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use warren_model::OrgId;

/// Beyond this many they are forgotten, and written anew, which changes nothing.
const MOST: usize = 4_096;

#[derive(Debug, Default)]
pub(super) struct KeptHeads(Mutex<HashSet<(OrgId, String)>>);

impl KeptHeads {
    pub(super) fn contains(&self, org_id: OrgId, hash: &str) -> bool {
        self.lock().contains(&(org_id, hash.to_owned()))
    }

    pub(super) fn add(&self, org_id: OrgId, hash: &str) {
        let mut kept = self.lock();
        if kept.len() >= MOST {
            kept.clear();
        }
        kept.insert((org_id, hash.to_owned()));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashSet<(OrgId, String)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
