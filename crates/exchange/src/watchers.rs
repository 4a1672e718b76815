//! Those who follow a task. What they are told is a hint that comes fast; the row is the truth, and is read again
//! whenever a hint may have been missed: after a lag, and when another replica did the work.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{broadcast, watch};
use warren_model::{ErrorCode, Task, TaskId, TaskUpdate, Timestamp, Workspace};
use warren_rules::messages::following::{AfterLook, Look, after_look};
use warren_rules::messages::uploads;
use warren_service::{Error, Identity};
use warren_store::Store;

use crate::send::{Accepted, Send, Sender};
use crate::{Exchange, Sight};

/// Updates that a follower may be behind before it reads the row instead. Every task that is waited for pays for them.
const BUFFER: usize = 32;
/// How often the row is looked at while events come that may be about it.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

#[derive(Debug, Clone)]
struct Hint {
    version: u64,
    update: TaskUpdate,
    /// The row as it was written, where whoever waits for the end of a turn wants it.
    row: Option<Task>,
}

#[derive(Debug, Default)]
pub(crate) struct Watchers(Mutex<HashMap<TaskId, broadcast::Sender<Arc<Hint>>>>);

impl Watchers {
    /// Tells all who follow this task. A task that has ended is told of for the last time.
    pub(crate) fn tell(&self, task: &Task, update: TaskUpdate) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(sender) = open.get(&task.id) else { return };
        // The last word, and not the first of a task that has ended: more may come with it.
        let is_last = ends(&update);
        let row = settles(&update).then(|| task.clone());
        let _ = sender.send(Arc::new(Hint { version: task.version, update, row }));
        if is_last || sender.receiver_count() == 0 {
            open.remove(&task.id);
        }
    }

    fn follow(&self, id: TaskId) -> broadcast::Receiver<Arc<Hint>> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.entry(id).or_insert_with(|| broadcast::channel(BUFFER).0).subscribe()
    }

    /// Forgets tasks that nobody follows any more.
    pub(crate) fn clear(&self) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, sender| sender.receiver_count() > 0);
    }
}

/// Follows one task from the moment it was made.
#[derive(Debug)]
pub struct Follower {
    id: TaskId,
    sight: Sight,
    hints: broadcast::Receiver<Arc<Hint>>,
    store: Arc<dyn Store>,
    newest: watch::Receiver<u64>,
    /// The newest version whose updates were handed out.
    seen: u64,
    /// The version at which the row was read last: what was said up to it is in the row.
    read_at: u64,
    has_ended: bool,
    /// The row, as the last hint brought it.
    row: Option<Task>,
}

impl Exchange {
    /// Follows a task. What happened before is in the task that comes with it.
    pub async fn follow(&self, id: TaskId, sight: Sight) -> Result<(Task, Follower), Error> {
        // Listening begins before the row is read, so that nothing falls between.
        let mut follower = self.listen(id, sight);
        let task = read(&**self.store(), id).await?;
        follower.begin_at(&task);
        Ok((sight.task(task), follower))
    }

    /// Sends, and follows what becomes of it from its first moment: nothing needs to be read for that.
    pub async fn send_and_follow(&self, who: &Identity, send: Send) -> Result<(Accepted, Follower), Error> {
        let row = self.reach(who, send.workspace_id).await?;
        self.send_and_follow_reached(who, row, send).await
    }

    /// The same for a caller of whom it was just found that they reach the workspace.
    pub async fn send_and_follow_reached(
        &self,
        who: &Identity,
        row: Workspace,
        send: Send,
    ) -> Result<(Accepted, Follower), Error> {
        let sight = Sight::of(who, row.id);
        if !uploads::named_files(&send.message).is_empty() {
            // Boxed: what copies files is large, and most messages have none.
            let mut accepted = Box::pin(self.send_reached(who, row, send)).await?;
            let (task, follower) = self.follow(accepted.task.id, sight).await?;
            accepted.task = task;
            return Ok((accepted, follower));
        }
        let request = self.request(Sender::of(who), send, None)?;
        let id = request.send.task_id.unwrap_or(request.task_id);
        let mut follower = self.listen(id, sight);
        let mut accepted = self.accept_request(request).await?;
        if accepted.is_repeat {
            (accepted.task, follower) = self.follow(accepted.task.id, sight).await?;
            return Ok((accepted, follower));
        }
        follower.begin_at(&accepted.task);
        Ok((accepted, follower))
    }

    fn listen(&self, id: TaskId, sight: Sight) -> Follower {
        Follower {
            id,
            sight,
            hints: self.watchers().follow(id),
            store: Arc::clone(self.store()),
            newest: self.store().newest_event(),
            seen: 0,
            read_at: 0,
            has_ended: false,
            row: None,
        }
    }

