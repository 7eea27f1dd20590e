//! How a connection is made: straight or through a proxy, encrypted or not.

use std::error::Error;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use hyper::Uri;
use hyper::header::HeaderValue;
use hyper::http::uri::{PathAndQuery, Scheme};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::{SocksV4, SocksV5, Tunnel};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tower_service::Service;
use url::{Position, Url};

use super::connection::Connection;
use super::stream::Stream;
use super::{Fault, TransportError, is_loopback};

type Cause = Box<dyn Error + Send + Sync>;

/// Gives the authorities that are trusted; reading them takes time, so it is asked when they are needed.
pub(crate) type Trusted = Arc<dyn Fn() -> Arc<ClientConfig> + Send + Sync>;

/// After how long a silent connection is asked whether it is still there, and how often.
const KEEPALIVE: Duration = Duration::from_secs(15);
const KEEPALIVES: u32 = 3;
/// How long sent bytes may stay without an acknowledgement.
#[cfg(target_os = "linux")]
const UNACKNOWLEDGED: Duration = Duration::from_secs(30);

/// Makes connections to one server.
pub(super) struct Connector {
    /// The server: scheme, host and port.
    server: Uri,
    proxy: Option<Intercept>,
    direct: Direct,
    patience: Duration,
}

impl Connector {
    pub(super) fn new(
        url: &Url,
        patience: Duration,
        trusted: Trusted,
    ) -> Result<Self, TransportError> {
        let server = Uri::builder()
            .scheme(url.scheme())
            .authority(&url[Position::BeforeHost..Position::AfterPort])
            .path_and_query("/")
            .build()
            .map_err(|error| TransportError::new(Fault::Address, error))?;
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        // Of several addresses, each has its share of the time.
        tcp.set_connect_timeout(Some(patience));
        tcp.set_keepalive(Some(KEEPALIVE));
        tcp.set_keepalive_interval(Some(KEEPALIVE));
        tcp.set_keepalive_retries(Some(KEEPALIVES));
        #[cfg(target_os = "linux")]
        tcp.set_tcp_user_timeout(Some(UNACKNOWLEDGED));
        // A proxy cannot reach this machine's own servers.
        let proxy = match is_loopback(url) {
            true => None,
            false => Matcher::from_system().intercept(&server),
        };
        Ok(Self {
            server,
            proxy,
            direct: Direct { tcp, trusted },
            patience,
        })
    }

    /// Returns what the first line of a request for `path` names: a proxy that passes requests on must know the server.
    pub(super) fn target(&self, path: PathAndQuery) -> Result<Uri, TransportError> {
        if self.passes_on().is_none() {
            return Ok(path.into());
        }
        let mut parts = self.server.clone().into_parts();
        parts.path_and_query = Some(path);
        Uri::from_parts(parts).map_err(|error| TransportError::new(Fault::Address, error))
    }

    /// Returns the name and password that go with each request, for the proxy that passes it on.
    pub(super) fn login(&self) -> Option<&HeaderValue> {
        self.passes_on()?.basic_auth()
    }

    /// Returns the proxy that is sent the requests themselves.
    fn passes_on(&self) -> Option<&Intercept> {
        let proxy = self.proxy.as_ref()?;
        let is_asked = is_http(proxy.uri()) && !is_https(&self.server);
        is_asked.then_some(proxy)
    }

