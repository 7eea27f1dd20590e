//! How large a schema is, and how large a service lets it be.

use std::collections::HashSet;

use super::Dialect;
use crate::schema::json::Json;

/// Bounds on schemas and toolsets; `None` where a service has none that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Tools in a request.
    pub tools: Option<usize>,
    /// Strict tools in a request.
    pub strict_tools: Option<usize>,
    /// Whether the tools of a request are strict all or none.
    pub all_strict: bool,
    /// Properties, nested ones included.
    pub properties: Option<usize>,
    /// Levels of objects and lists.
    pub depth: Option<usize>,
    /// Members of all enumerations.
    pub enum_values: Option<usize>,
    /// Characters of all names and members of enumerations.
    pub characters: Option<usize>,
    /// More members than the first in one enumeration may have no more characters than the second.
    pub long_enum: Option<(usize, usize)>,
    /// Properties that may be left out.
    pub optional: Option<usize>,
    /// Unions, lists of types included.
    pub unions: Option<usize>,
}

impl Limits {
    /// No bounds.
    pub const NONE: Self = Self {
        tools: None,
        strict_tools: None,
        all_strict: false,
        properties: None,
        depth: None,
        enum_values: None,
        characters: None,
        long_enum: None,
        optional: None,
        unions: None,
    };
}

/// How large a schema is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// Properties, nested ones included.
    pub properties: usize,
    /// Levels of objects and lists.
    pub depth: usize,
    /// Members of all enumerations.
    pub enum_values: usize,
    /// Characters of all names and members of enumerations.
    pub characters: usize,
    /// Members and characters of the enumeration with the most members.
    pub long_enum: (usize, usize),
    /// Properties that may be left out.
    pub optional: usize,
    /// Unions, lists of types included.
    pub unions: usize,
}

/// Why a schema cannot be sent in a dialect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{dialect} takes at most {most} {what}, the schema has {found}")]
pub struct Refused {
    /// The dialect's name.
    pub dialect: &'static str,
    /// What there is too much of, for example `levels`.
    pub what: &'static str,
    /// How much there is.
    pub found: usize,
    /// How much there may be.
    pub most: usize,
}

impl Census {
    pub(super) fn of(schema: &Json<'_>) -> Self {
        let mut census = Self::default();
        census.schema(schema, 1);
        census
    }

    /// Checks the bounds of a dialect.
    pub(super) fn check(&self, dialect: &Dialect) -> Result<(), Refused> {
        let limits = &dialect.limits;
        let (members, characters) = self.long_enum;
        let most_of_long = limits
            .long_enum
            .filter(|(from, _)| members > *from)
            .map(|(_, most)| most);
        let bounds = [
            ("properties", self.properties, limits.properties),
            ("levels", self.depth, limits.depth),
            (
                "members of enumerations",
                self.enum_values,
                limits.enum_values,
            ),
            (
                "characters of names and enumerations",
                self.characters,
                limits.characters,
            ),
            ("characters in a long enumeration", characters, most_of_long),
            ("optional properties", self.optional, limits.optional),
            ("unions", self.unions, limits.unions),
        ];
        for (what, found, most) in bounds {
            if let Some(most) = most.filter(|most| found > *most) {
                let dialect = dialect.name;
                return Err(Refused {
                    dialect,
                    what,
                    found,
                    most,
                });
            }
        }
        Ok(())
    }

    fn schema(&mut self, schema: &Json<'_>, depth: usize) {
        let required = schema.member("required").and_then(Json::as_array);
        let required: HashSet<&str> = required
            .into_iter()
            .flatten()
            .filter_map(Json::as_str)
            .collect();
        for (keyword, value) in schema.entries() {
            match keyword {
                "properties" => {
                    self.depth = self.depth.max(depth);
                    for (name, property) in value.entries() {
                        self.properties += 1;
                        self.characters += name.chars().count();
                        self.optional += usize::from(!required.contains(name));
                        self.schema(property, depth + 1);
                    }
                }
                "$defs" => {
                    for (name, definition) in value.entries() {
                        self.characters += name.chars().count();
                        self.schema(definition, 1);
                    }
                }
                "items" | "additionalProperties" => {
                    self.depth = self.depth.max(depth);
                    self.schema(value, depth + 1);
                }
                "enum" => self.members(value.as_array().unwrap_or_default()),
                "const" => self.members(std::slice::from_ref(value)),
                "type" => self.unions += usize::from(value.as_array().is_some()),
                "anyOf" | "oneOf" | "allOf" => {
                    self.unions += usize::from(keyword != "allOf");
                    for branch in value.as_array().unwrap_or_default() {
                        self.schema(branch, depth);
                    }
                }
                "prefixItems" => {
                    for item in value.as_array().unwrap_or_default() {
                        self.schema(item, depth + 1);
                    }
                }
                _ => {}
            }
        }
    }

    fn members(&mut self, members: &[Json<'_>]) {
        let text = |member: &Json<'_>| member.as_str().map_or(0, |text| text.chars().count());
        let characters: usize = members.iter().map(text).sum();
        self.enum_values += members.len();
        self.characters += characters;
        self.long_enum = self.long_enum.max((members.len(), characters));
    }
}
