//! What a runtime says about itself, judged before it is kept.

use serde_json::Value;
use warren_fleet::{Fleet, Register, Registered};
use warren_outbound::{Connector, Refused};
use warren_rules::outbound::{UrlUse, card_urls};
use warren_service::{Error, Identity};

/// As many URLs as a card may hold: each may cost a look-up.
const MAX_CARD_URLS: usize = 64;

/// Takes in runtimes.
#[derive(Debug, Clone)]
pub struct Registrations {
    fleet: Fleet,
    connector: Connector,
}

impl Registrations {
    pub(crate) fn new(fleet: Fleet, connector: Connector) -> Self {
        Self { fleet, connector }
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

    /// Judges every URL of an agent card by the code that judges calls (sec/A05). Where messages are sent to must lead
    /// somewhere that may be called; the rest is judged by its text, for nobody is going to call it for the card's sake.
    #[tracing::instrument(name = "exchange.registrations.check_card", skip_all)]
    pub async fn check_card(&self, card: &Value) -> Result<(), Error> {
        let urls = card_urls(card);
        if urls.len() > MAX_CARD_URLS {
            let detail = format!("agent_card: at most {MAX_CARD_URLS} URLs");
            return Err(Error::with_detail(warren_model::ErrorCode::InvalidRequest, detail));
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
