//! Patterns as JSON Schema means them: regular expressions of ECMA-262, written in the words of the engines here.
//!
//! Both tell Unicode where ECMA-262 tells ASCII (`\d`, `\w`, `\b`) or a list of its own (`\s`, `.`), know sets within sets,
//! and read some letters behind a `\` as something else. Declared patterns and those of others are read here alike, so that
//! one text cannot fit the first and not the second. What ECMA-262 does not have and every author means the same by (`\A`,
//! `\z`, `\Z`, `(?i)`, `{,3}`) stays. Whether the whole is a pattern is the engine's to say.

use std::fmt::Write as _;
use std::str::Chars;

/// What ECMA-262 counts as blank, without the brackets of a set.
const BLANKS: &str =
    r"\t-\r\x{20}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}\x{FEFF}";

/// What an engine has for the ends of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Words {
    /// `\b` and `\B` of ASCII.
    Ascii,
    /// Those of Unicode only, and looking around.
    #[cfg(feature = "jsonschema")]
    LookAround,
}

/// Writes a pattern of ECMA-262 in an engine's words.
///
/// # Errors
///
/// Fails with what is wrong, in words behind "`…` is no pattern: ".
pub(super) fn translated(source: &str, words: Words) -> Result<String, String> {
    let mut pattern = Pattern {
        letters: source.chars(),
        words,
        out: String::with_capacity(source.len() + 16),
    };
    pattern.read()?;
    Ok(pattern.out)
}

struct Pattern<'s> {
    letters: Chars<'s>,
    words: Words,
    out: String,
}

/// What stands for one character.
enum Atom {
    Letter(char),
    /// A set, in the engine's words; within another set, too.
    Set(String),
}

