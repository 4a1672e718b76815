//! Which provider a workspace gets when nobody names one: the first that isolates and works on this host. One without
//! isolation is never chosen by itself.

use warren_model::ProviderKind;

/// Tried in this order.
pub const ORDER: [ProviderKind; 2] = [ProviderKind::Sandbox, ProviderKind::Docker];

/// A provider, and why no workspace of it can be opened on this host, where that is so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostProvider {
    pub kind: ProviderKind,
    pub unavailable: Option<String>,
}

/// The default among these, or a sentence that says why there is none and what to do.
pub fn choose(known: &[HostProvider]) -> Result<ProviderKind, String> {
    let find = |kind: ProviderKind| known.iter().find(|one| one.kind == kind);
    let works = |kind: &ProviderKind| find(*kind).is_some_and(|one| one.unavailable.is_none());
    if let Some(kind) = ORDER.into_iter().find(works) {
        return Ok(kind);
    }
    let why = ORDER.map(|kind| match find(kind).and_then(|one| one.unavailable.as_deref()) {
        Some(problem) => format!("{kind}: {problem}"),
        None => format!("{kind}: this server does not have it"),
    });
    Err(format!(
        "no provider was named, and none that isolates works on this host ({}). Mend one of them, or name the provider \
         `local`: it isolates nothing, and is for input that you trust",
        why.join("; ")
    ))
}

/// What somebody who names a provider without a box is told.
pub fn warning(kind: ProviderKind) -> Option<&'static str> {
    match kind {
        ProviderKind::Local => Some(
            "`local` is no box: what runs in this workspace runs as the user of the server, with all of their files and \
             the network; use it for input that you trust, and `sandbox` or `docker` for the rest",
        ),
        ProviderKind::Memory | ProviderKind::Sandbox | ProviderKind::Docker => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(kind: ProviderKind, unavailable: Option<&str>) -> HostProvider {
        HostProvider { kind, unavailable: unavailable.map(str::to_owned) }
    }

    // S11, W72
    #[test]
    fn a_sandbox_comes_first_then_a_container_and_nothing_unboxed_by_itself() {
        use ProviderKind::{Docker, Local, Memory, Sandbox};
        let open = [known(Memory, None), known(Local, None)];
        let with = |more: &[HostProvider]| choose(&[&open[..], more].concat());
        assert_eq!(with(&[known(Sandbox, None), known(Docker, None)]), Ok(Sandbox));
        assert_eq!(with(&[known(Sandbox, Some("no bubblewrap")), known(Docker, None)]), Ok(Docker));
        assert_eq!(with(&[known(Docker, None)]), Ok(Docker));

        let refused = with(&[known(Sandbox, Some("no bubblewrap")), known(Docker, Some("no daemon"))]);
        let told = refused.unwrap_err();
        assert!(told.contains("sandbox: no bubblewrap; docker: no daemon"), "{told}");
        assert!(told.contains("`local`: it isolates nothing"), "{told}");
        assert!(with(&[]).unwrap_err().contains("sandbox: this server does not have it"));
    }

    // S11, sec/T02
    #[test]
    fn only_a_provider_without_a_box_for_its_commands_has_a_warning() {
        for kind in ProviderKind::ALL {
            assert_eq!(warning(kind).is_some(), kind == ProviderKind::Local, "{kind}");
        }
    }
}
