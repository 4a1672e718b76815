//! A terminal around the binary, as a person's terminal emulator would be.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};

const PATIENCE: Duration = Duration::from_secs(20);

/// The terminal, with the program in it.
pub(crate) struct Pty {
    ours: File,
    /// Kept, so that its modes can be looked at when the program is gone.
    theirs: OwnedFd,
    child: Child,
    pieces: mpsc::Receiver<Vec<u8>>,
    screen: Vec<u8>,
    before: Termios,
}

impl Pty {
    /// Runs `command` as the foreground of a new terminal. `setsid` makes it the session's own.
    pub(crate) fn spawn(command: &Command, rows: u16, columns: u16) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let theirs = ioctl_tiocgptpeer(&ours, OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        tcsetwinsize(&ours, window(rows, columns)).unwrap();
        let before = tcgetattr(&theirs).unwrap();
        let child = in_session(command, &theirs);
        let ours = File::from(ours);
        let pieces = read_in_background(ours.try_clone().unwrap());
        Self { ours, theirs, child, pieces, screen: Vec::new(), before }
    }

    pub(crate) fn type_in(&mut self, text: &str) {
        self.ours.write_all(text.as_bytes()).unwrap();
    }

    pub(crate) fn resize(&self, rows: u16, columns: u16) {
        tcsetwinsize(&self.ours, window(rows, columns)).unwrap();
    }

    /// Waits until `text` was printed.
    #[track_caller]
    pub(crate) fn see(&mut self, text: &str) {
        let is_seen = self.sees_within(PATIENCE, |screen| screen.contains(text));
        assert!(is_seen, "{text:?} was not printed: {:?}", self.screen());
    }

    /// Waits for what is printed to be so, for as long as this.
    pub(crate) fn sees_within(&mut self, patience: Duration, is_so: impl Fn(&str) -> bool) -> bool {
        let deadline = Instant::now() + patience;
        while !is_so(&self.screen()) {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.pieces.recv_timeout(left) {
                Ok(piece) => self.screen.extend(piece),
                Err(_) => return false,
            }
        }
        true
    }

    pub(crate) fn screen(&self) -> String {
        String::from_utf8_lossy(&self.screen).into_owned()
    }

    /// The process id of the program, which `setsid` became.
    pub(crate) fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Whether every key would reach the program as it is, as while it is connected.
    pub(crate) fn is_raw(&self) -> bool {
        use rustix::termios::LocalModes;
        !tcgetattr(&self.theirs).unwrap().local_modes.intersects(LocalModes::ICANON | LocalModes::ECHO)
    }

    /// The exit code, once the program has ended, with the terminal as it was before.
    #[track_caller]
    pub(crate) fn wait(&mut self) -> Option<i32> {
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < deadline, "it does not end: {:?}", self.screen());
            if let Ok(piece) = self.pieces.recv_timeout(Duration::from_millis(10)) {
                self.screen.extend(piece);
            }
        };
        let after = tcgetattr(&self.theirs).unwrap();
        assert_eq!(after.local_modes, self.before.local_modes, "the terminal was not restored");
        assert_eq!(after.input_modes, self.before.input_modes, "the terminal was not restored");
        assert_eq!(after.output_modes, self.before.output_modes, "the terminal was not restored");
        while let Ok(piece) = self.pieces.recv_timeout(Duration::from_millis(100)) {
            self.screen.extend(piece);
        }
        status.code()
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        // Already gone is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[expect(clippy::disallowed_methods, reason = "runs the binary under test")]
fn in_session(command: &Command, terminal: &OwnedFd) -> Child {
    let end = || terminal.as_fd().try_clone_to_owned().unwrap();
    let mut wrapped = Command::new("setsid");
    wrapped.arg("--ctty").arg(command.get_program()).args(command.get_args()).env_clear();
    wrapped.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    wrapped.current_dir(command.get_current_dir().unwrap());
    wrapped.stdin(end()).stdout(end()).stderr(end());
    // It forks only when it leads a process group, which a child of this process does not.
    wrapped.spawn().expect("setsid is there (Debian package util-linux)")
}

fn read_in_background(mut from: File) -> mpsc::Receiver<Vec<u8>> {
    let (sender, pieces) = mpsc::channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4_096];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            if sender.send(buffer[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    pieces
}

fn window(rows: u16, columns: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}
