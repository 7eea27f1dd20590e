//! Where sessions are kept, and which one a turn belongs to.

use std::path::PathBuf;
use std::sync::Arc;

use claw_runtime::session::{MemoryStore, Query, SessionInfo, SessionStore, StoreError};
use jiff::Zoned;

use super::args::{Args, SessionArgs, folder};
use super::exit::{Exit, Failure};
#[cfg(feature = "sqlite")]
use crate::config::Durability;
use crate::config::{Config, StoreKind};

/// Opens the store of the settings; nothing is kept under `--ephemeral`.
pub(crate) async fn open(
    program: &str,
    config: &Config,
    args: &Args,
) -> Result<Arc<dyn SessionStore>, Failure> {
    let memory = cfg!(not(feature = "sqlite")) && config.sessions.store.is_none();
    if args.ephemeral || memory || config.sessions.store == Some(StoreKind::Memory) {
        return Ok(Arc::new(MemoryStore::new()));
    }
    kept(program, config).await
}

/// Opens the store that outlives the program.
pub(crate) async fn kept(program: &str, config: &Config) -> Result<Arc<dyn SessionStore>, Failure> {
    match config.sessions.store.unwrap_or_default() {
        #[cfg(feature = "sqlite")]
        StoreKind::Sqlite => Ok(Arc::new(sqlite(program, config).await?)),
        #[cfg(not(feature = "sqlite"))]
        StoreKind::Sqlite => Err(not_built("sqlite")),
        #[cfg(feature = "postgres")]
        StoreKind::Postgres => Ok(Arc::new(postgres(program, config).await?)),
        #[cfg(not(feature = "postgres"))]
        StoreKind::Postgres => Err(not_built("postgres")),
        StoreKind::Memory => Err(Failure::usage(
            "`sessions.store` is `memory`: nothing is kept",
        )),
    }
}

/// Connects to the Postgres database.
#[cfg(feature = "postgres")]
async fn postgres(
    program: &str,
    config: &Config,
) -> Result<claw_runtime::session::PostgresStore, Failure> {
    use claw_runtime::session::{PostgresOptions, PostgresStore};

    let name = config.sessions.url_env.as_ref();
    let name = name.map_or("CLAW_DATABASE_URL", |name| name.as_str());
    let url = std::env::var(name).ok().filter(|url| !url.is_empty());
    let url = url.ok_or_else(|| {
        Failure::usage(format!("`{name}` does not name the database"))
            .hint("set it to `postgres://user:password@host/database`")
    })?;
    PostgresStore::connect(PostgresOptions::new(program, url))
        .await
        .map_err(|error| Failure::from(error).hint(format!("the address stands in `{name}`")))
}

#[cfg(not(all(feature = "sqlite", feature = "postgres")))]
fn not_built(feature: &str) -> Failure {
    Failure::usage(format!("this program cannot keep sessions in {feature}"))
        .hint(format!("build it with claw's feature `{feature}`"))
}

/// Opens the SQLite file.
#[cfg(feature = "sqlite")]
pub(crate) async fn sqlite(
    program: &str,
    config: &Config,
) -> Result<claw_runtime::session::SqliteStore, Failure> {
    use claw_runtime::session::{Durability as D, SqliteOptions, SqliteStore};

    let mut options = SqliteOptions::new(program);
    options.durability = match config.sessions.durability.unwrap_or_default() {
        Durability::Full => D::Full,
        Durability::Normal => D::Normal,
        Durability::Off => D::Off,
    };
    let path = file(config)?;
    let opened = tokio::task::spawn_blocking(move || SqliteStore::at(path, options)).await;
    opened.map_err(Failure::other)?.map_err(|error| {
        Failure::from(error)
            .hint("`CLAW_SESSIONS_FILE` names another file; `--ephemeral` keeps nothing")
    })
}

/// Returns the file sessions are kept in.
pub(crate) fn file(config: &Config) -> Result<PathBuf, Failure> {
    let default = || folder("XDG_DATA_HOME", ".local/share").map(|it| it.join("sessions.db"));
    config
        .sessions
        .file
        .clone()
        .or_else(default)
        .ok_or_else(|| {
            Failure::new(Exit::Usage, "there is no home folder to keep sessions in")
                .hint("name a file with `CLAW_SESSIONS_FILE`, or keep nothing with `--ephemeral`")
        })
}

