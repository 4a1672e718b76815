//! Lists with rows that another version of Warren wrote: they name them, and lack nothing else. On both engines, since
//! what cannot be read is found out by each in its own way.

use std::sync::Arc;

use sqlx::Executor as _;
use warren_model::{OrgId, Principal, Task, TaskId, TaskOrigin, TaskState, WorkspaceId};
use warren_store::{Error, Page, Store, TaskMark, TaskQuery};
use warren_store_sql::postgres::PostgresOptions;
use warren_store_sql::sqlite::{SqliteOptions, SqliteStore};

use crate::postgres_server::Database;
use crate::rows::{self, NOW, id};

/// Writes five tasks and answers with them, the last changed first.
async fn five_tasks(store: &Arc<dyn Store>, workspace_id: WorkspaceId) -> Vec<TaskId> {
    let mut ids = Vec::new();
    for age_ms in 0..5 {
        let at = NOW.plus_ms(-age_ms);
        let task = Task {
            id: id(),
            org_id: OrgId::DEFAULT,
            workspace_id,
            context_id: "talk".into(),
            author: Principal::system("asker"),
            state: TaskState::Submitted,
            status_message: None,
            history: Vec::new(),
            artifacts: Vec::new(),
            metadata: serde_json::Map::new(),
            origin: TaskOrigin::default(),
            remote_id: None,
            created_at: at,
            updated_at: at,
            version: 1,
        };
        ids.push(task.id);
        let written: Result<(), Error> = store.write(move |tx| tx.insert_task(&task)).await;
        assert_eq!(written, Ok(()));
    }
    ids
}

type Told = (Vec<TaskId>, Vec<String>);

fn told<C>(page: &Page<Task, C>) -> Told {
    let problem = |row: &warren_store::Unreadable| {
        assert!(row.table == "tasks" && row.problem.contains("`moon:1`"), "{row:?}");
        row.id.clone()
    };
    (page.rows.iter().map(|task| task.id).collect(), page.unreadable.iter().map(problem).collect())
}

/// Pages of two: what cannot be read takes its place, also at the end of a page and as a whole page.
async fn assert_each_row_is_told_once(
    store: &Arc<dyn Store>,
    workspace_id: WorkspaceId,
    ids: &[TaskId],
    broken: &[TaskId],
) {
    let expected: Vec<Told> = ids
        .chunks(2)
        .map(|page| {
            let (broken, whole): (Vec<TaskId>, Vec<TaskId>) = page.iter().partition(|id| broken.contains(id));
            (whole, broken.iter().map(ToString::to_string).collect())
        })
        .collect();
    let query = TaskQuery::of(workspace_id, 2);
    let (mut pages, mut behind) = (Vec::new(), None::<TaskMark>);
    loop {
        let (query, from) = (query.clone(), behind);
        let page = store.read::<_, Error, _>(move |tx| tx.changed_tasks(&query, from)).await.unwrap();
        pages.push(told(&page));
        behind = page.next;
        if behind.is_none() {
            break;
        }
    }
    assert_eq!(pages, expected);

    let whole = TaskQuery { limit: 10, ..query };
    let page = store.read::<_, Error, _>(move |tx| tx.tasks(&whole)).await.unwrap();
    assert_eq!((page.rows.len(), page.unreadable.len(), page.next), (5 - broken.len(), broken.len(), None));
}

// X15
#[tokio::test]
async fn a_list_of_sqlite_names_what_it_cannot_read_and_lacks_nothing_else() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("warren.db");
    let store: Arc<dyn Store> =
        Arc::new(SqliteStore::open(path.clone(), SqliteOptions::default()).await.unwrap());
    let workspace = rows::workspace();
    rows::insert(&store, &workspace).await;
    let workspace_id = workspace.id;
    let ids = five_tasks(&store, workspace_id).await;
    for broken in [&ids[2..3], &ids[1..4], &ids[4..]] {
        let file = rusqlite::Connection::open(&path).unwrap();
        file.execute("UPDATE tasks SET author = 'system:asker'", []).unwrap();
        for id in broken {
            let sql = "UPDATE tasks SET author = 'moon:1' WHERE id = ?1";
            assert_eq!(file.execute(sql, [id.to_string()]).unwrap(), 1);
        }
        assert_each_row_is_told_once(&store, workspace_id, &ids, broken).await;
    }
}

// X15
#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_postgres_names_what_it_cannot_read_and_lacks_nothing_else() {
    let mut database = Database::create().await;
    let store = database.open(PostgresOptions { max_connections: 4, ..PostgresOptions::default() }).await;
    let workspace = rows::workspace();
    rows::insert(&store, &workspace).await;
    let workspace_id = workspace.id;
    let ids = five_tasks(&store, workspace_id).await;
    let mut connection = database.connect().await;
    for broken in [&ids[2..3], &ids[1..4], &ids[4..]] {
        connection.execute("UPDATE tasks SET author = 'system:asker'").await.unwrap();
        for id in broken {
            let sql = "UPDATE tasks SET author = 'moon:1' WHERE id = CAST($1 AS text)::uuid";
            let edit = sqlx::query(sql).bind(id.to_string());
            assert_eq!(connection.execute(edit).await.unwrap().rows_affected(), 1);
        }
        assert_each_row_is_told_once(&store, workspace_id, &ids, broken).await;
    }
}
