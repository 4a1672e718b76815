//! What a provider is set up with.

use std::net::IpAddr;
use std::time::Duration;

use url::{Host, Url};
use zeroize::Zeroizing;

/// In issuers of Microsoft: places that stand for every tenant. Their tokens name another issuer.
const ANY_TENANT: [&str; 3] = ["common", "organizations", "consumers"];

/// What the provider knows this Warren by.
#[derive(Clone)]
pub struct ClientSecret(Zeroizing<String>);

impl ClientSecret {
    pub fn new(text: &str) -> Self {
        Self(Zeroizing::new(text.to_owned()))
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for ClientSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ClientSecret(***)")
    }
}

/// A provider, as the operator named it.
#[derive(Debug, Clone)]
pub struct ProviderSettings {
    /// Exactly as the provider writes it, also where it ends with a slash.
    pub issuer: String,
    pub client_id: String,
    pub client_secret: ClientSecret,
    /// `openid` is asked for in any case.
    pub scopes: Vec<String>,
    /// For each call, from the connection to the last byte.
    pub timeout: Duration,
}

/// What is wrong with settings, by the name of the key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {sentence}")]
pub struct SettingsError {
    pub key: &'static str,
    pub sentence: String,
}

impl ProviderSettings {
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

    pub fn default_scopes() -> Vec<String> {
        ["openid", "email", "profile"].map(str::to_owned).to_vec()
    }

    /// Whatever can be said without asking the provider.
    pub fn complaints(issuer: &str, scopes: &[String]) -> Vec<SettingsError> {
        let about_issuer =
            judge_issuer(issuer).err().map(|sentence| SettingsError { key: "issuer", sentence });
        let about_scopes = scopes.iter().filter(|scope| !is_scope(scope)).map(|scope| {
            let sentence = format!("`{scope}` is not a scope; write for example `email`");
            SettingsError { key: "scopes", sentence }
        });
        about_issuer.into_iter().chain(about_scopes).collect()
    }

    pub(crate) fn scope(&self) -> String {
        let others = self.scopes.iter().map(String::as_str).filter(|scope| *scope != "openid");
        std::iter::once("openid").chain(others).collect::<Vec<_>>().join(" ")
    }
}

fn judge_issuer(issuer: &str) -> Result<(), String> {
    let url = Url::parse(issuer)
        .map_err(|_| "not a URL; write for example `https://login.example.com/realms/main`".to_owned())?;
    if !is_safe(&url) {
        return Err("must begin with https://; http:// is for a provider on this machine alone".to_owned());
    }
    if url.query().is_some() || url.fragment().is_some() || !url.username().is_empty() {
        return Err(
            "has no query, fragment or user; write it as the provider's discovery document does".to_owned()
        );
    }
    if issuer.ends_with("/.well-known/openid-configuration") {
        return Err("is what stands before `/.well-known/openid-configuration`".to_owned());
    }
    let is_microsoft = url.host_str() == Some("login.microsoftonline.com");
    let tenant = url.path_segments().and_then(|mut segments| segments.next().map(str::to_owned));
    if is_microsoft && tenant.is_none_or(|tenant| ANY_TENANT.contains(&tenant.as_str())) {
        let sentence = "names every tenant of Microsoft at once; write \
                        `https://login.microsoftonline.com/TENANT-ID/v2.0` with the id of yours";
        return Err(sentence.to_owned());
    }
    Ok(())
}

/// Nobody on the way reads or changes what goes there.
pub(crate) fn is_safe(url: &Url) -> bool {
    match url.scheme() {
        "https" => true,
        "http" => match url.host() {
            Some(Host::Ipv4(address)) => IpAddr::from(address).is_loopback(),
            Some(Host::Ipv6(address)) => IpAddr::from(address).is_loopback(),
            Some(Host::Domain(name)) => name == "localhost",
            None => false,
        },
        _ => false,
    }
}

/// RFC 6749, section 3.3.
fn is_scope(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(issuer: &str) -> Vec<&'static str> {
        let found = ProviderSettings::complaints(issuer, &ProviderSettings::default_scopes());
        found.into_iter().map(|one| one.key).collect()
    }

    // F38
    #[test]
    fn an_issuer_is_https_or_on_this_machine() {
        for good in [
            "https://accounts.google.com",
            "https://login.example.com/realms/main",
            "https://login.example.com/",
            "http://127.0.0.1:8080/realms/x",
            "http://localhost:3000",
            "http://[::1]:3000",
            "https://login.microsoftonline.com/6f1c0000-0000-0000-0000-000000000000/v2.0",
        ] {
            assert!(keys(good).is_empty(), "{good}");
        }
        for bad in [
            "",
            "login.example.com",
            "http://login.example.com",
            "http://localhost.example.com",
            "ftp://login.example.com",
            "javascript:alert(1)",
            "https://login.example.com?x=1",
            "https://me@login.example.com",
            "https://login.example.com/.well-known/openid-configuration",
            "https://login.microsoftonline.com/common/v2.0",
            "https://login.microsoftonline.com/organizations/v2.0",
        ] {
            assert_eq!(keys(bad), ["issuer"], "{bad}");
        }
    }

    // F38
    #[test]
    fn scopes_are_words_and_openid_is_always_among_them() {
        let bad = ["a b".to_owned(), String::new(), "\"x\"".to_owned(), "email".to_owned()];
        assert_eq!(ProviderSettings::complaints("https://x.test", &bad).len(), 3);
        let settings = ProviderSettings {
            issuer: "https://x.test".into(),
            client_id: "c".into(),
            client_secret: ClientSecret::new("s"),
            scopes: vec!["email".into()],
            timeout: ProviderSettings::DEFAULT_TIMEOUT,
        };
        assert_eq!(settings.scope(), "openid email");
    }
}
