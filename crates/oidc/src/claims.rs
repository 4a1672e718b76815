//! What an ID token must say, and what is taken from it. Pure: the time comes from whoever asks.

use serde_json::{Map, Value};
use warren_model::Timestamp;

use crate::error::{Error, Reason};

/// How far two clocks may be apart.
const SKEW_S: f64 = 60.0;
/// A `sub` has at most this many characters (OpenID Connect Core, section 2).
const MAX_SUBJECT: usize = 255;
const MAX_EMAIL: usize = 254;
/// Of a name, as it is handed on.
const MAX_NAME: usize = 80;

/// Who the provider says this is. Known again by issuer and subject, and by nothing else: addresses change hands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderPerson {
    pub issuer: String,
    pub subject: String,
    pub email: Option<String>,
    /// Whether the provider vouches for the address. One that says nothing does not.
    pub email_verified: bool,
    /// What the provider calls them: `preferred_username`, or `nickname`. One line, and nothing in it that cannot be seen.
    pub name: Option<String>,
    pub display_name: Option<String>,
}

/// What the token is held against.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expected<'a> {
    pub(crate) issuer: &'a str,
    pub(crate) client_id: &'a str,
    pub(crate) nonce: &'a str,
    pub(crate) now: Timestamp,
}

/// The subject of a token whose signature was checked, if all else holds too.
pub(crate) fn check(claims: &Map<String, Value>, expected: Expected<'_>) -> Result<String, Error> {
    if text(claims, "iss") != Some(expected.issuer) {
        return Err(Error::new(Reason::Issuer, "`iss` is not the configured issuer"));
    }
    check_audience(claims, expected.client_id)?;
    if text(claims, "nonce") != Some(expected.nonce) {
        return Err(Error::new(Reason::Nonce, "`nonce` is not the one of this sign-in"));
    }
    check_times(claims, expected.now)?;
    subject(claims).ok_or_else(|| Error::new(Reason::NoSubject, "`sub` is missing or not a short text"))
}

fn check_audience(claims: &Map<String, Value>, client_id: &str) -> Result<(), Error> {
    let wrong = |cause: &str| Err(Error::new(Reason::Audience, cause));
    let audience: Vec<&str> = match claims.get("aud") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !audience.contains(&client_id) {
        return wrong("`aud` does not name this client");
    }
    match claims.get("azp") {
        Some(Value::String(party)) if party == client_id => Ok(()),
        Some(Value::Null) | None if audience.len() == 1 => Ok(()),
        Some(Value::Null) | None => {
            wrong("`aud` names others too, and `azp` does not say that it is for this client")
        }
        Some(_) => wrong("`azp` names another client"),
    }
}

fn check_times(claims: &Map<String, Value>, now: Timestamp) -> Result<(), Error> {
    let now = now.as_micros() as f64 / 1e6;
    let moment = |name: &str| claims.get(name).and_then(Value::as_f64).filter(|seconds| seconds.is_finite());
    let (Some(made), Some(ends)) = (moment("iat"), moment("exp")) else {
        return Err(Error::new(Reason::NoTimes, "`iat` or `exp` is missing or not a number"));
    };
    let starts = if claims.contains_key("nbf") { moment("nbf") } else { Some(made) };
    let starts = starts.ok_or_else(|| Error::new(Reason::NoTimes, "`nbf` is not a number"))?;
    // The token comes straight from the provider, so that a time which does not hold is a clock that is wrong.
    let apart = made - now;
    if made.max(starts) > now + SKEW_S {
        let seconds = made.max(starts) - now;
        return Err(Error::new(
            Reason::NotYet,
            format!("it begins {seconds:.0} s after now, by the clock of this machine"),
        ));
    }
    if ends < now - SKEW_S {
        let seconds = now - ends;
        let cause = format!(
            "it ended {seconds:.0} s before now, and was made {:.0} s before now, by the clock of this machine",
            -apart
        );
        return Err(Error::new(Reason::Expired, cause));
    }
    Ok(())
}

pub(crate) fn subject(claims: &Map<String, Value>) -> Option<String> {
    let subject = text(claims, "sub")?;
    let is_good = !subject.is_empty() && subject.len() <= MAX_SUBJECT && !subject.contains(char::is_control);
    is_good.then(|| subject.to_owned())
}

