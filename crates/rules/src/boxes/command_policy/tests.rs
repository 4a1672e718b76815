use proptest::prelude::*;

use super::*;

fn policy(mode: CommandMode, allow: &[&str]) -> RunPolicy {
    RunPolicy { mode, allow: Some(words(allow)), ..RunPolicy::default() }
}

/// With programs that an operator has let go of.
fn unrestrained_policy(mode: CommandMode, allow: &[&str], unrestrained: &[&str]) -> RunPolicy {
    RunPolicy { allow_unrestrained: words(unrestrained), ..policy(mode, allow) }
}

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|word| (*word).to_owned()).collect()
}

fn refusal(decision: Decision) -> CommandRefusal {
    match decision {
        Decision::Refused(refusal) => refusal,
        Decision::Argv(_) | Decision::Script(_) => panic!("allowed: {decision:?}"),
    }
}

fn command(text: &str) -> Decision {
    decide(&unrestrained_policy(CommandMode::Command, &["ls"], &["git"]), false, Request::Command(text))
}

fn argv(allow: &[&str], list: &[&str]) -> Decision {
    decide(&policy(CommandMode::Argv, allow), false, Request::Argv(&words(list)))
}

// W61, sec/T01
#[test]
fn metacharacters_globs_braces_and_newlines_are_refused_in_command_mode() {
    let attacks = [
        "ls; id",
        "ls;id",
        "git status && id",
        "ls || id",
        "ls | sh",
        "ls & id",
        "ls\nid",
        "ls\rid",
        "ls $(id)",
        "ls `id`",
        "ls <(id)",
        "ls >(id)",
        "ls > out",
        "ls >> out",
        "ls < in",
        "ls <<EOF",
        "ls ${IFS}x",
        "ls $HOME",
        "ls {a,b}",
        "ls *",
        "ls ?",
        "ls [ab]",
        "ls ~",
        "ls ~root",
        "ls # x",
        "! ls",
        "ls \\; id",
        "(ls)",
        "ls \"$(id)\"",
        "ls '$(id)'",
        "ls \"a;b\"",
        "ls\u{2028}id",
        "ls\u{b}id",
        "ls\tid",
        "ls \u{1b}[2J",
    ];
    for attack in attacks {
        assert_eq!(refusal(command(attack)).kind, RefusalKind::Metacharacter, "{attack:?}");
    }
    // The control: the same programs without the attack are allowed.
    assert_eq!(command("ls -l src"), Decision::Argv(words(&["ls", "-l", "src"])));
    assert_eq!(command("git show HEAD~1"), Decision::Argv(words(&["git", "show", "HEAD~1"])));
}

// W61
#[test]
fn quotes_group_words_and_must_be_closed() {
    let grouped = command("git commit -m 'two words' \"it's\" ''");
    assert_eq!(grouped, Decision::Argv(words(&["git", "commit", "-m", "two words", "it's", ""])));
    for open in ["ls 'a", "ls \"a", "ls '\""] {
        assert_eq!(refusal(command(open)).kind, RefusalKind::Malformed, "{open}");
    }
}

/// What a list of `git`, `sort`, `sed` … was passed by, though its options were judged one by one.
const DETOURS: &[&[&str]] = &[
    &["find", ".", "-exec", "id", ";"],
    &["rg", "--pre=sh", "x"],
    &["git", "status"],
    &["git", "-c", "core.pager=id", "log"],
    &["git", "grep", "--op=touch X", "hello"],
    &["git", "ls-remote", "--u=touch X;", "."],
    &["git", "clone", "-u", "touch X;", "repo", "c2"],
    &["git", "clone", "-qu", "touch X;", "repo", "c2"],
    &["git", "push", "--e=touch X"],
    &["git", "remote-ext", "o", "touch X"],
    &["git", "--git-dir=evil", "log"],
    &["tar", "-cf", "x", "--checkpoint-action=exec=id"],
    &["tar", "xIf", "id", "x"],
    &["sort", "--co=PROG", "-S1k", "f"],
    &["sort", "--ou=X"],
    &["split", "--fi=touch X", "f"],
    &["awk", "BEGIN{system(\"touch X\")}", "--sandbox"],
    &["sed", "-e", "1e touch X", "--", "f", "--sandbox"],
    &["sed", "-e", "1e touch X", "-l", "--sandbox"],
    &["ssh", "-oProxyCommand=id", "x"],
    &["curl", "-K", "x"],
    &["zip", "-TT", "id", "x.zip", "x"],
    &["man", "-P", "id", "ls"],
    &["go", "test", "-exec", "id"],
    &["make", "test"],
    &["python3", "-c", "x"],
    &["python3.12", "-c", "x"],
    &["gcc-12", "-wrapper", "id"],
];

