//! Agents that Warren itself runs in their boxes: what they need, when they are started, and how often (F4, F18).

use warren_model::{AgentSpec, Capability, ProviderKind, RunnerSpec, Runtime, Status, WorkspaceSpec};

use warren_model::Backoff;

use crate::boxes::doors;

/// Waits before a runner that ended is started again.
pub const RESTARTS: Backoff = Backoff { first_ms: 500, factor: 2, max_ms: 60_000, jitter: 0.2 };
/// A runner that lived for so long had begun well: what went wrong before is forgotten.
const WELL_AFTER_MS: u64 = 60_000;

/// Why a program cannot be run in a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Breach {
    NotResident,
    NoBox,
    NoShell,
}

impl Breach {
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::NotResident => "command: only a `resident` runtime is a program in the box",
            Self::NoBox => "command: a program is run in a box: use the provider `sandbox` or `docker`",
            Self::NoShell => "command: the workspace lacks the capability `shell`",
        }
    }
}

/// Whether Warren starts the agent itself. A resident one without a command is started by somebody else, and registers.
pub fn is_run_by_warren(spec: &WorkspaceSpec) -> bool {
    spec.runtime == Runtime::Resident && !spec.agent.command.is_empty()
}

/// Whether the agent may say where it is called. One that Warren runs is reached through its runner alone: a card from its
/// box would have Warren call whatever address a program in there wrote into it.
pub fn may_have_card(spec: &WorkspaceSpec) -> bool {
    !is_run_by_warren(spec)
}

/// What the runner in the box is told about its program, as the words of its command line.
pub fn runner_options(agent: &AgentSpec) -> Vec<String> {
    let mut words = Vec::new();
    let mut say = |option: &str, value: String| words.extend([option.to_owned(), value]);
    for sign in &agent.wedge_signs {
        say("--wedge-sign", sign.clone());
    }
    let Some(runner) = &agent.runner else { return words };
    say("--adapter", runner.adapter.to_string());
    if let Some(mode) = &runner.mode {
        say("--mode", mode.clone());
    }
    if let Some(text) = agent.prompts.get(RunnerSpec::INITIAL_PROMPT) {
        say("--initial-prompt", text.clone());
    }
    for name in &runner.declares {
        say("--declares", name.clone());
    }
    if let Some(seconds) = runner.idle_timeout_seconds {
        say("--idle-timeout-seconds", seconds.to_string());
    }
    if let Some(seconds) = runner.start_timeout_seconds {
        say("--start-timeout-seconds", seconds.to_string());
    }
    if let Some(url) = &runner.a2a_url {
        say("--a2a-url", url.clone());
    }
    words
}

/// Whether what the spec says of its program can be.
pub fn check(spec: &WorkspaceSpec) -> Result<(), Breach> {
    if spec.agent.command.is_empty() {
        return Ok(());
    }
    if spec.runtime != Runtime::Resident {
        return Err(Breach::NotResident);
    }
    if !matches!(spec.provider.kind(), ProviderKind::Sandbox | ProviderKind::Docker) {
        return Err(Breach::NoBox);
    }
    if spec.capabilities.contains(Capability::Shell) { Ok(()) } else { Err(Breach::NoShell) }
}

/// Whether Warren keeps a program of its own in the box: the runner of its agent, or what carries its doors.
pub fn is_attended(spec: &WorkspaceSpec) -> bool {
    is_run_by_warren(spec) || doors::need_carrier(spec)
}

/// Whether such a program that is not there is started: somebody wants it run still, and its workspace stands for it.
pub fn is_started(spec: &WorkspaceSpec, status: Status) -> bool {
    is_attended(spec) && is_started_in(status)
}

/// Whether a runner that is not there is started. One whose workspace failed goes on if it runs, since a late sign of life
/// brings the workspace back (F6), but is not started again: that waits for a reset.
fn is_started_in(status: Status) -> bool {
    match status {
        Status::AwaitingAgent | Status::Online | Status::Degraded | Status::Offline => true,
        Status::Provisioning | Status::Failed | Status::Paused | Status::Hibernated | Status::Removed => {
            false
        }
    }
}

