//! What a runtime's report changes (F11 to F14). Absent means unchanged: a partial report resets nothing.
//!
//! A report can lie, by mistake or by a wrong clock. So times of the runtime are never taken to be in the future, and
//! what is swept later (silence, stalls, idleness) is a deadline by Warren's own clock.

use warren_model::{
    Outcomes, ReportDoubt, Runtime, RuntimeReport, RuntimeState, Status, Timestamp, Vitals, WorkspaceSpec,
    truncate_utf8,
};

use crate::text::redaction::Redactor;

/// Masks the secrets of its workspace in what a report says in words (F32).
pub fn mask_report(report: &mut RuntimeReport, known: &Redactor) {
    report.words().for_each(|text| known.mask_text(text));
}

pub const MAX_ACTIVE_TASKS: u32 = 100_000;
pub const MAX_IDLE_TIMEOUT_SECONDS: u32 = 30 * 24 * 3_600;
/// Clocks that differ by less than this are not worth a word.
const TOLERATED_SKEW_MS: i64 = 5_000;

/// What the fleet expects of runtimes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expectations {
    /// Silent for so long: offline.
    pub liveness_ms: i64,
    /// Work without progress for so long: stalled, unless the runtime says another time.
    pub idle_timeout_ms: i64,
}

impl Default for Expectations {
    fn default() -> Self {
        Self { liveness_ms: 90_000, idle_timeout_ms: 5 * 60_000 }
    }
}

/// Signs of life that come sooner after one another than this are not written down: a runtime may ask for work many
/// times a second.
const NEWS_MS: i64 = 5_000;
/// But so many fit into the time after which it would be offline.
const SIGNS_PER_LIVENESS: i64 = 4;

/// The record after a report, and what was not taken at its word.
pub fn after_report(
    known: &Vitals,
    report: &RuntimeReport,
    spec: &WorkspaceSpec,
    expectations: &Expectations,
    now: Timestamp,
) -> (Vitals, Vec<ReportDoubt>) {
    let (report, mut doubts) = without_nonsense(report);
    let report = &report;
    let active_tasks = report.active_tasks.unwrap_or(known.active_tasks);
    let (last_progress_at, doubt) = progress(known, report, active_tasks, now);
    doubts.extend(doubt);
    let had_work = active_tasks > 0 || known.active_tasks > 0;
    let mut vitals = Vitals {
        error_rate: report.error_rate.unwrap_or(known.error_rate),
        sample_error: text(report.sample_error.as_deref(), known.sample_error.as_ref()),
        active_tasks,
        current_task: text(report.current_task.as_deref(), known.current_task.as_ref()),
        uptime_s: report.uptime_s.or(known.uptime_s),
        runtime_state: report.runtime_state.clone().unwrap_or_else(|| known.runtime_state.clone()),
        displaced: report.displaced.applied_to(known.displaced),
        idle_timeout_seconds: match report.idle_timeout_seconds {
            None => known.idle_timeout_seconds,
            Some(0) => None,
            Some(seconds) => Some(seconds),
        },
        last_heartbeat_at: Some(now),
        outcomes: known.outcomes.clone(),
        last_progress_at,
        last_task_at: if had_work { Some(now) } else { known.last_task_at.or(Some(now)) },
        liveness_deadline: Some(now.plus_ms(expectations.liveness_ms)),
        stall_deadline: None,
        probe_at: None,
        idle_deadline: None,
    };
    vitals.stall_deadline = stall_deadline(&vitals, expectations);
    vitals.idle_deadline = idle_deadline(&vitals, spec);
    // Whoever finds the stall first, sweep or report, has it looked into; what moves again need not be asked.
    vitals.probe_at = is_stalled(&vitals, now).then(|| known.probe_at.unwrap_or(now));
    (vitals, doubts)
}

/// What the sessions of a hosted workspace show of its agent, which reports nothing itself: as many work now, the first of
/// them about this. Nobody waits for a heartbeat of it, and its work is looked after by the leases of the sessions.
pub fn after_sessions(
    known: &Vitals,
    working: u32,
    current_task: Option<&str>,
    spec: &WorkspaceSpec,
    now: Timestamp,
) -> Vitals {
    let mut vitals = Vitals {
        active_tasks: working,
        current_task: current_task
            .filter(|text| !text.is_empty())
            .map(|title| truncate_utf8(title, Vitals::MAX_TEXT_BYTES).replace('\0', "\u{fffd}")),
        last_progress_at: Some(now),
        last_task_at: Some(now),
        ..known.clone()
    };
    vitals.idle_deadline = idle_deadline(&vitals, spec);
    vitals
}

