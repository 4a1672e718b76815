//! `warren schedule`: messages at set times.

use warren_api::client::Client;
use warren_api::{
    CreateSchedule, MissedPolicy, OverlapPolicy, PreviewSchedule, RunCause, RunState, Schedule, ScheduleRun,
};
use warren_model::{ErrorCode, ScheduleId};

use super::cursors::all_pages;
use crate::arguments::{AddScheduleArguments, Missed, NextArguments, Overlap, ScheduleCommand, span_text};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::{Outcome, Report};
use crate::names::Names;
use crate::table::readable_time;
use crate::terminal_text::visible;
use crate::workspace_name::resolve;

/// Ids listed when a name is not unique.
const LISTED: usize = 5;

pub(crate) async fn run(context: &Context, command: ScheduleCommand) -> Outcome<Exit> {
    let client = context.client()?;
    match command {
        ScheduleCommand::Add(arguments) => {
            let made = add(&client, arguments).await?;
            tell(context, &made)?;
        }
        ScheduleCommand::Ls { workspace } => list(context, &client, workspace).await?,
        ScheduleCommand::Show { id } => {
            let id = which(context, &client, &id).await?;
            show(context, &client, &client.schedule(&id).await?).await?;
        }
        ScheduleCommand::Pause { id } => {
            let id = which(context, &client, &id).await?;
            tell(context, &client.pause_schedule(&id).await?)?;
        }
        ScheduleCommand::Resume { id } => {
            let id = which(context, &client, &id).await?;
            tell(context, &client.resume_schedule(&id).await?)?;
        }
        ScheduleCommand::Run { id: typed } => {
            let id = which(context, &client, &typed).await?;
            let run = client.run_schedule(&id).await?;
            if context.output.is_json {
                context.output.json(&run)?;
            } else {
                context.output.line(&run.id)?;
                context.output.note(&format!("See `warren schedule history {typed}` for what became of it."));
            }
        }
        ScheduleCommand::Rm { id } => {
            let id = which(context, &client, &id).await?;
            client.remove_schedule(&id).await?;
            context.output.note("The schedule is removed.");
        }
        ScheduleCommand::History { id, limit } => {
            let id = which(context, &client, &id).await?;
            history(context, &client, &id, limit).await?;
        }
        ScheduleCommand::Next(arguments) => next(context, &client, arguments).await?,
    }
    Ok(Exit::OK)
}

/// The id behind what somebody typed: an id, a name that only one has, or `WORKSPACE/NAME`.
async fn which(context: &Context, client: &Client, text: &str) -> Outcome<String> {
    if text.parse::<ScheduleId>().is_ok() {
        return Ok(text.to_owned());
    }
    let (workspace_id, name) = match text.split_once('/') {
        Some((workspace, name)) => (Some(resolve(client, workspace).await?), name),
        None => (None, text),
    };
    let mut found = all_schedules(context, client, workspace_id.as_deref()).await?;
    found.retain(|schedule| schedule.name == name);
    match found.as_slice() {
        [one] => Ok(one.id.clone()),
        [] => Err(Report::new(ErrorCode::ScheduleNotFound)
            .because(format!("no schedule is named `{}`", visible(name)))
            .into()),
        several => {
            let ids: Vec<&str> = several.iter().map(|one| one.id.as_str()).take(LISTED).collect();
            Err(Report::new(ErrorCode::AmbiguousName)
                .because(format!(
                    "{} schedules are named `{}`: {}",
                    several.len(),
                    visible(name),
                    ids.join(", ")
                ))
                .hint("Name it by its id, or as WORKSPACE/NAME.")
                .into())
        }
    }
}

async fn all_schedules(
    context: &Context,
    client: &Client,
    workspace_id: Option<&str>,
) -> Outcome<Vec<Schedule>> {
    all_pages(None, async |cursor| {
        let page = client.schedules(workspace_id, cursor).await?;
        context.output.note_unreadable(&page.unreadable);
        Ok((page.items, page.next_cursor))
    })
    .await
}

async fn add(client: &Client, arguments: AddScheduleArguments) -> Outcome<Schedule> {
    let workspace_id = resolve(client, &arguments.workspace).await?;
    let schedule = CreateSchedule {
        name: arguments.name,
        cron: arguments.timing.cron,
        every_seconds: arguments.timing.every,
        time_zone: arguments.timing.time_zone,
        prompt: arguments.prompt,
        jitter_seconds: arguments.jitter,
        missed: Some(match arguments.missed {
            Missed::Skip => MissedPolicy::Skip,
            Missed::Once => MissedPolicy::Once,
            Missed::All => MissedPolicy::All,
        }),
        overlap: Some(match arguments.overlap {
            Overlap::Skip => OverlapPolicy::Skip,
            Overlap::Queue => OverlapPolicy::Queue,
            Overlap::Allow => OverlapPolicy::Allow,
        }),
    };
    Ok(client.create_schedule(&workspace_id, &schedule).await?)
}

