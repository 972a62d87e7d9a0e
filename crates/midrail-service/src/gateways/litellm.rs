//! The contract of LiteLLM: the generic guardrail API.
//!
//! LiteLLM sends the texts of all messages, and the messages themselves. It replaces only the texts. It sends a stream as answers
//! that grow, and emits all but the last characters that Midrail holds back.

use std::time::Duration;

use axum::http::HeaderMap;
use midrail::{Event, EventKind};
use serde_json::{Value, json};

use super::chat;
use super::exchange::{
    Changed, Contract, Exchange, Item, Outcome, session_name, session_of_messages, text_event,
};

/// A call of LiteLLM.
pub(super) struct LiteLlm {
    is_answer: bool,
}

impl Contract for LiteLlm {
    const NAME: &'static str = "litellm";
    const LIMIT: Duration = Duration::from_secs(30);

    fn read(body: &Value, _: &HeaderMap) -> Result<(Self, Exchange), String> {
        let is_answer = match text(body, "/input_type") {
            Some("request") => false,
            Some("response") => true,
            _ => return Err("`input_type` is neither `request` nor `response`".to_owned()),
        };
        let params = body.get("additional_provider_specific_params");
        for name in ["pack", "project"] {
            if params.and_then(|params| params.get(name)).is_some_and(|value| !value.is_null()) {
                return Err(format!(
                    "`{name}` has no effect here: name the project in `headers: {{midrail-project: NAME}}`, which has its packs"
                ));
            }
        }
        let items = if is_answer { answer(body)? } else { request(body)? };
        let owner = text(body, "/request_data/user_api_key_hash");
        let agent = text(body, "/additional_provider_specific_params/agent")
            .or(text(body, "/request_data/user_api_key_alias"));
        let named = trace(body).map(|name| session_name(Self::NAME, name, owner));
        let exchange = Exchange {
            session: named.or_else(|| session_of_messages(Self::NAME, &items, owner)),
            agent: agent.map(str::to_owned),
            call: text(body, "/litellm_call_id").map(str::to_owned),
            is_growing: is_answer,
            items: items.into_iter().map(|item| item.behind(Self::NAME)).collect(),
        };
        Ok((LiteLlm { is_answer }, exchange))
    }

    fn answer(&self, body: &Value, outcome: &Outcome) -> Value {
        let changed = match outcome {
            Outcome::Passed(changed) => changed,
            Outcome::Blocked(reason) => return Self::refusal(reason),
        };
        let mut answer = if changed.is_nothing() {
            json!({"action": "NONE"})
        } else {
            json!({"action": "GUARDRAIL_INTERVENED", "texts": changed.apply(body).get("texts")})
        };
        if let Some(passed) = &changed.tools {
            let offered = body.get("tools").and_then(Value::as_array);
            let kept = chat::kept(offered.map(Vec::as_slice).unwrap_or_default(), passed);
            if kept.is_empty() {
                // LiteLLM would offer all tools for an empty list.
                return Self::refusal("Midrail withholds all tools that the request offers to the model.");
            }
            set(&mut answer, "tools", kept.into());
        }
        if self.is_answer && !changed.held.is_empty() {
            set(&mut answer, "stream_holdback_chars", held(body, changed));
        }
        answer
    }

    fn refusal(reason: &str) -> Value {
        json!({"action": "BLOCKED", "blocked_reason": reason})
    }
}

fn set(answer: &mut Value, name: &str, value: Value) {
    if let Some(answer) = answer.as_object_mut() {
        answer.insert(name.to_owned(), value);
    }
}

/// The characters that are held back of each text.
fn held(body: &Value, changed: &Changed) -> Value {
    let count = body.get("texts").and_then(Value::as_array).map_or(0, Vec::len);
    (0..count).map(|number| changed.held.get(&text_place(number)).copied().unwrap_or(0)).collect()
}

fn text_place(number: usize) -> String {
    format!("/texts/{number}")
}

