//! Output of a command that still runs, for whoever watches (A62).

use bytes::Bytes;
use futures_util::StreamExt as _;
use tokio::sync::mpsc;

use super::commands::unfinished_character;
use crate::Error;
use crate::shell::{RunEvent, RunResult, RunStream};

/// What one call shows at most while it runs; its result has its own limits.
const MAX_SHOWN_BYTES: usize = 256 << 10;
const REST: &str = "\n[the command writes more than is shown while it runs]\n";

/// Takes pieces of output as they come, stdout and stderr in the order in which they came.
#[derive(Debug, Clone)]
pub struct OutputSink {
    pieces: mpsc::Sender<String>,
}

impl OutputSink {
    /// A sink, and where its pieces come out. So many pieces may wait before the command has to.
    pub fn new(waiting: usize) -> (Self, mpsc::Receiver<String>) {
        let (pieces, receiver) = mpsc::channel(waiting);
        (Self { pieces }, receiver)
    }
}

/// Waits for the end of a command and shows what it writes meanwhile. Dropped before that, it ends the command.
pub(super) async fn to_the_end(mut events: RunStream, sink: Option<&OutputSink>) -> Result<RunResult, Error> {
    let (mut stdout, mut stderr) = (Pieces::default(), Pieces::default());
    let mut left = MAX_SHOWN_BYTES;
    while let Some(event) = events.next().await {
        let text = match event? {
            RunEvent::Stdout(bytes) => stdout.add(&bytes),
            RunEvent::Stderr(bytes) => stderr.add(&bytes),
            RunEvent::Finished(result) => return Ok(result),
        };
        if let Some(sink) = sink {
            show(sink, text, &mut left).await;
        }
    }
    let detail = "the command's output ended before the command did";
    Err(Error::operation(warren_model::ErrorCode::Internal, detail))
}

/// What is over the limit is not shown, and that is told once.
async fn show(sink: &OutputSink, mut text: String, left: &mut usize) {
    if text.is_empty() || *left == 0 {
        return;
    }
    if text.len() >= *left {
        text.truncate(text.floor_char_boundary(*left));
        text.push_str(REST);
        *left = 0;
    } else {
        *left -= text.len();
    }
    // Nobody may watch any more; the command goes on.
    let _ = sink.pieces.send(text).await;
}

/// One output, cut between characters.
#[derive(Debug, Default)]
struct Pieces {
    held_back: Vec<u8>,
}

impl Pieces {
    fn add(&mut self, bytes: &Bytes) -> String {
        self.held_back.extend_from_slice(bytes);
        let whole = self.held_back.len() - unfinished_character(&self.held_back);
        let text = String::from_utf8_lossy(&self.held_back[..whole]).replace('\0', "\u{fffd}");
        self.held_back.drain(..whole);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A62
    #[tokio::test]
    async fn what_is_shown_is_bounded_and_says_so() {
        let (sink, mut pieces) = OutputSink::new(8);
        let mut left = 6;
        for text in ["abc", "dé漢", "never"] {
            show(&sink, text.to_owned(), &mut left).await;
        }
        drop(sink);
        assert_eq!(pieces.recv().await.as_deref(), Some("abc"));
        assert_eq!(pieces.recv().await, Some(format!("dé{REST}")));
        assert_eq!(pieces.recv().await, None);
        let mut cut = Pieces::default();
        let bytes = "x漢\0".as_bytes();
        let shown = [&bytes[..2], &bytes[2..]].map(|part| cut.add(&Bytes::copy_from_slice(part)));
        assert_eq!(shown, ["x".to_owned(), "漢\u{fffd}".to_owned()]);
    }
}
