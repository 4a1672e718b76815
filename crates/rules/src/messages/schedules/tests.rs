//! Nights on which clocks change, slots that were missed, and what holds for every timing.

use proptest::prelude::*;

use super::*;
use warren_model::Timing;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap_or_else(|_| panic!("{text}"))
}

fn cron_in(expression: &str, time_zone: &str) -> Clockwork {
    let timing = Timing::Cron { expression: expression.into(), time_zone: time_zone.into() };
    Clockwork::read(&timing, at("2026-01-01T00:00:00Z")).unwrap_or_else(|problem| panic!("{problem:?}"))
}

fn every(seconds: u32) -> Clockwork {
    Clockwork::read(&Timing::Every { seconds }, at("2026-01-01T00:00:00.25Z")).unwrap()
}

fn problem(expression: &str, time_zone: &str) -> Problem {
    let timing = Timing::Cron { expression: expression.into(), time_zone: time_zone.into() };
    let now = at("2026-06-01T00:00:00Z");
    let checked = Clockwork::read(&timing, now).and_then(|clockwork| clockwork.check(now, 10, 0));
    checked.expect_err(expression)
}

fn habits(missed: MissedPolicy) -> Habits {
    Habits { id: ScheduleId::from_bytes([7; 16]), jitter_seconds: 0, missed, max_catch_up: 5 }
}

/// Slots after `from` up to and with `to`, as `HH:MM` in UTC with the day where it changes.
fn slots(clockwork: &Clockwork, from: &str, to: &str) -> Vec<String> {
    let (mut moment, end) = (at(from), at(to));
    let mut found = Vec::new();
    while let Some(slot) = clockwork.after(moment).filter(|slot| *slot <= end) {
        found.push(slot.to_string()[5..16].replace('T', " "));
        moment = slot;
    }
    found
}

/// One night: a zone, a fixed time that it loses or has twice, and from when to when (UTC) it is looked at.
struct Night {
    zone: &'static str,
    fixed: &'static str,
    from: &'static str,
    to: &'static str,
    /// When the fixed time fires.
    fixed_slots: &'static [&'static str],
    /// When each half hour fires.
    half_hours: &'static [&'static str],
}

// X40: the clock goes forward
#[test]
fn a_time_that_a_spring_night_loses_fires_once_right_after_the_gap() {
    let nights = [
        // 02:00 CET (01:00 UTC) becomes 03:00 CEST.
        Night {
            zone: "Europe/Zurich",
            fixed: "30 2 * * *",
            from: "2026-03-29T00:00:00Z",
            to: "2026-03-29T03:00:00Z",
            fixed_slots: &["03-29 01:00"],
            half_hours: &[
                "03-29 00:30",
                "03-29 01:00",
                "03-29 01:30",
                "03-29 02:00",
                "03-29 02:30",
                "03-29 03:00",
            ],
        },
        // 02:00 EST (07:00 UTC) becomes 03:00 EDT.
        Night {
            zone: "America/New_York",
            fixed: "15 2 * * *",
            from: "2026-03-08T06:00:00Z",
            to: "2026-03-08T08:00:00Z",
            fixed_slots: &["03-08 07:00"],
            half_hours: &["03-08 06:30", "03-08 07:00", "03-08 07:30", "03-08 08:00"],
        },
        // Half an hour only: 02:00 (+10:30, 15:30 UTC) becomes 02:30 (+11).
        Night {
            zone: "Australia/Lord_Howe",
            fixed: "15 2 * * *",
            from: "2026-10-03T15:00:00Z",
            to: "2026-10-03T16:30:00Z",
            fixed_slots: &["10-03 15:30"],
            half_hours: &["10-03 15:30", "10-03 16:00", "10-03 16:30"],
        },
        // The south has its spring in September: 02:00 NZST (14:00 UTC) becomes 03:00 NZDT.
        Night {
            zone: "Pacific/Auckland",
            fixed: "30 2 * * *",
            from: "2026-09-26T13:00:00Z",
            to: "2026-09-26T15:00:00Z",
            fixed_slots: &["09-26 14:00"],
            half_hours: &["09-26 13:30", "09-26 14:00", "09-26 14:30", "09-26 15:00"],
        },
    ];
    check_nights(&nights);
    // Named hours are named hours, also where there are several of them: 02:00 and 02:30 become one slot.
    let twice = cron_in("0,30 2,4 * * *", "Europe/Zurich");
    let slots = slots(&twice, "2026-03-29T00:00:00Z", "2026-03-29T03:00:00Z");
    assert_eq!(slots, ["03-29 01:00", "03-29 02:00", "03-29 02:30"]);
}

