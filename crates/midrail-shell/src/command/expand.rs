//! What the words of a command mean: quotes, braces, tildes, variables and substitutions, as far as the line shows it.

use std::rc::Rc;

use super::ast::{Param, Word, WordPart};
use super::invocation::Arg;
use super::pattern;
use super::scope::{Candidates, Scope};
use super::walk::{Stream, Walk};
use crate::words::shell::ONE_WORD_OUTPUTS;

/// How many words one brace expansion may make.
const MAX_BRACES: usize = 512;

/// Builds the words that one word of the line becomes.
#[derive(Default)]
struct Fields {
    done: Vec<Arg>,
    now: Arg,
    /// `now` has content, perhaps an empty quote.
    is_begun: bool,
    never_splits: bool,
}

impl Fields {
    fn text(&mut self, text: &str) {
        self.is_begun = true;
        self.now.text.push_str(text);
    }

    /// A part of unknown value, which may become several words, or none.
    fn unknown(&mut self, text: &str, may_split: bool) {
        // Copies of so long an expansion would add up.
        const LONGEST: usize = 1 << 15;
        let text = if text.len() > LONGEST { "$(…)" } else { text };
        self.is_begun = true;
        let may_split = may_split && !self.never_splits;
        self.now.append(&Arg { may_split, ..Arg::unknown(text) });
    }

    fn next_field(&mut self) {
        if self.never_splits {
            self.text(" ");
            return;
        }
        if self.is_begun {
            self.done.push(std::mem::take(&mut self.now));
            self.is_begun = false;
        }
    }

    /// A value: split at blanks where it is not quoted.
    fn value(&mut self, value: &Arg, is_quoted: bool, scope: &Scope) {
        let separators = separators(scope);
        self.now.is_glob |= value.is_glob || (!is_quoted && value.text.contains(['*', '?', '[']));
        self.now.may_split |= value.may_split && !self.never_splits;
        for (text, is_known) in value.pieces() {
            if is_known {
                self.known(text, is_quoted, &separators);
            } else {
                self.unknown(text, !is_quoted && may_have_blanks(text, scope));
            }
        }
    }

    fn known(&mut self, text: &str, is_quoted: bool, separators: &str) {
        if is_quoted || self.never_splits {
            if is_quoted || !text.is_empty() {
                self.text(text);
            }
            return;
        }
        let mut is_first = true;
        for piece in text.split(|c| separators.contains(c)) {
            if !is_first {
                self.next_field();
            }
            is_first = false;
            if !piece.is_empty() {
                self.text(piece);
            }
        }
    }

    fn finish(mut self) -> Vec<Arg> {
        if self.is_begun {
            self.done.push(self.now);
        }
        self.done
    }
}

impl Walk {
    /// The words that one word becomes: none, one or several.
    pub(super) fn expand(&mut self, word: &Word<'_>, scope: &mut Scope) -> Vec<Arg> {
        // Most words are plain text.
        if let [WordPart::Bare(text)] = word.parts.as_slice()
            && !word.has_brace
        {
            self.spend(1);
            return vec![Arg { is_glob: text.contains(['*', '?', '[']), ..Arg::known(*text) }];
        }
        let words = if word.has_brace { super::braces::expand(&word.parts, MAX_BRACES) } else { None };
        self.is_given_up |= word.has_brace && words.is_none();
        match words {
            Some(words) => words.iter().flat_map(|parts| self.expand_parts(parts, scope, false)).collect(),
            None => {
                let mut words = self.expand_parts(&word.parts, scope, false);
                words.iter_mut().for_each(|arg| arg.may_split |= word.has_brace);
                words
            }
        }
    }

