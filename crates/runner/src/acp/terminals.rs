//! Commands that a program has its client run: each in a process group of its own, with bounded output, ended with the
//! session that asked for it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::files::is_below;
use crate::program::door;

/// Of one session.
const MAX_TERMINALS: usize = 32;
/// Of one command's output, the end.
const MAX_OUTPUT_BYTES: usize = 256 << 10;
const PIECE_BYTES: usize = 8 << 10;
/// How long the pipes of a command that has ended are read.
const REST: std::time::Duration = std::time::Duration::from_millis(500);

#[derive(Debug)]
pub(crate) struct Terminals {
    root: PathBuf,
    last: u64,
    open: HashMap<String, Terminal>,
}

/// Dropped, it ends the command and all of its group.
#[derive(Debug)]
struct Terminal {
    output: Arc<Mutex<Output>>,
    ended: watch::Receiver<Option<Value>>,
    group: Option<Pid>,
    attending: JoinHandle<()>,
}

#[derive(Debug)]
struct Output {
    bytes: Vec<u8>,
    max: usize,
    is_cut: bool,
}

impl Output {
    fn push(&mut self, piece: &[u8]) {
        self.bytes.extend_from_slice(piece);
        let excess = self.bytes.len().saturating_sub(self.max);
        if excess > 0 {
            self.is_cut = true;
            // Not in the middle of a character.
            let is_inside = |byte: &u8| byte & 0b1100_0000 == 0b1000_0000;
            let further = self.bytes[excess..].iter().take(3).take_while(|byte| is_inside(byte)).count();
            self.bytes.drain(..excess + further);
        }
    }
}

impl Terminals {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), last: 0, open: HashMap::new() }
    }

    /// Answers `terminal/create`.
    pub(crate) fn create(&mut self, params: &Value) -> Result<Value, String> {
        if self.open.len() >= MAX_TERMINALS {
            return Err(format!("at most {MAX_TERMINALS} terminals at once; release some"));
        }
        let command = params.get("command").and_then(Value::as_str).ok_or("command: expected text")?;
        let arguments: Vec<&str> = params
            .get("args")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let cwd = match params.get("cwd").and_then(Value::as_str) {
            None => self.root.clone(),
            Some(cwd) => {
                let real = Path::new(cwd).canonicalize().map_err(|error| format!("cwd: {error}"))?;
                if !is_below(&self.root, &real) {
                    return Err("cwd: not below the workspace".to_owned());
                }
                real
            }
        };
        // Some programs send a whole command line as the command.
        let is_line = arguments.is_empty() && command.contains(char::is_whitespace);
        let mut started = if is_line { door("/bin/sh") } else { door(command) };
        match is_line {
            true => started.args(["-c", command]),
            false => started.args(arguments),
        };
        for variable in params.get("env").and_then(Value::as_array).into_iter().flatten() {
            let word = |name: &str| variable.get(name).and_then(Value::as_str);
            if let (Some(name), Some(value)) = (word("name"), word("value"))
                && !name.is_empty()
                && !name.contains(['=', '\0'])
                && !value.contains('\0')
            {
                started.env(name, value);
            }
        }
        started.current_dir(cwd).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        started.process_group(0).kill_on_drop(true);
        let child = started.spawn().map_err(|error| format!("{command}: {error}"))?;
        let max = params.get("outputByteLimit").and_then(Value::as_u64);
        let max =
            max.and_then(|max| usize::try_from(max).ok()).unwrap_or(MAX_OUTPUT_BYTES).min(MAX_OUTPUT_BYTES);
        let output = Arc::new(Mutex::new(Output { bytes: Vec::new(), max, is_cut: false }));
        let (sender, ended) = watch::channel(None);
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let attending = tokio::spawn(attend(child, Arc::clone(&output), group, sender));
        self.last += 1;
        let id = format!("terminal-{}", self.last);
        self.open.insert(id.clone(), Terminal { output, ended, group, attending });
        Ok(json!({ "terminalId": id }))
    }

    /// Answers `terminal/output`.
    pub(crate) fn output(&self, params: &Value) -> Result<Value, String> {
        let terminal = self.find(params)?;
        let output = lock(&terminal.output);
        let text = String::from_utf8_lossy(&output.bytes);
        let ended = terminal.ended.borrow().clone().unwrap_or_default();
        Ok(json!({ "output": text, "truncated": output.is_cut, "exitStatus": ended }))
    }

    /// Answers `terminal/wait_for_exit`, once it has ended.
    pub(crate) fn exit_of(&self, params: &Value) -> Result<impl Future<Output = Value> + use<>, String> {
        let mut ended = self.find(params)?.ended.clone();
        Ok(async move {
            match ended.wait_for(Option::is_some).await {
                Ok(status) => status.clone().unwrap_or_default(),
                Err(_) => json!({ "exitCode": null, "signal": "SIGKILL" }),
            }
        })
    }

    /// Answers `terminal/kill`: it can still be looked at.
    pub(crate) fn kill(&self, params: &Value) -> Result<Value, String> {
        self.find(params)?.kill();
        Ok(json!({}))
    }

    /// Answers `terminal/release`.
    pub(crate) fn release(&mut self, params: &Value) -> Result<Value, String> {
        let id = params.get("terminalId").and_then(Value::as_str).unwrap_or_default();
        self.open.remove(id).map(|_| json!({})).ok_or_else(|| unknown(id))
    }

    fn find(&self, params: &Value) -> Result<&Terminal, String> {
        let id = params.get("terminalId").and_then(Value::as_str).unwrap_or_default();
        self.open.get(id).ok_or_else(|| unknown(id))
    }
}

