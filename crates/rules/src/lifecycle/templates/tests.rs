use proptest::prelude::*;
use warren_model::{MemoryConfig, ProviderConfig, parse_yaml};

use super::*;

fn blueprint(text: &str) -> Blueprint {
    Blueprint::read(parse_yaml(text).unwrap()).unwrap()
}

fn library(templates: &[(&str, &str)]) -> Library {
    let entry = |text: &str| {
        let blueprint = blueprint(text);
        Entry { hash: blueprint.hash(), blueprint }
    };
    templates.iter().map(|(name, text)| (name.parse().unwrap(), entry(text))).collect()
}

fn paths(nodes: &[Node]) -> Vec<&str> {
    nodes.iter().map(|node| node.path.as_str()).collect()
}

const BASE: (&str, &str) = (
    "base",
    "{provider: {kind: memory}, role: worker, prompts: {system: a, style: b}, required_env: [KEY], \
      provision_timeout_seconds: 900, skills: [one]}",
);

// F50
#[test]
fn a_blueprint_begins_from_its_template_and_what_it_says_itself_wins() {
    let library = library(&[BASE]);
    let asked = blueprint(
        "{template: base, name: mine, role: boss, prompts: {system: x}, required_env: [OTHER], skills: []}",
    );
    let nodes = plan(&asked, &library).unwrap();
    let [node] = &nodes[..] else { panic!("{nodes:?}") };
    assert_eq!(node.name.as_str(), "mine");
    assert_eq!(
        node.stamp.as_ref().unwrap().hash,
        library["base".parse::<TemplateName>().as_ref().unwrap()].hash
    );
    let whole = &node.blueprint;
    assert_eq!(whole.role.as_deref(), Some("boss"));
    assert_eq!((whole.prompts["system"].as_str(), whole.prompts["style"].as_str()), ("x", "b"));
    assert_eq!(whole.required_env, ["KEY", "OTHER"], "what a template needs cannot be taken back");
    assert_eq!(whole.skills, Some(vec![]));
    let unnamed = plan(&blueprint("{template: base}"), &library).unwrap();
    assert_eq!(unnamed[0].name.as_str(), "base");
}

// F5, F50
#[test]
fn where_two_templates_disagree_about_the_provision_timeout_the_larger_holds() {
    for (over, expected) in [("60", 900), ("1800", 1_800)] {
        let patient = format!("{{template: base, provision_timeout_seconds: {over}}}");
        let library = library(&[BASE, ("over", &patient)]);
        let nodes = plan(&blueprint("{template: over}"), &library).unwrap();
        assert_eq!(nodes[0].blueprint.provision_timeout_seconds, Some(expected));
    }
}

// F50
#[test]
fn a_tree_comes_parents_first_with_the_children_of_its_templates() {
    let library = library(&[BASE, ("team", "{template: base, children: [{template: base, name: critic}]}")]);
    let asked = blueprint(
        "{template: team, name: lead, children: [{name: extra, provider: {kind: memory}, children: [{template: team}]}]}",
    );
    let nodes = plan(&asked, &library).unwrap();
    let expected = ["lead", "lead/critic", "lead/extra", "lead/extra/team", "lead/extra/team/critic"];
    assert_eq!(paths(&nodes), expected);
    let parents: Vec<_> = nodes.iter().map(|node| node.parent).collect();
    assert_eq!(parents, [None, Some(0), Some(0), Some(2), Some(3)]);
}

// F50: bad input
#[test]
fn a_cycle_an_unknown_template_and_a_tree_without_end_are_refused() {
    let library = library(&[
        ("a", "{provider: {kind: memory}, children: [{template: b}]}"),
        (
            "b",
            "{provider: {kind: memory}, children: [{name: x, provider: {kind: memory}, children: [{template: a}]}]}",
        ),
        ("self", "{template: self}"),
        ("two0", "{provider: {kind: memory}}"),
    ]);
    let problem = |text: &str| plan(&blueprint(text), &library).unwrap_err();
    assert_eq!(problem("{template: a}").sentence(), "a → b → a");
    assert_eq!(problem("{template: self}").sentence(), "self → self");
    assert_eq!(problem("{template: none}"), Problem::UnknownTemplate("none".parse().unwrap()));
    assert_eq!(problem("{provider: {kind: memory}}"), Problem::NoName { path: "?".into() });
    let placeless = "{name: a, provider: {kind: memory}, children: [{name: b}]}";
    assert_eq!(problem(placeless), Problem::NoProvider { path: "a/b".into() });
    let a = "a".parse().unwrap();
    let way = find_cycle(&a, &library[&a].blueprint, &library).unwrap();
    assert_eq!(Problem::Cycle(way).sentence(), "a → b → a");
}

