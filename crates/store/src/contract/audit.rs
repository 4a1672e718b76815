//! What holds for the audit log: one chain, in commit order, whatever happens around it (F35).

use std::sync::Arc;

use serde_json::json;
use warren_model::{
    AuditAction, AuditEntry, AuditHead, AuditOutcome, AuditTargetKind, NewAuditEntry, OrgId, Principal,
};

use super::samples::{NOW, event, id, newest_seq};
use crate::{AuditQuery, Error, Store};

fn entry(target: &str) -> NewAuditEntry {
    NewAuditEntry {
        at: NOW,
        org_id: OrgId::DEFAULT,
        principal: Principal::system("contract"),
        token: None,
        action: AuditAction::WorkspaceCreated,
        target_kind: AuditTargetKind::Workspace,
        target_id: target.to_owned(),
        outcome: AuditOutcome::Done,
        request_id: None,
        details: json!({}),
    }
}

async fn append(store: &dyn Store, entry: &NewAuditEntry) -> Result<(), Error> {
    let entry = entry.clone();
    store.write(move |tx| tx.append_audit(&entry)).await
}

async fn head(store: &dyn Store) -> AuditHead {
    store.read(|tx| tx.audit_head()).await.expect("the head is read")
}

async fn log(store: &dyn Store, mut query: AuditQuery) -> Vec<AuditEntry> {
    let mut entries = Vec::new();
    loop {
        let asked = query.clone();
        let page = store.read(move |tx| tx.audit(&asked)).await.expect("a page is read");
        entries.extend(page.rows);
        match page.next {
            Some(next) => query.after = next,
            None => return entries,
        }
    }
}

fn assert_chained(entries: &[AuditEntry], end: AuditHead) {
    let mut before = AuditHead::EMPTY;
    for entry in entries {
        assert_eq!(entry.seq, before.seq + 1, "the log has a gap or is out of order");
        assert_eq!(entry.previous_hash, before.hash, "entry {} does not follow", entry.seq);
        assert_eq!(entry.hash, entry.digest(), "entry {} is not what was hashed", entry.seq);
        before = entry.head();
    }
    assert_eq!(before, end, "the head is the last entry");
}

// F35
pub async fn every_field_comes_back_as_it_was_written_and_hashed(store: Arc<dyn Store>) {
    assert_eq!(head(&*store).await, AuditHead::EMPTY);
    for (position, action) in AuditAction::ALL.iter().enumerate() {
        let full = NewAuditEntry {
            action: *action,
            org_id: id(),
            token: Some((id(), "wrn_user_abcd".into())),
            outcome: AuditOutcome::Refused,
            request_id: Some("r".into()),
            details: json!({ "z": "日本 🦀 'quoted'", "a": [1, null, { "d": true, "c": "\u{0}" }] }),
            ..entry("target")
        };
        let expected = AuditEntry::following(head(&*store).await, &full);
        assert_eq!(append(&*store, &full).await, Ok(()));
        let found = log(&*store, AuditQuery::all(position as u64, 10)).await;
        assert_eq!(found, [expected]);
    }
    assert_chained(&log(&*store, AuditQuery::all(0, 4)).await, head(&*store).await);
}

// F35
pub async fn entries_are_written_with_the_change_or_not_at_all(store: Arc<dyn Store>) {
    let given_up: Result<(), Error> = store
        .write(|tx| {
            tx.append_audit(&entry("never"))?;
            tx.append_event(&event(""))?;
            Err(Error::Conflict)
        })
        .await;
    assert_eq!(given_up, Err(Error::Conflict));
    assert_eq!((head(&*store).await, newest_seq(&*store).await), (AuditHead::EMPTY, 0));
    let unwritable: Result<(), Error> = store
        .write(|tx| {
            tx.append_event(&event(""))?;
            tx.append_audit(&entry("NUL \0"))
        })
        .await;
    assert!(matches!(unwritable, Err(Error::Refused(_))), "{unwritable:?}");
    assert_eq!((head(&*store).await, newest_seq(&*store).await), (AuditHead::EMPTY, 0));
    let both: Result<(), Error> = store
        .write(|tx| {
            tx.append_audit(&entry("one"))?;
            tx.append_audit(&entry("two"))?;
            tx.append_event(&event(""))
        })
        .await;
    assert_eq!(both, Ok(()));
    let entries = log(&*store, AuditQuery::all(0, 10)).await;
    let targets: Vec<_> = entries.iter().map(|entry| entry.target_id.as_str()).collect();
    assert_eq!(targets, ["one", "two"]);
    assert_chained(&entries, head(&*store).await);
    assert_eq!(newest_seq(&*store).await, 1);
}