/// From when on a hosted workspace without work may sleep: nobody reports for it, so that it counts from the moment it came up,
/// or was told after how long (F7). Absent: nothing changes.
pub fn after_coming_up(
    known: &Vitals,
    spec: &WorkspaceSpec,
    status: Status,
    now: Timestamp,
) -> Option<Vitals> {
    let is_up = matches!(status, Status::Online | Status::Degraded);
    if spec.runtime != Runtime::Hosted || !is_up || known.active_tasks > 0 {
        return None;
    }
    let mut vitals = known.clone();
    if spec.hibernate_after_seconds.is_some() {
        vitals.last_task_at = Some(now);
    }
    vitals.idle_deadline = idle_deadline(&vitals, spec);
    (vitals != *known).then_some(vitals)
}

/// Why a runtime that says that it is wedged is degraded, with the error that it named (F12). Absent: it does not say so.
pub fn wedge_reason(vitals: &Vitals) -> Option<String> {
    if vitals.runtime_state != RuntimeState::Wedged {
        return None;
    }
    Some(match &vitals.sample_error {
        Some(error) => format!("The runtime reports that it is wedged: {error}"),
        None => crate::lifecycle::WEDGED.to_owned(),
    })
}

/// A runtime that begins anew knows nothing of the one before it: that it is well is not taken at its word where that one was
/// wedged, until it has done some work. What stopped the other, such as a key that has expired, stops it too.
pub fn without_fresh_start(known: &Vitals, report: RuntimeReport) -> RuntimeReport {
    let says_well = report.runtime_state == Some(RuntimeState::Well);
    if known.runtime_state == RuntimeState::Wedged && says_well {
        RuntimeReport { runtime_state: None, sample_error: None, ..report }
    } else {
        report
    }
}

/// Whether another sign of life is worth writing down (F16): not so soon after the last one that nothing would follow.
pub fn is_news(status: Status, known: &Vitals, expectations: &Expectations, now: Timestamp) -> bool {
    match status {
        Status::Provisioning | Status::AwaitingAgent | Status::Offline | Status::Failed => true,
        Status::Online | Status::Degraded => known.last_heartbeat_at.is_none_or(|last| {
            now.ms_since(last) >= NEWS_MS.min(expectations.liveness_ms / SIGNS_PER_LIVENESS)
        }),
        Status::Paused | Status::Hibernated | Status::Removed => false,
    }
}

/// Whether work in flight shows no progress (F14).
pub fn is_stalled(vitals: &Vitals, now: Timestamp) -> bool {
    vitals.stall_deadline.is_some_and(|deadline| deadline <= now)
}

/// The record of a runtime that is known to be gone: it has no work, and nothing is due any more. That it was wedged is
/// kept, with the error: the next one begins with the same key and the same quota (F12).
#[must_use]
pub fn at_rest(known: &Vitals) -> Vitals {
    let is_wedged = known.runtime_state == RuntimeState::Wedged;
    Vitals {
        active_tasks: 0,
        current_task: None,
        uptime_s: None,
        runtime_state: if is_wedged { RuntimeState::Wedged } else { RuntimeState::Well },
        error_rate: 0.0,
        sample_error: known.sample_error.clone().filter(|_| is_wedged),
        outcomes: Outcomes::default(),
        liveness_deadline: None,
        stall_deadline: None,
        probe_at: None,
        idle_deadline: None,
        ..known.clone()
    }
}

/// What a new status means for the runtime's record, if anything: one that was put away is not expected to report.
pub fn after_change(runtime: Runtime, status: Status, known: &Vitals) -> Option<Vitals> {
    match status {
        Status::Paused | Status::Hibernated | Status::Removed | Status::Provisioning => {
            let next = match runtime {
                Runtime::Hosted | Runtime::Resident => at_rest(known),
                // It goes on elsewhere, and what it said of itself holds until it says otherwise (F12).
                Runtime::External => Vitals {
                    liveness_deadline: None,
                    stall_deadline: None,
                    probe_at: None,
                    idle_deadline: None,
                    ..known.clone()
                },
            };
            (next != *known).then_some(next)
        }
        Status::Offline => Some(Vitals { liveness_deadline: None, ..known.clone() }),
        Status::AwaitingAgent | Status::Online | Status::Degraded | Status::Failed => None,
    }
}

