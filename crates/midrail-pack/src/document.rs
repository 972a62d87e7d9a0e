//! One document of a pack file: its text, its tree and its pack, so that all problems have their place.

use crate::compile::{Trust, compile};
use crate::decode::Decoded;
use crate::diagnostic::{Diagnostic, DiagnosticReport};
use crate::dialect::{Origin, translate};
use crate::issue::Issue;
use crate::overlay;
use crate::raw::Pack;
use crate::yaml::{self, Node, NodeValue};

/// A pack with its place in a file.
#[derive(Debug, Clone)]
pub struct PackDocument {
    /// The path of the file.
    pub path: String,
    /// The whole text of the file.
    pub source: String,
    /// The pack.
    pub pack: Pack,
    /// The file of the pack that `extends` this one, if it was read for that. Set by the caller.
    pub base_of: Option<String>,
    pub(crate) node: Node,
    origin: Origin,
    /// Environments with an overlay that changes nothing.
    pub(crate) idle_overlays: Vec<String>,
}

impl PackDocument {
    /// Reads every pack of a file, with the overlay of an environment, or lists every problem of the file.
    pub fn read(path: &str, source: &str, env: Option<&str>) -> Result<Vec<PackDocument>, DiagnosticReport> {
        let report = |problems| DiagnosticReport::new(path, source, problems);
        let (nodes, mut problems) = yaml::parse_leniently(source);
        let mut documents = Vec::new();
        for node in nodes {
            if node.value == NodeValue::Null {
                continue;
            }
            match PackDocument::from_node(path, source, node, env) {
                Ok(document) => documents.push(document),
                Err(found) => problems.extend(found),
            }
        }
        if problems.is_empty() && documents.is_empty() {
            problems.push(
                Diagnostic::new("this file contains no pack", 0..0).with_help("start with `pack: NAME`"),
            );
        }
        if problems.is_empty() { Ok(documents) } else { Err(report(problems)) }
    }

    /// A pack of a program, without a text.
    pub fn from_pack(name: &str, pack: Pack) -> Result<PackDocument, DiagnosticReport> {
        let source = serde_json::to_string_pretty(&pack).unwrap_or_default();
        let mut documents = PackDocument::read(name, &source, None)?;
        documents.pop().ok_or_else(|| DiagnosticReport::new(name, source, Vec::new()))
    }

    /// The same document as a base of the pack in another file.
    #[must_use]
    pub fn as_base_of(mut self, path: impl Into<String>) -> PackDocument {
        self.base_of = Some(path.into());
        self
    }

    /// Checks the pack and all of its overlays.
    fn from_node(
        path: &str,
        source: &str,
        node: Node,
        env: Option<&str>,
    ) -> Result<PackDocument, Vec<Diagnostic>> {
        let (base, mut problems) = match Self::check(path, source, node.clone()) {
            Ok(base) => (Some(base), Vec::new()),
            Err(problems) => (None, problems),
        };
        let mut idle_overlays = Vec::new();
        let mut selected = None;
        for name in overlay::names(&node) {
            match Self::check(path, source, overlay::apply(&node, &name)) {
                Ok(document) => {
                    let is_chosen = env == Some(name.as_str());
                    if base.as_ref().is_some_and(|base| base.pack == document.pack) {
                        idle_overlays.push(name);
                    }
                    if is_chosen {
                        selected = Some(document);
                    }
                }
                Err(found) => problems.extend(found),
            }
        }
        match selected.or(base) {
            Some(document) if problems.is_empty() => Ok(PackDocument { idle_overlays, ..document }),
            _ => Err(deduplicated(problems)),
        }
    }

    fn check(path: &str, source: &str, node: Node) -> Result<PackDocument, Vec<Diagnostic>> {
        let Decoded { value, rest: node, mut problems, echoes } = translate(&node);
        let Some((pack, origin)) = value else { return Err(problems) };
        let document = PackDocument {
            path: path.to_owned(),
            source: source.to_owned(),
            pack,
            base_of: None,
            node,
            origin,
            idle_overlays: Vec::new(),
        };
        if let Err(issues) = compile(&document.pack, Trust::Unchecked) {
            // Consequences of an invalid part are not reported.
            let is_echo = |issue: &Issue| {
                let (node, _) = document.find(&document.origin.resolve(&issue.at));
                echoes.contains(&node.span)
            };
            problems.extend(
                issues.into_iter().filter(|issue| !is_echo(issue)).map(|issue| document.locate(issue)),
            );
        }
        if problems.is_empty() { Ok(document) } else { Err(problems) }
    }

    /// The place of an issue in the text.
    pub(crate) fn locate(&self, issue: Issue) -> Diagnostic {
        let pointer = self.origin.resolve(&issue.at);
        let (node, span) = self.find(&pointer);
        let span = match issue.span {
            Some(within) => {
                let start = node.source_offset(&self.source, within.start);
                start..node.source_offset(&self.source, within.end).max(start)
            }
            None => span,
        };
        Diagnostic { help: issue.help, ..Diagnostic::new(issue.message, span) }
    }

    /// A report of one issue.
    pub(crate) fn report(&self, issue: Issue) -> DiagnosticReport {
        let problem = self.locate(issue);
        DiagnosticReport::new(&self.path, &self.source, vec![problem])
    }

    /// A report of a problem at a native place, for callers that know more than the pack.
    pub fn report_at(&self, at: &str, message: impl Into<String>, help: Option<String>) -> DiagnosticReport {
        self.report(Issue { help, ..Issue::new(at, message) })
    }

    /// Line and column of a native place.
    pub fn position(&self, at: &str) -> (usize, usize) {
        let (_, span) = self.find(&self.origin.resolve(at));
        Diagnostic::new("", span).position(&self.source)
    }

    /// The node at a pointer, or the nearest one above it. The span of a map or list is its first line.
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

fn deduplicated(problems: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut kept: Vec<Diagnostic> = Vec::new();
    for problem in problems {
        if !kept.contains(&problem) {
            kept.push(problem);
        }
    }
    kept
}