// F50: a few templates that stand for a crowd
#[test]
fn a_tree_that_doubles_with_every_level_is_cut_off_early() {
    let mut doubling: Vec<(String, String)> = vec![("t0".into(), "{provider: {kind: memory}}".into())];
    for level in 1..30 {
        let below = level - 1;
        let text = format!(
            "{{provider: {{kind: memory}}, children: [{{template: t{below}}}, {{template: t{below}}}]}}"
        );
        doubling.push((format!("t{level}"), text));
    }
    let templates: Vec<_> = doubling.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let library = library(&templates);
    assert_eq!(plan(&blueprint("{template: t29}"), &library), Err(Problem::TooMany));
    assert_eq!(plan(&blueprint("{template: t7}"), &library).unwrap().len(), 255);
    assert_eq!(find_cycle(&"x".parse().unwrap(), &blueprint("{template: t29}"), &library), None);
}

// F50
#[test]
fn everything_that_is_missing_is_told_at_once() {
    let known = BTreeSet::from(["A".to_owned()]);
    let (lead, critic) = (["A".to_owned(), "B".to_owned()], ["C".to_owned(), "B".to_owned(), "B".to_owned()]);
    let found = missing([("lead", &lead[..]), ("lead/critic", &critic[..])], &known);
    let told: Vec<_> = found.iter().map(|one| (one.path.as_str(), one.name.as_str())).collect();
    assert_eq!(told, [("lead", "B"), ("lead/critic", "B"), ("lead/critic", "C")]);
}

/// Any few templates that name each other at random, as bases and as children.
fn any_library() -> impl Strategy<Value = Library> {
    let names = || prop::option::of(0..6_usize);
    let template =
        (names(), prop::collection::vec(names(), 0..3), prop::collection::vec("[A-C]", 0..2), 0..9_u32);
    prop::collection::vec(template, 1..6).prop_map(|templates| {
        let name = |at: usize| format!("t{at}").parse::<TemplateName>().unwrap();
        let provider = || Some(ProviderConfig::Memory(MemoryConfig::default()));
        let blueprint =
            |(base, children, required_env, seconds): (Option<usize>, Vec<Option<usize>>, _, u32)| {
                let child = |base: Option<usize>| Blueprint {
                    name: Some("child".into()),
                    template: base.map(name),
                    provider: provider(),
                    ..Blueprint::default()
                };
                Blueprint {
                    template: base.map(name),
                    provider: provider(),
                    required_env,
                    provision_timeout_seconds: Some(seconds).filter(|seconds| *seconds > 0),
                    children: children.into_iter().map(child).collect(),
                    ..Blueprint::default()
                }
            };
        let entry = |blueprint: Blueprint| Entry { hash: blueprint.hash(), blueprint };
        templates.into_iter().enumerate().map(|(at, one)| (name(at), entry(blueprint(one)))).collect()
    })
}

proptest! {
    // F50, F5
    #[test]
    fn a_plan_always_ends_within_bounds_and_keeps_what_its_templates_need(library in any_library()) {
        for (name, entry) in &library {
            let asked = Blueprint { template: Some(name.clone()), ..Blueprint::default() };
            let cycle = find_cycle(name, &entry.blueprint, &library);
            match plan(&asked, &library) {
                Ok(nodes) => {
                    prop_assert_eq!(cycle, None, "a plan that ends has no way round");
                    prop_assert!(nodes.len() <= MAX_NODES);
                    for (at, node) in nodes.iter().enumerate() {
                        prop_assert!(node.parent.is_none_or(|parent| parent < at));
                        prop_assert_eq!(node.parent.is_none(), at == 0);
                    }
                    let root = &nodes[0].blueprint;
                    for required in &entry.blueprint.required_env {
                        prop_assert!(root.required_env.contains(required));
                    }
                    prop_assert!(root.provision_timeout_seconds >= entry.blueprint.provision_timeout_seconds);
                }
                Err(Problem::Cycle(way)) => {
                    prop_assert!(way.len() >= 2 && way.first() == way.last());
                    prop_assert!(cycle.is_some());
                }
                Err(Problem::UnknownTemplate(unknown)) => prop_assert!(!library.contains_key(&unknown)),
                Err(other) => prop_assert!(matches!(other, Problem::TooMany | Problem::TooDeep), "{other:?}"),
            }
        }
    }
}
