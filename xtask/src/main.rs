//! The project's own checks and generators, run as `cargo xtask <command>`.
//!
//! ```text
//!   check       the house rules: edges between crates, file lengths, generated files, features, links, …
//!   generate    write the files that are made from code
//!   features    which tests name which id of the specification
//!   services    how many methods each service has
//!   security    how many tests and controls each security case has
//!   docs-test   run the commands shown in README.md and docs/ against a real server
//! ```
//!
//! A check is a plain function from a [`tree::Tree`] (the repository's text, in memory) to findings, so that each
//! has a unit test with a bad example that makes it fail.

#![expect(clippy::print_stdout, reason = "a command line program answers on its standard output")]

mod check;
mod docs_test;
mod evidence;
mod finding;
mod generate;
mod markdown;
mod rust_source;
#[cfg(test)]
mod scripts;
mod tree;

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use warren_doors::Environment;

const USAGE: &str =
    "usage: cargo xtask check | generate | features | services | security | docs-test [FILE.md …]";

fn main() -> Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let root = tree::find_root(&std::env::current_dir().context("find the current folder")?)?;
    match arguments.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        Some(("check", [])) => check(&root),
        Some(("generate", [])) => generate(&root),
        Some(("features", [])) => features(&root),
        Some(("services", [])) => services(&root),
        Some(("security", [])) => security(&root),
        Some(("docs-test", pages)) => docs_test::run(&root, &Environment::of_process(), pages),
        _ => bail!("{USAGE}"),
    }
}

fn check(root: &std::path::Path) -> Result<ExitCode> {
    let tree = tree::Tree::load(root)?;
    let mut failed = 0;
    for check in check::ALL {
        let findings = (check.run)(&tree);
        let verdict = if findings.is_empty() { "ok" } else { "FAILED" };
        println!("{verdict:>6}  {}", check.name);
        for finding in &findings {
            println!("{finding}");
        }
        failed += findings.len();
    }
    println!("{}", check::features::summary(&tree));
    println!("{}", check::security::summary(&tree));
    if failed == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    println!("cargo xtask check: {failed} findings");
    Ok(ExitCode::FAILURE)
}

fn generate(root: &std::path::Path) -> Result<ExitCode> {
    for generated in generate::ALL {
        let text = (generated.text)().with_context(|| format!("generate {}", generated.path))?;
        let path = root.join(generated.path);
        if std::fs::read_to_string(&path).is_ok_and(|old| old == text) {
            println!("unchanged  {}", generated.path);
            continue;
        }
        let folder = path.parent().context("a generated file lies in a folder")?;
        std::fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
        std::fs::write(&path, text).with_context(|| format!("write {}", generated.path))?;
        println!("written    {}", generated.path);
    }
    Ok(ExitCode::SUCCESS)
}

fn features(root: &std::path::Path) -> Result<ExitCode> {
    for (id, tests) in evidence::by_id(&tree::Tree::load(root)?) {
        let tests: String = tests.iter().map(|test| format!("- `{test}`\n")).collect();
        println!("### {id}\n\n{tests}");
    }
    Ok(ExitCode::SUCCESS)
}

fn services(root: &std::path::Path) -> Result<ExitCode> {
    print!("{}", check::services::table(&tree::Tree::load(root)?));
    Ok(ExitCode::SUCCESS)
}

fn security(root: &std::path::Path) -> Result<ExitCode> {
    let tree = tree::Tree::load(root)?;
    print!("{}", check::security::table(&tree));
    println!("{}", check::security::summary(&tree));
    Ok(ExitCode::SUCCESS)
}
