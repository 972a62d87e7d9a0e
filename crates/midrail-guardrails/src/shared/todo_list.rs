//! The to-do list of an agent, from the to-do tools of the known coding agents.

use midrail_core::{Event, ToolCall};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::data::TOOLS;
use super::text::shorten;

/// Maximum number of stored items.
const MAX_ITEMS: usize = 200;

/// Maximum length of a stored item.
const MAX_TEXT: usize = 121;

/// A to-do list.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct TodoList {
    items: Vec<TodoItem>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct TodoItem {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    id: String,
    text: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    done: bool,
}

impl TodoList {
    /// The open items.
    pub(crate) fn open(&self) -> Vec<&str> {
        self.items.iter().filter(|item| !item.done).map(|item| item.text.as_str()).collect()
    }

    /// The list after a successful call of a known tool. `None`: the call does not contain a list.
    pub(crate) fn after(&self, event: &Event) -> Option<Self> {
        event.tool_name().filter(|name| TOOLS.has("to-do tools", name))?;
        self.after_any(event)
    }

    /// The same for a call of any tool that manages the list.
    pub(crate) fn after_any(&self, event: &Event) -> Option<Self> {
        let call = event.tool.as_ref()?;
        let items_of_call = match call.name.as_str() {
            "TaskCreate" => vec![TodoItem { id: new_item_id(event), done: false, ..item(&call.args) }],
            "TaskUpdate" => return self.updated(&call.args),
            _ => list(call)?,
        };
        let adds = call.name == "TaskCreate" || call.args.get("merge") == Some(&Value::Bool(true));
        let mut items = if adds { self.items.clone() } else { Vec::new() };
        for item in items_of_call {
            match items.iter_mut().find(|known| adds && !known.id.is_empty() && known.id == item.id) {
                Some(known) => {
                    known.done = item.done;
                    if !item.text.is_empty() {
                        known.text = item.text;
                    }
                }
                None => items.push(item),
            }
        }
        items.truncate(MAX_ITEMS);
        Some(TodoList { items })
    }

    /// The list with one item changed.
    fn updated(&self, args: &Map<String, Value>) -> Option<Self> {
        let id = id(args);
        let mut items = self.items.clone();
        let known = items.iter_mut().find(|known| !id.is_empty() && known.id == id)?;
        if let Some(status) = args.get("status").and_then(Value::as_str) {
            known.done = is_done(status);
        }
        Some(TodoList { items })
    }
}

/// The items of a call, from a list or its text.
fn list(call: &ToolCall) -> Option<Vec<TodoItem>> {
    let value = TOOLS.list("to-do lists").iter().find_map(|name| call.args.get(*name))?;
    let parsed;
    let value = match value {
        Value::String(text) => match serde_json::from_str::<Value>(text) {
            Ok(value @ Value::Array(_)) => {
                parsed = value;
                &parsed
            }
            _ => return Some(checklist(text)),
        },
        value => value,
    };
    let items = value.as_array()?.iter().take(MAX_ITEMS).map(|value| match value {
        Value::Object(fields) => item(fields),
        Value::String(text) => TodoItem { text: short(text), ..TodoItem::default() },
        other => TodoItem { text: short(&other.to_string()), ..TodoItem::default() },
    });
    Some(items.collect())
}

/// Lines such as `- [ ] write tests` and `[x] read the code`.
fn checklist(text: &str) -> Vec<TodoItem> {
    let line = |line: &str| {
        let line = line.trim().trim_start_matches(['-', '*']).trim_start();
        let (mark, text) = line.strip_prefix('[')?.split_once(']')?;
        let done = matches!(mark.trim(), "x" | "X");
        Some(TodoItem { id: String::new(), text: short(text.trim()), done })
    };
    text.lines().filter_map(line).take(MAX_ITEMS).collect()
}

fn item(fields: &Map<String, Value>) -> TodoItem {
    let text =
        TOOLS.list("to-do texts").iter().find_map(|name| fields.get(*name)?.as_str()).unwrap_or_default();
    let is_true = |name: &str| fields.get(name) == Some(&Value::Bool(true));
    let status = ["status", "state"].iter().find_map(|name| fields.get(*name)?.as_str());
    let done = status.map_or_else(|| is_true("done") || is_true("completed"), is_done);
    TodoItem { id: id(fields), text: short(text), done }
}

fn id(fields: &Map<String, Value>) -> String {
    match TOOLS.list("to-do ids").iter().find_map(|name| fields.get(*name)) {
        Some(Value::String(id)) => short(id),
        Some(Value::Number(id)) => id.to_string(),
        _ => String::new(),
    }
}