/// Failures in a row, now that one more runner ended, having lived for so long.
pub fn failures_after(failures: u32, lived_ms: u64) -> u32 {
    if lived_ms >= WELL_AFTER_MS { 1 } else { failures.saturating_add(1) }
}

/// The wait before the next start after so many failures in a row.
pub fn restart_wait_ms(failures: u32, fraction: f64) -> u64 {
    match failures {
        0 => 0,
        _ => RESTARTS.delay_ms(failures - 1, fraction),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use warren_model::{AgentSpec, CapabilitySet, DockerConfig, MemoryConfig, ProviderConfig, SandboxConfig};

    use super::*;

    fn spec(runtime: Runtime, provider: ProviderConfig, capabilities: &[Capability]) -> WorkspaceSpec {
        let capabilities: CapabilitySet = capabilities.iter().copied().collect();
        let agent = AgentSpec { command: vec!["agent".into()], ..AgentSpec::default() };
        WorkspaceSpec { runtime, agent, ..WorkspaceSpec::new(provider, capabilities) }
    }

    fn sandbox() -> ProviderConfig {
        ProviderConfig::Sandbox(SandboxConfig::default())
    }

    // F4
    #[test]
    fn a_program_needs_a_box_with_a_shell_and_a_resident_runtime() {
        let all = [Capability::Fs, Capability::Shell];
        assert_eq!(check(&spec(Runtime::Resident, sandbox(), &all)), Ok(()));
        assert_eq!(check(&spec(Runtime::Hosted, sandbox(), &all)), Err(Breach::NotResident));
        assert_eq!(check(&spec(Runtime::Resident, sandbox(), &all[..1])), Err(Breach::NoShell));
        let memory = ProviderConfig::Memory(MemoryConfig::default());
        assert_eq!(check(&spec(Runtime::Resident, memory.clone(), &all)), Err(Breach::NoBox));
        let docker: DockerConfig = serde_json::from_value(serde_json::json!({ "image": "debian" })).unwrap();
        assert_eq!(check(&spec(Runtime::Resident, ProviderConfig::Docker(docker), &all)), Ok(()));
        let silent = WorkspaceSpec { agent: AgentSpec::default(), ..spec(Runtime::Resident, memory, &all) };
        assert_eq!(check(&silent), Ok(()), "one that somebody else starts may be anywhere");
        assert!(!is_run_by_warren(&silent) && may_have_card(&silent));
        assert!(!may_have_card(&spec(Runtime::Resident, sandbox(), &all)));
    }

    proptest! {
        // F16, F18
        #[test]
        fn restarts_slow_down_up_to_a_minute_and_a_good_run_is_not_held_against_it(
            lives in proptest::collection::vec(0..120_000_u64, 1..40), fraction in 0.0..1.0_f64,
        ) {
            let mut failures = 0;
            for lived_ms in lives {
                let before = failures;
                failures = failures_after(failures, lived_ms);
                prop_assert_eq!(failures, if lived_ms >= WELL_AFTER_MS { 1 } else { before + 1 });
                let wait = restart_wait_ms(failures, fraction);
                prop_assert!((400..=72_000).contains(&wait), "{}", wait);
            }
        }
    }

    // F7, F8
    #[test]
    fn nothing_is_started_in_a_workspace_that_rests_or_failed() {
        for status in Status::ALL {
            let expected = matches!(status.as_str(), "awaiting_agent" | "online" | "degraded" | "offline");
            let all = [Capability::Fs, Capability::Shell];
            let spec = spec(Runtime::Resident, sandbox(), &all);
            assert_eq!(is_started(&spec, *status), expected, "{status}");
            let without = WorkspaceSpec { agent: AgentSpec::default(), ..spec };
            assert!(!is_started(&without, *status), "{status}: there is no program to run");
        }
    }
}