// X40: a gap that begins at midnight takes nothing but itself
#[test]
fn a_night_that_begins_an_hour_late_keeps_its_other_times() {
    // 00:00 (-04) on the 6th, 04:00 UTC, becomes 01:00 (-03).
    let (from, to) = ("2026-09-05T12:00:00Z", "2026-09-07T03:00:00Z");
    let half_past_two = cron_in("30 2 * * *", "America/Santiago");
    assert_eq!(slots(&half_past_two, from, to), ["09-06 05:30"]);
    let midnight = cron_in("0 0 * * *", "America/Santiago");
    assert_eq!(slots(&midnight, from, to), ["09-06 04:00", "09-07 03:00"]);
}

// X40: the clock goes back
#[test]
fn a_time_that_an_autumn_night_has_twice_fires_the_first_time_and_what_repeats_fires_in_both() {
    let nights = [
        // 03:00 CEST (01:00 UTC) becomes 02:00 CET: 02:30 is 00:30 and 01:30 UTC.
        Night {
            zone: "Europe/Zurich",
            fixed: "30 2 * * *",
            from: "2026-10-25T00:00:00Z",
            to: "2026-10-25T02:00:00Z",
            fixed_slots: &["10-25 00:30"],
            half_hours: &["10-25 00:30", "10-25 01:00", "10-25 01:30", "10-25 02:00"],
        },
        // 02:00 EDT (06:00 UTC) becomes 01:00 EST: 01:30 is 05:30 and 06:30 UTC.
        Night {
            zone: "America/New_York",
            fixed: "30 1 * * *",
            from: "2026-11-01T05:00:00Z",
            to: "2026-11-01T07:00:00Z",
            fixed_slots: &["11-01 05:30"],
            half_hours: &["11-01 05:30", "11-01 06:00", "11-01 06:30", "11-01 07:00"],
        },
        // 02:00 (+11, 15:00 UTC) becomes 01:30 (+10:30): 01:45 is 14:45 and 15:15 UTC.
        Night {
            zone: "Australia/Lord_Howe",
            fixed: "45 1 * * *",
            from: "2026-04-04T14:00:00Z",
            to: "2026-04-04T16:00:00Z",
            fixed_slots: &["04-04 14:45"],
            half_hours: &["04-04 14:30", "04-04 15:00", "04-04 15:30", "04-04 16:00"],
        },
        // The south has its autumn in April: 03:00 NZDT (14:00 UTC) becomes 02:00 NZST.
        Night {
            zone: "Pacific/Auckland",
            fixed: "30 2 * * *",
            from: "2026-04-04T13:00:00Z",
            to: "2026-04-04T15:30:00Z",
            fixed_slots: &["04-04 13:30"],
            half_hours: &["04-04 13:30", "04-04 14:00", "04-04 14:30", "04-04 15:00", "04-04 15:30"],
        },
    ];
    check_nights(&nights);
}

