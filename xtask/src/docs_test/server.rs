//! A fresh server for one page, on its own data folder and a free port.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// A debug build on a loaded machine; a healthy start takes milliseconds.
const START_DEADLINE: Duration = Duration::from_secs(60);

pub(crate) struct Server {
    child: Child,
    pub(crate) url: String,
    pub(crate) token: String,
}

impl Server {
    pub(crate) fn start(binary: &Path, folder: &Path) -> Result<Self> {
        let mut child = command(binary)
            .args(["up", "--listen", "127.0.0.1:0", "--json", "--data"])
            .arg(folder.join("data"))
            .env_remove("WARREN_URL")
            .env_remove("WARREN_TOKEN")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::from(std::fs::File::create(folder.join("server.log"))?))
            .spawn()
            .with_context(|| format!("start {}", binary.display()))?;
        let stdout = child.stdout.take().context("the server's output is piped")?;
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            let mut lines = BufReader::new(stdout);
            let mut first = String::new();
            // Nobody listens any more once the deadline has passed.
            let _ = sender.send(lines.read_line(&mut first).map(|_| first));
            // Read on, so that the server never blocks on a full pipe.
            let _ = std::io::copy(&mut lines, &mut std::io::sink());
        });
        let mut server = Self { child, url: String::new(), token: String::new() };
        let log = || std::fs::read_to_string(folder.join("server.log")).unwrap_or_default();
        let Ok(first) = receiver.recv_timeout(START_DEADLINE) else {
            bail!("`warren up` said nothing within {} s\n{}", START_DEADLINE.as_secs(), log());
        };
        let first = first.context("read what `warren up` prints")?;
        (server.url, server.token) = parse_ready(&first).with_context(|| {
            format!("`warren up --json` printed {first:?} instead of its address\n{}", log())
        })?;
        Ok(server)
    }
}

impl Drop for Server {
    /// Without mercy: its folder goes with it.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The one line `{"url": …, "token": …}` that says that the server is ready.
fn parse_ready(line: &str) -> Result<(String, String)> {
    let ready: serde_json::Value = serde_json::from_str(line).context("not JSON")?;
    let field = |name: &str| ready.get(name).and_then(|value| value.as_str()).map(str::to_owned);
    Ok((field("url").context("no `url`")?, field("token").context("no `token`")?))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the door for processes is for workspaces; this is a developer's tool"
)]
pub(crate) fn command(program: &Path) -> Command {
    Command::new(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ready_line_gives_address_and_token() {
        let (url, token) = parse_ready("{\"url\": \"http://127.0.0.1:1\", \"token\": \"t\"}\n").unwrap();
        assert_eq!((url.as_str(), token.as_str()), ("http://127.0.0.1:1", "t"));
        assert!(parse_ready("listening").is_err());
        assert!(parse_ready("{\"url\": \"x\"}").unwrap_err().to_string().contains("token"));
    }

    #[test]
    fn a_program_that_ends_without_a_word_is_an_error_with_its_log() {
        let folder = tempfile::tempdir().unwrap();
        let error = Server::start(Path::new("/bin/false"), folder.path()).err().unwrap();
        assert!(format!("{error:#}").contains("instead of its address"), "{error:#}");
    }
}
