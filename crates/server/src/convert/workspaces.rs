//! Workspaces between the wire and the model.

use serde_json::Value;
use warren_api as api;
use warren_fleet::{RemovalCounts, has_tool_door};
use warren_model as model;
use warren_model::Timestamp;
use warren_workspace::registry::Description;
use warren_workspace::{is_boxed, provider_warning, run_warning};

use super::runtimes::vitals;

pub(crate) fn status(status: model::Status) -> api::Status {
    match status {
        model::Status::Provisioning => api::Status::Provisioning,
        model::Status::AwaitingAgent => api::Status::AwaitingAgent,
        model::Status::Online => api::Status::Online,
        model::Status::Degraded => api::Status::Degraded,
        model::Status::Offline => api::Status::Offline,
        model::Status::Failed => api::Status::Failed,
        model::Status::Paused => api::Status::Paused,
        model::Status::Hibernated => api::Status::Hibernated,
        model::Status::Removed => api::Status::Removed,
    }
}

pub(crate) fn status_from(status: api::Status) -> model::Status {
    let same = |one: &&model::Status| self::status(**one) == status;
    *model::Status::ALL.iter().find(same).expect("the conversion of statuses is one to one")
}

pub(crate) fn desired(desired: model::Desired) -> api::Desired {
    match desired {
        model::Desired::Running => api::Desired::Running,
        model::Desired::Paused => api::Desired::Paused,
        model::Desired::Hibernated => api::Desired::Hibernated,
        model::Desired::Removed => api::Desired::Removed,
    }
}

pub(crate) fn desired_from(desired: api::Desired) -> model::Desired {
    match desired {
        api::Desired::Running => model::Desired::Running,
        api::Desired::Paused => model::Desired::Paused,
        api::Desired::Hibernated => model::Desired::Hibernated,
        api::Desired::Removed => model::Desired::Removed,
    }
}

fn runtime(runtime: model::Runtime) -> api::Runtime {
    match runtime {
        model::Runtime::Hosted => api::Runtime::Hosted,
        model::Runtime::Resident => api::Runtime::Resident,
        model::Runtime::External => api::Runtime::External,
    }
}

pub(crate) fn runtime_from(runtime: api::Runtime) -> model::Runtime {
    match runtime {
        api::Runtime::Hosted => model::Runtime::Hosted,
        api::Runtime::Resident => model::Runtime::Resident,
        api::Runtime::External => model::Runtime::External,
    }
}

pub(crate) fn capabilities(set: model::CapabilitySet) -> Vec<api::Capability> {
    let one = |capability| match capability {
        model::Capability::Fs => api::Capability::Fs,
        model::Capability::Shell => api::Capability::Shell,
        model::Capability::Code => api::Capability::Code,
        model::Capability::Script => api::Capability::Script,
        model::Capability::Snapshot => api::Capability::Snapshot,
    };
    set.iter().map(one).collect()
}

pub(crate) fn capabilities_from(list: &[api::Capability]) -> model::CapabilitySet {
    let one = |capability: &api::Capability| match capability {
        api::Capability::Fs => model::Capability::Fs,
        api::Capability::Shell => model::Capability::Shell,
        api::Capability::Code => model::Capability::Code,
        api::Capability::Script => model::Capability::Script,
        api::Capability::Snapshot => model::Capability::Snapshot,
    };
    list.iter().map(one).collect()
}

pub(crate) fn tier(tier: model::Tier) -> api::Tier {
    match tier {
        model::Tier::Basic => api::Tier::Basic,
        model::Tier::Extended => api::Tier::Extended,
        model::Tier::Privileged => api::Tier::Privileged,
    }
}

pub(crate) fn tier_from(tier: api::Tier) -> model::Tier {
    match tier {
        api::Tier::Basic => model::Tier::Basic,
        api::Tier::Extended => model::Tier::Extended,
        api::Tier::Privileged => model::Tier::Privileged,
    }
}