/// Takes out of a report what cannot be, and says so: a runtime that is newer, or sloppy, is alive all the same (X10).
fn without_nonsense(report: &RuntimeReport) -> (RuntimeReport, Vec<ReportDoubt>) {
    let (mut report, mut doubts) = (report.clone(), Vec::new());
    let mut doubt = |field, expected| doubts.push(ReportDoubt::OutOfRange { field, expected });
    // `contains` is false for what is not a number.
    if report.error_rate.take_if(|rate| !(0.0..=1.0).contains(rate)).is_some() {
        doubt("error_rate", "a number from 0 to 1");
    }
    if report.active_tasks.take_if(|count| *count > MAX_ACTIVE_TASKS).is_some() {
        doubt("active_tasks", "at most 100000");
    }
    if report.idle_timeout_seconds.take_if(|seconds| *seconds > MAX_IDLE_TIMEOUT_SECONDS).is_some() {
        doubt("runtime_metadata.idle_timeout_seconds", "at most 2592000");
    }
    (report, doubts)
}

/// When work last moved: as reported, but never later than now nor earlier than known; the start of work counts.
fn progress(
    known: &Vitals,
    report: &RuntimeReport,
    active_tasks: u32,
    now: Timestamp,
) -> (Option<Timestamp>, Option<ReportDoubt>) {
    let ahead = report.last_progress_at.map_or(0, |at| at.ms_since(now));
    let doubt = (ahead > TOLERATED_SKEW_MS).then_some(ReportDoubt::ClockAhead { seconds: ahead / 1_000 });
    let said = report.last_progress_at.map(|at| at.min(now));
    let began = (active_tasks > 0 && known.active_tasks == 0).then_some(now);
    (said.max(began).max(known.last_progress_at), doubt)
}

fn stall_deadline(vitals: &Vitals, expectations: &Expectations) -> Option<Timestamp> {
    if vitals.active_tasks == 0 {
        return None;
    }
    let patience_ms = match vitals.idle_timeout_seconds {
        Some(seconds) => i64::from(seconds) * 1_000,
        None => expectations.idle_timeout_ms,
    };
    Some(vitals.last_progress_at?.plus_ms(patience_ms))
}

fn idle_deadline(vitals: &Vitals, spec: &WorkspaceSpec) -> Option<Timestamp> {
    let after = spec.hibernate_after_seconds.filter(|_| vitals.active_tasks == 0)?;
    Some(vitals.last_task_at?.plus_ms(i64::from(after) * 1_000))
}

