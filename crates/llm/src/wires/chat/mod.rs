//! Chat Completions, as OpenAI has them and many others speak them.

pub(crate) mod events;
pub(crate) mod request;
