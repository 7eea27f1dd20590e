//! Answers whose values are of another shape than documented: what they evidently mean is read, in every format.

use crate::odd::{answer, check_of};

/// Returns the events of a stream.
fn events(documents: &[&str]) -> String {
    let event = |json: &&str| format!("data: {json}\n\n");
    documents.iter().map(event).collect()
}

fn lines(documents: &[&str]) -> String {
    documents.iter().map(|json| format!("{json}\n")).collect()
}

async fn check(format: &str, cases: &[(String, &'static str)]) {
    let cases = cases
        .iter()
        .map(|(body, expected)| (answer("", body), *expected));
    check_of(format, cases.collect()).await;
}

#[tokio::test(start_paused = true)]
async fn chat_completions() {
    let whole =
        |said: &str| format!(r#"{{"choices":[{{"message":{said},"finish_reason":"stop"}}]}}"#);
    let end = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
    let piece = |said: &str| {
        let piece = format!(r#"{{"choices":[{{"index":0,"delta":{said}}}]}}"#);
        events(&[&piece, end, "[DONE]"])
    };
    let call = r#"{"id":"a","function":{"name":"f","arguments":{"x":1}}}"#;
    let mut cases = vec![
        (
            r#"{"choices":{"message":{"content":"Hi"},"finish_reason":"stop"}}"#.to_owned(),
            "Hi",
        ),
        (
            whole(&format!(r#"{{"tool_calls":{call}}}"#)),
            r#"a f {"x":1}"#,
        ),
        (
            piece(&format!(r#"{{"tool_calls":{call}}}"#)),
            r#"a f {"x":1}"#,
        ),
    ];
    for said in [
        r#""Hi""#,
        r#"{"content":{"type":"text","text":"Hi"}}"#,
        r#"{"content":["H",{"text":"i"}]}"#,
        r#"{"content":"Hi","tool_calls":""}"#,
        r#"{"content":"Hi","tool_calls":"none"}"#,
        r#"{"content":"Hi","tool_calls":{}}"#,
    ] {
        cases.extend([(whole(said), "Hi"), (piece(said), "Hi")]);
    }
    check("openai_chat", &cases).await;
}

#[tokio::test(start_paused = true)]
async fn anthropic_messages() {
    let whole = |content: &str| {
        format!(
            r#"{{"type":"message","role":"assistant","content":{content},"stop_reason":"end_turn"}}"#
        )
    };
    let end = r#"{"type":"message_stop"}"#;
    let piece = |start: &str, deltas: &[&str]| {
        let start =
            format!(r#"{{"type":"content_block_start","index":0,"content_block":{start}}}"#);
        let deltas = deltas
            .iter()
            .map(|delta| format!(r#"{{"type":"content_block_delta","index":0,"delta":{delta}}}"#));
        let all: Vec<String> = [start]
            .into_iter()
            .chain(deltas)
            .chain([end.to_owned()])
            .collect();
        events(&all.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let call = r#"{"type":"tool_use","id":"a","name":"f","input":{}}"#;
    let json = |value: &str| format!(r#"{{"type":"input_json_delta","partial_json":{value}}}"#);
    let (empty, first, second) = (json("{}"), json(r#""{\"x\":""#), json(r#""1}""#));
    let object = json(r#"{"x":1}"#);
    let read = r#"a f {"x":1}"#;
    let text = r#"{"type":"text","text":""}"#;
    check(
        "anthropic",
        &[
            (whole(r#""Hi""#), "Hi"),
            (whole(r#"["H",{"type":"text","text":"i"}]"#), "Hi"),
            (whole(r#"{"type":"text","text":"Hi"}"#), "Hi"),
            (whole(r#"[{"text":"Hi"}]"#), "Hi"),
            (whole(&call.replace("{}", r#"{"x":1}"#)), read),
            (piece(text, &[r#""H""#, r#""i""#]), "Hi"),
            (piece(text, &[r#"{"text":"Hi"}"#]), "Hi"),
            (piece(r#""H""#, &[r#""i""#]), "Hi"),
            (piece(call, &[&empty, &first, &second]), read),
            (piece(call, &[&object]), read),
            (piece(call, &[&object, &first, &second]), read),
            (piece(call, &[&first, &second, &empty]), read),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn gemini_answers() {
    let whole = |candidates: &str| format!(r#"{{"candidates":{candidates}}}"#);
    let content = |content: &str| {
        whole(&format!(
            r#"[{{"content":{content},"finishReason":"STOP"}}]"#
        ))
    };
    let mut cases = vec![(
        whole(r#"{"content":{"parts":[{"text":"Hi"}]},"finishReason":"STOP"}"#),
        "Hi",
    )];
    for said in [
        r#"{"parts":{"text":"Hi"}}"#,
        r#"{"parts":"Hi"}"#,
        r#"{"parts":["H",{"text":"i"}]}"#,
        r#"[{"text":"Hi"}]"#,
        r#""Hi""#,
    ] {
        cases.push((content(said), "Hi"));
        cases.push((events(&[&content(said)]), "Hi"));
    }
    let call = r#"{"parts":{"functionCall":{"id":"a","name":"f","args":{"x":1}}}}"#;
    cases.push((content(call), r#"a f {"x":1}"#));
    check("gemini", &cases).await;
}

#[tokio::test(start_paused = true)]
async fn responses() {
    let whole = |output: &str| format!(r#"{{"status":"completed","output":{output}}}"#);
    let done = |output: &str| {
        let done = format!(
            r#"{{"type":"response.completed","response":{}}}"#,
            whole(output)
        );
        events(&[&done])
    };
    let mut cases = vec![
        (
            r#"{"status":"completed","output_text":"Hi"}"#.to_owned(),
            "Hi",
        ),
        (r#"{"output":"Hi"}"#.to_owned(), "Hi"),
        (
            events(&[
                r#"{"type":"response.output_text.delta","output_index":0,"delta":{"text":"Hi"}}"#,
                r#"{"type":"response.completed","response":{"status":"completed","output":[]}}"#,
            ]),
            "Hi",
        ),
        (
            events(&[
                r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"a","name":"f","arguments":{}}}"#,
                r#"{"type":"response.function_call_arguments.done","output_index":0,"arguments":{"x":1}}"#,
                r#"{"type":"response.completed","response":{"status":"completed"}}"#,
            ]),
            r#"a f {"x":1}"#,
        ),
    ];
    for output in [
        r#"[{"type":"message","content":"Hi"}]"#,
        r#"[{"type":"message","content":{"type":"output_text","text":"Hi"}}]"#,
        r#"[{"type":"message","content":["H",{"text":"i"}]}]"#,
        r#"{"type":"message","content":[{"text":"Hi"}]}"#,
        r#"["Hi"]"#,
        r#""Hi""#,
    ] {
        cases.extend([(whole(output), "Hi"), (done(output), "Hi")]);
    }
    let call = r#"{"type":"function_call","call_id":"a","name":"f","arguments":{"x":1}}"#;
    cases.extend([
        (whole(call), r#"a f {"x":1}"#),
        (done(call), r#"a f {"x":1}"#),
    ]);
    check("openai_responses", &cases).await;
}

#[tokio::test(start_paused = true)]
async fn ollama_answers() {
    let line = |said: &str| format!(r#"{{"message":{said},"done":true,"done_reason":"stop"}}"#);
    let begin = r#"{"message":{"content":"H"},"done":false}"#;
    let end = r#"{"message":{"content":"i"},"done":true}"#;
    let mut cases = vec![
        (format!("[{begin},{end}]"), "Hi"),
        (format!("[{}]", line(r#"{"content":"Hi"}"#)), "Hi"),
        (lines(&[begin, &format!("[{end}]")]), "Hi"),
        (
            format!("[[{begin}]]"),
            "! BadResponse: the answer is no JSON of an Ollama answer; check the base URL",
        ),
    ];
    for said in [
        r#""Hi""#,
        r#"{"content":[{"type":"text","text":"Hi"}]}"#,
        r#"{"content":{"text":"Hi"}}"#,
    ] {
        cases.push((line(said), "Hi"));
    }
    let call = r#"{"tool_calls":{"id":"a","function":{"name":"f","arguments":{"x":1}}}}"#;
    cases.push((line(call), r#"a f {"x":1}"#));
    check("ollama", &cases).await;
}

#[tokio::test(start_paused = true)]
async fn dashscope_answers() {
    let whole = |output: &str| format!(r#"{{"output":{output}}}"#);
    let mut cases = Vec::new();
    for output in [
        r#""Hi""#,
        r#"{"choices":{"message":{"content":"Hi"},"finish_reason":"stop"}}"#,
        r#"{"choices":[{"message":"Hi","finish_reason":"stop"}]}"#,
        r#"{"choices":[{"message":{"content":{"text":"Hi"}},"finish_reason":"stop"}]}"#,
        r#"{"choices":[{"message":{"content":["H",{"text":"i"}]},"finish_reason":"stop"}]}"#,
    ] {
        cases.push((whole(output), "Hi"));
    }
    check("dashscope", &cases).await;
}
