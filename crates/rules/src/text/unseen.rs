//! Characters that nobody sees and that a program or a model reads: what a person approves would not be what is there.

/// Turns the direction of what follows, or marks one.
pub fn turns_direction(character: char) -> bool {
    matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Without width: joiners, fillers, selectors, tags. Joiners (U+200C, U+200D) belong to scripts and to pictures, and are among
/// them all the same: a command has neither.
pub fn has_no_width(character: char) -> bool {
    matches!(
        character,
        '\u{ad}'
            | '\u{34f}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200d}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{2060}'..='\u{2065}'
            | '\u{206a}'..='\u{206f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0d}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Either of them.
pub fn is_unseen(character: char) -> bool {
    turns_direction(character) || has_no_width(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    // sec/T08
    #[test]
    fn letters_spaces_and_pictures_are_seen() {
        for seen in ['a', ' ', '\u{a0}', 'é', '緑', 'ع', '😀', '\u{fe0f}', '\u{301}'] {
            assert!(!is_unseen(seen), "{seen:?}");
        }
        for unseen in ['\u{200b}', '\u{202e}', '\u{2067}', '\u{e0041}', '\u{e0100}', '\u{feff}', '\u{3164}'] {
            assert!(is_unseen(unseen), "{unseen:?}");
        }
    }
}
