//! Every key of `#[tool]` and `#[arg]`, `#[tools]` and `# Arguments`: what they leave in the schema, and what they do.
#![allow(clippy::unwrap_used, clippy::needless_lifetimes)]

mod output;

use std::sync::Arc;

use claw::message::{ToolCall, text_of};
use claw::registry::{RegistryError, Toolset};
use claw::schema::{Coerce, Unknown, validate};
use claw::tool::{
    Approve, CallInfo, Prepared, Reconciled, Services, StateMap, Tool, ToolContext, ToolEntry,
    ToolOutput, tools,
};
use claw::{ToolInput, tool};
use serde_json::{Value, json};

const LONGEST: usize = 4;
const MOST: u16 = 500;
const STEPS: &str = "abc";

/// Takes everything that can be constrained.
#[tool(effect = read)]
fn constrained(
    /// A word.
    #[arg(pattern = "^[a-z]+$", len = 1..=LONGEST, example = "abc")]
    word: &str,
    /// An address.
    #[arg(format = "email")]
    mail: Option<String>,
    /// Pages.
    #[arg(range = 1..MOST, example = 7)]
    page: Option<u16>,
    /// A size.
    #[arg(one_of(1, 2, 4), default = 2)]
    size: u8,
    /// Tags, each a short word.
    #[arg(items(len = 1..=3, pattern = "^[a-c]"), len = 0..=2, unique, default = ["a", STEPS])]
    tags: Vec<String>,
) -> String {
    format!("{word} {mail:?} {page:?} {size} {tags:?}")
}

fn only(entries: &'static [ToolEntry]) -> Arc<Tool> {
    Toolset::of(entries).unwrap().iter().next().unwrap().clone()
}

fn schema(tool: &Tool) -> Value {
    serde_json::from_str(&tool.input_schema()).unwrap()
}

