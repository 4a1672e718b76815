//! The doors of a box: ports on its loopback whose bytes go to Warren, over the runner's line (A81).
//!
//! ```text
//!   program ── 127.0.0.1:7701 ──▶ a stream to the model door ──▶ Warren
//!   program ◀── 127.0.0.1:PORT ── a stream that Warren opened ◀── Warren
//! ```
//!
//! Bytes are passed on and nothing else: what HTTP is, who may do what and which key is taken, Warren knows. So there is no
//! secret here, and nothing to be talked into anything.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncWriteExt as _, copy_bidirectional_with_sizes};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use warren_line::{Door, LineStream, MAX_STREAMS, Multiplexer, Target};

/// Of each connection, in each direction.
const BUFFER_BYTES: usize = 16 << 10;
/// When no descriptor is free.
const PAUSE: Duration = Duration::from_millis(50);

/// Ports that programs of the box can connect to.
#[derive(Debug, Default)]
pub struct Doors(Vec<(Door, TcpListener)>);

impl Doors {
    /// All of them, whatever is granted: Warren says in words why it serves one or not. A port that somebody in the box
    /// has taken stays theirs.
    pub async fn listen() -> Self {
        let mut listeners = Vec::new();
        for door in Door::ALL {
            match TcpListener::bind(loopback(door.port())).await {
                Ok(listener) => listeners.push((door, listener)),
                Err(error) => {
                    let sentence = format!("warren-runner: the {door} door cannot be opened: {error}\n");
                    let _ = tokio::io::stderr().write_all(sentence.as_bytes()).await;
                }
            }
        }
        Self(listeners)
    }

    /// Passes on what programs say, until what it returns is dropped.
    pub fn serve(self, line: &Multiplexer) -> JoinSet<()> {
        // One place is left for each side's haste: a stream may be over here and not yet there.
        let places = Arc::new(Semaphore::new(MAX_STREAMS - 1));
        let mut serving = JoinSet::new();
        for (door, listener) in self.0 {
            serving.spawn(accept(door, listener, line.clone(), Arc::clone(&places)));
        }
        serving
    }
}

fn loopback(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

/// Whoever comes when all places are taken waits in the kernel.
async fn accept(door: Door, listener: TcpListener, line: Multiplexer, places: Arc<Semaphore>) {
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let Ok((connection, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let Ok(stream) = line.open(Target::Door(door)) else { continue };
        tokio::spawn(async move {
            pass(connection, stream).await;
            drop(place);
        });
    }
}

/// A stream that Warren opened. Dropped unused, Warren learns that nobody listens.
pub(crate) async fn connect(target: Target, stream: LineStream) {
    let Target::Port(port) = target else { return };
    if let Ok(connection) = TcpStream::connect(loopback(port)).await {
        pass(connection, stream).await;
    }
}

async fn pass(mut connection: TcpStream, mut stream: LineStream) {
    let _ = connection.set_nodelay(true);
    // An error on one side ends both: the other is told by the drop.
    let _ = copy_bidirectional_with_sizes(&mut connection, &mut stream, BUFFER_BYTES, BUFFER_BYTES).await;
}
