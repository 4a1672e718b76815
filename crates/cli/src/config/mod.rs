//! The config tree: one type, filled from defaults, a TOML file, `WARREN_*` variables and flags, in this order.
//!
//! ```text
//!   Config (types, defaults, comments) ──▶ JSON Schema ──▶ Key table ──▶ variables, reference page, `config show`
//! ```
//!
//! The table of keys is read off the schema, so that a new field gets its variable, its documentation and its
//! spelling check by being written down once.

mod document;
mod exchange;
mod fleet;
mod keys;
mod load;
mod models;
mod network;
mod outbound;
mod redact;
mod registry;
mod sessions;
mod sign_in;
mod validate;

pub use exchange::ExchangeSection;
pub use fleet::FleetSection;
pub use keys::{Key, keys};
pub(crate) use load::OTHER_VARIABLES;
pub use load::{FileAt, Loaded, Origin, Overrides, Problem, load};
pub use models::ModelsSection;
pub use network::{NetworkCredential, NetworkSection};
pub use outbound::OutboundSection;
pub use redact::redacted_url;
pub(crate) use redact::without_secrets;
pub use registry::RegistrySection;
pub use sessions::SessionsSection;
pub use sign_in::{DefaultRole, SignInProviderSection, SignInSection};

use std::net::SocketAddr;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warren_doors::Environment;
use warren_fleet::Role;
use warren_model::Limits;
use warren_providers::DockerSettings;
use warren_rules::boxes::image_registries::{AllowedRegistries, DEFAULT_REGISTRIES};

/// In the data folder.
pub const FILE_NAME: &str = "warren.toml";

/// Everything that can be set.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    pub server: ServerSection,
    pub database: DatabaseSection,
    pub limits: Limits,
    pub registry: RegistrySection,
    pub fleet: FleetSection,
    pub exchange: ExchangeSection,
    pub models: ModelsSection,
    pub sessions: SessionsSection,
    pub sandbox: SandboxSection,
    pub docker: DockerSection,
    pub secrets: SecretsSection,
    pub outbound: OutboundSection,
    pub network: NetworkSection,
    pub sign_in: SignInSection,
    pub log: LogSection,
}

/// The boxes of the `sandbox` provider.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SandboxSection {
    /// Boxes kept ready, so that a new workspace with the default config opens at once. Each is two idle processes.
    #[schemars(range(max = 256))]
    pub pool_size: u32,
}

/// The containers of the `docker` provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DockerSection {
    /// Where the daemon is: `unix:///path`, or `tcp://host:port` for one that shares no folder with Warren. Absent: as
    /// `DOCKER_HOST` says, or its usual socket.
    pub host: Option<String>,
    /// A folder with `ca.pem`, `cert.pem` and `key.pem`, for a daemon that is reached by TLS. Absent: as `DOCKER_TLS_VERIFY`
    /// and `DOCKER_CERT_PATH` say.
    pub certificates: Option<String>,
    /// Whether a daemon on another machine may be spoken to without TLS. Whoever is on the way is then root over there.
    pub allow_plain_tcp: bool,
    /// Registries that images are pulled from: `registry.example.com`, with a port (`:5000`, or `:*` for any), or all hosts
    /// below a name (`*.example.com`). The list replaces the usual one. An image that is on the host needs none.
    pub registries: Vec<String>,
}

impl Default for DockerSection {
    fn default() -> Self {
        let registries = DEFAULT_REGISTRIES.map(str::to_owned).to_vec();
        Self { host: None, certificates: None, allow_plain_tcp: false, registries }
    }
}

impl DockerSection {
    /// As checked before: what names no registry does not get here.
    pub(crate) fn allowed_registries(&self) -> AllowedRegistries {
        AllowedRegistries::parse(self.registries.iter().map(String::as_str)).unwrap_or_default()
    }