/// Whether the token tells enough about the person, so that nobody else need be asked.
pub(crate) fn has_profile(claims: &Map<String, Value>) -> bool {
    claims.contains_key("email")
}

/// The person, from whichever of the sources says it first.
pub(crate) fn person(issuer: &str, subject: String, sources: &[&Map<String, Value>]) -> ProviderPerson {
    // An address and whether it was verified belong together: never one from here and the other from there.
    let email = sources.iter().find_map(|claims| Some((email(claims)?, is_verified(claims))));
    let said = |name: &str| sources.iter().find_map(|claims| text(claims, name));
    let line = |name: &str| said(name).map(display_text).filter(|line| !line.is_empty());
    ProviderPerson {
        issuer: issuer.to_owned(),
        subject,
        email_verified: email.as_ref().is_some_and(|(_, is_verified)| *is_verified),
        email: email.map(|(email, _)| email),
        name: line("preferred_username").or_else(|| line("nickname")),
        display_name: line("name"),
    }
}

fn text<'a>(claims: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    claims.get(name).and_then(Value::as_str)
}

/// Some providers write it as text.
fn is_verified(claims: &Map<String, Value>) -> bool {
    matches!(claims.get("email_verified"), Some(Value::Bool(true)))
        || text(claims, "email_verified") == Some("true")
}

/// What does not look like an address is none.
fn email(claims: &Map<String, Value>) -> Option<String> {
    let email = text(claims, "email")?;
    let (local, domain) = email.split_once('@')?;
    let is_plain = |one: char| !one.is_whitespace() && !is_hidden(one) && !"<>()[],;:\\\"".contains(one);
    let is_good = !local.is_empty()
        && domain.contains('.')
        && !domain.contains('@')
        && email.len() <= MAX_EMAIL
        && email.chars().all(is_plain);
    is_good.then(|| email.to_owned())
}

/// Without what cannot be seen, on one line.
fn display_text(text: &str) -> String {
    let seen: String = text.chars().filter(|one| !is_hidden(*one)).collect();
    let words: Vec<&str> = seen.split_whitespace().collect();
    words.join(" ").chars().take(MAX_NAME).collect::<String>().trim_end().to_owned()
}

