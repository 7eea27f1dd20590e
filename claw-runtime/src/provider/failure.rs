//! What a service's error means, from its status and words.
//!
//! Services agree on nothing here: the same fault is a 400, a 500 or a 200, and often only its sentence tells. The
//! wordings below are those of servers in use.

use std::time::Duration;

use serde_json::Value;

use super::{FailureClass, ProviderError};

/// The longest message kept, in characters.
const MAX_MESSAGE: usize = 600;

/// What a service says went wrong.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Complaint {
    /// Its sentence.
    pub(crate) message: String,
    /// Its words for the kind of error: code, type, status.
    pub(crate) code: String,
    /// The part of the request it names apart from its sentence.
    pub(crate) part: String,
    /// The HTTP status it names, where the real one says nothing.
    pub(crate) status: Option<u16>,
    /// What it says of limits that were reached (Google).
    pub(crate) limit: Option<Limit>,
}

/// A limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// It is over after this time.
    Passes(Duration),
    /// It holds for the day.
    Lasts,
}

impl Limit {
    /// Finds it in the details of an error.
    fn find(error: &Value) -> Option<Self> {
        let details = || error["details"].as_array().into_iter().flatten();
        let violations = details().flat_map(|it| it["violations"].as_array().into_iter().flatten());
        let mut quotas = violations.filter_map(|it| it["quotaId"].as_str());
        if quotas.any(|quota| quota.contains("PerDay")) {
            return Some(Self::Lasts);
        }
        let delay = details().find_map(|it| it["retryDelay"].as_str()?.strip_suffix('s'));
        let seconds: f64 = delay?.parse().ok()?;
        // A day is as good as forever.
        let wait = Duration::try_from_secs_f64(seconds.min(86_400.0)).ok()?;
        Some(Self::Passes(wait))
    }
}

impl Complaint {
    /// Finds the complaint in a JSON document, in any of the shapes in use; `None` when it is none.
    pub(crate) fn find(document: &Value) -> Option<Self> {
        let document = match document {
            Value::Array(list) => list.first()?,
            document => document,
        };
        let error = document.get("error").filter(is_said);
        let error = error.or_else(|| document.get("errors").and_then(|list| list.get(0)));
        match error {
            Some(Value::String(message)) => return Some(Self::of(document, message.clone())),
            Some(error @ Value::Object(_)) => return Some(Self::of(error, sentence(error))),
            Some(other) => return Some(Self::of(document, other.to_string())),
            None => {}
        }
        // MiniMax.
        if let Some(base) = document.get("base_resp")
            && base["status_code"].as_i64().is_some_and(|code| code != 0)
        {
            return Some(Self::of(base, sentence(base)));
        }
        let is_error = |key: &str| document[key] == "error";
        let has_code = match &document["code"] {
            Value::String(_) => !document["message"].is_null(),
            code => code.as_u64().is_some_and(|code| code >= 400),
        };
        (is_error("object") || is_error("type") || has_code)
            .then(|| Self::of(document, sentence(document)))
    }

    /// Finds the complaint in a body that ought to be one: a sentence alone will do.
    pub(crate) fn in_body(body: &Value) -> Option<Self> {
        Self::find(body).or_else(|| {
            let message = sentence(body);
            (!message.is_empty()).then(|| Self::of(body, message))
        })
    }

    fn of(error: &Value, mut message: String) -> Self {
        // Azure tells what its filter met.
        let filters = &error["innererror"]["content_filter_result"];
        let met = |(_, found): &(&String, &Value)| found["filtered"] == true;
        let met: Vec<&str> = filters
            .as_object()
            .into_iter()
            .flatten()
            .filter(met)
            .map(|(name, _)| name.as_str())
            .collect();
        if !met.is_empty() {
            message.push_str(&format!(" (filtered: {})", met.join(", ")));
        }
        let mut code = String::new();
        let mut status = None;
        for key in ["code", "type", "status", "error_type"] {
            let word = match error.get(key) {
                Some(Value::String(word)) => word.clone(),
                Some(Value::Number(number)) => number.to_string(),
                _ => continue,
            };
            if let Ok(number @ 400..=599) = word.parse() {
                status = status.or(Some(number));
            } else {
                code.push_str(&word);
                code.push(' ');
            }
        }
        Self {
            message,
            code: code.trim_end().to_owned(),
            part: error["param"].as_str().unwrap_or_default().to_owned(),
            status,
            limit: Limit::find(error),
        }
    }

