//! Lists with rows that another version of Warren wrote: they name them, and lack nothing else. On both engines, since
//! what cannot be read is found out by each in its own way.

use std::sync::Arc;

use sqlx::Executor as _;
use warren_model::{
    KeyId, OrgId, Principal, SealedSecret, SecretOwner, Task, TaskId, Template, Token, TokenKind,
    TokenSecret, Vitals, Workspace, WorkspaceId,
};
use warren_store::{
    AuditQuery, Error, EventQuery, Page, SecretKey, SecretQuery, Store, TaskMark, TaskQuery, TokenQuery,
    WorkspaceQuery,
};
use warren_store_sql::postgres::PostgresOptions;
use warren_store_sql::sqlite::{SqliteOptions, SqliteStore};

use crate::postgres_server::Database;
use crate::rows::{self, NOW, id};

/// Writes five tasks and answers with them, the last changed first.
async fn five_tasks(store: &Arc<dyn Store>, workspace_id: WorkspaceId) -> Vec<TaskId> {
    let mut ids = Vec::new();
    for age_ms in 0..5 {
        let at = NOW.plus_ms(-age_ms);
        let author = Principal::system("asker");
        let task = Task::submitted(id(), OrgId::DEFAULT, workspace_id, "talk", author, at);
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

/// What names each of three rows in three lists, with the statement that breaks the second.
struct Three {
    workspaces: [Workspace; 3],
    tokens: [Token; 3],
    secrets: [SealedSecret; 3],
    templates: [Template; 3],
}

impl Three {
    async fn write(store: &Arc<dyn Store>) -> Self {
        let mut workspaces = [(); 3].map(|()| rows::workspace());
        workspaces.sort_by_key(|row| row.id);
        let mut tokens = [1, 2, 3].map(|seed| rows::token(&TokenSecret::new(TokenKind::Admin, [seed; 32])));
        tokens.sort_by_key(|row| row.id);
        // As long as an id, so that one is not taken for the other.
        let secrets = ["A234567890123456", "B234567890123456", "C234567890123456"].map(rows::secret);
        let templates = ["a", "b", "c"].map(rows::template);
        let three = Self { workspaces, tokens, secrets, templates };
        let (workspaces, tokens, secrets, templates) =
            (three.workspaces.clone(), three.tokens.clone(), three.secrets.clone(), three.templates.clone());
        let written: Result<(), Error> = store
            .write(move |tx| {
                workspaces.iter().try_for_each(|row| tx.insert_workspace(row))?;
                workspaces.iter().try_for_each(|row| tx.put_vitals(row.id, &Vitals::default()))?;
                tokens.iter().try_for_each(|row| tx.insert_token(row))?;
                secrets.iter().try_for_each(|row| tx.insert_secret(row))?;
                templates.iter().try_for_each(|row| tx.insert_template(row))?;
                for number in 0..3 {
                    tx.append_event(&rows::event(number.to_string()))?;
                    tx.append_audit(&rows::audit_entry("w"))?;
                }
                Ok(())
            })
            .await;
        assert_eq!(written, Ok(()));
        three
    }

    fn edits(&self) -> [String; 7] {
        let (workspace, token, secret) = (self.workspaces[1].id, self.tokens[1].id, &self.secrets[1].name);
        [
            format!("UPDATE workspaces SET spec = '{{}}' WHERE id = '{workspace}'"),
            format!("UPDATE vitals SET outcomes = 'moon' WHERE workspace_id = '{workspace}'"),
            format!("UPDATE tokens SET scopes = 'moon:howl' WHERE id = '{token}'"),
            format!("UPDATE secrets SET updated_by = 'moon:1' WHERE name = '{secret}'"),
            "UPDATE templates SET blueprint = '\"moon\"' WHERE name = 'b'".to_owned(),
            "UPDATE events SET principal = 'moon:1' WHERE seq = 2".to_owned(),
            "UPDATE audit SET hash = substr(hash, 1, 31) WHERE seq = 2".to_owned(),
        ]
    }

    async fn assert_one_is_named(&self, store: &Arc<dyn Store>) {
        let ids = self.workspaces.each_ref().map(|row| row.id);
        let query = WorkspaceQuery::all(2);
        let page = store.read::<_, Error, _>(move |tx| tx.workspaces(&query)).await.unwrap();
        assert_eq!(
            names(&page, |row| row.id.to_string()),
            ([ids[0].to_string()].into(), [ids[1].to_string()].into())
        );
        let query = WorkspaceQuery { after: page.next, ..WorkspaceQuery::all(2) };
        assert_eq!(page.next, Some(ids[1]), "the next page begins behind what cannot be read");
        let page = store.read::<_, Error, _>(move |tx| tx.workspaces(&query)).await.unwrap();
        assert_eq!((page.rows.len(), page.unreadable.len(), page.next), (1, 0, None));

        let found = store.read::<_, Error, _>(move |tx| tx.vitals_of(&ids)).await.unwrap();
        assert_eq!((found.rows.len(), found.unreadable[0].id.clone()), (2, ids[1].to_string()));

        let query = TokenQuery {
            org_id: None,
            owner: None,
            only_of: None,
            includes_ended: true,
            after: None,
            limit: 9,
        };
        let page = store.read::<_, Error, _>(move |tx| tx.tokens(&query)).await.unwrap();
        let [first, second, third] = self.tokens.each_ref().map(|row| row.id.to_string());
        assert_eq!(names(&page, |row| row.id.to_string()), ([first, third].into(), [second].into()));

        let query = SecretQuery { owner: SecretOwner::Org(OrgId::DEFAULT), after: None, limit: 9 };
        let page = store.read::<_, Error, _>(move |tx| tx.secrets(&query)).await.unwrap();
        let [first, second, third] = self.secrets.each_ref().map(|row| row.name.to_string());
        assert_eq!(names(&page, |row| row.name.to_string()), ([first, third].into(), [second].into()));
        assert!(matches!(page.whole(), Err(Error::Corrupt(_))), "whoever needs all is told");
    }

    async fn assert_one_of_the_logs_and_templates_is_named(&self, store: &Arc<dyn Store>) {
        let expected = [(vec!["1"], vec!["2"], Some(2)), (vec!["3"], vec![], None)];
        for (after, (shown, unreadable, next)) in [0, 2].into_iter().zip(expected) {
            let query = EventQuery { after, org_id: None, workspace_id: None, limit: 2 };
            let page = store.read::<_, Error, _>(move |tx| tx.events(&query)).await.unwrap();
            let named = names(&page, |event| event.seq.to_string());
            assert_eq!((named, page.next), (as_texts(&shown, &unreadable), next), "events");
            let query = AuditQuery::all(after, 2);
            let page = store.read::<_, Error, _>(move |tx| tx.audit(&query)).await.unwrap();
            let named = names(&page, |entry| entry.seq.to_string());
            assert_eq!((named, page.next), (as_texts(&shown, &unreadable), next), "entries");
        }
        let all = store.read::<_, Error, _>(|tx| tx.templates(OrgId::DEFAULT, None, 9)).await.unwrap();
        assert_eq!(names(&all, |row| row.name.to_string()), as_texts(&["a", "c"], &["b"]));
        let page = store.read::<_, Error, _>(|tx| tx.templates(OrgId::DEFAULT, None, 2)).await.unwrap();
        assert_eq!(page.next.as_ref(), Some(&self.templates[1].name));
    }

    /// The walk of a rotation over the secrets of all owners.
    async fn assert_one_to_be_sealed_anew_is_named(&self, store: &Arc<dyn Store>) {
        let [first, second, third] = self.secrets.each_ref().map(|row| row.name.as_str());
        let (mut seen, mut after) = (Vec::new(), None::<SecretKey>);
        loop {
            let (key, from) = (KeyId::from_fingerprint([2; 8]), after.take());
            let page = store
                .read::<_, Error, _>(move |tx| tx.secrets_not_under(&key, from.as_ref(), 1))
                .await
                .unwrap();
            seen.push(names(&page, |row| row.name.to_string()));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(seen, [as_texts(&[first], &[]), as_texts(&[], &[second]), as_texts(&[third], &[])]);
    }
}

fn as_texts(shown: &[&str], unreadable: &[&str]) -> (Vec<String>, Vec<String>) {
    let texts = |all: &[&str]| all.iter().copied().map(str::to_owned).collect();
    (texts(shown), texts(unreadable))
}

fn names<T, C>(page: &Page<T, C>, name: fn(&T) -> String) -> (Vec<String>, Vec<String>) {
    (page.rows.iter().map(name).collect(), page.unreadable.iter().map(|row| row.id.clone()).collect())
}

// F1, F16, F30, F32, F35, F40, F50
#[tokio::test]
async fn the_lists_of_the_fleet_in_sqlite_name_what_they_cannot_read() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("warren.db");
    let store: Arc<dyn Store> =
        Arc::new(SqliteStore::open(path.clone(), SqliteOptions::default()).await.unwrap());
    let three = Three::write(&store).await;
    let file = rusqlite::Connection::open(&path).unwrap();
    file.pragma_update(None, "ignore_check_constraints", true).unwrap();
    file.execute_batch("DROP TRIGGER audit_is_not_changed").unwrap();
    for edit in three.edits() {
        assert_eq!(file.execute(&edit, []).unwrap(), 1, "{edit}");
    }
    three.assert_one_is_named(&store).await;
    three.assert_one_of_the_logs_and_templates_is_named(&store).await;
    three.assert_one_to_be_sealed_anew_is_named(&store).await;
}

// F1, F16, F30, F32, F35, F40, F50
#[tokio::test(flavor = "multi_thread")]
async fn the_lists_of_the_fleet_in_postgres_name_what_they_cannot_read() {
    let mut database = Database::create().await;
    let store = database.open(PostgresOptions { max_connections: 4, ..PostgresOptions::default() }).await;
    let three = Three::write(&store).await;
    let mut connection = database.connect().await;
    for edit in ["DROP TRIGGER audit_is_not_changed ON audit", "ALTER TABLE audit DROP CONSTRAINT audit_hash"]
    {
        connection.execute(edit).await.unwrap();
    }
    for edit in three.edits() {
        let done = connection.execute(sqlx::AssertSqlSafe(edit.clone())).await;
        assert_eq!(done.unwrap().rows_affected(), 1, "{edit}");
    }
    three.assert_one_is_named(&store).await;
    three.assert_one_of_the_logs_and_templates_is_named(&store).await;
    three.assert_one_to_be_sealed_anew_is_named(&store).await;
}
