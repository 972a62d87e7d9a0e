//! Builds trees from events within the limits. The callers read the events.

use std::collections::BTreeMap;

use crate::diagnostic::{Diagnostic, Span, excerpt};
use crate::yaml::node::{Key, Node, NodeValue, TextStyle};
use crate::yaml::scalar;

// Limits, so that no text exhausts memory or stack: its bytes, the nesting of lists and maps, and the values in the tree,
// including those that aliases repeat.
pub(super) const MAX_BYTES: usize = 1 << 20;
const MAX_DEPTH: usize = 64;
const MAX_NODES: usize = 100_000;

/// After this many problems the rest of the text is not read.
const MAX_PROBLEMS: usize = 100;

/// Reading ended early; the reason is among the problems of the builder.
pub(super) struct Stop;

/// The outcome of one event.
pub(super) type Step = Result<(), Stop>;

/// A scalar.
pub(super) struct Scalar<'t> {
    pub(super) text: String,
    pub(super) style: TextStyle,
    pub(super) span: Span,
    /// 0 for none.
    pub(super) anchor: usize,
    /// The suffix of a core tag.
    pub(super) tag: Option<&'t str>,
}

/// Collects documents and problems.
#[derive(Default)]
pub(super) struct Builder<'a> {
    source: &'a str,
    stack: Vec<Frame>,
    anchors: BTreeMap<usize, Node>,
    documents: Vec<Node>,
    problems: Vec<Diagnostic>,
    size: Size,
    /// End of the last content, which is the end of an open block.
    content_end: usize,
}

/// An open list or map.
struct Frame {
    start: usize,
    anchor: usize,
    items: Items,
}

enum Items {
    List(Vec<Node>),
    Map { entries: Vec<(Key, Node)>, seen: BTreeMap<String, usize>, merges: Vec<Node>, slot: Slot },
}

/// The role of the next node of a map.
enum Slot {
    Key,
    Value(Key),
    Merge,
    /// The value of an invalid key.
    Ignored,
}

#[derive(Default, Clone, Copy)]
struct Size {
    nodes: usize,
    text: usize,
}

