//! The server: an accept loop of our own on hyper, since a bare one keeps slow clients for ever (sec/W05).

mod drain;
mod framing;
mod stall;
pub(crate) mod unread;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ::http::Request;
use axum::Router;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;
use warren_agent::AgentHost;
use warren_doors::{Clock, Entropy};
use warren_exchange::Exchange;
use warren_model::Limits;
use warren_operations::Operations;

use self::framing::{AmbiguityFlag, FramedStream, RefuseAmbiguous};
use crate::app::{App, ServerConfig};
use crate::box_doors::{BoxDoors, BoxLines};
use crate::event_hub::EventHub;
use crate::fleet_metrics::FleetMetrics;
use crate::guard::Guard;
use crate::routes::ProviderSignIn;
use crate::runner_gateway::RouterGateway;
use crate::telemetry::Telemetry;
use crate::{VERSION, forwarding, routes};

/// Largest request head; hyper answers 431 beyond it.
const MAX_HEAD_BYTES: usize = 64 * 1_024;
const MAX_HEADERS: usize = 100;
/// After the requests: how long workspaces may take to close and what is owed to be written.
const CLOSE_LIMIT: Duration = Duration::from_secs(10);
/// One page of history is read in a few milliseconds; more at once would only queue before the readers.
const MAX_HISTORY_READERS: usize = 2;

#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("the address {0} is already in use")]
    AddressInUse(SocketAddr),
    #[error("cannot listen on {0}")]
    Listen(SocketAddr, #[source] io::Error),
}

/// What a server is put together from.
#[derive(Debug)]
pub struct Parts {
    pub agents: AgentHost,
    pub exchange: Exchange,
    pub operations: Operations,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    pub telemetry: Arc<Telemetry>,
    /// By whom people can sign in, besides by links.
    pub provider_sign_in: Option<ProviderSignIn>,
}

/// A server that has its address.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    /// Where other replicas reach it.
    replica_url: Option<String>,
    app: Arc<App>,
    router: Router,
}

impl Server {
    /// Binds the address. Connections wait in the kernel until `run`.
    pub async fn bind(listen: SocketAddr, config: ServerConfig, parts: Parts) -> Result<Self, ServerError> {
        let Parts { agents, exchange, operations, clock, entropy, telemetry, provider_sign_in } = parts;
        let listener = TcpListener::bind(listen).await.map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => ServerError::AddressInUse(listen),
            _ => ServerError::Listen(listen, error),
        })?;
        let address = listener.local_addr().map_err(|error| ServerError::Listen(listen, error))?;
        let fleet = exchange.fleet().clone();
        let max_streams = fleet.context.limits().max_event_streams as usize;
        let app = Arc::new(App {
            guard: Guard::new(address, &config.allowed_hosts, &config.allowed_origins),
            hub: EventHub::new(),
            fleet_metrics: FleetMetrics::default(),
            event_streams: Arc::new(Semaphore::new(max_streams)),
            history_readers: Semaphore::new(MAX_HISTORY_READERS),
            has_public_metrics: config.has_public_metrics,
            provider_sign_in,
            relay: exchange.connector().relay(),
            box_lines: BoxLines::default(),
            stopping: CancellationToken::new(),
            agents,
            operations,
            clock,
            entropy,
            telemetry,
            exchange,
            fleet,
        });
        let router = routes::router(&app);
        let doors = BoxDoors::new(Arc::clone(&app), router.clone(), address.to_string());
        let gateway =
            RouterGateway::new(router.clone(), address).telling(app.exchange.clone()).with_doors(doors);
        app.fleet.residents.set_gateway(Arc::new(gateway));
        let replica_url = config.replica_url.or_else(|| forwarding::reached_at(address));
        Ok(Self { listener, address, replica_url, app, router })
    }

    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is cancelled; then lets requests in flight finish, within the limit, and returns.
    pub async fn run(self, stop: CancellationToken) {
        let Self { listener, app, router, replica_url, .. } = self;
        forwarding::announce(&app, replica_url).await;
        let follower = tokio::spawn(
            app.hub
                .clone()
                .follow(app.fleet.event_log.clone(), app.stopping.clone())
                .instrument(tracing::info_span!("server.events.follow")),
        );
        app.fleet_metrics.begin(&app).await;
        let connections = TaskTracker::new();
        let places = Arc::new(Semaphore::new(app.limits().max_connections as usize));
        loop {
            let stream = tokio::select! {
                () = stop.cancelled() => break,
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => stream,
                    Err(error) => {
                        // Out of descriptors, most likely: do not spin, and do not die.
                        tracing::warn!(%error, "a connection could not be accepted");
                        tokio::time::sleep(Duration::from_millis(50)).await;
                        continue;
                    }
                },
            };
            let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
                tracing::debug!("a connection was closed: too many are open");
                continue;
            };
            let connection = connection(stream, &app, router.clone());
            let stopping = app.stopping.clone();
            connections.spawn(async move {
                if let Err(error) = serve(connection, stopping).await {
                    tracing::debug!(%error, "a connection ended early");
                }
                drop(place);
            });
        }
        drop(listener);
        app.stopping.cancel();
        let limit = Duration::from_millis(app.limits().shutdown_timeout_ms);
        connections.close();
        if tokio::time::timeout(limit, connections.wait()).await.is_err() {
            tracing::warn!("some requests did not finish in time and were cut off");
        }
        let closing = async {
            app.agents.stop().await;
            app.exchange.stop().await;
            app.fleet.stop(VERSION).await;
        };
        if tokio::time::timeout(CLOSE_LIMIT, closing).await.is_err() {
            tracing::warn!("some workspaces did not close in time; the next start finishes the job");
        }
        follower.abort();
    }
}

type Connection = hyper::server::conn::http1::UpgradeableConnection<
    TokioIo<FramedStream<stall::StallGuard<TcpStream>>>,
    RefuseAmbiguous<TowerToHyperService<Router>>,
>;

/// Serves until the client is done; once the server stops, only until the request in flight is answered.
async fn serve(connection: Connection, stopping: CancellationToken) -> hyper::Result<()> {
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        outcome = connection.as_mut() => return outcome,
        () = stopping.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    connection.await
}

/// Serves HTTP on a stream that is no socket, to its end, under the same limits as one.
pub(crate) async fn serve_stream<S, V>(stream: S, limits: &Limits, service: V) -> hyper::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    V: Service<Request<Incoming>, Response = Response, Error = Infallible>,
{
    let guarded = stall::StallGuard::new(stream, Duration::from_millis(limits.stall_timeout_ms));
    let note = AmbiguityFlag::default();
    let service = RefuseAmbiguous { inner: service, note: note.clone() };
    hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_millis(limits.header_timeout_ms))
        .max_buf_size(MAX_HEAD_BYTES)
        .max_headers(MAX_HEADERS)
        .serve_connection(TokioIo::new(FramedStream::new(guarded, note)), service)
        .await
}

fn connection(stream: TcpStream, app: &App, router: Router) -> Connection {
    // Without it, small frames of a stream wait for the client's acknowledgement of the one before.
    let _ = stream.set_nodelay(true);
    let limits = app.limits();
    let guarded = stall::StallGuard::new(stream, Duration::from_millis(limits.stall_timeout_ms));
    let note = AmbiguityFlag::default();
    let service = RefuseAmbiguous { inner: TowerToHyperService::new(router), note: note.clone() };
    hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_millis(limits.header_timeout_ms))
        .max_buf_size(MAX_HEAD_BYTES)
        .max_headers(MAX_HEADERS)
        .serve_connection(TokioIo::new(FramedStream::new(guarded, note)), service)
        .with_upgrades()
}
