//! Following a session: its stream from any entry on, and then as it grows (A60, A61).
//!
//! ```text
//!   commit ─▶ publish ─▶ readers of this process, at once
//!      └───▶ rows and steps ─▶ readers that come later, or sit at another process: they look every moment
//! ```
//!
//! Pieces of an answer are rows until the step has its answer; from then on they are cut out of the step again, by the
//! marks that it keeps, so that a reader who comes back in the middle sees the same pieces with the same numbers.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::broadcast;
use warren_model::SessionId;
use warren_model::session::{Block, Step, StepPhase, StreamEntry, StreamItem};
use warren_service::{Context, Error};
use warren_store::ReadTx;

/// Commits that a reader may be behind before it reads from the database again.
const BEHIND: usize = 64;
const PAGE: u32 = 500;
/// How often a reader looks when another process may be writing, and when not.
const LOOK_SHARED: Duration = Duration::from_millis(200);
const LOOK_ALONE: Duration = Duration::from_secs(5);

type Entries = Arc<Vec<StreamEntry>>;

/// The streams of all sessions. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Streams {
    context: Context,
    readers: Arc<Mutex<HashMap<SessionId, broadcast::Sender<Entries>>>>,
    /// Pieces were shown that are to be removed some time. At the start those of an earlier process may be there.
    has_pieces: Arc<AtomicBool>,
}

impl Streams {
    pub(crate) fn new(context: Context) -> Self {
        Self { context, readers: Arc::default(), has_pieces: Arc::new(AtomicBool::new(true)) }
    }

    /// Tells the readers of this process what was committed. Where there are none, it costs a look.
    pub(crate) fn publish(&self, id: SessionId, entries: &[StreamEntry]) {
        if entries.is_empty() {
            return;
        }
        if entries.iter().any(|entry| entry.item.is_delta()) {
            self.note_pieces();
        }
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = readers.get(&id)
            && sender.send(Arc::new(entries.to_vec())).is_err()
        {
            readers.remove(&id);
        }
    }

    /// There are pieces that are to be removed some time.
    pub(crate) fn note_pieces(&self) {
        self.has_pieces.store(true, Ordering::Relaxed);
    }

    /// Whether there were since this was last asked.
    pub(crate) fn take_note_of_pieces(&self) -> bool {
        self.has_pieces.swap(false, Ordering::Relaxed)
    }

    /// How many sessions have readers here.
    pub(crate) fn followed(&self) -> usize {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Something was committed elsewhere: readers of this process look into the database.
    pub(crate) fn nudge(&self, id: SessionId) {
        let readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = readers.get(&id) {
            let _ = sender.send(Arc::default());
        }
    }

    /// Entries behind `after`, from the database first and then as they come.
    pub(crate) fn follow(&self, id: SessionId, after: u64) -> Follower {
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        let sender = readers.entry(id).or_insert_with(|| broadcast::channel(BEHIND).0);
        let live = sender.subscribe();
        Follower { streams: self.clone(), id, after, live, is_caught_up: false }
    }
}

impl Drop for Follower {
    /// A session that nobody follows any more has nothing in memory, also if nothing happens in it for days.
    fn drop(&mut self) {
        let mut readers = self.streams.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if readers.get(&self.id).is_some_and(|sender| sender.receiver_count() <= 1) {
            readers.remove(&self.id);
        }
    }
}

/// One reader of one session.
#[derive(Debug)]
pub struct Follower {
    streams: Streams,
    id: SessionId,
    after: u64,
    live: broadcast::Receiver<Entries>,
    is_caught_up: bool,
}

impl Follower {
    /// The sequence of the last entry that was handed out.
    pub fn position(&self) -> u64 {
        self.after
    }

    /// The next entries, at least one; waits for them. The stream of a session has no end: who reads decides when they
    /// have seen enough.
    pub async fn next(&mut self) -> Result<Vec<StreamEntry>, Error> {
        let look = if self.streams.context.store().is_shared() { LOOK_SHARED } else { LOOK_ALONE };
        loop {
            if !self.is_caught_up {
                let entries = self.read().await?;
                if entries.is_empty() {
                    self.is_caught_up = true;
                } else {
                    return Ok(self.hand_out(entries));
                }
            }
            match tokio::time::timeout(look, self.live.recv()).await {
                Ok(Ok(entries)) => {
                    let new: Vec<_> =
                        entries.iter().filter(|entry| entry.sequence > self.after).cloned().collect();
                    match new.first() {
                        Some(first) if first.sequence == self.after + 1 => return Ok(self.hand_out(new)),
                        // Something between was not heard, or nothing is said but that there is something.
                        Some(_) | None => self.is_caught_up = false,
                    }
                }
                Ok(Err(_)) | Err(_) => self.is_caught_up = false,
            }
        }
    }

