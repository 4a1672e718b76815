//! New workspaces: from the wire to what the fleet is asked for.

use warren_api as api;
use warren_fleet::{CreateWorkspace, Import, WorkspaceOptions};
use warren_model as model;
use warren_model::ErrorCode;

use super::{capabilities_from, id_from, runtime_from, tier_from};
use crate::problem::Failure;

/// `provider` is what the request says, or what it gets if it says nothing.
pub(crate) fn new_workspace_from(
    body: api::CreateWorkspace,
    provider: model::ProviderConfig,
) -> Result<CreateWorkspace, Failure> {
    if !body.provided_env.is_empty() {
        let detail = "provided_env: only a template requires variables";
        return Err(Failure::new(ErrorCode::InvalidRequest, detail));
    }
    Ok(CreateWorkspace {
        name: body.name.parse().map_err(|error| invalid("name", &error))?,
        provider,
        capabilities: body.capabilities.as_deref().map(capabilities_from),
        parent_id: body.parent_id.as_deref().map(|id| id_from("parent_id", id)).transpose()?,
        runtime: body.runtime.map_or(model::Runtime::Hosted, runtime_from),
        tier: body.tier.map(tier_from),
        options: WorkspaceOptions {
            role: body.role,
            provision_timeout_seconds: body.provision_timeout_seconds,
            hibernate_after_seconds: body.hibernate_after_seconds,
            max_concurrent_tasks: body.max_concurrent_tasks,
            doors: body.doors.map(doors_from).transpose()?.unwrap_or_default(),
        },
        agent: model::AgentSpec {
            name: agent_name_from(body.agent.as_deref())?,
            model: body.model,
            prompts: body.prompts,
            command: body.command.unwrap_or_default(),
            wedge_signs: body.wedge_signs.unwrap_or_default(),
            runner: body.runner.map(|runner| Box::new(runner_from(*runner))),
            ..model::AgentSpec::default()
        },
        template: None,
    })
}

/// The template with what the request says over it.
pub(crate) fn template_import_from(body: api::CreateWorkspace) -> Result<Import, Failure> {
    let template = body.template.as_deref().unwrap_or_default();
    let name: model::WorkspaceName = body.name.parse().map_err(|error| invalid("name", &error))?;
    let root = model::Blueprint {
        name: Some(name.to_string()),
        template: Some(template.parse().map_err(|error| invalid("template", &error))?),
        runtime: body.runtime.map(runtime_from),
        provider: body.provider.map(provider_from).transpose()?,
        capabilities: body.capabilities.as_deref().map(capabilities_from),
        tier: body.tier.map(tier_from),
        role: body.role,
        provision_timeout_seconds: body.provision_timeout_seconds,
        hibernate_after_seconds: body.hibernate_after_seconds,
        max_concurrent_tasks: body.max_concurrent_tasks,
        agent: agent_name_from(body.agent.as_deref())?,
        model: body.model,
        prompts: body.prompts,
        command: body.command,
        wedge_signs: body.wedge_signs,
        runner: body.runner.map(|runner| Box::new(runner_from(*runner))),
        doors: body.doors.map(doors_from).transpose()?,
        ..model::Blueprint::default()
    };
    let parent_id = body.parent_id.as_deref().map(|id| id_from("parent_id", id)).transpose()?;
    Ok(Import { roots: vec![root], parent_id, provided_env: body.provided_env })
}

fn runner_from(runner: api::RunnerSpec) -> model::RunnerSpec {
    model::RunnerSpec {
        adapter: match runner.adapter {
            api::RunnerAdapter::Stdio => model::RunnerAdapter::Stdio,
            api::RunnerAdapter::Json => model::RunnerAdapter::Json,
            api::RunnerAdapter::Acp => model::RunnerAdapter::Acp,
            api::RunnerAdapter::A2a => model::RunnerAdapter::A2a,
        },
        mode: runner.mode,
        declares: runner.declares,
        idle_timeout_seconds: runner.idle_timeout_seconds,
        start_timeout_seconds: runner.start_timeout_seconds,
        a2a_url: runner.a2a_url,
    }
}

pub(crate) fn doors_from(doors: api::Doors) -> Result<model::DoorSpec, Failure> {
    let grant = |(at, text): (usize, String)| {
        text.parse().map_err(|error| invalid(&format!("doors.models[{at}]"), &error))
    };
    let models = doors.models.into_iter().enumerate().map(grant).collect::<Result<_, _>>()?;
    let network = doors.network.map(network_from).transpose()?.unwrap_or_default();
    Ok(model::DoorSpec { models, tools: doors.tools, network })
}

fn network_from(value: serde_json::Value) -> Result<model::NetworkPolicy, Failure> {
    model::from_json(value).map_err(|error| match error.path().to_string().as_str() {
        "." => invalid("doors.network", error.inner()),
        path => invalid(&format!("doors.network.{path}"), error.inner()),
    })
}

pub(crate) fn agent_name_from(text: Option<&str>) -> Result<Option<model::AgentName>, Failure> {
    text.map(str::parse).transpose().map_err(|error| invalid("agent", &error))
}

pub(crate) fn provider_from(value: serde_json::Value) -> Result<model::ProviderConfig, Failure> {
    // Its other errors begin with the field, such as `limits.pids: …`.
    let at = if value.is_object() { "provider." } else { "provider: " };
    serde_json::from_value(value)
        .map_err(|error| Failure::new(ErrorCode::InvalidConfig, format!("{at}{error}")))
}

fn invalid(field: &str, problem: &dyn std::fmt::Display) -> Failure {
    Failure::new(ErrorCode::InvalidRequest, format!("{field}: {problem}"))
}