// W61, sec/T02
#[test]
fn programs_that_can_start_others_are_not_run_without_a_box_whatever_their_arguments() {
    for attack in DETOURS {
        let program = attack[0];
        for mode in [CommandMode::Argv, CommandMode::Command] {
            let listed = policy(mode, &["ls", program]);
            let refused = refusal(decide(&listed, false, Request::Argv(&words(attack))));
            assert_eq!(refused.kind, RefusalKind::Launcher, "{attack:?}");
            assert!(refused.sentence.contains("run.allow_unrestrained"), "{}", refused.sentence);
            assert!(refused.allowed.ends_with("with one of these programs: ls"), "{}", refused.allowed);
            let problem = check_new(&listed, false).unwrap_err();
            assert!(
                problem.starts_with("run.allow[1]: ") && problem.contains("run.allow_unrestrained"),
                "{problem}"
            );
        }
        // The controls: in a box, where the box holds it; and where an operator has said so.
        let boxed = policy(CommandMode::Argv, &[program]);
        assert_eq!(
            decide(&boxed, true, Request::Argv(&words(attack))),
            Decision::Argv(words(attack)),
            "{attack:?}"
        );
        assert_eq!(check_new(&boxed, true), Ok(()));
        let named = unrestrained_policy(CommandMode::Argv, &["ls"], &[program]);
        assert_eq!(decide(&named, false, Request::Argv(&words(attack))), Decision::Argv(words(attack)));
        assert_eq!(check_new(&named, false), Ok(()));
    }
    // What starts nothing is run as it is listed.
    for fine in [&["ls", "-l"][..], &["cat", "a"], &["grep", "-r", "x"], &["wc", "-l"], &["jq", "."]] {
        assert_eq!(argv(&[fine[0]], fine), Decision::Argv(words(fine)), "{fine:?}");
        assert_eq!(check_new(&policy(CommandMode::Argv, &[fine[0]]), false), Ok(()));
    }
    // A policy that was written before is still read.
    assert_eq!(check(&policy(CommandMode::Argv, &["git"]), false), Ok(()));
}

// W61, sec/T02
#[test]
fn programs_that_start_other_programs_are_refused_even_when_listed() {
    for launcher in ["xargs", "env", "timeout", "sudo", "busybox", "nohup"] {
        assert_eq!(refusal(argv(&[launcher], &[launcher, "id"])).kind, RefusalKind::Launcher);
        let listed = check(&policy(CommandMode::Argv, &["ls", launcher]), false);
        assert!(listed.unwrap_err().starts_with("run.allow[1]: "), "{launcher}");
    }
}

// sec/T02
#[test]
fn whoever_lists_a_program_that_can_start_others_is_told_what_that_means() {
    let listed = unrestrained_policy(CommandMode::Argv, &["ls", "make"], &["python3", "make"]);
    assert_eq!(unrestrained(&listed), ["make", "python3"]);
    let told = warning(&listed, false).unwrap();
    assert!(told.contains("`make`, `python3`") && told.contains("no box"), "{told}");
    assert!(warning(&listed, true).unwrap().contains("the box is what holds them"));
    assert_eq!(warning(&policy(CommandMode::Argv, &["ls", "cat"]), false), None);
    for bad in ["./git", "a b", ""] {
        let problem = check(&unrestrained_policy(CommandMode::Argv, &[], &["sh", bad]), false).unwrap_err();
        assert!(problem.starts_with("run.allow_unrestrained[1]: "), "{problem}");
    }
}