    fn expand_parts(&mut self, parts: &[WordPart<'_>], scope: &mut Scope, never_splits: bool) -> Vec<Arg> {
        let mut fields = Fields { never_splits, ..Fields::default() };
        for part in parts {
            self.part(part, false, scope, &mut fields);
        }
        fields.finish()
    }

    /// The value of a word where nothing is split: of an assignment, of a redirection.
    pub(super) fn expand_one(&mut self, parts: &[WordPart<'_>], scope: &mut Scope) -> Arg {
        self.expand_parts(parts, scope, true).into_iter().next().unwrap_or_default()
    }

    fn part(&mut self, part: &WordPart<'_>, is_quoted: bool, scope: &mut Scope, fields: &mut Fields) {
        match part {
            WordPart::Bare(text) => {
                self.spend(1 + text.len() / 16);
                if !is_quoted && text.contains(['*', '?', '[']) {
                    fields.now.is_glob = true;
                }
                fields.text(text);
            }
            WordPart::Quoted(text) => {
                self.spend(1 + text.len() / 16);
                fields.text(text);
            }
            WordPart::Double(parts) => {
                fields.is_begun |= !is_all_arguments(parts);
                for part in parts.iter() {
                    self.part(part, true, scope, fields);
                }
            }
            WordPart::Param(param) => self.param(param, is_quoted, scope, fields),
            WordPart::Command(substitution) => {
                let stream = self.substitution(&substitution.list, scope, &Default::default());
                self.keep_secret(&stream, substitution.source);
                self.output(stream, substitution.source, is_quoted, scope, fields);
            }
            WordPart::Backtick { code, source } => {
                let stream = self.unchecked(code, scope);
                self.keep_secret(&stream, source);
                self.output(stream, source, is_quoted, scope, fields);
            }
            WordPart::Arithmetic { parts, source } => {
                let text = self.expand_one(parts, scope);
                self.evaluated(&text, scope);
                match super::arithmetic::value(&text, scope) {
                    Some(value) => fields.text(&value.to_string()),
                    None => fields.unknown(source, false),
                }
            }
            WordPart::Process(substitution) => {
                let name = self.process(substitution, scope);
                fields.text(&name);
            }
            WordPart::Array(words) => {
                for word in words.iter() {
                    let _ = self.expand(word, scope);
                }
                fields.unknown("(…)", true);
            }
        }
    }

    /// What a substitution prints.
    fn output(&mut self, stream: Stream, source: &str, is_quoted: bool, scope: &Scope, fields: &mut Fields) {
        match stream.text {
            Some(mut value) => {
                let kept = value.text.trim_end_matches('\n').len();
                let is_cut_known = value.unknown.last().is_none_or(|range| range.end <= kept);
                if is_cut_known {
                    value.text.truncate(kept);
                }
                self.spend(value.text.len() / 16);
                fields.value(&value, is_quoted, scope);
            }
            None if !stream.paths.is_empty() => {
                for (index, path) in stream.paths.iter().enumerate() {
                    if index > 0 {
                        fields.next_field();
                    }
                    fields.value(path, true, scope);
                }
            }
            None => fields.unknown(source, !is_quoted && may_have_blanks(source, scope)),
        }
    }

    fn param(&mut self, param: &Param<'_>, is_quoted: bool, scope: &mut Scope, fields: &mut Fields) {
        self.spend(2);
        match self.param_value(param, scope) {
            Some((items, joins)) => {
                let size: usize = items.iter().map(|item| item.text.len()).sum();
                self.spend(size / 16 + items.len());
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        if joins && is_quoted {
                            fields.text(" ");
                        } else {
                            fields.next_field();
                        }
                    }
                    fields.value(item, is_quoted, scope);
                }
            }
            // `"$@"` is as many words as there are items.
            None => {
                let may_split = is_every_item(param) || (!is_quoted && may_have_blanks(param.source, scope));
                fields.unknown(param.source, may_split);
            }
        }
    }

    /// What an expansion of a variable gives: its items, and whether they are joined to one in quotes. `None` where the
    /// value is not known.
    fn param_value(&mut self, param: &Param<'_>, scope: &mut Scope) -> Option<(Vec<Arg>, bool)> {
        self.subscript(param.index, scope);
        let mut name = param.name.to_owned();
        if param.is_indirect {
            let (items, _) = self.plain_value(&name, None, scope)?;
            name = items.first().filter(|item| item.is_known())?.text.clone();
        }
        let value = self.plain_value(&name, param.index, scope);
        if param.is_length {
            let (items, _) = value?;
            let length = match (param.index, name.as_str()) {
                (Some("@" | "*"), _) | (_, "@" | "*") => items.len(),
                _ => items.first().filter(|item| item.is_known())?.text.chars().count(),
            };
            return Some((vec![Arg::known(length.to_string())], false));
        }
        match param.operator {
            "" => value,
            "@" => {
                let is_prompt = self.expand_one(&param.operand, scope).text == "P";
                for item in value.iter().flat_map(|(items, _)| items).filter(|_| is_prompt) {
                    self.substitutions(&item.text, scope);
                }
                if is_prompt { None } else { value }
            }
            ":-" | "-" | ":=" | "=" => {
                if let Some((items, _)) = &value
                    && (!items.iter().all(|item| item.text.is_empty()) || !param.operator.starts_with(':'))
                {
                    return value;
                }
                if value.is_none() && self.tries_unknown {
                    self.choices = self.choices.max(2);
                    if self.choice == 1 {
                        return None;
                    }
                }
                let default = self.expand_one(&param.operand, scope);
                if param.operator.ends_with('=') {
                    scope.set(&name, vec![default.clone()]);
                }
                Some((vec![default], false))
            }
            ":+" | "+" => {
                let other = self.expand_one(&param.operand, scope);
                let (items, _) = value?;
                let is_set = items.iter().any(|item| !item.text.is_empty());
                Some((if is_set { vec![other] } else { Vec::new() }, false))
            }
            ":?" | "?" => value,
            operator => {
                let operand = self.expand_one(&param.operand, scope);
                let second = param.second.as_ref().map(|parts| self.expand_one(parts, scope));
                if operator == ":" {
                    [Some(&operand), second.as_ref()]
                        .into_iter()
                        .flatten()
                        .for_each(|number| self.evaluated(number, scope));
                }
                if operator == ":"
                    && operand.text.trim() == "0"
                    && second.as_ref().is_some_and(|length| length.text.trim() == "1")
                    && matches!(name.as_str(), "HOME" | "PWD" | "PATH" | "SHELL" | "OLDPWD" | "BASH" | "0")
                    && scope.variable(&name).is_none()
                {
                    // These all hold absolute paths.
                    return Some((vec![Arg::known("/")], false));
                }
                let (items, joins) = value?;
                if operator == ":"
                    && (matches!(param.index, Some("@" | "*")) || matches!(name.as_str(), "@" | "*"))
                {
                    return slice_items(&items, &operand, second.as_ref()).map(|items| (items, joins));
                }
                let mut changed = Vec::with_capacity(items.len());
                for item in &items {
                    changed.push(pattern::apply(operator, item, &operand, second.as_ref())?);
                }
                Some((changed, joins))
            }
        }
    }

