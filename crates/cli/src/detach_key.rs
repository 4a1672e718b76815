//! The keys that are for this program and not for the one in the workspace: `~.` at the beginning of a line leaves,
//! `~~` types a `~`. They are those of ssh, so that fingers know them.

/// Looks through what is typed, piece by piece.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DetachKey {
    at: At,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    LineStart,
    /// Behind a `~` that was held back.
    Tilde,
    WithinLine,
}

/// What a piece of typing comes to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Typed {
    /// For the program in the workspace.
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_detach: bool,
}

impl DetachKey {
    pub(crate) const fn new() -> Self {
        Self { at: At::LineStart }
    }

    pub(crate) fn look(&mut self, typed: &[u8]) -> Typed {
        let mut bytes = Vec::with_capacity(typed.len() + 1);
        for &byte in typed {
            match (self.at, byte) {
                (At::LineStart, b'~') => {
                    self.at = At::Tilde;
                    continue;
                }
                (At::Tilde, b'.') => return Typed { bytes, is_detach: true },
                (At::Tilde, b'~') => bytes.push(b'~'),
                (At::Tilde, _) => bytes.extend([b'~', byte]),
                (At::LineStart | At::WithinLine, _) => bytes.push(byte),
            }
            // Ctrl-C, Ctrl-D and the like leave an empty line behind.
            let is_line_start = matches!(byte, b'\r' | b'\n' | 3 | 4 | 21 | 26);
            self.at = if is_line_start { At::LineStart } else { At::WithinLine };
        }
        Typed { bytes, is_detach: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(pieces: &[&str]) -> (String, bool) {
        let mut key = DetachKey::new();
        let mut all = Vec::new();
        for piece in pieces {
            let typed = key.look(piece.as_bytes());
            all.extend(typed.bytes);
            if typed.is_detach {
                return (String::from_utf8(all).unwrap(), true);
            }
        }
        (String::from_utf8(all).unwrap(), false)
    }

    // S11
    #[test]
    fn a_tilde_and_a_dot_at_the_beginning_of_a_line_leave() {
        assert_eq!(typed(&["~."]), (String::new(), true));
        assert_eq!(typed(&["ls\r~."]), ("ls\r".into(), true));
        assert_eq!(typed(&["ls\r", "~", ".", "never seen"]), ("ls\r".into(), true));
        assert_eq!(typed(&["half a line\u{3}~."]), ("half a line\u{3}".into(), true));
    }

    // S11
    #[test]
    fn elsewhere_and_otherwise_a_tilde_is_typed() {
        for (pieces, bytes) in [
            (&["cd ~.\r"][..], "cd ~.\r"),
            (&["~~."], "~."),
            (&["~/x\r"], "~/x\r"),
            (&["~", "\r", "x"], "~\rx"),
            (&["a~.~."], "a~.~."),
        ] {
            assert_eq!(typed(pieces), (bytes.into(), false), "{pieces:?}");
        }
    }
}
