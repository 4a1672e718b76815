//! Which providers there are: settings that a config can hold.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wires::anthropic::request::{VERSION_2023, VERSION_2026};

/// How a provider is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Responses.
    Responses,
    /// Chat Completions, which many others speak too.
    Chat,
    /// Gemini's API, for programs in boxes alone: agents that Warren runs itself do not speak it.
    Gemini,
    /// A script, in this process.
    Scripted,
}

impl Wire {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::Responses => "responses",
            Self::Chat => "chat",
            Self::Gemini => "gemini",
            Self::Scripted => "scripted",
        }
    }

    /// Below the base URL.
    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::Anthropic => "/messages",
            Self::Responses => "/responses",
            Self::Chat => "/chat/completions",
            Self::Gemini => "/models",
            Self::Scripted => "",
        }
    }
}

/// A provider of models.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProviderSettings {
    /// How it is spoken to.
    pub wire: Wire,
    /// Up to the version, such as `https://api.openai.com/v1`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub base_url: String,
    /// Of the API, where the wire has one: `2023-06-01` or `2026-10-21` for `anthropic`. Absent: the newest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The name of the secret, or of the environment variable, that holds the key. Absent: it needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Sent with each call. A secret does not belong here.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Answers go on at the provider when the line is cut, and are taken up again. Of `responses` alone; the provider
    /// keeps such answers for some minutes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
}

impl ProviderSettings {
    pub fn new(wire: Wire, base_url: impl Into<String>, key: Option<&str>) -> Self {
        Self {
            wire,
            base_url: base_url.into(),
            version: None,
            key: key.map(str::to_owned),
            headers: BTreeMap::new(),
            background: false,
        }
    }

    /// Of the API; empty where the wire has none.
    pub(crate) fn api_version(&self) -> &str {
        match (&self.version, self.wire) {
            (Some(version), _) => version,
            (None, Wire::Anthropic) => VERSION_2026,
            (None, Wire::Responses | Wire::Chat | Wire::Gemini | Wire::Scripted) => "",
        }
    }

    /// The first thing that is wrong with it.
    fn problem(&self) -> Option<(&'static str, String)> {
        let is_web = self.base_url.starts_with("https://") || self.base_url.starts_with("http://");
        if self.wire != Wire::Scripted && (!is_web || url::Url::parse(&self.base_url).is_err()) {
            return Some(("base_url", "expected a URL with http or https".to_owned()));
        }
        if self.background && self.wire != Wire::Responses {
            return Some(("background", "only the wire `responses` has it".to_owned()));
        }
        match (self.wire, self.version.as_deref()) {
            (Wire::Anthropic, Some(VERSION_2023 | VERSION_2026)) | (_, None) => None,
            (Wire::Anthropic, Some(_)) => {
                Some(("version", format!("expected `{VERSION_2023}` or `{VERSION_2026}`")))
            }
            (Wire::Responses | Wire::Chat | Wire::Gemini | Wire::Scripted, Some(_)) => {
                Some(("version", "this wire has no versions".to_owned()))
            }
        }
    }
}

/// Providers by the names that models are written with (`anthropic/…`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Providers(pub BTreeMap<String, ProviderSettings>);

impl Default for Providers {
    fn default() -> Self {
        let openai = "https://api.openai.com/v1";
        let anthropic = "https://api.anthropic.com/v1";
        let google = "https://generativelanguage.googleapis.com/v1beta";
        let all = [
            ("anthropic", ProviderSettings::new(Wire::Anthropic, anthropic, Some("ANTHROPIC_API_KEY"))),
            ("google", ProviderSettings::new(Wire::Gemini, google, Some("GEMINI_API_KEY"))),
            ("openai", ProviderSettings::new(Wire::Responses, openai, Some("OPENAI_API_KEY"))),
            ("openai-chat", ProviderSettings::new(Wire::Chat, openai, Some("OPENAI_API_KEY"))),
            ("scripted", ProviderSettings::new(Wire::Scripted, "", None)),
        ];
        Self(all.into_iter().map(|(name, settings)| (name.to_owned(), settings)).collect())
    }
}

impl Providers {
    /// What Warren knows by itself, and these besides or instead.
    #[must_use]
    pub fn with(mut self, more: impl IntoIterator<Item = (String, ProviderSettings)>) -> Self {
        self.0.extend(more);
        self
    }

    pub fn get(&self, name: &str) -> Option<&ProviderSettings> {
        self.0.get(name)
    }

    /// What is wrong, each with its path, such as `local.base_url`.
    pub fn complaints(&self) -> Vec<(String, String)> {
        let is_name = |name: &str| {
            (1..=64).contains(&name.len())
                && name
                    .bytes()
                    .all(|one| one.is_ascii_lowercase() || one.is_ascii_digit() || matches!(one, b'-' | b'_'))
        };
        let of = |(name, settings): (&String, &ProviderSettings)| {
            if !is_name(name) {
                return Some((name.clone(), "a name has 1 to 64 of a-z, 0-9, `-`, `_`".to_owned()));
            }
            settings.problem().map(|(field, sentence)| (format!("{name}.{field}"), sentence))
        };
        self.0.iter().filter_map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A10
    #[test]
    fn the_defaults_are_sound_and_a_config_can_add_to_them() {
        let local = ProviderSettings::new(Wire::Chat, "http://127.0.0.1:11434/v1", None);
        let providers = Providers::default().with([("local".to_owned(), local)]);
        assert_eq!(providers.complaints(), []);
        let names: Vec<_> = providers.0.keys().map(String::as_str).collect();
        assert_eq!(names, ["anthropic", "google", "local", "openai", "openai-chat", "scripted"]);
    }

    // A10: bad input
    #[test]
    fn what_is_wrong_with_a_provider_is_told_with_its_place() {
        let mut version = ProviderSettings::new(Wire::Anthropic, "https://x.test", None);
        version.version = Some("2020-01-01".to_owned());
        let mut background = ProviderSettings::new(Wire::Chat, "https://x.test", None);
        background.background = true;
        let all = [
            ("a", ProviderSettings::new(Wire::Chat, "ftp://x.test", None)),
            ("b", version),
            ("c", background),
            ("No", ProviderSettings::new(Wire::Chat, "https://x.test", None)),
        ];
        let providers = Providers(all.into_iter().map(|(name, one)| (name.to_owned(), one)).collect());
        let places: Vec<_> = providers.complaints().into_iter().map(|(place, _)| place).collect();
        assert_eq!(places, ["No", "a.base_url", "b.version", "c.background"]);
        let unknown = serde_json::from_value::<ProviderSettings>(
            serde_json::json!({ "wire": "chat", "base_url": "https://x.test", "api_key": "sk" }),
        );
        assert!(unknown.unwrap_err().to_string().contains("api_key"));
    }
}
