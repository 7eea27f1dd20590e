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
    for (name, value) in std::env::vars_os() {
        let is_kept = match (name.to_str(), value.to_str()) {
            (Some(name), Some(value)) => !is_secret(name) && !holds_password(name, value),
            _ => false,
        };
        if !is_kept {
            shell.env_remove(name);
        }
    }
    Ok(shell)
}

/// Tells whether a variable looks like one that holds a secret: programs that a model starts do not need our keys.
fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    // The second key of a service is as secret as its first: `OPENAI_API_KEY_2`.
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '_');
    let anywhere = [
        "SECRET",
        "PASSWORD",
        "PASSWD",
        "PASSPHRASE",
        "CREDENTIAL",
        "PRIVATE_KEY",
        "AUTHTOKEN",
        "WEBHOOK",
        "CONNECTION_STRING",
    ];
    let (before, last) = name.rsplit_once('_').unwrap_or(("", name));
    let last = last
        .strip_suffix('S')
        .filter(|_| last != "PASS")
        .unwrap_or(last);
    anywhere.iter().any(|part| name.contains(part))
        || matches!(last, "KEY" | "APIKEY" | "TOKEN" | "JWT" | "COOKIE")
        // By themselves these are the name of a folder, a program or a service.
        || (!before.is_empty() && matches!(last, "PASS" | "PWD" | "PAT" | "AUTH" | "DSN"))
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
    use super::{holds_password, is_secret};

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
            "OPENAI_API_KEY_2",
            "OPENAI_KEY1",
            "API_KEYS",
            "GITHUB_APP_PRIVATE_KEY_BASE64",
            "GH_PAT",
            "SMTP_PASS",
            "MYSQL_PWD",
            "REDIS_AUTH",
            "SENTRY_DSN",
            "JWT",
            "SESSION_COOKIE",
            "GPG_PASSPHRASE",
            "SLACK_WEBHOOK_URL",
            "AZURE_STORAGE_CONNECTION_STRING",
            "npm_config__authToken",
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
            "XAUTHORITY",
            "PWD",
            "OLDPWD",
            "COMPASS",
            "CARGO_PKG_AUTHORS",
            "KEYBOARD",
            "_",
            "",
        ] {
            assert!(!is_secret(plain), "{plain}");
        }
    }

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