impl<'a> Builder<'a> {
    pub(super) fn new(source: &'a str) -> Builder<'a> {
        Builder { source, ..Builder::default() }
    }

    /// The documents and the problems.
    pub(super) fn finish(self) -> (Vec<Node>, Vec<Diagnostic>) {
        (self.documents, self.problems)
    }

    pub(super) fn problem(&mut self, problem: Diagnostic) -> Step {
        self.problems.push(problem);
        if self.problems.len() < MAX_PROBLEMS { Ok(()) } else { Err(Stop) }
    }

    pub(super) fn stop(&mut self, problem: Diagnostic) -> Step {
        self.problems.push(problem);
        Err(Stop)
    }

    /// Anchors are valid in one document.
    pub(super) fn start_document(&mut self) {
        self.anchors.clear();
    }

    pub(super) fn scalar(&mut self, scalar: Scalar<'_>) -> Step {
        self.content_end = scalar.span.end;
        let is_key = self.awaits_key();
        self.grow(Size { nodes: usize::from(!is_key), text: scalar.text.len() }, &scalar.span)?;
        if is_key {
            return self.key(scalar);
        }
        let value = match (scalar.tag, scalar.style) {
            (Some(tag), style) => match scalar::tagged(&scalar.text, style, tag) {
                Some(value) => value,
                None => {
                    let message = format!("`{}` does not match the tag `!!{tag}`", excerpt(&scalar.text));
                    self.problem(Diagnostic::new(message, scalar.span.clone()))?;
                    NodeValue::Null
                }
            },
            (None, TextStyle::Plain) => scalar::plain(&scalar.text),
            (None, style) => NodeValue::Text(scalar.text, style),
        };
        self.attach(Node { span: scalar.span, value }, scalar.anchor)
    }

    pub(super) fn start_list(&mut self, start: usize, anchor: usize) -> Step {
        self.open(Frame { start, anchor, items: Items::List(Vec::new()) })
    }

    pub(super) fn start_map(&mut self, start: usize, anchor: usize) -> Step {
        let (entries, merges) = (Vec::new(), Vec::new());
        let items = Items::Map { entries, seen: BTreeMap::new(), merges, slot: Slot::Key };
        self.open(Frame { start, anchor, items })
    }

    /// Closes the innermost list or map; `span` is its closing bracket, or empty in a block.
    pub(super) fn end(&mut self, span: Span) -> Step {
        let Some(frame) = self.stack.pop() else { return Ok(()) };
        if matches!(self.source.get(span.clone()), Some("]" | "}")) {
            self.content_end = span.end;
        }
        let value = match frame.items {
            Items::List(nodes) => NodeValue::List(nodes),
            Items::Map { entries, seen, merges, .. } => NodeValue::Map(self.merge(entries, seen, merges)?),
        };
        let node = Node { span: frame.start..self.content_end.max(frame.start), value };
        if self.awaits_key() {
            let help =
                "only texts, numbers and booleans can be keys; packs have no templates such as `{{ x }}`";
            let message = format!("a key cannot be {}", node.kind());
            self.problem(Diagnostic::new(message, node.span).with_help(help))?;
            self.set_slot(Slot::Ignored);
            return Ok(());
        }
        self.attach(node, frame.anchor)
    }

    pub(super) fn alias(&mut self, anchor: usize, span: Span) -> Step {
        self.content_end = span.end;
        let name = excerpt(self.source.get(span.start + 1..span.end).unwrap_or_default());
        if self.awaits_key() {
            self.problem(
                Diagnostic::new("a key cannot be an alias", span).with_help("write the key itself"),
            )?;
            self.set_slot(Slot::Ignored);
            return Ok(());
        }
        let open = self.stack.iter().any(|frame| frame.anchor == anchor);
        let Some(node) = self.anchors.get(&anchor) else {
            let message = if open {
                format!("the anchor `{name}` contains itself")
            } else {
                format!("unknown anchor `{name}`")
            };
            return self.stop(Diagnostic::new(message, span));
        };
        let (size, depth) = measure(node);
        if self.stack.len() + depth > MAX_DEPTH {
            return self.stop(self.too_deep(span));
        }
        self.grow(size, &span)?;
        let Some(node) = self.anchors.get(&anchor).cloned() else { return Ok(()) };
        self.attach(node, 0)
    }

    fn open(&mut self, frame: Frame) -> Step {
        let span = frame.start..frame.start + 1;
        if self.stack.len() >= MAX_DEPTH {
            return self.stop(self.too_deep(span));
        }
        self.content_end = frame.start;
        self.grow(Size { nodes: 1, text: 0 }, &span)?;
        self.stack.push(frame);
        Ok(())
    }

    pub(super) fn too_deep(&self, span: Span) -> Diagnostic {
        Diagnostic::new(format!("nested more than {MAX_DEPTH} levels deep"), span)
    }

    fn grow(&mut self, size: Size, span: &Span) -> Step {
        self.size.nodes = self.size.nodes.saturating_add(size.nodes);
        self.size.text = self.size.text.saturating_add(size.text);
        if self.size.nodes > MAX_NODES {
            let message = format!("more than {MAX_NODES} values, including those that aliases repeat");
            return self.stop(Diagnostic::new(message, span.clone()));
        }
        // Only aliases can make texts longer than their source.
        if self.size.text > MAX_BYTES.saturating_mul(4) {
            return self.stop(Diagnostic::new("aliases repeat too much text", span.clone()));
        }
        Ok(())
    }

    fn awaits_key(&self) -> bool {
        matches!(self.stack.last(), Some(Frame { items: Items::Map { slot: Slot::Key, .. }, .. }))
    }

    fn set_slot(&mut self, next: Slot) {
        if let Some(Frame { items: Items::Map { slot, .. }, .. }) = self.stack.last_mut() {
            *slot = next;
        }
    }

    fn key(&mut self, scalar: Scalar<'_>) -> Step {
        let Scalar { text, style, span, anchor, .. } = scalar;
        if anchor != 0 {
            let value = NodeValue::Text(text.clone(), style);
            self.anchors.insert(anchor, Node { span: span.clone(), value });
        }
        if style == TextStyle::Plain && text.is_empty() {
            self.set_slot(Slot::Ignored);
            return self.problem(Diagnostic::new("a key is missing", span));
        }
        let Some(Frame { items: Items::Map { seen, slot, .. }, .. }) = self.stack.last_mut() else {
            return Ok(());
        };
        if let Some(first) = seen.get(&text).copied() {
            *slot = Slot::Ignored;
            let line =
                self.source.get(..first).unwrap_or_default().bytes().filter(|byte| *byte == b'\n').count()
                    + 1;
            let problem = Diagnostic::new(format!("duplicate key `{}`", excerpt(&text)), span);
            return self.problem(problem.with_help(format!("it is already set in line {line}")));
        }
        seen.insert(text.clone(), span.start);
        let merge = style == TextStyle::Plain && text == "<<";
        *slot = if merge { Slot::Merge } else { Slot::Value(Key { text, span }) };
        Ok(())
    }

    fn attach(&mut self, node: Node, anchor: usize) -> Step {
        if anchor != 0 {
            // The copy is counted, so that nested anchors cannot multiply memory.
            self.grow(measure(&node).0, &node.span)?;
            self.anchors.insert(anchor, node.clone());
        }
        let Some(frame) = self.stack.last_mut() else {
            self.documents.push(node);
            return Ok(());
        };
        match &mut frame.items {
            Items::List(nodes) => nodes.push(node),
            Items::Map { entries, merges, slot, .. } => match std::mem::replace(slot, Slot::Key) {
                Slot::Value(key) => entries.push((key, node)),
                Slot::Merge => merges.push(node),
                Slot::Key | Slot::Ignored => {}
            },
        }
        Ok(())
    }

    /// Adds the entries of `<<`: keys of the map itself have priority, then those of the earlier map.
    fn merge(
        &mut self,
        mut entries: Vec<(Key, Node)>,
        mut seen: BTreeMap<String, usize>,
        merges: Vec<Node>,
    ) -> Result<Vec<(Key, Node)>, Stop> {
        let mut maps = Vec::new();
        for node in merges {
            match node.value {
                NodeValue::List(nodes) => maps.extend(nodes),
                _ => maps.push(node),
            }
        }
        for node in maps {
            let NodeValue::Map(merged) = node.value else {
                let message = format!("`<<` needs a map or a list of maps, not {}", node.kind());
                self.problem(Diagnostic::new(message, node.span))?;
                continue;
            };
            for (key, node) in merged {
                if !seen.contains_key(&key.text) {
                    seen.insert(key.text.clone(), key.span.start);
                    entries.push((key, node));
                }
            }
        }
        Ok(entries)
    }
}

/// Size and depth of a tree. The recursion is limited by the depth limit of trees.
fn measure(node: &Node) -> (Size, usize) {
    let mut size = Size { nodes: 1, text: 0 };
    let mut depth = 0;
    let mut add = |node: &Node, key: usize| {
        let (inner, below) = measure(node);
        size.nodes += inner.nodes;
        size.text += inner.text + key;
        depth = depth.max(below);
    };
    match &node.value {
        NodeValue::Text(text, _) => return (Size { nodes: 1, text: text.len() }, 0),
        NodeValue::List(nodes) => nodes.iter().for_each(|node| add(node, 0)),
        NodeValue::Map(entries) => entries.iter().for_each(|(key, node)| add(node, key.text.len())),
        NodeValue::Null | NodeValue::Bool(_) | NodeValue::Int(_) | NodeValue::Float(_) => return (size, 0),
    }
    (size, depth + 1)
}
