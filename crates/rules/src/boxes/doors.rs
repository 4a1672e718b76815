//! The doors of a box: which there are, what its programs are told about them, and which model a request is for (A81).

use std::collections::BTreeMap;

use warren_model::session::ModelName;
use warren_model::{
    Capability, ModelGrant, NetworkGrant, NetworkPolicy, NetworkScheme, ProviderKind, WorkspaceSpec,
};

use crate::lifecycle::residents::is_run_by_warren;
use crate::outbound::network::{BadPolicy, GrantedNetwork, HostName};

/// Where programs of a box find the doors. The runner listens there; `warren_line::Door` has the same numbers.
pub const MODEL_URL: &str = "http://127.0.0.1:7701";
pub const TOOLS_URL: &str = "http://127.0.0.1:7702/mcp";
pub const WEB_URL: &str = "http://127.0.0.1:7703";

/// Programs refuse to start without a key. This one opens nothing.
const NO_KEY: &str = "warren";

/// Why a box cannot have doors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Breach {
    NoBox,
    NoShell,
    /// A grant of the network policy cannot be held.
    Network(BadPolicy),
}

impl Breach {
    pub fn sentence(&self) -> String {
        match self {
            Self::NoBox => "doors: only a box has doors: use the provider `sandbox` or `docker`".to_owned(),
            Self::NoShell => {
                "doors: the workspace lacks the capability `shell`, so that no program could use them"
                    .to_owned()
            }
            Self::Network(bad) => format!("doors.network.{bad}"),
        }
    }
}

/// Whether the doors that a spec names can be.
pub fn check(spec: &WorkspaceSpec) -> Result<(), Breach> {
    if spec.doors.is_empty() {
        return Ok(());
    }
    GrantedNetwork::compile(&spec.doors.network).map_err(Breach::Network)?;
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

/// Whether programs of the box reach anything of the web.
pub fn has_web(spec: &WorkspaceSpec) -> bool {
    is_boxed(spec) && !spec.doors.network.is_none()
}

/// Whether something has to carry the doors of a box in which no runner of a resident agent does.
pub fn need_carrier(spec: &WorkspaceSpec) -> bool {
    !is_run_by_warren(spec) && (has_models(spec) || has_tools(spec) || has_web(spec))
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
    if has_web(spec) {
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"] {
            set(name, WEB_URL.to_owned());
        }
        for name in ["NO_PROXY", "no_proxy"] {
            set(name, "127.0.0.1,localhost,::1".to_owned());
        }
        // Node's own `fetch` looks at these variables only if it is told to.
        set("NODE_USE_ENV_PROXY", "1".to_owned());
        let origins = secured_origins(&spec.doors.network);
        if !origins.is_empty() {
            set("GIT_CONFIG_COUNT", origins.len().to_string());
        }
        for (number, origin) in origins.iter().enumerate() {
            set(&format!("GIT_CONFIG_KEY_{number}"), format!("url.http://{origin}/.insteadOf"));
            set(&format!("GIT_CONFIG_VALUE_{number}"), format!("https://{origin}/"));
        }
    }
    variables
}

/// Hosts to which Warren itself makes the TLS connection, so that `git` asks for them in plain HTTP.
fn secured_origins(network: &NetworkPolicy) -> Vec<String> {
    let secured = network.allow.iter().filter_map(|grant| match grant {
        NetworkGrant::Host(grant) if grant.scheme == NetworkScheme::Secured => Some(grant),
        NetworkGrant::Host(_) | NetworkGrant::Set(_) => None,
    });
    let mut origins: Vec<String> = secured
        .filter_map(|grant| {
            let host = HostName::from_person(&grant.host).ok()?;
            Some(match grant.port {
                None | Some(443) => host.to_string(),
                Some(port) => format!("{host}:{port}"),
            })
        })
        .collect();
    origins.sort();
    origins.dedup();
    origins
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
        let doors = DoorSpec { models: grants(models), tools, ..DoorSpec::default() };
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
    fn programs_are_told_of_the_web_door_where_there_is_one() {
        let mut webbed = spec(&[], None);
        assert!(!has_web(&webbed));
        let grants = serde_json::json!({ "allow": [
            "pypi",
            { "host": "GitHub.com", "scheme": "secured", "paths": ["/org/"] },
            { "host": "git.example.com", "port": 8443, "scheme": "secured" },
            { "host": "*.example.org", "scheme": "secured" },
        ] });
        webbed.doors.network = serde_json::from_value(grants).unwrap();
        assert!(has_web(&webbed) && need_carrier(&webbed) && check(&webbed) == Ok(()));
        let told = variables(&webbed);
        assert_eq!((told["HTTPS_PROXY"].as_str(), told["http_proxy"].as_str()), (WEB_URL, WEB_URL));
        assert_eq!(told["GIT_CONFIG_COUNT"], "2");
        assert_eq!(told["GIT_CONFIG_KEY_1"], "url.http://github.com/.insteadOf");
        assert_eq!(told["GIT_CONFIG_VALUE_0"], "https://git.example.com:8443/");
        webbed.doors.network = serde_json::from_value(serde_json::json!({ "allow": ["127.0.0.1"] })).unwrap();
        assert!(check(&webbed).unwrap_err().sentence().starts_with("doors.network.allow[0].host: "));
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
