//! HTTP as every provider uses it: one pooled client, TLS made when first needed, two timers for an answer.

use std::error::Error as _;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::header::HeaderMap;
use reqwest::{Client, RequestBuilder, Response, Url};
use rustls::{ClientConfig, RootCertStore};
use tokio::time::{Instant, timeout, timeout_at};

use super::failure::bounded;
use super::{FailureClass, Progress, ProviderError};

/// How long an answer may be silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For the connection.
    pub connect: Duration,
    /// From the request to the first content; a local server reads a long prompt in this time.
    pub first_content: Duration,
    /// From content to content. Keep-alives are no content.
    pub between_content: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(15),
            first_content: Duration::from_secs(300),
            between_content: Duration::from_secs(35),
        }
    }
}

/// How long the token count may follow the stop reason.
const AFTER_STOP: Duration = Duration::from_secs(3);
/// How long the end of a finished answer is waited for, so that the connection can be used again.
const DRAIN: Duration = Duration::from_millis(20);

/// Returns a client for `base`: redirects off, HTTP/1.1, connections kept for five minutes.
pub(crate) fn client(base: &Url, timeouts: &Timeouts) -> Result<Client, ProviderError> {
    let mut builder = Client::builder()
        .tls_backend_preconfigured(if base.scheme() == "https" {
            tls()
        } else {
            no_tls()
        })
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(timeouts.connect)
        .pool_idle_timeout(Duration::from_secs(300))
        .tcp_nodelay(true)
        .user_agent(concat!("claw/", env!("CARGO_PKG_VERSION")));
    if is_loopback(base) {
        // A proxy cannot reach this machine's own servers.
        builder = builder.no_proxy();
    }
    builder
        .build()
        .map_err(|error| network(error, "cannot make an HTTP client"))
}

fn is_loopback(base: &Url) -> bool {
    let host = base.host_str().unwrap_or("").trim_matches(['[', ']']);
    host == "localhost"
        || host
            .parse::<std::net::IpAddr>()
            .is_ok_and(|ip| ip.is_loopback())
}

/// Returns the TLS settings of all clients: reading the system's roots takes milliseconds, so once.
fn tls() -> ClientConfig {
    static TLS: OnceLock<ClientConfig> = OnceLock::new();
    let config = TLS.get_or_init(|| {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        config(roots)
    });
    config.clone()
}

/// Returns TLS settings that trust nobody, for plain HTTP: they cost nothing.
fn no_tls() -> ClientConfig {
    config(RootCertStore::empty())
}

fn config(roots: RootCertStore) -> ClientConfig {
    ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring has the default protocol versions")
        .with_root_certificates(roots)
        .with_no_client_auth()
}

/// Sends `request` and waits for the head of the answer.
pub(crate) async fn send(
    request: RequestBuilder,
    timeouts: &Timeouts,
) -> Result<Response, ProviderError> {
    match timeout(timeouts.first_content, request.send()).await {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(error)) => Err(network(error, "no answer")),
        Err(_) => Err(stalled(timeouts.first_content)),
    }
}

/// Hands the body of `response` to `feed` until it says that it is done, the body ends, or nothing comes in time.
pub(crate) async fn read(
    mut response: Response,
    started: Instant,
    timeouts: &Timeouts,
    mut feed: impl FnMut(&[u8]) -> Progress,
) -> Result<(), ProviderError> {
    let mut wait = timeouts.first_content;
    let mut deadline = after(started, wait);
    loop {
        let bytes = match timeout_at(deadline, response.chunk()).await {
            Ok(Ok(Some(bytes))) => bytes,
            Ok(Ok(None)) => return Ok(()),
            Ok(Err(error)) => return Err(network(error, "the answer broke off")),
            Err(_) => return Err(stalled(wait)),
        };
        let progress = feed(&bytes);
        if progress.done {
            let end = Instant::now() + DRAIN;
            while let Ok(Ok(Some(_))) = timeout_at(end, response.chunk()).await {}
            return Ok(());
        }
        if progress.content {
            wait = if progress.stopped {
                AFTER_STOP
            } else {
                timeouts.between_content
            };
            deadline = after(Instant::now(), wait);
        }
    }
}

/// Returns the moment `wait` after `start`; a wait that no clock can show is over in a year.
fn after(start: Instant, wait: Duration) -> Instant {
    start
        .checked_add(wait)
        .unwrap_or_else(|| start + Duration::from_secs(365 * 86_400))
}

fn stalled(wait: Duration) -> ProviderError {
    ProviderError::new(
        FailureClass::Stalled,
        format!("nothing came for {} s", wait.as_secs_f32()),
    )
}

