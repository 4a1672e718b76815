//! Runs the binary.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// How a command ended and what it printed.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

/// As text, since a person reads it when a test fails.
impl std::fmt::Debug for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let code = self.code.map_or_else(|| "by a signal".to_owned(), |code| code.to_string());
        write!(f, "exit {code}\n── stdout\n{}", String::from_utf8_lossy(&self.stdout))?;
        write!(f, "\n── stderr\n{}\n──", self.stderr)
    }
}

impl Ended {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.stdout.clone()).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// What was printed on success.
    #[track_caller]
    pub(crate) fn expect_ok(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }

    /// The code of the error document, where `--json` was given.
    #[track_caller]
    pub(crate) fn expect_error(&self, exit: i32, code: &str) -> Value {
        assert_eq!(self.code, Some(exit), "{self:?}");
        let last = self.stderr.lines().last().unwrap_or_default();
        let document: Value = serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        assert_eq!(document["error"]["code"], code, "{self:?}");
        for field in ["message", "hint"] {
            assert!(
                document["error"][field].as_str().is_some_and(|text| !text.is_empty()),
                "{field}: {self:?}"
            );
        }
        document["error"].clone()
    }
}

/// A machine of its own: a home folder, and nothing of the developer's environment.
#[derive(Debug)]
pub(crate) struct Machine {
    home: TempDir,
}

impl Machine {
    pub(crate) fn new() -> Self {
        Self { home: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.home.path()
    }

    /// Where the data folder is by default.
    pub(crate) fn data(&self) -> PathBuf {
        self.home.path().join(".local/share/warren")
    }

    #[expect(clippy::disallowed_methods, reason = "runs the binary under test")]
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_warren"));
        command.args(arguments).env_clear().env("HOME", self.home.path()).env("PATH", "/usr/bin:/bin");
        command.current_dir(self.home.path()).stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        ended(self.command(arguments))
    }

    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> Ended {
        let mut command = self.command(arguments);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        of_output(child.wait_with_output().unwrap())
    }

    /// Starts a server on a free port and waits until it says that it is ready.
    pub(crate) fn start(&self) -> Server {
        self.start_on("127.0.0.1:0")
    }

    pub(crate) fn start_on(&self, address: &str) -> Server {
        self.start_with(&["--listen", address])
    }

    /// With these arguments of `up`.
    pub(crate) fn start_with(&self, arguments: &[&str]) -> Server {
        self.start_from(self.command(&[&["up", "--json"], arguments].concat()))
    }

    /// A command that was prepared, such as with more of an environment.
    pub(crate) fn start_from(&self, mut command: Command) -> Server {
        let log = self.path().join("server.log");
        let file = std::fs::OpenOptions::new().create(true).append(true).open(&log).unwrap();
        let mut child = command.stdout(Stdio::piped()).stderr(file).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line)
            .unwrap_or_else(|error| panic!("{error}: {line:?}: {}", std::fs::read_to_string(&log).unwrap()));
        Server { child, ready, banner: line, _stdout: stdout }
    }

    /// Starts a server without `--json` and reads what it says up to its last line.
    pub(crate) fn start_for_people(&self, arguments: &[&str]) -> Server {
        let mut command = self.command(&[&["up", "--listen", "127.0.0.1:0"], arguments].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut banner = String::new();
        while !banner.contains("Ctrl-C") {
            assert!(stdout.read_line(&mut banner).unwrap() > 0, "it ended: {banner}");
        }
        Server { child, ready: Value::Null, banner, _stdout: stdout }
    }
}

/// Where nothing listens: what is tried without a server must not find the one that somebody runs on the usual port.
pub(crate) const NOWHERE: &str = "http://127.0.0.1:9";

/// Waits for something that should happen soon.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !is_so() {
        assert!(std::time::Instant::now() < deadline, "{what} did not come about");
    }
}

pub(crate) fn ended(mut command: Command) -> Ended {
    of_output(command.output().unwrap())
}

fn of_output(output: std::process::Output) -> Ended {
    Ended {
        code: output.status.code(),
        stdout: output.stdout,
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A running server; it is killed when the test ends.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    /// The line it printed.
    pub(crate) ready: Value,
    /// The same as text, or what people are told.
    pub(crate) banner: String,
    _stdout: BufReader<ChildStdout>,
}

impl Server {
    pub(crate) fn url(&self) -> &str {
        self.ready["url"].as_str().unwrap()
    }

    pub(crate) fn token(&self) -> &str {
        self.ready["token"].as_str().unwrap()
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// `host:port`
    pub(crate) fn address(&self) -> &str {
        self.url().strip_prefix("http://").unwrap()
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let id = i32::try_from(self.child.id()).unwrap();
        rustix::process::kill_process(rustix::process::Pid::from_raw(id).unwrap(), signal).unwrap();
    }

    /// How it ended, once it has.
    pub(crate) fn wait(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// As a power cut would, as far as a process can tell.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Already gone is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

// Q1: what a failing test prints is read by a person.
#[test]
fn what_a_command_printed_is_told_as_text() {
    let ended = Ended { code: Some(3), stdout: b"h\xc3\xa9llo\n\xff".to_vec(), stderr: "error: no\n".into() };
    let told = format!("{ended:?}");
    assert!(told.contains("exit 3") && told.contains("h\u{e9}llo") && told.contains("error: no"), "{told}");
    assert!(!told.contains("104, "), "{told}");
}
