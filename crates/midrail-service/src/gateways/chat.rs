//! Chat messages, offered tools and choices in the formats of OpenAI and Anthropic, as events. Gateways pass them on.
//!
//! A message of an unknown role is a prompt, which is checked most strictly. Media in a message is not read, except for addresses of
//! images.

use std::collections::BTreeMap;

use midrail::unique_keys::UniqueKeys;
use midrail::{Event, EventKind, ToolCall, ToolResult};
use midrail_adapters::mcp::definition;
use serde_json::{Map, Value};

use super::exchange::{Item, text_event};

/// Members of parts with media, which no detector of texts reads.
const MEDIA: &[&str] =
    &["data", "file_data", "image_url", "input_audio", "input_image", "audio", "video_url"];

/// Members of a message that are read on their own, or that have no text of the model: everything else in it is read, too.
const NO_TEXT: &[&str] = &[
    "role",
    "content",
    "refusal",
    "tool_calls",
    "function_call",
    "tool_call_id",
    "name",
    "id",
    "type",
    "annotations",
    "cache_control",
    "signature",
    "encrypted_content",
];

/// A part of a message: its text, and where it is.
struct Part<'m> {
    text: String,
    place: Option<String>,
    /// The call that it is the result of.
    call: Option<&'m str>,
}

/// The events of a conversation. `at` is the JSON pointer to the list of messages.
pub(super) fn messages(at: &str, list: &Value) -> Result<Vec<Item>, String> {
    let list = list.as_array().ok_or_else(|| format!("`{at}` is not a list"))?;
    let mut calls = BTreeMap::new();
    let mut items = Vec::new();
    for (number, message) in list.iter().enumerate() {
        let at = format!("{at}/{number}");
        let Some(role) = message.get("role").and_then(Value::as_str) else {
            items.extend(typed_item(&at, message, &mut calls)?);
            continue;
        };
        remember_calls(message, &mut calls);
        let answered = message.get("tool_call_id").and_then(Value::as_str);
        for part in parts(&at, message)? {
            let event = match role {
                "tool" | "function" => result(message, part.call.or(answered), &part.text, &calls),
                _ if part.call.is_some() => result(message, part.call, &part.text, &calls),
                "assistant" | "model" => text_event(EventKind::AfterModel, &part.text),
                _ => text_event(EventKind::BeforeModel, &part.text),
            };
            items.push(Item::message(event, part.place));
        }
    }
    Ok(items)
}

/// The events of an item without a role, as requests of the Responses API have them between their messages.
fn typed_item<'m>(at: &str, item: &'m Value, calls: &mut Calls<'m>) -> Result<Vec<Item>, String> {
    let id = item.get("call_id").and_then(Value::as_str);
    match kind(item) {
        "" => Err(format!("`{at}` has no role")),
        output if output.ends_with("_output") => {
            let parts = content(&format!("{at}/output"), item.get("output"), id)?;
            let event = |part: &Part<'_>| result(item, id, &part.text, calls);
            Ok(parts.iter().map(|part| Item::message(event(part), part.place.clone())).collect())
        }
        // It was decided when the model made it.
        call if call.ends_with("_call") => {
            if let (Some(id), Some(name)) = (id, name(item)) {
                calls.insert(id, (name, arguments(item.get("arguments")).unwrap_or_default()));
            }
            Ok(Vec::new())
        }
        _ => {
            let text = all_texts(item);
            Ok(vec![Item::message(text_event(EventKind::AfterModel, &text), None)])
        }
    }
}

/// Whether a list has messages, or items of the Responses API.
pub(super) fn is_conversation(list: &Value) -> bool {
    let is_typed = |item: &Value| kind(item).ends_with("_output") || kind(item).ends_with("_call");
    let is_item = |item: &Value| item.get("role").is_some() || is_typed(item);
    list.as_array().is_some_and(|items| items.iter().any(is_item))
}

