//! From the canonical schema to a dialect's, in one pass that is bounded in depth and work.
//!
//! Two ways through it. A *written* schema keeps its form and loses keywords; a *typed* one is taken apart by the types
//! of its values and put together of the few forms the dialect has. The root is an object in both.

mod array;
mod object;
mod scalar;
mod union;
mod written;

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use super::keywords::Keywords;
use super::plan::{Branch, Defined, Id, Op, Plan, SAME};
use super::shape::{Kinds, Look, Shape, Side};
use super::view::{Piece, View};
use super::{Any, Census, Change, Dialect, Loss, Lowered, Null, Refs, Refused, words};
use crate::schema::json::Json;
use crate::schema::{reader, resolve};

/// Deepest nesting of what comes out.
const DEPTH: usize = 48;
/// Most schemas that are looked at.
const FUEL: usize = 20_000;
/// How often a definition is put into itself before it ends as JSON text.
const UNROLLED: usize = 3;
/// Most schemas that are merged into one.
const MERGED: usize = 256;
/// Most losses that are reported.
const LOSSES: usize = 1_000;
/// How often the pass is repeated for unions whose branches cannot be told apart.
const PASSES: usize = 8;
/// Most branches that are told apart.
const BRANCHES: usize = 100;
/// Steps that telling branches apart may take.
const LOOKS: usize = 200_000;

/// The members of a schema object.
type Members = Vec<(Cow<'static, str>, Json<'static>)>;

pub(super) fn lower(dialect: &Dialect, schema: &str) -> Result<Lowered, Refused> {
    let read = reader::read(schema);
    let document = read.map_or(Json::Bool(true), |read| read.json);
    let mut texts = HashSet::new();
    let mut passes = 0;
    loop {
        let mut pass = Lowering::new(dialect, &document, texts);
        let (schema, mut plan) = pass.document();
        passes += 1;
        let unclear = pass.unclear(&plan);
        if !unclear.is_empty() && passes < PASSES {
            texts = pass.texts;
            texts.extend(unclear);
            continue;
        }
        plan.settle();
        let census = Census::of(&schema);
        census.check(dialect)?;
        return Ok(Lowered {
            schema: schema.to_text(),
            lost: pass.lost,
            census,
            plan,
        });
    }
}

/// A lowered schema whose description is still to be written.
#[derive(Clone, Debug)]
struct Low {
    members: Members,
    /// What is to be said in the description.
    notes: Vec<String>,
    plan: Id,
    /// The outline of the canonical values, and of what stands for them on the wire.
    own: Arc<Shape>,
    wire: Arc<Shape>,
}

struct Lowering<'a> {
    dialect: &'a Dialect,
    document: &'a Json<'a>,
    plan: Plan,
    lost: Vec<Loss>,
    pointer: String,
    fuel: usize,
    /// How often each target of a reference stands around the place that is lowered.
    around: HashMap<usize, usize>,
    definitions: Vec<Definition<'a>>,
    places: HashMap<usize, usize>,
    open: VecDeque<usize>,
    unions: Vec<(usize, Vec<Branch>)>,
    /// The unions that go as JSON text, by the address of their branches.
    texts: HashSet<usize>,
}

struct Definition<'a> {
    name: String,
    schema: &'a Json<'a>,
}

impl<'a> Lowering<'a> {
    fn new(dialect: &'a Dialect, document: &'a Json<'a>, texts: HashSet<usize>) -> Self {
        Self {
            dialect,
            document,
            plan: Plan::default(),
            lost: Vec::new(),
            pointer: String::new(),
            fuel: FUEL,
            around: HashMap::new(),
            definitions: Vec::new(),
            places: HashMap::new(),
            open: VecDeque::new(),
            unions: Vec::new(),
            texts,
        }
    }

    fn document(&mut self) -> (Json<'static>, Plan) {
        let mut root = self.root();
        let mut definitions = Members::new();
        while let Some(at) = self.open.pop_front() {
            let Definition { name, schema } = &self.definitions[at];
            let (name, schema) = (name.clone(), *schema);
            self.pointer = format!("/$defs/{name}");
            let low = self.schema(vec![Piece::new(schema)], 2);
            self.plan.defs[at] = Defined {
                plan: low.plan,
                own: Some(low.own),
                wire: Some(low.wire),
            };
            definitions.push((name.into(), Json::Object(low.members)));
        }
        if !definitions.is_empty() {
            root.members
                .push(("$defs".into(), Json::Object(definitions)));
        }
        self.plan.root = root.plan;
        (Json::Object(root.members), std::mem::take(&mut self.plan))
    }

