//! What `tools check`, `audit`, `snapshot`, `diff` and `schema` tell about the tools of a program of one's own, in a real
//! process: this program is its own subject, told apart by `TOOLING`, whose value says which tools it has.
#![allow(clippy::unwrap_used, missing_docs)]

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use claw::prelude::*;
use claw::serde_json::{Value, from_str, json};
use claw::tool::{Spec, Tool};
use tempfile::tempdir;

/// What the tools work on.
struct Db;

/// The first edition of the tools.
mod first {
    use super::*;

    /// Finds orders.
    #[tool(effect = read, group = "orders")]
    pub fn find_orders(
        db: State<'_, Db>,
        /// Whose orders.
        customer: &str,
        /// How many.
        #[arg(range = 1..=100, default = 10)]
        limit: u32,
        /// In which state.
        #[arg(one_of("open", "paid", "sent"))]
        state: Option<&str>,
    ) -> String {
        let _ = (db, customer, limit, state);
        String::new()
    }

    /// Cancels an order.
    #[tool(effect = idempotent, group = "orders")]
    pub fn cancel_order(
        /// Its number.
        order: u64,
    ) {
        let _ = order;
    }

    /// Tells the rate of a currency.
    #[tool(effect = read)]
    pub fn rate(
        /// Its code.
        code: &str,
    ) {
        let _ = code;
    }
}

/// A later edition, with a change of every kind.
mod second {
    use super::*;

    /// Finds the orders of a customer.
    #[tool(effect = read, group = "orders")]
    pub fn find_orders(
        db: State<'_, Db>,
        /// Whose orders.
        #[arg(alias = "customer")]
        buyer: &str,
        /// How many.
        #[arg(range = 1..=50, default = 10)]
        limit: u32,
        /// In which state.
        #[arg(one_of("open", "paid", "lost"))]
        state: Option<&str>,
        /// Sent before this day.
        before: Option<&str>,
    ) -> String {
        let _ = (db, buyer, limit, state, before);
        String::new()
    }

    /// Cancels an order.
    #[tool(effect = once, destructive, group = "orders")]
    pub fn cancel_order(
        /// Its number.
        order: u64,
        /// Why.
        reason: &str,
    ) {
        let _ = (order, reason);
    }

    /// Tells the rate of a currency.
    #[tool(effect = read, alias = "rate")]
    pub fn exchange_rate(
        /// Its code.
        code: &str,
    ) {
        let _ = code;
    }

    /// Says hello.
    #[tool(effect = pure)]
    pub fn hello() {}
}

/// Tools that deserve a look.
mod careless {
    use super::*;

    /// Runs a script.
    #[tool(approve = never)]
    pub fn run_script(
        /// Its text.
        text: &str,
    ) {
        let _ = text;
    }

    /// Posts a message.
    #[tool(effect = once, open_world, secrets("CHAT_KEY"), approve = never)]
    pub fn post_message(
        /// Where to.
        webhook_url: &str,
        /// To authenticate.
        token: &str,
        /// What to attach.
        file_path: Option<&str>,
    ) {
        let _ = (webhook_url, token, file_path);
    }

    /// Adds two numbers.
    #[tool(effect = pure)]
    pub fn add(
        /// One.
        a: i32,
        /// Another.
        b: i32,
    ) -> i64 {
        i64::from(a) + i64::from(b)
    }
}

/// A tool that no strict service takes: its one word has too many forms.
fn many_words() -> Tool {
    let words: Vec<String> = (0..1_200).map(|word| format!("w{word}")).collect();
    Tool::dynamic(
        Spec::new("pick.word".into(), "Picks a word\u{1b}[31m.".into()),
        json!({"type": "object", "properties": {"word": {"enum": words}}, "additionalProperties": false}),
        std::sync::Arc::new(|_, _| Box::pin(async { Ok(String::from("ok").into()) })),
    )
}