/// The events of the choices of an answer.
pub(super) fn choices(at: &str, list: &Value) -> Result<Vec<Item>, String> {
    let list = list.as_array().ok_or_else(|| format!("`{at}` is not a list"))?;
    let mut items = Vec::new();
    for (number, choice) in list.iter().enumerate() {
        let at = format!("{at}/{number}/message");
        let message = choice.get("message").ok_or_else(|| format!("`{at}` is missing"))?;
        items.extend(answer(&at, message)?);
    }
    Ok(items)
}

/// The events of one message of the model.
pub(super) fn answer(at: &str, message: &Value) -> Result<Vec<Item>, String> {
    let event = |part: &Part<'_>| text_event(EventKind::AfterModel, &part.text);
    let mut items: Vec<Item> =
        parts(at, message)?.iter().map(|part| Item::message(event(part), part.place.clone())).collect();
    let calls = message.get("tool_calls").filter(|calls| !calls.is_null());
    if let Some(calls) = calls {
        let calls = calls.as_array().ok_or_else(|| format!("`{at}/tool_calls` is not a list"))?;
        for call in calls {
            items.push(Item::message(tool_call(call)?, None));
        }
    }
    if let Some(call) = message.get("function_call").filter(|call| !call.is_null()) {
        items.push(Item::message(function(call, None)?, None));
    }
    let uses = message.get("content").and_then(Value::as_array).into_iter().flatten();
    for part in uses.filter(|part| kind(part).ends_with("tool_use")) {
        items.push(Item::message(tool_use(part)?, None));
    }
    Ok(items.into_iter().map(Item::answer).collect())
}

/// The events of the items of an answer in the format of the Responses API.
pub(super) fn output(at: &str, list: &Value) -> Result<Vec<Item>, String> {
    let list = list.as_array().ok_or_else(|| format!("`{at}` is not a list"))?;
    let mut items = Vec::new();
    for (number, item) in list.iter().enumerate() {
        let id = item.get("call_id").and_then(Value::as_str);
        match kind(item) {
            "message" => items.extend(answer(&format!("{at}/{number}"), item)?),
            "function_call" => items.push(Item::message(function(item, id)?, None).answer()),
            // A shell, an editor, a computer: the client runs it.
            call if call.ends_with("_call") => {
                let mut args = item.as_object().cloned().unwrap_or_default();
                args.retain(|name, _| !["id", "type", "status", "call_id", "name"].contains(&name.as_str()));
                let name = name(item).unwrap_or(call.trim_end_matches("_call"));
                items.push(Item::message(call_event(name, args, id), None).answer());
            }
            _ => {
                let text = all_texts(item);
                let event = text_event(EventKind::AfterModel, &text);
                items.extend((!text.is_empty()).then(|| Item::message(event, None).answer()));
            }
        }
    }
    Ok(items)
}

/// A call that the model wants to make.
pub(super) fn tool_call(call: &Value) -> Result<Event, String> {
    let id = call.get("id").and_then(Value::as_str);
    if let Some(custom) = call.get("custom").filter(|custom| !custom.is_null()) {
        let name = name(custom).ok_or("a tool call has no name")?;
        let input = custom.get("input").cloned().unwrap_or_default();
        return Ok(call_event(name, Map::from_iter([("input".to_owned(), input)]), id));
    }
    let function_member = call.get("function").filter(|function| !function.is_null());
    function(function_member.ok_or("a tool call has no function")?, id)
}

fn function(function: &Value, id: Option<&str>) -> Result<Event, String> {
    let name = name(function).ok_or("a tool call has no name")?;
    let args = arguments(function.get("arguments"))
        .ok_or_else(|| format!("the arguments of the call of `{name}` are not a JSON object"))?;
    Ok(call_event(name, args, id))
}

fn tool_use(part: &Value) -> Result<Event, String> {
    let name = name(part).ok_or("a tool call has no name")?;
    let args = arguments(part.get("input"))
        .ok_or_else(|| format!("the arguments of the call of `{name}` are not a JSON object"))?;
    Ok(call_event(name, args, part.get("id").and_then(Value::as_str)))
}

fn call_event(name: &str, args: Map<String, Value>, id: Option<&str>) -> Event {
    let call = ToolCall { args, call_id: id.map(str::to_owned), ..ToolCall::new(name, Value::Null) };
    Event { tool: Some(call), ..Event::new(EventKind::BeforeTool) }
}

