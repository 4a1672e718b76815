//! What holds for conversations, their messages and the search over them.

use std::sync::Arc;

use serde_json::json;
use warren_model::{
    ChatMessage, ChatMessageId, Conversation, ConversationId, OrgId, Part, Principal, PrincipalKind, Role,
    Status, WorkspaceId,
};

use super::samples::{NOW, get, id, insert, update, workspace};
use crate::{ChatSearch, ChatSpan, ConversationQuery, Error, NoticeKey, Page, Store};

fn conversation(workspace_id: WorkspaceId) -> Conversation {
    Conversation {
        id: id(),
        org_id: OrgId::DEFAULT,
        workspace_id,
        title: "Größe \u{1f980}".into(),
        author: Principal::system("asker"),
        messages: 0,
        last_message: None,
        created_at: NOW,
        updated_at: NOW,
        version: 1,
    }
}

fn message(of: &Conversation, text: &str) -> ChatMessage {
    ChatMessage {
        id: id(),
        conversation_id: of.id,
        org_id: of.org_id,
        workspace_id: of.workspace_id,
        author: Principal { kind: PrincipalKind::Schedule, id: "nightly".into() },
        role: Role::User,
        parts: vec![Part::text(text), Part::data(json!({ "a": "\u{0}" }))],
        task_id: None,
        created_at: NOW,
    }
}

async fn begin(store: &dyn Store) -> Conversation {
    let home = workspace();
    insert(store, &home).await;
    let row = conversation(home.id);
    let written = row.clone();
    let inserted: Result<(), Error> = store.write(move |tx| tx.insert_conversation(&written)).await;
    assert_eq!(inserted, Ok(()), "a conversation is inserted");
    row
}

async fn post(store: &dyn Store, message: &ChatMessage, words: &str) -> Result<(), Error> {
    let (message, words) = (message.clone(), words.to_owned());
    store.write(move |tx| tx.insert_chat_message(&message, &words)).await
}

async fn read(store: &dyn Store, id: ConversationId) -> Option<Conversation> {
    store.read(move |tx| tx.conversation(id)).await.expect("a conversation is read")
}

async fn page(
    store: &dyn Store,
    id: ConversationId,
    span: ChatSpan,
    limit: u32,
) -> Page<ChatMessage, ChatMessageId> {
    store.read(move |tx| tx.chat_messages(id, span, limit)).await.expect("messages are read")
}

pub async fn a_conversation_and_its_messages_come_back_as_they_were_written(store: Arc<dyn Store>) {
    let row = begin(&*store).await;
    assert_eq!(read(&*store, row.id).await, Some(row.clone()));
    assert_eq!(read(&*store, id()).await, None);
    let first = ChatMessage { task_id: Some(id()), ..message(&row, "grüße \u{7}") };
    post(&*store, &first, "grüße").await.expect("a message is written");
    let (known, task_id) = (first.id, first.task_id.expect("a task"));
    assert_eq!(store.read(move |tx| tx.chat_message(known)).await, Ok::<_, Error>(Some(first.clone())));
    assert_eq!(store.read(move |tx| tx.chat_messages_of(task_id)).await, Ok::<_, Error>(vec![first.clone()]));
    assert_eq!(post(&*store, &first, "grüße").await, Err(Error::AlreadyExists), "an id is taken once");
    let stray = ChatMessage { conversation_id: id(), ..message(&row, "x") };
    assert!(post(&*store, &stray, "x").await.is_err(), "a message has a conversation");
}

pub async fn a_conversation_is_written_only_at_the_version_it_was_read(store: Arc<dyn Store>) {
    let row = begin(&*store).await;
    let changed = Conversation {
        title: "new".into(),
        messages: 2,
        last_message: Some(id()),
        updated_at: NOW.plus_ms(1),
        ..row.clone()
    };
    let written = changed.clone();
    assert_eq!(store.write(move |tx| tx.update_conversation(&written, 1)).await, Ok::<_, Error>(2));
    assert_eq!(read(&*store, row.id).await, Some(Conversation { version: 2, ..changed }));
    let stale = row.clone();
    assert_eq!(store.write(move |tx| tx.update_conversation(&stale, 1)).await, Err(Error::Conflict));
    let held = store.write(move |tx| tx.hold_conversation(row.id)).await;
    assert_eq!(held.map(|held: Option<Conversation>| held.map(|row| row.version)), Ok::<_, Error>(Some(2)));
    assert_eq!(store.write(|tx| tx.hold_conversation(id())).await, Ok::<_, Error>(None));
}

pub async fn a_held_conversation_numbers_its_messages_without_a_gap(store: Arc<dyn Store>) {
    let row = begin(&*store).await;
    let mut writers = Vec::new();
    for number in 0..16 {
        let (store, row) = (Arc::clone(&store), row.clone());
        writers.push(tokio::spawn(async move {
            let said = message(&row, &number.to_string());
            let written: Result<(), Error> = store
                .write(move |tx| {
                    let mut held = tx.hold_conversation(row.id)?.ok_or(Error::Conflict)?;
                    held.messages += 1;
                    tx.insert_chat_message(&said, "")?;
                    tx.update_conversation(&held, held.version).map(drop)
                })
                .await;
            written
        }));
    }
    for writer in writers {
        assert_eq!(writer.await.expect("a writer ends"), Ok(()), "nobody waits in vain");
    }
    let end = read(&*store, row.id).await.expect("it is there");
    assert_eq!((end.messages, end.version), (16, 17));
    assert_eq!(page(&*store, row.id, ChatSpan::After(None), 100).await.rows.len(), 16);
}

