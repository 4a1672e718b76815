//! Who remembers what with whom, what is found by which words, and what is never remembered (X50).
//!
//! A team is a workspace with all below it. Something written for the team goes to the team that the writer is *in*: that
//! of its parent, so that siblings share it; a root leads the only team it is in. What a team knows, all below know too,
//! so that a workspace reads the team it leads and those of all its ancestors: the family of X3, without its siblings' own
//! teams, and without a look from above into the teams below.

mod scrub;

pub use scrub::{Scrubbed, scrub};

use warren_model::{Memory, MemoryPlace, MemoryScope, OrgId, PeerCircle, PeerPolicy, Timestamp, WorkspaceId};

/// Words of one query.
pub const MAX_QUERY_WORDS: usize = 16;
/// Words of one memory that it is found by; the rest of a long text is not searched.
const MAX_WORDS: usize = 4_000;
const MAX_WORD_CHARACTERS: usize = 64;

/// Where a workspace stands.
#[derive(Debug, Clone, Copy)]
pub struct Standpoint<'a> {
    pub id: WorkspaceId,
    pub org_id: OrgId,
    /// The way to the root, the nearest first, without itself.
    pub above: &'a [WorkspaceId],
}

/// Where something goes that a workspace writes.
pub fn place_of(scope: MemoryScope, from: Standpoint<'_>) -> MemoryPlace {
    match scope {
        MemoryScope::Local => MemoryPlace::Local(from.id),
        MemoryScope::Team => MemoryPlace::Team(from.above.first().copied().unwrap_or(from.id)),
        MemoryScope::Org => MemoryPlace::Org(from.org_id),
    }
}

/// Whether an agent may change what is remembered there. What it tells its org reaches agents that it could not talk to, so
/// that it takes the same policy: one that was talked into something speaks to its family at most, unless its circle is
/// the org.
pub fn may_agent_write(scope: MemoryScope, peers: Option<&PeerPolicy>) -> bool {
    match scope {
        MemoryScope::Local | MemoryScope::Team => true,
        MemoryScope::Org => peers.is_some_and(|policy| policy.circle == PeerCircle::Org),
    }
}

/// Where a workspace may look, the nearest first: of two memories under one key, the first counts.
pub fn places_of(scope: MemoryScope, from: Standpoint<'_>) -> Vec<MemoryPlace> {
    match scope {
        MemoryScope::Local | MemoryScope::Org => vec![place_of(scope, from)],
        MemoryScope::Team => {
            let written = place_of(scope, from);
            let others = std::iter::once(from.id).chain(from.above.iter().copied()).map(MemoryPlace::Team);
            std::iter::once(written).chain(others.filter(|other| *other != written)).collect()
        }
    }
}

/// Whether a key can be one. It stands in the path of a request, where nobody can write `.` or `..`.
pub fn is_key(key: &str) -> bool {
    !matches!(key, "." | "..")
        && (1..=Memory::MAX_KEY_CHARACTERS).contains(&key.chars().count())
        && !key.chars().any(char::is_control)
}

/// The words of a text, in one spelling: both databases find by these, so that they find the same.
pub fn words(text: &str) -> Vec<String> {
    let words = text.split(|one: char| !one.is_alphanumeric()).filter(|word| !word.is_empty());
    let spelled =
        words.map(|word| word.chars().flat_map(char::to_lowercase).take(MAX_WORD_CHARACTERS).collect());
    spelled.take(MAX_WORDS).collect()
}

/// What a memory is found by.
pub fn words_of(key: &str, value: &str) -> String {
    let all: Vec<String> = words(key).into_iter().chain(words(value)).take(MAX_WORDS).collect();
    all.join(" ")
}

