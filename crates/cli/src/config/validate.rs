//! What types alone cannot say about the tree.

use warren_outbound::Relay;
use warren_rules::boxes::image_registries::AllowedRegistries;

use super::{Config, RoleName};

/// No wait, no retry: these make sense.
const MAY_BE_ZERO: [&str; 9] = [
    "database.reserve_mb",
    "fleet.keep_ended_tokens_days",
    "fleet.keep_events_days",
    "limits.max_requests_per_minute",
    "limits.shutdown_timeout_ms",
    "registry.open_retries",
    "registry.eviction_retries",
    "registry.storm_evictions",
    "registry.storm_cooldown_ms",
];

/// A key and what is wrong with its value.
pub(super) type Complaint = (String, String);

pub(super) fn complaints(config: &Config) -> Vec<Complaint> {
    let mut found = Vec::new();
    let server = &config.server;
    if !server.listen.ip().is_loopback() && server.served_hosts().is_empty() {
        found.push((
            "server.listen".to_owned(),
            format!(
                "{} is reachable from other machines, so `server.allowed_hosts` must name the hosts that clients call",
                server.listen
            ),
        ));
    }
    if let Some(host) = server.allowed_hosts.iter().find(|host| !is_host(host)) {
        found.push((
            "server.allowed_hosts".to_owned(),
            format!("`{host}` is not a host name; write for example `warren.example.com` or `10.0.0.5:7878`"),
        ));
    }
    if let Some(origin) = server.allowed_origins.iter().find(|origin| !is_origin(origin)) {
        found.push((
            "server.allowed_origins".to_owned(),
            format!("`{origin}` is not an origin; write for example `https://tools.example.com`"),
        ));
    }
    if let Some(url) = server.public_url.as_ref().filter(|url| !is_origin(url)) {
        found.push((
            "server.public_url".to_owned(),
            format!(
                "`{url}` is not an origin; write for example `https://warren.example.com`, without a path"
            ),
        ));
    }
    if let Some(url) = server.replica_url.as_ref().filter(|url| Relay::check_url(url).is_err()) {
        found.push((
            "server.replica_url".to_owned(),
            format!(
                "`{url}` is not where a replica can be reached; write for example `http://10.0.0.5:7878`, without a path"
            ),
        ));
    }
    if server.role != RoleName::All && !is_shared(config) {
        found.push((
            "server.role".to_owned(),
            "only Warrens on one PostgreSQL share work; on SQLite there is one, which does all of it. Set `database.url` \
             to `postgres://…`, or leave the role at `all`"
                .to_owned(),
        ));
    }
    let is_local = server.listen.ip().is_loopback() && server.allowed_hosts.is_empty();
    found.extend(config.sign_in.provider.complaints(server.public_url.is_some() || is_local));
    if let Some(url) = &config.database.url
        && !is_database_address(url)
    {
        found.push(("database.url".to_owned(), "expected `sqlite:PATH` or `postgres://…`".to_owned()));
    }
    if let Err(bad) = AllowedRegistries::parse(config.docker.registries.iter().map(String::as_str)) {
        found.push((
            "docker.registries".to_owned(),
            format!(
                "`{bad}` is not a registry; write for example `registry.example.com:5000` or `*.example.com`"
            ),
        ));
    }
    found.extend(key_sources(config));
    found.extend(config.outbound.complaints());
    found.extend(config.network.complaints());
    found.extend(config.models.complaints());
    found.extend(zero_limits(config));
    found
}

/// Two sources of keys would be two answers to what a secret is sealed with.
fn key_sources(config: &Config) -> Vec<Complaint> {
    let secrets = &config.secrets;
    let given = [
        ("secrets.key_file", secrets.key_file.is_some()),
        ("secrets.key_env", secrets.key_env.is_some()),
        ("secrets.key_command", !secrets.key_command.is_empty()),
    ];
    let given: Vec<&str> = given.into_iter().filter(|(_, is_given)| *is_given).map(|(key, _)| key).collect();
    if given.len() < 2 {
        return Vec::new();
    }
    given.iter().map(|key| ((*key).to_owned(), format!("set only one of {}", given.join(" and ")))).collect()
}

/// A limit of nothing would refuse everything; nobody means that.
fn zero_limits(config: &Config) -> Vec<Complaint> {
    let tree = serde_json::to_value(config).expect("the tree is JSON");
    let sections = [
        "limits",
        "registry",
        "fleet.ceilings.basic",
        "fleet.ceilings.extended",
        "fleet.ceilings.privileged",
    ];
    let fields = sections.into_iter().flat_map(|section| {
        let table = tree.pointer(&format!("/{}", section.replace('.', "/")));
        let fields = table.and_then(serde_json::Value::as_object).into_iter().flatten();
        fields.map(move |(name, value)| (format!("{section}.{name}"), value))
    });
    fields
        .filter(|(key, value)| **value == 0 && !MAY_BE_ZERO.contains(&key.as_str()))
        .map(|(key, _)| (key, "must be at least 1".to_owned()))
        .collect()
}

fn is_host(text: &str) -> bool {
    !text.is_empty()
        && text.chars().all(|character| character.is_ascii_alphanumeric() || ".-:[]_".contains(character))
}

fn is_origin(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(is_host)
}

/// Whether several Warrens can be on this database.
fn is_shared(config: &Config) -> bool {
    let url = config.database.url.as_deref().unwrap_or_default();
    url.starts_with("postgres://") || url.starts_with("postgresql://")
}

fn is_database_address(url: &str) -> bool {
    let has_path = |scheme: &str| url.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty());
    has_path("sqlite:") || has_path("postgres://") || has_path("postgresql://")
}
