//! Log lines, to stderr.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt;
use warren_model::ErrorCode;

use crate::config::{LogFormat, LogSection};
use crate::failure::{Outcome, Report};

pub(super) fn start(section: &LogSection) -> Outcome<()> {
    let filter = EnvFilter::builder().parse(&section.filter).map_err(|error| {
        Report::new(ErrorCode::ConfigInvalid)
            .because(format!("log.filter: `{}`: {error}", section.filter))
            .hint("Write for example `info`, or `warn,warren_fleet=debug`.")
    })?;
    let builder = fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = match section.format {
        LogFormat::Json => builder.json().try_init(),
        LogFormat::Text => builder.with_ansi(false).try_init(),
        LogFormat::Auto => builder.with_ansi(std::io::stderr().is_terminal()).try_init(),
    };
    started.map_err(|error| {
        Report::new(ErrorCode::Internal).because(format!("logging cannot be started: {error}")).into()
    })
}
