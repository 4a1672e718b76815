//! Which tests claim to show which id: a comment `// W20, W21` stands above the test. `cargo xtask features` lists
//! them as `docs/features.md` names them, so that the page is filled in by copying and not from memory.

use std::collections::BTreeMap;

use crate::check::specification;
use crate::tree::Tree;

/// Ids in the order of the specification, with the tests that name them.
pub(crate) fn by_id(tree: &Tree) -> Vec<(&'static str, Vec<String>)> {
    let mut tests: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (path, text) in tree.with_extension(&["rs", "ts", "tsx"]) {
        for claim in claims(text) {
            let name = full_name(tree, path, claim.test);
            for id in claim.ids {
                tests.entry(id).or_default().push(name.clone());
            }
        }
    }
    let ids = specification::FILES.iter().flat_map(|file| file.ids).copied();
    ids.filter_map(|id| Some((id, tests.remove(id)?))).collect()
}

/// A test and the ids above it.
#[derive(Debug, PartialEq, Eq)]
struct Claim<'a> {
    ids: Vec<&'a str>,
    test: &'a str,
}

fn claims(text: &str) -> Vec<Claim<'_>> {
    let mut claims = Vec::new();
    let mut ids: Vec<&str> = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(comment) = line.strip_prefix("// ") {
            ids.extend(ids_in(comment));
        } else if let Some(test) = test_name(line) {
            if !ids.is_empty() {
                claims.push(Claim { ids: std::mem::take(&mut ids), test });
            }
        } else if !line.starts_with("#[") {
            ids.clear();
        }
    }
    claims
}

/// The security cases have ids of their own (`sec/F10`), which only look like these.
fn ids_in(comment: &str) -> impl Iterator<Item = &str> {
    let words = comment.split([',', ' ', ':', ';', '.']).filter(|word| specification::is_id(word));
    words.filter(|_| !comment.contains("security") && !comment.contains("sec/"))
}

/// The name in `fn name(` or the title in `test("title", …`.
fn test_name(line: &str) -> Option<&str> {
    if let Some(rest) = line.strip_prefix("async fn ").or_else(|| line.strip_prefix("fn ")) {
        return rest.split(['(', '<']).next();
    }
    let call = line.strip_prefix("test").or_else(|| line.strip_prefix("it"))?;
    let title = call.strip_prefix('(')?;
    let quote = title.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'))?;
    title[1..].split(quote).next()
}

/// As docs/features.md names it.
fn full_name(tree: &Tree, path: &str, test: &str) -> String {
    let Some(krate) = tree.crates().find(|one| path.starts_with(&format!("{}/", one.folder))) else {
        return format!("web: {test}");
    };
    let inside = path[krate.folder.len() + 1..].trim_start_matches("src/").trim_start_matches("tests/");
    let modules =
        inside.trim_end_matches(".rs").split('/').filter(|part| !matches!(*part, "lib" | "main" | "mod"));
    [krate.name].into_iter().chain(modules).chain([test]).collect::<Vec<_>>().join("::")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_of_ids_belongs_to_the_test_beneath_it() {
        let text = "// W20, W21: no escape\n#[tokio::test]\nasync fn stays_inside() {}\n\n// W22\nlet x = 1;\nfn other() {}\n";
        assert_eq!(claims(text), [Claim { ids: vec!["W20", "W21"], test: "stays_inside" }]);
        assert_eq!(
            claims("// S44\n  test(\"reconnects\", async () => {"),
            [Claim { ids: vec!["S44"], test: "reconnects" }]
        );
    }

    #[test]
    fn a_security_case_is_not_an_id_of_the_specification() {
        assert_eq!(claims("// F10 (security)\nfn a() {}\n// sec/F11 and F12\nfn b() {}"), []);
    }

    #[test]
    fn tests_are_named_as_the_features_page_names_them() {
        let tree = Tree::of([
            ("crates/store-sql/Cargo.toml", ""),
            ("crates/store-sql/tests/it/files.rs", "// W20\n#[test]\nfn a() {}"),
            ("crates/store-sql/src/lib.rs", "// W20\n#[test]\nfn b() {}"),
            ("web/tests/map.test.tsx", "// S40\nit('draws', () => {})"),
        ]);
        let expected = vec![
            ("W20", vec!["store-sql::b".to_owned(), "store-sql::it::files::a".to_owned()]),
            ("S40", vec!["web: draws".to_owned()]),
        ];
        assert_eq!(by_id(&tree), expected);
    }
}
