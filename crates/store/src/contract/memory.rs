//! What agents remember.

use std::sync::Arc;

use warren_model::{Memory, MemoryPlace, OrgId, Principal, Status, WorkspaceId};

use super::samples::{NOW, id, insert, update, workspace};
use crate::{Error, MemoryQuery, MemorySearch, Store};

fn memory(place: MemoryPlace, key: &str, words: &str) -> Memory {
    Memory {
        id: id(),
        org_id: OrgId::DEFAULT,
        place,
        key: key.into(),
        value: format!("{words} — \"日本\"\n"),
        words: words.into(),
        masked: 2,
        author: Principal::system("test"),
        workspace_id: id(),
        task_id: Some(id()),
        created_at: NOW,
        updated_at: NOW,
        expires_at: None,
        version: 1,
    }
}

async fn put(store: &dyn Store, memory: &Memory) -> Result<(), Error> {
    let row = memory.clone();
    store.write(move |tx| tx.insert_memory(&row)).await
}

async fn get(store: &dyn Store, place: MemoryPlace, key: &'static str) -> Option<Memory> {
    store.read::<_, Error, _>(move |tx| tx.memory(place, key)).await.expect("a memory is read")
}

async fn local(store: &dyn Store) -> WorkspaceId {
    let workspace = workspace();
    insert(store, &workspace).await;
    workspace.id
}

async fn search(store: &dyn Store, places: &[MemoryPlace], words: &[&str]) -> Vec<String> {
    let search = MemorySearch {
        places: places.to_vec(),
        words: words.iter().map(|word| (*word).to_owned()).collect(),
        now: NOW,
        limit: 10,
    };
    let found =
        store.read::<_, Error, _>(move |tx| tx.search_memories(&search).map(|found| found.rows)).await;
    found.expect("memories are searched").into_iter().map(|one| one.key).collect()
}

// X50
pub async fn every_field_comes_back_as_it_was_written(store: Arc<dyn Store>) {
    let workspace = local(&*store).await;
    for place in [MemoryPlace::Local(workspace), MemoryPlace::Team(workspace), MemoryPlace::Org(id())] {
        let row = Memory { expires_at: Some(NOW.plus_ms(5)), ..memory(place, "a/b c", "a b c") };
        assert_eq!(put(&*store, &row).await, Ok(()));
        assert_eq!(get(&*store, place, "a/b c").await, Some(row.clone()));
        assert_eq!(get(&*store, place, "A/b c").await, None);
        let again = Memory { id: id(), ..row };
        assert_eq!(put(&*store, &again).await, Err(Error::AlreadyExists));
    }
    assert!(put(&*store, &memory(MemoryPlace::Local(id()), "k", "")).await.is_err(), "nobody is there");
}

// X50
pub async fn a_memory_is_written_only_at_the_version_it_was_read(store: Arc<dyn Store>) {
    let place = MemoryPlace::Local(local(&*store).await);
    let mut row = memory(place, "k", "old words");
    assert_eq!(put(&*store, &row).await, Ok(()));
    row.value = "new".into();
    row.words = "new".into();
    row.expires_at = Some(NOW.plus_ms(9));
    row.author = Principal::user(id());
    let write = |row: Memory, version| store.write(move |tx| tx.update_memory(&row, version));
    assert_eq!(write(row.clone(), 1).await, Ok(2));
    assert_eq!(write(row.clone(), 1).await, Err(Error::Conflict));
    row.version = 2;
    assert_eq!(get(&*store, place, "k").await, Some(row.clone()));
    assert_eq!(search(&*store, &[place], &["old"]).await, Vec::<String>::new(), "found by what it says now");
    assert_eq!(search(&*store, &[place], &["new"]).await, ["k"]);
    let delete = |version| {
        let of = row.id;
        store.write::<_, Error, _>(move |tx| tx.delete_memory(of, version))
    };
    assert_eq!(delete(1).await, Ok(false));
    assert_eq!(delete(2).await, Ok(true));
    assert_eq!(search(&*store, &[place], &["new"]).await, Vec::<String>::new());
}

