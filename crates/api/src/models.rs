//! The models that agents can be run by.

use crate::schema::ToSchema;
use serde::{Deserialize, Serialize};

/// Which models can be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KnownModels {
    pub providers: Vec<ModelProvider>,
    /// Scripts that answer without any key, as `scripted/{name}`.
    pub scripts: Vec<String>,
    /// The day on which the table of prices was looked up.
    pub prices_date: Option<String>,
}

/// A provider of models, which are written `{name}/{model}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModelProvider {
    pub name: String,
    /// How it is spoken to: `anthropic`, `responses`, `chat` or `scripted`.
    pub wire: String,
    /// Empty where it is in Warren itself.
    pub base_url: String,
    pub needs_key: bool,
    /// The secret, or the variable of Warren's own environment, that holds the key.
    pub key_name: Option<String>,
    /// Whether the org, or the workspace that was asked about, has the key. Always, where none is needed.
    pub has_key: bool,
}
