//! OpenAI Responses.

pub(crate) mod events;
pub(crate) mod request;
