//! The first message of TLS, read for one thing: the name under which the host is asked for (sec/S29).
//!
//! It has to come whole in one record, with one name, and without the extension that hides another name behind it
//! (Encrypted Client Hello): whoever stands on the other side would serve that other name.

use super::HostName;

const RECORD_HEAD: usize = 5;
const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;
const ENCRYPTED_CLIENT_HELLO: u16 = 0xfe0d;
/// As long as the body of a record may be.
const MAX_RECORD: usize = 1 << 14;

/// As much as has to be read at most to know.
pub const MAX_HELLO_BYTES: usize = RECORD_HEAD + MAX_RECORD;

/// What the bytes so far say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hello {
    /// Nothing yet.
    Partial,
    /// This host is asked for.
    Name(HostName),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HelloRefusal {
    #[error("only TLS goes through a tunnel, and it begins with something else")]
    NotTls,
    #[error("the first message of TLS is in more than one record")]
    Fragmented,
    #[error("the first message of TLS is malformed")]
    Malformed,
    #[error("TLS names no host (SNI)")]
    NoName,
    #[error("TLS names a host in a form that is not taken")]
    BadName,
    #[error("TLS hides the host's name (Encrypted Client Hello)")]
    Encrypted,
}

/// Reads what came so far.
pub fn read(bytes: &[u8]) -> Result<Hello, HelloRefusal> {
    // What is no TLS is told by its first bytes, so that nobody waits for the rest of it.
    let begins = [|byte: u8| byte == HANDSHAKE, |byte| byte == 3, |byte| byte <= 4];
    if bytes.iter().zip(begins).any(|(byte, is_right)| !is_right(*byte)) {
        return Err(HelloRefusal::NotTls);
    }
    let Some((head, rest)) = bytes.split_first_chunk::<RECORD_HEAD>() else { return Ok(Hello::Partial) };
    let length = usize::from(u16::from_be_bytes([head[3], head[4]]));
    if !(4..=MAX_RECORD).contains(&length) {
        return Err(HelloRefusal::Malformed);
    }
    if rest.first().is_some_and(|kind| *kind != CLIENT_HELLO) {
        return Err(HelloRefusal::NotTls);
    }
    if let [_, a, b, c, ..] = rest {
        let whole = usize::from(*a) << 16 | usize::from(*b) << 8 | usize::from(*c);
        if whole + 4 > length {
            return Err(HelloRefusal::Fragmented);
        }
        if whole + 4 < length {
            return Err(HelloRefusal::Malformed);
        }
    }
    let Some(record) = rest.get(..length) else { return Ok(Hello::Partial) };
    if rest.len() > length
        && rest[length..].iter().zip(begins_after()).any(|(byte, is_right)| !is_right(*byte))
    {
        return Err(HelloRefusal::Malformed);
    }
    name(Reader(&record[4..])).map(Hello::Name)
}

/// A client may send early data or a change of cipher behind its first message: records of TLS, in any case.
fn begins_after() -> [fn(u8) -> bool; 2] {
    [|byte| (20..=23).contains(&byte), |byte| byte == 3]
}

fn name(mut hello: Reader<'_>) -> Result<HostName, HelloRefusal> {
    let mut extensions = (|| {
        hello.take(2 + 32)?;
        hello.block_of_u8()?;
        hello.block_of_u16()?;
        hello.block_of_u8()?;
        if hello.0.is_empty() { Some(Reader(&[])) } else { hello.block_of_u16() }
    })()
    .ok_or(HelloRefusal::Malformed)?;
    if !hello.0.is_empty() {
        return Err(HelloRefusal::Malformed);
    }
    let mut found = None;
    while !extensions.0.is_empty() {
        let kind = extensions.u16().ok_or(HelloRefusal::Malformed)?;
        let body = extensions.block_of_u16().ok_or(HelloRefusal::Malformed)?;
        match kind {
            SERVER_NAME if found.is_some() => return Err(HelloRefusal::Malformed),
            SERVER_NAME => found = Some(server_name(body)?),
            ENCRYPTED_CLIENT_HELLO => return Err(HelloRefusal::Encrypted),
            _ => {}
        }
    }
    found.ok_or(HelloRefusal::NoName)
}

/// One name, of the one kind that there is.
fn server_name(mut body: Reader<'_>) -> Result<HostName, HelloRefusal> {
    let mut list = body.block_of_u16().filter(|_| body.0.is_empty()).ok_or(HelloRefusal::Malformed)?;
    let kind = list.take(1).ok_or(HelloRefusal::NoName)?;
    if kind != [0] {
        return Err(HelloRefusal::BadName);
    }
    let text = list.block_of_u16().ok_or(HelloRefusal::Malformed)?;
    if !list.0.is_empty() {
        return Err(HelloRefusal::BadName);
    }
    let text = std::str::from_utf8(text.0).map_err(|_| HelloRefusal::BadName)?;
    HostName::from_wire(text).map_err(|_| HelloRefusal::BadName)
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take(2).map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    fn block_of_u8(&mut self) -> Option<Reader<'a>> {
        let length = self.take(1)?[0];
        self.take(length.into()).map(Reader)
    }

    fn block_of_u16(&mut self) -> Option<Reader<'a>> {
        let length = self.u16()?;
        self.take(length.into()).map(Reader)
    }
}