fn check_nights(nights: &[Night]) {
    for night in nights {
        let fixed = slots(&cron_in(night.fixed, night.zone), night.from, night.to);
        assert_eq!(fixed, night.fixed_slots, "{} {}", night.zone, night.fixed);
        let half_hours = slots(&cron_in("*/30 * * * *", night.zone), night.from, night.to);
        assert_eq!(half_hours, night.half_hours, "{} every half hour", night.zone);
        // An interval does not know of clocks.
        let evenly = slots(&every(1_800), night.from, night.to);
        assert_eq!(evenly.len(), usize::try_from(at(night.to).ms_since(at(night.from)) / 1_800_000).unwrap());
    }
}

// X40
#[test]
fn seconds_are_optional_and_zones_are_not_utc() {
    let zurich = cron_in("0 9 * * 1-5", "Europe/Zurich");
    let week = slots(&zurich, "2026-06-05T00:00:00Z", "2026-06-09T00:00:00Z");
    assert_eq!(week, ["06-05 07:00", "06-08 07:00"], "a weekend lies between");
    let seconds = cron_in("*/20 * * * * *", "UTC");
    assert_eq!(seconds.after(at("2026-01-01T00:00:20.5Z")), Some(at("2026-01-01T00:00:40Z")));
    assert_eq!(seconds.after(at("2026-01-01T00:00:40Z")), Some(at("2026-01-01T00:01:00Z")));
    assert_eq!(
        cron_in("0 0 29 2 *", "UTC").after(at("2026-01-01T00:00:00Z")),
        Some(at("2028-02-29T00:00:00Z"))
    );
    let kathmandu = cron_in("0 12 * * *", "Asia/Kathmandu");
    assert_eq!(kathmandu.after(at("2026-01-01T00:00:00Z")), Some(at("2026-01-01T06:15:00Z")));
}

// X40: bad input
#[test]
fn what_can_never_fire_or_is_unknown_is_refused_by_name() {
    assert_eq!(problem("0 0 30 2 *", "UTC"), Problem::NeverFires);
    assert_eq!(problem("0 0 31 4,6 *", "Europe/Zurich"), Problem::NeverFires);
    for (typed, nearest) in [
        ("Europe/Zürich", Some("Europe/Zurich")),
        ("europe/zurick", Some("Europe/Zurich")),
        ("America/NewYork", Some("America/New_York")),
        ("Berlin", Some("Europe/Berlin")),
        ("Mars/Olympus_Mons", None),
        ("", None),
        ("../../etc/passwd", None),
    ] {
        let expected = Problem::UnknownTimeZone { name: typed.into(), nearest: nearest.map(str::to_owned) };
        assert_eq!(problem("0 9 * * *", typed), expected, "{typed}");
    }
    let long = "0 ".repeat(200);
    for bad in [
        "",
        "hourly",
        "@reboot",
        "@daily 5",
        "0 9 * *",
        "0 9 * * * * *",
        "60 * * * *",
        "* * * * 8",
        "0 9 * * \u{661}",
        &long,
    ] {
        assert!(matches!(problem(bad, "UTC"), Problem::InvalidCron(_)), "{bad}: {:?}", problem(bad, "UTC"));
    }
    assert_eq!(canonical_time_zone("europe/zurich"), Ok("Europe/Zurich".into()));
    assert_eq!(canonical_time_zone("utc").as_deref().map(str::to_uppercase), Ok("UTC".into()));
}

// X40
#[test]
fn nicknames_stand_for_their_fields() {
    let (from, to) = ("2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z");
    for (name, fields) in [
        ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 1 *"),
        ("@monthly", "0 0 1 * *"),
        ("@weekly", "0 0 * * 0"),
        ("@daily", "0 0 * * *"),
        ("@Midnight", "0 0 * * *"),
        ("@hourly", "0 * * * *"),
    ] {
        let named = slots(&cron_in(name, "Europe/Zurich"), from, to);
        assert_eq!(named, slots(&cron_in(fields, "Europe/Zurich"), from, to), "{name}");
    }
}

