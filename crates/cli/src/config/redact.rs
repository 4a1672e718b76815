//! Addresses as they may be shown.

use warren_api::client::Url;

const HIDDEN: &str = "***";

/// A database address without its password. What cannot be read as an address may be anything, also a password.
pub fn redacted_url(address: &str) -> String {
    if !address.contains("://") {
        return address.to_owned();
    }
    let Ok(mut url) = Url::parse(address) else {
        return format!("{HIDDEN} (not a valid address)");
    };
    if url.password().is_some() && url.set_password(Some(HIDDEN)).is_err() {
        return HIDDEN.to_owned();
    }
    let shown: Vec<(String, String)> = url
        .query_pairs()
        .map(|(name, value)| {
            let is_secret = name.to_lowercase().contains("password");
            let value = if is_secret { HIDDEN.into() } else { value };
            (name.into_owned(), value.into_owned())
        })
        .collect();
    if !shown.is_empty() {
        url.query_pairs_mut().clear().extend_pairs(shown);
    }
    url.into()
}

/// A server's address that was refused, as it may be repeated: whatever stands before the last `@` may be a password,
/// and whatever follows the path a token.
pub(crate) fn without_secrets(address: &str) -> String {
    let (scheme, rest) = address.find("://").map_or(("", address), |at| address.split_at(at + 3));
    let (hidden, rest) = rest.rsplit_once('@').map_or(("", rest), |(_, host)| ("***@", host));
    match rest.find(['?', '#']) {
        Some(end) => format!("{scheme}{hidden}{}{HIDDEN}", &rest[..=end]),
        None => format!("{scheme}{hidden}{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // S50
    #[test]
    fn a_password_in_an_address_is_never_shown() {
        for address in [
            "postgres://me:hunter2@db/warren",
            "postgres://me@db/warren?password=hunter2&sslmode=require",
            "postgres://me:hunter2@[broken/warren",
        ] {
            assert!(!redacted_url(address).contains("hunter2"), "{}", redacted_url(address));
        }
        assert_eq!(redacted_url("postgres://me:hunter2@db:5432/warren"), "postgres://me:***@db:5432/warren");
        assert_eq!(redacted_url("sqlite:data/warren.db"), "sqlite:data/warren.db");
        assert_eq!(redacted_url("postgres://me@db/w"), "postgres://me@db/w");
    }

    // S11
    #[test]
    fn a_refused_server_address_is_repeated_without_what_may_be_secret() {
        for (address, shown) in [
            ("http://me:hunter2@host:1/x", "http://***@host:1/x"),
            ("me:hunter2@host", "***@host"),
            ("http://me:hun/t@er2@host", "http://***@host"),
            ("http://host/#sign-in=hunter2", "http://host/#***"),
            ("http://host?token=hunter2#x", "http://host?***"),
            ("not an address", "not an address"),
        ] {
            assert_eq!(without_secrets(address), shown);
        }
    }
}
