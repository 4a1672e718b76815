//! What a check found: where, what, and what to do about it.

use std::fmt;

/// One breach of a house rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    path: String,
    line: Option<usize>,
    what: String,
    remedy: String,
}

impl Finding {
    pub(crate) fn in_file(path: &str, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: None, what: what.into(), remedy: remedy.into() }
    }

    /// `line` counts from 1.
    pub(crate) fn at(path: &str, line: usize, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { line: Some(line), ..Self::in_file(path, what, remedy) }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "        {}", self.path)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}\n          hint: {}", self.what, self.remedy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_names_the_place_the_breach_and_the_remedy() {
        let shown = Finding::at("a/b.rs", 7, "is too long", "split it").to_string();
        assert_eq!(shown, "        a/b.rs:7: is too long\n          hint: split it");
    }
}
