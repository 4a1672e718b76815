//! The audit log: who did what to which, in a chain that cannot be edited unseen (F35).
//!
//! ```text
//!   entry 1 ── hash 1 ──▶ entry 2 ── hash 2 ──▶ entry 3 ── hash 3 = head
//!   hash n = SHA-256 (everything in entry n, and hash n-1)
//! ```
//!
//! An entry outlives what it speaks of, so that it holds names and ids as text and points to nothing. What was read
//! back stays text too: an edited row must reach the check that finds it, instead of failing to be read.

mod details;

pub use details::AuditDetails;

use std::fmt;

use sha2::{Digest, Sha256};

use crate::{OrgId, Principal, Timestamp, TokenId};

macro_rules! audit_words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$variant_doc])* $variant),* }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),* }
            }

            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.as_str() == text)
            }
        }
    };
}

audit_words! {
    /// What was done. A word never changes its meaning.
    AuditAction {
        WorkspaceCreated = "workspace.created",
        WorkspaceChanged = "workspace.changed",
        WorkspaceRestarted = "workspace.restarted",
        WorkspaceReset = "workspace.reset",
        WorkspaceRemoved = "workspace.removed",
        /// What a workspace may spend in a month was set, or the limit taken away.
        BudgetSet = "budget.set",
        /// A runtime was taken in, with a credential of its own.
        RuntimeRegistered = "runtime.registered",
        /// A runtime changed its agent card, and with it perhaps where its messages go.
        RuntimeCardChanged = "runtime.card_changed",
        /// An operator had a sweep run now.
        SweepRun = "sweep.run",
        /// Somebody took a copy of everything.
        BackupTaken = "backup.taken",
        /// All messages that waited for a workspace were dropped.
        QueueCleared = "queue.cleared",
        /// A workspace was made that is kept in less strictly than usual; the details name the knobs.
        IsolationRelaxed = "workspace.isolation_relaxed",
        TokenCreated = "token.created",
        TokenRevoked = "token.revoked",
        SignedIn = "session.started",
        SignedOut = "session.ended",
        /// A person was taken into an org: by an operator, an invitation or a sign-in provider.
        UserJoined = "user.joined",
        /// A person's name, role or rights were changed.
        UserChanged = "user.changed",
        /// A person left an org, or was taken out of it.
        UserLeft = "user.left",
        /// A person may not come in any more, in any org.
        UserRemoved = "user.removed",
        /// Somebody made a sign-in link for a person.
        SignInLinkMade = "user.link_made",
        InvitationCreated = "invitation.created",
        InvitationRevoked = "invitation.revoked",
        InvitationUsed = "invitation.used",
        OrgCreated = "org.created",
        OrgChanged = "org.changed",
        OrgRemoved = "org.removed",
        SecretSet = "secret.set",
        SecretRemoved = "secret.removed",
        SecretKeyRotated = "secret.key_rotated",
        /// Who Warren signs in as at a registry of images was set.
        ImageLoginSet = "image_login.set",
        ImageLoginRemoved = "image_login.removed",
        WebhookCreated = "webhook.created",
        WebhookChanged = "webhook.changed",
        WebhookRemoved = "webhook.removed",
        ChannelCreated = "channel.created",
        ChannelRemoved = "channel.removed",
        ScheduleCreated = "schedule.created",
        ScheduleChanged = "schedule.changed",
        ScheduleRemoved = "schedule.removed",
        /// Somebody had a schedule fire now.
        ScheduleRun = "schedule.run",
        ApprovalApproved = "approval.approved",
        ApprovalDenied = "approval.denied",
        /// A rule about tool calls was made, by itself or with an approval.
        ToolRuleCreated = "tool_rule.created",
        ToolRuleRevoked = "tool_rule.revoked",
        /// A template was stored, new or in place of another.
        TemplateStored = "template.stored",
        TemplateRemoved = "template.removed",
        /// Somebody reached for what is not theirs and was told that it does not exist.
        AccessRefused = "access.refused",
    }
}

audit_words! {
    /// What kind of thing it was done to.
    AuditTargetKind {
        Workspace = "workspace",
        /// By name.
        Sweep = "sweep",
        Token = "token",
        /// By name; the details say whose.
        Secret = "secret",
        SecretKey = "secret_key",
        /// A registry of images, by its host.
        ImageRegistry = "image_registry",
        Webhook = "webhook",
        Channel = "channel",
        Schedule = "schedule",
        Approval = "approval",
        ToolRule = "tool_rule",
        /// By name.
        Template = "template",
        User = "user",
        Invitation = "invitation",
        Org = "org",
        /// By what is in it: `all` or `files`.
        Backup = "backup",
    }
}

