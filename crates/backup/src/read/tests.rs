//! Whole archives: what survives them, and what is refused.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use proptest::prelude::*;
use warren_model::Timestamp;

use super::*;
use crate::manifest::{Cut, Engine};
use crate::tar::encode;
use crate::{CONFIG, DATABASE, Folder, Header, Unpacking, list_parts, unpack, write_folder};

const ID: &str = "01890a5d-ac96-774b-bcce-b302099a8057";
const OTHER: &str = "01890a5d-ac96-774b-bcce-b302099a8058";

fn header() -> Header {
    let cut = Cut {
        at: Timestamp::from_micros(5),
        engine: Engine::Sqlite,
        schema_version: 32,
        newest_event: 7,
        audit_head: "0:0".into(),
        key_ids: vec!["k".into()],
    };
    Header { warren: "0.1.0".into(), cut }
}

fn archive_of(data: &Path) -> Vec<u8> {
    let database = File::open(data.join(DATABASE)).unwrap();
    let before = list_parts(data).unwrap();
    let folder = Folder { data, before: &before, database: Some(&database), living: None };
    write_folder(Vec::new(), header(), &folder, || Timestamp::from_micros(9)).unwrap().0
}

/// Small, with one of everything that a workspace may have.
fn data_folder() -> tempfile::TempDir {
    let data = tempfile::tempdir().unwrap();
    fs::write(data.path().join(DATABASE), b"rows".repeat(300)).unwrap();
    fs::write(data.path().join(CONFIG), "[server]\n").unwrap();
    fs::write(data.path().join("secrets.key"), "a key").unwrap();
    fs::write(data.path().join("local_access.json"), "a token").unwrap();
    let place = data.path().join("workspaces").join(ID);
    fs::create_dir_all(place.join("deep").join("x".repeat(120))).unwrap();
    fs::write(place.join("a"), "first").unwrap();
    fs::set_permissions(place.join("a"), fs::Permissions::from_mode(0o4751)).unwrap();
    fs::hard_link(place.join("a"), place.join("second-name")).unwrap();
    symlink("../../../../etc/passwd", place.join("link")).unwrap();
    fs::write(place.join("deep").join("x".repeat(120)).join("f"), "far below").unwrap();
    let holes = File::create(place.join("holes")).unwrap();
    holes.set_len(1 << 33).unwrap();
    holes.write_all_at(b"in the middle", 1 << 32).unwrap();
    fs::create_dir_all(data.path().join("sandbox").join(OTHER).join("empty")).unwrap();
    fs::create_dir_all(data.path().join("sandbox/.box/etc")).unwrap();
    fs::create_dir_all(data.path().join("workspaces/shared/team-1")).unwrap();
    fs::write(data.path().join("workspaces/shared/team-1/notes"), "shared").unwrap();
    data
}

fn unpacked(archive: &[u8]) -> Result<(tempfile::TempDir, Manifest), BadArchive> {
    let into = tempfile::tempdir().unwrap();
    let gives_away = rustix::process::geteuid().is_root();
    let manifest = unpack(archive, Unpacking { into: into.path(), gives_away, new_owner: &mut |_, _| None })?;
    Ok((into, manifest))
}

