//! What of a command's output is masked: the workspace's secrets, as they are and in the forms in which programs
//! usually print them (sec/T10).
//!
//! ```text
//!   value ──▶ raw lines · base64 at each of three offsets, both alphabets · hex · percent-encoded ──▶ patterns
//!   output ──▶ every place where a pattern stands becomes as many `*`
//! ```
//!
//! Output is looked at twice: as it is, and without what a reader does not see between the letters (line breaks and other
//! control characters, escape sequences of terminals, characters without width). So a value that is wrapped, coloured or
//! interspersed is found too; the letters are masked, and what stands between them stays.
//!
//! A mask is as long as what it covers, so that offsets into the output stay right. This catches accidents, not a
//! program that means to get a value out: that one reverses it first. Values shorter than [`MIN_BYTES`] are not looked
//! for, since masking `true` or `8080` everywhere would make output useless; of a long value the beginning is.

use std::collections::BTreeSet;
use std::sync::Arc;

use aho_corasick::AhoCorasick;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use serde_json::{Map, Value};

use super::unseen::is_unseen;

/// The shortest text that is masked.
pub const MIN_BYTES: usize = 8;
/// So much of one value is looked for.
const MAX_VALUE_BYTES: usize = 8 << 10;
/// So much of all values together, the short ones first.
const MAX_TOTAL_BYTES: usize = 64 << 10;
const MASK: u8 = b'*';
/// Of a stream, while something stands between the letters of what may be a secret.
const MAX_HELD_BYTES: usize = 64 << 10;
/// Of a sequence that sets a title or a link.
const MAX_ESCAPE_BYTES: usize = 4_096;

/// Long forms are looked for in pieces, so that they are found also where a program breaks lines. These are the widths
/// at which `base64` and `xxd -p` do.
const LINE_PIECE: usize = 256;
const BASE64_PIECE: usize = 76;
const HEX_PIECE: usize = 60;

/// Characters that encoders leave as they are: all, those of paths, those of JavaScript.
const KEPT_BY_ENCODERS: [&[u8]; 3] = [b"", b"/", b"!*'()"];

/// Knows a workspace's secrets when it sees them.
#[derive(Default)]
pub struct Redactor {
    patterns: Vec<Vec<u8>>,
    search: Option<AhoCorasick>,
    longest: usize,
    /// Bytes with which a pattern begins.
    beginnings: BTreeSet<u8>,
}

/// Nothing of what it knows.
impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redactor").field("patterns", &self.patterns.len()).finish_non_exhaustive()
    }
}