/// Controls, marks that turn the direction of text around, and characters without width.
fn is_hidden(one: char) -> bool {
    one.is_control()
        || matches!(one,
            '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: i64 = 1_800_000_000;

    fn map(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(map) => map,
            _ => Map::new(),
        }
    }

    /// A good token with this changed; `null` takes a claim away.
    fn checked(change: Value) -> Result<String, Reason> {
        let mut claims = map(json!({
            "iss": "https://login.test", "aud": "warren", "nonce": "n-1", "sub": "248289761001",
            "iat": NOW, "exp": NOW + 300,
        }));
        for (name, value) in map(change) {
            if value.is_null() {
                claims.remove(&name)
            } else {
                claims.insert(name, value)
            };
        }
        let now = Timestamp::from_micros(NOW * 1_000_000);
        let expected = Expected { issuer: "https://login.test", client_id: "warren", nonce: "n-1", now };
        check(&claims, expected).map_err(|error| error.reason())
    }

    // F38
    #[test]
    fn a_token_is_of_the_issuer_for_this_client_and_for_this_sign_in() {
        assert_eq!(checked(json!({})), Ok("248289761001".to_owned()));
        for (change, reason) in [
            (json!({ "iss": null }), Reason::Issuer),
            (json!({ "iss": "https://login.test/" }), Reason::Issuer),
            (json!({ "iss": ["https://login.test"] }), Reason::Issuer),
            (json!({ "aud": null }), Reason::Audience),
            (json!({ "aud": "another" }), Reason::Audience),
            (json!({ "aud": [] }), Reason::Audience),
            (json!({ "aud": ["warren", "another"] }), Reason::Audience),
            (json!({ "azp": "another" }), Reason::Audience),
            (json!({ "aud": ["warren", "another"], "azp": "another" }), Reason::Audience),
            (json!({ "azp": 1 }), Reason::Audience),
            (json!({ "nonce": null }), Reason::Nonce),
            (json!({ "nonce": "n-2" }), Reason::Nonce),
            (json!({ "sub": null }), Reason::NoSubject),
            (json!({ "sub": "" }), Reason::NoSubject),
            (json!({ "sub": 7 }), Reason::NoSubject),
            (json!({ "sub": "a\nb" }), Reason::NoSubject),
            (json!({ "sub": "a".repeat(256) }), Reason::NoSubject),
        ] {
            assert_eq!(checked(change.clone()), Err(reason), "{change}");
        }
        assert!(checked(json!({ "aud": ["warren"] })).is_ok());
        assert!(checked(json!({ "aud": ["warren", "another"], "azp": "warren" })).is_ok());
    }

    // F38
    #[test]
    fn a_minute_of_difference_between_two_clocks_is_no_matter_and_more_is_the_clock() {
        for (change, expected) in [
            (json!({ "iat": NOW + 60 }), None),
            (json!({ "iat": NOW + 61 }), Some(Reason::NotYet)),
            (json!({ "nbf": NOW + 61 }), Some(Reason::NotYet)),
            (json!({ "nbf": NOW + 59 }), None),
            (json!({ "iat": NOW - 400, "exp": NOW - 60 }), None),
            (json!({ "iat": NOW - 400, "exp": NOW - 61 }), Some(Reason::Expired)),
            (json!({ "iat": NOW as f64 + 0.5 }), None),
            (json!({ "iat": null }), Some(Reason::NoTimes)),
            (json!({ "exp": null }), Some(Reason::NoTimes)),
            (json!({ "exp": "soon" }), Some(Reason::NoTimes)),
            (json!({ "nbf": "soon" }), Some(Reason::NoTimes)),
        ] {
            assert_eq!(checked(change.clone()).err(), expected, "{change}");
        }
        assert_eq!(Reason::NotYet.code(), warren_model::ErrorCode::SignInClock);
        assert_eq!(Reason::Expired.code(), warren_model::ErrorCode::SignInClock);
    }

    fn person_of(claims: Value) -> ProviderPerson {
        person("https://login.test", "1".into(), &[&map(claims)])
    }

    // F38
    #[test]
    fn names_are_one_line_without_what_cannot_be_seen() {
        for (claims, name, display_name) in [
            (
                json!({ "preferred_username": "Ada.L@x.test", "name": "Ada Lovelace" }),
                Some("Ada.L@x.test"),
                Some("Ada Lovelace"),
            ),
            (json!({ "nickname": "ada", "name": " Ünal  Öz " }), Some("ada"), Some("Ünal Öz")),
            (json!({ "preferred_username": 7 }), None, None),
            (json!({ "name": "a\u{202e}b\u{200b}c\u{0}\n d" }), None, Some("abc d")),
            (json!({ "name": "\u{200b}\u{2066}", "preferred_username": "\n" }), None, None),
        ] {
            let person = person_of(claims.clone());
            assert_eq!(
                (person.name.as_deref(), person.display_name.as_deref()),
                (name, display_name),
                "{claims}"
            );
        }
        let long = person_of(json!({ "preferred_username": "a".repeat(200), "name": "ä".repeat(200) }));
        let lengths = [long.name, long.display_name].map(|text| text.unwrap_or_default().chars().count());
        assert_eq!(lengths, [80, 80]);
    }

    // F38
    #[test]
    fn an_address_is_verified_only_if_the_same_source_says_so() {
        assert!(person_of(json!({ "email": "a@x.test", "email_verified": true })).email_verified);
        assert!(person_of(json!({ "email": "a@x.test", "email_verified": "true" })).email_verified);
        for no in [json!(false), json!("false"), json!(1), Value::Null] {
            assert!(!person_of(json!({ "email": "a@x.test", "email_verified": no })).email_verified);
        }
        let (first, second) = (
            map(json!({ "email": "a@x.test" })),
            map(json!({ "email": "b@x.test", "email_verified": true })),
        );
        let mixed = person("https://login.test", "1".into(), &[&first, &second]);
        assert_eq!((mixed.email.as_deref(), mixed.email_verified), (Some("a@x.test"), false));
        for none in
            ["", "a", "@x.test", "a@", "a@b", "a@b@x.test", "a b@x.test", "<a@x.test>", "a\u{200b}@x.test"]
        {
            assert_eq!(person_of(json!({ "email": none, "email_verified": true })).email, None, "{none:?}");
        }
    }
}
