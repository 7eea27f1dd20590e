//! No secret of the process reaches what is kept, sent to a model or shown, whoever says it and in whatever form.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use claw_runtime::agent::{Agent, Observer};
use claw_runtime::event::Event;
use claw_runtime::limits::Limits;
use claw_runtime::message::{ContentBlock, Message};
use claw_runtime::provider::scripted::{Scripted, calls, says};
use claw_runtime::provider::{Delta, FailureClass, ProviderError};
use claw_runtime::registry::Toolset;
use claw_runtime::secret::Secrets;
use claw_runtime::session::{MemoryStore, SessionStore, export};
use claw_runtime::tool::{Effect, Handler, Spec, Tool, ToolOutput};
use proptest::prelude::*;
use serde_json::json;

/// All that an observer is told, as one text.
#[derive(Default)]
struct Seen(String);

impl Observer for Seen {
    fn event(&mut self, event: &Event) {
        self.0.push_str(&serde_json::to_string(event).unwrap());
        self.0.push_str(&format!("{event:?}"));
    }

    fn delta(&mut self, delta: &Delta) {
        match delta {
            Delta::Text { text } | Delta::Reasoning { text } => self.0.push_str(text),
            other => self.0.push_str(&format!("{other:?}")),
        }
    }

    fn progress(&mut self, _: &str, line: &str) {
        self.0.push_str(line);
    }
}

/// Returns a tool that says this text, in its progress too.
fn says_it(text: String) -> Arc<Tool> {
    let mut spec = Spec::new("leak".into(), "Tells what it knows.".into());
    spec.effect = Effect::Read;
    let schema = json!({"type": "object", "properties": {"about": {"type": "string"}}});
    let handler: Handler = Arc::new(move |ctx, _| {
        ctx.progress(&text);
        let text = text.clone();
        Box::pin(async move {
            let mut output = ToolOutput::text(&text);
            output.progress = Some(text.clone());
            output.content.push(ContentBlock::Resource {
                uri: format!("http://h/{text}"),
                description: text,
            });
            Ok(output)
        })
    });
    Arc::new(Tool::dynamic(spec, schema, handler))
}

/// Runs a turn in which user, system prompt, model, service and tool all say `shown`, and returns every sink's text.
fn sinks(secret: &str, shown: &str) -> Vec<(&'static str, String)> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let secrets = Secrets::new();
    assert!(secrets.add(secret));
    let failure = ProviderError::new(FailureClass::Overloaded, format!("got {shown} from you"));
    let model = Arc::new(Scripted::new([
        failure.into(),
        calls("leak", json!({"about": shown})).and_says(format!("I use {shown} now.")),
        says(format!("The answer is {shown}")),
    ]));
    let store = Arc::new(MemoryStore::new());
    runtime.block_on(async {
        let agent = Agent::builder()
            .model(model.clone(), "m")
            .tools(
                Toolset::new([says_it(format!(
                    "{}{shown}{}",
                    "x".repeat(50),
                    "y".repeat(50)
                ))])
                .unwrap(),
            )
            .system(format!("Use {shown}."))
            .limits(Limits {
                // The cut may fall into the secret.
                output_chars: 75,
                ..Limits::default()
            })
            .store(store.clone())
            .secrets(secrets)
            .build()
            .unwrap();
        let mut seen = Seen::default();
        let mut session = agent.session("s").await.unwrap();
        let said = Message::user(format!("My key is {shown}"));
        let outcome = session.run_observed(said, &mut seen).await.unwrap();
        let mut sinks = vec![
            ("observer", seen.0),
            (
                "outcome",
                format!("{outcome:?}{}", serde_json::to_string(&outcome).unwrap()),
            ),
            ("requests", format!("{:?}", model.requests())),
        ];
        let mut journal = String::new();
        for record in store.records("s", 0).await.unwrap() {
            journal.push_str(&serde_json::to_string(&record.read().unwrap()).unwrap());
        }
        sinks.push(("journal", journal));
        let mut blobs = String::new();
        for digest in store.blobs("s").await.unwrap() {
            let blob = store.blob("s", &digest).await.unwrap().unwrap();
            blobs.push_str(&String::from_utf8_lossy(&blob));
        }
        assert!(blobs.contains("xxx"), "the whole output is a blob");
        sinks.push(("blobs", blobs));
        let mut exported = Vec::new();
        export::export(&*store, "s", &mut exported).await.unwrap();
        sinks.push(("export", String::from_utf8(exported).unwrap()));
        sinks
    })
}

fn escaped(secret: &str) -> String {
    secret
        .encode_utf16()
        .map(|unit| format!("\\u{unit:04x}"))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn no_sink_shows_a_secret(secret in "[!-~]{8,40}", form in 0..4) {
        let shown: String = match form {
            0 => secret.clone(),
            1 => secret.bytes().map(|byte| format!("%{byte:02X}")).collect(),
            2 => secret.bytes().map(|byte| format!("{byte:02x}")).collect(),
            _ => escaped(&secret),
        };
        // As a JSON string writes it, and as one in a string of JSON does.
        let once = serde_json::to_string(&shown).unwrap();
        let twice = serde_json::to_string(&once).unwrap();
        let forms = [&shown, &once[1..once.len() - 1], &twice[3..twice.len() - 3]];
        for (sink, text) in sinks(&secret, &shown) {
            prop_assert!(text.contains("***"), "{sink} lacks what was said: {text}");
            for form in forms {
                prop_assert!(!text.contains(form), "{sink} shows {form}: {text}");
            }
        }
    }
}

#[test]
fn a_cut_output_keeps_no_part_of_a_secret() {
    let secret = "abcdefghijklmnopqrstuvwxyz-0123456789";
    for (sink, text) in sinks(secret, secret) {
        assert!(
            !text.contains("abcdefgh") && !text.contains("23456789"),
            "{sink}: {text}"
        );
    }
}

#[cfg(feature = "http")]
#[tokio::test]
async fn the_key_of_a_provider_is_known_to_its_agent() {
    use claw_runtime::provider::OpenAiChat;

    let key = "sk-the-key-of-a-provider-1";
    let service = OpenAiChat::new("lab", "http://127.0.0.1:9/v1", Some(key.to_owned().into()));
    let service = service
        .unwrap()
        .header("x-token", "token-of-a-header-2")
        .unwrap();
    let service = service.header("x-team", "team-blue").unwrap();
    let model = Arc::new(Scripted::new([calls("leak", json!({})), says("done")]));
    let agent = Agent::builder()
        .model(model.clone(), "m")
        .model(Arc::new(service), "other")
        .tools(Toolset::new([says_it(format!("{key} token-of-a-header-2 team-blue"))]).unwrap())
        .build()
        .unwrap();
    agent.session("s").await.unwrap().run("Go.").await.unwrap();
    let heard = format!("{:?}", model.requests());
    assert!(heard.contains("*** *** team-blue"), "{heard}");
    assert!(
        !heard.contains(key) && !heard.contains("token-of"),
        "{heard}"
    );
}
