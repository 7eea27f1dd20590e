//! Names on the wire: what a service does not take gets another name, and is known by it both ways.

use std::borrow::Cow;
use std::collections::HashMap;

/// What a name may be. All names may have ASCII letters and digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Names {
    /// The characters it may have beside.
    pub extra: &'static str,
    /// Whether it must begin with a letter or `_`.
    pub letter_first: bool,
    /// How many characters it may have.
    pub longest: usize,
}

/// Characters of a name that are kept before its hash.
const KEPT: usize = 55;
/// Characters of the hash.
const HASH: usize = 8;

impl Names {
    /// Any name.
    pub const FREE: Self = Self {
        extra: "",
        letter_first: false,
        longest: usize::MAX,
    };

    /// Tells whether a service takes `name` as it is.
    pub fn allows(&self, name: &str) -> bool {
        if *self == Self::FREE {
            return true;
        }
        let first = name.chars().next();
        let begins =
            first.is_some_and(|it| !self.letter_first || it == '_' || it.is_ascii_alphabetic());
        begins && name.len() <= self.longest && name.chars().all(|it| self.takes(it))
    }

    /// Returns the name itself where a service takes it, else one made of it: bad characters replaced, cut to 55, and a
    /// hash of the name behind it.
    pub fn wire<'n>(&self, name: &'n str) -> Cow<'n, str> {
        if self.allows(name) {
            return name.into();
        }
        self.made(name, name).into()
    }

    fn takes(&self, it: char) -> bool {
        it.is_ascii_alphanumeric() || self.extra.contains(it)
    }

    fn made(&self, name: &str, hashed: &str) -> String {
        let mut made = String::new();
        let first = name.chars().next();
        if self.letter_first && !first.is_some_and(|it| it.is_ascii_alphabetic()) {
            made.push('_');
        }
        let kept = KEPT.min(self.longest.saturating_sub(HASH + 1)) - made.len();
        made.extend(
            name.chars()
                .take(kept)
                .map(|it| if self.takes(it) { it } else { '_' }),
        );
        made.push('_');
        made.push_str(&crate::digest::of(hashed.as_bytes())[..HASH]);
        made
    }
}

/// The names of a toolset on the wire: no two alike, and each known both ways.
#[derive(Clone, Debug)]
pub struct WireNames {
    rule: Names,
    to_wire: HashMap<String, String>,
    from_wire: HashMap<String, String>,
}

impl WireNames {
    /// Returns the names on the wire of these tools. A tool whose name is taken as it is keeps it, whatever the others
    /// are called.
    pub fn new<'n>(rule: Names, names: impl IntoIterator<Item = &'n str>) -> Self {
        let mut made = Self {
            rule,
            to_wire: HashMap::new(),
            from_wire: HashMap::new(),
        };
        let (good, bad): (Vec<_>, Vec<_>) = names.into_iter().partition(|name| rule.allows(name));
        for name in good {
            made.add(name, name.to_owned());
        }
        for name in bad {
            let mut wire = rule.made(name, name);
            let mut count = 1;
            while made.from_wire.get(&wire).is_some_and(|of| of != name) {
                count += 1;
                wire = rule.made(name, &format!("{name}\0{count}"));
            }
            made.add(name, wire);
        }
        made
    }

    fn add(&mut self, name: &str, wire: String) {
        self.from_wire.insert(wire.clone(), name.to_owned());
        self.to_wire.insert(name.to_owned(), wire);
    }

    /// Returns the name a service is told; for a tool that is not in the set, say one of an older call, one that it would
    /// take.
    pub fn wire<'n>(&'n self, name: &'n str) -> Cow<'n, str> {
        match self.to_wire.get(name) {
            Some(wire) => wire.as_str().into(),
            None => self.rule.wire(name),
        }
    }

    /// Returns the tool a service means; a name that was not told stays as it is.
    pub fn name<'n>(&'n self, wire: &'n str) -> &'n str {
        self.from_wire.get(wire).map_or(wire, String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Names = Names {
        extra: "_-",
        letter_first: true,
        longest: 64,
    };

    #[test]
    fn good_names_stay_and_bad_ones_are_made_good() {
        for (name, kept) in [
            ("read_file", true),
            ("Read-2", true),
            ("_x", true),
            ("", false),
            ("2fast", false),
            ("math.add", false),
            ("größe", false),
            ("天气", false),
        ] {
            assert_eq!(RULE.allows(name), kept, "{name}");
            assert_eq!(RULE.wire(name) == name, kept, "{name}");
            assert!(RULE.allows(&RULE.wire(name)), "{name}");
        }
        let long = "a".repeat(100);
        let wire = RULE.wire(&long);
        assert_eq!(wire.len(), 64);
        assert!(wire.starts_with(&"a".repeat(55)));
        assert_eq!(Names::FREE.wire("a b"), "a b");
    }

    #[test]
    fn a_set_is_known_both_ways() {
        // The last one is what the first becomes.
        let taken = RULE.wire("a.b").into_owned();
        let names = ["a.b", "a/b", "a_b", "", &long(), &taken];
        let wires = WireNames::new(RULE, names);
        let mut seen = std::collections::HashSet::new();
        for name in names {
            let wire = wires.wire(name);
            assert!(RULE.allows(&wire), "{wire}");
            assert!(seen.insert(wire.to_string()), "{wire} twice");
            assert_eq!(wires.name(&wire), name);
        }
        assert_eq!(wires.wire(&taken), taken);
        assert_eq!(wires.name("unknown"), "unknown");
        assert!(RULE.allows(&wires.wire("was.here")));
    }

    fn long() -> String {
        "mcp.server.".repeat(20)
    }
}