    /// Returns the unions of which some value would not be lifted as it was sent.
    fn unclear(&self, plan: &Plan) -> Vec<usize> {
        let look = Look {
            defs: &plan.defs,
            side: Side::Wire,
            fuel: Cell::new(LOOKS),
        };
        let mut unclear = Vec::new();
        for (key, branches) in &self.unions {
            if branches.len() > BRANCHES {
                unclear.push(*key);
                continue;
            }
            let plans: Vec<Option<Id>> = branches
                .iter()
                .map(|branch| plan.changes(branch.plan).then_some(branch.plan))
                .collect();
            let is_clear = (0..branches.len()).all(|at| {
                (0..at).all(|other| {
                    plans[at] == plans[other]
                        || look.apart(&branches[at].wire, &branches[other].wire, 0)
                })
            });
            if !is_clear {
                unclear.push(*key);
            }
        }
        unclear
    }

    /// Lowers a schema, description and all.
    fn schema(&mut self, pieces: Vec<Piece<'a>>, depth: usize) -> Low {
        if !self.dialect.typed {
            let members = match self.written_all(&pieces, depth) {
                Json::Object(members) => members,
                Json::Bool(false) => vec![("not".into(), Json::Object(Vec::new()))],
                _ => Members::new(),
            };
            return Low::new(members, Kinds::ALL);
        }
        let said = Said::of(&pieces);
        if self.fuel == 0 || depth > DEPTH {
            let low = self.cut("a JSON value", "type");
            return self.closed(low, said);
        }
        self.fuel -= 1;
        if let Some(low) = self.reference(&pieces) {
            return self.closed(low, said);
        }
        let mut entered = Vec::new();
        let (low, said) = match self.merge(pieces, &mut entered) {
            Some(view) => (self.typed(&view, depth), Said::of(&view.pieces)),
            // It contains itself, and cannot go on for ever.
            None => (self.cut("a JSON value of the same form", "$ref"), said),
        };
        for address in entered {
            if let Some(count) = self.around.get_mut(&address) {
                *count -= 1;
            }
        }
        self.closed(low, said)
    }

    /// Writes the description and the default.
    fn closed(&mut self, mut low: Low, said: Said<'a>) -> Low {
        let mut kept = None;
        if let Some(default) = said.default {
            if self.keeps(Keywords::DEFAULT) && !self.plan.changes(low.plan) {
                kept = Some(default.clone().into_owned());
            } else {
                self.lose("default", Change::Described);
                low.notes.push(format!("default {}", words::value(default)));
            }
        }
        let mut low = low.closed(said.description);
        low.members
            .extend(kept.map(|default| ("default".into(), default)));
        low
    }

