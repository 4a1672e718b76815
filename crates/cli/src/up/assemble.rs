//! Puts a server together from its rooms. Nothing is served and nothing is taken up yet.

use std::sync::Arc;

use warren_agent::{AgentHost, Config as AgentConfig, Parts as AgentParts, ProviderModels};
use warren_doors::{Clock, Entropy, OsEntropy, SystemClock};
use warren_exchange::{Agents, ByA2a, Exchange, Parts as ExchangeParts, Signer};
use warren_fleet::{Fleet, ImageLogins, Parts, Replica, StoredLosses, StoredRefs};
use warren_model::ErrorCode;
use warren_oidc::Provider;
use warren_operations::Operations;
use warren_outbound::Connector;
use warren_providers::{
    DockerProvider, DockerSettings, LocalProvider, MemoryProvider, SandboxProvider, SandboxSettings,
};
use warren_server::{
    PROVIDER_CALLBACK, Parts as ServerParts, ProviderSignIn, Server, ServerConfig, ServerError, Telemetry,
};
use warren_service::{ContextParts, Sealer};
use warren_store::Store;
use warren_workspace::registry::{Registry, RegistryParts};

use super::pull_gate::CheckedRegistries;
use super::{descriptors, secret_keys};
use crate::config::{Config, redacted_url};
use crate::context::Context;
use crate::data_folder::DataFolder;
use crate::database;
use crate::failure::{Outcome, Report};

pub(super) struct Assembled {
    pub(super) exchange: Exchange,
    pub(super) agents: AgentHost,
    pub(super) server: Server,
    /// As it may be shown.
    pub(super) database: String,
}

pub(super) async fn assemble(context: &Context, config: &Config, folder: &DataFolder) -> Outcome<Assembled> {
    let address = config.database.url.clone().unwrap_or_else(|| folder.default_database());
    database::look(&address, &folder.path).await?;
    let reserve_bytes = u64::from(config.database.reserve_mb) << 20;
    let store = warren_store_sql::open_with_reserve(&address, reserve_bytes)
        .await
        .map_err(|error| database::unusable(&error, &address))?;
    let put_together = put_together(context, config, folder, Arc::clone(&store)).await;
    if put_together.is_err() {
        store.close().await;
    }
    let (exchange, agents, server) = put_together?;
    Ok(Assembled { exchange, agents, server, database: redacted_url(&address) })
}

