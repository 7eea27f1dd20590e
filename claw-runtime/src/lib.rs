//! Run time of claw: registry, providers, the turn.
#![cfg_attr(test, allow(clippy::unwrap_used))]

// One path works everywhere: in users' crates, in ours and here.
extern crate self as claw;

pub mod agent;
pub mod dialect;
pub mod digest;
mod dispatch;
pub mod event;
pub mod fallback;
pub mod limits;
pub mod message;
pub mod nearest;
pub mod policy;
pub mod provider;
pub mod registry;
pub mod schema;
pub mod session;
pub mod tool;
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
/// Doc comments are what the model reads: of the function as the tool's description, of each parameter as its own. A
/// missing one does not compile; `#[arg(description = "")]` says that a name is enough.
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
/// | `range = 1..=5`, `multiple_of = 5` | bounds of a number |
/// | `len = 1..=80` | bounds of characters, items or members |
/// | `one_of("a", "b")` | the texts allowed |
/// | `rename = "x"`, `alias = "x"` | its name on the wire, and others it is read under |
/// | `description = "…"` | instead of the doc comment |
/// | `secret` | masked in reports, events and approvals |
///
/// Each bound is schema and check at once.
///
/// # The tool
///
/// | key | meaning |
/// |---|---|
/// | `effect = pure \| read \| idempotent \| once` | what a call does to the world; `once` when left out, as it is the careful one |
/// | `destructive` | a call may destroy something |
/// | `reads(arg)`, `writes(arg)`, `net(arg)` | arguments that are a path or an address |
/// | `approve = never \| ask \| always` | instead of what the effect implies |
/// | `name`, `title`, `description`, `group` | texts; by default the function's name and doc comment |
/// | `timeout = "10s"` | how long a call may take: `ms`, `s`, `m`, `h` |
/// | `blocking`, `parallel` | runs off the async threads; may run beside any other call |
/// | `secrets("NAME")` | secrets the tool may be given |
/// | `coerce = strict \| safe \| lenient` | how far arguments may be coerced |
/// | `crate = path` | where claw is, when it is not `::claw` |
///
/// # Results
///
/// `()`, text, [`ToolOutput`](tool::ToolOutput), content blocks, or anything with `serde::Serialize`, which becomes JSON;
/// each alone or in a `Result` whose error has `Display`.
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
/// Structs have named fields, or are a newtype around one value. Enums whose variants hold nothing are words; others are
/// tagged as serde tags them: around the content, `tag = "…"` inside it, or `tag` and `content` beside each other. A type
/// may contain itself.
///
/// Of serde's attributes `rename_all`, `rename_all_fields`, `tag`, `content` and `deny_unknown_fields` are read on the type,
/// `rename`, `alias`, `skip` and `rename_all` on variants, `rename`, `alias`, `default` and `skip` on fields; others are
/// refused, as schema and serde would disagree. `#[arg(…)]` on a field says what it says on a [parameter](macro@tool).
pub use claw_macros::ToolInput;
pub use schema::{State, ToolInput};

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
use __private as private;
