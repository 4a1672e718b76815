//! Lines that a person types, while other things go on.

use std::io::{self, BufRead as _};

use rustix::stdio::stdin;
use rustix::termios::{QueueSelector, tcflush};
use tokio::sync::mpsc;

/// The terminal's input, line by line. One thread reads it to its end; who is asked next gets the next line.
#[derive(Debug)]
pub(super) struct Keyboard {
    lines: mpsc::UnboundedReceiver<String>,
}

impl Keyboard {
    pub(super) fn open() -> Self {
        let (sender, lines) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            for line in io::stdin().lock().lines() {
                let Ok(line) = line else { return };
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { lines }
    }

    /// Forgets what was typed before the question: nobody approves what they have not seen.
    pub(super) fn forget(&mut self) {
        // A terminal that is gone has nothing to forget.
        let _ = tcflush(stdin(), QueueSelector::IFlush);
        while self.lines.try_recv().is_ok() {}
    }

    /// `None`: there will be no more (Ctrl-D). May be dropped while it waits.
    pub(super) async fn line(&mut self) -> Option<String> {
        self.lines.recv().await
    }
}
