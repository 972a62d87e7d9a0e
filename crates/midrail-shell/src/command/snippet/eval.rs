//! Evaluates the expressions of a snippet, as far as its text shows them, and notes what its calls do.

use super::lex::{CodeKind, CodeToken, StringPart};
use super::pure::{
    below, effect_of, format, is_environment, is_home, is_keyword, member, narrowed, one_of, parent,
    parse_number, reverse,
};
use super::state::SnippetState;
use super::value::{Value, unknown};
use crate::command::invocation::Arg;
use crate::tables::{Effect, Language};

/// Expressions nested deeper than this are taken piece by piece.
const DEEPEST: usize = 40;
/// The arguments of a call: without names, and with.
#[derive(Default, Clone)]
pub(super) struct Args {
    pub(super) plain: Vec<Value>,
    pub(super) named: Vec<(String, Value)>,
    /// They contain a setting `recursive: true`.
    pub(super) is_recursive: bool,
    /// The folder that the call takes place in, where it says one.
    pub(super) folder: Option<Arg>,
}

impl Args {
    pub(super) fn new(plain: Vec<Value>) -> Self {
        Args { plain, ..Args::default() }
    }

    pub(super) fn text(&self, place: usize) -> Arg {
        self.plain.get(place).map_or_else(unknown, Value::text)
    }
}

pub(super) struct Runner<'a, 'w> {
    pub(super) state: &'w mut SnippetState,
    pub(super) language: Language,
    pub(super) tokens: &'a [CodeToken<'a>],
    pub(super) closings: &'a [usize],
}

