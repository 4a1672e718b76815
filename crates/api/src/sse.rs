//! Server-sent events, as the HTML standard has them: bytes in, messages out, however the bytes are cut.
//!
//! Surprises: a line may end in LF, CR or CRLF, so a CR at the end of a chunk leaves it open whether an LF at the
//! start of the next one belongs to it. A message without data is not one. A stream that ends within a message
//! loses that message, which is what lets a reader resume from the last `id` it saw.
//!
//! This is the only decoder. It stands in this crate because both of its users may see this crate and no other that is
//! common to them: the typed client (feature `client`), which uses nothing internal, and `outbound`, through which the
//! server reads streams of agents and of model APIs. It needs no feature and no library.

use std::collections::VecDeque;

/// The most one message may hold where the reader names no limit. A command's output comes in far smaller pieces.
pub const MAX_MESSAGE_BYTES: usize = 16 << 20;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One message of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Message {
    /// The last id seen, also where it came with an earlier message.
    pub id: Option<String>,
    /// Absent for the default type, `message`.
    pub event: Option<String>,
    pub data: String,
}

/// A message holds more than the reader takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong {
    pub max_bytes: usize,
}

impl std::fmt::Display for TooLong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a message is longer than {} bytes", self.max_bytes)
    }
}

impl std::error::Error for TooLong {}

/// Collects bytes and hands out whole messages.
#[derive(Debug)]
pub struct Decoder {
    max_bytes: usize,
    line: Vec<u8>,
    /// The last byte was a CR that ended a line.
    is_after_cr: bool,
    /// A line was read, so that a byte order mark can no longer come.
    is_started: bool,
    data: Option<String>,
    event: Option<String>,
    id: Option<String>,
    ready: VecDeque<Message>,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new(MAX_MESSAGE_BYTES)
    }
}

