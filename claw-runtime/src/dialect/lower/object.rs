//! Objects and maps, the root among them.

use std::collections::HashSet;
use std::sync::Arc;

use super::array::{array_of, list_of};
use super::{Low, Lowering, Members};
use crate::dialect::keywords::Keywords;
use crate::dialect::lift::{KEY, VALUE};
use crate::dialect::plan::{Member, Op, Rest};
use crate::dialect::shape::{Field, Kinds, Shape};
use crate::dialect::view::{Others, Piece, View};
use crate::dialect::{Any, Change, Closed, Maps, Optional};
use crate::schema::json::Json;

/// What an object is made of.
struct Fields<'a> {
    /// The properties in order. A value of one fits one of its alternatives, which are schemas read as one.
    properties: Vec<(&'a str, Vec<Vec<Piece<'a>>>)>,
    required: HashSet<&'a str>,
    others: Others<'a>,
}

/// What stands beside the properties of an object.
struct Beside {
    additional: Option<Json<'static>>,
    /// The property that lists the others.
    listed: Option<(String, Low)>,
    rest: Rest,
    own: Option<Arc<Shape>>,
    wire: Option<Arc<Shape>>,
}

impl Beside {
    fn only(additional: Option<Json<'static>>) -> Self {
        Self {
            additional,
            listed: None,
            rest: Rest::Values(super::SAME),
            own: None,
            wire: None,
        }
    }
}

impl<'a> Lowering<'a> {
    /// Lowers the root, which is an object whatever is said of it.
    pub(super) fn root(&mut self) -> Low {
        let piece = Piece::new(self.document);
        if !self.dialect.typed && self.dialect.root_unions {
            return self.written_root();
        }
        let mut entered = Vec::new();
        let view = self.merge(vec![piece], &mut entered).unwrap_or_default();
        let mut fields = Fields::of(&view);
        for keyword in ["anyOf", "oneOf"] {
            let lists: Vec<_> = view.values(keyword).filter_map(Json::as_array).collect();
            for list in lists {
                self.lose(keyword, Change::Merged);
                self.join(&mut fields, list);
            }
        }
        if self.dialect.typed {
            self.complex(&view);
        }
        let mut low = self.fields(&view, fields, 1);
        if !self.dialect.typed {
            self.written_beside(&view, &mut low.members);
        }
        let description = view.text("description").unwrap_or_default();
        low.closed(description)
    }