audit_words! {
    AuditOutcome {
        Done = "done",
        Refused = "refused",
    }
}

/// SHA-256 over an entry and all before it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct AuditHash(pub [u8; 32]);

impl AuditHash {
    /// What stands before the first entry.
    pub const BEGINNING: Self = Self([0; 32]);

    /// Reads 64 lower-case hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        let is_hex = text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if !is_hex {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, at) in bytes.iter_mut().zip((0..64).step_by(2)) {
            *byte = u8::from_str_radix(&text[at..at + 2], 16).ok()?;
        }
        Some(Self(bytes))
    }
}

impl fmt::Display for AuditHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for AuditHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AuditHash({self})")
    }
}

/// The end of the log. Noted elsewhere, it shows later whether the log was cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditHead {
    /// 0 for an empty log.
    pub seq: u64,
    pub hash: AuditHash,
}

impl AuditHead {
    pub const EMPTY: Self = Self { seq: 0, hash: AuditHash::BEGINNING };

    /// Reads `SEQ:HASH`.
    pub fn parse(text: &str) -> Option<Self> {
        let (seq, hash) = text.split_once(':')?;
        Some(Self { seq: seq.parse().ok()?, hash: AuditHash::parse(hash)? })
    }
}

impl fmt::Display for AuditHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.seq, self.hash)
    }
}

/// Something to be recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct NewAuditEntry {
    pub at: Timestamp,
    pub org_id: OrgId,
    pub principal: Principal,
    /// The credential that was used; absent where Warren itself acts.
    pub token: Option<(TokenId, String)>,
    pub action: AuditAction,
    pub target_kind: AuditTargetKind,
    pub target_id: String,
    pub outcome: AuditOutcome,
    /// The request's id, as it stands in the log.
    pub request_id: Option<String>,
    /// A small JSON object. Names and counts; never a secret, never a file's contents.
    pub details: serde_json::Value,
}

/// An entry as it stands in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// Counts from 1 without gaps.
    pub seq: u64,
    pub at: Timestamp,
    pub org_id: OrgId,
    pub principal: String,
    pub token_id: Option<TokenId>,
    pub token_prefix: Option<String>,
    pub action: String,
    pub target_kind: String,
    pub target_id: String,
    pub outcome: String,
    pub request_id: Option<String>,
    /// JSON with sorted keys.
    pub details: String,
    pub previous_hash: AuditHash,
    pub hash: AuditHash,
}

impl AuditEntry {
    /// The entry that follows `head`.
    pub fn following(head: AuditHead, new: &NewAuditEntry) -> Self {
        let mut entry = Self {
            seq: head.seq + 1,
            at: new.at,
            org_id: new.org_id,
            principal: new.principal.to_string(),
            token_id: new.token.as_ref().map(|(id, _)| *id),
            token_prefix: new.token.as_ref().map(|(_, prefix)| prefix.clone()),
            action: new.action.as_str().to_owned(),
            target_kind: new.target_kind.as_str().to_owned(),
            target_id: new.target_id.clone(),
            outcome: new.outcome.as_str().to_owned(),
            request_id: new.request_id.clone(),
            details: canonical_json(&new.details),
            previous_hash: head.hash,
            hash: AuditHash::BEGINNING,
        };
        entry.hash = entry.digest();
        entry
    }

    pub fn head(&self) -> AuditHead {
        AuditHead { seq: self.seq, hash: self.hash }
    }

    /// The hash that belongs to what the entry says. Each part has its length in front, and an absent one differs from
    /// an empty one, so that no two entries have the same bytes.
    pub fn digest(&self) -> AuditHash {
        let mut hasher = Sha256::new();
        hasher.update(b"warren.audit.1");
        let mut part = |bytes: Option<&[u8]>| match bytes {
            Some(bytes) => {
                hasher.update([1]);
                hasher.update((bytes.len() as u64).to_be_bytes());
                hasher.update(bytes);
            }
            None => hasher.update([0]),
        };
        part(Some(&self.seq.to_be_bytes()));
        part(Some(&self.at.as_micros().to_be_bytes()));
        part(Some(self.org_id.as_bytes()));
        part(Some(self.principal.as_bytes()));
        part(self.token_id.as_ref().map(|id| id.as_bytes().as_slice()));
        part(self.token_prefix.as_deref().map(str::as_bytes));
        part(Some(self.action.as_bytes()));
        part(Some(self.target_kind.as_bytes()));
        part(Some(self.target_id.as_bytes()));
        part(Some(self.outcome.as_bytes()));
        part(self.request_id.as_deref().map(str::as_bytes));
        part(Some(self.details.as_bytes()));
        part(Some(&self.previous_hash.0));
        AuditHash(hasher.finalize().into())
    }
}

