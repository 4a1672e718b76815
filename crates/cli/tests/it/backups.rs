//! `warren backup` and `warren restore`, with the real binary (O6, sec/D17).
//!
//! ```text
//!   writers ──requests──▶ server ──▶ warren backup (from outside) ──▶ one file ──▶ warren restore ──▶ another folder
//!      │                                                                                │
//!      └── ledger: what was acknowledged before the backup was asked for                ├── read by SQLite's own library
//!                              └──────────────── must be there ─────────────────────────┴── asked of a server on it
//! ```

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};
use serde_json::json;
use warren_api::client::Client;
use warren_api::{CreateWorkspace, ExecRequest, PatchWorkspace};

use crate::warren::{Ended, Machine, Server};

/// Backups of one run; `WARREN_BACKUP_ROUNDS` asks for more.
const ROUNDS: u64 = 3;
const WRITERS: usize = 3;
/// Kills of one run, of each kind; `WARREN_BACKUP_KILLS` asks for more.
const KILLS: u64 = 4;

fn wanted(variable: &str, usual: u64) -> u64 {
    let environment = warren_doors::Environment::of_process();
    environment.get(variable).map_or(usual, |text| text.parse().expect("a number"))
}

fn client_of(server: &Server) -> Client {
    Client::new(server.url(), Some(server.token())).unwrap()
}

/// What was acknowledged.
#[derive(Debug, Clone, Default)]
struct Ledger {
    /// The number of files; each has its own number as its contents.
    files: u64,
    /// Lines that commands appended to one file.
    lines: u64,
    /// The number in the workspace's name.
    name: u64,
}

#[derive(Debug)]
struct Writer {
    workspace: String,
    kind: &'static str,
    ledger: Arc<Mutex<Ledger>>,
}

impl Writer {
    async fn new(client: &Client, number: usize, kind: &'static str) -> Self {
        let wish = CreateWorkspace::new(format!("writer-{number}-0"), json!({ "kind": kind }));
        let workspace = client.create_workspace(&wish).await.unwrap().id;
        Self { workspace, kind, ledger: Arc::default() }
    }

    /// Writes until it is told to stop.
    async fn work(&self, client: Client, stop: Arc<AtomicBool>, number: usize) {
        let mut step = 0_u64;
        while !stop.load(Ordering::Relaxed) {
            step += 1;
            let mut next = self.ledger.lock().unwrap().clone();
            match step % 4 {
                0 => {
                    next.lines += 1;
                    let command = Some(format!("echo {} >> log", next.lines));
                    let request = ExecRequest { command, ..ExecRequest::default() };
                    let ended = client.exec(&self.workspace, &request).await.unwrap();
                    assert_eq!(ended.exit_code, Some(0));
                }
                1 => {
                    next.name += 1;
                    let name = Some(format!("writer-{number}-{}", next.name));
                    let patch = PatchWorkspace { name, ..PatchWorkspace::default() };
                    client.patch_workspace(&self.workspace, &patch, None).await.unwrap();
                }
                _ => {
                    next.files += 1;
                    let path = format!("files/{}", next.files);
                    client.put_bytes(&self.workspace, &path, contents(next.files), false).await.unwrap();
                }
            }
            *self.ledger.lock().unwrap() = next;
        }
    }

    /// Compares what is in a restored folder with what was acknowledged before the backup.
    fn check(&self, before: &Ledger, data: &Path, database: &Connection) {
        let name: String = database
            .query_row("SELECT name FROM workspaces WHERE id = ?1", [&self.workspace], |row| row.get(0))
            .unwrap();
        let number: u64 = name.rsplit('-').next().unwrap().parse().unwrap();
        assert!(number >= before.name, "{name}: {before:?}");
        let place =
            data.join(if self.kind == "local" { "workspaces" } else { self.kind }).join(&self.workspace);
        for file in 1..=before.files {
            let found = std::fs::read(place.join("files").join(file.to_string()));
            assert_eq!(found.ok(), Some(contents(file)), "file {file} of {}", self.kind);
        }
        // Later ones may be there, each whole.
        for entry in std::fs::read_dir(place.join("files")).into_iter().flatten() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let file: u64 = name.parse().unwrap_or_else(|_| panic!("a temporary file: {name}"));
            assert_eq!(std::fs::read(place.join("files").join(&name)).unwrap(), contents(file));
        }
        let log = std::fs::read_to_string(place.join("log")).unwrap_or_default();
        let lines: Vec<u64> = log.lines().map(|line| line.parse().unwrap()).collect();
        assert!(lines.iter().copied().eq((1..).take(lines.len())), "{log}");
        assert!(lines.len() as u64 >= before.lines, "{} lines: {before:?}", lines.len());
    }
}

