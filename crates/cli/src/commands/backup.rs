//! `warren backup`: everything in one file, that is there whole and verified or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use futures_util::StreamExt as _;
use warren_api::client::FileBytes;
use warren_backup::{BadArchive, Cut, Engine, Folder, Header, Manifest, list_parts, verify, write_folder};
use warren_doors::{Clock as _, Entropy as _, OsEntropy, SystemClock};
use warren_model::ErrorCode;
use zeroize::Zeroizing;

use crate::access::LocalAccess;
use crate::arguments::BackupArguments;
use crate::config::Overrides;
use crate::context::Context;
use crate::data_folder::{self, DataFolder};
use crate::database;
use crate::exit::Exit;
use crate::failure::{Outcome, Report, of_output};
use crate::up::KEY_FILE_NAME;

pub(crate) async fn run(context: &Context, arguments: BackupArguments) -> Outcome<Exit> {
    if arguments.target == Path::new("-") {
        return to_stdout(context, &arguments).await;
    }
    let target = target_file(&arguments.target)?;
    // Before anything is read: without it the backup would be less than was asked for.
    let key = if arguments.with_key { Some(key_text(context, arguments.offline)?) } else { None };
    drop(key);
    let draft = Draft::new(&target)?;
    if arguments.offline {
        from_folder(context, &arguments, draft.writer()?).await?;
    } else {
        receive(context.client()?.backup(arguments.files_only).await?, draft.writer()?).await?;
    }
    let manifest = draft.verified()?;
    if arguments.with_key {
        // After the cut: a key that was made meanwhile is in it, and older ones still are.
        let text = key_text(context, arguments.offline)?;
        write_new(&key_beside(&target), text.as_bytes())?;
    }
    let bytes = draft.publish(&target)?;
    tell(context, &target, bytes, &manifest)?;
    if !arguments.with_key {
        context.output.note(
            "The keys of secrets are not in it. Keep them apart from it, or secrets cannot be opened after a restore \
             (`--with-key` writes them to a file of their own).",
        );
    }
    Ok(Exit::OK)
}

async fn to_stdout(context: &Context, arguments: &BackupArguments) -> Outcome<Exit> {
    if arguments.with_key || arguments.offline {
        return Err(Report::new(ErrorCode::InvalidUsage)
            .because("`-` goes with neither --with-key nor --offline")
            .hint("Name a file.")
            .into());
    }
    let mut contents = context.client()?.backup(arguments.files_only).await?;
    while let Some(piece) = contents.next().await {
        context.output.bytes(&piece?)?;
    }
    Ok(Exit::OK)
}

/// A folder gets a file named by the time.
fn target_file(target: &Path) -> Outcome<PathBuf> {
    let file = if target.is_dir() {
        let now = SystemClock.now().to_string();
        let second = now.get(..19).unwrap_or(&now).replace(':', "-");
        target.join(format!("warren-backup-{second}Z.tar"))
    } else {
        target.to_owned()
    };
    if fs::symlink_metadata(&file).is_ok() {
        return Err(Report::new(ErrorCode::LocalFileFailed)
            .because(format!("{} is there already", file.display()))
            .hint("Choose a new name, or name a folder: a backup never replaces another.")
            .into());
    }
    Ok(file)
}

async fn receive(mut contents: FileBytes, mut into: BufWriter<File>) -> Outcome<()> {
    while let Some(piece) = contents.next().await {
        into.write_all(&piece?).map_err(|error| of_output(&error))?;
    }
    into.flush().map_err(|error| of_output(&error))
}

/// Without a server: the lock of the folder makes sure that there is none.
async fn from_folder(context: &Context, arguments: &BackupArguments, out: BufWriter<File>) -> Outcome<()> {
    let data = context.data_path()?;
    if data_folder::sign_of_use(&data).is_none() {
        return Err(Report::new(ErrorCode::DataFolderUnusable)
            .because(format!("{} is not the data folder of a Warren", data.display()))
            .into());
    }
    let folder = DataFolder::open(&data)?;
    let config = context.load_config(&Overrides::new())?.config;
    let address = config.database.url.unwrap_or_else(|| folder.default_database());
    let Some(database) = address.strip_prefix("sqlite:") else {
        return Err(ErrorCode::BackupNeedsDump.into());
    };
    let database = Path::new(database.strip_prefix("//").unwrap_or(database));
    let failed = |error: &io::Error| Report::local_file(&folder.path, error);
    let before = list_parts(&folder.path).map_err(|error| failed(&error))?;
    let at = SystemClock.now();
    let copy = Draft::new(&folder.path.join("offline.db"))?;
    let copied = warren_store_sql::sqlite::copy(database, &copy.0)
        .await
        .map_err(|error| database::unusable(&error, &address))?;
    let key_ids = key_text(context, true)
        .ok()
        .and_then(|text| warren_service::Keyring::parse(&text).ok())
        .map(|ring| ring.ids().iter().map(ToString::to_string).collect())
        .unwrap_or_default();
    let cut = Cut {
        at,
        engine: Engine::Sqlite,
        schema_version: copied.schema_version,
        newest_event: copied.newest_event,
        audit_head: copied.audit_head.to_string(),
        key_ids,
    };
    let file = File::open(&copy.0).map_err(|error| failed(&error))?;
    let folder_of_files = Folder {
        data: &folder.path,
        before: &before,
        database: (!arguments.files_only).then_some(&file),
        living: Some(&copied.workspaces),
    };
    let header = Header { warren: warren_server::VERSION.to_owned(), cut };
    let written = write_folder(out, header, &folder_of_files, || SystemClock.now());
    written.map(drop).map_err(|error| failed(&error).into())
}