    /// Returns the error that this complaint means under `status`; below 400 the one it names itself.
    pub(crate) fn into_error(self, status: u16) -> ProviderError {
        let status = if status >= 400 {
            Some(status)
        } else {
            self.status
        };
        let class = classify(
            status,
            &format!("{} {} {}", self.code, self.part, self.message).to_lowercase(),
        );
        // Within an answer there is no status, and the code often says more than the sentence.
        let code = self.code.split(' ').find(|code| *code != "error");
        let code = code.filter(|code| !code.is_empty() && !self.message.contains(*code));
        let message = match (self.message.trim(), code) {
            ("", _) if self.code.is_empty() => "no reason given".to_owned(),
            ("", _) => self.code,
            (_, Some(code)) if status.is_none() => format!("{} ({code})", self.message),
            _ => self.message,
        };
        let (class, retry_after) = match (class, self.limit) {
            (FailureClass::Quota, Some(Limit::Passes(wait))) => {
                (FailureClass::RateLimit, Some(wait))
            }
            (FailureClass::RateLimit, Some(Limit::Lasts)) => (FailureClass::Quota, None),
            (class, Some(Limit::Passes(wait))) => (class, Some(wait)),
            (class, _) => (class, None),
        };
        ProviderError {
            status,
            retry_after,
            ..ProviderError::new(class, bounded(&message))
        }
    }
}

