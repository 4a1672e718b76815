use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum ImageCommand {
    /// Set who Warren signs in as at a registry of images; the password is read from standard input, or asked for
    ///
    /// For operators. It counts for every workspace from the next pull on; the registry must also be listed in
    /// `docker.registries`.
    Login {
        /// Its host, such as `registry.example.com:5000`; `docker.io` is Docker Hub
        registry: String,
        #[arg(long)]
        username: String,
    },
    /// List registries that Warren signs in at; passwords are never shown
    Logins,
    /// Remove the login at a registry
    Logout {
        /// Its host, as in the list
        registry: String,
    },
}
