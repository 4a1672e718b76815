//! Server-sent events of a peer, line by line: no line, no event and no stream beyond its limit.

use bytes::Bytes;

use super::answer::Body;
use super::{BadAnswer, CallError};

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerEvent {
    /// `message` where the peer names none.
    pub event: String,
    pub data: String,
    /// The last id seen, here or earlier.
    pub id: Option<String>,
}

/// Events as they come. Dropping it hangs up.
#[derive(Debug)]
pub struct EventStream {
    body: Body,
    lines: Lines,
    draft: ServerEvent,
    has_data: bool,
}

impl EventStream {
    pub(super) fn new(body: Body) -> Self {
        let lines = Lines::new(body.limits.line_bytes);
        Self { body, lines, draft: ServerEvent::default(), has_data: false }
    }

    /// The next event; nothing when the peer has closed the stream. An event that the end cuts off is dropped, as the
    /// format says.
    pub async fn next(&mut self) -> Result<Option<ServerEvent>, CallError> {
        loop {
            while let Some(line) = self.lines.next()? {
                if let Some(event) = self.take_line(&line)? {
                    return Ok(Some(event));
                }
            }
            match self.body.chunk().await? {
                Some(chunk) => self.lines.feed(chunk),
                None => return Ok(None),
            }
        }
    }

    fn take_line(&mut self, line: &str) -> Result<Option<ServerEvent>, BadAnswer> {
        if line.is_empty() {
            return Ok(self.dispatch());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if self.has_data {
                    self.draft.data.push('\n');
                }
                self.has_data = true;
                self.draft.data.push_str(value);
                if self.draft.data.len() > self.lines.max_bytes {
                    return Err(BadAnswer::LineBytes(self.lines.max_bytes));
                }
            }
            "event" => value.clone_into(&mut self.draft.event),
            "id" if !value.contains('\0') => self.draft.id = Some(value.to_owned()),
            // Comments, `retry`, and fields that we do not know.
            _ => {}
        }
        Ok(None)
    }

    fn dispatch(&mut self) -> Option<ServerEvent> {
        let id = self.draft.id.clone();
        let mut event = std::mem::replace(&mut self.draft, ServerEvent { id, ..ServerEvent::default() });
        if !std::mem::take(&mut self.has_data) {
            return None;
        }
        if event.event.is_empty() {
            "message".clone_into(&mut event.event);
        }
        Some(event)
    }
}

/// Splits bytes into lines that end in LF, CR or both.
#[derive(Debug)]
struct Lines {
    max_bytes: usize,
    chunk: Bytes,
    /// A line whose end has not come yet.
    partial: Vec<u8>,
    /// The last line ended in CR, so that an LF right behind it belongs to it.
    skips_line_feed: bool,
    is_first: bool,
}

impl Lines {
    fn new(max_bytes: usize) -> Self {
        Self { max_bytes, chunk: Bytes::new(), partial: Vec::new(), skips_line_feed: false, is_first: true }
    }

    /// Called when `next` has nothing more.
    fn feed(&mut self, chunk: Bytes) {
        self.chunk = chunk;
    }

    fn next(&mut self) -> Result<Option<String>, BadAnswer> {
        if std::mem::take(&mut self.skips_line_feed) {
            match self.chunk.first() {
                Some(b'\n') => self.chunk = self.chunk.slice(1..),
                Some(_) => {}
                None => self.skips_line_feed = true,
            }
        }
        let end = self.chunk.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        let piece = self.chunk.split_to(end.unwrap_or(self.chunk.len()));
        if self.partial.len() + piece.len() > self.max_bytes {
            return Err(BadAnswer::LineBytes(self.max_bytes));
        }
        self.partial.extend_from_slice(&piece);
        if end.is_none() {
            return Ok(None);
        }
        self.skips_line_feed = self.chunk.first() == Some(&b'\r');
        self.chunk = self.chunk.slice(1..);
        let line = std::mem::take(&mut self.partial);
        let line = String::from_utf8_lossy(&line);
        let is_first = std::mem::take(&mut self.is_first);
        let line = if is_first { line.strip_prefix('\u{feff}').unwrap_or(&line) } else { &line };
        Ok(Some(line.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(chunks: &[&str]) -> Vec<String> {
        let mut lines = Lines::new(16);
        let mut found = Vec::new();
        for chunk in chunks {
            lines.feed(Bytes::copy_from_slice(chunk.as_bytes()));
            while let Some(line) = lines.next().unwrap() {
                found.push(line);
            }
        }
        found
    }

    // X6
    #[test]
    fn lines_end_in_either_way_wherever_the_pieces_are_cut() {
        let text = "\u{feff}a\r\nb\rc\n\n\r\nd\n";
        let whole = lines_of(&[text]);
        assert_eq!(whole, ["a", "b", "c", "", "", "d"]);
        for (cut, _) in text.char_indices().skip(1) {
            let (left, right) = text.split_at(cut);
            assert_eq!(lines_of(&[left, right]), whole, "cut at {cut}");
        }
    }

    // X6
    #[test]
    fn a_line_without_end_is_cut_at_its_limit() {
        let mut lines = Lines::new(16);
        lines.feed(Bytes::from_static(b"0123456789abcdef"));
        assert_eq!(lines.next(), Ok(None));
        lines.feed(Bytes::from_static(b"g"));
        assert_eq!(lines.next(), Err(BadAnswer::LineBytes(16)));
    }
}
