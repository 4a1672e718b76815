//! Carries out what `rules::sessions` decides: claims sessions, asks models, calls tools (A2, A5).
//!
//! ```text
//!   message, decision … ─ commit ─▶ rows ─ wake ─▶ claim (lease, epoch) ─▶ Owner: effects ─▶ results ─ commit ─▶ rows
//!                                    ▲                                        │ nothing left to do, or a wait
//!                                    └──────── look, every few seconds ◀──────┴─ lease given back, task gone
//! ```
//!
//! A wake-up is a hint; the look over the database finds whatever it missed, also what another process left behind. A
//! session that waits is a row and nothing else.

mod asking;
mod calling;
mod history;
mod kept_heads;
mod looking;
mod owner;
mod pruning;
mod told;
mod workspaces;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, Semaphore};
use tracing::Instrument as _;
use warren_exchange::QueueWaker;
use warren_fleet::Fleet;
use warren_model::session::Session;
use warren_model::{AgentDefinition, ErrorCode, SessionId, Timestamp, WorkspaceId};
use warren_operations::{Operations, PlaceTraits};
use warren_rules::sessions::Input;
use warren_service::{Context, Error, Identity};
use warren_store::Store;

use crate::commit::{self, Change, Changed, Surroundings};
use crate::config::Config;
use crate::hosted::has_tasks;
use crate::offers::{Offer, Offers};
use crate::streams::Streams;
pub(crate) use calling::bounded;
pub(crate) use history::History;
use kept_heads::KeptHeads;
use owner::Owner;
use pruning::Pruning;
use told::ToldOnce;
use workspaces::WorkspaceWatch;

const BATCH: u32 = 64;
/// How soon the next look follows one that found as much as it takes.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// The engine of one process. Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub struct Engine(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    context: Context,
    config: Config,
    surroundings: Surroundings,
    fleet: Fleet,
    operations: Operations,
    streams: Streams,
    places: Arc<Semaphore>,
    /// Sessions that this process works on, each with the bell that tells its owner to look again.
    owned: Mutex<std::collections::HashMap<SessionId, Arc<Notify>>>,
    /// Claims under way, so that two wake-ups do not both try.
    claiming: Mutex<HashSet<SessionId>>,
    /// Workspaces in which a session began or ceased to work since they were last looked at.
    moved: Mutex<HashSet<WorkspaceId>>,
    /// Of the queues in which tasks wait that go on with their session.
    queues: OnceLock<QueueWaker>,
    told: ToldOnce,
    kept_heads: KeptHeads,
    offers: Offers,
}

impl Engine {
    pub(crate) fn new(
        context: Context,
        config: Config,
        surroundings: Surroundings,
        fleet: Fleet,
        operations: Operations,
        streams: Streams,
    ) -> Self {
        Self(Arc::new(Inner {
            places: Arc::new(Semaphore::new(config.max_running)),
            context,
            config,
            surroundings,
            fleet,
            operations,
            streams,
            owned: Mutex::default(),
            claiming: Mutex::default(),
            moved: Mutex::default(),
            queues: OnceLock::new(),
            told: ToldOnce::default(),
            kept_heads: KeptHeads::default(),
            offers: Offers::default(),
        }))
    }

    /// Begins to look for sessions that nobody works on. A replica that only serves clients works on none, and tells only
    /// how busy their workspaces are.
    pub(crate) fn start(&self) {
        let engine = self.clone();
        if !self.works() {
            let span = tracing::info_span!("agent.engine.note_sessions");
            self.0.context.spawn(span, async move { looking::note_again_and_again(&engine).await });
            return;
        }
        let span = tracing::info_span!("agent.engine.look");
        self.0.context.spawn(span, async move {
            looking::end_leases_of_the_dead(&engine).await;
            looking::look_again_and_again(&engine).await;
        });
        let watch = WorkspaceWatch(self.clone());
        let span = tracing::info_span!("agent.engine.follow_workspaces");
        self.0.context.spawn(span, async move { watch.run().await });
        let pruning = Pruning::new(self.0.context.clone(), self.0.config, self.0.streams.clone());
        let span = tracing::info_span!("agent.engine.prune");
        self.0.context.spawn(span, async move { pruning.run().await });
    }

    /// Whether this process works on sessions.
    fn works(&self) -> bool {
        self.0.fleet.box_holders.role().opens_boxes()
    }

    /// Makes a change, tells whoever follows, and sees to it that somebody goes on with the session.
    pub(crate) async fn change(&self, change: Change) -> Result<Changed, Error> {
        let surroundings = self.0.surroundings.clone();
        let changed = self.store().write(move |tx| commit::apply(tx, &surroundings, &change)).await?;
        self.tell(&changed);
        self.wake(&changed.open.session);
        Ok(changed)
    }

    /// Tells whoever follows the session what was written.
    pub(crate) fn tell(&self, changed: &Changed) {
        self.0.streams.publish(changed.open.session.id, &changed.entries);
        if changed.has_moved {
            self.note_moved(changed.open.session.workspace_id);
        }
        if changed.has_tasks {
            self.wake_queue(changed.open.session.workspace_id);
        }
    }

    /// Says whose queues hold tasks. Once, where everything is put together.
    pub(crate) fn wake_queues_of(&self, queues: QueueWaker) {
        let _ = self.0.queues.set(queues);
    }

    fn wake_queue(&self, id: WorkspaceId) {
        if let Some(queues) = self.0.queues.get() {
            queues.wake(id);
        }
    }

    /// After a change: its owner looks again, or somebody claims it.
    pub(crate) fn wake(&self, session: &Session) {
        if let Some(bell) = self.owned().get(&session.id) {
            bell.notify_one();
        } else if session.is_due(self.0.context.now()) {
            self.claim_soon(session.id);
        }
    }

