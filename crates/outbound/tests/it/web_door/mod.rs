//! The web door against real sockets (A81, sec/S29).
//!
//! ```text
//!   127.0.0.2   hosts that are granted, by name and port
//!   127.0.0.3   a host that may be reached, and is not granted: it must never see a byte
//!   127.0.0.1   the inside: it must never see a connection
//! ```

mod bed;
mod bypasses;
mod carried;
mod clients;
