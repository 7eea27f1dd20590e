//! Errors as services word them.

use serde_json::json;

use super::*;

#[test]
fn every_shape_of_error_body_is_read() {
    let cases = [
        (
            json!({"error": {"message": "m", "type": "t", "code": "c"}}),
            ("m", "c t", None),
        ),
        (
            json!({"error": {"message": "m", "code": 502}}),
            ("m", "", Some(502)),
        ),
        (
            json!({"error": {"message": "m", "code": "429"}}),
            ("m", "", Some(429)),
        ),
        (json!({"error": "m"}), ("m", "", None)),
        (
            json!([{"error": {"message": "m", "status": "X"}}]),
            ("m", "X", None),
        ),
        (
            json!({"object": "error", "message": "m", "code": 400}),
            ("m", "", Some(400)),
        ),
        (json!({"detail": "m"}), ("m", "", None)),
        (
            json!({"detail": [{"msg": "m"}]}),
            ("[{\"msg\":\"m\"}]", "", None),
        ),
        (json!({"errors": [{"message": "m"}]}), ("m", "", None)),
        (
            json!({"base_resp": {"status_code": 1008, "status_msg": "m"}}),
            ("m", "", None),
        ),
        (
            json!({"code": "c", "message": "m", "request_id": "r"}),
            ("m", "c", None),
        ),
    ];
    for (body, (message, code, status)) in cases {
        let expected = Complaint {
            message: message.into(),
            code: code.into(),
            status,
            ..Complaint::default()
        };
        assert_eq!(Complaint::in_body(&body), Some(expected), "{body}");
    }
    for body in [
        json!({"choices": [], "error": null}),
        json!({"choices": [], "error": ""}),
        json!({"choices": [], "error": {}, "errors": []}),
        json!({}),
        json!(1),
        json!([]),
    ] {
        assert_eq!(Complaint::in_body(&body), None, "{body}");
    }
    // A stream may hold notices that are no errors.
    let notice = json!({"status": "queued", "message": "2 before you"});
    assert_eq!(Complaint::find(&notice), None);
}

#[test]
fn words_and_status_decide_the_class() {
    use FailureClass::*;
    let cases = [
        (Some(401), "incorrect api key provided", Auth),
        (
            Some(400),
            "api key not valid. please pass a valid api key",
            Auth,
        ),
        (Some(402), "", Quota),
        (
            Some(429),
            "insufficient_quota you exceeded your current quota",
            Quota,
        ),
        (
            Some(429),
            "rate_limit_exceeded request too large: context length",
            RateLimit,
        ),
        (
            Some(400),
            "this model's maximum context length is 8192 tokens",
            ContextLength,
        ),
        (
            Some(400),
            "the request exceeds the available context size, try increasing it",
            ContextLength,
        ),
        (Some(413), "", ContextLength),
        (
            Some(400),
            "registry.ollama.ai/library/gemma:2b does not support tools",
            ToolsUnsupported,
        ),
        (
            Some(400),
            "the model does not support tools. for more information, see the restrictions.",
            ToolsUnsupported,
        ),
        (
            Some(429),
            "resource_exhausted you exceeded your current quota. please retry in 17s.",
            RateLimit,
        ),
        (
            Some(400),
            "`tools` is not supported by this model",
            ToolsUnsupported,
        ),
        (
            Some(400),
            "unsupported parameter: 'tools'",
            ToolsUnsupported,
        ),
        (
            Some(400),
            "this model does not support function calling",
            ToolsUnsupported,
        ),
        (
            Some(400),
            "tool calling is not supported with this model",
            ToolsUnsupported,
        ),
        (
            Some(404),
            "no endpoints found that support tool use",
            ToolsUnsupported,
        ),
        (
            Some(500),
            "tools param requires --jinja flag",
            ToolsUnsupported,
        ),
        (
            Some(400),
            "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser",
            ToolsUnsupported,
        ),
        (
            Some(400),
            "invalid schema for function 'f': 'oneof' is not permitted",
            SchemaRefused,
        ),
        (
            Some(400),
            "tools[0].function.parameters: keyword not supported",
            SchemaRefused,
        ),
        (
            Some(400),
            "unsupported parameter: 'parallel_tool_calls'",
            BadRequest,
        ),
        (
            Some(400),
            "tool_choice 'required' is not supported",
            BadRequest,
        ),
        (
            Some(400),
            "invalid parameter: messages with role 'tool' must follow 'tool_calls'",
            BadRequest,
        ),
        (
            Some(400),
            "content_filter the prompt triggered our policy",
            Filtered,
        ),
        (
            Some(400),
            "tool_use_failed invalid_request_error failed to call a function.",
            MalformedCall,
        ),
        (
            Some(400),
            "invalid_request_error your credit balance is too low to access the api.",
            Quota,
        ),
        (
            Some(400),
            "invalid_request_error prompt is too long: 210000 tokens > 200000 maximum",
            ContextLength,
        ),
        (
            Some(400),
            "invalid_argument function calling is not enabled for models/gemma-3",
            ToolsUnsupported,
        ),
        (
            Some(400),
            "tools.0.custom.input_schema: does not support oneof at the top level",
            SchemaRefused,
        ),
        (None, "billing_error", Quota),
        (None, "permission_error", Auth),
        (Some(404), "model_not_found", NotFound),
        (Some(409), "", Overloaded),
        (Some(422), "", BadRequest),
        (Some(529), "overloaded_error", Overloaded),
        (None, "rate_limit_exceeded slow down", RateLimit),
        (None, "model_not_found invalid_request_error", NotFound),
        (None, "anything else", Overloaded),
    ];
    for (status, text, class) in cases {
        assert_eq!(classify(status, text), class, "{status:?} {text}");
    }
}

#[test]
fn a_message_is_one_bounded_line_without_keys() {
    let text = format!(
        "bad\r\nkey 'sk-proj-abcdefghijkl'\u{1b}[31m {}",
        "é ".repeat(5000)
    );
    let message = bounded(&text);
    assert!(message.starts_with("bad key *** [31m é"), "{message}");
    assert_eq!(message.chars().count(), MAX_MESSAGE + 1);
}

#[test]
fn a_limit_that_passes_is_told_from_one_that_lasts() {
    use FailureClass::*;
    let retry = |delay: &str| json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay});
    let quota = |id: &str| {
        json!({"@type": "type.googleapis.com/google.rpc.QuotaFailure",
            "violations": [{"quotaId": id}]})
    };
    let cases = [
        (vec![], Quota, None),
        (vec![retry("17s")], RateLimit, Some(17_000)),
        (
            vec![quota("RequestsPerMinutePerProject"), retry("1.5s")],
            RateLimit,
            Some(1_500),
        ),
        (
            vec![quota("RequestsPerDayPerProject"), retry("17s")],
            Quota,
            None,
        ),
        (vec![retry("-1s")], Quota, None),
        (vec![retry("soon"), json!(3)], Quota, None),
    ];
    for (details, class, ms) in cases {
        let body = json!({"error": {
            "code": 429, "status": "RESOURCE_EXHAUSTED",
            "message": "You exceeded your current quota.", "details": details,
        }});
        let error = Complaint::in_body(&body).unwrap().into_error(429);
        assert_eq!(error.class, class, "{body}");
        assert_eq!(error.retry_after, ms.map(Duration::from_millis), "{body}");
    }
}
