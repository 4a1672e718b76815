use clap::{Args, Subcommand, ValueEnum};

use super::{ImportArguments, Span};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RoleName {
    /// Reads
    Viewer,
    /// Works: makes and uses workspaces, decides approvals
    Member,
    /// Runs the org: people, secrets, tokens
    Operator,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TierName {
    Basic,
    Extended,
    Privileged,
}

#[derive(Debug, Subcommand)]
pub(crate) enum UserCommand {
    /// List the people of the org
    Ls {
        /// Another org, by name (who runs this Warren)
        #[arg(long, value_name = "ORG")]
        org: Option<String>,
        /// Also those who left
        #[arg(long)]
        past: bool,
    },
    /// Show a person
    Show {
        /// By name or id
        user: String,
        /// Another org, by name (who runs this Warren)
        #[arg(long, value_name = "ORG")]
        org: Option<String>,
    },
    /// Take a person into the org; `warren user link` lets them in
    Add(AddUserArguments),
    /// Make an invitation: a link that takes one person in, once
    Invite {
        /// What they may do
        #[arg(long, value_enum, default_value_t = RoleName::Member)]
        role: RoleName,
        /// Only for this address, proven by a sign-in provider
        #[arg(long, value_name = "ADDRESS")]
        email: Option<String>,
        /// How long it is good, such as `12h`, 30 days at most [default: 7 days]
        #[arg(long, value_name = "TIME")]
        expires_in: Option<Span>,
    },
    /// List invitations, and who made and took them
    Invitations,
    /// Take an invitation back that nobody used
    Uninvite {
        /// As `warren user invitations` shows it
        id: String,
    },
    /// Say what a person may do in the org
    Role {
        /// By name or id
        user: String,
        #[arg(value_enum)]
        role: RoleName,
        /// Another org, by name (who runs this Warren)
        #[arg(long, value_name = "ORG")]
        org: Option<String>,
    },
    /// Make a link that signs a person in, once
    Link {
        /// By name or id
        user: String,
    },
    /// Take a person out of the org, and end what lets them in and what acts in their name
    Rm {
        /// By name or id
        user: String,
        /// Another org, by name (who runs this Warren)
        #[arg(long, value_name = "ORG", conflicts_with = "everywhere")]
        org: Option<String>,
        /// Out of all orgs: they come in nowhere any more (who runs this Warren)
        #[arg(long)]
        everywhere: bool,
        /// Leave what acts in their name as it is: schedules, webhooks, channels
        #[arg(long)]
        keep: bool,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct AddUserArguments {
    /// 1 to 63 of a-z, 0-9, `.`, `_`, `-`
    pub(crate) name: String,
    /// What they may do
    #[arg(long, value_enum, default_value_t = RoleName::Member)]
    pub(crate) role: RoleName,
    /// As they want to be called [default: the name]
    #[arg(long, value_name = "TEXT")]
    pub(crate) display_name: Option<String>,
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) email: Option<String>,
    /// Another org, by name (who runs this Warren)
    #[arg(long, value_name = "ORG")]
    pub(crate) org: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum OrgCommand {
    /// List the orgs that you are in; for who runs this Warren, all
    Ls,
    /// Make an org (who runs this Warren)
    Create {
        /// 1 to 63 of a-z, 0-9, `.`, `_`, `-`
        name: String,
        #[command(flatten)]
        quotas: QuotaArguments,
    },
    /// Show an org, how much it has and may have, and change that (who runs this Warren)
    ///
    /// Without flags it only shows. A quota that is named is set; `none` takes it away.
    Set {
        /// By name or id
        org: String,
        /// Another name for it
        #[arg(long, value_name = "NAME")]
        rename: Option<String>,
        #[command(flatten)]
        quotas: QuotaArguments,
    },
    /// Remove an org that has no workspaces any more (who runs this Warren)
    Rm {
        /// By name or id
        org: String,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
    /// Work in another org from now on, with the token at hand
    Use {
        /// By name or id
        org: String,
    },
    /// Make a tree of workspaces, from a document or from a stored template
    ///
    /// Required variables are checked first; if one is missing, nothing is made. Exits with 1 if some could not be made.
    Import(ImportArguments),
}

/// Quotas; `none` takes one away.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub(crate) struct QuotaArguments {
    /// Workspaces, or `none`
    #[arg(long, value_name = "COUNT")]
    pub(crate) max_workspaces: Option<Quota<u32>>,
    /// People, or `none`
    #[arg(long, value_name = "COUNT")]
    pub(crate) max_members: Option<Quota<u32>>,
    /// Sessions that work at the same time, or `none`
    #[arg(long, value_name = "COUNT")]
    pub(crate) max_sessions_running: Option<Quota<u32>>,
    /// What its workspaces may spend in a month, in millionths of the currency's unit, or `none`
    #[arg(long, value_name = "MICROS")]
    pub(crate) monthly_spend_micros: Option<Quota<u64>>,
    /// The highest tier that its operators may give, or `none` for any
    #[arg(long, value_name = "TIER")]
    pub(crate) max_tier: Option<Quota<TierName>>,
}

/// A limit, or that there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quota<T> {
    None,
    At(T),
}

impl std::str::FromStr for TierName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        <Self as ValueEnum>::from_str(text, false)
            .map_err(|_| "expected basic, extended, privileged or none".to_owned())
    }
}

impl<T: std::str::FromStr> std::str::FromStr for Quota<T>
where
    T::Err: std::fmt::Display,
{
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self::None);
        }
        text.parse().map(Self::At).map_err(|error| format!("{error}; or `none`"))
    }
}

impl<T> Quota<T> {
    /// What it is from now on.
    pub(crate) fn value(self) -> Option<T> {
        match self {
            Self::None => None,
            Self::At(value) => Some(value),
        }
    }
}
