//! Reads what an answer used while it passes by. What passes is not changed, but for the one event that nobody asked for.

use bytes::{Bytes, BytesMut};
use serde_json::Value;
use warren_model::session::TokenUsage;

use crate::providers::Wire;

/// The longest event of which the usage is read; what is longer passes unread.
const MAX_EVENT_BYTES: usize = 1 << 20;
/// The longest answer in one piece of which the usage is read.
const MAX_WHOLE_BYTES: usize = 32 << 20;

/// Watches one answer.
#[derive(Debug)]
pub struct UsageTap {
    wire: Wire,
    is_stream: bool,
    hides_usage: bool,
    held: BytesMut,
    /// The event that is passing is longer than what is read.
    is_too_long: bool,
    usage: TokenUsage,
    /// The provider has said what all of it used.
    is_counted: bool,
    /// Events with something said, each of which is a token or more.
    pieces: u64,
}

impl UsageTap {
    pub fn new(wire: Wire, is_stream: bool, hides_usage: bool) -> Self {
        Self {
            wire,
            is_stream,
            hides_usage,
            held: BytesMut::new(),
            is_too_long: false,
            usage: TokenUsage::default(),
            is_counted: false,
            pieces: 0,
        }
    }

    /// What is to be passed on of this piece, now.
    pub fn push(&mut self, piece: &Bytes) -> Bytes {
        if !self.is_stream {
            if self.held.len() + piece.len() <= MAX_WHOLE_BYTES {
                self.held.extend_from_slice(piece);
            }
            return piece.clone();
        }
        self.held.extend_from_slice(piece);
        let mut kept = BytesMut::new();
        while let Some(end) = end_of_event(&self.held) {
            let event = self.held.split_to(end);
            let is_hidden =
                !std::mem::take(&mut self.is_too_long) && self.look_at(&event) && self.hides_usage;
            if self.hides_usage && !is_hidden {
                kept.extend_from_slice(&event);
            }
        }
        if self.held.len() > MAX_EVENT_BYTES {
            self.is_too_long = true;
            let passing = self.held.split();
            if self.hides_usage {
                kept.extend_from_slice(&passing);
            }
        }
        if self.hides_usage { kept.freeze() } else { piece.clone() }
    }

    /// The end of the answer: what was held back, if anything.
    pub fn finish(&mut self) -> Bytes {
        let rest = self.held.split().freeze();
        if !self.is_stream {
            if let Ok(value) = serde_json::from_slice::<Value>(&rest) {
                // A list of what would have been events, or one document.
                for part in value.as_array().map_or(std::slice::from_ref(&value), Vec::as_slice) {
                    self.count(&part["usage"]);
                    self.count(&part["usageMetadata"]);
                }
            }
            return Bytes::new();
        }
        if self.hides_usage { rest } else { Bytes::new() }
    }

    /// What was used, and whether the provider said so: an answer that was broken off is counted by its pieces.
    pub fn usage(&self, input_bytes: usize) -> (TokenUsage, bool) {
        if self.is_counted {
            return (self.usage, true);
        }
        let mut usage = self.usage;
        if usage.input_tokens == 0 {
            usage.input_tokens = crate::estimate::tokens(input_bytes);
        }
        usage.output_tokens = usage.output_tokens.max(self.pieces);
        (usage, false)
    }

    /// Returns true if the event tells of usage and nothing else.
    fn look_at(&mut self, event: &[u8]) -> bool {
        let data = event.split(|byte| *byte == b'\n').filter_map(|line| line.strip_prefix(b"data:"));
        let data: Vec<u8> = data.flatten().copied().collect();
        // What says nothing about usage is not looked into.
        let Ok(value) = serde_json::from_slice::<Value>(&data) else { return false };
        match self.wire {
            Wire::Anthropic => match value["type"].as_str().unwrap_or_default() {
                // Tells of what was read; what is written is told at the end.
                "message_start" => {
                    self.count(&value["message"]["usage"]);
                    self.is_counted = false;
                }
                "message_delta" => self.count(&value["usage"]),
                "content_block_delta" => self.pieces += 1,
                _ => {}
            },
            Wire::Responses => match value["type"].as_str().unwrap_or_default() {
                "response.completed" | "response.incomplete" | "response.failed" => {
                    self.count(&value["response"]["usage"]);
                }
                kind if kind.ends_with(".delta") => self.pieces += 1,
                _ => {}
            },
            Wire::Gemini => {
                self.pieces += 1;
                self.count(&value["usageMetadata"]);
                // Each event tells what was used so far; the last one has a reason to end.
                self.is_counted = value["candidates"][0]["finishReason"].is_string();
            }
            Wire::Chat | Wire::Scripted => {
                let is_empty = value["choices"].as_array().is_none_or(Vec::is_empty);
                self.pieces += u64::from(!is_empty);
                self.count(&value["usage"]);
                return is_empty && value["usage"].is_object();
            }
        }
        false
    }

