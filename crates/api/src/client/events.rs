//! Routes of events.

use std::time::Duration;

use reqwest::Method;
use reqwest::header::ACCEPT;
use serde::Serialize;

use super::{Client, Error, Frames};
use crate::{EventFrame, EventPage};

/// Three keep-alives of the server missed.
const SILENCE_LIMIT: Duration = Duration::from_secs(45);

/// Which events to read.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct EventQuery {
    /// Those after this sequence. Absent in a stream: only what happens from now on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<String>,
    /// For one page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Also what is told and not stored.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub live: bool,
}

impl Client {
    /// Follows the log. When the stream breaks off, ask again with `after` set to the last sequence seen.
    pub async fn events(&self, query: &EventQuery) -> Result<Frames<EventFrame>, Error> {
        let request = self.request(Method::GET, &["events"]).header(ACCEPT, "text/event-stream").query(query);
        Ok(Frames::of(self.send(request).await?, Some(SILENCE_LIMIT)))
    }

    /// One page of the log.
    pub async fn event_page(&self, query: &EventQuery) -> Result<EventPage, Error> {
        let request = self.request(Method::GET, &["events"]).header(ACCEPT, "application/json").query(query);
        self.answer(request).await
    }
}
