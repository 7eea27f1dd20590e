//! Models under the prompt protocol that are held to a form: from the start, or on the last rung after replies that
//! cannot be read; and services that refuse a form or do not heed it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::Arc;

use claw_runtime::agent::{Agent, AgentBuilder, Observer};
use claw_runtime::event::{EndReason, Event, Fact, Status};
use claw_runtime::message::{ContentBlock, Message, StopReason};
use claw_runtime::provider::scripted::{Answer, Recorded, says};
use claw_runtime::provider::{
    Capabilities, Constrain, FailureClass, ProviderError, Reply, Scripted, Structured,
};
use claw_runtime::registry::Toolset;
use claw_runtime::session::{Append, Barrier, MemoryStore, SessionStore};
use claw_runtime::tool::{Effect, Spec, Tool, ToolOutput};
use serde_json::{Value, json};

const BROKEN: &str = "<tool_call>{\"name\": \"gone\", \"arguments\": {}}</tool_call>";
const CALL: &str = r#"{"name": "add", "arguments": {"a": 1}}"#;
const ANSWER: &str = r#"{"answer": "It is 2."}"#;

fn capabilities() -> Capabilities {
    Capabilities {
        native_tools: false,
        structured: Structured::Schema,
        ..Capabilities::FULL
    }
}

fn tools() -> Toolset {
    let spec = Spec {
        effect: Effect::Pure,
        ..Spec::new("add".into(), "Adds one.".into())
    };
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]});
    let run: claw_runtime::tool::Handler =
        Arc::new(|_, _| Box::pin(async { Ok(ToolOutput::text("2")) }));
    Toolset::new([Arc::new(Tool::dynamic(spec, schema, run))]).unwrap()
}

fn agent(model: &Arc<Scripted>) -> AgentBuilder {
    Agent::builder().model(model.clone(), "weak").tools(tools())
}

fn scripted(answers: impl IntoIterator<Item = Answer>) -> Arc<Scripted> {
    Arc::new(Scripted::new(answers).declare(capabilities()))
}

fn refuses(class: FailureClass, message: &str) -> Answer {
    ProviderError::new(class, message).into()
}

fn cut(text: &str) -> Answer {
    Answer::from(Reply {
        content: vec![ContentBlock::text(text)],
        cut_calls: Vec::new(),
        stop: StopReason::Length,
        usage: None,
    })
}

#[derive(Default)]
struct Seen(Vec<Event>);

impl Observer for Seen {
    fn event(&mut self, event: &Event) {
        self.0.push(event.clone());
    }
}

impl Seen {
    fn learnt(&self) -> usize {
        let is_learnt = |event: &&Event| {
            matches!(
                event,
                Event::Learnt {
                    fact: Fact::NoForms,
                    ..
                }
            )
        };
        self.0.iter().filter(is_learnt).count()
    }

    /// Whether each request was held to the form, as the journal says.
    fn constrained(&self) -> Vec<bool> {
        let of = |event: &Event| match event {
            Event::ModelRequest { constrained, .. } => Some(*constrained),
            _ => None,
        };
        self.0.iter().filter_map(of).collect()
    }
}

/// Runs one turn. Returns its end, what was journaled and what was asked.
async fn turn(
    model: &Arc<Scripted>,
    agent: AgentBuilder,
) -> (claw_runtime::event::TurnOutcome, Seen, Vec<Recorded>) {
    let agent = agent.build().unwrap();
    let mut session = agent.session("s").await.unwrap();
    let mut seen = Seen::default();
    let outcome = session
        .run_observed(Message::user("What is 1 + 1?"), &mut seen)
        .await
        .unwrap();
    (outcome, seen, model.requests())
}

fn forms(requests: &[Recorded]) -> Vec<bool> {
    let has_form = |request: &Recorded| request.form.is_some();
    requests.iter().map(has_form).collect()
}

fn last_said(request: &Recorded) -> String {
    request.messages.last().unwrap().text()
}

