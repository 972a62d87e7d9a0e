//! The server: listening, connections and graceful shutdown.

use std::convert::Infallible;
use std::fs;
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, DefaultBodyLimit};
use axum::http::header::HOST;
use axum::http::{HeaderMap, HeaderValue, Version};
use axum::middleware::from_fn;
use axum::response::IntoResponse;
use axum::routing::any;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tower::ServiceExt;

use crate::access::Peer;
use crate::app::App;
use crate::config::{At, Config, Tls};
use crate::connection_limit::{ConnectionLimiter, ConnectionSlot};
use crate::membership::BEAT;
use crate::problem::Problem;
use crate::project::{OpenError, PolicyDiffers};
use crate::stream_body::body_with;
use crate::{access, api, console, mcp};

/// The timeout of a TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// The most headers of a request.
const HEADERS: usize = 100;

/// The most bytes of the head of a request.
const HEAD_BYTES: u16 = u16::MAX;

/// Concurrent requests of one connection of HTTP/2.
const STREAMS: u32 = 100;

/// The most concurrent connections. Others wait.
const CONNECTIONS: usize = 10_000;

/// Threads that work on requests. Each may wait for the store.
const THREADS: usize = 256;

/// The address of the service, when it is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ready {
    /// Its URL.
    pub url: String,
    /// Whether programs need a key.
    pub takes_keys: bool,
    /// Whether there is an approver who can log in.
    pub has_people: bool,
}

/// Why the service could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// A project cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The address cannot be used.
    #[error("cannot listen at {at}: {source}")]
    Listen {
        /// The address.
        at: String,
        /// The cause.
        source: io::Error,
    },
    /// Other machines could reach the service without credentials.
    #[error("`{0}` can be reached by other machines, and there are no keys to authenticate callers")]
    Unguarded(SocketAddr),
    /// Keys would be sent over the network unencrypted.
    #[error(
        "`{0}` can be reached by other machines, and without a certificate keys could be read on the way"
    )]
    Plain(SocketAddr),
    /// The certificate or its key cannot be used.
    #[error("the certificate cannot be used: `{path}`: {why}", path = path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// The cause.
        why: String,
    },
    /// The runtime cannot be started, or ended.
    #[error("the service ended: {0}")]
    Io(#[from] io::Error),
    /// The credentials cannot be read from the store.
    #[error("the credentials cannot be read: {0}")]
    Access(String),
}

impl ServeError {
    /// Advice.
    pub fn help(&self) -> Option<String> {
        let help = match self {
            ServeError::Unguarded(_) => {
                Some("create one with `midrail key add NAME`, or listen on 127.0.0.1")
            }
            ServeError::Plain(_) => {
                Some("give `--tls-cert` and `--tls-key`, or `--behind-proxy` if a proxy terminates TLS")
            }
            ServeError::Listen { source, .. } if source.kind() == io::ErrorKind::AddrInUse => {
                Some("another program uses this address: choose another with `--listen 127.0.0.1:PORT`")
            }
            ServeError::Open(OpenError::Differs(differs)) => return Some(differs.help()),
            _ => None,
        };
        help.map(str::to_owned)
    }

    /// The difference of policies because of which the service did not start.
    pub fn policy_differs(&self) -> Option<&PolicyDiffers> {
        match self {
            ServeError::Open(OpenError::Differs(differs)) => Some(differs),
            _ => None,
        }
    }
}

/// Serves until SIGTERM or SIGINT. `ready` is called once with the address.
pub fn run(config: Config, ready: impl FnOnce(&Ready)) -> Result<(), ServeError> {
    run_until(config, ready, stop_signal())
}

/// Serves until a future completes. `ready` is called once with the address.
pub fn run_until(
    config: Config,
    ready: impl FnOnce(&Ready),
    stop: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(THREADS)
        .thread_name("midrail-serve")
        .build()?;
    // Before the store is opened: a process that cannot listen changes nothing.
    let bound = runtime.block_on(bind(&config))?;
    let app = App::open(config)?;
    let result = runtime.block_on(serve(app.clone(), bound, ready, stop));
    // An unread stream does not keep the process running.
    runtime.shutdown_timeout(Duration::from_secs(1));
    // A process that did not serve writes nothing.
    if result.is_ok() {
        finish(&app);
    }
    result
}