impl Redactor {
    pub fn new<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let mut values: Vec<&str> = values.into_iter().filter(|value| value.len() >= MIN_BYTES).collect();
        values.sort_by_key(|value| value.len());
        let mut patterns = BTreeSet::new();
        let mut total = 0;
        for value in values {
            let value = &value.as_bytes()[..value.len().min(MAX_VALUE_BYTES)];
            total += value.len();
            if total > MAX_TOTAL_BYTES {
                break;
            }
            add_forms(value, &mut patterns);
        }
        let patterns: Vec<Vec<u8>> = patterns.into_iter().collect();
        Self {
            search: if patterns.is_empty() { None } else { AhoCorasick::new(&patterns).ok() },
            longest: patterns.iter().map(Vec::len).max().unwrap_or(0),
            beginnings: patterns.iter().filter_map(|pattern| pattern.first().copied()).collect(),
            patterns,
        }
    }

    /// Whether there is nothing to look for.
    pub fn is_idle(&self) -> bool {
        self.search.is_none()
    }

    /// How many bytes before a piece of output decide about it.
    pub fn reach(&self) -> usize {
        self.longest.saturating_sub(1)
    }

    /// Masks a whole output.
    pub fn mask(&self, bytes: &mut [u8]) {
        for position in self.secret_positions(bytes) {
            bytes[position] = MASK;
        }
    }

    /// Which bytes belong to a secret.
    fn secret_positions(&self, bytes: &[u8]) -> Vec<usize> {
        let Some(search) = &self.search else { return Vec::new() };
        let mut found: Vec<usize> =
            search.find_overlapping_iter(bytes).flat_map(|found| found.range()).collect();
        let letters = Letters::of(bytes);
        if letters.bytes.len() < bytes.len() {
            let hidden = search.find_overlapping_iter(&letters.bytes).flat_map(|found| found.range());
            found.extend(hidden.map(|index| letters.positions[index]));
        }
        found
    }

    /// Masks a whole text.
    pub fn mask_text(&self, text: &mut String) {
        if self.is_idle() {
            return;
        }
        let mut bytes = std::mem::take(text).into_bytes();
        self.mask(&mut bytes);
        // A long value is looked for in pieces, which may end within a character: then nothing of the text is shown.
        *text = String::from_utf8(bytes)
            .unwrap_or_else(|error| char::from(MASK).to_string().repeat(error.as_bytes().len()));
    }

    /// Masks every text in a document, and the names of fields.
    pub fn mask_json(&self, document: &mut Value) {
        match document {
            Value::String(text) => self.mask_text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.mask_json(item)),
            Value::Object(fields) => self.mask_fields(fields),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// The same for what stands under names.
    pub fn mask_fields(&self, fields: &mut Map<String, Value>) {
        if self.is_idle() {
            return;
        }
        let masked = std::mem::take(fields).into_iter().map(|(mut name, mut value)| {
            self.mask_text(&mut name);
            self.mask_json(&mut value);
            (name, value)
        });
        *fields = masked.collect();
    }

    /// Masks a piece of an output that is read in pieces, given up to [`reach`](Self::reach) bytes that came before
    /// it. A secret whose end has not come yet is masked once half of it is there: a piece is not held back, and a
    /// word that a person types must not vanish because a secret begins with it.
    pub fn mask_piece(&self, before: &[u8], piece: &mut [u8]) {
        if self.is_idle() {
            return;
        }
        let mut whole = [before, piece].concat();
        let tail = self.open_tail(&whole, |tail, pattern| tail >= MIN_BYTES.max(pattern.div_ceil(2)));
        self.mask(&mut whole);
        let from = whole.len() - tail;
        whole[from..].fill(MASK);
        piece.copy_from_slice(&whole[before.len()..]);
    }

    /// How much of the end of a stream must wait for what comes: the beginning of a pattern, also with something between its
    /// letters. So much of that and no more is waited for.
    fn held_tail(&self, bytes: &[u8]) -> usize {
        let plain = self.open_tail(bytes, |_, _| true);
        let letters = Letters::of(bytes);
        let hidden = self.open_tail(&letters.bytes, |_, _| true);
        let hidden =
            letters.positions.len().checked_sub(hidden).and_then(|first| letters.positions.get(first));
        let hidden = hidden.map_or(0, |first| bytes.len() - first);
        if hidden > MAX_HELD_BYTES.max(self.longest) { plain } else { plain.max(hidden) }
    }

    /// How long the longest end of `bytes` is with which a pattern begins, and which `counts` given its length and the
    /// pattern's.
    fn open_tail(&self, bytes: &[u8], counts: impl Fn(usize, usize) -> bool) -> usize {
        let first = bytes.len().saturating_sub(self.reach());
        let opens = |start: &usize| {
            let tail = &bytes[*start..];
            self.beginnings.contains(&tail[0])
                && self.patterns.iter().any(|pattern| {
                    pattern.len() > tail.len()
                        && pattern.starts_with(tail)
                        && counts(tail.len(), pattern.len())
                })
        };
        (first..bytes.len()).find(opens).map_or(0, |start| bytes.len() - start)
    }
}

/// The bytes of an output that a reader sees as letters, and where they stand.
struct Letters {
    bytes: Vec<u8>,
    positions: Vec<usize>,
}

