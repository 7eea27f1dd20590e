//! Which branch of a form a small model is held to, decided before it writes.
//!
//! Asked for the name of a tool, a small model prefers names it finds easy to write, whatever was said. Turned round the
//! question is one that language models are made for: which tool would a person who says *this* want? So what the user said
//! is scored as the continuation of a line about each tool, and of lines about what people say who want none. The line
//! under which it is likeliest wins.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};

use super::engine::{Constraint, ConstraintError, Step};

/// Branches that are ranked at most; each costs a reading of what the user said.
const MOST: usize = 24;
/// Tokens of what the user said that count: what is wanted stands at the beginning.
pub(super) const LONGEST: usize = 64;
/// What people say who want no tool.
const TALK: [&str; 3] = [
    "Small talk with an assistant: greetings, thanks, feelings.",
    "A general knowledge question to an assistant.",
    "A request to an assistant to write or explain something.",
];

/// A form whose branches can be ranked.
#[derive(Debug, PartialEq)]
pub(super) struct Ranked {
    form: Map<String, Value>,
    calls: Vec<Value>,
    /// The lines what the user said is scored under: one a call, in their order, then those for an answer.
    pub(super) lines: Vec<String>,
}

impl Ranked {
    /// Reads a form; `None` when it is none of calls and one answer, or has too many of them to rank.
    pub(super) fn read(form: &str) -> Option<Self> {
        let mut form: Map<String, Value> = serde_json::from_str(form).ok()?;
        let Value::Array(branches) = form.remove("oneOf")? else {
            return None;
        };
        let name = |branch: &Value| {
            branch["properties"]["name"]["const"]
                .as_str()
                .map(str::to_owned)
        };
        let (calls, others): (Vec<_>, Vec<_>) = branches
            .into_iter()
            .partition(|branch| name(branch).is_some());
        if others.len() != 1 || calls.is_empty() || calls.len() > MOST {
            return None;
        }
        let of_call = |call: &Value| {
            let about = call["description"].as_str().unwrap_or_default();
            let about = about.split_whitespace().collect::<Vec<_>>().join(" ");
            let name = name(call).unwrap_or_default();
            format!("Tool {name}: {about} Example of what a user says to use it:\n\"")
        };
        let talk = TALK.map(|about| format!("{about} Example of what a user says:\n\""));
        let lines = calls.iter().map(of_call).chain(talk).collect();
        Some(Self { form, calls, lines })
    }

    /// Returns the call whose line scored best: the form of it alone, and what a model is told of its tool. `None` when a
    /// line about talk did. `scores` are one a line.
    pub(super) fn best(self, scores: &[f64]) -> Option<(String, String)> {
        let best = (0..self.lines.len()).max_by(|a, b| {
            let score = |at: usize| scores.get(at).copied().unwrap_or(f64::NEG_INFINITY);
            score(*a).total_cmp(&score(*b))
        });
        let call = self.calls.into_iter().nth(best?)?;
        let about = about(&call);
        Some((Self::only(self.form, call), about))
    }

    fn only(mut form: Map<String, Value>, branch: Value) -> String {
        form.insert("oneOf".to_owned(), Value::Array(vec![branch]));
        Value::Object(form).to_string()
    }
}

/// Returns what a model is told of the one tool it is held to call.
fn about(call: &Value) -> String {
    let line = |name: &str, about: &Value| match about.as_str() {
        Some(about) => format!("{name}: {}\n", about.trim()),
        None => format!("{name}\n"),
    };
    let parts = &call["properties"];
    let name = parts["name"]["const"].as_str().unwrap_or_default();
    let tool = line(name, &call["description"]);
    let arguments = parts["arguments"]["properties"]
        .as_object()
        .into_iter()
        .flatten();
    let arguments =
        arguments.map(|(name, schema)| line(&format!("- {name}"), &schema["description"]));
    let arguments: String = arguments.collect();
    format!("Reply with one JSON object that calls `{name}`.\n\n{tool}{arguments}")
}

/// Reads how likely a text is as the continuation of a prompt: it lets nothing else come.
pub(super) struct Reading {
    text: Vec<u32>,
    at: usize,
    likelihood: Arc<Mutex<f64>>,
    enough: f64,
}

impl Reading {
    /// Returns the reader of `text` and where the sum of the logarithms stands in the end. It only falls, so below
    /// `enough` nothing more is read.
    pub(super) fn of(text: Vec<u32>, enough: f64) -> (Self, Arc<Mutex<f64>>) {
        let likelihood = Arc::new(Mutex::new(0.0));
        let reading = Self {
            text,
            at: 0,
            likelihood: likelihood.clone(),
            enough,
        };
        (reading, likelihood)
    }
}

