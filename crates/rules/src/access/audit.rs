//! Whether the audit log is still what was written (F35), and how much of what was refused goes into it.

use warren_model::{AuditEntry, AuditHead, MountMode, ProviderConfig, Timestamp};

/// Where the log stops being what was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The first number that does not fit.
    pub seq: u64,
    pub why: BreakKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakKind {
    /// The number is not there, or another stands in its place.
    Missing,
    /// It does not follow the entry before it.
    NotChained,
    /// It says something else than when it was written.
    Edited,
    /// The log ends before this number, which it is known to have had.
    CutOff,
    /// It is not the entry that was noted under this number.
    NotAsNoted,
}

impl BreakKind {
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Missing => "the entry is missing or out of order",
            Self::NotChained => "the entry does not follow the one before it",
            Self::Edited => "the entry says something else than when it was written",
            Self::CutOff => "the log ends before this entry, which it is known to have had",
            Self::NotAsNoted => "the entry is not the one that was noted under this number",
        }
    }
}

/// Walks the log from its first entry, in order.
#[derive(Debug, Clone)]
pub struct Verification {
    head: AuditHead,
    /// Heads that the log is known to have had, until they are passed.
    noted: Vec<AuditHead>,
}

impl Verification {
    /// With heads that were noted earlier, or that the log itself names as its end, a log that was cut or written anew
    /// since is found out.
    pub fn new(noted: impl IntoIterator<Item = AuditHead>) -> Self {
        Self { head: AuditHead::EMPTY, noted: noted.into_iter().filter(|noted| noted.seq > 0).collect() }
    }

    /// Takes the next entry.
    pub fn push(&mut self, entry: &AuditEntry) -> Result<(), Broken> {
        let broken = |why| Err(Broken { seq: self.head.seq + 1, why });
        if entry.seq != self.head.seq + 1 {
            return broken(BreakKind::Missing);
        }
        if entry.hash != entry.digest() {
            return broken(BreakKind::Edited);
        }
        if entry.previous_hash != self.head.hash {
            return broken(BreakKind::NotChained);
        }
        if self.noted.iter().any(|noted| noted.seq == entry.seq && noted.hash != entry.hash) {
            return broken(BreakKind::NotAsNoted);
        }
        self.head = entry.head();
        Ok(())
    }

    /// The log is over.
    pub fn finish(self) -> Result<AuditHead, Broken> {
        if self.noted.iter().any(|noted| noted.seq > self.head.seq) {
            return Err(Broken { seq: self.head.seq + 1, why: BreakKind::CutOff });
        }
        Ok(self.head)
    }
}

/// What in a provider's config keeps a workspace in less strictly than usual: knobs by name, worth an entry of its
/// own. `local` is one: nothing keeps a command in.
pub fn relaxations(config: &ProviderConfig) -> Vec<&'static str> {
    let mut knobs = Vec::new();
    let mut note = |is_set: bool, knob| knobs.extend(is_set.then_some(knob));
    match config {
        ProviderConfig::Memory(_) => {}
        ProviderConfig::Local(_) => note(true, "local"),
        ProviderConfig::Sandbox(sandbox) => {
            note(sandbox.mounts.iter().any(|mount| mount.mode == MountMode::Rw), "mounts.rw");
        }
        ProviderConfig::Docker(docker) => {
            note(docker.mounts.iter().any(|mount| mount.mode == MountMode::Rw), "mounts.rw");
            note(!docker.relax.cap_add.is_empty(), "relax.cap_add");
            note(!docker.relax.ulimits.is_empty(), "relax.ulimits");
            note(!docker.relax.tmpfs.is_empty(), "relax.tmpfs");
            note(docker.relax.memory_swap_mb.is_some(), "relax.memory_swap_mb");
            note(docker.relax.user.is_some(), "relax.user");
        }
    }
    knobs
}

/// Refused attempts of one principal that are written in full within a minute. A program that tries every id must
/// not be able to fill the log with its own failures.
const MAX_REFUSALS_PER_MINUTE: u32 = 10;

/// Refusals within the current minute.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RefusalWindow {
    minute: i64,
    count: u32,
    /// Not written since the last that was.
    left_out: u64,
}

impl RefusalWindow {
    /// The window with one more refusal in it; with a number, it is to be written, and so many before it were not.
    #[must_use]
    pub fn after_refusal(self, now: Timestamp) -> (Self, Option<u64>) {
        let minute = now.as_millis().div_euclid(60_000);
        let count = if minute == self.minute { self.count.saturating_add(1) } else { 1 };
        if count > MAX_REFUSALS_PER_MINUTE {
            return (Self { minute, count, left_out: self.left_out.saturating_add(1) }, None);
        }
        (Self { minute, count, left_out: 0 }, Some(self.left_out))
    }

