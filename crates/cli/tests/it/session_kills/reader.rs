//! Counts what happened, from the database's rows and the files of the workspaces alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

use super::load::{Story, texts_of};

/// What was counted; `failures` names every case of what must not be.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    sessions: usize,
    runs: usize,
    steps: usize,
    asked_again: usize,
    messages: usize,
    delivered: usize,
    dropped: usize,
    calls: usize,
    outcomes: BTreeMap<String, usize>,
    pub(crate) calls_with_traces: usize,
    unknown_with_trace: usize,
    pub(crate) decisions: usize,
    entries: usize,
    lost: usize,
    repeated: usize,
    orphans: usize,
    stuck: usize,
    stream: usize,
    pub(crate) failures: Vec<String>,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} sessions, {} runs, {} steps ({} asked again), {} messages accepted ({} delivered, {} dropped), {} calls \
             ({:?}; {} left a trace, {} of the unknown), {} decisions, {} stream entries read; {} acknowledged messages \
             lost, {} completed calls repeated, {} orphans, {} stuck, {} stream faults",
            self.sessions,
            self.runs,
            self.steps,
            self.asked_again,
            self.messages,
            self.delivered,
            self.dropped,
            self.calls,
            self.outcomes,
            self.calls_with_traces,
            self.unknown_with_trace,
            self.decisions,
            self.entries,
            self.lost,
            self.repeated,
            self.orphans,
            self.stuck,
            self.stream,
        )
    }
}