    /// Reads schemas, what they refer to and what their `allOf` holds as one. `None` when that goes round in circles.
    fn merge(&mut self, pieces: Vec<Piece<'a>>, entered: &mut Vec<usize>) -> Option<View<'a>> {
        let mut view = View::default();
        let mut seen = HashSet::new();
        let mut open: VecDeque<Piece<'a>> = pieces.into();
        while let Some(piece) = open.pop_front() {
            let address = std::ptr::from_ref(piece.json).addr();
            if !seen.insert(address) || seen.len() > MERGED {
                continue;
            }
            match piece.json {
                Json::Bool(false) => view.never = true,
                Json::Object(_) => view.pieces.push(piece),
                _ => continue,
            }
            if let Some(reference) = piece.json.member("$ref").and_then(Json::as_str) {
                match resolve(self.document, reference) {
                    Some(target) => {
                        let address = std::ptr::from_ref(target).addr();
                        let count = self.around.entry(address).or_default();
                        if *count >= UNROLLED {
                            return None;
                        }
                        *count += 1;
                        entered.push(address);
                        open.push_back(Piece::new(target));
                    }
                    None => self.lose("$ref", Change::Dropped),
                }
            }
            let all = piece.json.member("allOf").and_then(Json::as_array);
            open.extend(all.into_iter().flatten().map(Piece::new));
        }
        Some(view)
    }

    /// Keeps a reference that stands alone, where the dialect has them.
    fn reference(&mut self, pieces: &[Piece<'a>]) -> Option<Low> {
        let [piece] = pieces else {
            return None;
        };
        if self.dialect.refs == Refs::Inlined {
            return None;
        }
        let asks = |(name, _): (&str, _)| match Keywords::named(name) {
            Some(Keywords::REF | Keywords::DESCRIPTION | Keywords::DEFAULT | Keywords::DEFS) => {
                false
            }
            Some(keyword) => !Keywords::REMARKS.has(keyword),
            None => false,
        };
        if piece.json.entries().any(asks) {
            return None;
        }
        let reference = piece.json.member("$ref")?.as_str()?;
        let target = resolve(self.document, reference)?;
        let at = self.definition(target, reference);
        let pointer = format!("#/$defs/{}", self.definitions[at].name);
        Some(Low {
            members: vec![("$ref".into(), Json::String(pointer.into()))],
            notes: Vec::new(),
            plan: self.plan.add(Op::Defined(at)),
            own: Shape::defined(at),
            wire: Shape::defined(at),
        })
    }

    /// Returns the place of a definition, naming and queueing it when it is new.
    fn definition(&mut self, target: &'a Json<'a>, reference: &str) -> usize {
        let address = std::ptr::from_ref(target).addr();
        if let Some(at) = self.places.get(&address) {
            return *at;
        }
        let last = reference.rsplit(['/', '#']).next().unwrap_or_default();
        let mut stem: String = last
            .chars()
            .filter(|it| it.is_ascii_alphanumeric() || matches!(it, '_' | '-'))
            .take(40)
            .collect();
        if stem.is_empty() {
            stem.push_str("root");
        }
        let at = self.definitions.len();
        let taken = self.definitions.iter().any(|other| other.name == stem);
        let name = if taken { format!("{stem}-{at}") } else { stem };
        self.definitions.push(Definition {
            name,
            schema: target,
        });
        self.plan.defs.push(Defined::default());
        self.places.insert(address, at);
        self.open.push_back(at);
        at
    }

    fn typed(&mut self, view: &View<'a>, depth: usize) -> Low {
        self.complex(view);
        if view.never {
            self.lose("type", Change::Dropped);
            return self.anything("leave it out");
        }
        let mut kinds = view.kinds().unwrap_or(Kinds::ALL);
        if let Some(members) = view.members() {
            return self.enumeration(&members, kinds);
        }
        if view.has("anyOf") || view.has("oneOf") {
            return self.union(view, depth);
        }
        if kinds == Kinds::ALL {
            kinds = self.guessed(view);
        }
        let is_null = kinds.has(Kinds::NULL);
        let others = kinds.without(Kinds::NULL);
        let low = if others == Kinds::ALL.without(Kinds::NULL) {
            return self.anything("any JSON value");
        } else if others == Kinds::NONE {
            return Low::typed("null", Kinds::NULL);
        } else {
            let mut lows = Vec::new();
            for (name, kind) in others.each() {
                lows.push(self.of_kind(view, name, kind, depth));
            }
            match lows.len() {
                1 => lows.swap_remove(0),
                _ => {
                    let key = view.value("type").map(std::ptr::from_ref);
                    let lows = lows.into_iter().map(|low| low.closed("")).collect();
                    self.united(lows, key.map_or(0, |key| key.addr()))
                }
            }
        };
        if is_null { self.or_null(low) } else { low }
    }

    fn of_kind(&mut self, view: &View<'a>, name: &'static str, kind: Kinds, depth: usize) -> Low {
        match kind {
            Kinds::OBJECT => self.object(view, depth),
            Kinds::ARRAY => self.array(view, depth),
            Kinds::STRING => self.string(view),
            Kinds::BOOLEAN => Low::typed(name, kind),
            _ => self.number(view, name, kind),
        }
    }

    /// Guesses the type of a schema that names none: by its properties an object, by its items a list. Others may be any.
    fn guessed(&mut self, view: &View<'a>) -> Kinds {
        let has = |keywords: &[&str]| keywords.iter().any(|keyword| view.has(keyword));
        let kinds = if has(&["properties", "required", "additionalProperties"]) {
            Kinds::OBJECT
        } else if has(&["items", "prefixItems"]) {
            Kinds::ARRAY
        } else {
            return Kinds::ALL;
        };
        self.lose("type", Change::Guessed);
        kinds
    }

    /// Returns a value of any type.
    fn anything(&mut self, what: &str) -> Low {
        match self.dialect.any {
            Any::Untyped => Low::new(Members::new(), Kinds::ALL),
            Any::Text => {
                self.lose("type", Change::Text);
                self.text(what)
            }
        }
    }

    /// Returns a string that holds JSON text.
    fn text(&mut self, what: &str) -> Low {
        Low {
            notes: vec![format!("{what}, as JSON text")],
            plan: self.plan.add(Op::Text),
            own: Shape::anything(),
            ..Low::typed("string", Kinds::STRING)
        }
    }

    /// Ends a schema that cannot be written out to its end.
    fn cut(&mut self, what: &str, keyword: &str) -> Low {
        let low = self.anything(what);
        if self.dialect.any == Any::Untyped {
            self.lose(keyword, Change::Dropped);
        }
        low
    }

    /// Reports the keywords that no typed dialect has a form for.
    fn complex(&mut self, view: &View<'a>) {
        const NONE: [&str; 14] = [
            "not",
            "if",
            "then",
            "else",
            "contains",
            "propertyNames",
            "patternProperties",
            "dependentRequired",
            "dependentSchemas",
            "unevaluatedItems",
            "unevaluatedProperties",
            "contentEncoding",
            "contentMediaType",
            "$dynamicRef",
        ];
        for keyword in NONE {
            if view.has(keyword) {
                self.lose(keyword, Change::Dropped);
            }
        }
    }

    /// Lets a schema take `null` too, in both forms.
    fn or_null(&mut self, low: Low) -> Low {
        let own = low.own.or_null();
        Low {
            own,
            ..self.null_on_the_wire(low)
        }
    }

    /// Lets the wire form of a schema be `null`.
    fn null_on_the_wire(&self, mut low: Low) -> Low {
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

    fn lose(&mut self, keyword: &str, change: Change) {
        let loss = Loss {
            pointer: self.pointer.clone(),
            keyword: keyword.to_owned(),
            change,
        };
        if self.lost.len() < LOSSES && self.lost.last() != Some(&loss) {
            self.lost.push(loss);
        }
    }

    /// Does something one step further down the canonical schema.
    fn at<T>(&mut self, steps: &[&str], within: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.pointer.len();
        for step in steps {
            self.pointer.push('/');
            self.pointer
                .push_str(&words::clip(step).replace('~', "~0").replace('/', "~1"));
        }
        let out = within(self);
        self.pointer.truncate(length);
        out
    }

    fn keeps(&self, keyword: Keywords) -> bool {
        self.dialect.keeps.has(keyword)
    }
}

/// What a schema says to readers.
#[derive(Clone, Copy)]
struct Said<'a> {
    description: &'a str,
    default: Option<&'a Json<'a>>,
}

impl<'a> Said<'a> {
    fn of(pieces: &[Piece<'a>]) -> Self {
        let values = |keyword: &'static str| {
            let pieces = pieces.iter();
            pieces.filter_map(move |piece| piece.json.member(keyword))
        };
        Self {
            description: values("description")
                .find_map(Json::as_str)
                .unwrap_or_default(),
            default: values("default").find(|value| !matches!(value, Json::Null)),
        }
    }
}

impl Low {
    fn new(members: Members, kinds: Kinds) -> Self {
        Self {
            members,
            notes: Vec::new(),
            plan: SAME,
            own: Arc::new(Shape::of(kinds)),
            wire: Arc::new(Shape::of(kinds)),
        }
    }

    fn typed(name: &str, kinds: Kinds) -> Self {
        let name = Json::String(name.to_owned().into());
        Self::new(vec![("type".into(), name)], kinds)
    }

    fn member(&self, name: &str) -> Option<&Json<'static>> {
        let mut members = self.members.iter();
        members
            .find(|(known, _)| known == name)
            .map(|(_, value)| value)
    }

    fn takes_null(&self) -> bool {
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

    fn type_or_null(&mut self, name: Cow<'static, str>) {
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
    fn branch_or_null(&mut self) {
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
    fn closed(mut self, description: &str) -> Self {
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

    fn into_json(self) -> Json<'static> {
        Json::Object(self.members)
    }
}
