//! The way to a session across restarts of the server: its stream goes on behind the last entry that was read, and requests
//! are asked again.

use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::time::Instant;
use warren_api::SessionEntry;
use warren_api::client::{Client, Error, FollowSession, Frames};
use warren_model::{Backoff, ErrorCode};

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::{Failure, Outcome, Report};

const PAUSES: Backoff = Backoff::doubling(100, 2_000);

/// What comes from a session.
#[derive(Debug)]
pub(super) enum News {
    Entry(SessionEntry),
    /// The connection broke off; it is made again.
    Lost,
    /// It is there again, and nothing was missed.
    Back,
}

/// A session on a server that may go away for a while.
pub(super) struct Link<'a> {
    context: &'a Context,
    pub(super) client: Client,
    pub(super) session: String,
    /// The sequence of the last entry that was read.
    pub(super) after: u64,
    frames: Option<Frames<SessionEntry>>,
    outage: Option<Outage>,
    tries: u32,
    patience: Duration,
}

#[derive(Debug, Clone, Copy)]
struct Outage {
    since: Instant,
}

impl<'a> Link<'a> {
    pub(super) fn new(context: &'a Context, client: Client, session: String, patience: Duration) -> Self {
        Self { context, client, session, after: 0, frames: None, outage: None, tries: 0, patience }
    }

    /// What comes next. May be dropped while it waits: nothing gets lost.
    ///
    /// The first connection must work: a wrong address or token is not something to wait for.
    pub(super) async fn next(&mut self) -> Outcome<News> {
        loop {
            let Some(frames) = &mut self.frames else {
                match self.connect().await? {
                    Some(news) => return Ok(news),
                    None => continue,
                }
            };
            match frames.next().await {
                Some(Ok(entry)) if entry.kind == "closing" => {
                    let code = entry.fields.get("code").and_then(|code| code.as_str()).unwrap_or_default();
                    if code != ErrorCode::ShuttingDown.as_str() {
                        return Err(closed(code));
                    }
                }
                Some(Ok(entry)) => {
                    self.tries = 0;
                    if entry.sequence > self.after {
                        self.after = entry.sequence;
                        return Ok(News::Entry(entry));
                    }
                    continue;
                }
                Some(Err(error)) if !may_come_back(&error) => return Err(error.into()),
                Some(Err(_)) | None => {}
            }
            self.frames = None;
            self.outage = Some(Outage { since: Instant::now() });
            return Ok(News::Lost);
        }
    }

    /// Tries once. `None`: not yet.
    async fn connect(&mut self) -> Outcome<Option<News>> {
        if self.outage.is_some() {
            tokio::time::sleep(PAUSES.nominal(self.tries)).await;
            self.tries = self.tries.saturating_add(1);
            // A server that starts again may have another address.
            self.client = self.context.client()?;
        }
        let follow = FollowSession { after: self.after, until_idle: false };
        match (self.client.follow_session(&self.session, follow).await, self.outage) {
            (Ok(frames), outage) => {
                self.frames = Some(frames);
                self.outage = None;
                Ok(outage.map(|_| News::Back))
            }
            (Err(error), Some(outage)) if may_come_back(&error) => {
                if outage.since.elapsed() < self.patience {
                    Ok(None)
                } else {
                    Err(self.gave_up(error))
                }
            }
            (Err(error), _) => Err(error.into()),
        }
    }

    /// Asks again while the server is away. For requests that may be repeated.
    pub(super) async fn ask<T>(
        &mut self,
        request: impl AsyncFn(&Client, &str) -> Result<T, Error>,
    ) -> Outcome<T> {
        let since = Instant::now();
        let mut tries = 0;
        loop {
            match request(&self.client, &self.session).await {
                Ok(answer) => return Ok(answer),
                Err(error) if may_come_back(&error) => {
                    if since.elapsed() >= self.patience {
                        return Err(self.gave_up(error));
                    }
                }
                Err(error) => return Err(error.into()),
            }
            if tries == 0 {
                self.context.output.note(&self.lost());
            }
            tokio::select! {
                () = tokio::time::sleep(PAUSES.nominal(tries)) => {}
                left = tokio::signal::ctrl_c() => {
                    // Where signals cannot be heard, nobody has pressed anything.
                    if left.is_ok() {
                        return Err(self.left());
                    }
                }
            }
            tries += 1;
            self.client = self.context.client()?;
        }
    }

    /// The person goes while the server is away.
    fn left(&self) -> Failure {
        let report =
            Report::new(ErrorCode::ServerUnreachable).because("left with Ctrl-C while the server was away");
        let mut report = report.hint(self.how_to_come_back());
        report.exit = Exit::INTERRUPTED;
        report.into()
    }

    fn how_to_come_back(&self) -> String {
        let session = &self.session;
        format!(
            "The session is kept. Once the server runs again (`warren up`), go on with `warren session resume {session}`."
        )
    }

    pub(super) fn lost(&self) -> String {
        format!(
            "The connection broke off; trying for {} s to reach the server again.",
            self.patience.as_secs()
        )
    }

    fn gave_up(&self, error: Error) -> Failure {
        let report = Report::from(error).because(format!("gave up after {} s", self.patience.as_secs()));
        report.hint(self.how_to_come_back()).into()
    }
}

/// A server that is starting may have another process answer in its place for a moment.
fn may_come_back(error: &Error) -> bool {
    error.is_transient() || matches!(error, Error::BadAnswer { .. })
}

fn closed(code: &str) -> Failure {
    let known = ErrorCode::parse(code);
    match known {
        Some(code) => Report::new(code).because("the server closed the stream").into(),
        None => {
            Report::new(ErrorCode::UnexpectedAnswer).because(format!("the stream was closed: {code}")).into()
        }
    }
}
