use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct ModelServerArguments {
    /// A script in YAML or JSON, or the name of a built-in one: hello, tour, echo
    #[arg(long, value_name = "FILE")]
    pub(crate) script: PathBuf,
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
}
