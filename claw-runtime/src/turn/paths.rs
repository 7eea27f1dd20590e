//! What calls touch, as declared: two that touch the same path do not run side by side when one of them writes.

use serde_json::Value;

use crate::tool::{Tool, ValidArguments};

/// The paths a call names in arguments declared as read or written.
#[derive(Debug, Default)]
pub(super) struct Touched {
    reads: Vec<Vec<String>>,
    writes: Vec<Vec<String>>,
}

impl Touched {
    pub(super) fn by(tool: &Tool, arguments: &ValidArguments) -> Self {
        let spec = tool.spec();
        Self::of(arguments.text(), spec.reads, spec.writes)
    }

    fn of(arguments: &str, reads: &[&str], writes: &[&str]) -> Self {
        if reads.is_empty() && writes.is_empty() {
            return Self::default();
        }
        let Ok(value) = serde_json::from_str::<Value>(arguments) else {
            return Self::default();
        };
        let paths = |names: &[&str]| {
            let mut paths = Vec::new();
            for name in names {
                collect(&value[*name], &mut paths);
            }
            paths
        };
        Self {
            reads: paths(reads),
            writes: paths(writes),
        }
    }

    pub(super) fn conflicts(&self, other: &Self) -> bool {
        let meets = |writes: &[Vec<String>], touched: &Self| {
            writes.iter().any(|path| {
                touched
                    .reads
                    .iter()
                    .chain(&touched.writes)
                    .any(|other| path.starts_with(other) || other.starts_with(path))
            })
        };
        meets(&self.writes, other) || meets(&other.writes, self)
    }
}

fn collect(value: &Value, paths: &mut Vec<Vec<String>>) {
    match value {
        Value::String(path) => paths.push(parts(path)),
        Value::Array(items) => items.iter().for_each(|item| collect(item, paths)),
        _ => {}
    }
}

/// Returns a path without what changes nothing: doubled and trailing slashes and `.` parts.
pub(super) fn plain(path: &str) -> String {
    let mut plain = String::with_capacity(path.len());
    for part in path.split('/').filter(|part| !matches!(*part, "" | ".")) {
        if !plain.is_empty() || path.starts_with('/') {
            plain.push('/');
        }
        plain.push_str(part);
    }
    if plain.is_empty() && path.starts_with('/') {
        plain.push('/');
    }
    plain
}

/// Splits a path; links are not followed, for this only decides about order.
fn parts(path: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for part in path.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part.to_owned()),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::Touched;

    #[test]
    fn a_write_meets_what_is_above_and_below_it() {
        let write = |path: &str| Touched::of(&format!(r#"{{"to":"{path}"}}"#), &[], &["to"]);
        let read = |path: &str| Touched::of(&format!(r#"{{"from":["{path}"]}}"#), &["from"], &[]);
        assert!(write("a/b").conflicts(&read("./a/b/")));
        assert!(read("a").conflicts(&write("a/b")));
        assert!(write("a/x/../b").conflicts(&write("a/b/c")));
        assert!(!write("a/b").conflicts(&read("a/bc")));
        assert!(!read("a").conflicts(&read("a")));
    }
}
