//! `model`: the weights on this machine, of models that run in this program.
//!
//! Weights are files in the user's cache, `claw/models/NAME.gguf`, each with a record of where it came from. They come
//! from the network only when somebody asks: by `model pull`, or by the first `run` or `chat` with nothing else to ask.

mod first;
mod folder;
mod pip;
mod provider;
mod pull;
mod show;
mod table;

use std::path::PathBuf;

use clap::Subcommand;
use serde_json::json;

use super::exit::{Exit, Failure};
use super::json as lines;
use super::terminal::{DIM, Screen};
pub(crate) use first::choose;
use folder::{Folder, licence};
pub(crate) use provider::{Embedded, describe, offer};
use show::bytes;
use table::KNOWN;

/// What to do with weights.
#[derive(Debug, Subcommand)]
pub(crate) enum Weights {
    /// List the weights that are here, and those known by name
    List {
        /// Print one JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Fetch weights, or go on with fetching them
    Pull {
        /// A known name, or the https address of a GGUF file; `#sha256=…` at its end pins it
        #[arg(value_name = "NAME|URL")]
        what: String,

        /// Call what is at the address so; the name of its file when left out
        #[arg(long)]
        name: Option<String>,

        /// Take only the file with this digest
        #[arg(long, value_name = "DIGEST")]
        sha256: Option<String>,
    },
    /// Print the file of weights that are here
    Path {
        /// As `list` shows it
        name: String,
    },
    /// Delete weights
    Rm {
        /// As `list` shows them
        #[arg(required = true)]
        names: Vec<String>,
    },
}

/// Runs `model`.
pub(crate) async fn weights(command: Weights) -> Result<Exit, Failure> {
    let mut screen = Screen::new(false);
    match command {
        Weights::List { json } => list(&mut screen, json)?,
        Weights::Pull { what, name, sha256 } => {
            let pulling = pull(&what, name.as_deref(), sha256.as_deref(), &mut screen);
            let pulled = tokio::select! {
                pulled = pulling => Some(pulled?),
                _ = tokio::signal::ctrl_c() => None,
            };
            match pulled {
                Some(file) => screen.answer(&format!("{}\n", file.display())),
                None => {
                    screen.note(DIM, "stopped; the same command goes on from here");
                    return Ok(Exit::Interrupted);
                }
            }
        }
        Weights::Path { name } => {
            let kept = Folder::of_user()?.get(bare(&name))?;
            screen.answer(&format!("{}\n", kept.file.display()));
        }
        Weights::Rm { names } => {
            let folder = Folder::of_user()?;
            for name in &names {
                let freed = folder.remove(bare(name))?;
                screen.note(DIM, &format!("deleted `{}`, {}", bare(name), bytes(freed)));
            }
        }
    }
    screen.finish()?;
    Ok(Exit::Answered)
}

async fn pull(
    what: &str,
    name: Option<&str>,
    sha256: Option<&str>,
    screen: &mut Screen,
) -> Result<PathBuf, Failure> {
    if what.contains("://") {
        return pull::from_address(what, name, sha256, screen).await;
    }
    if name.is_some() || sha256.is_some() {
        return Err(Failure::usage("`--name` and `--sha256` are for an address"));
    }
    match table::known(bare(what)) {
        Some(known) => pull::known_weights(known, screen).await,
        None => {
            let failure = Failure::usage(format!("there are no known weights `{what}`"));
            Err(failure.hint(Folder::of_user()?.near(bare(what))))
        }
    }
}

/// Returns the name of weights as the folder has it; people write `local:` before it, as for `--model`.
fn bare(name: &str) -> &str {
    name.strip_prefix("local:").unwrap_or(name)
}

/// A line of the list.
struct Row {
    name: String,
    size: u64,
    licence: Option<&'static str>,
    about: Option<&'static str>,
    /// Where it is; else how to get it.
    file: Option<String>,
    sha256: Option<String>,
    from: String,
    /// Bytes that came before its transfer was stopped.
    begun: Option<u64>,
}

fn list(screen: &mut Screen, json: bool) -> Result<(), Failure> {
    let folder = Folder::of_user()?;
    let mut rows: Vec<Row> = folder
        .all()?
        .into_iter()
        .map(|kept| {
            let sha256 = kept.record.as_ref().map(|record| record.sha256.clone());
            Row {
                licence: licence(&kept.name, sha256.as_deref()),
                size: kept.size,
                file: Some(kept.file.display().to_string()),
                sha256,
                about: table::known(&kept.name).map(|known| known.about),
                from: kept.record.map_or(String::new(), |record| record.from),
                begun: None,
                name: kept.name,
            }
        })
        .collect();
    for known in KNOWN {
        if rows.iter().all(|row| row.name != known.name) {
            let places: Vec<_> = known.sources.iter().map(table::Source::place).collect();
            rows.push(Row {
                name: known.name.to_owned(),
                size: known.size,
                licence: Some(known.licence),
                about: Some(known.about),
                file: None,
                sha256: Some(known.sha256.to_owned()),
                from: places.join(", "),
                begun: folder.begun(known.name),
            });
        }
    }
    if json {
        for row in &rows {
            lines::print(&json!({
                "model": format!("local:{}", row.name),
                "name": row.name,
                "about": row.about,
                "size": row.size,
                "licence": row.licence,
                "file": row.file,
                "sha256": row.sha256,
                "from": row.from,
            }))?;
        }
        return Ok(());
    }
    let width = |cell: fn(&Row) -> usize| rows.iter().map(cell).max().unwrap_or(0);
    let (names, sizes) = (width(|it| it.name.len()), width(|it| bytes(it.size).len()));
    let licences = width(|it| it.licence.unwrap_or("unknown").len());
    for row in &rows {
        let place = match (&row.file, row.begun) {
            (Some(file), _) => file.clone(),
            (None, Some(begun)) => format!(
                "{} here; `claw model pull {}` goes on",
                bytes(begun),
                row.name
            ),
            (None, None) => format!("`claw model pull {}` fetches it", row.name),
        };
        screen.answer(&format!(
            "{:names$}  {:>sizes$}  {:licences$}  {place}\n",
            row.name,
            bytes(row.size),
            row.licence.unwrap_or("unknown"),
        ));
    }
    Ok(())
}
