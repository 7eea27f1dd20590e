//! What the registry says of the tools of this crate.

#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeSet;

use claw_runtime::dialect::DIALECTS;
use claw_runtime::message::text_of;
use claw_runtime::registry::Toolset;
use claw_runtime::tool::{Approve, Effect, Prepared, ToolContext};
// Without a use of the crate the linker leaves it out, and the registry is empty.
use claw_tools as _;
use common::workspace;

#[test]
fn every_tool_is_linked_with_its_group_and_effect() {
    let toolset = Toolset::linked().unwrap();
    let declared: Vec<_> = toolset
        .iter()
        .map(|tool| {
            let spec = tool.spec();
            (tool.name(), &*spec.group, spec.effect)
        })
        .collect();
    assert_eq!(
        declared,
        [
            ("edit_file", "fs", Effect::Once),
            ("exec", "runtime", Effect::Once),
            ("glob", "search", Effect::Read),
            ("grep", "search", Effect::Read),
            ("list_dir", "fs", Effect::Read),
            ("now", "time", Effect::Read),
            ("read_file", "fs", Effect::Read),
            ("read_many", "fs", Effect::Read),
            ("read_output", "output", Effect::Read),
            ("session_spawn", "sessions", Effect::Idempotent),
            ("write_file", "fs", Effect::Idempotent),
        ]
    );
}

#[test]
fn what_changes_the_world_says_so() {
    let toolset = Toolset::linked().unwrap();
    let spec = |name: &str| toolset.get(name).unwrap().spec();
    assert!(matches!(spec("exec").approve, Approve::Ask));
    assert!(spec("exec").destructive && spec("write_file").destructive);
    for tool in toolset.iter() {
        let paths: BTreeSet<_> = [tool.spec().reads, tool.spec().writes]
            .concat()
            .into_iter()
            .collect();
        let writes = matches!(tool.name(), "write_file" | "edit_file");
        assert_eq!(!tool.spec().writes.is_empty(), writes, "{}", tool.name());
        for path in &paths {
            assert!(tool.input_schema().contains(path), "{}", tool.name());
        }
        assert_eq!(
            paths.is_empty(),
            matches!(
                tool.name(),
                "exec" | "now" | "read_output" | "session_spawn"
            ),
            "{}",
            tool.name()
        );
    }
}

/// Validates and calls a tool as the runtime does.
async fn call(ctx: &ToolContext, name: &str, arguments: &str) -> String {
    let tool = Toolset::linked().unwrap().get(name).unwrap().clone();
    let arguments = match tool.validate(arguments) {
        Ok(arguments) => arguments,
        Err(report) => return report,
    };
    let result = match tool.call(ctx, &arguments) {
        Prepared::Done(result) => result,
        Prepared::Future(future) => future.await,
        Prepared::Checked => panic!("a call with a context runs"),
    };
    match result {
        Ok(output) => text_of(&output.content),
        Err(err) => format!("error: {err}"),
    }
}

#[tokio::test]
async fn calls_go_through_with_defaults() {
    let (_dir, ctx) = workspace(&[("a.txt", "one\n")]);
    for (name, arguments, expected) in [
        ("read_file", r#"{"path":"a.txt"}"#, "one\n"),
        (
            "read_many",
            r#"{"paths":["*.txt"]}"#,
            "==> a.txt <==\none\n",
        ),
        ("list_dir", "{}", "a.txt (4)\n"),
        ("glob", r#"{"pattern":"*"}"#, "a.txt\n"),
        ("grep", r#"{"pattern":"o.e"}"#, "a.txt\n1: one\n"),
        ("exec", r#"{"command":"cat a.txt"}"#, "one\n[exit code 0]"),
        (
            "edit_file",
            r#"{"path":"a.txt","old":"one","new":"two"}"#,
            "edited `a.txt`, line 1",
        ),
        (
            "write_file",
            r#"{"path":"a.txt","content":"x"}"#,
            "replaced `a.txt`, 1 bytes",
        ),
    ] {
        assert_eq!(call(&ctx, name, arguments).await, expected, "{name}");
    }
    let now = call(&ctx, "now", r#"{"zone":"UTC"}"#).await;
    assert!(now.ends_with("+00:00 (UTC)"), "{now}");
}

#[tokio::test]
async fn bad_arguments_are_answered_and_nothing_is_run() {
    let (dir, ctx) = workspace(&[]);
    for (name, arguments) in [
        ("read_file", "{}"),
        ("read_file", r#"{"path":"a","offset":0}"#),
        ("read_many", r#"{"paths":[]}"#),
        ("read_output", r#"{"digest":"d","lines":0}"#),
        ("list_dir", r#"{"depth":11}"#),
        ("exec", r#"{"command":""}"#),
        ("exec", r#"{"command":"touch made","timeout_s":100000}"#),
        (
            "write_file",
            r#"{"path":"made","content":"x","dry_run":true}"#,
        ),
    ] {
        let report = call(&ctx, name, arguments).await;
        assert!(report.contains("was not run"), "{name}: {report}");
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn every_tool_is_offered_in_every_dialect() {
    let toolset = Toolset::linked().unwrap();
    for dialect in DIALECTS {
        let offer = toolset.offer(dialect);
        for offered in offer.iter() {
            let name = offered.tool.name();
            assert_eq!(offered.name, name, "{}", dialect.name);
            assert_eq!(offered.refused, None, "{} {name}", dialect.name);
            assert_eq!(offered.strict, dialect.strict, "{} {name}", dialect.name);
            if !dialect.typed {
                assert_eq!(
                    offered.lowered.schema,
                    *offered.tool.input_schema(),
                    "{} {name}",
                    dialect.name
                );
            }
        }
    }
}
