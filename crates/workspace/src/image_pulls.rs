//! Who is asked before an image is pulled: the name of an image names a host, and the daemon that pulls it calls that host.

use async_trait::async_trait;
use warren_model::{ErrorCode, SecretValue};
use warren_rules::boxes::image_registries::{AllowedRegistries, plain_registry};

use crate::Error;

/// Decides whether a registry is called, and says who signs in there.
#[async_trait]
pub trait PullGate: std::fmt::Debug + Send + Sync {
    /// `registry` as the image's name has it, absent where it names none. The error is for whoever opens the workspace.
    async fn admit(&self, registry: Option<&str>) -> Result<Option<RegistryLogin>, Error>;
}

/// Who Warren is to a registry.
#[derive(Debug, Clone)]
pub struct RegistryLogin {
    /// Where it counts, in one spelling.
    pub registry: String,
    pub username: String,
    pub password: SecretValue,
}

/// The listed registries, without signing in.
#[derive(Debug, Clone, Default)]
pub struct ListedRegistries(pub AllowedRegistries);

#[async_trait]
impl PullGate for ListedRegistries {
    async fn admit(&self, registry: Option<&str>) -> Result<Option<RegistryLogin>, Error> {
        if self.0.allows(registry) { Ok(None) } else { Err(not_listed(registry)) }
    }
}

/// What is told about a registry that the config does not list.
pub fn not_listed(registry: Option<&str>) -> Error {
    let registry = plain_registry(registry);
    let detail = format!(
        "images are not pulled from `{registry}`: it is not in `docker.registries`; list it there, or run `docker pull` on the \
         host, and keep `pull_policy` at `missing` or `never`"
    );
    Error::permanent(ErrorCode::RegistryNotAllowed, detail)
}
