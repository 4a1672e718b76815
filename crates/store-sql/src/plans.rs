//! What SQLite makes of a statement, for tests of those that are run with every message.

use rusqlite::Connection;

/// How its rows are found.
pub(crate) fn plan_of(sql: &str) -> String {
    column(&format!("EXPLAIN QUERY PLAN {sql}"), "detail").join("\n")
}

/// Whether each run makes a table of its own, which costs more than the rows that are looked for.
pub(crate) fn makes_a_table(sql: &str) -> bool {
    column(&format!("EXPLAIN {sql}"), "opcode").iter().any(|step| step == "OpenEphemeral")
}

fn column(sql: &str, name: &str) -> Vec<String> {
    let database = Connection::open_in_memory().unwrap();
    for migration in crate::migrations::SQLITE {
        database.execute_batch(migration.sql).unwrap();
    }
    let mut explained = database.prepare(sql).unwrap();
    let mut rows = explained.raw_query();
    let mut found = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        found.push(row.get(name).unwrap());
    }
    found
}
