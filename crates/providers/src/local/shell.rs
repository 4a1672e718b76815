//! The `shell` module of `local`: commands as the host user, in a directory of the workspace.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use rustix::fd::OwnedFd;
use warren_model::LocalConfig;
use warren_workspace::Error;
use warren_workspace::shell::{
    Command, Poll, Polled, ProcessId, ProcessInfo, PtySize, RunResult, RunStream, Shell, Signal, Start,
};

use crate::directory::{OpenDirectory, blocking, open_emptied, working_directory};
use crate::process::{self, Background, Doors, Rules, Spill};

/// Whatever the config says, one command's kept output stays small enough to answer with.
pub(super) const MAX_OUTPUT_BYTES: u64 = 16 << 20;

#[derive(Debug)]
pub(super) struct LocalShell {
    place: Arc<OpenDirectory>,
    rules: Rules,
    doors: Doors,
    background: Background,
}

impl LocalShell {
    pub(super) fn new(
        place: Arc<OpenDirectory>,
        home: &std::path::Path,
        config: &LocalConfig,
        doors: Doors,
    ) -> Self {
        let max_output = config.max_output_bytes.min(MAX_OUTPUT_BYTES);
        Self {
            place,
            rules: Rules {
                pass_env: config.pass_env.clone(),
                home: home.to_string_lossy().into_owned(),
                max_timeout_ms: config.max_timeout_ms,
                max_output_bytes: usize::try_from(max_output).unwrap_or(usize::MAX),
                foreground: process::Foreground::default(),
            },
            doors,
            background: Background::default(),
        }
    }

    pub(super) async fn close(&self) {
        tokio::join!(self.background.close(), self.rules.foreground.close());
    }

    /// Opens what the command needs of the workspace, by handle.
    async fn prepare(&self, command: &Command) -> Result<(OwnedFd, Option<Spill>), Error> {
        self.place.check_open()?;
        let place = Arc::clone(&self.place);
        let (cwd, spill_to) = (command.cwd.clone(), command.spill_to.clone());
        blocking(move || {
            let directory = working_directory(&place, &cwd)?;
            let spill = spill_to.map(|path| open_emptied(&place, &path).map(Spill::new)).transpose()?;
            Ok((directory, spill))
        })
        .await
    }
}

#[async_trait]
impl Shell for LocalShell {
    async fn run(&self, command: Command) -> Result<RunResult, Error> {
        let (directory, spill) = self.prepare(&command).await?;
        process::run(command, directory, spill, &self.rules, &self.doors).await
    }

    async fn stream(&self, command: Command) -> Result<RunStream, Error> {
        let (directory, spill) = self.prepare(&command).await?;
        process::stream(&command, directory, spill, &self.rules, &self.doors)
    }

    async fn start(&self, start: Start) -> Result<ProcessInfo, Error> {
        let (directory, _) = self.prepare(&Command { spill_to: None, ..start.command.clone() }).await?;
        self.background.start(&start, directory, &self.rules, &self.doors)
    }

    async fn poll(&self, process: ProcessId, poll: Poll) -> Result<Polled, Error> {
        self.background.poll(process, poll).await
    }

    async fn write_stdin(&self, process: ProcessId, bytes: Bytes, close: bool) -> Result<(), Error> {
        self.background.write_stdin(process, bytes, close).await
    }

    async fn resize(&self, process: ProcessId, size: PtySize) -> Result<(), Error> {
        self.background.resize(process, size)
    }

    async fn kill(&self, process: ProcessId, signal: Signal) -> Result<(), Error> {
        self.background.kill(process, signal).await
    }

    async fn list(&self) -> Result<Vec<ProcessInfo>, Error> {
        Ok(self.background.list())
    }
}
