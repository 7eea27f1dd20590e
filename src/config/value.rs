//! Values of the config with a form of their own; each refuses what does not fit and says what would.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::time::Duration;

use claw_runtime::provider::presets::Format;
use serde::{Deserialize, Deserializer, de};

use super::Untrusted;

/// Takes a string from the config and reads it by the type's own rule.
macro_rules! deserialize_from_str {
    ($($type:ty),*) => {$(
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
            }
        }
    )*};
}
deserialize_from_str!(
    Address, Durability, EnvName, Profile, Size, StoreKind, WireFormat, Zone
);

/// An `http` or `https` address, without a slash at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    text: String,
    /// Where it stands, when no trusted setting names it.
    pub(super) untrusted: Option<Untrusted>,
}

impl Address {
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Tells why no secret goes there, if so: it is not trusted, not this machine, and not at the host of `known`.
    pub(crate) fn untrusted(&self, known: Option<&str>) -> Option<&Untrusted> {
        let here = origin(&self.text);
        let good = here.as_deref().is_some_and(is_loopback)
            || (here.is_some() && here == known.and_then(origin));
        self.untrusted.as_ref().filter(|_| !good)
    }
}

/// Returns scheme, host and port, or `None` when anybody might read another host in the address.
fn origin(address: &str) -> Option<String> {
    let (scheme, rest) = address.split_once("://")?;
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let plain = |c: char| c.is_ascii_alphanumeric() || ".-:[]".contains(c);
    (!authority.is_empty() && authority.chars().all(plain))
        .then(|| format!("{scheme}://{authority}").to_ascii_lowercase())
}

fn is_loopback(origin: &str) -> bool {
    let authority = origin.split_once("://").map_or(origin, |(_, rest)| rest);
    if let Ok(address) = authority.parse::<SocketAddr>() {
        return address.ip().is_loopback();
    }
    let (host, port) = authority.split_once(':').unwrap_or((authority, "80"));
    let bare = authority
        .strip_prefix('[')
        .and_then(|it| it.strip_suffix(']'));
    bare.unwrap_or(host)
        .parse::<IpAddr>()
        .map_or(host == "localhost" && port.parse::<u16>().is_ok(), |ip| {
            ip.is_loopback()
        })
}

/// Tells whether an address is on this machine.
pub(crate) fn is_local(address: &str) -> bool {
    origin(address).as_deref().is_some_and(is_loopback)
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rest = text
            .strip_prefix("http://")
            .or_else(|| text.strip_prefix("https://"))
            .filter(|rest| !rest.is_empty() && !rest.starts_with('/'))
            .filter(|rest| !rest.contains(|c: char| c.is_whitespace() || c.is_control()));
        match rest {
            // Not quoted: what stands before the `@` may be a password.
            Some(rest)
                if rest
                    .split('/')
                    .next()
                    .is_some_and(|host| host.contains('@')) =>
            {
                Err("an address must not hold a name or password".to_owned())
            }
            Some(_) => Ok(Self {
                text: text.trim_end_matches('/').to_owned(),
                untrusted: None,
            }),
            None => Err(format!(
                "expected an address like `http://127.0.0.1:8080/v1`, found {}",
                quoted(text)
            )),
        }
    }
}

/// What sessions are kept in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum StoreKind {
    /// A file of the user's.
    #[default]
    Sqlite,
    /// A database that several hosts may share.
    Postgres,
    /// Nothing: they end with the program.
    Memory,
}

impl FromStr for StoreKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "sqlite" => Ok(Self::Sqlite),
            "postgres" => Ok(Self::Postgres),
            "memory" => Ok(Self::Memory),
            _ => Err(format!(
                "expected `sqlite`, `postgres` or `memory`, found {}",
                quoted(text)
            )),
        }
    }
}

/// What a kept event survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Durability {
    /// Power loss.
    #[default]
    Full,
    /// A killed process.
    Normal,
    /// A killed process; power loss may damage the file.
    Off,
}

impl FromStr for Durability {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "full" => Ok(Self::Full),
            "normal" => Ok(Self::Normal),
            "off" => Ok(Self::Off),
            _ => Err(format!(
                "expected `full`, `normal` or `off`, found {}",
                quoted(text)
            )),
        }
    }
}

/// The wire format of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WireFormat(pub(crate) Format);

impl FromStr for WireFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Format::named(text).map(Self).ok_or_else(|| {
            let names: Vec<_> = Format::ALL
                .iter()
                .map(|(name, _)| format!("`{name}`"))
                .collect();
            format!(
                "expected one of {}, found {}",
                names.join(", "),
                quoted(text)
            )
        })
    }
}

