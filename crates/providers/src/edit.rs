//! The one edit: exact text, once unless `all` (W20). Pure; the providers bring the bytes and keep the result.

use warren_model::ErrorCode;
use warren_workspace::Error;
use warren_workspace::fs::Edit;

/// The new contents and how many places changed.
pub(crate) fn apply(contents: &[u8], edit: &Edit, max_bytes: u64) -> Result<(Vec<u8>, u64), Error> {
    let text = str::from_utf8(contents)
        .map_err(|_| Error::operation(ErrorCode::NotText, "the file is not UTF-8 text"))?;
    if edit.old.is_empty() {
        let detail = "the text to replace is empty; name the text, or write the file";
        return Err(Error::operation(ErrorCode::EditNoMatch, detail));
    }
    let places = count_places(text, &edit.old);
    if places == 0 {
        let detail = "the text to replace is not in the file";
        return Err(Error::operation(ErrorCode::EditNoMatch, detail));
    }
    if places > 1 && !edit.all {
        let detail = format!("the text to replace is in the file {places} times");
        return Err(Error::operation(ErrorCode::EditManyMatches, detail));
    }
    // Known before it is built: a short text replaced everywhere by a long one could grow without bound.
    let grown = text.len() as u64 - places * edit.old.len() as u64 + places * edit.new.len() as u64;
    if grown > max_bytes {
        let detail = format!("the edited file would have {grown} bytes; the limit is {max_bytes}");
        return Err(Error::operation(ErrorCode::FileTooLarge, detail));
    }
    let replaced =
        if edit.all { text.replace(&edit.old, &edit.new) } else { text.replacen(&edit.old, &edit.new, 1) };
    Ok((replaced.into_bytes(), places))
}

/// Places where `old` occurs. `aa` occurs twice in `aaa`: replacing one of two overlapping places is a guess, so
/// overlaps count unless all are replaced (then left to right, as `str::replace` does).
fn count_places(text: &str, old: &str) -> u64 {
    let apart = text.matches(old).count() as u64;
    if apart != 1 {
        return apart;
    }
    let first = text.find(old).unwrap_or(0);
    let step = old.chars().next().map_or(1, char::len_utf8);
    if text[first + step..].contains(old) { 2 } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(old: &str, new: &str, all: bool) -> Edit {
        Edit { old: old.into(), new: new.into(), all }
    }

    fn code(contents: &[u8], edit: &Edit) -> ErrorCode {
        apply(contents, edit, 100).unwrap_err().code()
    }

    // W20
    #[test]
    fn an_edit_matches_once_or_says_why_not() {
        assert_eq!(apply(b"one two", &edit("two", "2", false), 100).unwrap(), (b"one 2".to_vec(), 1));
        assert_eq!(apply(b"a b a", &edit("a", "c", true), 100).unwrap(), (b"c b c".to_vec(), 2));
        assert_eq!(code(b"a b a", &edit("a", "c", false)), ErrorCode::EditManyMatches);
        assert_eq!(code(b"aaa", &edit("aa", "b", false)), ErrorCode::EditManyMatches, "overlap");
        assert_eq!(code(b"abc", &edit("x", "y", false)), ErrorCode::EditNoMatch);
        assert_eq!(code(b"abc", &edit("", "y", true)), ErrorCode::EditNoMatch);
        assert_eq!(code(b"\xff", &edit("x", "y", false)), ErrorCode::NotText);
    }

    // W22
    #[test]
    fn an_edit_that_would_outgrow_the_limit_is_refused_before_it_is_built() {
        let all_a = "a".repeat(50);
        assert_eq!(code(all_a.as_bytes(), &edit("a", &"b".repeat(1 << 20), true)), ErrorCode::FileTooLarge);
    }
}