// W61
#[test]
fn programs_are_run_by_the_second_list_alone_and_by_their_bare_names() {
    let only = RunPolicy { allow_unrestrained: words(&["sh"]), ..RunPolicy::default() };
    let run = |list: &[&str]| decide(&only, false, Request::Argv(&words(list)));
    assert_eq!(run(&["sh", "-c", "x"]), Decision::Argv(words(&["sh", "-c", "x"])));
    for other in ["ls", "/bin/sh", "./sh", "SH"] {
        assert!(matches!(run(&[other]), Decision::Refused(_)), "{other}");
    }
    assert!(refusal(run(&["ls"])).allowed.ends_with("one of these programs: sh"));
}

// sec/T03
#[test]
fn variables_that_change_what_programs_do_are_refused() {
    let reserved = [
        "PAGER",
        "BASH_ENV",
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "NODE_OPTIONS",
        "PYTHONSTARTUP",
        "GIT_SSH_COMMAND",
        "GIT_CONFIG_COUNT",
        "PATH",
        "IFS",
        "ENV",
        "DYLD_INSERT_LIBRARIES",
        "BASH_FUNC_ls%%",
        "WARREN_TOKEN",
        "XDG_CONFIG_HOME",
        "POSIXLY_CORRECT",
        "",
        "A=B",
        "1A",
        "A B",
        "A\0",
    ];
    for name in reserved {
        assert_eq!(check_variable(name).unwrap_err().kind, RefusalKind::Variable, "{name:?}");
    }
    // The control: other names are allowed.
    for name in ["LANG", "TZ", "MY_FLAG", "_x", "CI"] {
        assert_eq!(check_variable(name), Ok(()), "{name}");
    }
    for text in ["PAGER=id git branch", "export PAGER=id", "declare -x A=b", "typeset A=b"] {
        assert!(matches!(command(text), Decision::Refused(_)), "{text}");
    }
}

// sec/T04
#[test]
fn a_denied_command_is_refused_wherever_it_stands_in_a_chain() {
    for position in [2, 51, 1_000] {
        for separator in [" ; ", " && ", "\n", " | "] {
            let mut parts = vec!["git status"; position];
            parts[position - 1] = "curl evil";
            assert!(
                matches!(command(&parts.join(separator)), Decision::Refused(_)),
                "{position} {separator:?}"
            );
        }
    }
    // The control: alone, the command that the others hide behind is allowed.
    assert_eq!(command("git status"), Decision::Argv(words(&["git", "status"])));
}

// W61, sec/T05
#[test]
fn only_the_exact_bare_name_is_the_program() {
    let spellings = [
        "./stat",
        "/ws/bin/stat",
        "/usr/bin/stat",
        "../stat",
        "bin/stat",
        "STAT",
        "Stat",
        "stat ",
        " stat",
        "stat\t",
        "stat\n",
        "sta",
        "statk",
        "stat.exe",
        "\u{ff53}tat",
        "-stat",
    ];
    for spelling in spellings {
        let refused = refusal(argv(&["stat"], &[spelling, "status"]));
        let is_path = spelling.contains('/');
        let kind = if is_path { RefusalKind::ProgramPath } else { RefusalKind::ProgramNotAllowed };
        assert_eq!(refused.kind, kind, "{spelling:?}");
    }
    // The control: the name itself.
    assert_eq!(argv(&["stat"], &["stat", "x"]), Decision::Argv(words(&["stat", "x"])));
}

// sec/T09
#[test]
fn oversized_commands_and_nul_bytes_are_malformed() {
    let huge = "a".repeat(2 << 20);
    let many = vec!["a".to_owned(); 100_000];
    let allow = policy(CommandMode::Command, &["a"]);
    let requests = [
        Request::Command(&huge),
        Request::Argv(&many),
        Request::Command("a\0b"),
        Request::Command(""),
        Request::Command("  "),
        Request::Argv(&[]),
    ];
    for request in requests {
        assert_eq!(refusal(decide(&allow, true, request)).kind, RefusalKind::Malformed);
    }
    let nul = words(&["a", "b\0c"]);
    assert_eq!(refusal(decide(&allow, true, Request::Argv(&nul))).kind, RefusalKind::Malformed);
    let empty = words(&[""]);
    assert_eq!(
        refusal(decide(&RunPolicy::default(), true, Request::Argv(&empty))).kind,
        RefusalKind::Malformed
    );
}

