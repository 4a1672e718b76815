//! The moments that a cron expression names in a time zone, also on the nights on which clocks change.
//!
//! ```text
//!   moments  ───────────────┬ T ───────────────────▶     T: the zone's offset changes
//!   wall     … 01:59:59  end│start 03:00:00 …            a gap:  end 02:00 < start 03:00
//!   wall     … 02:59:59  end│start 02:00:00 …            a fold: end 03:00 > start 02:00
//! ```
//!
//! Between two changes the wall clock runs evenly, so that a search is done stretch by stretch and needs no other rule
//! than where a stretch begins:
//!
//! - An expression that names its hours (`30 2 * * *`) goes on where the stretch before *ended*. What a gap swallowed
//!   fires at the first moment after it, once; what a fold repeats fires in the first pass only.
//! - One whose hours come again and again (`*/15 * * * *`) begins with the stretch: a gap holds nothing, and both passes
//!   of a fold fire.
//!
//! The expression is matched by croner on civil times only. Its own search over zones was tried: where a gap begins at
//! midnight (`America/Santiago`) it answered with the end of the gap for a time that the gap does not touch.

use croner::Cron;
use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};

/// Changes of the clock that a search goes past: no zone has more than a few a year, and no cron waits for centuries.
const MAX_STRETCHES: usize = 1_000;

#[derive(Debug, Clone)]
pub(super) struct WallClock {
    pub(super) cron: Cron,
    pub(super) time_zone: TimeZone,
    pub(super) names_hours: bool,
}

/// A stretch of time in which the wall clock runs evenly. Moments and wall times are seconds since 1970.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    /// Its first moment.
    start: i64,
    /// The first moment after it.
    end: i64,
    offset: i64,
    /// The first wall time that is looked at.
    wall_from: i64,
}

impl Stretch {
    const fn wall_end(&self) -> i64 {
        self.end.saturating_add(self.offset)
    }

    /// When a wall time comes; what was swallowed by a gap comes first of all.
    fn moment(&self, wall: i64) -> i64 {
        (wall - self.offset).max(self.start)
    }
}

impl WallClock {
    /// The first second after this one that the expression names.
    pub(super) fn after(&self, second: i64) -> Option<i64> {
        let mut stretch = self.stretch(second)?;
        let mut wall = self.next_wall(stretch.wall_from.max(second + stretch.offset + 1))?;
        for _ in 0..MAX_STRETCHES {
            if wall < stretch.wall_end() {
                return Some(stretch.moment(wall));
            }
            stretch = self.stretch(stretch.end)?;
            wall = self.next_wall(stretch.wall_from)?;
        }
        None
    }

    /// The last second not after this one that the expression names.
    pub(super) fn at_or_before(&self, second: i64) -> Option<i64> {
        let mut stretch = self.stretch(second)?;
        let mut wall = self.previous_wall(second + stretch.offset)?;
        for _ in 0..MAX_STRETCHES {
            if wall >= stretch.wall_from {
                return Some(stretch.moment(wall));
            }
            stretch = self.stretch(stretch.start.checked_sub(1)?)?;
            wall = self.previous_wall(stretch.wall_end() - 1)?;
        }
        None
    }

    /// The stretch that a second is in.
    fn stretch(&self, second: i64) -> Option<Stretch> {
        let moment = jiff::Timestamp::from_second(second).ok()?;
        let offset = i64::from(self.time_zone.to_offset(moment).seconds());
        // Not including the moment that is asked for, and never one of the same second.
        let following = self.time_zone.following(moment).next();
        let preceding = self.time_zone.preceding(jiff::Timestamp::from_second(second + 1).ok()?).next();
        let end = following.map_or(i64::MAX, |change| change.timestamp().as_second());
        let Some(start) = preceding.map(|change| change.timestamp().as_second()) else {
            return Some(Stretch { start: i64::MIN, end, offset, wall_from: i64::MIN });
        };
        let wall_from = if self.names_hours {
            let before = jiff::Timestamp::from_second(start - 1).ok()?;
            start + i64::from(self.time_zone.to_offset(before).seconds())
        } else {
            start + offset
        };
        Some(Stretch { start, end, offset, wall_from })
    }

    /// The first wall time from this one on that matches.
    fn next_wall(&self, wall: i64) -> Option<i64> {
        seconds(self.cron.find_next_occurrence(&civil(wall)?, true).ok()?)
    }

    /// The last wall time up to this one that matches.
    fn previous_wall(&self, wall: i64) -> Option<i64> {
        seconds(self.cron.find_previous_occurrence(&civil(wall)?, true).ok()?)
    }
}

fn civil(wall: i64) -> Option<DateTime> {
    Some(Offset::UTC.to_datetime(jiff::Timestamp::from_second(wall).ok()?))
}

fn seconds(wall: DateTime) -> Option<i64> {
    Some(Offset::UTC.to_timestamp(wall).ok()?.as_second())
}
