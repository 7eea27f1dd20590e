//! Crates that a program depends on and that are not in it: the compiler leaves out a crate that nothing names, so its
//! tools would be missing without a word. Only the lock file beside the sources knows of them.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use serde::Deserialize;

/// Our own crates, which are no crates of tools that anybody forgets.
const OURS: &[&str] = &["claw-agent", "claw-runtime", "claw-tools", "claw-macros"];

#[derive(Deserialize)]
struct Lock {
    #[serde(default)]
    package: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    /// Each a name, and a version where names are not enough.
    #[serde(default)]
    dependencies: Vec<String>,
}

impl Package {
    fn needs(&self) -> impl Iterator<Item = &str> {
        self.dependencies
            .iter()
            .map(|needed| needed.split(' ').next().unwrap_or_default())
    }
}

/// Returns the packages that the package `program` needs according to the `Cargo.lock` of `folder` or one above it, that
/// need claw, and that are none of `linked`. None when there is no such file or package.
pub(crate) fn crates(folder: &Path, program: &str, linked: &HashSet<&str>) -> Vec<String> {
    let lock = folder
        .ancestors()
        .find_map(|folder| fs::read_to_string(folder.join("Cargo.lock")).ok())
        .and_then(|text| toml::from_str::<Lock>(&text).ok());
    let Some(lock) = lock else {
        return Vec::new();
    };
    let packages: HashMap<&str, &Package> = lock
        .package
        .iter()
        .map(|package| (package.name.as_str(), package))
        .collect();
    let same = |name: &str| name.replace('-', "_") == program.replace('-', "_");
    let mut open: Vec<&str> = packages.keys().copied().filter(|name| same(name)).collect();
    let mut seen: HashSet<&str> = open.iter().copied().collect();
    let mut missing = Vec::new();
    while let Some(package) = open.pop().and_then(|name| packages.get(name)) {
        let has_tools = package.needs().any(|name| OURS.contains(&name));
        let expected = !same(&package.name) && !OURS.contains(&package.name.as_str());
        if has_tools && expected && !linked.contains(package.name.as_str()) {
            missing.push(package.name.clone());
        }
        let new = package
            .needs()
            .filter(|name| packages.contains_key(name) && seen.insert(name));
        open.extend(new);
    }
    missing.sort_unstable();
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = r#"
        [[package]]
        name = "weather-bot"
        version = "0.1.0"
        dependencies = ["claw-agent", "near-tools", "far"]

        [[package]]
        name = "near-tools"
        version = "0.1.0"
        dependencies = ["claw-agent"]

        [[package]]
        name = "far"
        version = "0.1.0"
        dependencies = ["far-tools 1.0.0", "gone"]

        [[package]]
        name = "far-tools"
        version = "1.0.0"
        dependencies = ["claw-runtime", "weather-bot"]

        [[package]]
        name = "another-bot"
        version = "0.1.0"
        dependencies = ["claw-agent", "other-tools"]

        [[package]]
        name = "other-tools"
        version = "0.1.0"
        dependencies = ["claw-agent"]

        [[package]]
        name = "claw-agent"
        version = "0.1.0"
        dependencies = ["claw-runtime"]

        [[package]]
        name = "claw-runtime"
        version = "0.1.0"
    "#;

    #[test]
    fn what_is_needed_and_not_linked_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("src");
        fs::create_dir(&inner).unwrap();
        fs::write(folder.path().join("Cargo.lock"), LOCK).unwrap();
        let crates = |program, linked: &[&'static str]| {
            crates(&inner, program, &linked.iter().copied().collect())
        };
        assert_eq!(crates("weather_bot", &[]), ["far-tools", "near-tools"]);
        assert_eq!(crates("weather-bot", &["near-tools"]), ["far-tools"]);
        assert_eq!(crates("nobody", &[]), Vec::<String>::new());
    }
}
