//! `warren ws`: making, listing, changing and removing workspaces.

use std::time::Duration;

use serde_json::{Map, Value, json};
use warren_api::client::{Client, WorkspaceQuery};
use warren_api::{
    Capability, CreateWorkspace, Doors, RemovedWorkspace, RunnerAdapter, RunnerSpec, Runtime, Status, Tier,
    Workspace, WorkspaceHealth,
};
use warren_doors::{Clock as _, SystemClock};
use warren_model::{ErrorCode, Timestamp};

use super::cursors::all_pages;
use super::facts::{Facts, word};
use crate::arguments::{
    AdapterName, CreateArguments, LimitArguments, ListArguments, RemoveArguments, Span, Switch,
};
use crate::confirmation::is_confirmed;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::{Outcome, Report};
use crate::names::Names;
use crate::output::Tone;
use crate::terminal_text::visible;
use crate::workspace_name::resolve;

/// How the program is spoken with, where the command line says something about it.
fn runner(adapter: Option<AdapterName>, mode: Option<String>, a2a_url: Option<String>) -> Option<RunnerSpec> {
    (adapter.is_some() || mode.is_some()).then(|| RunnerSpec {
        adapter: match adapter.unwrap_or(AdapterName::Acp) {
            AdapterName::Stdio => RunnerAdapter::Stdio,
            AdapterName::Json => RunnerAdapter::Json,
            AdapterName::Acp => RunnerAdapter::Acp,
            AdapterName::A2a => RunnerAdapter::A2a,
        },
        mode,
        declares: Vec::new(),
        idle_timeout_seconds: None,
        start_timeout_seconds: None,
        a2a_url,
    })
}

pub(crate) async fn create(context: &Context, client: &Client, arguments: CreateArguments) -> Outcome<Exit> {
    let parent_id = match &arguments.parent {
        Some(parent) => Some(resolve(client, parent).await?),
        None => None,
    };
    let provider = provider_config(client, &arguments).await?;
    let request = CreateWorkspace {
        capabilities: capabilities(&arguments.capability)?,
        tier: tier(arguments.tier.as_deref())?,
        prompts: arguments.prompt.into_iter().collect(),
        parent_id,
        runtime: runtime(arguments.runtime.as_deref())?,
        hibernate_after_seconds: arguments.hibernate_after.map(seconds).transpose()?,
        role: arguments.role,
        doors: doors(arguments.model_door, arguments.tool_door, &arguments.network),
        agent: arguments.agent,
        model: arguments.model,
        template: arguments.template,
        provided_env: arguments.provided_env,
        command: Some(arguments.command).filter(|command| !command.is_empty()),
        runner: runner(arguments.adapter, arguments.mode, arguments.a2a_url).map(Box::new),
        provider,
        ..CreateWorkspace::new(arguments.name, Value::Null)
    };
    let mut workspace = client.create_workspace(&request).await?;
    if !arguments.no_wait {
        workspace = wait_until_settled(client, workspace, arguments.timeout).await?;
    }
    if context.output.is_json {
        context.output.json(&workspace)?;
    } else {
        context.output.line(&workspace.name)?;
    }
    if request.template.is_some() {
        note_tier(context, &workspace.name, workspace.tier);
    }
    for warning in &workspace.warnings {
        context.output.note(&format!("warning: {warning}"));
    }
    if workspace.status == Status::Failed {
        return Err(failed_to_open(&workspace).into());
    }
    note_missing_agent(context, &workspace);
    Ok(Exit::OK)
}

/// An agent that nobody has started yet is waited for in vain, and the workspace fails: that is told at once.
fn note_missing_agent(context: &Context, workspace: &Workspace) {
    let (name, minutes) = (&workspace.name, workspace.provision_timeout_ms.div_ceil(60_000));
    if workspace.status != Status::AwaitingAgent || is_coming(workspace) {
        return;
    }
    let how = match workspace.runtime {
        Runtime::Hosted => return,
        Runtime::Resident => {
            format!("name its program with `warren ws set {name} -- PROGRAM`, and restart it")
        }
        Runtime::External => format!("start one with `warren runner --workspace {name} -- PROGRAM`"),
    };
    context
        .output
        .note(&format!("It waits for its agent, and fails in {minutes} minutes without one: {how}."));
}

