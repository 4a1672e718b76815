//! `warren restore`: a data folder from a backup, whole or not at all.
//!
//! ```text
//!   verify all ─▶ unpack beside the data folder, verifying again ─▶ check the database ─▶ key, config ─▶ sync ─▶ rename
//! ```

use std::fs::{self, DirBuilder, File};
use std::io::{self, BufReader, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock, syncfs};
use warren_backup::{CONFIG, DATABASE, Manifest, Unpacking, unpack, verify};
use warren_confined_fs::Owner;
use warren_model::ErrorCode;
use warren_providers::RestoredOwners;
use warren_service::Keyring;
use zeroize::Zeroizing;

use super::backup::{bad_archive, tell_noticed};
use crate::arguments::RestoreArguments;
use crate::context::Context;
use crate::database;
use crate::exit::Exit;
use crate::failure::{Outcome, Report};
use crate::up::KEY_FILE_NAME;

/// What a config is called that names a database of its own: it would lead the new Warren to the old one's.
const CONFIG_ASIDE: &str = "warren.toml.from-backup";

pub(crate) async fn run(context: &Context, arguments: RestoreArguments) -> Outcome<Exit> {
    let data = absolute(&context.data_path()?)?;
    refuse_used(&data)?;
    let file = &arguments.file;
    let manifest =
        verify(BufReader::with_capacity(1 << 20, open(file)?)).map_err(|error| bad_archive(file, &error))?;
    let key = arguments.key.as_deref().map(|path| read_key(path, &manifest)).transpose()?;
    let staging = Staging::new(&data)?;
    let is_root = rustix::process::geteuid().is_root();
    let mut owners = NewOwners::new(&data, manifest.made_by_uid);
    let unpacked = unpack(
        open(file)?,
        Unpacking {
            into: &staging.path,
            gives_away: is_root,
            new_owner: &mut |place, recorded| if is_root { owners.give(place, recorded) } else { None },
        },
    )
    .map_err(|error| bad_archive(file, &error))?;
    if unpacked != manifest {
        return Err(Report::new(ErrorCode::BackupUnusable)
            .because("the file changed while it was read")
            .into());
    }
    if manifest.has_database() {
        check_database(&staging.path.join(DATABASE)).await?;
    }
    let is_aside = put_config_aside(&staging.path)?;
    if let Some(key) = &key {
        write_private(&staging.path.join(KEY_FILE_NAME), key.as_bytes())?;
    }
    refuse_used(&data)?;
    staging.publish(&data)?;
    tell(context, &data, &manifest, key.is_some(), is_aside)?;
    Ok(Exit::OK)
}

fn open(file: &Path) -> Outcome<File> {
    File::open(file).map_err(|error| Report::local_file(file, &error).into())
}

fn absolute(data: &Path) -> Outcome<PathBuf> {
    let failed = |error: io::Error| Report::local_file(data, &error);
    let data = std::path::absolute(data).map_err(failed)?;
    let (Some(parent), Some(name)) = (data.parent(), data.file_name()) else {
        return Err(ErrorCode::DataFolderNotEmpty.into());
    };
    fs::create_dir_all(parent).map_err(failed)?;
    Ok(parent.canonicalize().map_err(failed)?.join(name))
}

fn refuse_used(data: &Path) -> Outcome<()> {
    let used =
        |why: &str| Report::new(ErrorCode::DataFolderNotEmpty).because(format!("{}: {why}", data.display()));
    match fs::symlink_metadata(data) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Report::local_file(data, &error).into()),
        Ok(metadata) if !metadata.is_dir() => Err(used("it is not a folder").into()),
        Ok(_) => match fs::read_dir(data).map(|mut entries| entries.next().is_none()) {
            Ok(true) => Ok(()),
            Ok(false) => Err(used("it is not empty").into()),
            Err(error) => Err(Report::local_file(data, &error).into()),
        },
    }
}

/// The keys of a file, if they are those that the backup needs.
fn read_key(path: &Path, manifest: &Manifest) -> Outcome<Zeroizing<String>> {
    let text = Zeroizing::new(fs::read_to_string(path).map_err(|error| Report::local_file(path, &error))?);
    let unusable =
        |why: String| Report::new(ErrorCode::SecretKeyUnusable).because(format!("{}: {why}", path.display()));
    let ring = Keyring::parse(&text).map_err(|error| unusable(error.to_string()))?;
    let has: Vec<String> = ring.ids().iter().map(ToString::to_string).collect();
    match manifest.cut.key_ids.first() {
        Some(needed) if !has.contains(needed) => Err(unusable(format!(
            "it has the keys {}, and secrets of the backup are sealed with {needed}",
            has.join(", ")
        ))
        .hint("Name the file that was written with this backup, or a later one.")
        .into()),
        _ => Ok(text),
    }
}

