//! Asking a runtime whether it is there.

use crate::text_enum::text_enum;

text_enum! {
    /// How a runtime is asked.
    ProbeWay {
        /// Its agent card is fetched.
        Card = "card",
        /// Its box is asked.
        Box = "box",
        /// It comes and asks itself: whether it still does is seen from its queue.
        Claims = "claims",
    }
}

text_enum! {
    /// What was found out about a runtime that was asked.
    Finding {
        Answers = "answers",
        /// It does not answer.
        Silent = "silent",
        /// It could not be asked: no verdict.
        Unknown = "unknown",
    }
}
