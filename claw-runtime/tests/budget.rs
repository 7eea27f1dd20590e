//! Budgets over whole turns: what is reserved, where it ends, what is given back.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::{Arc, Mutex};

use claw_runtime::agent::{Agent, AgentBuilder, Observer};
use claw_runtime::budget::{Budget, Price, Reserved, SharedBudget, Spent};
use claw_runtime::event::{EndReason, Event};
use claw_runtime::message::{ContentBlock, Message, StopReason, ToolCall, Usage};
use claw_runtime::provider::scripted::{fails, says};
use claw_runtime::provider::{FailureClass, ProviderError, Reply, Scripted, ToolChoice};
use claw_runtime::registry::Toolset;
use claw_runtime::session::{MemoryStore, SessionStore};
use claw_runtime::tool::{Effect, Spec, Tool, ToolOutput};
use serde_json::json;

/// What each reply says it took, prompt and answer.
const TAKES: Usage = Usage {
    input_tokens: 300,
    output_tokens: 100,
    cached_tokens: 0,
    reasoning_tokens: 0,
};

fn with_usage(content: Vec<ContentBlock>, usage: Usage) -> Reply {
    let calls = content
        .iter()
        .any(|block| matches!(block, ContentBlock::ToolCall(_)));
    Reply {
        content,
        cut_calls: Vec::new(),
        stop: if calls {
            StopReason::ToolCalls
        } else {
            StopReason::Stop
        },
        usage: Some(usage),
    }
}

/// A model that calls a tool for ever, with other arguments each time, and says something when it may not.
fn restless(usage: Usage) -> Arc<Scripted> {
    let count = Mutex::new(0);
    Arc::new(Scripted::from_fn(move |request| {
        if request.tool_choice == ToolChoice::None {
            return with_usage(vec![ContentBlock::text("So far I looked.")], usage);
        }
        let mut count = count.lock().unwrap();
        *count += 1;
        let call = ToolCall {
            id: String::new(),
            name: "look".to_owned(),
            arguments: json!({"n": *count}).to_string(),
        };
        with_usage(vec![ContentBlock::ToolCall(call)], usage)
    }))
}

fn look() -> Toolset {
    let mut spec = Spec::new("look".into(), "Looks.".into());
    spec.effect = Effect::Read;
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let tool = Tool::dynamic(
        spec,
        schema,
        Arc::new(|_, arguments| {
            Box::pin(std::future::ready(Ok(ToolOutput::text(
                arguments["n"].to_string(),
            ))))
        }),
    );
    Toolset::new([Arc::new(tool)]).unwrap()
}

fn builder(model: &Arc<Scripted>) -> AgentBuilder {
    Agent::builder().model(model.clone(), "m").tools(look())
}

fn tokens(tokens: u64) -> Budget {
    Budget {
        tokens: Some(tokens),
        cost: None,
    }
}

fn limit(reason: &EndReason) -> &str {
    match reason {
        EndReason::Limit { limit } => limit,
        other => panic!("{other:?}"),
    }
}

#[derive(Default)]
struct Seen(Vec<Event>);

impl Observer for Seen {
    fn event(&mut self, event: &Event) {
        self.0.push(event.clone());
    }
}

impl Seen {
    fn reserved(&self) -> Vec<Option<Reserved>> {
        let requests = self.0.iter().filter_map(|event| match event {
            Event::ModelRequest { reserved, .. } => Some(*reserved),
            _ => None,
        });
        requests.collect()
    }
}

#[tokio::test]
async fn without_a_limit_nothing_is_reserved_and_no_maximum_is_sent() {
    let model = Arc::new(Scripted::new([says("Hello.")]));
    let agent = builder(&model).build().unwrap();
    let mut seen = Seen::default();
    let mut session = agent.session("s").await.unwrap();
    session
        .run_observed(Message::user("Hi"), &mut seen)
        .await
        .unwrap();
    assert_eq!(seen.reserved(), [None]);
    assert_eq!(model.requests()[0].max_output_tokens, None);
}