/// A newer one is refused here, and so is one that does not hold together although its bytes are those that were written.
async fn check_database(path: &Path) -> Outcome<()> {
    let unusable = |error| database::unusable(&error, &format!("sqlite:{}", path.display()));
    warren_store_sql::sqlite::inspect(path).await.map_err(unusable)?;
    warren_store_sql::sqlite::check_integrity(path).await.map_err(unusable)?;
    // To read a database may leave an empty log beside it.
    for suffix in ["-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        let _ = fs::remove_file(PathBuf::from(name));
    }
    Ok(())
}

/// Whether the config is not to be used as it is.
fn put_config_aside(folder: &Path) -> Outcome<bool> {
    let path = folder.join(CONFIG);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(Report::local_file(&path, &error).into()),
    };
    let names_database = match text.parse::<toml::Table>() {
        Ok(config) => config.get("database").is_some_and(|database| database.get("url").is_some()),
        Err(_) => true,
    };
    if names_database {
        fs::rename(&path, folder.join(CONFIG_ASIDE)).map_err(|error| Report::local_file(&path, &error))?;
    }
    Ok(names_database)
}

fn write_private(path: &Path, contents: &[u8]) -> Outcome<()> {
    let failed = |error: io::Error| Report::local_file(path, &error);
    let mut file =
        fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(failed)?;
    file.write_all(contents).and_then(|()| file.sync_all()).map_err(|error| failed(error).into())
}

fn tell(context: &Context, data: &Path, manifest: &Manifest, has_key: bool, is_aside: bool) -> Outcome<()> {
    if context.output.is_json {
        context.output.json(&serde_json::json!({
            "data": data.display().to_string(),
            "parts": manifest.parts.len(),
            "has_database": manifest.has_database(),
            "has_key": has_key,
            "cut": manifest.cut,
        }))?;
    } else {
        tell_noticed(context, manifest);
        context.output.line(&format!("{} (as of {})", data.display(), manifest.cut.at))?;
    }
    if !has_key {
        let needed = manifest.cut.key_ids.first().map_or("unknown", String::as_str);
        context.output.note(&format!(
            "Secrets cannot be opened without the key {needed}: put its file to {}, or set `[secrets]` in the config, before \
             `warren up`. Otherwise set the secrets anew.",
            data.join(KEY_FILE_NAME).display()
        ));
    }
    if is_aside {
        context.output.note(&format!(
            "The config of the backup names a database of its own, and was put aside: {}.",
            data.join(CONFIG_ASIDE).display()
        ));
    }
    context.output.note(&format!("Start it with `warren up --data {}`.", data.display()));
    Ok(())
}

/// Owners for the boxes' files, by the place that they will be in.
struct NewOwners {
    places: Vec<(&'static str, RestoredOwners)>,
}

impl NewOwners {
    fn new(data: &Path, made_by: u32) -> Self {
        let of = |place: &'static str| (place, RestoredOwners::of(&data.join(place), made_by));
        Self { places: vec![of("sandbox"), of("docker")] }
    }

    fn give(&mut self, place: &str, recorded: Owner) -> Option<Owner> {
        self.places.iter_mut().find(|(name, _)| *name == place)?.1.give(recorded)
    }
}

/// A folder beside the data folder, held by this process. One that a killed restore left is deleted by the next.
struct Staging {
    path: PathBuf,
    held: File,
}

impl Staging {
    fn new(data: &Path) -> Outcome<Self> {
        let name = data.file_name().unwrap_or_default().to_string_lossy();
        let path = data.with_file_name(format!(".{name}.restoring"));
        let failed = |error: io::Error| Report::local_file(&path, &error);
        loop {
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => break,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error).into()),
            }
            let left = File::open(&path).map_err(failed)?;
            if flock(&left, FlockOperation::NonBlockingLockExclusive).is_err() {
                return Err(Report::new(ErrorCode::DataFolderInUse)
                    .because(format!("another restore into {} is under way", data.display()))
                    .hint("Wait until it has ended.")
                    .into());
            }
            fs::remove_dir_all(&path).map_err(failed)?;
        }
        let held = File::open(&path).map_err(failed)?;
        flock(&held, FlockOperation::NonBlockingLockExclusive).map_err(|errno| failed(errno.into()))?;
        Ok(Self { path, held })
    }

    fn publish(&self, data: &Path) -> Outcome<()> {
        let failed = |error: io::Error| Report::local_file(data, &error);
        syncfs(&self.held).map_err(|errno| failed(errno.into()))?;
        // An empty folder is replaced; one that is not empty any more is an error.
        fs::rename(&self.path, data).map_err(failed)?;
        let parent = data.parent().unwrap_or(Path::new("/"));
        File::open(parent).and_then(|parent| parent.sync_all()).map_err(|error| failed(error).into())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // Gone if it was published.
        let _ = fs::remove_dir_all(&self.path);
    }
}
