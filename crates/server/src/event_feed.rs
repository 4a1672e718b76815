//! What one reader of the event stream gets: history from the database, then what happens, until it may not or does not
//! want to listen any longer.
//!
//! A feed is polled by the reader's own connection, so that one that is slow waits for nobody and nobody for it: it falls
//! behind the hub's buffer, is told so, and goes on from the database.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, stream};
use metrics::Gauge;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, Interval};
use warren_api::{EventFrame, EventPage};
use warren_fleet::EventLogBounds;
use warren_model::{ErrorCode, NewEvent, OrgId, WorkspaceId};
use warren_service::EventQuery;
use warren_service::{Action, Identity, Target};

use crate::App;
use crate::convert;
use crate::event_text::{self, EventBatch};
use crate::paging::unreadable;
use crate::problem::Failure;

/// A stream that says nothing says so, about this often.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How soon a stream learns that its token was revoked (sec/U05).
const RECHECK: Duration = Duration::from_secs(2);
const HISTORY_PAGE: u32 = 200;

/// What somebody may see and wants to see, from where on.
#[derive(Debug)]
pub(crate) struct Subscription {
    who: Identity,
    org_id: Option<OrgId>,
    workspace_id: Option<WorkspaceId>,
    /// Absent: only what is new.
    pub(crate) after: Option<u64>,
    wants_live: bool,
}

impl Subscription {
    pub(crate) async fn new(
        app: &App,
        who: Identity,
        asked: Option<WorkspaceId>,
        after: Option<u64>,
        wants_live: bool,
    ) -> Result<Self, Failure> {
        // A workspace's own token sees its own events without having to say so.
        let workspace_id = asked.or(who.token.workspace_id);
        match workspace_id {
            Some(id) => drop(app.fleet.workspaces.get(&who, Action::ReadEvents, id).await?),
            None => who.may(Action::ReadEvents, Target::Org(who.token.org_id))?,
        }
        Ok(Self { org_id: who.visible_org(), workspace_id, after, wants_live, who })
    }

    fn query(&self, after: u64, limit: u32) -> EventQuery {
        EventQuery { after, org_id: self.org_id, workspace_id: self.workspace_id, limit }
    }

    fn may_see(&self, org_id: OrgId, workspace_id: Option<WorkspaceId>) -> bool {
        let is_of_org = self.org_id.is_none_or(|org| org == org_id);
        let is_of_workspace = self.workspace_id.is_none_or(|id| workspace_id == Some(id));
        is_of_org && is_of_workspace
    }

    /// One page of the log.
    pub(crate) async fn page(&self, app: &App, limit: u32) -> Result<EventPage, Failure> {
        let after = self.after.unwrap_or(0);
        let query = self.query(after, limit);
        let (page, newest) = app.fleet.event_log.page(query).await?;
        let last = page.rows.last().map_or(after, |event| event.seq).min(newest);
        Ok(EventPage {
            items: page.rows.iter().map(convert::event).collect(),
            next_after: page.next.unwrap_or(last),
            is_last: page.next.is_none(),
            unreadable: unreadable(&page.unreadable),
        })
    }
}

/// Counted as long as it lives.
struct Counted(Gauge);

impl Counted {
    fn of(gauge: Gauge) -> Self {
        gauge.increment(1.0);
        Self(gauge)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.decrement(1.0);
    }
}

/// Where a feed is.
enum Phase {
    Begun,
    CatchingUp,
    Following,
    Ended,
}

/// The feed of one reader.
pub(crate) struct Feed {
    subscription: Subscription,
    app: Arc<App>,
    phase: Phase,
    /// Everything up to it was said.
    cursor: u64,
    /// Texts that are to be said before anything else.
    ready: VecDeque<Bytes>,
    stored: Receiver<Arc<EventBatch>>,
    live: Option<Receiver<Arc<NewEvent>>>,
    recheck: Interval,
    last_word: Instant,
    _counted: Counted,
    _place: OwnedSemaphorePermit,
}

impl Feed {
    pub(crate) fn new(subscription: Subscription, app: Arc<App>, place: OwnedSemaphorePermit) -> Self {
        Self {
            phase: Phase::Begun,
            cursor: subscription.after.unwrap_or(0),
            ready: VecDeque::new(),
            // Listening begins before history is read, so that nothing falls between the two.
            stored: app.hub.listen(),
            live: subscription.wants_live.then(|| app.fleet.context.live_events()),
            recheck: tokio::time::interval(RECHECK),
            last_word: Instant::now(),
            _counted: Counted::of(app.telemetry.gauge("warren_event_streams", &[])),
            _place: place,
            subscription,
            app,
        }
    }

