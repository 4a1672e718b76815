//! What is masked in a text before it is kept: the workspace's own secrets, and what looks like a credential.
//!
//! The known values are masked in all the forms that `redaction` knows. The shapes catch what nobody told Warren: keys of
//! well-known services by how they begin, private keys, JSON web tokens, and passwords in addresses. A mask is as long as
//! what it covers; a shape keeps its first characters, so that a person sees what it was.

use crate::text::redaction::Redactor;

const MASK: char = '*';

/// Text that may be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scrubbed {
    pub text: String,
    /// How many stretches were masked.
    pub masked: u32,
}

/// How a credential of a kind begins, and how many characters of its own follow at least.
const PREFIXES: [(&str, usize); 24] = [
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 30),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghu_", 20),
    ("ghs_", 20),
    ("ghr_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("sk-", 20),
    ("sk_live_", 16),
    ("rk_live_", 16),
    ("xoxb-", 16),
    ("xoxa-", 16),
    ("xoxp-", 16),
    ("xoxr-", 16),
    ("xoxs-", 16),
    ("npm_", 20),
    ("pypi-", 20),
    ("hf_", 20),
    ("dop_v1_", 20),
    ("SG.", 20),
    ("wrn_", 20),
];

/// Masks all that must not be kept.
pub fn scrub(text: &str, known: &Redactor) -> Scrubbed {
    let mut bytes = text.as_bytes().to_vec();
    known.mask(&mut bytes);
    // A mask is as long as what it covers and covers whole values, which begin and end between characters; base64 and the
    // like are ASCII. What would be no text any more is not kept at all.
    let masked_known = String::from_utf8(bytes).unwrap_or_else(|_| MASK.to_string().repeat(text.len()));
    let mut marks: Vec<bool> = vec![false; masked_known.len()];
    for (from, to) in shapes(&masked_known) {
        marks[from..to].fill(true);
    }
    let mut shown = String::with_capacity(masked_known.len());
    for (at, one) in masked_known.char_indices() {
        if marks[at] {
            (0..one.len_utf8()).for_each(|_| shown.push(MASK));
        } else {
            shown.push(one);
        }
    }
    let masked = stretches(text.as_bytes(), shown.as_bytes());
    Scrubbed { text: shown, masked }
}

/// How many stretches of one differ from the other; both are as long.
fn stretches(before: &[u8], after: &[u8]) -> u32 {
    let differs = |at: usize| before[at] != after[at];
    let begins = |at: &usize| differs(*at) && (*at == 0 || !differs(*at - 1));
    u32::try_from((0..before.len().min(after.len())).filter(begins).count()).unwrap_or(u32::MAX)
}