fn main() -> ExitCode {
    if let Ok(edition) = std::env::var("TOOLING") {
        let tools = match edition.as_str() {
            "first" => Toolset::of(claw::tools![
                first::find_orders,
                first::cancel_order,
                first::rate
            ]),
            "second" => Toolset::of(claw::tools![
                second::find_orders,
                second::cancel_order,
                second::exchange_rate,
                second::hello
            ]),
            "careless" => Toolset::of(claw::tools![
                careless::run_script,
                careless::post_message,
                careless::add
            ]),
            _ => Toolset::new([many_words().into()]),
        };
        return claw::program().name("orders").tools(tools.unwrap()).main();
    }
    the_same_tools_give_the_same_snapshot();
    a_diff_tells_breaking_from_additive_from_wording();
    a_diff_back_mirrors_it();
    a_diff_for_programs_has_it_all();
    additive_changes_fail_only_when_strict();
    a_snapshot_that_cannot_be_used_is_named();
    an_audit_shows_what_deserves_a_look();
    an_audit_tells_which_state_is_missing();
    a_tool_that_is_refused_ends_a_check_with_1();
    a_schema_is_framed_as_its_service_wants_it();
    println!("tooling: ok");
    ExitCode::SUCCESS
}

/// Runs `tools …` of the program with the tools of `edition`.
fn tools(edition: &str, folder: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(std::env::current_exe().unwrap())
        .arg("tools")
        .args(args)
        .env_clear()
        .env("TOOLING", edition)
        .env("HOME", folder)
        .current_dir(folder)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let (out, err) = (text(output.stdout), text(output.stderr));
    let is_report = args[0] != "schema" && !args.contains(&"--json");
    for line in out.lines().filter(|_| is_report) {
        assert!(line.chars().count() <= 80, "{line}");
    }
    let neutral = |text: &str| text.chars().all(|c| !c.is_control() || c == '\n');
    assert!(neutral(&out) && neutral(&err), "{out:?} {err:?}");
    (output.status.code(), out, err)
}

fn the_same_tools_give_the_same_snapshot() {
    let folder = tempdir().unwrap();
    let (code, out, err) = tools("first", folder.path(), &["snapshot", "tools.json"]);
    assert_eq!((code, out.as_str()), (Some(0), ""));
    assert_eq!(err, "✓ tools.json: written, 3 tools\n");
    let (_, out, _) = tools("first", folder.path(), &["snapshot"]);
    assert_eq!(
        out,
        fs::read_to_string(folder.path().join("tools.json")).unwrap()
    );
    let snapshot: Value = from_str(&out).unwrap();
    assert_eq!(snapshot["snapshot"], 1);
    assert_eq!(snapshot["tools"]["find_orders"]["effect"], "read");
    // Another machine, another place of the source, other settings: nothing of that is in it.
    assert!(
        !out.contains("tooling.rs") && !out.contains(env!("CARGO_MANIFEST_DIR")),
        "{out}"
    );
    let (_, _, err) = tools("first", folder.path(), &["snapshot", "tools.json"]);
    assert_eq!(err, "✓ tools.json: unchanged, 3 tools\n");
    let (code, out, err) = tools("first", folder.path(), &["diff", "tools.json", "--strict"]);
    assert_eq!(
        (code, out.as_str(), err.as_str()),
        (Some(0), "", "the tools are as in tools.json\n")
    );
}

fn a_diff_tells_breaking_from_additive_from_wording() {
    let folder = tempdir().unwrap();
    tools("first", folder.path(), &["snapshot", "tools.json"]);
    let (code, out, err) = tools("second", folder.path(), &["diff", "tools.json"]);
    assert_eq!(code, Some(1), "{err}");
    assert_eq!(
        out,
        "\
breaking
  cancel_order
    effect: idempotent → once
    may destroy something
    coercion: safe → strict
    /reason: new, and required
  find_orders
    /limit: maximum changed: 100 → 50
    /state: no longer takes \"sent\"

additive
  find_orders
    /customer: now named `buyer`, and still read as `customer`
    /state: also takes \"lost\"
    /before: new, optional
  hello
    new tool
  rate
    now named `exchange_rate`, and still called as `rate`
    also called as `rate`

wording
  find_orders
    description: Finds orders. → Finds the orders of a customer.

"
    );
    assert_eq!(err, "6 breaking, 6 additive, 1 wording since tools.json\n");
}

