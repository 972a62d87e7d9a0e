//! One document of a pack file: its text, its tree and the pack that it says, so that problems found late still
//! point at their place.

use crate::compile::{self, Issue};
use crate::diagnostic::{Problem, Report};
use crate::dialect::{Origin, translate};
use crate::overlay;
use crate::raw::Pack;
use crate::yaml::{self, Limits, Node, NodeValue};

/// A pack with its place in a file.
#[derive(Debug, Clone)]
pub struct Document {
    /// The file, as the user named it.
    pub path: String,
    /// The whole text of the file.
    pub source: String,
    /// The pack.
    pub pack: Pack,
    node: Node,
    origin: Origin,
}

impl Document {
    /// Reads every pack of a file, with the overlay of an environment applied, or lists every problem of the file.
    pub fn read(path: &str, source: &str, env: Option<&str>) -> Result<Vec<Document>, Report> {
        let report = |problems| Report::new(path, source, problems);
        let nodes = yaml::parse(source, &Limits::default()).map_err(report)?;
        let mut documents = Vec::new();
        let mut problems = Vec::new();
        for node in nodes {
            if node.value == NodeValue::Null {
                continue;
            }
            match Document::of_node(path, source, node, env) {
                Ok(document) => documents.push(document),
                Err(found) => problems.extend(found),
            }
        }
        if problems.is_empty() && documents.is_empty() {
            problems.push(
                Problem::new("there is no pack in this file", 0..0).with_help("start with `pack: NAME`"),
            );
        }
        if problems.is_empty() { Ok(documents) } else { Err(report(problems)) }
    }

    /// A pack made by a program, without a text of its own.
    pub fn of_pack(name: &str, pack: Pack) -> Result<Document, Report> {
        let source = serde_json::to_string_pretty(&pack).unwrap_or_default();
        let mut documents = Document::read(name, &source, None)?;
        documents.pop().ok_or_else(|| Report::new(name, source, Vec::new()))
    }

    fn of_node(path: &str, source: &str, node: Node, env: Option<&str>) -> Result<Document, Vec<Problem>> {
        // The whole pack is checked first, so that every overlay is, whichever is in force.
        let overlays = overlay::names(&node);
        let node_in_force = match env {
            Some(env) => overlay::apply(&node, env),
            None => node.clone(),
        };
        let mut problems = Vec::new();
        for name in overlays.iter().filter(|name| env != Some(name.as_str())) {
            let overlaid = overlay::apply(&node, name);
            if let Err(found) = Self::check(path, source, overlaid) {
                problems.extend(found);
            }
        }
        match Self::check(path, source, node_in_force) {
            Ok(document) if problems.is_empty() => Ok(document),
            Ok(_) => Err(deduplicated(problems)),
            Err(found) => {
                problems.extend(found);
                Err(deduplicated(problems))
            }
        }
    }

    fn check(path: &str, source: &str, node: Node) -> Result<Document, Vec<Problem>> {
        let translated = translate(&node)?;
        let document = Document {
            path: path.to_owned(),
            source: source.to_owned(),
            pack: translated.pack,
            node,
            origin: translated.origin,
        };
        match compile::compile(&document.pack) {
            Ok(_) => Ok(document),
            Err(issues) => Err(issues.into_iter().map(|issue| document.locate(issue)).collect()),
        }
    }

    /// An issue with the pack, as a problem at a place of the text.
    pub(crate) fn locate(&self, issue: Issue) -> Problem {
        let pointer = self.origin.of(&issue.at);
        let (node, span) = self.find(&pointer);
        let span = match issue.span {
            Some(within) => {
                let start = node.source_offset(&self.source, within.start);
                start..node.source_offset(&self.source, within.end).max(start)
            }
            None => span,
        };
        Problem { message: issue.message, span, label: None, help: issue.help }
    }

    /// A report that holds one issue.
    pub(crate) fn report(&self, issue: Issue) -> Report {
        let problem = self.locate(issue);
        Report::new(&self.path, &self.source, vec![problem])
    }

    /// Line and column of a native place, for messages that point at it.
    pub fn position(&self, at: &str) -> (usize, usize) {
        let (_, span) = self.find(&self.origin.of(at));
        Problem::new("", span).position(&self.source)
    }

    /// The node at a pointer, or the nearest one above it. A map or list is pointed at by its first line.
    fn find(&self, pointer: &str) -> (&Node, crate::diagnostic::Span) {
        let mut node = &self.node;
        for segment in pointer.split('/').skip(1) {
            let segment = segment.replace("~1", "/").replace("~0", "~");
            let next = match &node.value {
                NodeValue::List(items) => segment.parse::<usize>().ok().and_then(|index| items.get(index)),
                NodeValue::Map(_) => node.get(&segment),
                _ => None,
            };
            let Some(next) = next else { break };
            node = next;
        }
        let line = self.source.get(node.span.clone()).and_then(|text| text.find('\n'));
        let end = match (&node.value, line) {
            (NodeValue::List(_) | NodeValue::Map(_), Some(length)) => node.span.start + length,
            _ => node.span.end,
        };
        (node, node.span.start..end)
    }
}

fn deduplicated(problems: Vec<Problem>) -> Vec<Problem> {
    let mut kept: Vec<Problem> = Vec::new();
    for problem in problems {
        if !kept.contains(&problem) {
            kept.push(problem);
        }
    }
    kept
}
