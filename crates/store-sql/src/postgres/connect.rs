//! Getting to the server: the pool, the schema, and what the server says of itself.

use std::str::FromStr as _;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgPool, Row as _};
use tokio::runtime::Handle;
use warren_store::Error;

use super::connection::PostgresConnection;
use super::error::translate;
use super::{BEGIN_WRITE, PostgresOptions, interrupted};
use crate::migrations::{self, POSTGRES};

/// A connection that has been idle for longer is asked whether it still lives before a caller gets it.
const IDLE_BEFORE_PING: Duration = Duration::from_secs(1);

/// The number of the advisory lock under which migrations run: the letters of `warren`.
const MIGRATION_LOCK: i64 = 0x7761_7272_656e;

const NOW: &str = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint";

/// Durable at least on this server; an operator's stronger wish (`remote_apply`) stands.
const MAKE_COMMITS_DURABLE: &str = "SELECT set_config('synchronous_commit', 'on', false) \
     WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply')";

pub(super) async fn open_pool(url: &str, options: &PostgresOptions) -> Result<PgPool, Error> {
    let timeout = |ms: u64| format!("{ms}ms");
    let connection = PgConnectOptions::from_str(url)
        .map_err(|_| Error::Refused("the Postgres URL cannot be read".into()))?
        .application_name("warren")
        .options([
            ("statement_timeout", timeout(options.statement_timeout_ms)),
            ("lock_timeout", timeout(options.lock_timeout_ms)),
            // Work inside a transaction never waits for anything but the database.
            ("idle_in_transaction_session_timeout", timeout(options.statement_timeout_ms)),
        ]);
    PgPoolOptions::new()
        // One for the listener.
        .max_connections(options.max_connections.max(1) + 1)
        .acquire_timeout(Duration::from_millis(options.acquire_timeout_ms))
        .test_before_acquire(false)
        .before_acquire(|connection, metadata| {
            Box::pin(
                async move { Ok(metadata.idle_for < IDLE_BEFORE_PING || connection.ping().await.is_ok()) },
            )
        })
        .after_connect(|connection, _| {
            Box::pin(async move { connection.execute(MAKE_COMMITS_DURABLE).await.map(drop) })
        })
        .connect_with(connection)
        .await
        .map_err(|error| translate(&error))
}

/// Applies what is missing, one transaction each, with other replicas kept out by an advisory lock that goes with
/// the transaction.
pub(super) async fn migrate(pool: &PgPool, options: &PostgresOptions) -> Result<(), Error> {
    let lock = format!(
        "SET LOCAL lock_timeout = {}; SET LOCAL statement_timeout = 0; SELECT pg_advisory_xact_lock({MIGRATION_LOCK})",
        options.lock_timeout_ms
    );
    let mut steps = 0;
    loop {
        let mut transaction = pool.begin_with(BEGIN_WRITE).await.map_err(|error| translate(&error))?;
        sqlx::raw_sql(AssertSqlSafe(lock.clone()))
            .execute(&mut *transaction)
            .await
            .map_err(|error| translate(&error))?;
        let connection = PostgresConnection::new(transaction, Handle::current());
        let step = tokio::task::spawn_blocking(move || apply_next(connection));
        if !step.await.map_err(|_| interrupted())?? {
            migrations::tell(steps);
            return Ok(());
        }
        steps += 1;
    }
}

fn apply_next(mut connection: PostgresConnection) -> Result<bool, Error> {
    match migrations::apply_next(&mut connection, POSTGRES, NOW) {
        Ok(has_more) => {
            connection.commit().map_err(|error| translate(&error))?;
            Ok(has_more)
        }
        Err(error) => {
            connection.rollback();
            Err(error)
        }
    }
}

/// What the server says of itself.
pub(super) struct Server {
    pub(super) version: String,
    pub(super) durability: String,
}

pub(super) async fn describe(pool: &PgPool) -> Result<Server, Error> {
    let sql = "SELECT current_setting('server_version'), current_setting('synchronous_commit'), \
         current_setting('fsync')";
    let row = pool.fetch_one(sql).await.map_err(|error| translate(&error))?;
    let text = |at: usize| row.try_get::<String, _>(at).map_err(|error| translate(&error));
    let (synchronous_commit, fsync) = (text(1)?, text(2)?);
    Ok(Server {
        version: text(0)?,
        durability: format!("synchronous_commit={synchronous_commit}, fsync={fsync}"),
    })
}