/// Absent where nothing is said of them, so that a template's stay.
fn doors(models: Vec<String>, tools: Option<Switch>, network: &[String]) -> Option<Doors> {
    let is_said = !models.is_empty() || tools.is_some() || !network.is_empty();
    is_said.then(|| Doors { models, tools: tools.map(Switch::is_on), network: network_policy(network) })
}

/// The words of `--network` as a policy; absent where nothing is said.
pub(super) fn network_policy(words: &[String]) -> Option<Value> {
    if words.is_empty() {
        return None;
    }
    let allow: Vec<_> = words.iter().filter(|word| !["ask", "none", ""].contains(&word.as_str())).collect();
    Some(json!({ "allow": allow, "ask": words.iter().any(|word| word == "ask") }))
}

/// A policy in a few words.
fn reached(network: &Value) -> String {
    let named = network["allow"].as_array().into_iter().flatten().map(|grant| match grant {
        Value::String(name) => name.clone(),
        grant => grant["host"].as_str().unwrap_or_default().to_owned(),
    });
    let asks = network["ask"].as_bool() == Some(true);
    let words: Vec<String> = named.chain(asks.then(|| "others once a person agrees".to_owned())).collect();
    words.join(", ")
}

/// Says so where a template gave a workspace more than its own box: whoever made it named the template alone.
pub(super) fn note_tier(context: &Context, name: &str, tier: Tier) {
    let given = match tier {
        Tier::Basic => return,
        Tier::Extended => "folders or variables of the host are passed into its box",
        Tier::Privileged => "its box is relaxed, or it has none",
    };
    context.output.note(&format!("By its template {name} is of the tier `{}`: {given}.", word(tier)));
}

fn runtime(name: Option<&str>) -> Outcome<Option<Runtime>> {
    let Some(name) = name else { return Ok(None) };
    serde_json::from_value(name.into()).map(Some).map_err(|_| {
        let problem = format!("--runtime: `{name}` is not one of hosted, resident, external");
        Report::new(ErrorCode::InvalidUsage).because(problem).into()
    })
}

fn seconds(span: Span) -> Outcome<u32> {
    u32::try_from(span.ms.div_ceil(1_000)).map_err(|_| {
        Report::new(ErrorCode::InvalidUsage).because("--hibernate-after: that is too long").into()
    })
}

/// `None`: the template says, or the server chooses.
async fn provider_config(client: &Client, arguments: &CreateArguments) -> Outcome<Option<Value>> {
    let has_run = !arguments.allow_run.is_empty() || !arguments.allow_unrestrained.is_empty();
    let has_limits = arguments.limits != LimitArguments::default();
    let knobs = arguments.provider_config.is_some() || has_run || has_limits;
    if knobs && arguments.provider.is_none() && arguments.template.is_some() {
        let problem = "--provider-config, --allow-run and limits need --provider: a template's provider is replaced whole";
        return Err(Report::new(ErrorCode::InvalidUsage).because(problem).into());
    }
    if !knobs && arguments.provider.is_none() {
        return Ok(None);
    }
    let mut config = config_object(arguments.provider_config.as_deref())?;
    put_limits(&mut config, &arguments.limits);
    let kind = match &arguments.provider {
        Some(kind) => kind.clone(),
        None => default_kind(client).await?,
    };
    config.insert("kind".into(), kind.into());
    if has_run {
        let (allow, unrestrained) = (&arguments.allow_run, &arguments.allow_unrestrained);
        config.insert("run".into(), json!({ "allow": allow, "allow_unrestrained": unrestrained }));
    }
    Ok(Some(Value::Object(config)))
}

pub(super) fn config_object(text: Option<&str>) -> Outcome<Map<String, Value>> {
    let Some(text) = text else { return Ok(Map::new()) };
    serde_json::from_str(text).map_err(|error| {
        let problem = format!("--provider-config is not a JSON object: {error}");
        Report::new(ErrorCode::InvalidUsage).because(problem).into()
    })
}

