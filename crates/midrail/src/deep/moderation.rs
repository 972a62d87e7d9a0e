//! A question to a moderation endpoint, and its answer in one form: `flagged`, `categories` and `score`.

use midrail_guardrails::{HttpMethod, ModerationSettings, ModerationStyle};
use serde_json::{Value, json};

use super::client;
use super::wire::{Call, RequestError, RequestHeaders, Retry, shown};
use crate::error::Available;

/// Names of categories are no longer than this.
const MAX_NAME: usize = 100;

/// The most categories of an answer.
const MAX_CATEGORIES: usize = 100;

/// Asks whether a text is acceptable. `answers` is what the text answers to, if it is the agent's.
pub(super) fn ask(
    call: &Call<'_>,
    moderation: &ModerationSettings,
    text: &str,
    answers: Option<&str>,
) -> Available<Value> {
    let mut headers = RequestHeaders::resolve(&moderation.headers, call.lookup)?;
    headers.key("authorization", "Bearer ", moderation.key_env.as_ref(), call.lookup)?;
    let mut body = match (moderation.style, answers) {
        (ModerationStyle::Openai, _) => json!({"input": text}),
        (ModerationStyle::LlamaGuard, None) => {
            json!({"messages": [{"role": "user", "content": text}], "max_tokens": 100})
        }
        // Such a model judges the last of both.
        (ModerationStyle::LlamaGuard, Some(asked)) => json!({
            "messages": [{"role": "user", "content": asked}, {"role": "assistant", "content": text}],
            "max_tokens": 100
        }),
    };
    if let (Some(model), Some(members)) = (&moderation.model, body.as_object_mut()) {
        members.insert("model".to_owned(), json!(model));
    }
    call.tries(moderation.retries, &headers, || {
        let answer = client::send(call, &moderation.url, HttpMethod::Post, &headers, &body)?;
        let read = match moderation.style {
            ModerationStyle::Openai => read_results(&answer),
            ModerationStyle::LlamaGuard => read_words(&answer),
        };
        read.ok_or_else(|| {
            let host = moderation.url.host();
            let shape = match moderation.style {
                ModerationStyle::Openai => "`results` with `flagged`",
                ModerationStyle::LlamaGuard => "`safe` or `unsafe`",
            };
            let message = format!("`{host}` answered without {shape}; check the `url`, `style` and `model`");
            RequestError { message, retry: Retry::Soon }
        })
    })
}

/// `results[0]` of the OpenAI form. Several results are several texts, and only one was sent.
fn read_results(answer: &Value) -> Option<Value> {
    let [result] = answer.get("results")?.as_array()?.as_slice() else { return None };
    let flagged = result.get("flagged")?.as_bool()?;
    let named = result.get("categories").and_then(Value::as_object);
    let named = named.into_iter().flatten().filter(|(_, is_found)| is_found.as_bool() == Some(true));
    let mut categories: Vec<String> = named.map(|(name, _)| shown(name, MAX_NAME)).collect();
    categories.truncate(MAX_CATEGORIES);
    let scores = result.get("category_scores").and_then(Value::as_object);
    let scores = scores.into_iter().flatten().filter_map(|(_, score)| score.as_f64());
    let highest = scores.filter(|score| score.is_finite()).reduce(f64::max);
    let score = highest.unwrap_or(if flagged { 1.0 } else { 0.0 });
    Some(json!({"flagged": flagged, "categories": categories, "score": score}))
}

/// `safe`, or `unsafe` and a line of codes.
fn read_words(answer: &Value) -> Option<Value> {
    let text = answer.pointer("/choices/0/message/content")?.as_str()?;
    let mut words = text.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty());
    let flagged = match words.next()? {
        word if word.eq_ignore_ascii_case("safe") => false,
        word if word.eq_ignore_ascii_case("unsafe") => true,
        _ => return None,
    };
    let mut categories = Vec::new();
    for word in words {
        // More than codes is no answer of such a model: it may have been talked into something.
        let is_code = word.len() <= 8 && word.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !flagged || !is_code || categories.len() == MAX_CATEGORIES {
            return None;
        }
        categories.push(word.to_owned());
    }
    Some(json!({"flagged": flagged, "categories": categories, "score": if flagged { 1.0 } else { 0.0 }}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Option<Value> {
        read_words(&json!({"choices": [{"message": {"content": text}}]}))
    }

    #[test]
    fn guard_model_answers_safe_or_unsafe_only() {
        assert_eq!(words("\n\nsafe"), Some(json!({"flagged": false, "categories": [], "score": 0.0})));
        let found = json!({"flagged": true, "categories": ["S1", "S10"], "score": 1.0});
        assert_eq!(words("unsafe\nS1,S10"), Some(found));
        for wrong in
            ["", "safety first", "safe unsafe", "safe\nS1", "I think it is safe", "unsafe because_of_this"]
        {
            assert_eq!(words(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn results_without_a_flag_are_rejected() {
        let result = json!({"flagged": true, "categories": {"violence": true, "hate": false, "x": null},
            "category_scores": {"violence": 0.9, "hate": 0.01}});
        let read = read_results(&json!({"results": [result.clone()]}));
        assert_eq!(read, Some(json!({"flagged": true, "categories": ["violence"], "score": 0.9})));
        for wrong in [
            json!({}),
            json!({"results": []}),
            json!({"results": [result, {"flagged": false}]}),
            json!({"results": [{"flagged": "no"}]}),
        ] {
            assert_eq!(read_results(&wrong), None, "{wrong}");
        }
    }
}
