//! Names of hosts in one spelling: small letters, ASCII, no dot at the end, and never an address.

use std::fmt;

/// Longest name, and longest part of one, as names on the internet have it.
const MAX_NAME_BYTES: usize = 253;
const MAX_LABEL_BYTES: usize = 63;
/// Last parts of names that never lead to the public internet.
const NEVER_PUBLIC: [&str; 5] = ["arpa", "invalid", "local", "localhost", "onion"];

/// Why a text names no host that can be granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadHost {
    #[error("an address cannot be granted or called, only a name can")]
    Address,
    #[error("expected the name of a host alone, such as `example.com`, without scheme, user, path or port")]
    NotAName,
    #[error("expected a whole name such as `example.com`, with a dot in it")]
    OneLabel,
    #[error("this name never leads to the public internet")]
    NeverPublic,
    #[error("a name with a dot at the end is not taken; leave the dot out")]
    TrailingDot,
    #[error("a `*` stands for what is below a name of at least two parts: `*.example.com`")]
    Wildcard,
}

/// The name of a host.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostName(String);

impl HostName {
    /// As a program writes it: letters of any case, and nothing that would have to be put right.
    pub fn from_wire(text: &str) -> Result<Self, BadHost> {
        if text.starts_with('[') || text.contains(':') {
            return Err(BadHost::Address);
        }
        if text.ends_with('.') {
            return Err(BadHost::TrailingDot);
        }
        Self::checked(text.to_ascii_lowercase())
    }

    /// As a person writes it: also with letters beyond ASCII, and with a dot at the end.
    pub fn from_person(text: &str) -> Result<Self, BadHost> {
        let is_odd = |character: char| character.is_ascii() && !is_of_name(character.to_ascii_lowercase());
        if text.starts_with('[') || text.parse::<std::net::Ipv6Addr>().is_ok() {
            return Err(BadHost::Address);
        }
        if text.chars().any(is_odd) {
            return Err(BadHost::NotAName);
        }
        match url::Host::parse(text) {
            Ok(url::Host::Domain(name)) => {
                let name = name.strip_suffix('.').map(str::to_owned).unwrap_or(name);
                Self::checked(name)
            }
            Ok(url::Host::Ipv4(_) | url::Host::Ipv6(_)) => Err(BadHost::Address),
            Err(_) => Self::checked(text.to_ascii_lowercase()).and(Err(BadHost::NotAName)),
        }
    }

    fn checked(name: String) -> Result<Self, BadHost> {
        if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.chars().all(is_of_name) {
            return Err(BadHost::NotAName);
        }
        let labels: Vec<&str> = name.split('.').collect();
        // Some readers take these for IPv4, in decimal, octal or hexadecimal, with one to four parts.
        let last = labels.last().copied().unwrap_or_default();
        let is_number = !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit());
        let is_hexadecimal =
            last.strip_prefix("0x").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_hexdigit()));
        if is_number || is_hexadecimal {
            return Err(BadHost::Address);
        }
        let is_label = |label: &&str| {
            (1..=MAX_LABEL_BYTES).contains(&label.len()) && !label.starts_with('-') && !label.ends_with('-')
        };
        if !labels.iter().all(is_label) {
            return Err(BadHost::NotAName);
        }
        if NEVER_PUBLIC.contains(&last) {
            return Err(BadHost::NeverPublic);
        }
        if labels.len() < 2 {
            return Err(BadHost::OneLabel);
        }
        Ok(Self(name))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_of_name(character: char) -> bool {
    matches!(character, 'a'..='z' | '0'..='9' | '-' | '.')
}

/// One host, or whatever is below a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostPattern {
    Exact(HostName),
    /// Not the name itself.
    Below(HostName),
}

impl HostPattern {
    pub fn parse(text: &str) -> Result<Self, BadHost> {
        match text.strip_prefix("*.") {
            Some(suffix) => match HostName::from_person(suffix) {
                Err(BadHost::OneLabel) => Err(BadHost::Wildcard),
                suffix => Ok(Self::Below(suffix?)),
            },
            None if text.contains('*') => Err(BadHost::Wildcard),
            None => Ok(Self::Exact(HostName::from_person(text)?)),
        }
    }

    pub fn matches(&self, host: &HostName) -> bool {
        match self {
            Self::Exact(name) => name == host,
            Self::Below(suffix) => {
                host.0.strip_suffix(suffix.as_str()).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
            }
        }
    }
}
