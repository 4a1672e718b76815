//! What somebody makes with a token and that acts in its name afterwards.

use crate::{ChannelId, ScheduleId, TokenId, WebhookId};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MadeWithToken {
    /// A token that was minted, a browser that signed in by its link, a runtime that registered with its join token.
    Token(TokenId),
    Schedule(ScheduleId),
    Webhook(WebhookId),
    Channel(ChannelId),
}

impl MadeWithToken {
    /// As it is stored and told.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Token(_) => "token",
            Self::Schedule(_) => "schedule",
            Self::Webhook(_) => "webhook",
            Self::Channel(_) => "channel",
        }
    }

    pub fn id(self) -> String {
        match self {
            Self::Token(id) => id.to_string(),
            Self::Schedule(id) => id.to_string(),
            Self::Webhook(id) => id.to_string(),
            Self::Channel(id) => id.to_string(),
        }
    }
}
