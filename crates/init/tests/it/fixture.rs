//! A live init and an owner's side of its channel.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::io::{FdFlags, fcntl_setfd};
use warren_init::{
    Call, CallAnswer, Channel, Exit, Failure, FrameReader, Greeting, PROTOCOL_VERSION, PolledOutput,
    ProcessSummary, Reply, Request, Spawn, TerminalSize, encode, output_cost,
};

/// Nothing in a test takes this long unless it hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
pub(crate) const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A box of one pid namespace, and the connection to its process 1.
#[derive(Debug)]
pub(crate) struct Inside {
    pub(crate) owner: Connection,
    pub(crate) root: tempfile::TempDir,
    launcher: Launched,
}

/// Killed, and the box with it, when its test ends.
#[derive(Debug)]
pub(crate) struct Launched(pub(crate) Child);

impl Drop for Launched {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) stream: UnixStream,
    reader: FrameReader,
    /// Replies that were read while another was waited for.
    pending: VecDeque<Reply>,
    last_id: u32,
}

/// What came of a run.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    pub(crate) exit: Exit,
}

impl Outcome {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}

#[expect(clippy::disallowed_methods, reason = "the tests' own door")]
fn program(name: &str) -> Command {
    Command::new(name)
}

pub(crate) fn init_path() -> &'static str {
    env!("CARGO_BIN_EXE_warren-init")
}

/// `unshare` with a pid namespace and a `/proc` of its own, killed with its parent.
fn in_namespace() -> Command {
    let mut command = program("unshare");
    command.args(["--pid", "--fork", "--mount-proc", "--kill-child=KILL"]);
    if !rustix::process::geteuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command
}

impl Inside {
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    /// With more options for init.
    pub(crate) fn start_with(options: &[&str]) -> Self {
        let mut inside = Self::start_silent(options);
        inside.owner.greet();
        inside
    }

    /// Without a greeting.
    pub(crate) fn start_silent(options: &[&str]) -> Self {
        let root = tempfile::tempdir().unwrap();
        let (ours, theirs) = UnixStream::pair().unwrap();
        let launcher = launch(in_namespace(), options, root.path(), &theirs.into());
        Self { owner: Connection::new(ours), root, launcher: Launched(launcher) }
    }

    /// A socket for owners to come to; nobody has come yet.
    pub(crate) fn listening(options: &[&str]) -> (tempfile::TempDir, Launched, PathBuf) {
        let root = tempfile::tempdir().unwrap();
        let socket = root.path().join("owner.sock");
        let mut command = in_namespace();
        command.arg(init_path()).arg("--channel").arg(format!("listen:{}", socket.display()));
        command.arg("--root").arg(root.path()).args(options);
        let launcher = command.stdin(Stdio::null()).spawn().expect(MISSING_UNSHARE);
        (root, Launched(launcher), socket)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Waits until the whole namespace is gone: `unshare` ends after its process 1.
    pub(crate) fn wait_for_end(&mut self) {
        wait_for_end(&mut self.launcher);
    }

    /// The process id of init as the host sees it.
    pub(crate) fn init_pid(&self) -> u32 {
        let launcher = self.launcher.0.id();
        let path = format!("/proc/{launcher}/task/{launcher}/children");
        std::fs::read_to_string(path).unwrap().trim().parse().unwrap()
    }
}

pub(crate) const MISSING_UNSHARE: &str = "`unshare` of the Debian package util-linux is needed";

pub(crate) fn wait_for_end(launched: &mut Launched) {
    eventually("the box ends", || launched.0.try_wait().unwrap().is_some());
}

fn launch(mut command: Command, options: &[&str], root: &Path, theirs: &OwnedFd) -> Child {
    fcntl_setfd(theirs, FdFlags::empty()).unwrap();
    command.arg(init_path()).arg("--channel").arg(format!("fd:{}", theirs.as_raw_fd()));
    command.arg("--root").arg(root).args(options);
    command.stdin(Stdio::null()).spawn().expect(MISSING_UNSHARE)
}

/// Not in a namespace: as a plain process.
pub(crate) fn start_plainly(options: &[&str]) -> (tempfile::TempDir, Child, Connection) {
    let root = tempfile::tempdir().unwrap();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let theirs = OwnedFd::from(theirs);
    fcntl_setfd(&theirs, FdFlags::empty()).unwrap();
    let mut command = program(init_path());
    command.arg("--channel").arg(format!("fd:{}", theirs.as_raw_fd()));
    let child = command.arg("--root").arg(root.path()).args(options).spawn().unwrap();
    (root, child, Connection::new(ours))
}

/// With its frames on stdin and stdout.
pub(crate) fn start_stdio(options: &[&str]) -> (tempfile::TempDir, Child) {
    let root = tempfile::tempdir().unwrap();
    let mut command = in_namespace();
    command.arg(init_path()).args(["--channel", "stdio", "--root"]).arg(root.path()).args(options);
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect(MISSING_UNSHARE);
    (root, child)
}

/// Just the program with arguments.
pub(crate) fn invoke(arguments: &[&str]) -> std::process::Output {
    program(init_path()).args(arguments).stdin(Stdio::null()).output().unwrap()
}

impl Connection {
    pub(crate) fn new(stream: UnixStream) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Self { stream, reader: FrameReader::default(), pending: VecDeque::new(), last_id: 0 }
    }