impl<'a> Runner<'a, '_> {
    pub(super) fn kind(&self, at: usize) -> Option<&'a CodeKind<'a>> {
        self.tokens.get(at).map(|token| &token.kind)
    }

    pub(super) fn is_mark(&self, at: usize, mark: u8) -> bool {
        matches!(self.kind(at), Some(CodeKind::Mark(found)) if *found == mark)
    }

    pub(super) fn word(&self, at: usize) -> Option<&'a str> {
        match self.kind(at) {
            Some(CodeKind::Word(word)) => Some(word),
            _ => None,
        }
    }

    pub(super) fn closing(&self, at: usize) -> usize {
        self.closings.get(at).copied().unwrap_or(self.tokens.len())
    }

    /// The value of the expression that starts here, and the place after it.
    pub(super) fn expression(&mut self, at: usize, depth: usize) -> (Value, usize) {
        if depth > DEEPEST {
            return (Value::Unknown, at + 1);
        }
        let (mut value, mut at) = self.operand(at, depth);
        loop {
            // Strings next to each other are one in Python, and anything is in awk.
            let is_next_to = match self.language {
                Language::Python => {
                    matches!((&value, self.kind(at)), (Value::Text(_), Some(CodeKind::Text(_))))
                }
                Language::Awk => {
                    matches!(self.kind(at), Some(CodeKind::Text(_) | CodeKind::Number(_)))
                        || self.word(at).is_some_and(|word| !is_keyword(word) && word != "getline")
                        || self.is_mark(at, b'$')
                }
                _ => false,
            };
            let length = match self.kind(at) {
                _ if is_next_to => 0,
                Some(CodeKind::Mark(b'+'))
                    if !matches!(self.kind(at + 1), Some(CodeKind::Mark(b'+' | b'='))) =>
                {
                    1
                }
                Some(CodeKind::Mark(b'.')) if self.is_mark(at + 1, b'.') => 2,
                Some(CodeKind::Mark(b'.')) if matches!(self.language, Language::Perl | Language::Php) => 1,
                Some(CodeKind::Mark(b'&')) if self.language == Language::AppleScript => 1,
                Some(CodeKind::Mark(b'%')) if matches!(value, Value::Text(_)) => 1,
                Some(CodeKind::Mark(b'/')) if matches!(value, Value::Path(_)) => 1,
                _ => break,
            };
            let is_format = self.is_mark(at, b'%') && !is_next_to;
            let is_path = self.is_mark(at, b'/') && !is_next_to;
            let (other, after) = self.operand(at + length, depth + 1);
            at = after;
            value = match value {
                Value::Text(text) if is_format => Value::Text(format(text, &other)),
                Value::Path(text) if is_path => Value::Path(below(text, other.text())),
                Value::Text(mut text) => {
                    text.add(&other.text());
                    Value::Text(text)
                }
                Value::List(mut values) if matches!(other, Value::List(_)) => {
                    values.extend(other.each().iter().cloned());
                    Value::List(values)
                }
                Value::List(mut values) => {
                    values.push(Value::Unknown);
                    Value::List(values)
                }
                Value::Fetched | Value::Decoded => value,
                value => {
                    let mut text = value.text();
                    text.add(&other.text());
                    if text.has_known() { Value::Text(text) } else { Value::Unknown }
                }
            };
        }
        // awk: `"command" | getline`.
        if self.language == Language::Awk && self.is_mark(at, b'|') {
            let getline = at + 1 + usize::from(self.is_mark(at + 1, b'&'));
            if self.word(getline) == Some("getline") {
                let text = value.text();
                if text.all().is_some_and(|text| text.starts_with("/inet/")) {
                    self.state.is_connected = true;
                    self.state.hands_over = true;
                } else if text.has_known() {
                    self.state.command(text.text);
                } else {
                    self.state.hands_over = true;
                    self.state.snippet.starts_unknown = true;
                }
            }
        }
        (value, at)
    }

    /// A value with its members, indexes and calls.
    fn operand(&mut self, mut at: usize, depth: usize) -> (Value, usize) {
        while self
            .word(at)
            .is_some_and(|word| matches!(word, "new" | "await" | "not" | "return" | "typeof" | "do"))
            || matches!(self.kind(at), Some(CodeKind::Mark(b'*' | b'@' | b'\\' | b'&')))
        {
            at += 1;
        }
        let (mut value, mut at) = self.primary(at, depth);
        loop {
            // Elixir's functions that raise: `File.rm_rf!(x)`.
            if self.language == Language::Elixir && self.is_mark(at, b'!') && self.is_mark(at + 1, b'(') {
                at += 1;
            }
            if let Some(length) = self.member_mark(at) {
                let Some(name) = self.word(at + length) else { break };
                if self.language == Language::Node && matches!(name, "then" | "forEach" | "map") {
                    self.bind_callback(&value, at + length + 1);
                }
                if matches!(name, "each" | "map" | "each_entry" | "reject" | "select") {
                    self.bind_block(&value, at + length + 1);
                }
                value = member(value, name);
                at += length + 1;
            } else if self.runs_template(&value, at) {
                // Bun and zx: a template after `$` is a command line.
                let (line, end) = self.primary(at, depth);
                self.state.command(line.text().text);
                (value, at) = (Value::Unknown, end);
            } else if self.is_mark(at, b'(') {
                let end = self.closing(at);
                let args = self.args(at + 1, end, depth);
                value = self.call(value, &args);
                at = end + 1;
                self.bind_block(&value, at);
            } else if self.is_mark(at, b'[') && self.tokens.get(at).is_some_and(|token| token.is_joined) {
                let end = self.closing(at);
                let args = self.args(at + 1, end, depth);
                value = self.index(value, &args, at + 1, end);
                at = end + 1;
            } else if self.takes_bare_args(&value, at) {
                let (args, end) = self.bare_args(at, depth);
                value = self.call(value, &args);
                at = end;
            } else {
                break;
            }
        }
        if self.language == Language::Ruby && matches!(value, Value::Method(..)) {
            value = self.call(value, &Args::default());
        }
        // Perl's `unlink` alone removes what the loop around it goes through.
        let is_bare_removal = self.language == Language::Perl
            && matches!(&value, Value::Name(name) if matches!(name.as_str(), "unlink" | "rmdir"))
            && !self.is_mark(at, b'=');
        if is_bare_removal {
            value = self.call(value, &Args::new(vec![Value::Unknown]));
        }
        (value, at)
    }

    /// `.then(c => …)`: the value is known to the callback by its own name.
    fn bind_callback(&mut self, value: &Value, at: usize) {
        let is_wrapped = self.is_mark(at + 1, b'(');
        let name = at + 1 + usize::from(is_wrapped);
        let arrow = name + 1 + usize::from(is_wrapped);
        if self.is_mark(at, b'(')
            && self.is_mark(arrow, b'=')
            && self.is_mark(arrow + 1, b'>')
            && let (Some(name), Value::Name(_) | Value::List(_) | Value::Text(_)) = (self.word(name), value)
        {
            self.state.set(name, one_of(value.clone()));
        }
    }

    fn runs_template(&self, value: &Value, at: usize) -> bool {
        self.language == Language::Node
            && matches!(value, Value::Name(name) if name == "$" || name == "Bun.$")
            && self
                .tokens
                .get(at)
                .is_some_and(|token| token.is_joined && matches!(token.kind, CodeKind::Text(_)))
    }

    /// The length of a mark between a value and its member: `.`, `->`, `::`, `?.`, `&.`, `:`.
    fn member_mark(&self, at: usize) -> Option<usize> {
        let second = |mark| self.is_mark(at + 1, mark);
        let is_word = |place| self.word(place).is_some();
        match (self.kind(at)?, self.language) {
            (
                CodeKind::Mark(b'.'),
                Language::Perl | Language::Php | Language::Awk | Language::AppleScript,
            ) => None,
            (CodeKind::Mark(b'.'), _) => is_word(at + 1).then_some(1),
            (CodeKind::Mark(b'-'), Language::Perl | Language::Php) => {
                (second(b'>') && is_word(at + 2)).then_some(2)
            }
            (CodeKind::Mark(b':'), Language::Lua) => is_word(at + 1).then_some(1),
            (CodeKind::Mark(b':'), _) => (second(b':') && is_word(at + 2)).then_some(2),
            (CodeKind::Mark(b'?' | b'&'), Language::Node | Language::Ruby) => {
                (second(b'.') && is_word(at + 2)).then_some(2)
            }
            _ => None,
        }
    }

    fn primary(&mut self, at: usize, depth: usize) -> (Value, usize) {
        match self.kind(at) {
            Some(CodeKind::Text(parts)) => (Value::Text(self.resolve(parts)), at + 1),
            Some(CodeKind::Shell(parts)) => {
                let line = Value::Text(self.resolve(parts));
                self.start(Some(&line));
                (Value::Unknown, at + 1)
            }
            Some(CodeKind::Number(number)) => (parse_number(number), at + 1),
            Some(CodeKind::Word("getline")) if self.language == Language::Awk => (self.getline(at), at + 1),
            Some(CodeKind::Word(word)) => match self.state.look_up(word).or_else(|| self.own_place(word)) {
                Some(value) => (value, at + 1),
                None => (Value::Name((*word).to_owned()), at + 1),
            },
            Some(CodeKind::Mark(b'(' | b'[')) => {
                let end = self.closing(at);
                let is_list = self.is_mark(at, b'[');
                let mut args = self.args(at + 1, end, depth + 1);
                let value = match args.plain.len() {
                    1 if !is_list => args.plain.pop().unwrap_or(Value::Unknown),
                    _ => Value::List(args.plain),
                };
                (value, end + 1)
            }
            Some(CodeKind::Mark(b'{')) => {
                let end = self.closing(at);
                let inner = if depth < DEEPEST { self.args(at + 1, end, depth + 1) } else { Args::default() };
                self.state.object_folder = inner.folder;
                let values: Vec<Value> = inner.named.iter().map(|(_, value)| value.clone()).collect();
                // An object that contains the environment counts as the environment.
                let environment = inner
                    .plain
                    .into_iter()
                    .chain(inner.named.into_iter().map(|(_, value)| value))
                    .find(|value| matches!(value, Value::Name(name) if is_environment(name)));
                let known = if values.is_empty() { Value::Unknown } else { Value::Any(values) };
                (environment.unwrap_or(known), end + 1)
            }
            _ => (Value::Unknown, at + 1),
        }
    }

    /// The arguments between two brackets.
    pub(super) fn args(&mut self, mut at: usize, end: usize, depth: usize) -> Args {
        let mut args = Args::default();
        if depth > DEEPEST {
            // Too deep to be written by anyone: what lies inside is followed without its nesting.
            while at < end {
                at = self.flat(at);
            }
            return args;
        }
        while at < end {
            let mut name = None;
            while matches!(self.kind(at), Some(CodeKind::Line)) {
                at += 1;
            }
            if let Some(word) = self.word(at) {
                let is_named = (self.is_mark(at + 1, b'=')
                    && !matches!(self.kind(at + 2), Some(CodeKind::Mark(b'=' | b'>'))))
                    || (self.is_mark(at + 1, b':')
                        && !self.is_mark(at + 2, b':')
                        && self.language != Language::Lua);
                if is_named {
                    name = Some(word.to_owned());
                    at += 2;
                    args.is_recursive |=
                        word == "recursive" && !matches!(self.word(at), Some("false" | "False" | "FALSE"));
                }
            }
            // The key of an object in quotes: `{'a': x}`.
            let is_keyed = matches!(self.kind(at), Some(CodeKind::Text(_)))
                && self.is_mark(at + 1, b':')
                && !self.is_mark(at + 2, b':')
                && matches!(self.language, Language::Python | Language::Node);
            if let (true, Some(CodeKind::Text(parts))) = (is_keyed, self.kind(at)) {
                name = Some(self.resolve(parts).text);
                at += 2;
            }
            if at >= end {
                break;
            }
            self.bind_comprehension(at, end, depth);
            let (mut value, mut after) = self.expression(at, depth + 1);
            // Everything else before the next comma is evaluated for its effects.
            let mut is_block = false;
            while after < end && !self.is_separator(after) {
                let is_blank = matches!(self.kind(after), Some(CodeKind::Line));
                is_block |= !is_blank;
                after = if is_blank { after + 1 } else { self.statement_at(after, depth + 1) };
            }
            args.is_recursive |= self.has_recursive(at, after);
            if is_block && !matches!(value, Value::Fetched | Value::Decoded) {
                value = Value::Unknown;
            }
            self.note_code_by_name(&value);
            let folder = name.as_ref().and_then(|name| Self::named_folder(name, &value));
            args.folder = args.folder.take().or(folder).or(self.state.object_folder.take());
            match name {
                Some(name) => args.named.push((name, value)),
                None => args.plain.push(value),
            }
            at = after + 1;
        }
        args
    }

    /// The separator between two arguments. In Julia, those with names follow a semicolon.
    fn is_separator(&self, at: usize) -> bool {
        self.is_mark(at, b',') || (self.language == Language::Julia && self.is_mark(at, b';'))
    }

    /// The file that contains the code, and its folder.
    fn own_place(&self, word: &str) -> Option<Value> {
        let script = || self.state.start.script.clone().unwrap_or_else(|| "this-script".to_owned());
        match (self.language, word) {
            (Language::Python | Language::Ruby, "__file__" | "__FILE__") | (Language::Node, "__filename") => {
                Some(Value::known(script()))
            }
            (Language::Node, "__dirname") | (Language::Ruby, "__dir__") => {
                Some(Value::Text(parent(&Arg::known(script()))))
            }
            _ => None,
        }
    }

    /// awk: `getline line < "file"`.
    fn getline(&mut self, at: usize) -> Value {
        let from = (at + 1..at + 4).find(|place| self.is_mark(*place, b'<'));
        if let Some(CodeKind::Text(parts)) = from.and_then(|from| self.kind(from + 1)) {
            let args = Args::new(vec![Value::Text(self.resolve(parts))]);
            self.apply(Effect::Read, &args);
        }
        Value::Unknown
    }

    /// `f(x) for x in y`: what the loop goes through is known to the expression in front of it.
    fn bind_comprehension(&mut self, from: usize, end: usize, depth: usize) {
        if self.language != Language::Python {
            return;
        }
        let mut at = from;
        while at < end && self.state.loops > 0 {
            if self.is_mark(at, b'(') || self.is_mark(at, b'[') || self.is_mark(at, b'{') {
                at = self.closing(at) + 1;
                continue;
            }
            if self.is_mark(at, b',') {
                return;
            }
            if self.word(at) == Some("for") && at > from {
                self.state.loops -= 1;
                // It is followed once more in its own place: what it does is noted there.
                let noted = self.state.snippet.clone();
                at = self.bind_loop(at + 1, depth + 1).max(at + 1);
                self.state.snippet = noted;
                continue;
            }
            at += 1;
        }
    }

    /// `x in y`, `a, b in y`: names what a loop goes through. Returns the place after it.
    pub(super) fn bind_loop(&mut self, at: usize, depth: usize) -> usize {
        let Some(within) = (at..at + 12).find(|place| self.word(*place) == Some("in")) else { return at };
        let names: Vec<&str> = (at..within).filter_map(|place| self.word(place)).collect();
        let (mut value, end) = self.expression(within + 1, depth);
        // Only some of it is gone through: `for x in y if …`, and `for x in y:` with an `if` below.
        let body = end + usize::from(self.is_mark(end, b':'));
        let body = (body..body + 3).find(|place| !matches!(self.kind(*place), Some(CodeKind::Line)));
        if body.and_then(|body| self.word(body)) == Some("if") {
            value = narrowed(value);
        }
        match (names.as_slice(), &value) {
            ([only], _) => self.state.set(only, one_of(value)),
            (names, Value::List(values)) if values.len() == names.len() => {
                for (name, value) in names.iter().zip(values) {
                    self.state.set(name, value.clone());
                }
            }
            (names, _) => names.iter().for_each(|name| self.state.set(name, Value::Unknown)),
        }
        end
    }

    /// `.each { |x| … }`: what comes before is known to the block by its own name.
    fn bind_block(&mut self, value: &Value, at: usize) {
        let opens = self.is_mark(at, b'{') || self.word(at) == Some("do");
        if self.language == Language::Ruby
            && opens
            && self.is_mark(at + 1, b'|')
            && self.is_mark(at + 3, b'|')
            && let (Some(name), Value::Text(_) | Value::Path(_) | Value::List(_)) = (self.word(at + 2), value)
        {
            self.state.set(name, one_of(value.clone()));
        }
    }

    /// `.then(eval)`: a function that runs code is handed on.
    fn note_code_by_name(&mut self, value: &Value) {
        if let Value::Name(name) = value {
            self.state.runs_unknown_code |= effect_of(self.language, name) == Some(Effect::Code);
            self.state.snippet.starts_unknown |= self.state.handlers.contains_key(name);
        }
    }

    /// A statement inside brackets. Assignments and keywords count as at the top.
    fn statement_at(&mut self, at: usize, depth: usize) -> usize {
        if self.word(at).is_some_and(is_keyword) {
            return at + 1;
        }
        let end = self.assigned(at, depth).unwrap_or_else(|| self.expression(at, depth).1);
        end.max(at + 1)
    }

    /// `x = value`, `x += value` and `x .= value`. Returns the place after it.
    pub(super) fn assigned(&mut self, at: usize, depth: usize) -> Option<usize> {
        let name = self.word(at)?;
        if self.is_mark(at + 1, b'=')
            && !matches!(self.kind(at + 2), Some(CodeKind::Mark(b'=' | b'>' | b'~')))
        {
            if let Some(body) = self.named_function(name, at + 2) {
                return Some(body);
            }
            let (value, end) = self.expression(at + 2, depth);
            self.state.set(name, value);
            return Some(end);
        }
        if !(self.is_mark(at + 2, b'=') && matches!(self.kind(at + 1), Some(CodeKind::Mark(b'+' | b'.')))) {
            return None;
        }
        let (value, end) = self.expression(at + 3, depth);
        if let Some(Value::List(mut values)) = self.state.look_up(name) {
            values.extend(value.each().iter().cloned());
            self.state.set(name, Value::List(values));
            return Some(end);
        }
        let mut text = self.state.look_up(name).map_or_else(unknown, |value| value.text());
        text.add(&value.text());
        self.state.set(name, Value::Text(text));
        Some(end)
    }

    /// One call or token without its nesting.
    fn flat(&mut self, at: usize) -> usize {
        if let (Some(name), true, Some(CodeKind::Text(parts))) =
            (self.word(at), self.is_mark(at + 1, b'('), self.kind(at + 2))
        {
            let value = Value::Text(self.resolve(parts));
            let args = Args::new(vec![value]);
            let module =
                at.checked_sub(2).filter(|_| self.is_mark(at - 1, b'.')).and_then(|place| self.word(place));
            let name = module.map_or_else(|| name.to_owned(), |module| format!("{module}.{name}"));
            self.call(Value::Name(name), &args);
        }
        at + 1
    }

    /// Perl, Ruby and AppleScript call functions without brackets, Python 2 `exec`, Lua with one string.
    fn takes_bare_args(&self, value: &Value, at: usize) -> bool {
        let Value::Name(name) = value else { return false };
        let starts_value = match self.kind(at) {
            Some(CodeKind::Text(_) | CodeKind::Shell(_)) => true,
            Some(CodeKind::Word(word)) => !is_keyword(word) && self.language != Language::Lua,
            Some(CodeKind::Mark(mark)) => {
                matches!(
                    (mark, self.language),
                    (b'[' | b'*' | b'$', Language::Ruby) | (b'[' | b'@' | b'<', Language::Perl)
                )
            }
            _ => false,
        };
        let is_known = || effect_of(self.language, name).is_some();
        starts_value
            && ((self.language.row().bare_calls && is_known())
                || (self.language == Language::Python && name == "exec"))
    }

    fn bare_args(&mut self, mut at: usize, depth: usize) -> (Args, usize) {
        let mut args = Args::default();
        if depth > DEEPEST {
            return (args, at + 1);
        }
        loop {
            let (value, after) = self.expression(at, depth + 1);
            args.plain.push(value);
            at = after;
            if !self.is_mark(at, b',') {
                return (args, at);
            }
            at += 1;
        }
    }

    /// The text of a string, with what it interpolates.
    fn resolve(&mut self, parts: &[StringPart]) -> Arg {
        let mut text = Arg::default();
        for part in parts {
            match part {
                StringPart::Known(known) => text.add(&Arg::known(known.as_str())),
                StringPart::Code(code) => match self.state.look_up(code.trim()) {
                    Some(value) => text.add(&value.text()),
                    None => {
                        if code.contains(['(', '`']) {
                            self.state.run(self.language, code);
                        }
                        text.add(&if is_home(code) { Arg::known("~") } else { unknown() });
                    }
                },
            }
        }
        text
    }

    fn index(&mut self, value: Value, args: &Args, at: usize, end: usize) -> Value {
        // `[::-1]`
        if end == at + 4 && self.is_mark(at, b':') && self.is_mark(at + 1, b':') && self.is_mark(at + 2, b'-')
        {
            return reverse(value);
        }
        match (value, args.plain.first()) {
            (Value::Name(name), Some(Value::Text(key))) => match key.all() {
                Some("HOME" | "USERPROFILE") if is_environment(&name) => Value::known("~"),
                Some(key) if name == "Dir" => Value::known(key),
                Some(key) if name == "sys.modules" => Value::Name(key.to_owned()),
                Some(key) if !is_environment(&name) => Value::Name(format!("{name}.{key}")),
                _ => Value::Unknown,
            },
            // `sys.argv[1:]`
            (Value::Name(name), _) if (at..end).any(|place| self.is_mark(place, b':')) => {
                let from = match self.kind(at) {
                    Some(CodeKind::Number(number)) => Some(parse_number(number)),
                    _ => None,
                };
                self.script_arguments(&name, from.as_ref()).unwrap_or(Value::Unknown)
            }
            (Value::Name(name), Some(Value::Number(place))) => self.script_argument(&name, *place),
            (value @ Value::Any(_), _) => value,
            (Value::List(values), Some(Value::Number(place))) => usize::try_from(*place)
                .ok()
                .and_then(|place| values.into_iter().nth(place))
                .unwrap_or(Value::Unknown),
            (value @ (Value::Fetched | Value::Decoded), _) => value,
            _ => Value::Unknown,
        }
    }
}