#[tokio::test]
async fn the_last_re_ask_is_held_to_the_form() {
    let model = scripted([says(BROKEN), says(BROKEN), says(CALL), says("It is 2.")]);
    let (outcome, seen, requests) = turn(&model, agent(&model)).await;
    assert_eq!(outcome.reason, EndReason::Answered);
    assert_eq!(outcome.text, "It is 2.");
    assert_eq!(forms(&requests), [false, false, true, false]);
    assert_eq!(seen.constrained(), [false, false, true, false]);
    assert_eq!(seen.learnt(), 0);
    let ran = |event: &Event| {
        matches!(
            event,
            Event::Outcome {
                status: Status::Ok,
                ..
            }
        )
    };
    assert!(seen.0.iter().any(ran));
    // The prompt stays, for caches; the re-ask tells of the form.
    assert!(requests.iter().all(|it| it.system == requests[0].system));
    assert!(!last_said(&requests[1]).contains("\"answer\""));
    assert!(last_said(&requests[2]).contains("\"answer\""));
    assert_eq!(requests[1].stop, ["<tool_response>"]);
    assert_eq!(requests[2].stop, [""; 0]);
    let form: Value = serde_json::from_str(requests[2].form.as_deref().unwrap()).unwrap();
    assert_eq!(
        form["oneOf"][0]["properties"]["name"],
        json!({"const": "add"})
    );
}

