//! One process per message: the simplest that works with any program.
//!
//! ```text
//!   message ──▶ stdin      stdout ──▶ the answer, once it ends well
//!                          stderr ──▶ progress as it comes; its last lines go with a failure
//! ```
//!
//! It runs in a process group of its own, which is ended with it: nothing that it started is left for the next message.

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};
use tokio::time::Instant;
use warren_api::{ClaimedMessage, MessagePart};
use warren_doors::reset_signals;

use crate::adapter::{Failure, ProgramAnswer, ProgramOutcome, ProgressLog};
use crate::json_lines::{self, JsonOutput};

/// Of an answer, so much is kept; the rest is counted, and said to be missing.
const MAX_ANSWER_BYTES: usize = 256 << 10;
/// Of what it says while it works, so much goes with one report and with a failure.
const MAX_TALK_BYTES: usize = 4 << 10;
const PIECE_BYTES: usize = 2 << 10;
/// How long the pipes of a program that has ended are read, should somebody who got away hold them open.
const REST: Duration = Duration::from_secs(1);

/// A program at work on one message.
#[derive(Debug)]
pub(crate) struct ProgramRun {
    child: Child,
    group: Option<Pid>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    output: Output,
    talk: StderrTail,
    /// How it ended, and until when what it left unread is waited for.
    ended: Option<(ExitStatus, Instant)>,
}

/// What happened next.
#[derive(Debug)]
pub(crate) enum ProgramEvent {
    /// It wrote something, or ended.
    Moved,
    /// It said something on its error output.
    Said(String),
    Ended(ProgramOutcome),
}

impl ProgramRun {
    /// `output` is what is made of its standard output.
    pub(crate) fn start(
        command: &[String],
        message: &ClaimedMessage,
        input: String,
        output: Output,
    ) -> std::io::Result<Self> {
        let (program, arguments) = command.split_first().ok_or(std::io::ErrorKind::InvalidInput)?;
        let mut command = door(program);
        command
            .args(arguments)
            .env("WARREN_TASK_ID", &message.task.id)
            .env("WARREN_CONTEXT_ID", &message.task.context_id)
            .env("WARREN_AUTHOR", format!("{}:{}", message.author.kind, message.author.id))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let mut child = command.spawn()?;
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let (stdin, text) = (child.stdin.take(), input);
        tokio::task::spawn(async move {
            // One that does not read its input may still answer.
            if let Some(mut stdin) = stdin {
                let _ = stdin.write_all(text.as_bytes()).await;
            }
        });
        Ok(Self {
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
            child,
            group,
            output,
            talk: StderrTail::default(),
            ended: None,
        })
    }

    /// Waits for the next sign of it. Dropped and asked again, it misses nothing.
    pub(crate) async fn next(&mut self) -> std::io::Result<ProgramEvent> {
        let (mut out, mut err) = ([0_u8; PIECE_BYTES], [0_u8; PIECE_BYTES]);
        let has_closed = self.stdout.is_none() && self.stderr.is_none();
        match self.ended {
            Some((status, _)) if has_closed => return Ok(ProgramEvent::Ended(self.ending(status))),
            Some(_) | None => {}
        }
        let until = self.ended.map(|(_, until)| until);
        tokio::select! {
            biased;
            read = read_some(&mut self.stdout, &mut out) => {
                if let Some(said) = self.output.push(&out[..read?]) {
                    return Ok(ProgramEvent::Said(said));
                }
            }
            read = read_some(&mut self.stderr, &mut err) => {
                let said = &err[..read?];
                self.talk.push(said);
                return Ok(ProgramEvent::Said(String::from_utf8_lossy(said).into_owned()));
            }
            status = self.child.wait(), if until.is_none() => {
                // What it left behind would keep its pipes open.
                self.end_group();
                self.ended = Some((status?, Instant::now() + REST));
            }
            () = past(until) => {
                self.stdout = None;
                self.stderr = None;
            }
        }
        Ok(ProgramEvent::Moved)
    }

    fn ending(&self, status: ExitStatus) -> ProgramOutcome {
        if status.success() {
            return self.output.outcome();
        }
        let (answer, said) = (self.output.text(), self.talk.last());
        // Some programs tell what is wrong where they would answer.
        let words = if said.is_empty() { last_of(&answer) } else { said };
        ProgramOutcome::Failed(Failure::passing(format!("{status}\n{words}").trim().to_owned()))
    }