/// An amount of memory: a number with `MB`, `GB`, `MiB` or `GiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) bytes: u64,
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let unit = match unit.trim_start() {
            "MB" => Some(1_000_000),
            "GB" => Some(1_000_000_000),
            "MiB" => Some(1 << 20),
            "GiB" => Some(1 << 30),
            _ => None,
        };
        unit.and_then(|unit: u64| number.parse::<u64>().ok()?.checked_mul(unit))
            .filter(|bytes| *bytes > 0)
            .map(|bytes| Self { bytes })
            .ok_or_else(|| {
                format!(
                    "expected an amount of memory like `4GB` or `512MB`, found {}",
                    quoted(text)
                )
            })
    }
}

/// How freely a model chooses its words: 0 takes the likeliest one each time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Temperature(pub(crate) f32);

impl<'de> Deserialize<'de> for Temperature {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let degree = f32::deserialize(deserializer)?;
        match (0.0..=2.0).contains(&degree) {
            true => Ok(Self(degree)),
            false => Err(de::Error::custom(format!(
                "expected a number from 0 to 2, found `{degree}`"
            ))),
        }
    }
}

/// The name of an environment variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EnvName(String);

impl EnvName {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for EnvName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let good = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        // Not quoted in the message: it may be the key itself.
        good.then(|| Self(text.to_owned())).ok_or_else(|| {
            "expected the name of an environment variable, like `LAB_KEY`, not the key itself"
                .to_owned()
        })
    }
}

/// Which built-in tools are offered. Tools of other groups, and of none, are always offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Profile {
    Minimal,
    Coding,
    Messaging,
    Local,
    #[default]
    Full,
}

/// Groups of the built-in tools.
const BUILT_IN: &[&str] = &["fs", "search", "web", "runtime", "memory", "sessions"];

impl Profile {
    const ALL: [(&'static str, Self, &'static [&'static str]); 5] = [
        ("minimal", Self::Minimal, &[]),
        (
            "coding",
            Self::Coding,
            &["fs", "search", "runtime", "memory"],
        ),
        ("messaging", Self::Messaging, &["web", "memory", "sessions"]),
        ("local", Self::Local, &["fs", "search", "memory"]),
        ("full", Self::Full, BUILT_IN),
    ];

    /// Tells whether tools of `group` are offered.
    pub(crate) fn offers(self, group: &str) -> bool {
        !BUILT_IN.contains(&group) || self.row().2.contains(&group)
    }

    /// Tells whether it offers all that `other` offers.
    pub(super) fn covers(self, other: Self) -> bool {
        other.row().2.iter().all(|group| self.offers(group))
    }

    fn row(self) -> &'static (&'static str, Self, &'static [&'static str]) {
        Self::ALL
            .iter()
            .find(|(_, profile, _)| *profile == self)
            .expect("every profile has its row")
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().0)
    }
}

impl FromStr for Profile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .iter()
            .find(|(name, ..)| *name == text)
            .map(|(_, profile, _)| *profile)
            .ok_or_else(|| {
                let names: Vec<String> = Self::ALL
                    .iter()
                    .map(|(name, ..)| format!("`{name}`"))
                    .collect();
                format!(
                    "expected one of {}, found {}",
                    names.join(", "),
                    quoted(text)
                )
            })
    }
}

/// A time zone of the system's database.
#[derive(Clone, Debug)]
pub(crate) struct Zone(pub(crate) jiff::tz::TimeZone);

impl FromStr for Zone {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        jiff::tz::TimeZone::get(text).map(Self).map_err(|_| {
            format!(
                "expected a time zone this system knows, like `Europe/Oslo`, found {}",
                quoted(text)
            )
        })
    }
}

/// A duration: whole seconds, or a number with `ms`, `s`, `m` or `h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span(pub(crate) Duration);

impl From<Span> for Duration {
    fn from(span: Span) -> Self {
        span.0
    }
}