#[test]
fn a_constraint_is_schema_check_and_message() {
    let tool = only(claw::tools![constrained]);
    assert_eq!(
        schema(&tool)["properties"],
        json!({
            "word": {"type": "string", "pattern": "^[a-z]+$", "minLength": 1, "maxLength": 4, "description": "A word.",
                "examples": ["abc"]},
            "mail": {"type": "string", "format": "email", "description": "An address."},
            "page": {"type": "integer", "minimum": 1, "exclusiveMaximum": 500, "description": "Pages.",
                "examples": [7]},
            "size": {"type": "integer", "enum": [1, 2, 4], "minimum": 0, "maximum": 255, "description": "A size.",
                "default": 2},
            "tags": {"type": "array", "items": {"type": "string", "pattern": "^[a-c]", "minLength": 1, "maxLength": 3},
                "uniqueItems": true, "minItems": 0, "maxItems": 2, "description": "Tags, each a short word.",
                "default": ["a", "abc"]},
        })
    );
    let report = tool
        .validate(r#"{"word":"Abcde","mail":"no","page":500,"size":3,"tags":["a","a"]}"#)
        .unwrap_err();
    for line in [
        "- /word: expected string of 1..=4 characters matching `^[a-z]+$`, got string \"Abcde\"",
        "- /mail: expected string in format `email`, got string \"no\"",
        "- /page: expected integer >= 1 and < 500, got 500",
        "- /size: expected one of 1, 2, 4, got 3",
        "- /tags/1: expected items that are all different, got the same as item 0",
    ] {
        assert!(report.contains(line), "{line}\n{report}");
    }
    assert!(
        tool.validate(r#"{"word":"abc","mail":"a@b.c","tags":["a","b"]}"#)
            .is_ok()
    );
    let report = tool.validate(r#"{"word":"abc","tags":["x"]}"#).unwrap_err();
    assert!(report.contains("/tags/0: "), "{report}");
    tool.check().unwrap();
}

#[test]
fn the_fast_path_holds_patterns_formats_and_items_too() {
    let [entry] = claw::tools![constrained] else {
        panic!("one tool")
    };
    for (text, good) in [
        (r#"{"word":"abc"}"#, true),
        (r#"{"word":"aBc"}"#, false),
        (r#"{"word":"abc","mail":"a@b.c"}"#, true),
        (r#"{"word":"abc","mail":"a"}"#, false),
        (r#"{"word":"abc","tags":["a","bb"]}"#, true),
        (r#"{"word":"abc","tags":["a","xx"]}"#, false),
        (r#"{"word":"abc","size":3}"#, false),
        (r#"{"word":"abc","page":499}"#, true),
        (r#"{"word":"abc","page":500}"#, false),
    ] {
        assert_eq!((entry.shim)(None, text).is_ok(), good, "{text}");
    }
}

/// Where it is warm.
#[derive(ToolInput, Debug, PartialEq)]
struct Place {
    /// The city.
    city: String,
}

impl Place {
    fn oslo() -> Self {
        Self {
            city: "Oslo".to_owned(),
        }
    }
}

/// Finds a place.
///
/// # Arguments
///
/// - `name`: what it is called,
///   in any language
/// * limit - how many to find
///
/// # Errors
///
/// When there is none.
#[tool(
    effect = read,
    title = "Find a place",
    version = 3,
    alias("find_place", "locate"),
    tags("geo", "search"),
    meta(cost = 3, audience = "staff", beta, limits = [1, 2]),
    max_output = 200,
    poll,
    open_world,
    example(name = "Oslo", limit = 3),
    example(name = STEPS, near = Some(Place::oslo())),
)]
async fn find(
    name: &str,
    #[arg(range = 1..=9, default = 1)] limit: u8,
    #[arg(description = "")] near: Option<Place>,
) -> String {
    format!("{name} {limit} {near:?}")
}

#[test]
fn arguments_are_described_in_a_section() {
    let tool = only(claw::tools![find]);
    let schema = schema(&tool);
    assert_eq!(
        schema["properties"]["name"]["description"],
        json!("what it is called,\nin any language")
    );
    assert_eq!(
        schema["properties"]["limit"]["description"],
        json!("how many to find")
    );
    assert_eq!(
        tool.spec().description,
        "Finds a place.\n\n# Errors\n\nWhen there is none."
    );
    // An example with a value that has no JSON form is checked by the compiler and not shown.
    assert_eq!(schema["examples"], json!([{"name": "Oslo", "limit": 3}]));
}

#[test]
fn what_is_declared_can_be_asked() {
    #[derive(serde::Deserialize, Debug, PartialEq)]
    struct Meta {
        cost: u32,
        audience: String,
        beta: bool,
        limits: Vec<u8>,
    }
    let tools = Toolset::of(claw::tools![find]).unwrap();
    let tool = tools.get("find").unwrap();
    let spec = tool.spec();
    assert_eq!(
        (spec.version, spec.max_output, spec.poll, spec.open_world),
        (3, Some(200), true, true)
    );
    assert_eq!(
        (spec.title.as_ref(), spec.tags),
        ("Find a place", &["geo", "search"][..])
    );
    assert_eq!(tools.get("locate").unwrap().name(), "find");
    let meta = Meta {
        cost: 3,
        audience: "staff".to_owned(),
        beta: true,
        limits: vec![1, 2],
    };
    assert_eq!(tools.meta::<Meta>().unwrap()[0].1, meta);
    #[derive(serde::Deserialize, Debug)]
    #[serde(deny_unknown_fields)]
    struct Other {}
    let error = tools.meta::<Other>().unwrap_err().to_string();
    assert!(
        error.contains("tool `find` (tests/syntax/main.rs:"),
        "{error}"
    );
    assert!(error.contains("unknown field `cost`"), "{error}");
}

#[test]
fn an_alias_clashes_with_a_name() {
    let spec = claw::tool::Spec::new("locate".into(), "Another tool.".into());
    let handler: claw::tool::Handler = Arc::new(|_, _| panic!("it is never called"));
    let other = Arc::new(Tool::dynamic(spec, json!({"type": "object"}), handler));
    let error = Toolset::of(claw::tools![find])
        .unwrap()
        .with([other])
        .unwrap_err();
    let RegistryError::Duplicate {
        name,
        first,
        second,
    } = error
    else {
        panic!("{error}")
    };
    assert_eq!(
        (name.as_str(), first.as_str()),
        ("locate", "added at run time")
    );
    assert!(second.starts_with("tests/syntax/main.rs:"), "{second}");
}

fn costly(call: &ToolCall, arguments: &Value) -> Approve {
    assert_eq!(call.name, "pay");
    match arguments["amount"].as_u64() {
        Some(0) => panic!("nothing to pay"),
        Some(amount) if amount < 100 => Approve::Never,
        _ => Approve::Always,
    }
}

async fn paid(ctx: &ToolContext, arguments: &Value) -> Reconciled {
    let _ = ctx;
    match arguments["amount"].as_u64() {
        Some(5) => Reconciled::Done(ToolOutput::text("paid")),
        _ => Reconciled::NotDone,
    }
}

/// Pays.
#[tool(approve = costly, reconcile = paid)]
fn pay(
    /// How much.
    amount: u32,
) {
    let _ = amount;
}

#[tokio::test]
async fn a_lost_call_can_be_asked_about() {
    let tool = only(claw::tools![pay]);
    assert!(matches!(tool.spec().approve, Approve::When(_)));
    let ctx = ToolContext::detached();
    let ask = tool.reconcile().unwrap();
    assert_eq!(
        ask(&ctx, &json!({"amount": 5})).await,
        Reconciled::Done(ToolOutput::text("paid"))
    );
    assert_eq!(ask(&ctx, &json!({"amount": 6})).await, Reconciled::NotDone);
}

/// A shelf of notes.
struct Shelf {
    notes: Vec<String>,
}

#[tools(group = "notes")]
impl Shelf {
    /// Reads a note.
    #[tool(effect = read, example(at = 0))]
    fn note(
        &self,
        /// Which.
        at: usize,
    ) -> Option<&str> {
        self.notes.get(at).map(String::as_str)
    }

    /// Counts notes.
    #[claw::tool(effect = read, group = "other")]
    async fn count(&self, ctx: &ToolContext) -> usize {
        let _ = ctx;
        self.notes.len()
    }

    /// Makes no difference.
    fn quiet(&self) -> usize {
        0
    }

    /// Needs no shelf.
    #[tool(effect = pure)]
    fn size() -> usize {
        size_of::<Self>()
    }
}

#[tokio::test]
async fn methods_are_tools_of_their_type() {
    let shelf = Shelf {
        notes: vec!["milk".to_owned()],
    };
    assert_eq!(shelf.quiet(), 0);
    assert_eq!(Shelf::TOOLS.len(), 3);
    let tools = Toolset::of(Shelf::TOOLS).unwrap();
    assert_eq!(tools.get("note").unwrap().spec().group, "notes");
    assert_eq!(tools.get("count").unwrap().spec().group, "other");
    assert!(Toolset::linked().unwrap().get("note").is_none());
    assert_eq!(schema(tools.get("count").unwrap())["properties"], json!({}));
    let error = tools
        .check_state(&StateMap::default())
        .unwrap_err()
        .to_string();
    assert!(error.contains("needs `State<syntax::Shelf>`"), "{error}");
    let mut state = StateMap::default();
    state.insert(shelf);
    let ctx = context(state, |_| {});
    assert_eq!(
        run(&tools, "note", r#"{"at":0}"#, &ctx).await,
        Ok("\"milk\"".to_owned())
    );
    assert_eq!(run(&tools, "count", "{}", &ctx).await, Ok("1".to_owned()));
    assert_eq!(
        run(&tools, "size", "{}", &ctx).await,
        Ok(size_of::<Shelf>().to_string())
    );
}

fn context(state: StateMap, progress: impl Fn(&str) + Send + Sync + 'static) -> ToolContext {
    struct Told<F>(F);
    impl<F: Fn(&str) + Send + Sync> Services for Told<F> {
        fn progress(&self, _call: &CallInfo, line: &str) {
            (self.0)(line);
        }
    }
    ToolContext::new(CallInfo {
        state: Arc::new(state),
        services: Some(Arc::new(Told(progress))),
        ..Default::default()
    })
}

async fn run(
    tools: &Toolset,
    name: &str,
    arguments: &str,
    ctx: &ToolContext,
) -> Result<String, String> {
    let tool = tools.get(name).unwrap();
    let arguments = tool.validate(arguments)?;
    let result = match tool.call(ctx, &arguments) {
        Prepared::Done(result) => result,
        Prepared::Future(future) => future.await,
        Prepared::Checked => panic!("a call with a context runs"),
    };
    result
        .map(|output| text_of(&output.content))
        .map_err(|error| error.to_string())
}

/// Counts up, telling each number.
#[tool(effect = read, stream)]
fn count_up(
    /// How far.
    to: u8,
) -> impl futures_util::Stream<Item = Result<u8, String>> {
    let item = |n| {
        if n > 3 {
            Err("too far".to_owned())
        } else {
            Ok(n)
        }
    };
    futures_util::stream::iter((1..=to).map(item))
}

#[tokio::test]
async fn a_stream_tells_progress_and_ends_in_its_last_item() {
    let lines = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = lines.clone();
    let ctx = context(StateMap::default(), move |line| {
        seen.lock().unwrap().push(line.to_owned())
    });
    let tools = Toolset::of(claw::tools![count_up]).unwrap();
    assert!(!tools.get("count_up").unwrap().is_sync());
    assert_eq!(
        run(&tools, "count_up", r#"{"to":3}"#, &ctx).await,
        Ok("3".to_owned())
    );
    assert_eq!(*lines.lock().unwrap(), ["1", "2", "3"]);
    assert_eq!(
        run(&tools, "count_up", r#"{"to":9}"#, &ctx).await,
        Err("too far".to_owned())
    );
    let nothing = run(&tools, "count_up", r#"{"to":0}"#, &ctx).await;
    assert_eq!(nothing, Err("the tool ended without a result".to_owned()));
}

macro_rules! made {
    ($($name:ident),*) => {$(
        /// Made by a macro.
        #[tool(effect = pure)]
        fn $name() {}
    )*};
}

made!(made_one, made_two);

/// [T] rust-sdk#1174: tools made by `macro_rules!` are registered; rust-sdk#445: no parameters are an empty object.
#[test]
fn tools_made_by_a_macro_are_linked() {
    let tools = Toolset::linked().unwrap();
    assert!(tools.get("made_two").is_some());
    assert_eq!(
        schema(tools.get("made_one").unwrap()),
        json!({"type": "object", "properties": {}, "additionalProperties": false})
    );
}

/// Writes a lot.
#[tool(effect = pure, max_output = 20, alias = "speak")]
fn talk(
    /// How often.
    times: usize,
) -> String {
    "blah ".repeat(times)
}

async fn turn(
    script: Vec<claw::provider::scripted::Answer>,
    entries: &'static [ToolEntry],
) -> String {
    let agent = claw::agent::Agent::builder()
        .model(Arc::new(claw::provider::Scripted::new(script)), "m")
        .tools(Toolset::of(entries).unwrap())
        .build()
        .unwrap();
    let mut session = agent.session("s").await.unwrap();
    session.run("go").await.unwrap();
    format!("{:?}", session.messages())
}

#[tokio::test]
async fn a_call_by_alias_is_kept_under_the_real_name_and_its_output_is_bounded() {
    use claw::provider::scripted::{calls, says};
    let script = vec![calls("speak", json!({"times": 30})), says("Done.")];
    let told = turn(script, claw::tools![talk]).await;
    assert!(
        told.contains("name: \"talk\"") && !told.contains("speak"),
        "{told}"
    );
    assert!(told.contains("130 of 150 characters left out"), "{told}");
}

#[tokio::test]
async fn a_predicate_decides_on_each_call() {
    use claw::provider::scripted::{calls, says};
    let script = vec![
        calls("pay", json!({"amount": 5}))
            .and_calls("pay", json!({"amount": 500}))
            .and_calls("pay", json!({"amount": 0})),
        says("Done."),
    ];
    let told = turn(script, claw::tools![pay]).await;
    assert_eq!(
        told.matches("the tool asks before every call").count(),
        2,
        "{told}"
    );
    assert_eq!(told.matches("\"done\"").count(), 1, "{told}");
}

/// A crate that nothing here names is a dependency all the same, and its tools are not in the program: that is what
/// `claw::link!` and `doctor` are for.
#[test]
fn a_crate_that_nothing_names_is_not_linked() {
    assert!(Toolset::linked().unwrap().get("fixture").is_none());
    assert!(claw::registry::linked_crates().all(|package| package != "claw-fixture-tools"));
}

/// Is constrained where the fast path checks all of it.
#[tool(effect = once)]
fn fast(
    /// A word.
    #[arg(pattern = "^[ab]*$", len = 1..=LONGEST)]
    word: &str,
    /// Words.
    #[arg(items(one_of("a", "bb")), len = ..=2)]
    words: Option<Vec<String>>,
    /// A day.
    #[arg(format = "date")]
    day: Option<String>,
    /// A number.
    #[arg(range = -3..MOST as i32, multiple_of = 2)]
    number: Option<i32>,
) {
    let _ = (word, words, day, number);
}

proptest::proptest! {
    /// What the fast path takes the slow path takes unchanged, and what it refuses the slow path explains.
    #[test]
    fn both_paths_agree(
        word in "[abc]{0,5}",
        words in proptest::option::of(proptest::collection::vec("a|bb|c", 0..4)),
        day in proptest::option::of("2024-(02|13)-(29|30)"),
        number in proptest::option::of(-5..6_i32),
    ) {
        let [entry] = claw::tools![fast] else { panic!("one tool") };
        let tool = Tool::linked(entry);
        let mut arguments = json!({"word": word, "words": words, "day": day, "number": number});
        arguments.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        let text = arguments.to_string();
        let quick = (entry.shim)(None, &text).is_ok();
        for policy in [Coerce::Strict, Coerce::Safe] {
            let slow = validate(tool.schema(), &text, policy, Unknown::Refuse);
            proptest::prop_assert_eq!(slow.is_ok(), quick, "{}: {:?}", text, slow);
        }
    }
}
