//! What holds for delegations.

use std::sync::Arc;

use warren_model::{Delegation, DelegationState, OrgId};

use super::samples::{NOW, id, new_workspace, put_task, task};
use crate::{DelegationQuery, Error, Store};

// X20
pub async fn a_delegation_moves_only_from_the_state_it_was_read_in(store: Arc<dyn Store>) {
    let (from, to) = (new_workspace(&*store).await, new_workspace(&*store).await);
    let parent = task(from);
    put_task(&*store, &parent, &[]).await;
    let mut rows = Vec::new();
    for state in DelegationState::ALL {
        let job = task(to);
        put_task(&*store, &job, &[]).await;
        let row = Delegation {
            id: id(),
            org_id: OrgId::DEFAULT,
            from,
            to,
            task_id: job.id,
            parent_task: Some(parent.id),
            state: *state,
            is_told: true,
            created_at: NOW,
            updated_at: NOW,
            ended_at: state.is_final().then_some(NOW),
        };
        let written = row.clone();
        let inserted: Result<(), Error> = store.write(move |tx| tx.insert_delegation(&written)).await;
        assert_eq!(inserted, Ok(()));
        let (key, task_id) = (row.id, job.id);
        let found: Result<_, Error> =
            store.read(move |tx| Ok((tx.delegation(key)?, tx.delegation_of_task(task_id)?))).await;
        assert_eq!(found, Ok((Some(row.clone()), Some(row.clone()))));
        rows.push(row);
    }
    let parent_id = parent.id;
    let open: Result<Vec<_>, Error> = store.read(move |tx| tx.open_delegations_from(parent_id)).await;
    assert_eq!(open.expect("they are found").len(), 3);
    let moved = Delegation { state: DelegationState::Completed, ended_at: Some(NOW), ..rows[1].clone() };
    let (first, second) = (moved.clone(), moved);
    let done: Result<(), Error> =
        store.write(move |tx| tx.update_delegation(&first, DelegationState::Queued)).await;
    assert_eq!(done, Ok(()));
    let late: Result<(), Error> =
        store.write(move |tx| tx.update_delegation(&second, DelegationState::Queued)).await;
    assert_eq!(late, Err(Error::Conflict));
    let query = DelegationQuery { from, org_id: OrgId::DEFAULT, state: None, before: None, limit: 5 };
    let page = store.read(move |tx| tx.delegations(&query)).await.expect("a page is read");
    let newest: Vec<_> = rows.iter().rev().take(5).map(|row| row.id).collect();
    assert_eq!(page.rows.iter().map(|row| row.id).collect::<Vec<_>>(), newest);
    assert!(page.next.is_some());
}
