use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// List entries, oldest first
    Ls(AuditListArguments),
    /// Check that nothing in the log was changed, removed or moved, and name the first entry that was
    ///
    /// Every hash is computed here, from what the server, the database or the file says.
    Verify(AuditVerifyArguments),
    /// Print the end of the log as NUMBER:HASH, to be noted elsewhere
    Head,
}

#[derive(Debug, Args)]
pub(crate) struct AuditListArguments {
    /// What it was done to, as KIND or KIND:ID, such as `workspace:01985f3e-…` or `secret:API_KEY`
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: Option<String>,
    /// Who did it, as KIND:ID
    #[arg(long, value_name = "PRINCIPAL")]
    pub(crate) principal: Option<String>,
    /// What was done, such as `token.created`
    #[arg(long, value_name = "ACTION")]
    pub(crate) action: Option<String>,
    /// From this time on, such as 2026-11-15T09:30:00Z
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Before this time
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    /// Only entries after this number
    #[arg(long, value_name = "NUMBER")]
    pub(crate) after: Option<u64>,
    /// Stop after this many
    #[arg(long, value_name = "COUNT")]
    pub(crate) limit: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct AuditVerifyArguments {
    /// A head that was noted earlier: shows also whether the log was cut or written anew since
    #[arg(long, value_name = "NUMBER:HASH")]
    pub(crate) head: Option<String>,
    /// Check what `warren audit ls --json` wrote to this file, without a server
    #[arg(long, value_name = "FILE", conflicts_with = "database")]
    pub(crate) file: Option<PathBuf>,
    /// Check this database (`sqlite:PATH` or `postgres://…`), without a server
    #[arg(long, value_name = "URL")]
    pub(crate) database: Option<String>,
}
