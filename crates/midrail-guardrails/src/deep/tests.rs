//! Tests of the settings under `deep:`.

use serde_json::{Value, json};

use super::*;
use crate::deep::HttpMethod;
use crate::deep::backends::text_and_event;

fn read(value: Value) -> Result<DeepSettings, String> {
    serde_json::from_value(value).map_err(|error| error.to_string())
}

fn judge(more: Value) -> Value {
    let mut judge =
        json!({"api": "openai", "url": "https://a/v1/chat/completions", "model": "m", "prompt": "Judge."});
    for (name, value) in more.as_object().unwrap() {
        judge[name] = value.clone();
    }
    json!({ "judge": judge })
}

#[test]
fn optional_settings_have_defaults() {
    let settings = read(json!({"http": {"url": "https://a/classify"}})).unwrap();
    assert_eq!((settings.timeout, settings.max_concurrent), (Timeout(10_000), 4));
    assert_eq!((settings.cache, settings.max_answer_bytes), (Seconds(600.0), 1 << 20));
    assert_eq!((settings.breaker.failures, settings.breaker.pause), (5, Seconds(30.0)));
    let DeepBackend::Http(http) = &settings.kind else { panic!("{settings:?}") };
    assert_eq!((http.method, http.body.clone()), (HttpMethod::Post, text_and_event()));

    // A command may look at files, so its answers do not hold.
    assert_eq!(read(json!({"command": "./classify"})).unwrap().cache, Seconds(0.0));
    assert_eq!(read(json!({"command": "./classify", "cache": "1m"})).unwrap().cache, Seconds(60.0));
}

#[test]
fn settings_survive_serialization() {
    for value in [
        json!({"http": {"url": "https://a", "method": "PUT", "headers": {"x": "${Y}"}, "body": {"q": ["{text}"]}},
            "timeout": "2s", "cache": 0, "breaker": {"failures": 1}}),
        judge(
            json!({"key_env": "K", "cost": {"input": 1, "output": 5}, "budget": {"day": 2}, "include": ["args"]}),
        ),
        json!({"moderation": {"style": "llama_guard", "url": "http://localhost/v1/chat/completions", "model": "g"}}),
        json!({"command": "./classify --json"}),
    ] {
        let settings = read(value).unwrap();
        let written = serde_json::to_value(&settings).unwrap();
        assert_eq!(read(written), Ok(settings));
    }
}

#[test]
fn invalid_settings_are_rejected() {
    for (value, part) in [
        (json!({}), "exactly one of"),
        (json!({"command": "a", "http": {"url": "https://a"}}), "exactly one of"),
        (json!({"command": "a", "timeuot": 1}), "unknown field `timeuot`"),
        (json!({"command": "a", "timeout": "11m"}), "at most `10m`"),
        (json!({"command": "a", "timeout": 0}), "between one millisecond"),
        (json!({"command": "a", "ca_file": "/ca.pem"}), "a `command` has no certificate"),
        (json!({"http": {"url": "https://a"}, "ca_file": "ca.pem"}), "`ca_file` is an absolute path"),
        (json!({"command": "a", "max_windows": 0}), "`0` is not a number from 1 to 64"),
        (json!({"command": "a", "long_text": "all"}), "unknown variant `all`"),
        (json!({"command": "a", "max_concurrent": 0}), "`0` is not a number from 1 to 8"),
        (json!({"command": "a", "cache": "2d"}), "at most `1d`"),
        (json!({"http": {"url": "https://a", "method": "GET"}}), "unknown variant `GET`"),
        (
            json!({"http": {"url": "https://a", "body": [{"q": "{txt}"}]}}),
            "unknown part `{txt}`; the parts are `{text}`",
        ),
        (judge(json!({"prompt": " "})), "a prompt is not empty"),
        (judge(json!({"prompt": "Is {text} bad?"})), "list them under `include`"),
        (judge(json!({"parameters": {"messages": []}})), "`messages` is set by Midrail"),
        (judge(json!({"budget": {"day": 1}})), "needs the `cost` of tokens"),
        (judge(json!({"cost": {"input": -1, "output": 0}})), "not negative"),
        (json!({"moderation": {"style": "llama_guard", "url": "https://a"}}), "name of the `model`"),
    ] {
        let error = read(value).unwrap_err();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn schema_contains_every_backend() {
    let schema = serde_json::to_value(schemars::schema_for!(DeepSettings)).unwrap();
    for name in ["http", "judge", "moderation", "command", "timeout", "breaker"] {
        assert!(schema["properties"].get(name).is_some(), "{name}: {schema}");
    }
    assert_eq!(schema["oneOf"].as_array().unwrap().len(), 4);
    assert_eq!(schema["additionalProperties"], json!(false));
}