/// The arguments of a call. `None`: they are not an object, so another reader may see other arguments.
fn arguments(value: Option<&Value>) -> Option<Map<String, Value>> {
    match value {
        None | Some(Value::Null) => Some(Map::new()),
        Some(Value::Object(args)) => Some(args.clone()),
        Some(Value::String(text)) if text.trim().is_empty() => Some(Map::new()),
        Some(Value::String(text)) => {
            serde_json::from_str::<UniqueKeys>(text).ok()?;
            serde_json::from_str(text).ok()
        }
        Some(_) => None,
    }
}

/// The tools that a request offers to the model. `None`: it offers none.
pub(super) fn offered(at: &str, tools: Option<&Value>) -> Result<Option<Item>, String> {
    let Some(tools) = tools.filter(|tools| !tools.is_null()) else { return Ok(None) };
    let tools = tools.as_array().ok_or_else(|| format!("`{at}` is not a list"))?;
    if tools.is_empty() {
        return Ok(None);
    }
    let offered = tools.iter().map(|tool| definition(&tool_name(tool), tool)).collect();
    let event = Event { tools: Some(offered), ..Event::new(EventKind::ToolsOffered) };
    Ok(Some(Item::message(event, Some(at.to_owned()))))
}

/// The tools of a list that may be offered. Of several tools of one name, it is not known which one may be.
pub(super) fn kept(tools: &[Value], passed: &[String]) -> Vec<Value> {
    let count = |name: &str| passed.iter().filter(|passed| *passed == name).count();
    let offered = |name: &str| tools.iter().filter(|tool| tool_name(tool) == name).count();
    let is_kept = |tool: &&Value| {
        let name = tool_name(tool);
        count(&name) == offered(&name)
    };
    tools.iter().filter(is_kept).cloned().collect()
}

/// The name of an offered tool. A built-in one has only a type.
fn tool_name(tool: &Value) -> String {
    let of_function = tool.get("function").or(tool.get("custom")).and_then(name);
    of_function.or(name(tool)).unwrap_or_else(|| kind(tool)).to_owned()
}

fn name(value: &Value) -> Option<&str> {
    value.get("name")?.as_str().filter(|name| !name.is_empty())
}

fn kind(value: &Value) -> &str {
    value.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// The texts of the content of a message.
fn parts<'m>(at: &str, message: &'m Value) -> Result<Vec<Part<'m>>, String> {
    let mut found = content(&format!("{at}/content"), message.get("content"), None)?;
    // A model that refuses says so in a field of its own.
    let refusal = message.get("refusal").and_then(Value::as_str);
    found.extend(refusal.map(|text| Part { text: text.to_owned(), place: None, call: None }));
    // Models also think aloud, speak, and cite, each provider in members of its own.
    let members = message.as_object().into_iter().flatten();
    for (name, value) in members.filter(|(name, _)| !NO_TEXT.contains(&name.as_str())) {
        let (text, place) = match value {
            Value::String(text) => (text.clone(), Some(format!("{at}/{}", escaped(name)))),
            _ => (all_texts(value), None),
        };
        found.push(Part { text, place, call: None });
    }
    found.retain(|part| !part.text.is_empty());
    Ok(found)
}

/// A name in a JSON pointer.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn content<'m>(at: &str, content: Option<&'m Value>, call: Option<&'m str>) -> Result<Vec<Part<'m>>, String> {
    let list = match content {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::String(text)) => {
            return Ok(vec![Part { text: text.clone(), place: Some(at.to_owned()), call }]);
        }
        Some(Value::Array(list)) => list,
        Some(_) => return Err(format!("`{at}` is neither a text nor a list of parts")),
    };
    let mut found = Vec::new();
    for (number, part) in list.iter().enumerate() {
        let at = format!("{at}/{number}");
        if let Value::String(text) = part {
            found.push(Part { text: text.clone(), place: Some(at), call });
            continue;
        }
        if !part.is_object() {
            return Err(format!("`{at}` is not a part of a message"));
        }
        if kind(part) == "tool_result" {
            let id = part.get("tool_use_id").and_then(Value::as_str).unwrap_or_default();
            found.extend(self::content(&format!("{at}/content"), part.get("content"), Some(id))?);
            continue;
        }
        if kind(part).ends_with("tool_use") {
            continue;
        }
        if let Some(text) = part.get("text").and_then(Value::as_str) {
            found.push(Part { text: text.to_owned(), place: Some(format!("{at}/text")), call });
        }
        found.extend(other_text(part).map(|text| Part { text, place: None, call }));
    }
    Ok(found)
}