    /// Replies from a pipe; nothing can be sent on it.
    pub(crate) fn over(stdout: ChildStdout) -> Self {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut stdout = stdout;
        std::thread::spawn(move || std::io::copy(&mut stdout, &mut theirs));
        Self::new(ours)
    }

    /// As soon as somebody listens there.
    pub(crate) fn to(path: &Path) -> Self {
        let mut stream = None;
        eventually("somebody listens", || {
            stream = UnixStream::connect(path).ok();
            stream.is_some()
        });
        Self::new(stream.unwrap())
    }

    pub(crate) fn greet(&mut self) -> Greeting {
        match self.call(Call::Hello { version: PROTOCOL_VERSION }) {
            CallAnswer::Hello(greeting) => greeting,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn send(&mut self, call: Call) -> u32 {
        self.last_id += 1;
        self.send_as(self.last_id, call);
        self.last_id
    }

    pub(crate) fn send_as(&mut self, id: u32, call: Call) {
        self.stream.write_all(&encode(&Request { id, call }).unwrap()).unwrap();
    }

    /// The next reply to this request.
    pub(crate) fn reply(&mut self, id: u32) -> CallAnswer {
        if let Some(at) = self.pending.iter().position(|reply| reply.id == id) {
            return self.pending.remove(at).unwrap().answer;
        }
        loop {
            let reply = self.next_reply().expect("init is connected");
            if reply.id == id {
                return reply.answer;
            }
            self.pending.push_back(reply);
        }
    }

    /// The next reply of all; none: the connection has ended.
    pub(crate) fn next_reply(&mut self) -> Option<Reply> {
        let mut buffer = vec![0; 64 << 10];
        loop {
            if let Some(reply) = self.reader.next().expect("init speaks the protocol") {
                return Some(reply);
            }
            match self.stream.read(&mut buffer) {
                Ok(0) => return None,
                Ok(count) => self.reader.push(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("no reply: {error}"),
            }
        }
    }

    pub(crate) fn call(&mut self, call: Call) -> CallAnswer {
        let id = self.send(call);
        self.reply(id)
    }

    pub(crate) fn run(&mut self, script: &str) -> Outcome {
        self.run_spawn(shell(script))
    }

    pub(crate) fn run_spawn(&mut self, spawn: Spawn) -> Outcome {
        let id = self.send(Call::Run(spawn));
        self.outcome(id).expect("it started")
    }

    /// Reads and grants until the run has ended.
    pub(crate) fn outcome(&mut self, id: u32) -> Result<Outcome, Failure> {
        let mut outcome = Outcome::default();
        loop {
            match self.reply(id) {
                CallAnswer::Output { channel, bytes } => {
                    let granted = u32::try_from(output_cost(bytes.len())).unwrap();
                    self.send_as(id, Call::Grant { bytes: granted });
                    match channel {
                        Channel::Stdout => outcome.stdout.extend(bytes),
                        Channel::Stderr => outcome.stderr.extend(bytes),
                    }
                }
                CallAnswer::InputTaken { .. } => {}
                CallAnswer::Exited(exit) => {
                    outcome.exit = exit;
                    return Ok(outcome);
                }
                CallAnswer::Failed(failure) => return Err(failure),
                other => panic!("{other:?}"),
            }
        }
    }

    /// The end of a run that writes less than may be under way.
    pub(crate) fn outcome_unpaced(&mut self, id: u32) -> Outcome {
        let mut outcome = Outcome::default();
        loop {
            match self.reply(id) {
                CallAnswer::Output { bytes, .. } => outcome.stdout.extend(bytes),
                CallAnswer::Exited(exit) => return Outcome { exit, ..outcome },
                other => panic!("{other:?}"),
            }
        }
    }

    /// What a process has written so far.
    pub(crate) fn poll_now(&mut self, process: u32) -> Vec<u8> {
        match self.call(Call::Poll { process, offset: 0, max_bytes: 1 << 16, wait_ms: 0 }) {
            CallAnswer::Polled(polled) => polled.bytes,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn start(&mut self, script: &str) -> u32 {
        self.start_spawn(shell(script))
    }

    pub(crate) fn start_spawn(&mut self, spawn: Spawn) -> u32 {
        match self.call(Call::Start(spawn)) {
            CallAnswer::Started { process } => process,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn poll(&mut self, process: u32, offset: u64) -> PolledOutput {
        let call = Call::Poll { process, offset, max_bytes: 1 << 16, wait_ms: 20_000 };
        match self.call(call) {
            CallAnswer::Polled(polled) => polled,
            other => panic!("{other:?}"),
        }
    }

    /// All output until `wanted` is in it or the process has ended.
    pub(crate) fn output(&mut self, process: u32, wanted: &str) -> (String, Option<Exit>) {
        let mut all = Vec::new();
        loop {
            let polled = self.poll(process, all.len() as u64);
            all.extend_from_slice(&polled.bytes);
            let text = String::from_utf8_lossy(&all);
            if polled.exit.is_some() || text.contains(wanted) {
                return (text.into_owned(), polled.exit);
            }
        }
    }

    /// Its end, and all that is kept of its output.
    pub(crate) fn end_of(&mut self, process: u32) -> (String, Exit) {
        let (text, exit) = self.output(process, "\0no such text\0");
        (text, exit.unwrap())
    }

    pub(crate) fn list(&mut self) -> Vec<ProcessSummary> {
        match self.call(Call::List) {
            CallAnswer::Processes(processes) => processes,
            other => panic!("{other:?}"),
        }
    }

    /// How many processes there are in the box beside init, dead ones too. Counted by one more, which does not count.
    pub(crate) fn count_processes(&mut self) -> usize {
        let counted = self.run("set -- /proc/[0-9]*; echo $#");
        counted.text().trim().parse::<usize>().unwrap() - 2
    }
}

pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        pause();
    }
}

#[expect(clippy::disallowed_methods, reason = "a test's own thread waits for another process")]
pub(crate) fn pause() {
    std::thread::sleep(Duration::from_millis(5));
}

pub(crate) fn shell(script: &str) -> Spawn {
    argv(&["/bin/sh", "-c", script])
}

pub(crate) fn argv(words: &[&str]) -> Spawn {
    Spawn {
        argv: words.iter().map(|word| word.as_bytes().to_vec()).collect(),
        env: vec![(b"PATH".to_vec(), PATH.as_bytes().to_vec())],
        ..Spawn::default()
    }
}

pub(crate) fn terminal(script: &str, rows: u16, columns: u16) -> Spawn {
    Spawn { terminal: Some(TerminalSize { rows, columns }), ..shell(script) }
}
