//! Those who follow a task. What they are told is a hint that comes at once, before the row is written; the row is the
//! truth, and is read again whenever a hint may have been missed: after a lag, and when another replica did the work.
//!
//! A hint carries the version of the row that will hold it, or holds it already, so that a follower that has read the row
//! is not told the same twice. Hints that are not written yet are kept for those who begin to follow in between.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{broadcast, watch};
use warren_model::{ErrorCode, Task, TaskId, TaskUpdate};
use warren_rules::messages::dispatch;
use warren_rules::messages::following::{AfterLook, Look, after_look};
use warren_service::Error;
use warren_store::Store;

use super::{Deliveries, FileView};

/// Updates that a follower may be behind before it reads the row instead. Every task that is waited for pays for them.
const BUFFER: usize = 32;
/// How often the row is looked at while events come that may be about it.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

#[derive(Debug, Clone)]
struct Hint {
    version: u64,
    update: TaskUpdate,
    /// The row as it was written, where whoever waits for the end of the delivery wants it.
    row: Option<Task>,
}

/// The followers of one task.
#[derive(Debug)]
struct Audience {
    sender: broadcast::Sender<Arc<Hint>>,
    /// What was told and is in no row yet.
    unwritten: Vec<Arc<Hint>>,
}

#[derive(Debug, Default)]
pub(super) struct Followers(Mutex<HashMap<TaskId, Audience>>);

impl Followers {
    /// Tells all who follow this task what its row holds now. A task that has ended is told of for the last time.
    pub(super) fn tell(&self, task: &Task, update: TaskUpdate) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(audience) = open.get_mut(&task.id) else { return };
        audience.unwritten.retain(|hint| hint.version > task.version);
        // The last word, and not the first of a task that has ended: more may come with it.
        let is_last = ends(&update);
        let row = settles(&update).then(|| task.clone());
        let _ = audience.sender.send(Arc::new(Hint { version: task.version, update, row }));
        if is_last || audience.sender.receiver_count() == 0 {
            open.remove(&task.id);
        }
    }

    /// Whether anybody would hear of this task.
    pub(super) fn has_any(&self, id: TaskId) -> bool {
        let open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.get(&id).is_some_and(|audience| audience.sender.receiver_count() > 0)
    }

    /// Tells all who follow this task what the row of this version will hold. Returns false if nobody follows: they are
    /// told when it is written.
    pub(super) fn tell_unwritten(&self, id: TaskId, version: u64, update: TaskUpdate) -> bool {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(audience) = open.get_mut(&id) else { return false };
        let hint = Arc::new(Hint { version, update, row: None });
        if audience.sender.send(Arc::clone(&hint)).is_err() {
            return false;
        }
        audience.unwritten.push(hint);
        true
    }

    /// The row of this version is written.
    pub(super) fn note_written(&self, task: &Task) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(audience) = open.get_mut(&task.id) {
            audience.unwritten.retain(|hint| hint.version > task.version);
        }
    }

    fn follow(&self, id: TaskId) -> (broadcast::Receiver<Arc<Hint>>, VecDeque<Arc<Hint>>) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Audience { sender: broadcast::channel(BUFFER).0, unwritten: Vec::new() };
        let audience = open.entry(id).or_insert_with(new);
        (audience.sender.subscribe(), audience.unwritten.iter().cloned().collect())
    }

    /// Forgets this task, if nobody follows it any more.
    fn forget_if_unfollowed(&self, id: TaskId) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if open.get(&id).is_some_and(|audience| audience.sender.receiver_count() == 0) {
            open.remove(&id);
        }
    }

    /// Forgets tasks that nobody follows any more.
    pub(super) fn clear(&self) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, audience| audience.sender.receiver_count() > 0);
    }
}

/// Follows one task from the moment it was made.
#[derive(Debug)]
pub struct Follower {
    id: TaskId,
    view: FileView,
    hints: broadcast::Receiver<Arc<Hint>>,
    /// What was told before this began and stood in no row yet.
    unwritten: VecDeque<Arc<Hint>>,
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

impl Deliveries {
    /// Hears of a task from now on.
    pub(super) fn listen(&self, id: TaskId, view: FileView) -> Follower {
        let (hints, unwritten) = self.0.followers.follow(id);
        let store = Arc::clone(self.0.context.store());
        Follower {
            id,
            view,
            hints,
            unwritten,
            newest: store.newest_event(),
            store,
            seen: 0,
            read_at: 0,
            has_ended: false,
            row: None,
        }
    }

