//! From the canonical schema to a dialect's, in one pass that is bounded in depth and work.
//!
//! Two ways through it. A *written* schema keeps its form and loses keywords; a *typed* one is taken apart by the types
//! of its values and put together of the few forms the dialect has. The root is an object in both.

mod array;
mod low;
mod object;
mod refs;
mod scalar;
mod union;
mod written;

use std::cell::Cell;
use std::collections::{HashMap, HashSet, VecDeque};

use low::{Low, Members};

use super::keywords::Keywords;
use super::plan::{Branch, Defined, Id, Op, Plan, SAME};
use super::shape::{Kinds, Look, Shape, Side};
use super::view::{Piece, View};
use super::{Any, Census, Change, Dialect, Loss, Lowered, Refused, words};
use crate::schema::json::Json;
use crate::schema::reader;

/// Deepest nesting of schemas. Each level may become six levels of JSON, of which readers take 128.
const DEPTH: usize = 20;
/// Most schemas that are looked at.
const FUEL: usize = 20_000;
/// Most losses that are reported.
const LOSSES: usize = 1_000;
/// How often the pass is repeated for unions whose branches cannot be told apart.
const PASSES: usize = 8;
/// Most branches that are told apart.
const BRANCHES: usize = 100;
/// Steps that telling branches apart may take.
const LOOKS: usize = 200_000;

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
        let used = refs::used(&root.members, &definitions);
        definitions.retain(|(name, _)| used.contains(name.as_ref()));
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

    fn typed(&mut self, view: &View<'a>, depth: usize) -> Low {
        let low = self.typed_not_null(view, depth);
        // OpenAPI's word, in tools that were made from such a document.
        match view.value("nullable") {
            Some(Json::Bool(true)) => self.or_null(low),
            _ => low,
        }
    }

    fn typed_not_null(&mut self, view: &View<'a>, depth: usize) -> Low {
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
