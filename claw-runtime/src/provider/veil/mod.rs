//! What a service is not told: personal numbers and the like, replaced by placeholders on their way out and put back in what
//! comes from it.
//!
//! The session keeps the values themselves, and so tools get them: a model that is told `[phone-1]` can still have that number
//! called. Only what is sent to the service is without them: instructions, what people, tools and the model said. Images, tool
//! definitions and what a service signed go as they are.
//!
//! Placeholders are numbered as their values first occur in the conversation. So they are the same in every request of a
//! session, which caches at the service need, and hidden from it better than any digest of a number would be.

mod names;
mod pattern;
mod restore;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use serde_json::Value;
use serde_json::value::RawValue;

use self::names::Names;
use self::pattern::{KNOWN, Pattern};
use self::restore::Restoring;
use super::{Capabilities, DeltaSink, History, Kept, Provider, ProviderError, Reply, Request};
use crate::dialect::Dialect;
use crate::message::{ContentBlock, Image, Message, ToolCall};
use crate::secret::Secrets;

/// What is replaced.
#[derive(Clone, Debug)]
pub struct Veil {
    /// What placeholders look like stands first, then the others as they were added.
    patterns: Vec<Pattern>,
}

/// Why a pattern cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VeilError {
    /// There is no pattern of this name.
    #[error("there is no pattern `{name}`; expected one of {}", listed())]
    Unknown {
        /// The name.
        name: String,
    },
    /// The name cannot stand in a placeholder, or is taken.
    #[error(
        "`{name}` cannot name a pattern; expected lower-case letters and hyphens, at most 32, and a name that is not taken"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// The regular expression is none.
    #[error("the expression of pattern `{name}` cannot be read: {message}")]
    Expression {
        /// The pattern's name.
        name: String,
        /// What is wrong with it.
        message: String,
    },
}

fn listed() -> String {
    KNOWN.map(|name| format!("`{name}`")).join(", ")
}

