//! Warren's own parts: config, server, database, providers.

use std::time::Duration;

use warren_api::client::{Client, Error};
use warren_api::{ServerInfo, Sweep, SweepOutcome};
use warren_model::{ErrorCode, ProviderKind};

use super::{Check, sign_in};
use crate::config::{Config, Overrides, redacted_url};
use crate::context::Context;
use crate::data_folder::default_database;
use crate::database::{self, Found};
use crate::failure::Failure;

const AREA: &str = "warren";
const PATIENCE: Duration = Duration::from_secs(3);

pub(super) async fn checks(context: &Context) -> Vec<Check> {
    let (config_check, config) = config(context);
    let (server_check, info) = server(context).await;
    let mut checks = vec![config_check, server_check];
    checks.push(match &info {
        Some(info) => Check::ok(AREA, "database", format!("{}, {}", info.database, info.durability))
            .effect("What is acknowledged is on disk."),
        None => database(context, config.as_ref()).await,
    });
    checks.extend(ProviderKind::ALL.into_iter().map(|kind| provider(kind, info.as_ref())));
    if info.is_some() {
        checks.push(sweeps(context).await);
    }
    if let Some(config) = &config {
        checks.extend(sign_in::check(context, config).await);
    }
    checks
}

/// The sweeps of a running server: each has run, and none of them failed the last time.
async fn sweeps(context: &Context) -> Check {
    let check = |finding: String| Check::ok(AREA, "sweeps", finding);
    let Ok(client) = context.client() else {
        return check("not asked".into());
    };
    match tokio::time::timeout(PATIENCE, client.sweeps()).await {
        Ok(Ok(list)) => judge_sweeps(&list.items),
        Ok(Err(Error::Problem(problem))) if problem.status == 403 => check("told to operators only".into()),
        Ok(Err(error)) => check(error.to_string()).warn("Look at the server's log."),
        Err(_) => check("no answer in time".into()).warn("Look at the server's log."),
    }
}

fn judge_sweeps(sweeps: &[Sweep]) -> Check {
    let is_bad = |sweep: &&Sweep| {
        let outcome = sweep.last_run.as_ref().map(|run| &run.outcome);
        match outcome {
            Some(SweepOutcome::Failed { .. } | SweepOutcome::Panicked) => true,
            Some(SweepOutcome::Done { failed, .. } | SweepOutcome::TakenOver { failed, .. }) => *failed > 0,
            Some(SweepOutcome::Elsewhere { .. }) | None => false,
        }
    };
    let bad: Vec<&str> = sweeps.iter().filter(is_bad).map(|sweep| sweep.name.as_str()).collect();
    let (runs, acted): (u64, u64) =
        sweeps.iter().fold((0, 0), |(runs, acted), one| (runs + one.runs, acted + one.acted_on));
    let finding =
        format!("{} of them, {runs} runs since the start, {acted} times something was done", sweeps.len());
    let check = Check::ok(AREA, "sweeps", finding);
    if bad.is_empty() {
        return check;
    }
    let names = bad.join(", ");
    check.warn(format!("The last run failed: {names}. Look at the log, or at GET /api/v1/admin/sweeps."))
}

fn config(context: &Context) -> (Check, Option<Config>) {
    match context.load_config(&Overrides::new()) {
        Ok(loaded) => {
            let file = loaded.file.map_or_else(|| "no file".to_owned(), |path| path.display().to_string());
            let check = Check::ok(AREA, "config", format!("valid ({file})"));
            let check = match loaded.warnings.first() {
                Some(warning) => check.warn(warning.clone()),
                None => check,
            };
            (check, Some(loaded.config))
        }
        Err(Failure::Told(report)) => {
            (Check::ok(AREA, "config", report.causes.join("; ")).fail("Run `warren config check`."), None)
        }
        Err(Failure::BrokenPipe) => (Check::ok(AREA, "config", "not checked"), None),
    }
}

