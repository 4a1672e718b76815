//! Page cursors of listings: the last path told, escaped so that names which are not UTF-8 survive the trip.

use warren_model::ErrorCode;
use warren_workspace::Error;

/// `%` and bytes that are not UTF-8 become `%XX`; every other path stands for itself.
pub(crate) fn encode(path: &[u8]) -> String {
    let mut text = String::with_capacity(path.len());
    for chunk in path.utf8_chunks() {
        text.push_str(&chunk.valid().replace('%', "%25"));
        for byte in chunk.invalid() {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

pub(crate) fn decode(cursor: &str) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::with_capacity(cursor.len());
    let mut rest = cursor.as_bytes().iter().copied();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next().ok_or_else(invalid)?, rest.next().ok_or_else(invalid)?];
        let digits = str::from_utf8(&digits).map_err(|_| invalid())?;
        bytes.push(u8::from_str_radix(digits, 16).map_err(|_| invalid())?);
    }
    Ok(bytes)
}

pub(crate) fn invalid() -> Error {
    Error::operation(ErrorCode::InvalidCursor, "the cursor is not one that was given out")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    // F11 (security)
    #[test]
    fn ordinary_paths_stand_for_themselves_and_bad_cursors_are_refused() {
        assert_eq!(encode("src/ünï/a b".as_bytes()), "src/ünï/a b");
        assert_eq!(encode(b"50%\xff"), "50%25%FF");
        for bad in ["%", "%4", "%zz", "a%é"] {
            assert_eq!(decode(bad).unwrap_err().code(), ErrorCode::InvalidCursor, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_survive_the_trip(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            prop_assert_eq!(decode(&encode(&bytes)).unwrap(), bytes);
        }
    }
}