#[tokio::test]
async fn after_the_last_rung_the_turn_wraps_up() {
    let model = scripted([
        says(BROKEN),
        says(BROKEN),
        says(r#"{"answer": ""}"#),
        says("I could not."),
    ]);
    let (outcome, _, requests) = turn(&model, agent(&model)).await;
    assert_eq!(forms(&requests), [false, false, true, false]);
    let EndReason::Failed { class, .. } = outcome.reason else {
        panic!("{:?}", outcome.reason);
    };
    assert_eq!(class, FailureClass::MalformedCall);
    assert_eq!(outcome.text, "I could not.");
}

#[tokio::test]
async fn a_weak_model_is_held_to_the_form_from_the_start() {
    let model = scripted([says(CALL), says(ANSWER)]);
    let (outcome, seen, requests) = turn(&model, agent(&model).constrain(Constrain::Always)).await;
    assert_eq!(outcome.text, "It is 2.");
    assert_eq!(forms(&requests), [true, true]);
    assert_eq!(seen.constrained(), [true, true]);
    assert!(requests[0].system.contains("To answer: {\"answer\":"));
    assert!(requests[0].system.contains("add("));
    assert!(!requests[0].system.contains("<tool_call>"));
}

#[tokio::test]
async fn several_calls_in_one_held_reply_run_in_their_order() {
    let first = r#"{"name": "add", "arguments": {"a": 1}}"#;
    let second = r#"{"name": "find", "arguments": {"code": "x"}}"#;
    for reply in [format!("{first}\n{second}"), format!("[{first}, {second}]")] {
        let model = scripted([says(reply), says(ANSWER)]);
        let builder = agent(&model)
            .tools(tools_with_a_tree())
            .constrain(Constrain::Always);
        let (outcome, seen, requests) = turn(&model, builder).await;
        assert_eq!(outcome.text, "It is 2.");
        assert_eq!(forms(&requests), [true, true]);
        assert_eq!(seen.learnt(), 0);
        let ended = seen.0.iter().filter_map(|event| match event {
            Event::Outcome { call, status, .. } => Some((call.clone(), *status)),
            _ => None,
        });
        let asked = seen.0.iter().find_map(|event| match event {
            Event::Assistant { content, .. } => Some(content),
            _ => None,
        });
        let calls = asked.unwrap().iter().filter_map(|block| match block {
            ContentBlock::ToolCall(call) => Some(call),
            _ => None,
        });
        let calls: Vec<_> = calls.collect();
        let names: Vec<_> = calls.iter().map(|call| &*call.name).collect();
        assert_eq!(names, ["add", "find"]);
        let ok = |call: &&claw_runtime::message::ToolCall| (call.id.clone(), Status::Ok);
        let expected: Vec<_> = calls.iter().map(ok).collect();
        assert_eq!(ended.collect::<Vec<_>>(), expected);
        // Both results stand before the model, in the order of the calls.
        let said = last_said(&requests[1]);
        let at = |name: &str| said.find(&format!("name=\"{name}\"")).unwrap();
        assert!(at("add") < at("find"), "{said}");
    }
}

fn one_round(builder: AgentBuilder) -> AgentBuilder {
    builder.limits(claw_runtime::limits::Limits {
        rounds: 1,
        ..Default::default()
    })
}

#[tokio::test]
async fn the_wrap_up_is_held_to_an_answer() {
    // What is no answer is read as ever, and a call in it is ignored.
    for (reply, text) in [
        (ANSWER, "It is 2."),
        (r#"{"answer": "It is"#, "It is"),
        ("It was 2.", "It was 2."),
    ] {
        let model = scripted([says(CALL), says(reply)]);
        let builder = one_round(agent(&model).constrain(Constrain::Always));
        let (outcome, seen, requests) = turn(&model, builder).await;
        assert_eq!(forms(&requests), [true, true]);
        assert_eq!(seen.constrained(), [true, true]);
        let form: Value = serde_json::from_str(requests[1].form.as_deref().unwrap()).unwrap();
        assert_eq!(
            form["properties"],
            json!({"answer": {"type": "string"}}),
            "{form}"
        );
        assert_eq!(requests[0].system, requests[1].system);
        assert_eq!(outcome.text, text, "{reply}");
        assert_eq!(seen.learnt(), 0, "{reply}");
    }
    // Who is held only after failures has not failed here.
    let model = scripted([
        says(format!("<tool_call>{CALL}</tool_call>")),
        says("It was 2."),
    ]);
    let (outcome, _, requests) = turn(&model, one_round(agent(&model))).await;
    assert_eq!(forms(&requests), [false, false]);
    assert_eq!(outcome.text, "It was 2.");
}

#[tokio::test]
async fn a_wrap_up_whose_form_is_refused_is_asked_without_one() {
    let refused = || refuses(FailureClass::BadRequest, "no response_format");
    let model = scripted([says(CALL), refused(), says("It was 2.")]);
    let builder = one_round(agent(&model).constrain(Constrain::Always));
    let (outcome, seen, requests) = turn(&model, builder).await;
    assert_eq!(forms(&requests), [true, true, false]);
    assert_eq!(outcome.text, "It was 2.");
    assert_eq!(seen.learnt(), 1);
}

#[tokio::test]
async fn nobody_is_held_who_cannot_be_or_is_not_to_be() {
    let says_so = |structured, reasoning| Capabilities {
        structured,
        reasoning,
        ..capabilities()
    };
    let cases = [
        (says_so(Structured::Object, false), Constrain::Always),
        (says_so(Structured::Schema, true), Constrain::Always),
        (says_so(Structured::Grammar, false), Constrain::Never),
        (
            Capabilities {
                native_tools: true,
                ..capabilities()
            },
            Constrain::Always,
        ),
    ];
    for (capabilities, constrain) in cases {
        let model = Arc::new(Scripted::new([says("2.")]).declare(capabilities));
        let (_, seen, requests) = turn(&model, agent(&model).constrain(constrain)).await;
        assert_eq!(forms(&requests), [false], "{capabilities:?}");
        assert_eq!(seen.learnt(), 0);
    }
    let declared = Capabilities {
        constrain: Constrain::Always,
        ..capabilities()
    };
    let model = Arc::new(Scripted::new([says(ANSWER)]).declare(declared));
    let (_, _, requests) = turn(&model, agent(&model)).await;
    assert_eq!(forms(&requests), [true]);
}

#[tokio::test]
async fn a_refused_form_is_not_sent_again() {
    let refusals = [
        (
            FailureClass::BadRequest,
            "Unrecognized request argument: response_format",
        ),
        (FailureClass::Overloaded, "failed to parse grammar"),
    ];
    for (class, message) in refusals {
        let model = scripted([refuses(class, message), says("It is 2."), says("Still.")]);
        let agent = agent(&model).constrain(Constrain::Always).build().unwrap();
        let mut session = agent.session("s").await.unwrap();
        let mut seen = Seen::default();
        let outcome = session
            .run_observed(Message::user("1 + 1?"), &mut seen)
            .await
            .unwrap();
        assert_eq!(outcome.text, "It is 2.");
        session
            .run_observed(Message::user("And now?"), &mut seen)
            .await
            .unwrap();
        let requests = model.requests();
        assert_eq!(forms(&requests), [true, false, false]);
        assert!(requests[1].system.contains("<tool_call>"));
        assert_eq!(seen.learnt(), 1);
    }
}

/// Good tools, and one that a service cannot follow.
fn tools_with_a_tree() -> Toolset {
    let run: claw_runtime::tool::Handler =
        Arc::new(|_, _| Box::pin(async { Ok(ToolOutput::text("2")) }));
    let tool = |name: &'static str, schema: Value| {
        let spec = Spec {
            effect: Effect::Pure,
            ..Spec::new(name.into(), "Does a thing.".into())
        };
        Arc::new(Tool::dynamic(spec, schema, run.clone()))
    };
    let number =
        json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]});
    let code =
        json!({"type": "object", "properties": {"code": {"type": "string", "maxLength": 5}}});
    let tree = json!({
        "type": "object", "required": ["root"],
        "properties": {"root": {"$ref": "#/$defs/node"}},
        "$defs": {"node": {"type": "object", "properties": {
            "name": {"type": "string", "pattern": "(?<=a)b\\p{Greek}"},
            "below": {"type": "array", "items": {"$ref": "#/$defs/node"}},
        }}},
    });
    Toolset::new([tool("add", number), tool("find", code), tool("walk", tree)]).unwrap()
}