/// Returns a transport failure in words; without the address, which may hold a key.
fn network(error: reqwest::Error, what: &str) -> ProviderError {
    let error = error.without_url();
    let mut message = format!("{what}: {error}");
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        if !message.contains(&text) {
            message.push_str(": ");
            message.push_str(&text);
        }
        source = cause.source();
    }
    ProviderError::new(FailureClass::Network, bounded(&message))
}

/// Returns how long the service asks to wait: `retry-after-ms`, or `retry-after` as seconds or as a date.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let header = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| *number >= 0.0);
    if let Some(ms) = header("retry-after-ms").and_then(number) {
        return Some(wait(ms / 1000.0));
    }
    let text = header("retry-after")?;
    if let Some(seconds) = number(text) {
        return Some(wait(seconds));
    }
    // The service's own clock, so that a wrong one here does not matter.
    let now = header("date").and_then(parse_date).unwrap_or_else(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.map_or(0, |since| since.as_secs())
    });
    Some(wait(parse_date(text)?.saturating_sub(now) as f64))
}

/// A day is as good as forever, and a number of any size is a wait.
fn wait(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds.min(86_400.0))
}

/// Returns the Unix time of an HTTP date such as `Sun, 06 Nov 1994 08:49:37 GMT`.
fn parse_date(text: &str) -> Option<u64> {
    let mut words = text.split_ascii_whitespace().skip(1);
    let day: u64 = words.next()?.parse().ok()?;
    let month = words.next()?;
    let month = 1 + "JanFebMarAprMayJunJulAugSepOctNovDec"
        .as_bytes()
        .chunks(3)
        .position(|name| name == month.as_bytes())? as u64;
    let year: u64 = words.next()?.parse().ok()?;
    let mut clock = words
        .next()?
        .splitn(3, ':')
        .map(|part| part.parse::<u64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    if words.next() != Some("GMT")
        || !(1970..=9999).contains(&year)
        || !(1..=31).contains(&day)
        || hour > 23
        || minute > 59
        || second > 60
    {
        return None;
    }
    // Days since 1970 by counting from March, so that the leap day is the last of its year.
    let (y, m) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 719_469;
    Some(days * 86_400 + hour * 3600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| {
                let name = reqwest::header::HeaderName::from_static(name);
                (name, value.parse().unwrap())
            })
            .collect()
    }

    #[test]
    fn a_wait_is_read_in_every_form() {
        const DATE: &str = "Wed, 21 Oct 2015 07:28:00 GMT";
        type Case = (&'static [(&'static str, &'static str)], Option<u64>);
        let cases: [Case; 9] = [
            (&[], None),
            (&[("retry-after", "2")], Some(2000)),
            (&[("retry-after", "0.5")], Some(500)),
            (
                &[("retry-after-ms", "1500"), ("retry-after", "9")],
                Some(1500),
            ),
            (&[("retry-after", "-1")], None),
            (&[("retry-after", "NaN")], None),
            (&[("retry-after", "1e300")], Some(86_400_000)),
            (
                &[
                    ("retry-after", "Wed, 21 Oct 2015 07:28:30 GMT"),
                    ("date", DATE),
                ],
                Some(30_000),
            ),
            (&[("retry-after", DATE)], Some(0)),
        ];
        for (pairs, ms) in cases {
            assert_eq!(
                retry_after(&headers(pairs)),
                ms.map(Duration::from_millis),
                "{pairs:?}"
            );
        }
    }

    #[test]
    fn a_client_needs_no_tls_provider_set_for_the_process() {
        for base in ["https://api.openai.com/v1", "http://127.0.0.1:8080/v1"] {
            client(&base.parse().unwrap(), &Timeouts::default()).unwrap();
        }
    }

    #[test]
    fn dates_are_counted_over_leap_days() {
        let cases = [
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777)),
            ("Tue, 29 Feb 2000 23:59:59 GMT", Some(951_868_799)),
            ("Wed, 01 Mar 2000 00:00:00 GMT", Some(951_868_800)),
            ("Mon, 30 Nov 2026 12:00:00 GMT", Some(1_796_040_000)),
            ("Mon, 30 Foo 2026 12:00:00 GMT", None),
            ("Mon, 30 Nov 2026 12:00:00 PST", None),
            ("Mon, 30 Nov 99999999999999999999 12:00:00 GMT", None),
            ("tomorrow", None),
        ];
        for (text, time) in cases {
            assert_eq!(parse_date(text), time, "{text}");
        }
    }
}