impl Pattern<'_> {
    fn read(&mut self) -> Result<(), String> {
        while let Some(letter) = self.letters.next() {
            match letter {
                '\\' => self.escaped()?,
                '[' => self.set()?,
                '.' => self.out.push_str(r"[^\n\r\x{2028}\x{2029}]"),
                // Not before a line break at the end.
                '$' => self.out.push_str(r"\z"),
                '{' if !begins_count(self.letters.as_str()) => self.out.push_str(r"\{"),
                _ => self.out.push(letter),
            }
        }
        Ok(())
    }

    fn next_if(&mut self, wanted: char) -> bool {
        let rest = self.letters.as_str().strip_prefix(wanted);
        if let Some(rest) = rest {
            self.letters = rest.chars();
        }
        rest.is_some()
    }

    /// Reads what stands behind a `\` outside a set.
    fn escaped(&mut self) -> Result<(), String> {
        let own = match self.letters.as_str().chars().next() {
            Some('b') => self.end_of_word(true),
            Some('B') => self.end_of_word(false),
            Some('A') => r"\A",
            Some('z' | 'Z') => r"\z",
            Some('k') => r"\k",
            Some('1'..='9') => r"\",
            _ => {
                match self.atom()? {
                    Atom::Letter(letter) => self.letter(letter),
                    Atom::Set(set) => self.out.push_str(&set),
                }
                return Ok(());
            }
        };
        self.out.push_str(own);
        match own {
            // The number of the group is written next.
            r"\" => {}
            _ => drop(self.letters.next()),
        }
        Ok(())
    }

    fn end_of_word(&self, is_one: bool) -> &'static str {
        match (self.words, is_one) {
            (Words::Ascii, true) => r"(?-u:\b)",
            (Words::Ascii, false) => r"(?-u:\B)",
            #[cfg(feature = "jsonschema")]
            (Words::LookAround, true) => {
                "(?:(?<=[0-9A-Za-z_])(?![0-9A-Za-z_])|(?<![0-9A-Za-z_])(?=[0-9A-Za-z_]))"
            }
            #[cfg(feature = "jsonschema")]
            (Words::LookAround, false) => {
                "(?:(?<=[0-9A-Za-z_])(?=[0-9A-Za-z_])|(?<![0-9A-Za-z_])(?![0-9A-Za-z_]))"
            }
        }
    }

    /// Reads what stands behind a `[`.
    fn set(&mut self) -> Result<(), String> {
        let negated = self.next_if('^');
        // `[]` fits nothing and `[^]` all.
        if self.next_if(']') {
            let all_or_none = if negated { r"[\s\S]" } else { r"[^\s\S]" };
            self.out.push_str(all_or_none);
            return Ok(());
        }
        self.out.push_str(if negated { "[^" } else { "[" });
        while !self.next_if(']') {
            let first = self.member()?;
            let rest = self.letters.as_str();
            if !rest.starts_with('-') || rest.starts_with("-]") {
                self.add(&first);
                continue;
            }
            self.letters.next();
            let last = self.member()?;
            match (&first, &last) {
                (Atom::Letter(from), Atom::Letter(to)) if from > to => {
                    return Err(format!("the range `{from}-{to}` ends before it begins"));
                }
                (Atom::Letter(from), Atom::Letter(to)) => {
                    self.letter(*from);
                    self.out.push('-');
                    self.letter(*to);
                }
                // No range begins or ends with a set, so the `-` is one of the letters.
                _ => {
                    self.add(&first);
                    self.letter('-');
                    self.add(&last);
                }
            }
        }
        self.out.push(']');
        Ok(())
    }

    /// Reads one member of a set.
    fn member(&mut self) -> Result<Atom, String> {
        match self.letters.next() {
            None => Err("a `[` has no `]`".to_owned()),
            Some('\\') if self.next_if('b') => Ok(Atom::Letter('\u{8}')),
            Some('\\') => self.atom(),
            Some(letter) => Ok(Atom::Letter(letter)),
        }
    }

    fn add(&mut self, member: &Atom) {
        match member {
            Atom::Letter(letter) => self.letter(*letter),
            Atom::Set(set) => self.out.push_str(set),
        }
    }

    /// Writes a letter so that it means itself everywhere.
    fn letter(&mut self, letter: char) {
        match letter {
            '0'..='9' | 'a'..='z' | 'A'..='Z' => self.out.push(letter),
            // Writing to a text does not fail.
            _ => drop(write!(self.out, r"\x{{{:X}}}", u32::from(letter))),
        }
    }

    /// Reads what stands behind a `\` and is one character.
    fn atom(&mut self) -> Result<Atom, String> {
        let Some(letter) = self.letters.next() else {
            return Err("it ends with a `\\`".to_owned());
        };
        Ok(Atom::Letter(match letter {
            'd' => return Ok(Atom::Set("[0-9]".to_owned())),
            'D' => return Ok(Atom::Set("[^0-9]".to_owned())),
            'w' => return Ok(Atom::Set("[0-9A-Za-z_]".to_owned())),
            'W' => return Ok(Atom::Set("[^0-9A-Za-z_]".to_owned())),
            's' => return Ok(Atom::Set(format!("[{BLANKS}]"))),
            'S' => return Ok(Atom::Set(format!("[^{BLANKS}]"))),
            'p' | 'P' => return self.property(letter).map(Atom::Set),
            't' => '\t',
            'n' => '\n',
            'r' => '\r',
            'v' => '\u{b}',
            'f' => '\u{c}',
            '0' => '\0',
            'c' => {
                let control = self.letters.next().filter(char::is_ascii_alphabetic);
                let control = control.ok_or("behind `\\c` stands a letter of ASCII")?;
                char::from(control.to_ascii_uppercase() as u8 - b'@')
            }
            'x' => self.number('x', 2)?,
            'u' => self.number('u', 4)?,
            'a'..='z' | 'A'..='Z' | '1'..='9' => {
                return Err(format!("`\\{letter}` has no meaning there in ECMA-262"));
            }
            letter => letter,
        }))
    }

    /// Reads what stands behind `\p`: a property of characters, which means the same to the engines.
    fn property(&mut self, letter: char) -> Result<String, String> {
        let rest = self.letters.as_str();
        let name = rest
            .strip_prefix('{')
            .and_then(|rest| rest.split_once('}'))
            .filter(|(name, _)| !name.is_empty());
        let Some((name, rest)) = name else {
            return Err(format!("behind `\\{letter}` stands a name in braces"));
        };
        self.letters = rest.chars();
        Ok(format!(r"\{letter}{{{name}}}"))
    }

    /// Reads the number of a character: so many digits, or any number of them in braces.
    fn number(&mut self, kind: char, digits: usize) -> Result<char, String> {
        let first = self.hex(kind, digits)?;
        let high = |code| (0xD800..0xDC00).contains(&code);
        let mut code = first;
        if kind == 'u' && high(first) {
            // The second half of one character.
            let rest = self.letters.as_str().strip_prefix("\\u");
            let low = rest.and_then(|rest| u32::from_str_radix(rest.get(..4)?, 16).ok());
            if let (Some(rest), Some(low @ 0xDC00..0xE000)) = (rest, low) {
                self.letters = rest[4..].chars();
                code = 0x10000 + ((first - 0xD800) << 10) + (low - 0xDC00);
            }
        }
        match char::from_u32(code) {
            Some(letter) => Ok(letter),
            None if (0xD800..0xE000).contains(&code) => Err(format!(
                "`\\u{code:04x}` is half of a character; write the character itself"
            )),
            None => Err(format!("there is no character {code:X}")),
        }
    }

    fn hex(&mut self, kind: char, digits: usize) -> Result<u32, String> {
        let rest = self.letters.as_str();
        let braced = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
        let (code, rest) = match braced {
            Some((code, rest)) => (Some(code), rest),
            None => (rest.get(..digits), rest.get(digits..).unwrap_or_default()),
        };
        let is_hex = |code: &&str| code.bytes().all(|digit| digit.is_ascii_hexdigit());
        let code = code
            .filter(is_hex)
            .and_then(|code| u32::from_str_radix(code, 16).ok())
            .ok_or_else(|| format!("behind `\\{kind}` stand {digits} hexadecimal digits"))?;
        self.letters = rest.chars();
        Ok(code)
    }
}

