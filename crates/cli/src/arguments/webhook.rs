use clap::{Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(crate) enum WebhookCommand {
    /// Have somebody outside told of events; prints the secret that each call is signed with, once
    Add {
        /// What to call it
        name: String,
        /// Where each event is posted to
        // Not `url`: that is the server's, and clap would take one for the other.
        #[arg(value_name = "URL")]
        receiver: String,
        /// Only this kind of event, such as `workspace.status.changed`; may be given several times [default: all]
        #[arg(long = "event", value_name = "KIND")]
        events: Vec<String>,
        /// Only what happens in this workspace, by id or name
        #[arg(long, value_name = "WORKSPACE")]
        workspace: Option<String>,
    },
    /// List webhooks
    Ls,
    /// List what is and was owed to a webhook, the youngest first
    Calls {
        id: String,
        /// Only those that stand so
        #[arg(long, value_enum)]
        state: Option<CallState>,
    },
    /// Try a call again that was given up or delivered
    Redeliver {
        id: String,
        /// The call, as `calls` lists it
        call: String,
    },
    /// Stop telling: what is owed waits
    Stop { id: String },
    /// Go on telling
    Start { id: String },
    /// Remove a webhook, with what is owed to it
    Rm { id: String },
    /// Open a door through which another system sends messages to a workspace; prints its path and its secret, once
    Open {
        /// The workspace, by id or name
        workspace: String,
        /// What to call it
        name: String,
    },
    /// List the doors of a workspace
    Doors {
        /// The workspace, by id or name
        workspace: String,
    },
    /// Close a door
    Close {
        /// The workspace, by id or name
        workspace: String,
        /// The door, as `doors` lists it
        door: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CallState {
    Queued,
    Delivered,
    Dead,
}

impl CallState {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Delivered => "delivered",
            Self::Dead => "dead",
        }
    }
}