pub async fn messages_are_read_from_either_end_in_pages(store: Arc<dyn Store>) {
    let row = begin(&*store).await;
    let other = begin(&*store).await;
    let mut all = Vec::new();
    for number in 0..5 {
        let said = message(&row, &number.to_string());
        post(&*store, &said, "").await.expect("a message is written");
        post(&*store, &message(&other, "elsewhere"), "").await.expect("a message is written");
        all.push(said);
    }
    let first = page(&*store, row.id, ChatSpan::After(None), 2).await;
    assert_eq!((&first.rows[..], first.next), (&all[..2], Some(all[1].id)));
    let rest = page(&*store, row.id, ChatSpan::After(first.next), 3).await;
    assert_eq!((&rest.rows[..], rest.next), (&all[2..], None));
    let last = page(&*store, row.id, ChatSpan::Before(None), 2).await;
    assert_eq!((last.rows, last.next), (vec![all[4].clone(), all[3].clone()], Some(all[3].id)));
    let older = page(&*store, row.id, ChatSpan::Before(Some(all[3].id)), 100).await;
    assert_eq!((older.rows.len(), older.next), (3, None));
}

pub async fn conversations_are_listed_youngest_first_and_counted(store: Arc<dyn Store>) {
    let first = begin(&*store).await;
    let mut ids = vec![first.id];
    for _ in 0..2 {
        let row = conversation(first.workspace_id);
        ids.push(row.id);
        store.write(move |tx| tx.insert_conversation(&row)).await.expect("a conversation is inserted");
    }
    begin(&*store).await;
    let query = ConversationQuery { workspace_id: first.workspace_id, before: None, limit: 2 };
    let listed = query.clone();
    let young = store.read(move |tx| tx.conversations(&listed)).await.expect("they are read");
    assert_eq!(young.rows.iter().map(|row| row.id).collect::<Vec<_>>(), [ids[2], ids[1]]);
    let older = ConversationQuery { before: young.next, ..query };
    let old = store.read(move |tx| tx.conversations(&older)).await.expect("they are read");
    assert_eq!((old.rows, old.next), (vec![first.clone()], None));
    let count = store.read(move |tx| tx.count_conversations(first.workspace_id)).await;
    assert_eq!(count, Ok::<_, Error>(3));
}

pub async fn messages_are_found_by_their_words(store: Arc<dyn Store>) {
    let row = begin(&*store).await;
    let other = begin(&*store).await;
    let texts = ["the quarterly report 2026", "report größe", "quarter past nine", "or and not near 9"];
    let mut ids = Vec::new();
    for text in texts {
        let said = message(&row, text);
        post(&*store, &said, text).await.expect("a message is written");
        ids.push(said.id);
    }
    let elsewhere = message(&other, "report");
    post(&*store, &elsewhere, "report").await.expect("a message is written");
    let find = async |words: &[&str], home: Option<WorkspaceId>, before, limit| {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        let search = ChatSearch { words, org_id: Some(OrgId::DEFAULT), workspace_id: home, before, limit };
        let found = store.read(move |tx| tx.search_chat(&search)).await;
        found.map(|page| (page.rows.iter().map(|row| row.id).collect::<Vec<_>>(), page.next))
    };
    let home = Some(row.workspace_id);
    assert_eq!(find(&["report"], home, None, 10).await, Ok((vec![ids[1], ids[0]], None)));
    assert_eq!(find(&["report"], None, None, 10).await, Ok((vec![elsewhere.id, ids[1], ids[0]], None)));
    assert_eq!(find(&["quart"], home, None, 10).await, Ok((vec![ids[2], ids[0]], None)), "a beginning");
    assert_eq!(find(&["quart", "past"], home, None, 10).await, Ok((vec![ids[2]], None)));
    assert_eq!(find(&["report", "quart"], home, None, 10).await, Ok((vec![ids[0]], None)), "all of them");
    assert_eq!(find(&["größe"], home, None, 10).await, Ok((vec![ids[1]], None)));
    assert_eq!(find(&["grosse"], home, None, 10).await, Ok((vec![], None)));
    assert_eq!(find(&["not", "or"], home, None, 10).await, Ok((vec![ids[3]], None)), "words, not operators");
    assert_eq!(find(&["2026"], home, None, 10).await, Ok((vec![ids[0]], None)));
    let first = find(&["report"], home, None, 1).await.expect("a page");
    assert_eq!(first, (vec![ids[1]], Some(ids[1])));
    assert_eq!(find(&["report"], home, first.1, 1).await, Ok((vec![ids[0]], None)));
    for odd in [vec![], vec![""], vec!["a b"], vec!["a\"b"], vec!["a'b"], vec!["a:*"]] {
        assert!(matches!(find(&odd, home, None, 10).await, Err(Error::Refused(_))), "{odd:?}");
    }
}

