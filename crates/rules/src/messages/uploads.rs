//! Files that come in with messages (X32, X33): what they may be called, where they land, and how much they may be.
//!
//! ```text
//!   uploads/<upload>/<name>       one folder for each upload, so that names of two of them never meet
//! ```

use std::collections::BTreeSet;

use warren_model::{Content, Message};

use crate::messages::attachments::MAX_ATTACHMENTS;

/// The folder of a workspace in which files land that come with messages.
pub const FOLDER: &str = "uploads";
/// What a part of a message calls a file of the workspace that the message is in.
pub const SCHEME: &str = warren_model::WORKSPACE_SCHEME;
const MAX_NAME_BYTES: usize = 255;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WrongName {
    #[error("expected `Content-Disposition: form-data` with a `filename`")]
    NotAFile,
    #[error("the `Content-Disposition` cannot be read")]
    Malformed,
    #[error("the file has two names")]
    TwoNames,
    #[error("the name is empty, or no name of a file")]
    NoName,
    #[error("the name holds characters that are not shown as they are")]
    Unprintable,
    #[error("the name is longer than 255 bytes")]
    TooLong,
}

/// The name of a file, from the header that came with it. Whoever reads the last of two names, or the first, may be wrong
/// about which one somebody else has checked: two are refused (sec/P01).
pub fn name_in(disposition: &str) -> Result<String, WrongName> {
    let mut rest = disposition.strip_prefix("form-data").ok_or(WrongName::NotAFile)?.trim_start();
    let mut name = None;
    while !rest.is_empty() {
        rest = rest.strip_prefix(';').ok_or(WrongName::Malformed)?.trim_start();
        if rest.is_empty() {
            break;
        }
        let (key, after) = rest.split_once('=').ok_or(WrongName::Malformed)?;
        let after = after.trim_start();
        let (value, after) = if let Some(quoted) = after.strip_prefix('"') {
            unquoted(quoted)?
        } else {
            let end = after.find(';').unwrap_or(after.len());
            (after[..end].trim_end().to_owned(), &after[end..])
        };
        rest = after.trim_start();
        let said = match key.trim().to_ascii_lowercase().as_str() {
            "filename" => value,
            "filename*" => extended(&value)?,
            _ => continue,
        };
        if name.replace(said).is_some() {
            return Err(WrongName::TwoNames);
        }
    }
    safe_name(&name.ok_or(WrongName::NotAFile)?)
}

/// Up to the closing quote, and what is behind it.
fn unquoted(text: &str) -> Result<(String, &str), WrongName> {
    let (mut value, mut is_escaped) = (String::new(), false);
    for (at, character) in text.char_indices() {
        match character {
            _ if is_escaped => {
                value.push(character);
                is_escaped = false;
            }
            '"' => return Ok((value, &text[at + 1..])),
            // Some browsers write paths of their own system, where this is no escape.
            '\\' if text[at + 1..].starts_with(['"', '\\']) => is_escaped = true,
            _ => value.push(character),
        }
    }
    Err(WrongName::Malformed)
}

/// A name as RFC 8187 spells it; in UTF-8 alone.
fn extended(value: &str) -> Result<String, WrongName> {
    let (charset, rest) = value.split_once('\'').ok_or(WrongName::Malformed)?;
    let (_language, encoded) = rest.split_once('\'').ok_or(WrongName::Malformed)?;
    if !charset.eq_ignore_ascii_case("utf-8") {
        return Err(WrongName::Malformed);
    }
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut left = encoded.bytes();
    while let Some(byte) = left.next() {
        bytes.push(if byte == b'%' {
            let mut digit = || left.next().and_then(|digit| char::from(digit).to_digit(16));
            let (high, low) = (digit(), digit());
            let value = high.zip(low).and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
            value.ok_or(WrongName::Malformed)?
        } else {
            byte
        });
    }
    String::from_utf8(bytes).map_err(|_| WrongName::Malformed)
}

/// The last name of what may be a path of any system, if it is one that can be shown and written.
pub fn safe_name(said: &str) -> Result<String, WrongName> {
    let name = said.rsplit(['/', '\\']).next().unwrap_or_default().trim();
    if said.chars().any(is_unprintable) {
        return Err(WrongName::Unprintable);
    }
    if matches!(name, "" | "." | "..") {
        return Err(WrongName::NoName);
    }
    if name.len() > MAX_NAME_BYTES {
        return Err(WrongName::TooLong);
    }
    Ok(name.to_owned())
}

