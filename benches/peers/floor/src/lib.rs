//! The floor: an agent loop by hand, of reqwest and serde_json.
//!
//! The history is kept as the bytes that are sent, replies are parsed borrowed, and nothing is checked beyond what
//! serde does. It has no limits, no retry and no cancelling: the least that gives the same answers. Where `BENCH_JOURNAL`
//! names a file, what is new is appended to it and synced before each request, the least that survives a crash.

use std::borrow::Cow;
use std::fs::File;
use std::io::Write as _;
use std::time::Duration;

use bench_common::{PROMPT, SYSTEM, figures, modes};
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

/// Calls a tool by its name.
///
/// # Errors
///
/// Fails when the arguments are not the tool's.
pub fn dispatch(name: &str, arguments: &str) -> Result<String, serde_json::Error> {
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

/// The tools as a request offers them.
pub const TOOLS: &str = concat!(
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

/// What was said before, four messages at a time: question, call, result, answer.
pub fn past_bytes(messages: usize) -> Vec<u8> {
    let turns = (0..messages / 4).map(|turn| {
        format!(
            concat!(
                r#",{{"role":"user","content":"And what is the weather tomorrow?"}}"#,
                r#",{{"role":"assistant","content":null,"tool_calls":[{{"id":"past_{turn}","type":"function","function":{{"name":"get_weather","arguments":"{{\"city\":\"Oslo\",\"days\":3,\"metric\":true}}"}}}}]}}"#,
                r#",{{"role":"tool","content":"Oslo: 3 days, metric=true","tool_call_id":"past_{turn}"}}"#,
                r#",{{"role":"assistant","content":"It stays mild, with some rain."}}"#
            ),
            turn = turn
        )
    });
    turns.collect::<String>().into_bytes()
}

/// A conversation as the bytes that are sent. Whoever sends them, all else of a floor is here.
pub struct Conversation(Vec<u8>);

impl Conversation {
    /// Begins one.
    pub fn new(model: &str, system: &str, stream: bool) -> Self {
        let head = format!(
            r#"{{"model":"{model}","stream":{stream},"tools":{TOOLS},"messages":[{{"role":"system","content":"{system}"}}"#
        );
        Self(head.into_bytes())
    }

    /// Takes over messages as they are sent, a comma before each.
    pub fn extend(&mut self, messages: &[u8]) {
        self.0.extend_from_slice(messages);
    }

    /// Asks.
    pub fn ask(&mut self, prompt: &str) {
        self.0.extend_from_slice(br#",{"role":"user","content":"#);
        self.string(prompt);
        self.0.push(b'}');
    }

    /// Returns the request's body.
    pub fn body(&self) -> Vec<u8> {
        let mut body = Vec::with_capacity(self.0.len() + 2);
        body.extend_from_slice(&self.0);
        body.extend_from_slice(b"]}");
        body
    }

    /// Takes a reply: runs the calls it makes, or returns its text.
    ///
    /// # Panics
    ///
    /// Panics when it is no chat completion, or a call's arguments are not its tool's.
    pub fn take(&mut self, reply: &[u8]) -> Option<String> {
        let reply: Reply<'_> = serde_json::from_slice(reply).expect("a completion");
        let said = &reply.choices[0].message;
        let Some(raw) = said.tool_calls else {
            let text = said.content.clone().unwrap_or_default().into_owned();
            self.0
                .extend_from_slice(br#",{"role":"assistant","content":"#);
            self.string(&text);
            self.0.push(b'}');
            return Some(text);
        };
        self.0
            .extend_from_slice(br#",{"role":"assistant","content":null,"tool_calls":"#);
        self.0.extend_from_slice(raw.get().as_bytes());
        self.0.push(b'}');
        let calls: Vec<Call<'_>> = serde_json::from_str(raw.get()).expect("calls");
        for call in calls {
            let result = dispatch(&call.function.name, &call.function.arguments);
            self.0
                .extend_from_slice(br#",{"role":"tool","tool_call_id":"#);
            self.string(&call.id);
            self.0.extend_from_slice(br#","content":"#);
            self.string(&result.expect("arguments"));
            self.0.push(b'}');
        }
        None
    }

    fn string(&mut self, text: &str) {
        serde_json::to_writer(&mut self.0, text).expect("text is JSON");
    }
}

/// Reads the events of a stream, and counts the pieces of text.
#[derive(Default)]
pub struct Events(Vec<u8>);

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow, default)]
    content: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Piece<'a> {
    #[serde(borrow)]
    delta: Delta<'a>,
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    choices: Vec<Piece<'a>>,
}

impl Events {
    /// Takes the next bytes; returns how many pieces of text they completed.
    ///
    /// # Panics
    ///
    /// Panics at what is no chunk of a chat completion.
    pub fn feed(&mut self, bytes: &[u8]) -> usize {
        let mut pieces = 0;
        self.0.extend_from_slice(bytes);
        while let Some(end) = self.0.windows(2).position(|two| two == b"\n\n") {
            let data = self.0[..end].strip_prefix(b"data: ");
            if let Some(data) = data.filter(|data| *data != b"[DONE]") {
                let chunk: Chunk<'_> = serde_json::from_slice(data).expect("a chunk");
                let texts = chunk
                    .choices
                    .iter()
                    .filter_map(|it| it.delta.content.as_ref());
                pieces += texts.filter(|text| !text.is_empty()).count();
            }
            self.0.drain(..end + 2);
        }
        pieces
    }
}

/// An agent by hand over reqwest.
pub struct Agent {
    http: reqwest::Client,
    url: String,
    model: String,
    journal: Option<File>,
}

impl Agent {
    async fn post(&self, body: Vec<u8>) -> reqwest::Response {
        let post = self
            .http
            .post(&self.url)
            .header("authorization", "Bearer k")
            .header("content-type", "application/json")
            .body(body);
        post.send().await.expect("an answer")
    }

    /// Runs one turn on what was said so far.
    pub async fn run_on(&self, said: &mut Conversation, prompt: &str) -> String {
        let mut kept = 0;
        said.ask(prompt);
        loop {
            if let Some(mut journal) = self.journal.as_ref() {
                let new = &said.0[kept..];
                journal.write_all(new).expect("a file that can be written");
                journal.sync_data().expect("a file that can be synced");
                kept = said.0.len();
            }
            let reply = self.post(said.body()).await.bytes().await;
            if let Some(text) = said.take(&reply.expect("a body")) {
                return text;
            }
        }
    }
}

impl modes::Agent for Agent {
    fn new(base: &str, model: &str) -> Self {
        #[cfg(feature = "tls")]
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().no_proxy().tcp_nodelay(true);
        Self {
            http: http.build().expect("a client"),
            url: format!("{base}/chat/completions"),
            model: model.to_owned(),
            journal: std::env::var_os("BENCH_JOURNAL")
                .map(|file| File::create(file).expect("a file that can be written")),
        }
    }

    async fn run(&self) -> String {
        let mut said = Conversation::new(&self.model, SYSTEM, false);
        self.run_on(&mut said, PROMPT).await
    }

    async fn stream(&self) -> usize {
        let mut said = Conversation::new(&self.model, SYSTEM, true);
        said.ask(PROMPT);
        let mut response = self.post(said.body()).await;
        let (mut events, mut pieces) = (Events::default(), 0);
        while let Some(bytes) = response.chunk().await.expect("a body") {
            pieces += events.feed(&bytes);
        }
        pieces
    }

    async fn run_after(&self, messages: usize) -> Option<Duration> {
        let mut said = Conversation::new(&self.model, SYSTEM, false);
        said.extend(&past_bytes(messages));
        let start = figures::cpu();
        let answer = self.run_on(&mut said, PROMPT).await;
        let spent = figures::cpu() - start;
        assert!(answer.ends_with("0.75."), "{answer}");
        Some(spent)
    }

    async fn call(&self, arguments: &str) -> String {
        dispatch("get_weather", arguments).expect("arguments")
    }
}
