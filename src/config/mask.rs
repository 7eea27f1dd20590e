//! What services are not told: patterns whose finds are replaced by placeholders.

use std::collections::BTreeMap;

use claw_runtime::provider::veil::{Veil, VeilError};
use serde::Deserialize;

/// What is hidden; nothing by default.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct MaskConfig {
    /// Known ones.
    pub(crate) patterns: Vec<String>,
    /// Regular expressions by name.
    pub(crate) own: BTreeMap<String, String>,
    /// What is done with images, in which nothing can be replaced.
    pub(crate) images: Images,
}

/// What is done with images for a service that values are hidden from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Images {
    /// They go as they are, and are counted.
    #[default]
    Send,
    /// None goes.
    Deny,
}

impl MaskConfig {
    /// Returns what replaces them; `None` where nothing is to be replaced.
    pub(crate) fn veil(&self) -> Result<Option<Veil>, VeilError> {
        let denies = self.denies_images();
        if self.patterns.is_empty() && self.own.is_empty() && !denies {
            return Ok(None);
        }
        let known = self.patterns.iter().map(String::as_str);
        let own = self.own.iter();
        let veil = Veil::new(known, own.map(|(name, regex)| (&**name, &**regex)))?;
        Ok(Some(if denies { veil.deny_images() } else { veil }))
    }

    /// Tells whether no image is sent.
    pub(crate) fn denies_images(&self) -> bool {
        self.images == Images::Deny
    }

    /// Returns the names of all patterns.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.patterns
            .iter()
            .chain(self.own.keys())
            .map(String::as_str)
    }
}
