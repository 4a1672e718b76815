//! What the model of a session is offered besides the conversation, made once for each version of an agent in each kind of
//! workspace.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use warren_model::session::{ModelName, ModelRequest, ToolOffer};
use warren_model::{AgentDefinition, AgentVersion, OrgId};
use warren_operations::{PlaceTraits, ToolCatalog};

use crate::request_heads::{StoredHead, head_of};
use crate::tools::Tools;

/// How many are kept.
const MOST: usize = 256;

/// Tools and instructions of one agent in one kind of workspace.
#[derive(Debug)]
pub(crate) struct Offer {
    pub(crate) tools: Tools,
    pub(crate) system: String,
    pub(crate) offered: Arc<[ToolOffer]>,
    /// The head of every request to a model: it depends on nothing else.
    heads: Mutex<HashMap<ModelName, Arc<StoredHead>>>,
}

impl Offer {
    fn new(agent: &AgentDefinition, place: PlaceTraits) -> Self {
        let tools = Tools::new(agent, Some(&ToolCatalog::of(place)));
        let (system, offered) = (tools.system(agent), tools.offers().into());
        Self { tools, system, offered, heads: Mutex::default() }
    }

    /// The head of a request that was built with this offer.
    pub(crate) fn head_of(&self, request: &ModelRequest) -> Option<Arc<StoredHead>> {
        if let Some(head) = lock(&self.heads).get(&request.model) {
            return Some(Arc::clone(head));
        }
        let head = Arc::new(head_of(request)?);
        lock(&self.heads).insert(request.model.clone(), Arc::clone(&head));
        Some(head)
    }
}

type Key = (OrgId, AgentVersion, PlaceTraits);

/// Offers that were made. What they are made of never changes.
#[derive(Debug, Default)]
pub(crate) struct Offers(Mutex<HashMap<Key, Arc<Offer>>>);

impl Offers {
    pub(crate) fn of(
        &self,
        org_id: OrgId,
        version: &AgentVersion,
        agent: &AgentDefinition,
        place: PlaceTraits,
    ) -> Arc<Offer> {
        let key = (org_id, version.clone(), place);
        if let Some(offer) = lock(&self.0).get(&key) {
            return Arc::clone(offer);
        }
        let offer = Arc::new(Offer::new(agent, place));
        let mut kept = lock(&self.0);
        if kept.len() >= MOST {
            kept.clear();
        }
        kept.insert(key, Arc::clone(&offer));
        offer
    }
}

fn lock<T>(kept: &Mutex<T>) -> MutexGuard<'_, T> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}
