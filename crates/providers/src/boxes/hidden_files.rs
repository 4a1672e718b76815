//! What the processes of a box hold of the disk that no name shows: files and folders that were deleted and are still open,
//! mapped, run or somebody's working directory, and descriptors that are on their way through a socket.
//!
//! Every thread is looked at by its own number: threads may have descriptors of their own, and the first thread of a process
//! may have ended. A mapped file can only be asked for its size by root; to others it is unseen, as is what is on its way.
//!
//! Processes come and go while they are looked at, and one could hand its files to the next faster than that. So a look
//! counts only if everybody who was there stayed and nobody came; after a few that did not, or one that takes too long, what
//! the box holds is unseen.
//!
//! Rules of Landlock would hold deleted files too, which is why process 1 lets no program make any.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// More than a box may have by default; numbers that come round must not keep us for ever.
const MAX_FAMILY: usize = 100_000;
/// A process has at most 65,530 mappings, at usually less than 200 bytes.
const MAX_MAPS_BYTES: u64 = 32 << 20;

/// Looks in a row, while processes come and go.
const MAX_LOOKS: usize = 4;
/// For all of them. Whoever has more to look at than this allows (mappings, mostly) made it so.
const MAX_TIME: Duration = Duration::from_millis(500);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct HiddenFiles {
    pub(crate) bytes: u64,
    pub(crate) entries: u64,
    /// There are some whose size nobody tells.
    pub(crate) has_unseen: bool,
}

/// What the processes that `list` tells of hold of a device.
pub(crate) fn hidden_files(list: impl Fn() -> Vec<u32>, device: u64) -> HiddenFiles {
    let until = Instant::now() + MAX_TIME;
    let mut found = Found::new(device);
    for _ in 0..MAX_LOOKS {
        found = Found::new(device);
        let before: BTreeSet<u32> = list().into_iter().collect();
        let have_stayed = found.look_at(&before, until);
        if have_stayed && list().iter().all(|process| before.contains(process)) {
            return found.told();
        }
        if Instant::now() >= until {
            break;
        }
    }
    HiddenFiles { has_unseen: true, ..found.told() }
}

struct Found {
    device: u64,
    bytes_of: BTreeMap<u64, u64>,
    has_unseen: bool,
    /// Threads that could be looked at, and those that could not.
    seen: usize,
    denied: usize,
}

impl Found {
    fn new(device: u64) -> Self {
        Self { device, bytes_of: BTreeMap::new(), has_unseen: false, seen: 0, denied: 0 }
    }

    fn told(&self) -> HiddenFiles {
        // Where nobody can be looked at, Warren lacks the right to; who alone cannot be looked at wanted it so.
        let is_evading = self.denied > 0 && self.seen > 0;
        HiddenFiles {
            bytes: self.bytes_of.values().sum(),
            entries: self.bytes_of.len() as u64,
            has_unseen: self.has_unseen || is_evading,
        }
    }

    /// Returns true if all of them were seen whole, in time.
    fn look_at(&mut self, processes: &BTreeSet<u32>, until: Instant) -> bool {
        let threads: Vec<Vec<u32>> = processes.iter().map(|&process| threads_of(process)).collect();
        for &thread in threads.iter().flatten() {
            if Instant::now() >= until {
                return false;
            }
            self.add_descriptors(thread);
        }
        // After the descriptors: what is open as well needs not be asked for.
        for threads in &threads {
            if Instant::now() >= until {
                return false;
            }
            // All threads share the memory; one that has ended shows none.
            let _ = threads.iter().any(|&thread| self.add_memory(thread));
        }
        processes.iter().all(|process| Path::new(&format!("/proc/{process}")).exists())
    }

    /// Folders too: one that had many names stays as large, and has none when it is deleted.
    fn add(&mut self, facts: &Metadata) {
        if facts.nlink() == 0 && facts.dev() == self.device {
            self.bytes_of.insert(facts.ino(), facts.blocks() * 512);
        }
    }

    fn add_descriptors(&mut self, thread: u32) {
        let folder = PathBuf::from(format!("/proc/{thread}"));
        for place in ["cwd", "root"] {
            if let Ok(facts) = std::fs::metadata(folder.join(place)) {
                self.add(&facts);
            }
        }
        let listed = std::fs::read_dir(folder.join("fd"));
        match &listed {
            Ok(_) => self.seen += 1,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => self.denied += 1,
            // Gone meanwhile.
            Err(_) => {}
        }
        for entry in listed.into_iter().flatten().flatten() {
            let Ok(facts) = std::fs::metadata(entry.path()) else { continue };
            if facts.file_type().is_socket() {
                self.has_unseen |= has_descriptors_in_flight(&folder.join("fdinfo").join(entry.file_name()));
            } else {
                self.add(&facts);
            }
        }
    }

    /// Whether the thread has memory at all.
    fn add_memory(&mut self, thread: u32) -> bool {
        let folder = PathBuf::from(format!("/proc/{thread}"));
        // The program itself may have been unmapped.
        if let Ok(facts) = std::fs::metadata(folder.join("exe")) {
            self.add(&facts);
        }
        let mut maps = Vec::new();
        let opened = File::open(folder.join("maps"));
        let read = opened.and_then(|file| file.take(MAX_MAPS_BYTES).read_to_end(&mut maps));
        if read.is_err() || maps.is_empty() {
            return false;
        }
        for mapping in String::from_utf8_lossy(&maps).lines().filter_map(DeletedMapping::parse) {
            if self.bytes_of.contains_key(&mapping.inode) {
                continue;
            }
            match std::fs::metadata(folder.join("map_files").join(mapping.range)) {
                Ok(facts) => self.add(&facts),
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    self.has_unseen |= mapping.device == self.device;
                }
                // Unmapped meanwhile.
                Err(_) => {}
            }
        }
        true
    }
}

