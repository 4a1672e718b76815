//! Sign-in by an OpenID Connect provider: the way to it and back, and what is believed of its answer.
//!
//! ```text
//!   Provider::begin ──▶ url for the browser, and an Attempt that the browser keeps (sealed by the server)
//!                         │ the person signs in at the provider
//!   Provider::finish ◀── code, state
//!      │  state, issuer ─▶ code for tokens ─▶ signature ─▶ claims ─▶ (userinfo)        provider.rs, claims.rs
//!      ▼
//!   ProviderPerson: who the provider says this is
//! ```
//!
//! | file | what it does |
//! |---|---|
//! | `provider` | begins and finishes a sign-in |
//! | `discovery` | what the provider says about itself, checked |
//! | `keys` | the provider's keys, and signatures by them |
//! | `claims` | what an ID token must say, and what is taken from it; pure |
//! | `cache` | what was fetched, for how long, and how often it is asked for again |
//! | `error` | why a sign-in failed, with its public code and the operator's remedy |
//!
//! Every call goes through the checked connector, under limits of its own. Tokens, codes and secrets are in no error and in
//! no log. Who the person is in Warren, and whether they may come in, is decided elsewhere.

mod cache;
mod claims;
mod discovery;
mod error;
mod keys;
mod provider;
mod settings;

pub use claims::ProviderPerson;
pub use error::{Error, Reason};
pub use provider::{ATTEMPT_LIFETIME_MS, Attempt, AuthorizationAnswer, Begun, Discovered, Provider};
pub use settings::{ClientSecret, ProviderSettings, SettingsError};
