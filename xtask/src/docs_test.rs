//! Runs the commands that README.md and the pages in `docs/` show, so that a page cannot promise what does not work.
//!
//! ```text
//!   page ── parse ──▶ steps ── one bash, a fresh folder, a fresh `warren up` ──▶ outputs ── compare ──▶ verdict
//! ```
//!
//! A page's steps share one shell, so that a variable set in one block is there in the next; pages share nothing.
//! `WARREN_URL` and `WARREN_TOKEN` point to the page's own server and `warren` is on the PATH. The binary is
//! `$WARREN_BIN`, or the debug build in the target folder; building it is left to the caller.

pub(crate) mod page;
mod server;
mod shell;

#[cfg(test)]
pub(crate) use server::command;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use warren_doors::Environment;

use crate::tree::Tree;
use page::Step;

pub(crate) fn run(root: &Path, environment: &Environment, only: &[String]) -> Result<ExitCode> {
    let binary = binary(root, environment)?;
    let tree = Tree::load(root)?;
    let (mut passed, mut failed) = (0, 0);
    for (path, text) in tree.with_extension(&["md"]).filter(|(path, _)| page::is_page(path)) {
        let steps = page::steps(text).with_context(|| path.to_owned())?;
        if steps.is_empty() || !(only.is_empty() || only.iter().any(|name| name == path)) {
            continue;
        }
        let verdicts = run_page(&binary, &steps).with_context(|| format!("run {path}"))?;
        for (step, verdict) in steps.iter().zip(verdicts) {
            let place = format!("{path}:{} {}", step.line, step.first_line());
            match verdict {
                Ok(()) => passed += 1,
                Err(why) => {
                    failed += 1;
                    println!("FAILED  {place}\n{why}");
                    continue;
                }
            }
            println!("    ok  {place}");
        }
    }
    ensure!(
        passed + failed > 0,
        "no commands found: tag a block in README.md or docs/ with `sh run` or `console`"
    );
    println!("docs' commands: {passed} passed, {failed} failed");
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn binary(root: &Path, environment: &Environment) -> Result<PathBuf> {
    let given = environment.get("WARREN_BIN").map(PathBuf::from);
    let target = environment.get("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let binary = given.unwrap_or_else(|| root.join(target).join("debug/warren"));
    if !binary.is_file() {
        bail!("{} does not exist; build it with `cargo build --package warren-cli`", binary.display());
    }
    binary.canonicalize().context("find the binary")
}

/// One verdict per step; a step after a failed one has failed too, since it was not run.
fn run_page(binary: &Path, steps: &[Step]) -> Result<Vec<Result<(), String>>> {
    let folder = tempfile::tempdir().context("make a folder for the page")?;
    let server = server::Server::start(binary, folder.path())?;
    let outcomes = shell::run(binary, folder.path(), &server, steps)?;
    let verdicts = steps.iter().enumerate().map(|(index, step)| match outcomes.get(index) {
        Some(outcome) => step.judge(outcome),
        None => Err("        not run: a step before it failed".to_owned()),
    });
    Ok(verdicts.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binary_is_the_one_given_or_the_debug_build_and_must_exist() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let given: Environment = [("WARREN_BIN", root.join("mine").to_str().unwrap())].into_iter().collect();
        let error = binary(root, &given).unwrap_err().to_string();
        assert!(error.contains("does not exist; build it with"), "{error}");
        std::fs::write(root.join("mine"), "").unwrap();
        assert!(binary(root, &given).unwrap().ends_with("mine"));

        std::fs::create_dir_all(root.join("elsewhere/debug")).unwrap();
        std::fs::write(root.join("elsewhere/debug/warren"), "").unwrap();
        let target: Environment = [("CARGO_TARGET_DIR", "elsewhere")].into_iter().collect();
        assert!(binary(root, &target).unwrap().ends_with("elsewhere/debug/warren"));
    }

    #[test]
    fn a_repository_without_commands_fails() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("target/debug")).unwrap();
        std::fs::write(folder.path().join("target/debug/warren"), "").unwrap();
        std::fs::write(folder.path().join("README.md"), "# Warren\n```json\n{}\n```\n").unwrap();
        let error = run(folder.path(), &Environment::default(), &[]).unwrap_err().to_string();
        assert!(error.contains("no commands found"), "{error}");
    }

    /// A folder with a README and a `warren` that serves nobody but says that it is ready.
    fn repository(readme: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let binary = folder.path().join("target/debug/warren");
        std::fs::create_dir_all(binary.parent().unwrap()).unwrap();
        let program = "#!/bin/sh\n\
                       [ \"$1\" = up ] || exec echo \"warren $*\"\n\
                       echo '{\"url\": \"http://127.0.0.1:9\", \"token\": \"wrn_1\"}'\n\
                       exec sleep 1000\n";
        std::fs::write(&binary, program).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&binary, mode).unwrap();
        std::fs::write(folder.path().join("README.md"), readme).unwrap();
        folder
    }

    // S51
    #[test]
    fn the_commands_of_a_page_are_run_against_its_own_server() {
        let page = "```sh run\necho $WARREN_URL $WARREN_TOKEN # -> http://127.0.0.1:9 wrn_1\n```\n\
                    ```console\n$ warren version\nwarren version\n```\n";
        assert_eq!(run(repository(page).path(), &Environment::default(), &[]).unwrap(), ExitCode::SUCCESS);
    }

    // S51
    #[test]
    fn a_command_that_prints_something_else_or_fails_makes_the_run_fail() {
        for page in ["```console\n$ warren version\nwarren 7\n```\n", "```sh run\nfalse\ntrue # -> x\n```\n"]
        {
            assert_eq!(
                run(repository(page).path(), &Environment::default(), &[]).unwrap(),
                ExitCode::FAILURE,
                "{page}"
            );
        }
    }
}
