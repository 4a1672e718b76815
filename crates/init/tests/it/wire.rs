//! Whatever comes over the wire, both sides stay whole (Q8, W77).

use std::io::{Read, Write};

use proptest::prelude::*;
use warren_init::{
    Call, CallAnswer, FileCall, FrameReader, MAX_FRAME_BYTES, PROTOCOL_VERSION, Reply, Request, Spawn,
    SpawnLimits, TerminalSize, encode,
};

use crate::fixture::{Connection, Inside, shell, wait_for_end};

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 0..40)
}

fn spawn() -> impl Strategy<Value = Spawn> {
    let words = prop_oneof![Just(vec![b"true".to_vec()]), proptest::collection::vec(bytes(), 0..4)];
    let env = proptest::collection::vec((bytes(), bytes()), 0..3);
    let limits = (any::<Option<u64>>(), any::<Option<u64>>()).prop_map(|(open_files, file_bytes)| {
        SpawnLimits { open_files, file_bytes, ..SpawnLimits::default() }
    });
    let terminal = proptest::option::of((any::<u16>(), any::<u16>()))
        .prop_map(|size| size.map(|(rows, columns)| TerminalSize { rows, columns }));
    let key = prop_oneof![Just(Vec::new()), Just(b"key".to_vec()), bytes()];
    (words, bytes(), env, bytes(), any::<bool>(), terminal, limits, key).prop_map(
        |(argv, directory, env, input, has_more_input, terminal, limits, key)| Spawn {
            argv,
            directory,
            env,
            input,
            has_more_input,
            terminal,
            deadline_ms: 2_000,
            limits,
            key,
        },
    )
}

/// Paths that are there, that lead out, and that are nothing.
fn file_path() -> impl Strategy<Value = Vec<u8>> {
    let known =
        ["", "a", "a/b", "a/b/c", "..", "a/../..", "/", "/etc/passwd", "out", "out/x", "\0", ".", "a/"];
    prop_oneof![proptest::sample::select(known.to_vec()).prop_map(|path| path.as_bytes().to_vec()), bytes()]
}

fn file_call() -> impl Strategy<Value = FileCall> {
    let handle = 0u32..4;
    prop_oneof![
        file_path().prop_map(|path| FileCall::Stat { path }),
        (file_path(), any::<u32>(), proptest::option::of(file_path()), any::<u32>())
            .prop_map(|(path, depth, after, limit)| FileCall::List { path, depth, after, limit }),
        file_path().prop_map(|path| FileCall::Open { path }),
        (handle.clone(), any::<u64>(), any::<u32>()).prop_map(|(handle, offset, max_bytes)| FileCall::Read {
            handle,
            offset,
            max_bytes
        }),
        (file_path(), any::<bool>()).prop_map(|(path, create_new)| FileCall::Stage { path, create_new }),
        file_path().prop_map(|path| FileCall::OpenAppend { path }),
        (handle.clone(), bytes()).prop_map(|(handle, bytes)| FileCall::Add { handle, bytes }),
        handle.clone().prop_map(|handle| FileCall::Commit { handle }),
        handle.clone().prop_map(|handle| FileCall::Close { handle }),
        file_path().prop_map(|path| FileCall::MakeDirectory { path }),
        (file_path(), any::<bool>()).prop_map(|(path, recursive)| FileCall::Remove { path, recursive }),
        (file_path(), file_path(), any::<bool>()).prop_map(|(from, to, overwrite)| FileCall::Rename {
            from,
            to,
            overwrite
        }),
        (file_path(), file_path(), any::<bool>(), any::<bool>()).prop_map(
            |(from, to, recursive, overwrite)| {
                FileCall::Copy { from, to, recursive, overwrite, max_file_bytes: 1 << 20, max_bytes: 1 << 24 }
            }
        ),
        file_path().prop_map(|path| FileCall::Watch { path }),
        handle.prop_map(|handle| FileCall::Changes { handle }),
    ]
}