/// Small and large ones.
fn contents(number: u64) -> Vec<u8> {
    let lines = if number.is_multiple_of(7) { 20_000 } else { 3 };
    format!("{number}\n").repeat(lines).into_bytes()
}

fn restore(machine: &Machine, backup: &Path, data: &Path, key: Option<&Path>) -> Ended {
    let (backup, data) = (backup.to_str().unwrap(), data.to_str().unwrap());
    let mut arguments = vec!["restore", backup, "--data", data, "--json"];
    if let Some(key) = key {
        arguments.extend(["--key", key.to_str().unwrap()]);
    }
    machine.run(&arguments)
}

fn open_read_only(path: &Path) -> Connection {
    Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap()
}

fn check_database(database: &Connection, original: &Connection) {
    let one = |sql: &str| database.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap();
    assert_eq!(one("PRAGMA integrity_check"), "ok");
    assert_eq!(one("SELECT CAST(count(*) AS TEXT) FROM pragma_foreign_key_check"), "0");
    assert_eq!(one("SELECT CAST(max(seq) - count(*) AS TEXT) FROM events"), "0", "a gap");
    // History is the same up to the cut.
    let newest: i64 = database.query_row("SELECT max(seq) FROM events", [], |row| row.get(0)).unwrap();
    let log = |connection: &Connection| {
        let sql = "SELECT json_array(seq, at, kind, workspace_id, principal, data) FROM events WHERE seq <= ?1 ORDER BY seq";
        let mut statement = connection.prepare(sql).unwrap();
        let rows = statement.query_map([newest], |row| row.get::<_, String>(0)).unwrap();
        rows.collect::<Result<Vec<_>, _>>().unwrap()
    };
    assert!(log(database) == log(original), "history differs");
}

// O6, sec/D17
#[tokio::test(flavor = "multi_thread")]
async fn a_backup_under_load_has_everything_that_was_acknowledged_before_it() {
    let machine = Machine::new();
    let server = machine.start();
    let client = client_of(&server);
    let kinds = ["local", "sandbox", "local"];
    let mut writers = Vec::new();
    for (number, kind) in kinds.into_iter().enumerate().take(WRITERS) {
        writers.push(Arc::new(Writer::new(&client, number, kind).await));
    }
    machine.run_with_input(&["secret", "set", "API_KEY"], b"of the org").expect_ok();
    let session = machine.run(&["run", "hello", "--json"]);
    let sessions_before = machine.run(&["session", "ls", "--json"]).expect_ok().json();
    assert!(!sessions_before.as_array().unwrap().is_empty(), "{session:?}");
    let stop = Arc::new(AtomicBool::new(false));
    let working: Vec<_> = writers
        .iter()
        .cloned()
        .enumerate()
        .map(|(number, writer)| {
            let (client, stop) = (client.clone(), Arc::clone(&stop));
            tokio::spawn(async move { writer.work(client, stop, number).await })
        })
        .collect();
    let mut acknowledged = 0;
    let mut restored = PathBuf::new();
    for round in 0..wanted("WARREN_BACKUP_ROUNDS", ROUNDS) {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let file = machine.path().join(format!("backup-{round}.tar"));
        let before: Vec<Ledger> =
            writers.iter().map(|writer| writer.ledger.lock().unwrap().clone()).collect();
        let made =
            machine.run(&["backup", file.to_str().unwrap(), "--with-key", "--json"]).expect_ok().json();
        assert_eq!(made["left_out_count"], 0, "{made}");
        restored = machine.path().join(format!("restored-{round}"));
        let key = machine.path().join(format!("backup-{round}.tar.key"));
        restore(&machine, &file, &restored, Some(&key)).expect_ok();
        let database = open_read_only(&restored.join("warren.db"));
        check_database(&database, &open_read_only(&machine.data().join("warren.db")));
        for (writer, before) in writers.iter().zip(&before) {
            writer.check(before, &restored, &database);
            acknowledged += before.files + before.lines + before.name;
        }
        let address = format!("sqlite:{}", restored.join("warren.db").display());
        machine.run(&["audit", "verify", "--database", &address]).expect_ok();
    }
    stop.store(true, Ordering::Relaxed);
    for one in working {
        one.await.unwrap();
    }
    println!("backups under load: {acknowledged} acknowledgements looked for, none missing");
    server.kill();

    // It goes on from there: leases of the old process hold up nothing, boxes are opened anew, secrets open.
    let data = restored.to_str().unwrap();
    let server =
        machine.start_from(machine.command(&["up", "--json", "--listen", "127.0.0.1:0", "--data", data]));
    let client = client_of(&server);
    for writer in &writers {
        let command = Some("printf %s \"$API_KEY\" | wc -c > length; cat length log | head -1".to_owned());
        let ended = client.exec(&writer.workspace, &ExecRequest { command, ..ExecRequest::default() }).await;
        let ended = ended.unwrap();
        assert_eq!((ended.exit_code, ended.stdout.trim()), (Some(0), "10"), "{}: {ended:?}", writer.kind);
        client.put_bytes(&writer.workspace, "files/after", b"more".to_vec(), true).await.unwrap();
    }
    let sessions = machine.run(&["session", "ls", "--json", "--data", data]).expect_ok().json();
    assert_eq!(sessions, sessions_before);
    machine.run(&["audit", "verify", "--data", data]).expect_ok();
    server.signal(rustix::process::Signal::TERM);
    assert_eq!(server.wait(), Some(0));
}

