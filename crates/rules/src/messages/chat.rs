//! What a conversation shows, and in which order (X30, X34, X35).

use serde_json::json;
use warren_model::{ChatMessageId, Content, Conversation, Part, Role, Task, TaskUpdate};

use crate::{messages::memory, messages::tasks};

/// Of the words of one message; what is behind them is not found.
pub const MAX_SEARCHED_BYTES: usize = 64 << 10;
/// Words that one search may have.
pub const MAX_QUERY_WORDS: usize = 16;

/// The id of the next message. Clocks differ and two messages may be of one millisecond: what is said later still comes
/// later, since its id is greater than all before it.
pub fn next_id(fresh: ChatMessageId, last: Option<ChatMessageId>) -> ChatMessageId {
    match last {
        Some(last) if fresh <= last => {
            let next = u128::from_be_bytes(*last.as_bytes()).saturating_add(1);
            ChatMessageId::from_bytes(next.to_be_bytes())
        }
        Some(_) | None => fresh,
    }
}

/// Why nothing more is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Full {
    #[error("a workspace has at most {max} conversations")]
    Conversations { max: u64 },
    #[error("a conversation has at most {max} messages")]
    Messages { max: u64 },
}

/// Whether a workspace with so many conversations may have another.
pub fn admit_conversation(conversations: u64, max: u64) -> Result<(), Full> {
    if conversations < max { Ok(()) } else { Err(Full::Conversations { max }) }
}

/// Whether somebody may say another thing there. The answer to what was accepted is shown however many there are: it is
/// owed, and there is at most one for each message.
pub fn admit_message(conversation: &Conversation, max: u64) -> Result<(), Full> {
    if conversation.messages < max { Ok(()) } else { Err(Full::Messages { max }) }
}

/// What is wrong with a title.
pub fn title_problem(title: &str) -> Option<String> {
    let max = Conversation::MAX_TITLE_BYTES;
    let is_good =
        (1..=max).contains(&title.trim().len()) && title.len() <= max && !title.chars().any(char::is_control);
    (!is_good).then(|| format!("title: expected 1 to {max} bytes without control characters"))
}

/// What an agent's turn came to, as it is shown: what it said at its end, and what its work left behind. An artifact that
/// says the same as the words before it is not shown twice.
pub fn answer(task: &Task, updates: &[TaskUpdate]) -> Vec<Part> {
    let mut parts = said_last(updates);
    if task.state.is_final() {
        let artifacts = task.artifacts.iter().flat_map(|artifact| &artifact.parts);
        for part in artifacts {
            if !parts.iter().any(|known| known.content == part.content) {
                parts.push(part.clone());
            }
        }
    }
    if parts.is_empty() { last_words(task) } else { parts }
}

/// What was said with the last state, or as an answer of its own; a word about work under way is none.
fn said_last(updates: &[TaskUpdate]) -> Vec<Part> {
    let said = updates.iter().rev().find_map(|update| match update {
        TaskUpdate::Status { state, message: Some(message), .. }
            if state.is_final() || state.is_interrupted() =>
        {
            Some(message)
        }
        TaskUpdate::Message(message) => Some(message),
        TaskUpdate::Status { .. } | TaskUpdate::Artifact { .. } | TaskUpdate::Metadata(_) => None,
    });
    said.map(|message| message.parts.clone()).unwrap_or_default()
}

/// The last that the agent said in answer to the last message to it.
fn last_words(task: &Task) -> Vec<Part> {
    let said = task.status_message.as_ref().or_else(|| {
        let turn = task.history.iter().rev().take_while(|message| message.role == Role::Agent);
        turn.into_iter().next()
    });
    said.map(|message| message.parts.clone()).unwrap_or_default()
}

/// Keeps what fits, and says in the place of the rest what was left out and where it is.
pub fn fit(parts: Vec<Part>, max_bytes: usize) -> Vec<Part> {
    let mut left = max_bytes;
    let mut kept = Vec::with_capacity(parts.len().min(tasks::MAX_PARTS));
    let mut left_out = (0_u64, 0_u64);
    for part in parts {
        let bytes = tasks::part_size(&part);
        if bytes <= left && kept.len() < tasks::MAX_PARTS {
            left -= bytes;
            kept.push(part);
        } else {
            left_out = (left_out.0 + 1, left_out.1 + bytes as u64);
        }
    }
    if left_out.0 > 0 {
        kept.push(Part::data(
            json!({ "left_out": { "parts": left_out.0, "bytes": left_out.1, "see": "task" } }),
        ));
    }
    kept
}