impl Decoder {
    /// Refuses a message whose data, with the line that is being read, has more bytes than this.
    pub fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            line: Vec::new(),
            is_after_cr: false,
            is_started: false,
            data: None,
            event: None,
            id: None,
            ready: VecDeque::new(),
        }
    }

    /// Takes in the next bytes of the stream. After an error nothing more is to be read.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        let mut rest = bytes;
        while let Some(&first) = rest.first() {
            if std::mem::take(&mut self.is_after_cr) && first == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            self.line.extend_from_slice(&rest[..end.unwrap_or(rest.len())]);
            if self.line.len() + self.data.as_ref().map_or(0, String::len) > self.max_bytes {
                return Err(TooLong { max_bytes: self.max_bytes });
            }
            let Some(end) = end else { return Ok(()) };
            self.is_after_cr = rest[end] == b'\r';
            self.end_line();
            rest = &rest[end + 1..];
        }
        Ok(())
    }

    /// The next whole message, if one has come.
    pub fn next_message(&mut self) -> Option<Message> {
        self.ready.pop_front()
    }

    fn end_line(&mut self) {
        let bytes = std::mem::take(&mut self.line);
        let bytes = if std::mem::replace(&mut self.is_started, true) {
            &bytes[..]
        } else {
            bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes)
        };
        if bytes.is_empty() {
            return self.end_message();
        }
        let line = String::from_utf8_lossy(bytes);
        let (field, value) = match line.split_once(':') {
            Some((field, value)) => (field, value.strip_prefix(' ').unwrap_or(value)),
            None => (line.as_ref(), ""),
        };
        self.take_field(field, value);
    }

    /// Unknown fields are passed over, and so are comments, whose field name is empty.
    fn take_field(&mut self, field: &str, value: &str) {
        match field {
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            "event" => self.event = Some(value.to_owned()).filter(|name| !name.is_empty()),
            "id" if !value.contains('\0') => self.id = Some(value.to_owned()).filter(|id| !id.is_empty()),
            _ => {}
        }
    }

    fn end_message(&mut self) {
        let event = self.event.take();
        if let Some(data) = self.data.take() {
            self.ready.push_back(Message { id: self.id.clone(), event, data });
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Message> {
        let mut decoder = Decoder::default();
        for chunk in chunks {
            decoder.push(chunk).unwrap();
        }
        std::iter::from_fn(|| decoder.next_message()).collect()
    }

    fn data_of(text: &str) -> Vec<String> {
        decode([text.as_bytes()]).into_iter().map(|one| one.data).collect()
    }

    // S24
    #[test]
    fn every_line_ending_ends_a_line() {
        for text in ["data: a\n\ndata: b\n\n", "data: a\r\rdata: b\r\r", "data: a\r\n\r\ndata: b\r\n\r\n"] {
            assert_eq!(data_of(text), ["a", "b"], "{text:?}");
        }
    }

    // S24
    #[test]
    fn fields_are_read_as_the_standard_says() {
        let text = "\u{feff}: a comment\nid: 7\nevent: note\ndata:one\ndata:  two\ndata\nretry: 5\nodd: x\n\ndata: next\n\n";
        let messages = decode([text.as_bytes()]);
        assert_eq!(messages[0].id.as_deref(), Some("7"));
        assert_eq!(messages[0].event.as_deref(), Some("note"));
        assert_eq!(messages[0].data, "one\n two\n");
        assert_eq!(messages[1], Message { id: Some("7".into()), event: None, data: "next".into() });
    }

    // S24
    #[test]
    fn a_message_that_did_not_end_is_not_handed_out() {
        assert!(data_of("data: half").is_empty());
        assert!(data_of("data: half\n").is_empty());
        assert!(data_of(": keep-alive\n\nevent: x\n\n").is_empty());
    }

    // S24
    #[test]
    fn a_message_past_the_limit_is_refused() {
        let mut decoder = Decoder::default();
        let line = [&b"data: "[..], &vec![b'x'; MAX_MESSAGE_BYTES / 2], b"\n"].concat();
        decoder.push(&line).unwrap();
        assert_eq!(decoder.push(&line), Err(TooLong { max_bytes: MAX_MESSAGE_BYTES }));
        let mut narrow = Decoder::new(16);
        assert_eq!(narrow.push(b"0123456789abcdef"), Ok(()));
        assert_eq!(narrow.push(b"g"), Err(TooLong { max_bytes: 16 }), "also a line without end");
    }

    /// Text rich in what the parser looks for.
    fn stream_bytes() -> impl Strategy<Value = Vec<u8>> {
        let pieces: [&[u8]; 15] = [
            b"data: ",
            b"data",
            b"id: ",
            b"event: ",
            b": ",
            b"\n",
            b"\r",
            b"\r\n",
            b"\n\n",
            b"x",
            b"{\"a\":1}",
            b"\0",
            b"\xef\xbb\xbf",
            b"\xc3",
            b"\xc3\xa4",
        ];
        let piece = prop::sample::select(pieces.map(<[u8]>::to_vec).to_vec());
        prop::collection::vec(piece, 0..80).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        // S24
        #[test]
        fn any_cut_of_the_same_bytes_gives_the_same_messages(
            bytes in stream_bytes(),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        ) {
            let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            places.extend([0, bytes.len()]);
            places.sort_unstable();
            let chunks = places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
            prop_assert_eq!(decode(chunks), decode([&bytes[..]]));
            prop_assert_eq!(decode(bytes.chunks(1)), decode([&bytes[..]]));
        }

        // S24
        #[test]
        fn a_written_message_is_read_back(lines in prop::collection::vec("[^\r\n]{0,20}", 1..5), id in "[0-9]{1,9}") {
            let data = lines.join("\n");
            let written: String = lines.iter().map(|line| format!("data: {line}\n")).collect();
            let read = decode([format!("id: {id}\n{written}\n").as_bytes()]);
            prop_assert_eq!(read, vec![Message { id: Some(id), event: None, data }]);
        }
    }
}
