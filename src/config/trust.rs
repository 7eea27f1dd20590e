//! What the working folder's `claw.toml` may not decide: it may have come with somebody else's repository.
//!
//! Such a file may narrow what the agent does and say what the work is. It may not widen what runs without a question,
//! raise a limit, lead out of the folder, or choose which key goes where. What it may not decide is ignored with a
//! warning; an address that it alone names is marked, and whoever connects sends no secret there. The user's own file,
//! a file named by `--config`, variables and flags are trusted.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

use super::check::position;
use super::{Address, Config};

/// The working folder's file as it was read.
pub(super) struct FolderFile {
    pub(super) path: PathBuf,
    pub(super) text: String,
    /// Where its settings would be trusted, for messages.
    pub(super) way_out: String,
}

/// Where an address stands that no trusted setting names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Untrusted {
    /// File and line.
    pub(crate) place: String,
    /// What to do to have it trusted.
    pub(crate) way_out: String,
}

impl FolderFile {
    /// Returns the file, read in a program whose user's own settings stand in `user`.
    pub(super) fn new(path: PathBuf, text: String, user: Option<&Path>) -> Self {
        let mut way_out = format!(
            "trust the file for a run with `--config {}`",
            path.display()
        );
        if let Some(user) = user {
            way_out.push_str(&format!(", or set this in `{}`", user.display()));
        }
        Self {
            path,
            text,
            way_out,
        }
    }

    /// Takes out of the file's settings what it may not decide over the `trusted` ones, and warns of it.
    pub(super) fn restrict(&self, layer: &mut Table, trusted: &Table) -> Option<String> {
        // Both were checked when they were read.
        let said = Config::deserialize(layer.clone()).unwrap_or_default();
        let trusted = Config::deserialize(trusted.clone()).unwrap_or_default();
        let mut ignored = Vec::new();
        let mut ignore = |table: &mut Table, path: &str, key: &str| {
            if table.remove(key).is_some() {
                ignored.push(format!("`{path}{key}`"));
            }
        };
        if said.workspace.is_some_and(|folder| self.leads_out(&folder)) {
            ignore(layer, "", "workspace");
        }
        ignore(layer, "", "sessions");
        ignore(layer, "", "ca_file");
        if said.discover == Some(true) && trusted.discover == Some(false) {
            ignore(layer, "", "discover");
        }
        if let Some(policy) = table(layer, "policy") {
            let (ours, theirs) = (&trusted.policy, &said.policy);
            if !theirs.allow.is_empty() {
                ignore(policy, "policy.", "allow");
            }
            let trusted_profile = ours.profile.unwrap_or_default();
            if theirs
                .profile
                .is_some_and(|profile| !trusted_profile.covers(profile))
            {
                ignore(policy, "policy.", "profile");
            }
            // Lists replace each other elsewhere; here that would lift a trusted rule.
            for (key, ours) in [("ask", &ours.ask), ("deny", &ours.deny)] {
                if let Some(Value::Array(list)) = policy.get_mut(key) {
                    list.extend(ours.iter().cloned().map(Value::String));
                }
            }
        }
        // Of what is hidden nothing may be shown, so these lists add up too.
        if let Some(mask) = table(layer, "mask") {
            if let Some(Value::Array(list)) = mask.get_mut("patterns") {
                let ours = trusted.mask.patterns.iter();
                list.extend(ours.cloned().map(Value::String));
            }
            let shows = |images: &Value| images.as_str() != Some("deny");
            if trusted.mask.denies_images() && mask.get("images").is_some_and(shows) {
                ignore(mask, "mask.", "images");
            }
            if let Some(own) = table(mask, "own") {
                for name in trusted.mask.own.keys() {
                    ignore(own, "mask.own.", name);
                }
            }
        }
        if let Some(limits) = table(layer, "limits") {
            for name in said.limits.raised_over(&trusted.limits.limits()) {
                ignore(limits, "limits.", name);
            }
        }
        // A lower price would lift a limit.
        ignore(layer, "", "models");
        if let Some(budget) = table(layer, "budget") {
            for name in said.budget.raised_over(&trusted.budget) {
                ignore(budget, "budget.", name);
            }
        }
        if let Some(providers) = table(layer, "providers") {
            for (name, provider) in providers.iter_mut() {
                if let Value::Table(provider) = provider {
                    if provider.get("mask") == Some(&Value::Boolean(false)) {
                        ignore(provider, &format!("providers.{name}."), "mask");
                    }
                    for key in [
                        "key_file",
                        "key_command",
                        "ca_file",
                        "threads",
                        "context",
                        "memory",
                        "idle",
                    ] {
                        ignore(provider, &format!("providers.{name}."), key);
                    }
                }
            }
        }
        (!ignored.is_empty()).then(|| {
            format!(
                "`{}` may not decide {}: ignored; {}",
                self.path.display(),
                ignored.join(", "),
                self.way_out
            )
        })
    }

    /// Tells whether a path leads out of the file's folder, links followed. One that does not exist leads nowhere.
    fn leads_out(&self, path: &Path) -> bool {
        let folder = self.path.parent().and_then(|it| it.canonicalize().ok());
        path.canonicalize()
            .is_ok_and(|path| folder.is_none_or(|folder| !path.starts_with(folder)))
    }

    /// Marks the addresses that the file alone names, and the providers whose headers are not its own.
    pub(super) fn mark(&self, config: &mut Config, trusted: &Config) {
        if let Some(address) = &mut config.base_url {
            self.mark_address(address, trusted.base_url.as_ref(), &["base_url"]);
        }
        for (name, provider) in &mut config.providers {
            let ours = trusted.providers.get(name);
            if let Some(address) = &mut provider.base_url {
                let ours = ours.and_then(|ours| ours.base_url.as_ref());
                self.mark_address(address, ours, &["providers", name, "base_url"]);
            }
            provider.has_trusted_headers = ours.is_some_and(|ours| !ours.headers.is_empty());
        }
    }

    fn mark_address(&self, address: &mut Address, trusted: Option<&Address>, path: &[&str]) {
        if trusted.is_none_or(|trusted| trusted.as_str() != address.as_str()) {
            let (line, _) = position(&self.text, start_of(&self.text, path).unwrap_or(0));
            address.untrusted = Some(Untrusted {
                place: format!("{}:{line}", self.path.display()),
                way_out: self.way_out.clone(),
            });
        }
    }
}

fn table<'t>(layer: &'t mut Table, key: &str) -> Option<&'t mut Table> {
    layer.get_mut(key).and_then(Value::as_table_mut)
}

/// Returns where the value at `path` begins, in bytes.
fn start_of(text: &str, path: &[&str]) -> Option<usize> {
    fn find(table: &DeTable<'_>, path: &[&str]) -> Option<usize> {
        let (first, rest) = path.split_first()?;
        let (_, value) = table.iter().find(|(key, _)| key.get_ref() == first)?;
        match value.get_ref() {
            DeValue::Table(inner) if !rest.is_empty() => find(inner, rest),
            _ => Some(value.span().start),
        }
    }
    find(DeTable::parse(text).ok()?.get_ref(), path)
}