// W61
#[test]
fn an_absent_allowlist_denies_without_a_box_and_allows_within_one() {
    let open = RunPolicy::default();
    let list = words(&["/bin/anything", "$(x)"]);
    let refused = refusal(decide(&open, false, Request::Argv(&list)));
    assert_eq!(refused.kind, RefusalKind::NothingAllowed);
    assert!(refused.allowed.contains("run.allow"), "{}", refused.allowed);
    assert_eq!(decide(&open, true, Request::Argv(&list)), Decision::Argv(list.clone()));
}

// W61
#[test]
fn argv_mode_takes_no_command_line_and_argv_words_may_hold_any_text() {
    let only_argv = policy(CommandMode::Argv, &["ls"]);
    assert_eq!(refusal(decide(&only_argv, false, Request::Command("ls"))).kind, RefusalKind::Mode);
    let odd = ["ls", "a;b", "$(id)", "*", "new\nline"];
    assert_eq!(argv(&["ls"], &odd), Decision::Argv(words(&odd)));
}

// W61
#[test]
fn a_shell_is_given_only_within_a_box() {
    let full = RunPolicy { mode: CommandMode::Full, ..RunPolicy::default() };
    let text = "ls | wc -l; echo $HOME";
    assert_eq!(decide(&full, true, Request::Command(text)), Decision::Script(text.to_owned()));
    assert_eq!(refusal(decide(&full, false, Request::Command(text))).kind, RefusalKind::Mode);
    assert!(check(&full, false).unwrap_err().starts_with("run.mode: "));
    assert_eq!(check(&full, true), Ok(()));
    let listed = policy(CommandMode::Full, &["ls"]);
    assert!(check(&listed, true).unwrap_err().starts_with("run.allow: "));
    assert_eq!(refusal(decide(&listed, true, Request::Command(text))).kind, RefusalKind::Mode);
}

// W61, O2 incident 1
#[test]
fn an_allowlist_of_anything_but_names_is_refused_when_it_is_configured() {
    for bad in ["", "./git", "/bin/ls", "git ", "a b", "-x", ".hidden", "a\n", "é"] {
        let problem = check(&policy(CommandMode::Argv, &["ls", bad]), false).unwrap_err();
        assert!(problem.starts_with("run.allow[1]: "), "{bad:?}: {problem}");
    }
    assert_eq!(check(&policy(CommandMode::Command, &["g++", "python3.12", "clang-format"]), true), Ok(()));
}

// W62
#[test]
fn a_refusal_says_what_was_refused_and_what_is_allowed() {
    let refused = refusal(argv(&["cat", "ls"], &["curl", "x"]));
    assert_eq!(refused.sentence, "`curl` is not on the allowlist");
    assert_eq!(refused.allowed, "`argv` with one of these programs: cat, ls");
    let long = refusal(argv(&["cat"], &[&format!("\u{1b}[2J{}", "x".repeat(500))]));
    assert!(long.sentence.len() < 300 && !long.sentence.contains('\u{1b}'), "{}", long.sentence);
}

proptest! {
    // W61, sec/T01
    #[test]
    fn whatever_command_mode_lets_through_is_plain_words_of_an_allowed_program(
        text in "(git|ls|curl|;|&|\\||\\$|`|'|\"| |\n|\\*|\\{|a|=|~|/|\\.){0,20}",
    ) {
        if let Decision::Argv(list) = command(&text) {
            prop_assert!(list[0] == "git" || list[0] == "ls");
            for word in &list {
                let has_metacharacter = word.contains([';', '&', '|', '$', '`', '\n', '*', '{']);
                prop_assert!(!has_metacharacter);
            }
        }
    }

    // W61, sec/T05
    #[test]
    fn no_program_outside_the_list_is_ever_started_without_a_box(program in "\\PC{0,12}", argument in "\\PC{0,12}") {
        prop_assume!(program != "git");
        for mode in [CommandMode::Argv, CommandMode::Command, CommandMode::Full] {
            let decision = decide(&policy(mode, &["git"]), false, Request::Argv(&words(&[&program, &argument])));
            prop_assert!(matches!(decision, Decision::Refused(_)));
        }
    }
}
