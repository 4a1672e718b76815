//! This machine's terminal, given over to a program elsewhere: every key is passed on as it is, and whatever happens,
//! the terminal is as it was afterwards.

use std::io::{self, IsTerminal as _};

use rustix::stdio::{stdin, stdout};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use warren_api::PtySize;

/// Whether a person sits at both ends.
pub(crate) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// The size of the terminal, where it has one.
pub(crate) fn size() -> Option<PtySize> {
    let size = tcgetwinsize(stdout()).ok()?;
    let is_known = size.ws_row > 0 && size.ws_col > 0;
    is_known.then_some(PtySize { rows: size.ws_row, columns: size.ws_col })
}

/// The terminal in raw mode, until this is dropped.
pub(crate) struct RawMode {
    before: Termios,
}

impl RawMode {
    pub(crate) fn enter() -> io::Result<Self> {
        let before = tcgetattr(stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(stdin(), OptionalActions::Drain, &raw)?;
        Ok(Self { before })
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        // A terminal that is gone needs no restoring.
        let _ = tcsetattr(stdin(), OptionalActions::Drain, &self.before);
    }
}