/// Also those that turn the direction of writing, so that `exe.txt` may be shown for `txt.exe`.
fn is_unprintable(character: char) -> bool {
    character.is_control() || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The files that a message names: which part, and the path in the workspace of whoever sends it.
pub fn named_files(message: &Message) -> Vec<(usize, &str)> {
    let parts = message.parts.iter().enumerate();
    let named = parts.filter_map(|(at, part)| match &part.content {
        Content::Url(url) => url.strip_prefix(SCHEME).map(|path| (at, path)),
        Content::Text(_) | Content::Raw(_) | Content::Data(_) => None,
    });
    named.collect()
}

/// What is wrong with the path of a file, as far as its letters tell.
pub fn path_problem(path: &str) -> Option<&'static str> {
    let names = || path.split('/').filter(|name| !matches!(*name, "" | "."));
    if path.chars().any(is_unprintable) {
        return Some("the path holds characters that are not shown as they are");
    }
    if names().any(|name| name == "..") {
        return Some("the path leads upwards");
    }
    if names().next().is_none() {
        return Some("the path names no file");
    }
    None
}

/// A name that none of its neighbours has: `a.txt`, `a-2.txt`, `a-3.txt`.
pub fn distinct_name(name: &str, taken: &BTreeSet<String>) -> String {
    if !taken.contains(name) {
        return name.to_owned();
    }
    let (stem, ending) = match name.rfind('.').filter(|at| *at > 0) {
        Some(at) => name.split_at(at),
        None => (name, ""),
    };
    // One more number than names that are taken is free in any case.
    let numbered = (2..=taken.len() + 2).map(|number| {
        let tail = format!("-{number}{ending}");
        let room = MAX_NAME_BYTES.saturating_sub(tail.len());
        format!("{}{tail}", warren_model::truncate_utf8(stem, room))
    });
    numbered.into_iter().find(|name| !taken.contains(name)).unwrap_or_else(|| name.to_owned())
}

/// How much may come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Of one file.
    pub file_bytes: u64,
    /// Of all files of one upload.
    pub upload_bytes: u64,
    /// Of all that stands in the folder.
    pub folder_bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoRoom {
    #[error("a file may have {max} bytes (`limits.max_attachment_bytes`)")]
    File { max: u64 },
    #[error("all files together may have {max} bytes (`limits.max_attachments_bytes`)")]
    Upload { max: u64 },
    #[error(
        "what was uploaded to one workspace may have {max} bytes (`limits.max_uploads_bytes`); delete some of it"
    )]
    Folder { max: u64 },
    #[error("at most {MAX_ATTACHMENTS} files")]
    Files,
}

/// What has come so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Arrived {
    pub of_file: u64,
    pub of_upload: u64,
    /// With what other uploads have brought or are bringing.
    pub in_folder: u64,
}