/// Returns the id of the session a turn belongs to.
pub(crate) async fn id(
    store: &dyn SessionStore,
    program: &str,
    args: &SessionArgs,
) -> Result<String, Failure> {
    if args.continue_last {
        return find(store, program, LAST).await.map(|info| info.id);
    }
    let Some(name) = &args.session else {
        return Ok(new_id());
    };
    let sessions = all(store, program).await?;
    match matching(&sessions, name)? {
        Some(info) => Ok(info.id.clone()),
        None => {
            check_id(name)?;
            Ok(name.clone())
        }
    }
}

/// Stands for the session used last.
pub(crate) const LAST: &str = "last";

/// Returns the session of this id, or whose id alone begins so.
pub(crate) async fn find(
    store: &dyn SessionStore,
    program: &str,
    name: &str,
) -> Result<SessionInfo, Failure> {
    let sessions = all(store, program).await?;
    if name == LAST {
        return sessions
            .into_iter()
            .next()
            .ok_or_else(|| Failure::usage("there is no session yet"));
    }
    match matching(&sessions, name)? {
        Some(info) => Ok(info.clone()),
        None => Err(Failure::usage(format!("there is no session `{name}`"))
            .hint("`sessions list` shows them all")),
    }
}

/// Returns every session of the program, the one used last first.
pub(crate) async fn all(
    store: &dyn SessionStore,
    program: &str,
) -> Result<Vec<SessionInfo>, Failure> {
    let query = Query {
        program: Some(program.to_owned()),
        ..Query::default()
    };
    Ok(store.sessions(&query).await?)
}

fn matching<'s>(
    sessions: &'s [SessionInfo],
    name: &str,
) -> Result<Option<&'s SessionInfo>, Failure> {
    // Every id begins so; a variable that is not set must not name a session.
    if name.is_empty() {
        return Err(Failure::usage("a session's id is empty")
            .hint("`sessions list` shows them all; `last` is the one used last"));
    }
    if let Some(exact) = sessions.iter().find(|info| info.id == name) {
        return Ok(Some(exact));
    }
    let mut found = sessions.iter().filter(|info| info.id.starts_with(name));
    match (found.next(), found.next()) {
        (Some(first), Some(second)) => Err(Failure::usage(format!(
            "`{name}` may be `{}` or `{}`",
            first.id, second.id
        ))
        .hint("write more of the id")),
        (first, _) => Ok(first),
    }
}

/// Refuses names that would be hard to write again.
pub(crate) fn check_id(name: &str) -> Result<(), Failure> {
    let good = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let fault = if name == LAST {
        "stands for the session used last"
    } else if name.is_empty() || name.len() > 64 {
        "must have 1 to 64 characters"
    } else if !name.chars().all(good) || !name.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        "must begin with a letter or digit and hold letters, digits, `-`, `_` and `.` only"
    } else {
        return Ok(());
    };
    Err(Failure::usage(format!("the session id `{name}` {fault}")))
}

/// Returns an id that sorts by time and that nobody else has: `20261130-154501-k3f9`.
pub(crate) fn new_id() -> String {
    use std::hash::{BuildHasher, RandomState};
    const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    // Seeded by the system for each process, and different for each call.
    let mut random = RandomState::new().hash_one(std::process::id());
    let mut tail = String::new();
    for _ in 0..6 {
        tail.push(char::from(LETTERS[(random % 32) as usize]));
        random /= 32;
    }
    format!("{}-{tail}", Zoned::now().strftime("%Y%m%d-%H%M%S"))
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let failure = Self::other(&error);
        match error {
            StoreError::Live { .. } => {
                failure.hint("leave it there first, or begin a branch: `sessions branch ID`")
            }
            StoreError::Damaged { session, .. } => failure.hint(format!(
                "`sessions verify {session}` says what is whole; `sessions branch {session} --at N` goes on from there"
            )),
            _ => failure,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_ids_are_ids_and_differ() {
        let ids: std::collections::HashSet<_> = (0..100).map(|_| new_id()).collect();
        assert_eq!(ids.len(), 100);
        assert!(ids.iter().all(|id| check_id(id).is_ok() && id.len() == 22));
    }

    #[test]
    fn ids_are_easy_to_write_again() {
        for good in ["a", "Work_2.1-b", &"x".repeat(64)] {
            assert!(check_id(good).is_ok(), "{good}");
        }
        for bad in ["", "last", "-x", "a b", "a/b", "ä", ".", &"x".repeat(65)] {
            assert!(check_id(bad).is_err(), "{bad}");
        }
    }
}
