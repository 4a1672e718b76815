//! Who may write which template (F9, F50).
//!
//! A tier is judged when a workspace is made, by who makes it. A template that others may change would lend its writer the
//! rights of whoever uses it: an operator makes a workspace from `coder`, which was a sandbox when they looked last. So what
//! leads above `basic` is written by those who may give more than that themselves.

use std::collections::{BTreeMap, BTreeSet};

use warren_model::{Blueprint, TemplateName, Tier};

use crate::boxes::tier;

/// What a stored template has to do with tiers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateFacts {
    /// That it asks for or needs by itself.
    pub tier: Tier,
    pub references: BTreeSet<TemplateName>,
}

impl TemplateFacts {
    pub fn of(blueprint: &Blueprint) -> Self {
        Self { tier: own_tier(blueprint), references: blueprint.references() }
    }
}

pub type AllTemplates = BTreeMap<TemplateName, TemplateFacts>;

/// Why somebody who is no operator may not write a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteRefusal {
    /// What they want to store leads above `basic`.
    Raises { tier: Tier },
    /// What is stored under the name does.
    Protected { tier: Tier },
    /// A template that does begins from it, or makes workspaces from it.
    UsedBy { name: TemplateName, tier: Tier },
}

impl WriteRefusal {
    pub fn sentence(&self) -> String {
        let why = match self {
            Self::Raises { tier } => format!("what it makes is of the tier `{tier}`"),
            Self::Protected { tier } => format!("the stored one makes workspaces of the tier `{tier}`"),
            Self::UsedBy { name, tier } => format!("`{name}`, of the tier `{tier}`, is made from it"),
        };
        format!(
            "templates above the tier `basic` are written by operators only, and {why}; use another name and a sandbox \
             without mounts, or ask an operator"
        )
    }
}

/// The highest tier that it asks for or needs by itself, its children included.
fn own_tier(blueprint: &Blueprint) -> Tier {
    let asked = blueprint.tier.unwrap_or(Tier::Basic);
    let needed = blueprint.provider.as_ref().map_or(Tier::Basic, tier::needed);
    blueprint.children.iter().map(own_tier).fold(asked.max(needed), Tier::max)
}

/// The highest tier that one may come to: its own, and those of all that it leads to. What overrides a provider on the way
/// is not looked at: who writes a template above `basic` is an operator either way.
fn highest_tier(facts: &TemplateFacts, all: &AllTemplates) -> (Tier, BTreeSet<TemplateName>) {
    let (mut highest, mut seen) = (facts.tier, BTreeSet::new());
    let mut open: Vec<&TemplateName> = facts.references.iter().collect();
    while let Some(name) = open.pop() {
        if !seen.insert(name.clone()) {
            continue;
        }
        if let Some(next) = all.get(name) {
            highest = highest.max(next.tier);
            open.extend(&next.references);
        }
    }
    (highest, seen)
}

/// Whether somebody who is no operator may store this under the name, or, without one, remove what is there.
pub fn check_write(
    name: &TemplateName,
    written: Option<&Blueprint>,
    all: &AllTemplates,
) -> Result<(), WriteRefusal> {
    if let Some(written) = written {
        let (tier, _) = highest_tier(&TemplateFacts::of(written), all);
        if tier > Tier::Basic {
            return Err(WriteRefusal::Raises { tier });
        }
    }
    if let Some(stored) = all.get(name) {
        let (tier, _) = highest_tier(stored, all);
        if tier > Tier::Basic {
            return Err(WriteRefusal::Protected { tier });
        }
    }
    for (user, facts) in all {
        let (tier, reached) = highest_tier(facts, all);
        if tier > Tier::Basic && reached.contains(name) {
            return Err(WriteRefusal::UsedBy { name: user.clone(), tier });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn name(text: &str) -> TemplateName {
        text.parse().unwrap()
    }

    fn blueprint(document: Value) -> Blueprint {
        Blueprint::read(document).unwrap()
    }

    fn all(documents: &Value) -> AllTemplates {
        let documents = documents.as_object().unwrap();
        let facts = |one: &Value| TemplateFacts::of(&blueprint(one.clone()));
        documents.iter().map(|(key, one)| (name(key), facts(one))).collect()
    }

    // F9, F50: a template is no way around the tiers
    #[test]
    fn what_leads_above_basic_is_not_written_by_those_who_are_no_operators() {
        let local = json!({ "provider": { "kind": "local" } });
        let sandbox = json!({ "provider": { "kind": "sandbox" } });
        let mounted =
            json!({ "provider": { "kind": "sandbox", "mounts": [{ "source": "/srv", "target": "/srv" }] } });
        let stored = all(&json!({
            "operators": local, "plain": sandbox, "words": { "prompts": { "system": "be kind" } },
            "team": { "provider": { "kind": "local" }, "children": [{ "name": "a", "template": "words" }] },
            "later": { "tier": "privileged", "template": "not-yet-there" },
        }));
        let put = |key: &str, document: &Value| {
            check_write(&name(key), Some(&blueprint(document.clone())), &stored)
        };
        let raises = |tier| Err(WriteRefusal::Raises { tier });
        assert_eq!(put("new", &sandbox), Ok(()));
        assert_eq!(put("plain", &json!({ "template": "plain-2" })), Ok(()));
        assert_eq!(put("new", &local), raises(Tier::Privileged));
        assert_eq!(put("plain", &mounted), raises(Tier::Extended));
        assert_eq!(put("new", &json!({ "tier": "extended" })), raises(Tier::Extended));
        let below = json!({ "children": [{ "name": "a", "provider": { "kind": "local" } }] });
        assert_eq!(put("new", &below), raises(Tier::Privileged));
        assert_eq!(
            put("new", &json!({ "template": "operators" })),
            raises(Tier::Privileged),
            "nor begins from one"
        );
        let protected = Err(WriteRefusal::Protected { tier: Tier::Privileged });
        assert_eq!(put("operators", &sandbox), protected, "nor is one taken away by another");
        assert_eq!(check_write(&name("operators"), None, &stored), protected);
        for used in ["words", "not-yet-there"] {
            assert!(matches!(put(used, &sandbox), Err(WriteRefusal::UsedBy { .. })), "{used}");
        }
        assert!(matches!(check_write(&name("words"), None, &stored), Err(WriteRefusal::UsedBy { .. })));
        assert_eq!(check_write(&name("plain"), None, &stored), Ok(()));
    }

    // F50: a circle that was stored before such were refused ends the look
    #[test]
    fn templates_that_lead_back_to_themselves_are_looked_at_once() {
        let stored = all(&json!({ "a": { "template": "b" }, "b": { "template": "a", "tier": "extended" } }));
        let refused = check_write(&name("a"), None, &stored);
        assert_eq!(refused, Err(WriteRefusal::Protected { tier: Tier::Extended }));
    }
}
