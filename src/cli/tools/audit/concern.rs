//! What about a tool is worth a second look. Hints from names and declarations: the absence of one proves nothing.

use claw_runtime::event::Verdict;
use claw_runtime::policy::Ruling;
use claw_runtime::tool::{Effect, Tool};
use serde_json::Value;

/// Words in a tool's name that say it runs what it is given.
const RUNNERS: [&str; 8] = [
    "bash", "cmd", "command", "eval", "exec", "run", "script", "shell",
];
/// Words in an argument's name that say it is an address.
const ADDRESSES: [&str; 7] = [
    "address", "domain", "endpoint", "host", "hostname", "uri", "url",
];
/// Words in an argument's name that say it is a path.
const PATHS: [&str; 8] = [
    "dir",
    "directory",
    "file",
    "filename",
    "folder",
    "path",
    "paths",
    "files",
];
/// Words in an argument's name that say it is a secret.
const SECRETS: [&str; 7] = [
    "apikey",
    "credential",
    "credentials",
    "passphrase",
    "password",
    "secret",
    "token",
];

/// Returns what is worth a look, the gravest first.
pub(super) fn about(tool: &Tool, ruling: &Ruling) -> Vec<String> {
    let spec = tool.spec();
    let mut found = Vec::new();
    let runs = ruling.verdict == Verdict::Allow;
    if runs && is_runner(tool) {
        found.push(format!(
            "runs what it is given, without asking ({})",
            ruling.rule
        ));
    } else if runs && (spec.destructive || spec.effect == Effect::Once) {
        let what = if spec.destructive {
            "destructive"
        } else {
            "`once`"
        };
        found.push(format!("{what}, and runs without asking ({})", ruling.rule));
    }
    let reaches_out = spec.open_world || spec.group == "web";
    let names = arguments(tool);
    let undeclared = |words: &[&str], declared: &[&[&str]]| -> Vec<String> {
        let is_declared = |name: &str| declared.iter().any(|names| names.contains(&name));
        names
            .iter()
            .filter(|name| says(name, words) && !is_declared(name))
            .map(|name| format!("`{name}`"))
            .collect()
    };
    let addresses = undeclared(&ADDRESSES, &[spec.net]);
    if !addresses.is_empty() {
        let names = addresses.join(", ");
        found.push(format!(
            "{names} reads like an address; declare it with `net(…)`"
        ));
    } else if reaches_out && spec.net.is_empty() {
        found.push("reaches the open world; no `net(…)` says where".to_owned());
    }
    let paths = undeclared(&PATHS, &[spec.reads, spec.writes]);
    if !paths.is_empty() {
        let names = paths.join(", ");
        found.push(format!(
            "{names} reads like a path; declare it with `reads(…)` or `writes(…)`"
        ));
    }
    let secrets = undeclared(&SECRETS, &[spec.secret]);
    if !secrets.is_empty() {
        let names = secrets.join(", ");
        found.push(format!(
            "{names} reads like a secret; `#[arg(secret)]` masks it"
        ));
    }
    if !spec.secrets.is_empty() && (reaches_out || !spec.net.is_empty()) {
        found.push("is given secrets and reaches the network".to_owned());
    }
    found
}

fn is_runner(tool: &Tool) -> bool {
    tool.spec().group == "runtime" || says(tool.name(), &RUNNERS)
}

/// Returns the names of the arguments, outermost only.
fn arguments(tool: &Tool) -> Vec<String> {
    let schema: Value = serde_json::from_str(&tool.input_schema()).unwrap_or_default();
    let properties = schema.get("properties").and_then(Value::as_object);
    properties
        .into_iter()
        .flat_map(|properties| properties.keys().cloned())
        .collect()
}

/// Tells whether a part of `name` is one of the words: `file` and `path` in `filePath`.
fn says(name: &str, words: &[&str]) -> bool {
    let mut part = String::new();
    let mut parts = Vec::new();
    for c in name.chars() {
        if !c.is_alphanumeric() || c.is_uppercase() {
            parts.push(std::mem::take(&mut part));
        }
        if c.is_alphanumeric() {
            part.extend(c.to_lowercase());
        }
    }
    parts.push(part);
    parts.iter().any(|part| words.contains(&part.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_in_parts() {
        assert!(says("file_path", &PATHS) && says("filePath", &PATHS) && says("path", &PATHS));
        assert!(says("api-token", &SECRETS) && says("baseUrl", &ADDRESSES));
        assert!(
            !says("profile", &PATHS)
                && !says("tokens_left", &SECRETS)
                && !says("run_time", &ADDRESSES)
        );
    }
}