    fn count(&mut self, usage: &Value) {
        if !usage.is_object() {
            return;
        }
        let number = |value: &Value, name: &str| value[name].as_u64().unwrap_or(0);
        match self.wire {
            Wire::Anthropic => {
                if usage["input_tokens"].is_number() {
                    self.usage.cached_input_tokens = number(usage, "cache_read_input_tokens");
                    self.usage.cache_write_tokens = number(usage, "cache_creation_input_tokens");
                    self.usage.input_tokens = number(usage, "input_tokens")
                        .saturating_add(self.usage.cached_input_tokens)
                        .saturating_add(self.usage.cache_write_tokens);
                }
                self.usage.output_tokens = self.usage.output_tokens.max(number(usage, "output_tokens"));
            }
            Wire::Responses => {
                self.usage = TokenUsage {
                    input_tokens: number(usage, "input_tokens"),
                    cached_input_tokens: number(&usage["input_tokens_details"], "cached_tokens"),
                    cache_write_tokens: number(&usage["input_tokens_details"], "cache_write_tokens"),
                    output_tokens: number(usage, "output_tokens"),
                    reasoning_tokens: number(&usage["output_tokens_details"], "reasoning_tokens"),
                };
            }
            Wire::Gemini => {
                let thoughts = number(usage, "thoughtsTokenCount");
                self.usage = TokenUsage {
                    input_tokens: number(usage, "promptTokenCount"),
                    cached_input_tokens: number(usage, "cachedContentTokenCount"),
                    cache_write_tokens: 0,
                    output_tokens: number(usage, "candidatesTokenCount").saturating_add(thoughts),
                    reasoning_tokens: thoughts,
                };
            }
            Wire::Chat | Wire::Scripted => {
                self.usage = TokenUsage {
                    input_tokens: number(usage, "prompt_tokens"),
                    cached_input_tokens: number(&usage["prompt_tokens_details"], "cached_tokens"),
                    cache_write_tokens: 0,
                    output_tokens: number(usage, "completion_tokens"),
                    reasoning_tokens: number(&usage["completion_tokens_details"], "reasoning_tokens"),
                };
            }
        }
        self.is_counted = true;
    }
}

/// Behind the empty line that ends the first event, if it is there.
fn end_of_event(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = bytes[at..].iter().position(|byte| *byte == b'\n') {
        let next = at + found + 1;
        match &bytes[next..] {
            [b'\n', ..] => return Some(next + 1),
            [b'\r', b'\n', ..] => return Some(next + 2),
            _ => at = next,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ANTHROPIC: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":10,\"cache_read_input_tokens\":5,\"cache_creation_input_tokens\":2,\"output_tokens\":1}}}\n\nevent: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"hi\"}}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":40}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    const RESPONSES: &str = "data: {\"type\":\"response.output_text.delta\",\"delta\":\"hi\"}\r\n\r\ndata: {\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":17,\"input_tokens_details\":{\"cached_tokens\":5},\"output_tokens\":40,\"output_tokens_details\":{\"reasoning_tokens\":3}}}}\r\n\r\n";
    const CHAT: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}]}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":17,\"completion_tokens\":40}}\n\ndata: [DONE]\n\n";

    const GEMINI: &str = "data: {\"candidates\":[{\"content\":{}}],\"usageMetadata\":{\"promptTokenCount\":17,\"candidatesTokenCount\":1}}\n\ndata: {\"candidates\":[{\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":17,\"candidatesTokenCount\":30,\"thoughtsTokenCount\":10}}\n\n";

    fn watched(wire: Wire, text: &str, hides: bool, piece: usize) -> (TokenUsage, bool, String) {
        let mut tap = UsageTap::new(wire, true, hides);
        let mut out = Vec::new();
        for piece in text.as_bytes().chunks(piece.max(1)) {
            out.extend_from_slice(&tap.push(&Bytes::copy_from_slice(piece)));
        }
        out.extend_from_slice(&tap.finish());
        let (usage, is_known) = tap.usage(400);
        (usage, is_known, String::from_utf8(out).unwrap())
    }

    proptest! {
        // A81
        #[test]
        fn usage_is_read_from_a_stream_in_any_pieces_and_nothing_of_it_is_lost(piece in 1_usize..300) {
            for (wire, text) in [(Wire::Anthropic, ANTHROPIC), (Wire::Responses, RESPONSES), (Wire::Chat, CHAT), (Wire::Gemini, GEMINI)] {
                let (usage, is_known, out) = watched(wire, text, false, piece);
                prop_assert_eq!((usage.input_tokens, usage.output_tokens, is_known), (17, 40, true));
                prop_assert_eq!(out, text);
            }
            let (usage, _, out) = watched(Wire::Chat, CHAT, true, piece);
            prop_assert_eq!(usage.output_tokens, 40);
            prop_assert_eq!(out, "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}]}\n\ndata: [DONE]\n\n");
        }
    }

    // A81: what was broken off is paid for all the same
    #[test]
    fn an_answer_without_its_end_is_counted_by_its_pieces() {
        let cut = &ANTHROPIC[..ANTHROPIC.find("event: message_delta").unwrap()];
        let (usage, is_known, _) = watched(Wire::Anthropic, cut, false, 50);
        assert_eq!((usage.input_tokens, usage.output_tokens, is_known), (17, 1, false));
        let (usage, is_known, _) = watched(Wire::Chat, &CHAT[..60], false, 50);
        assert_eq!((usage.input_tokens, usage.output_tokens, is_known), (100, 1, false));
    }

    // A81
    #[test]
    fn an_answer_in_one_piece_is_counted_too() {
        let mut tap = UsageTap::new(Wire::Responses, false, false);
        let body = Bytes::from_static(b"{\"usage\":{\"input_tokens\":3,\"output_tokens\":4}}");
        assert_eq!(tap.push(&body), body);
        assert!(tap.finish().is_empty());
        assert_eq!(tap.usage(0).0.total(), 7);
    }

    // A81: bad input
    #[test]
    fn an_event_without_end_passes_and_is_not_kept() {
        let mut tap = UsageTap::new(Wire::Anthropic, true, false);
        let piece = Bytes::from(vec![b'x'; 300_000]);
        for _ in 0..20 {
            assert_eq!(tap.push(&piece), piece);
            assert!(tap.held.len() <= MAX_EVENT_BYTES);
        }
        tap.push(&Bytes::from_static(b"\n\n"));
        tap.push(&Bytes::from_static(ANTHROPIC.as_bytes()));
        assert_eq!(tap.usage(0).0.output_tokens, 40);
    }
}
