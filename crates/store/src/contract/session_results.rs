//! What holds for results that are too long to show.

use std::sync::Arc;

use warren_model::SessionId;

use super::session_samples::{new_session, read};
use crate::{Error, MAX_RESULT_BYTES, ResultPart, Store};

async fn put(store: &dyn Store, of: SessionId, bytes: Vec<u8>) -> Result<(), Error> {
    store.write(move |tx| tx.put_result(of, "c", &bytes)).await
}

async fn part(store: &dyn Store, of: SessionId, offset: u64, limit: u32) -> Option<ResultPart> {
    let part = store.read::<_, Error, _>(move |tx| tx.read_result(of, "c", offset, limit));
    part.await.expect("a part is read")
}

// A20
pub async fn any_part_of_a_result_is_read(store: Arc<dyn Store>) {
    let of = new_session(&*store).await.id;
    assert_eq!(part(&*store, of, 0, 9).await, None);
    let piece = 64 << 10;
    for length in [0, 1, piece - 1, piece, piece + 1, 3 * piece, 3 * piece + 5] {
        let whole: Vec<u8> = (0..length).map(|at| u8::try_from(at % 251).expect("below 251")).collect();
        assert_eq!(put(&*store, of, whole.clone()).await, Ok(()), "in place of the one before");
        for offset in [0, 1, piece - 1, piece, 2 * piece - 3, length, length + 9] {
            for limit in [0, 1, 7, piece, 2 * piece + 1, usize::MAX] {
                let start = offset.min(length);
                let bytes = whole[start..start.saturating_add(limit).min(length)].to_vec();
                let expected = ResultPart { bytes, total_bytes: length as u64 };
                let limit = u32::try_from(limit).unwrap_or(u32::MAX);
                let found = part(&*store, of, offset as u64, limit).await;
                assert!(found == Some(expected), "{limit} of {length} from {offset}");
            }
        }
    }
}

// A20
pub async fn a_result_that_is_too_long_never_reaches_the_database(store: Arc<dyn Store>) {
    let row = new_session(&*store).await;
    let (of, name) = (row.id, row.title.clone());
    let too_long = Error::TooLarge { bytes: MAX_RESULT_BYTES + 1, limit: MAX_RESULT_BYTES };
    let got_over: Result<u64, Error> = store
        .write(move |tx| {
            assert_eq!(tx.put_result(of, "c", &vec![0; MAX_RESULT_BYTES + 1]), Err(too_long.clone()));
            let from = tx.session(of)?.expect("it is there");
            let mut to = from.clone();
            to.title = format!("{name}, told");
            tx.update_session(&from, &to)
        })
        .await;
    assert_eq!(got_over, Ok(2), "whoever is told goes on");
    assert_eq!(part(&*store, of, 0, 9).await, None);
    let mut huge = read(&*store, of).await.expect("it is there");
    let old = huge.clone();
    huge.state.insert("notes".into(), "x".repeat(17 << 20).into());
    let refused = super::session_samples::change(&*store, &old, &huge).await;
    assert!(matches!(refused, Err(Error::TooLarge { .. })), "{refused:?}");
}

// A20
pub async fn results_of_old_sessions_and_removed_workspaces_are_cleared(store: Arc<dyn Store>) {
    use super::samples::NOW;
    use warren_model::Status;
    use warren_model::session::{Phase, Suspension};
    let old = NOW.plus_ms(5);
    let of_session = async |updated_at, phase: Phase| {
        let row = new_session(&*store).await;
        let changed = warren_model::session::Session { updated_at, phase, ..row.clone() };
        super::session_samples::change(&*store, &row, &changed).await.expect("it changes");
        put(&*store, row.id, vec![7; 200 << 10]).await.expect("it is kept");
        row
    };
    let waits = Phase::Suspended { by: Suspension::Approval, reason: "a person decides".into() };
    let used = of_session(NOW.plus_ms(9), Phase::Idle).await;
    let waiting = of_session(NOW, waits).await;
    let first = of_session(NOW, Phase::Idle).await;
    let second = of_session(NOW, Phase::Idle).await;
    let gone = of_session(NOW.plus_ms(9), Phase::Idle).await;
    let prune = |before, limit: u32| store.write::<_, Error, _>(move |tx| tx.prune_results(before, limit));
    assert_eq!(prune(None, 9).await, Ok(0), "nobody said what is old");
    assert_eq!(prune(Some(old), 1).await, Ok(4), "one result, all of its pieces");
    assert_eq!(prune(Some(old), 9).await, Ok(4));
    for row in [&first, &second] {
        assert_eq!(part(&*store, row.id, 0, 1).await, None);
    }
    let removing = gone.workspace_id;
    let removed = store.write::<_, Error, _>(move |tx| {
        let mut row = tx.workspace(removing)?.expect("it is there");
        row.status = Status::Removed;
        tx.update_workspace(&row, row.version)
    });
    removed.await.expect("it is removed");
    assert_eq!(prune(None, 9).await, Ok(4), "nobody asks for what a removed workspace leaves");
    for (row, is_kept) in [(&used, true), (&waiting, true), (&gone, false)] {
        assert_eq!(part(&*store, row.id, 0, 1).await.is_some(), is_kept);
    }
}
