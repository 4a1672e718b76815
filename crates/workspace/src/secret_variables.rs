//! A workspace's secrets as its commands meet them: variables on the way in (F32), masked on the way out (sec/T10).
//!
//! ```text
//!   fleet opens the secrets ──▶ SecretVariables ──▶ GuardedShell: adds them to every command, masks them in every output
//! ```
//!
//! This is the one place where a secret becomes part of an environment. What a person sets for one command wins over a
//! secret of that name; what a model may set is decided by the tools.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use warren_rules::messages::agent_words;
use warren_rules::text::redaction::{Redactor, StreamRedactor};
use zeroize::Zeroizing;

use crate::Error;
use crate::shell::{
    Command, CommandKey, Dialog, Output, Poll, Polled, ProcessId, ProcessInfo, PtySize, RunEvent, RunResult,
    RunStream, Shell, Signal, Start,
};

/// The opened secrets of one workspace, for as long as they are needed. Cheap to clone; wiped with the last clone.
#[derive(Clone, Default)]
pub struct SecretVariables(Arc<Variables>);

/// Is told of every process in the background that was started with these values.
pub type OnStart = Box<dyn Fn(ProcessId) + Send + Sync>;

#[derive(Default)]
struct Variables {
    values: BTreeMap<String, Zeroizing<String>>,
    redactor: Arc<Redactor>,
    on_start: Option<OnStart>,
    /// What Warren itself tells every program, such as where the doors of its box are.
    given: BTreeMap<String, String>,
}

/// Names only.
impl std::fmt::Debug for SecretVariables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.values.keys()).finish()
    }
}

impl SecretVariables {
    pub fn new(values: BTreeMap<String, Zeroizing<String>>, on_start: Option<OnStart>) -> Self {
        let redactor = Arc::new(Redactor::new(values.values().map(|value| value.as_str())));
        Self(Arc::new(Variables { values, redactor, on_start, given: BTreeMap::new() }))
    }

    /// Tells programs this too. It is shown as it is; a secret of the same name, or what a command sets, wins.
    #[must_use]
    pub fn with_given(self, given: BTreeMap<String, String>) -> Self {
        if given.is_empty() {
            return self;
        }
        let known = Arc::try_unwrap(self.0).unwrap_or_else(|shared| Variables {
            values: shared.values.clone(),
            redactor: Arc::clone(&shared.redactor),
            on_start: None,
            given: BTreeMap::new(),
        });
        Self(Arc::new(Variables { given, ..known }))
    }

    pub fn contains(&self, name: &str) -> bool {
        self.0.values.contains_key(name)
    }

    /// The shell through which commands of this workspace are run.
    pub fn shell<'a>(&self, shell: &'a dyn Shell) -> GuardedShell<'a> {
        GuardedShell { shell, secrets: self.clone() }
    }

    /// Adds what the command does not set itself.
    fn complete(&self, mut command: Command) -> Command {
        for (name, value) in &self.0.values {
            if !command.env.contains_key(name) {
                command.env.insert(name.clone(), value.as_str().to_owned());
            }
        }
        command.given.extend(self.0.given.iter().map(|(name, value)| (name.clone(), value.clone())));
        command
    }

    fn mask(&self, bytes: Bytes) -> Bytes {
        if self.0.redactor.is_idle() {
            return bytes;
        }
        let mut bytes = Vec::from(bytes);
        self.0.redactor.mask(&mut bytes);
        bytes.into()
    }

    /// Masks what an agent asks for.
    pub fn mask_request(&self, document: &mut serde_json::Value) {
        agent_words::mask_request(document, &self.0.redactor);
    }

    fn mask_events(&self, events: RunStream) -> RunStream {
        if self.0.redactor.is_idle() {
            return events;
        }
        let mut masking = StreamMask::new(self.clone());
        events.flat_map(move |event| stream::iter(masking.events(event))).boxed()
    }

    fn mask_result(&self, result: RunResult) -> RunResult {
        let mask = |output: Output| Output { bytes: self.mask(output.bytes), ..output };
        RunResult { stdout: mask(result.stdout), stderr: mask(result.stderr), ..result }
    }
}

/// A shell that gives commands their secrets and shows none of them.
#[derive(Debug)]
pub struct GuardedShell<'a> {
    shell: &'a dyn Shell,
    secrets: SecretVariables,
}

