//! Moments, as integer microseconds since 1970 (UTC): the form both databases keep.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A moment. Reading the clock is not here; see the `doors` crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a time: expected RFC 3339 such as 2026-11-15T09:30:00Z")]
pub struct InvalidTimestamp;

impl Timestamp {
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    pub const fn as_micros(self) -> i64 {
        self.0
    }

    pub const fn as_millis(self) -> i64 {
        self.0.div_euclid(1_000)
    }

    #[must_use]
    pub const fn plus_ms(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms.saturating_mul(1_000)))
    }

    /// Year and month of the calendar, in UTC.
    pub fn utc_month(self) -> (i16, i8) {
        let moment = jiff::Timestamp::from_microsecond(self.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        let date = moment.to_zoned(jiff::tz::TimeZone::UTC).date();
        (date.year(), date.month())
    }

    /// Milliseconds from `earlier` to here; negative where `earlier` is in fact later.
    pub const fn ms_since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0).div_euclid(1_000)
    }
}

/// RFC 3339 with microseconds, always UTC, always the same width, so that text sorts as time does.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(moment) => write!(f, "{moment:.6}"),
            Err(_) => write!(f, "{}us", self.0),
        }
    }
}

impl FromStr for Timestamp {
    type Err = InvalidTimestamp;

    fn from_str(text: &str) -> Result<Self, InvalidTimestamp> {
        let moment: jiff::Timestamp = text.parse().map_err(|_| InvalidTimestamp)?;
        Ok(Self(moment.as_microsecond()))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form_round_trips() {
        let moment = Timestamp::from_micros(1_763_200_000_123_456);
        assert_eq!(moment.to_string(), "2025-11-15T09:46:40.123456Z");
        assert_eq!(moment.to_string().parse(), Ok(moment));
        assert_eq!("yesterday".parse::<Timestamp>(), Err(InvalidTimestamp));
    }

    #[test]
    fn arithmetic_saturates_instead_of_wrapping() {
        assert_eq!(Timestamp::from_micros(i64::MAX).plus_ms(1).as_micros(), i64::MAX);
        assert_eq!(Timestamp::from_micros(-1).as_millis(), -1);
    }
}