    fn end_group(&mut self) {
        if let Some(group) = self.group.take() {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for ProgramRun {
    fn drop(&mut self) {
        self.end_group();
    }
}

/// What is made of a program's standard output.
#[derive(Debug)]
pub(crate) enum Output {
    /// All of it is the answer.
    Text(HeadOfOutput),
    Json(JsonOutput),
}

impl Output {
    /// Takes a piece. Returns what is told of it while the work goes on.
    fn push(&mut self, piece: &[u8]) -> Option<String> {
        match self {
            Self::Text(answer) => {
                answer.push(piece);
                None
            }
            Self::Json(lines) => lines.push(piece),
        }
    }

    /// What may tell what is wrong.
    fn text(&self) -> String {
        match self {
            Self::Text(answer) => answer.text(),
            Self::Json(lines) => lines.last_words(),
        }
    }

    /// What a program answered that ended well.
    fn outcome(&self) -> ProgramOutcome {
        match self {
            Self::Text(answer) => ProgramOutcome::Answered(ProgramAnswer::text(answer.text())),
            Self::Json(lines) => lines.outcome(),
        }
    }
}

/// Gives a message to a new process, and stays with it until it has ended.
pub(crate) async fn run(
    command: &[String],
    message: &ClaimedMessage,
    progress: &ProgressLog<'_>,
    is_json: bool,
) -> ProgramOutcome {
    let (input, output) = match is_json {
        true => (json_lines::input(message), Output::Json(JsonOutput::default())),
        false => (text_of(&message.message.parts), Output::Text(HeadOfOutput::default())),
    };
    let mut job = match ProgramRun::start(command, message, input, output) {
        Ok(job) => job,
        Err(error) => return ProgramOutcome::Failed(Failure::lasting(no_such_program(command, &error))),
    };
    loop {
        match job.next().await {
            Ok(ProgramEvent::Ended(outcome)) => return outcome,
            Ok(ProgramEvent::Moved) => progress.moved(),
            Ok(ProgramEvent::Said(text)) => progress.say(&text),
            Err(error) => return ProgramOutcome::Failed(Failure::passing(error.to_string())),
        }
    }
}

/// Why a program cannot be started, with its name.
pub(crate) fn no_such_program(command: &[String], error: &std::io::Error) -> String {
    let program = command.first().map(String::as_str).unwrap_or_default();
    format!("the program `{program}` could not be started: {error}")
}

/// Whether there is such a program, as far as that can be told without starting it.
pub(crate) fn check(command: &[String]) -> Result<(), String> {
    let program = command.first().map(String::as_str).unwrap_or_default();
    let is_program = |path: &std::path::Path| {
        rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok() && path.is_file()
    };
    let is_there = match program.contains('/') {
        true => is_program(std::path::Path::new(program)),
        false => {
            let path = std::env::vars_os().find(|(name, _)| name == "PATH").map(|(_, path)| path);
            let path = path.unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
            std::env::split_paths(&path).any(|folder| is_program(&folder.join(program)))
        }
    };
    let missing = || no_such_program(command, &std::io::ErrorKind::NotFound.into());
    if is_there { Ok(()) } else { Err(missing()) }
}

#[expect(clippy::disallowed_methods, reason = "the runner's one door to processes")]
#[expect(unsafe_code, reason = "`pre_exec`; the block says why it holds")]
pub(crate) fn door(program: &str) -> Command {
    let mut command = Command::new(program);
    // A runner may itself be started with `&`.
    // SAFETY: the function is made for this place, between fork and exec.
    unsafe { command.pre_exec(reset_signals) };
    command
}

async fn past(until: Option<Instant>) {
    match until {
        Some(until) => tokio::time::sleep_until(until).await,
        None => std::future::pending().await,
    }
}

/// Reads a piece; at its end the pipe is let go of. One that is gone already never reads again.
async fn read_some<R: AsyncRead + Unpin>(pipe: &mut Option<R>, into: &mut [u8]) -> std::io::Result<usize> {
    let Some(open) = pipe else { return std::future::pending().await };
    let read = open.read(into).await?;
    if read == 0 {
        *pipe = None;
    }
    Ok(read)
}

/// The text of a message as a program reads it: its parts, one after the other.
fn text_of(parts: &[MessagePart]) -> String {
    let words = parts.iter().filter_map(|part| match (&part.text, &part.data, &part.url) {
        (Some(text), _, _) => Some(text.clone()),
        (None, Some(data), _) => Some(data.to_string()),
        (None, None, Some(url)) => Some(url.clone()),
        (None, None, None) => part.filename.as_ref().map(|name| format!("[attached: {name}]")),
    });
    words.collect::<Vec<_>>().join("\n")
}

/// The beginning of a long text, and how much is missing.
#[derive(Debug, Default)]
pub(crate) struct HeadOfOutput {
    bytes: Vec<u8>,
    missing: usize,
}

impl HeadOfOutput {
    pub(crate) fn push(&mut self, piece: &[u8]) {
        let room = MAX_ANSWER_BYTES - self.bytes.len();
        let (kept, left) = piece.split_at(piece.len().min(room));
        self.bytes.extend_from_slice(kept);
        self.missing += left.len();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn text(&self) -> String {
        let text = String::from_utf8_lossy(&self.bytes);
        let text = text.trim_end();
        match self.missing {
            0 => text.to_owned(),
            missing => format!("{text}\n[{missing} further bytes are left out]"),
        }
    }
}

/// The end of what a program says while it works.
#[derive(Debug, Default)]
pub(crate) struct StderrTail {
    bytes: Vec<u8>,
    /// How many of them, from the end, nobody has asked for.
    new: usize,
}

impl StderrTail {
    pub(crate) fn push(&mut self, piece: &[u8]) {
        self.bytes.extend_from_slice(piece);
        let excess = self.bytes.len().saturating_sub(MAX_TALK_BYTES);
        self.bytes.drain(..excess);
        self.new = (self.new + piece.len()).min(self.bytes.len());
    }

    pub(crate) fn take_new(&mut self) -> Option<String> {
        let new = std::mem::take(&mut self.new);
        let text = String::from_utf8_lossy(&self.bytes[self.bytes.len() - new..]).trim().to_owned();
        (!text.is_empty()).then_some(text)
    }

    pub(crate) fn last(&self) -> String {
        String::from_utf8_lossy(&self.bytes).trim().to_owned()
    }
}

fn last_of(text: &str) -> String {
    let mut start = text.len().saturating_sub(MAX_TALK_BYTES);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text[start..].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    // F18
    #[test]
    fn a_long_answer_says_how_much_of_it_is_missing() {
        let mut kept = HeadOfOutput::default();
        kept.push(&vec![b'a'; MAX_ANSWER_BYTES - 1]);
        kept.push(b"bcd");
        assert!(kept.text().ends_with("ab\n[2 further bytes are left out]"));
    }

    // F18
    #[test]
    fn talk_is_told_once_and_its_end_is_kept() {
        let mut talk = StderrTail::default();
        talk.push(b"reading\n");
        assert_eq!(talk.take_new().as_deref(), Some("reading"));
        assert_eq!(talk.take_new(), None);
        talk.push(&vec![b'x'; MAX_TALK_BYTES]);
        talk.push(b"\nlast words\n");
        assert_eq!(talk.take_new().map(|text| text.len() <= MAX_TALK_BYTES), Some(true));
        assert!(talk.last().ends_with("x\nlast words"));
    }

    // F18
    #[test]
    fn a_program_reads_all_parts_of_a_message() {
        let data = MessagePart { data: Some(serde_json::json!({ "a": 1 })), ..MessagePart::default() };
        let file = MessagePart {
            raw: Some("AA==".into()),
            filename: Some("x.bin".into()),
            ..MessagePart::default()
        };
        assert_eq!(text_of(&[MessagePart::text("Hi"), data, file]), "Hi\n{\"a\":1}\n[attached: x.bin]");
    }

    // F18: a runner that a script started with `&` does not hand on what it ignores.
    #[tokio::test]
    #[expect(unsafe_code, reason = "dispositions have no safe interface")]
    async fn a_program_takes_signals_however_its_runner_was_started() {
        // SAFETY: no handler is installed, and each test is a process of its own.
        unsafe { assert_ne!(libc::signal(libc::SIGINT, libc::SIG_IGN), libc::SIG_ERR) };
        let told = door("grep").args(["SigIgn", "/proc/self/status"]).output().await.unwrap();
        assert_eq!(String::from_utf8_lossy(&told.stdout), "SigIgn:\t0000000000000000\n");
    }
}
