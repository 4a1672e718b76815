//! What is said about a model once, and not with every answer (A10).

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use warren_model::session::ModelName;

/// Notes of one process. Beyond this many they are forgotten and said anew.
const MOST: usize = 4_096;

/// Which sentences were said of which model.
#[derive(Debug, Default)]
pub(super) struct ToldOnce(Mutex<HashSet<(ModelName, String)>>);

impl ToldOnce {
    /// True the first time.
    pub(super) fn is_new(&self, model: &ModelName, sentence: &str) -> bool {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() >= MOST {
            told.clear();
        }
        told.insert((model.clone(), sentence.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A10
    #[test]
    fn a_sentence_is_said_once_for_each_model() {
        let told = ToldOnce::default();
        let (one, other): (ModelName, ModelName) = ("x/one".parse().unwrap(), "x/other".parse().unwrap());
        assert!(told.is_new(&one, "no price"));
        assert!(!told.is_new(&one, "no price") && !told.is_new(&one, "no price"));
        assert!(told.is_new(&one, "effort was not sent") && told.is_new(&other, "no price"));
    }
}
