//! The keywords of JSON Schema, as sets: what a dialect keeps is one constant.

/// A set of keywords.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keywords(u64);

/// What stands under a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A plain value.
    Value,
    /// A schema.
    Schema,
    /// A list of schemas.
    List,
    /// An object of schemas.
    Named,
    /// A reference, or the definitions it refers to.
    Reference,
}

macro_rules! keywords {
    ($($constant:ident $name:literal $role:ident)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "counts the constants below")]
        enum Place { $($constant),* }

        /// Every keyword that is known.
        pub(super) const ALL: &[(&str, Keywords, Role)] =
            &[$(($name, Keywords::$constant, Role::$role)),*];

        impl Keywords {
            $(#[doc = concat!("`", $name, "`.")]
            pub const $constant: Self = Self(1 << (Place::$constant as u64));)*
        }
    };
}

// In the order in which they are written out.
keywords! {
    TYPE "type" Value
    CONST "const" Value
    FORMAT "format" Value
    ENUM "enum" Value
    MINIMUM "minimum" Value
    MAXIMUM "maximum" Value
    EXCLUSIVE_MINIMUM "exclusiveMinimum" Value
    EXCLUSIVE_MAXIMUM "exclusiveMaximum" Value
    MULTIPLE_OF "multipleOf" Value
    PATTERN "pattern" Value
    MIN_LENGTH "minLength" Value
    MAX_LENGTH "maxLength" Value
    PREFIX_ITEMS "prefixItems" List
    ITEMS "items" Schema
    UNIQUE_ITEMS "uniqueItems" Value
    MIN_ITEMS "minItems" Value
    MAX_ITEMS "maxItems" Value
    CONTAINS "contains" Schema
    MIN_CONTAINS "minContains" Value
    MAX_CONTAINS "maxContains" Value
    UNEVALUATED_ITEMS "unevaluatedItems" Schema
    PROPERTIES "properties" Named
    REQUIRED "required" Value
    PATTERN_PROPERTIES "patternProperties" Named
    ADDITIONAL_PROPERTIES "additionalProperties" Schema
    PROPERTY_NAMES "propertyNames" Schema
    MIN_PROPERTIES "minProperties" Value
    MAX_PROPERTIES "maxProperties" Value
    DEPENDENT_REQUIRED "dependentRequired" Value
    DEPENDENT_SCHEMAS "dependentSchemas" Named
    UNEVALUATED_PROPERTIES "unevaluatedProperties" Schema
    ANY_OF "anyOf" List
    ONE_OF "oneOf" List
    ALL_OF "allOf" List
    NOT "not" Schema
    IF "if" Schema
    THEN "then" Schema
    ELSE "else" Schema
    REF "$ref" Reference
    NULLABLE "nullable" Value
    CONTENT_ENCODING "contentEncoding" Value
    CONTENT_MEDIA_TYPE "contentMediaType" Value
    TITLE "title" Value
    DESCRIPTION "description" Value
    DEFAULT "default" Value
    EXAMPLES "examples" Value
    DEPRECATED "deprecated" Value
    READ_ONLY "readOnly" Value
    WRITE_ONLY "writeOnly" Value
    COMMENT "$comment" Value
    SCHEMA "$schema" Value
    DEFS "$defs" Reference
}

impl Keywords {
    /// What every dialect has.
    pub const BASE: Self = Self::TYPE
        .and(Self::ENUM)
        .and(Self::PROPERTIES)
        .and(Self::REQUIRED)
        .and(Self::ITEMS)
        .and(Self::DESCRIPTION);
    /// `minimum` and `maximum`.
    pub const BOUNDS: Self = Self::MINIMUM.and(Self::MAXIMUM);
    /// Everything said of a number.
    pub const NUMBERS: Self = Self::BOUNDS
        .and(Self::EXCLUSIVE_MINIMUM)
        .and(Self::EXCLUSIVE_MAXIMUM)
        .and(Self::MULTIPLE_OF);
    /// `minLength` and `maxLength`.
    pub const LENGTHS: Self = Self::MIN_LENGTH.and(Self::MAX_LENGTH);
    /// `minItems` and `maxItems`.
    pub const COUNTS: Self = Self::MIN_ITEMS.and(Self::MAX_ITEMS);
    /// `$ref` and `$defs`.
    pub const REFS: Self = Self::REF.and(Self::DEFS);
    /// What says nothing about values and little to a model.
    pub const REMARKS: Self = Self::TITLE
        .and(Self::EXAMPLES)
        .and(Self::DEPRECATED)
        .and(Self::READ_ONLY)
        .and(Self::WRITE_ONLY)
        .and(Self::COMMENT)
        .and(Self::SCHEMA);
    /// All that draft 2020-12 has and tools use; `nullable` is OpenAPI's.
    pub const DRAFT: Self = Self((1 << ALL.len()) - 1).without(Self::NULLABLE);

    /// Returns these and those.
    #[must_use]
    pub const fn and(self, more: Self) -> Self {
        Self(self.0 | more.0)
    }

    /// Returns these without those.
    #[must_use]
    pub const fn without(self, less: Self) -> Self {
        Self(self.0 & !less.0)
    }

    /// Tells whether all of those are among these.
    pub const fn has(self, those: Self) -> bool {
        self.0 & those.0 == those.0
    }

    /// Returns the keyword of this name, or `None` for a name that is not known.
    pub fn named(name: &str) -> Option<Self> {
        known(name).map(|(keyword, _)| keyword)
    }

    /// Iterates over the names.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        ALL.iter()
            .filter(move |(_, keyword, _)| self.has(*keyword))
            .map(|(name, ..)| *name)
    }
}

pub(super) fn known(name: &str) -> Option<(Keywords, Role)> {
    ALL.iter()
        .find(|(known, ..)| *known == name)
        .map(|(_, keyword, role)| (*keyword, *role))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_hold_what_their_names_say() {
        assert_eq!(
            Keywords::BASE.names().collect::<Vec<_>>(),
            [
                "type",
                "enum",
                "items",
                "properties",
                "required",
                "description"
            ]
        );
        assert!(Keywords::DRAFT.has(Keywords::NUMBERS));
        assert!(!Keywords::DRAFT.has(Keywords::NULLABLE));
        assert_eq!(Keywords::named("$ref"), Some(Keywords::REF));
        assert_eq!(Keywords::named("x-anything"), None);
        assert!(!Keywords::BASE.and(Keywords::REF).has(Keywords::REFS));
    }
}
