//! What it costs that a change of a file is on disk before it is answered (Q20): directories, writes, moves and removals over
//! HTTP, one caller and sixteen at once, with the data folder on the disk and on a file system in memory, where a sync waits for
//! nothing.
//!
//! `cargo bench -p warren-cli --bench file_operations`
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod measured;

use std::path::Path;
use std::time::{Duration, Instant};

use measured::{Connection, Server, row};
use serde_json::json;

/// A file system in memory on every Linux.
const IN_MEMORY: &str = "/dev/shm";
const ROUNDS: usize = 200;
const CALLERS: usize = 16;
const CONTENTS: &str = "a few words, as an agent writes them\n";
const OPERATIONS: [&str; 4] = ["make a directory", "write a file", "move it", "remove both"];

fn main() {
    println!("## What it costs that changes of files are on disk\n\n{}", measured::HEAD);
    let on_disk =
        tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder on the real file system");
    let in_memory = tempfile::tempdir_in(IN_MEMORY).expect("a folder in memory");
    for callers in [1, CALLERS] {
        for (place, folder) in [("synced", on_disk.path()), ("in memory, no sync", in_memory.path())] {
            let data = folder.join(callers.to_string());
            for (operation, times) in OPERATIONS.iter().zip(measure(&data, callers)) {
                println!("{}", row(&format!("{operation}, {callers} at once, {place}"), times).0);
            }
        }
    }
}

/// The times of each operation, over all callers.
fn measure(data: &Path, callers: usize) -> [Vec<Duration>; 4] {
    let server = Server::start(data, &[]);
    let wish = json!({ "name": "bench", "provider": { "kind": "local" } });
    let made = server.connect().post("/api/v1/workspaces", &wish);
    let files = format!("/api/v1/workspaces/{}/files", made["id"].as_str().expect("it has an id"));
    let mut all: [Vec<Duration>; 4] = Default::default();
    std::thread::scope(|scope| {
        let working: Vec<_> = (0..callers)
            .map(|caller| {
                let (mut connection, files) = (server.connect(), files.as_str());
                scope.spawn(move || work(&mut connection, files, caller))
            })
            .collect();
        for one in working {
            for (times, more) in all.iter_mut().zip(one.join().expect("it works to its end")) {
                times.extend(more);
            }
        }
    });
    server.stop();
    all
}

fn work(connection: &mut Connection, files: &str, caller: usize) -> [Vec<Duration>; 4] {
    let mut times: [Vec<Duration>; 4] = Default::default();
    for round in 0..ROUNDS {
        let folder = format!("d-{caller}-{round}");
        let moved = json!({ "from": format!("{folder}/a"), "to": format!("{folder}/b") }).to_string();
        let steps = [
            ("POST", format!("{files}/directory?path={folder}"), String::new()),
            ("PUT", format!("{files}?path={folder}/a"), CONTENTS.to_owned()),
            ("POST", format!("{files}/move"), moved),
            ("DELETE", format!("{files}?path={folder}&recursive=true"), String::new()),
        ];
        for ((method, path, body), times) in steps.iter().zip(&mut times) {
            let started = Instant::now();
            let (status, answer) = connection.send(method, path, body);
            times.push(started.elapsed());
            assert!(
                (200..300).contains(&status),
                "{method} {path}: {status} {}",
                String::from_utf8_lossy(&answer)
            );
        }
    }
    times
}
