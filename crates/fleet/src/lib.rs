//! The fleet: one service per noun, over workspaces and those who use them.
//!
//! | service | what it does |
//! |---|---|
//! | [`Workspaces`] | get, list, create, patch, remove, collapse |
//! | [`Lifecycle`] | pause, resume, hibernate, wake, restart, reset |
//! | [`Runtimes`] | register, heartbeat |
//! | [`Residents`] | the agents that Warren itself runs in boxes |
//! | [`Tokens`], [`Throttle`] | identify, mint, revoke, sign in and out; how fast callers may ask |
//! | [`Users`], [`Orgs`], [`Invitations`] | who is where, what they may there, and how they come in and leave |
//! | [`Secrets`], [`KeyRotation`] | set, list, remove, hand to commands; a new key for all |
//! | [`ImageLogins`] | who Warren is to registries of images |
//! | [`Templates`], [`Positions`] | stored templates; where people put workspaces on their map |
//! | [`Imports`], [`Bundles`] | many workspaces at once, out of one Warren and into another |
//! | [`Audit`], [`Journal`], [`ToolRefusals`] | who did what; what was done in a workspace; what was refused |
//! | [`BoxHolders`] | which replica has which box, and where it is reached |
//! | [`Backups`] | a copy of everything, while everything goes on |
//! | [`Budgets`] | what workspaces spend and may |
//! | [`EventLog`] | pages of the event log, and the sign that it has grown |
//! | [`Sweeps`] | what is due, old, lost or left over |
//! | [`Uploads`] | files that come with messages |
//!
//! Each has only what it needs; [`Fleet`] is where they are put together. What `rules` decides is written and brought about
//! here. Every change follows one shape, `load → decide → compare-and-set + event`, in one transaction. What must happen
//! afterwards (open, close, delete) is found again from the row itself, so that a crash between the two loses nothing: the
//! next start asks the same question and gets the same answer.

mod access;
mod audit;
mod backups;
mod budgets;
mod config;
mod event_log;
mod fleet;
mod image_logins;
mod invitations;
mod journal;
mod lifecycle;
mod losses;
mod orgs;
mod reconciler;
mod refs;
mod replicas;
mod residents;
mod runtimes;
mod secrets;
mod sweeps;
mod templates;
mod tokens;
mod tool_refusals;
mod uploads;
mod users;
mod workspaces;

pub use audit::Audit;
pub use backups::{BackupStream, Backups, LAST_BACKUP, LastBackup};
pub use budgets::{Budget, Budgets, Reservation, require_budget};
pub use config::Config;
pub use event_log::{EventLog, EventLogBounds};
pub use fleet::{Fleet, Parts, Services};
pub use image_logins::{ImageLogin, ImageLogins};
pub use invitations::{InvitationPreview, Invitations, Invite};
pub use journal::{Journal, Recorded, Use};
pub use lifecycle::Lifecycle;
pub use losses::StoredLosses;
pub use orgs::{ChangeOrg, OrgUsage, OrgView, Orgs, left_for_org, require_session_room};
pub use refs::StoredRefs;
pub use replicas::{BoxHolders, BoxLocation, Peer, Replica};
pub use residents::{Residents, RunnerGateway};
pub use runtimes::{Heard, NoProbe, Register, Registered, RuntimeProbe, Runtimes};
pub use secrets::{KeyRotation, Rotation, SecretScope, SecretSummary, Secrets};
pub use sweeps::{BackgroundLoop, LastRun, SweepOutcome, SweepReport, Sweeps, Tally};
pub use templates::{
    Bundles, ExportedBundle, Import, ImportReport, ImportedNode, Imports, MAX_TEMPLATE_PAGE, Positions,
    PutTemplate, StoredTemplate, Templates,
};
pub use tokens::{Made, MadeThing, MintToken, Minted, Throttle, Tokens, TooFast, count_kinds};
pub use tool_refusals::ToolRefusals;
pub use uploads::{FileRefusal, HandedFile, IncomingFile, LandedFile, Landing, Uploads};
pub use users::{AddUser, ChangeUser, Departure, NewPeople, OrgPerson, ProviderPerson, Users};
pub use warren_rules::boxes::doors::has_tools as has_tool_door;
pub use warren_rules::lifecycle::replicas::{LEASE_MS as REPLICA_LEASE_MS, Role};
pub use warren_rules::lifecycle::sweeps::Retention;
pub use warren_rules::lifecycle::vitals::Expectations;
pub use warren_store::{AuditQuery, WorkspaceQuery};
pub use workspaces::{
    Collapse, CreateWorkspace, OfferedProvider, PatchWorkspace, Removal, RemovalCounts, VitalsById,
    WorkspaceOptions, WorkspacePage, Workspaces,
};
