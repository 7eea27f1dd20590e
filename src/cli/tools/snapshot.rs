//! `tools snapshot`: writes down what callers rely on.

use std::fs;
use std::path::Path;

use claw_runtime::registry::Toolset;

use super::args::Snapshot;
use super::contract::{Contract, FORM};
use super::{Exit, Failure, counted, json};
use crate::cli::terminal::{GOOD, Screen};

/// The largest snapshot that is read.
const MOST: u64 = 64 * 1024 * 1024;

/// Runs `tools snapshot`.
pub(super) fn snapshot(tools: &Toolset, args: &Snapshot) -> Result<Exit, Failure> {
    let text = json::pretty(&Contract::of(tools))?;
    let mut screen = Screen::new(false);
    match &args.file {
        None => screen.print(&text),
        Some(file) => {
            let same = fs::read(file).is_ok_and(|before| before == text.as_bytes());
            if !same {
                write(file, &text)?;
            }
            let what = if same { "unchanged" } else { "written" };
            screen.note(
                GOOD,
                &format!(
                    "✓ {}: {what}, {}",
                    file.display(),
                    counted(tools.len(), "tool")
                ),
            );
        }
    }
    screen.finish()?;
    Ok(Exit::Answered)
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    fs::write(file, text).map_err(|error| {
        Failure::usage(format!(
            "cannot write the snapshot `{}`: {error}",
            file.display()
        ))
    })
}

/// Reads a snapshot.
pub(super) fn read(file: &Path) -> Result<Contract, Failure> {
    let broken = |problem: &dyn std::fmt::Display| {
        Failure::usage(format!(
            "cannot use the snapshot `{}`: {problem}",
            file.display()
        ))
        .hint("`tools snapshot FILE` writes one")
    };
    let about = fs::metadata(file).map_err(|error| broken(&error))?;
    if !about.is_file() || about.len() > MOST {
        return Err(broken(&"expected a regular file of at most 64 MiB"));
    }
    let text = fs::read_to_string(file).map_err(|error| broken(&error))?;
    let value: serde_json::Value = serde_json::from_str(&text).map_err(|error| broken(&error))?;
    // Before its members are looked at: those of another form are others.
    match value.get("snapshot") {
        Some(form) if *form == FORM => {
            serde_json::from_value(value).map_err(|error| broken(&error))
        }
        Some(form) => Err(broken(&format!(
            "it has form {}, and this program reads form {FORM}",
            super::text::line(&form.to_string(), 20)
        ))),
        None => Err(broken(&"it has no member `snapshot`")),
    }
}