    /// The session was changed in somebody else's transaction: whoever follows it reads, and somebody goes on with it.
    pub(crate) fn look_at(&self, id: SessionId) {
        let engine = self.clone();
        let span = tracing::info_span!("agent.engine.look_at", session.id = %id);
        self.0.streams.nudge(id);
        self.0.context.spawn(span, async move { engine.look_at_again(id).await });
    }

    /// A session began or ceased to work: its workspace is looked at soon.
    fn note_moved(&self, id: WorkspaceId) {
        self.0.moved.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
    }

    /// How many sessions this process works on now.
    pub fn working_on(&self) -> usize {
        self.owned().len()
    }

    /// How many sessions somebody follows at this process.
    pub fn followed(&self) -> usize {
        self.0.streams.followed()
    }

    pub(crate) fn surroundings(&self) -> &Surroundings {
        &self.0.surroundings
    }

    pub(crate) fn context(&self) -> &Context {
        &self.0.context
    }

    /// What a session's model is offered.
    pub(crate) async fn offer_to(&self, id: SessionId) -> Result<Arc<Offer>, Error> {
        let surroundings = self.0.surroundings.clone();
        let (session, agent, place) = self
            .store()
            .write(move |tx| {
                let session = tx.session(id)?.ok_or_else(|| Error::new(ErrorCode::SessionNotFound))?;
                let agent = surroundings.agent(tx, session.org_id, &session.agent)?;
                let workspace = tx.workspace(session.workspace_id)?;
                let workspace = workspace.ok_or_else(|| Error::new(ErrorCode::WorkspaceNotFound))?;
                Ok::<_, Error>((session, agent, PlaceTraits::of(&workspace)))
            })
            .await?;
        Ok(self.offered(&session, &agent, place))
    }

    fn offered(&self, session: &Session, agent: &AgentDefinition, place: PlaceTraits) -> Arc<Offer> {
        self.0.offers.of(session.org_id, &session.agent, agent, place)
    }

    fn store(&self) -> &Arc<dyn Store> {
        self.0.context.store()
    }

    fn owned(&self) -> std::sync::MutexGuard<'_, std::collections::HashMap<SessionId, Arc<Notify>>> {
        self.0.owned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Claims a session in the background, when there is a place for it.
    fn claim_soon(&self, id: SessionId) {
        if !self.works() {
            return;
        }
        let is_new = self.0.claiming.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
        if !is_new || self.0.context.is_stopping() {
            return;
        }
        let engine = self.clone();
        let span = tracing::info_span!(parent: None, "agent.engine.own", session.id = %id);
        self.0.context.spawn(span.clone(), async move { engine.claim_and_own(id).instrument(span).await });
    }

    async fn claim_and_own(&self, id: SessionId) {
        let place = tokio::select! {
            place = Arc::clone(&self.0.places).acquire_owned() => place,
            () = self.0.context.stopping().cancelled() => return,
        };
        let Ok(_place) = place else { return };
        let bell = Arc::new(Notify::new());
        let claimed = match self.has_box_of(id).await {
            Ok(true) => self.claim(id).await,
            Ok(false) => Ok(None),
            Err(error) => Err(error),
        };
        self.0.claiming.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        match claimed {
            Ok(Some(changed)) => {
                self.owned().insert(id, Arc::clone(&bell));
                self.tell(&changed);
                workspaces::wake_workspace_of(self, &changed.open.session);
                Owner::new(self.clone(), bell, changed).run().await;
                self.owned().remove(&id);
                self.look_at_again(id).await;
            }
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "a session could not be taken up; it is tried again"),
        }
    }

    /// Whether the box of a session's workspace is this process's, or can be: tools are called where it is. The replica
    /// that has it hears of the session by the log of events.
    async fn has_box_of(&self, id: SessionId) -> Result<bool, Error> {
        if self.0.fleet.box_holders.is_alone() {
            return Ok(true);
        }
        let session = self.store().read_few(move |tx| tx.session(id).map_err(Error::from)).await?;
        match session {
            Some(session) => self.0.fleet.box_holders.take_for_work(session.workspace_id).await,
            None => Ok(true),
        }
    }

    /// What came between the owner's last look and its end is not left lying.
    async fn look_at_again(&self, id: SessionId) {
        let session = self.store().read_few(move |tx| tx.session(id).map_err(Error::from)).await;
        if let Ok(Some(session)) = session {
            self.wake(&session);
            self.note_moved(session.workspace_id);
            if has_tasks(&session) {
                self.wake_queue(session.workspace_id);
            }
        }
    }

    /// The lease, and the first look of its owner, in one transaction.
    async fn claim(&self, id: SessionId) -> Result<Option<Changed>, Error> {
        let (now, owner) = (self.0.context.now(), self.0.context.instance().to_owned());
        let expires_at = self.lease_end(now);
        let surroundings = self.0.surroundings.clone();
        self.store()
            .write(move |tx| {
                let Some(session) = tx.claim_session(id, &owner, now, expires_at)? else { return Ok(None) };
                let change = Change::by_owner(&session, now, vec![Input::Time, Input::Continue]);
                let changed = commit::apply(tx, &surroundings, &change)?;
                if changed.effects.is_empty() {
                    tx.release_session(id, session.epoch, now)?;
                }
                Ok(Some(changed))
            })
            .await
    }

    fn lease_end(&self, now: Timestamp) -> Timestamp {
        now.plus_ms(i64::try_from(self.0.config.lease.as_millis()).unwrap_or(i64::MAX))
    }
}

/// An agent acts as its workspace, with no more rights than that.
fn identity_of(session: &Session) -> Identity {
    Identity::of_workspace(session.workspace_id, session.org_id, session.created_at)
}