// O6, sec/D17, sec/B01
#[test]
fn what_a_workspace_holds_survives_a_backup_and_nothing_else_is_in_it() {
    let data = data_folder();
    let archive = archive_of(data.path());
    assert!(archive.len() < 1 << 20, "holes are not written out: {}", archive.len());
    let (restored, manifest) = unpacked(&archive).unwrap();
    assert_eq!(manifest, verify(&*archive).unwrap());
    assert!(manifest.has_database() && manifest.changed_count == 0 && manifest.left_out_count == 0);
    let names: Vec<_> = manifest.parts.iter().map(|part| part.name.as_str()).collect();
    let workspace = format!("workspaces/{ID}");
    let expected = [DATABASE, CONFIG, &format!("sandbox/{OTHER}"), &workspace, "workspaces/shared/team-1"];
    assert_eq!(names, expected);
    let place = restored.path().join(&workspace);
    let text = |name: &str| fs::read_to_string(place.join(name)).unwrap();
    assert_eq!((text("a"), text("second-name")), ("first".into(), "first".into()));
    let (one, two) =
        (fs::metadata(place.join("a")).unwrap(), fs::metadata(place.join("second-name")).unwrap());
    assert_eq!(one.ino(), two.ino());
    assert_eq!(one.mode() & 0o7777, 0o751, "nothing runs as somebody else");
    assert_eq!(one.mtime(), fs::metadata(data.path().join(&workspace).join("a")).unwrap().mtime());
    assert_eq!(fs::read_link(place.join("link")).unwrap(), Path::new("../../../../etc/passwd"));
    assert_eq!(fs::read_to_string(place.join("deep").join("x".repeat(120)).join("f")).unwrap(), "far below");
    let holes = File::open(place.join("holes")).unwrap();
    assert_eq!(holes.metadata().unwrap().len(), 1 << 33);
    assert!(holes.metadata().unwrap().blocks() * 512 < 1 << 20);
    let mut middle = [0; 13];
    holes.read_exact_at(&mut middle, 1 << 32).unwrap();
    assert_eq!(&middle, b"in the middle");
    assert!(restored.path().join("sandbox").join(OTHER).join("empty").is_dir());
    for absent in ["secrets.key", "local_access.json", "sandbox/.box"] {
        assert!(!restored.path().join(absent).exists(), "{absent}");
    }
}

// O6: people look into it with their own tools
#[test]
#[expect(clippy::disallowed_methods, reason = "asks the system's own tar")]
fn the_system_s_tar_reads_it_too() {
    let data = data_folder();
    let (file, into) = (data.path().join("backup.tar"), tempfile::tempdir().unwrap());
    fs::write(&file, archive_of(data.path())).unwrap();
    let status = std::process::Command::new("tar").arg("-xf").arg(&file).arg("-C").arg(into.path()).status();
    assert!(status.unwrap().success());
    let place = into.path().join("workspaces").join(ID);
    assert_eq!(fs::read_to_string(place.join("second-name")).unwrap(), "first");
    let holes = File::open(place.join("holes")).unwrap();
    assert_eq!(holes.metadata().unwrap().len(), 1 << 33);
    assert!(into.path().join("manifest.json").exists());
}

// O6
#[test]
fn an_archive_that_ends_early_or_goes_on_is_no_backup() {
    let archive = archive_of(data_folder().path());
    for length in (0..archive.len()).step_by(211).chain([archive.len() - 1, archive.len() - BLOCK]) {
        assert!(verify(&archive[..length]).is_err(), "cut at {length} of {}", archive.len());
    }
    assert!(verify(&*[&archive[..], b"x"].concat()).is_err());
    assert!(matches!(verify(&b"PK\x03\x04"[..]), Err(BadArchive::NotABackup)));
    assert!(matches!(verify(&b""[..]), Err(BadArchive::NotABackup)));
}

// O6
#[test]
fn a_bit_that_is_not_as_it_was_is_found_wherever_it_is() {
    let archive = archive_of(data_folder().path());
    for at in (0..archive.len()).step_by(53) {
        let mut bent = archive.clone();
        bent[at] ^= 1 << (at % 8);
        assert!(verify(&*bent).is_err(), "byte {at} of {}", archive.len());
    }
}

fn entry(path: &str, kind: EntryKind) -> Entry {
    Entry {
        path: path.as_bytes().to_vec(),
        kind,
        mode: 0o755,
        uid: 0,
        gid: 0,
        modified: 0,
        stored_bytes: 0,
        sparse_length: None,
    }
}

