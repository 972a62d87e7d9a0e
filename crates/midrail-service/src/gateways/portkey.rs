//! The contract of Portkey's webhook guardrail: one call before the request, one after the answer.
//!
//! Portkey may pass a request on when a guardrail does not answer within 3 s, so the limit is shorter.

use std::time::Duration;

use axum::http::HeaderMap;
use midrail::EventKind;
use serde_json::{Value, json};

use super::chat;
use super::exchange::{
    AGENT, Contract, Exchange, Item, Outcome, SESSION, named, session_name, session_of_messages, text_event,
};

/// A call of Portkey.
pub(super) struct Portkey {
    /// The half of the body that the hook is about: `request` or `response`.
    part: &'static str,
}

impl Contract for Portkey {
    const NAME: &'static str = "portkey";
    const LIMIT: Duration = Duration::from_millis(2_500);

    fn read(body: &Value, headers: &HeaderMap) -> Result<(Self, Exchange), String> {
        let part = match body.get("eventType").and_then(Value::as_str) {
            Some("beforeRequestHook") => "request",
            Some("afterRequestHook") => "response",
            _ => return Err("`eventType` is neither `beforeRequestHook` nor `afterRequestHook`".to_owned()),
        };
        let asked = request(body);
        let owner = body.pointer("/metadata/_user").and_then(Value::as_str);
        let by_messages = asked.as_ref().ok().and_then(|items| session_of_messages(Self::NAME, items, owner));
        let items = if part == "request" { asked? } else { response(body)? };
        let metadata = |name: &str| body.get("metadata")?.get(name)?.as_str().filter(|name| !name.is_empty());
        let name = named(headers, SESSION).or_else(|| metadata("session"));
        let agent = named(headers, AGENT).or_else(|| metadata("agent"));
        let exchange = Exchange {
            session: name.map(|name| session_name(Self::NAME, name, owner)).or(by_messages),
            agent: agent.map(str::to_owned),
            call: None,
            is_growing: false,
            items: items.into_iter().map(|item| item.behind(Self::NAME)).collect(),
        };
        Ok((Portkey { part }, exchange))
    }

    fn answer(&self, body: &Value, outcome: &Outcome) -> Value {
        let changed = match outcome {
            Outcome::Passed(changed) => changed,
            Outcome::Blocked(reason) => return Self::refusal(reason),
        };
        if changed.is_nothing() {
            return json!({"verdict": true});
        }
        let mut changed_body = changed.apply(body);
        if let (Some(passed), Some(tools)) =
            (&changed.tools, changed_body.pointer_mut("/request/json/tools").and_then(Value::as_array_mut))
        {
            *tools = chat::kept(tools, passed);
        }
        let json = changed_body.get(self.part).and_then(|part| part.get("json"));
        json!({"verdict": true, "transformedData": {self.part: {"json": json}}})
    }

    fn refusal(reason: &str) -> Value {
        json!({"verdict": false, "data": {"reason": reason}})
    }
}

/// The texts of a request: of a chat, of a completion, or of something else, which is read as one text.
fn request(body: &Value) -> Result<Vec<Item>, String> {
    let json = body.pointer("/request/json").filter(|json| json.is_object());
    let mut items = Vec::new();
    for (name, kind) in [
        ("system", EventKind::BeforeModel),
        ("prompt", EventKind::BeforeModel),
        ("input", EventKind::BeforeModel),
    ] {
        if let Some(value) = json.and_then(|json| json.get(name)).filter(|value| !value.is_null()) {
            let message = json!([{"role": "user", "content": value}]);
            let at = format!("/request/json/{name}");
            // A list of messages, as some requests have it under `input`.
            let found = if chat::is_conversation(value) {
                chat::messages(&at, value)?
            } else {
                chat::messages("", &message)?.into_iter().map(|item| moved(item, kind, &at)).collect()
            };
            items.extend(found);
        }
    }
    if let Some(messages) = json.and_then(|json| json.get("messages")) {
        items.extend(chat::messages("/request/json/messages", messages)?);
    }
    if items.is_empty() {
        items.push(whole(body, "/request/text", EventKind::BeforeModel)?);
    }
    items.extend(chat::offered("/request/json/tools", json.and_then(|json| json.get("tools")))?);
    // The older form of tools, of which none is removed.
    let functions = chat::offered("/request/json/functions", json.and_then(|json| json.get("functions")))?;
    items.extend(functions.map(|item| Item { place: None, ..item }));
    Ok(items)
}

/// An item of a member of the request, in place of a message.
fn moved(item: Item, kind: EventKind, at: &str) -> Item {
    let place = item.place.map(|place| place.replacen("/0/content", at, 1));
    let text = item.event.text.unwrap_or_default();
    Item::message(text_event(kind, &text), place)
}

/// The texts and calls of an answer: of a chat, of the Responses API, of Anthropic, or of another form, which is read as one text. Of a
/// stream, Portkey sends only the text.
fn response(body: &Value) -> Result<Vec<Item>, String> {
    let json = body.pointer("/response/json").filter(|json| json.is_object());
    let member =
        |name: &str| json?.get(name).filter(|value| value.as_array().is_some_and(|it| !it.is_empty()));
    let has_message = |choices: &Value| {
        choices.as_array().is_some_and(|all| all.iter().any(|choice| choice.get("message").is_some()))
    };
    let (mut items, is_known) = if let Some(choices) = member("choices").filter(|it| has_message(it)) {
        (chat::choices("/response/json/choices", choices)?, true)
    } else if let Some(output) = member("output") {
        (chat::output("/response/json/output", output)?, true)
    } else if let (Some(json), Some(_)) = (json, member("content")) {
        (chat::answer("/response/json", json)?, true)
    } else {
        (Vec::new(), false)
    };
    if items.is_empty() {
        let has_text = body.pointer("/response/text").is_some();
        let text = has_text.then(|| whole(body, "/response/text", EventKind::AfterModel)).transpose()?;
        // An answer of an unknown form may have more in it than the text that Portkey found there.
        let all = json.filter(|_| !is_known).map(chat::all_texts).unwrap_or_default();
        if !has_text && json.is_none() {
            return Err("`response` has neither JSON nor a text".to_owned());
        }
        items.extend(text.filter(|item| !all.contains(item.event.text.as_deref().unwrap_or_default())));
        items.extend((!all.is_empty()).then(|| Item::message(text_event(EventKind::AfterModel, &all), None)));
    }
    Ok(items.into_iter().map(Item::answer).collect())
}

/// The text of a body that has no known form. It cannot be replaced.
fn whole(body: &Value, pointer: &str, kind: EventKind) -> Result<Item, String> {
    let text = body.pointer(pointer).and_then(Value::as_str);
    let text =
        text.ok_or_else(|| format!("`{}` is missing", pointer.trim_start_matches('/').replace('/', ".")))?;
    Ok(Item::message(text_event(kind, text), None))
}