// X50: the same on every database
pub async fn all_words_must_begin_a_word_in_a_place_that_is_asked_for(store: Arc<dyn Store>) {
    let first = MemoryPlace::Local(local(&*store).await);
    let other = MemoryPlace::Org(OrgId::DEFAULT);
    for (at, (place, key, words)) in [
        (first, "a", "deploy to production v1 2"),
        (first, "b", "deployment zürich 日本"),
        (other, "c", "deploy"),
        (first, "d", "1password 007a the"),
    ]
    .into_iter()
    .enumerate()
    {
        let at = NOW.plus_ms(i64::try_from(at).unwrap_or(0));
        assert_eq!(put(&*store, &Memory { updated_at: at, ..memory(place, key, words) }).await, Ok(()));
    }
    let both = [first, other];
    assert_eq!(search(&*store, &both, &["deploy"]).await, ["c", "b", "a"], "the newest first");
    assert_eq!(search(&*store, &[first], &["deploy"]).await, ["b", "a"]);
    assert_eq!(search(&*store, &both, &["deploy", "prod"]).await, ["a"]);
    assert_eq!(search(&*store, &both, &["eploy"]).await, Vec::<String>::new(), "not in the middle");
    for (word, key) in [("zür", "b"), ("日", "b"), ("1pass", "d"), ("007", "d"), ("the", "d"), ("v1", "a")]
    {
        assert_eq!(search(&*store, &both, &[word]).await, [key], "{word}");
    }
}

// X50
pub async fn what_has_expired_is_not_shown_and_then_cleared(store: Arc<dyn Store>) {
    let place = MemoryPlace::Local(local(&*store).await);
    for (key, expires_at) in [("past", Some(NOW)), ("soon", Some(NOW.plus_ms(1))), ("never", None)] {
        let row = Memory { expires_at, ..memory(place, key, "word") };
        assert_eq!(put(&*store, &row).await, Ok(()));
    }
    assert_eq!(search(&*store, &[place], &["word"]).await, ["never", "soon"]);
    let query = MemoryQuery { places: vec![place], now: NOW, after: None, limit: 1 };
    let list = |query: MemoryQuery| store.read::<_, Error, _>(move |tx| tx.memories(&query));
    let page = list(query.clone()).await.expect("a page is read");
    assert_eq!(page.rows[0].key, "soon");
    let rest = list(MemoryQuery { after: page.next, ..query }).await.expect("a page is read");
    assert_eq!((rest.rows[0].key.as_str(), rest.next), ("never", None));
    let prune = |ms| store.write::<_, Error, _>(move |tx| tx.prune_memories(NOW.plus_ms(ms), 10));
    assert_eq!(prune(0).await, Ok(1));
    assert_eq!(prune(1).await, Ok(1));
    assert_eq!(store.read::<_, Error, _>(move |tx| tx.count_memories(place)).await, Ok(1));
}

// X50, F8
pub async fn memories_end_with_their_workspace_and_the_orgs_stay(store: Arc<dyn Store>) {
    let mut place = workspace();
    insert(&*store, &place).await;
    let of = place.id;
    let places = [MemoryPlace::Local(of), MemoryPlace::Team(of), MemoryPlace::Org(OrgId::DEFAULT)];
    for place in places {
        assert_eq!(put(&*store, &memory(place, "k", "word")).await, Ok(()));
    }
    place.status = Status::Removed;
    place.version = update(&*store, &place).await.expect("a workspace is removed");
    assert_eq!(store.write(move |tx| tx.erase_workspace(of)).await, Ok(true));
    assert_eq!(search(&*store, &places, &["word"]).await, ["k"]);
    assert!(get(&*store, MemoryPlace::Org(OrgId::DEFAULT), "k").await.is_some());
}
