//! No source file is longer than a reader can hold.

use crate::finding::Finding;
use crate::tree::Tree;

const MAX_LINES: usize = 800;
const SOURCE: &[&str] = &["rs", "ts", "tsx", "css", "js", "mjs", "sh", "py", "sql"];

/// Written by a program, read by a program.
const GENERATED: &[&str] = &["web/src/api/schema.d.ts", "web/src/api/schema.ts"];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.with_extension(SOURCE).filter(|(path, _)| !GENERATED.contains(path)).filter_map(too_long).collect()
}

fn too_long((path, text): (&str, &str)) -> Option<Finding> {
    let lines = text.lines().count();
    (lines > MAX_LINES).then(|| {
        let what = format!("{lines} lines, more than {MAX_LINES}");
        Finding::in_file(path, what, "split it where the subject changes; aim below 400")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_past_the_limit_is_found_unless_it_is_generated() {
        let long = "x\n".repeat(MAX_LINES + 1);
        let full = "x\n".repeat(MAX_LINES);
        let tree = Tree::of([
            ("crates/a/src/long.rs", &*long),
            ("crates/a/src/full.rs", &*full),
            ("web/src/api/schema.ts", &*long),
            ("docs/long.md", &*long),
        ]);
        let found = check(&tree);
        assert_eq!(found.len(), 1);
        assert!(found[0].to_string().contains("crates/a/src/long.rs: 801 lines"), "{}", found[0]);
    }
}