/// JSON in one spelling: keys sorted, no spaces. What one program wrote, another hashes to the same.
pub fn canonical_json(value: &serde_json::Value) -> String {
    use serde_json::Value;
    match value {
        Value::Object(fields) => {
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort();
            let parts = names.into_iter().map(|name| {
                format!("{}:{}", Value::from(name.as_str()), canonical_json(&fields[name.as_str()]))
            });
            format!("{{{}}}", parts.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => {
            let parts: Vec<String> = items.iter().map(canonical_json).collect();
            format!("[{}]", parts.join(","))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn new_entry() -> NewAuditEntry {
        NewAuditEntry {
            at: Timestamp::from_micros(5),
            org_id: OrgId::DEFAULT,
            principal: Principal::system("test"),
            token: Some((TokenId::from_bytes([3; 16]), "wrn_user_abcd".into())),
            action: AuditAction::SecretSet,
            target_kind: AuditTargetKind::Secret,
            target_id: "API_KEY".into(),
            outcome: AuditOutcome::Done,
            request_id: None,
            details: json!({ "b": [1, null, "x"], "a": { "d": true, "c": "é\"" } }),
        }
    }

    // F35
    #[test]
    fn every_field_of_an_entry_changes_its_hash() {
        let entry = AuditEntry::following(AuditHead::EMPTY, &new_entry());
        assert_eq!(entry.hash, entry.digest());
        let text = |text: &str| text.to_owned();
        let others = [
            AuditEntry { seq: 2, ..entry.clone() },
            AuditEntry { at: Timestamp::from_micros(6), ..entry.clone() },
            AuditEntry { org_id: OrgId::from_bytes([1; 16]), ..entry.clone() },
            AuditEntry { principal: text("user:x"), ..entry.clone() },
            AuditEntry { token_id: None, ..entry.clone() },
            AuditEntry { token_prefix: None, ..entry.clone() },
            AuditEntry { action: text("secret.removed"), ..entry.clone() },
            AuditEntry { target_kind: text("token"), ..entry.clone() },
            AuditEntry { target_id: text("API_KEX"), ..entry.clone() },
            AuditEntry { outcome: text("refused"), ..entry.clone() },
            AuditEntry { request_id: Some(String::new()), ..entry.clone() },
            AuditEntry { details: text("{}"), ..entry.clone() },
            AuditEntry { previous_hash: AuditHash([1; 32]), ..entry.clone() },
            // The same letters in other fields.
            AuditEntry { target_kind: text("secretAPI"), target_id: text("_KEY"), ..entry.clone() },
        ];
        for other in others {
            assert_ne!(other.digest(), entry.hash, "{other:?}");
        }
    }

    // F35
    #[test]
    fn details_have_one_spelling_whatever_the_order_of_their_keys() {
        assert_eq!(canonical_json(&new_entry().details), r#"{"a":{"c":"é\"","d":true},"b":[1,null,"x"]}"#);
        let again: serde_json::Value = serde_json::from_str(&canonical_json(&new_entry().details)).unwrap();
        assert_eq!(canonical_json(&again), canonical_json(&new_entry().details));
    }

    // F35: an exported head is read back by later versions, so that its form is fixed here
    #[test]
    fn a_head_survives_its_text_and_the_hash_of_a_known_entry_stays_the_same() {
        let head = AuditEntry::following(AuditHead::EMPTY, &new_entry()).head();
        assert_eq!(AuditHead::parse(&head.to_string()), Some(head));
        for bad in ["", "1", "1:", "x:00", "1:00", &format!("1:{}", "G".repeat(64))] {
            assert_eq!(AuditHead::parse(bad), None, "{bad}");
        }
        assert_eq!(head.hash.to_string(), "383a39c54292b793e5934f5586c315ec183cf158e172388a415b01fe852d47db");
    }

    #[test]
    fn words_are_unique() {
        for action in AuditAction::ALL {
            assert_eq!(AuditAction::parse(action.as_str()), Some(*action));
        }
        for kind in AuditTargetKind::ALL {
            assert_eq!(AuditTargetKind::parse(kind.as_str()), Some(*kind));
        }
    }
}
