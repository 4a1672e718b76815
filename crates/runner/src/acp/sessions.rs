//! Which session of the program a conversation is: kept in a file, so that a start after a death finds it again.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::credential::place;

/// Conversations that are remembered, the latest.
const MAX_KNOWN: usize = 500;
const MAX_FILE_BYTES: u64 = 1 << 20;

/// By context, the latest last.
#[derive(Debug, Default)]
pub(crate) struct KnownSessions {
    file: Option<PathBuf>,
    known: Vec<(String, String)>,
}

impl KnownSessions {
    /// A file that is not there, or cannot be read, knows none.
    pub(crate) fn read(file: Option<PathBuf>) -> Self {
        let known = file.as_deref().and_then(|file| {
            let size = std::fs::metadata(file).ok()?.len();
            let text = (size <= MAX_FILE_BYTES).then(|| std::fs::read_to_string(file).ok())??;
            let stored: Value = serde_json::from_str(&text).ok()?;
            let pair =
                |one: &Value| Some((one.get(0)?.as_str()?.to_owned(), one.get(1)?.as_str()?.to_owned()));
            Some(stored.get("sessions")?.as_array()?.iter().filter_map(pair).collect())
        });
        Self { known: known.unwrap_or_default(), file }
    }

    pub(crate) fn get(&self, context: &str) -> Option<String> {
        self.known.iter().find(|(known, _)| known == context).map(|(_, session)| session.clone())
    }

    /// From now on; one that cannot be written is forgotten with the runner.
    pub(crate) fn put(&mut self, context: &str, session: &str) {
        self.known.retain(|(known, _)| known != context);
        self.known.push((context.to_owned(), session.to_owned()));
        let excess = self.known.len().saturating_sub(MAX_KNOWN);
        self.known.drain(..excess);
        if let Some(file) = &self.file {
            let _ = place(file, json!({ "version": 1, "sessions": self.known }).to_string().as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A82
    #[test]
    fn conversations_are_found_again_and_the_oldest_are_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let file = Some(folder.path().join("deep/sessions.json"));
        let mut sessions = KnownSessions::read(file.clone());
        sessions.put("a", "1");
        sessions.put("a", "2");
        assert_eq!(KnownSessions::read(file.clone()).get("a").as_deref(), Some("2"));
        (0..MAX_KNOWN).for_each(|number| sessions.put(&format!("c{number}"), "s"));
        let known = KnownSessions::read(file.clone());
        assert_eq!((known.get("a"), known.known.len()), (None, MAX_KNOWN));
        std::fs::write(file.as_ref().unwrap(), "{\"sessions\": [1, [2]]").unwrap();
        assert_eq!(KnownSessions::read(file).get("c1"), None);
    }
}
