//! Why a program was killed: of a box that goes over its memory limit the kernel ends a program, and says so to nobody in
//! the box.

use std::sync::Arc;

use warren_init::Exit;

/// How many programs of a box the kernel has ended for its memory limit so far; absent: it does not tell.
pub(crate) type CountKills = Arc<dyn Fn() -> Option<u64> + Send + Sync>;

/// A box's limit, and who knows whether it was met.
#[derive(Clone)]
pub(crate) struct MemoryLimit {
    pub(crate) mb: u32,
    pub(crate) count_kills: CountKills,
}

impl MemoryLimit {
    /// Of a box whose kernel cannot be asked.
    pub(crate) fn untold(mb: u32) -> Self {
        Self { mb, count_kills: Arc::new(|| None) }
    }

    /// From the start of a command to its end.
    pub(crate) fn watch(&self) -> MemoryWatch {
        MemoryWatch { before: (self.count_kills)(), limit: self.clone() }
    }
}

/// A command under way, and how many were ended before it.
pub(crate) struct MemoryWatch {
    before: Option<u64>,
    limit: MemoryLimit,
}

impl MemoryWatch {
    /// A line for the command's error output, where it or something that it started went over the limit.
    pub(crate) fn line(&self, exit: &Exit) -> Option<String> {
        if exit.timed_out || exit.exit_code == Some(0) {
            return None;
        }
        line(self.limit.mb, self.before, (self.limit.count_kills)(), exit)
    }
}

fn line(mb: u32, before: Option<u64>, after: Option<u64>, exit: &Exit) -> Option<String> {
    let remedy = "raise `limits.memory_mb` in the workspace's provider config";
    match (before, after) {
        (Some(before), Some(after)) if after > before => Some(format!(
            "warren: out of memory: a program went over the workspace's limit of {mb} MB and was killed; {remedy}\n"
        )),
        (Some(_), Some(_)) => None,
        // 137 is how a shell tells that its program was killed.
        _ if exit.signal == Some(9) || exit.exit_code == Some(137) => Some(format!(
            "warren: killed, probably out of memory: the workspace's limit is {mb} MB; {remedy}\n"
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // W31, W72
    #[test]
    fn a_kill_is_put_down_to_memory_only_where_the_kernel_says_so_or_nobody_knows() {
        let exit = |exit_code, signal| Exit { exit_code, signal, timed_out: false, duration_us: 0 };
        let killed = exit(None, Some(9));
        assert!(line(512, Some(1), Some(2), &killed).unwrap().contains("limit of 512 MB"));
        assert!(line(512, Some(1), Some(2), &exit(Some(1), None)).is_some(), "one that it had started");
        assert_eq!(line(512, Some(2), Some(2), &killed), None, "somebody killed it");
        assert!(line(64, None, None, &exit(Some(137), None)).unwrap().contains("probably"));
        assert_eq!(line(64, None, None, &exit(Some(1), None)), None);
        let watch = MemoryLimit::untold(64).watch();
        assert_eq!(watch.line(&Exit { timed_out: true, ..killed }), None, "its time was up");
    }
}
