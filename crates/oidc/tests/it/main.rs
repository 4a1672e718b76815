//! A sign-in against a provider that this test writes itself, and that lies in every way it can.

mod cache;
mod hostile;
mod support;
mod transport;
