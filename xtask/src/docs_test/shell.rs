//! Runs a page's steps in one bash, so that they share variables and the current folder, and gives each step's
//! output and exit code. The steps end at the first exit code that the page did not expect.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, Result};
use warren_doors::Environment;

use super::page::{Outcome, Step};
use super::server::{self, Server};

/// For all steps of a page together.
const PAGE_DEADLINE: Duration = Duration::from_secs(120);
/// What a shell says for a process that was ended from outside.
const KILLED: i32 = 137;

pub(crate) fn run(binary: &Path, folder: &Path, server: &Server, steps: &[Step]) -> Result<Vec<Outcome>> {
    let environment = [
        ("WARREN_URL", OsString::from(&server.url)),
        ("WARREN_TOKEN", OsString::from(&server.token)),
        ("PATH", search_path(binary, &Environment::of_process())?),
    ];
    run_steps(folder, &environment, steps, PAGE_DEADLINE)
}

/// The binary's folder first, so that `warren` in a page is the one under test.
fn search_path(binary: &Path, environment: &Environment) -> Result<OsString> {
    let own = binary.parent().map(Path::to_owned);
    let inherited =
        std::env::split_paths(environment.get("PATH").unwrap_or_default()).collect::<Vec<PathBuf>>();
    std::env::join_paths(own.into_iter().chain(inherited)).context("join the search path")
}

fn run_steps(
    folder: &Path,
    environment: &[(&str, OsString)],
    steps: &[Step],
    deadline: Duration,
) -> Result<Vec<Outcome>> {
    let results = folder.join("results");
    let home = folder.join("page");
    std::fs::create_dir(&results)
        .and_then(|()| std::fs::create_dir(&home))
        .context("make folders for the page")?;
    let script = folder.join("page.sh");
    std::fs::write(&script, whole_script(&results, steps)?).context("write the page's script")?;

    let bash = server::command(Path::new("bash"))
        .arg(&script)
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .current_dir(&home)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .context("start bash (Debian package `bash`)")?;
    wait_or_kill(bash, deadline);
    Ok(outcomes(&results, steps.len()))
}

/// Each step writes its output and its exit code to files of its own; `exec` keeps it in the shell that runs them all.
fn whole_script(results: &Path, steps: &[Step]) -> Result<String> {
    let folder = results.to_str().context("the temporary folder's name is UTF-8")?;
    let mut script = "set -u\n".to_owned();
    for (index, step) in steps.iter().enumerate() {
        writeln!(script, "exec >'{folder}/{index}.out' 2>&1")?;
        if step.exit_code == 0 {
            // The trap tells the code of whichever line of the step ends the shell.
            writeln!(
                script,
                "trap 'echo $? >\"{folder}/{index}.code\"' EXIT\nset -eo pipefail\n{}",
                step.script
            )?;
            writeln!(script, "set +e\necho 0 >'{folder}/{index}.code'")?;
        } else {
            writeln!(
                script,
                "trap - EXIT\nset +eo pipefail\n{}code=$?\necho $code >'{folder}/{index}.code'",
                step.script
            )?;
            writeln!(script, "[ $code = {} ] || exit", step.exit_code)?;
        }
    }
    script.push_str("trap - EXIT\n");
    Ok(script)
}

/// A page that hangs is ended with everything it started.
fn wait_or_kill(mut bash: Child, deadline: Duration) {
    let group = i32::try_from(bash.id()).ok().and_then(rustix::process::Pid::from_raw);
    let (sender, receiver) = mpsc::channel();
    let waiter = std::thread::spawn(move || {
        let _ = bash.wait();
        let _ = sender.send(());
    });
    let _ = receiver.recv_timeout(deadline);
    if let Some(group) = group {
        // Also after a good end: a page may have left something in the background.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = waiter.join();
}

/// The steps that were begun, in order.
fn outcomes(results: &Path, steps: usize) -> Vec<Outcome> {
    let outcome = |index: usize| {
        let bytes = std::fs::read(results.join(format!("{index}.out"))).ok()?;
        let code = std::fs::read_to_string(results.join(format!("{index}.code"))).ok();
        let exit_code = code.and_then(|code| code.trim().parse().ok()).unwrap_or(KILLED);
        Some(Outcome { exit_code, output: String::from_utf8_lossy(&bytes).into_owned() })
    };
    (0..steps).map_while(outcome).collect()
}

#[cfg(test)]
mod tests {
    use super::super::page;
    use super::*;

    fn run_page(text: &str, deadline: Duration) -> Vec<Outcome> {
        let folder = tempfile::tempdir().unwrap();
        run_steps(folder.path(), &[], &page::steps(text).unwrap(), deadline).unwrap()
    }

    fn shown(outcomes: &[Outcome]) -> Vec<(i32, &str)> {
        outcomes.iter().map(|outcome| (outcome.exit_code, outcome.output.trim())).collect()
    }

    #[test]
    fn steps_share_variables_and_the_current_folder() {
        let text =
            "```sh run\nid=7; mkdir a; cd a # -> …\n```\n```console\n$ echo $id; basename $PWD\n7\na\n```\n";
        assert_eq!(shown(&run_page(text, PAGE_DEADLINE)), [(0, ""), (0, "7\na")]);
    }

    #[test]
    fn the_first_failing_command_ends_the_page_with_its_code() {
        let text = "```sh run\necho a\n(exit 4)\necho b # -> b\necho c\n```\n";
        assert_eq!(shown(&run_page(text, PAGE_DEADLINE)), [(4, "a")]);
    }

    #[test]
    fn an_expected_exit_code_goes_on_and_another_does_not() {
        let text = "```console\n$ (exit 3)\n[exit 3]\n$ (exit 2)\n[exit 3]\n$ echo on\n```\n";
        assert_eq!(shown(&run_page(text, PAGE_DEADLINE)), [(3, ""), (2, "")]);
    }

    #[test]
    fn a_page_that_hangs_is_ended_with_its_children() {
        let text = "```sh run\necho before; sleep 1000 & sleep 1000\n```\n";
        assert_eq!(shown(&run_page(text, Duration::from_millis(300))), [(KILLED, "before")]);
    }

    #[test]
    fn the_binary_under_test_comes_first_on_the_path() {
        let environment: Environment = [("PATH", "/usr/bin:/bin")].into_iter().collect();
        let path = search_path(Path::new("/build/debug/warren"), &environment).unwrap();
        assert_eq!(path, "/build/debug:/usr/bin:/bin");
    }
}
