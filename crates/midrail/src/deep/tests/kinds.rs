//! What is sent and what is made of the answer: HTTP and moderation.

use serde_json::json;

use super::server::{Reply, Server};
use super::*;

fn llama(text: &str) -> Reply {
    Reply::Json(200, json!({"choices": [{"message": {"content": text}}]}))
}

#[test]
fn a_template_is_filled_and_the_answer_is_given_as_it_is() {
    let server = Server::new(vec![Reply::Json(200, json!({"label": "ok", "scores": [0.1]}))]);
    let answer = asked(
        json!({"http": {
            "url": server.url("/classify?v=2"), "method": "PUT",
            "headers": {"Authorization": "Bearer ${TEST_KEY}", "X-Team": "a b"},
            "body": {"q": "{text}", "tool": "call of {tool}: {args}", "args": "{args}", "list": ["{scope}", 7, "{goal}"],
                "last": "{last_assistant}", "tools": "{available_tools}", "none": "<{last_assistant}>", "e": "{event}"}
        }}),
        "say \"{goal}\"",
    )
    .unwrap();
    assert_eq!(
        (answer.value, answer.cached, answer.cut),
        (json!({"label": "ok", "scores": [0.1]}), false, false)
    );
    let seen = &server.seen()[0];
    assert_eq!(seen.line, "PUT /classify?v=2 HTTP/1.1");
    assert_eq!(seen.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert_eq!((seen.header("x-team"), seen.header("content-type")), (Some("a b"), Some("application/json")));
    let args = json!({"path": "a.rs", "content": "say \"{goal}\""});
    assert_eq!(seen.body["q"], "say \"{goal}\"", "what was filled in is not filled in again");
    assert_eq!(seen.body["tool"], format!("call of Write: {args}"));
    assert_eq!(seen.body["args"], args);
    assert_eq!(seen.body["list"], json!([{"files": {"write": ["src/**"]}}, 7, "write a parser"]));
    assert_eq!((&seen.body["last"], &seen.body["none"]), (&json!(null), &json!("<>")));
    assert_eq!(seen.body["tools"], json!(["Read", "Write"]));
    assert_eq!(seen.body["e"]["kind"], "before_tool");
}

#[test]
fn long_text_is_cut_in_the_middle() {
    let server = Server::new(vec![Reply::Json(200, json!({}))]);
    let text = format!("begin{}ende", "ä".repeat(1_000));
    let body = json!({"text": "{text}", "args": "{args}"});
    let answer = asked(
        json!({"http": {"url": server.url("/"), "body": body}, "max_text": 100, "long_text": "cut"}),
        &text,
    )
    .unwrap();
    assert!(answer.cut);
    let seen = &server.seen()[0].body;
    let sent = seen["text"].as_str().unwrap();
    assert!(sent.starts_with("beginä") && sent.ends_with("äende"), "{sent}");
    assert!(sent.contains("[… 909 characters left out …]"), "{sent}");
    assert_eq!(seen["args"]["content"], sent);
    // One that just fits is left alone.
    let whole = "ä".repeat(100);
    assert!(!asked(json!({"http": {"url": server.url("/")}, "max_text": 100}), &whole).unwrap().cut);
}

#[test]
fn window_answers_are_joined_only_by_midrail() {
    let server = Server::new(vec![Reply::Echo]);
    let http = json!({"http": {"url": server.url("/")}, "max_text": 100});
    let text: String = (0..40).map(|number| format!("{number:04} ")).collect();
    let answer = asked(http.clone(), &text).unwrap();
    let windows = answer.value["midrail-windows"].as_array().unwrap().clone();
    assert_eq!((windows.len(), answer.cut), (3, false));
    for number in 0..40 {
        let word = format!("{number:04}");
        assert!(windows.iter().any(|window| window.as_str().unwrap().contains(&word)), "{word}");
    }
    let server = Server::new(vec![Reply::Json(200, json!({"midrail-windows": []}))]);
    let error = asked(json!({"http": {"url": server.url("/")}}), "x").unwrap_err();
    assert!(error.contains("which is Midrail's own"), "{error}");
}

#[test]
fn secrets_in_answers_are_not_kept() {
    let server = Server::new(vec![Reply::Json(200, json!({"found": "AKIAQ4ZTX7RK2MPLWN3J"}))]);
    let answer = asked(json!({"http": {"url": server.url("/")}}), "x").unwrap();
    let found = answer.value["found"].as_str().unwrap();
    assert!(found.starts_with("[redacted:aws-access-key"), "{found}");
}

#[test]
fn moderation_comes_in_one_form() {
    let result = json!({"flagged": true, "categories": {"violence": true, "hate": false},
        "category_scores": {"violence": 0.83, "hate": 0.02}});
    let server = Server::new(vec![Reply::Json(200, json!({"results": [result]}))]);
    let openai = json!({"moderation": {"style": "openai", "url": server.url("/v1/moderations"), "model": "m",
        "key_env": "TEST_KEY"}});
    let answer = asked(openai, "text to look at").unwrap();
    assert_eq!(
        answer.value,
        json!({"flagged": true, "categories": ["violence"], "score": 0.83, "cut": false})
    );
    let seen = &server.seen()[0];
    assert_eq!(seen.body, json!({"input": "text to look at", "model": "m"}));
    assert_eq!(seen.header("authorization"), Some(format!("Bearer {KEY}").as_str()));

    server.reply(vec![llama("unsafe\nS2")]);
    let guard = json!({"moderation": {"style": "llama_guard", "url": server.url("/v1/chat/completions"),
        "model": "guard"}});
    let answer = asked(guard.clone(), "text").unwrap();
    assert_eq!(answer.value, json!({"flagged": true, "categories": ["S2"], "score": 1.0, "cut": false}));
    assert_eq!(server.seen()[1].body["messages"], json!([{"role": "user", "content": "text"}]));
    assert_eq!(server.seen()[1].header("authorization"), None);

    // What the agent said is judged as an answer.
    server.reply(vec![llama("safe")]);
    let asking = asking();
    let mut said = question("s", "done");
    said.event["kind"] = json!("after_model");
    let answer = answered(asking.ask("g", &settings(guard.clone()), said)).unwrap();
    assert_eq!(answer.value["flagged"], json!(false));
    let messages =
        json!([{"role": "user", "content": "write a parser"}, {"role": "assistant", "content": "done"}]);
    assert_eq!(server.seen()[2].body["messages"], messages);

    // An answer in another form is asked for again, and then is an error.
    server.reply(vec![llama("I cannot help with that."), llama("safe")]);
    assert_eq!(asked(guard.clone(), "t").unwrap().value["flagged"], json!(false));
    server.reply(vec![Reply::Json(200, json!({"results": []}))]);
    let error = asked(guard, "t").unwrap_err();
    assert!(
        error.contains("answered without `safe` or `unsafe`") && error.contains("(tried 2 times)"),
        "{error}"
    );
}
