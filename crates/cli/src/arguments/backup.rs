use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct BackupArguments {
    /// Where to write it: a new file, a folder that is there, or `-` for standard output
    pub(crate) target: PathBuf,
    /// Also write the keys of secrets, to a file of their own beside it (`FILE.key`); on the server's machine
    #[arg(long)]
    pub(crate) with_key: bool,
    /// Leave the database out: for PostgreSQL, whose own tools back it up
    #[arg(long)]
    pub(crate) files_only: bool,
    /// Read the data folder itself, where no server runs on it
    #[arg(long)]
    pub(crate) offline: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RestoreArguments {
    /// As `warren backup` wrote it
    pub(crate) file: PathBuf,
    /// The keys of secrets, as `warren backup --with-key` wrote them
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
}
