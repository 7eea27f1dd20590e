//! Every tool a program has, and the toolset one agent may use.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use crate::tool::{StateMap, Tool, ToolEntry};

/// Tools by name, frozen: sorted, so that what a provider sees does not change from build to build.
#[derive(Clone, Debug, Default)]
pub struct Toolset {
    tools: Arc<[Arc<Tool>]>,
    index: Arc<HashMap<String, usize>>,
    /// Made when it is first asked for, as it needs every schema.
    digest: Arc<OnceLock<String>>,
}

/// Why a toolset cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// Two tools of one name.
    #[error(
        "two tools are named `{name}`: {first} and {second}; rename one with `#[tool(name = \"…\")]`"
    )]
    Duplicate {
        /// The name.
        name: String,
        /// Where the first is declared.
        first: String,
        /// Where the second is declared.
        second: String,
    },
    /// A tool needs state that the agent was not given.
    #[error("tool `{tool}` needs `State<{state}>`; none was given: add `.state(…)` to the agent")]
    MissingState {
        /// The tool.
        tool: String,
        /// The type.
        state: &'static str,
    },
}

impl Toolset {
    /// Returns the tools of every linked crate.
    ///
    /// # Errors
    ///
    /// Fails when two tools have one name.
    pub fn linked() -> Result<Self, RegistryError> {
        Self::new(
            crate::private::LINKED
                .iter()
                .map(|entry| Arc::new(Tool::linked(entry))),
        )
    }

    /// Returns the tools of a list made by [`tools!`](crate::tools), for targets without linker sections.
    ///
    /// # Errors
    ///
    /// Fails when two tools have one name.
    pub fn of(entries: &'static [ToolEntry]) -> Result<Self, RegistryError> {
        Self::new(entries.iter().map(|entry| Arc::new(Tool::linked(entry))))
    }

    /// Returns these tools, sorted by name; one declared place that comes twice counts once.
    ///
    /// # Errors
    ///
    /// Fails when two tools of different origin have one name.
    pub fn new(tools: impl IntoIterator<Item = Arc<Tool>>) -> Result<Self, RegistryError> {
        let mut tools: Vec<Arc<Tool>> = tools.into_iter().collect();
        tools.sort_by(|a, b| a.name().cmp(b.name()));
        tools.dedup_by(|a, b| {
            a.name() == b.name() && a.origin().is_some() && a.origin() == b.origin()
        });
        if let Some([first, second]) = tools
            .windows(2)
            .find(|pair| pair[0].name() == pair[1].name())
        {
            return Err(RegistryError::Duplicate {
                name: first.name().to_owned(),
                first: place(first),
                second: place(second),
            });
        }
        let index = tools
            .iter()
            .enumerate()
            .map(|(at, tool)| (tool.name().to_owned(), at))
            .collect();
        Ok(Self {
            tools: tools.into(),
            index: Arc::new(index),
            digest: Arc::default(),
        })
    }

    /// Returns these and those tools together.
    ///
    /// # Errors
    ///
    /// Fails when two tools have one name.
    pub fn with(&self, more: impl IntoIterator<Item = Arc<Tool>>) -> Result<Self, RegistryError> {
        Self::new(self.tools.iter().cloned().chain(more))
    }

    /// Returns the tools that `keep` keeps.
    pub fn filtered(&self, keep: impl Fn(&Tool) -> bool) -> Self {
        Self::new(self.tools.iter().filter(|tool| keep(tool)).cloned())
            .expect("a part of a toolset has no duplicates")
    }

    /// Returns the tool named `name`, or `None` when there is none.
    pub fn get(&self, name: &str) -> Option<&Arc<Tool>> {
        self.index.get(name).map(|at| &self.tools[*at])
    }

    /// Iterates over the tools by name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<Tool>> {
        self.tools.iter()
    }

    /// Tells whether there are no tools.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Returns how many tools there are.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Returns a digest of what a provider sees of the toolset: names, descriptions and schemas.
    pub fn digest(&self) -> &str {
        self.digest.get_or_init(|| {
            let mut seen = String::new();
            for tool in self.iter() {
                for text in [
                    tool.name(),
                    &*tool.spec().description,
                    &*tool.input_schema(),
                ] {
                    seen.push_str(text);
                    seen.push('\0');
                }
            }
            crate::digest::of(seen.as_bytes())
        })
    }

    /// Checks that every tool finds the state it needs.
    ///
    /// # Errors
    ///
    /// Names the first tool and type that are missing.
    pub fn check_state(&self, state: &StateMap) -> Result<(), RegistryError> {
        for tool in self.iter() {
            for need in tool.needs() {
                if !state.has((need.id)()) {
                    return Err(RegistryError::MissingState {
                        tool: tool.name().to_owned(),
                        state: (need.name)(),
                    });
                }
            }
        }
        Ok(())
    }
}

fn place(tool: &Tool) -> String {
    match tool.origin() {
        Some(origin) => format!("{}:{}", origin.file, origin.line),
        None => "added at run time".to_owned(),
    }
}

/// Lists tools by the paths of their functions, for [`Toolset::of`]: for a part of the linked tools, or where linker
/// sections do not work.
///
/// ```
/// use claw::tool;
///
/// /// Adds two numbers.
/// #[tool(effect = pure)]
/// fn add(
///     /// The first.
///     a: i32,
///     /// The second.
///     b: i32,
/// ) -> i32 {
///     a + b
/// }
///
/// # extern crate claw_runtime as claw;
/// let toolset = claw::registry::Toolset::of(claw::tools![add])?;
/// assert!(toolset.get("add").is_some());
/// # Ok::<(), claw::registry::RegistryError>(())
/// ```
#[macro_export]
macro_rules! tools {
    ($($path:path),* $(,)?) => {{
        static TOOLS: &[$crate::tool::ToolEntry] =
            &[$(<$path as $crate::tool::ToolDef>::ENTRY),*];
        TOOLS
    }};
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::tool::{Spec, ToolError};
    use serde_json::json;

    fn tool(name: &'static str, schema: serde_json::Value) -> Arc<Tool> {
        let spec = Spec::new(Cow::Borrowed(name), Cow::Borrowed("Does it."));
        let handler: crate::tool::Handler =
            Arc::new(|_, _| Box::pin(async { Err(ToolError::new("not called")) }));
        Arc::new(Tool::dynamic(spec, schema, handler))
    }

    #[test]
    fn a_digest_tells_schemas_apart() {
        let one = Toolset::new([tool("a", json!({})), tool("b", json!({}))]).unwrap();
        let same = Toolset::new([tool("b", json!({})), tool("a", json!({}))]).unwrap();
        let other = Toolset::new([tool("a", json!({})), tool("b", json!({"x": 1}))]).unwrap();
        assert_eq!(one.digest(), same.digest());
        assert_ne!(one.digest(), other.digest());
        assert_ne!(one.digest(), Toolset::default().digest());
    }

    #[test]
    fn two_tools_of_one_name_are_refused_with_their_places() {
        let twice = Toolset::new([tool("a", json!({})), tool("a", json!({}))]);
        let error = twice.unwrap_err().to_string();
        assert!(error.contains("two tools are named `a`: added at run time and added at run time"));
    }
}
