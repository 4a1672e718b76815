//! The command line. Read before anything is touched; whatever is not understood is refused.

use std::ffi::OsString;
use std::os::fd::RawFd;
use std::path::PathBuf;
use std::time::Duration;

use warren_init::WORKSPACE_ROOT;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) channel: Channel,
    pub(super) root: PathBuf,
    pub(super) linger: Linger,
    pub(super) writable: Vec<PathBuf>,
    pub(super) landlock: Landlock,
    /// Whether System V objects that are seen here can only be this box's.
    pub(super) has_own_ipc: bool,
}

/// Where the owner is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Channel {
    /// A connected socket that was inherited.
    Inherited(RawFd),
    /// A Unix socket that is made here.
    Listen(PathBuf),
    /// Frames on descriptors 0 and 1.
    Stdio,
}

/// How long the box outlives its owner's connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Linger {
    For(Duration),
    Forever,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Landlock {
    Require,
    Try,
    Off,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum UsageError {
    Unknown(String),
    NoValue(String),
    BadValue(&'static str, String),
    NoChannel,
}

impl std::fmt::Display for UsageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unknown(option) => write!(f, "the option `{option}` is not known"),
            Self::NoValue(option) => write!(f, "the option `{option}` needs a value"),
            Self::BadValue(option, value) => write!(f, "`{value}` is no value for {option}"),
            Self::NoChannel => f.write_str("--channel fd:N, listen:PATH or stdio is needed"),
        }
    }
}

pub(super) fn parse(mut arguments: impl Iterator<Item = OsString>) -> Result<Options, UsageError> {
    let (mut channel, mut root) = (None, PathBuf::from(WORKSPACE_ROOT));
    let (mut linger, mut landlock) = (Linger::For(Duration::ZERO), Landlock::Try);
    let (mut writable, mut has_own_ipc) = (Vec::new(), false);
    while let Some(option) = arguments.next() {
        let option = shown(option);
        let is_known = ["--channel", "--root", "--linger-ms", "--writable", "--landlock", "--ipc"]
            .contains(&option.as_str());
        if !is_known {
            return Err(UsageError::Unknown(option));
        }
        let Some(value) = arguments.next() else {
            return Err(UsageError::NoValue(option));
        };
        match option.as_str() {
            "--channel" => channel = Some(channel_of(value)?),
            "--root" => root = directory("--root", value)?,
            "--linger-ms" => linger = linger_of(value)?,
            "--writable" => writable.push(directory("--writable", value)?),
            "--ipc" => has_own_ipc = ipc_of(value)?,
            _ => landlock = landlock_of(value)?,
        }
    }
    let channel = channel.ok_or(UsageError::NoChannel)?;
    Ok(Options { channel, root, linger, writable, landlock, has_own_ipc })
}

fn shown(text: OsString) -> String {
    text.into_string().unwrap_or_else(|text| text.to_string_lossy().into_owned())
}

fn channel_of(value: OsString) -> Result<Channel, UsageError> {
    let value = shown(value);
    let channel = match value.split_once(':') {
        None if value == "stdio" => Some(Channel::Stdio),
        Some(("fd", number)) => number.parse().ok().filter(|number| *number >= 0).map(Channel::Inherited),
        Some(("listen", path)) if path.starts_with('/') => Some(Channel::Listen(path.into())),
        _ => None,
    };
    channel.ok_or(UsageError::BadValue("--channel", value))
}

fn directory(option: &'static str, value: OsString) -> Result<PathBuf, UsageError> {
    let path = PathBuf::from(value);
    if path.is_absolute() {
        return Ok(path);
    }
    Err(UsageError::BadValue(option, path.to_string_lossy().into_owned()))
}

fn linger_of(value: OsString) -> Result<Linger, UsageError> {
    let value = shown(value);
    if value == "forever" {
        return Ok(Linger::Forever);
    }
    let milliseconds = value.parse().map_err(|_| UsageError::BadValue("--linger-ms", value))?;
    Ok(Linger::For(Duration::from_millis(milliseconds)))
}

fn landlock_of(value: OsString) -> Result<Landlock, UsageError> {
    match shown(value).as_str() {
        "require" => Ok(Landlock::Require),
        "try" => Ok(Landlock::Try),
        "off" => Ok(Landlock::Off),
        other => Err(UsageError::BadValue("--landlock", other.to_owned())),
    }
}

fn ipc_of(value: OsString) -> Result<bool, UsageError> {
    match shown(value).as_str() {
        "own" => Ok(true),
        "shared" => Ok(false),
        other => Err(UsageError::BadValue("--ipc", other.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<Options, UsageError> {
        parse(words.iter().map(OsString::from))
    }

    // W77
    #[test]
    fn options_say_where_the_owner_is_and_what_holds() {
        let options = parsed(&["--channel", "fd:7", "--linger-ms", "forever", "--writable", "/tmp"]).unwrap();
        assert_eq!(options.channel, Channel::Inherited(7));
        assert_eq!((options.linger, options.landlock), (Linger::Forever, Landlock::Try));
        assert_eq!((options.root, options.writable), ("/workspace".into(), vec!["/tmp".into()]));
        assert!(!options.has_own_ipc, "unless it is said, others may use them");
    }

    // W77
    #[test]
    fn options_that_make_no_sense_are_refused() {
        for words in [
            &[][..],
            &["--channel"],
            &["--channel", "fd:-1"],
            &["--channel", "fd:x"],
            &["--channel", "listen:relative"],
            &["--channel", "pipe"],
            &["--channel", "stdio", "--root", "relative"],
            &["--channel", "stdio", "--linger-ms", "-5"],
            &["--channel", "stdio", "--landlock", "maybe"],
            &["--channel", "stdio", "--ipc", "maybe"],
            &["--channel", "stdio", "--shell"],
            &["--channel", "stdio", "extra", "words"],
        ] {
            assert!(parsed(words).is_err(), "{words:?}");
        }
    }
}
