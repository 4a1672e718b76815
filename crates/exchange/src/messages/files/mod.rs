//! Files that go along with messages: those that a sender names, those that an agent answers with, and who sees which.

mod answers;
mod outgoing;
mod view;

pub use view::FileView;

pub(super) use answers::{AnswerFiles, Attempt, forget_copies, has_files};
pub(super) use outgoing::{bring, check_own_files};
pub(super) use view::for_asker;
