//! What a box on this host can take from others all the same, for `describe()`: told, not promised.

/// `memory_by` is what enforces the limit on memory; `has_own_user` whether the box's user is nobody else's.
pub(crate) fn not_held(memory_by: &str, has_own_user: bool) -> Vec<&'static str> {
    let memory = "memory in files (memfd) is no process's, and counts nowhere: `limits.memory_mb` is a limit on the address space of \
                  each process";
    let watches = "inotify instances are those of Warren's user (fs.inotify.max_user_instances): a box can take all of them";
    let mut told = Vec::new();
    if memory_by.starts_with("rlimit") {
        told.push(memory);
    }
    if !has_own_user {
        told.push(watches);
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    // sec/S15, W72
    #[test]
    fn what_a_plain_user_s_box_shares_is_told_and_nothing_where_it_holds() {
        assert_eq!(not_held("cgroup v2", true), [""; 0]);
        let plain = not_held("rlimit, per process", false).join(" ");
        assert!(plain.contains("memfd") && plain.contains("inotify"), "{plain}");
        assert_eq!(not_held("cgroup v2", false).len(), 1, "with a group of its own memory is held");
    }
}
