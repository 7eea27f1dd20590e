//! Run time of claw: registry, providers, the turn.
#![cfg_attr(test, allow(clippy::unwrap_used))]

// One path works everywhere: in users' crates, in ours and here.
extern crate self as claw;

pub mod agent;
pub mod budget;
pub mod dialect;
pub mod digest;
mod dispatch;
#[cfg(feature = "http")]
pub mod download;
pub mod event;
pub mod fallback;
mod glob;
pub mod limits;
pub mod message;
pub mod nearest;
pub mod policy;
pub mod provider;
pub mod registry;
pub mod schema;
pub mod secret;
pub mod session;
#[cfg(any(feature = "http", feature = "postgres"))]
mod tls;
pub mod tokens;
pub mod tool;
#[cfg(feature = "http")]
mod transport;
pub mod turn;

/// Turns a function into a tool: an ordinary function stays callable, and a model may call it too.
///
/// ```
/// # extern crate claw_runtime as claw;
/// use claw::tool;
/// use claw::tool::ToolContext;
///
/// /// Current weather for a city.
/// #[tool(effect = read, group = "web", timeout = "10s")]
/// async fn weather(
///     ctx: &ToolContext,
///     /// City name, for example `Shanghai`.
///     #[arg(len = 1..=80)]
///     city: &str,
///     /// Days ahead.
///     #[arg(range = 0..=7, default = 1)]
///     days: u8,
/// ) -> Result<String, std::io::Error> {
///     ctx.progress("asking");
///     Ok(format!("{city} in {days} days: rain"))
/// }
/// # let tools = claw::registry::Toolset::of(claw::tools![weather])?;
/// # assert!(tools.get("weather").is_some_and(|tool| tool.validate(r#"{"city": "Oslo"}"#).is_ok()));
/// # Ok::<(), claw::registry::RegistryError>(())
/// ```
///
/// Doc comments are what the model reads: of the function as the tool's description, of each parameter as its own. They
/// may stand in a section of the function's, too, whose names are checked:
///
/// ```text
/// /// # Arguments
/// ///
/// /// - `city`: city name, for example `Shanghai`
/// ```
///
/// A missing one does not compile; `#[arg(description = "")]` says that a name is enough.
///
/// # Parameters
///
/// How a parameter is read is decided by its type, whatever name the type goes by:
///
/// - Text: `&str` (borrowed from the call where it has no escapes), `String`, `Cow<str>`, `char`, `PathBuf`, addresses.
/// - Numbers with the bounds of their type, `bool`, `Duration` (a number of seconds: say so in the description).
/// - `Option` may be left out; `Vec`, `&[T]`, arrays, tuples, sets, and maps with `String` keys of any such type.
/// - Types with [`#[derive(ToolInput)]`](macro@ToolInput); any other type with schemars 1 `JsonSchema` and serde
///   `DeserializeOwned`.
/// - Injected, unseen by the model: [`&ToolContext`](tool::ToolContext), [`State<'_, T>`](State), and `#[state] x: &T`.
///
/// `#[arg(…)]` says more about a parameter:
///
/// | key | meaning |
/// |---|---|
/// | `default`, `default = expr` | stands in when it is left out or `null` |
/// | `range = 1..=5`, `multiple_of = 0.01` | bounds of a number; the ends may be constants |
/// | `len = 1..=80` | bounds of characters, items or members |
/// | `one_of("a", "b")`, `one_of(1, 2)` | the values allowed |
/// | `pattern = "^[a-z]+$"` | what a text must match, as both ECMAScript and Rust read it |
/// | `format = "email"` | what a text must be: `date`, `time`, `date-time`, `email`, `hostname`, `ipv4`, `ipv6`, `uri`, `uuid` |
/// | `unique`, `items(len = 1..=3)` | no item twice; what each item must keep to |
/// | `example = value` | a value for the model to learn from |
/// | `rename = "x"`, `alias = "x"` | its name on the wire, and others it is read under |
/// | `description = "…"` | instead of the doc comment |
/// | `secret` | masked in reports, events and approvals |
/// | `coerce = strict \| safe \| lenient` | how far its value may be coerced, whatever the tool and the agent say |
///
/// Each bound is schema, check and message at once. Literals of defaults and examples are held against type and bounds by
/// the compiler; other expressions have the parameter's type, and a generated test holds their values against the schema.
///
/// # The tool
///
/// | key | meaning |
/// |---|---|
/// | `effect = pure \| read \| idempotent \| once` | what a call does to the world; `once` when left out, as it is the careful one |
/// | `destructive` | a call may destroy something |
/// | `reads(arg)`, `writes(arg)`, `net(arg)` | arguments that are a path or an address |
/// | `approve = never \| ask \| always \| path` | instead of what the effect implies; a path names a `fn(&ToolCall, &Value) -> Approve` |
/// | `reconcile = path` | finds out what became of a call whose outcome was lost: an `async fn(&ToolContext, &Value) -> Reconciled` |
/// | `example(arg = value, …)` | a call for the model to learn from; may come several times |
/// | `stream` | the function gives a stream: each item is progress, the last one the result |
/// | `poll` | calling it again and again with the same result is no loop, for ten minutes of a turn |
/// | `open_world` | a call reaches other people or services |
/// | `name`, `title`, `description`, `group` | texts; by default the function's name and doc comment |
/// | `alias("old")` | other names a call may use; the journal has the real one |
/// | `version = 2`, `tags("a", "b")`, `meta(key = literal)` | for people and for the application: see [`Toolset::meta`](registry::Toolset::meta) |
/// | `hidden` | kept from models |
/// | `timeout = "10s"` | how long a call may take: `ms`, `s`, `m`, `h` |
/// | `max_output = 5000` | characters of output that the model reads |
/// | `blocking`, `parallel` | runs off the async threads; may run beside any other call |
/// | `secrets("NAME")` | variables that hold the tool's secrets; the program masks their values everywhere |
/// | `coerce = strict \| safe \| lenient` | how far arguments may be coerced |
/// | `crate = path` | where claw is, when it is not `::claw` |
///
/// # Results
///
/// `()`, text, [`ToolOutput`](tool::ToolOutput), content blocks, or anything with `serde::Serialize`, which becomes JSON;
/// each alone or in a `Result` whose error has `Display`. A result that is an object of a type with schemars `JsonSchema`
/// or [`ToolInput`](macro@ToolInput) has an [output schema](tool::Tool::output_schema), too.
///
/// # Methods
///
/// [`#[tools]`](tool::tools) on an `impl` block makes its `#[tool]` methods tools that work on a value.
///
/// ```compile_fail
/// # extern crate claw_runtime as claw;
/// #[claw::tool(timout = "10s")] // unknown key `timout`; did you mean `timeout`?
/// fn undocumented() {}
/// ```
pub use claw_macros::tool;

