//! Cases users report of other agents, as small inputs with the right outcome.

mod loops;
mod people;
mod prose;
mod refusals;
mod replies;

use std::time::Duration;

use claw_runtime::event::{Answer, EndReason, Event, Fact, GuardVerdict, Status};
use claw_runtime::message::{ContentBlock, Message, Role, StopReason, ToolCall};
use claw_runtime::policy::Policy;
use claw_runtime::provider::{FailureClass, Protocol, ProviderError, Reply, ToolChoice};
use claw_runtime::session::{Barrier, View};

use crate::driver::{Act, Ran, Run, World, check, run, said};

pub(crate) fn says(text: &str) -> Act {
    reply(vec![ContentBlock::text(text)], StopReason::Stop)
}

pub(crate) fn calls(calls: &[(&str, &str)]) -> Act {
    let content = calls
        .iter()
        .map(|(name, arguments)| ContentBlock::ToolCall(call("", name, arguments)));
    reply(content.collect(), StopReason::ToolCalls)
}

pub(crate) fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    }
}

pub(crate) fn reply(content: Vec<ContentBlock>, stop: StopReason) -> Act {
    Act::Reply(Reply {
        content,
        cut_calls: Vec::new(),
        stop,
        usage: None,
    })
}

fn fails(class: FailureClass) -> Act {
    Act::Fail {
        error: ProviderError::new(class, "no"),
        shown: false,
    }
}

fn breaks(text: &str) -> Act {
    Act::Fail {
        error: ProviderError {
            partial: vec![ContentBlock::text(text)],
            ..ProviderError::new(FailureClass::IncompleteStream, "broke")
        },
        shown: true,
    }
}

fn allow_all() -> Policy {
    Policy {
        allow: vec!["*".to_owned()],
        ..Policy::default()
    }
}

pub(crate) fn start(world: &World) -> Ran {
    let ran = run(world, View::default(), "one");
    check(ran.view.messages());
    ran
}

pub(crate) fn statuses(ran: &Ran) -> Vec<Status> {
    ran.events
        .iter()
        .filter_map(|event| match event {
            Event::Outcome { status, .. } => Some(*status),
            _ => None,
        })
        .collect()
}

fn roles(ran: &Ran) -> Vec<Role> {
    let messages = ran.view.messages().iter();
    messages.map(|message| message.role).collect()
}

pub(crate) fn results(messages: &[Message]) -> Vec<String> {
    let blocks = messages.iter().flat_map(|message| &message.content);
    blocks
        .filter_map(|block| match block {
            ContentBlock::ToolResult(result) => {
                Some(claw_runtime::message::text_of(&result.content))
            }
            _ => None,
        })
        .collect()
}

pub(crate) fn guards(ran: &Ran) -> Vec<GuardVerdict> {
    ran.events
        .iter()
        .filter_map(|event| match event {
            Event::Guard { verdict, .. } => Some(*verdict),
            _ => None,
        })
        .collect()
}

pub(crate) fn limit(ran: &Ran) -> &str {
    match &ran.outcome.reason {
        EndReason::Limit { limit } => limit,
        other => panic!("{other:?}"),
    }
}

fn failure(ran: &Ran) -> FailureClass {
    match &ran.outcome.reason {
        EndReason::Failed { class, .. } => *class,
        other => panic!("{other:?}"),
    }
}
