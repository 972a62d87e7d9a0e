//! The names that expressions may use, and the names of one expression.

use std::fmt::{self, Write};

use crate::diagnostic::{excerpt, nearest};
use crate::expr::words;

/// The type of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// True or false.
    Bool,
    /// A number.
    Number,
    /// One text.
    Text,
    /// A path, or several if an action has several, such as its target files.
    Path,
    /// A list of texts.
    List,
    /// A list of paths.
    Paths,
    /// A list of globs.
    Patterns,
    /// Any JSON value, known at run time only.
    Any,
}

impl Type {
    /// The type in a message: "a text".
    pub fn noun(self) -> &'static str {
        match self {
            Type::Bool => "true or false",
            Type::Number => "a number",
            Type::Text => "a text",
            Type::Path => "a path",
            Type::List => "a list",
            Type::Paths => "a list of paths",
            Type::Patterns => "a list of patterns",
            Type::Any => "a value",
        }
    }

    /// Whether it is one text.
    pub(super) fn is_text(self) -> bool {
        matches!(self, Type::Text | Type::Path)
    }

    /// Whether it is a list of texts.
    pub(super) fn is_list(self) -> bool {
        matches!(self, Type::List | Type::Paths)
    }
}

/// One entry of a vocabulary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Term {
    /// The dotted name. A name that ends in `.*` includes every name below it.
    pub name: &'static str,
    /// Its type.
    pub kind: Type,
    /// Its description in the reference.
    pub doc: &'static str,
}

impl Term {
    /// A term; `const`, so that a vocabulary can be a plain slice.
    pub const fn new(name: &'static str, kind: Type, doc: &'static str) -> Term {
        Term { name, kind, doc }
    }

    fn prefix(&self) -> Option<&'static str> {
        self.name.strip_suffix(".*")
    }
}

/// The names that expressions may use.
#[derive(Debug, Clone, Copy)]
pub struct Vocabulary {
    terms: &'static [Term],
    is_path_key: fn(&str) -> bool,
}

impl Vocabulary {
    /// A vocabulary; the index of a term is its id.
    pub const fn new(terms: &'static [Term]) -> Vocabulary {
        Vocabulary { terms, is_path_key: |_| false }
    }

    /// The same, with the keys of values of any type that contain paths.
    pub const fn with_path_keys(self, is_path_key: fn(&str) -> bool) -> Vocabulary {
        Vocabulary { is_path_key, ..self }
    }

