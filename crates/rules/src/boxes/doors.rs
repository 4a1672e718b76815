//! The doors of a box: which there are, what its programs are told about them, and which model a request is for (A81).

use std::collections::BTreeMap;

use warren_model::session::ModelName;
use warren_model::{Capability, ModelGrant, ProviderKind, WorkspaceSpec};

use crate::lifecycle::residents::is_run_by_warren;

/// Where programs of a box find the doors. The runner listens there; `warren_line::Door` has the same numbers.
pub const MODEL_URL: &str = "http://127.0.0.1:7701";
pub const TOOLS_URL: &str = "http://127.0.0.1:7702/mcp";

/// Programs refuse to start without a key. This one opens nothing.
const NO_KEY: &str = "warren";

/// Why a box cannot have doors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Breach {
    NoBox,
    NoShell,
}

impl Breach {
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::NoBox => "doors: only a box has doors: use the provider `sandbox` or `docker`",
            Self::NoShell => {
                "doors: the workspace lacks the capability `shell`, so that no program could use them"
            }
        }
    }
}

/// Whether the doors that a spec names can be.
pub fn check(spec: &WorkspaceSpec) -> Result<(), Breach> {
    if spec.doors.is_empty() {
        return Ok(());
    }
    if !is_boxed(spec) {
        return Err(Breach::NoBox);
    }
    if spec.capabilities.contains(Capability::Shell) { Ok(()) } else { Err(Breach::NoShell) }
}

fn is_boxed(spec: &WorkspaceSpec) -> bool {
    matches!(spec.provider.kind(), ProviderKind::Sandbox | ProviderKind::Docker)
}

/// Whether Warren's tools are offered to programs of the box.
pub fn has_tools(spec: &WorkspaceSpec) -> bool {
    is_boxed(spec) && spec.doors.tools.unwrap_or_else(|| is_run_by_warren(spec))
}

pub fn has_models(spec: &WorkspaceSpec) -> bool {
    is_boxed(spec) && !spec.doors.models.is_empty()
}

/// Whether something has to carry the doors of a box in which no runner of a resident agent does.
pub fn need_carrier(spec: &WorkspaceSpec) -> bool {
    !is_run_by_warren(spec) && (has_models(spec) || has_tools(spec))
}

/// What programs of the box find in their environment. A key that is none stands where programs insist on one.
pub fn variables(spec: &WorkspaceSpec) -> BTreeMap<String, String> {
    let mut variables = BTreeMap::new();
    let mut set = |name: &str, value: String| variables.insert(name.to_owned(), value);
    if has_models(spec) {
        set("ANTHROPIC_BASE_URL", MODEL_URL.to_owned());
        set("OPENAI_BASE_URL", format!("{MODEL_URL}/v1"));
        set("GOOGLE_GEMINI_BASE_URL", MODEL_URL.to_owned());
        for name in ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"] {
            set(name, NO_KEY.to_owned());
        }
    }
    if has_tools(spec) {
        set("WARREN_MCP_URL", TOOLS_URL.to_owned());
    }
    variables
}

/// The model that answers a request for `said`: the first grant that fits and whose provider speaks the wire that was asked
/// on. Nothing where none does.
pub fn choose_model(grants: &[ModelGrant], said: &str, speaks: impl Fn(&str) -> bool) -> Option<ModelName> {
    grants.iter().find_map(|grant| {
        let model = match &grant.answered_by {
            Some(model) => fits(&grant.pattern, said).then(|| model.clone())?,
            None => {
                let (provider, pattern) = grant.pattern.split_once('/')?;
                let of_provider = said.strip_prefix(provider).and_then(|rest| rest.strip_prefix('/'));
                let name = of_provider
                    .filter(|name| fits(pattern, name))
                    .or_else(|| fits(pattern, said).then_some(said))?;
                format!("{provider}/{name}").parse().ok()?
            }
        };
        speaks(&model.provider).then_some(model)
    })
}