    /// For a follower of a task that never came about: otherwise its place would be kept until the next clearing.
    pub(super) fn stop_listening(&self, follower: Follower) {
        let id = follower.id;
        drop(follower);
        self.0.followers.forget_if_unfollowed(id);
    }

    pub(super) fn followed_tasks(&self) -> usize {
        self.0.followers.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

async fn read(store: &dyn Store, id: TaskId) -> Result<Task, Error> {
    let task = store.read(move |tx| tx.task(id).map_err(Error::from)).await?;
    task.ok_or_else(|| Error::new(ErrorCode::TaskNotFound))
}

impl Follower {
    /// What was said up to this state of the row is in the row.
    pub(super) fn begin_at(&mut self, task: &Task) {
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
            if let Some(hint) = self.unwritten.pop_front() {
                match self.take(&hint) {
                    Some(update) => return Ok(Some(update)),
                    None => continue,
                }
            }
            tokio::select! {
                biased;
                hint = self.hints.recv() => match hint {
                    Ok(hint) => {
                        if let Some(update) = self.take(&hint) {
                            return Ok(Some(update));
                        }
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

    /// What is new in a hint; nothing, if the row that was read holds it.
    fn take(&mut self, hint: &Hint) -> Option<TaskUpdate> {
        if hint.version < self.seen || hint.version <= self.read_at {
            return None;
        }
        self.seen = hint.version;
        self.has_ended = ends(&hint.update);
        self.row.clone_from(&hint.row);
        Some(self.view.update(hint.update.clone()))
    }

    /// Reads the row and begins there.
    pub(super) async fn read_row(&mut self) -> Result<Task, Error> {
        let task = read(&*self.store, self.id).await?;
        self.begin_at(&task);
        Ok(task)
    }

    /// Waits until the task has ended or its agent waits for more.
    pub(super) async fn settled(mut self, task: Task, wait_ms: Option<u64>) -> Result<Task, Error> {
        if task.state.is_final() || task.state.is_interrupted() {
            return Ok(task);
        }
        let (view, store, id) = (self.view, Arc::clone(&self.store), task.id);
        let waiting = async {
            while let Some(update) = self.next().await? {
                if settles(&update) {
                    break;
                }
            }
            match self.row.take() {
                Some(row) => Ok(row),
                None => read(&*store, id).await,
            }
        };
        let settled = match wait_ms {
            None => waiting.await,
            Some(ms) => match tokio::time::timeout(Duration::from_millis(ms), waiting).await {
                Ok(settled) => settled,
                Err(_) => read(&*store, id).await,
            },
        };
        settled.map(|task| view.task(task))
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
        let task = self.view.task(task);
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
    dispatch::state_of(update).is_some_and(warren_model::TaskState::is_final)
}

/// Whether a delivery is over with it: the task has ended, or waits for somebody.
pub(super) fn settles(update: &TaskUpdate) -> bool {
    dispatch::state_of(update).is_some_and(|state| state.is_final() || state.is_interrupted())
}

#[cfg(test)]
mod tests {
    use warren_model::{OrgId, Principal, TaskState, Timestamp, WorkspaceId};

    use super::*;

    const AT: Timestamp = Timestamp::from_micros(1);

    fn task(version: u64) -> Task {
        let (id, workspace) = (TaskId::from_bytes([1; 16]), WorkspaceId::from_bytes([2; 16]));
        let author = Principal::system("test");
        Task { version, ..Task::submitted(id, OrgId::DEFAULT, workspace, "c", author, AT) }
    }

    fn working() -> TaskUpdate {
        TaskUpdate::Status { state: TaskState::Working, message: None, at: AT }
    }

    #[test]
    fn a_word_is_told_before_its_row_and_kept_for_latecomers_until_then() {
        let (followers, id) = (Followers::default(), task(1).id);
        assert!(!followers.tell_unwritten(id, 2, working()), "nobody follows");
        let (mut first, unwritten) = followers.follow(id);
        assert!(unwritten.is_empty());
        assert!(followers.has_any(id) && followers.tell_unwritten(id, 2, working()));
        assert_eq!(first.try_recv().unwrap().version, 2, "heard before the row is written");
        let (_second, unwritten) = followers.follow(id);
        assert_eq!(unwritten.iter().map(|hint| hint.version).collect::<Vec<_>>(), [2]);
        followers.note_written(&task(2));
        assert!(followers.follow(id).1.is_empty(), "it is in the row now");
    }
}
