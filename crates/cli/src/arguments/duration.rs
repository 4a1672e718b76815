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
}
