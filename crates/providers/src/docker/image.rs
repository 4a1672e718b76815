//! Names of images, read strictly: what is not a plain reference never reaches the daemon (sec/S23).
//!
//! ```text
//!   [registry[:port]/]path[/path…][:tag][@sha256:digest]
//! ```
//!
//! Surprise: a name without tag and digest means `latest` here, always. The daemon would take a pull of it for a pull of
//! every tag there is.

use warren_model::ErrorCode;
use warren_workspace::Error;

const MAX_NAME_BYTES: usize = 255;
const MAX_TAG_BYTES: usize = 128;
const DIGEST_BYTES: usize = 64;

/// A checked reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Image {
    name: String,
    /// A tag or a digest; exactly one of them picks the image.
    version: Version,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Version {
    Tag(String),
    Digest(String),
}

impl Image {
    pub(super) fn parse(text: &str) -> Result<Self, Error> {
        read(text).ok_or_else(|| {
            let detail = "image: expected a name such as `debian:stable-slim`, `registry.example/team/tools:1.2` or \
                          `tools@sha256:…` with 64 hexadecimal digits";
            Error::permanent(ErrorCode::InvalidConfig, detail)
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The host that its name begins with; absent: Docker Hub's.
    pub(super) fn registry(&self) -> Option<&str> {
        registry_of(&self.name).0
    }

    /// What a pull asks for beside the name.
    pub(super) fn version(&self) -> &str {
        match &self.version {
            Version::Tag(tag) => tag,
            Version::Digest(digest) => digest,
        }
    }
}

impl std::fmt::Display for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.version {
            Version::Tag(tag) => write!(f, "{}:{tag}", self.name),
            Version::Digest(digest) => write!(f, "{}@{digest}", self.name),
        }
    }
}

fn read(text: &str) -> Option<Image> {
    let (rest, digest) = match text.split_once('@') {
        Some((rest, digest)) => (rest, Some(digest)),
        None => (text, None),
    };
    // A colon before the last slash belongs to a registry's port.
    let name_start = rest.rfind('/').map_or(0, |slash| slash + 1);
    let (name, tag) = match rest[name_start..].rfind(':') {
        Some(colon) => (&rest[..name_start + colon], Some(&rest[name_start + colon + 1..])),
        None => (rest, None),
    };
    if name.len() > MAX_NAME_BYTES || !is_name(name) || !tag.is_none_or(is_tag) {
        return None;
    }
    let version = match digest {
        Some(digest) if is_digest(digest) => Version::Digest(digest.to_owned()),
        Some(_) => return None,
        None => Version::Tag(tag.unwrap_or("latest").to_owned()),
    };
    Some(Image { name: name.to_owned(), version })
}

/// As the daemon tells the two apart.
fn registry_of(name: &str) -> (Option<&str>, &str) {
    match name.split_once('/') {
        Some((first, path)) if first.contains(['.', ':']) || first == "localhost" => (Some(first), path),
        _ => (None, name),
    }
}

fn is_name(name: &str) -> bool {
    let (registry, path) = registry_of(name);
    // Ids of images, which name whatever happens to be there.
    let is_hexadecimal = name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_id = name == "sha256" || name.len() == DIGEST_BYTES && is_hexadecimal;
    !is_id && registry.is_none_or(is_registry) && path.split('/').all(is_path_part)
}

fn is_registry(text: &str) -> bool {
    let (host, port) = match text.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (text, None),
    };
    let is_label = |label: &str| {
        let has_plain_ends = label.starts_with(|c: char| c.is_ascii_alphanumeric())
            && label.ends_with(|c: char| c.is_ascii_alphanumeric());
        has_plain_ends && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    host.split('.').all(is_label) && port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0))
}

/// Lower-case words joined by one of `.`, `_`, `__` and any number of `-`.
fn is_path_part(part: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = part.as_bytes();
    let (Some(&first), Some(&last)) = (bytes.first(), bytes.last()) else {
        return false;
    };
    is_word(first)
        && is_word(last)
        && bytes
            .split(|&byte| is_word(byte))
            .all(|joint| matches!(joint, b"" | b"." | b"_" | b"__") || joint.iter().all(|&byte| byte == b'-'))
}

fn is_tag(tag: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    !tag.is_empty() && tag.len() <= MAX_TAG_BYTES && !tag.starts_with(['.', '-']) && tag.bytes().all(is_inner)
}

fn is_digest(digest: &str) -> bool {
    digest.strip_prefix("sha256:").is_some_and(|hex| {
        hex.len() == DIGEST_BYTES && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // W74
    #[test]
    fn plain_references_are_read_and_always_pick_one_image() {
        let digest = format!("sha256:{}", "a1".repeat(32));
        let pinned = format!("python:3@{digest}");
        for (text, name, version) in [
            ("debian", "debian", "latest"),
            ("debian:stable-slim", "debian", "stable-slim"),
            ("team/tools__x-y.z:1_2.3-4", "team/tools__x-y.z", "1_2.3-4"),
            ("registry.example:5000/a/b", "registry.example:5000/a/b", "latest"),
            ("localhost/a:1", "localhost/a", "1"),
            ("Registry.Example/a", "Registry.Example/a", "latest"),
            (pinned.as_str(), "python", digest.as_str()),
        ] {
            let image = Image::parse(text).unwrap();
            assert_eq!((image.name(), image.version()), (name, version), "{text}");
            let has_registry = name.contains(['.', ':']) && name.contains('/') && !name.starts_with("team/");
            assert_eq!(image.registry().is_some(), has_registry || name.starts_with("localhost/"), "{text}");
        }
        assert_eq!(Image::parse(&pinned).unwrap().to_string(), format!("python@{digest}"));
    }

    // sec/S23
    #[test]
    fn everything_else_is_refused_before_the_daemon_sees_it() {
        let long = "a".repeat(256);
        let id = "a".repeat(64);
        for text in [
            "",
            " ",
            "-it",
            "--privileged",
            "a b",
            "a\tb",
            "a\n",
            "a\0",
            "UPPER",
            "a@",
            "@a",
            "a@b",
            "a@sha256:1",
            "a@@sha256:",
            "..",
            "../a",
            "a/../b",
            "a/..",
            "a//b",
            "/a",
            "a/",
            "a:",
            ":a",
            "a:b:c",
            "a:-x",
            "a:.x",
            "a___b",
            "a..b",
            "a._b",
            "-a",
            "a-",
            ".a",
            "é",
            "a:é",
            "a?x=1",
            "a&b",
            "a#b",
            "a%2e",
            "a\\b",
            "$(id)",
            "http://a/b",
            "registry.example:0/a",
            "registry.example:99999/a",
            "a:5000:1/b",
            "-x.y/a",
            "sha256:aaaa",
            &long,
            &id,
            &format!("a:{}", "t".repeat(129)),
            &format!("a@sha512:{id}"),
            &format!("a@sha256:{}", "A".repeat(64)),
        ] {
            let error = Image::parse(text).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidConfig, "{text:?}");
            assert!(!error.is_transient());
        }
    }
}
