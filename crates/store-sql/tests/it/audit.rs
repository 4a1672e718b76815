//! The audit log against somebody with the database in their hands (F35, sec/U09): SQL refuses to change it, and whoever
//! takes the refusal away is found out.

use std::sync::Arc;

use sqlx::{AssertSqlSafe, Connection as _, Executor as _};
use tempfile::TempDir;
use warren_model::AuditHead;
use warren_rules::access::audit::{BreakKind, Broken, Verification};
use warren_store::{AuditQuery, Error, Store};
use warren_store_sql::postgres::PostgresOptions;
use warren_store_sql::sqlite::{SqliteOptions, SqliteStore};

use crate::postgres_server;
use crate::rows;

/// A database and a way past Warren into it.
enum Bed {
    Sqlite { store: Arc<dyn Store>, folder: TempDir },
    Postgres { store: Arc<dyn Store>, database: postgres_server::Database },
}

impl Bed {
    async fn sqlite() -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let opened = SqliteStore::open(folder.path().join("warren.db"), SqliteOptions::default()).await;
        Self::Sqlite { store: Arc::new(opened.unwrap()), folder }
    }

    async fn postgres() -> Self {
        let mut database = postgres_server::Database::create().await;
        let store = database.open(PostgresOptions::default()).await;
        Self::Postgres { store, database }
    }

    async fn both() -> [Self; 2] {
        [Self::sqlite().await, Self::postgres().await]
    }

    fn store(&self) -> &Arc<dyn Store> {
        match self {
            Self::Sqlite { store, .. } | Self::Postgres { store, .. } => store,
        }
    }

    /// Runs SQL beside Warren, and answers with what the database said against it.
    async fn run(&self, sql: &str) -> Result<(), String> {
        match self {
            Self::Sqlite { folder, .. } => {
                let connection = rusqlite::Connection::open(folder.path().join("warren.db")).unwrap();
                connection.execute_batch(sql).map_err(|error| error.to_string())
            }
            Self::Postgres { database, .. } => {
                let mut connection = database.connect().await;
                let done = connection.execute(AssertSqlSafe(sql.to_owned())).await;
                connection.close().await.unwrap();
                done.map(drop).map_err(|error| error.to_string())
            }
        }
    }

    /// What somebody does who owns the database and wants to edit the log.
    async fn take_the_guards_away(&self) {
        let sql = match self {
            Self::Sqlite { .. } => {
                "DROP TRIGGER audit_is_not_changed; DROP TRIGGER audit_is_not_deleted; \
                 DROP TRIGGER audit_is_not_replaced"
            }
            Self::Postgres { .. } => "ALTER TABLE audit DISABLE TRIGGER ALL",
        };
        self.run(sql).await.unwrap();
    }

    async fn fill(&self) {
        for number in 1..=6 {
            append(self.store(), &format!("w{number}")).await;
        }
    }

    async fn head(&self) -> AuditHead {
        self.store().read(|tx| tx.audit_head()).await.unwrap()
    }

    async fn verify(&self, noted: Option<AuditHead>) -> Result<AuditHead, Broken> {
        let read: Result<_, Error> =
            self.store().read(|tx| Ok((tx.audit(&AuditQuery::all(0, 100))?.rows, tx.audit_head()?))).await;
        let (entries, recorded) = read.unwrap();
        let mut verification = Verification::new(noted.into_iter().chain([recorded]));
        entries.iter().try_for_each(|entry| verification.push(entry))?;
        verification.finish()
    }
}

async fn append(store: &Arc<dyn Store>, target: &str) {
    let entry = rows::audit_entry(target);
    let appended: Result<(), Error> = store.write(move |tx| tx.append_audit(&entry)).await;
    appended.unwrap();
}

fn broken(seq: u64, why: BreakKind) -> Result<AuditHead, Broken> {
    Err(Broken { seq, why })
}

// F35
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_is_only_appended_to_in_sql_too() {
    for bed in Bed::both().await {
        bed.fill().await;
        let head = bed.head().await;
        let mut attempts = vec![
            "UPDATE audit SET target_id = 'x' WHERE seq = 2",
            "UPDATE audit SET seq = 9 WHERE seq = 2",
            "DELETE FROM audit WHERE seq = 6",
            "DELETE FROM audit",
        ];
        attempts.push(match &bed {
            Bed::Sqlite { .. } => "INSERT OR REPLACE INTO audit SELECT * FROM audit WHERE seq = 2",
            Bed::Postgres { .. } => "TRUNCATE audit",
        });
        for sql in attempts {
            let refused = bed.run(sql).await.unwrap_err();
            assert!(refused.contains("only appended to"), "{sql}: {refused}");
        }
        assert_eq!(bed.verify(Some(head)).await, Ok(head));
        append(bed.store(), "w7").await;
        assert_eq!(bed.verify(Some(head)).await, Ok(bed.head().await), "and goes on");
    }
}

// F35, sec/U09
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edited_deleted_or_reordered_row_is_named() {
    let cases = [
        ("UPDATE audit SET principal = 'user:x' WHERE seq = 3", broken(3, BreakKind::Edited)),
        ("UPDATE audit SET details = '{\"a\":1}' WHERE seq = 1", broken(1, BreakKind::Edited)),
        ("UPDATE audit SET action = 'nothing' WHERE seq = 6", broken(6, BreakKind::Edited)),
        ("DELETE FROM audit WHERE seq = 4", broken(4, BreakKind::Missing)),
        ("DELETE FROM audit WHERE seq = 1", broken(1, BreakKind::Missing)),
        (
            "UPDATE audit SET seq = 99 WHERE seq = 2; UPDATE audit SET seq = 2 WHERE seq = 3; \
             UPDATE audit SET seq = 3 WHERE seq = 99",
            broken(2, BreakKind::Edited),
        ),
    ];
    for (sql, expected) in cases {
        for bed in Bed::both().await {
            bed.fill().await;
            bed.take_the_guards_away().await;
            bed.run(sql).await.unwrap();
            assert_eq!(bed.verify(None).await, expected, "{sql}");
        }
    }
}

// F35, sec/U09
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_was_cut_is_found_out() {
    for bed in Bed::both().await {
        bed.fill().await;
        let noted = bed.head().await;
        bed.take_the_guards_away().await;
        bed.run("DELETE FROM audit WHERE seq > 4").await.unwrap();
        assert_eq!(bed.verify(None).await, broken(5, BreakKind::CutOff), "the counter remembers");
        // Who sets the counter back too, and goes on, is found out by a head that was noted elsewhere.
        bed.run(
            "UPDATE audit_head SET newest = 4, hash = (SELECT hash FROM audit WHERE seq = 4) WHERE id = 1",
        )
        .await
        .unwrap();
        assert!(bed.verify(None).await.is_ok(), "nothing in the database tells");
        assert_eq!(bed.verify(Some(noted)).await, broken(5, BreakKind::CutOff));
        append(bed.store(), "forged").await;
        append(bed.store(), "forged").await;
        assert_eq!(bed.verify(Some(noted)).await, broken(6, BreakKind::NotAsNoted));
    }
}
