//! No service is a struct that everybody extends: when one passes some 25 methods it is two services.
//!
//! Every `fn` counts that stands in an inherent `impl` block, in any file of the crate, unless it is built for tests
//! alone. Private ones count too: whoever reads the service reads them.

use std::collections::BTreeMap;

use crate::finding::Finding;
use crate::rust_source;
use crate::tree::Tree;

const MAX_METHODS: usize = 25;

/// The crates that hold services.
const CRATES: &[&str] = &["service", "fleet", "exchange", "operations", "agent"];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let large = types(tree).into_iter().filter(|(_, (_, methods))| methods.len() > MAX_METHODS);
    large.map(|((_, name), (path, methods))| too_many(name, path, &methods)).collect()
}

/// How many methods each type has that has some, the largest of each crate first.
pub(crate) fn table(tree: &Tree) -> String {
    let mut counts: Vec<(&str, usize, &str)> =
        types(tree).into_iter().map(|((krate, name), (_, methods))| (krate, methods.len(), name)).collect();
    counts.sort_by_key(|(krate, count, name)| (*krate, usize::MAX - count, *name));
    counts.into_iter().map(|(krate, count, name)| format!("{count:>4}  {krate}::{name}\n")).collect()
}

/// By crate and type: a file that it is in, and the names of its methods.
type Types<'a> = BTreeMap<(&'a str, &'a str), (&'a str, Vec<&'a str>)>;

fn types(tree: &Tree) -> Types<'_> {
    let mut types = Types::new();
    for one in tree.crates().filter(|one| CRATES.contains(&one.name)) {
        let folder = format!("{}/src/", one.folder);
        let sources = tree.with_extension(&["rs"]).filter(|(path, _)| path.starts_with(&folder));
        for (path, text) in sources.filter(|(path, _)| !is_test_file(path)) {
            for method in rust_source::methods(&rust_source::tokens(text)) {
                types.entry((one.name, method.of)).or_insert_with(|| (path, Vec::new())).1.push(method.name);
            }
        }
    }
    types
}

/// `#[cfg(test)] mod tests;` stands in another file than the one it builds.
fn is_test_file(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/")
}

fn too_many(name: &str, path: &str, methods: &[&str]) -> Finding {
    let what =
        format!("`{name}` has {} methods, more than {MAX_METHODS}: {}", methods.len(), methods.join(", "));
    Finding::in_file(
        path,
        what,
        "make one service of each subject, and plain functions of what needs no `self`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(name: &str, from: usize, to: usize) -> String {
        let methods: String = (from..to).map(|number| format!("fn m{number}(&self) {{}}\n")).collect();
        format!("impl {name} {{\n{methods}}}\n")
    }

    fn findings(krate: &str, first: &str, second: &str) -> Vec<String> {
        let manifest = format!("crates/{krate}/Cargo.toml");
        let files = [format!("crates/{krate}/src/lib.rs"), format!("crates/{krate}/src/more.rs")];
        let tests = format!("crates/{krate}/src/tests.rs");
        let of_tests = block("Fleet", 100, 200);
        let tree =
            Tree::of([(&*manifest, ""), (&*files[0], first), (&*files[1], second), (&*tests, &of_tests)]);
        check(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_service_of_twenty_five_methods_passes() {
        assert!(findings("fleet", &block("Fleet", 0, 13), &block("Fleet", 13, 25)).is_empty());
    }

    #[test]
    fn one_method_more_in_any_file_is_too_many_and_all_are_named() {
        let found = findings("fleet", &block("Fleet", 0, 13), &block("Fleet", 13, 26));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("`Fleet` has 26 methods, more than 25: m0, m1,"), "{found:?}");
        assert!(found[0].contains("m25"), "{found:?}");
    }

    #[test]
    fn two_services_are_counted_apart_and_other_crates_not_at_all() {
        assert!(findings("fleet", &block("Tokens", 0, 20), &block("Secrets", 0, 20)).is_empty());
        assert!(findings("model", &block("Fleet", 0, 20), &block("Fleet", 20, 40)).is_empty());
    }

    #[test]
    fn the_table_has_the_largest_of_each_crate_first() {
        let source = block("Tokens", 0, 2) + &block("Secrets", 0, 12);
        let tree = Tree::of([("crates/fleet/Cargo.toml", ""), ("crates/fleet/src/lib.rs", &source)]);
        assert_eq!(table(&tree), "  12  fleet::Secrets\n   2  fleet::Tokens\n");
    }
}