/// What is said by an option of its own stands over what the JSON says.
pub(super) fn put_limits(config: &mut Map<String, Value>, limits: &LimitArguments) {
    let box_limits = [
        ("memory_mb", limits.memory_mb.map(Value::from)),
        ("cpus", limits.cpus.map(Value::from)),
        ("pids", limits.pids.map(Value::from)),
        ("tmp_mb", limits.tmp_mb.map(Value::from)),
        ("disk_mb", limits.disk_mb.map(Value::from)),
    ];
    let said: Vec<_> = box_limits.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    if !said.is_empty() {
        let known = config.entry("limits").or_insert_with(|| json!({}));
        if !known.is_object() {
            *known = json!({});
        }
        for (name, value) in said {
            known[name] = value;
        }
    }
    if let Some(max) = limits.max_file_mb {
        config.insert("max_file_mb".into(), max.into());
    }
}

pub(super) fn tier(name: Option<&str>) -> Outcome<Option<Tier>> {
    let Some(name) = name else { return Ok(None) };
    from_name(name).map(Some).map_err(|_| {
        let problem = format!("--tier: `{name}` is not one of basic, extended, privileged");
        Report::new(ErrorCode::InvalidUsage).because(problem).into()
    })
}

/// The kind of provider that the server gives to whoever names none.
pub(super) async fn default_kind(client: &Client) -> Outcome<String> {
    let info = client.info().await?;
    if let Some(kind) = info.default_provider {
        return Ok(kind);
    }
    let why = info.providers.iter().filter_map(|one| Some((&one.kind, one.unavailable.as_ref()?)));
    let report = why.fold(Report::new(ErrorCode::ProviderUnavailable), |report, (kind, why)| {
        report.because(format!("{kind}: {why}"))
    });
    Err(report
        .hint("Mend one of them (`warren doctor` helps), or go without a box: `--provider local`, which isolates nothing.")
        .into())
}

pub(super) fn capabilities(names: &[String]) -> Outcome<Option<Vec<Capability>>> {
    if names.is_empty() {
        return Ok(None);
    }
    let parsed: Result<Vec<Capability>, _> = names.iter().map(|name| from_name(name)).collect();
    parsed.map(Some).map_err(|error| {
        Report::new(ErrorCode::InvalidUsage).because(format!("--capability: {error}")).into()
    })
}

/// Reads a wire name, such as `shell` or `awaiting_agent`.
fn from_name<T: serde::de::DeserializeOwned>(name: &str) -> Result<T, serde_json::Error> {
    serde_json::from_value(Value::from(name))
}

/// Asks again, at growing distances, until the workspace is no longer on its way.
pub(super) async fn wait_until_settled(
    client: &Client,
    mut workspace: Workspace,
    limit: Span,
) -> Outcome<Workspace> {
    let started = tokio::time::Instant::now();
    let mut pause = Duration::from_millis(5);
    while is_coming(&workspace) {
        if started.elapsed() >= Duration::from_millis(limit.ms) {
            return Err(Report::new(ErrorCode::WorkspaceNotReady)
                .because(format!("{} is still not there after {} ms", workspace.name, limit.ms))
                .hint(format!("It goes on by itself; look with `warren ws show {}`.", workspace.name))
                .into());
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(200));
        workspace = client.workspace(&workspace.id).await?;
    }
    Ok(workspace)
}

/// An agent that Warren itself starts is part of what is waited for; one that comes from elsewhere is not.
fn is_coming(workspace: &Workspace) -> bool {
    let is_ours = workspace.agent.as_ref().is_some_and(|agent| !agent.command.is_empty());
    match workspace.status {
        Status::Provisioning => true,
        Status::AwaitingAgent => is_ours,
        Status::Online
        | Status::Degraded
        | Status::Offline
        | Status::Failed
        | Status::Paused
        | Status::Hibernated
        | Status::Removed => false,
    }
}

pub(super) fn failed_to_open(workspace: &Workspace) -> Report {
    let reason = workspace.reason.clone().unwrap_or_else(|| "no reason was given".into());
    Report::new(ErrorCode::WorkspaceFailed).because(reason).hint(format!(
        "Fix the cause, then run `warren ws reset {name}`, or `warren ws rm {name}`.",
        name = workspace.name
    ))
}

