//! Values that code gets from outside: the words that follow it, and what the functions of the code itself are called with.

use super::eval::{Args, Runner};
use super::lex::CodeKind;
use super::pure::{below, one_of};
use super::value::{Value, unknown};
use crate::command::invocation::Arg;
use crate::tables::{Effect, Language};

/// How many values of one argument are tried.
const MAX_VALUES: usize = 32;

/// No function of the code itself has more of these.
const MAX_HANDLERS: usize = 16;

/// Names of arguments that say where a call takes place.
const FOLDER_NAMES: &[&str] = &["cwd", "chdir", "dir_fd", "src_dir_fd", "dst_dir_fd"];

impl Runner<'_, '_> {
    /// What comes before the first word after the code in the list of this name. `None`: it is no such list.
    fn words_before(&self, name: &str) -> Option<usize> {
        match (self.language, name) {
            (Language::Python, "sys.argv") | (Language::Php, "$argv") | (Language::Lua, "arg") => Some(1),
            (Language::Awk, "ARGV") => Some(1),
            // Without a script, its place is not there.
            (Language::Node, "process.argv") => Some(1 + usize::from(self.state.start.script.is_some())),
            (Language::Ruby | Language::Perl, "ARGV" | "$ARGV") => Some(0),
            _ => None,
        }
    }

    /// `sys.argv[1]`: a word that follows the code, where it is known.
    pub(super) fn script_argument(&self, name: &str, place: u32) -> Value {
        let before = self.words_before(name);
        let place = before.and_then(|before| usize::try_from(place).ok()?.checked_sub(before));
        let word = place.and_then(|place| self.state.start.args.as_ref()?.get(place));
        word.map_or(Value::Unknown, argument)
    }

    /// The words that follow the code, from a place of their list on, if the name is that of the list.
    pub(super) fn script_arguments(&self, name: &str, from: Option<&Value>) -> Option<Value> {
        let before = self.words_before(name)?;
        let from = match from {
            Some(Value::Number(from)) => usize::try_from(*from).ok()?.saturating_sub(before),
            _ => 0,
        };
        let args = self.state.start.args.as_ref()?;
        Some(Value::List(args.iter().skip(from).map(argument).collect()))
    }

    /// Notes what a call does, once for each value that its first argument may have, in the folder where it does so.
    pub(super) fn apply(&mut self, effect: Effect, args: &Args) -> Value {
        match args.plain.first() {
            Some(Value::Any(values)) => {
                let values: Vec<Value> = values.iter().take(MAX_VALUES).cloned().collect();
                let mut results = Vec::new();
                for value in values {
                    let mut plain = args.plain.clone();
                    if let Some(first) = plain.first_mut() {
                        *first = value;
                    }
                    results.push(self.apply(effect, &Args { plain, ..args.clone() }));
                }
                Value::Any(results)
            }
            Some(Value::Name(name)) if self.words_before(name).is_some() => {
                let list = self.script_arguments(name, None).unwrap_or(Value::Unknown);
                let mut plain = args.plain.clone();
                if let Some(first) = plain.first_mut() {
                    *first = list;
                }
                self.apply_in(effect, &Args { plain, ..args.clone() })
            }
            _ => self.apply_in(effect, args),
        }
    }

    /// The same, for one value. `run(…, cwd="/")` takes place in another folder.
    fn apply_in(&mut self, effect: Effect, args: &Args) -> Value {
        let Some(folder) = args.folder.clone() else { return self.apply_one(effect, args) };
        let outer = self.state.folder.clone();
        self.change_folder(folder);
        let value = self.apply_one(effect, args);
        self.state.folder = outer;
        value
    }

    /// Notes that what follows takes place in another folder.
    pub(super) fn change_folder(&mut self, folder: Arg) {
        self.state.folder = Some(match self.state.folder.take() {
            Some(outer) => below(outer, folder),
            None => folder,
        });
    }

    /// The folder that a named argument says, if it is one that says a folder.
    pub(super) fn named_folder(name: &str, value: &Value) -> Option<Arg> {
        // A call without a folder of its own has `None` there.
        let is_none = matches!(value, Value::Name(name) if matches!(name.as_str(), "None" | "undefined" | "null" | "nil"));
        (FOLDER_NAMES.contains(&name) && !is_none).then(|| value.text())
    }

