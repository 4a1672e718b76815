//! Refs of boxes: strict, versioned, and of one workspace only (W4).

use serde::Serialize;
use serde::de::DeserializeOwned;
use warren_model::{CapabilitySet, ErrorCode, ProviderKind, Ref, WorkspaceId};
use warren_workspace::Error;

/// What a ref of this provider holds.
pub(crate) trait Payload: Serialize + DeserializeOwned {
    const KIND: ProviderKind;
    const SCHEMA_VERSION: u32;

    fn workspace(&self) -> WorkspaceId;
}

pub(crate) fn write<P: Payload>(payload: &P, capabilities: CapabilitySet) -> Result<Ref, Error> {
    let payload = serde_json::to_value(payload)
        .map_err(|error| Error::permanent(ErrorCode::Internal, error.to_string()))?;
    let provider = P::KIND.as_str().to_owned();
    Ok(Ref { provider, schema_version: P::SCHEMA_VERSION, capabilities, payload })
}

pub(crate) fn read<P: Payload>(reference: &Ref, workspace: WorkspaceId) -> Result<P, Error> {
    let unreadable = |detail: String| Error::permanent(ErrorCode::RefUnreadable, detail);
    let payload: P =
        reference.read(P::KIND.as_str(), P::SCHEMA_VERSION).map_err(|error| unreadable(error.to_string()))?;
    if payload.workspace() != workspace {
        return Err(unreadable("the ref belongs to another workspace".into()));
    }
    Ok(payload)
}
