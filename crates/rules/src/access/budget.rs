//! What a workspace may spend in a month (F36). Amounts are millionths of the currency's unit, so that no cent is lost
//! to rounding.

use warren_model::Timestamp;

/// A month of the calendar in UTC, such as `2026-11`: its first moment is the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Month {
    pub year: i16,
    pub month: i8,
}

impl Month {
    pub fn of(at: Timestamp) -> Self {
        let (year, month) = at.utc_month();
        Self { year, month }
    }
}

impl std::fmt::Display for Month {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:04}-{:02}", self.year, self.month)
    }
}

/// How a workspace stands with its budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// No limit was set.
    Unlimited,
    Within {
        left_micros: u64,
    },
    Exhausted,
}

/// A limit is used up when what was spent reaches it: the next piece of work would pass it.
pub fn standing(limit_micros: Option<u64>, spent_micros: u64) -> Standing {
    match limit_micros {
        None => Standing::Unlimited,
        Some(limit) if spent_micros >= limit => Standing::Exhausted,
        Some(limit) => Standing::Within { left_micros: limit - spent_micros },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // F36
    #[test]
    fn a_budget_ends_when_it_is_spent_and_not_before() {
        assert_eq!(standing(None, u64::MAX), Standing::Unlimited);
        assert_eq!(standing(Some(10), 9), Standing::Within { left_micros: 1 });
        assert_eq!(standing(Some(10), 10), Standing::Exhausted);
        assert_eq!(standing(Some(0), 0), Standing::Exhausted);
    }

    // F36
    #[test]
    fn months_are_of_the_calendar_in_utc() {
        let month = |text: &str| Month::of(text.parse().unwrap()).to_string();
        assert_eq!(month("2026-11-30T23:59:59.999999Z"), "2026-11");
        assert_eq!(month("2026-12-01T00:00:00Z"), "2026-12");
        assert_eq!(month("2026-12-01T01:00:00+02:00"), "2026-11");
    }
}