fn put(archive: &mut Vec<u8>, entry: &Entry, contents: &[u8]) {
    archive.extend(encode(&Entry { stored_bytes: contents.len() as u64, ..entry.clone() }));
    archive.extend_from_slice(contents);
    archive.resize(archive.len() + padding(contents.len() as u64), 0);
}

/// An archive that somebody made up, with a manifest and an end that agree with it.
fn forged(format: u32, entries: &[Entry]) -> Vec<u8> {
    let mut archive = Vec::new();
    let file = |name: &str| entry(name, EntryKind::File);
    put(&mut archive, &file(MARK), format!("{{\"format\":{format},\"warren\":\"9\"}}").as_bytes());
    let mut parts: Vec<Part> = Vec::new();
    let mut hashes: Vec<Vec<u8>> = Vec::new();
    for entry in entries {
        let path = String::from_utf8_lossy(&entry.path).into_owned();
        let name = path.split('/').take(2).collect::<Vec<_>>().join("/");
        let begin = archive.len();
        let contents: &[u8] = if entry.kind == EntryKind::File { b"contents" } else { b"" };
        put(&mut archive, entry, contents);
        if parts.last().is_none_or(|part| part.name != name) {
            parts.push(Part { name, entries: 0, bytes: 0, sha256: String::new() });
            hashes.push(Vec::new());
        }
        let (part, bytes) = (parts.last_mut().unwrap(), hashes.last_mut().unwrap());
        bytes.extend_from_slice(&archive[begin..]);
        (part.entries, part.bytes) = (part.entries + 1, bytes.len() as u64);
        part.sha256 = hex(&Sha256::digest(bytes));
    }
    let manifest = Manifest {
        format,
        warren: "9".into(),
        made_by_uid: 0,
        cut: header().cut,
        ended_at: Timestamp::from_micros(9),
        parts,
        changed_count: 0,
        changed: Vec::new(),
        left_out_count: 0,
        left_out: Vec::new(),
    };
    put(&mut archive, &file(MANIFEST), &serde_json::to_vec(&manifest).unwrap());
    let digest = hex(&Sha256::digest(&archive));
    put(&mut archive, &file(END), format!("{digest}\n").as_bytes());
    archive.resize(archive.len() + 2 * BLOCK, 0);
    archive
}

