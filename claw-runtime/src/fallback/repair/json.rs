//! A JSON value as it was written.

/// A JSON value that keeps order, repeated keys and the digits of numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::fallback) enum Json {
    Object(Vec<(String, Json)>),
    Array(Vec<Json>),
    Text(String),
    /// A number, `true`, `false` or `null`, as JSON text.
    Literal(String),
}

impl Json {
    /// Returns compact JSON text.
    pub(in crate::fallback) fn render(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Object(entries) => {
                out.push('{');
                for (at, (key, value)) in entries.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    out.push_str(&quoted(key));
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
            Self::Array(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    item.write(out);
                }
                out.push(']');
            }
            Self::Text(text) => out.push_str(&quoted(text)),
            Self::Literal(text) => out.push_str(text),
        }
    }

    pub(in crate::fallback) fn is_null(&self) -> bool {
        matches!(self, Self::Literal(text) if text == "null")
    }
}

/// Returns `text` as a JSON string.
pub(in crate::fallback) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
