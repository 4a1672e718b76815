//! Files that go with messages: what their bytes look like, and whether that is what was said of them (X31).

/// How much of a file is looked at.
pub const LOOKED_AT: usize = 512;
/// Files that go with one message.
pub const MAX_ATTACHMENTS: usize = 20;
const MAX_TYPE_BYTES: usize = 128;

/// How files of a type begin.
const MAGIC: [(&str, &[u8]); 7] = [
    ("image/png", b"\x89PNG\r\n\x1a\n"),
    ("image/jpeg", b"\xff\xd8\xff"),
    ("image/gif", b"GIF8"),
    ("application/pdf", b"%PDF-"),
    ("application/zip", b"PK\x03\x04"),
    ("application/gzip", b"\x1f\x8b"),
    ("application/x-executable", b"\x7fELF"),
];

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WrongType {
    #[error("the media type is not one: expected two words such as text/plain")]
    Malformed,
    #[error("it is said to be {declared}, and its bytes are {found}")]
    Contradicted { declared: String, found: &'static str },
}

/// What a file is, by its first bytes. Whatever a browser could run is still no more than text here.
pub fn sniff(head: &[u8]) -> &'static str {
    if let Some((name, _)) = MAGIC.iter().find(|(_, magic)| head.starts_with(magic)) {
        return name;
    }
    if head.len() >= 12 && head.starts_with(b"RIFF") && &head[8..12] == b"WEBP" {
        return "image/webp";
    }
    if is_text(head) { "text/plain" } else { "application/octet-stream" }
}

/// UTF-8 without NUL; a character may be cut at the end.
fn is_text(head: &[u8]) -> bool {
    let whole = match std::str::from_utf8(head) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none() && head.len() == LOOKED_AT,
    };
    whole && !head.contains(&0)
}

/// The type under which a file goes on: what was said of it, unless its bytes say otherwise.
pub fn checked_type(declared: Option<&str>, head: &[u8]) -> Result<String, WrongType> {
    let found = sniff(head);
    let Some(declared) = declared else { return Ok(found.to_owned()) };
    let essence = declared.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if declared.len() > MAX_TYPE_BYTES || !is_media_type(&essence) {
        return Err(WrongType::Malformed);
    }
    let contradicted = WrongType::Contradicted { declared: essence.clone(), found };
    let has_magic = MAGIC.iter().any(|(name, _)| *name == essence) || essence == "image/webp";
    let is_wrong = match found {
        _ if essence == found || essence == "application/octet-stream" => false,
        // Bytes that nobody knows may be anything whose beginning nobody knows either; but they are no text.
        "application/octet-stream" => has_magic || essence.starts_with("text/"),
        "text/plain" => has_magic,
        // Documents of many kinds are zips.
        "application/zip" => has_magic || !essence.starts_with("application/"),
        _ => true,
    };
    if is_wrong { Err(contradicted) } else { Ok(declared.to_owned()) }
}

fn is_media_type(text: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty()
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&byte))
    };
    text.split_once('/').is_some_and(|(kind, name)| is_word(kind) && is_word(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n....";

    // X31, sec/P02
    #[test]
    fn a_type_is_kept_unless_the_bytes_contradict_it() {
        let html: &[u8] = b"<html><script>alert(1)</script>";
        let odd: &[u8] = &[0, 1, 2, 3];
        let zip: &[u8] = b"PK\x03\x04....";
        let good = [
            (None, PNG, "image/png"),
            (None, html, "text/plain"),
            (None, odd, "application/octet-stream"),
            (Some("image/png"), PNG, "image/png"),
            (Some("text/html; charset=utf-8"), html, "text/html; charset=utf-8"),
            (Some("application/octet-stream"), PNG, "application/octet-stream"),
            (Some("application/vnd.oasis.opendocument.text"), zip, "application/vnd.oasis.opendocument.text"),
            (Some("video/mp4"), odd, "video/mp4"),
        ];
        for (declared, head, kept) in good {
            assert_eq!(checked_type(declared, head).as_deref(), Ok(kept), "{declared:?}");
        }
        let bad = [
            ("image/png", html),
            ("text/plain", PNG),
            ("image/jpeg", PNG),
            ("text/plain", odd),
            ("image/png", zip),
        ];
        for (declared, head) in bad {
            assert!(
                matches!(checked_type(Some(declared), head), Err(WrongType::Contradicted { .. })),
                "{declared}"
            );
        }
        for malformed in ["", "text", "text/", "a/b/c", "text/pl ain", &"x/".repeat(100)] {
            assert_eq!(checked_type(Some(malformed), html), Err(WrongType::Malformed), "{malformed}");
        }
    }

    #[test]
    fn text_that_is_cut_in_a_character_is_still_text() {
        let mut head = "ü".repeat(LOOKED_AT).into_bytes();
        head.truncate(LOOKED_AT);
        head.rotate_left(1);
        head[LOOKED_AT - 1] = 0xc3;
        head[0] = b'x';
        assert_eq!(sniff(&head), "text/plain");
        assert_eq!(sniff(b"caf\xc3"), "application/octet-stream");
        assert_eq!(sniff(b""), "text/plain");
    }
}