/// What the form of a request says of each tool's arguments.
fn arguments(request: &Recorded) -> Vec<Value> {
    let form: Value = serde_json::from_str(request.form.as_deref().unwrap()).unwrap();
    let calls = form["oneOf"].as_array().unwrap();
    let calls = calls.iter().map(|call| &call["properties"]);
    let calls = calls.filter(|parts| !parts["name"].is_null());
    calls.map(|parts| parts["arguments"].clone()).collect()
}

#[tokio::test]
async fn a_tool_that_cannot_be_followed_loses_its_own_form_only() {
    let any = json!({"type": "object", "additionalProperties": true});
    let named = "JSON schema conversion failed: unresolved $ref in walk.node";
    let walk = r#"{"name": "walk", "arguments": {"root": {"name": "x"}}}"#;
    let refused = refuses(FailureClass::BadRequest, named);
    let model = scripted([refused, says(walk), says(ANSWER), says(ANSWER)]);
    let builder = agent(&model)
        .tools(tools_with_a_tree())
        .constrain(Constrain::Always);
    let agent = builder.build().unwrap();
    let mut session = agent.session("s").await.unwrap();
    let mut seen = Seen::default();
    for _ in 0..2 {
        let message = Message::user("What is below?");
        let outcome = session.run_observed(message, &mut seen).await.unwrap();
        assert_eq!(outcome.text, "It is 2.");
    }
    let requests = model.requests();
    assert_eq!(forms(&requests), [true; 4]);
    let whole = arguments(&requests[0]);
    assert_eq!(whole.len(), 3);
    assert!(whole.iter().all(|arguments| *arguments != any));
    for request in &requests[1..] {
        let [add, find, walk] = &arguments(request)[..] else {
            panic!("three calls");
        };
        assert_eq!((add, find, walk), (&whole[0], &whole[1], &any));
    }
    // Said once, of this tool alone.
    let facts = seen.0.iter().filter_map(|event| match event {
        Event::Learnt { fact, .. } => Some(fact),
        _ => None,
    });
    let walk = Fact::FormRefused {
        tools: vec!["walk".to_owned()],
    };
    assert_eq!(facts.collect::<Vec<_>>(), [&walk]);
}