impl Veil {
    /// Returns a veil of known patterns, `identity-card` and `phone` (of mainland China), and of regular expressions by name.
    ///
    /// # Errors
    ///
    /// Fails for a name that is not known, or taken, or cannot stand in a placeholder, and for an expression that cannot be
    /// read.
    pub fn new<'n>(
        known: impl IntoIterator<Item = &'n str>,
        own: impl IntoIterator<Item = (&'n str, &'n str)>,
    ) -> Result<Self, VeilError> {
        let mut patterns: Vec<Pattern> = Vec::new();
        for name in known {
            let pattern = Pattern::known(name).ok_or_else(|| VeilError::Unknown {
                name: name.to_owned(),
            })?;
            if patterns.iter().all(|other| other.name != name) {
                patterns.push(pattern);
            }
        }
        for (name, regex) in own {
            let is_name = (1..=32).contains(&name.len())
                && name.bytes().all(|it| it.is_ascii_lowercase() || it == b'-');
            let is_taken = name == "text" || KNOWN.contains(&name);
            if !is_name || is_taken || patterns.iter().any(|other| other.name == name) {
                return Err(VeilError::Name {
                    name: name.to_owned(),
                });
            }
            let pattern = Pattern::own(name, regex).map_err(|error| VeilError::Expression {
                name: name.to_owned(),
                // The last line tells what is wrong, those before show where.
                message: error
                    .to_string()
                    .lines()
                    .last()
                    .unwrap_or_default()
                    .to_owned(),
            })?;
            patterns.push(pattern);
        }
        let names: Vec<&str> = patterns.iter().map(|it| it.name.as_str()).collect();
        let placeholder = Pattern::placeholder(&names);
        patterns.insert(0, placeholder);
        Ok(Self { patterns })
    }

    fn message(&self, names: &mut Names, message: &Message) -> Message {
        let mut message = message.clone();
        self.content(names, &mut message.content);
        message
    }

    fn content(&self, names: &mut Names, content: &mut [ContentBlock]) {
        for block in content {
            match block {
                ContentBlock::Text { text } | ContentBlock::Reasoning { text } => {
                    self.text(names, text);
                }
                ContentBlock::ToolCall(call) => self.call(names, call),
                ContentBlock::ToolResult(result) => self.content(names, &mut result.content),
                ContentBlock::Resource { uri, description } => {
                    self.text(names, uri);
                    self.text(names, description);
                }
                ContentBlock::Image(Image::Url(url)) => self.text(names, url),
                ContentBlock::Image(Image::Data { .. }) | ContentBlock::Opaque { .. } => {}
            }
        }
    }

    fn text(&self, names: &mut Names, text: &mut String) {
        if let Some(hidden) = names.hide(self, text) {
            *text = hidden;
        }
    }

    /// Hides what the arguments hold; they stay JSON.
    fn call(&self, names: &mut Names, call: &mut ToolCall) {
        // Escaped text reads otherwise than it stands, and a number that is hidden is none any more.
        let is_json = |text: &str| serde_json::from_str::<&RawValue>(text).is_ok();
        if !call.arguments.contains('\\') {
            match names.hide(self, &call.arguments) {
                None => return,
                Some(hidden) if is_json(&hidden) || !is_json(&call.arguments) => {
                    call.arguments = hidden;
                    return;
                }
                Some(_) => {}
            }
        }
        match serde_json::from_str(&call.arguments) {
            Ok(mut value) => {
                self.value(names, &mut value);
                call.arguments = Value::to_string(&value);
            }
            Err(_) => self.text(names, &mut call.arguments),
        }
    }

    fn value(&self, names: &mut Names, value: &mut Value) {
        match value {
            Value::String(text) => self.text(names, text),
            Value::Number(number) => {
                if let Some(hidden) = names.hide(self, &number.to_string()) {
                    *value = hidden.into();
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(names, item)),
            Value::Object(members) => {
                let old = std::mem::take(members);
                for (mut name, mut member) in old {
                    self.text(names, &mut name);
                    self.value(names, &mut member);
                    members.insert(name, member);
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
}

/// A provider whose service is told placeholders for what the veil hides.
pub struct Veiled {
    provider: Arc<dyn Provider>,
    veil: Veil,
    /// The most values of each pattern that a request has hidden.
    most: Mutex<Vec<usize>>,
}

impl Veiled {
    /// Puts the veil before a provider.
    pub fn new(provider: Arc<dyn Provider>, veil: Veil) -> Self {
        Self {
            provider,
            veil,
            most: Mutex::default(),
        }
    }

    fn note(&self, counts: &[usize]) {
        let mut most = self.most.lock().unwrap_or_else(PoisonError::into_inner);
        most.resize(self.veil.patterns.len(), 0);
        for (most, count) in most.iter_mut().zip(counts) {
            *most = (*most).max(*count);
        }
    }
}

/// What the service was told of a conversation whose messages do not change any more.
#[derive(Default)]
struct Told {
    instructions: String,
    system: String,
    messages: Vec<Message>,
    names: Names,
    kept: Kept,
}

impl Told {
    fn new(veil: &Veil, instructions: &str) -> Self {
        let mut names = Names::default();
        let mut system = instructions.to_owned();
        veil.text(&mut names, &mut system);
        Self {
            instructions: instructions.to_owned(),
            system,
            names,
            ..Self::default()
        }
    }
}

impl Provider for Veiled {
    fn name(&self) -> &str {
        self.provider.name()
    }

    fn secrets(&self, known: &Secrets) {
        self.provider.secrets(known);
    }

    fn hidden(&self) -> BTreeMap<String, usize> {
        let most = self.most.lock().unwrap_or_else(PoisonError::into_inner);
        let patterns = self.veil.patterns.iter().zip(&*most).skip(1);
        patterns
            .filter(|(_, count)| **count > 0)
            .map(|(pattern, count)| (pattern.name.clone(), *count))
            .collect()
    }

    fn capabilities(&self, model: &str) -> Capabilities {
        self.provider.capabilities(model)
    }

    fn dialect(&self, model: &str) -> &'static Dialect {
        self.provider.dialect(model)
    }

    fn takes_form(&self, model: &str) -> bool {
        self.provider.takes_form(model)
    }

    fn complete<'a>(
        &'a self,
        request: Request<'_>,
        sink: Option<Box<dyn DeltaSink + 'a>>,
    ) -> BoxFuture<'a, Result<Reply, ProviderError>> {
        let history = request.history;
        let settled = history.map_or(0, |it| it.settled.min(request.messages.len()));
        let told: Option<Told> = history.and_then(|it| it.kept.take());
        let told =
            told.filter(|it| it.messages.len() <= settled && it.instructions == request.system);
        let mut told = told.unwrap_or_else(|| Told::new(&self.veil, request.system));
        for message in &request.messages[told.messages.len()..settled] {
            let message = self.veil.message(&mut told.names, message);
            told.messages.push(message);
        }
        // What may still change numbers nothing for later requests.
        let mut names = told.names.clone();
        for message in &request.messages[settled..] {
            told.messages.push(self.veil.message(&mut names, message));
        }
        self.note(&names.counts);
        let names = Arc::new(names);
        let sink = sink.map(|sink| match names.is_empty() {
            true => sink,
            false => Box::new(Restoring {
                sink,
                names: names.clone(),
                held: String::new(),
                reasons: false,
            }),
        });
        let asked = Request {
            system: &told.system,
            messages: &told.messages,
            history: history.map(|history| History {
                kept: &told.kept,
                ..history
            }),
            ..request
        };
        let reply = self.provider.complete(asked, sink);
        if let Some(history) = history {
            told.messages.truncate(settled);
            history.kept.keep(told);
        }
        Box::pin(async move {
            match reply.await {
                Ok(mut reply) => {
                    restore::content(&names, &mut reply.content);
                    for call in &mut reply.cut_calls {
                        restore::call(&names, call);
                    }
                    Ok(reply)
                }
                Err(mut error) => {
                    restore::content(&names, &mut error.partial);
                    Err(error)
                }
            }
        })
    }

    fn about<'a>(&'a self, model: &'a str) -> BoxFuture<'a, Result<Capabilities, ProviderError>> {
        self.provider.about(model)
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<String>, ProviderError>> {
        self.provider.models()
    }
}

impl std::fmt::Debug for Veiled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.veil.patterns.iter().skip(1).map(|it| &it.name);
        f.debug_struct("Veiled")
            .field("provider", &self.provider.name())
            .field("patterns", &names.collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
