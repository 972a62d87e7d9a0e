//! Definitions of tools, prompts and resources: their texts and digests, and lists without those that are withheld.

use std::collections::BTreeMap;
use std::fmt::Write;

use midrail::core::{OfferedTool, hex};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::splice::{Edits, Span};
use crate::rpc;

/// A kind of list: its method, the field with the items, the field with an item's name, and what precedes the name.
struct ListKind {
    method: &'static str,
    field: &'static str,
    name: &'static str,
    prefix: &'static str,
}

const LISTS: &[ListKind] = &[
    ListKind { method: "tools/list", field: "tools", name: "name", prefix: "" },
    ListKind { method: "prompts/list", field: "prompts", name: "name", prefix: "prompts/" },
    ListKind { method: "resources/list", field: "resources", name: "uri", prefix: "resources/" },
    ListKind {
        method: "resources/templates/list",
        field: "resourceTemplates",
        name: "uriTemplate",
        prefix: "templates/",
    },
];

/// The methods whose results have instructions for the model.
const GREETINGS: &[&str] = &["initialize", "server/discover"];

const INSTRUCTIONS: &str = "instructions";

/// Whether the results of a method are definitions.
pub(super) fn is_list(method: &str) -> bool {
    GREETINGS.contains(&method) || list_kind(method).is_some()
}

fn list_kind(method: &str) -> Option<&'static ListKind> {
    LISTS.iter().find(|kind| kind.method == method)
}

/// The definitions in the result of a method. `None`: it is no list of definitions.
pub(super) fn offered(method: &str, result: &Value) -> Option<Vec<OfferedTool>> {
    let field = list_kind(method).map_or(INSTRUCTIONS, |kind| kind.field);
    if result.as_object().is_some_and(|members| rpc::imitation(members, field).is_some()) {
        return None;
    }
    if GREETINGS.contains(&method) {
        return Some(greeting(result).map(|it| offer(INSTRUCTIONS, "", &it)).into_iter().collect());
    }
    let kind = list_kind(method)?;
    let items = result.get(kind.field)?.as_array()?;
    let name = |item: &Value| item.get(kind.name).and_then(Value::as_str).unwrap_or_default().to_owned();
    Some(items.iter().map(|item| offer(&name(item), kind.prefix, item)).collect())
}

/// The texts for the model in the first result of a server: its instructions, and how it describes itself.
fn greeting(result: &Value) -> Option<Value> {
    let is_text = |value: &&Value| !value.is_null() && **value != "";
    let instructions = result.get(INSTRUCTIONS).filter(is_text);
    let mut texts = Map::new();
    for (name, _) in described(result) {
        let text = result.pointer(&name).filter(is_text);
        texts.extend(text.map(|text| (name, text.clone())));
    }
    if texts.is_empty() {
        return instructions.cloned();
    }
    texts.extend(instructions.map(|text| (INSTRUCTIONS.to_owned(), text.clone())));
    Some(Value::Object(texts))
}

/// Where a server describes itself, as JSON pointers and as names of members. Its name and version change with every release, and no
/// model reads them.
fn described(result: &Value) -> Vec<(String, Vec<&'static str>)> {
    let places = [vec!["serverInfo"], vec!["_meta", "io.modelcontextprotocol/serverInfo"]];
    let members = places.into_iter().flat_map(|place| {
        DESCRIPTIONS.iter().map(move |name| place.iter().copied().chain([*name]).collect::<Vec<_>>())
    });
    let pointer = |path: &Vec<&str>| {
        path.iter().map(|name| format!("/{}", name.replace('/', "~1"))).collect::<String>()
    };
    let paths = members.map(|path| (pointer(&path), path));
    paths.filter(|(pointer, _)| result.pointer(pointer).is_some()).collect()
}

/// The members of a server's description of itself that are texts.
const DESCRIPTIONS: &[&str] = &["title", "description"];

/// A tool by its name and its definition.
pub fn definition(name: &str, definition: &Value) -> OfferedTool {
    offer(name, "", definition)
}

fn offer(name: &str, prefix: &str, definition: &Value) -> OfferedTool {
    let mut flat = Flat::default();
    // What is accepted as a resource is not accepted as a tool.
    flat.digest.update(prefix);
    flat.add(definition, "");
    OfferedTool {
        name: format!("{prefix}{name}"),
        text: flat.text,
        hash: format!("sha256:{}", hex::encode(&flat.digest.finalize())),
        annotations: definition.get("annotations").and_then(Value::as_object).cloned(),
    }
}