impl Letters {
    fn of(whole: &[u8]) -> Self {
        let mut letters = Self { bytes: Vec::with_capacity(whole.len()), positions: Vec::new() };
        let mut at = 0;
        while at < whole.len() {
            match unseen_bytes(&whole[at..]) {
                0 => {
                    letters.bytes.push(whole[at]);
                    letters.positions.push(at);
                    at += 1;
                }
                unseen => at += unseen,
            }
        }
        letters
    }
}

/// How many bytes at the beginning are not seen: a control character, an escape sequence, or a character without width.
fn unseen_bytes(rest: &[u8]) -> usize {
    match rest {
        // Until its last byte, as far as it has come.
        [0x1b, b'[', sequence @ ..] => {
            let end = sequence.iter().position(|byte| matches!(byte, 0x40..=0x7e));
            2 + end.map_or(sequence.len(), |end| end + 1)
        }
        [0x1b, b']' | b'P' | b'_' | b'^', sequence @ ..] => {
            let end = sequence.iter().take(MAX_ESCAPE_BYTES).position(|byte| matches!(byte, 0x07 | 0x1b));
            // One without an end may end in what comes yet; past a certain length it is none, and what follows are letters.
            let open = if sequence.len() < MAX_ESCAPE_BYTES { sequence.len() } else { 0 };
            2 + end.unwrap_or(open)
        }
        [0x1b, _, ..] => 2,
        [..=0x1f | 0x7f, ..] => 1,
        [0xc2..=0xf4, ..] => unseen_character(rest),
        _ => 0,
    }
}

/// The same for a character of several bytes. One of which the end is yet to come may be one.
fn unseen_character(rest: &[u8]) -> usize {
    let width = match rest[0] {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        _ => 4,
    };
    let Some(bytes) = rest.get(..width) else { return rest.len() };
    let character = std::str::from_utf8(bytes).ok().and_then(|text| text.chars().next());
    if character.is_some_and(is_unseen) { width } else { 0 }
}

/// Masks an output that comes as a stream. What may be the beginning of a secret is held back until it is clear.
#[derive(Debug)]
pub struct StreamRedactor {
    redactor: Arc<Redactor>,
    held: Held,
}

/// The last bytes of a stream, as they came, and which of them are known to belong to a secret: the end of one secret
/// can be the beginning of another.
#[derive(Default)]
struct Held {
    bytes: Vec<u8>,
    is_secret: Vec<bool>,
}

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Held({})", self.bytes.len())
    }
}

impl StreamRedactor {
    pub fn new(redactor: Arc<Redactor>) -> Self {
        Self { redactor, held: Held::default() }
    }

    /// What can be shown now.
    #[must_use]
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        if self.redactor.is_idle() {
            return bytes.to_vec();
        }
        let mut whole = std::mem::take(&mut self.held);
        whole.bytes.extend_from_slice(bytes);
        whole.is_secret.resize(whole.bytes.len(), false);
        for position in self.redactor.secret_positions(&whole.bytes) {
            whole.is_secret[position] = true;
        }
        let clear = whole.bytes.len() - self.redactor.held_tail(&whole.bytes);
        self.held = Held { bytes: whole.bytes.split_off(clear), is_secret: whole.is_secret.split_off(clear) };
        whole.show()
    }

    /// What was held back: the stream is over.
    #[must_use]
    pub fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held).show()
    }
}

impl Held {
    fn show(mut self) -> Vec<u8> {
        for (byte, is_secret) in self.bytes.iter_mut().zip(self.is_secret) {
            if is_secret {
                *byte = MASK;
            }
        }
        self.bytes
    }
}

