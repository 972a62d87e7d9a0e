//! Simple commands: assignments, words and redirections, once for each value that the variables may have.

use std::rc::Rc;

use super::state::{MAX_ROUNDS, Walk};
use super::stream::Stream;
use super::stream::concat;
use crate::command::ast::{Assignment, Command, Value, Word, WordPart};
use crate::command::invocation::Arg;
use crate::command::options::tail;
use crate::command::scope::Scope;

/// A simple command and its parts.
#[derive(Clone, Copy)]
pub(super) struct Simple<'a, 't> {
    pub(super) command: &'a Command<'t>,
    pub(super) assignments: &'a [Assignment<'t>],
    pub(super) words: &'a [Word<'t>],
}

impl Walk {
    /// Walks a simple command once for each value that its variables may have.
    pub(super) fn rounds(&mut self, simple: Simple<'_, '_>, scope: &mut Scope, input: &Stream) -> Stream {
        let outer = (self.choice, self.choices, self.is_on_socket);
        (self.choice, self.choices) = (0, 1);
        if simple.words.is_empty() {
            let stream = self.simple(simple, scope, input);
            (self.choice, self.choices, self.is_on_socket) = outer;
            return stream;
        }
        let before = scope.clone();
        let stream = self.simple(simple, scope, input);
        let rounds = self.choices.min(MAX_ROUNDS);
        for choice in 1..rounds {
            self.choice = choice;
            if self.is_exhausted() {
                break;
            }
            let _ = self.simple(simple, &mut before.clone(), input);
        }
        (self.choice, self.choices, self.is_on_socket) = outer;
        stream
    }

    fn simple(&mut self, simple: Simple<'_, '_>, scope: &mut Scope, input: &Stream) -> Stream {
        let Simple { command, assignments, words } = simple;
        let mut argv = Vec::with_capacity(words.len());
        let outer = std::mem::take(&mut self.flowing);
        // Only then: the text may be long.
        if words.iter().any(has_sink) {
            self.flowing = input.clone();
        }
        for word in words {
            if self.is_exhausted() {
                break;
            }
            if self.is_declaration(&argv)
                && let Some(assigned) = self.declared(word, &argv, scope)
            {
                argv.push(assigned);
                continue;
            }
            self.is_given_up = false;
            argv.extend(self.expand(word, scope));
            if self.is_given_up && argv.len() == 1 {
                self.opaque("the command expands to more words than Midrail analyses");
            }
        }
        self.flowing = outer;
        let redirected = self.redirects(&command.redirects, scope);
        let input = redirected.input.as_ref().unwrap_or(input);
        if argv.is_empty() {
            for assignment in assignments {
                self.assign(assignment, scope);
            }
            let stream = if command.redirects.is_empty() { Stream::silent() } else { input.clone() };
            return self.redirect_output(&redirected, stream);
        }
        let stream = if assignments.is_empty() {
            self.invoke(argv, false, scope, input)
        } else {
            let saved = scope.clone();
            for assignment in assignments {
                self.assign(assignment, scope);
            }
            let stream = self.invoke(argv, false, scope, input);
            scope.restore_variables(&saved);
            stream
        };
        self.redirect_output(&redirected, stream)
    }

    /// The items of `(a b [4]=c)`, after those that are there already.
    pub(super) fn array_items(
        &mut self,
        words: &[Word<'_>],
        mut items: Vec<Arg>,
        scope: &mut Scope,
    ) -> Vec<Arg> {
        for word in words {
            for item in self.expand(word, scope) {
                let named = item.text.strip_prefix('[').and_then(|rest| rest.split_once("]="));
                match named.map(|(index, _)| (place_in_array(index), index.len() + "[]=".len())) {
                    Some((at, from)) => {
                        let mut value = tail(&item, from);
                        value.is_glob = value.text.contains(['*', '?', '[']);
                        let at = at.unwrap_or(items.len());
                        put_at(&mut items, at, value);
                    }
                    None => items.push(item),
                }
            }
        }
        self.spend(items.len() / 4);
        items
    }

    pub(super) fn assign(&mut self, assignment: &Assignment<'_>, scope: &mut Scope) {
        let old =
            scope.variable(assignment.name).and_then(|variable| variable.candidates.first().map(Rc::clone));
        let items = match &old {
            Some(items) if assignment.is_append || assignment.index.is_some() => items.to_vec(),
            _ => Vec::new(),
        };
        match (&assignment.value, assignment.index) {
            (Value::Array(words), _) => {
                let items = self.array_items(words, items, scope);
                scope.set(assignment.name, items, true);
            }
            (Value::Word(word), Some(index)) => {
                let value = self.expand_one(&word.parts, scope);
                let at = place_in_array(index);
                match at {
                    Some(at) => {
                        let mut items = items;
                        put_at(&mut items, at, value);
                        scope.set(assignment.name, items, true);
                    }
                    None => scope.forget(assignment.name),
                }
            }
            (Value::Word(word), None) => {
                let value = self.expand_one(&word.parts, scope);
                let value = match items.into_iter().next() {
                    Some(first) => concat(first, &value),
                    None => value,
                };
                scope.set(assignment.name, vec![value], false);
                self.code_variable(assignment.name, scope);
            }
        }
    }
}

/// The place that an index names, where it is a number that is not too large.
fn place_in_array(index: &str) -> Option<usize> {
    index.trim().parse::<usize>().ok().filter(|at| *at < 1000)
}

fn put_at(items: &mut Vec<Arg>, at: usize, value: Arg) {
    while items.len() <= at {
        items.push(Arg::default());
    }
    if let Some(slot) = items.get_mut(at) {
        *slot = value;
    }
}

/// Whether a word is `>(…)`.
fn has_sink(word: &Word<'_>) -> bool {
    word.parts.iter().any(|part| matches!(part, WordPart::Process(substitution) if substitution.is_sink))
}
