//! How much a workspace is given beyond its own box (F9): as little as its config needs, and more than nothing only by
//! operators.

use warren_model::{DockerConfig, Mount, ProviderConfig, SandboxConfig, Tier};

use super::config_change::differs_in_limits_only;

/// The least tier in which a config is allowed.
pub fn needed(provider: &ProviderConfig) -> Tier {
    match provider {
        ProviderConfig::Memory(_) => Tier::Basic,
        // No box at all: its commands are the host user's.
        ProviderConfig::Local(_) => Tier::Privileged,
        ProviderConfig::Sandbox(SandboxConfig { mounts, pass_env, .. }) => of_grants(mounts, pass_env),
        ProviderConfig::Docker(DockerConfig { relax, .. }) if !relax.is_empty() => Tier::Privileged,
        ProviderConfig::Docker(DockerConfig { mounts, pass_env, .. }) => of_grants(mounts, pass_env),
    }
}

fn of_grants(mounts: &[Mount], pass_env: &[String]) -> Tier {
    if mounts.is_empty() && pass_env.is_empty() { Tier::Basic } else { Tier::Extended }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TierRefusal {
    /// The config needs more than the tier that was named.
    TooLow { needed: Tier },
    /// Only operators give this tier.
    OperatorsOnly { tier: Tier },
}

impl TierRefusal {
    pub fn sentence(self) -> String {
        match self {
            Self::TooLow { needed } => format!("tier: this config needs the tier `{needed}`"),
            Self::OperatorsOnly { tier } => {
                format!(
                    "the tier `{tier}` is given by operators only; use a sandbox without mounts, or ask one"
                )
            }
        }
    }
}

/// The tier of a new workspace: as asked, or the least that its config needs, up to the highest that the caller may give.
pub fn decide(asked: Option<Tier>, provider: &ProviderConfig, highest: Tier) -> Result<Tier, TierRefusal> {
    let needed = needed(provider);
    let tier = asked.unwrap_or(needed);
    if tier < needed {
        return Err(TierRefusal::TooLow { needed });
    }
    if tier > highest {
        return Err(TierRefusal::OperatorsOnly { tier });
    }
    Ok(tier)
}

/// The tier of a workspace that is there, after a change of its config: as asked, or as it was. What only operators give
/// stays as they gave it: others change such a workspace's limits and nothing else of its config.
pub fn decide_change(
    known: (Tier, &ProviderConfig),
    asked: Option<Tier>,
    provider: &ProviderConfig,
    highest: Tier,
) -> Result<Tier, TierRefusal> {
    let (known_tier, known_provider) = known;
    let (tier, needed) = (asked.unwrap_or(known_tier), needed(provider));
    if tier < needed {
        return Err(TierRefusal::TooLow { needed });
    }
    let is_as_given = tier == known_tier && differs_in_limits_only(known_provider, provider);
    if tier > highest && !is_as_given {
        return Err(TierRefusal::OperatorsOnly { tier });
    }
    Ok(tier)
}

#[cfg(test)]
mod tests {
    use warren_model::{BoxLimits, DockerRelaxations, LocalConfig, MemoryConfig, MountMode, RunPolicy};

    use super::*;

    fn sandbox(mounts: Vec<Mount>) -> ProviderConfig {
        ProviderConfig::Sandbox(SandboxConfig { mounts, ..SandboxConfig::default() })
    }

    fn mount() -> Mount {
        Mount { source: "/srv".into(), target: "/srv".into(), mode: MountMode::Ro }
    }

    // F9
    #[test]
    fn a_workspace_is_given_as_little_as_its_config_needs() {
        let memory = ProviderConfig::Memory(MemoryConfig::default());
        let relax = DockerRelaxations { cap_add: vec!["CHOWN".into()], ..DockerRelaxations::default() };
        let relaxed =
            ProviderConfig::Docker(DockerConfig { relax: Box::new(relax), ..DockerConfig::default() });
        let passing = SandboxConfig { pass_env: vec!["LANG".into()], ..SandboxConfig::default() };
        for (config, tier) in [
            (memory, Tier::Basic),
            (sandbox(vec![]), Tier::Basic),
            (sandbox(vec![mount()]), Tier::Extended),
            (ProviderConfig::Sandbox(passing), Tier::Extended),
            (ProviderConfig::Docker(DockerConfig::default()), Tier::Basic),
            (relaxed, Tier::Privileged),
            (ProviderConfig::Local(LocalConfig::default()), Tier::Privileged),
        ] {
            assert_eq!(decide(None, &config, Tier::Privileged), Ok(tier), "{config:?}");
        }
    }

    // F9
    #[test]
    fn more_than_a_box_is_given_by_operators_only_and_never_less_than_needed() {
        assert_eq!(decide(None, &sandbox(vec![]), Tier::Basic), Ok(Tier::Basic));
        let refused = Err(TierRefusal::OperatorsOnly { tier: Tier::Extended });
        assert_eq!(decide(None, &sandbox(vec![mount()]), Tier::Basic), refused);
        assert_eq!(decide(None, &sandbox(vec![mount()]), Tier::Extended), Ok(Tier::Extended));
        let refused = Err(TierRefusal::OperatorsOnly { tier: Tier::Privileged });
        assert_eq!(decide(Some(Tier::Privileged), &sandbox(vec![]), Tier::Extended), refused);
        let refused = Err(TierRefusal::TooLow { needed: Tier::Extended });
        assert_eq!(decide(Some(Tier::Basic), &sandbox(vec![mount()]), Tier::Privileged), refused);
    }

    // F3, F9
    #[test]
    fn a_change_gives_no_more_than_its_author_could_give_and_takes_nothing_over_that_operators_gave() {
        let given = sandbox(vec![mount()]);
        let with_limits = |memory_mb| {
            let limits = BoxLimits { memory_mb, ..BoxLimits::default() };
            ProviderConfig::Sandbox(SandboxConfig {
                mounts: vec![mount()],
                limits,
                ..SandboxConfig::default()
            })
        };
        let known = (Tier::Extended, &given);
        let (basic, operator) = (Tier::Basic, Tier::Privileged);
        assert_eq!(decide_change(known, None, &with_limits(64), basic), Ok(Tier::Extended));
        let other = Mount { source: "/etc".into(), ..mount() };
        let refused = Err(TierRefusal::OperatorsOnly { tier: Tier::Extended });
        assert_eq!(decide_change(known, None, &sandbox(vec![other.clone()]), basic), refused);
        assert_eq!(decide_change(known, None, &sandbox(vec![other]), operator), Ok(Tier::Extended));
        // Anybody may take away what operators gave.
        assert_eq!(decide_change(known, Some(basic), &sandbox(vec![]), basic), Ok(basic));
        assert_eq!(
            decide_change(known, Some(basic), &given, operator),
            Err(TierRefusal::TooLow { needed: Tier::Extended })
        );
        // A tier never rises unasked.
        let plain = sandbox(vec![]);
        assert_eq!(
            decide_change((basic, &plain), None, &given, operator),
            Err(TierRefusal::TooLow { needed: Tier::Extended })
        );
        assert_eq!(
            decide_change((basic, &plain), Some(Tier::Extended), &given, operator),
            Ok(Tier::Extended)
        );
        // What programs run without a box is for operators to say.
        let local = |allow: &str| {
            let run = RunPolicy { allow: Some(vec![allow.into()]), ..RunPolicy::default() };
            ProviderConfig::Local(LocalConfig { run, ..LocalConfig::default() })
        };
        let refused = Err(TierRefusal::OperatorsOnly { tier: Tier::Privileged });
        assert_eq!(decide_change((Tier::Privileged, &local("ls")), None, &local("cat"), basic), refused);
    }
}
