//! Finds the variables that a module declares at its top level, without understanding the rest of it.
//!
//! A name too many does no harm (it is looked up later, and passed over where there is no such variable). What it must
//! get right is where strings, templates, comments and regular expressions end.

mod tokens;

use self::tokens::{Kind, Token, Tokens};

/// A variable of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Variable {
    pub(super) name: String,
    /// Declared with `const`: its content may change, but it cannot be given another value.
    pub(super) is_const: bool,
}

/// The variables that the source of a module declares at its top level, each once.
pub(super) fn variables(source: &str) -> Vec<Variable> {
    let mut found = Declarations::default();
    let mut tokens = Tokens::new(source);
    while let Some(token) = tokens.next() {
        found.take(token);
    }
    found.variables
}

/// The position in a declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum At {
    /// In none.
    #[default]
    Nowhere,
    /// Where a name or a pattern is next.
    Name,
    /// Inside a pattern that was opened at this depth.
    Pattern(usize),
    /// After a name or pattern: its value, a comma or the end is next.
    Value,
}

#[derive(Default)]
struct Declarations {
    variables: Vec<Variable>,
    at: At,
    is_const: bool,
    depth: usize,
    /// The word inside a pattern that is declared unless a `:` follows it.
    candidate: Option<String>,
    /// Depths at which defaults of a pattern began. Words in them declare nothing.
    in_default: Option<usize>,
    previous: Kind,
}

impl Declarations {
    fn take(&mut self, token: Token<'_>) {
        let previous = std::mem::replace(&mut self.previous, token.kind);
        if let At::Pattern(depth) = self.at {
            self.pattern(token, depth);
            return;
        }
        match token.kind {
            Kind::Open => {
                if self.at == At::Name && matches!(token.text, "{" | "[") {
                    self.at = At::Pattern(self.depth);
                }
                self.depth += 1;
            }
            Kind::Close => self.depth = self.depth.saturating_sub(1),
            _ if self.depth > 0 => {}
            Kind::Word if matches!(token.text, "let" | "var" | "const") && previous != Kind::Dot => {
                self.at = At::Name;
                self.is_const = token.text == "const";
            }
            Kind::Word if self.at == At::Name => {
                self.declare(token.text);
                self.at = At::Value;
            }
            Kind::Word | Kind::Operand if self.at == At::Value => {
                // Two values in a row on two lines: the declaration ended without a semicolon.
                let goes_on = matches!(token.text, "in" | "instanceof" | "of");
                let had_value = matches!(previous, Kind::Word | Kind::Operand | Kind::Close);
                if token.follows_line && had_value && !goes_on {
                    self.at = At::Nowhere;
                }
            }
            Kind::Operator if token.text == ";" => self.at = At::Nowhere,
            Kind::Operator if token.text == "," && self.at == At::Value => self.at = At::Name,
            Kind::Word | Kind::Operand | Kind::Operator | Kind::Dot => {}
        }
    }

    /// A token inside a pattern: `{ a, b: c, d = 1, ...rest }` declares a, c, d and rest.
    fn pattern(&mut self, token: Token<'_>, opened_at: usize) {
        match token.kind {
            Kind::Open => {
                // A computed key is no name, and what follows it is in brackets that close again.
                self.candidate = None;
                self.depth += 1;
            }
            Kind::Close => {
                if self.in_default.is_some_and(|depth| self.depth <= depth) {
                    self.in_default = None;
                }
                if self.in_default.is_none() {
                    self.accept();
                }
                self.depth = self.depth.saturating_sub(1);
                if self.depth <= opened_at {
                    self.at = At::Value;
                }
            }
            _ if self.in_default.is_some_and(|depth| self.depth > depth) => {}
            Kind::Operator if token.text == "," => {
                if self.in_default.take().is_none() {
                    self.accept();
                }
            }
            _ if self.in_default.is_some() => {}
            Kind::Operator if token.text == ":" => self.candidate = None,
            Kind::Operator if token.text == "=" => {
                self.accept();
                self.in_default = Some(self.depth);
            }
            Kind::Word => self.candidate = Some(token.text.to_owned()),
            Kind::Operand | Kind::Operator | Kind::Dot => {}
        }
    }

    fn accept(&mut self) {
        if let Some(name) = self.candidate.take() {
            self.declare(&name);
        }
    }

    fn declare(&mut self, name: &str) {
        let is_plain = !name.contains('\\') && !RESERVED.split(' ').any(|word| word == name);
        if is_plain && !self.variables.iter().any(|variable| variable.name == name) {
            self.variables.push(Variable { name: name.to_owned(), is_const: self.is_const });
        }
    }
}

/// Words that cannot name a variable of a module.
const RESERVED: &str = "\
    arguments await break case catch class const continue debugger default delete do else enum eval \
    export extends false finally for function if implements import in instanceof interface let new null \
    package private protected public return static super switch this throw true try typeof var void \
    while with yield";

/// Line and column, from 1 on, of the text by which a module imports another, or of a name that it takes from there. `None`:
/// there is none, or the text is put together when it runs, or written with escapes.
pub(crate) fn place_of(source: &str, from: &str, name: Option<&str>) -> Option<(u32, u32)> {
    let mut tokens = Tokens::new(source);
    // The words since the last `import` or `export`, which a `from` may belong to.
    let mut words: Vec<(&str, usize)> = Vec::new();
    while let Some(token) = tokens.next() {
        let last = words.last().map_or("", |(text, _)| *text);
        let is_import = match words.as_slice() {
            [.., ("import", _), ("(", _)] => true,
            _ => matches!(last, "from" | "import"),
        };
        if is_import && token.kind == Kind::Operand && is_quoted(token.text, from) {
            let Some(name) = name else { return place(source, token.start) };
            if let Some(at) = place_of_name(&words, name) {
                return place(source, at);
            }
        }
        if matches!(token.text, "import" | "export") {
            words.clear();
        }
        words.push((token.text, token.start));
    }
    None
}

/// Where the words of an import say a name: `{ name }`, `{ name as other }`, and for `default` also `import other`.
fn place_of_name(words: &[(&str, usize)], name: &str) -> Option<usize> {
    let word = |at: usize| words.get(at).map_or("", |(text, _)| *text);
    let is_taken =
        |at: &usize| word(*at) == name && at.checked_sub(1).is_none_or(|before| word(before) != "as");
    let in_braces = (0..words.len()).find(is_taken);
    let bare = (name == "default" && word(0) == "import" && !matches!(word(1), "{" | "*" | "")).then_some(1);
    words.get(in_braces.or(bare)?).map(|(_, start)| *start)
}

fn is_quoted(text: &str, name: &str) -> bool {
    let quotes = ['"', '\'', '`'];
    text.strip_prefix(quotes).and_then(|rest| rest.strip_suffix(quotes)) == Some(name)
}

/// Line and column of a place in a text, as the JavaScript engine counts them.
fn place(source: &str, at: usize) -> Option<(u32, u32)> {
    let before = source.get(..at)?;
    let (lines, line) =
        before.rsplit_once('\n').map_or((0, before), |(above, line)| (above.matches('\n').count() + 1, line));
    Some((u32::try_from(lines + 1).ok()?, u32::try_from(line.chars().count() + 1).ok()?))
}
