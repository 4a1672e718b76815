//! Ids: UUIDv7 with a type, so that a token's id cannot be taken for a workspace's.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

use crate::Timestamp;

/// What an id is the id of.
pub trait IdKind: Send + Sync + 'static {
    /// The noun, for error messages.
    const NOUN: &'static str;
}

/// A typed UUIDv7. Its text form is the lower-case hyphenated one and nothing else, so that one id has one spelling.
pub struct Id<K: IdKind>(Uuid, PhantomData<fn() -> K>);

macro_rules! id_kinds {
    ($($(#[$doc:meta])* $kind:ident, $alias:ident, $noun:literal;)*) => {$(
        #[derive(Debug)]
        pub enum $kind {}
        impl IdKind for $kind {
            const NOUN: &'static str = $noun;
        }
        $(#[$doc])*
        pub type $alias = Id<$kind>;
    )*};
}

id_kinds! {
    /// A workspace: outlives any process or container behind it.
    WorkspaceKind, WorkspaceId, "workspace";
    /// An organization: the boundary between tenants.
    OrgKind, OrgId, "org";
    /// A person.
    UserKind, UserId, "user";
    /// A way into an org, for one person.
    InvitationKind, InvitationId, "invitation";
    /// A token's row; never the secret.
    TokenIdKind, TokenId, "token";
    /// One request, to find its log lines by.
    RequestKind, RequestId, "request";
    /// A piece of work that somebody asked a workspace for.
    TaskKind, TaskId, "task";
    /// One message on its way to a workspace: a row of the queue.
    DeliveryKind, DeliveryId, "delivery";
    /// Work that one workspace handed to another.
    DelegationKind, DelegationId, "delegation";
    /// A chat between people and a workspace.
    ConversationKind, ConversationId, "conversation";
    /// One message of a chat.
    ChatMessageKind, ChatMessageId, "message";
    /// A file that came with a message.
    AttachmentKind, AttachmentId, "attachment";
    /// Messages sent at set times.
    ScheduleKind, ScheduleId, "schedule";
    /// One firing, or skipping, of a schedule.
    ScheduleRunKind, ScheduleRunId, "run";
    /// Something remembered.
    MemoryKind, MemoryId, "memory";
    /// A question that only a person may decide.
    ApprovalKind, ApprovalId, "approval";
    /// A way in or out for other systems.
    WebhookKind, WebhookId, "webhook";
    /// One call of a webhook that is owed.
    WebhookCallKind, WebhookCallId, "webhook call";
    /// A door for messages from other systems.
    ChannelKind, ChannelId, "channel";
    /// A durable conversation with an agent.
    SessionKind, SessionId, "session";
    /// One message to a session.
    SessionMessageKind, SessionMessageId, "message";
    /// A rule about tool calls that a person made.
    ToolRuleKind, ToolRuleId, "rule";
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a {noun} id: expected a lower-case UUID such as 01985f3e-7c1a-7b3c-9d2e-5f6a7b8c9d0e")]
pub struct InvalidId {
    noun: &'static str,
}

impl<K: IdKind> Id<K> {
    /// Builds a UUIDv7 from the time and ten random bytes; both come from outside.
    pub fn from_parts(at: Timestamp, random: [u8; 10]) -> Self {
        let ms = u64::try_from(at.as_millis()).unwrap_or(0);
        Self(uuid::Builder::from_unix_timestamp_millis(ms, &random).into_uuid(), PhantomData)
    }

    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Uuid::from_bytes(bytes), PhantomData)
    }

    pub const fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }
}

impl OrgId {
    /// Warren itself: no workspace and no person belongs to it, so that what it owns reaches nobody.
    pub const WARREN: Self = Self::from_bytes([0, 0, 0, 0, 0, 0, 0x70, 0, 0x80, 0, 0, 0, 0, 0, 0, 3]);
    /// The org of a Warren that has only one.
    pub const DEFAULT: Self = Self::from_bytes([0, 0, 0, 0, 0, 0, 0x70, 0, 0x80, 0, 0, 0, 0, 0, 0, 1]);
}

impl UserId {
    /// The person who started this Warren.
    pub const OPERATOR: Self = Self::from_bytes([0, 0, 0, 0, 0, 0, 0x70, 0, 0x80, 0, 0, 0, 0, 0, 0, 2]);
}

impl<K: IdKind> Clone for Id<K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K: IdKind> Copy for Id<K> {}
impl<K: IdKind> PartialEq for Id<K> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
impl<K: IdKind> Eq for Id<K> {}
impl<K: IdKind> PartialOrd for Id<K> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<K: IdKind> Ord for Id<K> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}
impl<K: IdKind> Hash for Id<K> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}
impl<K: IdKind> fmt::Debug for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", K::NOUN, self.0)
    }
}
impl<K: IdKind> fmt::Display for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

impl<K: IdKind> FromStr for Id<K> {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let invalid = InvalidId { noun: K::NOUN };
        if text.len() != 36 || text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Err(invalid);
        }
        Uuid::try_parse(text).map(|uuid| Self(uuid, PhantomData)).map_err(|_| invalid)
    }
}

impl<K: IdKind> Serialize for Id<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
impl<'de, K: IdKind> Deserialize<'de> for Id<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_exactly_one_spelling() {
        let id = WorkspaceId::from_parts(Timestamp::from_micros(1_700_000_000_000_000), [7; 10]);
        assert_eq!(id.to_string().parse(), Ok(id));
        let upper = id.to_string().to_uppercase();
        let braced = format!("{{{id}}}");
        let bare = id.to_string().replace('-', "");
        for other in [upper.as_str(), &braced, &bare, "", "..", "a/b", "%00"] {
            assert!(other.parse::<WorkspaceId>().is_err(), "{other}");
        }
    }

    #[test]
    fn later_ids_sort_later() {
        let earlier = WorkspaceId::from_parts(Timestamp::from_micros(1_000_000), [255; 10]);
        let later = WorkspaceId::from_parts(Timestamp::from_micros(1_001_000), [0; 10]);
        assert!(earlier < later && earlier.to_string() < later.to_string());
    }
}