/// How well a memory answers a query, all of whose words begin one of its own: words of the key count most, then how often
/// they come, then how new it is. The order is decided here and not by the database, so that every database has the same.
pub fn rank(query: &[String], memory: &Memory) -> (usize, usize, Timestamp) {
    let key = words(&memory.key);
    let begins = |word: &str| query.iter().any(|wanted| word.starts_with(wanted.as_str()));
    let in_key = key.iter().filter(|word| begins(word)).count();
    let in_all = memory.words.split(' ').filter(|word| begins(word)).count();
    (in_key, in_all, memory.updated_at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use warren_model::{MemoryId, Principal};

    use super::*;

    fn id(seed: u8) -> WorkspaceId {
        WorkspaceId::from_bytes([seed; 16])
    }

    fn at(seed: u8, above: &[WorkspaceId]) -> Standpoint<'_> {
        Standpoint { id: id(seed), org_id: OrgId::DEFAULT, above }
    }

    /// Whether what one writes for its team is read by another.
    fn shares(writer: Standpoint<'_>, reader: Standpoint<'_>) -> bool {
        places_of(MemoryScope::Team, reader).contains(&place_of(MemoryScope::Team, writer))
    }

    // X50
    #[test]
    fn a_team_is_a_workspace_with_all_below_it() {
        // root 1: children 2 and 3; 2 has 4 and 5; another root 6.
        let (root, two, three) = (at(1, &[]), [id(1)], [id(1)]);
        let below_two = [id(2), id(1)];
        let (lead, other_lead) = (at(2, &two), at(3, &three));
        let (worker, sibling) = (at(4, &below_two), at(5, &below_two));
        let stranger = at(6, &[]);
        assert!(shares(worker, sibling) && shares(sibling, worker), "siblings share");
        assert!(shares(worker, lead) && shares(lead, worker), "a lead reads its team, and its team reads it");
        assert!(shares(lead, other_lead) && shares(root, worker) && shares(lead, root));
        assert!(
            !shares(worker, other_lead) && !shares(worker, root),
            "nobody looks into the teams below its own"
        );
        assert!(!shares(stranger, root) && !shares(root, stranger), "two roots are no team");
        for reader in [root, lead, worker, stranger] {
            assert_eq!(places_of(MemoryScope::Local, reader), [MemoryPlace::Local(reader.id)]);
            assert_eq!(places_of(MemoryScope::Org, reader), [MemoryPlace::Org(OrgId::DEFAULT)]);
        }
        let read = [id(2), id(4), id(1)].map(MemoryPlace::Team);
        assert_eq!(places_of(MemoryScope::Team, worker), read, "its own team comes first");
    }

    // X50
    #[test]
    fn words_have_one_spelling() {
        assert_eq!(
            words("Deploy-KEY: foo_bar, Zürich 日本 v1.2"),
            ["deploy", "key", "foo", "bar", "zürich", "日本", "v1", "2"]
        );
        assert_eq!(words(" \n --- "), Vec::<String>::new());
        assert_eq!(words_of("a/b", "C c"), "a b c c");
    }

    // X50
    #[test]
    fn a_hit_in_the_key_comes_before_many_in_the_value_and_these_before_newer_ones() {
        let memory = |key: &str, value: &str, at: i64| Memory {
            id: MemoryId::from_bytes([0; 16]),
            org_id: OrgId::DEFAULT,
            place: MemoryPlace::Org(OrgId::DEFAULT),
            key: key.into(),
            value: value.into(),
            words: words_of(key, value),
            masked: 0,
            author: Principal::system("x"),
            workspace_id: id(1),
            task_id: None,
            created_at: Timestamp::from_micros(at),
            updated_at: Timestamp::from_micros(at),
            expires_at: None,
            version: 1,
        };
        let query = words("Deploy");
        let mut found = [
            memory("notes", "deploy", 9),
            memory("notes", "deploy deployment deploy", 1),
            memory("deploy", "how", 0),
            memory("notes", "deploy", 10),
        ];
        found.sort_by_key(|one| std::cmp::Reverse(rank(&query, one)));
        assert_eq!(found.map(|one| one.updated_at.as_micros()), [0, 1, 10, 9]);
    }

    #[test]
    fn keys_are_short_and_clean() {
        assert!(is_key("a/b c") && is_key(&"é".repeat(200)));
        assert!(is_key("...") && !is_key(".") && !is_key(".."));
        assert!(!is_key("") && !is_key("a\n") && !is_key(&"x".repeat(201)));
    }

    proptest! {
        // X50: what is written for a team is read by the writer
        #[test]
        fn a_writer_reads_what_it_wrote(above in proptest::collection::vec(2_u8..200, 0..8)) {
            let above: Vec<WorkspaceId> = above.into_iter().map(id).collect();
            let from = Standpoint { id: id(1), org_id: OrgId::DEFAULT, above: &above };
            for scope in MemoryScope::ALL {
                prop_assert_eq!(places_of(*scope, from)[0], place_of(*scope, from));
            }
        }

        // X50: no text makes a query that a database could misread
        #[test]
        fn words_are_letters_and_digits_only(text in any::<String>()) {
            for word in words(&text) {
                prop_assert!(!word.is_empty() && word.chars().all(|one| !one.is_ascii() || one.is_ascii_alphanumeric()), "{}", word);
            }
        }
    }
}
