//! How well a real model follows the prompt protocol: 100 prompts over 3 and over 12 tools, free, with the ladder, and held
//! to a form from the start.
//!
//! Needs a server with the OpenAI API: `CLAW_FOLLOW_URL=http://127.0.0.1:18181/v1 cargo bench -p claw-runtime --bench follow`.
//! Or a file of weights, with feature `local`: `CLAW_FOLLOW_LOCAL=model.gguf`. With neither, it says that it skipped.
//! `CLAW_FOLLOW_MODEL` names the model, `CLAW_FOLLOW_PROMPTS` bounds the prompts, `CLAW_FOLLOW_ONLY` is one way (`never`,
//! `onfailure`, `always`) to measure alone. A run begins with the 30 prompts over three
//! tools that other runtimes were measured with.
//!
//! Two things are counted apart: what each reply of the model was by itself, re-asked ones included, and which calls ran in
//! the end.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use claw_runtime::agent::{Agent, Observer};
use claw_runtime::event::{EndReason, Event, Status};
use claw_runtime::fallback::constrained;
use claw_runtime::limits::Limits;
use claw_runtime::message::{ContentBlock, Message, StopReason, text_of};
use claw_runtime::provider::{
    Capabilities, Constrain, DeltaSink, OpenAiChat, Protocol, Provider, ProviderError, Reply,
    Request,
};
use claw_runtime::registry::Toolset;
use claw_runtime::tool::{Effect, Spec, Tool, ToolOutput};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

