//! One difference between two contracts, and what it means for those who rely on the older one.

use serde::Serialize;
use serde_json::Value;

/// What a change means for callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::cli::tools) enum Kind {
    /// A call or a rule that was good may not be any more.
    Breaking,
    /// More is possible than before.
    Additive,
    /// Other words for models and people.
    Wording,
}

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::Breaking, Self::Additive, Self::Wording];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Breaking => "breaking",
            Self::Additive => "additive",
            Self::Wording => "wording",
        }
    }

    /// Returns what the same change means for those who read a value in place of writing it.
    pub(super) const fn mirrored(self) -> Self {
        match self {
            Self::Breaking => Self::Additive,
            Self::Additive => Self::Breaking,
            Self::Wording => Self::Wording,
        }
    }
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(in crate::cli::tools) struct Change {
    pub(super) kind: Kind,
    /// The argument, as a JSON pointer with `*` for each item or key; empty for the tool itself.
    pub(super) at: String,
    /// What happened.
    pub(super) what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) after: Option<String>,
}

/// The differences found so far.
#[derive(Debug, Default)]
pub(super) struct Changes(pub(super) Vec<Change>);

impl Changes {
    /// Adds a change that needs no values.
    pub(super) fn add(&mut self, kind: Kind, at: &str, what: impl Into<String>) {
        self.push(kind, at, what, None, None);
    }

    /// Adds a change from one value to another.
    pub(super) fn between(
        &mut self,
        kind: Kind,
        at: &str,
        what: impl Into<String>,
        before: impl ToString,
        after: impl ToString,
    ) {
        self.push(
            kind,
            at,
            what,
            Some(before.to_string()),
            Some(after.to_string()),
        );
    }

    /// Adds what happened to something that may be missing on either side; nothing when both are alike.
    pub(super) fn maybe<T: PartialEq + ToString>(
        &mut self,
        kind: Kind,
        at: &str,
        what: &str,
        before: Option<T>,
        after: Option<T>,
    ) {
        if before == after {
            return;
        }
        let how = match (&before, &after) {
            (None, _) => "added",
            (_, None) => "removed",
            _ => "changed",
        };
        let text = |value: Option<T>| value.map(|value| value.to_string());
        self.push(kind, at, format!("{what} {how}"), text(before), text(after));
    }

    fn push(
        &mut self,
        kind: Kind,
        at: &str,
        what: impl Into<String>,
        before: Option<String>,
        after: Option<String>,
    ) {
        self.0.push(Change {
            kind,
            at: at.to_owned(),
            what: what.into(),
            before,
            after,
        });
    }
}

/// Returns JSON values as a reader sees them in a list.
pub(super) fn listed<'a>(values: impl IntoIterator<Item = &'a Value>) -> String {
    values
        .into_iter()
        .map(Value::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}
