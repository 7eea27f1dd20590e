//! Events as a store keeps them: what is written is what is read.
#![allow(clippy::unwrap_used)]

use claw_runtime::budget::{Price, Reserved};
use claw_runtime::event::{Event, Purpose, ReAsk};
use claw_runtime::message::{ContentBlock, Image, StopReason, ToolCall, ToolResult, Usage};
use claw_runtime::provider::{Protocol, Target, ToolChoice};
use proptest::prelude::*;
use serde_json::Value;

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map("type|event|[a-z]{0,3}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn block() -> impl Strategy<Value = ContentBlock> {
    let text = any::<String>;
    let leaf = prop_oneof![
        text().prop_map(ContentBlock::text),
        text().prop_map(|text| ContentBlock::Reasoning { text }),
        text().prop_map(|url| ContentBlock::Image(Image::Url(url))),
        (text(), text()).prop_map(|(media_type, base64)| {
            ContentBlock::Image(Image::Data { media_type, base64 })
        }),
        (text(), text()).prop_map(|(uri, description)| ContentBlock::Resource { uri, description }),
        (text(), text(), text()).prop_map(|(id, name, arguments)| {
            ContentBlock::ToolCall(ToolCall {
                id,
                name,
                arguments,
            })
        }),
        (text(), text(), value()).prop_map(|(provider, model, value)| ContentBlock::Opaque {
            provider,
            model,
            value
        }),
    ];
    leaf.prop_recursive(2, 8, 3, move |inner| {
        (
            text(),
            text(),
            prop::collection::vec(inner, 0..3),
            any::<bool>(),
        )
            .prop_map(|(call_id, name, content, is_error)| {
                ContentBlock::ToolResult(ToolResult {
                    call_id,
                    name,
                    content,
                    is_error,
                })
            })
    })
}

fn event() -> impl Strategy<Value = Event> {
    let text = any::<String>;
    let usage = any::<[u64; 4]>().prop_map(|[input, output, cached, reasoning]| Usage {
        input_tokens: input,
        output_tokens: output,
        cached_tokens: cached,
        reasoning_tokens: reasoning,
    });
    let stop = prop_oneof![
        Just(StopReason::Length),
        Just(StopReason::Pause),
        text().prop_map(StopReason::Other)
    ];
    let target = (text(), text(), text()).prop_map(|(provider, model, toolset)| Target {
        provider,
        model,
        protocol: Protocol::Prompt,
        dialect: "json-schema".to_owned(),
        toolset,
    });
    let re_ask = prop::option::of((text(), text()).prop_map(|(said, fault)| ReAsk { said, fault }));
    let price = (0.0..1e6_f64, 0.0..1e6_f64, prop::option::of(0.0..1e6_f64));
    let price = price.prop_map(|(input, output, cached)| Price {
        input,
        output,
        cached,
    });
    let reserved = (any::<u64>(), any::<u64>(), prop::option::of(price));
    let reserved = prop::option::of(reserved.prop_map(|(prompt, output, price)| Reserved {
        prompt,
        output,
        price,
    }));
    prop_oneof![
        (
            prop::collection::vec(block(), 0..4),
            stop,
            prop::option::of(usage),
            any::<bool>()
        )
            .prop_map(|(content, stop, usage, incomplete)| Event::Assistant {
                content,
                stop,
                usage,
                incomplete
            }),
        (any::<u32>(), target, re_ask, reserved, any::<bool>()).prop_map(
            |(round, target, re_ask, reserved, constrained)| Event::ModelRequest {
                round,
                attempt: 1,
                target: target.into(),
                tool_choice: ToolChoice::None,
                re_ask,
                constrained,
                purpose: Purpose::Answer,
                reserved,
            }
        ),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_what_is_read(event in event()) {
        let text = serde_json::to_string(&event).unwrap();
        let read: Event = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(&read, &event, "{}", text);
        prop_assert_eq!(serde_json::to_string(&read).unwrap(), text);
    }
}
