//! What a runner says of itself: how much of its recent work failed, and whether it is wedged. Pure.
//!
//! ```text
//!   well ── an error with a sign ──▶ wedged (the first such error is kept) ── a reply with content ──▶ well
//! ```
//!
//! Neither time nor an answer without content ends a wedge: an agent whose key has expired often still answers nothing,
//! politely.

use std::collections::VecDeque;

/// Phrases in an error that mean: the next message will fail in the same way. In lower case; those of model APIs mostly.
pub const DEFAULT_WEDGE_SIGNS: &[&str] = &[
    "401 unauthorized",
    "authentication_error",
    "billing_error",
    "control request timeout: initialize",
    "credit balance is too low",
    "insufficient_quota",
    "invalid api key",
    "invalid x-api-key",
    "invalid_api_key",
    "permission_error",
    "please run /login",
    "quota exceeded",
    "token has expired",
];

/// Outcomes that the error rate is taken over.
const WINDOW: usize = 20;
const MAX_SAMPLE_BYTES: usize = 500;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    signs: Vec<String>,
    /// `true`: failed. The oldest first.
    recent: VecDeque<bool>,
    wedge: Option<String>,
    last_error: Option<String>,
}

impl Health {
    /// With these signs instead of the usual ones; none: the usual ones.
    pub fn new(signs: &[String]) -> Self {
        let own = signs.iter().map(|sign| sign.trim().to_lowercase()).filter(|sign| !sign.is_empty());
        let mut signs: Vec<String> = own.collect();
        if signs.is_empty() {
            signs = DEFAULT_WEDGE_SIGNS.iter().map(|sign| (*sign).to_owned()).collect();
        }
        Self { signs, recent: VecDeque::new(), wedge: None, last_error: None }
    }

    /// The runner before this one was wedged, by this error; nothing was done since that would prove otherwise.
    pub fn take_over_wedge(&mut self, error: &str) {
        self.wedge = Some(shortened(error));
    }

    /// It cannot work at all, as this error says: nothing has to be tried to know it.
    pub fn wedged(&mut self, error: &str) {
        self.wedge.get_or_insert_with(|| shortened(error));
    }

    /// Work, or a call to Warren, failed with this text.
    pub fn failed(&mut self, text: &str) {
        let sample = shortened(text);
        if self.wedge.is_none() {
            let lower = text.to_lowercase();
            self.wedge = self.signs.iter().any(|sign| lower.contains(sign.as_str())).then(|| sample.clone());
        }
        self.last_error = Some(sample);
        self.note(true);
    }

    /// Work ended well. Only a reply with content proves that the agent can work again.
    pub fn replied(&mut self, has_content: bool) {
        self.note(false);
        if has_content {
            self.wedge = None;
        }
    }

    pub fn is_wedged(&self) -> bool {
        self.wedge.is_some()
    }

    /// As a heartbeat says it.
    pub fn runtime_state(&self) -> &'static str {
        if self.is_wedged() { "wedged" } else { "" }
    }

    /// Of the recent work, the part that failed.
    #[expect(clippy::cast_precision_loss, reason = "at most 20")]
    pub fn error_rate(&self) -> f64 {
        match self.recent.len() {
            0 => 0.0,
            all => self.recent.iter().filter(|failed| **failed).count() as f64 / all as f64,
        }
    }

    /// The error behind the wedge, or the latest one behind the rate; empty: none.
    pub fn sample_error(&self) -> &str {
        let latest = self.last_error.as_deref().filter(|_| self.recent.contains(&true));
        self.wedge.as_deref().or(latest).unwrap_or_default()
    }

    fn note(&mut self, failed: bool) {
        if self.recent.len() == WINDOW {
            self.recent.pop_front();
        }
        self.recent.push_back(failed);
    }
}

/// The end of it: errors say what is wrong last.
fn shortened(text: &str) -> String {
    let text = text.trim();
    let mut start = text.len().saturating_sub(MAX_SAMPLE_BYTES);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text[start..].to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone, Copy)]
    enum Step {
        Fails,
        FailsWithSign,
        RepliesNothing,
        Replies,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = proptest::sample::select(vec![
            Step::Fails,
            Step::FailsWithSign,
            Step::RepliesNothing,
            Step::Replies,
        ]);
        proptest::collection::vec(step, 0..60)
    }

    fn take(health: &mut Health, step: Step) {
        match step {
            Step::Fails => health.failed("no such file"),
            Step::FailsWithSign => health.failed("API error: Invalid API key provided"),
            Step::RepliesNothing => health.replied(false),
            Step::Replies => health.replied(true),
        }
    }

    proptest! {
        // F18
        #[test]
        fn a_wedge_lasts_from_the_first_sign_to_the_next_reply_with_content(steps in steps()) {
            let mut health = Health::new(&[]);
            let mut expected = false;
            for step in steps {
                take(&mut health, step);
                expected = match step {
                    Step::FailsWithSign => true,
                    Step::Replies => false,
                    Step::Fails | Step::RepliesNothing => expected,
                };
                prop_assert_eq!(health.is_wedged(), expected);
                prop_assert_eq!(health.runtime_state(), if expected { "wedged" } else { "" });
                prop_assert!((0.0..=1.0).contains(&health.error_rate()));
            }
        }

        // F18
        #[test]
        fn any_text_can_be_an_error(text in "\\PC{0,2000}") {
            let mut health = Health::new(&[]);
            health.failed(&text);
            prop_assert!(health.sample_error().len() <= MAX_SAMPLE_BYTES);
        }
    }

    // F18
    // F12
    #[test]
    fn the_wedge_of_the_runner_before_is_taken_over_until_a_reply_has_content() {
        let mut health = Health::new(&[]);
        health.take_over_wedge("quota exceeded");
        assert_eq!((health.runtime_state(), health.sample_error()), ("wedged", "quota exceeded"));
        health.replied(false);
        assert!(health.is_wedged(), "an empty reply proves nothing");
        health.replied(true);
        assert_eq!((health.runtime_state(), health.sample_error()), ("", ""));
    }

    #[test]
    fn the_error_that_set_the_wedge_is_the_one_that_is_shown() {
        let mut health = Health::new(&[]);
        health.failed("Error 401 Unauthorized: first");
        health.failed("insufficient_quota: second");
        assert_eq!(health.sample_error(), "Error 401 Unauthorized: first");
        health.replied(true);
        assert_eq!(health.sample_error(), "insufficient_quota: second", "the rate still has it");
    }

    // F18
    #[test]
    fn own_signs_take_the_place_of_the_usual_ones() {
        let mut health = Health::new(&["  Out Of Cheese ".to_owned(), String::new()]);
        health.failed("401 unauthorized");
        assert!(!health.is_wedged());
        health.failed("error: out of cheese, redo from start");
        assert!(health.is_wedged());
    }

    // F18
    #[test]
    fn the_rate_forgets_what_is_long_past() {
        let mut health = Health::new(&[]);
        health.failed("once");
        assert!((health.error_rate() - 1.0).abs() < f64::EPSILON);
        (0..WINDOW).for_each(|_| health.replied(true));
        assert!(health.error_rate().abs() < f64::EPSILON);
        assert_eq!(health.sample_error(), "");
    }
}