/// A server that nobody named need not run. One that was named must answer.
async fn server(context: &Context) -> (Check, Option<ServerInfo>) {
    let is_named = context.global.url.is_some() || context.environment.get("WARREN_URL").is_some();
    let client = match context.client() {
        Ok(client) => client,
        Err(Failure::Told(report)) => {
            return (
                Check::ok(AREA, "server", report.causes.join("; ")).fail("Check `--url` and `--token`."),
                None,
            );
        }
        Err(Failure::BrokenPipe) => return (Check::ok(AREA, "server", "not checked"), None),
    };
    let url = client.url().to_string();
    match tokio::time::timeout(PATIENCE, ask(&client)).await {
        Ok(Ok(info)) => {
            (Check::ok(AREA, "server", format!("{url} answers, version {}", info.version)), Some(info))
        }
        Ok(Err(Error::Unreachable { .. })) if !is_named => (
            Check::ok(AREA, "server", format!("none runs at {url}")).warn("Start it with `warren up`."),
            None,
        ),
        Ok(Err(Error::Problem(problem)))
            if !is_named && problem.code == ErrorCode::Unauthenticated.as_str() =>
        {
            let finding = format!("the one at {url} runs on another data folder");
            let remedy = "Name its folder with `--data DIR`, or set WARREN_URL and WARREN_TOKEN; `warren up --listen \
                          127.0.0.1:0` starts another one.";
            (Check::ok(AREA, "server", finding).warn(remedy), None)
        }
        Ok(Err(error)) => {
            let remedy = match &error {
                Error::Problem(problem) => problem.remedy.clone(),
                _ => "Check WARREN_URL, and start the server with `warren up`.".to_owned(),
            };
            (Check::ok(AREA, "server", format!("{url}: {error}")).fail(remedy), None)
        }
        Err(_) => (
            Check::ok(AREA, "server", format!("{url} does not answer in time")).fail("Look at its log."),
            None,
        ),
    }
}

async fn ask(client: &Client) -> Result<ServerInfo, Error> {
    client.readyz().await?;
    client.info().await
}

/// Without a server, the database is looked at where the config says it is. Nothing in it is changed.
async fn database(context: &Context, config: Option<&Config>) -> Check {
    let check = |finding: String| Check::ok(AREA, "database", finding);
    let configured = config.and_then(|config| config.database.url.clone());
    let Ok(data) = context.data_path() else {
        return check("unknown".into()).fail("Name the data folder with `--data DIR`.");
    };
    let address = configured.unwrap_or_else(|| default_database(&data));
    match database::look(&address, &data).await {
        Ok(Found::Postgres) => check(format!("{} (looked at by the server only)", redacted_url(&address)))
            .warn("Start `warren up`, which checks it, and run this again."),
        Ok(Found::Nothing) => {
            check(format!("{} does not exist yet; `warren up` makes it", redacted_url(&address)))
        }
        Ok(Found::Sqlite(health)) => check(format!(
            "{} {}, schema {}, {}",
            health.engine, health.engine_version, health.schema_version, health.durability
        )),
        Err(report) => check(report.causes.join("; ")).fail(report.hint.unwrap_or_default()),
    }
}

/// A server that runs knows whether a provider can be used; else the rows about the host tell.
fn provider(kind: ProviderKind, info: Option<&ServerInfo>) -> Check {
    let name = match kind {
        ProviderKind::Memory => "provider memory",
        ProviderKind::Local => "provider local",
        ProviderKind::Sandbox => "provider sandbox",
        ProviderKind::Docker => "provider docker",
    };
    let told = info.and_then(|info| info.providers.iter().find(|one| one.kind == kind.as_str()));
    match told.and_then(|told| told.unavailable.as_deref()) {
        None => Check::ok(AREA, name, kind.remark()),
        Some(problem) => {
            Check::ok(AREA, name, problem).warn("Workspaces of other providers are not affected.")
        }
    }
}

#[cfg(test)]
mod tests {
    use warren_api::SweepRun;

    use super::*;
    use crate::doctor::State;

    // F21, O1
    #[test]
    fn a_sweep_that_failed_the_last_time_is_a_warning_with_its_name() {
        let sweep = |name: &str, outcome| Sweep {
            name: name.into(),
            meaning: String::new(),
            interval_ms: 1,
            last_run: Some(SweepRun { started_at: String::new(), finished_at: String::new(), outcome }),
            runs: 2,
            acted_on: 1,
            failures: 0,
            panics: 0,
        };
        let done = SweepOutcome::Done { looked_at: 1, acted_on: 1, failed: 0 };
        let well = judge_sweeps(&[sweep("liveness", done.clone())]);
        assert_eq!(well.state, State::Ok);
        let bad = judge_sweeps(&[sweep("liveness", done), sweep("orphans", SweepOutcome::Panicked)]);
        assert_eq!(bad.state, State::Warn);
        assert!(bad.remedy.is_some_and(|remedy| remedy.contains("orphans") && !remedy.contains("liveness")));
    }
}