/// Tells whether what stands behind a `{` says how often, as against standing for itself.
fn begins_count(rest: &str) -> bool {
    // Not to the next `}`: it may be far, and many a `{` before it.
    let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != ',');
    let Some((count, _)) = end
        .map(|end| rest.split_at(end))
        .filter(|(_, rest)| rest.starts_with('}'))
    else {
        return false;
    };
    let is_number = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
    match count.split_once(',') {
        Some((least, most)) => is_number(least) && is_number(most) && count.len() > 1,
        None => is_number(count) && !count.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, text: &str) -> bool {
        let linear = translated(pattern, Words::Ascii).unwrap();
        let linear = regex::Regex::new(&linear).map(|regex| regex.is_match(text));
        #[cfg(feature = "jsonschema")]
        {
            let looking = translated(pattern, Words::LookAround).unwrap();
            let looking = fancy_regex::Regex::new(&looking).unwrap();
            let looking = looking.is_match(text).unwrap();
            assert_eq!(
                linear.clone().unwrap_or(looking),
                looking,
                "{pattern} {text:?}"
            );
        }
        linear.unwrap()
    }

    #[test]
    fn patterns_mean_what_ecma_says() {
        for (pattern, text, expected) in [
            (r"^\d+$", "12", true),
            (r"^\d+$", "১২", false),
            (r"^\d+$", "12\n", false),
            (r"^[\w.-]+$", "a_b.c-d", true),
            (r"^\w$", "é", false),
            (r"^\W$", "é", true),
            (r"^\D$", "১", true),
            (r"^[^\W]$", "a", true),
            (r"^[\w-\.]+@([\w-]+\.)+[\w-]{2,4}$", "a.b-c@d-e.fr", true),
            (r"^[\w-\.]+@([\w-]+\.)+[\w-]{2,4}$", "a{b@c.fr", false),
            (r"^[\w-z]$", "`", false),
            (r"^[\s-.]+$", " -.", true),
            (r"^[+-\d]+$", "+-1", true),
            (r"^[^\d-]$", "-", false),
            // A range from `+` to `-` has the comma.
            (r"^[+--]+$", "+,-", true),
            (r"^[a-]+$", "a-", true),
            (r"^[-a]+$", "a-", true),
            (r"^[\^a]+$", "^a", true),
            (r"^[]]$", "]", false),
            (r"^[\]]$", "]", true),
            (r"^\0$", "\0", true),
            (r"^\s$", "\u{feff}", true),
            (r"^\s$", "\u{2029}", true),
            (r"^\s$", "\u{85}", false),
            (r"^\S$", "\u{85}", true),
            (r"^\S$", "a", true),
            (r"^[[&&a]+$", "[&a", true),
            (r"^[a~~b]+$", "~", true),
            (r"^[^]$", "\n", true),
            (r"[]", "a", false),
            (r"^.$", "\u{2028}", false),
            (r"^.$", "\r", false),
            (r"^.$", "\u{85}", true),
            (r"^[.]$", "a", false),
            (r"^a\/b$", "a/b", true),
            (r"^\cJ$", "\n", true),
            (r"^[\cj]$", "\n", true),
            (r"^\u0061\x62$", "ab", true),
            (r"^\ud83d\ude00$", "😀", true),
            (r"^[\ud83d\ude00-\ud83d\ude4f]$", "😅", true),
            (r"^\u{1F600}$", "😀", true),
            (r"\bcat\b", "the cat.", true),
            (r"\bcat\b", "concat", false),
            // To ASCII, `é` is between words.
            (r"\bt", "été", true),
            (r"\Bt", "été", false),
            (r"^[\b]$", "\u{8}", true),
            (r"^\<\>\-\ \é$", "<>- é", true),
            (r"^\v\f$", "\u{b}\u{c}", true),
            (r"^\p{Letter}+$", "ПЕТ", true),
            (r"^[\p{Lu}\P{L}]+$", "É1", true),
            (r"^\$x$", "$x", true),
            ("^{.*}$", "{a}", true),
            ("^{{a}}{2}$", "{{a}}}", true),
            ("^a{2}b{1,}c{0,1}$", "aab", true),
            (r"\Aa\Z", "a", true),
            (r"\Aa\Z", "a\n", false),
            (r"(?<year>\d{4})", "in 1999", true),
        ] {
            assert_eq!(fits(pattern, text), expected, "{pattern} {text:?}");
        }
    }

    #[test]
    fn what_is_none_is_named() {
        for (pattern, fault) in [
            ("a\\", "it ends with a `\\`"),
            ("[a", "a `[` has no `]`"),
            ("[a\\", "it ends with a `\\`"),
            ("[z-a]", "the range `z-a` ends before it begins"),
            (r"\a", "`\\a` has no meaning there in ECMA-262"),
            (r"[\1]", "`\\1` has no meaning there in ECMA-262"),
            (r"\c1", "behind `\\c` stands a letter of ASCII"),
            (r"\pL", "behind `\\p` stands a name in braces"),
            (r"\x4", "behind `\\x` stand 2 hexadecimal digits"),
            (r"\u00é", "behind `\\u` stand 4 hexadecimal digits"),
            (r"\u+041", "behind `\\u` stand 4 hexadecimal digits"),
            (
                r"\ud83d",
                "`\\ud83d` is half of a character; write the character itself",
            ),
            (
                r"\ud83d\u0041",
                "`\\ud83d` is half of a character; write the character itself",
            ),
            (r"\u{110000}", "there is no character 110000"),
        ] {
            assert_eq!(
                translated(pattern, Words::Ascii),
                Err(fault.to_owned()),
                "{pattern}"
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(source in r"(?s)[\\\[\]\-^{},0-9a-fuxpcbBk()é😀]{0,12}|.{0,12}") {
            let _ = translated(&source, Words::Ascii);
        }

        #[test]
        fn a_text_that_is_escaped_fits_itself(text in "[ -/:-@\\[-^{-~]{0,8}") {
            let escaped: String = text.chars().flat_map(|letter| ['\\', letter]).collect();
            assert!(fits(&format!("^{escaped}$"), &text));
            assert!(text.is_empty() || fits(&format!("^[{escaped}]*$"), &text));
        }
    }

    /// Each brace is looked behind only as far as a count can go: a schema of another's may hold a million of them.
    #[test]
    fn braces_are_read_in_one_pass() {
        let many = 1 << 20;
        let translated = translated(&"{".repeat(many), Words::Ascii).unwrap();
        assert_eq!(translated, r"\{".repeat(many));
        for (pattern, text) in [
            ("a{2,3}", "aaa"),
            ("a{,", "a{,"),
            ("a{2", "a{2"),
            ("{}", "{}"),
        ] {
            assert!(fits(&format!("^{pattern}$"), text), "{pattern}");
        }
    }
}
