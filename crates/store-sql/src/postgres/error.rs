//! What Postgres' codes mean for a caller.

use warren_store::Error;

pub(super) fn translate(error: &sqlx::Error) -> Error {
    match error {
        sqlx::Error::Database(problem) => {
            let code = problem.code().unwrap_or_default();
            translate_code(&code, problem.message())
        }
        sqlx::Error::Decode(_)
        | sqlx::Error::ColumnDecode { .. }
        | sqlx::Error::ColumnIndexOutOfBounds { .. }
        | sqlx::Error::ColumnNotFound(_)
        | sqlx::Error::RowNotFound => Error::Corrupt(error.to_string()),
        sqlx::Error::Encode(_) | sqlx::Error::InvalidArgument(_) => Error::Refused(error.to_string()),
        sqlx::Error::PoolTimedOut => Error::Unavailable("no connection to Postgres in time".into()),
        sqlx::Error::PoolClosed => Error::Unavailable("it was closed".into()),
        other => Error::Unavailable(other.to_string()),
    }
}

/// By SQLSTATE: whole classes first where the class says enough.
fn translate_code(code: &str, message: &str) -> Error {
    let text = || format!("{message} (SQLSTATE {code})");
    match code {
        "23505" => Error::AlreadyExists,
        // Disk full.
        "53100" => Error::Full,
        // Damaged data or index.
        "XX001" | "XX002" => Error::Corrupt(text()),
        // A statement that ran too long, a lock that did not come, a server that became a read-only standby.
        "57014" | "55P03" | "25006" | "3D000" => Error::Unavailable(text()),
        // Connection, sign-in, asked to run again, resources, operator, system.
        _ if ["08", "28", "40", "53", "57", "58"].iter().any(|class| code.starts_with(class)) => {
            Error::Unavailable(text())
        }
        _ => Error::Refused(message.to_owned()),
    }
}

/// A deadlock or a serialization failure: the transaction was undone, and running it again may succeed.
pub(super) fn asks_to_run_again(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    matches!(code.as_deref(), Some("40001" | "40P01"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_become_what_a_caller_can_do_about_them() {
        let unavailable = |code| Error::Unavailable(format!("why (SQLSTATE {code})"));
        for code in ["08006", "28P01", "3D000", "40P01", "53300", "55P03", "57014", "57P01", "57P03"] {
            assert_eq!(translate_code(code, "why"), unavailable(code));
        }
        assert_eq!(translate_code("23505", "why"), Error::AlreadyExists);
        assert_eq!(translate_code("53100", "why"), Error::Full);
        assert_eq!(translate_code("XX001", "why"), Error::Corrupt("why (SQLSTATE XX001)".into()));
        for code in ["23503", "23514", "22021", "42601"] {
            assert_eq!(translate_code(code, "why"), Error::Refused("why".into()), "{code}");
        }
        let lost = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
        assert!(matches!(translate(&sqlx::Error::Io(lost)), Error::Unavailable(_)));
    }
}