    /// The terms in order of their ids.
    pub fn terms(&self) -> &'static [Term] {
        self.terms
    }

    /// Resolves a path to its term, or to the longest `.*` term above it.
    pub(super) fn resolve(&self, segments: &[Segment]) -> Option<Name> {
        let mut best: Option<Name> = None;
        for (id, term) in self.terms.iter().enumerate() {
            let path = term.prefix().unwrap_or(term.name);
            let fixed = path.split('.').count();
            let starts = path
                .split('.')
                .zip(segments)
                .all(|(wanted, segment)| segment.key().is_some_and(|key| key == wanted));
            let fits = match term.prefix() {
                Some(_) => segments.len() > fixed,
                None => segments.len() == fixed,
            };
            let exact = term.prefix().is_none();
            let better = best.as_ref().is_none_or(|best| exact || (best.is_dynamic() && best.fixed < fixed));
            if starts && fits && better {
                let key = segments.last().and_then(Segment::key);
                let is_path = match term.kind {
                    Type::Path | Type::Paths => true,
                    Type::Any => term.prefix().is_some() && key.is_some_and(self.is_path_key),
                    Type::Bool | Type::Number | Type::Text | Type::List | Type::Patterns => false,
                };
                let segments = segments.to_vec();
                best = Some(Name { id, term: term.name, kind: term.kind, is_path, segments, fixed });
            }
        }
        best
    }

    /// The term without parts that a path continues.
    pub(super) fn above(&self, segments: &[Segment]) -> Option<&'static Term> {
        (1..segments.len()).rev().find_map(|length| {
            let name = self.resolve(segments.get(..length)?)?;
            self.terms.get(name.id).filter(|_| !name.is_dynamic())
        })
    }

    /// Advice for an unknown name.
    pub(super) fn suggest(&self, segments: &[Segment]) -> Option<String> {
        let path = path_text(segments);
        let fixed = self.terms.iter().filter(|term| term.prefix().is_none()).map(|term| term.name);
        if let Some(name) = nearest(&path, fixed) {
            return Some(format!("did you mean `{name}`?"));
        }
        for prefix in self.terms.iter().filter_map(Term::prefix) {
            let (head, tail) = segments.split_at(prefix.split('.').count().min(segments.len()));
            if !tail.is_empty() && nearest(&path_text(head), [prefix]).is_some() {
                return Some(format!("did you mean `{prefix}{}`?", excerpt(&tail_text(tail))));
            }
        }
        let first = segments.first()?.key()?;
        let below = |term: &&Term| term.name.strip_prefix(first).is_some_and(|rest| rest.starts_with('.'));
        let siblings: Vec<String> =
            self.terms.iter().filter(below).take(12).map(|term| format!("`{}`", term.name)).collect();
        if !siblings.is_empty() {
            return Some(format!("known names are {}", siblings.join(", ")));
        }
        if let (Some(name), [_, tail @ ..]) = (words::name(first), segments)
            && self.terms.iter().any(|term| term.name.starts_with(name))
        {
            return Some(format!("did you mean `{name}{}`?", excerpt(&tail_text(tail))));
        }
        if self.terms.iter().all(|term| !term.name.contains('.')) {
            let names: Vec<String> = self.terms.iter().map(|term| format!("`{}`", term.name)).collect();
            return Some(format!("known names are {}", names.join(", ")));
        }
        match segments {
            [Segment::Key(word)] => {
                let quoted = format!("a text needs quotes: `'{}'`", excerpt(word));
                let argument = || {
                    let has_args = self.terms.iter().any(|term| term.name == "tool.args.*");
                    let name = excerpt(word);
                    if has_args {
                        format!("{quoted}; an argument of the tool is `tool.args.{name}`")
                    } else {
                        quoted.clone()
                    }
                };
                let fact = self.ending_with(word);
                Some(fact.map_or_else(argument, |name| format!("did you mean `{name}`? Otherwise, {quoted}")))
            }
            _ => {
                let mut roots: Vec<String> = Vec::new();
                for (root, _) in self.terms.iter().filter_map(|term| term.name.split_once('.')) {
                    let root = format!("`{root}.`");
                    if !roots.contains(&root) {
                        roots.push(root);
                    }
                }
                Some(format!("names start with {}", roots.join(", "))).filter(|_| !roots.is_empty())
            }
        }
    }

    /// The only name of a fact that ends with this word: `git.branch` for `branch`.
    fn ending_with(&self, word: &str) -> Option<&'static str> {
        let facts = ["git.", "kube.", "time.", "host."];
        let is_it =
            |name: &&str| facts.iter().any(|fact| name.strip_prefix(fact).is_some_and(|rest| rest == word));
        self.terms.iter().map(|term| term.name).find(is_it)
    }
}

/// One step of a dotted name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// `.key` or `['key']`.
    Key(String),
    /// `[0]`.
    Index(usize),
}

impl Segment {
    /// The key, if the step is one.
    pub fn key(&self) -> Option<&str> {
        match self {
            Segment::Key(key) => Some(key),
            Segment::Index(_) => None,
        }
    }
}

/// A name of an expression, resolved in the vocabulary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    id: usize,
    term: &'static str,
    kind: Type,
    is_path: bool,
    segments: Vec<Segment>,
    fixed: usize,
}

impl Name {
    /// A name that is not in the vocabulary.
    pub(super) fn unresolved(segments: Vec<Segment>) -> Name {
        Name { id: usize::MAX, term: "", kind: Type::Any, is_path: false, segments, fixed: 0 }
    }

    pub(super) fn is_resolved(&self) -> bool {
        !self.term.is_empty()
    }

    /// The name of its term: `agent.role`, or `tool.args.*`.
    pub fn term(&self) -> &'static str {
        self.term
    }

    /// Its type.
    pub fn kind(&self) -> Type {
        self.kind
    }

    /// Whether its values are paths, so that patterns on it are path patterns.
    pub(crate) fn is_path(&self) -> bool {
        self.is_path
    }

    /// The whole path.
    pub(super) fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The part of the path that matches the `*` of its term; empty for other terms.
    pub fn tail(&self) -> &[Segment] {
        self.segments.get(self.fixed..).unwrap_or_default()
    }

    /// Whether its term ends in `.*`.
    pub fn is_dynamic(&self) -> bool {
        self.segments.len() > self.fixed
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&path_text(&self.segments))
    }
}

pub(super) fn path_text(segments: &[Segment]) -> String {
    let text = tail_text(segments);
    text.strip_prefix('.').map(str::to_owned).unwrap_or(text)
}

fn tail_text(segments: &[Segment]) -> String {
    let step = |segment: &Segment| match segment {
        Segment::Key(key) if is_word(key) => format!(".{key}"),
        Segment::Key(key) => format!("[{}]", quoted(key)),
        Segment::Index(index) => format!("[{index}]"),
    };
    segments.iter().map(step).collect()
}

fn is_word(key: &str) -> bool {
    key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A text in single quotes.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("'");
    for c in text.chars() {
        match c {
            '\'' => out.push_str("\\'"),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}