fn call() -> impl Strategy<Value = Call> {
    let process = 0u32..6;
    prop_oneof![
        any::<u16>().prop_map(|version| Call::Hello { version }),
        spawn().prop_map(Call::Run),
        spawn().prop_map(Call::Start),
        any::<u32>().prop_map(|bytes| Call::Grant { bytes }),
        (bytes(), any::<bool>()).prop_map(|(bytes, last)| Call::Input { bytes, last }),
        Just(Call::Cancel),
        bytes().prop_map(|key| Call::Attach { key }),
        bytes().prop_map(|key| Call::FindRun { key }),
        (process.clone(), any::<u64>(), any::<u32>(), 0u32..20).prop_map(
            |(process, offset, max_bytes, wait_ms)| Call::Poll { process, offset, max_bytes, wait_ms }
        ),
        (process.clone(), bytes(), any::<bool>()).prop_map(|(process, bytes, close)| Call::Write {
            process,
            bytes,
            close
        }),
        (process.clone(), any::<u16>(), any::<u16>()).prop_map(|(process, rows, columns)| Call::Resize {
            process,
            size: TerminalSize { rows, columns }
        }),
        (process, any::<i32>()).prop_map(|(process, signal)| Call::Signal { process, signal }),
        Just(Call::List),
        Just(Call::Ping),
        file_call().prop_map(Call::File),
        file_call().prop_map(Call::File),
        file_call().prop_map(Call::File),
        file_call().prop_map(Call::File),
    ]
}

proptest! {
    // Q8
    #[test]
    fn any_bytes_are_read_as_messages_or_refused(
        pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..200), 0..8),
    ) {
        let (mut requests, mut replies) = (FrameReader::default(), FrameReader::default());
        for piece in &pieces {
            requests.push(piece);
            replies.push(piece);
            while let Ok(Some(_)) = requests.next::<Request>() {}
            while let Ok(Some(_)) = replies.next::<Reply>() {}
        }
    }

    // Q8
    #[test]
    fn a_message_comes_out_as_it_went_in_however_it_is_cut(
        calls in proptest::collection::vec((any::<u32>(), call()), 1..6), cut in 1usize..50,
    ) {
        let sent: Vec<Request> = calls.into_iter().map(|(id, call)| Request { id, call }).collect();
        let wire: Vec<u8> = sent.iter().flat_map(|request| encode(request).unwrap()).collect();
        let mut reader = FrameReader::default();
        let mut received = Vec::new();
        for piece in wire.chunks(cut) {
            reader.push(piece);
            while let Some(request) = reader.next::<Request>().unwrap() {
                received.push(request);
            }
        }
        prop_assert_eq!(received, sent);
    }

    // Q8
    #[test]
    fn a_damaged_frame_is_read_or_refused(
        request in (any::<u32>(), call()), damage in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..6),
    ) {
        let mut wire = encode(&Request { id: request.0, call: request.1 }).unwrap();
        let length = wire.len();
        damage.iter().for_each(|(at, value)| wire[at % length] = *value);
        let mut reader = FrameReader::default();
        reader.push(&wire);
        while let Ok(Some(_)) = reader.next::<Request>() {}
    }
}

// Q8
#[test]
fn lengths_are_checked_before_anything_is_kept() {
    let mut reader = FrameReader::default();
    reader.push(&u32::MAX.to_le_bytes());
    assert!(reader.next::<Reply>().is_err());
    let mut reader = FrameReader::default();
    reader.push(&[0; 4]);
    assert!(reader.next::<Reply>().is_err());
    let longest = Reply {
        id: 1,
        answer: CallAnswer::Output { channel: warren_init::Channel::Stdout, bytes: vec![0; MAX_FRAME_BYTES] },
    };
    assert!(encode(&longest).is_err());
    // A list that claims four thousand million elements.
    let mut reader = FrameReader::default();
    let claim = [&[8, 0, 0, 0][..], &[0, 1, 255, 255, 255, 255, 15, 0]].concat();
    reader.push(&claim);
    assert!(reader.next::<Request>().is_err());
}

/// Says something to a box that lingers, and hears it out until it hangs up or there is nothing more.
fn say(socket: &std::path::Path, is_greeted: bool, wire: &[u8]) {
    let mut connection = Connection::to(socket);
    if is_greeted {
        connection.greet();
    }
    // It may hang up in the middle.
    let _ = connection.stream.write_all(wire);
    let _ = connection.stream.shutdown(std::net::Shutdown::Write);
    let mut heard = Vec::new();
    let _ = connection.stream.read_to_end(&mut heard);
}

