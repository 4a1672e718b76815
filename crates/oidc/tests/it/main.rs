//! A sign-in against a provider that this test writes itself, and that lies in every way it can.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic where it stands")]

mod cache;
mod hostile;
mod support;
mod transport;