async fn put_together(
    context: &Context,
    config: &Config,
    folder: &DataFolder,
    store: Arc<dyn Store>,
) -> Outcome<(Exchange, AgentHost, Server)> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let entropy: Arc<dyn Entropy> = Arc::new(OsEntropy);
    let telemetry = Arc::new(Telemetry::new());
    let keys = secret_keys::open(context, config, folder, &*entropy).await?;
    let environment = secret_keys::environment_without_keys(context, config);
    let local = LocalProvider::new(
        &folder.workspaces(),
        environment.clone(),
        Arc::clone(&clock),
        Arc::clone(&entropy),
    )
    .map_err(|error| Report::new(ErrorCode::DataFolderUnusable).because(error.to_string()))?;
    let sandbox = SandboxProvider::new(
        &folder.path.join("sandbox"),
        SandboxSettings {
            pool_size: config.sandbox.pool_size as usize,
            private: vec![folder.path.clone()],
            ..SandboxSettings::default()
        },
        environment.clone(),
        Arc::clone(&clock),
        &*entropy,
    )
    .map_err(|error| Report::new(ErrorCode::DataFolderUnusable).because(error.to_string()))?;
    let memory = MemoryProvider::new(Arc::clone(&clock), &*entropy);
    let mut limits = config.limits.clone();
    if let Some(room) = descriptors::make_room() {
        limits.max_connections = limits.max_connections.min(u32::try_from(room).unwrap_or(u32::MAX));
    }
    let services = warren_service::Context::new(ContextParts {
        store: Arc::clone(&store),
        clock: Arc::clone(&clock),
        entropy: Arc::clone(&entropy),
        limits,
    });
    let sealer = Sealer::new(keys.clone(), Arc::clone(&entropy));
    let logins = ImageLogins::new(services.clone(), sealer.clone());
    let pull_gate =
        CheckedRegistries::new(config.docker.allowed_registries(), &config.outbound.policy(), logins);
    let docker = DockerProvider::new(
        &folder.path.join("docker"),
        DockerSettings {
            private: vec![folder.path.clone()],
            pull_gate: Arc::new(pull_gate),
            ..config.docker.to_settings(&context.environment)
        },
        environment.clone(),
        Arc::clone(&clock),
        &*entropy,
    )
    .map_err(|error| Report::new(ErrorCode::DataFolderUnusable).because(error.to_string()))?;
    // The lock of the data folder is held by this process alone.
    let is_alone = !store.is_shared();
    let replica = if store.is_shared() {
        Replica::new(&folder.replica(&*entropy)?, services.clone()).with_role(config.server.role.role())
    } else {
        Replica::alone(services.clone())
    };
    let parts = RegistryParts {
        providers: vec![Arc::new(memory), Arc::new(local), Arc::new(sandbox), Arc::new(docker)],
        gates: config.registry.gates(),
        clock: Arc::clone(&clock),
        entropy: Arc::clone(&entropy),
        metrics: Arc::clone(&telemetry) as _,
        refs: Arc::new(StoredRefs::new(services.clone(), replica.clone())),
        losses: Arc::new(StoredLosses::new(services.clone())),
    };
    let connector = config.outbound.connector().map_err(|problem| {
        Report::new(ErrorCode::ConfigInvalid).because(format!("outbound.ca_file: {problem}"))
    })?;
    let unusable = |problem: String| Report::new(ErrorCode::ConfigInvalid).because(problem);
    let models = config.models.models(connector.clone()).map_err(unusable)?;
    let prices = config.models.prices().map_err(unusable)?;
    let provider_sign_in =
        sign_in_provider(context, config, &connector, &clock, &entropy).map_err(unusable)?;
    let signer = Signer::new(sealer, Arc::clone(&clock), connector.clone());
    let by_a2a = ByA2a::new(connector.clone(), Arc::clone(&clock), signer.clone());
    let agents = Agents::new(Arc::new(by_a2a));
    let fleet = Fleet::new(Parts {
        context: services,
        registry: Registry::new(parts, config.registry.to_registry()),
        keys,
        config: config.fleet.to_config(),
        replica,
        data_folder: folder.path.clone(),
        kept_from_boxes: &config.models.secret_names() | &config.network.secret_names(),
        probe: Arc::new(agents.clone()),
    });
    let server_config = ServerConfig {
        allowed_hosts: config.server.served_hosts(),
        allowed_origins: config.server.allowed_origins.clone(),
        has_public_metrics: config.server.public_metrics,
        replica_url: config.server.replica_url.clone(),
    };
    let exchange = Exchange::new(ExchangeParts {
        fleet: fleet.clone(),
        config: config.exchange.config(),
        agents,
        signer,
        connector,
        web_access: config.network.access(),
    });
    let operations = Operations::new(fleet.clone());
    let environment_keys = config.models.environment_keys(&context.environment);
    let models = ProviderModels::new(models, prices, fleet.clone(), environment_keys);
    let agents = AgentHost::new(AgentParts {
        fleet,
        operations: operations.clone(),
        models: Arc::new(models),
        config: AgentConfig { is_alone, ..config.sessions.config() },
    });
    agents.join(&exchange);
    let parts = ServerParts {
        agents: agents.clone(),
        exchange: exchange.clone(),
        operations,
        clock,
        entropy,
        telemetry,
        provider_sign_in,
    };
    let server = Server::bind(config.server.listen, server_config, parts)
        .await
        .map_err(|error| server_report(&error))?;
    Ok((exchange, agents, server))
}

/// The organisation's own sign-in, if the config names one. The error is a sentence that names its key.
fn sign_in_provider(
    context: &Context,
    config: &Config,
    connector: &Connector,
    clock: &Arc<dyn Clock>,
    entropy: &Arc<dyn Entropy>,
) -> Result<Option<ProviderSignIn>, String> {
    let section = &config.sign_in.provider;
    let Some(settings) = section.settings(&context.environment)? else { return Ok(None) };
    let provider = Provider::new(settings, connector.clone(), Arc::clone(clock), Arc::clone(entropy));
    tokio::spawn(look_at(provider.clone()));
    let public_url = config.server.public_url.clone();
    let place = public_url.clone().unwrap_or_else(|| format!("http://{}", config.server.listen));
    let redirect_uri = format!("{place}{PROVIDER_CALLBACK}");
    tracing::info!(issuer = provider.issuer(), redirect_uri, "people can sign in by a provider");
    let new_people = section.new_people();
    Ok(Some(ProviderSignIn { name: section.name.clone(), provider, public_url, new_people }))
}

/// A provider that does not answer is told at once, and keeps nothing from starting: links work without it.
async fn look_at(provider: Provider) {
    if let Err(error) = provider.discover().await {
        let (reason, remedy) = (error.reason().as_str(), error.remedy());
        tracing::warn!(issuer = provider.issuer(), reason, %error, remedy, "the sign-in provider cannot be used");
    }
}

fn server_report(error: &ServerError) -> Report {
    match error {
        ServerError::AddressInUse(address) => {
            Report::new(ErrorCode::AddressInUse).because(format!("{address} is taken by another program"))
        }
        ServerError::Listen(address, cause) => Report::new(ErrorCode::ConfigInvalid)
            .because(format!("server.listen: cannot listen on {address}: {cause}"))
            .hint("Choose an address of this machine and a port you may use, with `--listen`."),
    }
}

pub(super) fn fleet_report(error: &warren_service::Error) -> Report {
    let report = Report::new(error.code);
    let told = [error.detail.as_deref(), error.cause()];
    told.into_iter().flatten().fold(report, Report::because)
}
