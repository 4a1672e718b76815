//! Looking for sessions that somebody has to go on with: whose time has come, and whose owner is gone.

use warren_model::Principal;
use warren_rules::sessions::Input;
use warren_service::Error;
use warren_store::WriteTx;

use super::{BATCH, Engine, LOOK_AGAIN, workspaces};
use crate::commit::Change;

/// Sessions of a process that is gone need not wait for the end of its leases.
pub(super) async fn end_leases_of_the_dead(engine: &Engine) {
    if !engine.0.config.is_alone {
        return;
    }
    let (now, owner) = (engine.0.context.now(), engine.0.context.instance().to_owned());
    let ended = move |tx: &mut dyn WriteTx| tx.end_leases_of_others(&owner, now).map_err(Error::from);
    match engine.store().write(ended).await {
        Ok(0) => {}
        Ok(sessions) => tracing::info!(sessions, "sessions of an earlier process are taken up"),
        Err(error) => tracing::warn!(%error, "leases of an earlier process end by themselves"),
    }
}

pub(super) async fn note_again_and_again(engine: &Engine) {
    loop {
        workspaces::note_sessions(engine).await;
        tokio::select! {
            () = tokio::time::sleep(engine.0.config.look_every) => {}
            () = engine.0.context.stopping().cancelled() => return,
        }
    }
}

pub(super) async fn look_again_and_again(engine: &Engine) {
    loop {
        let pause = match look_once(engine).await {
            Ok(false) => engine.0.config.look_every,
            // There is more than one look takes, such as after a crash.
            Ok(true) => engine.0.config.look_every.min(LOOK_AGAIN),
            Err(error) => {
                tracing::warn!(%error, "sessions could not be looked for; it is tried again");
                engine.0.config.look_every
            }
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = engine.0.context.stopping().cancelled() => return,
        }
    }
}

/// Takes up sessions whose time has come, and those that nobody works on. True if there may be more.
async fn look_once(engine: &Engine) -> Result<bool, Error> {
    workspaces::note_sessions(engine).await;
    let now = engine.0.context.now();
    let read = move |tx: &mut dyn warren_store::ReadTx| {
        Ok::<_, Error>((tx.due_sessions(now, BATCH)?, tx.claimable_sessions(now, BATCH)?))
    };
    let (due, claimable) = engine.store().read(read).await?;
    let is_full = due.len().max(claimable.len()) >= BATCH as usize;
    for id in due {
        let by = Principal::system("sessions");
        let change = Change::new(id, engine.0.context.now(), by, vec![Input::Time]);
        if let Err(error) = engine.change(change).await {
            tracing::warn!(session.id = %id, %error, "a session's time has come, and it could not be told");
        }
    }
    for id in claimable {
        if !engine.owned().contains_key(&id) {
            engine.claim_soon(id);
        }
    }
    Ok(is_full)
}
