//! No edge between crates is walked around: a crate may re-export a type of another one that stands in its own
//! signatures, but not a module of it, nor all of it, since whoever sees the first crate would then see the second.

use crate::finding::Finding;
use crate::rust_source::{self, Token};
use crate::tree::Tree;

/// Packages of ours, as code names them.
const PREFIX: &str = "warren_";

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let sources = tree.with_extension(&["rs"]).filter(|(path, _)| path.starts_with("crates/"));
    sources.flat_map(|(path, text)| check_source(tree, path, text)).collect()
}

fn check_source(tree: &Tree, path: &str, text: &str) -> Vec<Finding> {
    if !text.contains(PREFIX) {
        return Vec::new();
    }
    let tokens = rust_source::tokens(text);
    let starts =
        tokens.windows(2).enumerate().filter(|(_, pair)| pair[0].text == "pub" && pair[1].text == "use");
    let statements = starts.map(|(index, _)| &tokens[index + 2..]);
    let names = statements.flat_map(|rest| {
        let end = rest.iter().position(|token| token.text == ";").unwrap_or(rest.len());
        exported(&rest[..end])
    });
    names.filter_map(|name| walk_around(tree, path, &name)).collect()
}

/// What one `use` names: the path of each leaf, and its line.
#[derive(Debug, PartialEq, Eq)]
struct Exported<'a> {
    path: Vec<&'a str>,
    line: usize,
}

/// Takes `a::{b, c::{D, E as F}}` apart into its leaves.
fn exported<'a>(tokens: &[Token<'a>]) -> Vec<Exported<'a>> {
    let mut leaves = Vec::new();
    // Where each open `{` began, so that what stands before it is before all within.
    let (mut path, mut opened): (Vec<&str>, Vec<usize>) = (Vec::new(), Vec::new());
    let (mut is_alias, mut is_leaf, mut line) = (false, false, 0);
    for token in tokens {
        match token.text {
            "::" => {}
            "{" => {
                opened.push(path.len());
                is_leaf = false;
            }
            "," | "}" => {
                if is_leaf {
                    leaves.push(Exported { path: path.clone(), line });
                }
                path.truncate(opened.last().copied().unwrap_or_default());
                if token.text == "}" {
                    opened.pop();
                }
                (is_alias, is_leaf) = (false, false);
            }
            "as" => is_alias = true,
            _ if is_alias => {}
            name => {
                path.push(name);
                (is_leaf, line) = (true, token.line);
            }
        }
    }
    if is_leaf {
        leaves.push(Exported { path, line });
    }
    leaves
}

fn walk_around(tree: &Tree, file: &str, name: &Exported<'_>) -> Option<Finding> {
    let [package, inside @ ..] = name.path.as_slice() else { return None };
    let krate = package.strip_prefix(PREFIX)?.replace('_', "-");
    let inside: Vec<&str> = inside.iter().copied().filter(|part| *part != "self").collect();
    let kind = match inside.as_slice() {
        [] => "the whole crate",
        [.., "*"] => "all that is in",
        modules if is_module(tree, &krate, modules) => "the module",
        _ => return None,
    };
    let what = format!("re-exports {kind} `{}`", name.path.join("::"));
    let remedy = format!(
        "let whoever needs it use `{krate}` itself if the design allows that, or offer a type or function of your own"
    );
    Some(Finding::at(file, name.line, what, remedy))
}

/// A file of the crate, or a block in the file above it.
fn is_module(tree: &Tree, krate: &str, modules: &[&str]) -> bool {
    let place = format!("crates/{krate}/src/{}", modules.join("/"));
    if tree.has_file(&format!("{place}.rs")) || tree.has_file(&format!("{place}/mod.rs")) {
        return true;
    }
    let Some((last, above)) = modules.split_last() else { return false };
    let parent = format!("crates/{krate}/src/{}", above.join("/"));
    let parents = match above {
        [] => [format!("{parent}lib.rs"), format!("{parent}main.rs")],
        _ => [format!("{parent}.rs"), format!("{parent}/mod.rs")],
    };
    parents.iter().filter_map(|path| tree.text(path)).any(|text| {
        let tokens = rust_source::tokens(text);
        tokens
            .windows(3)
            .any(|three| three[0].text == "mod" && three[1].text == *last && three[2].text == "{")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(source: &str) -> Vec<String> {
        let tree = Tree::of([
            ("crates/fleet/src/lib.rs", source),
            ("crates/rules/src/lib.rs", "pub mod access;\npub mod text { }\n"),
            ("crates/rules/src/access/mod.rs", "pub mod rate;"),
            ("crates/rules/src/access/rate.rs", ""),
            ("crates/store-sql/src/lib.rs", ""),
        ]);
        check(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn types_and_functions_may_be_passed_on_and_modules_used() {
        for source in [
            "pub use warren_rules::access::rate::Pace;",
            "pub use warren_rules::access::{check, Role as Kind, rate::{Pace, wait}};",
            "use warren_rules::access;\npub(crate) use warren_rules::access::rate;",
            "pub use self::access::rate;\npub use axum::routing;",
            "// pub use warren_rules::access;",
        ] {
            assert_eq!(findings(source), Vec::<String>::new(), "{source}");
        }
    }

    #[test]
    fn a_module_of_another_crate_is_found_however_it_is_written() {
        for (source, expected) in [
            ("pub use warren_rules::access;", "the module `warren_rules::access`"),
            ("pub use warren_rules::access::rate as pace;", "the module `warren_rules::access::rate`"),
            ("pub use warren_rules::{access::{self, Role}};", "the module `warren_rules::access::self`"),
            ("pub use warren_rules::text;", "the module `warren_rules::text`"),
            ("pub use warren_rules::access::*;", "all that is in `warren_rules::access::*`"),
            ("pub use warren_store_sql as sql;", "the whole crate `warren_store_sql`"),
        ] {
            let found = findings(&format!("\n{source}\n"));
            assert_eq!(found.len(), 1, "{source}: {found:?}");
            assert!(found[0].contains(expected) && found[0].contains("lib.rs:2"), "{source}: {found:?}");
        }
    }
}
