//! Who may talk to whom (X3): oneself, siblings, ancestors and descendants of the same org; those that nobody is above are
//! siblings too. A policy widens or narrows that. Both sides must agree: what one side's policy closes, the other's does not open.

use warren_model::{PeerCircle, PeerPolicy, WorkspaceId};

/// How one workspace stands to another of the same org.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kinship {
    Oneself,
    /// Sibling, ancestor or descendant.
    Family,
    /// The same org, nothing closer.
    Stranger,
}

/// One side of a talk.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    pub id: WorkspaceId,
    pub policy: Option<&'a PeerPolicy>,
}

/// The kinship of two workspaces, from their ways to the root (nearest ancestor first, without themselves).
pub fn kinship(
    one: WorkspaceId,
    above_one: &[WorkspaceId],
    other: WorkspaceId,
    above_other: &[WorkspaceId],
) -> Kinship {
    if one == other {
        return Kinship::Oneself;
    }
    let is_above = above_one.contains(&other) || above_other.contains(&one);
    // Two that stand side by side in an org, with nobody above them, are siblings as well.
    let are_siblings = above_one.first() == above_other.first();
    if is_above || are_siblings { Kinship::Family } else { Kinship::Stranger }
}

pub fn may_talk(one: Side<'_>, other: Side<'_>, kinship: Kinship) -> bool {
    kinship == Kinship::Oneself || (is_open(one, other.id, kinship) && is_open(other, one.id, kinship))
}

fn is_open(side: Side<'_>, other: WorkspaceId, kinship: Kinship) -> bool {
    let usual = PeerPolicy::default();
    let policy = side.policy.unwrap_or(&usual);
    if policy.deny.contains(&other) {
        return false;
    }
    policy.allow.contains(&other)
        || match policy.circle {
            PeerCircle::Nobody => false,
            PeerCircle::Family => kinship == Kinship::Family,
            PeerCircle::Org => true,
        }
}

/// Whether somebody is found by a search for names or roles; blank finds all (X3).
pub fn is_found(query: &str, name: &str, role: Option<&str>) -> bool {
    let query = query.trim().to_lowercase();
    query.is_empty()
        || [Some(name), role].into_iter().flatten().any(|text| text.to_lowercase().contains(&query))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(seed: u8) -> WorkspaceId {
        WorkspaceId::from_bytes([seed; 16])
    }

    fn talk(one: Option<&PeerPolicy>, other: Option<&PeerPolicy>, kinship: Kinship) -> bool {
        let (one, other) = (Side { id: id(1), policy: one }, Side { id: id(2), policy: other });
        let both_ways = (may_talk(one, other, kinship), may_talk(other, one, kinship));
        assert_eq!(both_ways.0, both_ways.1, "talking is mutual");
        both_ways.0
    }

    // X3
    #[test]
    fn family_is_siblings_ancestors_and_descendants() {
        let (root, team, one, two, alone) = (id(1), id(2), id(3), id(4), id(5));
        assert_eq!(kinship(one, &[team, root], one, &[team, root]), Kinship::Oneself);
        assert_eq!(kinship(one, &[team, root], two, &[team, root]), Kinship::Family);
        assert_eq!(kinship(one, &[team, root], root, &[]), Kinship::Family);
        assert_eq!(kinship(root, &[], one, &[team, root]), Kinship::Family);
        assert_eq!(kinship(one, &[team, root], alone, &[]), Kinship::Stranger);
        assert_eq!(kinship(root, &[], alone, &[]), Kinship::Family, "side by side, with nobody above them");
        assert_eq!(kinship(one, &[team, root], alone, &[root]), Kinship::Stranger, "an uncle is none");
    }

    // X3
    #[test]
    fn a_policy_widens_or_narrows_and_both_sides_must_agree() {
        let org = PeerPolicy { circle: PeerCircle::Org, ..PeerPolicy::default() };
        let nobody = PeerPolicy { circle: PeerCircle::Nobody, ..PeerPolicy::default() };
        let friend = PeerPolicy { allow: vec![id(2)], ..nobody.clone() };
        let foe = PeerPolicy { deny: vec![id(2)], ..org.clone() };
        assert!(talk(None, None, Kinship::Family));
        assert!(!talk(None, None, Kinship::Stranger));
        assert!(talk(Some(&org), Some(&org), Kinship::Stranger));
        assert!(!talk(Some(&org), None, Kinship::Stranger), "one side alone opens nothing");
        assert!(!talk(Some(&nobody), None, Kinship::Family));
        assert!(talk(Some(&friend), None, Kinship::Family));
        assert!(!talk(Some(&foe), Some(&org), Kinship::Family));
        assert!(talk(Some(&nobody), Some(&nobody), Kinship::Oneself));
    }

    // X3
    #[test]
    fn a_search_looks_at_names_and_roles_whatever_the_case() {
        assert!(is_found("  ", "Anna", None));
        assert!(is_found("ANN", "anna", None));
        assert!(is_found("review", "Anna", Some("Code Reviewer")));
        assert!(!is_found("bob", "Anna", Some("reviewer")));
    }
}
