//! hardened