// O6, sec/P03: an archive is unpacked by root and may come from anywhere
#[test]
fn a_hostile_archive_is_refused_as_a_whole() {
    let place = format!("workspaces/{ID}");
    let root = || entry(&place, EntryKind::Directory);
    let file = |path: &str| entry(path, EntryKind::File);
    let below = |path: &str| entry(&format!("{place}/{path}"), EntryKind::File);
    let link = |path: &str, to: &str| entry(&format!("{place}/{path}"), EntryKind::Symlink(to.into()));
    let name = |path: &str, of: &str| entry(&format!("{place}/{path}"), EntryKind::HardLink(of.into()));
    assert!(verify(&*forged(1, &[root(), below("a"), link("l", "/etc")])).is_ok(), "or this shows nothing");
    let hostile: Vec<(&str, Vec<Entry>)> = vec![
        ("..", vec![root(), below("../../../evil")]),
        (".. in the middle", vec![root(), below("a/../../b")]),
        ("absolute", vec![file("/etc/cron.d/evil")]),
        ("another file of the folder", vec![file("local_access.json")]),
        ("a key", vec![file("secrets.key")]),
        ("a provider's own folder", vec![entry("sandbox/.box", EntryKind::Directory)]),
        ("an id in another spelling", vec![entry(&place.to_uppercase(), EntryKind::Directory)]),
        ("through a link", vec![root(), link("l", "/etc"), below("l/evil")]),
        ("through a file", vec![root(), below("f"), below("f/evil")]),
        ("without its directory", vec![root(), below("missing/evil")]),
        ("no root", vec![below("evil")]),
        ("a link as a root", vec![entry(&place, EntryKind::Symlink("/etc".into()))]),
        ("a link as the database", vec![entry(DATABASE, EntryKind::Symlink("/etc/shadow".into()))]),
        ("twice", vec![root(), below("a"), below("a")]),
        ("a link in place of a file", vec![root(), below("a"), link("a", "/etc")]),
        ("a name for what is not there", vec![root(), name("a", "/etc/shadow")]),
        ("a name for a link", vec![root(), link("l", "/etc/shadow"), name("a", &format!("{place}/l"))]),
        (
            "a name for a file of another",
            vec![
                entry(&format!("sandbox/{OTHER}"), EntryKind::Directory),
                file(&format!("sandbox/{OTHER}/f")),
                root(),
                name("a", &format!("sandbox/{OTHER}/f")),
            ],
        ),
        ("a part in two", vec![root(), file(DATABASE), root()]),
        ("an empty name", vec![root(), below("a//b")]),
        ("a share that is a path", vec![entry("workspaces/shared/..", EntryKind::Directory)]),
    ];
    for (what, entries) in hostile {
        let archive = forged(1, &entries);
        assert!(verify(&*archive).is_err(), "{what}");
        let into = tempfile::tempdir().unwrap();
        let told = unpack(
            &*archive,
            Unpacking { into: into.path(), gives_away: false, new_owner: &mut |_, _| None },
        );
        assert!(told.is_err(), "{what}");
    }
    assert!(matches!(verify(&*forged(2, &[root()])), Err(BadArchive::Newer { found: 2 })));
    // A device, a fifo and what tar calls a volume.
    for flag in [b'3', b'4', b'6', b'V', b'L', b'g', 0] {
        let mut archive = forged(1, &[root(), below("a")]);
        let at = 2 * BLOCK + BLOCK;
        archive[at + 156] = flag;
        archive[at + 148..at + 156].fill(b' ');
        let sum: u32 = archive[at..at + BLOCK].iter().map(|byte| u32::from(*byte)).sum();
        archive[at + 148..at + 156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        assert!(verify(&*archive).is_err(), "{flag}");
    }
}

// O6
#[test]
fn a_file_that_is_written_to_while_it_is_read_is_whole_or_told() {
    let data = tempfile::tempdir().unwrap();
    fs::write(data.path().join(DATABASE), "rows").unwrap();
    let place = data.path().join("workspaces").join(ID);
    fs::create_dir_all(&place).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let file = File::create(place.join("rewritten")).unwrap();
            for round in (0_u8..=250).cycle() {
                if stop.load(std::sync::atomic::Ordering::Relaxed) {
                    return;
                }
                file.write_all_at(&vec![round; 1 << 16], 0).unwrap();
            }
        });
        for _ in 0..20 {
            let archive = archive_of(data.path());
            let (restored, manifest) = unpacked(&archive).unwrap();
            let mut bytes = Vec::new();
            let file = restored.path().join("workspaces").join(ID).join("rewritten");
            if let Ok(mut file) = File::open(file) {
                file.read_to_end(&mut bytes).unwrap();
            }
            let is_whole = bytes.iter().all(|byte| Some(byte) == bytes.first());
            assert!(is_whole || manifest.changed_count == 1, "{} bytes", bytes.len());
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

mod properties {
    use super::*;

    proptest! {
        // O6: whatever comes, an answer follows
        #[test]
        fn any_bytes_are_refused_without_a_panic(
            blocks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 512), 0..6),
            at in 0_usize..4_096,
            byte: u8,
        ) {
            let noise: Vec<u8> = blocks.concat();
            prop_assert!(verify(&*noise).is_err());
            let mut bent = forged(1, &[entry(&format!("workspaces/{ID}"), EntryKind::Directory)]);
            let at = at % bent.len();
            let is_changed = bent[at] != byte;
            bent[at] = byte;
            prop_assert_eq!(verify(&*bent).is_err(), is_changed);
        }
    }
}
