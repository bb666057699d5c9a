//! `roundtrip serve`: binds the sockets, puts the parts together, and ends them in order.

use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use url::Url;

use crate::api::{self, App, Assets, Hosts};
use crate::origin::certificate::{CertificateError, Identity, read_certificates};
use crate::origin::quic::QuicError;
use crate::origin::{self, quic, tcp};
use crate::probe::ProbeSettings;
use crate::probe::net::clock;
use crate::run::{ProbeExecutor, RegistryLimits, RunRegistry};
use crate::store::{Limits, MemoryStore, Results, ResultsError, SqliteStore, Store, StoreError};

const PAGE_PORT: u16 = 8080;
const ORIGIN_PORT: u16 = 8443;
/// How often results that have expired are removed.
const SWEEP_INTERVAL: Duration = Duration::from_mins(10);
/// How often another port is tried when the system's choice for TCP is taken for UDP.
const PORT_ATTEMPTS: u32 = 16;

/// What the test origin can be asked for.
const TEST_PATH: &str = "\
The test origin answers /t?... with a known truth:
  delay=25ms           time before the header section (up to 10s)
  body-delay=1s        stall in the middle of the body (up to 10s)
  bytes=100k           length of the content before coding (up to 64m; 8m with a coding)
  content=text|random  compressible or not
  encoding=identity|gzip|br|auto
                       coding, sent unasked; auto: the best the client accepts
  server-timing=db;dur=3
                       sent before our own `delay`, which is what it really took
  status=404           any status from 200
  location=/t          for redirects
Parameters that begin with _ are ignored.";

/// Serves the page, the API and the test origin.
#[derive(Clone, Debug, Args)]
#[command(after_help = TEST_PATH)]
pub struct ServeArgs {
    /// Where the page and the API are served over HTTP/1.1 without TLS [default: 127.0.0.1:8080 and [::1]:8080]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Vec<SocketAddr>,
    /// Where the test origin, with page and API, is served over TLS (HTTP/1.1, HTTP/2) and QUIC (HTTP/3) [default:
    /// 127.0.0.1:8443 and [::1]:8443]
    #[arg(long, value_name = "ADDRESS:PORT")]
    origin_listen: Vec<SocketAddr>,
    /// Serve no test origin
    #[arg(long, conflicts_with_all = ["origin_listen", "cert", "key", "print_cert", "origin_url"])]
    no_origin: bool,
    /// The test origin's certificate chain (PEM); without it one is made for localhost
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// The private key of --cert (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
    /// Write the certificate that was made for the test origin there (PEM)
    #[arg(long, value_name = "FILE", conflicts_with = "cert")]
    print_cert: Option<PathBuf>,
    /// Under which URL browsers reach the test origin [default: https://localhost:PORT]
    #[arg(long, value_name = "URL")]
    origin_url: Option<Url>,
    /// Where results are stored; `:memory:` forgets them at the end [default: roundtrip/results.sqlite in the user's
    /// data folder]
    #[arg(long, value_name = "FILE", conflicts_with = "no_store")]
    database: Option<PathBuf>,
    /// Store no results: links then hold the whole result
    #[arg(long)]
    no_store: bool,
    /// Most bytes of all stored results together, compressed
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().total_bytes)]
    store_bytes: u64,
    /// Probe loopback, private and reserved addresses too; only when all listeners are on loopback
    #[arg(long)]
    allow_private: bool,
    /// A further host name to answer to when listening on loopback, such as that of a reverse proxy
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,
    /// Certificates to trust beside the system's when probing (PEM)
    #[arg(long, value_name = "FILE")]
    cacert: Vec<PathBuf>,
    /// The DNS resolver the probe asks instead of the system's
    #[arg(long, value_name = "ADDRESS:PORT")]
    resolver: Option<SocketAddr>,
    /// Longest time one run may take
    #[arg(long, value_name = "SECONDS", default_value_t = 900)]
    longest_run: u64,
}

