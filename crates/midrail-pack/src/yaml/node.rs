//! The tree of a YAML text, in which every value has its place.

pub use saphyr_parser::ScalarStyle as TextStyle;

pub use crate::diagnostic::Span;
use crate::yaml::offset;

/// A value and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The bytes of the value, including quotes and brackets, without anchors and tags. A value of an alias has the place
    /// of its anchor.
    pub span: Span,
    /// The value.
    pub value: NodeValue,
}

/// The value of a node.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeValue {
    /// Null, also for an absent value.
    Null,
    /// True or false.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// Any other number, including integers beyond 64 bits.
    Float(f64),
    /// A text and its style.
    Text(String, TextStyle),
    /// Values in order.
    List(Vec<Node>),
    /// Named values in order, without duplicates.
    Map(Vec<(Key, Node)>),
}

/// A key of a map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// The key; for a number or boolean, its source text.
    pub text: String,
    /// The bytes of the key.
    pub span: Span,
}

/// Converts a node to JSON. Numbers that JSON does not support (`.inf`, `.nan`) become null.
pub fn to_json(node: &Node) -> serde_json::Value {
    use serde_json::Value;
    match &node.value {
        NodeValue::Null => Value::Null,
        NodeValue::Bool(value) => Value::Bool(*value),
        NodeValue::Int(value) => Value::from(*value),
        NodeValue::Float(value) => Value::from(*value),
        NodeValue::Text(text, _) => Value::String(text.clone()),
        NodeValue::List(nodes) => Value::Array(nodes.iter().map(to_json).collect()),
        NodeValue::Map(entries) => {
            let entries = entries.iter().map(|(key, node)| (key.text.clone(), to_json(node)));
            let mut map: serde_json::Map<String, Value> = entries.collect();
            // The revision of a policy does not depend on the order of keys, also if a dependency enables `preserve_order`.
            map.sort_keys();
            Value::Object(map)
        }
    }
}

impl Node {
    /// The text, if the node is one.
    pub fn as_text(&self) -> Option<&str> {
        if let NodeValue::Text(text, _) = &self.value { Some(text) } else { None }
    }

    /// The values, if the node is a list.
    pub fn as_list(&self) -> Option<&[Node]> {
        if let NodeValue::List(nodes) = &self.value { Some(nodes) } else { None }
    }

    /// The entries, if the node is a map.
    pub fn as_map(&self) -> Option<&[(Key, Node)]> {
        if let NodeValue::Map(entries) = &self.value { Some(entries) } else { None }
    }

    /// The value of a key, if the node is a map with that key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.as_map()?.iter().find(|(candidate, _)| candidate.text == key).map(|(_, node)| node)
    }

    /// The kind of value for a message: "a text", "a list".
    pub fn kind(&self) -> &'static str {
        match &self.value {
            NodeValue::Null => "nothing",
            NodeValue::Bool(_) => "true or false",
            NodeValue::Int(_) | NodeValue::Float(_) => "a number",
            NodeValue::Text(..) => "a text",
            NodeValue::List(_) => "a list",
            NodeValue::Map(_) => "a map",
        }
    }

    /// The byte offset in `source` of the byte `value_offset` of this node's text, or the start of the node if the two
    /// cannot be aligned.
    pub fn source_offset(&self, source: &str, value_offset: usize) -> usize {
        let NodeValue::Text(text, style) = &self.value else { return self.span.start };
        offset::align(source, &self.span, text, *style, value_offset).unwrap_or(self.span.start)
    }
}