fn text(said: Option<&str>, known: Option<&String>) -> Option<String> {
    match said {
        None => known.cloned(),
        Some("") => None,
        // No database of ours keeps the character NUL in every place.
        Some(text) => Some(truncate_utf8(text, Vitals::MAX_TEXT_BYTES).replace('\0', "\u{fffd}")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use warren_model::{CapabilitySet, Displaced, Displacement, MemoryConfig, ProviderConfig};

    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);

    fn spec() -> WorkspaceSpec {
        let provider = ProviderConfig::Memory(MemoryConfig::default());
        WorkspaceSpec {
            hibernate_after_seconds: Some(600),
            ..WorkspaceSpec::new(provider, CapabilitySet::EMPTY)
        }
    }

    fn after(known: &Vitals, report: &RuntimeReport, now: Timestamp) -> Vitals {
        after_report(known, report, &spec(), &Expectations::default(), now).0
    }

    fn busy() -> Vitals {
        let report = RuntimeReport {
            error_rate: Some(0.4),
            sample_error: Some("quota".into()),
            active_tasks: Some(2),
            current_task: Some("t-1".into()),
            uptime_s: Some(7),
            runtime_state: Some(RuntimeState::Wedged),
            displaced: Displacement {
                scheduler: Some(true),
                status_mgmt: Some(true),
                ..Displacement::default()
            },
            idle_timeout_seconds: Some(30),
            last_progress_at: None,
        };
        after(&Vitals::default(), &report, NOW)
    }

    // F32
    #[test]
    fn the_words_of_a_report_are_masked_or_left_out_and_its_numbers_stay() {
        let said = RuntimeReport {
            sample_error: Some("401 for moonlight!".into()),
            current_task: Some("moonlight".into()),
            runtime_state: Some(RuntimeState::from_report("moonlight")),
            uptime_s: Some(7),
            ..RuntimeReport::default()
        };
        let mut masked = said.clone();
        mask_report(&mut masked, &Redactor::new(["moonlight"]));
        let expected = RuntimeReport {
            sample_error: Some("401 for *********!".into()),
            current_task: Some("*********".into()),
            runtime_state: Some(RuntimeState::from_report("*********")),
            ..said.clone()
        };
        assert_eq!(masked, expected);
        let mut unsaid = said;
        unsaid.forget_words();
        assert_eq!(unsaid, RuntimeReport { uptime_s: Some(7), ..RuntimeReport::default() });
        let mut wedged =
            RuntimeReport { runtime_state: Some(RuntimeState::Wedged), ..RuntimeReport::default() };
        assert!(wedged.words().next().is_none());
        wedged.forget_words();
        assert_eq!(wedged.runtime_state, Some(RuntimeState::Wedged), "it says something about the runtime");
    }

    // F11
    #[test]
    fn an_empty_report_changes_nothing_but_the_signs_of_life() {
        let known = busy();
        let later = NOW.plus_ms(10_000);
        let next = after(&known, &RuntimeReport::default(), later);
        let expected = Vitals {
            last_heartbeat_at: Some(later),
            last_task_at: Some(later),
            liveness_deadline: Some(later.plus_ms(90_000)),
            ..known
        };
        assert_eq!(next, expected);
    }

    // F7
    #[test]
    fn a_hosted_workspace_may_sleep_after_a_time_also_where_nothing_ever_worked() {
        let known = Vitals { last_task_at: Some(NOW.plus_ms(-86_400_000)), ..Vitals::default() };
        let up = after_coming_up(&known, &spec(), Status::Online, NOW).unwrap();
        assert_eq!(up.idle_deadline, Some(NOW.plus_ms(600_000)), "not from work before it slept");
        let wakeful = WorkspaceSpec { hibernate_after_seconds: None, ..spec() };
        let told = after_coming_up(&up, &wakeful, Status::Online, NOW).unwrap();
        assert_eq!(told.idle_deadline, None);
        assert_eq!(after_coming_up(&Vitals::default(), &wakeful, Status::Online, NOW), None);
        let busy = Vitals { active_tasks: 1, ..known.clone() };
        assert_eq!(after_coming_up(&busy, &spec(), Status::Online, NOW), None);
        assert_eq!(after_coming_up(&known, &spec(), Status::Provisioning, NOW), None);
        let reporting = WorkspaceSpec { runtime: Runtime::External, ..spec() };
        assert_eq!(after_coming_up(&known, &reporting, Status::Online, NOW), None, "its reports say it");
    }

    // F12
    #[test]
    fn a_wedge_is_told_with_its_error_and_outlives_a_restart() {
        let wedged = busy();
        let reason = wedge_reason(&wedged).unwrap();
        assert_eq!(reason, "The runtime reports that it is wedged: quota");
        assert_eq!(wedge_reason(&Vitals::default()), None);
        let resting = at_rest(&wedged);
        assert_eq!(wedge_reason(&resting), Some(reason));
        assert_eq!((resting.active_tasks, resting.error_rate), (0, 0.0));
        let fresh = RuntimeReport {
            runtime_state: Some(RuntimeState::Well),
            sample_error: Some(String::new()),
            uptime_s: Some(0),
            ..RuntimeReport::default()
        };
        let taken = without_fresh_start(&resting, fresh.clone());
        assert_eq!(taken, RuntimeReport { uptime_s: Some(0), ..RuntimeReport::default() });
        assert_eq!(without_fresh_start(&Vitals::default(), fresh.clone()), fresh);
        let later = after(&resting, &fresh, NOW);
        assert_eq!(later.runtime_state, RuntimeState::Well, "its own word after that takes it back");
        let failing = Vitals { runtime_state: RuntimeState::Well, ..wedged };
        assert_eq!(at_rest(&failing).sample_error, None, "only a wedge is kept");
    }

    // F11
    #[test]
    fn what_is_said_to_be_empty_or_zero_is_cleared() {
        let report = RuntimeReport {
            sample_error: Some(String::new()),
            current_task: Some(String::new()),
            runtime_state: Some(RuntimeState::Well),
            idle_timeout_seconds: Some(0),
            displaced: Displacement { scheduler: Some(false), ..Displacement::default() },
            ..RuntimeReport::default()
        };
        let next = after(&busy(), &report, NOW);
        assert_eq!((next.sample_error, next.current_task, next.idle_timeout_seconds), (None, None, None));
        assert_eq!(next.runtime_state, RuntimeState::Well);
        assert_eq!(next.displaced, Displaced { status_mgmt: true, ..Displaced::default() });
    }

    // F11, X10
    #[test]
    fn numbers_that_make_no_sense_are_left_out_and_the_rest_is_taken() {
        let take = |report: RuntimeReport| {
            let report = RuntimeReport { uptime_s: Some(9), ..report };
            let (vitals, doubts) = after_report(&busy(), &report, &spec(), &Expectations::default(), NOW);
            assert_eq!((vitals.uptime_s, vitals.last_heartbeat_at), (Some(9), Some(NOW)));
            let known = busy();
            assert_eq!(
                (vitals.error_rate, vitals.active_tasks, vitals.idle_timeout_seconds),
                (known.error_rate, known.active_tasks, known.idle_timeout_seconds)
            );
            doubts.into_iter().map(ReportDoubt::sentence).collect::<Vec<_>>().join("; ")
        };
        for rate in [-0.1, 1.01, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let told = take(RuntimeReport { error_rate: Some(rate), ..RuntimeReport::default() });
            assert_eq!(told, "error_rate: expected a number from 0 to 1; it was left out", "{rate}");
        }
        let too_many = RuntimeReport { active_tasks: Some(MAX_ACTIVE_TASKS + 1), ..RuntimeReport::default() };
        assert!(take(too_many).starts_with("active_tasks: expected at most 100000"));
        let seconds = Some(MAX_IDLE_TIMEOUT_SECONDS + 1);
        let too_long = RuntimeReport { idle_timeout_seconds: seconds, ..RuntimeReport::default() };
        assert!(take(too_long).contains("idle_timeout_seconds: expected at most 2592000"));
    }

    // F14
    #[test]
    fn a_clock_that_is_ahead_buys_no_time_and_is_told() {
        let report = RuntimeReport {
            active_tasks: Some(1),
            last_progress_at: Some(NOW.plus_ms(3_600_000)),
            ..RuntimeReport::default()
        };
        let (vitals, doubts) =
            after_report(&Vitals::default(), &report, &spec(), &Expectations::default(), NOW);
        assert_eq!(vitals.last_progress_at, Some(NOW));
        assert_eq!(vitals.stall_deadline, Some(NOW.plus_ms(300_000)));
        assert_eq!(doubts, [ReportDoubt::ClockAhead { seconds: 3_600 }]);
    }

    // F14
    #[test]
    fn heartbeats_without_progress_do_not_put_off_the_stall_and_progress_does() {
        let mut vitals = after(
            &Vitals::default(),
            &RuntimeReport { active_tasks: Some(1), ..RuntimeReport::default() },
            NOW,
        );
        let stall = vitals.stall_deadline.unwrap();
        let mut now = NOW;
        while now < stall {
            assert!(!is_stalled(&vitals, now));
            now = now.plus_ms(30_000);
            vitals =
                after(&vitals, &RuntimeReport { active_tasks: Some(1), ..RuntimeReport::default() }, now);
        }
        assert!(is_stalled(&vitals, now));
        assert_eq!(vitals.probe_at, Some(now), "and it is to be looked into");
        vitals =
            after(&vitals, &RuntimeReport { last_progress_at: Some(now), ..RuntimeReport::default() }, now);
        assert!(!is_stalled(&vitals, now));
        assert_eq!(vitals.probe_at, None);
    }

    // F7
    #[test]
    fn idleness_counts_from_the_last_task_and_never_from_a_heartbeat() {
        let mut vitals = after(
            &Vitals::default(),
            &RuntimeReport { active_tasks: Some(1), ..RuntimeReport::default() },
            NOW,
        );
        assert_eq!(vitals.idle_deadline, None, "with a task nothing is idle");
        vitals = after(
            &vitals,
            &RuntimeReport { active_tasks: Some(0), ..RuntimeReport::default() },
            NOW.plus_ms(1_000),
        );
        let deadline = NOW.plus_ms(601_000);
        assert_eq!(vitals.idle_deadline, Some(deadline));
        for minute in 1..5 {
            vitals = after(&vitals, &RuntimeReport::default(), NOW.plus_ms(60_000 * minute));
            assert_eq!(vitals.idle_deadline, Some(deadline));
        }
    }

    // F7, F11
    #[test]
    fn sessions_that_work_keep_a_hosted_workspace_awake() {
        let spec = spec();
        let busy = after_sessions(&Vitals::default(), 2, Some("tidy up"), &spec, NOW);
        assert_eq!((busy.active_tasks, busy.current_task.as_deref()), (2, Some("tidy up")));
        assert_eq!((busy.idle_deadline, busy.liveness_deadline, busy.stall_deadline), (None, None, None));
        let later = NOW.plus_ms(1_000);
        let idle = after_sessions(&busy, 0, None, &spec, later);
        assert_eq!((idle.active_tasks, idle.current_task.clone()), (0, None));
        assert_eq!(idle.idle_deadline, Some(later.plus_ms(600_000)), "it may sleep after its last work");
        let wakeful = WorkspaceSpec { hibernate_after_seconds: None, ..spec };
        assert_eq!(after_sessions(&busy, 0, None, &wakeful, later).idle_deadline, None);
    }

    proptest! {
        // F12, F13: a wedge is taken back by the runtime alone.
        #[test]
        fn no_report_without_a_state_ends_a_wedge(
            rate in proptest::option::of(0.0..=1.0_f64),
            tasks in proptest::option::of(0..5_u32),
            uptime in proptest::option::of(0..1_000_u64),
        ) {
            let report = RuntimeReport { error_rate: rate, active_tasks: tasks, uptime_s: uptime, ..RuntimeReport::default() };
            prop_assert_eq!(after(&busy(), &report, NOW.plus_ms(1)).runtime_state, RuntimeState::Wedged);
        }

        // F14
        #[test]
        fn progress_never_goes_back_and_never_leads_the_clock(
            steps in proptest::collection::vec((0..100_000_i64, -200_000..200_000_i64, 0..3_u32), 1..40),
        ) {
            let (mut vitals, mut now) = (Vitals::default(), NOW);
            for (wait, skew, tasks) in steps {
                now = now.plus_ms(wait);
                let report = RuntimeReport {
                    active_tasks: Some(tasks),
                    last_progress_at: Some(now.plus_ms(skew)),
                    ..RuntimeReport::default()
                };
                let next = after(&vitals, &report, now);
                prop_assert!(next.last_progress_at >= vitals.last_progress_at);
                prop_assert!(next.last_progress_at <= Some(now));
                prop_assert_eq!(next.stall_deadline.is_some(), tasks > 0);
                vitals = next;
            }
        }
    }

    // F16
    #[test]
    fn a_sign_of_life_is_news_where_something_follows_from_it() {
        let expectations = Expectations::default();
        let heard = |ms: i64| Vitals { last_heartbeat_at: Some(NOW.plus_ms(-ms)), ..Vitals::default() };
        let is_news = |status, known: &Vitals| is_news(status, known, &expectations, NOW);
        for status in [Status::Online, Status::Degraded] {
            assert!(is_news(status, &Vitals::default()) && is_news(status, &heard(NEWS_MS)));
            assert!(!is_news(status, &heard(NEWS_MS - 1)) && !is_news(status, &heard(-60_000)));
        }
        for status in [Status::Provisioning, Status::AwaitingAgent, Status::Offline, Status::Failed] {
            assert!(is_news(status, &heard(0)), "{status}: it brings it back");
        }
        for status in [Status::Paused, Status::Hibernated, Status::Removed] {
            assert!(!is_news(status, &heard(3_600_000)), "{status}: nobody expects any");
        }
        let impatient = Expectations { liveness_ms: 2_000, ..expectations };
        assert!(super::is_news(Status::Online, &heard(500), &impatient, NOW), "in time for a short deadline");
    }
}
