//! The name somebody probably meant.

/// The closest of `candidates`, if any is close enough to be a typing error.
pub(crate) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (name.chars().count() / 3).max(2);
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    // S50
    #[test]
    fn a_typing_error_is_recognized_and_another_word_is_not() {
        let names = ["listen", "allowed_hosts", "public_metrics"];
        assert_eq!(nearest("lisen", names), Some("listen"));
        assert_eq!(nearest("alowed_host", names), Some("allowed_hosts"));
        assert_eq!(nearest("colour", names), None);
    }
}