#[tokio::test]
async fn a_form_is_refused_three_times_at_most() {
    let refused = |message| refuses(FailureClass::Overloaded, message);
    let script = [
        refused("failed to parse grammar: `walk`"),
        refused("failed to parse grammar: `walk`"),
        refused("failed to parse grammar: `walk`"),
        says("It is 2."),
    ];
    let model = scripted(script.clone());
    let builder = agent(&model)
        .tools(tools_with_a_tree())
        .constrain(Constrain::Always);
    let (outcome, seen, requests) = turn(&model, builder).await;
    assert_eq!(outcome.text, "It is 2.");
    assert_eq!(forms(&requests), [true, true, true, false]);
    assert_eq!(seen.learnt(), 1);
    let any = json!({"type": "object", "additionalProperties": true});
    let open = |request: &Recorded| arguments(request).iter().map(|it| *it == any).collect();
    let open: Vec<Vec<bool>> = requests[..3].iter().map(open).collect();
    assert_eq!(
        open,
        [[false; 3], [false, false, true], [false, true, true]]
    );
}

#[tokio::test]
async fn another_refusal_ends_the_turn_as_ever() {
    let model = scripted([refuses(FailureClass::BadRequest, "bad field")]);
    let (outcome, seen, requests) = turn(&model, agent(&model).constrain(Constrain::Always)).await;
    assert!(matches!(outcome.reason, EndReason::Failed { .. }));
    assert_eq!((requests.len(), seen.learnt()), (1, 0));
}

#[tokio::test]
async fn a_form_that_is_not_heeded_is_not_sent_again() {
    // Its words are no answer to rely on; it is asked again in a way it may follow.
    let model = scripted([says("Sure! I will add."), says("It is 2.")]);
    let (outcome, seen, requests) = turn(&model, agent(&model).constrain(Constrain::Always)).await;
    assert_eq!(outcome.text, "It is 2.");
    assert_eq!(forms(&requests), [true, false]);
    assert_eq!(seen.learnt(), 1);
    // A call that can be read all the same is run.
    let tagged = format!("<tool_call>{CALL}</tool_call>");
    let model = scripted([says(tagged), says("It is 2.")]);
    let (outcome, seen, requests) = turn(&model, agent(&model).constrain(Constrain::Always)).await;
    assert_eq!(outcome.text, "It is 2.");
    assert_eq!(forms(&requests), [true, false]);
    assert_eq!(seen.learnt(), 1);
}

#[tokio::test]
async fn the_rung_after_one_that_is_not_heeded_is_free() {
    let model = scripted([
        says(BROKEN),
        says(BROKEN),
        says("Well."),
        says(format!("<tool_call>{CALL}</tool_call>")),
        says("It is 2."),
    ]);
    let (outcome, seen, requests) = turn(&model, agent(&model)).await;
    assert_eq!(outcome.text, "It is 2.");
    assert_eq!(forms(&requests), [false, false, true, false, false]);
    assert_eq!(last_said(&requests[3]), last_said(&requests[1]));
    assert_eq!(seen.learnt(), 1);
}

#[tokio::test]
async fn a_model_that_reasons_in_its_text_keeps_its_reasoning() {
    let thinks = format!("<think>Which tool?</think>{BROKEN}");
    let model = scripted([says(BROKEN), says(thinks), says("It is 2.")]);
    let (outcome, seen, requests) = turn(&model, agent(&model)).await;
    assert_eq!(outcome.text, "It is 2.");
    assert_eq!(forms(&requests), [false, false, false]);
    assert_eq!(seen.learnt(), 1);
}

