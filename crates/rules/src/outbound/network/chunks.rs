//! A chunked body, read strictly: a size in hexadecimal and nothing else, then so many bytes. Extensions and trailers,
//! which readers treat differently, are refused.

const MAX_SIZE_DIGITS: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the chunks of the body are malformed")]
pub struct BadChunk;

/// What stands next in the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// More has to be read.
    Partial,
    /// So many bytes of the body, after those that are skipped.
    Data(usize),
    /// The body is over.
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Size,
    Data(usize),
    AfterData,
    AfterLast,
    Over,
}

/// Where a reader stands in a chunked body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunks(State);

impl Default for Chunks {
    fn default() -> Self {
        Self(State::Size)
    }
}

impl Chunks {
    /// Looks at what is there. Returns how many bytes to skip, and what follows them; what is skipped or told as data
    /// must not be shown again.
    pub fn next(&mut self, input: &[u8]) -> Result<(usize, Piece), BadChunk> {
        let mut at = 0;
        loop {
            let rest = &input[at..];
            match self.0 {
                State::Size => {
                    let Some((size, used)) = size(rest)? else { return Ok((at, Piece::Partial)) };
                    at += used;
                    self.0 = if size == 0 { State::AfterLast } else { State::Data(size) };
                }
                State::Data(_) if rest.is_empty() => return Ok((at, Piece::Partial)),
                State::Data(left) => {
                    let count = left.min(rest.len());
                    self.0 = if count == left { State::AfterData } else { State::Data(left - count) };
                    return Ok((at, Piece::Data(count)));
                }
                State::AfterData | State::AfterLast => {
                    if !b"\r\n".starts_with(&rest[..rest.len().min(2)]) {
                        return Err(BadChunk);
                    }
                    if rest.len() < 2 {
                        return Ok((at, Piece::Partial));
                    }
                    at += 2;
                    self.0 = if self.0 == State::AfterLast { State::Over } else { State::Size };
                }
                State::Over => return Ok((at, Piece::End)),
            }
        }
    }
}

/// A line with a size, and how long the line is; none while it is not whole.
fn size(input: &[u8]) -> Result<Option<(usize, usize)>, BadChunk> {
    let digits = input.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    if digits > MAX_SIZE_DIGITS {
        return Err(BadChunk);
    }
    let behind = &input[digits..];
    match behind {
        [] | [b'\r'] if digits > 0 || behind.is_empty() => Ok(None),
        [b'\r', b'\n', ..] if digits > 0 => {
            let text = std::str::from_utf8(&input[..digits]).map_err(|_| BadChunk)?;
            let size = usize::from_str_radix(text, 16).map_err(|_| BadChunk)?;
            Ok(Some((size, digits + 2)))
        }
        _ => Err(BadChunk),
    }
}