// X40: as every cron has it
#[test]
fn a_day_and_a_weekday_that_are_both_restricted_each_suffice() {
    let (from, to) = ("2026-06-01T12:00:00Z", "2026-06-09T12:00:00Z");
    // 8 June 2026 is a Monday.
    assert_eq!(slots(&cron_in("0 0 3 * 1", "UTC"), from, to), ["06-03 00:00", "06-08 00:00"]);
    let odd = ["06-03 00:00", "06-05 00:00", "06-07 00:00", "06-08 00:00", "06-09 00:00"];
    assert_eq!(slots(&cron_in("0 0 */2 * 1", "UTC"), from, to), odd);
    assert_eq!(slots(&cron_in("0 0 * * 1", "UTC"), from, to), ["06-08 00:00"]);
}

// X40: limits
#[test]
fn what_fires_too_often_or_jitters_too_far_is_refused() {
    assert_eq!(problem("* * * * * *", "UTC"), Problem::TooFrequent { seconds: 1, min: 10 });
    assert_eq!(problem("0,5 0 9 * * *", "UTC"), Problem::TooFrequent { seconds: 5, min: 10 });
    let now = at("2026-06-01T00:00:00Z");
    assert_eq!(every(9).check(now, 10, 0), Err(Problem::TooFrequent { seconds: 9, min: 10 }));
    assert_eq!(every(60).check(now, 10, 60), Err(Problem::JitterTooLong { max: 59 }));
    assert!(every(60).check(now, 10, 59).is_ok());
    for seconds in [0, u32::MAX] {
        let read = Clockwork::read(&Timing::Every { seconds }, now);
        assert_eq!(read.err(), Some(Problem::InvalidInterval));
    }
}

// X40
#[test]
fn intervals_count_from_when_the_schedule_was_made() {
    let clockwork = every(3_600);
    assert_eq!(clockwork.after(at("2026-01-01T00:00:00.25Z")), Some(at("2026-01-01T01:00:00Z")));
    assert_eq!(clockwork.after(at("2026-01-01T01:00:00Z")), Some(at("2026-01-01T02:00:00Z")));
    assert_eq!(clockwork.after(at("2025-01-01T00:00:00Z")), Some(at("2026-01-01T01:00:00Z")));
    assert_eq!(clockwork.at_or_before(at("2026-01-01T00:59:59Z")), None, "not before the first");
}

// X40: eight hours of sleep
#[test]
fn missed_slots_are_skipped_fired_once_or_all() {
    let hourly = every(3_600);
    let (first, woken) = (at("2026-01-01T01:00:00Z"), at("2026-01-01T08:30:00Z"));
    let outcome = |missed| {
        let plan = plan(&hourly, &habits(missed), first, woken);
        assert_eq!(plan.next_slot, Some(at("2026-01-01T09:00:00Z")));
        assert!(plan.firing.iter().all(|one| one.cause == RunCause::Missed));
        let skipped = plan.skipping.map(|skip| (skip.count, skip.reason, skip.first, skip.last));
        (plan.firing.len(), skipped)
    };
    let (three, seven, eight) = ("2026-01-01T03:00:00Z", "2026-01-01T07:00:00Z", "2026-01-01T08:00:00Z");
    assert_eq!(outcome(MissedPolicy::Skip), (0, Some((8, SkipReason::Missed, first, at(eight)))));
    assert_eq!(outcome(MissedPolicy::Once), (1, Some((7, SkipReason::Coalesced, first, at(seven)))));
    assert_eq!(outcome(MissedPolicy::All), (5, Some((3, SkipReason::CatchUpLimit, first, at(three)))));
}

// X40
#[test]
fn a_slot_that_is_a_little_late_fires_whatever_the_policy() {
    let hourly = every(3_600);
    let slot = at("2026-01-01T01:00:00Z");
    for missed in MissedPolicy::ALL {
        let plan = plan(&hourly, &habits(*missed), slot, slot.plus_ms(ON_TIME_MS));
        assert_eq!(plan.firing, [Firing { slot, cause: RunCause::Slot }], "{missed}");
        assert_eq!(plan.skipping, None);
    }
    // Woken right on a slot: it stands for those that were missed.
    let woken = at("2026-01-01T08:00:00Z");
    let plan = plan(&hourly, &habits(MissedPolicy::Once), slot, woken);
    assert_eq!(plan.firing, [Firing { slot: woken, cause: RunCause::Slot }]);
    assert_eq!(plan.skipping.map(|skip| (skip.count, skip.reason)), Some((7, SkipReason::Coalesced)));
}