#[tokio::test]
async fn a_cut_call_in_the_form_is_a_fault_and_runs_nothing() {
    // An answer is one too, as long as nothing of it is said.
    let unsaid = &ANSWER[..ANSWER.find("It").unwrap()];
    let cuts = (1..CALL.len()).map(|end| &CALL[..end]);
    for reply in cuts.chain((1..=unsaid.len()).map(|end| &unsaid[..end])) {
        let model = scripted([cut(reply), says(ANSWER)]);
        let builder = agent(&model).constrain(Constrain::Always);
        let (outcome, seen, requests) = turn(&model, builder).await;
        assert_eq!(outcome.text, "It is 2.");
        assert_eq!(forms(&requests), [true, true], "{reply}");
        assert!(last_said(&requests[1]).contains("ends before its JSON object does"));
        assert_eq!(seen.learnt(), 0);
        let ran = |event: &Event| matches!(event, Event::Intent { .. });
        assert!(!seen.0.iter().any(ran));
    }
}

#[tokio::test]
async fn of_a_cut_answer_in_the_form_counts_what_was_written() {
    let model = scripted([cut(r#"{"answer": "It is \u00"#)]);
    let builder = agent(&model).constrain(Constrain::Always);
    let (outcome, _, requests) = turn(&model, builder).await;
    assert_eq!(outcome.text, "It is ");
    assert!(matches!(outcome.reason, EndReason::Limit { .. }));
    assert_eq!(forms(&requests), [true]);
}

/// A process that ends anywhere on the ladder: the next one goes on at the same rung.
#[tokio::test]
async fn a_turn_resumes_on_its_rung() {
    let scripts = [
        vec![says(BROKEN), says(BROKEN), says(CALL), says("It is 2.")],
        // Not heeded: the last rung is asked again, and counts once.
        vec![
            says(BROKEN),
            says(BROKEN),
            says("Well."),
            says(BROKEN),
            says("I could not."),
        ],
        vec![
            says(BROKEN),
            says(BROKEN),
            refuses(FailureClass::BadRequest, "no response_format"),
            says(BROKEN),
            says("I could not."),
        ],
    ];
    for script in scripts {
        resumes(script, |agent| agent).await;
    }
    // A wrap-up whose form is refused is asked once more.
    let script = vec![
        says(CALL),
        refuses(FailureClass::BadRequest, "no response_format"),
        says("It was 2."),
    ];
    resumes(script, |agent| {
        one_round(agent.constrain(Constrain::Always))
    })
    .await;
    // The rung with the form is asked twice, then without it, and counts once.
    let script = vec![
        says(BROKEN),
        says(BROKEN),
        refuses(FailureClass::Overloaded, "no grammar for walk"),
        refuses(FailureClass::Overloaded, "no grammar for find"),
        refuses(FailureClass::Overloaded, "no grammar"),
        says(BROKEN),
        says("I could not."),
    ];
    resumes(script, |agent| agent.tools(tools_with_a_tree())).await;
}

async fn resumes(script: Vec<Answer>, set: impl Fn(AgentBuilder) -> AgentBuilder) {
    let model = scripted(script.clone());
    let builder = set(agent(&model));
    let (outcome, Seen(events), whole) = turn(&model, builder).await;
    let asks = |event: &Event| matches!(event, Event::ModelRequest { .. });
    let ends: Vec<_> = (1..=events.len())
        .filter(|end| asks(&events[end - 1]))
        .collect();
    assert_eq!(ends.len(), script.len());
    for (nth, end) in ends.into_iter().enumerate() {
        let store = Arc::new(MemoryStore::new());
        let lease = store.open("s").await.unwrap();
        let append = Append {
            after: 0,
            events: events[..end].into(),
            barrier: Barrier::Buffered,
            taken: &[],
        };
        store.append(&lease, append).await.unwrap();
        store.close(lease).await.unwrap();
        let rest = scripted(script[nth..].to_vec());
        let builder = set(agent(&rest));
        let agent = builder.store(store).build().unwrap();
        let mut session = agent.session("s").await.unwrap();
        let resumed = session.resume(&mut ()).await.unwrap().unwrap();
        assert_eq!(resumed.text, outcome.text);
        let asked = rest.requests();
        assert_eq!(forms(&asked), forms(&whole[nth..]), "{nth}");
        let said = |requests: &[Recorded]| -> Vec<_> { requests.iter().map(last_said).collect() };
        assert_eq!(said(&asked), said(&whole[nth..]), "{nth}");
    }
}