/// A tool, and what people say when they want it.
struct Case {
    name: &'static str,
    about: &'static str,
    properties: fn() -> Value,
    prompts: [&'static str; 8],
}

/// Three tools with all their arguments required, as the other runtimes had them.
const COMMON: [Case; 3] = [
    Case {
        name: "get_weather",
        about: "Get the weather forecast for a city",
        properties: || json!({"city": {"type": "string"}, "days": {"type": "integer"}, "metric": {"type": "boolean"}}),
        prompts: [
            "What is the weather in Paris for 3 days, in metric units?",
            "Give me the 5 day forecast for Oslo, metric.",
            "Will it rain in London tomorrow? Use 1 day, metric units.",
            "Weather for New York for the next 7 days in imperial units.",
            "Forecast for Tokyo, 2 days, metric.",
            "How is the weather in Berlin over 4 days (not metric)?",
            "I travel to Rome for 6 days. Get the metric forecast.",
            "Show the weather of Cairo for 1 day, metric.",
        ],
    },
    Case {
        name: "search_docs",
        about: "Search the documentation for a query",
        properties: || json!({"query": {"type": "string"}, "limit": {"type": "integer"}, "lang": {"type": "string", "enum": ["en", "de", "fr"]}}),
        prompts: [
            "Search the docs for 'linkme', 5 results, English.",
            "Find 3 German documents about error handling.",
            "Look up 'async runtime' in the documentation, limit 10, lang en.",
            "Search documentation in French for 'serde', 2 results.",
            "Find docs about JSON schema, 4 results, in English.",
            "Search the documentation for 'static registry' in English, at most 7 results.",
            "Look for 1 German document about macros.",
            "Find 6 French documents about memory.",
        ],
    },
    Case {
        name: "add3",
        about: "Add three numbers",
        properties: || json!({"a": {"type": "number"}, "b": {"type": "number"}, "c": {"type": "number"}}),
        prompts: [
            "Add 1, 2 and 3.",
            "What is 10 + 20 + 30.5?",
            "Sum up 7, 8 and 9.",
            "Compute the sum of -1, 4 and 2.",
            "Add the numbers 100, 200 and 300.",
            "What do 0.1, 0.2 and 0.3 add up to?",
            "Total of 12, 13 and 14 please.",
            "Add three numbers: 5, 5, 5.",
        ],
    },
];
/// What of those wants no tool.
const COMMON_CHAT: [&str; 6] = [
    "Hello, how are you?",
    "Say thank you in French.",
    "What is your name?",
    "Write one sentence about cats.",
    "What is the capital of France?",
    "Tell me a short joke.",
];

const CASES: [Case; 12] = [
    Case {
        name: "get_weather",
        about: "Get the weather forecast for a city.",
        properties: || json!({"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}}),
        prompts: [
            "What is the weather in Paris for 3 days?",
            "Give me the 5 day forecast for Oslo.",
            "Will it rain in London tomorrow?",
            "Weather for New York over the next 7 days.",
            "Forecast for Tokyo, 2 days.",
            "How is the weather in Berlin over 4 days?",
            "I travel to Rome for 6 days. What weather do I get?",
            "Show the weather of Cairo for 1 day.",
        ],
    },
    Case {
        name: "search_docs",
        about: "Search the documentation.",
        properties: || json!({"query": {"type": "string"}, "limit": {"type": "integer", "minimum": 1}}),
        prompts: [
            "Search the docs for linkme, 5 results.",
            "Find 3 documents about error handling.",
            "Look up async runtime in the documentation, limit 10.",
            "Search the documentation for serde, 2 results.",
            "Find docs about JSON schema, 4 results.",
            "Search the documentation for static registry, at most 7.",
            "Look for 1 document about macros.",
            "Find 6 documents about memory.",
        ],
    },
    Case {
        name: "add3",
        about: "Add three numbers.",
        properties: || json!({"a": {"type": "number"}, "b": {"type": "number"}, "c": {"type": "number"}}),
        prompts: [
            "Add 1, 2 and 3.",
            "What is 10 + 20 + 30.5?",
            "Sum up 7, 8 and 9.",
            "Compute the sum of -1, 4 and 2.",
            "Add the numbers 100, 200 and 300.",
            "What do 0.1, 0.2 and 0.3 add up to?",
            "Total of 12, 13 and 14 please.",
            "Add three numbers: 5, 5, 5.",
        ],
    },
    Case {
        name: "convert_currency",
        about: "Convert an amount of money from one currency to another.",
        properties: || json!({"amount": {"type": "number"}, "from": {"type": "string"}, "to": {"type": "string"}}),
        prompts: [
            "Convert 100 dollars to euros.",
            "How many yen are 20 euros?",
            "Change 50 pounds into dollars.",
            "What are 1000 rupees in euros?",
            "Convert 7.5 francs to kroner.",
            "How much is 300 yuan in dollars?",
            "Exchange 80 euros for pounds.",
            "What is 1 dollar in yen?",
        ],
    },
    Case {
        name: "set_timer",
        about: "Start a timer.",
        properties: || json!({"minutes": {"type": "integer", "minimum": 1}, "label": {"type": "string"}}),
        prompts: [
            "Set a timer for 10 minutes for the tea.",
            "Start a 25 minute timer named work.",
            "Timer, 3 minutes, eggs.",
            "Wake me in 20 minutes.",
            "Set a timer of 45 minutes for the cake.",
            "Start a timer for 5 minutes, label rest.",
            "I need a 90 minute timer for the exam.",
            "Set 1 minute for planking.",
        ],
    },
    Case {
        name: "translate",
        about: "Translate a text.",
        properties: || json!({"text": {"type": "string"}, "to": {"enum": ["de", "en", "es", "fr"], "type": "string"}}),
        prompts: [
            "Translate good morning to French.",
            "How do you say thank you in German? Use the translator.",
            "Translate where is the station to Spanish.",
            "Put I am hungry into French.",
            "Translate guten Abend to English.",
            "Translate the house is red to Spanish.",
            "Give me see you tomorrow in German.",
            "Translate hasta luego to English.",
        ],
    },
    Case {
        name: "create_note",
        about: "Write a note down.",
        properties: || json!({"title": {"type": "string"}, "text": {"type": "string"}}),
        prompts: [
            "Note: buy milk.",
            "Write down that the meeting is at nine.",
            "Make a note titled Ideas: build a boat.",
            "Remember that Anna likes tulips.",
            "Create a note about the broken printer.",
            "Take a note: the code is in the drawer.",
            "Write a note named Trip: pack the tent.",
            "Note down the rent is due on Friday.",
        ],
    },
    Case {
        name: "list_files",
        about: "List the files of a folder.",
        properties: || json!({"folder": {"type": "string"}}),
        prompts: [
            "List the files in /tmp.",
            "What is in the folder src?",
            "Show me the files of docs.",
            "Which files are in the home folder?",
            "List the folder photos.",
            "What files does tests hold?",
            "Show the content of the downloads folder.",
            "List everything in music.",
        ],
    },
    Case {
        name: "send_message",
        about: "Send a message to a person.",
        properties: || json!({"to": {"type": "string"}, "text": {"type": "string"}}),
        prompts: [
            "Send Anna a message: I am late.",
            "Tell Bob by message that lunch is ready.",
            "Message Carla: happy birthday.",
            "Send a message to Dan saying yes.",
            "Text Eva that I will call tonight.",
            "Write to Finn: the train is cancelled.",
            "Send Greta the message see you soon.",
            "Message Hugo that the door is open.",
        ],
    },
    Case {
        name: "play_music",
        about: "Play a song or an artist.",
        properties: || json!({"what": {"type": "string"}, "loud": {"type": "boolean"}}),
        prompts: [
            "Play some jazz.",
            "Play Yesterday by the Beatles, loud.",
            "I want to hear Mozart, quietly.",
            "Put on some rock music, loud.",
            "Play a lullaby, not loud.",
            "Play Bach.",
            "Play the song Hello loud.",
            "Start playing blues, quiet please.",
        ],
    },
    Case {
        name: "get_time",
        about: "Get the current time in a city.",
        properties: || json!({"city": {"type": "string"}}),
        prompts: [
            "What time is it in Sydney?",
            "Current time in Lima, please.",
            "Tell me the time in Moscow.",
            "How late is it in Delhi?",
            "Time in Toronto?",
            "What is the local time in Seoul?",
            "Give me the time in Nairobi.",
            "Is it night in Honolulu? Get the time.",
        ],
    },
    Case {
        name: "define_word",
        about: "Look a word up in the dictionary.",
        properties: || json!({"word": {"type": "string"}}),
        prompts: [
            "Define serendipity.",
            "What does the word obtuse mean?",
            "Look up ephemeral in the dictionary.",
            "Give me the definition of liminal.",
            "Dictionary entry for quixotic.",
            "What is the meaning of the word lucid?",
            "Define the word arcane.",
            "Look up the word sonder.",
        ],
    },
];

/// What needs no tool.
const CHAT: [&str; 4] = [
    "Hello, how are you?",
    "Write one sentence about cats.",
    "What is the capital of France?",
    "Tell me a short joke.",
];

fn toolset(cases: &[Case]) -> Toolset {
    let tools = cases.iter().map(|case| {
        let properties = (case.properties)();
        let required: Vec<_> = properties.as_object().into_iter().flatten().map(|(name, _)| name).collect();
        let schema = json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
        });
        let spec = Spec {
            effect: Effect::Pure,
            ..Spec::new(case.name.into(), case.about.into())
        };
        Arc::new(Tool::dynamic(spec, schema, Arc::new(|_, _| Box::pin(async { Ok(ToolOutput::text("Done.")) }))))
    });
    Toolset::new(tools).expect("tools of different names")
}

type Prompts = Vec<(Option<&'static str>, String)>;

fn common() -> Prompts {
    let wanted = COMMON.iter().flat_map(|case| {
        let prompts = case.prompts.iter();
        prompts.map(|prompt| (Some(case.name), (*prompt).to_owned()))
    });
    let chats = COMMON_CHAT
        .iter()
        .map(|prompt| (None, (*prompt).to_owned()));
    wanted.chain(chats).collect()
}

/// 100 prompts, each with the tool it wants. The three-tool list is the first 32 of each, every one asked in four ways.
fn prompts(cases: &[Case]) -> Prompts {
    const WAYS: [&str; 4] = [
        "{}",
        "Please: {}",
        "{} Be quick.",
        "I have a task for you. {}",
    ];
    let ways = if cases.len() == 3 {
        &WAYS[..]
    } else {
        &WAYS[..1]
    };
    let wanted = ways.iter().flat_map(|way| {
        cases.iter().flat_map(move |case| {
            case.prompts
                .iter()
                .map(move |prompt| (Some(case.name), way.replace("{}", prompt)))
        })
    });
    wanted
        .chain(CHAT.iter().map(|prompt| (None, (*prompt).to_owned())))
        .collect()
}

/// What came of all prompts.
#[derive(Default)]
struct Tally {
    prompts: u32,
    /// Replies as the model gave them: those that are an answer or calls with valid arguments, those that the output limit
    /// cut, and all.
    outputs_valid: u32,
    outputs_cut: u32,
    outputs: u32,
    /// Calls that ran, and calls that did not.
    valid: u32,
    invalid: u32,
    /// Prompts that want a tool; those of them that any tool ran for, and that the right one did.
    wanted: u32,
    called: u32,
    right: u32,
    /// Prompts that want no tool and got none.
    chats: u32,
    answered: u32,
    /// Turns that ended in a written outcome, and how many of them because of a failure.
    clear: u32,
    failed: u32,
}

/// Passes on what it is asked, and keeps each reply as it came.
struct Kept {
    provider: Arc<dyn Provider>,
    replies: Mutex<Vec<(String, StopReason)>>,
}

impl Kept {
    /// Counts what was kept, by the runtime's own reader.
    fn count(&self, tools: &Toolset, tally: &mut Tally) {
        let mut replies = self.replies.lock().unwrap_or_else(PoisonError::into_inner);
        for (text, stop) in replies.drain(..) {
            let found = constrained::read(&text, &stop, tools);
            let calls_valid = found.calls.iter().all(|call| {
                let tool = tools.get(&call.name);
                tool.is_some_and(|tool| tool.validate(&call.arguments).is_ok())
            });
            let is_cut = stop == StopReason::Length;
            tally.outputs += 1;
            tally.outputs_cut += u32::from(is_cut);
            tally.outputs_valid += u32::from(!is_cut && found.faults.is_empty() && calls_valid);
        }
    }
}

impl Provider for Kept {
    fn name(&self) -> &str {
        self.provider.name()
    }

    fn capabilities(&self, model: &str) -> Capabilities {
        self.provider.capabilities(model)
    }

    fn takes_form(&self, model: &str) -> bool {
        self.provider.takes_form(model)
    }

    fn complete<'a>(
        &'a self,
        request: Request<'_>,
        sink: Option<Box<dyn DeltaSink + 'a>>,
    ) -> BoxFuture<'a, Result<Reply, ProviderError>> {
        let reply = self.provider.complete(request, sink);
        Box::pin(async move {
            let reply = reply.await?;
            let mut replies = self.replies.lock().unwrap_or_else(PoisonError::into_inner);
            replies.push((text_of(&reply.content), reply.stop.clone()));
            Ok(reply)
        })
    }