    /// All that the reader gets, as [`event_text`] writes it.
    pub(crate) fn texts(self) -> impl Stream<Item = Bytes> + Send {
        stream::unfold(self, |mut feed| async {
            let text = feed.next().await?;
            feed.last_word = Instant::now();
            Some((text, feed))
        })
    }

    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(text) = self.ready.pop_front() {
                return Some(text);
            }
            let went_on = match self.phase {
                Phase::Begun => self.begin().await,
                Phase::CatchingUp => self.catch_up().await,
                Phase::Following => self.follow().await,
                Phase::Ended => return None,
            };
            if let Err(code) = went_on {
                self.tell(&EventFrame::Closing { code: code.as_str().to_owned(), after: self.cursor });
                self.phase = Phase::Ended;
            }
        }
    }

    fn tell(&mut self, frame: &EventFrame) {
        self.ready.push_back(event_text::of_frame(frame));
    }

    /// A reader whose place in the log was cleared away learns so: nothing is left out in silence.
    async fn begin(&mut self) -> Result<(), ErrorCode> {
        let bounds = self.app.fleet.event_log.bounds().await.map_err(|error| error.code)?;
        let EventLogBounds { oldest, newest } = bounds;
        let after = self.subscription.after.unwrap_or(newest);
        self.cursor = after;
        if let Some(oldest) = oldest.filter(|oldest| after + 1 < *oldest) {
            self.tell(&EventFrame::Truncated { after, oldest });
        }
        self.phase = Phase::CatchingUp;
        Ok(())
    }

    /// One page of history.
    async fn catch_up(&mut self) -> Result<(), ErrorCode> {
        let query = self.subscription.query(self.cursor, HISTORY_PAGE);
        // Held for one page, never while a slow client takes it.
        let turn = self.app.history_readers.acquire().await;
        let read = self.app.fleet.event_log.page(query).await;
        drop(turn);
        let (page, newest) = read.map_err(|error| error.code)?;
        self.ready.extend(EventBatch::of(&page.rows).visible(0, |_, _| true));
        if let Some(next) = page.next {
            self.cursor = next;
        } else {
            // A cursor beyond the end is of another log: the reader learns where this one stands.
            self.cursor = newest;
            self.tell(&EventFrame::CaughtUp { seq: newest });
            self.phase = Phase::Following;
        }
        Ok(())
    }

    /// The next thing that happens.
    async fn follow(&mut self) -> Result<(), ErrorCode> {
        tokio::select! {
            () = self.app.stopping.cancelled() => return Err(ErrorCode::ShuttingDown),
            _ = self.recheck.tick() => {
                // A database that is away is no reason to hang up on a reader who was let in.
                if let Ok(false) = self.app.fleet.tokens.is_still_valid(&self.subscription.who).await {
                    return Err(ErrorCode::TokenExpired);
                }
                if self.last_word.elapsed() >= KEEP_ALIVE {
                    self.ready.push_back(event_text::COMMENT);
                }
            }
            told = next_live(&mut self.live) => {
                // Whoever is too slow for what is not stored misses some of it.
                let seen = told.ok().filter(|event| self.subscription.may_see(event.org_id, event.workspace_id));
                if let Some(event) = seen {
                    self.tell(&EventFrame::Live { event: convert::live_event(&event) });
                }
            }
            received = self.stored.recv() => match received {
                Ok(batch) => {
                    let may_see = |org, workspace| self.subscription.may_see(org, workspace);
                    self.ready.extend(batch.visible(self.cursor, may_see));
                    self.cursor = batch.last().map_or(self.cursor, |last| last.max(self.cursor));
                }
                Err(RecvError::Lagged(_)) => {
                    self.tell(&EventFrame::Lagged { after: self.cursor });
                    self.phase = Phase::CatchingUp;
                }
                Err(RecvError::Closed) => return Err(ErrorCode::ShuttingDown),
            },
        }
        Ok(())
    }
}

/// The next event that is not stored; for who did not ask for them there is none.
async fn next_live(live: &mut Option<Receiver<Arc<NewEvent>>>) -> Result<Arc<NewEvent>, RecvError> {
    match live {
        Some(live) => live.recv().await,
        None => std::future::pending().await,
    }
}
