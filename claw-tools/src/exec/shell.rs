//! The shell that runs a command: its folder, its environment, its streams.

use std::io::PipeWriter;
use std::path::Path;
use std::process::Stdio;

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
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_none_or(is_secret) {
            shell.env_remove(name);
        }
    }
    Ok(shell)
}

/// Tells whether a variable looks like one that holds a secret: programs that a model starts do not need our keys.
fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"]
        .iter()
        .any(|part| name.contains(part))
        || ["KEY", "TOKEN"].iter().any(|end| {
            name.strip_suffix(end).is_some_and(|before| {
                before.is_empty() || before.ends_with('_') || before.ends_with("API")
            })
        })
}

#[cfg(test)]
mod tests {
    use super::is_secret;

    #[test]
    fn variables_that_look_like_secrets_are_known() {
        for secret in [
            "OPENAI_API_KEY",
            "OPENAI_APIKEY",
            "GITHUB_TOKEN",
            "TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "PGPASSWORD",
            "db_password",
            "CLIENT_SECRET",
            "GOOGLE_APPLICATION_CREDENTIALS",
        ] {
            assert!(is_secret(secret), "{secret}");
        }
        for plain in [
            "PATH",
            "HOME",
            "LANG",
            "MONKEY",
            "TOKENIZERS_PARALLELISM",
            "SSH_AUTH_SOCK",
            "",
        ] {
            assert!(!is_secret(plain), "{plain}");
        }
    }
}
