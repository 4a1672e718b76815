//! What a runtime says about itself, judged before it is kept.

use serde_json::Value;
use warren_fleet::{Fleet, Register, Registered};
use warren_model::{ErrorCode, Registration, Workspace};
use warren_outbound::{Connector, Refused};
use warren_rules::outbound::{UrlUse, card_urls};
use warren_service::{Error, Identity};

use super::{AgentAddress, Agents};

/// As many URLs as a card may hold: each may cost a look-up.
const MAX_CARD_URLS: usize = 64;

/// Takes in runtimes.
#[derive(Debug, Clone)]
pub struct Registrations {
    fleet: Fleet,
    connector: Connector,
    agents: Agents,
}

impl Registrations {
    pub(crate) fn new(fleet: Fleet, connector: Connector, agents: Agents) -> Self {
        Self { fleet, connector, agents }
    }

    /// Whether the agent behind this card shows more of itself when it is asked.
    pub fn has_extended_card(&self, row: &Workspace, card: Option<&Value>) -> bool {
        let agent = AgentAddress::with_card(row, card.cloned());
        self.agents.runtime_of(&agent).is_some_and(|runtime| runtime.has_extended_card(&agent))
    }

    /// What the agent of a workspace shows of itself to those it knows; absent: no more than its card.
    #[tracing::instrument(name = "exchange.registrations.extended_card", skip_all, fields(workspace.id = %row.id))]
    pub async fn extended_card(&self, row: &Workspace) -> Result<Option<Value>, Error> {
        let card = self.fleet.runtimes.registration(row.id).await?.and_then(|known| known.agent_card);
        let agent = AgentAddress::with_card(row, card);
        let Some(runtime) = self.agents.runtime_of(&agent) else { return Ok(None) };
        runtime.extended_card(&agent).await.map_err(|outcome| {
            let detail = "the agent did not show its extended card";
            Error::with_detail(ErrorCode::WorkspaceNotReady, detail).caused_by(format!("{outcome:?}"))
        })
    }

    /// Takes in a runtime, as the fleet does, once every URL of its card was judged: a refused one costs no token. For
    /// who may not register nothing is judged, since that looks names up.
    #[tracing::instrument(name = "exchange.registrations.register", skip_all)]
    pub async fn register(&self, who: &Identity, register: Register) -> Result<Registered, Error> {
        self.fleet.runtimes.check_registration(who, &register).await?;
        if let Some(card) = &register.agent_card {
            self.check_card(card).await?;
        }
        self.fleet.runtimes.register(who, register).await
    }

    /// Puts another card in the place of the one that a runtime registered with, once its URLs were judged in the same way.
    #[tracing::instrument(name = "exchange.registrations.change_card", skip_all)]
    pub async fn change_card(&self, who: &Identity, card: Option<Value>) -> Result<Registration, Error> {
        self.fleet.runtimes.check_card_change(who, card.as_ref()).await?;
        if let Some(card) = &card {
            self.check_card(card).await?;
        }
        self.fleet.runtimes.change_card(who, card).await
    }

    /// Judges every URL of an agent card by the code that judges calls (sec/A05). Where messages are sent to must lead
    /// somewhere that may be called; the rest is judged by its text, for nobody is going to call it for the card's sake.
    #[tracing::instrument(name = "exchange.registrations.check_card", skip_all)]
    pub async fn check_card(&self, card: &Value) -> Result<(), Error> {
        let urls = card_urls(card);
        if urls.len() > MAX_CARD_URLS {
            let detail = format!("agent_card: at most {MAX_CARD_URLS} URLs");
            return Err(Error::with_detail(ErrorCode::InvalidRequest, detail));
        }
        for one in urls {
            let judged = match one.usage {
                UrlUse::Interface => self.connector.check(&one.url).await.map(drop),
                UrlUse::Reference => self.connector.check_text(&one.url).map(drop),
            };
            judged.map_err(|refused| at(&one.path, &refused))?;
        }
        Ok(())
    }
}

/// Names the place in the card.
fn at(path: &str, refused: &Refused) -> Error {
    let mut error = Error::from(refused);
    let told = error.detail.take().unwrap_or_default();
    error.detail = Some(format!("agent_card.{path}: {told}"));
    error
}