    fn about<'a>(&'a self, model: &'a str) -> BoxFuture<'a, Result<Capabilities, ProviderError>> {
        self.provider.about(model)
    }
}

#[derive(Default)]
struct Calls {
    names: Vec<(String, String)>,
    valid: Vec<String>,
    invalid: u32,
}

impl Observer for Calls {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Assistant { content, .. } => {
                for block in content {
                    if let ContentBlock::ToolCall(call) = block {
                        self.names.push((call.id.clone(), call.name.clone()));
                    }
                }
            }
            Event::Outcome { call, status, .. } => match status {
                Status::Ok => {
                    let name = self.names.iter().find(|(id, _)| id == call);
                    self.valid.extend(name.map(|(_, name)| name.clone()));
                }
                Status::Refused => {}
                _ => self.invalid += 1,
            },
            _ => {}
        }
    }
}

async fn run(
    (provider, model): (Arc<dyn Provider>, &str),
    cases: &[Case],
    all: &Prompts,
    constrain: Constrain,
    most: usize,
) -> Tally {
    let limits = Limits {
        rounds: 3,
        attempts: 1,
        max_output_tokens: Some(200),
        ..Limits::default()
    };
    let kept = Arc::new(Kept {
        provider,
        replies: Mutex::default(),
    });
    let tools = toolset(cases);
    let agent = Agent::builder()
        .model(kept.clone(), model)
        .tools(tools.clone())
        .protocol(Protocol::Prompt)
        .constrain(constrain)
        .limits(limits)
        .build()
        .expect("an agent");
    let mut tally = Tally::default();
    let step = all.len().div_ceil(most).max(1);
    for (at, (want, prompt)) in all.iter().enumerate().step_by(step) {
        let mut session = agent.session(&at.to_string()).await.expect("a session");
        let mut calls = Calls::default();
        let outcome = session
            .run_observed(Message::user(prompt.as_str()), &mut calls)
            .await;
        let outcome = outcome.expect("an outcome");
        tally.prompts += 1;
        kept.count(&tools, &mut tally);
        tally.valid += u32::try_from(calls.valid.len()).unwrap_or(u32::MAX);
        tally.invalid += calls.invalid;
        match want {
            Some(name) => {
                tally.wanted += 1;
                tally.called += u32::from(!calls.valid.is_empty());
                tally.right += u32::from(calls.valid.iter().any(|it| it == name));
            }
            None => {
                tally.chats += 1;
                tally.answered += u32::from(calls.names.is_empty());
            }
        }
        tally.clear += u32::from(!outcome.text.trim().is_empty());
        if let EndReason::Failed { message, .. } = &outcome.reason {
            eprintln!("{prompt}: {message}");
            tally.failed += 1;
        }
    }
    tally
}

