//! Statements of snippets: imports, assignments, and the forms that only one language has.

use super::eval::{Args, Runner};
use super::lex::{CodeKind, StringPart};
use super::pure::{is_keyword, module_name, one_of};
use super::value::Value;
use crate::command::invocation::Arg;
use crate::tables::{Effect, Language};

impl Runner<'_, '_> {
    /// Follows what starts here; returns the place after it.
    pub(super) fn statement(&mut self, at: usize) -> usize {
        let Some(word) = self.word(at) else {
            return match self.kind(at) {
                Some(CodeKind::Mark(b'{' | b'}' | b')' | b']' | b';' | b','))
                | Some(CodeKind::Line)
                | None => at + 1,
                _ => self.expression(at, 0).1,
            };
        };
        match (self.language, word) {
            (Language::Python, "import") => return self.python_import(at + 1),
            (Language::Python, "from") => return self.python_from(at + 1),
            (Language::Node, "import") if !self.is_mark(at + 1, b'(') => return self.node_import(at + 1),
            (Language::Node, "const" | "let" | "var") if self.is_mark(at + 1, b'{') => {
                return self.destructuring(at + 1);
            }
            (Language::AppleScript, "do" | "empty") => return self.apple_script(at),
            (Language::Awk, "print" | "printf") => return self.awk_print(at + 1),
            (Language::Python, "for") => return self.bind_loop(at + 1, 0),
            (Language::Node, "for") if self.is_mark(at + 1, b'(') => {
                if let Some(end) = self.bind_of_loop(at) {
                    return end;
                }
            }
            (_, "def" | "function") => self.define(at + 1),
            (_, "for") if self.word(at + 2) == Some("in") => return self.assignment(at + 1, at + 3),
            _ => {}
        }
        if is_keyword(word) {
            return at + 1;
        }
        if let Some(end) = self.list_change(word, at) {
            return end;
        }
        self.assigned(at, 0).unwrap_or_else(|| self.expression(at, 0).1)
    }

    /// `list.add(&x)`, `list.push(x)`
    fn list_change(&mut self, name: &str, at: usize) -> Option<usize> {
        let is_change = self.is_mark(at + 1, b'.')
            && matches!(self.word(at + 2), Some("append" | "push" | "extend" | "concat"))
            && self.is_mark(at + 3, b'(');
        if !is_change {
            return None;
        }
        let Some(Value::List(mut values)) = self.state.look_up(name) else { return None };
        let end = self.closing(at + 3);
        let args = self.args(at + 4, end, 0);
        values.extend(args.plain.iter().flat_map(Value::each).cloned());
        self.state.set(name, Value::List(values));
        Some(end + 1)
    }

    fn assignment(&mut self, name: usize, value: usize) -> usize {
        let Some(name) = self.word(name) else { return value };
        let (value, end) = self.expression(value, 0);
        self.state.set(name, one_of(value));
        end
    }

    fn dotted(&self, mut at: usize) -> (String, usize) {
        let mut name = self.word(at).unwrap_or("").to_owned();
        at += 1;
        while self.is_mark(at, b'.')
            && let Some(word) = self.word(at + 1)
        {
            name.push('.');
            name.push_str(word);
            at += 2;
        }
        (name, at)
    }

    fn python_import(&mut self, mut at: usize) -> usize {
        loop {
            let (module, after) = self.dotted(at);
            at = after;
            if self.word(at) == Some("as")
                && let Some(alias) = self.word(at + 1)
            {
                self.state.set(alias, Value::Name(module));
                at += 2;
            }
            if !self.is_mark(at, b',') {
                return at;
            }
            at += 1;
        }
    }

