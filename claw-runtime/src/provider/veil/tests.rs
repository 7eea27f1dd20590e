use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::message::ToolResult;
use crate::provider::Delta;
use crate::provider::samples::BARE;
use crate::provider::scripted::{Answer, Scripted, calls, says};

const CARD: &str = "11010519491231002X";
const PHONE: &str = "13812345678";

fn veil() -> Veil {
    Veil::new(["identity-card", "phone"], [("staff", "E[0-9]{4}")]).unwrap()
}

#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<Delta>>>);

impl DeltaSink for Seen {
    fn delta(&mut self, delta: Delta) {
        self.0.lock().unwrap().push(delta);
    }
}

/// Asks a veiled provider; returns the reply and what streamed.
fn ask(
    veiled: &Veiled,
    system: &str,
    messages: &[Message],
    history: Option<History<'_>>,
) -> (Reply, Vec<Delta>) {
    let request = Request {
        system,
        messages,
        history,
        ..BARE
    };
    let seen = Seen::default();
    let reply = veiled.complete(request, Some(Box::new(seen.clone())));
    let reply = futures_util::FutureExt::now_or_never(reply)
        .unwrap()
        .unwrap();
    let deltas = seen.0.lock().unwrap().clone();
    (reply, deltas)
}

fn veiled(answers: impl IntoIterator<Item = Answer>) -> (Veiled, Arc<Scripted>) {
    let scripted = Arc::new(Scripted::new(answers));
    (Veiled::new(scripted.clone(), veil()), scripted)
}

fn called(arguments: &str) -> Message {
    Message::assistant(vec![ContentBlock::ToolCall(ToolCall {
        id: "c".into(),
        name: "sms".into(),
        arguments: arguments.into(),
    })])
}