impl Constraint for Reading {
    fn mask(&mut self, logits: &mut [f32]) -> Result<Step, ConstraintError> {
        let Some(token) = self.text.get(self.at).map(|token| *token as usize) else {
            return Ok(Step::Complete);
        };
        let Some(own) = logits.get(token).copied() else {
            let fault = "a text has a token that is none of the model's";
            return Err(ConstraintError(fault.to_owned()));
        };
        let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f64 = logits
            .iter()
            .map(|logit| f64::from(logit - most).exp())
            .sum();
        let mut likelihood = self
            .likelihood
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *likelihood += f64::from(own - most) - sum.ln();
        self.at += 1;
        if self.at == self.text.len() || *likelihood < self.enough {
            return Ok(Step::Complete);
        }
        logits.fill(f32::NEG_INFINITY);
        logits[token] = 0.0;
        Ok(Step::More)
    }

    fn take(&mut self, _token: u32) -> Result<Step, ConstraintError> {
        Ok(Step::More)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn form() -> String {
        let call = |name: &str| {
            json!({
                "properties": {"name": {"const": name}, "arguments": {"$ref": "#/$defs/x"}},
                "description": format!("Does\n{name}."),
            })
        };
        let answer = json!({"properties": {"answer": {"type": "string"}}});
        json!({"oneOf": [call("a"), call("b"), answer], "$defs": {"x": {}}}).to_string()
    }

    #[test]
    fn the_best_line_names_the_branch() {
        let ranked = || Ranked::read(&form()).expect("a form");
        assert_eq!(ranked().lines.len(), 5);
        let line = "Tool a: Does a. Example of what a user says to use it:\n\"";
        assert_eq!(ranked().lines[0], line);
        let best = |scores: [f64; 5]| ranked().best(&scores);
        let (form, about) = best([-3.0, -2.0, -9.0, -8.0, -7.0]).expect("a call");
        let form: Value = serde_json::from_str(&form).expect("JSON");
        assert_eq!(form["oneOf"][0]["properties"]["name"]["const"], "b");
        assert_eq!(
            (form["oneOf"].as_array().map(Vec::len), &form["$defs"]),
            (Some(1), &json!({"x": {}}))
        );
        assert_eq!(
            about,
            "Reply with one JSON object that calls `b`.\n\nb: Does\nb.\n"
        );
        assert_eq!(best([-3.0, -2.0, -9.0, -1.0, -7.0]), None);
    }

    #[test]
    fn of_the_tool_that_is_called_its_parameters_are_told() {
        let call = json!({
            "description": "Adds.",
            "properties": {"name": {"const": "add"}, "arguments": {"properties": {
                "a": {"type": "number", "description": "The first."},
                "b": {"type": "number"},
            }}},
        });
        assert_eq!(
            about(&call),
            "Reply with one JSON object that calls `add`.\n\nadd: Adds.\n- a: The first.\n- b\n"
        );
    }

    #[test]
    fn only_forms_of_calls_and_an_answer_are_ranked() {
        for other in [
            "",
            "[]",
            "{}",
            r#"{"oneOf": [{}]}"#,
            r#"{"oneOf": [{}, {}]}"#,
            r#"{"oneOf": 1}"#,
        ] {
            assert_eq!(Ranked::read(other), None, "{other}");
        }
        let mut form: Value = serde_json::from_str(&form()).expect("JSON");
        let branches = form["oneOf"].as_array_mut().expect("branches");
        let more: Vec<_> = (0..MOST).map(|_| branches[0].clone()).collect();
        branches.extend(more);
        assert_eq!(Ranked::read(&form.to_string()), None);
    }

    #[test]
    fn a_text_is_as_likely_as_its_tokens_one_after_the_other() {
        let (mut reading, likelihood) = Reading::of(vec![1, 0], f64::NEG_INFINITY);
        // Probabilities of 1/4 and 3/4, then of 1/2 each.
        let mut logits = [1.0_f32, 1.0 + 3.0_f32.ln()];
        assert_eq!(reading.mask(&mut logits), Ok(Step::More));
        assert_eq!(logits, [f32::NEG_INFINITY, 0.0]);
        assert_eq!(reading.take(1), Ok(Step::More));
        assert_eq!(reading.mask(&mut [5.0, 5.0]), Ok(Step::Complete));
        let sum = *likelihood.lock().expect("no panic");
        assert!((sum - (0.75_f64 * 0.5).ln()).abs() < 1e-6, "{sum}");
        let (mut reading, _) = Reading::of(vec![0, 1], 0.25_f64.ln());
        assert_eq!(reading.mask(&mut [0.0, 3.0]), Ok(Step::Complete));
        let (mut reading, _) = Reading::of(vec![9], f64::NEG_INFINITY);
        assert!(reading.mask(&mut [0.0]).is_err());
        let (mut reading, _) = Reading::of(Vec::new(), f64::NEG_INFINITY);
        assert_eq!(reading.mask(&mut [0.0]), Ok(Step::Complete));
    }
}
