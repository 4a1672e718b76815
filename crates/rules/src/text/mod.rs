//! Text and JSON from outside: what is masked before it is kept, and how large it may be.

pub mod json_bounds;
pub mod redaction;
pub mod unseen;