fn add_forms(value: &[u8], patterns: &mut BTreeSet<Vec<u8>>) {
    let mut add = |text: &[u8], piece: usize| {
        patterns.extend(pieces(text, piece).filter(|piece| piece.len() >= MIN_BYTES).map(<[u8]>::to_vec));
    };
    for line in value.split(|byte| matches!(byte, b'\n' | b'\r')) {
        add(line, LINE_PIECE);
    }
    for offset in 0..3 {
        for alphabet in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
            // Behind `offset` other bytes; only the characters that are made of this value alone.
            let padded = [&[0; 2][..offset], value].concat();
            let text = alphabet.encode(&padded);
            add(&text.as_bytes()[(offset * 8).div_ceil(6)..padded.len() * 8 / 6], BASE64_PIECE);
        }
    }
    let hex: String = value.iter().map(|byte| format!("{byte:02x}")).collect();
    add(hex.as_bytes(), HEX_PIECE);
    add(hex.to_uppercase().as_bytes(), HEX_PIECE);
    // Of every byte: `od`, `\x41`, and percent signs throughout.
    for (before, between) in [("", " "), ("\\x", ""), ("%", "")] {
        for each in [|byte: &u8| format!("{byte:02x}"), |byte: &u8| format!("{byte:02X}")] {
            let bytes: Vec<String> = value.iter().map(|byte| format!("{before}{}", each(byte))).collect();
            add(bytes.join(between).as_bytes(), LINE_PIECE);
        }
    }
    if let Ok(text) = std::str::from_utf8(value) {
        for quoted in json_forms(text) {
            add(quoted.as_bytes(), LINE_PIECE);
        }
    }
    for kept in KEPT_BY_ENCODERS {
        let encoded = percent_encoded(value, kept, |byte| format!("%{byte:02X}"));
        add(encoded.as_bytes(), LINE_PIECE);
        add(encoded.replace("%20", "+").as_bytes(), LINE_PIECE);
        add(percent_encoded(value, kept, |byte| format!("%{byte:02x}")).as_bytes(), LINE_PIECE);
    }
}

/// As it stands between the quotes of a JSON text: as it is, with `/` escaped, and in ASCII only.
fn json_forms(text: &str) -> [String; 3] {
    let quoted = Value::from(text).to_string();
    let plain = quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned();
    let ascii = plain.chars().fold(String::new(), |mut ascii, one| {
        if one.is_ascii() {
            ascii.push(one);
        } else {
            for unit in one.encode_utf16(&mut [0; 2]) {
                ascii.push_str(&format!("\\u{unit:04x}"));
            }
        }
        ascii
    });
    let slashes = plain.replace('/', "\\/");
    [plain, slashes, ascii]
}

/// Cuts `text` every `size` bytes; an end that is too short to be looked for stays with the piece before it.
fn pieces(text: &[u8], size: usize) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let at = if rest.len() < size + MIN_BYTES { rest.len() } else { size };
        let (piece, left) = rest.split_at(at);
        rest = left;
        Some(piece)
    })
}