// W77
#[test]
fn garbage_ends_a_connection_and_not_the_box() {
    let (_root, mut launcher, socket) = Inside::listening(&["--linger-ms", "forever"]);
    let half = &encode(&Request { id: 1, call: Call::Ping }).unwrap()[..3];
    for wire in [&[0xff; 4096][..], &[0; 64], b"GET / HTTP/1.1\r\n\r\n", half, &u32::MAX.to_le_bytes(), &[]] {
        for is_greeted in [false, true] {
            say(&socket, is_greeted, wire);
        }
    }
    let mut owner = Connection::to(&socket);
    owner.greet();
    assert_eq!(owner.run("exit 6").exit.exit_code, Some(6));
    owner.send(Call::Leave);
    wait_for_end(&mut launcher);
}

// W77: half a frame and silence holds up nobody.
#[test]
fn half_a_frame_and_silence_stops_nothing_in_the_box() {
    let mut inside = Inside::start();
    let process = inside.owner.start("sleep 0.2; echo done > done; sleep 300");
    let frame = encode(&Request { id: 900, call: Call::Ping }).unwrap();
    inside.owner.stream.write_all(&frame[..frame.len() - 1]).unwrap();
    crate::fixture::eventually("the process goes on", || inside.path("done").exists());
    inside.owner.stream.write_all(&frame[frame.len() - 1..]).unwrap();
    assert_eq!(inside.owner.reply(900), CallAnswer::Done);
    assert_eq!(inside.owner.list()[0].process, process);
}

/// Rounds of the long run; each is one connection with some ten requests.
fn rounds() -> u32 {
    #[expect(clippy::disallowed_methods, reason = "a longer run is asked for by hand")]
    let asked = std::env::var("WARREN_FUZZ_ROUNDS");
    asked.ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(60)
}

// Q8, W77: valid calls in any order, some of them damaged, against the live program.
#[test]
fn any_conversation_leaves_the_box_whole() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::{Config, TestRunner};

    // The workspace is a folder in a folder, so that a way out would show beside it.
    let outside = tempfile::tempdir().unwrap();
    let inner = outside.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    std::os::unix::fs::symlink("..", inner.join("out")).unwrap();
    let inner = inner.display().to_string();
    let (_root, mut launcher, socket) = Inside::listening(&["--linger-ms", "forever", "--root", &inner]);
    let mut runner = TestRunner::new(Config::default());
    let damage = proptest::option::of((any::<usize>(), any::<u8>()));
    let conversation = proptest::collection::vec((0u32..8, call(), damage), 1..20);
    for _ in 0..rounds() {
        let said = conversation.new_tree(&mut runner).unwrap().current();
        let mut wire = Vec::new();
        for (id, call, damage) in said {
            let mut frame = encode(&Request { id, call }).unwrap();
            if let Some((at, value)) = damage
                && at % 4 == 0
            {
                let length = frame.len();
                frame[at % length] = value;
            }
            wire.extend(frame);
        }
        say(&socket, true, &wire);
    }
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1, "nothing was made outside the workspace");
    let mut owner = Connection::to(&socket);
    owner.greet();
    let processes: Vec<u32> = owner.list().iter().map(|summary| summary.process).collect();
    for process in processes {
        owner.call(Call::Signal { process, signal: 9 });
        owner.end_of(process);
    }
    crate::fixture::eventually("nobody is left", || owner.count_processes() == 0);
    assert_eq!(owner.run("exit 6").exit.exit_code, Some(6));
    owner.send(Call::Leave);
    wait_for_end(&mut launcher);
}

// W77: the other side of a wire that never says anything is not waited for by those who have something to say.
#[test]
fn a_greeting_is_answered_though_much_follows_it() {
    let mut inside = Inside::start_silent(&[]);
    let mut wire = encode(&Request { id: 1, call: Call::Hello { version: PROTOCOL_VERSION } }).unwrap();
    for id in 2..2_000 {
        wire.extend(encode(&Request { id, call: Call::Ping }).unwrap());
    }
    wire.extend(encode(&Request { id: 2_000, call: Call::Run(shell("exit 3")) }).unwrap());
    inside.owner.stream.write_all(&wire).unwrap();
    assert!(matches!(inside.owner.reply(1), CallAnswer::Hello(_)));
    for id in 2..2_000 {
        assert_eq!(inside.owner.reply(id), CallAnswer::Done);
    }
    assert_eq!(inside.owner.outcome(2_000).unwrap().exit.exit_code, Some(3));
}
