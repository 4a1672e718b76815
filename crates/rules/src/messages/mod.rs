//! What becomes of a message, from its acceptance to its one outcome, and of all that leads to messages: chats,
//! schedules, approvals, memory, webhooks.

pub mod agent_words;
pub mod approvals;
pub mod attachments;
pub mod chat;
pub mod delegation;
pub mod dispatch;
pub mod feed;
pub mod following;
pub mod memory;
pub mod outcomes;
pub mod peers;
pub mod pushes;
pub mod queue;
pub mod schedules;
pub mod tasks;
pub mod uploads;
pub mod webhooks;
