//! Work that one workspace hands to another (X20 to X22).

use warren_model::{DelegationState, DeliveryState, TaskOrigin, TaskState, WorkspaceId};

/// Delegations in a row; the work of the first counts as one.
pub const MAX_DEPTH: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DelegationRefusal {
    #[error("the work has come through this workspace already")]
    Cycle,
    #[error("the work has been handed on {MAX_DEPTH} times already")]
    TooDeep,
}

/// The origin of work that `from` hands to `to`, out of work that came by `origin`.
pub fn hand_on(
    origin: &TaskOrigin,
    from: WorkspaceId,
    to: WorkspaceId,
) -> Result<Vec<WorkspaceId>, DelegationRefusal> {
    let mut chain = origin.chain.clone();
    chain.push(from);
    if chain.contains(&to) {
        return Err(DelegationRefusal::Cycle);
    }
    if chain.len() > MAX_DEPTH {
        return Err(DelegationRefusal::TooDeep);
    }
    Ok(chain)
}

/// Of the work that a workspace has in hand, the origin that its next delegation comes from, if it does not say: the
/// deepest, so that saying nothing gets nobody past the limits.
pub fn likely_origin(in_hand: impl IntoIterator<Item = TaskOrigin>) -> TaskOrigin {
    in_hand.into_iter().max_by_key(|origin| origin.chain.len()).unwrap_or_default()
}

/// The state of a delegation, from its task and the message on its way. What has ended stays.
pub fn state_of(
    known: DelegationState,
    task: TaskState,
    delivery: DeliveryState,
    has_expired: bool,
) -> DelegationState {
    if known.is_final() {
        return known;
    }
    match task {
        TaskState::Completed => DelegationState::Completed,
        TaskState::Cancelled => DelegationState::Cancelled,
        TaskState::Failed if has_expired => DelegationState::Expired,
        TaskState::Failed | TaskState::Rejected => DelegationState::Failed,
        TaskState::Submitted | TaskState::Working | TaskState::InputRequired | TaskState::AuthRequired => {
            match delivery {
                DeliveryState::Queued => DelegationState::Queued,
                DeliveryState::Claimed | DeliveryState::Ended => DelegationState::Dispatched,
            }
        }
    }
}

/// Whether what was handed on out of a task is taken back with it: nobody is left to use it.
pub const fn takes_back(task: TaskState) -> bool {
    match task {
        TaskState::Failed | TaskState::Cancelled => true,
        // It may have handed on work that is to outlive it.
        TaskState::Completed | TaskState::Rejected => false,
        TaskState::Submitted | TaskState::Working | TaskState::InputRequired | TaskState::AuthRequired => {
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(seed: u8) -> WorkspaceId {
        WorkspaceId::from_bytes([seed; 16])
    }

    // X22
    #[test]
    fn work_does_not_go_round_in_circles_nor_too_deep() {
        let none = TaskOrigin::default();
        assert_eq!(hand_on(&none, id(1), id(2)), Ok(vec![id(1)]));
        assert_eq!(hand_on(&none, id(1), id(1)), Err(DelegationRefusal::Cycle));
        let came = TaskOrigin { chain: vec![id(1), id(2)], parent: None };
        assert_eq!(hand_on(&came, id(3), id(1)), Err(DelegationRefusal::Cycle));
        let mut origin = TaskOrigin::default();
        for depth in 0..20_u8 {
            match hand_on(&origin, id(depth), id(depth + 1)) {
                Ok(chain) => origin = TaskOrigin { chain, parent: None },
                Err(refusal) => {
                    assert_eq!((refusal, usize::from(depth)), (DelegationRefusal::TooDeep, MAX_DEPTH));
                    return;
                }
            }
        }
        panic!("no depth was too deep");
    }

    // X22
    #[test]
    fn who_says_nothing_of_where_work_came_from_is_taken_at_the_deepest() {
        let deep = TaskOrigin { chain: vec![id(1), id(2)], parent: None };
        let in_hand = [TaskOrigin::default(), deep.clone(), TaskOrigin { chain: vec![id(3)], parent: None }];
        assert_eq!(likely_origin(in_hand), deep);
        assert_eq!(likely_origin([]), TaskOrigin::default());
    }

    // X20
    #[test]
    fn queued_is_not_completed_and_an_end_is_final() {
        use DelegationState as D;
        let of = |task, delivery| state_of(D::Pending, task, delivery, false);
        assert_eq!(of(TaskState::Submitted, DeliveryState::Queued), D::Queued);
        assert_eq!(of(TaskState::Working, DeliveryState::Claimed), D::Dispatched);
        assert_eq!(of(TaskState::InputRequired, DeliveryState::Ended), D::Dispatched);
        assert_eq!(of(TaskState::Completed, DeliveryState::Ended), D::Completed);
        assert_eq!(of(TaskState::Rejected, DeliveryState::Ended), D::Failed);
        assert_eq!(state_of(D::Queued, TaskState::Failed, DeliveryState::Ended, true), D::Expired);
        for ended in D::ALL.iter().filter(|state| state.is_final()) {
            for task in TaskState::ALL {
                assert_eq!(state_of(*ended, *task, DeliveryState::Claimed, false), *ended);
            }
        }
    }
}
