//! `warren ws set`: changing a workspace that is there.

use serde_json::{Value, json};
use warren_api::client::Client;
use warren_api::{BehindOf, Doors, PatchWorkspace};
use warren_model::ErrorCode;

use super::workspace::{capabilities, config_object, network_policy, put_limits, tier, told};
use crate::arguments::{SetArguments, Span, Switch};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::{Outcome, Report};
use crate::workspace_name::resolve;

pub(crate) async fn set(context: &Context, client: &Client, arguments: SetArguments) -> Outcome<Exit> {
    let id = resolve(client, &arguments.workspace).await?;
    let provider = provider_changes(&arguments)?;
    let parent_id = match arguments.parent.map(taken_back_if_empty) {
        Some(Some(parent)) => Some(Some(resolve(client, &parent).await?)),
        Some(None) => Some(None),
        None => None,
    };
    let network = network_policy(&arguments.network);
    let doors = match (arguments.model_door.as_slice(), arguments.tool_door, &network) {
        ([], None, None) => None,
        (models, tools, _) => {
            // What is not said stays as it is.
            let known = client.workspace(&id).await?.doors.unwrap_or_default();
            let models = match models {
                [] => known.models,
                models => models.iter().filter(|model| !model.is_empty()).cloned().collect(),
            };
            let network = network.or(known.network);
            Some(Doors { models, tools: tools.map(Switch::is_on).or(known.tools), network })
        }
    };
    let patch = PatchWorkspace {
        provider,
        capabilities: capabilities(&arguments.capability)?.map(Some),
        tier: tier(arguments.tier.as_deref())?,
        prompts: arguments.prompt.into_iter().map(|(name, text)| (name, taken_back_if_empty(text))).collect(),
        doors,
        name: arguments.name,
        parent_id,
        role: arguments.role.map(taken_back_if_empty),
        hibernate_after_seconds: seconds("--hibernate-after", arguments.hibernate_after, "never")?,
        provision_timeout_seconds: seconds("--provision-timeout", arguments.provision_timeout, "default")?,
        max_concurrent_tasks: arguments.max_tasks.map(Some),
        command: Some(arguments.command).filter(|command| !command.is_empty()),
        agent: arguments.agent.map(taken_back_if_empty),
        model: arguments.model.map(taken_back_if_empty),
        ..PatchWorkspace::default()
    };
    let workspace = client.patch_workspace(&id, &patch, None).await?;
    let needs_box = patch.provider.is_some() || patch.capabilities.is_some();
    if needs_box && workspace.behind_of == Some(BehindOf::Change) {
        context.output.note("It is brought up anew for that: what ran in it ends, and its files stay.");
    }
    told(context, &workspace)
}

/// Fields of the provider's config; what is not said stays.
fn provider_changes(arguments: &SetArguments) -> Outcome<Option<Value>> {
    let mut config = config_object(arguments.provider_config.as_deref())?;
    put_limits(&mut config, &arguments.limits());
    if let Some(image) = &arguments.image {
        config.insert("image".into(), image.as_str().into());
    }
    let (allow, unrestrained) = (&arguments.allow_run, &arguments.allow_unrestrained);
    if !allow.is_empty() || !unrestrained.is_empty() {
        config.insert("run".into(), json!({ "allow": allow, "allow_unrestrained": unrestrained }));
    }
    Ok(Some(Value::Object(config)).filter(|config| config.as_object().is_some_and(|all| !all.is_empty())))
}

fn taken_back_if_empty(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

/// A time, or the word that takes it back.
fn seconds(flag: &str, text: Option<String>, taken_back: &str) -> Outcome<Option<Option<u32>>> {
    let Some(text) = text else { return Ok(None) };
    if text == taken_back {
        return Ok(Some(None));
    }
    let wrong = |problem: String| {
        Report::new(ErrorCode::InvalidUsage).because(format!("{flag}: {problem}, or `{taken_back}`"))
    };
    let span: Span = text.parse().map_err(wrong)?;
    let seconds =
        u32::try_from(span.ms.div_ceil(1_000)).map_err(|_| wrong(format!("`{text}` is too long")))?;
    Ok(Some(Some(seconds)))
}
