//! Tests of the shell scripts: that they parse, that runners' reports are counted rightly, that the test run goes on
//! after a failure and cleans up, and that the set-up names what is missing. They live here because every test is a
//! Rust test or a web test.

use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use crate::docs_test::command;

fn root() -> PathBuf {
    crate::tree::find_root(&std::env::current_dir().unwrap()).unwrap()
}

fn run(program: &Path, arguments: &[&str], environment: &[(&str, &Path)], input: &str) -> Output {
    let mut child = command(program)
        .args(arguments)
        .envs(environment.iter().copied())
        .current_dir(root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn count(kind: &str, layer: &str, exit_code: &str, report: &str) -> Vec<String> {
    let output = run(Path::new("scripts/count.sh"), &[kind, layer, exit_code], &[], report);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut lines: Vec<String> =
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn every_script_parses_and_may_be_run() {
    let tree = crate::tree::Tree::load(&root()).unwrap();
    let scripts: Vec<&str> = tree
        .texts()
        .map(|(path, _)| path)
        .filter(|path| path.ends_with(".sh") || *path == ".ci/run")
        .collect();
    assert!(scripts.contains(&"scripts/test.sh") && scripts.contains(&".ci/run"), "{scripts:?}");
    for script in scripts {
        let output = run(Path::new("bash"), &["-n", script], &[], "");
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
        let mode = root().join(script).metadata().unwrap().permissions().mode();
        assert!(mode & 0o111 == 0o111, "{script} may not be run");
    }
}

// Q1
#[test]
fn the_reports_of_all_runners_are_counted_by_layer() {
    let nextest = "
        PASS [   0.011s] ( 1/5) warren-model id::tests::ids_sort_by_time
        PASS [   0.011s] ( 2/5) warren-rules lifecycle::properties::removed_is_terminal
        SLOW [> 60.000s] ( 3/5) warren-store-sql::it contract::sqlite::leases
        PASS [  61.000s] ( 3/5) warren-store-sql::it contract::sqlite::leases
        FAIL [   0.011s] ( 4/5) warren-server::it files::a_file_is_read
     SIGABRT [   0.011s] ( 5/5) warren-cli::it up::prints_the_link
     Summary [  62.000s] 5 tests run: 3 passed, 2 failed, 0 skipped
        FAIL [   0.011s] ( 4/5) warren-server::it files::a_file_is_read
";
    let counted = count("nextest", "Rust tests", "100", nextest);
    assert_eq!(counted, ["0 1 HTTP", "0 1 end to end", "1 0 contract", "1 0 property", "1 0 unit"]);
    let libtest = "test result: ok. 3 passed; 0 failed; 0 ignored\ntest result: FAILED. 1 passed; 2 failed; 0 ignored\n";
    assert_eq!(count("libtest", "doc", "101", libtest), ["4 2 doc"]);
    let vitest = " Test Files  1 failed (1)\n      Tests  1 failed | 11 passed (12)\n";
    assert_eq!(count("vitest", "web unit", "1", vitest), ["11 1 web unit"]);
    assert_eq!(
        count("docs", "docs' commands", "0", "docs' commands: 12 passed, 0 failed\n"),
        ["12 0 docs' commands"]
    );
}

// Q1
#[test]
fn a_runner_that_breaks_down_or_finds_nothing_counts_as_failed() {
    for kind in ["nextest", "libtest", "vitest", "docs"] {
        assert_eq!(count(kind, "a layer", "101", "error: could not compile\n"), ["0 1 a layer"], "{kind}");
        assert_eq!(count(kind, "a layer", "0", ""), ["0 1 a layer"], "{kind}");
    }
    let unhandled = "      Tests  3 passed (3)\n     Errors  1 error\n";
    assert_eq!(count("vitest", "web unit", "1", unhandled), ["0 1 web unit", "3 0 web unit"]);
    assert_eq!(count("libtest", "doc", "0", ""), Vec::<String>::new());
}

// Q2
#[test]
fn the_set_up_names_the_package_of_every_part_that_is_missing() {
    let bare = tempfile::tempdir().unwrap();
    for program in ["bash", "env", "cargo", "cargo-clippy", "cargo-fmt"] {
        symlink("/bin/true", bare.path().join(program)).unwrap();
    }
    let output = run(Path::new("/bin/bash"), &["scripts/setup.sh", "--check"], &[("PATH", bare.path())], "");
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    for package in ["bubblewrap", "docker.io", "busybox-static", "chromium", "ripgrep", "nodejs", "npm"] {
        assert!(said.contains(&format!("setup: {package} is missing (")), "{package}: {said}");
    }
}

// S1
#[test]
fn the_page_cannot_be_built_without_node_and_the_script_says_so() {
    let bare = tempfile::tempdir().unwrap();
    symlink("/usr/bin/dirname", bare.path().join("dirname")).unwrap();
    let output = run(Path::new("/bin/bash"), &["scripts/web.sh", "build"], &[("PATH", bare.path())], "");
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("Node is missing") && said.contains("hint: install Node"), "{said}");
}

/// A folder with the real test script and stand-ins for everything it calls; `cargo` does what the test says.
fn rehearsal(cargo: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    for script in ["scripts/test.sh", "scripts/count.sh", ".ci/run", "Makefile"] {
        write(script, &std::fs::read_to_string(root().join(script)).unwrap());
    }
    write("scripts/setup.sh", "#!/bin/sh\n");
    for script in ["web", "conformance", "peers", "parity", "residents"] {
        write(&format!("scripts/{script}.sh"), "#!/bin/sh\n");
    }
    for service in ["postgres", "docker"] {
        let log = format!("#!/bin/sh\necho $1 >>\"$REHEARSAL/{service}.log\"\n");
        write(&format!("scripts/{service}.sh"), &log);
    }
    write("bin/cargo", &format!("#!/bin/sh\n{cargo}"));
    write("bin/cargo-nextest", "#!/bin/sh\n");
    write("bin/npm", "#!/bin/sh\necho '      Tests  2 passed (2)'\n");
    folder
}

/// `cargo` as it is when all is well.
const GOOD_CARGO: &str = "case \"$*\" in
  nextest*) echo '        PASS [   0.011s] (1/1) warren-model id::tests::ids_sort' ;;
  *docs-test*) echo \"docs' commands: 3 passed, 0 failed\" ;;
