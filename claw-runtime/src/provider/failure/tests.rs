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
            Some(422),
            "unsupported parameters: 'tools', 'seed'",
            ToolsUnsupported,
        ),
        (
            Some(422),
            "[{\"loc\":[\"body\",\"tools\"],\"msg\":\"extra inputs are not permitted\"}]",
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
fn a_refused_schema_is_told_from_other_faults_of_a_tool() {
    use FailureClass::*;
    let openai = |param: &str, code: &str, message: &str| json!({"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}});
    let said = |message: &str| openai("", "", message);
    let pydantic = |loc: serde_json::Value| json!({"detail": [{"type": "extra_forbidden", "loc": loc, "msg": "Extra inputs are not permitted"}]});
    let refused = [
        openai(
            "tools[0].function.parameters",
            "invalid_function_parameters",
            "Invalid schema for function 'f': schema must be a JSON Schema of 'type: \"object\"'.",
        ),
        openai(
            "tools[12].strict",
            "unknown_parameter",
            "Unknown parameter.",
        ),
        said("Unrecognized request argument supplied: strict"),
        said(
            "invalid JSON schema for tool f, tools[0].function.parameters: `/properties/a`: bad type",
        ),
        said(
            "Invalid request: tools.function.parameters is not a valid moonshot flavored json schema",
        ),
        said("tools.0.custom.strict: Extra inputs are not permitted"),
        said(
            "tools.3.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12",
        ),
        said("Schema is too complex for compilation."),
        said("This model does not support strict tools."),
        said(
            "Invalid JSON payload received. Unknown name \"const\" at \
              'tools[0].function_declarations[0].parameters.properties[0].value': Cannot find field.",
        ),
        said(
            "* GenerateContentRequest.tools[0].function_declarations[0].parameters.properties[a].items: missing field.",
        ),
        said("The specified schema produces a constraint that has too many states for serving."),
        pydantic(json!(["body", "tools", 0, "function", "strict"])),
        pydantic(json!([
            "body",
            "tools",
            0,
            "function",
            "parameters",
            "type"
        ])),
    ];
    for body in refused {
        for status in [400, 422] {
            let error = Complaint::in_body(&body).unwrap().into_error(status);
            assert_eq!(error.class, SchemaRefused, "{body}");
        }
        // What a service says of a request is only said with these.
        let error = Complaint::in_body(&body).unwrap().into_error(500);
        assert_ne!(error.class, SchemaRefused, "{body}");
    }
    let others = [
        openai(
            "tools[0].function.name",
            "invalid_value",
            "Invalid 'tools[0].function.name': string too long.",
        ),
        openai(
            "tools",
            "array_above_max_length",
            "Invalid 'tools': array too long.",
        ),
        openai(
            "response_format",
            "",
            "Invalid schema for response_format 'x': 'a' is not permitted.",
        ),
        openai(
            "text.format.schema",
            "invalid_json_schema",
            "Invalid schema for function of text.format.",
        ),
        openai(
            "tool_choice",
            "",
            "Tool choice 'f' not found in 'tools' parameter.",
        ),
        said("tools.12.custom.type: 'x' is not supported."),
        said("tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"),
        said("output_config.format.schema: Schema is too complex for compilation."),
        said("Unsupported parameter: 'parallel_tool_calls'"),
        said("Invalid parameter: messages with role 'tool' must follow 'tool_calls'"),
        said("messages.1.content.0.tool_use.input: Input should be a valid dictionary"),
        said("Invalid value at 'generation_config.response_json_schema'"),
        pydantic(json!(["body", "tools", 0, "function", "name"])),
    ];
    for body in others {
        let error = Complaint::in_body(&body).unwrap().into_error(400);
        assert_eq!(error.class, BadRequest, "{body}");
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
