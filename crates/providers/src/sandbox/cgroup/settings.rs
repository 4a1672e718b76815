//! A box's limits as the kernel takes them: which files, and what goes into them.

use warren_model::{BoxLimits, MIB};

use super::hierarchy::{Controller, Version};

const PERIOD_US: u64 = 100_000;
/// Bubblewrap's own process outside the box, and process 1.
const OWN_PROCESSES: u64 = 2;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) file: &'static str,
    pub(super) value: String,
    /// Swap accounting and the like are not on every kernel. A limit whose own file is missing is none.
    pub(super) is_optional: bool,
}

const fn required(file: &'static str, value: String) -> Setting {
    Setting { file, value, is_optional: false }
}

const fn optional(file: &'static str, value: String) -> Setting {
    Setting { file, value, is_optional: true }
}

/// In the order in which they are to be written.
pub(super) fn of(version: Version, controller: Controller, limits: &BoxLimits) -> Vec<Setting> {
    let memory = (u64::from(limits.memory_mb) * MIB).to_string();
    let pids = (u64::from(limits.pids) + OWN_PROCESSES).to_string();
    // From 0.01 to 4096 processors, so that this is from 1,000 to 409,600,000.
    let quota = (limits.cpus * PERIOD_US as f64) as u64;
    match (version, controller) {
        (Version::One, Controller::Memory) => {
            // The group may have been limited for another box: memory cannot be raised past memory and swap together.
            let together = "memory.memsw.limit_in_bytes";
            vec![
                optional(together, "-1".into()),
                required("memory.limit_in_bytes", memory.clone()),
                optional(together, memory),
            ]
        }
        (Version::Two, Controller::Memory) => vec![
            required("memory.max", memory),
            optional("memory.swap.max", "0".into()),
            optional("memory.oom.group", "0".into()),
        ],
        (Version::One, Controller::Cpu) => vec![
            required("cpu.cfs_period_us", PERIOD_US.to_string()),
            required("cpu.cfs_quota_us", quota.to_string()),
        ],
        (Version::Two, Controller::Cpu) => vec![required("cpu.max", format!("{quota} {PERIOD_US}"))],
        (Version::One | Version::Two, Controller::Pids) => vec![required("pids.max", pids)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // W72
    #[test]
    fn limits_become_the_kernels_numbers() {
        let limits = BoxLimits { memory_mb: 100, cpus: 0.5, pids: 10, ..BoxLimits::default() };
        let of = |version, controller, index: usize| {
            let Setting { file, value, is_optional } = of(version, controller, &limits).swap_remove(index);
            assert!(!is_optional, "{file}");
            (file, value)
        };
        assert_eq!(of(Version::Two, Controller::Memory, 0), ("memory.max", "104857600".into()));
        assert_eq!(of(Version::Two, Controller::Cpu, 0), ("cpu.max", "50000 100000".into()));
        assert_eq!(of(Version::One, Controller::Cpu, 1), ("cpu.cfs_quota_us", "50000".into()));
        assert_eq!(of(Version::One, Controller::Pids, 0), ("pids.max", "12".into()));
    }
}