/// One line: its name and when it fires next.
fn tell(context: &Context, schedule: &Schedule) -> Outcome<()> {
    if context.output.is_json {
        return context.output.json(schedule);
    }
    context.output.line(&format!("{}  {}", schedule.name, readable_time(&next_of(schedule))))
}

fn next_of(schedule: &Schedule) -> String {
    match &schedule.next_at {
        _ if schedule.problem.is_some() => "broken".into(),
        Some(at) => at.clone(),
        None if schedule.is_paused => "paused".into(),
        None => "never again".into(),
    }
}

fn timing_of(schedule: &Schedule) -> String {
    match (&schedule.cron, &schedule.time_zone, schedule.every_seconds) {
        (Some(cron), Some(zone), _) => format!("{cron} ({zone})"),
        (Some(cron), None, _) => cron.clone(),
        (None, _, Some(seconds)) => format!("every {}", span_text(u64::from(seconds) * 1_000)),
        (None, _, None) => "-".into(),
    }
}

async fn list(context: &Context, client: &Client, workspace: Option<String>) -> Outcome<()> {
    let workspace_id = match workspace {
        Some(workspace) => Some(resolve(client, &workspace).await?),
        None => None,
    };
    let found = all_schedules(context, client, workspace_id.as_deref()).await?;
    if context.output.is_json {
        return context.output.json(&found);
    }
    if found.is_empty() {
        context.output.note("No schedules. Make one with `warren schedule add`.");
        return Ok(());
    }
    let names = Names::of_workspaces(client).await;
    let row = |one: &Schedule| {
        let workspace = names.workspace(&one.workspace_id);
        vec![one.name.clone(), workspace, timing_of(one), next_of(one), one.id.clone()]
    };
    let rows: Vec<_> = found.iter().map(row).collect();
    context.output.table(&["name", "workspace", "when", "next", "id"], &rows)
}

async fn show(context: &Context, client: &Client, schedule: &Schedule) -> Outcome<()> {
    if context.output.is_json {
        return context.output.json(schedule);
    }
    let names = Names::of_workspaces(client).await;
    let policy = |value: serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let fields = [
        ("id", schedule.id.clone()),
        ("name", schedule.name.clone()),
        ("workspace", names.workspace(&schedule.workspace_id)),
        ("when", timing_of(schedule)),
        ("jitter", span_text(u64::from(schedule.jitter_seconds) * 1_000)),
        ("missed", policy(serde_json::json!(schedule.missed))),
        ("overlap", policy(serde_json::json!(schedule.overlap))),
        ("next", next_of(schedule)),
        ("upcoming", schedule.upcoming.iter().map(|at| readable_time(at)).collect::<Vec<_>>().join(", ")),
        ("prompt", schedule.prompt.clone()),
    ];
    let problem = schedule.problem.clone().map(|problem| ("problem", problem));
    let rows: Vec<_> =
        fields.into_iter().chain(problem).map(|(name, value)| vec![name.to_owned(), value]).collect();
    context.output.table(&["field", "value"], &rows)
}

async fn history(context: &Context, client: &Client, id: &str, limit: u32) -> Outcome<()> {
    let page = client.schedule_runs(id, None, limit).await?;
    context.output.note_unreadable(&page.unreadable);
    let runs = page.items;
    if context.output.is_json {
        return context.output.json(&runs);
    }
    if runs.is_empty() {
        context.output.note("It has not fired yet.");
        return Ok(());
    }
    let row = |run: &ScheduleRun| {
        let state = match run.state {
            RunState::Claimed => "claimed",
            RunState::Waiting => "waiting",
            RunState::Fired => "fired",
            RunState::Skipped => "skipped",
            RunState::Failed => "failed",
        };
        let slot = match (&run.slot, run.cause) {
            (Some(slot), _) if run.slots > 1 => {
                format!("{} and {} more", readable_time(slot), run.slots - 1)
            }
            (Some(slot), _) => slot.clone(),
            (None, RunCause::Manual | RunCause::Slot | RunCause::Missed) => {
                format!("{} (asked for)", readable_time(&run.created_at))
            }
        };
        let dash = || "-".to_owned();
        vec![
            slot,
            state.to_owned(),
            run.reason.clone().unwrap_or_else(dash),
            run.task_id.clone().unwrap_or_else(dash),
        ]
    };
    let rows: Vec<_> = runs.iter().map(row).collect();
    context.output.table(&["slot", "outcome", "reason", "task"], &rows)
}

async fn next(context: &Context, client: &Client, arguments: NextArguments) -> Outcome<()> {
    let preview = PreviewSchedule {
        cron: arguments.timing.cron,
        every_seconds: arguments.timing.every,
        time_zone: arguments.timing.time_zone,
        count: Some(arguments.count),
    };
    let preview = client.preview_schedule(&preview).await?;
    if context.output.is_json {
        return context.output.json(&preview);
    }
    preview.slots.iter().try_for_each(|slot| context.output.line(&readable_time(slot)))
}