/// The keys in their file, which must be on this machine.
fn key_text(context: &Context, offline: bool) -> Outcome<Zeroizing<String>> {
    let data = context.data_path()?;
    let elsewhere = |why: &str| {
        Report::new(ErrorCode::SecretKeyUnusable)
            .because(why.to_owned())
            .hint("Take the backup without `--with-key`, and keep the keys as you keep them now.")
    };
    if !offline {
        let local = LocalAccess::read(&data)?.map(|local| local.url);
        let asked = context.url()?;
        if local.is_none_or(|local| local.trim_end_matches('/') != asked.trim_end_matches('/')) {
            return Err(elsewhere(
                "the server's data folder is not on this machine, or is not the one named",
            )
            .into());
        }
    }
    let secrets = context.load_config(&Overrides::new())?.config.secrets;
    if secrets.key_env.is_some() || !secrets.key_command.is_empty() {
        return Err(
            elsewhere("the config takes the keys from a variable or a command, not from a file").into()
        );
    }
    let path = secrets.key_file.map_or_else(|| data.join(KEY_FILE_NAME), PathBuf::from);
    let text = Zeroizing::new(fs::read_to_string(&path).map_err(|error| Report::local_file(&path, &error))?);
    Ok(text)
}

fn key_beside(target: &Path) -> PathBuf {
    let mut name = target.as_os_str().to_owned();
    name.push(".key");
    PathBuf::from(name)
}

fn write_new(path: &Path, contents: &[u8]) -> Outcome<()> {
    let failed = |error: io::Error| Report::local_file(path, &error);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(failed)?;
    file.write_all(contents).and_then(|()| file.sync_all()).map_err(|error| failed(error).into())
}

fn tell(context: &Context, target: &Path, bytes: u64, manifest: &Manifest) -> Outcome<()> {
    if context.output.is_json {
        return context.output.json(&serde_json::json!({
            "file": target.display().to_string(),
            "bytes": bytes,
            "parts": manifest.parts.len(),
            "has_database": manifest.has_database(),
            "cut": manifest.cut,
            "changed_count": manifest.changed_count,
            "changed": manifest.changed,
            "left_out_count": manifest.left_out_count,
            "left_out": manifest.left_out,
        }));
    }
    tell_noticed(context, manifest);
    context.output.line(&format!("{} ({bytes} bytes, as of {})", target.display(), manifest.cut.at))
}

/// What somebody should know who relies on it.
pub(super) fn tell_noticed(context: &Context, manifest: &Manifest) {
    if manifest.changed_count > 0 {
        let some = manifest.changed.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
        context.output.note(&format!(
            "{} files were written to while they were read, and may mix old and new: {some}{}",
            manifest.changed_count,
            if manifest.changed_count > 3 { " …" } else { "" }
        ));
    }
    for left_out in manifest.left_out.iter().take(10) {
        context.output.note(&format!("Not in it: {}: {}", left_out.path, left_out.why));
    }
    if manifest.left_out_count > 10 {
        context.output.note(&format!("Not in it, in all: {}", manifest.left_out_count));
    }
    if !manifest.has_database() {
        context.output.note(&format!(
            "It has no database. Back that up with `pg_dump`, from before this; as of the cut its newest event is {}.",
            manifest.cut.newest_event
        ));
    }
}

/// Why an archive is not taken, as people are told.
pub(super) fn bad_archive(file: &Path, error: &BadArchive) -> Report {
    let code = match error {
        BadArchive::Newer { .. } => ErrorCode::BackupNewer,
        BadArchive::NotABackup | BadArchive::CutOff | BadArchive::Damaged(_) => ErrorCode::BackupUnusable,
        BadArchive::Read(_) | BadArchive::Write(_) => ErrorCode::LocalFileFailed,
    };
    let report = Report::new(code).because(format!("{}: {error}", file.display()));
    match error {
        BadArchive::Read(cause) | BadArchive::Write(cause) => report.because(cause.to_string()),
        _ => report,
    }
}

/// A file beside its target, private, and gone unless it is published.
struct Draft(PathBuf);

impl Draft {
    fn new(target: &Path) -> Outcome<Self> {
        let mut random = [0; 8];
        OsEntropy.fill(&mut random);
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let path = target.with_file_name(format!(".{name}.{:016x}.part", u64::from_le_bytes(random)));
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .map_err(|error| Report::local_file(&path, &error))?;
        Ok(Self(path))
    }

    fn writer(&self) -> Outcome<BufWriter<File>> {
        let file = OpenOptions::new().write(true).open(&self.0);
        let file = file.map_err(|error| Report::local_file(&self.0, &error))?;
        Ok(BufWriter::with_capacity(1 << 20, file))
    }

    /// Reads back what was written.
    fn verified(&self) -> Outcome<Manifest> {
        let file = File::open(&self.0).map_err(|error| Report::local_file(&self.0, &error))?;
        file.sync_all().map_err(|error| Report::local_file(&self.0, &error))?;
        let verified = verify(BufReader::with_capacity(1 << 20, file));
        verified.map_err(|error| match error {
            BadArchive::CutOff => Report::new(ErrorCode::ServerUnreachable)
                .because("the server ended before the backup did; nothing was written")
                .into(),
            other => bad_archive(&self.0, &other).into(),
        })
    }

    /// Gives it its name, unless somebody else took that meanwhile. Returns how long it is.
    fn publish(&self, target: &Path) -> Outcome<u64> {
        let failed = |error: io::Error| Report::local_file(target, &error);
        let bytes = fs::metadata(&self.0).map_err(failed)?.len();
        fs::hard_link(&self.0, target).map_err(failed)?;
        let folder =
            target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
        Ok(bytes)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
