//! Proof that crates with tools are in the program. A crate that nothing names is not linked, whatever `Cargo.toml`
//! says, and its tools would be missing without a word.

use super::RegistryError;
use crate::tool::ToolEntry;

/// What a program says of a crate with tools.
#[derive(Debug)]
pub struct Mark {
    package: &'static str,
    /// Where it is expected; `None` where it is.
    expected: Option<(&'static str, u32)>,
}

impl Mark {
    /// Returns the mark a crate with tools leaves.
    pub const fn here(package: &'static str) -> Self {
        Self {
            package,
            expected: None,
        }
    }

    /// Returns the mark of a program that expects the tools of a crate.
    pub const fn expected(package: &'static str, file: &'static str, line: u32) -> Self {
        Self {
            package,
            expected: Some((file, line)),
        }
    }
}

/// Checks that every expected crate brings a tool.
pub(super) fn check(
    marks: &[Mark],
    entries: impl Iterator<Item = &'static ToolEntry> + Clone,
) -> Result<(), RegistryError> {
    for mark in marks {
        let Some((file, line)) = mark.expected else {
            continue;
        };
        if !entries
            .clone()
            .any(|entry| entry.origin.package == mark.package)
        {
            return Err(RegistryError::NotLinked {
                package: mark.package,
                place: format!("{file}:{line}"),
            });
        }
    }
    Ok(())
}

/// Returns the crates that are in the program as crates with tools: those with a tool, and those with a
/// [`tool_crate!`](crate::tool_crate).
pub fn linked_crates() -> impl Iterator<Item = &'static str> {
    let marked = crate::private::CRATES
        .iter()
        .filter(|mark| mark.expected.is_none())
        .map(|mark| mark.package);
    let entries = crate::private::LINKED
        .iter()
        .filter(|entry| !entry.is_sentinel());
    marked.chain(entries.map(|entry| entry.origin.package))
}

/// Links crates of tools and expects their tools at start: to stand once in the program, for each crate whose tools it
/// wants and that it does not name otherwise.
///
/// ```text
/// claw::link!(my_tools, other_tools);
/// ```
///
/// Each of them says [`tool_crate!`](crate::tool_crate) at its root. A dependency in `Cargo.toml` alone is not enough: the
/// compiler leaves out a crate that no line names. [`Toolset::linked`](super::Toolset::linked) fails when one of them
/// brings no tool; `claw doctor` names crates that this line misses.
#[macro_export]
macro_rules! link {
    ($($tools:ident),+ $(,)?) => {$(
        const _: () = {
            // Naming it is what links it.
            use $tools::__CLAW_TOOL_CRATE;
            #[$crate::__private::linkme::distributed_slice($crate::__private::__CLAW_CRATES_V1)]
            #[linkme(crate = $crate::__private::linkme)]
            static __EXPECTED: $crate::__private::Mark = $crate::__private::Mark::expected(
                __CLAW_TOOL_CRATE,
                ::core::file!(),
                ::core::line!(),
            );
        };
    )+};
}

/// Says at the root of a crate that it brings tools, so that programs can [`link!`](crate::link) it.
#[macro_export]
macro_rules! tool_crate {
    () => {
        #[doc(hidden)]
        pub const __CLAW_TOOL_CRATE: &str = ::core::env!("CARGO_PKG_NAME");
        const _: () = {
            #[$crate::__private::linkme::distributed_slice($crate::__private::__CLAW_CRATES_V1)]
            #[linkme(crate = $crate::__private::linkme)]
            static __HERE: $crate::__private::Mark =
                $crate::__private::Mark::here(__CLAW_TOOL_CRATE);
        };
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expected_crate_without_tools_is_an_error() {
        let marks = [
            Mark::here("quiet"),
            Mark::expected("quiet", "src/main.rs", 3),
        ];
        let error = check(&marks, [].iter()).unwrap_err().to_string();
        assert!(error.starts_with("src/main.rs:3: "), "{error}");
        assert!(error.contains("crate `quiet`"), "{error}");
        assert_eq!(check(&marks[..1], [].iter()), Ok(()));
    }
}
