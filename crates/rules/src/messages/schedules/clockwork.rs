//! Reading a timing, and finding its slots.

use croner::Cron;
use croner::errors::CronError;
use croner::parser::{CronParser, Seconds, Year};
use jiff::tz::TimeZoneDatabase;
use warren_model::{ErrorCode, PublicFailure, Schedule, Timestamp, Timing};

use super::wall_clock::WallClock;

const SECOND_MICROS: i64 = 1_000_000;

/// Slots that are looked at to find how close together they come. A cron repeats within a day or a week, and a day of
/// changing clocks brings none closer; the smallest distance shows among the first few.
const SLOTS_LOOKED_AT: usize = 200;

/// How far a name may be from one that exists to be told as its nearest.
const MAX_HINT_DISTANCE: usize = 4;

/// What is wrong with a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    Name,
    Prompt,
    PromptTooLarge {
        bytes: usize,
    },
    /// With what is wrong.
    InvalidCron(String),
    NeverFires,
    UnknownTimeZone {
        name: String,
        nearest: Option<String>,
    },
    TooFrequent {
        seconds: u32,
        min: u32,
    },
    InvalidInterval,
    /// Jitter as long as the time between two slots would put them out of order.
    JitterTooLong {
        max: u32,
    },
}

impl PublicFailure for Problem {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Name
            | Self::Prompt
            | Self::InvalidCron(_)
            | Self::InvalidInterval
            | Self::JitterTooLong { .. } => ErrorCode::InvalidSchedule,
            Self::PromptTooLarge { .. } => ErrorCode::PayloadTooLarge,
            Self::NeverFires => ErrorCode::ScheduleNeverFires,
            Self::UnknownTimeZone { .. } => ErrorCode::UnknownTimeZone,
            Self::TooFrequent { .. } => ErrorCode::ScheduleTooFrequent,
        }
    }

    fn detail(&self) -> Option<String> {
        Some(self.sentence())
    }
}

impl Problem {
    /// Names the field.
    pub fn sentence(&self) -> String {
        match self {
            Self::Name => format!(
                "name: expected 1 to {} characters without control characters",
                Schedule::MAX_NAME_CHARACTERS
            ),
            Self::Prompt => "prompt: expected something to say, without NUL".into(),
            Self::PromptTooLarge { bytes } => {
                format!("prompt: it has {bytes} bytes, and may have {}", Schedule::MAX_PROMPT_BYTES)
            }
            Self::InvalidCron(what) => {
                format!(
                    "cron: {what}; expected five or six fields, such as `0 9 * * 1-5`, or a name such as `@daily`"
                )
            }
            Self::NeverFires => "cron: no such day or time ever comes".into(),
            Self::UnknownTimeZone { name, nearest: Some(nearest) } => {
                format!("time_zone: unknown `{name}`; did you mean `{nearest}`?")
            }
            Self::UnknownTimeZone { name, nearest: None } => format!("time_zone: unknown `{name}`"),
            Self::TooFrequent { seconds, min } => {
                format!(
                    "interval: it would fire every {seconds} s; at least {min} s must lie between two slots"
                )
            }
            Self::InvalidInterval => "every_seconds: expected 1 to 31622400".into(),
            Self::JitterTooLong { max } => {
                format!("jitter_seconds: expected 0 to {max}, less than the time between two slots")
            }
        }
    }
}

/// A timing that was understood.
#[derive(Debug, Clone)]
pub struct Clockwork(Works);

#[derive(Debug, Clone)]
enum Works {
    Cron(Box<WallClock>),
    /// Slots are `anchor + n × step`, for n from 1.
    Every {
        anchor: i64,
        step: i64,
    },
}

/// The time zone's name as the database spells it.
pub fn canonical_time_zone(name: &str) -> Result<String, Problem> {
    let zone = find_time_zone(name)?;
    Ok(zone.iana_name().unwrap_or("UTC").to_owned())
}

impl Clockwork {
    const MAX_SECONDS: u32 = 366 * 24 * 3_600;

    /// `anchor` is where intervals are counted from: when the schedule was made.
    pub fn read(timing: &Timing, anchor: Timestamp) -> Result<Self, Problem> {
        match timing {
            Timing::Cron { expression, time_zone } => {
                let expression = written_out(expression);
                let works = WallClock {
                    cron: read_cron(expression)?,
                    time_zone: find_time_zone(time_zone)?,
                    names_hours: names_hours(expression),
                };
                Ok(Self(Works::Cron(Box::new(works))))
            }
            Timing::Every { seconds } if (1..=Self::MAX_SECONDS).contains(seconds) => {
                let anchor = anchor.as_micros().div_euclid(SECOND_MICROS) * SECOND_MICROS;
                Ok(Self(Works::Every { anchor, step: i64::from(*seconds) * SECOND_MICROS }))
            }
            Timing::Every { .. } => Err(Problem::InvalidInterval),
        }
    }

    /// Whether it ever fires after `now`, and not more often than is allowed. Answers with its next slot.
    pub fn check(&self, now: Timestamp, min_seconds: u32, jitter_seconds: u32) -> Result<Timestamp, Problem> {
        let first = self.after(now).ok_or(Problem::NeverFires)?;
        let Some(closest) = self.closest_seconds(first) else { return Ok(first) };
        if closest < min_seconds {
            return Err(Problem::TooFrequent { seconds: closest, min: min_seconds });
        }
        if jitter_seconds >= closest {
            return Err(Problem::JitterTooLong { max: closest.saturating_sub(1) });
        }
        Ok(first)
    }