    /// Whether it can be forgotten: its minute is over and nothing is owed.
    pub fn is_over(&self, now: Timestamp) -> bool {
        now.as_millis().div_euclid(60_000) > self.minute && self.left_out == 0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use warren_model::{
        AuditAction, AuditHash, AuditOutcome, AuditTargetKind, NewAuditEntry, OrgId, Principal,
    };

    use super::*;

    fn log(count: u64) -> Vec<AuditEntry> {
        let mut head = AuditHead::EMPTY;
        let entries = (0..count).map(|number| {
            let new = NewAuditEntry {
                at: Timestamp::from_micros(i64::try_from(number).unwrap()),
                org_id: OrgId::DEFAULT,
                principal: Principal::system("test"),
                token: None,
                action: AuditAction::WorkspaceCreated,
                target_kind: AuditTargetKind::Workspace,
                target_id: format!("w{number}"),
                outcome: AuditOutcome::Done,
                request_id: None,
                details: serde_json::json!({}),
            };
            let entry = AuditEntry::following(head, &new);
            head = entry.head();
            entry
        });
        entries.collect()
    }

    fn verify(entries: &[AuditEntry], noted: Option<AuditHead>) -> Result<AuditHead, Broken> {
        let mut verification = Verification::new(noted);
        entries.iter().try_for_each(|entry| verification.push(entry))?;
        verification.finish()
    }

    fn broken(seq: u64, why: BreakKind) -> Result<AuditHead, Broken> {
        Err(Broken { seq, why })
    }

    // F35
    #[test]
    fn a_whole_log_verifies_to_its_head() {
        for count in [0, 1, 5] {
            let entries = log(count);
            let head = entries.last().map_or(AuditHead::EMPTY, AuditEntry::head);
            assert_eq!(verify(&entries, None), Ok(head));
            assert_eq!(verify(&entries, Some(head)), Ok(head));
        }
        let entries = log(5);
        assert_eq!(verify(&entries, Some(entries[1].head())), Ok(entries[4].head()), "noted on the way");
    }

    // F35, sec/U09
    #[test]
    fn an_edited_deleted_or_moved_entry_is_named() {
        let mut edited = log(5);
        edited[2].target_id = "other".into();
        assert_eq!(verify(&edited, None), broken(3, BreakKind::Edited));
        // Whoever hashes it anew breaks the chain behind it.
        edited[2].hash = edited[2].digest();
        assert_eq!(verify(&edited, None), broken(4, BreakKind::NotChained));

        let mut deleted = log(5);
        deleted.remove(1);
        assert_eq!(verify(&deleted, None), broken(2, BreakKind::Missing));

        let mut swapped = log(5);
        swapped.swap(1, 2);
        assert_eq!(verify(&swapped, None), broken(2, BreakKind::Missing));
        let (one, other) = (swapped[1].seq, swapped[2].seq);
        (swapped[1].seq, swapped[2].seq) = (other, one);
        assert_eq!(verify(&swapped, None), broken(2, BreakKind::Edited));
    }

    // F35, sec/U09
    #[test]
    fn a_log_that_was_cut_is_found_out_by_a_head_that_was_noted() {
        let entries = log(5);
        let noted = entries[4].head();
        assert!(verify(&entries[..3], None).is_ok(), "by itself it looks whole");
        assert_eq!(verify(&entries[..3], Some(noted)), broken(4, BreakKind::CutOff));
    }

    // F35, sec/U09
    #[test]
    fn a_log_that_was_written_anew_is_found_out_by_a_head_that_was_noted() {
        let noted = AuditHead { hash: AuditHash([9; 32]), ..log(5)[2].head() };
        assert_eq!(verify(&log(5), Some(noted)), broken(3, BreakKind::NotAsNoted));
    }

    proptest! {
        // F35: whatever single thing is changed, the first number that does not fit is at or right behind it
        #[test]
        fn any_change_to_any_entry_is_found_where_it_is(count in 1_u64..20, at in 0_usize..20, field in 0..5) {
            let mut entries = log(count);
            let at = at % entries.len();
            let entry = &mut entries[at];
            match field {
                0 => entry.principal.push('x'),
                1 => entry.at = Timestamp::from_micros(-1),
                2 => entry.details.push(' '),
                3 => entry.token_prefix = Some(String::new()),
                _ => entry.hash.0[7] ^= 1,
            }
            prop_assert_eq!(verify(&entries, None), broken(at as u64 + 1, BreakKind::Edited));
        }
    }

    // F35
    #[test]
    fn refusals_are_written_up_to_a_number_and_then_counted() {
        let at = |minute: i64| Timestamp::from_micros(minute * 60_000_000);
        let mut window = RefusalWindow::default();
        for number in 1..=MAX_REFUSALS_PER_MINUTE + 5 {
            let written;
            (window, written) = window.after_refusal(at(1));
            assert_eq!(written, (number <= MAX_REFUSALS_PER_MINUTE).then_some(0), "{number}");
        }
        assert!(!window.is_over(at(2)), "five are owed");
        let (window, written) = window.after_refusal(at(2));
        assert_eq!(written, Some(5));
        assert!(window.is_over(at(3)));
    }
}
