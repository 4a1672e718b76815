use clap::Subcommand;

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
