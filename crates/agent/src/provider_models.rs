//! Models of the providers that are configured, with the keys that people set (A10, A11).
//!
//! ```text
//!   key of a call:  the workspace's secret ─▶ the org's secret ─▶ the variable of Warren's own environment
//! ```
//!
//! A key is opened in the moment of the call and is in nothing that is stored. No box gets it: secrets by these names are
//! kept from commands.

use async_trait::async_trait;
use warren_fleet::Fleet;
use warren_llm::passing::{PassedAnswer, PassedPath, PassedRequest};
use warren_llm::{Advice, AnswerStream, ApiKey, CallOptions, ModelClient as _, ModelError, Prices, Wire};
use warren_model::SecretName;
use warren_model::session::{ModelName, ModelRequest, TokenUsage};
use warren_rules::sessions::TokenPrice;
use warren_service::Error;

use crate::models::{KnownModels, KnownProvider, ModelCaller, Models};

/// Where keys come from that are in no secret: the variable's name goes in.
pub type EnvironmentKeys = std::collections::BTreeMap<String, ApiKey>;

/// Asks the providers that are configured.
#[derive(Debug)]
pub struct ProviderModels {
    models: warren_llm::Models,
    prices: Prices,
    fleet: Fleet,
    environment: EnvironmentKeys,
}

impl ProviderModels {
    pub fn new(
        models: warren_llm::Models,
        prices: Prices,
        fleet: Fleet,
        environment: EnvironmentKeys,
    ) -> Self {
        Self { models, prices, fleet, environment }
    }

    async fn secret(&self, caller: ModelCaller, name: &str) -> Result<Option<ApiKey>, Error> {
        // A name that no secret can have is a variable's alone.
        let Ok(name) = name.parse::<SecretName>() else { return Ok(None) };
        let value = self.fleet.secrets.for_warren(caller.org_id, caller.workspace_id, &name).await?;
        Ok(value.map(|value| ApiKey::new(value.reveal())))
    }

    async fn key(&self, caller: ModelCaller, name: &str) -> Result<Option<ApiKey>, Error> {
        let secret = self.secret(caller, name).await?;
        Ok(secret.or_else(|| self.environment.get(name).cloned()))
    }
}

#[async_trait]
impl Models for ProviderModels {
    async fn start(
        &self,
        caller: ModelCaller,
        request: &ModelRequest,
        resume: Option<serde_json::Value>,
    ) -> Result<AnswerStream, ModelError> {
        let key = match self.models.key_name(&request.model.provider) {
            Some(name) => self.key(caller, name).await.map_err(|error| unreadable(name, &error))?,
            None => None,
        };
        self.models.start(request, CallOptions { key, resume }).await
    }

    fn answers_on(&self, provider: &str, path: PassedPath) -> bool {
        self.models.answers_on(provider, path)
    }

    async fn pass(
        &self,
        caller: ModelCaller,
        model: &ModelName,
        request: &PassedRequest,
        headers: &[(String, String)],
    ) -> Result<PassedAnswer, ModelError> {
        let key = match self.models.key_name(&model.provider) {
            Some(name) => self.key(caller, name).await.map_err(|error| unreadable(name, &error))?,
            None => None,
        };
        self.models.pass(model, request, headers, key).await
    }

    fn price(&self, model: &ModelName) -> Option<TokenPrice> {
        let (input, output) = self.prices.per_million(model)?;
        Some(TokenPrice { input, output })
    }

    fn cost_micros(&self, model: &ModelName, usage: &TokenUsage) -> u64 {
        self.prices.cost_micros(model, usage).unwrap_or(0)
    }

    async fn known(&self, caller: ModelCaller) -> Result<KnownModels, Error> {
        let mut providers = Vec::new();
        // Those that agents can be run by.
        let all = self.models.providers().0.iter().filter(|(_, settings)| settings.wire != Wire::Gemini);
        for (name, settings) in all {
            let has_key = match &settings.key {
                Some(key) => self.key(caller, key).await?.is_some(),
                None => true,
            };
            providers.push(KnownProvider {
                name: name.clone(),
                wire: settings.wire.as_str(),
                base_url: settings.base_url.clone(),
                key_name: settings.key.clone(),
                has_key,
            });
        }
        let scripts = self.models.scripts().map(str::to_owned).collect();
        Ok(KnownModels { providers, scripts, prices_date: Some(self.prices.date.clone()) })
    }
}

/// A database that is away comes back; a secret that does not open needs a person.
fn unreadable(name: &str, error: &Error) -> ModelError {
    let sentence = format!("the key `{name}` could not be read: {}", error.code.entry().sentence);
    let advice = match error.code {
        warren_model::ErrorCode::SecretUnreadable => Advice::Unauthorized,
        _ => Advice::Retry { after: None },
    };
    ModelError::new(advice, sentence).because(error.to_string())
}