pub(crate) fn workspace(
    row: &model::Workspace,
    vitals: Option<&model::Vitals>,
    provision_timeout_ms: i64,
) -> api::Workspace {
    api::Workspace {
        id: row.id.to_string(),
        org_id: row.org_id.to_string(),
        parent_id: row.parent_id.map(|id| id.to_string()),
        name: row.name.to_string(),
        status: status(row.status),
        reason: row.reason.as_ref().map(|reason| reason.as_str().to_owned()),
        desired: desired(row.spec.desired),
        runtime: runtime(row.spec.runtime),
        provider: serde_json::to_value(&row.spec.provider).unwrap_or(Value::Null),
        capabilities: capabilities(row.spec.capabilities),
        tier: tier(row.spec.tier),
        role: row.spec.role.clone(),
        provision_timeout_ms: provision_timeout_ms.unsigned_abs(),
        provisioning_started_at: row.provisioning_started_at.map(|at| at.to_string()),
        hibernate_after_seconds: row.spec.hibernate_after_seconds,
        max_concurrent_tasks: row.spec.max_concurrent_tasks,
        template: row.spec.template.as_ref().map(stamp),
        agent: Some(agent(&row.spec.agent)),
        doors: doors(&row.spec),
        position: None,
        vitals: vitals.map(self::vitals),
        generation: row.generation,
        observed_generation: row.observed_generation,
        behind_of: row.behind_of().map(behind_of),
        version: row.version,
        created_at: row.created_at.to_string(),
        updated_at: row.updated_at.to_string(),
        removed_at: row.removed_at.map(|at| at.to_string()),
        warnings: warnings(&row.spec.provider),
    }
}

fn warnings(provider: &model::ProviderConfig) -> Vec<String> {
    let unboxed = provider_warning(provider.kind()).map(str::to_owned);
    let policy = provider.run_policy();
    let run = policy.and_then(|policy| run_warning(policy, is_boxed(provider.kind())));
    unboxed.into_iter().chain(run).collect()
}

/// As they are in force.
fn doors(spec: &model::WorkspaceSpec) -> Option<api::Doors> {
    let tools = has_tool_door(spec);
    let models: Vec<_> = spec.doors.models.iter().map(ToString::to_string).collect();
    let has_web = !spec.doors.network.is_none();
    let network = has_web.then(|| serde_json::to_value(&spec.doors.network).unwrap_or_default());
    let is_any = tools || !models.is_empty() || has_web;
    is_any.then_some(api::Doors { models, tools: Some(tools), network })
}

fn behind_of(cause: model::BehindOf) -> api::BehindOf {
    match cause {
        model::BehindOf::Secrets => api::BehindOf::Secrets,
        model::BehindOf::Change => api::BehindOf::Change,
    }
}

fn stamp(stamp: &model::TemplateStamp) -> api::TemplateStamp {
    api::TemplateStamp { name: stamp.name.to_string(), hash: stamp.hash.clone() }
}

fn agent(agent: &model::AgentSpec) -> api::Agent {
    let schedule = |one: &model::ScheduleSpec| api::ScheduleSpec {
        name: one.name.clone(),
        cron: one.cron.clone(),
        every_seconds: one.every_seconds,
        time_zone: one.time_zone.clone(),
        prompt: one.prompt.clone(),
    };
    api::Agent {
        name: agent.name.as_ref().map(ToString::to_string),
        model: agent.model.clone(),
        prompts: agent.prompts.clone(),
        skills: agent.skills.clone(),
        schedules: agent.schedules.iter().map(schedule).collect(),
        required_env: agent.required_env.clone(),
        command: agent.command.clone(),
        wedge_signs: agent.wedge_signs.clone(),
        runner: agent.runner.as_deref().map(runner),
    }
}

fn runner(runner: &model::RunnerSpec) -> api::RunnerSpec {
    api::RunnerSpec {
        adapter: match runner.adapter {
            model::RunnerAdapter::Stdio => api::RunnerAdapter::Stdio,
            model::RunnerAdapter::Json => api::RunnerAdapter::Json,
            model::RunnerAdapter::Acp => api::RunnerAdapter::Acp,
            model::RunnerAdapter::A2a => api::RunnerAdapter::A2a,
        },
        mode: runner.mode.clone(),
        declares: runner.declares.clone(),
        idle_timeout_seconds: runner.idle_timeout_seconds,
        start_timeout_seconds: runner.start_timeout_seconds,
        a2a_url: runner.a2a_url.clone(),
    }
}

pub(crate) fn removal_counts(counts: RemovalCounts) -> api::RemovalCounts {
    api::RemovalCounts {
        marked: counts.marked,
        finished: counts.finished,
        failed: counts.failed,
        pending: counts.pending,
    }
}

pub(crate) fn position(position: model::Position) -> api::Position {
    api::Position { x: position.x, y: position.y }
}

pub(crate) fn description(description: &Description) -> api::RegistryDescription {
    let text = |at: Option<Timestamp>| at.map(|at| at.to_string());
    api::RegistryDescription {
        state: description.state.to_string(),
        provider: description.provider.to_string(),
        opened_at: text(description.opened_at),
        last_error: description.last_error.as_ref().map(ToString::to_string),
        last_attempt_at: text(description.last_attempt_at),
        last_success_at: text(description.last_success_at),
        opens: description.opens,
        evictions: description.evictions,
        limits: Some(description.limits.clone()).filter(|limits| !limits.is_null()),
    }
}
