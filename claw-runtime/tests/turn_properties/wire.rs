//! What each provider sends of any history, checked by the rules of its service.

use std::sync::Arc;

use claw_runtime::event::{Event, Purpose};
use claw_runtime::message::Message;
use claw_runtime::provider::{
    Anthropic, DashScope, Gemini, Ollama, OpenAiChat, OpenAiResponses, Provider, Request,
};
use claw_runtime::session::View;
use claw_runtime::session::check::Family;
use proptest::prelude::*;
use secrecy::SecretString;

use super::cases;
use super::driver::toolset;
use super::history::{Deed, deed, journal};
use crate::support::{Server, answer, request};

/// The most histories of one journal that are sent.
const MOST: usize = 12;

fn provider(family: Family, base: &str) -> Arc<dyn Provider> {
    let key = Some(SecretString::from("a key".to_owned()));
    match family {
        Family::OpenAiChat => Arc::new(OpenAiChat::new("provider0", base, key).unwrap()),
        Family::OpenAiResponses => Arc::new(OpenAiResponses::new("provider0", base, key).unwrap()),
        Family::Anthropic => Arc::new(Anthropic::new("provider0", base, key).unwrap()),
        Family::Gemini => Arc::new(Gemini::new("provider0", base, key).unwrap()),
        Family::DashScope => Arc::new(DashScope::new("provider0", base, key).unwrap()),
        Family::Ollama => Arc::new(Ollama::new("provider0", base, key).unwrap()),
        other => panic!("no provider for {other:?}"),
    }
}

/// What is sent at each request of the journal, the last ones first.
fn histories(deeds: &[Deed]) -> Vec<Vec<Message>> {
    let mut view = View::default();
    let mut sent = Vec::new();
    for event in journal(deeds) {
        view.apply(&event);
        let asks = matches!(
            event,
            Event::ModelRequest {
                purpose: Purpose::Answer,
                ..
            }
        );
        if asks && !view.messages().is_empty() {
            sent.push(view.request_messages().into_owned());
        }
    }
    sent.reverse();
    sent.truncate(MOST);
    sent
}

async fn send(family: Family, histories: &[Vec<Message>]) -> Result<(), String> {
    let server = Server::start(histories.iter().map(|_| answer(500, "", "{}"))).await;
    let provider = provider(family, &server.base);
    let tools = toolset();
    for messages in histories {
        let request = Request {
            model: "model",
            system: "Be kind.",
            tools: Some(&tools),
            dialect: provider.dialect("model"),
            ..request(messages)
        };
        provider.complete(request, None).await.unwrap_err();
        let body = server.received().pop().ok_or("nothing was sent")?.json();
        family
            .check(&body)
            .map_err(|fault| format!("{family:?}: {fault}\n{body:#}"))?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases() / 20, ..ProptestConfig::default() })]

    #[test]
    fn every_service_takes_every_history(deeds in prop::collection::vec(deed(), 1..7)) {
        let histories = histories(&deeds);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        for family in Family::ALL {
            let sent = runtime.block_on(send(*family, &histories));
            prop_assert!(sent.is_ok(), "{}", sent.unwrap_err());
        }
    }
}