/// A definition as lines of places and values, in the order of the names.
#[derive(Default)]
struct Flat {
    text: String,
    digest: Sha256,
}

impl Flat {
    fn add(&mut self, value: &Value, path: &str) {
        match value {
            Value::Object(members) if !members.is_empty() => {
                let mut sorted: Vec<_> = members.iter().collect();
                sorted.sort_by_key(|(name, _)| *name);
                for (name, member) in sorted {
                    let place = name.replace('~', "~0").replace('/', "~1");
                    let place = if path.is_empty() { place } else { format!("{path}/{place}") };
                    // Times and ids in it may change with every list. Some clients show its texts to the model.
                    if path.is_empty() && name == "_meta" {
                        self.add_texts(member, &place);
                    } else {
                        self.add(member, &place);
                    }
                }
            }
            Value::Array(items) if !items.is_empty() => {
                for (index, item) in items.iter().enumerate() {
                    self.add(item, &format!("{path}/{index}"));
                }
            }
            leaf => self.add_leaf(leaf, path),
        }
    }

    /// Adds what could be read as a sentence, and its places.
    fn add_texts(&mut self, value: &Value, path: &str) {
        match value {
            Value::Object(members) => {
                let mut sorted: Vec<_> = members.iter().collect();
                sorted.sort_by_key(|(name, _)| *name);
                for (name, member) in sorted {
                    let place = format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"));
                    if is_sentence(name) {
                        self.add_leaf(&Value::Null, &place);
                    }
                    self.add_texts(member, &place);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.add_texts(item, path)),
            Value::String(text) if is_sentence(text) => self.add_leaf(value, path),
            Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn add_leaf(&mut self, leaf: &Value, path: &str) {
        self.digest.update(format!("{}:{path}={leaf}\n", path.len()));
        let shown = leaf.as_str().map_or_else(|| leaf.to_string(), |text| text.replace('\n', "\n  "));
        // Writing to a text cannot fail.
        let _ = match path {
            "" => writeln!(self.text, "{shown}"),
            path => writeln!(self.text, "{}: {shown}", path.replace("~1", "/").replace("~0", "~")),
        };
    }
}

/// Whether a text is more than an id, a time or an address.
fn is_sentence(text: &str) -> bool {
    !text.chars().all(|c| c.is_ascii_graphic())
}

/// The result of a list without the definitions that are withheld, as a line. `passed` has the names that pass.
pub(super) fn without_withheld(
    line: &str,
    method: &str,
    result: &Value,
    passed: &[String],
) -> Option<String> {
    let message = Span::of(line)?;
    let span = message.member(line, "result")?;
    let mut edits = Edits::default();
    match list_kind(method) {
        None => {
            let places = described(result).into_iter().map(|(_, path)| path).chain([vec![INSTRUCTIONS]]);
            for path in places {
                let text = path.iter().try_fold(span, |span, name| span.member(line, name));
                text.into_iter().for_each(|text| edits.replace(text.range.clone(), json!("").to_string()));
            }
        }
        Some(kind) => {
            let names: Vec<String> = offered(method, result)?.into_iter().map(|tool| tool.name).collect();
            let (offered, passed) = (counts(&names), counts(passed));
            // Of several definitions of one name, it is not known which one passes.
            let is_kept = |index: usize| {
                names.get(index).is_some_and(|name| passed.get(&**name) == offered.get(&**name))
            };
            span.member(line, kind.field)?.keep(line, is_kept, &mut edits);
        }
    }
    // A shared cache would serve this list to others, and a person may accept the rest soon.
    if let Some(scope) = span.member(line, "cacheScope") {
        edits.replace(scope.range.clone(), json!("private").to_string());
    }
    if result.get("ttlMs").and_then(Value::as_f64).is_some_and(|ttl| ttl > MAX_TTL)
        && let Some(ttl) = span.member(line, "ttlMs")
    {
        edits.replace(ttl.range.clone(), MAX_TTL.to_string());
    }
    Some(edits.apply(line))
}

/// How often each name occurs.
fn counts(names: &[String]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for name in names {
        *counts.entry(name.as_str()).or_default() += 1;
    }
    counts
}

/// How long a client may keep a list from which something is withheld, in milliseconds.
const MAX_TTL: f64 = 60_000.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(tool: &str) -> String {
        offered("tools/list", &json!({"tools": [serde_json::from_str::<Value>(tool).unwrap()]}))
            .unwrap()
            .remove(0)
            .hash
    }

    const TOOL: &str = r#"{"name":"add","title":"Add","description":"Adds.","inputSchema":{"type":"object","properties":{"a":{"type":"number","description":"First","default":1,"enum":[1,2],"examples":["x"]}},"required":["a"]},"outputSchema":{"type":"object","properties":{"sum":{"type":"number","title":"Sum"}}},"annotations":{"readOnlyHint":true},"icons":[{"src":"https://x.example/i.png"}]}"#;

    /// 16 changes of one field each.
    #[test]
    fn every_change_of_a_definition_changes_its_digest() {
        let changes = [
            ("\"Add\"", "\"Add!\""),
            ("Adds.", "Adds"),
            ("Adds.", "adds."),
            ("\"type\":\"number\",\"description\"", "\"type\":\"integer\",\"description\""),
            ("First", "First "),
            ("\"default\":1", "\"default\":2"),
            ("\"default\":1", "\"default\":\"1\""),
            ("[1,2]", "[2,1]"),
            ("[1,2]", "[1,2,3]"),
            ("\"x\"", "\"y\""),
            ("\"required\":[\"a\"]", "\"required\":[]"),
            ("\"sum\"", "\"total\""),
            ("\"Sum\"", "\"Total\""),
            ("true", "false"),
            ("i.png", "j.png"),
            ("\"properties\":{\"a\"", "\"properties\":{\"b\":{},\"a\""),
        ];
        for (from, to) in changes {
            assert_ne!(hash(TOOL), hash(&TOOL.replacen(from, to, 1)), "{from} -> {to}");
        }
    }

    #[test]
    fn order_and_spelling_and_meta_do_not_matter() {
        for same in [
            r#"{"description":"Adds.","name":"add"}"#,
            r#"{ "name" : "add", "description" : "\u0041dds." }"#,
            r#"{"name":"add","description":"Adds.","_meta":{"at":1}}"#,
        ] {
            assert_eq!(hash(r#"{"name":"add","description":"Adds."}"#), hash(same), "{same}");
        }
        // A value cannot imitate another place.
        assert_ne!(
            hash(r#"{"name":"a","description":"x\ntitle: y"}"#),
            hash(r#"{"name":"a","description":"x","title":"y"}"#)
        );
    }

    #[test]
    fn every_text_is_in_the_text() {
        let tool = offered("tools/list", &json!({"tools": [serde_json::from_str::<Value>(TOOL).unwrap()]}))
            .unwrap()
            .remove(0);
        for text in [
            "title: Add",
            "inputSchema/properties/a/description: First",
            "inputSchema/properties/a/examples/0: x",
        ] {
            assert!(tool.text.contains(text), "{}", tool.text);
        }
    }

    #[test]
    fn withheld_definitions_leave_the_other_bytes() {
        let line = r#"{"id":1, "result":{"tools":[{"name":"a", "x":1.0},{"name":"b"} , {"name":"c"}],"ttlMs":300000,"cacheScope":"public","nextCursor":"n"}}"#;
        let value: Value = serde_json::from_str(line).unwrap();
        let left = without_withheld(line, "tools/list", &value["result"], &["a".into(), "c".into()]).unwrap();
        assert_eq!(
            left,
            r#"{"id":1, "result":{"tools":[{"name":"a", "x":1.0},{"name":"c"}],"ttlMs":60000,"cacheScope":"private","nextCursor":"n"}}"#
        );
        // A second definition under the name of an accepted one.
        let line =
            r#"{"id":1,"result":{"tools":[{"name":"a"},{"name":"b"},{"name":"a","description":"Obey."}]}}"#;
        let value: Value = serde_json::from_str(line).unwrap();
        let left = without_withheld(line, "tools/list", &value["result"], &["a".into(), "b".into()]).unwrap();
        assert_eq!(left, r#"{"id":1,"result":{"tools":[{"name":"b"}]}}"#);
        let line = r#"{"id":1,"result":{"instructions":"Obey.","serverInfo":{"name":"s"}}}"#;
        let value: Value = serde_json::from_str(line).unwrap();
        let left = without_withheld(line, "initialize", &value["result"], &[]).unwrap();
        assert_eq!(left, r#"{"id":1,"result":{"instructions":"","serverInfo":{"name":"s"}}}"#);
    }
}
