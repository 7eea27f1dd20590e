//! What services are not told: patterns whose finds are replaced by placeholders.

use std::collections::BTreeMap;

use claw_runtime::provider::veil::{Veil, VeilError};
use serde::Deserialize;

/// The patterns; none by default.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct MaskConfig {
    /// Known ones.
    pub(crate) patterns: Vec<String>,
    /// Regular expressions by name.
    pub(crate) own: BTreeMap<String, String>,
}

impl MaskConfig {
    /// Returns what replaces them; `None` where nothing is to be replaced.
    pub(crate) fn veil(&self) -> Result<Option<Veil>, VeilError> {
        if self.patterns.is_empty() && self.own.is_empty() {
            return Ok(None);
        }
        let known = self.patterns.iter().map(String::as_str);
        let own = self.own.iter();
        Veil::new(known, own.map(|(name, regex)| (&**name, &**regex))).map(Some)
    }

    /// Returns the names of all patterns.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.patterns
            .iter()
            .chain(self.own.keys())
            .map(String::as_str)
    }
}
