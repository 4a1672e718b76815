//! Every call that leaves Warren: who may be called, how an answer is read, and how a call is signed.
//!
//! ```text
//!   agents, webhooks, push receivers, model APIs
//!        ▲
//!        │  Connector::call(Call) ─▶ Answer ─▶ bytes, JSON or events      connector/
//!        │       ▲
//!        │       └── signing::sign: who says it, and that nobody changed it      signing.rs
//!   exchange, llm
//!
//!   another replica ◀── Relay::pass_on(RelayRequest), marked by forwarding::Mark ── server
//!   box ──▶ WebDoor::serve ──▶ Connector::open, Connector::forward ──▶ hosts that its policy grants      web_door/
//! ```
//!
//! Nothing here knows what a call is about. Whoever calls decides whether it is made again; how long it waits until then
//! is `warren_model::Backoff`.

mod connector;
pub mod forwarding;
pub mod signing;
pub mod web_door;

pub use connector::{
    Answer, BadAnswer, BadRoots, Body, Call, CallError, CallLimits, CheckedUrl, Connector, Credential,
    EventStream, Forward, Forwarded, HOPS_HEADER, MAX_HOPS, Refused, Relay, RelayBody, RelayRequest, Relayed,
    Resolver, ServerEvent, SystemResolver, hops_of, wants_upgrade,
};
pub use warren_rules::outbound::{Cidr, CidrError, OutboundPolicy, UrlRefusal};