/// Why nothing is served.
#[derive(Debug, Error)]
pub enum ServeError {
    /// Private targets on a server that others reach.
    #[error(
        "--allow-private would let anyone who reaches {reached} probe this machine's network; listen on loopback \
         (127.0.0.1, [::1]) only, or leave it out"
    )]
    PrivateForAll {
        /// By which way others reach it.
        reached: String,
    },
    /// An address cannot be listened on.
    #[error("{transport} {address}: {source}")]
    Bind {
        /// `TCP` or `UDP`.
        transport: &'static str,
        /// Which.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// None of the default addresses exists.
    #[error("this machine has no loopback address")]
    NoLoopback,
    /// The certificate cannot be used.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// HTTP/3 cannot be served.
    #[error(transparent)]
    Quic(#[from] QuicError),
    /// The store cannot be opened.
    #[error("{0}; choose another --database, or --no-store")]
    Store(#[from] StoreError),
    /// A file cannot be written.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// The operating system refused something else.
    #[error(transparent)]
    System(#[from] io::Error),
}

impl ServeError {
    /// Whether the command line cannot be carried out as it is.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::PrivateForAll { .. } | Self::Certificate(_))
    }
}

/// Serves until ctrl-c or SIGTERM.
///
/// # Errors
/// When anything that was asked for cannot be had.
pub async fn serve(args: ServeArgs) -> Result<(), ServeError> {
    refuse_private_for_all(&args)?;
    let identity = match (&args.cert, &args.key) {
        _ if args.no_origin => None,
        (Some(chain), Some(key)) => Some(Identity::read(chain, key)?),
        _ => Some(Identity::make(clock::unix_seconds())?),
    };
    let pages = bind(&args.listen, PAGE_PORT, bind_tcp).await?;
    let origins = match identity {
        Some(_) => bind(&args.origin_listen, ORIGIN_PORT, bind_both).await?,
        None => Vec::new(),
    };
    let origin_port = origins.first().map(|(_, _, address)| address.port());
    let origin_url = args
        .origin_url
        .as_ref()
        .map(|url| url.origin().ascii_serialization());
    let origin_url = origin_url.or_else(|| origin_port.map(|port| format!("https://localhost:{port}")));

    let app = Arc::new(app(&args, identity.as_ref(), origin_url.clone())?);
    let page = api::router(Arc::clone(&app));
    let ending = CancellationToken::new();
    let servers = TaskTracker::new();
    let page_url = pages
        .first()
        .map(|(_, address)| url_of(*address))
        .unwrap_or_default();
    for (listener, _) in pages {
        servers.spawn(tcp::serve(listener, None, page.clone(), ending.clone()));
    }
    if let Some(identity) = &identity {
        let acceptor = TlsAcceptor::from(Arc::new(identity.server_config(&["h2", "http/1.1"])?));
        for (listener, socket, address) in origins {
            let router = origin::router(page.clone(), Some(address.port()));
            let endpoint = quic::endpoint(socket, identity.server_config(&["h3"])?)?;
            servers.spawn(quic::serve(endpoint, router.clone(), ending.clone()));
            servers.spawn(tcp::serve(
                listener,
                Some(acceptor.clone()),
                router,
                ending.clone(),
            ));
        }
    }
    servers.spawn(sweep(Arc::clone(&app), ending.clone()));
    announce(&args, &page_url, origin_url.as_deref(), identity.as_ref())?;

    asked_to_end().await?;
    ending.cancel();
    app.runs().close();
    servers.close();
    servers.wait().await;
    Ok(())
}

/// Whoever reaches the API can have this machine connect to what it can reach.
fn refuse_private_for_all(args: &ServeArgs) -> Result<(), ServeError> {
    let open = args
        .listen
        .iter()
        .chain(&args.origin_listen)
        .find(|address| !address.ip().is_loopback());
    let reached = match (open, args.allow_host.first()) {
        (Some(address), _) => address.to_string(),
        (None, Some(name)) => name.clone(),
        (None, None) => return Ok(()),
    };
    if args.allow_private {
        return Err(ServeError::PrivateForAll { reached });
    }
    Ok(())
}

fn app(args: &ServeArgs, identity: Option<&Identity>, origin_url: Option<String>) -> Result<App, ServeError> {
    let mut roots = Vec::new();
    for path in &args.cacert {
        roots.extend(read_certificates(path)?);
    }
    // The probe trusts our own origin, so that it can be measured without switching verification off.
    roots.extend(
        identity
            .and_then(Identity::self_made)
            .map(|made| made.der.clone()),
    );
    let settings = ProbeSettings {
        allow_private: args.allow_private,
        extra_roots: Arc::new(roots),
        resolver: args.resolver,
    };
    let executor = ProbeExecutor::new(settings, Duration::from_secs(args.longest_run));
    let runs = RunRegistry::new(executor, RegistryLimits::default())?;
    let is_local = |address: &SocketAddr| address.ip().is_loopback();
    let hosts = if args.listen.iter().chain(&args.origin_listen).all(is_local) {
        Hosts::Local(args.allow_host.clone())
    } else {
        Hosts::Any
    };
    Ok(App::new(runs, Assets::embedded(), clock::unix_seconds)
        .with_results(results(args)?)
        .with_hosts(hosts)
        .with_facts(args.allow_private, origin_url))
}

fn results(args: &ServeArgs) -> Result<Option<Results>, ServeError> {
    let store: Arc<dyn Store> = match &args.database {
        _ if args.no_store => return Ok(None),
        Some(path) if path.as_os_str() == ":memory:" => Arc::new(MemoryStore::default()),
        Some(path) => Arc::new(SqliteStore::open(path)?),
        None => Arc::new(SqliteStore::open(
            &data_folder().join("roundtrip/results.sqlite"),
        )?),
    };
    let limits = Limits {
        total_bytes: args.store_bytes,
        ..Limits::default()
    };
    Ok(Some(Results::new(store, limits)))
}

/// The user's data folder (XDG base directories), or the current one where there is none.
fn data_folder() -> PathBuf {
    let named = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    named("XDG_DATA_HOME")
        .or_else(|| Some(named("HOME")?.join(".local/share")))
        .unwrap_or_default()
}

/// Listens on the addresses asked for, all of them; or on the loopback addresses, where a missing IPv6 is a warning.
async fn bind<T>(
    asked: &[SocketAddr],
    default_port: u16,
    listen: impl AsyncFn(SocketAddr) -> Result<T, ServeError>,
) -> Result<Vec<T>, ServeError> {
    let mut listening = Vec::new();
    if !asked.is_empty() {
        for address in asked {
            listening.push(listen(*address).await?);
        }
        return Ok(listening);
    }
    for ip in [
        IpAddr::from(Ipv4Addr::LOCALHOST),
        IpAddr::from(Ipv6Addr::LOCALHOST),
    ] {
        match listen(SocketAddr::new(ip, default_port)).await {
            Ok(listener) => listening.push(listener),
            Err(ServeError::Bind { address, source, .. }) if is_absent(&source) => {
                tracing::warn!(%address, %source, "not listening there");
            }
            Err(error) => return Err(error),
        }
    }
    if listening.is_empty() {
        return Err(ServeError::NoLoopback);
    }
    Ok(listening)
}

/// Whether the machine has no such address, or no such family at all.
fn is_absent(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AddrNotAvailable || error.raw_os_error() == Some(libc::EAFNOSUPPORT)
}

async fn bind_tcp(address: SocketAddr) -> Result<(TcpListener, SocketAddr), ServeError> {
    let failed = |source| ServeError::Bind {
        transport: "TCP",
        address,
        source,
    };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}

/// TCP and UDP on one port, also when the system chooses it.
async fn bind_both(address: SocketAddr) -> Result<(TcpListener, UdpSocket, SocketAddr), ServeError> {
    let mut attempts = 0;
    loop {
        let (listener, bound) = bind_tcp(address).await?;
        match UdpSocket::bind(bound) {
            Ok(socket) => return Ok((listener, socket, bound)),
            Err(error)
                if address.port() == 0
                    && error.kind() == io::ErrorKind::AddrInUse
                    && attempts < PORT_ATTEMPTS =>
            {
                attempts += 1;
            }
            Err(source) => {
                return Err(ServeError::Bind {
                    transport: "UDP",
                    address: bound,
                    source,
                });
            }
        }
    }
}

fn url_of(address: SocketAddr) -> String {
    if address.ip().is_loopback() {
        format!("http://localhost:{}", address.port())
    } else {
        format!("http://{address}")
    }
}

/// Says on stdout that everything is ready, and where. Programs read these lines.
fn announce(
    args: &ServeArgs,
    page_url: &str,
    origin_url: Option<&str>,
    identity: Option<&Identity>,
) -> Result<(), ServeError> {
    let made = identity.and_then(Identity::self_made);
    if let (Some(path), Some(made)) = (&args.print_cert, made) {
        std::fs::write(path, &made.pem).map_err(|source| ServeError::File {
            path: path.display().to_string(),
            source,
        })?;
    }
    let mut out = io::stdout().lock();
    let private = if args.allow_private { "allowed" } else { "refused" };
    writeln!(out, "probes of loopback and private addresses: {private}")?;
    if let Some(url) = origin_url {
        writeln!(out, "origin: {url}")?;
    }
    if let Some(made) = made {
        writeln!(out, "origin certificate SPKI sha256: {}", made.spki_sha256)?;
    }
    writeln!(out, "page: {page_url}")?;
    out.flush()?;
    Ok(())
}

async fn sweep(app: Arc<App>, ending: CancellationToken) {
    let Some(results) = app.results() else { return };
    let mut ticks = tokio::time::interval(SWEEP_INTERVAL);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = ending.cancelled() => return,
        }
        match results.sweep(clock::unix_seconds()).await {
            Ok(0) => {}
            Ok(removed) => tracing::info!(removed, "expired results were removed"),
            Err(ResultsError::Store(error)) => {
                tracing::error!(%error, "expired results could not be removed");
            }
            Err(error) => tracing::error!(%error, "sweeping failed"),
        }
    }
}