/// Renews the membership of this instance in all open projects, until the service stops.
fn renew_memberships(app: &App) -> io::Result<()> {
    let app = app.clone();
    thread::Builder::new().name("midrail-members".to_owned()).spawn(move || {
        while !app.is_closing() {
            for project in app.projects.all() {
                project.membership.beat(project.name(), project.engine());
            }
            thread::sleep(BEAT);
        }
    })?;
    Ok(())
}

/// A socket that listens, and its URL.
struct Bound {
    listening: Listening,
    url: String,
    file: Option<SocketFile>,
}

/// The file of a Unix socket, which is removed when this is dropped.
struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Listens. Connections wait until they are accepted.
async fn bind(config: &Config) -> Result<Bound, ServeError> {
    match &config.listen {
        At::Address(address) => {
            let failed = |source| ServeError::Listen { at: address.to_string(), source };
            let listener = TcpListener::bind(address).await.map_err(failed)?;
            let scheme = if config.tls.is_some() { "https" } else { "http" };
            let url = format!("{scheme}://{}", listener.local_addr()?);
            Ok(Bound { listening: Listening::Address(listener), url, file: None })
        }
        At::Socket(path) => {
            let failed = |source| ServeError::Listen { at: path.display().to_string(), source };
            let listener = socket(path).map_err(failed)?;
            let file = Some(SocketFile(path.clone()));
            let url = format!("unix:{}", path.display());
            let owner = fs::metadata(path)?.uid();
            Ok(Bound { listening: Listening::Socket(listener, owner), url, file })
        }
    }
}

async fn serve(
    app: App,
    bound: Bound,
    ready: impl FnOnce(&Ready),
    stop: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let setup = app.authenticator.setup().await.map_err(|problem| ServeError::Access(problem.detail))?;
    let tls = app.config.tls.as_ref().map(acceptor).transpose()?;
    if let At::Address(address) = &app.config.listen
        && !app.config.is_private()
    {
        if !setup.keys && !setup.people {
            return Err(ServeError::Unguarded(*address));
        }
        if tls.is_none() && !app.config.behind_proxy {
            return Err(ServeError::Plain(*address));
        }
    }
    let router = router(&app);
    let Bound { listening, url, file: _file } = bound;
    app.projects.join(&url)?;
    renew_memberships(&app)?;
    // Signals are received from the first poll on: one that arrives right after `ready` ends the service in order.
    let mut stop = std::pin::pin!(stop);
    let is_stopped = poll_fn(|context| Poll::Ready(stop.as_mut().poll(context).is_ready())).await;
    ready(&Ready { url, takes_keys: setup.keys, has_people: setup.people });
    if !is_stopped {
        accept_connections(&app, listening, tls, router, stop).await;
    }
    Ok(())
}

/// The listening socket.
enum Listening {
    Address(TcpListener),
    /// With the user who may connect.
    Socket(UnixListener, u32),
}