pub async fn a_conversation_goes_with_its_messages_and_with_its_workspace(store: Arc<dyn Store>) {
    let (row, kept) = (begin(&*store).await, begin(&*store).await);
    let (gone, stays) = (message(&row, "secret"), message(&kept, "secret"));
    post(&*store, &gone, "secret").await.expect("a message is written");
    post(&*store, &stays, "secret").await.expect("a message is written");
    let found = async || {
        let words = vec!["secret".to_owned()];
        let search = ChatSearch { words, org_id: None, workspace_id: None, before: None, limit: 10 };
        let page = store.read(move |tx| tx.search_chat(&search)).await.expect("a search");
        page.rows.iter().map(|row| row.id).collect::<Vec<_>>()
    };
    assert_eq!(found().await.len(), 2);
    assert_eq!(store.write(move |tx| tx.remove_conversation(row.id)).await, Ok::<_, Error>(true));
    assert_eq!(store.write(move |tx| tx.remove_conversation(row.id)).await, Ok::<_, Error>(false));
    assert_eq!(read(&*store, row.id).await, None);
    assert_eq!(store.read(move |tx| tx.chat_message(gone.id)).await, Ok::<_, Error>(None));
    assert_eq!(found().await, [stays.id], "its words are gone as well");
    let mut home = get(&*store, kept.workspace_id).await.expect("a workspace");
    home.status = Status::Removed;
    home.removed_at = Some(NOW);
    update(&*store, &home).await.expect("it is removed");
    let erased = store.write(move |tx| tx.erase_workspace(kept.workspace_id)).await;
    assert_eq!(erased, Ok::<_, Error>(true));
    assert_eq!((read(&*store, kept.id).await, found().await), (None, vec![]));
}

// F42
pub async fn what_was_said_long_ago_is_cleared_with_conversations_in_which_nothing_is_left(
    store: Arc<dyn Store>,
) {
    let (old, mixed) = (begin(&*store).await, begin(&*store).await);
    let late = NOW.plus_ms(1_000);
    for (of, at) in [(&old, NOW), (&old, NOW), (&mixed, NOW), (&mixed, late)] {
        let said = ChatMessage { created_at: at, ..message(of, "hello") };
        assert_eq!(post(&*store, &said, "hello").await, Ok(()));
    }
    let prune = async |before, limit| {
        let pruned: Result<u64, Error> = store.write(move |tx| tx.prune_chat(before, limit)).await;
        pruned.expect("old messages are cleared")
    };
    assert_eq!(prune(NOW, 10).await, 0, "nothing is older");
    assert_eq!(prune(late, 2).await, 2, "no more at once than asked");
    while prune(late, 10).await > 0 {}
    assert_eq!(read(&*store, old.id).await, None);
    let left = mixed.id;
    let messages =
        store.read(move |tx| tx.chat_messages(left, ChatSpan::After(None), 10)).await.expect("they are read");
    assert_eq!(messages.rows.len(), 1, "what was said later stays");
    assert!(read(&*store, mixed.id).await.is_some());
    let search =
        ChatSearch { words: vec!["hello".into()], org_id: None, workspace_id: None, before: None, limit: 10 };
    let found = store.read(move |tx| tx.search_chat(&search)).await.expect("they are searched");
    assert_eq!(found.rows.len(), 1, "and only that is found");
}

pub async fn a_notices_key_is_per_workspace_written_over_and_forgotten_after_its_time(store: Arc<dyn Store>) {
    let (here, elsewhere) = (begin(&*store).await.workspace_id, begin(&*store).await.workspace_id);
    let first = NoticeKey {
        workspace_id: here,
        key: "message/gr\u{fc}\u{df}e".into(),
        fingerprint: "f".into(),
        message_id: id(),
        at: NOW,
    };
    let found = async |workspace_id: WorkspaceId, key: &str| {
        let key = key.to_owned();
        store.read(move |tx| tx.notice_key(workspace_id, &key)).await.expect("a key is read")
    };
    let put = async |key: &NoticeKey| {
        let key = key.clone();
        let put: Result<(), Error> = store.write(move |tx| tx.put_notice_key(&key)).await;
        put.expect("a key is written");
    };
    put(&first).await;
    assert_eq!(found(here, &first.key).await, Some(first.clone()));
    assert_eq!(found(elsewhere, &first.key).await, None);
    let later = NoticeKey { message_id: id(), fingerprint: "g".into(), at: NOW.plus_ms(2), ..first.clone() };
    put(&later).await;
    assert_eq!(found(here, &first.key).await, Some(later.clone()), "written over");
    let older = NoticeKey { key: "key/1".into(), at: NOW, ..first };
    put(&older).await;
    let pruned: Result<u64, Error> = store.write(move |tx| tx.prune_notice_keys(NOW.plus_ms(1), 10)).await;
    assert_eq!(pruned, Ok(1));
    assert_eq!((found(here, "key/1").await, found(here, &later.key).await), (None, Some(later)));
}
