//! How a parameter is read is decided by its type, not by how the type is spelt.
#![allow(dead_code, non_snake_case)]

extern crate claw as agent;

mod shadowed {
    pub enum Option {}
    pub enum Result {}
    pub enum Some {}
    pub fn None() {}
    pub fn Ok() {}
    pub mod std {}
    pub mod core {}

    /// A `String` of ours.
    #[derive(Debug, claw::ToolInput)]
    pub struct String {
        /// Its text.
        pub text: Box<str>,
    }

    /// Takes a `String` that is no string.
    #[claw::tool(effect = pure)]
    pub fn own_string(
        /// The string.
        text: String,
        /// Perhaps.
        maybe: super::Maybe<u8>,
    ) -> super::Outcome {
        super::Outcome::Ok(::std::format!("{text:?} {maybe:?}"))
    }
}

type Maybe<T> = Option<T>;
type Outcome = Result<String, std::fmt::Error>;
type Text<'a> = &'a str;
type Ctx = claw::tool::ToolContext;

/// Takes aliases.
#[agent::tool(effect = pure, crate = agent)]
fn aliases<'a>(
    ctx: &Ctx,
    /// Text.
    text: Text<'a>,
    /// Perhaps.
    maybe: Maybe<Maybe<bool>>,
) -> Outcome {
    Ok(format!("{}{text}{maybe:?}", ctx.call_id()))
}

/// A type that only schemars and serde know.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
pub struct Foreign {
    /// A number.
    pub n: u32,
}

/// Takes a foreign type, and perhaps another.
#[agent::tool(effect = pure)]
fn foreign(
    /// One.
    one: Foreign,
    /// Two.
    two: Option<Foreign>,
) -> String {
    format!("{one:?} {two:?}")
}

/// A value of any type may be returned.
#[derive(agent::__private::serde::Serialize)]
#[serde(crate = "agent::__private::serde")]
pub struct Report {
    zulu: u8,
    alpha: u8,
}

/// Reports.
#[agent::tool(effect = pure)]
fn report() -> Report {
    Report { zulu: 1, alpha: 2 }
}

fn schema(entries: &'static [claw::tool::ToolEntry]) -> serde_json::Value {
    let tools = claw::registry::Toolset::of(entries).unwrap();
    serde_json::from_str(&tools.iter().next().unwrap().input_schema()).unwrap()
}

fn run(entry: &'static claw::tool::ToolEntry, text: &str) -> String {
    let ctx = Ctx::detached();
    match (entry.shim)(Some(&ctx), text) {
        Ok(claw::tool::Prepared::Done(output)) => claw::message::text_of(&output.unwrap().content),
        Ok(_) => panic!("a sync tool runs"),
        Err(reject) => reject.to_string(),
    }
}

fn main() {
    use serde_json::json;
    let own = claw::tools![shadowed::own_string];
    assert_eq!(schema(own)["properties"]["text"]["type"], json!("object"));
    assert_eq!(schema(own)["required"], json!(["text"]));
    let aliases = claw::tools![aliases];
    assert_eq!(schema(aliases)["required"], json!(["text"]));
    assert_eq!(
        schema(aliases)["properties"],
        json!({"text": {"type": "string", "description": "Text."}, "maybe": {"type": "boolean", "description": "Perhaps."}})
    );
    assert_eq!(run(&aliases[0], r#"{"text":"a"}"#), "aNone");
    assert_eq!(run(&aliases[0], r#"{"text":"a","ctx":1}"#), "unknown parameter at byte 12");
    let foreign = claw::tools![foreign];
    assert_eq!(schema(foreign)["required"], json!(["one"]));
    assert_eq!(
        schema(foreign)["properties"]["one"]["properties"]["n"],
        json!({"type": "integer", "minimum": 0, "description": "A number."})
    );
    assert_eq!(run(&foreign[0], r#"{"one":{"n":1}}"#), "Foreign { n: 1 } None");
    assert_eq!(run(&claw::tools![report][0], ""), r#"{"zulu":1,"alpha":2}"#);
}