/// Returns what is to be measured, from the environment.
fn measured(model: &str) -> Option<(Arc<dyn Provider>, String)> {
    #[cfg(feature = "local")]
    if let Ok(path) = std::env::var("CLAW_FOLLOW_LOCAL") {
        use claw_runtime::provider::local::{Local, Settings};
        return Some((Arc::new(Local::new("local", Settings::default())), path));
    }
    let url = std::env::var("CLAW_FOLLOW_URL").ok()?;
    let provider = OpenAiChat::new("server", &url, None).expect("a provider");
    Some((Arc::new(provider), model.to_owned()))
}

fn main() {
    let model =
        std::env::var("CLAW_FOLLOW_MODEL").unwrap_or_else(|_| "smollm2-135m-instruct".to_owned());
    let Some((provider, model)) = measured(&model) else {
        println!("follow: skipped, neither CLAW_FOLLOW_URL nor CLAW_FOLLOW_LOCAL names a model");
        return;
    };
    let most = std::env::var("CLAW_FOLLOW_PROMPTS")
        .ok()
        .and_then(|it| it.parse().ok())
        .unwrap_or(100);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    println!(
        "prompts  tools  constrain   outputs valid/cut/all  calls valid/all  called     right tool  chat answered  clear outcome  failed  s a prompt"
    );
    let all_ways = [Constrain::Never, Constrain::OnFailure, Constrain::Always];
    // What a form is for is known of this provider, and each way takes minutes.
    let ways = match provider.name() {
        "local" => &all_ways[2..],
        _ => &all_ways[..],
    };
    let only = std::env::var("CLAW_FOLLOW_ONLY").ok();
    let is_wanted = |way: &&Constrain| {
        let name = format!("{way:?}");
        only.as_ref()
            .is_none_or(|only| only.eq_ignore_ascii_case(&name))
    };
    let sets = [
        (&COMMON[..], common()),
        (&CASES[..3], prompts(&CASES[..3])),
        (&CASES[..], prompts(&CASES)),
    ];
    for (cases, prompts) in &sets {
        for constrain in ways.iter().filter(is_wanted) {
            let start = Instant::now();
            let of = (provider.clone(), model.as_str());
            let tally = runtime.block_on(run(of, cases, prompts, *constrain, most));
            println!(
                "{:>7}  {:>5}  {:10}  {:>13}/{}/{:<4}  {:>7}/{:<7}  {:>4}/{:<4}  {:>4}/{:<5}  {:>6}/{:<6}  {:>6}/{:<6}  {:>6}  {:>6.1}",
                tally.prompts,
                cases.len(),
                format!("{constrain:?}"),
                tally.outputs_valid,
                tally.outputs_cut,
                tally.outputs,
                tally.valid,
                tally.valid + tally.invalid,
                tally.called,
                tally.wanted,
                tally.right,
                tally.wanted,
                tally.answered,
                tally.chats,
                tally.clear,
                tally.prompts,
                tally.failed,
                start.elapsed().as_secs_f64() / f64::from(tally.prompts.max(1)),
            );
        }
    }
}