#[tokio::test]
async fn a_turn_ends_within_its_tokens_with_the_models_last_words() {
    let model = restless(TAKES);
    let agent = builder(&model).turn_budget(tokens(5_000)).build().unwrap();
    let mut seen = Seen::default();
    let mut session = agent.session("s").await.unwrap();
    let outcome = session
        .run_observed(Message::user("Look."), &mut seen)
        .await
        .unwrap();
    assert!(
        limit(&outcome.reason).starts_with("the turn's budget: "),
        "{outcome:?}"
    );
    assert!(
        limit(&outcome.reason).contains(" of 5000 tokens left"),
        "{outcome:?}"
    );
    assert_eq!(outcome.text, "So far I looked.");
    // Each request's answer had a maximum, and with its prompt it was in what was left.
    let mut left = 5_000;
    for (reserved, request) in seen.reserved().iter().zip(model.requests()) {
        let reserved = reserved.unwrap();
        assert_eq!(request.max_output_tokens, Some(reserved.output));
        assert!(
            reserved.prompt + reserved.output <= left,
            "{reserved:?} of {left}"
        );
        left -= 400;
    }
    let spent = session.view().unwrap().ledger().spent();
    assert_eq!(spent.tokens, 400 * model.requests().len() as u64);
    assert!(spent.tokens <= 5_000);

    // A turn has its own.
    let again = session.run("Look.").await.unwrap();
    assert_eq!(again.text, "So far I looked.");
}

#[tokio::test]
async fn a_first_request_that_does_not_fit_is_not_made_and_the_sizes_are_named() {
    let model = restless(TAKES);
    let agent = builder(&model)
        .session_budget(tokens(1_000))
        .build()
        .unwrap();
    let mut session = agent.session("s").await.unwrap();
    let outcome = session.run("Look.").await.unwrap();
    assert_eq!(model.requests().len(), 0);
    let limit = limit(&outcome.reason);
    assert!(
        limit.starts_with(
            "the session's budget: 1000 of 1000 tokens left; the next request is about "
        ),
        "{limit}"
    );
    assert!(limit.ends_with("and its answer needs 1024"), "{limit}");
    assert!(
        outcome.text.contains("1000 of 1000 tokens"),
        "{}",
        outcome.text
    );
}

#[tokio::test]
async fn a_session_spends_over_its_turns_and_is_then_used_up_for_good() {
    let model = restless(TAKES);
    let agent = builder(&model)
        .session_budget(tokens(4_000))
        .build()
        .unwrap();
    let mut session = agent.session("s").await.unwrap();
    session.run("Look.").await.unwrap();
    let asked = model.requests().len();
    drop(session);
    // Also after a reload: the journal knows.
    let mut session = agent.session("s").await.unwrap();
    let outcome = session.run("Look.").await.unwrap();
    assert!(limit(&outcome.reason).contains("session's budget"));
    assert_eq!(model.requests().len(), asked);
    assert!(session.view().unwrap().ledger().spent().tokens <= 4_000);
}

#[tokio::test]
async fn money_is_counted_where_a_price_is_known_and_only_there() {
    let price = Price {
        input: 2.0,
        output: 10.0,
        cached: None,
    };
    let dollar = Budget {
        tokens: None,
        cost: Some(20_000),
    };
    // 300 × 2 + 100 × 10 = 1,600 millionths a request.
    let model = restless(TAKES);
    let agent = builder(&model)
        .price("scripted", "m", price)
        .turn_budget(dollar)
        .build()
        .unwrap();
    let mut session = agent.session("s").await.unwrap();
    let outcome = session.run("Look.").await.unwrap();
    assert!(
        limit(&outcome.reason).contains(" of 0.02 left"),
        "{outcome:?}"
    );
    let spent = session.view().unwrap().ledger().spent();
    assert_eq!(spent.cost, 1_600 * model.requests().len() as u64);
    assert!(spent.cost <= 20_000);

    let model = restless(TAKES);
    let agent = builder(&model).turn_budget(dollar).build().unwrap();
    let outcome = agent
        .session("s")
        .await
        .unwrap()
        .run("Look.")
        .await
        .unwrap();
    assert_eq!(limit(&outcome.reason), "50 rounds");
}

