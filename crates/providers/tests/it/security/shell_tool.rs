//! What the policy for commands lets through, or is led around, ends at the wall of the box: the policy is not the wall.

use warren_workspace::shell::Command;

use super::case::{Case, stdout};
use super::in_each_box;
use super::oracles::{Listeners, Outside};
use super::outside::{program, says};
use super::probe::{self, results};
use crate::fixture::Local;

in_each_box!(
    programs_by_another_name_are_held_like_any_other,
    variables_that_load_code_load_it_in_the_box,
    output_that_drives_a_terminal_is_kept_as_it_is,
);

// sec/T06
async fn programs_by_another_name_are_held_like_any_other(case: Case) {
    let boxed = case.open().await;
    let listeners = Listeners::on_all_addresses();
    let address = &listeners.addresses()[0];
    let outside = case.outside.folder.display();
    boxed.run("cp /probe renamed; cp /bin/busybox applets 2>/dev/null || cp $(command -v sh) applets").await;
    let loader = "$(ls /lib64/ld-linux* /lib/ld-linux* 2>/dev/null | head -n 1)";
    for way in [
        "/proc/self/root/probe",
        "./renamed",
        "/workspace/../probe",
        &format!("{loader} /probe"),
        "exec /probe",
    ] {
        let said = boxed.says(&format!("{way} connect {address}")).await;
        assert!(!said.contains(" ok"), "{way}: {said}");
        let said = boxed.says(&format!("{way} open {outside}/secret /proc/sys/kernel/core_pattern")).await;
        assert!(!said.contains(" ok"), "{way}: {said}");
    }
    // A program that is in no file at all has no more rights than one that is.
    let from_memory = results(&boxed.probe(&["execute-memory"]).await);
    let plain = results(&boxed.probe(&["identity"]).await);
    assert_eq!(from_memory, plain);
    boxed
        .run(&format!(
            "./applets sh -c 'echo x > {outside}/planted'; ./applets -c 'echo x > {outside}/planted'"
        ))
        .await;
    assert_eq!(listeners.arrivals(), 0);
    case.outside.assert_untouched();
}

// control: sec/T06
#[test]
fn outside_of_a_box_such_a_program_reaches_out() {
    let folder = tempfile::tempdir().unwrap();
    let outside = Outside::make(&folder.path().join("outside"));
    let listeners = Listeners::on_all_addresses();
    let renamed = folder.path().join("renamed");
    std::fs::copy(probe::path(), &renamed).unwrap();
    let secret = outside.folder.join("secret");
    assert!(says(program(&renamed).arg("connect").arg(&listeners.addresses()[0])).contains(" ok"));
    assert!(says(program(&renamed).arg("open").arg(secret)).contains(" ok"));
    assert_eq!(listeners.arrivals(), 1);
    assert!(results(&super::outside::probe_says(&["execute-memory"])).contains_key("CapBnd"));
}

const LOADERS: &str = "export PAGER='sh mark' GIT_PAGER='sh mark' EDITOR='sh mark' BASH_ENV=$PWD/mark ENV=$PWD/mark \
    LD_PRELOAD=$PWD/mark LD_LIBRARY_PATH=$PWD NODE_OPTIONS=\"--require $PWD/mark\" PYTHONSTARTUP=$PWD/mark PERL5OPT=-Mmark \
    GIT_SSH_COMMAND='sh mark' GIT_EXTERNAL_DIFF='sh mark' PROMPT_COMMAND='sh mark'; \
    sh -c true; bash -c true 2>/dev/null; sh -i </dev/null; git --paginate version 2>/dev/null; true";

// sec/T03
async fn variables_that_load_code_load_it_in_the_box(case: Case) {
    let boxed = case.open().await;
    let mark = case.outside.folder.join("mark");
    boxed.run(&format!("echo 'echo x >> {}; echo x >> /workspace/inside' > mark", mark.display())).await;
    boxed.run(LOADERS).await;
    assert!(!mark.exists());
    case.outside.assert_untouched();
    // Nor can a caller hand them in: the names are reserved.
    for name in ["LD_PRELOAD", "BASH_ENV", "NODE_OPTIONS", "PYTHONSTARTUP", "GIT_PAGER"] {
        let mut command = Command::argv(["true"]);
        command.env.insert(name.into(), "x".into());
        boxed.shell().run(command).await.expect_err(name);
    }
}

// control: sec/T03
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_box_variables_that_load_code_reach_out() {
    let folder = tempfile::tempdir().unwrap();
    let outside = Outside::make(&folder.path().join("outside"));
    let local = Local::open().await;
    let mark = outside.folder.join("mark");
    local.put("mark", format!("echo x >> {}\n", mark.display())).await;
    local.shell().run(Command::script(LOADERS)).await.unwrap();
    assert!(mark.exists());
}

/// Clipboard, link, title, a question to the terminal, and letters that go back.
const DRIVING: &str =
    "\u{1b}]52;c;aGk=\u{7}\u{1b}]8;;http://x\u{7}l\u{1b}]8;;\u{7}\u{1b}]0;t\u{7}\u{1b}P$qm\u{1b}\\a\rb\u{8}c";

// sec/T08: neutralised where it is shown (`cli::terminal_text`), never where it is kept.
async fn output_that_drives_a_terminal_is_kept_as_it_is(case: Case) {
    let boxed = case.open().await;
    let command = Command { stdin: DRIVING.into(), ..Command::argv(["cat"]) };
    let result = boxed.shell().run(command).await.unwrap();
    assert_eq!(result.stdout.bytes, DRIVING.as_bytes());
    // One line of ten megabytes is cut like any other output.
    let long = boxed.run("head -c 10485760 /dev/zero | tr '\\0' x").await;
    assert!(long.stdout.truncated && long.stdout.total_bytes == 10 << 20);
    assert!(stdout(&long).len() < 300 << 10);
}
