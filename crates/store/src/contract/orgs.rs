//! What holds for orgs and who is in them (F9).

use std::sync::Arc;

use warren_model::{Member, Org, OrgId, OrgQuotas, OrgRole, Status, Tier, UserId};

use super::samples::{NOW, id, insert, update, workspace};
use super::session_samples::{put, session};
use super::users::{insert_user, user};
use crate::{Error, MemberQuery, Store};

fn org(name: &str) -> Org {
    Org {
        id: id(),
        name: name.parse().expect("a good name"),
        quotas: OrgQuotas::of_new_org(),
        created_at: NOW,
        removed_at: None,
    }
}

async fn insert_org(store: &dyn Store, org: &Org) -> Result<(), Error> {
    let org = org.clone();
    store.write(move |tx| tx.insert_org(&org)).await
}

async fn put_member(store: &dyn Store, member: &Member) {
    let member = member.clone();
    store.write(move |tx| tx.put_member(&member)).await.expect("it is written");
}

// F9
pub async fn orgs_come_back_as_they_were_written_and_in_pages(store: Arc<dyn Store>) {
    let quotas = OrgQuotas {
        max_workspaces: Some(1),
        max_members: Some(2),
        max_sessions_running: Some(3),
        monthly_spend_micros: Some(4),
        max_tier: Some(Tier::Extended),
    };
    let mut full = Org { quotas, ..org("full") };
    let bare = Org { quotas: OrgQuotas::default(), ..org("bare") };
    for one in [&full, &bare] {
        assert_eq!(insert_org(&*store, one).await, Ok(()));
        let id = one.id;
        assert_eq!(store.read(move |tx| tx.org(id)).await, Ok(Some(one.clone())));
    }
    assert_eq!(insert_org(&*store, &org("full")).await, Err(Error::AlreadyExists));
    let page = store.read(|tx| tx.orgs(None, 2)).await.expect("they are read");
    assert_eq!(page.rows.iter().map(|org| org.id).collect::<Vec<_>>(), [OrgId::DEFAULT, full.id]);
    let next = page.next;
    let rest = store.read(move |tx| tx.orgs(next, 2)).await.expect("they are read");
    assert_eq!((rest.rows, rest.next), (vec![bare], None));
    full.removed_at = Some(NOW);
    let (written, name) = (full.clone(), full.name.clone());
    let updated =
        store.write(move |tx| Ok::<_, Error>((tx.update_org(&written)?, tx.update_org(&org("no"))?))).await;
    assert_eq!(updated, Ok((true, false)));
    assert_eq!(store.read(move |tx| tx.org_by_name(&name)).await, Ok(None));
    let id = full.id;
    assert_eq!(store.read(move |tx| tx.org(id)).await, Ok(Some(full)));
    let listed = store.read(|tx| tx.orgs(None, 9)).await.expect("they are read").rows;
    assert!(listed.iter().all(|org| org.id != id), "a removed one is not listed");
}

