//! What is taken of a data folder. The lock, the local token, keys, programs of boxes and what was on its way are not: a new
//! Warren makes its own.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use warren_model::{Timestamp, WorkspaceId};

use crate::manifest::Manifest;
use crate::write::{Header, Writer};
use crate::{CONFIG, PLACES};

const SHARED: &str = "shared";

/// A data folder, with what is known of it as of the cut.
#[derive(Debug)]
pub struct Folder<'a> {
    pub data: &'a Path,
    /// The parts that were there before the cut, from `list_parts`.
    pub before: &'a BTreeSet<String>,
    /// The copy of the database. Absent: files alone.
    pub database: Option<&'a File>,
    /// Workspaces that were not removed as of the cut; the folders of others are left out. Absent: not known.
    pub living: Option<&'a BTreeSet<WorkspaceId>>,
}

/// The parts that are files of workspaces, by their paths in the data folder.
pub fn list_parts(data: &Path) -> io::Result<BTreeSet<String>> {
    let mut parts = BTreeSet::new();
    for place in PLACES {
        for name in names_in(&data.join(place))? {
            if name.parse::<WorkspaceId>().is_ok_and(|id| id.to_string() == name) {
                parts.insert(format!("{place}/{name}"));
            }
        }
    }
    let shared = format!("{}/{SHARED}", PLACES[0]);
    parts.extend(names_in(&data.join(&shared))?.into_iter().map(|name| format!("{shared}/{name}")));
    Ok(parts)
}

/// Writes the archive of a data folder. `now` is asked once all is read.
pub fn write_folder<W: Write>(
    out: W,
    header: Header,
    folder: &Folder<'_>,
    now: impl Fn() -> Timestamp,
) -> io::Result<(W, Manifest)> {
    let mut writer = Writer::begin(out, header)?;
    if let Some(database) = folder.database {
        writer.add_database(database)?;
    }
    match File::open(folder.data.join(CONFIG)) {
        Ok(config) => writer.add_config(&config)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let now_there = list_parts(folder.data)?;
    for part in folder.before.union(&now_there) {
        let id = part.rsplit('/').next().and_then(|name| name.parse::<WorkspaceId>().ok());
        if let (Some(living), Some(id)) = (folder.living, id)
            && !living.contains(&id)
        {
            continue;
        }
        if !now_there.contains(part) {
            writer.note_left_out(part, "the workspace was removed while the backup was made");
            continue;
        }
        if is_in_volume(folder.data, part) {
            writer.note_left_out(part, "its files are in a volume of a Docker daemon elsewhere");
        }
        writer.add_tree(part, &folder.data.join(part))?;
    }
    writer.finish(now())
}

/// A record that the Docker provider keeps for those, beside an empty folder.
fn is_in_volume(data: &Path, part: &str) -> bool {
    part.strip_prefix("docker/")
        .is_some_and(|id| data.join("docker").join(".boxes").join(id).join("volume-owner").exists())
}

fn names_in(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            names.extend(entry.file_name().into_string().ok());
        }
    }
    Ok(names)
}