fn open(data: &Path) -> Connection {
    Connection::open_with_flags(data.join("warren.db"), OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap()
}

fn rows<T>(
    database: &Connection,
    sql: &str,
    read: impl Fn(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
) -> Vec<T> {
    let mut statement = database.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| read(row)).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

/// Sessions that are not over, for a person who looks into why.
pub(crate) fn what_is_open(data: &Path) -> String {
    let sql = "SELECT name, phase, coalesce(phase_detail, ''), coalesce(open_step, 0), epoch FROM sessions \
               WHERE phase NOT IN ('completed', 'failed')";
    let read = |row: &rusqlite::Row<'_>| {
        let (name, phase, detail): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(format!(
            "{name}: {phase} {detail}, step {}, epoch {}",
            row.get::<_, i64>(3)?,
            row.get::<_, i64>(4)?
        ))
    };
    rows(&open(data), sql, read).join("; ")
}

pub(crate) fn count(data: &Path, stories: &[Story]) -> Counts {
    let database = open(data);
    let mut counts = Counts::default();
    count_sessions(&database, &mut counts);
    count_messages(&database, stories, &mut counts);
    count_calls(&database, &ledgers(&data.join("workspaces")), &mut counts);
    count_steps(&database, &mut counts);
    count_runs(&database, &mut counts);
    for story in stories {
        count_stream(&database, story, &mut counts);
        counts.decisions += story.decisions;
        counts.failures.extend(story.failures.iter().map(|what| format!("{}: {what}", story.session_id)));
    }
    let verdict: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok");
    counts
}

/// Every session is over, in a way that somebody wanted: the model's server refused no request.
fn count_sessions(database: &Connection, counts: &mut Counts) {
    let sql = "SELECT name, phase, coalesce(phase_detail, ''), lease_owner IS NOT NULL FROM sessions";
    let read = |row: &rusqlite::Row<'_>| {
        Ok::<(String, String, String, bool), _>((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
    };
    for (name, phase, detail, is_held) in rows(database, sql, read) {
        counts.sessions += 1;
        let is_over = phase == "completed" || (phase == "failed" && detail.contains("aborted"));
        if !is_over || is_held {
            counts.stuck += 1;
            counts.failures.push(format!("stuck: {name}: {phase} {detail}, held: {is_held}"));
        }
    }
}

/// How a message ended: its state, the step it was delivered with, and why it was dropped.
type StoredEnd = (String, Option<i64>, Option<String>);

/// What was accepted is there, once, and was delivered in a step or dropped for a reason.
fn count_messages(database: &Connection, stories: &[Story], counts: &mut Counts) {
    let sql = "SELECT id, session_id, state, step, drop_reason FROM session_messages";
    let read = |row: &rusqlite::Row<'_>| {
        let ended: (String, Option<i64>, Option<String>) = (row.get(2)?, row.get(3)?, row.get(4)?);
        Ok((row.get::<_, String>(0)?, (row.get::<_, String>(1)?, ended)))
    };
    let stored: BTreeMap<String, (String, StoredEnd)> = rows(database, sql, read).into_iter().collect();
    let accepted: BTreeSet<&String> = stories.iter().flat_map(|story| &story.accepted).collect();
    counts.messages = accepted.len();
    for story in stories {
        if story.sent != story.accepted.len() {
            counts.repeated += 1;
            counts.failures.push(format!("{}: one message under two keys", story.session_id));
        }
        for id in &story.accepted {
            match stored.get(id) {
                Some((of, (state, Some(_), None))) if state == "delivered" && *of == story.session_id => {
                    counts.delivered += 1;
                }
                Some((of, (state, None, Some(_)))) if state == "dropped" && *of == story.session_id => {
                    counts.dropped += 1;
                }
                other => {
                    counts.lost += 1;
                    counts.failures.push(format!("lost: message {id}: {other:?}"));
                }
            }
        }
    }
    for id in stored.keys().filter(|id| !accepted.contains(id)) {
        counts.repeated += 1;
        counts.failures.push(format!("message {id} is there and was never acknowledged, though each was"));
    }
}

/// A call that was told done left exactly one trace, one that is unknown at most one, one that was denied none.
fn count_calls(database: &Connection, traces: &BTreeMap<String, usize>, counts: &mut Counts) {
    let sql = "SELECT session_id, call_id, call FROM session_calls";
    let read =
        |row: &rusqlite::Row<'_>| Ok::<(String, String, String), _>((row.get(0)?, row.get(1)?, row.get(2)?));
    let mut tokens = BTreeSet::new();
    for (session, id, call) in rows(database, sql, read) {
        counts.calls += 1;
        let call: Value = serde_json::from_str(&call).unwrap();
        let outcome = call["state"]["outcome"].as_str().unwrap_or("none").to_owned();
        *counts.outcomes.entry(outcome.clone()).or_default() += 1;
        let edited = &call["decision"]["arguments"];
        let arguments = if edited.is_object() { edited } else { &call["proposed"] };
        if call["tool"] != "workspace_run" {
            continue;
        }
        let token = arguments["argv"][2].as_str().unwrap().to_owned();
        let found = traces.get(&token).copied().unwrap_or(0);
        let is_fine = match outcome.as_str() {
            "done" => found == 1 && call["state"]["result"].to_string().contains(&token),
            "unknown" | "failed" => found <= 1,
            "denied" => found == 0,
            _ => false,
        };
        counts.calls_with_traces += usize::from(found > 0);
        counts.unknown_with_trace += usize::from(found > 0 && outcome == "unknown");
        if !is_fine {
            let kind = if found > 1 { &mut counts.repeated } else { &mut counts.lost };
            *kind += 1;
            counts.failures.push(format!("{session} {id}: {outcome}, and {found} traces: {call}"));
        }
        if !tokens.insert(token.clone()) {
            counts.failures.push(format!("{session} {id}: another call has the token {token}"));
        }
    }
    for (token, times) in traces.iter().filter(|(token, _)| !tokens.contains(*token)) {
        counts.repeated += 1;
        counts.failures.push(format!("{times} traces of {token}, which no call has"));
    }
}

/// Steps are closed, and every call that an answer asks for is there with one outcome.
fn count_steps(database: &Connection, counts: &mut Counts) {
    let sql = "SELECT s.session_id, s.number, s.phase, s.detail, \
               (SELECT count(*) FROM session_calls c WHERE c.session_id = s.session_id AND c.step = s.number), \
               (SELECT count(*) FROM session_calls c WHERE c.session_id = s.session_id AND c.step = s.number \
                AND c.state = 'closed' AND json_extract(c.call, '$.state.outcome') IS NOT NULL) FROM session_steps s";
    let read = |row: &rusqlite::Row<'_>| {
        let place: (String, i64, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok((place, row.get::<_, String>(3)?, row.get::<_, u32>(4)?, row.get::<_, u32>(5)?))
    };
    for ((session, number, phase), detail, calls, closed) in rows(database, sql, read) {
        counts.steps += 1;
        let detail: Value = serde_json::from_str(&detail).unwrap();
        counts.asked_again += usize::from(detail["attempt"].as_u64().unwrap_or(0) > 1);
        let blocks = detail["blocks"].as_array().map_or(&[][..], Vec::as_slice);
        let mut named: Vec<_> = blocks
            .iter()
            .filter(|block| block["type"] == "call")
            .map(|block| block["index"].as_u64())
            .collect();
        named.sort_unstable();
        let is_whole = named.iter().copied().eq((0..u64::from(calls)).map(Some));
        if phase != "closed" || closed != calls || !is_whole {
            counts.orphans += 1;
            counts.failures.push(format!(
                "orphan: {session} step {number}: {phase}, {closed} of {calls} closed, {named:?}"
            ));
        }
    }
    let sql = "SELECT count(*) FROM session_calls c WHERE NOT EXISTS \
               (SELECT 1 FROM session_steps s WHERE s.session_id = c.session_id AND s.number = c.step)";
    let homeless: u32 = database.query_row(sql, [], |row| row.get(0)).unwrap();
    counts.orphans += homeless as usize;
    let sql = "SELECT count(*) FROM approvals WHERE session_id IS NOT NULL AND state = 'pending'";
    let waiting: u32 = database.query_row(sql, [], |row| row.get(0)).unwrap();
    if homeless + waiting > 0 {
        counts.stuck += waiting as usize;
        counts
            .failures
            .push(format!("{homeless} calls without a step, {waiting} questions that nobody needs"));
    }
}

/// Each run of a session began once and ended once.
fn count_runs(database: &Connection, counts: &mut Counts) {
    let sql = "SELECT s.id, s.run, json_extract(t.item, '$.type'), json_extract(t.item, '$.run') FROM sessions s \
               JOIN session_stream t ON t.session_id = s.id \
               WHERE json_extract(t.item, '$.type') IN ('run_started', 'run_ended')";
    let read = |row: &rusqlite::Row<'_>| {
        let of: (String, u32) = (row.get(0)?, row.get(1)?);
        Ok((of, (row.get::<_, String>(2)?, row.get::<_, u32>(3)?)))
    };
    let mut seen: BTreeMap<(String, u32), BTreeMap<(String, u32), usize>> = BTreeMap::new();
    for (of, what) in rows(database, sql, read) {
        *seen.entry(of).or_default().entry(what).or_default() += 1;
    }
    for ((session, runs), seen) in seen {
        counts.runs += runs as usize;
        for run in 1..=runs {
            let times = |what: &str| seen.get(&(what.to_owned(), run)).copied().unwrap_or(0);
            if (times("run_started"), times("run_ended")) != (1, 1) {
                counts.stream += 1;
                let (began, ended) = (times("run_started"), times("run_ended"));
                counts
                    .failures
                    .push(format!("{session} run {run}: began {began} times, ended {ended} times"));
            }
        }
    }
}

