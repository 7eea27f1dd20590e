//! From a url to connections.
//!
//! A certificate is always checked where TLS is spoken: `require` means what `verify-full` means elsewhere, and both are
//! taken. What is said about a url never repeats it, for it holds a password.

use std::path::PathBuf;
use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use secrecy::{ExposeSecret, SecretString};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::PostgresOptions;
use super::fault::Fault;
use crate::tls;

/// How long anything may take.
pub(super) const DEADLINE: Duration = Duration::from_secs(30);
/// How long a statement may take, so that its end is known before the [`DEADLINE`].
const STATEMENT: &str = "-c statement_timeout=20s -c idle_in_transaction_session_timeout=20s";
const CONNECT: Duration = Duration::from_secs(5);

/// How connections are made.
#[derive(Clone)]
pub(super) struct Way {
    pub(super) config: Config,
    pub(super) tls: MakeRustlsConnect,
}

impl Way {
    pub(super) fn new(options: &PostgresOptions) -> Result<Self, Fault> {
        let (mut config, roots) = read(&options.url)?;
        // A peer that is gone without a word is noticed in seconds, not in the system's hours.
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(options.lease);
        }
        config
            .keepalives_idle(CONNECT)
            .keepalives_interval(CONNECT)
            .keepalives_retries(2);
        let set = match config.get_options() {
            Some(set) => format!("{STATEMENT} {set}"),
            None => STATEMENT.to_owned(),
        };
        config.options(set);
        if config.get_application_name().is_none() {
            config.application_name("claw");
        }
        let tls = match roots.as_ref().or(options.roots.as_ref()) {
            _ if config.get_ssl_mode() == SslMode::Disable => tls::trusting_nobody(),
            None => (*tls::config()).clone(),
            Some(path) => {
                let authorities = tls::authorities(path).map_err(|error| {
                    let path = path.display();
                    Fault::Said(format!(
                        "cannot take root certificates from `{path}`: {error}"
                    ))
                })?;
                tls::with(&authorities)
            }
        };
        let tls = MakeRustlsConnect::new(tls);
        Ok(Self { config, tls })
    }

    pub(super) fn pool(&self, connections: usize) -> Result<Pool, Fault> {
        let config = ManagerConfig {
            recycling_method: RecyclingMethod::Fast,
        };
        let manager = Manager::from_config(self.config.clone(), self.tls.clone(), config);
        Pool::builder(manager)
            .max_size(connections.max(1))
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(DEADLINE / 2))
            .create_timeout(Some(DEADLINE / 2))
            .build()
            .map_err(|error| Fault::Said(error.to_string()))
    }

    /// Names the server: `db.example:5432`; nothing when what should be a name may be a piece of a password.
    pub(super) fn server(&self) -> String {
        let hosts = self.config.get_hosts().iter().map(|host| match host {
            Host::Tcp(name) => name.clone(),
            #[cfg(unix)]
            Host::Unix(path) => path.display().to_string(),
        });
        let names = hosts.collect::<Vec<_>>().join(",");
        let plain = |c: char| c.is_ascii_alphanumeric() || "-._:,/".contains(c);
        if names.is_empty() || !names.chars().all(plain) {
            return "the server of the url".to_owned();
        }
        let ports: Vec<_> = self.config.get_ports().iter().map(u16::to_string).collect();
        format!("{names}:{}", ports.join(","))
    }
}

/// Reads a url, and two of its settings that the library does not know.
fn read(url: &SecretString) -> Result<(Config, Option<PathBuf>), Fault> {
    let mut roots = None;
    let url = url.expose_secret();
    let (place, settings) = url.split_once('?').unwrap_or((url, ""));
    let settings: Vec<_> = settings
        .split('&')
        .filter_map(|setting| match setting.split_once('=') {
            Some(("sslmode", "verify-full" | "verify-ca")) => Some("sslmode=require"),
            Some(("sslrootcert", path)) => {
                roots = Some(PathBuf::from(path));
                None
            }
            _ => Some(setting),
        })
        .collect();
    let url = match settings.join("&") {
        settings if settings.is_empty() => place.to_owned(),
        settings => format!("{place}?{settings}"),
    };
    let config = url.parse().map_err(|_| {
        Fault::Said(
            "the url cannot be read: expected `postgres://user:password@host:5432/database?sslmode=require`, with `%` and \
             two hex digits for each special character of the password"
                .to_owned(),
        )
    })?;
    Ok((config, roots))
}