    /// Waits until the task has ended or its agent waits for more; no longer than until then.
    pub async fn settled(&self, id: TaskId, sight: Sight, until: Option<Timestamp>) -> Result<Task, Error> {
        let (task, follower) = self.follow(id, sight).await?;
        self.settled_of(task, follower, until).await
    }

    /// The same for one who follows it already.
    pub async fn settled_of(
        &self,
        task: Task,
        mut follower: Follower,
        until: Option<Timestamp>,
    ) -> Result<Task, Error> {
        if task.state.is_final() || task.state.is_interrupted() {
            return Ok(task);
        }
        let sight = follower.sight;
        let waiting = async {
            while let Some(update) = follower.next().await? {
                if settles(&update) {
                    break;
                }
            }
            match follower.row.take() {
                Some(row) => Ok(row),
                None => read(&**self.store(), task.id).await,
            }
        };
        let settled = match until.map(|until| until.ms_since(self.clock().now()).max(0).unsigned_abs()) {
            None => waiting.await,
            Some(ms) => match tokio::time::timeout(Duration::from_millis(ms), waiting).await {
                Ok(settled) => settled,
                Err(_) => read(&**self.store(), task.id).await,
            },
        };
        settled.map(|task| sight.task(task))
    }
}

async fn read(store: &dyn Store, id: TaskId) -> Result<Task, Error> {
    let task = store.read(move |tx| tx.task(id).map_err(Error::from)).await?;
    task.ok_or_else(|| Error::new(ErrorCode::TaskNotFound))
}

impl Follower {
    /// What was said up to this state of the row is in the row.
    fn begin_at(&mut self, task: &Task) {
        (self.seen, self.read_at) = (task.version, task.version);
        self.has_ended = task.state.is_final();
    }

    /// The next thing that happened; `None` once the task has ended and all was told.
    pub async fn next(&mut self) -> Result<Option<TaskUpdate>, Error> {
        // Any event may be about this task, written by another replica. Hints of this process come long before the look.
        let mut look = std::pin::pin!(None::<tokio::time::Sleep>);
        loop {
            if self.has_ended {
                return Ok(None);
            }
            tokio::select! {
                biased;
                hint = self.hints.recv() => match hint {
                    Ok(hint) if hint.version < self.seen || hint.version <= self.read_at => {}
                    Ok(hint) => {
                        self.seen = hint.version;
                        self.has_ended = ends(&hint.update);
                        self.row.clone_from(&hint.row);
                        return Ok(Some(self.sight.update(hint.update.clone())));
                    }
                    Err(_) => {
                        self.hints = self.hints.resubscribe();
                        match self.look().await? {
                            Looked::News(update) => return Ok(Some(update)),
                            Looked::HintsFirst => {}
                            Looked::Nothing => tokio::time::sleep(LOOK_AGAIN).await,
                        }
                    }
                },
                changed = self.newest.changed(), if look.is_none() => {
                    if changed.is_err() {
                        return Ok(None);
                    }
                    look.set(Some(tokio::time::sleep(LOOK_AGAIN)));
                }
                () = async {
                    match look.as_mut().as_pin_mut() {
                        Some(look) => look.await,
                        None => std::future::pending().await,
                    }
                } => {
                    look.set(None);
                    match self.look().await? {
                        Looked::News(update) => return Ok(Some(update)),
                        Looked::HintsFirst => look.set(Some(tokio::time::sleep(LOOK_AGAIN))),
                        Looked::Nothing => {}
                    }
                }
            }
        }
    }

    /// Reads the row; what changed in it unnoticed is told as one update.
    async fn look(&mut self) -> Result<Looked, Error> {
        let task = read(&*self.store, self.id).await?;
        let has_ended = task.state.is_final();
        let look = Look {
            version: task.version,
            has_ended,
            told: self.seen,
            are_hints_waiting: !self.hints.is_empty(),
        };
        match after_look(look) {
            AfterLook::Nothing => return Ok(Looked::Nothing),
            AfterLook::HintsFirst => return Ok(Looked::HintsFirst),
            AfterLook::Tell => {}
        }
        (self.seen, self.read_at) = (task.version, task.version);
        self.has_ended = has_ended;
        self.row = None;
        let task = self.sight.task(task);
        let update =
            TaskUpdate::Status { state: task.state, message: task.status_message, at: task.updated_at };
        Ok(Looked::News(update))
    }
}

/// What came of a look at the row.
enum Looked {
    Nothing,
    News(TaskUpdate),
    HintsFirst,
}

fn ends(update: &TaskUpdate) -> bool {
    warren_rules::messages::dispatch::state_of(update).is_some_and(warren_model::TaskState::is_final)
}

/// Whether a turn is over with it: the task has ended, or waits for somebody.
fn settles(update: &TaskUpdate) -> bool {
    warren_rules::messages::dispatch::state_of(update)
        .is_some_and(|state| state.is_final() || state.is_interrupted())
}