/// A server with something to read for a while.
fn with_a_large_file(machine: &Machine) -> Server {
    let server = machine.start();
    let made = machine.run(&["ws", "create", "demo", "--provider", "local", "--json"]).expect_ok().json();
    let place = machine.data().join("workspaces").join(made["id"].as_str().unwrap());
    crate::warren::wait_until("its folder is there", || place.is_dir());
    for number in 0..6 {
        std::fs::write(place.join(format!("large-{number}")), vec![number; 4 << 20]).unwrap();
    }
    server
}

/// Runs a command and kills it after a while; true if it had ended by then.
fn run_and_kill(machine: &Machine, arguments: &[&str], after: Duration) -> bool {
    let mut command = machine.command(arguments);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while begun.elapsed() < after {
        if child.try_wait().unwrap().is_some() {
            return true;
        }
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    false
}

// O6, sec/D17: at any moment there is a whole backup, or none; a whole folder, or none
#[test]
fn a_killed_backup_is_none_and_a_killed_restore_leaves_no_folder() {
    let machine = Machine::new();
    let mut server = with_a_large_file(&machine);
    let whole = machine.path().join("whole.tar");
    let begun = Instant::now();
    machine.run(&["backup", whole.to_str().unwrap()]).expect_ok();
    let takes = begun.elapsed();
    let kills = wanted("WARREN_BACKUP_KILLS", KILLS);
    let part =
        |of: Duration, round: u64| of * u32::try_from(round + 1).unwrap() / u32::try_from(kills + 1).unwrap();
    let finished = AtomicU64::new(0);
    for round in 0..kills {
        // The one who asks.
        let target = machine.path().join(format!("killed-{round}.tar"));
        if run_and_kill(&machine, &["backup", target.to_str().unwrap()], part(takes, round)) {
            finished.fetch_add(1, Ordering::Relaxed);
        } else {
            assert!(!target.exists());
        }
        // The one who is asked.
        let target = machine.path().join(format!("cut-{round}.tar"));
        let mut command = machine.command(&["backup", target.to_str().unwrap(), "--json"]);
        let asking = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let begun = Instant::now();
        while begun.elapsed() < part(takes, round) / 2 {
            std::thread::yield_now();
        }
        server.kill();
        let told = asking.wait_with_output().unwrap();
        assert_eq!(told.status.success(), target.exists(), "{}", String::from_utf8_lossy(&told.stderr));
        server = machine.start();
        let left = std::fs::read_dir(machine.data()).unwrap().map(|entry| entry.unwrap().file_name());
        let left: Vec<_> = left.filter(|name| name.to_string_lossy().starts_with(".backup-")).collect();
        assert!(left.is_empty(), "{left:?}");
    }
    let data = machine.path().join("restored");
    let (file, folder) = (whole.to_str().unwrap(), data.to_str().unwrap());
    let begun = Instant::now();
    restore(&machine, &whole, &machine.path().join("to-measure"), None).expect_ok();
    let takes = begun.elapsed();
    for round in 0..kills {
        if !run_and_kill(&machine, &["restore", file, "--data", folder], part(takes, round)) {
            assert!(!data.join("warren.db").exists() && !data.exists());
        } else {
            finished.fetch_add(1, Ordering::Relaxed);
            std::fs::remove_dir_all(&data).unwrap();
        }
    }
    println!("{} kills in the middle, {} had ended before", 3 * kills, finished.load(Ordering::Relaxed));
    restore(&machine, &whole, &data, None).expect_ok();
    assert!(data.join("warren.db").exists());
    let left = std::fs::read_dir(machine.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(
        !left.into_iter().any(|name| name.to_string_lossy().contains("restoring")),
        "what was left is deleted"
    );
}

// O6
#[test]
fn a_restore_writes_over_nothing_and_takes_nothing_that_is_damaged() {
    let machine = Machine::new();
    let server = machine.start();
    machine.run(&["ws", "create", "demo", "--provider", "local"]).expect_ok();
    let file = machine.path().join("backup.tar");
    let path = file.to_str().unwrap();
    let made = machine.run(&["backup", path, "--with-key"]).expect_ok();
    assert!(made.stdout.starts_with(path.as_bytes()), "{made:?}");
    let again = machine.run(&["backup", path, "--json"]).expect_error(1, "local_file_failed");
    assert!(again["causes"][0].as_str().unwrap().contains("is there already"), "{again}");
    let mode = |path: &Path| std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(path).unwrap()) & 0o777;
    let key = machine.path().join("backup.tar.key");
    assert_eq!((mode(&file), mode(&key)), (0o600, 0o600));

    restore(&machine, &file, &machine.data(), None).expect_error(5, "data_folder_not_empty");
    let into = machine.path().join("new");
    std::fs::create_dir(&into).unwrap();
    std::fs::write(into.join("mine"), "").unwrap();
    restore(&machine, &file, &into, None).expect_error(5, "data_folder_not_empty");
    std::fs::remove_file(into.join("mine")).unwrap();
    let bytes = std::fs::read(&file).unwrap();
    let bad = machine.path().join("bad.tar");
    for (what, contents) in [
        ("cut", bytes[..bytes.len() / 2].to_vec()),
        ("bent", bytes.iter().enumerate().map(|(at, byte)| byte ^ u8::from(at == bytes.len() / 2)).collect()),
        ("other", b"no backup at all".repeat(100)),
    ] {
        std::fs::write(&bad, contents).unwrap();
        let error = restore(&machine, &bad, &into, None).expect_error(1, "backup_unusable");
        assert!(std::fs::read_dir(&into).unwrap().next().is_none(), "{what}: {error}");
    }
    let other = Machine::new();
    drop(other.start());
    let wrong = other.data().join("secrets.key");
    restore(&machine, &file, &into, Some(&wrong)).expect_error(1, "secret_key_unusable");
    assert!(std::fs::read_dir(&into).unwrap().next().is_none());
    let told = restore(&machine, &file, &into, None).expect_ok();
    assert!(told.stderr.contains("Secrets cannot be opened without the key"), "{told:?}");
    drop(server);

    // Without a server, from the folder itself.
    let offline = machine.path().join("offline.tar");
    machine.run(&["backup", offline.to_str().unwrap(), "--offline", "--with-key"]).expect_ok();
    restore(&machine, &offline, &machine.path().join("from-offline"), None).expect_ok();
    let _running = machine.start();
    let held = machine.path().join("held.tar");
    machine
        .run(&["backup", held.to_str().unwrap(), "--offline", "--json"])
        .expect_error(1, "data_folder_in_use");
    assert!(!held.exists());
}

// O6: a config that names a database would lead the new Warren to the old one's
#[test]
fn a_config_that_names_its_database_is_put_aside() {
    let machine = Machine::new();
    std::fs::create_dir_all(machine.data()).unwrap();
    let config = format!("[database]\nurl = \"sqlite:{}\"\n", machine.path().join("elsewhere.db").display());
    std::fs::write(machine.data().join("warren.toml"), config).unwrap();
    let server = machine.start();
    machine.run(&["ws", "create", "demo"]).expect_ok();
    let file = machine.path().join("backup.tar");
    machine.run(&["backup", file.to_str().unwrap()]).expect_ok();
    drop(server);
    let into = machine.path().join("new");
    let told = restore(&machine, &file, &into, None).expect_ok();
    assert!(told.stderr.contains("was put aside"), "{told:?}");
    assert!(into.join("warren.db").exists() && !into.join("warren.toml").exists());
    let data = into.to_str().unwrap();
    let _server =
        machine.start_from(machine.command(&["up", "--json", "--listen", "127.0.0.1:0", "--data", data]));
    assert!(machine.run(&["ws", "ls", "--data", data]).expect_ok().text().contains("demo"));
}
