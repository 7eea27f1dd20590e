//! The drafts of JSON Schema, and which keywords each has.

/// A draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Draft {
    Four,
    Six,
    Seven,
    Nineteen,
    Twenty,
}

/// By which rules a schema is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) draft: Draft,
    /// Whether the keywords that judge values by themselves are part of its dialect.
    pub(super) asserts: bool,
}

impl Default for Rules {
    /// The rules of a schema that names no dialect.
    fn default() -> Self {
        Self {
            draft: Draft::Twenty,
            asserts: true,
        }
    }
}

/// Returns the draft that `$schema` names.
pub(super) fn draft_of(dialect: &str) -> Option<Draft> {
    let rest = dialect
        .strip_prefix("http://")
        .or_else(|| dialect.strip_prefix("https://"))?;
    let name = rest.strip_prefix("json-schema.org/")?.trim_end_matches('#');
    match name {
        "draft-04/schema" => Some(Draft::Four),
        "draft-06/schema" => Some(Draft::Six),
        "draft-07/schema" => Some(Draft::Seven),
        "draft/2019-09/schema" => Some(Draft::Nineteen),
        "draft/2020-12/schema" | "schema" => Some(Draft::Twenty),
        _ => None,
    }
}

impl Rules {
    /// Tells whether a keyword says anything under these rules.
    pub(super) fn know(self, keyword: &str) -> bool {
        let since = match keyword {
            "const" | "contains" | "propertyNames" => Draft::Six,
            "if" | "then" | "else" => Draft::Seven,
            "minContains"
            | "maxContains"
            | "dependentRequired"
            | "dependentSchemas"
            | "unevaluatedProperties"
            | "unevaluatedItems"
            | "$recursiveRef" => Draft::Nineteen,
            "prefixItems" | "$dynamicRef" => Draft::Twenty,
            _ => Draft::Four,
        };
        let until = match keyword {
            "additionalItems" | "$recursiveRef" => Draft::Nineteen,
            _ => Draft::Twenty,
        };
        let judges = matches!(
            keyword,
            "type"
                | "enum"
                | "const"
                | "multipleOf"
                | "minimum"
                | "maximum"
                | "exclusiveMinimum"
                | "exclusiveMaximum"
                | "minLength"
                | "maxLength"
                | "pattern"
                | "minItems"
                | "maxItems"
                | "uniqueItems"
                | "minContains"
                | "maxContains"
                | "minProperties"
                | "maxProperties"
                | "required"
                | "dependentRequired"
        );
        since <= self.draft && self.draft <= until && (self.asserts || !judges)
    }
}
