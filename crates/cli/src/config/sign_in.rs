//! `[sign_in.provider]`: the organisation's own sign-in, beside links.
//!
//! ```toml
//! [sign_in.provider]
//! name = "Example"
//! issuer = "https://login.example.com/realms/main"
//! client_id = "warren"
//! client_secret_env = "OIDC_CLIENT_SECRET"
//! allow_domains = ["example.com"]
//! ```

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warren_doors::Environment;
use warren_fleet::NewPeople;
use warren_model::{OrgId, OrgRole};
use warren_oidc::{ClientSecret, ProviderSettings};
use zeroize::Zeroizing;

use super::validate::Complaint;

/// A secret is a line, not a document.
const MAX_SECRET_BYTES: u64 = 4_096;

/// How people sign in, besides by links.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SignInSection {
    pub provider: SignInProviderSection,
}

/// An OpenID Connect provider by which people sign in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SignInProviderSection {
    /// What the button on the sign-in page says, after "Sign in with".
    pub name: String,
    /// The provider, exactly as its discovery document names it, such as `https://accounts.google.com`. Absent: people sign in by links alone.
    pub issuer: Option<String>,
    /// By which the provider knows this Warren.
    pub client_id: Option<String>,
    /// The name of the variable that holds the client's secret. Workspaces do not get to see it.
    pub client_secret_env: Option<String>,
    /// A file with the client's secret and nothing else.
    pub client_secret_file: Option<String>,
    /// What is asked of the provider. `openid` is always asked for.
    pub scopes: Vec<String>,
    /// Whoever has an e-mail address in one of these domains, verified by the provider, comes in without an invitation. None by default: everybody new needs one.
    pub allow_domains: Vec<String>,
    /// What people who come in that way may do in the default org: `viewer` or `member`.
    pub default_role: DefaultRole,
}

/// Operators are made by operators.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DefaultRole {
    #[default]
    Viewer,
    Member,
}

impl Default for SignInProviderSection {
    fn default() -> Self {
        Self {
            name: "your organisation".to_owned(),
            issuer: None,
            client_id: None,
            client_secret_env: None,
            client_secret_file: None,
            scopes: ProviderSettings::default_scopes(),
            allow_domains: Vec::new(),
            default_role: DefaultRole::default(),
        }
    }
}

impl SignInProviderSection {
    /// The settings of the provider, if there is one. The error is a sentence that names its key.
    pub(crate) fn settings(&self, environment: &Environment) -> Result<Option<ProviderSettings>, String> {
        let (Some(issuer), Some(client_id)) = (&self.issuer, &self.client_id) else { return Ok(None) };
        Ok(Some(ProviderSettings {
            issuer: issuer.clone(),
            client_id: client_id.clone(),
            client_secret: self.client_secret(environment)?,
            scopes: self.scopes.clone(),
            timeout: ProviderSettings::DEFAULT_TIMEOUT,
        }))
    }

    fn client_secret(&self, environment: &Environment) -> Result<ClientSecret, String> {
        if let Some(name) = &self.client_secret_env {
            let value = environment.get(name).map(str::trim).filter(|value| !value.is_empty());
            let told = || {
                format!(
                    "sign_in.provider.client_secret_env: the variable {name} is not set; start Warren with it"
                )
            };
            return value.map(ClientSecret::new).ok_or_else(told);
        }
        let path = self.client_secret_file.as_deref().unwrap_or_default();
        let told = |what: String| format!("sign_in.provider.client_secret_file: `{path}`: {what}");
        let length = std::fs::metadata(path).map_err(|error| told(error.to_string()))?.len();
        if length > MAX_SECRET_BYTES {
            return Err(told(format!("it has {length} bytes, and a secret is one line")));
        }
        let text = Zeroizing::new(
            std::fs::read_to_string(Path::new(path)).map_err(|error| told(error.to_string()))?,
        );
        match text.trim() {
            "" => Err(told("it is empty; put the client's secret into it".to_owned())),
            secret if secret.contains(char::is_control) => Err(told("a secret is one line".to_owned())),
            secret => Ok(ClientSecret::new(secret)),
        }
    }

    pub(crate) fn new_people(&self) -> NewPeople {
        let role = match self.default_role {
            DefaultRole::Viewer => OrgRole::Viewer,
            DefaultRole::Member => OrgRole::Member,
        };
        NewPeople { domains: self.allow_domains.clone(), org_id: OrgId::DEFAULT, role }
    }