    /// Adds the properties of the branches of a union; those that all branches require stay required.
    fn join(&mut self, fields: &mut Fields<'a>, list: &'a [Json<'a>]) {
        let declared: HashSet<&str> = fields.properties.iter().map(|(name, _)| *name).collect();
        let mut required: Option<HashSet<&'a str>> = None;
        let mut all_closed = !list.is_empty();
        for branch in list {
            let mut entered = Vec::new();
            let Some(view) = self.merge(vec![Piece::new(branch)], &mut entered) else {
                continue;
            };
            let of_branch = Fields::of(&view);
            all_closed &= matches!(of_branch.others, Others::Closed);
            required = Some(match required {
                None => of_branch.required,
                Some(required) => required
                    .intersection(&of_branch.required)
                    .copied()
                    .collect(),
            });
            for (name, alternatives) in of_branch.properties {
                if declared.contains(name) {
                    continue;
                }
                match fields
                    .properties
                    .iter_mut()
                    .find(|(known, _)| *known == name)
                {
                    Some((_, known)) => known.extend(alternatives),
                    None => fields.properties.push((name, alternatives)),
                }
            }
        }
        fields.required.extend(required.unwrap_or_default());
        if all_closed && fields.properties.len() > declared.len() {
            fields.others = Others::Closed;
        }
    }

    pub(super) fn object(&mut self, view: &View<'a>, depth: usize) -> Low {
        let mut low = self.object_of_any_size(view, depth);
        low.own = low.own.counted(view, ["minProperties", "maxProperties"]);
        low
    }

    fn object_of_any_size(&mut self, view: &View<'a>, depth: usize) -> Low {
        let fields = Fields::of(view);
        if !fields.properties.is_empty() {
            return self.fields(view, fields, depth);
        }
        match fields.others {
            Others::Of(pieces) if pieces.iter().all(Piece::is_anything) => self.free(view),
            Others::Of(pieces) => self.map(view, pieces, depth),
            Others::Open if !view.has("properties") => self.free(view),
            _ => self.fields(view, fields, depth),
        }
    }

    /// Lowers an object of which nothing is known.
    fn free(&mut self, view: &View<'a>) -> Low {
        let mut low = match self.dialect.any {
            Any::Untyped => Low::typed("object", Kinds::OBJECT),
            Any::Text => {
                self.lose("type", Change::Text);
                let mut low = self.text("a JSON object");
                low.own = Arc::new(Shape::of(Kinds::OBJECT));
                low
            }
        };
        let wire = ["minProperties", "maxProperties"];
        self.counted(view, wire, wire, "property", &mut low);
        low
    }

    fn fields(&mut self, view: &View<'a>, fields: Fields<'a>, depth: usize) -> Low {
        let Fields {
            properties,
            required,
            others,
        } = fields;
        let mut written = Members::new();
        let mut needed = Vec::new();
        let mut members = Vec::new();
        let (mut own, mut wire) = (Vec::new(), Vec::new());
        for (name, alternatives) in properties {
            let is_required = required.contains(name);
            let mut low = self.at(&["properties", name], |pass| {
                pass.property(alternatives, depth + 1)
            });
            own.push(field(name, is_required, low.own.clone()));
            let null_is_absent = !is_required && self.dialect.optional == Optional::Null;
            if null_is_absent {
                low = self.null_on_the_wire(low);
            }
            let on_wire = self.dialect.property_names.wire(name).into_owned();
            if is_required || null_is_absent {
                needed.push(Json::String(on_wire.clone().into()));
            }
            wire.push(field(
                &on_wire,
                is_required || null_is_absent,
                low.wire.clone(),
            ));
            members.push(Member {
                name: name.to_owned(),
                wire: on_wire.clone(),
                plan: low.plan,
                optional: null_is_absent,
            });
            written.push((on_wire.into(), low.into_json()));
        }
        let is_closed = matches!(others, Others::Closed);
        let taken: HashSet<String> = written.iter().map(|(name, _)| name.to_string()).collect();
        let beside = self.beside_properties(others, &taken, depth);
        if let Some((name, low)) = beside.listed {
            needed.push(Json::String(name.clone().into()));
            wire.push(field(&name, true, low.wire.clone()));
            written.push((name.into(), low.into_json()));
        }
        let mut low = Low::typed("object", Kinds::OBJECT);
        low.members
            .push(("properties".into(), Json::Object(written)));
        if !needed.is_empty() || self.dialect.optional == Optional::Null {
            low.members.push(("required".into(), Json::Array(needed)));
        }
        let wire_is_closed = matches!(beside.additional, Some(Json::Bool(false)));
        let additional = beside.additional;
        low.members
            .extend(additional.map(|it| ("additionalProperties".into(), it)));
        let counts = ["minProperties", "maxProperties"];
        self.counted(view, counts, counts, "property", &mut low);
        let rest = beside.rest;
        if rest == Rest::Values(super::SAME) {
            members.retain(Member::changes);
        }
        low.plan = self.plan.add(Op::Object { members, rest });
        low.own = object_of(own, is_closed, beside.own);
        low.wire = object_of(wire, wire_is_closed, beside.wire);
        low
    }

    fn property(&mut self, mut alternatives: Vec<Vec<Piece<'a>>>, depth: usize) -> Low {
        if alternatives.len() == 1 {
            return self.schema(alternatives.swap_remove(0), depth);
        }
        let key = alternatives[0].first().map_or(0, |piece| {
            // Not the address of a union in the document, which names that one.
            std::ptr::from_ref(piece.json).addr() + 1
        });
        let mut seen = HashSet::new();
        alternatives.retain(|pieces| {
            let addresses: Vec<_> = pieces
                .iter()
                .map(|piece| std::ptr::from_ref(piece.json).addr())
                .collect();
            seen.insert(addresses)
        });
        let lows: Vec<Low> = alternatives
            .into_iter()
            .map(|pieces| self.schema(pieces, depth))
            .collect();
        if !self.dialect.typed {
            let members = match self.alternatives(lows) {
                Json::Object(members) => members,
                _ => Members::new(),
            };
            return Low::new(members, Kinds::ALL);
        }
        self.united(lows, key).closed("")
    }

    /// Lowers what may stand beside the properties: `additionalProperties`, or one more property that lists them.
    fn beside_properties(
        &mut self,
        others: Others<'a>,
        taken: &HashSet<String>,
        depth: usize,
    ) -> Beside {
        let closed = (self.dialect.closed != Closed::Never).then_some(Json::Bool(false));
        let pieces = match others {
            Others::Closed => return Beside::only(closed),
            Others::Open if self.dialect.closed == Closed::Always => {
                self.lose("additionalProperties", Change::Closed);
                return Beside::only(closed);
            }
            Others::Open => return Beside::only(None),
            Others::Of(pieces) => pieces,
        };
        if self.dialect.maps == Maps::Plain {
            self.lose("additionalProperties", Change::Dropped);
            return Beside::only(None);
        }
        let low = self.at(&["additionalProperties"], |pass| {
            pass.schema(pieces, depth + 1)
        });
        let (plan, own) = (low.plan, Some(low.own.clone()));
        if self.dialect.maps == Maps::Kept {
            if low.members.is_empty() && self.dialect.typed {
                return Beside::only(None);
            }
            return Beside {
                rest: Rest::Values(plan),
                own,
                wire: Some(low.wire.clone()),
                ..Beside::only(Some(low.into_json()))
            };
        }
        let mut name = "additional_properties".to_owned();
        while taken.contains(&name) {
            name.push('_');
        }
        let listed = self.entries(low).closed("Further properties, by name.");
        Beside {
            rest: Rest::Listed {
                wire: name.clone(),
                plan,
            },
            listed: Some((name, listed)),
            own,
            ..Beside::only(closed)
        }
    }

    /// Lowers an object whose keys are free.
    fn map(&mut self, view: &View<'a>, pieces: Vec<Piece<'a>>, depth: usize) -> Low {
        if self.dialect.maps == Maps::Plain {
            self.lose("additionalProperties", Change::Dropped);
            return self.free(view);
        }
        let steps = ["additionalProperties"];
        let value = self.at(&steps, |pass| pass.schema(pieces, depth + 1));
        let counts = ["minProperties", "maxProperties"];
        if self.dialect.maps == Maps::Kept {
            if value.members.is_empty() {
                return self.free(view);
            }
            let op = Op::Object {
                members: Vec::new(),
                rest: Rest::Values(value.plan),
            };
            let mut low = Low::typed("object", Kinds::OBJECT);
            low.plan = self.plan.add(op);
            low.own = map_of(value.own.clone());
            low.wire = map_of(value.wire.clone());
            let value = value.into_json();
            low.members.push(("additionalProperties".into(), value));
            self.counted(view, counts, counts, "property", &mut low);
            return low;
        }
        let plan = self.plan.add(Op::Map(value.plan));
        let own = map_of(value.own.clone());
        let mut low = self.entries(value);
        self.counted(view, counts, ["minItems", "maxItems"], "entry", &mut low);
        low.plan = plan;
        low.own = own;
        low
    }

    /// Returns a list of entries with values of this schema.
    fn entries(&mut self, value: Low) -> Low {
        let fields = vec![
            field(KEY, true, Arc::new(Shape::of(Kinds::STRING))),
            field(VALUE, true, value.wire.clone()),
        ];
        let closed = self.dialect.closed != Closed::Never;
        let entry = object_of(fields, closed, None);
        let key = Low::typed("string", Kinds::STRING).into_json();
        let properties = vec![(KEY.into(), key), (VALUE.into(), value.into_json())];
        let names = [KEY, VALUE].map(|name| Json::String(name.into()));
        let mut item = Low::typed("object", Kinds::OBJECT);
        item.members
            .push(("properties".into(), Json::Object(properties)));
        item.members
            .push(("required".into(), Json::Array(names.into())));
        if closed {
            item.members
                .push(("additionalProperties".into(), Json::Bool(false)));
        }
        let mut low = array_of(item.into_json());
        low.notes.push("one entry for each key".to_owned());
        low.wire = Arc::new(Shape {
            is_map: true,
            ..(*list_of(entry)).clone()
        });
        low
    }
}

impl<'a> Fields<'a> {
    fn of(view: &View<'a>) -> Self {
        let mut others = view.others();
        let patterns: Vec<&Json<'a>> = view
            .values("patternProperties")
            .flat_map(|patterns| patterns.entries().map(|(_, schema)| schema))
            .collect();
        // What matches a pattern is allowed, declared or not.
        match (patterns.as_slice(), &others) {
            ([], _) | (_, Others::Open) => {}
            ([only], Others::Closed) => others = Others::Of(vec![Piece::new(only)]),
            _ => others = Others::Open,
        }
        let mut properties: Vec<_> = view
            .properties()
            .into_iter()
            .map(|(name, pieces)| (name, vec![pieces]))
            .collect();
        let required = view.required();
        let declared: HashSet<&str> = properties.iter().map(|(name, _)| *name).collect();
        for name in &required {
            if !declared.contains(name) {
                let pieces = match &others {
                    Others::Of(pieces) => pieces.clone(),
                    _ => Vec::new(),
                };
                properties.push((name, vec![pieces]));
            }
        }
        Self {
            properties,
            required: required.into_iter().collect(),
            others,
        }
    }
}

fn field(name: &str, required: bool, shape: Arc<Shape>) -> Field {
    Field {
        name: name.to_owned(),
        required,
        shape,
    }
}

fn object_of(fields: Vec<Field>, closed: bool, others: Option<Arc<Shape>>) -> Arc<Shape> {
    Arc::new(Shape {
        fields,
        closed,
        others,
        ..Shape::of(Kinds::OBJECT)
    })
}

fn map_of(value: Arc<Shape>) -> Arc<Shape> {
    object_of(Vec::new(), false, Some(value))
}

/// The keywords that an object at the root writes itself.
pub(super) const ROOT: Keywords = Keywords::TYPE
    .and(Keywords::PROPERTIES)
    .and(Keywords::REQUIRED)
    .and(Keywords::ADDITIONAL_PROPERTIES)
    .and(Keywords::MIN_PROPERTIES)
    .and(Keywords::MAX_PROPERTIES)
    .and(Keywords::ANY_OF)
    .and(Keywords::ONE_OF)
    .and(Keywords::ALL_OF)
    .and(Keywords::DESCRIPTION)
    .and(Keywords::REFS);
