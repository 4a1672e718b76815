//! How much a workspace may be given by whom (F9): within the ceilings of its tier by anybody who may make one, and beyond
//! them by operators.

use warren_model::{
    BoxLimits, Ceilings, DockerConfig, LocalConfig, MemoryConfig, ProviderConfig, SandboxConfig, Tier,
    TierCeilings,
};

/// A field of a provider's config that asks for more than its ceiling.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CeilingRefusal {
    pub field: &'static str,
    pub asked: f64,
    pub ceiling: u64,
    pub tier: Tier,
}

impl CeilingRefusal {
    pub fn sentence(&self) -> String {
        let Self { field, asked, ceiling, tier } = self;
        format!(
            "provider.{field}: {asked} is more than {ceiling}, the ceiling of the tier `{tier}`; ask for {ceiling} or less, \
             or ask an operator, who may give more"
        )
    }
}

/// Whether somebody may give a workspace of this tier what its config asks for.
pub fn check(
    provider: &ProviderConfig,
    tier: Tier,
    ceilings: &Ceilings,
    is_operator: bool,
) -> Result<(), CeilingRefusal> {
    if is_operator {
        return Ok(());
    }
    let over = asked(provider, ceilings.of(tier)).into_iter().find(|(_, asked, ceiling)| asked > ceiling);
    over.map_or(Ok(()), |over| Err(refusal_of(over, tier)))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a ceiling is a whole number")]
fn refusal_of((field, asked, ceiling): Asked, tier: Tier) -> CeilingRefusal {
    CeilingRefusal { field, asked, ceiling: ceiling as u64, tier }
}

/// The same for a change of a workspace that is there: what it has already is not held against who changes something else.
/// Another tier is judged as if the workspace were new.
pub fn check_change(
    known: (Tier, &ProviderConfig),
    tier: Tier,
    provider: &ProviderConfig,
    ceilings: &Ceilings,
    is_operator: bool,
) -> Result<(), CeilingRefusal> {
    let Err(refusal) = check(provider, tier, ceilings, is_operator) else { return Ok(()) };
    let (known_tier, known_provider) = known;
    if known_tier != tier {
        return Err(refusal);
    }
    let limits = ceilings.of(tier);
    let had: Vec<Asked> = asked(known_provider, limits);
    let more = asked(provider, limits).into_iter().find(|(field, asked, ceiling)| {
        let before = had.iter().find(|(name, ..)| name == field).map_or(0.0, |(_, before, _)| *before);
        asked > ceiling && *asked > before
    });
    more.map_or(Ok(()), |over| Err(refusal_of(over, tier)))
}

type Asked = (&'static str, f64, f64);

fn asked(provider: &ProviderConfig, ceilings: &TierCeilings) -> Vec<Asked> {
    let of_files = |max_file_mb: u32, max_grep_file_mb: u32| {
        [
            ("max_file_mb", f64::from(max_file_mb), f64::from(ceilings.max_file_mb)),
            ("max_grep_file_mb", f64::from(max_grep_file_mb), f64::from(ceilings.max_grep_file_mb)),
        ]
    };
    #[expect(clippy::cast_precision_loss, reason = "compared, not counted")]
    let of_commands = |max_timeout_ms: u64, max_output_bytes: u64| {
        [
            ("max_timeout_ms", max_timeout_ms as f64, ceilings.max_timeout_ms as f64),
            ("max_output_bytes", max_output_bytes as f64, ceilings.max_output_bytes as f64),
        ]
    };
    let of_box = |limits: &BoxLimits| {
        [
            ("limits.memory_mb", f64::from(limits.memory_mb), f64::from(ceilings.memory_mb)),
            ("limits.cpus", limits.cpus, f64::from(ceilings.cpus)),
            ("limits.pids", f64::from(limits.pids), f64::from(ceilings.pids)),
            ("limits.tmp_mb", f64::from(limits.tmp_mb), f64::from(ceilings.tmp_mb)),
            ("limits.disk_mb", f64::from(limits.disk_mb), f64::from(ceilings.disk_mb)),
        ]
    };
    let mut all = Vec::new();
    match provider {
        ProviderConfig::Memory(MemoryConfig { max_file_mb, max_grep_file_mb, .. }) => {
            all.extend(of_files(*max_file_mb, *max_grep_file_mb));
        }
        ProviderConfig::Local(LocalConfig {
            max_file_mb,
            max_grep_file_mb,
            max_timeout_ms,
            max_output_bytes,
            ..
        }) => {
            all.extend(of_files(*max_file_mb, *max_grep_file_mb));
            all.extend(of_commands(*max_timeout_ms, *max_output_bytes));
        }
        ProviderConfig::Sandbox(SandboxConfig {
            limits,
            max_file_mb,
            max_grep_file_mb,
            max_timeout_ms,
            max_output_bytes,
            ..
        })
        | ProviderConfig::Docker(DockerConfig {
            limits,
            max_file_mb,
            max_grep_file_mb,
            max_timeout_ms,
            max_output_bytes,
            ..
        }) => {
            all.extend(of_box(limits));
            all.extend(of_files(*max_file_mb, *max_grep_file_mb));
            all.extend(of_commands(*max_timeout_ms, *max_output_bytes));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn config(value: Value) -> ProviderConfig {
        serde_json::from_value(value).unwrap()
    }

    // F9
    #[test]
    fn every_limit_has_a_ceiling_that_operators_alone_exceed() {
        let ceilings = Ceilings::default();
        let fields = [
            ("limits.memory_mb", json!({ "limits": { "memory_mb": 1_000_000 } })),
            ("limits.cpus", json!({ "limits": { "cpus": 64 } })),
            ("limits.pids", json!({ "limits": { "pids": 1_000_000 } })),
            ("limits.tmp_mb", json!({ "limits": { "tmp_mb": 100_000 } })),
            ("limits.disk_mb", json!({ "limits": { "disk_mb": 1_000_000 } })),
            ("max_timeout_ms", json!({ "max_timeout_ms": 3_600_001 })),
            ("max_output_bytes", json!({ "max_output_bytes": 10_000_000 })),
            ("max_file_mb", json!({ "max_file_mb": 101 })),
            ("max_grep_file_mb", json!({ "max_grep_file_mb": 101 })),
        ];
        for kind in ["sandbox", "docker"] {
            for (field, mut asked) in fields.clone() {
                asked["kind"] = json!(kind);
                let asked = config(asked);
                let refused = check(&asked, Tier::Basic, &ceilings, false).unwrap_err();
                assert_eq!(refused.field, field);
                assert!(refused.sentence().contains(&refused.ceiling.to_string()), "{}", refused.sentence());
                assert_eq!(check(&asked, Tier::Basic, &ceilings, true), Ok(()), "an operator may");
            }
        }
    }

    // F9
    #[test]
    fn what_a_config_says_by_itself_is_below_the_ceilings_of_every_tier() {
        let ceilings = Ceilings::default();
        for kind in ["memory", "local", "sandbox", "docker"] {
            for tier in [Tier::Basic, Tier::Extended, Tier::Privileged] {
                assert_eq!(check(&config(json!({ "kind": kind })), tier, &ceilings, false), Ok(()), "{kind}");
            }
        }
    }

    // F9
    #[test]
    fn each_tier_has_its_own_and_what_is_asked_for_may_reach_it() {
        let mut ceilings = Ceilings::default();
        ceilings.basic.memory_mb = 600;
        let asked =
            |memory_mb: u32| config(json!({ "kind": "sandbox", "limits": { "memory_mb": memory_mb } }));
        assert_eq!(check(&asked(600), Tier::Basic, &ceilings, false), Ok(()));
        assert!(check(&asked(601), Tier::Basic, &ceilings, false).is_err());
        assert_eq!(check(&asked(601), Tier::Extended, &ceilings, false), Ok(()));
        let fraction = config(json!({ "kind": "sandbox", "limits": { "cpus": 4.01 } }));
        assert_eq!(check(&fraction, Tier::Basic, &ceilings, false).unwrap_err().field, "limits.cpus");
    }

    // F3, F9
    #[test]
    fn a_change_is_not_held_to_what_an_operator_gave_before_but_asks_for_no_more_of_it() {
        let mut ceilings = Ceilings::default();
        ceilings.basic.memory_mb = 600;
        let with = |memory_mb: u32, pids: u32| {
            config(json!({ "kind": "sandbox", "limits": { "memory_mb": memory_mb, "pids": pids } }))
        };
        let known = with(1_000, 64);
        let change = |tier, wanted: &ProviderConfig| {
            check_change((Tier::Basic, &known), tier, wanted, &ceilings, false).map_err(|over| over.field)
        };
        assert_eq!(change(Tier::Basic, &with(1_000, 32)), Ok(()));
        assert_eq!(change(Tier::Basic, &with(900, 64)), Ok(()), "less than it has");
        assert_eq!(change(Tier::Basic, &with(1_001, 64)), Err("limits.memory_mb"));
        assert_eq!(change(Tier::Basic, &with(1_000, 1_000_000)), Err("limits.pids"));
        ceilings.extended.memory_mb = 800;
        let other = check_change((Tier::Basic, &known), Tier::Extended, &known, &ceilings, false);
        assert_eq!(other.unwrap_err().ceiling, 800, "another tier is judged anew");
    }
}
