//! Holds what a declaration says against itself: defaults and examples must pass the validation that calls pass.

use super::{Body, Tool};
use crate::schema::{Coerce, Preset, Problem, Unknown, portable, render, validate};

impl Tool {
    /// Checks a linked tool beyond what the compiler sees: every default and every example keeps to the declared schema,
    /// and the schema to what every provider takes.
    ///
    /// # Errors
    ///
    /// Returns what does not, one sentence each.
    pub fn check(&self) -> Result<(), Vec<String>> {
        let Body::Linked(entry) = &self.body else {
            return Ok(());
        };
        let mut faults = match serde_json::from_str(&self.input_schema()) {
            Ok(schema) => portable::faults(&schema),
            Err(error) => vec![error.to_string()],
        };
        for property in entry.properties {
            for (what, preset) in [("default", property.default), ("example", property.example)] {
                if let Some(json) = preset.json()
                    && let Some(fault) = self.fault_of(property.name, &json)
                {
                    faults.push(format!("the {what} of `{}`: {fault}", property.name));
                }
            }
        }
        for example in entry.examples {
            if let Some(arguments) = render::example(example)
                && let Err(invalid) =
                    validate(self.schema(), &arguments, Coerce::Strict, Unknown::Refuse)
            {
                let problems: Vec<String> = invalid.problems.iter().map(said).collect();
                faults.push(format!("the example {arguments}: {}", problems.join("; ")));
            }
        }
        if faults.is_empty() {
            Ok(())
        } else {
            Err(faults)
        }
    }

    /// Tells whether a default that only run time knows stands under a constraint.
    pub(crate) fn has_made_values(&self) -> bool {
        let Body::Linked(entry) = &self.body else {
            return false;
        };
        entry.properties.iter().any(|property| {
            matches!(property.default, Preset::Made(_)) && property.bounds.is_some()
        })
    }

    /// Returns what is wrong with one argument, whatever else the call lacks.
    fn fault_of(&self, name: &str, json: &str) -> Option<String> {
        let arguments = format!("{{{}:{json}}}", serde_json::Value::from(name));
        let invalid = validate(self.schema(), &arguments, Coerce::Strict, Unknown::Refuse).err()?;
        let own = format!("/{name}");
        invalid
            .problems
            .iter()
            .find(|problem| {
                problem.pointer == own || problem.pointer.starts_with(&format!("{own}/"))
            })
            .map(|problem| problem.text.clone())
    }
}

fn said(problem: &Problem) -> String {
    format!("{}: {}", problem.pointer, problem.text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::registry::{RegistryError, Toolset};
    use crate::schema::{Bounds, Property, Source, ToolInput};
    use crate::tool::{Spec, ToolEntry};

    const NUMBER: Source = Source {
        node: Some(<u8 as ToolInput>::NODE),
        need: None,
    };

    /// A default and an example that only run time knows, and that are out of range.
    static ENTRIES: &[ToolEntry] = &[ToolEntry {
        spec: Spec::declared(["count", "", "Counts.", ""]),
        properties: &[Property::new("to", "", NUMBER)
            .bounds(&const { Bounds::integers(None, Some(5)) })
            .default(Preset::Made(|| Some(json!(9))))],
        examples: &[&[("to", Preset::Json("6"))]],
        output: || None,
        is_sync: true,
        shim: |_, _| Ok(crate::tool::Prepared::Checked),
        reconcile: None,
        origin: crate::tool::Origin {
            package: "",
            module: "",
            file: "",
            line: 0,
        },
    }];

    #[test]
    fn a_default_that_does_not_fit_is_found_when_a_toolset_is_built() {
        let Err(RegistryError::Contradiction { tool, problem, .. }) = Toolset::of(ENTRIES) else {
            panic!("a contradiction")
        };
        assert_eq!(tool, "count");
        assert_eq!(
            problem,
            "the default of `to`: expected integer 0..=5, got 9; the example {\"to\":6}: /to: expected integer 0..=5, got 6"
        );
    }
}