/// As the kernel counts them, also those of connections that nobody has accepted; kernels before 5.10 do not tell.
fn has_descriptors_in_flight(about: &Path) -> bool {
    let text = std::fs::read_to_string(about).unwrap_or_default();
    let count = text.lines().find_map(|line| line.strip_prefix("scm_fds:"));
    count.is_some_and(|count| count.trim() != "0")
}

/// A line of `maps` about a file that has lost its name.
#[derive(Debug, PartialEq, Eq)]
struct DeletedMapping {
    /// As `map_files` names it.
    range: String,
    device: u64,
    inode: u64,
}

impl DeletedMapping {
    /// `7f00c000-7f00d000 rw-s 00000000 fe:00 1234   /workspace/file (deleted)`
    fn parse(line: &str) -> Option<Self> {
        let line = line.strip_suffix(" (deleted)")?;
        let mut words = line.split_ascii_whitespace();
        let (first, last) = words.next()?.split_once('-')?;
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        let (_rights, _offset) = (words.next()?, words.next()?);
        let (major, minor) = words.next()?.split_once(':')?;
        let device =
            rustix::fs::makedev(u32::from_str_radix(major, 16).ok()?, u32::from_str_radix(minor, 16).ok()?);
        let inode = words.next()?.parse().ok()?;
        Some(Self { range: format!("{:x}-{:x}", number(first)?, number(last)?), device, inode })
    }
}

fn threads_of(process: u32) -> Vec<u32> {
    let listed = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    listed.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// A process and all that descend from it, as far as the kernel tells; in a box that is everybody.
pub(crate) fn family_of(process: u32) -> Vec<u32> {
    let mut family = vec![process];
    let mut next = 0;
    while let Some(&parent) = family.get(next) {
        next += 1;
        for thread in threads_of(parent) {
            let children =
                std::fs::read_to_string(format!("/proc/{parent}/task/{thread}/children")).unwrap_or_default();
            family.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
        }
        if family.len() > MAX_FAMILY {
            break;
        }
    }
    family
}

#[cfg(test)]
mod tests {
    use super::*;

    // sec/S16
    #[test]
    fn lines_about_deleted_files_are_read_and_others_are_not() {
        let line =
            "7f00c000-7f00d000 rw-s 00000000 fe:00 1234                       /workspace/a b (deleted)";
        let expected = DeletedMapping {
            range: "7f00c000-7f00d000".into(),
            device: rustix::fs::makedev(0xfe, 0),
            inode: 1234,
        };
        assert_eq!(DeletedMapping::parse(line), Some(expected));
        let padded = "00400000-00401000 r-xp 00000000 08:01 7 /bin/x (deleted)";
        assert_eq!(DeletedMapping::parse(padded).unwrap().range, "400000-401000");
        for other in
            ["00400000-00401000 r-xp 00000000 08:01 7 /bin/x", "", " (deleted)", "x-y a b c:d e (deleted)"]
        {
            assert_eq!(DeletedMapping::parse(other), None, "{other}");
        }
    }

    // sec/S16: whoever is gone may have handed on what it held
    #[test]
    fn processes_that_come_and_go_while_they_are_looked_at_leave_something_unseen() {
        let own = std::process::id();
        let asked = std::cell::Cell::new(0);
        let counted = |stay: usize| {
            asked.set(0);
            hidden_files(
                || {
                    asked.set(asked.get() + 1);
                    // A number that nobody has, and then, for a while, others that come.
                    if asked.get() > stay { vec![own] } else { vec![own, u32::MAX - asked.get() as u32] }
                },
                0,
            )
        };
        assert!(!counted(0).has_unseen);
        assert_eq!(asked.get(), 2, "one look is enough where nobody moves");
        assert!(!counted(2).has_unseen, "a later look that saw all of them counts");
        assert!(counted(100).has_unseen);
        assert!(asked.get() <= 2 * MAX_LOOKS);
    }

    // sec/S16
    #[test]
    fn a_deleted_file_is_found_by_descriptor_and_what_has_a_name_is_not_counted() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let own = [std::process::id()];
        let device = std::fs::metadata(folder.path()).unwrap().dev();
        let path = folder.path().join("file");
        let mut file = File::create(&path).unwrap();
        std::io::Write::write_all(&mut file, &vec![1; 8 << 20]).unwrap();
        file.sync_all().unwrap();
        let inode = file.metadata().unwrap().ino();
        let held = |device| {
            let mut found = Found::new(device);
            threads_of(own[0]).into_iter().for_each(|thread| found.add_descriptors(thread));
            found.bytes_of.get(&inode).copied()
        };
        assert_eq!(held(device), None, "it has a name");
        std::fs::remove_file(&path).unwrap();
        assert!(held(device).unwrap() >= 8 << 20);
        assert_eq!(held(device + 1), None, "of another device");
        drop(file);
        assert_eq!(held(device), None);
    }
}
