//! Commands whose caller waits (W30, W77).

use warren_init::{Call, CallAnswer, Failure, FailureKind, Spawn};

use crate::fixture::{Inside, argv, shell};

fn failure(inside: &mut Inside, spawn: Spawn) -> Failure {
    let id = inside.owner.send(Call::Run(spawn));
    inside.owner.outcome(id).expect_err("it does not start")
}

// W30, W77
#[test]
fn a_command_tells_its_output_and_exit_code() {
    let mut inside = Inside::start();
    let outcome = inside.owner.run("echo out; echo err >&2; exit 7");
    assert_eq!((outcome.exit.exit_code, outcome.exit.signal), (Some(7), None));
    assert_eq!((&outcome.stdout[..], &outcome.stderr[..]), (&b"out\n"[..], &b"err\n"[..]));
    let outcome = inside.owner.run_spawn(argv(&["echo", "a b", "$HOME", "*"]));
    assert_eq!(outcome.text(), "a b $HOME *\n");
    let outcome = inside.owner.run("kill -TERM $$");
    assert_eq!((outcome.exit.exit_code, outcome.exit.signal), (None, Some(15)));
}

// W30
#[test]
fn input_environment_and_directory_reach_the_command() {
    let mut inside = Inside::start();
    std::fs::create_dir_all(inside.path("inner/dir")).unwrap();
    let mut spawn = shell("cat; echo \" $GREETING\"; pwd");
    spawn.env.push((b"GREETING".to_vec(), b"hi there".to_vec()));
    spawn.directory = b"inner/dir".to_vec();
    spawn.input = b"input".to_vec();
    let shown = inside.owner.run_spawn(spawn).text();
    assert!(shown.starts_with("input hi there\n") && shown.ends_with("/inner/dir\n"), "{shown}");
    let outcome = inside.owner.run_spawn(argv(&["env"]));
    assert_eq!(outcome.text(), "PATH=/usr/local/bin:/usr/bin:/bin\n", "nothing is added");
    let unread = Spawn { input: vec![b'x'; 900 << 10], ..shell("exit 3") };
    assert_eq!(inside.owner.run_spawn(unread).exit.exit_code, Some(3));
    let empty = inside.owner.run("cat; echo end");
    assert_eq!(empty.text(), "end\n", "no input is at its end");
}

// W30
#[test]
fn input_can_follow_and_is_paced() {
    let mut inside = Inside::start();
    let spawn = Spawn { has_more_input: true, ..shell("wc -c; sleep 0.1") };
    let id = inside.owner.send(Call::Run(spawn));
    let piece = vec![b'x'; 64 << 10];
    let (mut sent, mut taken) = (0, 0);
    while sent < 40 {
        inside.owner.send_as(id, Call::Input { bytes: piece.clone(), last: sent == 39 });
        sent += 1;
        while sent * piece.len() - taken > 256 << 10 {
            match inside.owner.reply(id) {
                CallAnswer::InputTaken { bytes } => taken += bytes as usize,
                other => panic!("{other:?}"),
            }
        }
    }
    let outcome = inside.owner.outcome(id).unwrap();
    assert_eq!(outcome.text().trim(), (40 * piece.len()).to_string());
}

// W30: the beginning counts too, so that whoever sent a window's worth of it hears when to go on.
#[test]
fn input_that_came_with_the_command_is_paced_too() {
    let mut inside = Inside::start();
    let spawn = Spawn { input: vec![b'x'; 256 << 10], has_more_input: true, ..shell("wc -c") };
    let id = inside.owner.send(Call::Run(spawn));
    let mut taken = 0;
    while taken < 256 << 10 {
        match inside.owner.reply(id) {
            CallAnswer::InputTaken { bytes } => taken += bytes,
            other => panic!("{other:?}"),
        }
    }
    inside.owner.send_as(id, Call::Input { bytes: vec![b'y'; 10], last: true });
    assert_eq!(inside.owner.outcome(id).unwrap().text().trim(), ((256 << 10) + 10).to_string());
}

// W30, sec/S24
#[test]
fn what_cannot_be_started_is_told_apart() {
    let mut inside = Inside::start();
    std::fs::write(inside.path("plain"), "just text").unwrap();
    std::os::unix::fs::symlink("/", inside.path("out")).unwrap();
    let kind = |inside: &mut Inside, spawn| failure(inside, spawn).kind;
    let inside = &mut inside;
    assert_eq!(kind(inside, argv(&["no-such-program"])), FailureKind::ProgramNotFound);
    assert_eq!(kind(inside, argv(&["./no-such-program"])), FailureKind::ProgramNotFound);
    assert_eq!(kind(inside, argv(&["./plain"])), FailureKind::ProgramNotExecutable);
    assert_eq!(kind(inside, argv(&["/tmp"])), FailureKind::ProgramNotExecutable);
    for directory in ["absent", "plain", "..", "out", "out/tmp", "/", "/proc/self/cwd", "a\0b"] {
        let spawn = Spawn { directory: directory.into(), ..argv(&["true"]) };
        assert_eq!(kind(inside, spawn), FailureKind::BadDirectory, "{directory:?}");
    }
    for words in [&[][..], &[""], &["a\0b"], &["echo", "\0"]] {
        assert_eq!(kind(inside, argv(words)), FailureKind::Invalid, "{words:?}");
    }
    let mut bad_name = argv(&["true"]);
    bad_name.env.push((b"A=B".to_vec(), b"c".to_vec()));
    assert_eq!(kind(inside, bad_name), FailureKind::Invalid);
    let found = inside.owner.run("exit 0").exit.exit_code;
    assert_eq!((found, inside.owner.count_processes()), (Some(0), 0), "failed starts leave nothing");
}

// sec/S05
#[test]
fn a_command_has_three_descriptors_and_a_clean_start() {
    let mut inside = Inside::start();
    let listed = inside.owner.run_spawn(argv(&["ls", "/proc/self/fd"])).text();
    assert_eq!(listed, "0\n1\n2\n3\n", "3 is the directory that ls reads");
    let status = inside.owner.run_spawn(argv(&["cat", "/proc/self/status"])).text();
    let field = |name: &str| {
        status
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .unwrap_or("")
            .trim_start_matches(':')
            .trim()
            .to_owned()
    };
    assert_eq!(field("SigBlk"), "0000000000000000");
    assert_eq!(field("SigIgn"), "0000000000000000");
    assert_eq!(field("NoNewPrivs"), "1");
    assert_eq!(inside.owner.run("ulimit -c; umask").text(), "0\n0022\n");
    let limited =
        warren_init::SpawnLimits { open_files: Some(77), cpu_seconds: Some(5), ..Default::default() };
    let spawn = Spawn { limits: limited, ..shell("ulimit -n; ulimit -t") };
    assert_eq!(inside.owner.run_spawn(spawn).text(), "77\n5\n");
}

// W30
#[test]
fn many_commands_run_at_once() {
    let mut inside = Inside::start();
    let ids: Vec<u32> = (0..60)
        .map(|number| {
            inside.owner.send(Call::Run(shell(&format!("sleep 0.05; echo {number}; exit {number}"))))
        })
        .collect();
    for (number, id) in ids.into_iter().enumerate() {
        let outcome = inside.owner.outcome(id).unwrap();
        assert_eq!(outcome.text(), format!("{number}\n"));
        assert_eq!(outcome.exit.exit_code, i32::try_from(number).ok());
    }
}