#[test]
fn a_service_is_told_placeholders_and_the_turn_values() {
    let (veiled, scripted) = veiled([calls(
        "sms",
        json!({"text": "id [identity-card-1]", "to": "[phone-1]"}),
    )
    .and_says("Told [phone-1], [phone-9].")]);
    let messages = [
        Message::user(format!("I am {CARD}, call {PHONE} or {PHONE}.")),
        // Names stand in the order of the alphabet, in which some builds write them and others leave them.
        called(&format!(
            r#"{{"a": "E1234", "n": {PHONE}, "to": "{PHONE}"}}"#
        )),
        Message {
            role: crate::message::Role::Tool,
            content: vec![ContentBlock::ToolResult(ToolResult {
                call_id: "c".into(),
                name: "sms".into(),
                content: vec![ContentBlock::text("sent to +86 139-1234-5678")],
                is_error: false,
            })],
        },
    ];
    let (reply, deltas) = ask(&veiled, "Helpline E0001.", &messages, None);
    let heard = &scripted.requests()[0];
    assert_eq!(heard.system, "Helpline [staff-1].");
    assert_eq!(
        heard.messages[0],
        Message::user("I am [identity-card-1], call [phone-1] or [phone-1].")
    );
    // The order of members is that of the build.
    let read = |arguments: &str| serde_json::from_str::<Value>(arguments).expect("JSON");
    let Some(ContentBlock::ToolCall(told)) = heard.messages[1].content.first() else {
        panic!("{:?}", heard.messages[1]);
    };
    assert_eq!(
        read(&told.arguments),
        json!({"to": "[phone-1]", "n": "[phone-1]", "a": "[staff-2]"})
    );
    let Some(ContentBlock::ToolResult(result)) = heard.messages[2].content.first() else {
        panic!("{:?}", heard.messages[2]);
    };
    assert_eq!(result.content, [ContentBlock::text("sent to [phone-2]")]);
    let Some(ContentBlock::ToolCall(call)) = reply.content.first() else {
        panic!("{reply:?}");
    };
    assert_eq!(
        read(&call.arguments),
        json!({"text": format!("id {CARD}"), "to": PHONE})
    );
    assert_eq!(
        crate::message::text_of(&reply.content),
        format!("Told {PHONE}, [phone-9].")
    );
    let shown: String = deltas
        .iter()
        .filter_map(|delta| match delta {
            Delta::Text { text } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(shown, format!("Told {PHONE}, [phone-9]."));
    let hidden: Vec<_> = veiled.hidden().into_iter().collect();
    let expected = [("identity-card", 1), ("phone", 2), ("staff", 2)];
    assert_eq!(
        hidden,
        expected.map(|(name, count)| (name.to_owned(), count))
    );
    assert!(!format!("{veiled:?}").contains(PHONE));
}

#[test]
fn nobody_writes_a_placeholder_by_hand() {
    let (veiled, scripted) = veiled([says("[text-1] and [phone-1]")]);
    let messages = [Message::user(format!("What is [phone-1]? And {PHONE}?"))];
    let (reply, _) = ask(&veiled, "", &messages, None);
    assert_eq!(
        scripted.requests()[0].messages[0],
        Message::user("What is [text-1]? And [phone-1]?")
    );
    assert_eq!(
        crate::message::text_of(&reply.content),
        format!("[phone-1] and {PHONE}")
    );
}

#[test]
fn a_veil_says_what_is_wrong_with_a_pattern() {
    let fault = |known: &[&str], own: &[(&str, &str)]| {
        let made = Veil::new(known.iter().copied(), own.iter().copied());
        made.unwrap_err().to_string()
    };
    assert_eq!(
        fault(&["mail"], &[]),
        "there is no pattern `mail`; expected one of `identity-card`, `phone`"
    );
    for name in ["", "Staff", "a1", "phone", "text", "a b"] {
        assert!(fault(&[], &[(name, "x")]).starts_with(&format!("`{name}` cannot name a pattern")));
    }
    let message = fault(&[], &[("staff", "E[0-9")]);
    assert!(
        message.starts_with("the expression of pattern `staff` cannot be read: error: unclosed"),
        "{message}"
    );
}

fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just(CARD.to_owned()),
        Just(PHONE.to_owned()),
        "1[3-9][0-9]{9}",
        "E[0-9]{4}",
        r"\[(phone|text|staff)-[1-3]\]",
        "[ -~é漢]{0,6}",
        "[\\[\\]0-9]{0,4}",
    ];
    proptest::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    /// What went out comes back as it was, whole and in pieces of any size.
    #[test]
    fn hiding_is_undone(text in texts(), size in 1_usize..9) {
        let mut names = Names::default();
        let hidden = names.hide(&veil(), &text).unwrap_or_else(|| text.clone());
        let mut content = [ContentBlock::text(&hidden)];
        restore::content(&names, &mut content);
        prop_assert_eq!(&content, &[ContentBlock::text(&text)]);
        let seen = Seen::default();
        let mut sink = Restoring {
            sink: Box::new(seen.clone()),
            names: Arc::new(names),
            held: String::new(),
            reasons: false,
        };
        let letters: Vec<char> = hidden.chars().collect();
        for piece in letters.chunks(size) {
            sink.delta(Delta::Text { text: piece.iter().collect() });
        }
        drop(sink);
        let deltas = seen.0.lock().unwrap().clone();
        let shown: String = deltas
            .into_iter()
            .map(|delta| match delta {
                Delta::Text { text } => text,
                other => panic!("{other:?}"),
            })
            .collect();
        prop_assert_eq!(shown, text);
    }

    /// What a service was told of settled messages stays, whether it is kept or told anew, and arguments stay JSON.
    #[test]
    fn what_was_told_stays(said in proptest::collection::vec(texts(), 1..6)) {
        let (going, scripted) = veiled((0..said.len()).map(|_| says("ok")));
        let kept = Kept::default();
        let mut messages: Vec<Message> = Vec::new();
        for (at, text) in said.iter().enumerate() {
            messages.push(match at % 2 {
                0 => Message::user(text),
                _ => called(&json!({"a": text, "n": 13_812_345_678_u64}).to_string()),
            });
            let history = History { settled: messages.len() - 1, kept: &kept };
            ask(&going, &said[0], &messages, Some(history));
        }
        let (anew, fresh) = veiled([says("ok")]);
        ask(&anew, &said[0], &messages, None);
        let (told, fresh) = (scripted.requests(), fresh.requests());
        prop_assert_eq!(&told.last().unwrap().messages, &fresh[0].messages);
        for (before, after) in told.iter().zip(&told[1..]) {
            let settled = before.messages.len() - 1;
            prop_assert_eq!(&before.messages[..settled], &after.messages[..settled]);
            prop_assert_eq!(&before.system, &after.system);
        }
        for call in told.last().unwrap().messages.iter().flat_map(Message::calls) {
            let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
            prop_assert!(arguments["n"].is_string(), "{}", call.arguments);
        }
    }
}