#[tokio::test]
async fn a_known_price_alone_says_what_a_session_cost() {
    let price = Price {
        input: 1.0,
        output: 1.0,
        cached: None,
    };
    let model = Arc::new(Scripted::from_fn(|_| {
        with_usage(vec![ContentBlock::text("Hi.")], TAKES)
    }));
    let agent = builder(&model)
        .price("scripted", "m", price)
        .build()
        .unwrap();
    let mut session = agent.session("s").await.unwrap();
    session.run("Hi").await.unwrap();
    let spent = Spent {
        tokens: 400,
        cost: 400,
    };
    assert_eq!(session.view().unwrap().ledger().spent(), spent);
    assert_eq!(model.requests()[0].max_output_tokens, None);
}

#[tokio::test]
async fn a_service_that_does_not_tell_is_charged_by_estimate() {
    let model = Arc::new(Scripted::new([says("word ".repeat(200))]));
    let agent = builder(&model)
        .turn_budget(tokens(100_000))
        .build()
        .unwrap();
    let mut seen = Seen::default();
    let mut session = agent.session("s").await.unwrap();
    session
        .run_observed(Message::user("Hi"), &mut seen)
        .await
        .unwrap();
    let prompt = seen.reserved()[0].unwrap().prompt;
    assert_eq!(
        session.view().unwrap().ledger().spent().tokens,
        prompt + 200
    );
}

/// A counter of the day.
fn day(budget: Budget) -> SharedBudget {
    SharedBudget {
        counter: Arc::new(|| "day 2026-02-28".to_owned()),
        budget,
    }
}

#[tokio::test]
async fn a_day_is_shared_by_sessions_and_what_was_not_used_goes_back() {
    let store = Arc::new(MemoryStore::new());
    let model = restless(TAKES);
    let agent = builder(&model)
        .store(store.clone())
        .shared_budget(day(tokens(30_000)))
        .build()
        .unwrap();
    let mut texts = Vec::new();
    for id in ["one", "two"] {
        let outcome = agent.session(id).await.unwrap().run("Look.").await.unwrap();
        texts.push(outcome);
    }
    let asked = model.requests().len() as u64;
    // The first came to its rounds or to the day's limit; the second to the day's.
    let last = limit(&texts[1].reason);
    assert!(
        last.starts_with("the budget `day 2026-02-28` of 30000 tokens"),
        "{last}"
    );
    assert!(!texts[1].text.is_empty());
    // The counter holds exactly what the replies said: one token more than the rest does not fit.
    let rest = i64::try_from(30_000 - 400 * asked).unwrap();
    let counter = "day 2026-02-28 tokens";
    assert!(!store.count(counter, rest + 1, 30_000).await.unwrap());
    assert!(store.count(counter, rest, 30_000).await.unwrap());
}

#[tokio::test]
async fn failures_are_charged_only_where_the_service_may_have_worked() {
    for (class, charged) in [
        (FailureClass::BadRequest, false),
        (FailureClass::Auth, false),
        (FailureClass::Filtered, true),
    ] {
        let model = Arc::new(Scripted::new([fails(class)]).repeating());
        let agent = builder(&model)
            .turn_budget(tokens(100_000))
            .shared_budget(day(tokens(100_000)))
            .build()
            .unwrap();
        let mut seen = Seen::default();
        let mut session = agent.session("s").await.unwrap();
        session
            .run_observed(Message::user("Hi"), &mut seen)
            .await
            .unwrap();
        let whole: u64 = seen
            .reserved()
            .iter()
            .map(|reserved| reserved.unwrap().whole().tokens)
            .sum();
        let spent = session.view().unwrap().ledger().spent().tokens;
        assert_eq!(spent, if charged { whole } else { 0 }, "{class:?}");
    }
}

#[tokio::test]
async fn a_retry_is_reserved_again() {
    let busy = || ProviderError::new(FailureClass::RateLimit, "slow down");
    let model = Arc::new(Scripted::new([
        busy().into(),
        with_usage(vec![ContentBlock::text("Now.")], TAKES).into(),
    ]));
    let agent = builder(&model)
        .turn_budget(tokens(100_000))
        .build()
        .unwrap();
    tokio::time::pause();
    let mut seen = Seen::default();
    let mut session = agent.session("s").await.unwrap();
    let outcome = session
        .run_observed(Message::user("Hi"), &mut seen)
        .await
        .unwrap();
    assert_eq!(outcome.text, "Now.");
    assert_eq!(seen.reserved().len(), 2);
    assert_eq!(session.view().unwrap().ledger().spent().tokens, 400);
}
