//! The one truncation of text: it never cuts a character in half.

/// The longest prefix of `text` of at most `max_bytes` bytes that ends between characters.
pub fn truncate_utf8(text: &str, max_bytes: usize) -> &str {
    let mut end = text.len().min(max_bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The longest suffix of `text` of at most `max_bytes` bytes that begins between characters.
pub fn truncate_utf8_tail(text: &str, max_bytes: usize) -> &str {
    let mut start = text.len().saturating_sub(max_bytes);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_is_never_cut_in_half() {
        let text = "aé漢🦀";
        for max in 0..=text.len() + 1 {
            assert!(text.starts_with(truncate_utf8(text, max)));
            assert!(text.ends_with(truncate_utf8_tail(text, max)));
            assert!(truncate_utf8(text, max).len() <= max);
            assert!(truncate_utf8_tail(text, max).len() <= max);
        }
        assert_eq!(truncate_utf8(text, 4), "aé");
        assert_eq!(truncate_utf8_tail(text, 5), "🦀");
    }
}
