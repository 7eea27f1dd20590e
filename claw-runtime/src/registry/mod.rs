//! Every tool a program has, and the toolset one agent may use.

pub(crate) mod link;

pub use link::linked_crates;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde::de::DeserializeOwned;

use crate::dialect::{Dialect, Offer};
use crate::schema::SchemaError;
use crate::tool::{StateMap, Tool, ToolEntry};

/// Tools by name, frozen: sorted, so that what a provider sees does not change from build to build.
#[derive(Clone, Debug, Default)]
pub struct Toolset {
    tools: Arc<[Arc<Tool>]>,
    index: Arc<HashMap<String, usize>>,
    definitions: Arc<OnceLock<Definitions>>,
    offers: Arc<Mutex<Vec<Arc<Offer>>>>,
}

#[derive(Debug)]
struct Definitions {
    json: String,
    digest: String,
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
    /// A tool's arguments could not be checked.
    #[error("tool `{tool}` has a schema that cannot be used; leave the tool out or correct it")]
    Schema {
        /// The tool.
        tool: String,
        /// Where and why.
        #[source]
        error: SchemaError,
    },
    /// A tool needs state that the agent was not given.
    #[error("tool `{tool}` needs `State<{state}>`; none was given: add `.state(…)` to the agent")]
    MissingState {
        /// The tool.
        tool: String,
        /// The type.
        state: &'static str,
    },
    /// A default or an example of a tool does not keep to the tool's own schema.
    #[error("tool `{tool}` ({place}) contradicts itself: {problem}")]
    Contradiction {
        /// The tool.
        tool: String,
        /// Where it is declared.
        place: String,
        /// What is wrong.
        problem: String,
    },
    /// A crate whose tools the program expects brings none.
    #[error(
        "{place}: `claw::link!` expects tools of crate `{package}`, and none is in the program: does it have a `#[tool]`, behind a feature perhaps?"
    )]
    NotLinked {
        /// The crate.
        package: &'static str,
        /// Where it is expected.
        place: String,
    },
    /// What a tool's `meta(…)` says is not what the application reads.
    #[error("tool `{tool}` ({place}): `meta(…)` does not fit: {problem}")]
    Meta {
        /// The tool.
        tool: String,
        /// Where it is declared.
        place: String,
        /// What is wrong.
        problem: String,
    },
}

impl Toolset {
    /// Returns the tools of every linked crate.
    ///
    /// # Errors
    ///
    /// Fails when two tools have one name, when a default or an example does not fit, and when a crate named in
    /// [`link!`](crate::link) brings no tool.
    pub fn linked() -> Result<Self, RegistryError> {
        let entries = || {
            crate::private::LINKED
                .iter()
                .filter(|entry| !entry.is_sentinel())
        };
        link::check(&crate::private::CRATES, entries())?;
        Self::checked(entries())
    }

    /// Returns the tools of a list made by [`tools!`](crate::tools), for targets without linker sections.
    ///
    /// # Errors
    ///
    /// Fails when two tools have one name, and when a default or an example does not fit.
    pub fn of(entries: &'static [ToolEntry]) -> Result<Self, RegistryError> {
        Self::checked(entries.iter())
    }

    fn checked(entries: impl Iterator<Item = &'static ToolEntry>) -> Result<Self, RegistryError> {
        let tools = Self::new(entries.map(|entry| Arc::new(Tool::linked(entry))))?;
        // The others were checked by the compiler and by the test that `#[tool]` generates.
        for tool in tools.iter().filter(|tool| tool.has_made_values()) {
            tool.check()
                .map_err(|faults| RegistryError::Contradiction {
                    tool: tool.name().to_owned(),
                    place: place(tool),
                    problem: faults.join("; "),
                })?;
        }
        Ok(tools)
    }

    /// Returns these tools, sorted by name; one declared place that comes twice counts once.
    ///
    /// # Errors
    ///
    /// Fails when two tools of different origin have one name, and when a schema that was not made by the compiler cannot
    /// be used.
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
        for tool in &tools {
            tool.check_schema().map_err(|error| RegistryError::Schema {
                tool: tool.name().to_owned(),
                error,
            })?;
        }
        let mut index: HashMap<String, usize> = tools
            .iter()
            .enumerate()
            .map(|(at, tool)| (tool.name().to_owned(), at))
            .collect();
        for (at, tool) in tools.iter().enumerate() {
            for alias in tool.spec().aliases {
                let other = *index.entry((*alias).to_owned()).or_insert(at);
                if other != at {
                    return Err(RegistryError::Duplicate {
                        name: (*alias).to_owned(),
                        first: place(&tools[other]),
                        second: place(tool),
                    });
                }
            }
        }
        Ok(Self {
            tools: tools.into(),
            index: Arc::new(index),
            definitions: Arc::default(),
            offers: Arc::default(),
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
            .expect("a part of a toolset has no duplicates, and its schemas are compiled")
    }

    /// Returns the tool that is called `name`, by its name or an alias, or `None` when there is none.
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

    /// Reads what `#[tool(meta(…))]` says of each tool into a type of the application, to be done once at start.
    ///
    /// # Errors
    ///
    /// Names the first tool that does not fit.
    pub fn meta<T: DeserializeOwned>(&self) -> Result<Vec<(&Arc<Tool>, T)>, RegistryError> {
        self.iter()
            .map(|tool| match tool.meta() {
                Ok(meta) => Ok((tool, meta)),
                Err(error) => Err(RegistryError::Meta {
                    tool: tool.name().to_owned(),
                    place: place(tool),
                    problem: error.to_string(),
                }),
            })
            .collect()
    }

    /// Returns the definitions of all tools as one JSON array of name, description and input schema: what a model is
    /// told. Written once, when first asked for.
    pub fn definitions(&self) -> &str {
        &self.defined().json
    }

    /// Returns the tools in a dialect. Lowered once, when first asked for.
    pub fn offer(&self, dialect: &'static Dialect) -> Arc<Offer> {
        let mut offers = self.offers.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = offers.iter();
        if let Some(offer) = known.find(|offer| offer.dialect().name == dialect.name) {
            return offer.clone();
        }
        let offer = Arc::new(Offer::new(dialect, self));
        offers.push(offer.clone());
        offer
    }

    /// Returns the SHA-256 of [`Toolset::definitions`]: equal for equal tools.
    pub fn digest(&self) -> &str {
        &self.defined().digest
    }

    fn defined(&self) -> &Definitions {
        self.definitions.get_or_init(|| {
            let mut json = String::from("[");
            for tool in self.iter() {
                if json.len() > 1 {
                    json.push(',');
                }
                let quoted = |text: &str| serde_json::Value::from(text).to_string();
                let (name, description) = (quoted(tool.name()), quoted(&tool.spec().description));
                let schema = tool.input_schema();
                json.push_str(&format!(
                    "{{\"name\":{name},\"description\":{description},\"input_schema\":{schema}}}"
                ));
            }
            json.push(']');
            let digest = crate::digest::of(json.as_bytes());
            Definitions { json, digest }
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
