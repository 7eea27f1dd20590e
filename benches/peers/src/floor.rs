//! The floor: an agent loop by hand, of reqwest and serde_json.
//!
//! The history is kept as the bytes that are sent, replies are parsed borrowed, and nothing is checked beyond what
//! serde does. It has no journal, no limits, no retry and no cancelling: the least that gives the same answers.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// Arguments of `get_weather`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weather<'a> {
    /// City.
    #[serde(borrow)]
    pub city: Cow<'a, str>,
    /// Days ahead.
    pub days: u32,
    /// Whether in metric units.
    pub metric: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Search<'a> {
    #[serde(borrow)]
    query: Cow<'a, str>,
    limit: u32,
    #[serde(borrow)]
    lang: Cow<'a, str>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Add3 {
    a: f64,
    b: f64,
    c: f64,
}

fn dispatch(name: &str, arguments: &str) -> Result<String, serde_json::Error> {
    Ok(match name {
        "get_weather" => {
            let Weather { city, days, metric } = serde_json::from_str(arguments)?;
            format!("{city}: {days} days, metric={metric}")
        }
        "search_docs" => {
            let Search { query, limit, lang } = serde_json::from_str(arguments)?;
            format!("{limit} hits for {query} in {lang}")
        }
        "add3" => {
            let Add3 { a, b, c } = serde_json::from_str(arguments)?;
            (a + b + c).to_string()
        }
        _ => format!("unknown tool {name}"),
    })
}

const TOOLS: &str = concat!(
    r#"[{"type":"function","function":{"name":"add3","description":"Adds three numbers.","parameters":{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"},"c":{"type":"number"}},"required":["a","b","c"],"additionalProperties":false}}},"#,
    r#"{"type":"function","function":{"name":"get_weather","description":"Tells the weather.","parameters":{"type":"object","properties":{"city":{"type":"string","description":"City."},"days":{"type":"integer","description":"Days ahead."},"metric":{"type":"boolean","description":"Whether in metric units."}},"required":["city","days","metric"],"additionalProperties":false}}},"#,
    r#"{"type":"function","function":{"name":"search_docs","description":"Searches documents.","parameters":{"type":"object","properties":{"query":{"type":"string","description":"What to look for."},"limit":{"type":"integer","description":"How many."},"lang":{"type":"string","description":"Language."}},"required":["query","limit","lang"],"additionalProperties":false}}}]"#
);

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    arguments: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    function: Function<'a>,
}

#[derive(Deserialize)]
struct Said<'a> {
    #[serde(borrow, default)]
    content: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    tool_calls: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    message: Said<'a>,
}

#[derive(Deserialize)]
struct Reply<'a> {
    #[serde(borrow)]
    choices: Vec<Choice<'a>>,
}

/// An agent by hand.
pub struct Agent {
    http: reqwest::Client,
    url: String,
}

impl Agent {
    /// Returns an agent of the service at `base`.
    pub fn new(base: &str) -> Self {
        // claw's features of reqwest are this program's too: without a provider no client is built, plain HTTP or not.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().no_proxy().tcp_nodelay(true);
        Self {
            http: http.build().expect("a client without TLS"),
            url: format!("{base}/chat/completions"),
        }
    }

    /// Returns the beginning of a request, up to the last message.
    pub fn history(model: &str, system: &str) -> Vec<u8> {
        let head = format!(r#"{{"model":"{model}","tools":{TOOLS},"messages":[{{"role":"system","content":"{system}"}}"#);
        head.into_bytes()
    }

    /// Runs one turn on what was said so far.
    pub async fn run(&self, history: &mut Vec<u8>, prompt: &str) -> String {
        history.extend_from_slice(br#",{"role":"user","content":"#);
        serde_json::to_writer(&mut *history, prompt).expect("text is JSON");
        history.push(b'}');
        loop {
            let mut body = Vec::with_capacity(history.len() + 2);
            body.extend_from_slice(history);
            body.extend_from_slice(b"]}");
            let post = self
                .http
                .post(&self.url)
                .header("authorization", "Bearer k")
                .header("content-type", "application/json")
                .body(body);
            let answer = post.send().await.expect("an answer");
            let answer = answer.bytes().await.expect("a body");
            let reply: Reply<'_> = serde_json::from_slice(&answer).expect("a completion");
            let said = &reply.choices[0].message;
            let Some(raw) = said.tool_calls else {
                let text = said.content.clone().unwrap_or_default().into_owned();
                history.extend_from_slice(br#",{"role":"assistant","content":"#);
                serde_json::to_writer(&mut *history, &text).expect("text is JSON");
                history.push(b'}');
                return text;
            };
            history.extend_from_slice(br#",{"role":"assistant","content":null,"tool_calls":"#);
            history.extend_from_slice(raw.get().as_bytes());
            history.push(b'}');
            let calls: Vec<Call<'_>> = serde_json::from_str(raw.get()).expect("calls");
            for call in calls {
                let result = dispatch(&call.function.name, &call.function.arguments);
                history.extend_from_slice(br#",{"role":"tool","tool_call_id":"#);
                serde_json::to_writer(&mut *history, &call.id).expect("text is JSON");
                history.extend_from_slice(br#","content":"#);
                serde_json::to_writer(&mut *history, &result.expect("arguments")).expect("text is JSON");
                history.push(b'}');
            }
        }
    }
}
