//! Agents that Warren runs itself, in hosted workspaces: whether there is one, and which it is.
//!
//! ```text
//!   spec.agent.name                  the stored agent of that name
//!   spec.agent.model [+ system]      an agent of the workspace's own, made from these
//!   both                             the stored one, with this model and this system prompt over it
//!   neither                          nobody: a message is refused with `no_agent`
//! ```

use warren_model::session::{InvalidModelName, ModelName};
use warren_model::{AgentDefinition, AgentName, AgentSpec, Runtime, WorkspaceId, WorkspaceSpec};

/// Agents whose names begin like this are made by Warren, one for each workspace that says something of its own.
const RESERVED: &str = "workspace.";

/// Why a workspace cannot have the agent that its spec names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AgentProblem {
    #[error("agent: only a `hosted` workspace is run by a stored agent; a `resident` one has a `command`")]
    NotHosted,
    #[error("model: {}", InvalidModelName)]
    Model,
}

/// Whether Warren runs an agent in this workspace.
pub fn has_agent(spec: &WorkspaceSpec) -> bool {
    spec.runtime == Runtime::Hosted && (spec.agent.name.is_some() || spec.agent.model.is_some())
}

/// Whether what the spec says of its agent can be.
pub fn check(spec: &WorkspaceSpec) -> Result<(), AgentProblem> {
    match (spec.runtime, &spec.agent.name) {
        (Runtime::Hosted, _) => model_of(&spec.agent).map(drop),
        (Runtime::Resident | Runtime::External, Some(_)) => Err(AgentProblem::NotHosted),
        // What the model of a program's own is called is the program's business.
        (Runtime::Resident | Runtime::External, None) => Ok(()),
    }
}

fn model_of(agent: &AgentSpec) -> Result<Option<ModelName>, AgentProblem> {
    agent.model.as_ref().map(|model| model.parse()).transpose().map_err(|_| AgentProblem::Model)
}

/// Whether only Warren itself stores agents of this name.
pub fn is_reserved(name: &AgentName) -> bool {
    name.as_str().starts_with(RESERVED)
}

/// The name of what a workspace says itself of its agent.
pub fn own_name(id: WorkspaceId) -> AgentName {
    format!("{RESERVED}{id}").parse().expect("an id has letters, digits and dashes only")
}

/// The agent of a workspace; `stored` is what its name stands for. `None`: there is none, or the stored one is gone.
pub fn definition(
    id: WorkspaceId,
    agent: &AgentSpec,
    stored: Option<AgentDefinition>,
) -> Result<Option<AgentDefinition>, AgentProblem> {
    let model = model_of(agent)?;
    let system = agent.prompts.get(AgentSpec::SYSTEM_PROMPT);
    let mut definition = match (stored, &agent.name, model.clone()) {
        (Some(stored), Some(_), _) => stored,
        (_, None, Some(model)) => AgentDefinition::new(own_name(id), model),
        (None, Some(_), _) | (_, None, None) => return Ok(None),
    };
    let says_own = model.is_some() || system.is_some();
    if let Some(model) = model {
        definition.model = model;
    }
    if let Some(system) = system {
        definition.system.clone_from(system);
    }
    if says_own {
        definition.name = own_name(id);
    }
    Ok(Some(definition))
}

#[cfg(test)]
mod tests {
    use warren_model::{CapabilitySet, MemoryConfig, ProviderConfig};

    use super::*;

    fn id() -> WorkspaceId {
        WorkspaceId::from_bytes([7; 16])
    }

    fn spec(runtime: Runtime, agent: AgentSpec) -> WorkspaceSpec {
        let provider = ProviderConfig::Memory(MemoryConfig::default());
        WorkspaceSpec { runtime, agent, ..WorkspaceSpec::new(provider, CapabilitySet::EMPTY) }
    }

    fn named(name: Option<&str>, model: Option<&str>, system: Option<&str>) -> AgentSpec {
        AgentSpec {
            name: name.map(|name| name.parse().unwrap()),
            model: model.map(str::to_owned),
            prompts: system.map(|text| ("system".to_owned(), text.to_owned())).into_iter().collect(),
            ..AgentSpec::default()
        }
    }

    fn stored() -> AgentDefinition {
        let mut agent = AgentDefinition::new("helper".parse().unwrap(), "x/main".parse().unwrap());
        agent.system = "Help.".to_owned();
        agent
    }

    // A1, X15
    #[test]
    fn a_hosted_workspace_has_an_agent_if_it_names_one_or_a_model() {
        for (runtime, agent, expected) in [
            (Runtime::Hosted, named(Some("helper"), None, None), true),
            (Runtime::Hosted, named(None, Some("x/main"), None), true),
            (Runtime::Hosted, named(None, None, Some("Be kind.")), false),
            (Runtime::Resident, named(None, Some("x/main"), None), false),
        ] {
            assert_eq!(has_agent(&spec(runtime, agent.clone())), expected, "{runtime:?} {agent:?}");
        }
    }

    // F50: bad input
    #[test]
    fn a_model_that_is_none_and_an_agent_of_a_program_are_refused() {
        assert_eq!(check(&spec(Runtime::Hosted, named(None, Some("gpt"), None))), Err(AgentProblem::Model));
        let program = spec(Runtime::Resident, named(Some("helper"), None, None));
        assert_eq!(check(&program), Err(AgentProblem::NotHosted));
        assert_eq!(check(&spec(Runtime::Resident, named(None, Some("gpt"), None))), Ok(()));
        let sentence = AgentProblem::Model.to_string();
        assert!(sentence.contains("provider/name"), "{sentence}");
    }

    // F50: a template's model and prompts reach the agent.
    #[test]
    fn what_a_workspace_says_itself_stands_over_the_stored_agent() {
        let whole = |agent: &AgentSpec, stored| definition(id(), agent, stored).unwrap();
        let plain = whole(&named(Some("helper"), None, None), Some(stored())).unwrap();
        assert_eq!(plain, stored(), "the stored one as it is");
        let other = whole(&named(Some("helper"), Some("y/other"), None), Some(stored())).unwrap();
        assert_eq!((other.model.to_string().as_str(), other.system.as_str()), ("y/other", "Help."));
        assert!(is_reserved(&other.name), "it is not what the name stands for");
        let own = whole(&named(None, Some("y/other"), Some("Be kind.")), None).unwrap();
        assert_eq!((own.system.as_str(), &own.name), ("Be kind.", &own_name(id())));
        assert_eq!(whole(&named(Some("helper"), Some("y/other"), None), None), None, "it is gone");
        assert_eq!(whole(&named(None, None, Some("Be kind.")), None), None);
    }
}
