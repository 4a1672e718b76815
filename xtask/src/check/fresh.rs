//! Files made from code say what the code says now.

use crate::finding::Finding;
use crate::generate::{self, Generated};
use crate::tree::Tree;

const REMEDY: &str = "run `cargo xtask generate` and commit the result";

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    generate::ALL.iter().filter_map(|generated| stale(tree, generated)).collect()
}

fn stale(tree: &Tree, generated: &Generated) -> Option<Finding> {
    let expected = match (generated.text)() {
        Ok(expected) => expected,
        Err(error) => {
            let what = format!("cannot be generated: {error:#}");
            return Some(Finding::in_file(
                generated.path,
                what,
                "repair its generator in xtask/src/generate.rs",
            ));
        }
    };
    let Some(present) = tree.text(generated.path) else {
        return Some(Finding::in_file(generated.path, "missing", REMEDY));
    };
    if present == expected {
        return None;
    }
    let line = 1 + present.lines().zip(expected.lines()).take_while(|(a, b)| a == b).count();
    Some(Finding::at(generated.path, line, "differs from what the code generates", REMEDY))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: Generated = Generated { path: "docs/page.md", text: || Ok("one\ntwo\n".to_owned()) };

    #[test]
    fn a_missing_or_stale_file_is_found_with_the_first_line_that_differs() {
        assert!(stale(&Tree::of([("docs/page.md", "one\ntwo\n")]), &PAGE).is_none());
        let missing = stale(&Tree::default(), &PAGE).unwrap().to_string();
        assert!(missing.contains("docs/page.md: missing"), "{missing}");
        let changed = stale(&Tree::of([("docs/page.md", "one\n2\n")]), &PAGE).unwrap().to_string();
        assert!(changed.contains("docs/page.md:2: differs"), "{changed}");
        let shorter = stale(&Tree::of([("docs/page.md", "one\n")]), &PAGE).unwrap().to_string();
        assert!(shorter.contains("docs/page.md:2: differs"), "{shorter}");
    }
}
