//! Refs: the small, versioned record from which a provider finds a workspace again (W4).

use serde::{Deserialize, Serialize};

use crate::CapabilitySet;

/// From this a provider finds a workspace again, in another process or after a restart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ref {
    pub provider: String,
    pub schema_version: u32,
    pub capabilities: CapabilitySet,
    /// The provider's own record. Strict: an unknown field is an error.
    pub payload: serde_json::Value,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RefError {
    #[error("the ref belongs to provider `{found}`, not to `{expected}`")]
    WrongProvider { expected: String, found: String },
    #[error(
        "the ref has schema_version {found} and this Warren reads {oldest} to {newest}: run a version of Warren \
         that is closer to the one that wrote it, or delete the workspace and create it again"
    )]
    UnreadableVersion { found: u32, oldest: u32, newest: u32 },
    #[error("the ref's payload is not readable at `{path}`: {problem}")]
    BadPayload { path: String, problem: String },
}

impl Ref {
    /// Reads the payload as `T`, for a provider whose current schema version is `current`: it reads one version
    /// back and one ahead, and nothing beyond.
    pub fn read<T: serde::de::DeserializeOwned>(&self, provider: &str, current: u32) -> Result<T, RefError> {
        if self.provider != provider {
            let (expected, found) = (provider.to_owned(), self.provider.clone());
            return Err(RefError::WrongProvider { expected, found });
        }
        let (oldest, newest) = (current.saturating_sub(1).max(1), current + 1);
        if !(oldest..=newest).contains(&self.schema_version) {
            return Err(RefError::UnreadableVersion { found: self.schema_version, oldest, newest });
        }
        serde_path_to_error::deserialize(&self.payload).map_err(|error| RefError::BadPayload {
            path: format!("payload.{}", error.path()),
            problem: error.inner().to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Payload {
        dir: String,
    }

    fn reference(version: u32, payload: serde_json::Value) -> Ref {
        Ref { provider: "local".into(), schema_version: version, capabilities: CapabilitySet::EMPTY, payload }
    }

    // W4
    #[test]
    fn one_version_back_and_one_ahead_are_read_and_no_further() {
        let read = |version| reference(version, serde_json::json!({"dir": "a"})).read::<Payload>("local", 3);
        for version in 2..=4 {
            assert_eq!(read(version), Ok(Payload { dir: "a".into() }));
        }
        for version in [1, 5] {
            let message = read(version).unwrap_err().to_string();
            assert!(message.contains("schema_version") && message.contains("2 to 4"), "{message}");
            assert!(
                message.contains(&version.to_string()) && message.contains("create it again"),
                "{message}"
            );
        }
    }

    // W4
    #[test]
    fn payloads_are_strict_and_name_the_path() {
        let unknown = reference(1, serde_json::json!({"dir": "a", "extra": 1}));
        assert!(unknown.read::<Payload>("local", 1).unwrap_err().to_string().contains("extra"));
        let mistyped = reference(1, serde_json::json!({"dir": 7}));
        assert!(mistyped.read::<Payload>("local", 1).unwrap_err().to_string().contains("payload.dir"));
    }
}
