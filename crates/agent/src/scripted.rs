//! Models that answer from the scripts that Warren brings: no key, no network, no cost.

use std::collections::HashMap;

use async_trait::async_trait;
use warren_llm::{Advice, AnswerStream, CallOptions, ModelClient as _, ModelError, Script, ScriptedModel};
use warren_model::session::{ModelName, ModelRequest, TokenUsage};
use warren_rules::sessions::TokenPrice;

use crate::models::{ModelCaller, Models};

/// The provider's name in `scripted/hello`.
const PROVIDER: &str = "scripted";

/// Answers for the provider `scripted`, and for no other.
#[derive(Debug)]
pub struct ScriptedModels {
    by_name: HashMap<String, ScriptedModel>,
}

impl ScriptedModels {
    /// The scripts that Warren brings.
    pub fn built_in() -> Self {
        let script = |name: &str| Script::built_in(name).map(|script| (name.to_owned(), script));
        warren_llm::scripted::BUILT_IN
            .into_iter()
            .filter_map(script)
            .fold(Self { by_name: HashMap::new() }, |models, (name, script)| models.with(name, script))
    }

    /// One more script, or another one under this name.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, script: Script) -> Self {
        self.by_name.insert(name.into(), ScriptedModel::new(script));
        self
    }
}

impl Default for ScriptedModels {
    fn default() -> Self {
        Self::built_in()
    }
}

#[async_trait]
impl Models for ScriptedModels {
    async fn start(
        &self,
        _caller: ModelCaller,
        request: &ModelRequest,
        resume: Option<serde_json::Value>,
    ) -> Result<AnswerStream, ModelError> {
        let ModelName { provider, model } = &request.model;
        if provider != PROVIDER {
            let sentence = format!(
                "there is no key for the provider `{provider}`: this Warren answers only for `{PROVIDER}` models; set the \
                 agent's `model` to one of them, such as `{PROVIDER}/tour`"
            );
            return Err(ModelError::new(Advice::NoKey, sentence));
        }
        let Some(scripted) = self.by_name.get(model) else {
            let mut known: Vec<_> = self.by_name.keys().map(String::as_str).collect();
            known.sort_unstable();
            let sentence = format!("there is no script `{model}`; there are: {}", known.join(", "));
            return Err(ModelError::refused(sentence));
        };
        scripted.start(request, CallOptions { resume, ..CallOptions::default() }).await
    }

    fn price(&self, _model: &ModelName) -> Option<TokenPrice> {
        None
    }

    fn cost_micros(&self, _model: &ModelName, _usage: &TokenUsage) -> u64 {
        0
    }
}