esac
";

fn rehearse(folder: &Path, script: &str) -> (Option<i32>, String) {
    let path = std::env::join_paths([folder.join("bin").as_path(), Path::new("/usr/bin"), Path::new("/bin")])
        .unwrap();
    let (cache, target) = (folder.join("cache"), folder.join("target"));
    let environment = [
        ("PATH", Path::new(&path)),
        ("REHEARSAL", folder),
        ("XDG_CACHE_HOME", &cache),
        ("CARGO_TARGET_DIR", &target),
    ];
    let output = run(&folder.join(script), &[], &environment, "");
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

// Q1
#[test]
fn a_good_run_ends_with_its_sums_and_stops_what_it_started() {
    let folder = rehearsal(GOOD_CARGO);
    let (code, said) = rehearse(folder.path(), "scripts/test.sh");
    // One unit test, twice two web tests, three commands of the documents, and the steps that say yes or no.
    assert!(said.ends_with("\n\n26 passed, 0 failed\n"), "{said}");
    assert_eq!(code, Some(0));
    for service in ["postgres", "docker"] {
        let log = std::fs::read_to_string(folder.path().join(format!("{service}.log"))).unwrap();
        assert_eq!(log, "start\nurl\nstop\n", "{service}");
    }
}

// Q1
#[test]
fn a_failing_step_does_not_hide_the_steps_after_it() {
    let folder = rehearsal(&format!("case $1 in clippy) exit 101 ;; esac\n{GOOD_CARGO}"));
    let (code, said) = rehearse(folder.path(), "scripts/test.sh");
    assert!(said.ends_with("\n\n25 passed, 1 failed\n"), "{said}");
    assert!(said.contains("  clippy\n") && said.contains("── docs' commands"), "{said}");
    assert_eq!(code, Some(1));
    let postgres = std::fs::read_to_string(folder.path().join("postgres.log")).unwrap();
    assert!(postgres.ends_with("stop\n"), "{postgres}");
}

// A5, Q5
#[test]
fn the_parity_suite_is_printed_as_a_matrix_and_a_hole_in_it_fails() {
    let line = |word: &str, store: &str, name: &str| {
        format!("        {word} [   0.5s] (1/9) warren-agent::it parity::{store}::{name}\n")
    };
    let print = |report: &str| {
        let output = run(&root().join("scripts/parity.sh"), &[], &[], report);
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    let both = [line("PASS", "sqlite", "a_message"), line("PASS", "postgres", "a_message")].concat();
    let (is_whole, said) = print(&both);
    assert!(is_whole && said.contains("1 scenarios on 2 stores, 0 not passed"), "{said}");
    // What needed a second try has passed.
    let (is_whole, said) = print(&format!(
        "{both}  TRY 1 FAIL [ 0.1s] x parity::sqlite::b\n  TRY 2 PASS [ 0.1s] x parity::sqlite::b\n  PASS [ 0.1s] x parity::postgres::b\n"
    ));
    assert!(is_whole && said.contains("2 scenarios"), "{said}");
    for bad in [line("PASS", "sqlite", "alone"), line("FAIL", "sqlite", "a_message"), String::new()] {
        let report = if bad.is_empty() { bad } else { format!("{both}{bad}") };
        let (is_whole, said) = print(&report);
        assert!(!is_whole, "{said}");
    }
}

// Q1
#[test]
fn the_continuous_run_says_the_verdict_last_also_when_it_is_bad() {
    let folder = rehearsal("exit 101\n");
    let (code, said) = rehearse(folder.path(), ".ci/run");
    let last = said.lines().next_back().unwrap();
    assert!(
        last.contains(" passed, ") && last.ends_with(" failed") && !last.ends_with(" 0 failed"),
        "{said}"
    );
    assert_eq!(code, Some(2));
    assert!(folder.path().join("cache/warren-ci/target").is_dir());
}

/// A folder with the real scripts of `make up` on a machine without bubblewrap; `sudo` notes what it is asked for.
fn bare_machine() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    for script in ["scripts/up.sh", "scripts/setup.sh"] {
        write(script, &std::fs::read_to_string(root().join(script)).unwrap());
    }
    write("scripts/web.sh", "#!/bin/sh\n");
    let metadata = r#"echo "{\"target_directory\":\"$REHEARSAL/target\"}""#;
    write("bin/cargo", &format!("#!/bin/sh\ncase $1 in metadata) {metadata} ;; esac\n"));
    write("target/local/warren", "#!/bin/sh\necho \"started: warren $*\"\n");
    write("bin/id", "#!/bin/sh\necho 1000\n");
    write("bin/apt-get", "#!/bin/sh\n");
    write("bin/apt-cache", "#!/bin/sh\necho '  Candidate: 0.11.0'\n");
    write("bin/sudo", "#!/bin/sh\necho \"$*\" >>\"$REHEARSAL/sudo.log\"\n[ ! -e \"$REHEARSAL/no-sudo\" ]\n");
    for program in ["bash", "env", "sh", "sed", "uname", "dirname", "tee", "rm", "script"] {
        symlink(Path::new("/usr/bin").join(program), folder.path().join("bin").join(program)).unwrap();
    }
    folder
}

/// What `make up` said on both outputs, and what `sudo` was asked for.
fn make_up(folder: &Path, program: &str, arguments: &[&str], input: &str) -> (String, String) {
    let bin = folder.join("bin");
    let output = run(&folder.join(program), arguments, &[("PATH", &bin), ("REHEARSAL", folder)], input);
    let said = [output.stdout, output.stderr].concat();
    let asked = std::fs::read_to_string(folder.join("sudo.log")).unwrap_or_default();
    (String::from_utf8(said).unwrap(), asked)
}

// Q2, S1
#[test]
fn make_up_installs_what_the_sandbox_needs_and_says_so() {
    let folder = bare_machine();
    let (said, asked) = make_up(folder.path(), "scripts/up.sh", &["--json"], "");
    let install = "apt-get install --yes --no-install-recommends bubblewrap";
    assert!(said.contains("bubblewrap is missing") && said.contains(install), "{said}");
    assert!(asked.contains(install) && !asked.contains("chromium"), "{asked}");
    assert!(said.contains("started: warren up --json"), "{said}");

    // A second time nothing is asked for.
    symlink("/bin/true", folder.path().join("bin/bwrap")).unwrap();
    std::fs::remove_file(folder.path().join("sudo.log")).unwrap();
    let (said, asked) = make_up(folder.path(), "scripts/up.sh", &[], "");
    assert!(!said.contains("bubblewrap") && asked.is_empty(), "{said}{asked}");
}

// Q2, S1
#[test]
fn make_up_asks_at_a_terminal_and_goes_on_without_what_cannot_be_installed() {
    let folder = bare_machine();
    let up = folder.path().join("scripts/up.sh");
    let typed = ["-qec", up.to_str().unwrap(), "/dev/null"];
    let (said, asked) = make_up(folder.path(), "bin/script", &typed, "n\n");
    assert!(said.contains("[Y/n]") && said.contains("nothing was installed"), "{said}");
    assert!(!asked.contains("apt-get"), "{asked}");
    assert!(said.contains("going on without it") && said.contains("started: warren up"), "{said}");

    std::fs::write(folder.path().join("no-sudo"), "").unwrap();
    let (said, _) = make_up(folder.path(), "scripts/up.sh", &[], "");
    assert!(said.contains("as root run: apt-get install"), "{said}");
    assert!(said.contains("going on without it") && said.contains("started: warren up"), "{said}");
}
