//! One frame as a line of JSON.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::PIECE_BYTES;

const BEGINNING: &[u8] = b"{\"stream\":";
const MAX_REASON_BYTES: usize = 200;

/// Whether a line is a frame, by its first bytes. Every line that is not is somebody else's.
pub fn is_frame(line: &[u8]) -> bool {
    line.starts_with(BEGINNING)
}

/// What a box is offered at Warren.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Door {
    /// Models, on the paths of their providers.
    Model,
    /// Warren's own tools, by MCP.
    Tools,
    /// What the workspace's policy lets it reach.
    Web,
}

impl Door {
    pub const ALL: [Self; 3] = [Self::Model, Self::Tools, Self::Web];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Tools => "tools",
            Self::Web => "web",
        }
    }

    /// On the loopback of the box.
    pub const fn port(self) -> u16 {
        match self {
            Self::Model => 7701,
            Self::Tools => 7702,
            Self::Web => 7703,
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|door| door.as_str() == text)
    }
}

impl fmt::Display for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where a stream leads: a door of Warren, or a port on the loopback of the box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Door(Door),
    Port(u16),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Door(door) => door.fmt(f),
            Self::Port(port) => write!(f, "port:{port}"),
        }
    }
}

impl FromStr for Target {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let port = text.strip_prefix("port:").and_then(|port| port.parse().ok()).filter(|port| *port > 0);
        port.map(Self::Port).or_else(|| Door::parse(text).map(Self::Door)).ok_or(())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    Open {
        stream: u64,
        target: Target,
    },
    Data {
        stream: u64,
        bytes: Bytes,
    },
    /// The reader has taken so much: as much again may be sent.
    More {
        stream: u64,
        bytes: u32,
    },
    /// No more data from this side.
    End {
        stream: u64,
    },
    /// Neither side goes on.
    Reset {
        stream: u64,
        reason: String,
    },
}

/// As it stands in the line. Exactly one of the fields beside `stream` is there.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    stream: u64,
    #[serde(default, skip_serializing_if = "Option::is_none", borrow)]
    open: Option<std::borrow::Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none", borrow)]
    data: Option<std::borrow::Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    more: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    end: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none", borrow)]
    reset: Option<std::borrow::Cow<'a, str>>,
}

impl Frame {
    pub const fn stream(&self) -> u64 {
        match self {
            Self::Open { stream, .. }
            | Self::Data { stream, .. }
            | Self::More { stream, .. }
            | Self::End { stream }
            | Self::Reset { stream, .. } => *stream,
        }
    }

    /// The line, with its end.
    pub fn to_line(&self) -> Vec<u8> {
        let mut line =
            Line { stream: self.stream(), open: None, data: None, more: None, end: None, reset: None };
        match self {
            Self::Open { target, .. } => line.open = Some(target.to_string().into()),
            Self::Data { bytes, .. } => line.data = Some(STANDARD.encode(bytes).into()),
            Self::More { bytes, .. } => line.more = Some(*bytes),
            Self::End { .. } => line.end = Some(true),
            Self::Reset { reason, .. } => line.reset = Some(reason.as_str().into()),
        }
        let mut written = serde_json::to_vec(&line).expect("text and numbers can be written as JSON");
        written.push(b'\n');
        written
    }

    /// Nothing where the line is no frame, or no sound one.
    pub fn read(line: &[u8]) -> Option<Self> {
        let line: Line<'_> = serde_json::from_slice(line).ok()?;
        let stream = line.stream;
        match line {
            Line { open: Some(target), data: None, more: None, end: None, reset: None, .. } => {
                Some(Self::Open { stream, target: target.parse().ok()? })
            }
            Line { open: None, data: Some(data), more: None, end: None, reset: None, .. } => {
                let bytes =
                    STANDARD.decode(data.as_bytes()).ok().filter(|bytes| bytes.len() <= PIECE_BYTES)?;
                Some(Self::Data { stream, bytes: bytes.into() })
            }
            Line { open: None, data: None, more: Some(bytes), end: None, reset: None, .. } => {
                Some(Self::More { stream, bytes })
            }
            Line { open: None, data: None, more: None, end: Some(true), reset: None, .. } => {
                Some(Self::End { stream })
            }
            Line { open: None, data: None, more: None, end: None, reset: Some(reason), .. } => {
                let reason = reason.chars().filter(|one| !one.is_control()).take(MAX_REASON_BYTES).collect();
                Some(Self::Reset { stream, reason })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A81
    #[test]
    fn every_frame_survives_its_line() {
        let frames = [
            Frame::Open { stream: 1, target: Target::Door(Door::Model) },
            Frame::Open { stream: 2, target: Target::Port(3000) },
            Frame::Data { stream: 1, bytes: Bytes::from_static(b"\0\xff\n{") },
            Frame::More { stream: 1, bytes: 65_536 },
            Frame::End { stream: 1 },
            Frame::Reset { stream: 1, reason: "nobody listens \"there\"".to_owned() },
        ];
        for frame in frames {
            let line = frame.to_line();
            assert!(is_frame(&line) && line.ends_with(b"\n") && !line[..line.len() - 1].contains(&b'\n'));
            assert_eq!(Frame::read(&line), Some(frame));
        }
    }

    // A81: bad input
    #[test]
    fn what_is_no_frame_is_none() {
        let long = STANDARD.encode(vec![0; PIECE_BYTES + 1]);
        let long = format!(r#"{{"stream":1,"data":"{long}"}}"#);
        for line in [
            r#"{"stream":1}"#,
            r#"{"stream":-1,"end":true}"#,
            r#"{"stream":1,"end":false}"#,
            r#"{"stream":1,"end":true,"more":3}"#,
            r#"{"stream":1,"open":"kitchen"}"#,
            r#"{"stream":1,"open":"port:0"}"#,
            r#"{"stream":1,"open":"port:70000"}"#,
            r#"{"stream":1,"data":"not base64!"}"#,
            r#"{"stream":1,"end":true,"x":1}"#,
            r#"{"stream":1,"more":-1}"#,
            r#"{"stream":"#,
            &long,
        ] {
            assert_eq!(Frame::read(line.as_bytes()), None, "{line}");
        }
    }
}
