//! A schema on its way out, and its `null`.

use std::borrow::Cow;
use std::sync::Arc;

use super::Lowering;
use crate::dialect::plan::{Id, SAME};
use crate::dialect::shape::{Kinds, Shape};
use crate::dialect::{Null, words};
use crate::schema::json::Json;

/// The members of a schema object.
pub(super) type Members = Vec<(Cow<'static, str>, Json<'static>)>;

/// A lowered schema whose description is still to be written.
#[derive(Clone, Debug)]
pub(super) struct Low {
    pub(super) members: Members,
    /// What is to be said in the description.
    pub(super) notes: Vec<String>,
    pub(super) plan: Id,
    /// The outline of the canonical values, and of what stands for them on the wire.
    pub(super) own: Arc<Shape>,
    pub(super) wire: Arc<Shape>,
}

impl Low {
    pub(super) fn new(members: Members, kinds: Kinds) -> Self {
        Self {
            members,
            notes: Vec::new(),
            plan: SAME,
            own: Arc::new(Shape::of(kinds)),
            wire: Arc::new(Shape::of(kinds)),
        }
    }

    pub(super) fn typed(name: &str, kinds: Kinds) -> Self {
        let name = Json::String(name.to_owned().into());
        Self::new(vec![("type".into(), name)], kinds)
    }

    pub(super) fn member(&self, name: &str) -> Option<&Json<'static>> {
        let mut members = self.members.iter();
        members
            .find(|(known, _)| known == name)
            .map(|(_, value)| value)
    }

    pub(super) fn takes_null(&self) -> bool {
        let is_null = |value: &Json<'_>| value.as_str() == Some("null");
        match self.member("type") {
            Some(Json::Array(names)) if names.iter().any(is_null) => return true,
            Some(name) if is_null(name) => return true,
            _ => {}
        }
        let branches = self.member("anyOf").and_then(Json::as_array);
        let of_null = |branch: &Json<'_>| branch.member("type").is_some_and(is_null);
        branches.is_some_and(|all| all.iter().any(of_null)) || self.member("nullable").is_some()
    }

    pub(super) fn type_or_null(&mut self, name: Cow<'static, str>) {
        for (keyword, value) in &mut self.members {
            match (keyword.as_ref(), value) {
                ("type", value) => {
                    let null = Json::String("null".into());
                    *value = Json::Array(vec![Json::String(name.clone()), null]);
                }
                ("enum", Json::Array(members)) => members.push(Json::Null),
                ("const", value) => {
                    let only = std::mem::replace(value, Json::Null);
                    *value = Json::Array(vec![only, Json::Null]);
                    *keyword = "enum".into();
                }
                _ => {}
            }
        }
    }

    /// Adds a branch for `null`; what describes the whole stays outside.
    pub(super) fn branch_or_null(&mut self) {
        let null = Json::Object(vec![("type".into(), Json::String("null".into()))]);
        for (keyword, value) in &mut self.members {
            if let ("anyOf", Json::Array(branches)) = (keyword.as_ref(), value) {
                branches.push(null);
                return;
            }
        }
        let is_outside = |name: &str| matches!(name, "description" | "default");
        let (outside, inside): (Members, Members) = std::mem::take(&mut self.members)
            .into_iter()
            .partition(|(name, _)| is_outside(name));
        let branches = Json::Array(vec![Json::Object(inside), null]);
        self.members.push(("anyOf".into(), branches));
        self.members.extend(outside);
    }

    /// Writes the description, with what moved there.
    pub(super) fn closed(mut self, description: &str) -> Self {
        let text = words::joined(description, &self.notes);
        self.notes.clear();
        if text.is_empty() {
            return self;
        }
        if self.member("$ref").is_some() {
            // Nothing may stand beside a reference.
            let inside = Json::Object(std::mem::take(&mut self.members));
            self.members
                .push(("anyOf".into(), Json::Array(vec![inside])));
        }
        self.members
            .push(("description".into(), Json::String(text.into())));
        self
    }

    pub(super) fn into_json(self) -> Json<'static> {
        Json::Object(self.members)
    }
}

impl Lowering<'_> {
    /// Lets a schema take `null` too, in both forms.
    pub(super) fn or_null(&mut self, low: Low) -> Low {
        let own = low.own.or_null();
        Low {
            own,
            ..self.null_on_the_wire(low)
        }
    }

    /// Lets the wire form of a schema be `null`.
    pub(super) fn null_on_the_wire(&self, mut low: Low) -> Low {
        if low.members.is_empty() || low.takes_null() {
            return low;
        }
        low.wire = low.wire.or_null();
        let one_type = match low.member("type") {
            Some(Json::String(name)) => Some(name.clone()),
            _ => None,
        };
        match (self.dialect.null, one_type) {
            (Null::Nullable, _) => low.members.push(("nullable".into(), Json::Bool(true))),
            (Null::Types, Some(name)) => low.type_or_null(name),
            (Null::ScalarTypes, Some(name)) if !matches!(&*name, "object" | "array") => {
                low.type_or_null(name);
            }
            _ => low.branch_or_null(),
        }
        low
    }
}