    /// The shortest time between two slots; none where there is only one.
    fn closest_seconds(&self, first: Timestamp) -> Option<u32> {
        let slots: Vec<Timestamp> = self.following(first).take(SLOTS_LOOKED_AT).collect();
        let distance =
            |pair: &[Timestamp]| u32::try_from(pair[1].ms_since(pair[0]) / 1_000).unwrap_or(u32::MAX);
        slots.windows(2).map(distance).min()
    }

    /// `first`, which is a slot, and those after it.
    pub fn following(&self, first: Timestamp) -> impl Iterator<Item = Timestamp> {
        std::iter::successors(Some(first), |slot| self.after(*slot))
    }

    /// The first slot after a moment.
    pub fn after(&self, moment: Timestamp) -> Option<Timestamp> {
        match &self.0 {
            Works::Cron(works) => works.after(second_of(moment)).map(moment_of),
            Works::Every { anchor, step } => {
                let passed = (moment.as_micros() - anchor).div_euclid(*step).max(0);
                Some(Timestamp::from_micros(anchor.checked_add((passed + 1).checked_mul(*step)?)?))
            }
        }
    }

    /// The last slot that is not after a moment.
    pub fn at_or_before(&self, moment: Timestamp) -> Option<Timestamp> {
        match &self.0 {
            Works::Cron(works) => works.at_or_before(second_of(moment)).map(moment_of),
            Works::Every { anchor, step } => {
                let passed = (moment.as_micros() - anchor).div_euclid(*step);
                (passed >= 1).then(|| Timestamp::from_micros(anchor + passed * step))
            }
        }
    }

    /// The last slot before one.
    pub fn before(&self, slot: Timestamp) -> Option<Timestamp> {
        self.at_or_before(Timestamp::from_micros(slot.as_micros() - 1))
    }
}

/// The whole second that a moment is in.
const fn second_of(moment: Timestamp) -> i64 {
    moment.as_micros().div_euclid(SECOND_MICROS)
}

const fn moment_of(second: i64) -> Timestamp {
    Timestamp::from_micros(second * SECOND_MICROS)
}

/// Whether its hours are named, as in `0 2,14 * * *`, or come again and again, as in `*/5 * * * *`.
fn names_hours(expression: &str) -> bool {
    let hours = expression.split_ascii_whitespace().rev().nth(3);
    hours.is_some_and(|hours| !hours.contains(['*', '?']))
}

/// The nicknames that cron itself knows, and the fields that they stand for. `@reboot` is none: nothing here boots.
const NICKNAMES: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

/// The fields of an expression, also if it is a nickname.
fn written_out(expression: &str) -> &str {
    let known = NICKNAMES.iter().find(|(name, _)| expression.trim().eq_ignore_ascii_case(name));
    known.map_or(expression, |(_, fields)| fields)
}

fn read_cron(expression: &str) -> Result<Cron, Problem> {
    let invalid = |what: &str| Problem::InvalidCron(what.to_owned());
    if expression.len() > Schedule::MAX_CRON_BYTES {
        return Err(invalid("it is too long"));
    }
    // A seventh field for years is left out, and nicknames were written out before.
    let fields = expression.split_ascii_whitespace().count();
    if !expression.is_ascii() || expression.contains('@') || !(5..=6).contains(&fields) {
        return Err(invalid("not a cron expression"));
    }
    let parser = CronParser::builder().seconds(Seconds::Optional).year(Year::Disallowed).build();
    parser.parse(expression).map_err(|error| invalid(words_of(&error)))
}

/// The parser speaks of its own parts.
const fn words_of(error: &CronError) -> &'static str {
    match error {
        CronError::ComponentError(_) => "a number, a range or a step is out of bounds",
        CronError::IllegalCharacters(_) => "a field holds what no field can",
        CronError::EmptyPattern
        | CronError::InvalidDate
        | CronError::InvalidTime
        | CronError::TimeSearchLimitExceeded
        | CronError::InvalidPattern(_) => "not a cron expression",
    }
}

/// From the zones that are part of the binary, whatever the host has.
fn find_time_zone(name: &str) -> Result<jiff::tz::TimeZone, Problem> {
    let zones = TimeZoneDatabase::bundled();
    zones.get(name).map_err(|_| {
        let wanted = name.to_ascii_lowercase();
        let distance = |known: &str| strsim::damerau_levenshtein(&wanted, &known.to_ascii_lowercase());
        let all = zones.available().map(|known| known.as_str().to_owned());
        let city = |known: &str| known.to_ascii_lowercase().rsplit('/').next() == Some(wanted.as_str());
        let nearest = all
            .map(|known| (if city(&known) { 0 } else { distance(&known) }, known))
            .min()
            .filter(|(distance, _)| *distance <= MAX_HINT_DISTANCE && *distance < wanted.len() / 2)
            .map(|(_, known)| known);
        Problem::UnknownTimeZone { name: warren_model::truncate_utf8(name, 64).to_owned(), nearest }
    })
}
