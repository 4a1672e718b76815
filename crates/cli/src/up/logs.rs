//! Log lines, to stderr. A line that cannot be written is lost, and nothing else: nobody reading is no reason to stop serving.

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
    // Otherwise the library tells of a failed write on stderr, by `eprintln!`, which panics where stderr is a closed pipe:
    // whoever logs would end in the middle of its work.
    let builder = fmt().with_env_filter(filter).with_writer(std::io::stderr).log_internal_errors(false);
    let started = match section.format {
        LogFormat::Json => builder.json().try_init(),
        LogFormat::Text => builder.with_ansi(false).try_init(),
        LogFormat::Auto => builder.with_ansi(std::io::stderr().is_terminal()).try_init(),
    };
    started.map_err(|error| {
        Report::new(ErrorCode::Internal).because(format!("logging cannot be started: {error}")).into()
    })
}