/// Whether an item is done. An unknown state counts as open.
fn is_done(status: &str) -> bool {
    TOOLS.has("done", &status.trim().to_ascii_lowercase())
}

/// The id of a new item: a field of the answer, or the number after `#` in its text.
fn new_item_id(event: &Event) -> String {
    match event.result.as_ref().and_then(|result| result.content.as_ref()) {
        Some(Value::Object(fields)) => id(fields.get("task").and_then(Value::as_object).unwrap_or(fields)),
        Some(Value::String(text)) => {
            let after = text.split_once('#').map(|(_, after)| after).unwrap_or_default();
            after.chars().take_while(char::is_ascii_digit).take(20).collect()
        }
        _ => String::new(),
    }
}

fn short(text: &str) -> String {
    shorten(text, MAX_TEXT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use midrail_core::ToolResult;
    use serde_json::json;

    fn after(list: &TodoList, tool: &str, args: Value, answer: Value) -> Option<TodoList> {
        list.after(&Event::after_tool(tool, args, ToolResult::ok(answer)))
    }

    fn open_after(tool: &str, args: Value) -> Vec<String> {
        let list = after(&TodoList::default(), tool, args, json!("ok")).unwrap();
        list.open().into_iter().map(str::to_owned).collect()
    }

    #[test]
    fn lists_of_all_agents_are_parsed() {
        for (tool, args) in [
            (
                "TodoWrite",
                json!({"todos": [{"content": "a", "status": "in_progress"}, {"content": "b", "status": "completed"}]}),
            ),
            (
                "todowrite",
                json!({"todos": [{"content": "a", "status": "pending"}, {"content": "b", "status": "cancelled"}]}),
            ),
            (
                "update_plan",
                json!({"plan": [{"step": "a", "status": "pending"}, {"step": "b", "status": "completed"}]}),
            ),
            ("write_todos", json!({"todos": [{"description": "a", "status": "in_progress"}]})),
            (
                "manage_todo_list",
                json!({"operation": "write", "todoList": [{"id": 1, "title": "a", "status": "not-started"}]}),
            ),
            ("update_todo_list", json!({"todos": "[x] b\n- [-] a\nprose"})),
            ("TodoWrite", json!({"todos": r#"[{"content": "a"}, {"content": "b", "done": true}]"#})),
            ("todo_write", json!({"todos": ["a"]})),
            ("TodoWrite", json!({"todos": [{"content": "a", "status": "nearly"}]})),
        ] {
            assert_eq!(open_after(tool, args.clone()), ["a"], "{tool} {args}");
        }
        assert_eq!(
            open_after("update_plan", json!({"plan": [{"step": "a", "status": "Completed"}]})),
            [""; 0]
        );
    }

    #[test]
    fn other_calls_do_not_change_the_list() {
        let list = TodoList::default();
        assert_eq!(after(&list, "Bash", json!({"todos": []}), json!("")), None);
        assert_eq!(after(&list, "manage_todo_list", json!({"operation": "read"}), json!("")), None);
        assert_eq!(
            after(&list, "TaskUpdate", json!({"taskId": "9", "status": "completed"}), json!("")),
            None
        );
    }

    #[test]
    fn single_items_are_added_and_changed() {
        let none = TodoList::default();
        let one = after(&none, "TaskCreate", json!({"subject": "a"}), json!("Task #1 created: a")).unwrap();
        let two = after(&one, "TaskCreate", json!({"subject": "b"}), json!({"task": {"id": "2"}})).unwrap();
        assert_eq!(two.open(), ["a", "b"]);
        let three =
            after(&two, "TaskUpdate", json!({"taskId": "1", "status": "completed"}), json!("")).unwrap();
        assert_eq!(three.open(), ["b"]);
        let merged = json!({"merge": true, "todos": [{"id": "2", "status": "completed"}, {"id": "3", "content": "c"}]});
        assert_eq!(after(&three, "todo_write", merged, json!("")).unwrap().open(), ["c"]);
        let kept = serde_json::to_value(&three).unwrap();
        assert_eq!(serde_json::from_value::<TodoList>(kept).unwrap(), three);
        assert!(serde_json::from_value::<TodoList>(json!("rubbish")).is_err());
    }

    #[test]
    fn lists_are_bounded() {
        let many: Vec<Value> = (0..1_000).map(|_| json!("é".repeat(1_000))).collect();
        let open = open_after("TodoWrite", json!({"todos": many}));
        assert_eq!((open.len(), open[0].chars().count()), (MAX_ITEMS, MAX_TEXT));
    }
}