/// Whether a name fits a pattern, in which `*` stands for anything, also for nothing.
fn fits(pattern: &str, name: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = name.strip_prefix(pieces.next().unwrap_or_default()) else { return false };
    let pieces: Vec<_> = pieces.collect();
    let Some((last, middle)) = pieces.split_last() else { return rest.is_empty() };
    for piece in middle {
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use warren_model::{
        AgentSpec, CapabilitySet, DoorSpec, MemoryConfig, ProviderConfig, Runtime, SandboxConfig,
    };

    use super::*;

    fn grants(texts: &[&str]) -> Vec<ModelGrant> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn spec(models: &[&str], tools: Option<bool>) -> WorkspaceSpec {
        let all: CapabilitySet = [Capability::Fs, Capability::Shell].into_iter().collect();
        let doors = DoorSpec { models: grants(models), tools };
        WorkspaceSpec { doors, ..WorkspaceSpec::new(ProviderConfig::Sandbox(SandboxConfig::default()), all) }
    }

    fn chosen(texts: &[&str], said: &str) -> Option<String> {
        choose_model(&grants(texts), said, |provider| provider != "mute").map(|model| model.to_string())
    }

    // A81
    #[test]
    fn the_first_grant_that_fits_names_the_model() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(chosen(&["anthropic/*"], "claude-x"), some("anthropic/claude-x"));
        assert_eq!(chosen(&["anthropic/*"], "anthropic/claude-x"), some("anthropic/claude-x"));
        assert_eq!(chosen(&["anthropic/claude-sonnet-*"], "claude-opus"), None);
        assert_eq!(chosen(&["mute/*", "openai/gpt-*"], "gpt-5"), some("openai/gpt-5"));
        assert_eq!(chosen(&["haiku=scripted/hello", "*=scripted/tour"], "haiku"), some("scripted/hello"));
        assert_eq!(chosen(&["haiku=scripted/hello", "*=scripted/tour"], "opus"), some("scripted/tour"));
        assert_eq!(chosen(&["router/*"], "openai/gpt-5"), some("router/openai/gpt-5"));
        assert_eq!(chosen(&["anthropic/*"], "with space"), None);
        assert_eq!(chosen(&[], "gpt-5"), None);
    }

    proptest! {
        // A81: what is granted is all that is reached
        #[test]
        fn a_name_that_was_not_granted_is_never_chosen(said in "[a-z/*=-]{0,12}") {
            let chosen = chosen(&["anthropic/claude-*", "openai/gpt-5"], &said);
            if let Some(name) = chosen {
                prop_assert!(name.starts_with("anthropic/claude-") || name == "openai/gpt-5", "{}", name);
            }
        }
    }

    // A81
    #[test]
    fn nothing_is_open_unless_it_is_named() {
        let plain = spec(&[], None);
        assert_eq!(variables(&plain), BTreeMap::new());
        assert!(!has_tools(&plain) && !has_models(&plain) && !need_carrier(&plain));
        let asking = spec(&["anthropic/*"], None);
        assert!(need_carrier(&asking) && has_models(&asking) && !has_tools(&asking));
        let told = variables(&asking);
        assert_eq!(told["ANTHROPIC_BASE_URL"], MODEL_URL);
        assert_eq!(told["ANTHROPIC_API_KEY"], "warren");
        assert!(!told.contains_key("WARREN_MCP_URL"));
        assert!(variables(&spec(&[], Some(true))).contains_key("WARREN_MCP_URL"));
    }

    // A81
    #[test]
    fn an_agent_that_warren_runs_has_tools_unless_its_spec_says_no() {
        let run = |tools| {
            let agent = AgentSpec { command: vec!["agent".into()], ..AgentSpec::default() };
            WorkspaceSpec { runtime: Runtime::Resident, agent, ..spec(&[], tools) }
        };
        assert!(has_tools(&run(None)) && !need_carrier(&run(None)), "its runner carries them");
        assert!(!has_tools(&run(Some(false))));
    }

    // A81
    #[test]
    fn only_a_box_with_a_shell_has_doors() {
        let all: CapabilitySet = [Capability::Fs, Capability::Shell].into_iter().collect();
        let memory = WorkspaceSpec::new(ProviderConfig::Memory(MemoryConfig::default()), all);
        assert_eq!(check(&memory), Ok(()));
        let doors = DoorSpec { tools: Some(true), ..DoorSpec::default() };
        assert_eq!(check(&WorkspaceSpec { doors: doors.clone(), ..memory }), Err(Breach::NoBox));
        let blunt =
            WorkspaceSpec { capabilities: [Capability::Fs].into_iter().collect(), doors, ..spec(&[], None) };
        assert_eq!(check(&blunt), Err(Breach::NoShell));
        assert_eq!(check(&spec(&["anthropic/*"], Some(true))), Ok(()));
    }
}
