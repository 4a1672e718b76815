//! The verbs of Warren, decided on paper.
//!
//! Functions from values to values, without clock, I/O or randomness. If a test here needs an async runtime, the
//! code is in the wrong crate. One family for each subject:
//!
//! | family | what is decided |
//! |---|---|
//! | [`lifecycle`] | statuses of workspaces, what reports and silence lead to, what is reconciled and swept |
//! | [`messages`] | what becomes of a message: queue, delivery, tasks, delegations, chats, schedules, approvals, memory |
//! | [`sessions`] | what becomes of a session with an agent: runs, steps, tool calls, people, limits |
//! | [`boxes`] | what runs in a workspace: command policy, tiers, the states of the registry |
//! | [`access`] | who may do what: tokens, secrets, budgets, rates, the chain of the audit log |
//! | [`outbound`] | what may be called from here, and when it is tried again |
//! | [`text`] | what is masked, and how large a value may be |

pub mod access;
pub mod boxes;
pub mod lifecycle;
pub mod messages;
pub mod outbound;
pub mod sessions;
pub mod text;