    /// What is there already, without waiting.
    pub async fn read(&self) -> Result<Vec<StreamEntry>, Error> {
        let (id, after) = (self.id, self.after);
        self.streams.context.store().read(move |tx| read_after(tx, id, after)).await
    }

    fn hand_out(&mut self, entries: Vec<StreamEntry>) -> Vec<StreamEntry> {
        if let Some(last) = entries.last() {
            self.after = last.sequence;
        }
        entries
    }
}

/// A page of a session's entries behind a sequence, pieces of answers included.
pub(crate) fn read_after(
    tx: &mut dyn ReadTx,
    id: SessionId,
    mut after: u64,
) -> Result<Vec<StreamEntry>, Error> {
    loop {
        let rows = tx.stream_after(id, after, PAGE)?;
        let Some(last) = rows.last().map(|entry| entry.sequence) else { return Ok(rows) };
        let is_full = rows.len() >= PAGE as usize;
        let entries = with_pieces_of_steps(tx, id, after, last, rows)?;
        // A page of nothing but pieces that are to be removed has nothing to show, and there may be more behind it.
        if !entries.is_empty() || !is_full {
            return Ok(entries);
        }
        after = last;
    }
}

/// A step that has its answer holds its pieces, whether their rows are still there or not.
fn with_pieces_of_steps(
    tx: &mut dyn ReadTx,
    id: SessionId,
    after: u64,
    last: u64,
    rows: Vec<StreamEntry>,
) -> Result<Vec<StreamEntry>, Error> {
    // Every step of which something stands here may have pieces in front of it.
    let mut steps: BTreeMap<u32, Option<Step>> = BTreeMap::new();
    for number in rows.iter().filter_map(|entry| entry.item.step()) {
        if let std::collections::btree_map::Entry::Vacant(place) = steps.entry(number) {
            place.insert(tx.step(id, number)?);
        }
    }
    let is_held = |entry: &StreamEntry| {
        let step = entry.item.step().and_then(|number| steps.get(&number)?.as_ref());
        entry.item.is_delta()
            && step.is_some_and(|step| match entry.item {
                StreamItem::CallOutput { .. } => step.phase == StepPhase::Closed,
                _ => step.phase != StepPhase::Asking,
            })
    };
    let mut all: BTreeMap<u64, StreamEntry> =
        rows.into_iter().filter(|entry| !is_held(entry)).map(|entry| (entry.sequence, entry)).collect();
    for step in steps.into_values().flatten() {
        for entry in pieces(&step) {
            if entry.sequence > after && entry.sequence <= last {
                all.entry(entry.sequence).or_insert(entry);
            }
        }
    }
    Ok(all.into_values().collect())
}

/// The pieces of a step's answer as they were told.
pub(crate) fn pieces(step: &Step) -> Vec<StreamEntry> {
    let mut begins: HashMap<u32, usize> = HashMap::new();
    let at = step.answered_at.unwrap_or(step.started_at);
    let piece = |mark: &warren_model::session::DeltaMark| {
        let begin = begins.insert(mark.block, mark.end as usize).unwrap_or(0);
        let (number, block) = (step.number, mark.block);
        let cut = |text: &str| text.get(begin..mark.end as usize).unwrap_or_default().to_owned();
        let item = match step.blocks.get(mark.block as usize)? {
            Block::Text { text } => StreamItem::TextDelta { step: number, block, text: cut(text) },
            Block::Reasoning { text, .. } => {
                StreamItem::ReasoningDelta { step: number, block, text: cut(text) }
            }
            Block::Call { .. } | Block::Other { .. } => return None,
        };
        Some(StreamEntry { sequence: mark.sequence, at, item })
    };
    step.deltas.iter().filter_map(piece).collect()
}