#[async_trait]
impl Shell for GuardedShell<'_> {
    async fn run(&self, command: Command) -> Result<RunResult, Error> {
        let result = self.shell.run(self.secrets.complete(command)).await?;
        Ok(self.secrets.mask_result(result))
    }

    async fn stream(&self, command: Command) -> Result<RunStream, Error> {
        let events = self.shell.stream(self.secrets.complete(command)).await?;
        Ok(self.secrets.mask_events(events))
    }

    async fn attach(&self, key: &CommandKey) -> Result<Option<RunStream>, Error> {
        let events = self.shell.attach(key).await?;
        Ok(events.map(|events| self.secrets.mask_events(events)))
    }

    async fn knows(&self, key: &CommandKey) -> Result<bool, Error> {
        self.shell.knows(key).await
    }

    async fn start(&self, start: Start) -> Result<ProcessInfo, Error> {
        let command = self.secrets.complete(start.command);
        let started = self.shell.start(Start { command, ..start }).await?;
        if let Some(on_start) = &self.secrets.0.on_start {
            on_start(started.id);
        }
        Ok(started)
    }

    /// What came before a piece decides about it too, and is read again for that.
    async fn poll(&self, process: ProcessId, poll: Poll) -> Result<Polled, Error> {
        let polled = self.shell.poll(process, poll).await?;
        let redactor = &self.secrets.0.redactor;
        if redactor.is_idle() || polled.bytes.is_empty() {
            return Ok(polled);
        }
        let reach = polled.offset.min(redactor.reach() as u64);
        let before = match reach {
            0 => Bytes::new(),
            _ => {
                let earlier = Poll { offset: polled.offset - reach, max_bytes: reach, wait_ms: 0 };
                let earlier = self.shell.poll(process, earlier).await?;
                // Later than asked where older output is no longer kept; it must end where the piece begins.
                let excess = earlier.next_offset.saturating_sub(polled.offset);
                let kept = earlier.bytes.len().saturating_sub(usize::try_from(excess).unwrap_or(usize::MAX));
                earlier.bytes.slice(..kept)
            }
        };
        let mut bytes = Vec::from(polled.bytes);
        redactor.mask_piece(&before, &mut bytes);
        Ok(Polled { bytes: bytes.into(), ..polled })
    }

    async fn write_stdin(&self, process: ProcessId, bytes: Bytes, close: bool) -> Result<(), Error> {
        self.shell.write_stdin(process, bytes, close).await
    }

    async fn resize(&self, process: ProcessId, size: PtySize) -> Result<(), Error> {
        self.shell.resize(process, size).await
    }

    async fn kill(&self, process: ProcessId, signal: Signal) -> Result<(), Error> {
        self.shell.kill(process, signal).await
    }

    async fn list(&self) -> Result<Vec<ProcessInfo>, Error> {
        self.shell.list().await
    }

    fn runner(&self) -> Option<&'static str> {
        self.shell.runner()
    }

    /// Whoever talks to it masks what it says, by what it means (`SecretVariables::mask_request`).
    async fn open_dialog(&self, command: Command) -> Result<Dialog, Error> {
        self.shell.open_dialog(self.secrets.complete(command)).await
    }
}

/// Masks the two outputs of one command as they come.
struct StreamMask {
    secrets: SecretVariables,
    stdout: StreamRedactor,
    stderr: StreamRedactor,
}

impl StreamMask {
    fn new(secrets: SecretVariables) -> Self {
        let redactor = || StreamRedactor::new(Arc::clone(&secrets.0.redactor));
        Self { stdout: redactor(), stderr: redactor(), secrets }
    }

    /// What is shown for one event: nothing while it may be part of a secret, and at the end what was held back.
    fn events(&mut self, event: Result<RunEvent, Error>) -> Vec<Result<RunEvent, Error>> {
        let shown = |bytes: Vec<u8>, kind: fn(Bytes) -> RunEvent| {
            (!bytes.is_empty()).then(|| Ok(kind(bytes.into()))).into_iter()
        };
        match event {
            Ok(RunEvent::Stdout(bytes)) => shown(self.stdout.push(&bytes), RunEvent::Stdout).collect(),
            Ok(RunEvent::Stderr(bytes)) => shown(self.stderr.push(&bytes), RunEvent::Stderr).collect(),
            Ok(RunEvent::Finished(result)) => shown(self.stdout.finish(), RunEvent::Stdout)
                .chain(shown(self.stderr.finish(), RunEvent::Stderr))
                .chain([Ok(RunEvent::Finished(self.secrets.mask_result(result)))])
                .collect(),
            Err(error) => vec![Err(error)],
        }
    }
}
