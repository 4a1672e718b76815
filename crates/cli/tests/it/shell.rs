//! `warren ws shell` and `warren ws attach` in a real terminal.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::pty::Pty;
use crate::warren::{Machine, wait_until};

fn shell(machine: &Machine, arguments: &[&str]) -> Pty {
    Pty::spawn(&machine.command(&[&["ws", "shell"], arguments].concat()), 31, 97)
}

/// Presses Ctrl-C as a person does: until there is a prompt again.
fn interrupt(terminal: &mut Pty) {
    const PROMPT: &str = "\u{1b}[?2004h";
    let prompts = terminal.screen().matches(PROMPT).count();
    for _ in 0..20 {
        terminal.type_in("\u{3}");
        if terminal.sees_within(Duration::from_secs(1), |screen| screen.matches(PROMPT).count() > prompts) {
            return;
        }
    }
    panic!("nothing was interrupted: {:?}", terminal.screen());
}

// S11, W30
#[test]
fn a_shell_is_a_real_terminal_and_its_exit_code_comes_back() {
    let machine = Machine::new();
    let _server = machine.start();
    machine.run(&["ws", "create", "demo"]).expect_ok();
    let mut terminal = shell(&machine, &["demo"]);
    terminal.type_in("stty size; tty | cut -c1-8\r");
    terminal.see("31 97");
    terminal.see("/dev/pts");
    assert!(terminal.is_raw());
    terminal.resize(42, 111);
    terminal.type_in("sleep 0.2; stty size\r");
    terminal.see("42 111");
    // Interrupted once it runs: a shell that is only about to start it would go on with the line.
    terminal.type_in("sh -c 'echo un\"\"der way; sleep 600'; echo not''reached\r");
    terminal.see("under way");
    interrupt(&mut terminal);
    terminal.type_in("echo still ''here\r");
    terminal.see("still here");
    terminal.type_in("exit 7\r");
    assert_eq!(terminal.wait(), Some(7));
    assert!(!terminal.screen().contains("notreached"));
}

// S11, W30
#[test]
fn leaving_a_shell_lets_it_go_on_and_attaching_shows_what_it_printed() {
    let machine = Machine::new();
    let _server = machine.start();
    machine.run(&["ws", "create", "demo"]).expect_ok();
    let mut terminal = shell(&machine, &[]);
    terminal.type_in("kept=value; echo one''two\r");
    terminal.see("onetwo");
    terminal.type_in("\r~.");
    assert_eq!(terminal.wait(), Some(0));
    assert!(terminal.screen().contains("Detached from process 1"), "{}", terminal.screen());

    let mut again = Pty::spawn(&machine.command(&["ws", "attach", "demo", "1"]), 20, 60);
    again.see("onetwo");
    again.type_in("echo $kept; stty size; exit 3\r");
    again.see("value");
    again.see("20 60");
    assert_eq!(again.wait(), Some(3));

    let mut late =
        Pty::spawn(&machine.command(&["ws", "attach", "demo", "1", "--from", "5", "--json"]), 20, 60);
    late.see("\"exit_code\":3");
    assert_eq!(late.wait(), Some(3));
}

// S11
#[test]
fn a_program_can_be_named_and_ended_with_its_terminal() {
    let machine = Machine::new();
    let _server = machine.start();
    machine.run(&["ws", "create", "demo"]).expect_ok();
    let mut terminal =
        shell(&machine, &["demo", "--env", "NAME=a b", "--", "sh", "-c", "echo \"[$NAME]\"; exit 9"]);
    terminal.see("[a b]");
    assert_eq!(terminal.wait(), Some(9));
    let mut missing = shell(&machine, &["demo", "--", "no-such-program"]);
    assert_eq!(missing.wait(), Some(127));
    assert!(missing.screen().contains("error[program_not_found]"), "{}", missing.screen());

    let mut ended = shell(&machine, &["demo", "--end", "--", "sh", "-c", "echo ready; sleep 600"]);
    ended.see("ready");
    ended.type_in("\r~.");
    assert_eq!(ended.wait(), Some(0));
    wait_until("the end of the program", || {
        let listed = machine.run(&["ws", "ps", "demo", "--json"]).expect_ok().json();
        listed.as_array().unwrap().iter().all(|process| process["state"] == "exited")
    });
}

// S11: whatever ends it, the terminal is restored (checked by `wait`)
#[test]
fn the_terminal_is_restored_when_the_server_or_this_program_is_ended() {
    let machine = Machine::new();
    let server = machine.start();
    machine.run(&["ws", "create", "demo"]).expect_ok();
    let mut terminal = shell(&machine, &["demo"]);
    terminal.type_in("echo re''ady\r");
    terminal.see("ready");
    assert!(terminal.is_raw());
    let id = Pid::from_raw(i32::try_from(terminal.process_id()).unwrap()).unwrap();
    kill_process(id, Signal::TERM).unwrap();
    assert_eq!(terminal.wait(), Some(128 + 15));

    let mut terminal = shell(&machine, &["demo"]);
    terminal.type_in("echo re''ady\r");
    terminal.see("ready");
    server.kill();
    assert_eq!(terminal.wait(), Some(125));
    assert!(terminal.screen().contains("hint: The process may still be there"), "{}", terminal.screen());
}

// S11
#[test]
fn without_a_terminal_or_a_workspace_there_is_a_hint() {
    let machine = Machine::new();
    let _server = machine.start();
    let told = machine.run(&["ws", "shell", "demo", "--json"]).expect_error(125, "invalid_usage");
    assert!(told["hint"].as_str().unwrap().contains("ws exec"), "{told}");
    let told = machine.run(&["ws", "attach", "demo", "1", "--json"]).expect_error(125, "invalid_usage");
    assert!(told["hint"].as_str().unwrap().contains("ws logs"), "{told}");
    let mut none = shell(&machine, &[]);
    assert_eq!(none.wait(), Some(125));
    assert!(none.screen().contains("warren ws create NAME"), "{}", none.screen());
    machine.run(&["ws", "create", "one"]).expect_ok();
    machine.run(&["ws", "create", "two"]).expect_ok();
    let mut several = shell(&machine, &[]);
    assert_eq!(several.wait(), Some(125));
    assert!(several.screen().contains("ambiguous_name"), "{}", several.screen());
}
