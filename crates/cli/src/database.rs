//! The database as it is found before anything is made or changed: a lost one is not replaced by an empty one.

use std::fs;
use std::path::Path;

use warren_model::ErrorCode;
use warren_store::{Error, StoreHealth};

use crate::config::redacted_url;
use crate::data_folder;
use crate::failure::Report;

/// What is there.
#[derive(Debug)]
pub(crate) enum Found {
    /// A server elsewhere; only connecting tells.
    Postgres,
    /// Nothing yet, and no sign that there ever was.
    Nothing,
    Sqlite(StoreHealth),
}

/// Looks at the database of a data folder and changes nothing. A damaged, newer or foreign one is refused, and so is
/// an absent one where the folder shows that there was one: a new database would hide the loss.
pub(crate) async fn look(address: &str, data: &Path) -> Result<Found, Report> {
    let Some(path) = address.strip_prefix("sqlite:") else {
        return Ok(Found::Postgres);
    };
    let path = Path::new(path.strip_prefix("//").unwrap_or(path));
    // SQLite deletes the log of an empty database when it opens it, so that it must not even look at one.
    if is_absent_or_empty(path) {
        return match data_folder::sign_of_use(data).or_else(|| orphaned_log(path)) {
            Some(sign) => Err(lost(address, "is not there or empty", &sign)),
            None => Ok(Found::Nothing),
        };
    }
    let health = warren_store_sql::sqlite::inspect(path).await.map_err(|error| unusable(&error, address))?;
    match data_folder::sign_of_use(data) {
        Some(sign) if health.schema_version == 0 => Err(lost(address, "has nothing in it", &sign)),
        None if health.schema_version == 0 => Ok(Found::Nothing),
        _ => Ok(Found::Sqlite(health)),
    }
}

fn is_absent_or_empty(path: &Path) -> bool {
    match fs::metadata(path) {
        Ok(metadata) => metadata.is_file() && metadata.len() == 0,
        // Whatever else is wrong with the place is told by whoever opens it.
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

/// What was committed and not yet moved into the database.
fn orphaned_log(database: &Path) -> Option<String> {
    let mut log = database.as_os_str().to_owned();
    log.push("-wal");
    let metadata = fs::metadata(&log).ok()?;
    (metadata.len() > 0).then(|| format!("{} holds changes of it", Path::new(&log).display()))
}

fn lost(address: &str, what: &str, sign: &str) -> Report {
    Report::new(ErrorCode::DatabaseDamaged)
        .because(format!("{} {what}, but {sign}", redacted_url(address)))
        .hint(
            "Restore it with its `-wal` file from a backup, or name the one that was used with `--database`. To begin \
             anew, choose another folder with `--data`, or move this one away.",
        )
}

/// Why a database cannot be used. Its address may hold a password.
pub(crate) fn unusable(error: &Error, address: &str) -> Report {
    let code = match error {
        Error::Newer { .. } => ErrorCode::DatabaseNewer,
        Error::ChecksumMismatch { .. } | Error::Corrupt(_) | Error::Refused(_) => ErrorCode::DatabaseDamaged,
        Error::Full => ErrorCode::StorageFull,
        Error::Unavailable(_)
        | Error::Conflict
        | Error::AlreadyExists
        | Error::LeaseLost
        | Error::InUse
        | Error::TooLarge { .. } => ErrorCode::PlatformUnavailable,
    };
    let report = Report::new(code).because(format!("{}: {}", redacted_url(address), why(error)));
    match error {
        Error::Corrupt(_) | Error::Refused(_) => report.hint(
            "Restore a backup, or check that `database.url` names a database that Warren made. Nothing was changed.",
        ),
        Error::Unavailable(_)
        | Error::Conflict
        | Error::AlreadyExists
        | Error::LeaseLost
        | Error::InUse
        | Error::TooLarge { .. } => {
            report.hint("Check that the database runs and that `database.url` is right, then start again.")
        }
        Error::Newer { .. } | Error::ChecksumMismatch { .. } | Error::Full => report,
    }
}

/// One line: what an engine says may go on for a page.
fn why(error: &Error) -> String {
    let text = match error {
        Error::Corrupt(text) | Error::Refused(text) => text.clone(),
        other => other.to_string(),
    };
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    // S10
    #[test]
    fn a_damaged_database_is_told_as_such_in_one_line() {
        for error in [Error::Corrupt("bad page\nCREATE".into()), Error::Refused("bad page\nCREATE".into())] {
            let report = unusable(&error, "postgres://me:hunter2@db/warren");
            assert_eq!(report.code, "database_damaged");
            assert_eq!(report.causes, ["postgres://me:***@db/warren: bad page"]);
        }
        assert_eq!(unusable(&Error::Unavailable("gone".into()), "sqlite:x").code, "platform_unavailable");
    }
}