fn text<'b>(body: &'b Value, pointer: &str) -> Option<&'b str> {
    body.pointer(pointer)?.as_str().filter(|text| !text.is_empty())
}

/// The name that the caller of LiteLLM gave to the conversation. Without one, LiteLLM makes a new name for each request.
fn trace(body: &Value) -> Option<&str> {
    let headers = body.get("request_headers")?.as_object()?;
    let header = |wanted: &str| {
        let found = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.and_then(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    };
    header("x-litellm-session-id").or_else(|| header("x-litellm-trace-id"))
}

/// The texts of the body, which have to be texts.
fn texts(body: &Value) -> Result<Vec<&str>, String> {
    let texts = match body.get("texts") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(texts)) => texts,
        Some(_) => return Err("`texts` is not a list".to_owned()),
    };
    let texts: Option<Vec<&str>> = texts.iter().map(Value::as_str).collect();
    texts.ok_or_else(|| "`texts` has an element that is not a text".to_owned())
}

fn list<'b>(body: &'b Value, name: &str) -> Result<&'b [Value], String> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(items)) => Ok(items),
        Some(_) => Err(format!("`{name}` is not a list")),
    }
}

/// The messages, each with the text that LiteLLM replaces, and the tools.
fn request(body: &Value) -> Result<Vec<Item>, String> {
    if body.get("texts").is_none() {
        return Err("`texts` is missing".to_owned());
    }
    let texts = texts(body)?;
    let mut items = match body.get("structured_messages").filter(|messages| !messages.is_null()) {
        Some(messages) => chat::messages("/structured_messages", messages)?,
        None => Vec::new(),
    };
    for item in &mut items {
        item.place = None;
    }
    // Both lists have nearly the same order. A text of no message is a prompt.
    let mut from = 0;
    let mut alone = Vec::new();
    for (number, text) in texts.iter().enumerate().filter(|(_, text)| !text.is_empty()) {
        let is_it = |item: &Item| item.place.is_none() && message_text(&item.event) == Some(text);
        let behind = items.iter().skip(from).position(is_it).map(|at| from + at);
        let at = behind.or_else(|| items.iter().position(is_it));
        match at.and_then(|at| Some((at, items.get_mut(at)?))) {
            Some((at, item)) => {
                item.place = Some(text_place(number));
                from = at + 1;
            }
            None => {
                let event = text_event(EventKind::BeforeModel, text);
                alone.push(Item::message(event, Some(text_place(number))));
            }
        }
    }
    items.extend(alone);
    // The messages have the addresses of their images.
    let has_messages = body.get("structured_messages").is_some_and(Value::is_array);
    let images = images(body, EventKind::BeforeModel)?;
    items.extend(images.into_iter().filter(|_| !has_messages));
    items.extend(chat::offered("/tools", body.get("tools"))?);
    Ok(items)
}

fn message_text(event: &Event) -> Option<&str> {
    match &event.result {
        Some(result) => result.content.as_ref()?.as_str(),
        None => event.text.as_deref(),
    }
}

/// The texts and the calls of an answer.
fn answer(body: &Value) -> Result<Vec<Item>, String> {
    let texts = texts(body)?;
    let event = |text: &str| text_event(EventKind::AfterModel, text);
    let texts = texts.iter().enumerate().filter(|(_, text)| !text.is_empty());
    let mut items: Vec<Item> =
        texts.map(|(number, text)| Item::message(event(text), Some(text_place(number)))).collect();
    items.extend(images(body, EventKind::AfterModel)?);
    for call in list(body, "tool_calls")? {
        items.push(Item::message(chat::tool_call(call)?, None));
    }
    Ok(items.into_iter().map(Item::answer).collect())
}

/// The addresses of images. Their data is not read.
fn images(body: &Value, kind: EventKind) -> Result<Vec<Item>, String> {
    let mut items = Vec::new();
    for image in list(body, "images")? {
        let image = image.as_str().ok_or("`images` has an element that is not a text")?;
        if chat::is_address(image) {
            items.push(Item::message(text_event(kind, image), None));
        }
    }
    Ok(items)
}
