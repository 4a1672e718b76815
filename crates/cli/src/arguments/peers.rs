use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct PeersArguments {
    /// By id or name
    pub(crate) workspace: String,
    /// Show the rule instead of whom it lets it talk to
    #[arg(long)]
    pub(crate) policy: bool,
    /// Whom it may talk to unless it says more
    #[arg(long, value_enum)]
    pub(crate) circle: Option<Circle>,
    /// A workspace that it may talk to besides, by id or name; give it once per workspace
    #[arg(long, value_name = "WORKSPACE")]
    pub(crate) allow: Vec<String>,
    /// A workspace that it may not talk to, by id or name; give it once per workspace
    #[arg(long, value_name = "WORKSPACE")]
    pub(crate) deny: Vec<String>,
    /// A workspace about which nothing is said any more, by id or name; give it once per workspace
    #[arg(long, value_name = "WORKSPACE")]
    pub(crate) forget: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Circle {
    /// Nobody but those that are allowed
    Nobody,
    /// Siblings, ancestors and descendants
    Family,
    /// Every workspace of the org
    Org,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DelegationCommand {
    /// Hand work from one workspace to another, and wait for what comes of it
    Send {
        /// Whose work it is, by id or name
        from: String,
        /// Who is to do it: one of `warren peers FROM`, by id or name
        to: String,
        /// What is to be done
        message: String,
        /// Return at once instead of waiting for the end
        #[arg(long)]
        no_wait: bool,
    },
    /// List what a workspace has handed on, the youngest first
    Ls {
        /// By id or name
        workspace: String,
    },
    /// Show what became of it
    Show {
        /// By id or name
        workspace: String,
        /// As `warren delegation ls` shows it
        id: String,
    },
    /// Take work back that was handed on
    Cancel {
        /// By id or name
        workspace: String,
        /// As `warren delegation ls` shows it
        id: String,
    },
}