// X40: bounded
#[test]
fn years_of_missed_slots_are_counted_up_to_a_bound() {
    let plan = plan(
        &cron_in("*/10 * * * * *", "UTC"),
        &habits(MissedPolicy::Skip),
        at("2020-01-01T00:00:00Z"),
        at("2026-01-01T00:05:01Z"),
    );
    let skipped = plan.skipping.unwrap();
    assert_eq!(skipped.count, MAX_COUNTED_SLOTS);
    assert_eq!(plan.firing.len(), 5, "those of the last minute are on time, up to the bound");
    assert_eq!(plan.next_slot, Some(at("2026-01-01T00:05:10Z")));
}

// X40: rules of a zone change with a new version of its database
#[test]
fn a_slot_that_is_none_any_more_makes_way_for_the_next() {
    let nine = cron_in("0 9 * * *", "UTC");
    let written_down = at("2026-01-01T08:00:00Z");
    let plan = plan(&nine, &habits(MissedPolicy::All), written_down, at("2026-01-01T08:00:01Z"));
    assert_eq!((plan.firing.len(), plan.skipping), (0, None));
    assert_eq!(plan.next_slot, Some(at("2026-01-01T09:00:00Z")), "otherwise it would be due for ever");
}

// X42
#[test]
fn what_stands_in_the_way_of_a_slot_is_told() {
    let open = Gate {
        status: Status::Online,
        has_own_scheduler: false,
        overlap: OverlapPolicy::Skip,
        is_previous_open: false,
        waiting: 0,
        max_waiting: 2,
    };
    assert_eq!(admit(&open), Admission::Fire);
    for status in Status::ALL {
        let expected = match status {
            Status::Removed => Admission::Stop,
            Status::Paused => Admission::Skip(SkipReason::WorkspacePaused),
            _ => Admission::Fire,
        };
        assert_eq!(admit(&Gate { status: *status, ..open }), expected, "{status}");
    }
    let own = Gate { has_own_scheduler: true, overlap: OverlapPolicy::Allow, ..open };
    assert_eq!(admit(&own), Admission::Skip(SkipReason::OwnScheduler));
    let busy = |overlap, waiting| admit(&Gate { is_previous_open: true, overlap, waiting, ..open });
    assert_eq!(busy(OverlapPolicy::Skip, 0), Admission::Skip(SkipReason::Overlap));
    assert_eq!(busy(OverlapPolicy::Allow, 0), Admission::Fire);
    assert_eq!(busy(OverlapPolicy::Queue, 1), Admission::Wait);
    assert_eq!(busy(OverlapPolicy::Queue, 2), Admission::Skip(SkipReason::QueueFull));
}

const ZONES: [&str; 8] = [
    "UTC",
    "Europe/Zurich",
    "America/New_York",
    "Australia/Lord_Howe",
    "Pacific/Auckland",
    "America/Santiago",
    "Asia/Kathmandu",
    "Africa/Casablanca",
];
const EXPRESSIONS: [&str; 9] = [
    "30 2 * * *",
    "*/15 * * * *",
    "0 */6 * * *",
    "0,30 1-3 * * *",
    "15 2,14 * * 0",
    "0 0 1 * *",
    "30 1 L * *",
    "*/20 30 2 * * *",
    "59 59 23 * * *",
];