/// Who followed saw every entry that is kept, once and in order, and of every answer the text that is stored.
fn count_stream(database: &Connection, story: &Story, counts: &mut Counts) {
    counts.entries += story.entries.len();
    let mut fault = |what: String| {
        counts.stream += 1;
        counts.failures.push(format!("stream of {}: {what}", story.session_id));
    };
    let sequences: Vec<u64> = story.entries.iter().map(|entry| entry.sequence).collect();
    if !sequences.is_sorted_by(|a, b| a < b) {
        fault(format!("not in order: {sequences:?}"));
    }
    let is_delta = |kind: &str| kind.ends_with("_delta") || kind == "call_output";
    let read_ones: Vec<u64> =
        story.entries.iter().filter(|entry| !is_delta(&entry.kind)).map(|entry| entry.sequence).collect();
    let sql = format!(
        "SELECT sequence FROM session_stream WHERE session_id = '{}' AND NOT is_delta ORDER BY sequence",
        story.session_id
    );
    let kept: Vec<u64> = rows(database, &sql, |row| Ok(u64::from(row.get::<_, u32>(0)?)));
    if read_ones != kept {
        fault(format!("{} entries are kept, and these were read: {read_ones:?} of {kept:?}", kept.len()));
    }
    // Only pieces of answers have numbers that are gone: they stand in their step.
    let sql = format!(
        "SELECT number, detail FROM session_steps WHERE session_id = '{}' AND answered_at IS NOT NULL",
        story.session_id
    );
    let stored = rows(database, &sql, |row| Ok((u64::from(row.get::<_, u32>(0)?), row.get::<_, String>(1)?)));
    let shown = texts_of(&story.entries);
    for (number, detail) in stored {
        let detail: Value = serde_json::from_str(&detail).unwrap();
        let blocks = detail["blocks"].as_array().cloned().unwrap_or_default();
        let text: String = blocks
            .iter()
            .filter(|block| block["type"] == "text")
            .filter_map(|block| block["text"].as_str())
            .collect();
        let seen = shown.get(&number).map(String::as_str).unwrap_or_default();
        if seen != text {
            fault(format!("step {number} says {text:?}, and {seen:?} was shown"));
        }
    }
}

/// Lines of every workspace's ledger, and how often each is there.
fn ledgers(places: &Path) -> BTreeMap<String, usize> {
    let mut lines = BTreeMap::new();
    let mut folders = vec![places.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            } else if path.file_name().is_some_and(|name| name == "ledger") {
                for line in std::fs::read_to_string(&path).unwrap().lines() {
                    *lines.entry(line.to_owned()).or_default() += 1;
                }
            }
        }
    }
    lines
}
