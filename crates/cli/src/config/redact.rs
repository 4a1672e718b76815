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
}