/// Whether so many more bytes fit.
pub fn admit(room: &Room, arrived: Arrived, more: u64) -> Result<(), NoRoom> {
    if arrived.of_file.saturating_add(more) > room.file_bytes {
        return Err(NoRoom::File { max: room.file_bytes });
    }
    if arrived.of_upload.saturating_add(more) > room.upload_bytes {
        return Err(NoRoom::Upload { max: room.upload_bytes });
    }
    if arrived.in_folder.saturating_add(more) > room.folder_bytes {
        return Err(NoRoom::Folder { max: room.folder_bytes });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use warren_model::{Part, Role};

    use super::*;

    fn disposition(filename: &str) -> String {
        format!("form-data; name=\"file\"; {filename}")
    }

    // X32, sec/P01
    #[test]
    fn the_name_of_a_file_is_its_last_segment_or_refused() {
        let good = [
            ("filename=\"report.txt\"", "report.txt"),
            ("filename=report.txt", "report.txt"),
            ("filename=\"../../etc/passwd\"", "passwd"),
            ("filename=\"/etc/passwd\"", "passwd"),
            ("filename=\"C:\\Users\\me\\r.txt\"", "r.txt"),
            ("filename=\"a\\\"b;c.txt\"", "a\"b;c.txt"),
            ("filename=\"größe.txt\"", "größe.txt"),
            ("filename*=UTF-8''gr%C3%B6%C3%9Fe.txt", "größe.txt"),
            ("FILENAME = \" a b .txt \"", "a b .txt"),
            ("filename=\".profile\" ; ", ".profile"),
        ];
        for (header, name) in good {
            assert_eq!(name_in(&disposition(header)).as_deref(), Ok(name), "{header}");
        }
        let long = format!("filename=\"{}\"", "x".repeat(4_000));
        let bad = [
            ("", WrongName::NotAFile),
            ("other=x", WrongName::NotAFile),
            ("filename=\"\"", WrongName::NoName),
            ("filename=\"..\"", WrongName::NoName),
            ("filename=\"a/\"", WrongName::NoName),
            ("filename=\"a\0.txt\"", WrongName::Unprintable),
            ("filename=\"a%00\"; filename*=utf-8''a%00b", WrongName::TwoNames),
            ("filename*=utf-8''a%00b", WrongName::Unprintable),
            ("filename=\"txt.\u{202e}exe\"", WrongName::Unprintable),
            ("filename=\"a\"; filename=\"b\"", WrongName::TwoNames),
            ("filename=\"a\"; FileName=b", WrongName::TwoNames),
            ("filename=\"a", WrongName::Malformed),
            ("filename", WrongName::Malformed),
            ("filename=\"a\" b", WrongName::Malformed),
            ("filename*=latin1''a", WrongName::Malformed),
            ("filename*=utf-8''%zz", WrongName::Malformed),
            ("filename*=utf-8''%ff", WrongName::Malformed),
            (long.as_str(), WrongName::TooLong),
        ];
        for (header, problem) in bad {
            assert_eq!(name_in(&disposition(header)), Err(problem), "{header}");
        }
        assert_eq!(name_in("attachment; filename=a"), Err(WrongName::NotAFile));
    }

    proptest! {
        // sec/P01
        #[test]
        fn whatever_comes_is_one_name_or_none(header in "\\PC{0,80}", filename in "[\\PC\0\n/\\\\\"]{0,300}") {
            for header in [header, disposition(&format!("filename=\"{filename}\""))] {
                if let Ok(name) = name_in(&header) {
                    prop_assert!(!name.contains(['/', '\\', '\0']) && !matches!(name.as_str(), "" | "." | ".."));
                    prop_assert!(name.len() <= 255);
                }
            }
        }
    }

    // X33
    #[test]
    fn a_message_names_files_by_their_scheme_alone() {
        let url = |url: &str| Part { content: Content::Url(url.into()), ..Part::text("") };
        let parts = vec![
            Part::text("workspace:no"),
            url("workspace:a/b.txt"),
            url("https://x/workspace:c"),
            url("workspace:"),
        ];
        let message = Message::new("m", Role::User, parts);
        assert_eq!(named_files(&message), [(1, "a/b.txt"), (3, "")]);
        for good in ["a", "a/b", "/a", "./a"] {
            assert_eq!(path_problem(good), None, "{good}");
        }
        for bad in ["", "/", ".", "../a", "a/../b", "a\0b"] {
            assert!(path_problem(bad).is_some(), "{bad}");
        }
    }

    // X32
    #[test]
    fn two_files_of_one_name_stay_two() {
        let mut taken = BTreeSet::new();
        let long = format!("{}.tar", "ü".repeat(125));
        for (name, called) in
            [("a.txt", "a.txt"), ("a.txt", "a-2.txt"), ("a.txt", "a-3.txt"), (".x", ".x"), (".x", ".x-2")]
        {
            let distinct = distinct_name(name, &taken);
            assert_eq!(distinct, called);
            taken.insert(distinct);
        }
        taken.insert(long.clone());
        let second = distinct_name(&long, &taken);
        assert!(second.ends_with("-2.tar") && second.len() <= 255 && second != long, "{second}");
    }

    // X32, sec/P04
    #[test]
    fn the_last_byte_fits_and_one_more_does_not() {
        let room = Room { file_bytes: 10, upload_bytes: 15, folder_bytes: 20 };
        let at = |of_file, of_upload, in_folder| Arrived { of_file, of_upload, in_folder };
        assert_eq!(admit(&room, at(5, 5, 5), 5), Ok(()));
        assert_eq!(admit(&room, at(5, 5, 5), 6), Err(NoRoom::File { max: 10 }));
        assert_eq!(admit(&room, at(0, 10, 10), 5), Ok(()));
        assert_eq!(admit(&room, at(0, 10, 10), 6), Err(NoRoom::Upload { max: 15 }));
        assert_eq!(admit(&room, at(0, 0, 16), 4), Ok(()));
        assert_eq!(admit(&room, at(0, 0, 16), 5), Err(NoRoom::Folder { max: 20 }));
        assert_eq!(admit(&room, at(0, 0, u64::MAX), 1), Err(NoRoom::Folder { max: 20 }));
    }
}
