//! The command line of `warren agent`.

use std::path::PathBuf;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum AgentCommand {
    /// Write an agent file that works at once, without a key
    Init {
        /// Where to write it, such as `helper.yaml`
        file: PathBuf,
        /// Overwrite a file that is there
        #[arg(long)]
        force: bool,
    },
    /// Check an agent file without a server
    Check {
        /// A YAML or JSON document; `-` is standard input
        file: PathBuf,
    },
    /// Store an agent; from then on its name stands for this version
    Put {
        /// A YAML or JSON document; `-` is standard input
        file: PathBuf,
        /// Its name, where the document does not say
        #[arg(long)]
        name: Option<String>,
    },
    /// List agents
    Ls,
    /// Show an agent, with the defaults filled in
    Show {
        /// As `warren agent ls` shows it
        name: String,
        /// This version of it, by its whole hash [default: the latest]
        #[arg(long, value_name = "HASH")]
        version: Option<String>,
    },
}