fn unknown(id: &str) -> String {
    format!("there is no terminal `{id}`")
}

fn lock(output: &Mutex<Output>) -> MutexGuard<'_, Output> {
    output.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Terminal {
    fn kill(&self) {
        // The number of a group that has ended may be another's by now.
        if let (None, Some(group)) = (self.ended.borrow().as_ref(), self.group) {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.kill();
        self.attending.abort();
    }
}

async fn attend(
    mut child: tokio::process::Child,
    output: Arc<Mutex<Output>>,
    group: Option<Pid>,
    ended: watch::Sender<Option<Value>>,
) {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let reading = async {
        tokio::join!(collect(stdout, &output), collect(stderr, &output));
    };
    let mut reading = std::pin::pin!(reading);
    let mut has_read = false;
    let status = loop {
        tokio::select! {
            () = &mut reading, if !has_read => has_read = true,
            status = child.wait() => break status,
        }
    };
    // What it left behind would keep its pipes open.
    if let Some(group) = group {
        let _ = kill_process_group(group, Signal::KILL);
    }
    if !has_read {
        let _ = tokio::time::timeout(REST, reading).await;
    }
    let _ = ended.send(Some(status.map_or_else(|_| json!({}), exit_status)));
}

fn exit_status(status: ExitStatus) -> Value {
    use std::os::unix::process::ExitStatusExt as _;
    let signal = status.signal().map(|number| match number {
        9 => "SIGKILL".to_owned(),
        15 => "SIGTERM".to_owned(),
        number => format!("signal {number}"),
    });
    json!({ "exitCode": status.code(), "signal": signal })
}

async fn collect<R: AsyncRead + Unpin>(pipe: Option<R>, output: &Mutex<Output>) {
    let Some(mut pipe) = pipe else { return };
    let mut piece = vec![0_u8; PIECE_BYTES];
    while let Ok(read @ 1..) = pipe.read(&mut piece).await {
        lock(output).push(&piece[..read]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A80
    #[tokio::test]
    async fn a_command_runs_below_the_workspace_with_bounded_output() {
        let root = tempfile::tempdir().unwrap();
        let mut terminals = Terminals::new(root.path());
        let asked = json!({
            "command": "/bin/sh", "args": ["-c", "printf %s \"$WORD\"; printf äöü; exit 3"], "outputByteLimit": 5,
            "env": [{ "name": "WORD", "value": "abcdef" }],
        });
        let one = terminals.create(&asked).unwrap();
        let ended = terminals.exit_of(&one).unwrap().await;
        assert_eq!(ended, json!({ "exitCode": 3, "signal": null }));
        let told = terminals.output(&one).unwrap();
        assert_eq!((&told["output"], &told["truncated"]), (&json!("öü"), &json!(true)));
        assert!(terminals.release(&one).is_ok() && terminals.output(&one).is_err());
        let outside = json!({ "command": "true", "cwd": "/" });
        assert_eq!(terminals.create(&outside), Err("cwd: not below the workspace".to_owned()));
        assert!(terminals.create(&json!({ "command": "/nowhere/at-all" })).is_err());
    }

    // A80
    #[tokio::test]
    async fn a_command_is_ended_with_all_it_started() {
        let root = tempfile::tempdir().unwrap();
        let mut terminals = Terminals::new(root.path());
        let line = json!({ "command": "sleep 1000 & echo begun; wait" });
        let one = terminals.create(&line).unwrap();
        let waiting = terminals.exit_of(&one).unwrap();
        terminals.kill(&one).unwrap();
        assert_eq!(waiting.await["signal"], "SIGKILL");
        let two = terminals.create(&line).unwrap();
        let waiting = terminals.exit_of(&two).unwrap();
        drop(terminals);
        assert_eq!(waiting.await["signal"], "SIGKILL", "with its session too");
    }
}