    fn python_from(&mut self, at: usize) -> usize {
        let (module, mut at) = self.dotted(at);
        if self.word(at) != Some("import") {
            return at;
        }
        at += 1;
        if self.is_mark(at, b'*') && self.state.stars.len() < 8 {
            self.state.stars.push(module);
            return at + 1;
        }
        if self.is_mark(at, b'(') {
            at += 1;
        }
        while let Some(name) = self.word(at) {
            let full = format!("{module}.{name}");
            let is_renamed = self.word(at + 1) == Some("as");
            let alias = if is_renamed { self.word(at + 2).unwrap_or(name) } else { name };
            self.state.set(alias, Value::Name(full));
            at += if is_renamed { 3 } else { 1 };
            if !self.is_mark(at, b',') {
                break;
            }
            at += 1;
        }
        at
    }

    /// `import x from 'm'`, `import * as x from 'm'`, `import {a as b} from 'm'`.
    fn node_import(&mut self, at: usize) -> usize {
        let from = (at..self.tokens.len().min(at + 64)).find(|place| self.word(*place) == Some("from"));
        let Some(from) = from else { return at };
        let Some(CodeKind::Text(parts)) = self.kind(from + 1) else { return at };
        let [StringPart::Known(module)] = parts.as_slice() else { return at };
        let module = module_name(module);
        let mut is_member = false;
        for place in at..from {
            if self.is_mark(place, b'{') {
                is_member = true;
            }
            let Some(name) = self.word(place).filter(|name| *name != "as") else { continue };
            let original = if place >= 2 && self.word(place - 1) == Some("as") {
                self.word(place - 2)
            } else {
                Some(name)
            };
            let value = match original {
                Some(original) if is_member => format!("{module}.{original}"),
                _ => module.clone(),
            };
            self.state.set(name, Value::Name(value));
        }
        from + 2
    }

    /// `const {a, b: c} = require('m')`.
    fn destructuring(&mut self, at: usize) -> usize {
        let end = self.closing(at);
        if !self.is_mark(end + 1, b'=') {
            return at + 1;
        }
        let (value, after) = self.expression(end + 2, 0);
        let Value::Name(module) = value else { return after };
        for place in at..end {
            let Some(name) = self.word(place).filter(|_| !self.is_mark(place + 1, b':')) else { continue };
            let original =
                if self.is_mark(place - 1, b':') { self.word(place.saturating_sub(2)) } else { Some(name) };
            let full = format!("{module}.{}", original.unwrap_or(name));
            self.state.set(name, Value::Name(full));
        }
        after
    }

    /// `do shell script "…"`, `empty trash`.
    fn apple_script(&mut self, at: usize) -> usize {
        match (self.word(at + 1), self.word(at + 2)) {
            (Some("shell"), Some("script")) => {
                let (value, end) = self.expression(at + 3, 0);
                self.apply(Effect::Line, &Args::new(vec![value]));
                end
            }
            (Some("trash"), _) | (Some("the"), Some("trash")) => {
                self.remove(&Arg::known("~/.Trash"), true);
                at + 2
            }
            _ => at + 1,
        }
    }

    /// `print x > "file"`, `print x | "command"`.
    fn awk_print(&mut self, at: usize) -> usize {
        let mut printed = Arg::default();
        let mut at = at;
        loop {
            match self.kind(at) {
                None | Some(CodeKind::Mark(b';' | b'}') | CodeKind::Line) => return at,
                Some(CodeKind::Mark(b'>')) => {
                    at += 1 + usize::from(self.is_mark(at + 1, b'>'));
                    let (value, end) = self.expression(at, 0);
                    self.apply(Effect::Write, &Args::new(vec![value]));
                    at = end;
                }
                Some(CodeKind::Mark(b'|')) => {
                    at += 1 + usize::from(self.is_mark(at + 1, b'&'));
                    let (value, end) = self.expression(at, 0);
                    let command = value.text();
                    let feeds_shell =
                        matches!(command.text.as_str(), "sh" | "bash" | "/bin/sh" | "/bin/bash");
                    if !command.text.starts_with("/inet/") {
                        let line = if feeds_shell { printed.clone() } else { command };
                        self.start(Some(&Value::Text(line)));
                    }
                    at = end;
                }
                _ => {
                    let (value, end) = self.expression(at, 0);
                    printed.add(&value.text());
                    at = end;
                }
            }
        }
    }
}
