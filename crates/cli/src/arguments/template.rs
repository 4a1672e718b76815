//! The command lines of `warren template`, `warren org` and `warren bundle`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum TemplateCommand {
    /// List templates
    Ls,
    /// Print a template as it was written
    Show {
        /// As `warren template ls` shows it
        name: String,
    },
    /// Store a template, in place of what has its name
    Put {
        /// A YAML or JSON document; `-` is standard input
        file: PathBuf,
        /// Its name, where the document does not say
        #[arg(long)]
        name: Option<String>,
    },
    /// Remove a template; workspaces that were made from it stay
    Rm {
        /// As `warren template ls` shows it
        name: String,
    },
    /// Check a document without a server
    Check {
        /// A YAML or JSON document; `-` is standard input
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ImportArguments {
    /// A YAML or JSON document; `-` is standard input
    #[arg(required_unless_present = "template", conflicts_with = "template")]
    pub(crate) file: Option<PathBuf>,
    /// A stored template
    #[arg(long, value_name = "NAME")]
    pub(crate) template: Option<String>,
    /// The name of the root [default: its own]
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// The workspace to make it below, by id or name
    #[arg(long, value_name = "WORKSPACE")]
    pub(crate) parent: Option<String>,
    /// A required variable that the runtimes get elsewhere; give it once per name
    #[arg(long, value_name = "NAME")]
    pub(crate) provided_env: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ExpandArguments {
    /// By id or name
    pub(crate) workspace: String,
    /// A YAML or JSON document with one workspace of the team, and those below it; `-` is standard input
    #[arg(required_unless_present = "template", conflicts_with = "template")]
    pub(crate) file: Option<PathBuf>,
    /// A stored template
    #[arg(long, value_name = "NAME")]
    pub(crate) template: Option<String>,
    /// A required variable that the runtimes get elsewhere; give it once per name
    #[arg(long, value_name = "NAME")]
    pub(crate) provided_env: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BundleCommand {
    /// Write a workspace and all below it into a file: with what they remember and their schedules, without ids, tokens,
    /// secrets and state
    Export {
        /// By id or name
        workspace: String,
        /// Where to write it [default: standard output]
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
        /// The workspace alone
        #[arg(long)]
        alone: bool,
        /// With their files, as they are; links and special files are left out
        #[arg(long)]
        files: bool,
    },
    /// Make what a bundle describes, under new ids: all of it or nothing, and then its files
    Import {
        /// As `warren bundle export` wrote it; `-` is standard input
        file: PathBuf,
        /// The workspace to make it below, by id or name
        #[arg(long, value_name = "WORKSPACE")]
        parent: Option<String>,
        /// A required variable that the runtimes get elsewhere; give it once per name
        #[arg(long, value_name = "NAME")]
        provided_env: Vec<String>,
    },
}