/// Accepts connections until the shutdown, and then waits for running requests.
async fn accept_connections(
    app: &App,
    listener: Listening,
    tls: Option<TlsAcceptor>,
    router: Router,
    stop: impl Future<Output = ()>,
) {
    let (stopping, _) = watch::channel(());
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let connection_limit = ConnectionLimiter::new(app.config.limits.per_address);
    // All forwarded requests come from the address of the proxy, so there the requests are counted.
    let request_limit = ConnectionLimiter::new(app.config.limits.per_address);
    let mut stopped = std::pin::pin!(stop);
    loop {
        let next = async {
            let place = room.clone().acquire_owned().await.map_err(io::Error::other)?;
            Ok::<_, io::Error>((accept(&app.config, &listener, &connection_limit).await?, place))
        };
        let taken = tokio::select! {
            () = &mut stopped => break,
            taken = next => taken,
        };
        let ((stream, peer, own), place) = match taken {
            Ok(taken) => taken,
            Err(error) => {
                // For example too many open files.
                log::error!(error:%; "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let (app, router, tls, stop) = (app.clone(), router.clone(), tls.clone(), stopping.subscribe());
        let requests = request_limit.clone();
        tokio::spawn(async move {
            let _places = (place, own);
            let Some(acceptor) = tls else {
                return serve_connection(app, router, stream, (peer, requests), stop).await;
            };
            match timeout(HANDSHAKE, acceptor.accept(stream)).await {
                Ok(Ok(stream)) => {
                    serve_connection(app, router, Box::new(stream), (peer, requests), stop).await;
                }
                Ok(Err(error)) => log::info!(from:% = peer.0, error:%; "no TLS"),
                Err(_) => log::info!(from:% = peer.0; "no TLS in time"),
            }
        });
    }
    drop(listener);
    log::info!("stopping: no new connections are accepted");
    app.close();
    let streams = u32::try_from(app.config.limits.streams).unwrap_or(u32::MAX);
    let ended = async {
        stopping.send_replace(());
        stopping.closed().await;
        // A WebSocket is not a connection of the server any more, but is awaited too.
        let _ = app.streams.acquire_many(streams).await;
        app.background_ended().await;
    };
    if timeout(app.config.limits.grace, ended).await.is_err() {
        log::warn!("some requests did not end in time, and were aborted");
    }
}

/// A connection over any transport.
trait Connection: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Connection for S {}

/// An accepted connection, its peer, and the slot of its address.
type Accepted = (Box<dyn Connection>, Peer, Option<ConnectionSlot>);

async fn accept(
    config: &Config,
    listener: &Listening,
    connection_limit: &ConnectionLimiter,
) -> io::Result<Accepted> {
    match listener {
        Listening::Address(listener) => loop {
            let (stream, address) = listener.accept().await?;
            let slot = (!config.is_proxy(address.ip())).then(|| connection_limit.enter(address.ip()));
            if matches!(slot, Some(None)) {
                log::debug!(from:% = address.ip(); "a connection was closed: too many from this address");
                continue;
            }
            // Answers are small.
            let _ = stream.set_nodelay(true);
            return Ok((Box::new(stream), Peer(address.ip().to_string()), slot.flatten()));
        },
        Listening::Socket(listener, owner) => loop {
            let (stream, _) = listener.accept().await?;
            // Another user may have connected before the permissions were set.
            match stream.peer_cred().map(|peer| peer.uid()) {
                Ok(uid) if uid == *owner || uid == 0 => {
                    return Ok((Box::new(stream), Peer("this machine".to_owned()), None));
                }
                _ => log::warn!("a connection of another user was refused"),
            }
        },
    }
}

/// Answers the requests of one connection. After `stop` it ends with the running request.
async fn serve_connection(
    app: App,
    router: Router,
    stream: Box<dyn Connection>,
    (peer, request_limit): (Peer, ConnectionLimiter),
    mut stop: watch::Receiver<()>,
) {
    // Through a Unix socket, only a proxy of the same user can forward requests.
    let address: Option<IpAddr> = peer.0.parse().ok();
    let is_proxy = address.map_or(app.config.behind_proxy, |address| app.config.is_proxy(address));
    let (head, is_tls) = (app.config.limits.head, app.config.tls.is_some());
    let first_request = Arc::new(AtomicBool::new(false));
    let has_requests = first_request.clone();
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let (router, mut request) = (router.clone(), request.map(Body::new));
        has_requests.store(true, Ordering::Relaxed);
        // HTTP/2 has no header for the host, and a full address overrides it.
        if let Some(host) =
            request.uri().authority().and_then(|host| HeaderValue::from_str(host.as_str()).ok())
        {
            request.headers_mut().insert(HOST, host);
        }
        // Without a proxy, the connections of an address are counted, and one of HTTP/1 has one request at a time.
        let client = if is_proxy {
            forwarded_address(request.headers())
        } else if request.version() == Version::HTTP_2 {
            address
        } else {
            None
        };
        let slot = client.map(|client| request_limit.enter(client));
        let peer = client.map_or_else(|| peer.clone(), |client| Peer(client.to_string()));
        request.extensions_mut().insert(ConnectInfo(peer));
        async move {
            let mut response = match slot {
                Some(None) => {
                    let busy = Problem::too_many("too many concurrent requests come from this address");
                    busy.retry_after(1).into_response()
                }
                slot => {
                    let response = router.oneshot(request).await.unwrap_or_else(|never| match never {});
                    match slot.flatten() {
                        Some(slot) => response.map(|body| body_with(body, slot)),
                        None => response,
                    }
                }
            };
            access::set_security_headers(is_tls, response.headers_mut());
            Ok::<_, Infallible>(response)
        }
    });
    let mut http = auto::Builder::new(TokioExecutor::new());
    http.http1()
        .timer(TokioTimer::new())
        .header_read_timeout(head)
        .max_headers(HEADERS)
        .max_buf_size(HEAD_BYTES.into());
    http.http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(head)
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(HEAD_BYTES.into());
    let silence = async {
        tokio::time::sleep(head).await;
        if first_request.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    };
    let mut connection = std::pin::pin!(http.serve_connection_with_upgrades(TokioIo::new(stream), service));
    let ended = tokio::select! {
        ended = &mut connection => ended,
        // The limit of `http1` begins when the version is known.
        () = silence => return log::debug!("a connection was closed: no request came in time"),
        _ = stop.changed() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        log::debug!(error:%; "a connection ended");
    }
}

/// The address of a forwarded request: the last one, which the proxy has added. The others could be forged. `None`: the
/// proxy names none.
fn forwarded_address(headers: &HeaderMap) -> Option<IpAddr> {
    let mut lines = headers.get_all("x-forwarded-for").into_iter().filter_map(|line| line.to_str().ok());
    lines.next_back()?.rsplit(',').next()?.trim().parse().ok()
}

/// The answer to unknown paths: a page for people, JSON for programs.
fn not_found_routes(app: &App) -> Router {
    let not_found = any(api::input::not_found).layer(from_fn(console::render_problems));
    Router::new().fallback_service(not_found.with_state(app.clone()))
}

/// All routes, with the layers of every route.
pub(crate) fn router(app: &App) -> Router {
    let all = api::routes(app).merge(mcp::routes(app)).merge(console::routes(app));
    #[cfg(feature = "grpc")]
    let all = all.merge(crate::gateways::envoy::routes(app));
    let all = all.fallback_service(not_found_routes(app));
    let all = all.method_not_allowed_fallback(api::wrong_method);
    all.layer(DefaultBodyLimit::max(app.config.limits.body)).with_state(app.clone())
}

/// Waits for SIGTERM or SIGINT.
async fn stop_signal() {
    let wait_for = |kind| async move {
        match signal(kind) {
            Ok(mut signal) => drop(signal.recv().await),
            Err(error) => {
                log::error!(error:%; "a signal cannot be received");
                std::future::pending::<()>().await;
            }
        }
    };
    tokio::select! {
        () = wait_for(SignalKind::terminate()) => {}
        () = wait_for(SignalKind::interrupt()) => {}
    }
}

/// A Unix socket for its owner. A stale socket is replaced; one in use is an error.
fn socket(path: &Path) -> io::Result<UnixListener> {
    if let Ok(there) = fs::symlink_metadata(path) {
        let is_served = std::os::unix::net::UnixStream::connect(path).is_ok();
        if !there.file_type().is_socket() || is_served {
            return Err(io::Error::from(io::ErrorKind::AddrInUse));
        }
        fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

fn acceptor(tls: &Tls) -> Result<TlsAcceptor, ServeError> {
    let failed = |path: &Path, why: String| ServeError::Certificate { path: path.to_owned(), why };
    let invalid_certificate = |why: &dyn std::fmt::Display| failed(&tls.certificate, why.to_string());
    let chain: Result<Vec<_>, _> = CertificateDer::pem_file_iter(&tls.certificate)
        .map_err(|error| invalid_certificate(&error))?
        .collect();
    let chain = chain.map_err(|error| invalid_certificate(&error))?;
    if chain.is_empty() {
        return Err(invalid_certificate(&"the file has no certificate"));
    }
    let key = PrivateKeyDer::from_pem_file(&tls.key).map_err(|error| failed(&tls.key, error.to_string()))?;
    let mut config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| invalid_certificate(&error))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Finishes after the last request: waits for late answers and signs the logs.
fn finish(app: &App) {
    if let Some(exporter) = &app.exporter {
        exporter.finish();
    }
    for project in app.projects.all() {
        project.leave();
        if !project.engine().background().wait_for_late_answers(Duration::from_secs(2)) {
            log::warn!(project = project.name(); "an external service has not answered yet");
        }
        if let Err(error) = project.store().checkpoint_now(project.engine().now()) {
            log::warn!(project = project.name(), error:%; "the log is not signed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_address_added_by_the_proxy_is_trusted() {
        let mut headers = HeaderMap::new();
        let address = |text: &str| text.parse::<IpAddr>().ok();
        assert_eq!(forwarded_address(&headers), None);
        headers.append("x-forwarded-for", "1.1.1.1, 2.2.2.2".parse().unwrap());
        headers.append("x-forwarded-for", "3.3.3.3, 4.4.4.4".parse().unwrap());
        assert_eq!(forwarded_address(&headers), address("4.4.4.4"));
        headers.append("x-forwarded-for", "rubbish".parse().unwrap());
        assert_eq!(forwarded_address(&headers), None);
    }
}