async fn asked_to_end() -> io::Result<()> {
    #[cfg(unix)]
    {
        let mut terminated = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
        tokio::select! {
            result = tokio::signal::ctrl_c() => result,
            _ = terminated.recv() => Ok(()),
        }
    }
    #[cfg(not(unix))]
    tokio::signal::ctrl_c().await
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        args: ServeArgs,
    }

    fn args(line: &str) -> ServeArgs {
        Command::parse_from(line.split(' ')).args
    }

    #[test]
    fn private_targets_are_for_this_machine_only() {
        for (line, refused) in [
            ("serve --allow-private", false),
            (
                "serve --allow-private --listen 127.0.0.2:1 --origin-listen [::1]:2",
                false,
            ),
            ("serve --listen 0.0.0.0:8080", false),
            ("serve --allow-private --listen 0.0.0.0:8080", true),
            ("serve --allow-private --origin-listen [::]:8443", true),
            ("serve --allow-private --allow-host roundtrip.example", true),
        ] {
            assert_eq!(refuse_private_for_all(&args(line)).is_err(), refused, "{line}");
        }
    }

    #[tokio::test]
    async fn tcp_and_udp_share_a_port_of_the_systems_choice() {
        let (_, socket, bound) = bind_both(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
            .await
            .unwrap();
        assert_eq!(socket.local_addr().unwrap().port(), bound.port());
    }

    #[tokio::test]
    async fn an_address_that_is_taken_is_named() {
        let (_held, taken) = bind_tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
            .await
            .unwrap();
        let error = bind(&[taken], 0, bind_tcp).await.err().unwrap().to_string();
        assert!(error.contains(&taken.to_string()), "{error}");
    }
}
