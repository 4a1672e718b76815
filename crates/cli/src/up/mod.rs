//! `warren up`: puts the rooms together and serves until it is told to stop.
//!
//! ```text
//!   config ─▶ data folder (lock) ─▶ database ─▶ fleet ─▶ bind ─▶ take up work ─▶ token, link ─▶ ready
//! ```
//!
//! Everything that can be refused is tried before anything is changed: a second server stops at the lock, a newer
//! database at its opening, a taken port at the bind, and each leaves what it found as it was.

mod access;
mod assemble;
mod banner;
mod descriptors;
mod logs;
mod pull_gate;
mod secret_keys;
mod signals;

use tokio_util::sync::CancellationToken;
use warren_agent::AgentHost;
use warren_exchange::Exchange;
use warren_fleet::Fleet;
use warren_model::{ErrorCode, ProviderKind};
use warren_server::VERSION;

use crate::arguments::UpArguments;
use crate::config::{Config, Overrides};
use crate::context::Context;
use crate::data_folder::DataFolder;
use crate::exit::Exit;
use crate::failure::{Outcome, Report};
use assemble::Assembled;
pub(crate) use secret_keys::FILE_NAME as KEY_FILE_NAME;

/// How long a provider may think about whether it can be used, before people are told that all is ready.
const PATIENCE: std::time::Duration = std::time::Duration::from_millis(500);

pub(crate) fn run(context: &Context, arguments: &UpArguments) -> Outcome<Exit> {
    let loaded = context.load_config(&overrides(arguments))?;
    logs::start(&loaded.config.log)?;
    for warning in &loaded.warnings {
        tracing::warn!("{warning}");
    }
    let folder = DataFolder::open(&context.data_path()?)?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().thread_name("warren").build().map_err(
            |error| Report::new(ErrorCode::Internal).because(format!("no runtime could be started: {error}")),
        )?;
    let outcome = runtime.block_on(serve(context, &loaded.config, &folder));
    // What is still running had its chance within the shutdown's own limits.
    runtime.shutdown_background();
    outcome
}

/// Each provider, and why it cannot be used here, where that is so.
async fn availability(fleet: &Fleet) -> Vec<(ProviderKind, Option<String>)> {
    let mut known = Vec::new();
    for kind in ProviderKind::ALL {
        let asked = tokio::time::timeout(PATIENCE, fleet.registry.availability(kind)).await;
        let problem = match asked {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some("it does not answer in time".to_owned()),
        };
        known.push((kind, problem));
    }
    known
}

fn overrides(arguments: &UpArguments) -> Overrides {
    let given = [
        ("server.listen", &arguments.listen),
        ("server.role", &arguments.role),
        ("server.replica_url", &arguments.replica_url),
        ("database.url", &arguments.database),
        ("log.format", &arguments.log_format),
    ];
    given.into_iter().filter_map(|(key, value)| Some((key, value.clone()?))).collect()
}

async fn take_up_work(exchange: &Exchange, agents: &AgentHost) -> Result<(), warren_exchange::Error> {
    exchange.fleet().start(VERSION).await?;
    exchange.start().await?;
    agents.start();
    Ok(())
}

async fn serve(context: &Context, config: &Config, folder: &DataFolder) -> Outcome<Exit> {
    let stop = CancellationToken::new();
    signals::watch(&stop)?;
    let Assembled { exchange, agents, server, database } =
        assemble::assemble(context, config, folder).await?;
    let fleet = exchange.fleet().clone();
    if let Err(error) = take_up_work(&exchange, &agents).await {
        fleet.context.store().close().await;
        return Err(assemble::fleet_report(&error).into());
    }
    let url = format!("http://{}", server.local_addr());
    let access = access::prepare(&fleet, folder, &url).await?;
    let serving = tokio::spawn(server.run(stop.clone()));
    tracing::info!(url, data = %folder.path.display(), "ready");
    banner::print(
        context,
        &banner::Ready {
            url: &url,
            public_url: &banner::public_url(config, &url),
            token: &access.token,
            sign_in: &access.sign_in,
            folder,
            database: &database,
            providers: &availability(&fleet).await,
        },
    );
    match serving.await {
        Ok(()) => Ok(Exit::OK),
        Err(error) => {
            Err(Report::new(ErrorCode::Internal).because(format!("the server ended: {error}")).into())
        }
    }
}