/// Byte ranges to be masked; they may overlap.
fn shapes(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    prefixed(text, &mut found);
    private_keys(text, &mut found);
    web_tokens(text, &mut found);
    passwords_in_addresses(text, &mut found);
    found
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// The end of the run of token characters from `at` on.
fn token_end(bytes: &[u8], at: usize) -> usize {
    at + bytes[at..].iter().take_while(|byte| is_token_byte(**byte)).count()
}

fn prefixed(text: &str, found: &mut Vec<(usize, usize)>) {
    let bytes = text.as_bytes();
    for (prefix, least) in PREFIXES {
        for (at, _) in text.match_indices(prefix) {
            let is_start = at == 0 || !bytes[at - 1].is_ascii_alphanumeric();
            let (from, end) = (at + prefix.len(), token_end(bytes, at + prefix.len()));
            if is_start && end - from >= least {
                found.push((from, end));
            }
        }
    }
}

/// Everything between the lines that frame a private key; to the end, where the last one is missing.
fn private_keys(text: &str, found: &mut Vec<(usize, usize)>) {
    const LAST: &str = "PRIVATE KEY-----";
    let mut rest = 0;
    while let Some(begin) = text[rest..].find("-----BEGIN ").map(|at| at + rest) {
        let line_end = text[begin..].find('\n').map_or(text.len(), |at| at + begin);
        let is_private = text[begin..line_end].contains("PRIVATE KEY");
        let Some(from) = text[begin..].find(LAST).filter(|_| is_private).map(|at| begin + at + LAST.len())
        else {
            rest = begin + 1;
            continue;
        };
        let to = text[from..].find("-----END").map_or(text.len(), |at| from + at);
        found.push((from, to));
        rest = to;
    }
}

/// Three runs of base64 joined by dots, of which the first says `{"`.
fn web_tokens(text: &str, found: &mut Vec<(usize, usize)>) {
    let bytes = text.as_bytes();
    for (at, _) in text.match_indices("eyJ") {
        let head = token_end(bytes, at);
        if bytes.get(head) != Some(&b'.') {
            continue;
        }
        let body = token_end(bytes, head + 1);
        if bytes.get(body) == Some(&b'.') && body - head > 10 {
            found.push((at + 3, token_end(bytes, body + 1)));
        }
    }
}

/// The password of `scheme://user:password@host`.
fn passwords_in_addresses(text: &str, found: &mut Vec<(usize, usize)>) {
    for (at, _) in text.match_indices("://") {
        let from = at + 3;
        let stops = |one: char| one.is_whitespace() || matches!(one, '/' | '"' | '\'' | '<' | '>');
        let authority = &text[from..text[from..].find(stops).map_or(text.len(), |end| from + end)];
        let Some(user_end) = authority.rfind('@') else { continue };
        if let Some(colon) = authority[..user_end].find(':').filter(|colon| colon + 1 < user_end) {
            found.push((from + colon + 1, from + user_end));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(text: &str) -> String {
        scrub(text, &Redactor::default()).text
    }

    // X50
    #[test]
    fn what_looks_like_a_credential_is_masked_and_what_does_not_stays() {
        let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N";
        let secrets = [
            "AKIAIOSFODNN7EXAMPLE",
            "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
            "sk-proj-abcdefghijklmnopqrstuvwx",
            "xoxb-123456789012-abcdefghijkl",
            "glpat-abcdefghij0123456789",
            "wrn_admin_abcdefghijklmnopqrstuvwxyz",
            jwt,
        ];
        for secret in secrets {
            let text = format!("key={secret}, and more");
            let scrubbed = scrub(&text, &Redactor::default());
            assert!(!scrubbed.text.contains(&secret[12..]), "{}", scrubbed.text);
            assert!(
                scrubbed.text.starts_with("key=") && scrubbed.text.ends_with(", and more"),
                "{}",
                scrubbed.text
            );
            assert_eq!((scrubbed.text.len(), scrubbed.masked), (text.len(), 1), "{}", scrubbed.text);
        }
        assert_eq!(shown("postgres://me:hunter2@db/x"), "postgres://me:*******@db/x");
        for plain in [
            "the task-force asks",
            "sk-1",
            "https://example.com/a:b@c",
            "eyJ is how JSON begins",
            "disk-usage-over-ninety-percent-again",
        ] {
            assert_eq!(shown(plain), plain);
        }
    }

    // X50
    #[test]
    fn a_private_key_is_masked_between_its_frames() {
        let text = "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nAbC=\n-----END RSA PRIVATE KEY-----\nb -----BEGIN CERTIFICATE-----\nMII";
        let shown = shown(text);
        assert!(!shown.contains("MIIEow") && !shown.contains("AbC="), "{shown}");
        assert!(
            shown.starts_with("a\n-----BEGIN RSA") && shown.ends_with("b -----BEGIN CERTIFICATE-----\nMII"),
            "{shown}"
        );
        assert!(
            !scrub("-----BEGIN PRIVATE KEY-----\nabc", &Redactor::default()).text.contains("abc"),
            "cut off"
        );
    }

    // X50
    #[test]
    fn a_known_secret_is_masked_in_the_forms_that_programs_print() {
        let known = Redactor::new(["correct horse battery"]);
        let scrubbed = scrub("it is correct horse battery; correct%20horse%20battery", &known);
        assert!(!scrubbed.text.contains("horse"), "{}", scrubbed.text);
        assert_eq!(scrubbed.masked, 2);
    }

    proptest! {
        // X50: whatever it is given, it answers with text as long, and twice is as good as once
        #[test]
        fn any_text_can_be_scrubbed(text in any::<String>(), tail in "[a-zA-Z0-9]{20,40}") {
            let text = format!("{text} ghp_{tail} {text}");
            let once = scrub(&text, &Redactor::new([tail.as_str()]));
            prop_assert_eq!(once.text.len(), text.len());
            prop_assert!(!once.text.contains(&tail));
            let twice = scrub(&once.text, &Redactor::default());
            prop_assert_eq!(&twice.text, &once.text);
        }
    }
}
