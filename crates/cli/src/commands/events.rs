//! `warren events`: the log, and what is added to it.

use futures_util::StreamExt as _;
use serde::Serialize;
use serde_json::Value;
use warren_api::client::{Client, Error, EventQuery};
use warren_api::{Event, EventFrame, LiveEvent};
use warren_model::Backoff;

use crate::arguments::EventsArguments;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Outcome;
use crate::names::Names;
use crate::output::Tone;
use crate::table::readable_time;
use crate::terminal_text::visible;
use crate::workspace_name::resolve;

const PAUSES: Backoff = Backoff::doubling(100, 5_000);

pub(crate) async fn run(context: &Context, arguments: &EventsArguments) -> Outcome<Exit> {
    let client = context.client()?;
    let workspace_id = match &arguments.workspace {
        Some(workspace) => Some(resolve(&client, workspace).await?),
        None => None,
    };
    let names = if context.output.is_json { Names::default() } else { Names::of_workspaces(&client).await };
    let mut printer = Printer { context, names, left: arguments.limit.unwrap_or(u64::MAX) };
    let mut query = EventQuery { after: arguments.after, workspace_id, limit: None, live: arguments.live };
    if arguments.follow {
        follow(&client, &mut query, &mut printer).await?;
    } else {
        query.after = Some(arguments.after.unwrap_or(0));
        pages(&client, &mut query, &mut printer).await?;
    }
    Ok(Exit::OK)
}

async fn pages(client: &Client, query: &mut EventQuery, printer: &mut Printer<'_>) -> Outcome<()> {
    while printer.left > 0 {
        let page = client.event_page(query).await?;
        printer.context.output.note_unreadable(&page.unreadable);
        for event in &page.items {
            printer.print(event)?;
        }
        if page.is_last {
            break;
        }
        query.after = Some(page.next_after);
    }
    Ok(())
}

/// Connects again when the stream breaks off, from the last event seen. The first connection must work: a wrong
/// address or token is not something to wait for.
async fn follow(client: &Client, query: &mut EventQuery, printer: &mut Printer<'_>) -> Outcome<()> {
    let mut frames = client.events(query).await?;
    let mut tries = 0;
    loop {
        while let Some(frame) = frames.next().await {
            let frame = match frame {
                Ok(frame) => frame,
                Err(error) if error.is_transient() => break,
                Err(error) => return Err(error.into()),
            };
            tries = 0;
            match frame {
                EventFrame::Event { event } => {
                    printer.print(&event)?;
                    query.after = Some(event.seq);
                }
                EventFrame::Live { event } => printer.print_live(&event)?,
                EventFrame::CaughtUp { seq } => query.after = Some(seq),
                EventFrame::Truncated { after, oldest } => printer.context.output.note(&format!(
                    "Events {} to {} are no longer kept.",
                    after + 1,
                    oldest.saturating_sub(1)
                )),
                EventFrame::Lagged { .. } => {}
                EventFrame::Closing { after, .. } => query.after = query.after.or(Some(after)),
            }
            if printer.left == 0 {
                return Ok(());
            }
        }
        printer.context.output.note("The stream broke off; connecting again.");
        frames = loop {
            tokio::time::sleep(PAUSES.nominal(tries)).await;
            tries += 1;
            match client.events(query).await {
                Ok(frames) => break frames,
                Err(error) if may_come_back(&error) => {}
                Err(error) => return Err(error.into()),
            }
        };
    }
}

/// A server that is starting may have another process answer in its place for a moment.
fn may_come_back(error: &Error) -> bool {
    error.is_transient() || matches!(error, Error::BadAnswer { .. })
}

struct Printer<'a> {
    context: &'a Context,
    /// As they were when this began; what came since is told by its own event, or by its id.
    names: Names,
    left: u64,
}

impl Printer<'_> {
    fn print(&mut self, event: &Event) -> Outcome<()> {
        self.names.learn(event);
        let workspace = event.workspace_id.as_deref();
        let line = Line { label: &event.seq.to_string(), at: &event.at, kind: &event.kind, workspace };
        self.put(event, &line, &event.data)
    }

    /// What is told and not stored has no sequence.
    fn print_live(&mut self, event: &LiveEvent) -> Outcome<()> {
        let workspace = event.workspace_id.as_deref();
        let line = Line { label: "live", at: &event.at, kind: &event.kind, workspace };
        self.put(event, &line, &event.data)
    }

    fn put(&mut self, event: &impl Serialize, line: &Line<'_>, data: &Value) -> Outcome<()> {
        if self.left == 0 {
            return Ok(());
        }
        self.left -= 1;
        let output = &self.context.output;
        if output.is_json {
            return output.json(event);
        }
        output.text(&format!(
            "{:>6}  {}  {}  {}  {}\n",
            line.label,
            output.paint(&visible(&readable_time(line.at)), Tone::Quiet),
            visible(line.kind),
            visible(&line.workspace.map_or_else(|| "-".to_owned(), |id| self.names.workspace(id))),
            visible(&data.to_string()),
        ))
    }
}

/// The beginning of a line about an event.
struct Line<'a> {
    label: &'a str,
    at: &'a str,
    kind: &'a str,
    workspace: Option<&'a str>,
}
