//! What a box may reach through Warren (A81). A box has no network; what is not named here, it does not reach.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::NetworkPolicy;
use crate::session::ModelName;

const MAX_MODELS: usize = 64;
const MAX_PATTERN_CHARACTERS: usize = 200;

/// The doors of a box.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DoorSpec {
    /// Models that its programs may ask, through the model door. None: there is no such door.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelGrant>,
    /// Warren's tools. Absent: for the agents that Warren itself runs in their boxes, and for nobody else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<bool>,
    /// Hosts that its programs reach through the web door. None: there is no such door.
    #[serde(skip_serializing_if = "NetworkPolicy::is_none")]
    pub network: NetworkPolicy,
}

impl DoorSpec {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The first thing that is wrong with it, as a sentence that names its path.
    pub fn problem(&self) -> Option<String> {
        (self.models.len() > MAX_MODELS).then(|| format!("doors.models: at most {MAX_MODELS}"))
    }
}

/// A model that may be asked: `PROVIDER/NAME`, where `*` in the name stands for anything, or `NAME=PROVIDER/MODEL`, which has
/// that model answer for what programs call NAME.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ModelGrant {
    /// Without a provider where `answered_by` is there.
    pub pattern: String,
    pub answered_by: Option<ModelName>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected `PROVIDER/NAME` with `*` for anything in the name, such as `anthropic/claude-*`, or `NAME=PROVIDER/MODEL`"
)]
pub struct InvalidModelGrant;

impl FromStr for ModelGrant {
    type Err = InvalidModelGrant;

    fn from_str(text: &str) -> Result<Self, InvalidModelGrant> {
        let is_word = |text: &str| {
            (1..=MAX_PATTERN_CHARACTERS).contains(&text.chars().count())
                && !text.chars().any(|one| one.is_control() || one.is_whitespace() || one == '=')
        };
        if let Some((said, target)) = text.split_once('=') {
            let answered_by: ModelName = target.parse().map_err(|_| InvalidModelGrant)?;
            let is_sound = is_word(said) && !target.contains(['*', '=']);
            return if is_sound {
                Ok(Self { pattern: said.to_owned(), answered_by: Some(answered_by) })
            } else {
                Err(InvalidModelGrant)
            };
        }
        // The provider is always named: it decides whose key is used.
        text.parse::<ModelName>().map_err(|_| InvalidModelGrant)?;
        if is_word(text) {
            Ok(Self { pattern: text.to_owned(), answered_by: None })
        } else {
            Err(InvalidModelGrant)
        }
    }
}

impl TryFrom<String> for ModelGrant {
    type Error = InvalidModelGrant;

    fn try_from(text: String) -> Result<Self, InvalidModelGrant> {
        text.parse()
    }
}

impl From<ModelGrant> for String {
    fn from(grant: ModelGrant) -> Self {
        grant.to_string()
    }
}

impl fmt::Display for ModelGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.answered_by {
            Some(model) => write!(f, "{}={model}", self.pattern),
            None => f.write_str(&self.pattern),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A81
    #[test]
    fn a_grant_is_read_and_written_the_same() {
        for text in [
            "anthropic/*",
            "anthropic/claude-sonnet-4-5",
            "*=scripted/hello",
            "gpt-5=openai/gpt-5.1",
            "local/a/b",
        ] {
            assert_eq!(text.parse::<ModelGrant>().unwrap().to_string(), text);
        }
        let alias: ModelGrant = "claude-*=scripted/hello".parse().unwrap();
        assert_eq!(
            (alias.pattern.as_str(), alias.answered_by.unwrap().model.as_str()),
            ("claude-*", "hello")
        );
    }

    // A81: bad input
    #[test]
    fn a_grant_names_a_provider() {
        for bad in [
            "",
            "*",
            "claude-sonnet",
            "*/x",
            "a b/c",
            "x=",
            "=scripted/x",
            "x=*",
            "x=scripted/*",
            "a=b/c=d/e",
            "x=y",
        ] {
            assert!(bad.parse::<ModelGrant>().is_err(), "{bad}");
        }
        let spec: Result<DoorSpec, _> =
            serde_json::from_value(serde_json::json!({ "models": ["*"], "tools": true }));
        assert!(spec.unwrap_err().to_string().contains("PROVIDER/NAME"));
    }
}