    /// With what the environment says where the config says nothing, as Docker's own client reads it.
    pub(crate) fn to_settings(&self, environment: &Environment) -> DockerSettings {
        let named = |name: &str| environment.get(name).filter(|value| !value.is_empty()).map(str::to_owned);
        let usual = || named("HOME").map(|home| format!("{home}/.docker"));
        let of_environment =
            || named("DOCKER_TLS_VERIFY").and_then(|_| named("DOCKER_CERT_PATH").or_else(usual));
        DockerSettings {
            host: self.host.clone().or_else(|| named("DOCKER_HOST")),
            certificates: self.certificates.clone().or_else(of_environment).map(PathBuf::from),
            allow_plain_tcp: self.allow_plain_tcp,
            ..DockerSettings::default()
        }
    }
}

/// Where the keys come from that secrets are sealed with. At most one of the three; the text is the current key and,
/// behind it, older ones that still open: 32 bytes each, in base64, with white space between.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SecretsSection {
    /// A file with the keys, readable to its owner only. Absent like the other two: `secrets.key` in the data folder, made at the first start.
    pub key_file: Option<String>,
    /// The name of the variable that holds the keys. Workspaces do not get to see it.
    pub key_env: Option<String>,
    /// A program with its arguments that prints the keys, such as one that asks a key service. Run once, at start.
    pub key_command: Vec<String>,
}

/// How the server is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ServerSection {
    /// Address and port. Port 0 takes a free one. Beyond this machine, `allowed_hosts` must be set.
    #[schemars(with = "String")]
    pub listen: SocketAddr,
    /// Where people reach the server, such as `https://warren.example.com`: sign-in links and the sign-in provider lead there, and its name is served without being in `allowed_hosts`.
    pub public_url: Option<String>,
    /// Names by which clients may call the server in their Host header, besides its loopback names.
    pub allowed_hosts: Vec<String>,
    /// Origins of other pages that may call the API, such as `https://tools.example.com`.
    pub allowed_origins: Vec<String>,
    /// Whether `/metrics` answers without a token.
    pub public_metrics: bool,
    /// What this Warren does among several on one PostgreSQL: `all`, or only one part. `api` serves clients, opens no boxes and does nothing in the background; `worker` opens boxes, works on sessions, schedules and sweeps, and serves nobody but other replicas.
    pub role: RoleName,
    /// Where the other Warrens on the same PostgreSQL reach this one, such as `http://10.0.0.5:7878`: requests for boxes that it has are passed on there. Absent: the address it listens on, unless that is a loopback address or all addresses.
    pub replica_url: Option<String>,
}

/// What a Warren does among several on one database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RoleName {
    All,
    Api,
    Worker,
}

impl RoleName {
    pub(crate) fn role(self) -> Role {
        match self {
            Self::All => Role::All,
            Self::Api => Role::Api,
            Self::Worker => Role::Worker,
        }
    }
}

impl ServerSection {
    /// The hosts that are served besides those of the address.
    pub(crate) fn served_hosts(&self) -> Vec<String> {
        let public = self.public_url.as_deref().and_then(|url| url.split_once("://")).map(|(_, host)| host);
        self.allowed_hosts.iter().map(String::as_str).chain(public).map(str::to_owned).collect()
    }
}

impl Default for ServerSection {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 7878)),
            public_url: None,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            public_metrics: false,
            role: RoleName::All,
            replica_url: None,
        }
    }
}

/// Where the truth is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DatabaseSection {
    /// `sqlite:PATH` or `postgres://…`. Absent: `warren.db` in the data folder.
    pub url: Option<String>,
    /// Megabytes of the disk that are kept for a SQLite database, so that Warren still commits and deletes when others have
    /// filled it. 0: none.
    pub reserve_mb: u32,
}

impl Default for DatabaseSection {
    fn default() -> Self {
        Self { url: None, reserve_mb: 64 }
    }
}

/// What is logged, to stderr.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LogSection {
    /// Which lines, such as `info` or `warn,warren_fleet=debug`.
    pub filter: String,
    /// How they look: `auto` and `text` are for people, `json` is for programs. Colours on a terminal with `auto`.
    pub format: LogFormat,
}

impl Default for LogSection {
    fn default() -> Self {
        Self { filter: "info".to_owned(), format: LogFormat::Auto }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    Auto,
    Text,
    Json,
}

/// The JSON Schema of the file.
pub fn schema() -> serde_json::Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
    });
    settings.into_generator().into_root_schema_for::<Config>().to_value()
}
