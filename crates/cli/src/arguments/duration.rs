//! Lengths of time as people write them: `500ms`, `30s`, `5m`, `2h`, `30d`.

use std::str::FromStr;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) ms: u64,
}

const UNITS: [(&str, u64); 5] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let expected =
            || format!("`{text}` is not a length of time; write for example 500ms, 30s, 5m, 2h or 30d");
        let factor =
            UNITS.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor).ok_or_else(expected)?;
        let ms =
            number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor)).ok_or_else(expected)?;
        Ok(Self { ms })
    }
}

/// A time in whole seconds: with its unit, or a bare number of them.
pub(super) fn whole_seconds(text: &str) -> Result<u32, String> {
    if let Ok(seconds) = text.parse::<u32>() {
        return Ok(seconds);
    }
    let Span { ms } = text.parse()?;
    if ms % 1_000 != 0 {
        return Err(format!("`{text}` is not a whole number of seconds"));
    }
    u32::try_from(ms / 1_000).map_err(|_| format!("`{text}` is too long"))
}

/// As somebody would type it: in the largest unit that it is a whole number of.
pub(crate) fn span_text(ms: u64) -> String {
    let fits = |(_, factor): &&(&str, u64)| ms >= *factor && ms.is_multiple_of(*factor);
    match UNITS.iter().rev().find(fits) {
        Some((unit, factor)) => format!("{}{unit}", ms / factor),
        None => format!("{ms}ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // S11
    #[test]
    fn a_length_of_time_needs_its_unit() {
        let ms = |text: &str| text.parse::<Span>().map(|span| span.ms).ok();
        assert_eq!(ms("500ms"), Some(500));
        assert_eq!(ms("30s"), Some(30_000));
        assert_eq!(ms("30d"), Some(2_592_000_000));
        for wrong in ["", "30", "s", "-1s", "1.5s", "1w", "99999999999999999999s", "18446744073709551615d"] {
            assert_eq!(ms(wrong), None, "{wrong}");
        }
    }

    // S11
    #[test]
    fn the_same_units_are_taken_where_seconds_are_meant() {
        assert_eq!(whole_seconds("1h"), Ok(3_600));
        assert_eq!(whole_seconds("90s"), Ok(90));
        assert_eq!(whole_seconds("600"), Ok(600));
        for wrong in ["", "1500ms", "1w", "-5", "99999d"] {
            assert!(whole_seconds(wrong).is_err(), "{wrong}");
        }
        for (ms, expected) in
            [(0, "0ms"), (90_000, "90s"), (600_000, "10m"), (3_600_000, "1h"), (86_400_000, "1d")]
        {
            assert_eq!(span_text(ms), expected);
        }
    }
}