fn a_diff_back_mirrors_it() {
    let folder = tempdir().unwrap();
    tools("second", folder.path(), &["snapshot", "tools.json"]);
    let (code, out, _) = tools("first", folder.path(), &["diff", "tools.json"]);
    assert_eq!(code, Some(1));
    for line in [
        "    effect: once → idempotent",
        "    destroys nothing any more",
        "    /limit: maximum changed: 50 → 100",
        "    tool removed; `rate` looks like it under a new name",
        "    tool removed",
        "    /before: removed",
        "    /buyer: removed; `customer` looks like it under a new name",
    ] {
        assert!(out.lines().any(|found| found == line), "{line} in\n{out}");
    }
}

fn a_diff_for_programs_has_it_all() {
    let folder = tempdir().unwrap();
    tools("first", folder.path(), &["snapshot", "tools.json"]);
    let (code, out, err) = tools("second", folder.path(), &["diff", "tools.json", "--json"]);
    assert_eq!((code, err.as_str()), (Some(1), ""));
    let found: Value = from_str(&out).unwrap();
    let counts = (&found["breaking"], &found["additive"], &found["wording"]);
    assert_eq!(counts, (&json!(6), &json!(6), &json!(1)));
    let changes = found["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 13);
    assert!(changes.contains(&json!({
        "tool": "find_orders", "kind": "breaking", "at": "/limit", "what": "maximum changed",
        "before": "100", "after": "50",
    })));
}

fn additive_changes_fail_only_when_strict() {
    let folder = tempdir().unwrap();
    let (_, out, _) = tools("second", folder.path(), &["snapshot"]);
    let mut snapshot: Value = from_str(&out).unwrap();
    let tools_in_it = snapshot["tools"].as_object_mut().unwrap();
    tools_in_it.remove("hello").unwrap();
    fs::write(folder.path().join("tools.json"), snapshot.to_string()).unwrap();
    let (code, out, _) = tools("second", folder.path(), &["diff", "tools.json"]);
    assert_eq!(
        (code, out.as_str()),
        (Some(0), "additive\n  hello\n    new tool\n\n")
    );
    let (code, _, _) = tools("second", folder.path(), &["diff", "tools.json", "--strict"]);
    assert_eq!(code, Some(1));
}

fn a_snapshot_that_cannot_be_used_is_named() {
    let folder = tempdir().unwrap();
    for (text, expected) in [
        (None, "No such file"),
        (Some("{"), "EOF while parsing"),
        (Some("[]"), "it has no member `snapshot`"),
        (
            Some(r#"{"snapshot": 2, "tools": {}}"#),
            "it has form 2, and this program reads form 1",
        ),
        (
            Some(r#"{"snapshot": 1, "tools": {"a": {}}}"#),
            "missing field",
        ),
    ] {
        if let Some(text) = text {
            fs::write(folder.path().join("tools.json"), text).unwrap();
        }
        let (code, out, err) = tools("first", folder.path(), &["diff", "tools.json"]);
        assert_eq!((code, out.as_str()), (Some(2), ""));
        assert!(
            err.starts_with("error: cannot use the snapshot `tools.json`: ")
                && err.contains(expected)
                && err.ends_with("hint: `tools snapshot FILE` writes one\n"),
            "{err}"
        );
    }
}

fn an_audit_shows_what_deserves_a_look() {
    let folder = tempdir().unwrap();
    let (code, out, err) = tools("careless", folder.path(), &["audit"]);
    assert_eq!(code, Some(0));
    let (table, concerns) = out.split_once("\nworth a look\n").unwrap();
    assert!(
        table.contains("add           pure; runs: `pure` tools run\n"),
        "{table}"
    );
    assert!(
        table.contains("post_message  once, open world; runs: the tool needs no approval\n"),
        "{table}"
    );
    assert!(table.contains("secrets CHAT_KEY\n"), "{table}");
    assert!(table.contains("tests/tooling.rs:"), "{table}");
    assert_eq!(
        concerns,
        "  post_message: `once`, and runs without asking (the tool needs no approval)
  post_message: `webhook_url` reads like an address; declare it with `net(…)`
  post_message: `file_path` reads like a path; declare it with `reads(…)` or
    `writes(…)`
  post_message: `token` reads like a secret; `#[arg(secret)]` masks it
  post_message: is given secrets and reaches the network
  run_script: runs what it is given, without asking (the tool needs no approval)
"
    );
    assert_eq!(err, "3 tools, 0 of them ask first, 2 worth a look\n");
    let (_, out, _) = tools(
        "careless",
        folder.path(),
        &["audit", "run_script", "--json"],
    );
    let found: Value = from_str(&out).unwrap();
    let record = &found[0];
    assert_eq!(
        (&record["effect"], &record["verdict"], &record["offered"]),
        (&json!("once"), &json!("allow"), &json!(true))
    );
    assert_eq!(record["origin"]["module"], "tooling::careless");
    assert_eq!(record["concerns"].as_array().unwrap().len(), 1);
}

fn an_audit_tells_which_state_is_missing() {
    let folder = tempdir().unwrap();
    let (_, out, _) = tools("first", folder.path(), &["audit", "find_orders"]);
    assert!(out.contains("state tooling::Db (not given)\n"), "{out}");
    let (_, out, _) = tools("first", folder.path(), &["audit", "find_orders", "--json"]);
    let found: Value = from_str(&out).unwrap();
    assert_eq!(
        found[0]["state"],
        json!([{"name": "tooling::Db", "given": false}])
    );
}

fn a_tool_that_is_refused_ends_a_check_with_1() {
    let folder = tempdir().unwrap();
    let args = ["check", "--for", "openai,openai-strict"];
    let (code, out, err) = tools("words", folder.path(), &args);
    assert_eq!(code, Some(1));
    assert!(
        out.starts_with("a openai         b openai-strict\n"),
        "{out}"
    );
    assert!(out.contains("pick.word  ~ ✗\n"), "{out}");
    assert!(
        out.contains("b: refused: openai-strict takes at most 1000"),
        "{out}"
    );
    assert!(out.contains("a: named `pick_word_"), "{out}");
    assert_eq!(err, "1 tool, 2 dialects: 1 refused\n");
    let (code, out, _) = tools(
        "words",
        folder.path(),
        &["check", "--for", "openai", "--json"],
    );
    assert_eq!(code, Some(0));
    let found: Value = from_str(&out).unwrap();
    assert_eq!(found["tools"][0]["dialects"][0]["status"], "lowered");
    let (code, _, err) = tools(
        "words",
        folder.path(),
        &["schema", "pick.word", "--for", "openai-strict"],
    );
    assert_eq!(code, Some(1));
    assert!(
        err.ends_with("hint: it goes out as `openai` instead\n"),
        "{err}"
    );
    let (code, _, err) = tools("words", folder.path(), &["check", "--for", "opnai"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("did you mean `openai`?"), "{err}");
}

fn a_schema_is_framed_as_its_service_wants_it() {
    let folder = tempdir().unwrap();
    let schema = |dialect: &str| {
        let args = ["schema", "find_orders", "--for", dialect];
        let (code, out, err) = tools("first", folder.path(), &args);
        assert_eq!(code, Some(0), "{err}");
        out
    };
    let strict: Value = from_str(&schema("openai-strict")).unwrap();
    assert_eq!(strict["type"], "function");
    assert_eq!(strict["function"]["strict"], true);
    assert_eq!(
        strict["function"]["parameters"]["required"],
        json!(["customer", "limit", "state"])
    );
    let plain: Value = from_str(&schema("openai")).unwrap();
    assert_eq!(
        plain["function"]["parameters"]["required"],
        json!(["customer"])
    );
    assert_eq!(plain["function"].get("strict"), None);
    for (dialect, key) in [
        ("anthropic", "input_schema"),
        ("gemini", "parametersJsonSchema"),
        ("gemini-parameters", "parameters"),
        ("mcp", "inputSchema"),
    ] {
        let found: Value = from_str(&schema(dialect)).unwrap();
        assert!(found[key]["properties"]["limit"].is_object(), "{found}");
    }
    let mcp: Value = from_str(&schema("mcp")).unwrap();
    assert_eq!(mcp["annotations"]["readOnlyHint"], true);
    // Properties stand in the order of the function's parameters.
    let text = schema("json-schema");
    let places = ["customer", "limit", "state"].map(|name| text.find(&format!("\"{name}\": {{")));
    assert!(places.is_sorted() && places[0].is_some(), "{text}");
    assert!(
        schema("prompt")
            .starts_with("// Finds orders.\nfind_orders(\n  customer: string, // Whose orders.\n"),
        "{}",
        schema("prompt")
    );
}
