//! reaper
