use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum SecretCommand {
    /// Set a secret; its value is read from standard input, or asked for without showing it
    ///
    /// One line break at the end of the input is not part of the value. The value is never taken from the command line,
    /// which other users can see.
    Set {
        /// The variable that it becomes, such as `API_KEY`
        name: String,
        /// For this workspace only, by id or name [default: for all of the org]
        #[arg(long, value_name = "WORKSPACE")]
        workspace: Option<String>,
    },
    /// List secrets by name; values are never shown
    Ls {
        /// Those of this workspace, by id or name [default: those of the org]
        #[arg(long, value_name = "WORKSPACE")]
        workspace: Option<String>,
    },
    /// Remove a secret
    Rm {
        name: String,
        /// Of this workspace, by id or name [default: of the org]
        #[arg(long, value_name = "WORKSPACE")]
        workspace: Option<String>,
    },
    /// Seal all secrets anew, under a new key where the server keeps its keys in a file
    RotateKey,
}