// F9
pub async fn members_are_listed_counted_and_kept_when_they_leave(store: Arc<dyn Store>) {
    let (home, people) = (org("home"), ["one", "two", "three"].map(user));
    assert_eq!(insert_org(&*store, &home).await, Ok(()));
    for (at, person) in people.iter().enumerate() {
        assert_eq!(insert_user(&*store, person).await, Ok(()));
        let role = OrgRole::ALL[at];
        let member = Member { org_id: home.id, user_id: person.id, role, since: NOW, left_at: None };
        put_member(&*store, &member).await;
    }
    let (org_id, gone) = (home.id, people[2].id);
    let list = async |includes_past: bool, after: Option<UserId>, limit: u32| {
        let query = MemberQuery { org_id, includes_past, after, limit };
        let page = store.read(move |tx| tx.members(&query)).await.expect("they are read");
        let rows = page.rows.iter().map(|(user, member)| (user.name.to_string(), member.role));
        (rows.collect::<Vec<_>>(), page.next)
    };
    let named = |name: &str, role| (name.to_owned(), role);
    let first = list(false, None, 2).await;
    assert_eq!(first.0, [named("one", OrgRole::Viewer), named("two", OrgRole::Member)]);
    assert_eq!(list(false, first.1, 2).await, (vec![named("three", OrgRole::Operator)], None));
    let counts = async || {
        store
            .read(move |tx| {
                let operators = tx.count_members(org_id, Some(OrgRole::Operator))?;
                Ok::<_, Error>((tx.count_members(org_id, None)?, operators, tx.orgs_of(gone)?))
            })
            .await
            .expect("they are counted")
    };
    assert_eq!(counts().await, (3, 1, vec![(home.clone(), OrgRole::Operator)]));
    let left =
        Member { org_id, user_id: gone, role: OrgRole::Operator, since: NOW, left_at: Some(NOW.plus_ms(1)) };
    put_member(&*store, &left).await;
    assert_eq!(counts().await, (2, 0, vec![]));
    assert_eq!((list(false, None, 9).await.0.len(), list(true, None, 9).await.0.len()), (2, 3));
    assert_eq!(store.read(move |tx| tx.member(org_id, gone)).await, Ok(Some(left)));
}

// F9, F30: two operators who demote each other at once do not both succeed
pub async fn who_holds_an_org_counts_its_people_right(store: Arc<dyn Store>) {
    let people = ["one", "two", "three", "four"].map(user);
    for person in &people {
        assert_eq!(insert_user(&*store, person).await, Ok(()));
    }
    let mut joiners = tokio::task::JoinSet::new();
    for person in people {
        let store = Arc::clone(&store);
        joiners.spawn(async move {
            store
                .write(move |tx| {
                    assert!(tx.hold_org(OrgId::DEFAULT)?.is_some() && tx.hold_org(id())?.is_none());
                    if tx.count_members(OrgId::DEFAULT, None)? >= 3 {
                        return Err(Error::Conflict);
                    }
                    let (role, since) = (OrgRole::Viewer, NOW);
                    let org_id = OrgId::DEFAULT;
                    tx.put_member(&Member { org_id, user_id: person.id, role, since, left_at: None })
                })
                .await
        });
    }
    let joined = joiners.join_all().await.into_iter().filter(Result::is_ok).count();
    assert_eq!(joined, 2, "with the one who was there, three");
}

// F36
pub async fn spending_and_running_sessions_are_counted_by_org(store: Arc<dyn Store>) {
    let (one, two) = (workspace(), workspace());
    let elsewhere = warren_model::Workspace { org_id: id(), ..workspace() };
    for (row, micros) in [(&one, 3_i64), (&two, 4), (&elsewhere, 50)] {
        insert(&*store, row).await;
        let id = row.id;
        store.write(move |tx| tx.add_spending(id, "2026-11", micros)).await.expect("it is added");
    }
    let (running, idle) = (session(one.id), session(two.id));
    let idle = warren_model::session::Session { phase: warren_model::session::Phase::Idle, ..idle };
    for row in [&running, &idle] {
        assert_eq!(put(&*store, row).await, Ok(()));
    }
    let counted = store
        .read(|tx| {
            let spent =
                (tx.spent_by_org(OrgId::DEFAULT, "2026-11")?, tx.spent_by_org(OrgId::DEFAULT, "2026-12")?);
            Ok::<_, Error>((spent, tx.count_running_sessions(OrgId::DEFAULT)?))
        })
        .await;
    assert_eq!(counted, Ok(((7, 0), 1)));
    // Who erases a workspace does not get its month back.
    let gone = warren_model::Workspace { status: Status::Removed, removed_at: Some(NOW), ..two };
    update(&*store, &gone).await.expect("it is removed");
    let erased = gone.id;
    assert_eq!(store.write(move |tx| tx.erase_workspace(erased)).await, Ok::<_, Error>(true));
    let spent = store.read(|tx| tx.spent_by_org(OrgId::DEFAULT, "2026-11")).await;
    assert_eq!(spent, Ok::<_, Error>(7));
}
