//! How a model is called.

use std::fmt;

use async_trait::async_trait;
use serde_json::Value;
use sha2::{Digest, Sha256};
use warren_doors::Environment;
use warren_model::session::ModelRequest;
use zeroize::Zeroizing;

use crate::{AnswerStream, ModelError};

/// Whoever answers requests.
#[async_trait]
pub trait ModelClient: fmt::Debug + Send + Sync {
    /// Sends the request. An error here means that no piece of an answer came.
    async fn start(&self, request: &ModelRequest, options: CallOptions) -> Result<AnswerStream, ModelError>;
}

/// What belongs to one call and not to the conversation.
#[derive(Debug, Clone, Default)]
pub struct CallOptions {
    /// The key that the provider's settings name.
    pub key: Option<ApiKey>,
    /// Takes up an answer that was cut, instead of asking anew. Its pieces come again from the first one.
    pub resume: Option<Value>,
}

/// A provider's key. Shown nowhere.
#[derive(Clone)]
pub struct ApiKey(Zeroizing<String>);

impl ApiKey {
    pub fn new(key: impl Into<String>) -> Self {
        Self(Zeroizing::new(key.into()))
    }

    /// From a variable; nothing where it is not set, or empty.
    pub fn from_environment(environment: &Environment, name: &str) -> Option<Self> {
        environment.get(name).filter(|key| !key.is_empty()).map(Self::new)
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// Tells accounts apart without telling the key: 64 bits of its hash.
    pub fn fingerprint(&self) -> String {
        let digest = Sha256::digest(self.0.as_bytes());
        digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey")
    }
}
