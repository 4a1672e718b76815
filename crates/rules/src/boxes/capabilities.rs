//! The capability invariant (W3): what is declared must be offered, and what is opened must be what was declared.

use std::fmt;

use warren_model::{CapabilitySet, ProviderKind};

/// A breach of the invariant. Always permanent: trying again changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Breach {
    /// Declared, but the provider never offers it.
    NotOffered { provider: ProviderKind, missing: CapabilitySet, offered: CapabilitySet },
    /// Declared and offered, but the opened workspace has no such module.
    NotOpened { provider: ProviderKind, missing: CapabilitySet },
    /// The opened workspace has a module that nobody declared.
    NotDeclared { provider: ProviderKind, surplus: CapabilitySet },
}

/// Before anything runs: is the declared set within what the provider offers?
pub fn check_offered(
    provider: ProviderKind,
    declared: CapabilitySet,
    offered: CapabilitySet,
) -> Result<(), Breach> {
    let missing = declared.without(offered);
    if missing.is_empty() { Ok(()) } else { Err(Breach::NotOffered { provider, missing, offered }) }
}

/// After an open: are the modules exactly those declared?
pub fn check_opened(
    provider: ProviderKind,
    declared: CapabilitySet,
    present: CapabilitySet,
) -> Result<(), Breach> {
    let missing = declared.without(present);
    let surplus = present.without(declared);
    if !missing.is_empty() {
        Err(Breach::NotOpened { provider, missing })
    } else if !surplus.is_empty() {
        Err(Breach::NotDeclared { provider, surplus })
    } else {
        Ok(())
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotOffered { provider, missing, offered } => write!(
                f,
                "provider `{provider}` does not offer {missing}; it offers {}",
                if offered.is_empty() { "nothing".to_owned() } else { offered.to_string() }
            ),
            Self::NotOpened { provider, missing } => {
                write!(f, "provider `{provider}` opened the workspace without {missing}, which was declared")
            }
            Self::NotDeclared { provider, surplus } => {
                write!(f, "provider `{provider}` opened the workspace with {surplus}, which nobody declared")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use warren_model::Capability;

    use super::*;

    fn sets() -> impl Strategy<Value = CapabilitySet> {
        proptest::collection::vec(proptest::sample::select(Capability::ALL.to_vec()), 0..5)
            .prop_map(|list| list.into_iter().collect())
    }

    // W3
    #[test]
    fn a_breach_names_the_capability_and_the_provider() {
        let fs = CapabilitySet::EMPTY.with(Capability::Fs);
        let shell = CapabilitySet::EMPTY.with(Capability::Shell);
        let not_offered = check_offered(ProviderKind::Memory, fs.with(Capability::Shell), fs).unwrap_err();
        assert_eq!(not_offered.to_string(), "provider `memory` does not offer shell; it offers fs");
        let not_opened = check_opened(ProviderKind::Local, shell, fs).unwrap_err();
        assert!(not_opened.to_string().contains("`local`") && not_opened.to_string().contains("shell"));
        let not_declared = check_opened(ProviderKind::Local, CapabilitySet::EMPTY, fs).unwrap_err();
        assert!(not_declared.to_string().contains("fs"));
    }

    proptest! {
        // W3
        #[test]
        fn what_passes_both_checks_is_exactly_what_was_declared(
            declared in sets(), offered in sets(), present in sets(),
        ) {
            let within = declared.iter().all(|one| offered.contains(one));
            prop_assert_eq!(check_offered(ProviderKind::Local, declared, offered).is_ok(), within);
            prop_assert_eq!(check_opened(ProviderKind::Local, declared, present).is_ok(), declared == present);
        }
    }
}