proptest! {
    // X40: the same slots, whichever way one looks for them, and each once
    #[test]
    fn slots_are_the_same_forwards_and_backwards(
        zone in proptest::sample::select(&ZONES[..]),
        expression in proptest::sample::select(&EXPRESSIONS[..]),
        second in 1_735_689_600_i64..1_830_000_000,
    ) {
        let clockwork = cron_in(expression, zone);
        let moment = Timestamp::from_micros(second * 1_000_000 + 17);
        let mut slot = clockwork.after(moment).unwrap();
        prop_assert!(slot > moment);
        for _ in 0..12 {
            let next = clockwork.after(slot).unwrap();
            prop_assert!(next > slot);
            prop_assert_eq!(clockwork.before(next), Some(slot), "{} {} before {}", expression, zone, next);
            prop_assert_eq!(clockwork.at_or_before(slot), Some(slot));
            slot = next;
        }
    }

    // X41: whatever happens to the clock, a slot is dealt with once, in order, and none is lost
    #[test]
    fn every_slot_is_dealt_with_once_however_the_clock_runs(
        steps in proptest::collection::vec(-4_000_000_i64..8_000_000, 1..40),
        missed in proptest::sample::select(MissedPolicy::ALL),
        jitter_seconds in 0_u32..600,
    ) {
        let clockwork = every(600);
        let habits = Habits { jitter_seconds, ..habits(missed) };
        let start = at("2026-01-01T00:00:00.25Z");
        let (mut now, mut next) = (start, clockwork.after(start).unwrap());
        let mut dealt_with = 0_u32;
        let mut last = start;
        for step in steps {
            now = now.plus_ms(step);
            let plan = plan(&clockwork, &habits, next, now);
            if let Some(skip) = plan.skipping {
                prop_assert!(skip.first > last && skip.last >= skip.first);
                dealt_with += skip.count;
                last = skip.last;
            }
            for firing in &plan.firing {
                prop_assert!(firing.slot > last, "no slot twice");
                prop_assert!(habits.due_at(firing.slot) <= now, "none before its time");
                dealt_with += 1;
                last = firing.slot;
            }
            prop_assert!(plan.firing.len() <= habits.max_catch_up as usize);
            next = plan.next_slot.unwrap();
            prop_assert_eq!(plan.next_at, Some(habits.due_at(next)));
            prop_assert!(habits.due_at(next) > now || plan.firing.is_empty() && plan.skipping.is_none());
        }
        let passed = next.ms_since(at("2026-01-01T00:00:00Z")) / 600_000 - 1;
        prop_assert_eq!(i64::from(dealt_with), passed, "none is lost");
    }

    // X40
    #[test]
    fn jitter_is_within_its_span_and_the_same_everywhere(id in any::<[u8; 16]>(), slot in 0_i64..i64::MAX, span in 0_u32..100_000) {
        let (id, slot) = (ScheduleId::from_bytes(id), Timestamp::from_micros(slot));
        let jitter = jitter_ms(id, slot, span);
        prop_assert!(jitter == 0 || (1..i64::from(span) * 1_000).contains(&jitter));
        prop_assert_eq!(jitter, jitter_ms(id, slot, span));
    }
}

// X40
#[test]
fn jitter_spreads_schedules_with_the_same_slot() {
    let slot = at("2026-01-01T00:00:00Z");
    let spread: std::collections::BTreeSet<i64> =
        (0..=99).map(|seed| jitter_ms(ScheduleId::from_bytes([seed; 16]), slot, 100) / 10_000).collect();
    assert_eq!(spread.len(), 10, "each tenth of the span is used: {spread:?}");
}

// F50
#[test]
fn schedules_of_a_template_have_ids_of_their_own() {
    let now = at("2026-01-01T00:00:00Z");
    let ids: std::collections::BTreeSet<_> = (0..100)
        .flat_map(|seed| (0..10).map(move |position| (WorkspaceId::from_bytes([seed; 16]), position)))
        .map(|(workspace_id, position)| template_schedule_id(workspace_id, position, now))
        .collect();
    assert_eq!(ids.len(), 1_000);
}