fn percent_encoded(value: &[u8], kept: &[u8], escape: fn(u8) -> String) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || kept.contains(&byte);
    value
        .iter()
        .map(|&byte| if is_plain(byte) { char::from(byte).to_string() } else { escape(byte) })
        .collect()
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;

    use super::*;

    const SECRET: &str = "s3cr3t/va+lue with \"quotes\"";

    fn masked(secrets: &[&str], text: &str) -> String {
        let mut bytes = text.as_bytes().to_vec();
        Redactor::new(secrets.iter().copied()).mask(&mut bytes);
        assert_eq!(bytes.len(), text.len(), "offsets stay right");
        String::from_utf8(bytes).unwrap()
    }

    // sec/T10
    #[test]
    fn a_secret_is_masked_raw_and_in_the_forms_in_which_programs_print_it() {
        let hex: String = SECRET.bytes().map(|byte| format!("{byte:02x}")).collect();
        let forms = [
            SECRET.to_owned(),
            STANDARD.encode(SECRET),
            URL_SAFE_NO_PAD.encode(SECRET),
            STANDARD.encode(format!("{SECRET}\n")),
            STANDARD.encode(format!("user:{SECRET}")),
            STANDARD.encode(format!("a:{SECRET}!")),
            hex.clone(),
            hex.to_uppercase(),
            "s3cr3t%2Fva%2Blue%20with%20%22quotes%22".into(),
            "s3cr3t%2fva%2blue%20with%20%22quotes%22".into(),
            "s3cr3t%2Fva%2Blue+with+%22quotes%22".into(),
            "s3cr3t/va%2Blue%20with%20%22quotes%22".into(),
        ];
        for form in forms {
            let shown = masked(&[SECRET], &format!("before {form} after"));
            assert!(shown.starts_with("before ") && shown.ends_with(" after"), "{shown}");
            // Characters that are made of neighbours too may stay.
            let left = shown.chars().filter(|shown| *shown != '*').count();
            assert!(left <= "before  after".len() + 12, "{form} became {shown}");
        }
    }

    // sec/T10
    #[test]
    fn each_line_of_a_key_is_masked_also_where_a_program_breaks_lines_itself() {
        let key =
            "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\nAASCBKcwggSjAgEAAoIBAQDZ\n-----END KEY-----";
        assert!(!masked(&[key], &format!("x\n{key}\n")).contains("MIIE"));
        assert!(!masked(&[key], &key.replace('\n', "\r\n")).contains("AASC"));
        let wrapped: String = STANDARD
            .encode(key)
            .as_bytes()
            .chunks(76)
            .fold(String::new(), |text, line| text + std::str::from_utf8(line).unwrap() + "\n");
        // The very last character is made of what follows too.
        let left = masked(&[key], &wrapped).replace(['*', '\n', '='], "");
        assert!(left.len() <= 1, "{left}");
    }

    #[test]
    fn short_values_and_other_text_stay() {
        assert_eq!(masked(&["true", "8080", "1234567"], "true 8080 1234567"), "true 8080 1234567");
        assert_eq!(masked(&[SECRET], "nothing secret here"), "nothing secret here");
        assert!(Redactor::new(["short"]).is_idle());
    }

    // sec/T10
    #[test]
    fn printing_a_redactor_for_programmers_tells_nothing_of_what_it_knows() {
        let redactor = Arc::new(Redactor::new([SECRET]));
        let mut stream = StreamRedactor::new(Arc::clone(&redactor));
        let _ = stream.push(&SECRET.as_bytes()[..12]);
        assert!(!format!("{redactor:?} {stream:?}").contains("s3cr"));
    }

    // sec/T10
    #[test]
    fn pieces_are_masked_with_what_came_before_them_and_typing_is_not() {
        let redactor = Redactor::new(["postgres://me:hunter2@db/warren"]);
        let show = |before: &str, piece: &str| {
            let mut bytes = piece.as_bytes().to_vec();
            redactor.mask_piece(before.as_bytes(), &mut bytes);
            String::from_utf8(bytes).unwrap()
        };
        assert_eq!(show("$ postgre", "s"), "s", "a person types a word");
        assert_eq!(show("$ postgres://me:hunt", "er2@db/warren ok"), "************* ok");
        assert_eq!(show("", "postgres://me:hunt"), "******************");
    }

    proptest! {
        // sec/T10: however the output is cut, what is shown is the masked whole
        #[test]
        fn a_stream_shows_the_masked_whole_however_it_is_cut(
            words in proptest::collection::vec(
                proptest::sample::select(vec!["abcdefgh", "fghijklm", "abcd", "hijk", "x", "*", "abcdefghabcdefgh"]), 0..12),
            cuts in proptest::collection::vec(1_usize..9, 1..20),
        ) {
            let redactor = Arc::new(Redactor::new(["abcdefgh", "fghijklm"]));
            let text = words.concat().into_bytes();
            let mut whole = text.clone();
            redactor.mask(&mut whole);
            let mut stream = StreamRedactor::new(Arc::clone(&redactor));
            let (mut shown, mut rest, mut cuts) = (Vec::new(), text.as_slice(), cuts.iter().cycle());
            while !rest.is_empty() {
                let (piece, left) = rest.split_at(rest.len().min(*cuts.next().unwrap()));
                shown.extend(stream.push(piece));
                rest = left;
            }
            shown.extend(stream.finish());
            prop_assert_eq!(shown, whole);
        }

        // sec/T10: read in pieces, at most the first half of a secret is shown
        #[test]
        fn pieces_never_show_a_secret_whole(at in 1_usize..26, size in 1_usize..30) {
            let text = format!("before {SECRET} after").into_bytes();
            let redactor = Redactor::new([SECRET]);
            let mut shown = Vec::new();
            let mut pieces: Vec<&[u8]> = vec![&text[..at]];
            pieces.extend(text[at..].chunks(size));
            let mut offset: usize = 0;
            for piece in pieces {
                let mut bytes = piece.to_vec();
                redactor.mask_piece(&text[offset.saturating_sub(redactor.reach())..offset], &mut bytes);
                offset += piece.len();
                shown.extend(bytes);
            }
            let half = &SECRET.as_bytes()[SECRET.len() / 2..];
            prop_assert!(!shown.windows(half.len()).any(|window| window == half));
        }
    }

    // sec/T10, L1
    #[test]
    fn what_a_reader_does_not_see_between_the_letters_hides_nothing() {
        let value = "s3cr3t-token-value";
        let between = [
            "\n",
            "\r",
            "\0",
            "\u{8}",
            "\u{1b}[31m",
            "\u{1b}]0;title\u{7}",
            "\u{200b}",
            "\u{2060}",
            "\u{feff}",
            "\u{ad}",
            "\u{e0041}",
            "\u{202e}",
        ];
        for noise in between {
            let text =
                format!("key={}.", value.chars().map(|one| one.to_string()).collect::<Vec<_>>().join(noise));
            let shown = masked(&[value], &text);
            assert_eq!(shown.matches('*').count(), value.len(), "{noise:?}: {shown:?}");
            assert!(shown.starts_with("key=*") && shown.ends_with('.') && shown.contains(noise), "{shown:?}");
            assert_eq!(shown.len(), text.len(), "what is masked is as long as it was");
            // In pieces, as a stream.
            for size in [1, 3, 7] {
                let mut stream = StreamRedactor::new(Arc::new(Redactor::new([value])));
                let mut all: Vec<u8> =
                    text.as_bytes().chunks(size).flat_map(|piece| stream.push(piece)).collect();
                all.extend(stream.finish());
                assert_eq!(String::from_utf8(all).unwrap(), shown, "{noise:?} in pieces of {size}");
            }
            // The control: another value is shown as it is.
            assert_eq!(masked(&["another-value"], &text), text);
        }
    }

    // sec/T10, L1
    #[test]
    fn escaped_spaced_and_wrapped_forms_are_masked() {
        let value = "pa\"ss\\wo/rd grün";
        let bytes = value.as_bytes();
        let each =
            |form: fn(&u8) -> String, between: &str| bytes.iter().map(form).collect::<Vec<_>>().join(between);
        let ascii = "pa\\\"ss\\\\wo/rd gr\\u00fcn";
        for form in [
            Value::from(value).to_string().trim_matches('"').to_owned(),
            ascii.to_owned(),
            each(|byte| format!("{byte:02x}"), " "),
            each(|byte| format!("\\x{byte:02x}"), ""),
            each(|byte| format!("%{byte:02X}"), ""),
        ] {
            let shown = masked(&[value], &format!("<{form}>"));
            assert!(
                shown.starts_with("<*") && shown.ends_with("*>") && !shown.contains("ss"),
                "{form}: {shown}"
            );
        }
        // `base64` breaks lines at 76, wherever the value stands.
        for before in 0..90 {
            let encoded = STANDARD.encode(format!("{}{value}{}", "x".repeat(before), "y".repeat(20)));
            let wrapped: Vec<&str> =
                encoded.as_bytes().chunks(76).map(|line| std::str::from_utf8(line).unwrap()).collect();
            let shown = masked(&[value], &wrapped.join("\n"));
            assert!(shown.matches('*').count() >= bytes.len(), "{before}: {shown}");
        }
    }
}
