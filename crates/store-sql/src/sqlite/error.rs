//! What SQLite's codes mean for a caller.

use rusqlite::ErrorCode;
use rusqlite::ffi;
use warren_store::Error;

pub(super) fn translate(error: rusqlite::Error) -> Error {
    match error {
        rusqlite::Error::SqliteFailure(failure, message) => {
            let message = message.unwrap_or_else(|| failure.to_string());
            translate_code(failure, message)
        }
        // Its own text would repeat the whole statement.
        rusqlite::Error::SqlInputError { error, msg, .. } => translate_code(error, msg),
        rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::IntegralValueOutOfRange(..)
        | rusqlite::Error::InvalidColumnType(..)
        | rusqlite::Error::Utf8Error(..) => Error::Corrupt(error.to_string()),
        other => Error::Refused(other.to_string()),
    }
}

fn translate_code(failure: ffi::Error, message: String) -> Error {
    if failure.extended_code == ffi::SQLITE_IOERR_SHMSIZE {
        return Error::Full;
    }
    match failure.code {
        ErrorCode::DiskFull => Error::Full,
        ErrorCode::ConstraintViolation => match failure.extended_code {
            ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY => Error::AlreadyExists,
            _ => Error::Refused(message),
        },
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => Error::Corrupt(message),
        ErrorCode::DatabaseBusy
        | ErrorCode::DatabaseLocked
        | ErrorCode::CannotOpen
        | ErrorCode::PermissionDenied
        | ErrorCode::ReadOnly
        | ErrorCode::SystemIoFailure
        | ErrorCode::FileLockingProtocolFailed
        | ErrorCode::OutOfMemory
        | ErrorCode::OperationInterrupted => Error::Unavailable(message),
        _ => Error::Refused(message),
    }
}

/// Whether the file can no longer be trusted to keep what is written. After a failed fsync the kernel may have
/// dropped the dirty pages, and a second fsync would succeed without them being on disk; so nothing further is
/// acknowledged by this process.
pub(super) fn ends_trust(error: &rusqlite::Error) -> bool {
    // The index of the log could not grow, since the disk is full. It holds nothing that is not in the log.
    if error.sqlite_error().is_some_and(|failure| failure.extended_code == ffi::SQLITE_IOERR_SHMSIZE) {
        return false;
    }
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::SystemIoFailure | ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(extended: i32) -> rusqlite::Error {
        rusqlite::Error::SqliteFailure(ffi::Error::new(extended), Some("why".into()))
    }

    #[test]
    fn codes_become_what_a_caller_can_do_about_them() {
        let unavailable = Error::Unavailable("why".into());
        let refused = Error::Refused("why".into());
        let table = [
            (ffi::SQLITE_FULL, Error::Full),
            (ffi::SQLITE_IOERR_SHMSIZE, Error::Full),
            (ffi::SQLITE_BUSY, unavailable.clone()),
            (ffi::SQLITE_IOERR_FSYNC, unavailable.clone()),
            (ffi::SQLITE_CANTOPEN, unavailable),
            (ffi::SQLITE_CONSTRAINT_UNIQUE, Error::AlreadyExists),
            (ffi::SQLITE_CONSTRAINT_PRIMARYKEY, Error::AlreadyExists),
            (ffi::SQLITE_CONSTRAINT_TRIGGER, refused.clone()),
            (ffi::SQLITE_CONSTRAINT_CHECK, refused.clone()),
            (ffi::SQLITE_CONSTRAINT_FOREIGNKEY, refused),
            (ffi::SQLITE_CORRUPT, Error::Corrupt("why".into())),
            (ffi::SQLITE_NOTADB, Error::Corrupt("why".into())),
        ];
        for (code, expected) in table {
            assert_eq!(translate(failure(code)), expected, "code {code}");
        }
    }

    #[test]
    fn a_statement_that_fails_is_not_repeated() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        let problem = connection.execute_batch("SELECT secret FROM nowhere").unwrap_err();
        assert_eq!(translate(problem), Error::Refused("no such table: nowhere".into()));
    }

    // Q20
    #[test]
    fn only_what_touches_the_disk_itself_ends_trust() {
        assert!(ends_trust(&failure(ffi::SQLITE_IOERR_FSYNC)));
        assert!(ends_trust(&failure(ffi::SQLITE_IOERR_WRITE)));
        assert!(ends_trust(&failure(ffi::SQLITE_CORRUPT)));
        for recoverable in
            [ffi::SQLITE_FULL, ffi::SQLITE_IOERR_SHMSIZE, ffi::SQLITE_BUSY, ffi::SQLITE_CONSTRAINT_CHECK]
        {
            assert!(!ends_trust(&failure(recoverable)), "code {recoverable}");
        }
    }
}
