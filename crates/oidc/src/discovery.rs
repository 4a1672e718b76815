//! What the provider says about itself (OpenID Connect Discovery 1.0), and what of it must hold before it is used.

use serde::Deserialize;
use url::Url;

use crate::error::{Error, Reason};
use crate::keys::is_accepted_name;
use crate::settings::is_safe;

pub(crate) const PATH: &str = "/.well-known/openid-configuration";

/// As it is written. Lists that are missing have defaults in the standard.
#[derive(Debug, Deserialize)]
pub(crate) struct Document {
    issuer: Option<String>,
    authorization_endpoint: Option<String>,
    token_endpoint: Option<String>,
    jwks_uri: Option<String>,
    userinfo_endpoint: Option<String>,
    id_token_signing_alg_values_supported: Option<Vec<String>>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

/// As it is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Metadata {
    pub(crate) authorization_endpoint: Url,
    pub(crate) token_endpoint: Url,
    pub(crate) jwks_uri: Url,
    pub(crate) userinfo_endpoint: Option<Url>,
    pub(crate) secret_goes: SecretGoes,
    /// The browser comes back with the issuer's name (RFC 9207).
    pub(crate) names_itself: bool,
}

/// How the client proves who it is at the token endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SecretGoes {
    InHeader,
    InBody,
}

/// Where the document of an issuer is.
pub(crate) fn url_of(issuer: &str) -> String {
    format!("{}{PATH}", issuer.trim_end_matches('/'))
}

impl Document {
    /// Whether the document is of this issuer and has what a sign-in needs.
    pub(crate) fn check(self, issuer: &str) -> Result<Metadata, Error> {
        match self.issuer.as_deref() {
            Some(told) if told == issuer => {}
            Some(told) if told.trim_end_matches('/') == issuer.trim_end_matches('/') => {
                let cause = "the document's issuer differs by the slash at its end";
                return Err(Error::new(Reason::DiscoveryIssuer, cause));
            }
            _ => return Err(Error::new(Reason::DiscoveryIssuer, "the document is of another issuer")),
        }
        let algorithms = self.id_token_signing_alg_values_supported;
        if algorithms.is_some_and(|names| !names.iter().any(|name| is_accepted_name(name))) {
            return Err(Error::new(Reason::NoAlgorithm, "it signs with nothing that Warren accepts"));
        }
        let methods = self.token_endpoint_auth_methods_supported;
        let secret_goes = match &methods {
            None => SecretGoes::InHeader,
            Some(methods) if has(methods, "client_secret_basic") => SecretGoes::InHeader,
            Some(methods) if has(methods, "client_secret_post") => SecretGoes::InBody,
            Some(_) => {
                let cause =
                    "it takes a client's secret neither by client_secret_basic nor by client_secret_post";
                return Err(Error::new(Reason::DiscoveryIncomplete, cause));
            }
        };
        Ok(Metadata {
            authorization_endpoint: place("authorization_endpoint", self.authorization_endpoint.as_deref())?,
            token_endpoint: place("token_endpoint", self.token_endpoint.as_deref())?,
            jwks_uri: place("jwks_uri", self.jwks_uri.as_deref())?,
            userinfo_endpoint: match self.userinfo_endpoint {
                Some(url) => Some(place("userinfo_endpoint", Some(&url))?),
                None => None,
            },
            secret_goes,
            names_itself: self.authorization_response_iss_parameter_supported,
        })
    }
}

fn has(methods: &[String], name: &str) -> bool {
    methods.iter().any(|method| method == name)
}

fn place(name: &str, url: Option<&str>) -> Result<Url, Error> {
    let wrong = |what: &str| Error::new(Reason::DiscoveryIncomplete, format!("{name} {what}"));
    let url = url.ok_or_else(|| wrong("is missing"))?;
    let url = Url::parse(url).map_err(|_| wrong("is not a URL"))?;
    if !is_safe(&url) {
        return Err(wrong("is not https"));
    }
    if url.fragment().is_some() {
        return Err(wrong("has a fragment"));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const ISSUER: &str = "https://login.example.com";

    fn check(change: &Value) -> Result<Metadata, Reason> {
        let mut document = json!({
            "issuer": ISSUER,
            "authorization_endpoint": "https://login.example.com/auth",
            "token_endpoint": "https://login.example.com/token",
            "jwks_uri": "https://keys.example.com/jwks",
            "id_token_signing_alg_values_supported": ["none", "RS256"],
        });
        for (name, value) in change.as_object().unwrap() {
            document[name] = value.clone();
        }
        let document: Document = serde_json::from_value(document).unwrap();
        document.check(ISSUER).map_err(|error| error.reason())
    }

    // F38
    #[test]
    fn a_document_is_of_the_issuer_that_was_asked_for() {
        assert!(check(&json!({})).is_ok());
        for other in [json!("https://login.example.com/"), json!("https://evil.example"), Value::Null] {
            assert_eq!(check(&json!({ "issuer": other })), Err(Reason::DiscoveryIssuer));
        }
        assert_eq!(url_of("https://x.test/"), "https://x.test/.well-known/openid-configuration");
    }

    // F38
    #[test]
    fn every_place_is_there_and_safe() {
        for name in ["authorization_endpoint", "token_endpoint", "jwks_uri"] {
            for bad in [
                Value::Null,
                json!("http://login.example.com/x"),
                json!("javascript:alert(1)"),
                json!("/relative"),
                json!("https://login.example.com/#x"),
            ] {
                assert_eq!(check(&json!({ name: bad })), Err(Reason::DiscoveryIncomplete), "{name} {bad}");
            }
        }
        let bad = json!({ "userinfo_endpoint": "http://login.example.com/x" });
        assert_eq!(check(&bad), Err(Reason::DiscoveryIncomplete));
    }

    // F38
    #[test]
    fn algorithms_and_ways_to_send_the_secret_are_told_by_the_document() {
        let none = json!({ "id_token_signing_alg_values_supported": ["none", "HS256"] });
        assert_eq!(check(&none), Err(Reason::NoAlgorithm));
        let way = |methods: Value| {
            let change = json!({ "token_endpoint_auth_methods_supported": methods });
            check(&change).map(|metadata| metadata.secret_goes)
        };
        assert_eq!(way(Value::Null), Ok(SecretGoes::InHeader));
        assert_eq!(way(json!(["client_secret_post", "client_secret_basic"])), Ok(SecretGoes::InHeader));
        assert_eq!(way(json!(["client_secret_post"])), Ok(SecretGoes::InBody));
        assert_eq!(way(json!(["private_key_jwt"])), Err(Reason::DiscoveryIncomplete));
    }
}
