//! The question before something is taken away for good.

use std::io::{IsTerminal as _, Write as _};

use crate::context::Context;
use crate::terminal_text::visible;

/// Asks where there is somebody to ask: both ends are terminals and no program reads the output. Else the command itself is
/// the answer.
pub(crate) fn is_confirmed(context: &Context, question: &str) -> bool {
    let stdin = std::io::stdin();
    if context.output.is_json || !stdin.is_terminal() || !std::io::stderr().is_terminal() {
        return true;
    }
    let mut stderr = std::io::stderr().lock();
    let shown = format!("{} [y/N] ", visible(question));
    if stderr.write_all(shown.as_bytes()).and_then(|()| stderr.flush()).is_err() {
        return false;
    }
    let mut answer = String::new();
    stdin.read_line(&mut answer).is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}
