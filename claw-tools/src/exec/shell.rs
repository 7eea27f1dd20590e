//! The shell that runs a command: its folder, its environment, its streams.

use std::io::PipeWriter;
use std::path::Path;
use std::process::Stdio;

use claw_runtime::secret::is_secret_name;
use tokio::process::Command;

/// Returns a shell that will run `command` in `folder` and write both its streams to `output`, which keeps their order.
///
/// It leads a process group of its own and carries the variable `marker`.
pub(super) fn shell(
    command: &str,
    folder: &Path,
    marker: &str,
    has_input: bool,
    output: PipeWriter,
) -> std::io::Result<Command> {
    let mut shell = Command::new("/bin/sh");
    shell
        .arg("-c")
        .arg(command)
        .current_dir(folder)
        .env(marker, "1")
        // Nobody is there to answer, and escape codes mean nothing to a model.
        .env("TERM", "dumb")
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdin(match has_input {
            true => Stdio::piped(),
            false => Stdio::null(),
        })
        .stdout(output.try_clone()?)
        .stderr(output)
        .process_group(0)
        .kill_on_drop(true);
    for (name, value) in std::env::vars_os() {
        let is_kept = match (name.to_str(), value.to_str()) {
            (Some(name), Some(value)) => !is_secret_name(name) && !holds_password(name, value),
            _ => false,
        };
        if !is_kept {
            shell.env_remove(name);
        }
    }
    Ok(shell)
}

/// Tells whether a value is an address with a password in it, as `postgres://user:password@host/`. That of a proxy is
/// kept: without it nothing reaches the network.
fn holds_password(name: &str, value: &str) -> bool {
    let is_proxy = name.to_ascii_uppercase().ends_with("_PROXY");
    let mut addresses = value.split("://").skip(1);
    !is_proxy
        && addresses.any(|rest| {
            let host = rest.split(['/', '?', '#', ' ']).next().unwrap_or(rest);
            let user = host.rsplit_once('@').map(|(user, _)| user);
            user.is_some_and(|user| {
                user.split_once(':')
                    .is_some_and(|(_, word)| !word.is_empty())
            })
        })
}

#[cfg(test)]
mod tests {
    use super::holds_password;

    #[test]
    fn addresses_with_a_password_are_known() {
        for (name, value) in [
            ("DATABASE_URL", "postgres://me:hunter2@host:5432/db"),
            ("CELERY_BROKER", "redis://:hunter2@host"),
            ("PIP_INDEX_URL", "https://me:hun@ter2@host/simple"),
            ("URLS", "http://host/ amqp://me:hunter2@host/"),
        ] {
            assert!(holds_password(name, value), "{value}");
        }
        for (name, value) in [
            ("HTTPS_PROXY", "http://me:hunter2@proxy:3128"),
            ("https_proxy", "http://me:hunter2@proxy:3128"),
            ("URL", "http://host:80/a@b"),
            ("URL", "ssh://git@host:22/x"),
            ("URL", "http://me:@host/"),
            ("PS1", "\\u@\\h:\\w"),
            ("PATH", "/bin:/usr/bin"),
            ("EMPTY", ""),
        ] {
            assert!(!holds_password(name, value), "{value}");
        }
    }
}
