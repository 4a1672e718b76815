//! A stand-in between provider and daemon that counts what is asked and can misbehave (D12).

use std::sync::{Arc, Mutex};

use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};

/// What happens to a request whose first line contains `about`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mischief {
    /// It never gets an answer, and the daemon never hears of it.
    Silence,
    /// The daemon is said to have failed.
    Failure,
    /// The daemon does it, and nobody is told.
    LostAnswer,
}

pub(crate) struct Proxy {
    pub(crate) host: String,
    seen: Arc<Mutex<Vec<String>>>,
    mischief: Arc<Mutex<Option<(&'static str, Mischief)>>>,
    _folder: TempDir,
}

impl Proxy {
    pub(crate) fn before(daemon: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("proxy.sock");
        let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        listener.set_nonblocking(true).unwrap();
        let proxy = Self {
            host: format!("unix://{}", socket.display()),
            seen: Arc::default(),
            mischief: Arc::default(),
            _folder: folder,
        };
        let (seen, mischief) = (Arc::clone(&proxy.seen), Arc::clone(&proxy.mischief));
        let daemon = daemon.trim_start_matches("unix://").to_owned();
        // On a thread of its own: tests look at the daemon by a command, and wait for that.
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = UnixListener::from_std(listener).unwrap();
                while let Ok((client, _)) = listener.accept().await {
                    let (seen, mischief, daemon) = (Arc::clone(&seen), Arc::clone(&mischief), daemon.clone());
                    // A client that hangs up in the middle is a client that hangs up.
                    tokio::spawn(async move { drop(serve(client, &daemon, &seen, &mischief).await) });
                }
            });
        });
        proxy
    }

    pub(crate) fn set(&self, about: &'static str, mischief: Mischief) {
        *self.mischief.lock().unwrap() = Some((about, mischief));
    }

    pub(crate) fn behave(&self) {
        *self.mischief.lock().unwrap() = None;
    }

    /// First lines of the requests so far, without the version of the API.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

async fn serve(
    mut client: UnixStream,
    daemon: &str,
    seen: &Mutex<Vec<String>>,
    mischief: &Mutex<Option<(&'static str, Mischief)>>,
) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.windows(2).any(|pair| pair == b"\r\n") {
        let mut piece = [0; 4_096];
        match client.read(&mut piece).await? {
            0 => return Ok(()),
            count => head.extend_from_slice(&piece[..count]),
        }
    }
    let line = String::from_utf8_lossy(&head).lines().next().unwrap_or_default().to_owned();
    let now = mischief.lock().unwrap().filter(|(about, _)| line.contains(about)).map(|(_, what)| what);
    seen.lock().unwrap().push(line);
    match now {
        Some(Mischief::Silence) => std::future::pending::<()>().await,
        Some(Mischief::Failure) => {
            let answer = "HTTP/1.1 500 Internal Server Error\r\nContent-Type: application/json\r\nContent-Length: 23\r\n\
                          Connection: close\r\n\r\n{\"message\":\"/secret/x\"}";
            client.write_all(answer.as_bytes()).await?;
            client.shutdown().await?;
        }
        Some(Mischief::LostAnswer) => {
            let mut server = UnixStream::connect(daemon).await?;
            server.write_all(&head).await?;
            let (mut from_client, _to_client) = client.split();
            let (mut from_server, mut to_server) = server.split();
            let forward = tokio::io::copy(&mut from_client, &mut to_server);
            let swallow = async {
                let mut answer = [0; 4_096];
                // The whole answer, so that the daemon has done what it was asked.
                let _ = from_server.read(&mut answer).await;
                std::future::pending::<()>().await;
            };
            tokio::join!(forward, swallow).0?;
        }
        None => {
            let mut server = UnixStream::connect(daemon).await?;
            server.write_all(&head).await?;
            tokio::io::copy_bidirectional(&mut client, &mut server).await?;
        }
    }
    Ok(())
}
