//! Which images are to be pulled anew, and what is remembered of them (F52).
//!
//! A watcher looks at the digest behind each configured tag at every tick. Its memory is the digest whose boxes run:
//!
//! ```text
//!   nothing known  ──look──▶ seed: remember it, touch nothing
//!   known, same    ──look──▶ nothing
//!   known, other   ──look──▶ pull and recreate ──▶ worked: remember the new one
//!                                              └─▶ failed: the new one is forgotten, so the next tick tries again
//! ```
//!
//! Every image is judged by itself: that one cannot be looked at says nothing of the others.

use std::collections::BTreeMap;

/// The digest behind each tag, as it was when its boxes were last made.
pub type Memory = BTreeMap<String, String>;

/// What a look at one tag showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Look {
    Digest(String),
    /// The registry did not answer, or does not know it.
    Failed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// The first look: remember, and touch nothing.
    Seed { digest: String },
    /// The tag stands for something else now: pull it, and recreate the boxes made from it.
    Refresh { digest: String },
    /// Nothing changed.
    Rest,
    /// Look again at the next tick; what is known stays known.
    LookAgain,
}

/// What to do about each image that was looked at.
pub fn plan(memory: &Memory, looks: &BTreeMap<String, Look>) -> BTreeMap<String, Action> {
    looks.iter().map(|(image, look)| (image.clone(), decide(memory.get(image), look))).collect()
}

fn decide(known: Option<&String>, look: &Look) -> Action {
    match (known, look) {
        (_, Look::Failed) => Action::LookAgain,
        (None, Look::Digest(digest)) => Action::Seed { digest: digest.clone() },
        (Some(known), Look::Digest(digest)) if known == digest => Action::Rest,
        (Some(_), Look::Digest(digest)) => Action::Refresh { digest: digest.clone() },
    }
}

/// What to do about each image when somebody asks for it to be fresh now: what was looked at is compared with what runs,
/// whatever is remembered.
pub fn plan_asked(looks: &BTreeMap<String, Look>) -> BTreeMap<String, Action> {
    let decide = |look: &Look| match look {
        Look::Failed => Action::LookAgain,
        Look::Digest(digest) => Action::Refresh { digest: digest.clone() },
    };
    looks.iter().map(|(image, look)| (image.clone(), decide(look))).collect()
}

/// Whether a box is to be made anew: it was made from something else than its image stands for now. One that cannot be
/// asked is left alone.
pub fn is_outdated(made_from: Option<&str>, action: &Action) -> bool {
    match action {
        Action::Refresh { digest } => made_from.is_some_and(|made_from| made_from != digest),
        Action::Seed { .. } | Action::Rest | Action::LookAgain => false,
    }
}

/// What is remembered once the actions were tried: `failed` are the images whose refresh did not work. Images that are no
/// longer configured, and so were not looked at, are dropped.
pub fn remember(memory: &Memory, actions: &BTreeMap<String, Action>, failed: &[String]) -> Memory {
    let known = |image: &String| memory.get(image).cloned();
    let after = |(image, action): (&String, &Action)| {
        let digest = match action {
            Action::Seed { digest } => Some(digest.clone()),
            Action::Refresh { digest } if !failed.contains(image) => Some(digest.clone()),
            Action::Refresh { .. } | Action::Rest | Action::LookAgain => known(image),
        };
        Some((image.clone(), digest?))
    };
    actions.iter().filter_map(after).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn digest(text: &str) -> Look {
        Look::Digest(text.to_owned())
    }

    fn tick(memory: &Memory, looks: &[(&str, Look)], failed: &[&str]) -> (BTreeMap<String, Action>, Memory) {
        let looks = looks.iter().map(|(image, look)| ((*image).to_owned(), look.clone())).collect();
        let actions = plan(memory, &looks);
        let failed: Vec<_> = failed.iter().map(|image| (*image).to_owned()).collect();
        let after = remember(memory, &actions, &failed);
        (actions, after)
    }

    // F52
    #[test]
    fn only_what_was_made_from_something_else_is_made_anew() {
        let looks = [("a".to_owned(), digest("x")), ("b".to_owned(), Look::Failed)].into();
        let asked = plan_asked(&looks);
        for (image, made_from, expected) in
            [("a", Some("w"), true), ("a", Some("x"), false), ("a", None, false), ("b", Some("w"), false)]
        {
            assert_eq!(is_outdated(made_from, &asked[image]), expected, "{image} {made_from:?}");
        }
        let seeded = Action::Seed { digest: "x".into() };
        assert!(!is_outdated(Some("w"), &seeded), "the first look touches nothing");
    }

    // F52
    #[test]
    fn the_first_look_only_seeds_and_a_new_digest_refreshes_once() {
        let (actions, memory) = tick(&Memory::new(), &[("a:1", digest("x"))], &[]);
        assert_eq!(actions["a:1"], Action::Seed { digest: "x".into() });
        let (actions, memory) = tick(&memory, &[("a:1", digest("x"))], &[]);
        assert_eq!(actions["a:1"], Action::Rest);
        let (actions, memory) = tick(&memory, &[("a:1", digest("y"))], &[]);
        assert_eq!(actions["a:1"], Action::Refresh { digest: "y".into() });
        let (actions, _) = tick(&memory, &[("a:1", digest("y"))], &[]);
        assert_eq!(actions["a:1"], Action::Rest);
    }

    // F52
    #[test]
    fn a_failed_refresh_is_tried_again_at_the_next_tick_and_blocks_no_other() {
        let memory = Memory::from([("a:1".into(), "x".into()), ("b:1".into(), "x".into())]);
        let looks = [("a:1", digest("y")), ("b:1", digest("y")), ("c:1", Look::Failed)];
        let (actions, memory) = tick(&memory, &looks, &["a:1"]);
        assert_eq!(actions["b:1"], Action::Refresh { digest: "y".into() });
        assert_eq!(actions["c:1"], Action::LookAgain);
        let (actions, _) = tick(&memory, &looks, &[]);
        assert_eq!(actions["a:1"], Action::Refresh { digest: "y".into() });
        assert_eq!(actions["b:1"], Action::Rest);
    }

    fn any_look() -> impl Strategy<Value = Look> {
        prop_oneof![Just(Look::Failed), "[xyz]".prop_map(Look::Digest)]
    }

    proptest! {
        // F52
        #[test]
        fn each_image_is_judged_as_if_it_were_alone(
            memory in prop::collection::btree_map("[a-d]", "[xyz]", 0..4),
            looks in prop::collection::btree_map("[a-d]", any_look(), 0..4),
            failed in prop::collection::vec("[a-d]", 0..3),
        ) {
            let actions = plan(&memory, &looks);
            let after = remember(&memory, &actions, &failed);
            for (image, look) in &looks {
                let alone = plan(&memory, &BTreeMap::from([(image.clone(), look.clone())]));
                prop_assert_eq!(&alone[image], &actions[image]);
                let is_refresh = matches!(&actions[image], Action::Refresh { .. });
                prop_assert!(!is_refresh || memory.contains_key(image), "the first look never refreshes");
                let again = &plan(&after, &looks)[image];
                match look {
                    Look::Failed => prop_assert_eq!(after.get(image), memory.get(image)),
                    Look::Digest(_) if is_refresh && failed.contains(image) => {
                        prop_assert_eq!(again, &actions[image], "a failure is tried again");
                    }
                    Look::Digest(_) => prop_assert_eq!(again, &Action::Rest, "what worked is not done twice"),
                }
            }
        }
    }
}