    fn plain_value(&mut self, name: &str, index: Option<&str>, scope: &Scope) -> Option<(Vec<Arg>, bool)> {
        match name {
            "@" | "*" => {
                let positional = scope.positional.as_ref()?;
                return Some((positional.iter().skip(1).cloned().collect(), name == "*"));
            }
            "#" => {
                let count = scope.positional.as_ref()?.len().saturating_sub(1);
                return Some((vec![Arg::known(count.to_string())], false));
            }
            _ if name.bytes().all(|byte| byte.is_ascii_digit()) => {
                let Some(positional) = scope.positional.as_ref() else {
                    return environment(name, scope).map(|arg| (vec![arg], false));
                };
                let at: usize = name.parse().ok()?;
                return Some((vec![positional.get(at).cloned().unwrap_or_default()], false));
            }
            _ => {}
        }
        let Some(variable) = scope.variable(name) else {
            return environment(scope.referred(name), scope).map(|arg| (vec![arg], false));
        };
        let items = self.candidate(variable);
        match index {
            Some("@" | "*") => Some((items.to_vec(), index == Some("*"))),
            Some(index) => {
                let at: usize = index.trim().parse().ok()?;
                Some((vec![items.get(at).cloned().unwrap_or_default()], false))
            }
            None => Some((items.iter().take(1).cloned().collect(), false)),
        }
    }

    /// The value that is used in this round (see [`Walk::choice`]).
    fn candidate(&mut self, candidates: &Candidates) -> Rc<Vec<Arg>> {
        self.choices = self.choices.max(candidates.len());
        let chosen = candidates.get(self.choice).or_else(|| candidates.first());
        chosen.map(Rc::clone).unwrap_or_default()
    }
}

fn is_all_arguments(parts: &[WordPart<'_>]) -> bool {
    matches!(parts, [WordPart::Param(param)] if param.operator.is_empty() && is_every_item(param))
}

/// Whether an expansion of unknown value may contain blanks. A variable that the line inherits counts as one word: names of
/// folders and contexts rarely contain blanks, and `git -C $DIR status` is frequent. One that the line sets (`read X < file`)
/// and a substitution may be anything.
fn may_have_blanks(text: &str, scope: &Scope) -> bool {
    let inner = text.strip_prefix("$(").and_then(|text| text.strip_suffix(')'));
    let inner = inner.or_else(|| text.strip_prefix('`').and_then(|text| text.strip_suffix('`')));
    if let Some(command) = inner {
        return !ONE_WORD_OUTPUTS.contains(command.trim());
    }
    let name = text.trim_start_matches(['$', '{']);
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let name = name.get(..name.find(|letter| !is_letter(letter)).unwrap_or(name.len())).unwrap_or_default();
    let is_inherited = !name.is_empty() && scope.is_inherited(name);
    !is_inherited || text.contains(['(', '`', '['])
}

fn is_every_item(param: &Param<'_>) -> bool {
    param.name == "@" || param.index == Some("@")
}

/// Variables that every shell has.
fn environment(name: &str, scope: &Scope) -> Option<Arg> {
    match name {
        "HOME" => Some(Arg::known("~")),
        "SHELL" | "BASH" => Some(Arg::known("/bin/bash")),
        // A shell, or the script that contains the text: its folder is not known.
        "0" => Some(Arg::known("bash")),
        "TMPDIR" => Some(Arg::known("/tmp")),
        "IFS" => Some(Arg::known(" \t\n")),
        "PWD" => scope.working_folder(),
        _ => None,
    }
}

fn separators(scope: &Scope) -> String {
    let value = scope.first_value("IFS").filter(|value| value.is_known());
    value.map_or(" \t\n", |value| value.text.as_str()).to_owned()
}

fn slice_items(items: &[Arg], offset: &Arg, length: Option<&Arg>) -> Option<Vec<Arg>> {
    let offset: usize = offset.text.trim().parse().ok()?;
    let length = match length {
        Some(length) => length.text.trim().parse().ok()?,
        None => usize::MAX,
    };
    // `${@:1}` begins at `$1`.
    Some(items.iter().skip(offset.saturating_sub(1)).take(length).cloned().collect())
}