// F35
pub async fn concurrent_writers_and_rollbacks_keep_the_chain_whole(store: Arc<dyn Store>) {
    const WRITERS: u64 = 16;
    const EACH: u64 = 8;
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        let store = Arc::clone(&store);
        writers.spawn(async move {
            for round in 0..EACH {
                let gives_up = (writer + round) % 4 == 0;
                let done: Result<(), Error> = store
                    .write(move |tx| {
                        tx.append_event(&event(""))?;
                        tx.append_audit(&entry(&format!("{writer}.{round}")))?;
                        if gives_up { Err(Error::Conflict) } else { Ok(()) }
                    })
                    .await;
                assert_eq!(done.is_err(), gives_up);
            }
        });
    }
    while let Some(ended) = writers.join_next().await {
        ended.expect("a writer ends well");
    }
    let entries = log(&*store, AuditQuery::all(0, 50)).await;
    assert_eq!(entries.len() as u64, WRITERS * EACH * 3 / 4);
    assert_chained(&entries, head(&*store).await);
}

// F35
pub async fn filters_narrow_and_pages_lead_to_the_end(store: Arc<dyn Store>) {
    let (org_id, other) = (id(), Principal::system("other"));
    let entries = [
        entry("a"),
        NewAuditEntry { at: NOW.plus_ms(1), principal: other, ..entry("a") },
        NewAuditEntry { at: NOW.plus_ms(2), target_kind: AuditTargetKind::Token, ..entry("a") },
        NewAuditEntry { at: NOW.plus_ms(3), org_id, action: AuditAction::WorkspaceRemoved, ..entry("b") },
    ];
    for entry in &entries {
        assert_eq!(append(&*store, entry).await, Ok(()));
    }
    let all = AuditQuery::all(0, 1);
    let cases = [
        ("all", all.clone(), vec![1, 2, 3, 4]),
        ("after", AuditQuery { after: 2, ..all.clone() }, vec![3, 4]),
        ("newest", AuditQuery { is_newest_first: true, ..all.clone() }, vec![4, 3, 2, 1]),
        ("before", AuditQuery { is_newest_first: true, after: 3, ..all.clone() }, vec![2, 1]),
        ("org", AuditQuery { org_id: Some(org_id), ..all.clone() }, vec![4]),
        ("kind", AuditQuery { target_kind: Some("workspace".into()), ..all.clone() }, vec![1, 2, 4]),
        ("target", AuditQuery { target_id: Some("a".into()), ..all.clone() }, vec![1, 2, 3]),
        ("principal", AuditQuery { principal: Some("system:other".into()), ..all.clone() }, vec![2]),
        ("action", AuditQuery { action: Some("workspace.removed".into()), ..all.clone() }, vec![4]),
        ("since", AuditQuery { since: Some(NOW.plus_ms(2)), ..all.clone() }, vec![3, 4]),
        ("until", AuditQuery { until: Some(NOW.plus_ms(2)), ..all.clone() }, vec![1, 2]),
    ];
    for (label, query, expected) in cases {
        for limit in [1, 2, 100] {
            let found = log(&*store, AuditQuery { limit, ..query.clone() }).await;
            let numbers: Vec<u64> = found.iter().map(|entry| entry.seq).collect();
            assert_eq!(numbers, expected, "{label} by {limit}");
        }
    }
}