/// The longest duration: far more than a turn needs, and nowhere near an overflow of a clock.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let millis = match unit {
            "ms" => Some(1),
            "" | "s" => Some(1000),
            "m" => Some(60_000),
            "h" => Some(3_600_000),
            _ => None,
        };
        millis
            .and_then(|unit| number.parse::<u64>().ok()?.checked_mul(unit))
            .map(Duration::from_millis)
            .filter(|span| (Duration::from_millis(1)..=LONGEST).contains(span))
            .map(Self)
            .ok_or_else(|| {
                format!(
                    "expected a duration up to a week like `90s`, `5m` or `1h`, found {}",
                    quoted(text)
                )
            })
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Span;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("seconds, or a duration like `90s`, `5m` or `1h`")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Span, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_i64<E: de::Error>(self, seconds: i64) -> Result<Span, E> {
                self.visit_str(&seconds.to_string())
            }

            fn visit_u64<E: de::Error>(self, seconds: u64) -> Result<Span, E> {
                self.visit_str(&seconds.to_string())
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// Quotes a value for a message, clipped.
pub(super) fn quoted(text: &str) -> String {
    let mut short: String = text.chars().take(40).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("{short:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units_and_bounds() {
        let millis = |text: &str| text.parse::<Span>().map(|span| span.0.as_millis()).ok();
        assert_eq!(millis("250ms"), Some(250));
        assert_eq!(millis("90"), Some(90_000));
        assert_eq!(millis("5m"), Some(300_000));
        for bad in [
            "",
            "0",
            "-1",
            "1 h",
            "1d",
            "h",
            "99999999999999999999h",
            "200h",
        ] {
            assert_eq!(millis(bad), None, "{bad}");
        }
    }

    #[test]
    fn amounts_of_memory_have_units() {
        let bytes = |text: &str| text.parse::<Size>().map(|size| size.bytes).ok();
        assert_eq!(bytes("4GB"), Some(4_000_000_000));
        assert_eq!(bytes("512 MiB"), Some(536_870_912));
        for bad in [
            "",
            "4",
            "GB",
            "0GB",
            "-1GB",
            "1.5GB",
            "1TB",
            "99999999999999GiB",
            "4gb",
        ] {
            assert_eq!(bytes(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_key_in_the_place_of_its_variable_is_not_repeated() {
        let error = "sk-live-1234".parse::<EnvName>().unwrap_err();
        assert!(!error.contains("1234"), "{error}");
    }

    #[test]
    fn an_address_with_a_password_is_refused_without_repeating_it() {
        let error = "https://me:hunter2@host/v1".parse::<Address>().unwrap_err();
        assert!(!error.contains("hunter2"), "{error}");
        assert!("ftp://host".parse::<Address>().is_err());
        assert_eq!(
            "http://h/v1/".parse::<Address>().unwrap().as_str(),
            "http://h/v1"
        );
    }

    #[test]
    fn only_this_machine_and_the_known_host_get_a_secret_unasked() {
        let takes = |text: &str, known| {
            let mut address: Address = text.parse().unwrap();
            address.untrusted = Some(Untrusted {
                place: String::new(),
                way_out: String::new(),
            });
            address.untrusted(known).is_none()
        };
        for good in [
            "http://127.0.0.1:8080/v1",
            "http://127.9.9.9",
            "http://localhost:1/v1",
            "http://LOCALHOST",
            "http://[::1]:8080/v1",
            "http://[::1]",
        ] {
            assert!(takes(good, None), "{good}");
        }
        for bad in [
            "http://127.0.0.1.evil.example/v1",
            "http://localhost.evil.example",
            "http://127.0.0.1\\.evil.example",
            "http://\\evil.example",
            "http://127.0.0.1%2eevil.example",
            "http://1270.0.0.1",
            "http://0.0.0.0",
            "http://[::ffff:8.8.8.8]",
            "http://localhost:evil.example",
            "http://?127.0.0.1",
            "http://ｌocalhost",
        ] {
            assert!(!takes(bad, None), "{bad}");
        }
        let known = Some("https://api.openai.com/v1");
        assert!(takes("https://API.openai.com/v1/other", known));
        for bad in [
            "http://api.openai.com/v1",
            "https://api.openai.com:444/v1",
            "https://api.openai.com.evil.example/v1",
            "https://evil.example/api.openai.com",
        ] {
            assert!(!takes(bad, known), "{bad}");
        }
    }

    #[test]
    fn a_profile_covers_the_narrower_ones() {
        assert!(Profile::Full.covers(Profile::Coding) && Profile::Coding.covers(Profile::Local));
        assert!(!Profile::Minimal.covers(Profile::Local));
        assert!(!Profile::Messaging.covers(Profile::Coding));
    }

    #[test]
    fn profiles_keep_foreign_groups() {
        assert!(Profile::Minimal.offers("weather"));
        assert!(Profile::Minimal.offers(""));
        assert!(!Profile::Minimal.offers("fs"));
        assert!(!Profile::Local.offers("web"));
        assert!(Profile::Full.offers("web"));
    }
}
