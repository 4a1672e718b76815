//! Names that belong to Warren (W63).

/// Prefixes of tools that Warren makes itself.
const RESERVED_PREFIXES: [&str; 4] = ["workspace_", "subagent__", "companion__", "skill_"];

/// Whole names of such tools.
const RESERVED_NAMES: [&str; 3] = ["read_result", "update_state", "ask_user"];

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ReservedName {
    #[error("a tool's name may not begin with `{0}`, which is reserved: choose another name")]
    Prefix(&'static str),
    #[error("`{0}` is a tool of Warren's own: choose another name")]
    Name(&'static str),
}

/// Refuses a user's tool at its definition when its name is reserved or takes a reserved prefix, in any case.
pub(crate) fn check_user_tool_name(name: &str) -> Result<(), ReservedName> {
    let taken = RESERVED_PREFIXES
        .into_iter()
        .find(|prefix| name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix)));
    if let Some(prefix) = taken {
        return Err(ReservedName::Prefix(prefix));
    }
    let own = RESERVED_NAMES.into_iter().find(|own| own.eq_ignore_ascii_case(name));
    own.map_or(Ok(()), |own| Err(ReservedName::Name(own)))
}

#[cfg(test)]
mod tests {
    use super::*;

    // W63
    #[test]
    fn reserved_prefixes_are_refused_and_their_neighbours_are_not() {
        for name in [
            "workspace_run",
            "workspace_",
            "subagent__x",
            "companion__x",
            "skill_a",
            "Workspace_x",
            "Ask_User",
        ] {
            assert!(check_user_tool_name(name).is_err(), "{name}");
        }
        for name in ["", "workspace", "my_workspace_run", "subagent_x", "companion", "skills", "wörkspace_x"]
        {
            assert_eq!(check_user_tool_name(name), Ok(()), "{name}");
        }
    }
}