    /// `knows_its_address`: people reach the server at one address, and the config says which.
    pub(super) fn complaints(&self, knows_its_address: bool) -> Vec<Complaint> {
        let mut found: Vec<Complaint> = Vec::new();
        let mut complain = |key: &str, sentence: &str| {
            found.push((format!("sign_in.provider.{key}"), sentence.to_owned()));
        };
        let is_there = |value: &Option<String>| value.as_ref().is_some_and(|value| !value.trim().is_empty());
        let has_secret = is_there(&self.client_secret_env) || is_there(&self.client_secret_file);
        let default = Self::default();
        let is_begun = is_there(&self.issuer)
            || is_there(&self.client_id)
            || has_secret
            || *self != Self { name: self.name.clone(), scopes: self.scopes.clone(), ..default };
        if !is_begun {
            return found;
        }
        if !is_there(&self.issuer) {
            complain(
                "issuer",
                "is missing; write the provider's address, such as `https://accounts.google.com`",
            );
        }
        if !is_there(&self.client_id) {
            complain(
                "client_id",
                "is missing; the provider shows it where Warren is registered as an application",
            );
        }
        if !has_secret {
            complain(
                "client_secret_env",
                "is missing; name the variable that holds the client's secret, or a file with `client_secret_file`",
            );
        }
        if is_there(&self.client_secret_env) && is_there(&self.client_secret_file) {
            complain("client_secret_file", "set only one of `client_secret_env` and `client_secret_file`");
        }
        if self.name.trim().is_empty()
            || self.name.chars().count() > 40
            || self.name.contains(char::is_control)
        {
            complain("name", "has 1 to 40 characters on one line; it is what the button says");
        }
        if self.default_role != DefaultRole::default() && self.allow_domains.is_empty() {
            complain(
                "default_role",
                "is for people of `allow_domains`, which names none; name your domain there",
            );
        }
        if let Some(domain) = self.allow_domains.iter().find(|domain| !is_domain(domain)) {
            complain(
                "allow_domains",
                &format!("`{domain}` is not a domain; write for example `example.com`"),
            );
        }
        if !knows_its_address {
            let sentence = "people reach this server from other machines; set `server.public_url`, so that the provider \
                            can send them back";
            complain("issuer", sentence);
        }
        if let Some(issuer) = &self.issuer {
            let wrong = ProviderSettings::complaints(issuer, &self.scopes);
            let told = wrong.into_iter().map(|one| (format!("sign_in.provider.{}", one.key), one.sentence));
            found.extend(told);
        }
        found
    }
}

fn is_domain(text: &str) -> bool {
    let is_label =
        |label: &str| !label.is_empty() && label.chars().all(|one| one.is_alphanumeric() || one == '-');
    text.contains('.') && text.len() <= 253 && text.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str =
        "issuer = 'https://login.example.com'\nclient_id = 'warren'\nclient_secret_env = 'S'\n";

    fn section(text: &str) -> SignInProviderSection {
        toml::from_str(text).unwrap()
    }

    fn keys(text: &str) -> Vec<String> {
        let found = section(text).complaints(true).into_iter();
        found.map(|(key, _)| key.strip_prefix("sign_in.provider.").unwrap().to_owned()).collect()
    }

    // F38, S50
    #[test]
    fn half_a_provider_is_refused_and_what_is_missing_is_named() {
        assert!(keys("").is_empty(), "none at all is fine");
        assert!(keys(WHOLE).is_empty());
        assert!(
            keys(&format!("{WHOLE}allow_domains = ['example.com']\ndefault_role = 'member'\n")).is_empty()
        );
        for (text, expected) in [
            ("issuer = 'https://login.example.com'", &["client_id", "client_secret_env"][..]),
            ("client_id = 'warren'", &["issuer", "client_secret_env"]),
            ("client_secret_file = '/secret'", &["issuer", "client_id"]),
            ("allow_domains = ['example.com']", &["issuer", "client_id", "client_secret_env"]),
        ] {
            assert_eq!(keys(text), expected, "{text}");
        }
        assert_eq!(keys(&format!("{WHOLE}client_secret_file = '/x'\n")), ["client_secret_file"]);
        assert_eq!(keys(&format!("{WHOLE}default_role = 'member'\n")), ["default_role"]);
        assert_eq!(keys(&format!("{WHOLE}allow_domains = ['@example.com']\n")), ["allow_domains"]);
        assert_eq!(keys(&WHOLE.replace("https", "http")), ["issuer"]);
        assert!(toml::from_str::<SignInProviderSection>("default_role = 'operator'").is_err());
        let far = section(WHOLE).complaints(false);
        assert!(far[0].1.contains("server.public_url"), "{far:?}");
        for (_, sentence) in section("issuer = 'x'").complaints(false) {
            assert!(sentence.len() > 20, "{sentence}");
        }
    }

    // F38
    #[test]
    fn the_client_s_secret_comes_from_a_variable_or_a_file_and_its_absence_is_told() {
        let environment: Environment = [("S", " s3cret ")].into_iter().collect();
        let settings = section(WHOLE).settings(&environment).unwrap().unwrap();
        assert_eq!(settings.scopes, ["openid", "email", "profile"]);
        assert!(!format!("{settings:?}").contains("s3cret"));
        let error = section(WHOLE).settings(&Environment::default()).unwrap_err();
        assert!(error.starts_with("sign_in.provider.client_secret_env: the variable S"), "{error}");

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        let text =
            WHOLE.replace("client_secret_env = 'S'", &format!("client_secret_file = '{}'", path.display()));
        let told = |content: Option<&str>| {
            if let Some(content) = content {
                std::fs::write(&path, content).unwrap();
            }
            section(&text).settings(&environment).map(|settings| settings.is_some())
        };
        assert!(told(None).unwrap_err().contains("client_secret_file"));
        assert!(told(Some("\n")).unwrap_err().contains("empty"));
        assert!(told(Some("two\nlines\n")).unwrap_err().contains("one line"));
        assert!(told(Some(&"x".repeat(5_000))).unwrap_err().contains("5000 bytes"));
        assert_eq!(told(Some("s3cret\n")), Ok(true));
        assert!(section("").settings(&environment).unwrap().is_none());
    }
}
