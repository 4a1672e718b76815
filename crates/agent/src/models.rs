//! The models that sessions ask: who answers for a name, and what it costs.

use async_trait::async_trait;
use warren_llm::passing::{PassedAnswer, PassedPath, PassedRequest};
use warren_llm::{AnswerStream, ModelError};
use warren_model::session::{ModelName, ModelRequest, TokenUsage};
use warren_model::{OrgId, WorkspaceId};
use warren_rules::sessions::TokenPrice;
use warren_service::Error;

/// For whom a model is asked; decides which key is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelCaller {
    pub org_id: OrgId,
    pub workspace_id: Option<WorkspaceId>,
}

/// Which models can be asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownModels {
    pub providers: Vec<KnownProvider>,
    /// Names of scripts: `scripted/{name}`.
    pub scripts: Vec<String>,
    /// The day of the price table.
    pub prices_date: Option<String>,
}

/// A provider of models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownProvider {
    pub name: String,
    pub wire: &'static str,
    /// Empty where it is in this process.
    pub base_url: String,
    /// The secret or variable that holds its key; absent: it needs none.
    pub key_name: Option<String>,
    /// Whether it can be asked.
    pub has_key: bool,
}

/// Whoever answers requests of sessions.
#[async_trait]
pub trait Models: std::fmt::Debug + Send + Sync {
    /// Sends a request to the model that it names, with the key that is kept for it.
    async fn start(
        &self,
        caller: ModelCaller,
        request: &ModelRequest,
        resume: Option<serde_json::Value>,
    ) -> Result<AnswerStream, ModelError>;

    /// What it costs, if that is known.
    fn price(&self, model: &ModelName) -> Option<TokenPrice>;

    /// What an answer cost, in millionths; nothing where no price is known.
    fn cost_micros(&self, model: &ModelName, usage: &TokenUsage) -> u64;

    /// Whether a provider answers on this path of its own API.
    fn answers_on(&self, _provider: &str, _path: PassedPath) -> bool {
        false
    }

    /// Passes on a request that somebody else wrote, with the key that is kept for it.
    async fn pass(
        &self,
        _caller: ModelCaller,
        model: &ModelName,
        _request: &PassedRequest,
        _headers: &[(String, String)],
    ) -> Result<PassedAnswer, ModelError> {
        Err(ModelError::refused(format!("nobody answers for {model}")))
    }

    /// Which providers there are, and whether this caller has a key for each.
    async fn known(&self, caller: ModelCaller) -> Result<KnownModels, Error>;
}