pub(crate) async fn list(context: &Context, client: &Client, arguments: ListArguments) -> Outcome<Exit> {
    let status =
        match &arguments.status {
            Some(name) => Some(from_name::<Status>(name).map_err(|error| {
                Report::new(ErrorCode::InvalidUsage).because(format!("--status: {error}"))
            })?),
            None => None,
        };
    let parent_id = match &arguments.parent {
        Some(parent) => Some(resolve(client, parent).await?),
        None => None,
    };
    let query = WorkspaceQuery {
        status,
        name: arguments.name,
        parent_id,
        includes_removed: arguments.all,
        ..WorkspaceQuery::default()
    };
    let found = all_pages(None, async |cursor| {
        let query = WorkspaceQuery { cursor: cursor.map(str::to_owned), ..query.clone() };
        let page = client.workspaces(&query).await?;
        context.output.note_unreadable(&page.unreadable);
        Ok((page.items, page.next_cursor))
    })
    .await?;
    if context.output.is_json {
        context.output.json(&found)?;
    } else if found.is_empty() {
        context.output.note("No workspaces. Make one with `warren ws create NAME`.");
    } else {
        let now = SystemClock.now();
        let rows: Vec<Vec<String>> = found.iter().map(|one| row(one, now)).collect();
        let header = ["name", "status", "reason", "provider", "age", "id"];
        context.output.table_with_statuses(&header, &rows, 1)?;
    }
    Ok(Exit::OK)
}

fn row(workspace: &Workspace, now: Timestamp) -> Vec<String> {
    vec![
        workspace.name.clone(),
        word(workspace.status),
        workspace.reason.clone().unwrap_or_else(|| "-".into()),
        provider_kind(workspace),
        age(&workspace.created_at, now),
        workspace.id.clone(),
    ]
}

fn provider_kind(workspace: &Workspace) -> String {
    let kind = workspace.provider.get("kind").and_then(Value::as_str);
    kind.unwrap_or("-").to_owned()
}

/// The two largest units would be noise in a list; the largest is enough.
pub(crate) fn age(since: &str, now: Timestamp) -> String {
    let Ok(since) = since.parse::<Timestamp>() else {
        return "-".into();
    };
    let seconds = now.ms_since(since).max(0) / 1_000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

pub(crate) async fn show(context: &Context, client: &Client, name: &str) -> Outcome<Exit> {
    let id = resolve(client, name).await?;
    let workspace = client.workspace(&id).await?;
    let health = client.workspace_health(&id).await?;
    if context.output.is_json {
        let mut document = serde_json::to_value(&workspace).expect("a workspace is JSON");
        document["health"] = serde_json::to_value(&health).expect("its health is JSON");
        context.output.json(&document)?;
    } else {
        let parent = match &workspace.parent_id {
            Some(parent) => Some(Names::of_workspaces(client).await.workspace(parent)),
            None => None,
        };
        facts(&workspace, parent, &health).print(context)?;
    }
    Ok(Exit::OK)
}

fn facts(workspace: &Workspace, parent: Option<String>, health: &WorkspaceHealth) -> Facts {
    let capabilities: Vec<String> = workspace.capabilities.iter().map(word).collect();
    let mut facts = Facts::default();
    facts.add("name", &workspace.name);
    facts.add("id", &workspace.id);
    facts.add("status", word(workspace.status));
    facts.add_known("reason", workspace.reason.as_deref());
    facts.add("desired", word(workspace.desired));
    facts.add("runtime", word(workspace.runtime));
    facts.add("tier", word(workspace.tier));
    facts.add("capabilities", capabilities.join(", "));
    let made_from = workspace.template.as_ref();
    facts.add_known("template", made_from.map(|stamp| format!("{} {}", stamp.name, stamp.hash)));
    facts.add_known("role", workspace.role.as_deref());
    facts.add_known("parent", parent);
    if let Some(doors) = &workspace.doors {
        facts.add_known("asks models", Some(doors.models.join(", ")).filter(|models| !models.is_empty()));
        facts.add("has tools", if doors.tools == Some(true) { "yes" } else { "no" });
        facts.add_known("reaches", doors.network.as_ref().map(reached));
    }
    if let Some(vitals) = &workspace.vitals {
        facts.add_known("last report", vitals.last_heartbeat_at.as_deref());
        facts.add("tasks", vitals.active_tasks.to_string());
        facts.add_known("current task", vitals.current_task.as_deref());
        facts.add_known("its error", vitals.sample_error.as_deref());
    }
    facts.add("generation", generations(workspace));
    facts.add("version", workspace.version.to_string());
    facts.add("created", &workspace.created_at);
    facts.add("updated", &workspace.updated_at);
    facts.add_document("provider", &workspace.provider);
    if let Some(registry) = &health.registry {
        facts.add("registry", &registry.state);
        facts.add_known("last error", registry.last_error.as_deref());
        if let Some(limits) = &registry.limits {
            facts.add_document("limits", limits);
        }
    }
    facts
}

fn generations(workspace: &Workspace) -> String {
    let (wanted, observed) = (workspace.generation, workspace.observed_generation);
    match workspace.behind_of {
        None => format!("{wanted} (observed {observed})"),
        Some(cause) => format!("{wanted} (observed {observed}, behind of {})", word(cause)),
    }
}

/// What can be asked of a workspace as a whole.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ask {
    Pause,
    Resume,
    Hibernate { force: bool },
    Wake,
    Restart,
    Reset,
}

