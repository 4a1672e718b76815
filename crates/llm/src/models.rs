//! All models that there are, behind one client: by the provider of a model's name.

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde_json::Value;
use sha2::{Digest, Sha256};
use warren_model::session::{ModelOrigin, ModelRequest};
use warren_outbound::Connector;

use crate::builder::{AnswerBuilder, AnswerLimits};
use crate::providers::{ProviderSettings, Providers, Wire};
use crate::scripted::{Script, ScriptedModel};
use crate::wires::{self, Dialect, Endpoint, WireReader};
use crate::{Advice, AnswerStream, CallOptions, ModelClient, ModelError, Timers};

/// Calls models over the wires of their providers.
#[derive(Debug, Clone)]
pub struct Models {
    connector: Connector,
    providers: Providers,
    /// By name, besides the built-in ones.
    scripts: BTreeMap<String, ScriptedModel>,
    timers: Timers,
    limits: AnswerLimits,
}

impl Models {
    pub fn new(connector: Connector, providers: Providers) -> Self {
        let built_in = crate::scripted::BUILT_IN
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), ScriptedModel::new(Script::built_in(name)?))));
        Self {
            connector,
            providers,
            scripts: built_in.collect(),
            timers: Timers::default(),
            limits: AnswerLimits::default(),
        }
    }

    #[must_use]
    pub fn with_timers(mut self, timers: Timers) -> Self {
        self.timers = timers;
        self
    }

    #[must_use]
    pub fn with_limits(mut self, limits: AnswerLimits) -> Self {
        self.limits = limits;
        self
    }

    /// A script as the model `scripted/{name}`.
    #[must_use]
    pub fn with_script(mut self, name: impl Into<String>, model: ScriptedModel) -> Self {
        self.scripts.insert(name.into(), model);
        self
    }

    pub fn providers(&self) -> &Providers {
        &self.providers
    }

    /// Names of the scripts that answer as `scripted/{name}`.
    pub fn scripts(&self) -> impl Iterator<Item = &str> {
        self.scripts.keys().map(String::as_str)
    }

    /// The name of the secret or variable with the key of a provider; nothing where it needs none, or is not known.
    pub fn key_name(&self, provider: &str) -> Option<&str> {
        self.providers.get(provider)?.key.as_deref()
    }

    #[cfg(feature = "server")]
    pub(crate) fn connector(&self) -> &Connector {
        &self.connector
    }

    #[cfg(feature = "server")]
    pub(crate) const fn timers(&self) -> Timers {
        self.timers
    }

    /// A script as it answers on the wires.
    #[cfg(feature = "server")]
    pub(crate) fn scripted_server(&self, name: &str) -> Result<crate::server::WireScript, ModelError> {
        self.scripted(name).map(ScriptedModel::on_wires)
    }

    fn scripted(&self, name: &str) -> Result<&ScriptedModel, ModelError> {
        self.scripts.get(name).ok_or_else(|| {
            let known: Vec<_> = self.scripts.keys().map(String::as_str).collect();
            let sentence = format!("there is no script `{name}`; there is {}", known.join(", "));
            ModelError::new(Advice::Fallback, sentence)
        })
    }

    async fn call(
        &self,
        settings: &ProviderSettings,
        request: &ModelRequest,
        options: CallOptions,
    ) -> Result<AnswerStream, ModelError> {
        let provider = &request.model.provider;
        if let Some(name) = settings.key.as_ref().filter(|_| options.key.is_none()) {
            let sentence = format!(
                "there is no key for {provider}: set the secret or the environment variable `{name}`"
            );
            return Err(ModelError::new(Advice::NoKey, sentence));
        }
        let origin = ModelOrigin { model: request.model.clone(), account: account(settings, &options) };
        let dialect = Dialect { version: settings.api_version(), background: settings.background };
        let written = wires::body(settings.wire, request, &origin, dialect);
        let mut builder = AnswerBuilder::new(origin, request, self.limits);
        builder.notes = written.notes;
        let reader: Box<dyn WireReader> = match settings.wire {
            Wire::Anthropic => Box::new(wires::anthropic::events::Reader::new(builder)),
            Wire::Responses => Box::new(wires::responses::events::Reader::new(builder, settings.background)),
            Wire::Chat | Wire::Gemini | Wire::Scripted => Box::new(wires::chat::events::Reader::new(builder)),
        };
        let mut headers: Vec<_> =
            settings.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        if settings.wire == Wire::Anthropic {
            headers.push(("anthropic-version".to_owned(), dialect.version.to_owned()));
        }
        let endpoint = Endpoint {
            connector: self.connector.clone(),
            provider: provider.clone(),
            wire: settings.wire,
            base_url: settings.base_url.clone(),
            headers,
            key: options.key,
            timers: self.timers,
        };
        let resume = options.resume.as_ref().filter(|_| settings.background).and_then(resumed);
        wires::start(endpoint, &written.body, reader, resume).await
    }
}

/// Whose account it is: the key, and where it is used.
fn account(settings: &ProviderSettings, options: &CallOptions) -> String {
    let key = options.key.as_ref().map(crate::ApiKey::fingerprint).unwrap_or_default();
    let digest = Sha256::digest(format!("{key} {}", settings.base_url).as_bytes());
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn resumed(token: &Value) -> Option<String> {
    token.get("response_id").and_then(Value::as_str).map(str::to_owned)
}

#[async_trait]
impl ModelClient for Models {
    async fn start(&self, request: &ModelRequest, options: CallOptions) -> Result<AnswerStream, ModelError> {
        let provider = &request.model.provider;
        let settings = self.providers.get(provider).ok_or_else(|| {
            let known: Vec<_> = self.providers.0.keys().map(String::as_str).collect();
            let sentence = format!("there is no provider `{provider}`; there is {}", known.join(", "));
            ModelError::new(Advice::Fallback, sentence)
        })?;
        match settings.wire {
            Wire::Scripted => self.scripted(&request.model.model)?.start(request, options).await,
            Wire::Anthropic | Wire::Responses | Wire::Chat => self.call(settings, request, options).await,
            Wire::Gemini => {
                let sentence = format!(
                    "{provider} is asked by programs in boxes alone; agents of Warren's own have other models"
                );
                Err(ModelError::new(Advice::Fallback, sentence))
            }
        }
    }
}