fn sentence(error: &Value) -> String {
    let keys = [
        "message",
        "detail",
        "msg",
        "error_msg",
        "status_msg",
        "error",
    ];
    let said = keys.iter().filter_map(|key| error.get(key)).find(is_said);
    match said {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}

/// Tells an error from the empty one that some gateways put beside every answer.
fn is_said(error: &&Value) -> bool {
    match error {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Object(fields) => fields.values().any(|field| is_said(&field)),
        Value::Array(list) => list.iter().any(|item| is_said(&item)),
        Value::Number(code) => code.as_f64() != Some(0.0),
        Value::Bool(true) => true,
    }
}

/// Returns `text` on one line, without control characters, cut at a bound.
pub(crate) fn bounded(text: &str) -> String {
    let mut out = String::new();
    for (at, word) in text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .enumerate()
    {
        if at > 0 {
            out.push(' ');
        }
        // A service may repeat the key it refuses.
        out.push_str(if looks_secret(word) { "***" } else { word });
        if out.len() > 4 * MAX_MESSAGE {
            break;
        }
    }
    if let Some((at, _)) = out.char_indices().nth(MAX_MESSAGE) {
        out.truncate(at);
        out.push('…');
    }
    out
}

fn looks_secret(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    ["sk-", "sk_", "gsk_", "xai-", "hf_", "AIza"]
        .iter()
        .any(|prefix| word.starts_with(prefix) && word.len() >= prefix.len() + 8)
}

/// Returns the class of an error with this status whose code and message, in lower case, are `text`.
pub(crate) fn classify(status: Option<u16>, text: &str) -> FailureClass {
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let about_form = !matches!(status, Some(401 | 403 | 408 | 409 | 429));
    // Gemini says `quota` of a limit that is over in a minute, too.
    let passes = has(&["retry in", "per minute", "perminute"]);
    if status == Some(402) || (has(&QUOTA) && !passes) {
        return FailureClass::Quota;
    }
    if about_form && has(&CONTEXT) {
        return FailureClass::ContextLength;
    }
    if matches!(status, Some(400 | 422)) && refuses_schema(text) {
        return FailureClass::SchemaRefused;
    }
    if about_form && refuses_tools(text) {
        return FailureClass::ToolsUnsupported;
    }
    if status.is_none_or(|status| matches!(status, 400 | 403)) && has(&FILTER) {
        return FailureClass::Filtered;
    }
    match status {
        Some(400) if has(&BAD_CALL) => FailureClass::MalformedCall,
        Some(400) if has(&BAD_KEY) => FailureClass::Auth,
        Some(401 | 403) => FailureClass::Auth,
        Some(404 | 410) => FailureClass::NotFound,
        Some(408 | 409) => FailureClass::Overloaded,
        Some(413) => FailureClass::ContextLength,
        Some(429) => FailureClass::RateLimit,
        Some(400..=499) => FailureClass::BadRequest,
        Some(_) => FailureClass::Overloaded,
        None if has(&["rate limit", "rate_limit", "ratelimit", "too many requests"]) => {
            FailureClass::RateLimit
        }
        None if has(&BAD_KEY) || has(&["permission_error", "permission denied"]) => {
            FailureClass::Auth
        }
        None if has(&["not_found", "not found", "does not exist"]) => FailureClass::NotFound,
        None if has(&[
            "invalid_request",
            "invalid request",
            "bad_request",
            "validation",
        ]) =>
        {
            FailureClass::BadRequest
        }
        // An error without any known word, in an answer that had begun well: the service broke.
        None => FailureClass::Overloaded,
    }
}

const QUOTA: [&str; 10] = [
    "insufficient_quota",
    "insufficient quota",
    "exceeded your current quota",
    "insufficient balance",
    "insufficient_balance",
    "insufficient credits",
    "arrearage",
    "billing_hard_limit",
    "billing_error",
    "credit balance is too low",
];

const CONTEXT: [&str; 15] = [
    "context_length",
    "context length",
    "context window",
    "context size",
    "exceed_context_size",
    "prompt is too long",
    "prompt too long",
    "input is too long",
    "input too long",
    "input length",
    "too many input tokens",
    "maximum number of tokens allowed",
    "maximum prompt length",
    "reduce the length of the messages",
    "token count exceeds",
];

const FILTER: [&str; 5] = [
    "content_filter",
    "content_policy",
    "data_inspection_failed",
    "datainspectionfailed",
    "content management policy",
];

/// The service read the model's output as a call and could not (Groq).
const BAD_CALL: [&str; 1] = ["tool_use_failed"];

const BAD_KEY: [&str; 6] = [
    "api_key_invalid",
    "invalid_api_key",
    "invalid api key",
    "api key not valid",
    "incorrect api key",
    "authentication",
];

/// Tells whether the service refuses the schema of a tool or the field it came in, as against any other part of a tool.
fn refuses_schema(text: &str) -> bool {
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    // A reply's form is no tool's, though it is refused in the same words.
    let of_the_reply = has(&[
        "response_format",
        "responseformat",
        "response_schema",
        "responseschema",
        "response_json_schema",
        "responsejsonschema",
        "text.format",
        "output_config",
        "output_format",
    ]);
    !of_the_reply && (has(&SCHEMA) || (names_one_tool(text) && has(&SCHEMA_OF_ONE)))
}

/// Words of a tool's schema that services say of nothing else.
const SCHEMA: [&str; 17] = [
    // OpenAI, and services like it.
    "invalid_function_parameters",
    "invalid schema for function",
    "invalid schema for tool",
    "invalid json schema for tool",
    "invalid json schema for function",
    "invalid tool schema",
    "invalid function schema",
    "argument supplied: strict",
    // Anthropic.
    "input_schema",
    "strict tools",
    "strict tool use",
    "schema is too complex",
    // Gemini.
    "parametersjsonschema",
    "parameters_json_schema",
    "function_declaration.parameters",
    "functiondeclaration `parameters",
    "too many states for serving",
];

/// Names of what holds or rules a tool's schema, within a path.
const SCHEMA_OF_ONE: [&str; 6] = [
    ".parameters",
    "\"parameters\"",
    "'parameters'",
    ".strict",
    "\"strict\"",
    "'strict'",
];

/// Tells whether the model or server takes no tools at all, as against a fault in one tool or option.
fn refuses_tools(text: &str) -> bool {
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    // llama.cpp, vLLM and OpenRouter.
    if has(&[
        "requires --jinja",
        "--enable-auto-tool-choice",
        "support tool use",
    ]) {
        return true;
    }
    let of_tools = has(&[
        "tools",
        "tool use",
        "tool call",
        "tool_call",
        "function call",
        "function_call",
    ]);
    let refused = has(&[
        "not support",
        "n't support",
        "unsupported",
        "not enabled",
        "not available",
        "not permitted",
        "not allowed",
        "unrecognized request argument",
        "unknown parameter",
        "unknown field",
    ]);
    let of_a_part = has(&[
        "schema",
        ".parameters",
        "'parameters'",
        "`parameters`",
        "'strict'",
        "`strict`",
        "parallel",
        "tool_choice",
        "tool choice",
        "response_format",
    ]);
    of_tools && refused && !of_a_part && !names_one_tool(text)
}

/// Tells whether there is a path into the tools of a request: `tools[0].function`, `tools.0.custom`, `"tools",0,"function"`.
fn names_one_tool(text: &str) -> bool {
    text.match_indices("tools").any(|(at, word)| {
        let rest = &text[at + word.len()..];
        let rest = rest.strip_prefix(['"', '\'']).unwrap_or(rest);
        let index = rest.strip_prefix(',').map(str::trim_start);
        index.is_some_and(|index| index.starts_with(|c: char| c.is_ascii_digit()))
            || rest.starts_with('[')
            || rest
                .strip_prefix('.')
                .is_some_and(|path| path.starts_with(|c: char| c.is_ascii_alphanumeric()))
    })
}

#[cfg(test)]
mod tests;