pub(crate) async fn ask(context: &Context, client: &Client, name: &str, ask: Ask) -> Outcome<Exit> {
    let id = resolve(client, name).await?;
    let workspace = match ask {
        Ask::Pause => client.pause_workspace(&id).await?,
        Ask::Resume => client.resume_workspace(&id).await?,
        Ask::Hibernate { force } => client.hibernate_workspace(&id, force).await?,
        Ask::Wake => client.wake_workspace(&id).await?,
        Ask::Restart => client.restart_workspace(&id).await?,
        Ask::Reset => client.reset_workspace(&id).await?,
    };
    told(context, &workspace)
}

pub(super) fn told(context: &Context, workspace: &Workspace) -> Outcome<Exit> {
    if context.output.is_json {
        context.output.json(workspace)?;
    } else {
        context.output.line(&format!("{}  {}", workspace.name, word(workspace.status)))?;
    }
    Ok(Exit::OK)
}

/// Everything is looked up before anything is removed, so that a misspelt name removes nothing.
pub(crate) async fn remove(context: &Context, client: &Client, arguments: &RemoveArguments) -> Outcome<Exit> {
    let mut ids = Vec::new();
    for name in &arguments.workspaces {
        ids.push(resolve(client, name).await?);
    }
    let question = format!("Remove {} with all files?", arguments.workspaces.join(", "));
    if !arguments.yes && !is_confirmed(context, &question) {
        context.output.note("Nothing was removed.");
        return Ok(Exit::FAILURE);
    }
    let mut removed = Vec::new();
    for id in &ids {
        removed.push(client.remove_workspace(id, None, arguments.purge).await?);
    }
    if context.output.is_json {
        context.output.json(&removed)?;
    } else {
        for RemovedWorkspace { workspace, removal } in &removed {
            let word = context.output.paint("removed", Tone::Quiet);
            context.output.text(&format!("{}  {word}\n", visible(&workspace.name)))?;
            let left = removal.failed + removal.pending;
            if left > 0 {
                context.output.note(&format!(
                    "{left} of {} could not be stopped yet ({} failed); their files are kept, and Warren tries again.",
                    removal.marked, removal.failed
                ));
            }
        }
    }
    Ok(Exit::OK)
}

#[cfg(test)]
mod tests {
    use super::*;

    // S11
    #[test]
    fn an_age_is_told_in_its_largest_unit() {
        let now: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
        for (since, expected) in [
            ("2026-11-15T11:59:18Z", "42s"),
            ("2026-11-15T11:00:01Z", "59m"),
            ("2026-11-14T12:00:00Z", "24h"),
            ("2026-11-01T12:00:00Z", "14d"),
            ("2026-11-15T12:00:09Z", "0s"),
            ("soon", "-"),
        ] {
            assert_eq!(age(since, now), expected, "{since}");
        }
    }
}
