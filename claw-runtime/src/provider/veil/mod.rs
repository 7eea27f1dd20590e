//! What a service is not told: personal numbers and the like, replaced by placeholders on their way out and put back in what
//! comes from it.
//!
//! The session keeps the values themselves, and so tools get them: a model that is told `[phone-1]` can still have that number
//! called. Only what is sent to the service is without them: instructions, what people, tools and the model said, and what tool
//! definitions say. Names of tools and arguments and what a service signed go as they are. So do images, which are counted;
//! [`Veil::deny_images`] lets none go.
//!
//! Placeholders are numbered as their values first occur in the conversation. So they are the same in every request of a
//! session, which caches at the service need (those of tool definitions come first), and hidden from it better than any digest of a number would be.

mod names;
mod pattern;
mod restore;
mod tools;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use serde_json::Value;
use serde_json::value::RawValue;

use self::names::Names;
use self::pattern::{KNOWN, Pattern};
use self::restore::Restoring;
use self::tools::Offered;
use super::{
    Capabilities, DeltaSink, FailureClass, History, Kept, Provider, ProviderError, Reply, Request,
};
use crate::dialect::Dialect;
use crate::message::{ContentBlock, Image, Message, ToolCall};
use crate::registry::Toolset;
use crate::secret::Secrets;

/// What is replaced.
#[derive(Clone, Debug)]
pub struct Veil {
    /// What placeholders look like stands first, then the others as they were added.
    patterns: Vec<Pattern>,
    /// Whether images may not be sent.
    denies_images: bool,
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
        Ok(Self {
            patterns,
            denies_images: false,
        })
    }

    /// Lets no image be sent: what one shows cannot be replaced. A request with an image fails.
    #[must_use]
    pub fn deny_images(mut self) -> Self {
        self.denies_images = true;
        self
    }

    fn finds(&self, text: &str) -> bool {
        let mut patterns = self.patterns.iter();
        patterns.any(|pattern| pattern.find(text, 0).is_some())
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
    /// The most images that a request had.
    most_images: AtomicUsize,
    /// The tools that were offered last.
    offered: Mutex<Arc<Offered>>,
}

impl Veiled {
    /// Puts the veil before a provider.
    pub fn new(provider: Arc<dyn Provider>, veil: Veil) -> Self {
        Self {
            provider,
            veil,
            most: Mutex::default(),
            most_images: AtomicUsize::new(0),
            offered: Mutex::default(),
        }
    }

    /// Returns what the service is told of these tools, made when they are first offered.
    fn offered(&self, tools: Option<&Toolset>) -> Arc<Offered> {
        let mut offered = self.offered.lock().unwrap_or_else(PoisonError::into_inner);
        let digest = tools.map_or("", Toolset::digest);
        if offered.digest != digest {
            let new = tools.map(|tools| Offered::new(&self.veil, tools));
            *offered = Arc::new(new.unwrap_or_default());
        }
        offered.clone()
    }

    /// Counts the images of a request.
    ///
    /// # Errors
    ///
    /// Fails when there are some and none may be sent.
    fn count_images(&self, messages: &[Message]) -> Result<(), ProviderError> {
        let images = messages.iter().map(|it| images(&it.content)).sum();
        if images > 0 && self.veil.denies_images {
            let name = self.provider.name();
            return Err(ProviderError::new(
                FailureClass::BadRequest,
                format!(
                    "the conversation has an image, which cannot be masked, and the settings let none be sent to `{name}`; \
                     go on without it, or ask a model that may see it"
                ),
            ));
        }
        self.most_images.fetch_max(images, Ordering::Relaxed);
        Ok(())
    }

    fn note(&self, counts: &[usize]) {
        let mut most = self.most.lock().unwrap_or_else(PoisonError::into_inner);
        most.resize(self.veil.patterns.len(), 0);
        for (most, count) in most.iter_mut().zip(counts) {
            *most = (*most).max(*count);
        }
    }
}

/// Counts images, also those that tools brought.
fn images(content: &[ContentBlock]) -> usize {
    let of = |block: &ContentBlock| match block {
        ContentBlock::Image(_) => 1,
        ContentBlock::ToolResult(result) => images(&result.content),
        _ => 0,
    };
    content.iter().map(of).sum()
}

/// What the service was told of a conversation whose messages do not change any more.
#[derive(Default)]
struct Told {
    tools: Arc<Offered>,
    instructions: String,
    system: String,
    messages: Vec<Message>,
    names: Names,
    kept: Kept,
}

impl Told {
    fn new(veil: &Veil, tools: Arc<Offered>, instructions: &str) -> Self {
        let mut names = tools.names.clone();
        let mut system = instructions.to_owned();
        veil.text(&mut names, &mut system);
        Self {
            tools,
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

    fn images(&self) -> usize {
        self.most_images.load(Ordering::Relaxed)
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
        if let Err(denied) = self.count_images(request.messages) {
            return Box::pin(async { Err(denied) });
        }
        let history = request.history;
        let settled = history.map_or(0, |it| it.settled.min(request.messages.len()));
        let told: Option<Told> = history.and_then(|it| it.kept.take());
        let offered = self.offered(request.tools);
        let told = told.filter(|it| {
            it.messages.len() <= settled
                && it.instructions == request.system
                && it.tools.digest == offered.digest
        });
        let mut told =
            told.unwrap_or_else(|| Told::new(&self.veil, offered.clone(), request.system));
        for message in &request.messages[told.messages.len()..settled] {
            let message = self.veil.message(&mut told.names, message);
            told.messages.push(message);
        }
        // What may still change numbers nothing for later requests.
        let mut names = told.names.clone();
        for message in &request.messages[settled..] {
            told.messages.push(self.veil.message(&mut names, message));
        }
        let form = request
            .form
            .map(|form| tools::form(&self.veil, &mut names, form).unwrap_or_else(|| form.into()));
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
            tools: request.tools.map(|tools| offered.told(tools)),
            form: form.as_deref(),
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