    /// A function of the code itself is called with the values that its body runs, writes or removes.
    pub(super) fn call_own(&mut self, name: &str, args: &Args) -> bool {
        let Some(handlers) = self.state.handlers.get(name).cloned() else { return false };
        for (place, effect) in handlers {
            let value = args.plain.get(place).cloned().or_else(|| {
                let named = args.named.iter().map(|(_, value)| value);
                named.into_iter().next().cloned()
            });
            self.apply(effect, &Args::new(vec![value.unwrap_or(Value::Unknown)]));
        }
        true
    }

    /// Whether a value is the parameter of a function of the code itself. Its calls show what it is.
    pub(super) fn is_parameter(&mut self, value: &Value, effect: Effect) -> bool {
        let Value::Name(name) = value else { return false };
        let Some((function, place)) = self.state.parameters.get(name).cloned() else { return false };
        let handlers = self.state.handlers.entry(function).or_default();
        if handlers.len() < MAX_HANDLERS && !handlers.contains(&(place, effect)) {
            handlers.push((place, effect));
        }
        true
    }

    /// `def name(a, b):`, `function name(a, b)`: notes the parameters.
    pub(super) fn define(&mut self, at: usize) {
        if let Some(name) = self.word(at).filter(|_| self.is_mark(at + 1, b'(')) {
            self.note_parameters(name, at + 2, self.closing(at + 1));
        }
    }

    fn note_parameters(&mut self, function: &str, from: usize, end: usize) {
        let mut place = 0;
        let mut at = from;
        let mut is_next = true;
        while at < end && place < MAX_VALUES {
            match self.kind(at) {
                Some(CodeKind::Word(name)) if is_next => {
                    self.state.variables.remove(*name);
                    self.state.parameters.insert((*name).to_owned(), (function.to_owned(), place));
                    is_next = false;
                }
                Some(CodeKind::Mark(b',')) => {
                    place += 1;
                    is_next = true;
                }
                Some(CodeKind::Mark(b'(' | b'[' | b'{')) => at = self.closing(at),
                _ => {}
            }
            at += 1;
        }
    }

    /// `name = (a, b) => …`, `name = lambda a: …`, `name = function (a) …`. Returns the place of the body.
    pub(super) fn named_function(&mut self, name: &str, at: usize) -> Option<usize> {
        let at = at + usize::from(self.word(at) == Some("async"));
        let is_arrow = |place: usize| self.is_mark(place, b'=') && self.is_mark(place + 1, b'>');
        let (from, end, body) = match (self.language, self.word(at)) {
            (Language::Python, Some("lambda")) => {
                let end = (at..at + 24).find(|place| self.is_mark(*place, b':'))?;
                (at + 1, end, end + 1)
            }
            (Language::Node | Language::Php | Language::Lua, Some("function" | "fn"))
                if self.is_mark(at + 1, b'(') =>
            {
                let end = self.closing(at + 1);
                (at + 2, end, end + 1)
            }
            (Language::Node, Some(_)) if is_arrow(at + 1) => (at, at + 1, at + 3),
            (Language::Node, None) if self.is_mark(at, b'(') && is_arrow(self.closing(at) + 1) => {
                let end = self.closing(at);
                (at + 1, end, end + 3)
            }
            _ => return None,
        };
        self.note_parameters(name, from, end);
        self.state.variables.remove(name);
        Some(body)
    }

    /// An object `{recursive: true}` starts here.
    pub(super) fn has_recursive(&self, at: usize, end: usize) -> bool {
        self.is_mark(at, b'{')
            && (at..end.min(at + 32)).any(|place| {
                self.word(place) == Some("recursive")
                    && self.is_mark(place + 1, b':')
                    && self.word(place + 2) == Some("true")
            })
    }

    /// `for (const x of list)`: names what the loop goes through. Returns the place after it.
    pub(super) fn bind_of_loop(&mut self, at: usize) -> Option<usize> {
        let of = (at + 2..at + 5).find(|place| self.word(*place) == Some("of"))?;
        let name = self.word(of - 1)?;
        let (value, end) = self.expression(of + 1, 0);
        self.state.set(name, one_of(value));
        Some(end)
    }
}

/// A word that follows the code as a value of it.
fn argument(word: &Arg) -> Value {
    Value::Text(if word.is_known() { word.clone() } else { unknown() })
}