    /// Makes a connection.
    pub(super) async fn connect(&self) -> Result<Box<Connection>, TransportError> {
        let fault = |cause: Cause| TransportError::new(Fault::Connect, cause);
        // Boxed, for it is large, rare, and would make every request's future as large.
        let stream: BoxFuture<'_, Result<Stream, Cause>> = match &self.proxy {
            None => Box::pin(self.direct.clone().connect(self.server.clone())),
            Some(proxy) if self.passes_on().is_some() => {
                Box::pin(self.direct.clone().connect(proxy.uri().clone()))
            }
            Some(proxy) => Box::pin(self.through(proxy)),
        };
        let stream = match timeout(self.patience, stream).await {
            Ok(stream) => stream.map_err(fault)?,
            Err(_) => {
                let waited = self.patience.as_secs_f32();
                return Err(fault(format!("none came about within {waited} s").into()));
            }
        };
        let opened = Connection::open(stream).await;
        opened.map_err(|error| TransportError::new(Fault::Connect, error))
    }

    /// Connects to the server behind a proxy that passes bytes on.
    async fn through(&self, proxy: &Intercept) -> Result<Stream, Cause> {
        let to = proxy.uri().clone();
        let scheme = to.scheme_str().unwrap_or_default();
        let stream = if is_http(&to) {
            let mut tunnel = Tunnel::new(to, self.direct.clone());
            if let Some(login) = proxy.basic_auth() {
                tunnel = tunnel.with_auth(login.clone());
            }
            tunnel.call(self.server.clone()).await?.into_inner()
        } else {
            // The letter at the end says that the proxy finds out the address.
            let server = match scheme {
                "socks4" | "socks5" => located(&self.server).await?,
                _ => with_port(&self.server)?,
            };
            let tcp = self.direct.tcp.clone();
            Stream::Plain(match (scheme, proxy.raw_auth()) {
                ("socks4" | "socks4a", _) => SocksV4::new(to, tcp).call(server).await?.into_inner(),
                (_, None) => SocksV5::new(to, tcp).call(server).await?.into_inner(),
                (_, Some((user, password))) => SocksV5::new(to, tcp)
                    .with_auth(user.to_owned(), password.to_owned())
                    .call(server)
                    .await?
                    .into_inner(),
            })
        };
        match is_https(&self.server) {
            true => encrypted(stream, &self.server, (self.direct.trusted)()).await,
            false => Ok(stream),
        }
    }
}

/// Connects to where an address says, encrypted where it says so.
#[derive(Clone)]
struct Direct {
    tcp: HttpConnector,
    trusted: Trusted,
}

impl Direct {
    async fn connect(mut self, to: Uri) -> Result<Stream, Cause> {
        let tcp: TcpStream = self.tcp.call(to.clone()).await?.into_inner();
        match is_https(&to) {
            true => encrypted(Stream::Plain(tcp), &to, (self.trusted)()).await,
            false => Ok(Stream::Plain(tcp)),
        }
    }
}

impl Service<Uri> for Direct {
    type Response = TokioIo<Stream>;
    type Error = Cause;
    type Future = BoxFuture<'static, Result<TokioIo<Stream>, Cause>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Cause>> {
        self.tcp.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let connect = self.clone().connect(to);
        Box::pin(async { Ok(TokioIo::new(connect.await?)) })
    }
}

async fn encrypted(
    stream: Stream,
    server: &Uri,
    trusted: Arc<ClientConfig>,
) -> Result<Stream, Cause> {
    let name = ServerName::try_from(bare_host(server).to_owned())?;
    let stream = TlsConnector::from(trusted).connect(name, stream).await?;
    Ok(Stream::Tls(Box::new(stream)))
}

/// Returns the server with its address in the place of its name.
async fn located(server: &Uri) -> Result<Uri, Cause> {
    let mut found = lookup_host((bare_host(server), port(server))).await?;
    let found = found.next().ok_or("its name has no address")?;
    at(server, &found.to_string())
}

/// Returns the server with a port even where its scheme says it.
fn with_port(server: &Uri) -> Result<Uri, Cause> {
    at(
        server,
        &format!("{}:{}", server.host().unwrap_or_default(), port(server)),
    )
}

fn at(server: &Uri, place: &str) -> Result<Uri, Cause> {
    let mut parts = server.clone().into_parts();
    parts.authority = Some(place.parse()?);
    Ok(Uri::from_parts(parts)?)
}

fn port(server: &Uri) -> u16 {
    let otherwise = if is_https(server) { 443 } else { 80 };
    server.port_u16().unwrap_or(otherwise)
}

/// Returns the host without the brackets of an address.
fn bare_host(server: &Uri) -> &str {
    server.host().unwrap_or_default().trim_matches(['[', ']'])
}

fn is_http(uri: &Uri) -> bool {
    let scheme = uri.scheme();
    scheme == Some(&Scheme::HTTP) || scheme == Some(&Scheme::HTTPS)
}

fn is_https(uri: &Uri) -> bool {
    uri.scheme() == Some(&Scheme::HTTPS)
}
