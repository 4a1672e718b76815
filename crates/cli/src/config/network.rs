//! `[network]`: what boxes may reach, besides what their workspaces say.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warren_exchange::{BoundCredential, WebAccess};
use warren_model::SecretName;
use warren_outbound::Cidr;
use warren_rules::outbound::network::{HostName, HostPort};

use super::validate::Complaint;

/// What boxes may reach through their web doors, besides what their workspaces say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NetworkSection {
    /// Private ranges to which a granted name may lead, such as `10.20.0.0/16` for a mirror in your own network. None by
    /// default, whatever `outbound.allow_private` opens for Warren itself.
    pub allow_private: Vec<String>,
    /// Secrets that Warren puts into requests to a host, so that no box has them: by the host, such as `github.com` or
    /// `git.example.com:8443`. They reach no command. For hosts that are granted with the scheme `secured`.
    pub credentials: BTreeMap<String, NetworkCredential>,
}

/// A secret for one host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NetworkCredential {
    /// The name of the secret, of a workspace or of its org.
    pub secret: String,
    /// Sent with the secret as its password, as `git` does: `x-access-token` for GitHub, `oauth2` for GitLab. Absent: the
    /// secret is sent as a bearer token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

impl NetworkSection {
    /// Secrets by these names are Warren's own and reach no command.
    pub(crate) fn secret_names(&self) -> BTreeSet<SecretName> {
        self.credentials.values().filter_map(|credential| credential.secret.parse().ok()).collect()
    }

    /// As checked before: what cannot be read does not get here.
    pub(crate) fn access(&self) -> WebAccess {
        let bound = self.credentials.iter().filter_map(|(origin, credential)| {
            let NetworkCredential { secret, user } = credential;
            let secret = secret.parse().ok()?;
            Some(BoundCredential { origin: origin_of(origin).ok()?, secret, user: user.clone() })
        });
        WebAccess {
            allow_private: self.allow_private.iter().filter_map(|text| text.parse().ok()).collect(),
            credentials: bound.collect(),
        }
    }

    pub(super) fn complaints(&self) -> Vec<Complaint> {
        let mut found = Vec::new();
        for text in &self.allow_private {
            let sentence = match text.parse::<Cidr>() {
                Ok(block) if block.is_private() => continue,
                Ok(_) => format!("`{text}` is not within a private range, so that it cannot be opened here"),
                Err(error) => format!("`{text}`: {error}"),
            };
            found.push(("network.allow_private".to_owned(), sentence));
        }
        for (origin, NetworkCredential { secret, user }) in &self.credentials {
            let key = |name: &str| format!("network.credentials.{origin}{name}");
            if let Err(problem) = origin_of(origin) {
                found.push((key(""), problem));
            }
            if secret.parse::<SecretName>().is_err() {
                found.push((
                    key(".secret"),
                    format!("`{secret}` is no name of a secret, such as `GITHUB_TOKEN`"),
                ));
            }
            let is_user = |user: &String| {
                !user.is_empty() && user.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':')
            };
            if !user.as_ref().is_none_or(is_user) {
                found.push((key(".user"), "expected letters without spaces or colons".to_owned()));
            }
        }
        found
    }
}

fn origin_of(text: &str) -> Result<HostPort, String> {
    let (host, port) = match text.split_once(':') {
        Some((host, port)) => (host, port.parse().map_err(|_| format!("`{port}` is no port"))?),
        None => (text, 443),
    };
    let host = HostName::from_person(host).map_err(|error| error.to_string())?;
    Ok(HostPort { host, port })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(text: &str) -> NetworkSection {
        toml::from_str(text).unwrap()
    }

    // A81
    #[test]
    fn credentials_are_bound_to_hosts_and_their_secrets_kept_from_commands() {
        let section = section(
            "allow_private = [\"10.20.0.0/16\"]\n[credentials.\"GitHub.com\"]\nsecret = \"GITHUB_TOKEN\"\n\
             user = \"x-access-token\"\n[credentials.\"git.example.com:8443\"]\nsecret = \"OTHER_TOKEN\"\n",
        );
        assert_eq!(section.complaints(), []);
        let access = section.access();
        let origins: Vec<_> = access.credentials.iter().map(|one| one.origin.to_string()).collect();
        assert_eq!(origins, ["github.com:443", "git.example.com:8443"]);
        assert_eq!(access.allow_private.len(), 1);
        let names: Vec<_> = section.secret_names().into_iter().map(|name| name.to_string()).collect();
        assert_eq!(names, ["GITHUB_TOKEN", "OTHER_TOKEN"]);
        assert_eq!(NetworkSection::default().access(), WebAccess::default());
    }

    // A81
    #[test]
    fn what_cannot_be_bound_is_told_with_its_key() {
        for (text, key) in [
            ("allow_private = [\"8.8.8.0/24\"]", "network.allow_private"),
            ("allow_private = [\"169.254.0.0/16\"]", "network.allow_private"),
            ("[credentials.\"127.0.0.1\"]\nsecret = \"A\"", "network.credentials.127.0.0.1"),
            (
                "[credentials.\"https://github.com\"]\nsecret = \"A\"",
                "network.credentials.https://github.com",
            ),
            ("[credentials.\"*.github.com\"]\nsecret = \"A\"", "network.credentials.*.github.com"),
            ("[credentials.\"github.com\"]\nsecret = \"a b\"", "network.credentials.github.com.secret"),
            (
                "[credentials.\"github.com\"]\nsecret = \"A\"\nuser = \"a:b\"",
                "network.credentials.github.com.user",
            ),
        ] {
            let complaints = section(text).complaints();
            assert_eq!(complaints.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), [key], "{text}");
        }
    }
}