/// What a message is found by (X35): the words of its texts and file names, spelled as for memory.
pub fn words_of(parts: &[Part]) -> String {
    let mut found = String::new();
    for part in parts {
        let said = match &part.content {
            Content::Text(said) => Some(said.as_str()),
            Content::Raw(_) | Content::Url(_) | Content::Data(_) => None,
        };
        for word in said.into_iter().chain(part.filename.as_deref()).flat_map(memory::words) {
            if found.len() + word.len() + 1 > MAX_SEARCHED_BYTES {
                return found;
            }
            if !found.is_empty() {
                found.push(' ');
            }
            found.push_str(&word);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use warren_model::{Artifact, Message, OrgId, Principal, TaskId, TaskState, Timestamp, WorkspaceId};

    use super::*;

    fn chat_id(ms: i64, random: u8) -> ChatMessageId {
        ChatMessageId::from_parts(Timestamp::from_micros(ms * 1_000), [random; 10])
    }

    fn task(state: TaskState) -> Task {
        let at = Timestamp::from_micros(1);
        let (id, place) = (TaskId::from_parts(at, [1; 10]), WorkspaceId::from_parts(at, [2; 10]));
        Task {
            state,
            history: vec![Message::new("q", Role::User, vec![Part::text("question")])],
            ..Task::submitted(id, OrgId::DEFAULT, place, "c", Principal::system("asker"), at)
        }
    }

    fn says(state: TaskState, text: &str) -> TaskUpdate {
        let message = Message::new("a", Role::Agent, vec![Part::text(text)]);
        TaskUpdate::Status { state, message: Some(message), at: Timestamp::from_micros(2) }
    }

    fn artifact(parts: Vec<Part>) -> Artifact {
        Artifact {
            id: "a".into(),
            name: None,
            description: None,
            parts,
            metadata: serde_json::Map::new(),
            extensions: Vec::new(),
        }
    }

    // X30
    #[test]
    fn a_later_message_has_a_greater_id_whatever_the_clock_says() {
        let last = chat_id(1_000, 200);
        for fresh in [chat_id(1_000, 3), chat_id(1, 255), last] {
            let next = next_id(fresh, Some(last));
            assert!(next > last, "{next}");
            assert_eq!(next.to_string().parse(), Ok(next), "still one that has a spelling");
        }
        assert_eq!(next_id(chat_id(1_001, 0), Some(last)), chat_id(1_001, 0));
        assert_eq!(next_id(last, None), last);
    }

    // X30
    #[test]
    fn an_answer_is_what_was_said_at_the_end_and_what_the_work_left_behind() {
        let mut done = task(TaskState::Completed);
        let updates = [says(TaskState::Working, "hm"), says(TaskState::Completed, "here")];
        assert_eq!(answer(&done, &updates), [Part::text("here")]);
        done.artifacts = vec![artifact(vec![Part::text("here"), Part::data(json!(1))])];
        assert_eq!(
            answer(&done, &updates),
            [Part::text("here"), Part::data(json!(1))],
            "the same is said once"
        );
        assert_eq!(
            answer(&done, &updates[..1]),
            [Part::text("here"), Part::data(json!(1))],
            "`hm` is no answer"
        );
        let asks = Task { state: TaskState::InputRequired, ..done.clone() };
        assert_eq!(answer(&asks, &[says(TaskState::InputRequired, "which?")]), [Part::text("which?")]);
    }

    // X30
    #[test]
    fn without_last_words_the_status_counts_and_never_what_the_other_side_said() {
        let mut done = task(TaskState::Completed);
        assert_eq!(answer(&done, &[]), []);
        done.status_message = Some(Message::new("s", Role::Agent, vec![Part::text("status")]));
        assert_eq!(answer(&done, &[]), [Part::text("status")]);
    }

    // X30, X31
    #[test]
    fn a_full_conversation_takes_no_message_and_a_full_workspace_no_conversation() {
        let at = Timestamp::from_micros(1);
        let mut row = Conversation {
            id: warren_model::ConversationId::from_parts(at, [1; 10]),
            org_id: OrgId::DEFAULT,
            workspace_id: WorkspaceId::from_parts(at, [2; 10]),
            title: "talk".into(),
            author: Principal::system("asker"),
            messages: 0,
            last_message: None,
            created_at: at,
            updated_at: at,
            version: 1,
        };
        for (messages, expected) in [(0, Ok(())), (1, Ok(())), (2, Err(Full::Messages { max: 2 }))] {
            row.messages = messages;
            assert_eq!(admit_message(&row, 2), expected);
        }
        assert_eq!(admit_message(&row, 0).unwrap_err().to_string(), "a conversation has at most 0 messages");
        assert_eq!(admit_conversation(1, 2), Ok(()));
        assert_eq!(admit_conversation(2, 2), Err(Full::Conversations { max: 2 }));
    }

    // X5, X30
    #[test]
    fn what_does_not_fit_is_named_and_never_cut() {
        let big = Part::text("x".repeat(60));
        let kept = fit(vec![Part::text("small"), big.clone(), Part::text("last")], 50);
        let left_out = json!({ "left_out": { "parts": 1, "bytes": 60, "see": "task" } });
        assert_eq!(kept, [Part::text("small"), Part::text("last"), Part::data(left_out)]);
        assert_eq!(fit(vec![big.clone()], 60), [big]);
    }

    // X30
    #[test]
    fn titles_are_short_lines() {
        for good in ["a", &"x".repeat(200), "größe"] {
            assert_eq!(title_problem(good), None, "{good}");
        }
        for bad in ["", "  ", "a\nb", &"x".repeat(201)] {
            assert!(title_problem(bad).is_some(), "{bad}");
        }
    }

    // X35
    #[test]
    fn a_message_is_found_by_its_texts_and_the_names_of_its_files() {
        let file = Part { filename: Some("Report.pdf".into()), ..Part::data(json!("hidden")) };
        assert_eq!(words_of(&[Part::text("See it, GRÖSSE"), file]), "see it grösse report pdf");
        let long: Vec<Part> = (0..100).map(|_| Part::text("word ".repeat(1_000))).collect();
        let kept = words_of(&long);
        assert!(kept.len() <= MAX_SEARCHED_BYTES && kept.ends_with("word"), "{}", kept.len());
    }
}
