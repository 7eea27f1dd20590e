//! Literals of defaults and examples, held against the const tree by the compiler.

use super::bounds::{Bounds, Num};
use super::node::{Kind, Node, Source};

/// A literal as it stands in an attribute.
#[derive(Clone, Copy, Debug)]
pub enum Literal {
    /// `true`.
    Boolean(bool),
    /// `5`, `0.5`.
    Number(Num),
    /// `"text"`.
    Text(&'static str),
    /// `[1, 2]`.
    List(&'static [Literal]),
}

/// Tells whether a literal can be a value of `source` within `over`. What only run time knows is taken: patterns,
/// declared types and those of schemars; the generated test holds them against the whole schema.
pub const fn fits(source: Source, over: Bounds, literal: &Literal) -> bool {
    match source.node {
        Some(node) => fits_node(node, over, literal),
        None => false,
    }
}

/// Tells whether a call may come without a value of `source`.
pub const fn may_lack(source: Source) -> bool {
    match source.node {
        Some(node) => matches!(node.kind, Kind::Optional(_) | Kind::Foreign(_)),
        None => true,
    }
}

/// Counts the parameters that are the call's context: neither argument nor state.
pub const fn contexts(sources: &[Source]) -> usize {
    let (mut at, mut count) = (0, 0);
    while at < sources.len() {
        count += (sources[at].node.is_none() && sources[at].need.is_none()) as usize;
        at += 1;
    }
    count
}

const fn fits_node(node: &Node, over: Bounds, literal: &Literal) -> bool {
    let bounds = node.bounds.tightened(over);
    match (node.kind, literal) {
        (Kind::Optional(inner), _) => fits_node(inner, over, literal),
        (Kind::Any | Kind::Named(_) | Kind::Foreign(_) | Kind::Union(_), _)
        | (Kind::Boolean, Literal::Boolean(_)) => true,
        (Kind::Integer, Literal::Number(number @ Num::Int(_)))
        | (Kind::Number, Literal::Number(number)) => holds(&bounds, *number),
        (Kind::String(_), Literal::Text(text)) => {
            counts(&bounds, chars(text))
                && (bounds.one_of.is_empty() || contains(bounds.one_of, text))
        }
        (Kind::Words(words), Literal::Text(text)) => {
            contains(words.shown, text) || contains(words.aliases, text)
        }
        (Kind::Array(item) | Kind::Set(item), Literal::List(literals)) => {
            let over = match bounds.items {
                Some(items) => *items,
                None => Bounds::NONE,
            };
            let mut at = 0;
            while at < literals.len() {
                if !fits_node(item, over, &literals[at]) {
                    return false;
                }
                at += 1;
            }
            counts(&bounds, literals.len())
        }
        (Kind::Tuple(places), Literal::List(literals)) => {
            let mut at = 0;
            while at < literals.len() && at < places.len() {
                let place = &places[at];
                let over = match place.bounds {
                    Some(bounds) => *bounds,
                    None => Bounds::NONE,
                };
                if let Some(node) = place.node
                    && !fits_node(node, over, &literals[at])
                {
                    return false;
                }
                at += 1;
            }
            literals.len() == places.len()
        }
        _ => false,
    }
}

const fn holds(bounds: &Bounds, number: Num) -> bool {
    let at_least = match (bounds.min, number) {
        (None, _) => true,
        (Some(Num::Int(min)), Num::Int(number)) => number >= min,
        (Some(min), number) => number.as_f64() >= min.as_f64(),
    };
    let at_most = match (bounds.max, number) {
        (None, _) => true,
        (Some(Num::Int(max)), Num::Int(number)) => {
            number < max || (number == max && !bounds.below_max)
        }
        (Some(max), number) => {
            number.as_f64() < max.as_f64() || (number.as_f64() <= max.as_f64() && !bounds.below_max)
        }
    };
    let in_steps = match (bounds.multiple_of, number) {
        (Some(step), Num::Int(number)) => step.divides(number),
        // The macro has looked at it as it is written.
        _ => true,
    };
    let listed = match number {
        Num::Int(number) if !bounds.numbers.is_empty() => {
            let mut at = 0;
            while at < bounds.numbers.len() && bounds.numbers[at] != number {
                at += 1;
            }
            at < bounds.numbers.len()
        }
        _ => true,
    };
    at_least && at_most && in_steps && listed
}

const fn counts(bounds: &Bounds, count: usize) -> bool {
    let enough = match bounds.min_len {
        Some(min) => count >= min,
        None => true,
    };
    let few = match bounds.max_len {
        Some(max) => count <= max,
        None => true,
    };
    enough && few
}

/// Counts characters: the bytes that begin one.
const fn chars(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut count) = (0, 0);
    while at < bytes.len() {
        count += (bytes[at] & 0xc0 != 0x80) as usize;
        at += 1;
    }
    count
}

const fn contains(words: &[&str], text: &str) -> bool {
    let mut at = 0;
    while at < words.len() {
        if equal(words[at].as_bytes(), text.as_bytes()) {
            return true;
        }
        at += 1;
    }
    false
}

pub(super) const fn equal(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut at = 0;
    while at < a.len() {
        if a[at] != b[at] {
            return false;
        }
        at += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::ToolInput;

    fn of<T: ToolInput>(over: Bounds, literal: Literal) -> bool {
        let source = Source {
            node: Some(T::NODE),
            need: None,
        };
        fits(source, over, &literal)
    }

    #[test]
    fn literals_keep_to_kind_and_bounds() {
        use Literal::{Boolean, List, Number, Text};
        let int = |int| Number(Num::Int(int));
        assert!(of::<u8>(Bounds::NONE, int(255)));
        assert!(!of::<u8>(Bounds::NONE, int(256)));
        assert!(!of::<u8>(Bounds::integers(Some(1), Some(5)), int(9)));
        assert!(!of::<u8>(Bounds::NONE, Text("5")));
        assert!(of::<Option<bool>>(Bounds::NONE, Boolean(true)));
        assert!(of::<f64>(Bounds::NONE, int(1)));
        assert!(!of::<i64>(Bounds::NONE, Number(Num::Float(1.0))));
        assert!(of::<String>(Bounds::len(2, 2), Text("éé")));
        assert!(!of::<String>(Bounds::len(2, 2), Text("é")));
        let one_of = Bounds {
            one_of: &["a", "b"],
            ..Bounds::NONE
        };
        assert!(of::<String>(one_of, Text("b")));
        assert!(!of::<String>(one_of, Text("ab")));
        const LIST: &[Literal] = &[Literal::Number(Num::Int(1)), Literal::Number(Num::Int(-1))];
        assert!(of::<Vec<i8>>(Bounds::NONE, List(LIST)));
        assert!(!of::<Vec<u8>>(Bounds::NONE, List(LIST)));
        assert!(!of::<Vec<i8>>(Bounds::len(0, 1), List(LIST)));
        assert!(of::<(u8, i8)>(Bounds::NONE, List(LIST)));
        assert!(!of::<(u8, i8, u8)>(Bounds::NONE, List(LIST)));
    }
}
