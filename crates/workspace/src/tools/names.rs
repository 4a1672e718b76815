//! Names that belong to Warren (W63).

/// Prefixes of tools that Warren makes itself.
pub const RESERVED_PREFIXES: [&str; 4] = ["workspace_", "subagent__", "companion__", "skill_"];

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a tool's name may not begin with `{prefix}`, which is reserved: choose another name")]
pub struct ReservedName {
    pub prefix: &'static str,
}

/// Refuses a user's tool at its definition when its name takes a reserved prefix, in any case.
pub fn check_user_tool_name(name: &str) -> Result<(), ReservedName> {
    let taken = RESERVED_PREFIXES
        .into_iter()
        .find(|prefix| name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix)));
    taken.map_or(Ok(()), |prefix| Err(ReservedName { prefix }))
}

#[cfg(test)]
mod tests {
    use super::*;

    // W63
    #[test]
    fn reserved_prefixes_are_refused_and_their_neighbours_are_not() {
        for name in ["workspace_run", "workspace_", "subagent__x", "companion__x", "skill_a", "Workspace_x"] {
            assert!(check_user_tool_name(name).is_err(), "{name}");
        }
        for name in ["", "workspace", "my_workspace_run", "subagent_x", "companion", "skills", "wörkspace_x"]
        {
            assert_eq!(check_user_tool_name(name), Ok(()), "{name}");
        }
    }
}