/// Makes a struct or an enum an argument of tools, with its schema and a strict reader.
///
/// ```
/// # extern crate claw_runtime as claw;
/// use claw::{ToolInput, tool};
///
/// #[derive(ToolInput)]
/// #[serde(rename_all = "lowercase")]
/// enum Unit {
///     Celsius,
///     Fahrenheit,
/// }
///
/// #[derive(ToolInput)]
/// #[serde(tag = "kind", rename_all = "snake_case")]
/// enum Place {
///     /// By name.
///     City {
///         /// For example `Oslo`.
///         #[arg(len = 1..=80)]
///         name: String,
///     },
///     /// By position.
///     Point {
///         /// Degrees north.
///         #[arg(range = -90..=90)]
///         latitude: f64,
///         /// Degrees east.
///         #[arg(range = -180..=180)]
///         longitude: f64,
///     },
/// }
///
/// /// Current weather.
/// #[tool(effect = read)]
/// fn weather(
///     /// Where.
///     place: Place,
///     /// In which unit.
///     #[arg(default = Unit::Celsius)]
///     unit: Unit,
/// ) -> String {
///     match (place, unit) {
///         (Place::City { name }, Unit::Celsius) => format!("{name}: 12 °C"),
///         _ => "unknown".to_owned(),
///     }
/// }
/// # let tools = claw::registry::Toolset::of(claw::tools![weather])?;
/// # let tool = tools.get("weather").unwrap();
/// # assert!(tool.validate(r#"{"place": {"name": "Oslo", "kind": "city"}}"#).is_ok());
/// # Ok::<(), claw::registry::RegistryError>(())
/// ```
///
/// On the wire a type is what serde makes of it. A struct is an object, a newtype the value it holds, a tuple an array, a
/// unit struct `null`. An enum whose variants hold nothing is a list of words; others are tagged as serde tags them: around
/// the content, `tag = "…"` inside it, `tag` and `content` beside each other, or `untagged`. A type may contain itself, and
/// may be generic: its type parameters are then arguments too.
///
/// Of serde's attributes `rename_all`, `rename_all_fields`, `tag`, `content`, `untagged`, `transparent`, `default` and
/// `deny_unknown_fields` are read on the type, `rename`, `alias`, `skip` and `rename_all` on variants, `rename`, `alias`,
/// `default`, `skip` and `flatten` on fields; others are refused, as schema and serde would disagree. `#[arg(…)]` on a field
/// says what it says on a [parameter](macro@tool). Unknown members are always refused. A type that needs more of serde is
/// an argument too: with serde's `Deserialize` and schemars' `JsonSchema` in place of `ToolInput`.
pub use claw_macros::ToolInput;
pub use schema::{State, ToolInput};

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
use __private as private;
