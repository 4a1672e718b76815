//! What a session takes from outside, and how much of it.

use warren_model::session::ToolCall;
use warren_model::{Content, ErrorCode, Part};
use warren_service::Error;

use crate::sessions::HandedIn;

const MAX_MESSAGE_BYTES: usize = 1 << 20;
const MAX_PARTS: usize = 100;
/// What a caller's tool may hand in (A31).
const MAX_RESULT_BYTES: usize = 1 << 20;
const MAX_ERROR_BYTES: usize = 8 << 10;

/// How long what is handed in may be (A31).
pub(crate) fn check_handed_in(call_id: &str, handed_in: &HandedIn) -> Result<(), Error> {
    if call_id.is_empty() || call_id.len() > ToolCall::MAX_ID_BYTES {
        let detail = format!("call_id: expected 1 to {} bytes", ToolCall::MAX_ID_BYTES);
        return Err(Error::with_detail(ErrorCode::InvalidRequest, detail));
    }
    let (field, bytes, most) = match handed_in {
        HandedIn::Output(value) => ("output", value.to_string().len(), MAX_RESULT_BYTES),
        HandedIn::Error(text) => ("error", text.len(), MAX_ERROR_BYTES),
    };
    if bytes > most {
        let detail = format!("{field}: it has {bytes} bytes, and may have {most}");
        return Err(Error::with_detail(ErrorCode::PayloadTooLarge, detail));
    }
    Ok(())
}

pub(crate) fn check_parts(parts: &[Part]) -> Result<(), Error> {
    let invalid = |detail: String| Err(Error::with_detail(ErrorCode::InvalidMessage, detail));
    if parts.is_empty() || parts.len() > MAX_PARTS {
        return invalid(format!("parts: expected 1 to {MAX_PARTS}"));
    }
    let bytes = serde_json::to_vec(parts).map_or(0, |json| json.len());
    if bytes > MAX_MESSAGE_BYTES {
        let detail = format!("parts: they have {bytes} bytes, and may have {MAX_MESSAGE_BYTES}");
        return Err(Error::with_detail(ErrorCode::PayloadTooLarge, detail));
    }
    let is_blank = |part: &Part| match &part.content {
        Content::Text(text) => text.trim().is_empty(),
        Content::Raw(_) | Content::Url(_) | Content::Data(_) => false,
    };
    let has_nul = |part: &Part| matches!(&part.content, Content::Text(text) if text.contains('\0'));
    if let Some(at) = parts.iter().position(has_nul) {
        return invalid(format!("parts[{at}].text: expected text without NUL"));
    }
    // No provider takes a blank text, so that the session could not go on with it.
    match parts.iter().position(is_blank) {
        Some(at) => {
            let detail = format!("parts[{at}].text: it is blank");
            Err(Error::with_detail(ErrorCode::BlankMessage, detail))
        }
        None => Ok(()),
    }
}