fn looking(description: &str, schema: serde_json::Value) -> Toolset {
    let run: crate::tool::Handler = Arc::new(|_, _| Box::pin(async { Ok(Default::default()) }));
    let spec = crate::tool::Spec::new("look".into(), description.to_owned().into());
    Toolset::new([Arc::new(crate::tool::Tool::dynamic(spec, schema, run))]).unwrap()
}

#[test]
fn tool_definitions_are_told_without_values_and_calls_come_back_with_them() {
    let tools = looking(
        &format!("Looks for E0001 at {PHONE}."),
        json!({"type": "object", "properties": {
            "of": {"type": "string", "enum": ["E0001", "E0002", "nobody"], "default": "E0002"},
            "n": {"type": "integer", "const": 13_812_345_678_u64, "description": format!("As {CARD}.")},
            "p": {"type": "string", "pattern": "^E0003$"},
            "q": {"type": "string", "pattern": "^x$", "examples": ["E0002"]},
        }}),
    );
    let (veiled, scripted) = veiled([
        calls("look", json!({"of": "[staff-2]", "n": "[phone-1]"})),
        says("Seen."),
    ]);
    let messages = [Message::user("Look for E0009 and E0002.")];
    for (at, form) in [(0, None), (1, Some(r#"{"oneOf":[{"const":"E0009"}]}"#))] {
        let request = Request {
            messages: &messages,
            tools: Some(&tools),
            form,
            ..BARE
        };
        let reply = futures_util::FutureExt::now_or_never(veiled.complete(request, None));
        let reply = reply.unwrap().unwrap();
        let heard = &scripted.requests()[at];
        // What the tools hold is numbered first, so that no conversation changes it.
        assert_eq!(
            heard.messages,
            [Message::user("Look for [staff-3] and [staff-2].")]
        );
        if at == 0 {
            let Some(ContentBlock::ToolCall(call)) = reply.content.first() else {
                panic!("{reply:?}");
            };
            let arguments: serde_json::Value = serde_json::from_str(&call.arguments).unwrap();
            assert_eq!(arguments, json!({"of": "E0002", "n": PHONE}));
        } else {
            assert_eq!(
                heard.form.as_deref(),
                Some(r#"{"oneOf":[{"const":"[staff-3]"}]}"#)
            );
        }
    }
    let told = veiled.offered(Some(&tools));
    let told = told.told(&tools);
    let look = told.get("look").unwrap();
    assert_eq!(look.spec().description, "Looks for [staff-1] at [phone-1].");
    let schema: serde_json::Value = serde_json::from_str(&look.input_schema()).unwrap();
    assert_eq!(
        schema["properties"],
        json!({
            "of": {"type": "string", "enum": ["[staff-1]", "[staff-2]", "nobody"], "default": "[staff-2]"},
            "n": {"const": "[phone-1]", "description": "As [identity-card-1]."},
            "p": {"type": "string"},
            "q": {"type": "string", "pattern": "^x$", "examples": ["[staff-2]"]},
        })
    );
    let hidden: Vec<_> = veiled.hidden().into_iter().collect();
    let counts = [("identity-card", 1), ("phone", 1), ("staff", 3)];
    assert_eq!(hidden, counts.map(|(name, count)| (name.to_owned(), count)));
}

#[test]
fn what_a_schema_asks_with_a_value_is_left_out_and_the_rest_stays_as_it_stands() {
    // Text in which order and digits are not those of a map of numbers.
    let schema = concat!(
        r#"{"type":"object","properties":{"#,
        r#""z":{"type":"integer","maximum":123456789012345678901234567890,"description":"As E0001."},"#,
        r#""b":{"type":"integer","minimum":13812345678,"exclusiveMaximum":13812345679,"multipleOf":0.10},"#,
        r#""a":{"type":["integer","null"],"enum":[13812345678,1.50,null]},"#,
        r#""m":{"patternProperties":{"^E0002$":{},"^x":{"default":{"E0003":"E0001"}}},"additionalProperties":false},"#,
        r##""E0004":{"$ref":"#/$defs/E0004","example":"E0005","x-note":{"by":"E0001"}}},"##,
        r#""required":["z","E0004"],"$defs":{"E0004":{"type":"string","enumDescriptions":["E0001"]}}}"#,
    );
    let spec = crate::tool::Spec::new("look".into(), "Looks.".into());
    let tool = crate::tool::Tool::described(spec, schema.to_owned());
    let tools = Toolset::new([Arc::new(tool)]).unwrap();
    let (veiled, _) = veiled([]);
    let told = veiled.offered(Some(&tools));
    let told = told.told(&tools).get("look").unwrap().input_schema();
    assert_eq!(
        &*told,
        concat!(
            r#"{"type":"object","properties":{"#,
            r#""z":{"type":"integer","maximum":123456789012345678901234567890,"description":"As [staff-1]."},"#,
            r#""b":{"type":"integer","multipleOf":0.10},"#,
            r#""a":{"enum":["[phone-1]",1.50,null]},"#,
            r#""m":{"patternProperties":{"^x":{"default":{"[staff-2]":"[staff-1]"}}}},"#,
            r##""E0004":{"$ref":"#/$defs/E0004","example":"[staff-3]","x-note":{"by":"[staff-1]"}}},"##,
            r#""required":["z","E0004"],"$defs":{"E0004":{"type":"string","enumDescriptions":["[staff-1]"]}}}"#,
        )
    );
}

#[test]
fn tools_that_hold_nothing_are_told_as_they_are() {
    let tools = looking(
        "Looks.",
        json!({"type": "object", "properties": {"phone": {"type": "string"}}}),
    );
    let (veiled, _) = veiled([]);
    let told = veiled.offered(Some(&tools));
    assert!(std::ptr::eq(told.told(&tools), &raw const tools));
}

#[test]
fn images_are_counted_or_denied() {
    let image = || ContentBlock::Image(Image::Url("https://e.example/a.png".into()));
    let result = Message {
        role: crate::message::Role::Tool,
        content: vec![ContentBlock::ToolResult(ToolResult {
            call_id: "c".into(),
            name: "look".into(),
            content: vec![ContentBlock::text("seen"), image()],
            is_error: false,
        })],
    };
    let mut asked = Message::user("What is it?");
    asked.content.push(image());
    let messages = [asked, called("{}"), result];
    let (sends, scripted) = veiled([says("A cat."), says("Hi.")]);
    ask(&sends, "", &messages, None);
    ask(&sends, "", &[Message::user("Hi")], None);
    assert_eq!((sends.images(), scripted.requests().len()), (2, 2));
    let scripted = Arc::new(Scripted::new([says("Hi.")]));
    let denies = Veiled::new(scripted.clone(), veil().deny_images());
    let denied = |messages: &[Message]| {
        let request = Request { messages, ..BARE };
        let reply = futures_util::FutureExt::now_or_never(denies.complete(request, None));
        reply.unwrap().err()
    };
    for end in [1, 3] {
        let error = denied(&messages[..end]).expect("denied");
        assert_eq!(error.class, FailureClass::BadRequest);
        assert!(error.message.contains("cannot be masked"), "{error}");
    }
    assert_eq!((denies.images(), scripted.requests().len()), (0, 0));
    assert_eq!(denied(&[Message::user("Hi")]), None);
}