/// The texts of a part beyond its own: the address of an image, and everything in a part of an unknown type.
fn other_text(part: &Value) -> Option<String> {
    let mut lines = Vec::new();
    let image = part.get("image_url").map(|image| image.get("url").unwrap_or(image));
    lines.extend(image.and_then(Value::as_str).filter(|url| is_address(url)).map(str::to_owned));
    for (name, value) in part.as_object().into_iter().flatten() {
        if !["type", "text", "cache_control", "annotations"].contains(&name.as_str())
            && !MEDIA.contains(&name.as_str())
        {
            collect_texts(value, &mut lines);
        }
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// The texts in a value of an unknown form, as one text.
pub(super) fn all_texts(value: &Value) -> String {
    let mut lines = Vec::new();
    collect_texts(value, &mut lines);
    lines.join("\n")
}

fn collect_texts(value: &Value, lines: &mut Vec<String>) {
    match value {
        Value::String(text) => lines.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect_texts(item, lines)),
        Value::Object(members) => {
            let is_read = |name: &str| {
                !MEDIA.contains(&name) && !["signature", "encrypted_content"].contains(&name)
                    || name == "data" && is_plain_text(value)
            };
            let read = members.iter().filter(|(name, _)| is_read(name));
            read.for_each(|(_, member)| collect_texts(member, lines));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Whether the data of a source are a text, as those of a plain document.
fn is_plain_text(source: &Value) -> bool {
    let media = source.get("media_type").and_then(Value::as_str).unwrap_or_default();
    kind(source) == "text" || (kind(source) != "base64" && media.starts_with("text/"))
}

/// Whether an image is named by its address. Its data is not read.
pub(super) fn is_address(url: &str) -> bool {
    !url.trim_start().get(..5).is_some_and(|start| start.eq_ignore_ascii_case("data:"))
}

/// The names and arguments of earlier calls, by their ids.
type Calls<'m> = BTreeMap<&'m str, (&'m str, Map<String, Value>)>;

fn remember_calls<'m>(message: &'m Value, calls: &mut Calls<'m>) {
    let list = |name: &str| message.get(name).and_then(Value::as_array).into_iter().flatten();
    for call in list("tool_calls") {
        let function = call.get("function").unwrap_or(call);
        let args = arguments(function.get("arguments")).unwrap_or_default();
        if let (Some(id), Some(name)) = (call.get("id").and_then(Value::as_str), name(function)) {
            calls.insert(id, (name, args));
        }
    }
    for part in list("content").filter(|part| kind(part).ends_with("tool_use")) {
        let args = arguments(part.get("input")).unwrap_or_default();
        if let (Some(id), Some(name)) = (part.get("id").and_then(Value::as_str), name(part)) {
            calls.insert(id, (name, args));
        }
    }
}

/// The result of a call. Its outcome is not known.
fn result(message: &Value, id: Option<&str>, text: &str, calls: &Calls<'_>) -> Event {
    let call = id.and_then(|id| calls.get(id));
    let name = call.map(|(name, _)| *name).or(name(message)).unwrap_or("unknown");
    let args = call.map(|(_, args)| args.clone()).unwrap_or_default();
    let result = ToolResult { content: Some(Value::from(text)), ..ToolResult::default() };
    let mut event = Event::after_tool(name, Value::Object(args), result);
    if let Some(tool) = &mut event.tool {
        tool.call_id = id.filter(|id| !id.is_empty()).map(str::to_owned);
    }
    event
}
