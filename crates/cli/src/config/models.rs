//! `[models]`: which models agents can be run by.
//!
//! ```toml
//! [models.providers.ollama]
//! wire = "chat"
//! base_url = "http://127.0.0.1:11434/v1"
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warren_agent::EnvironmentKeys;
use warren_doors::Environment;
use warren_llm::{ApiKey, Models, Prices, ProviderSettings, Providers, Script, ScriptedModel};
use warren_model::{MAX_DOCUMENT_BYTES, SecretName};
use warren_outbound::Connector;

use super::validate::Complaint;

/// Which models agents can be run by.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ModelsSection {
    /// Providers besides `anthropic`, `openai`, `openai-chat` and `scripted`, or in their place, each a table of its own:
    /// `[models.providers.NAME]` with `wire`, `base_url`, `key`, `version`, `headers`, `background`.
    pub providers: BTreeMap<String, ProviderSettings>,
    /// A TOML file with prices, in place of the table that Warren brings.
    pub prices_file: Option<String>,
    /// A folder with scripts: `NAME.yaml` in it is the model `scripted/NAME`.
    pub scripts_folder: Option<String>,
}

impl ModelsSection {
    fn all_providers(&self) -> Providers {
        Providers::default().with(self.providers.clone())
    }

    pub(super) fn complaints(&self) -> Vec<Complaint> {
        let wrong = self.all_providers().complaints().into_iter();
        wrong.map(|(place, sentence)| (format!("models.providers.{place}"), sentence)).collect()
    }

    /// The names of the secrets, or variables, that hold keys.
    pub(crate) fn key_names(&self) -> BTreeSet<String> {
        self.all_providers().0.into_values().filter_map(|settings| settings.key).collect()
    }

    /// Secrets by these names are Warren's own and reach no command.
    pub(crate) fn secret_names(&self) -> BTreeSet<SecretName> {
        self.key_names().iter().filter_map(|name| name.parse().ok()).collect()
    }

    /// Keys that Warren was started with.
    pub(crate) fn environment_keys(&self, environment: &Environment) -> EnvironmentKeys {
        let key = |name: String| ApiKey::from_environment(environment, &name).map(|key| (name, key));
        self.key_names().into_iter().filter_map(key).collect()
    }

    /// Who calls models. The error is a sentence that names its key.
    pub(crate) fn models(&self, connector: Connector) -> Result<Models, String> {
        let models = Models::new(connector, self.all_providers());
        let Some(folder) = &self.scripts_folder else { return Ok(models) };
        let told = |error: String| format!("models.scripts_folder: {error}");
        let scripts = scripts_in(Path::new(folder)).map_err(told)?;
        let add = |models: Models, (name, script)| models.with_script(name, ScriptedModel::new(script));
        Ok(scripts.into_iter().fold(models, add))
    }

    /// What models cost. The error is a sentence that names its key.
    pub(crate) fn prices(&self) -> Result<Prices, String> {
        let Some(path) = &self.prices_file else { return Ok(Prices::built_in()) };
        let told = |error: String| format!("models.prices_file: `{path}`: {error}");
        let text = read(Path::new(path)).map_err(told)?;
        Prices::read(&text).map_err(|error| told(error.to_string()))
    }
}

fn scripts_in(folder: &Path) -> Result<BTreeMap<String, Script>, String> {
    let of_folder = |error: std::io::Error| format!("`{}`: {error}", folder.display());
    let mut scripts = BTreeMap::new();
    for entry in std::fs::read_dir(folder).map_err(of_folder)? {
        let path = entry.map_err(of_folder)?.path();
        let is_script = path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
        let Some(name) = path.file_stem().and_then(|name| name.to_str()).filter(|_| is_script) else {
            continue;
        };
        let of_file = |error: String| format!("`{}`: {error}", path.display());
        let text = read(&path).map_err(of_file)?;
        let script = Script::read(&text).map_err(|error| of_file(error.to_string()))?;
        scripts.insert(name.to_owned(), script);
    }
    Ok(scripts)
}

fn read(path: &Path) -> Result<String, String> {
    let length = std::fs::metadata(path).map_err(|error| error.to_string())?.len();
    if length > MAX_DOCUMENT_BYTES as u64 {
        return Err(format!("it has {length} bytes, and may have {MAX_DOCUMENT_BYTES}"));
    }
    std::fs::read_to_string(path).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(text: &str) -> ModelsSection {
        toml::from_str(text).unwrap()
    }

    // A10, A81
    #[test]
    fn keys_of_every_provider_are_known_by_name_and_kept_from_commands() {
        let section =
            section("[providers.mine]\nwire = 'chat'\nbase_url = 'https://x.test/v1'\nkey = 'MY_KEY'\n");
        assert_eq!(section.complaints(), []);
        let names: Vec<_> = section.secret_names().into_iter().map(|name| name.to_string()).collect();
        assert_eq!(names, ["ANTHROPIC_API_KEY", "GEMINI_API_KEY", "MY_KEY", "OPENAI_API_KEY"]);
        let environment: Environment =
            [("MY_KEY", "k"), ("OTHER", "x"), ("OPENAI_API_KEY", "")].into_iter().collect();
        let keys: Vec<_> = section.environment_keys(&environment).into_keys().collect();
        assert_eq!(keys, ["MY_KEY"], "an empty variable is none");
    }

    // A10, A11: bad input
    #[test]
    fn what_is_wrong_with_the_section_is_told_with_its_key() {
        let bad = section("[providers.mine]\nwire = 'chat'\nbase_url = 'nowhere'\n");
        assert_eq!(bad.complaints()[0].0, "models.providers.mine.base_url");
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("bad.yaml"), "turnz: []").unwrap();
        let scripts_folder = Some(folder.path().display().to_string());
        let with = ModelsSection { scripts_folder, ..ModelsSection::default() };
        let error = scripts_in(folder.path()).unwrap_err();
        assert!(error.contains("bad.yaml") && error.contains("turnz"), "{error}");
        assert!(with.scripts_folder.is_some());
        let missing = ModelsSection { prices_file: Some("/nowhere".into()), ..ModelsSection::default() };
        assert!(missing.prices().unwrap_err().starts_with("models.prices_file: `/nowhere`"));
    }
}
