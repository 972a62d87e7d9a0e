//! A decision as a span and a log line, in the format of OpenTelemetry and its conventions for generative AI.

use std::time::Duration;

use midrail::core::{AuditRef, Record, VerdictRecord};
use midrail::{Effect, EventKind};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The span of the caller: the header `traceparent`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parent {
    trace: String,
    span: String,
}

impl Parent {
    /// Reads the header of W3C Trace Context, version 00.
    pub(crate) fn parse(header: &str) -> Option<Self> {
        let mut parts = header.trim().split('-');
        let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let is = |text: &str, length: usize| {
            text.len() == length
                && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
        };
        let is_id = |text: &str, length: usize| is(text, length) && text.bytes().any(|byte| byte != b'0');
        let fits = is(version, 2) && version != "ff" && is_id(trace, 32) && is_id(span, 16) && is(flags, 2);
        (fits && (version != "00" || parts.next().is_none()))
            .then(|| Parent { trace: trace.to_owned(), span: span.to_owned() })
    }
}

/// The span of a decision, and its log line if the action was stopped.
pub(super) fn decision(
    project: &str,
    record: &Record,
    place: &AuditRef,
    parent: Option<&Parent>,
) -> (Value, Option<Value>) {
    let (event, decision) = (&record.event, &record.decision);
    // All decisions of a session are one trace, unless the caller sends its own.
    let trace = parent.map_or_else(|| id(&[project, &record.session], 16), |parent| parent.trace.clone());
    let span = place.hash.get(..16).map_or_else(|| id(&[&place.hash], 8), str::to_owned);
    let end = u128::try_from(record.time.as_nanosecond()).unwrap_or(0);
    let took: u64 = decision.verdicts.iter().filter_map(|verdict| verdict.duration_us.0).sum();
    let start = end.saturating_sub(Duration::from_micros(took).as_nanos());
    let (operation, name) = match event.kind {
        EventKind::BeforeTool | EventKind::AfterTool => {
            ("execute_tool", format!("execute_tool {}", event.tool_name().unwrap_or("unknown")))
        }
        EventKind::BeforeModel | EventKind::ModelChunk | EventKind::AfterModel => ("chat", "chat".to_owned()),
        EventKind::BeforeHandoff | EventKind::AfterHandoff => ("invoke_agent", "invoke_agent".to_owned()),
        _ => ("invoke_agent", format!("midrail {}", event.kind)),
    };
    let agent = event.agent.as_ref();
    let mut attributes = vec![
        text("gen_ai.operation.name", operation),
        text("gen_ai.conversation.id", &record.session),
        text("midrail.project", project),
        text("midrail.event.kind", event.kind.as_str()),
        text("midrail.decision.effect", decision.effect.as_str()),
        text("midrail.policy", &decision.policy),
        number("midrail.audit.seq", place.seq),
        text("midrail.audit.hash", &place.hash),
    ];
    let mut maybe = |name: &str, value: Option<&str>| attributes.extend(value.map(|value| text(name, value)));
    maybe("gen_ai.agent.id", agent.and_then(|agent| agent.id.as_deref()));
    maybe("gen_ai.agent.name", agent.and_then(|agent| agent.role.as_deref()));
    maybe("gen_ai.tool.name", event.tool_name());
    maybe("gen_ai.tool.call.id", event.call_id());
    maybe("midrail.task.id", event.task.as_ref().and_then(|task| task.id.as_deref()));
    maybe("midrail.decision.by", decision.by.as_deref());
    maybe("midrail.decision.would", decision.would.map(Effect::as_str));
    maybe("midrail.approval.id", decision.approval.as_ref().map(|approval| approval.id.as_str()));
    let has_failed = decision.verdicts.iter().any(|verdict| verdict.error.is_some());
    let mut encoded = json!({
        "traceId": trace, "spanId": span, "name": name, "kind": 1,
        "startTimeUnixNano": start.to_string(), "endTimeUnixNano": end.to_string(),
        "attributes": attributes,
        "events": decision.verdicts.iter().map(|verdict| guardrail(verdict, end)).collect::<Vec<_>>(),
        // A block is not an error; a failed guardrail is.
        "status": if has_failed { json!({"code": 2, "message": "a guardrail failed"}) } else { json!({"code": 1}) },
    });
    if let (Some(parent), Some(fields)) = (parent, encoded.as_object_mut()) {
        fields.insert("parentSpanId".to_owned(), json!(parent.span));
    }
    let log = (decision.effect > Effect::Warn).then(|| {
        let (severity, word) = match decision.effect {
            Effect::Halt | Effect::Block => (17, "ERROR"),
            _ => (13, "WARN"),
        };
        json!({
            "timeUnixNano": end.to_string(), "observedTimeUnixNano": end.to_string(),
            "severityNumber": severity, "severityText": word,
            "body": {"stringValue": format!("{} by {}: {}", decision.effect, decision.by.as_deref().map_or("midrail".to_owned(), midrail::guardrails::label), decision.reason)},
            "attributes": attributes, "traceId": trace, "spanId": span,
        })
    });
    (encoded, log)
}

/// The verdict of one guardrail as an event.
fn guardrail(verdict: &VerdictRecord, time: u128) -> Value {
    let effect = if verdict.skipped { "skipped" } else { verdict.effect.map_or("allow", Effect::as_str) };
    let mut attributes =
        vec![text("midrail.guardrail.id", &verdict.guardrail), text("midrail.guardrail.effect", effect)];
    if !verdict.reason.is_empty() {
        attributes.push(text("midrail.guardrail.reason", &verdict.reason));
    }
    if let Some(micros) = verdict.duration_us.0 {
        attributes.push(number("midrail.guardrail.duration_us", micros));
    }
    if let Some(error) = &verdict.error {
        attributes.push(text("error.type", error));
    }
    json!({"name": "guardrail", "timeUnixNano": time.to_string(), "attributes": attributes})
}

/// Spans in the envelope of a request.
pub(super) fn traces(spans: Vec<Value>) -> Value {
    json!({"resourceSpans": [{"resource": resource(), "scopeSpans": [{"scope": scope(), "spans": spans}]}]})
}

/// Log lines in the envelope of a request.
pub(super) fn logs(lines: Vec<Value>) -> Value {
    json!({"resourceLogs": [{"resource": resource(), "scopeLogs": [{"scope": scope(), "logRecords": lines}]}]})
}

fn resource() -> Value {
    json!({"attributes": [text("service.name", "midrail"), text("service.version", env!("CARGO_PKG_VERSION"))]})
}

fn scope() -> Value {
    json!({"name": "midrail", "version": env!("CARGO_PKG_VERSION")})
}

fn text(name: &str, value: &str) -> Value {
    json!({"key": name, "value": {"stringValue": value}})
}

fn number(name: &str, value: u64) -> Value {
    json!({"key": name, "value": {"intValue": value.to_string()}})
}

/// An id with a number of bytes, derived from texts.
fn id(texts: &[&str], bytes: usize) -> String {
    let digest = Sha256::digest(texts.join("\n"));
    digest.iter().take(bytes).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use midrail::{Engine, Event, Load};

    use super::*;

    #[test]
    fn traceparent_is_parsed_strictly() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert_eq!(Parent::parse(good).unwrap().span, "00f067aa0ba902b7");
        for bad in [
            "",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
        ] {
            assert_eq!(Parent::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn span_has_tool_effect_and_guardrails_but_no_secret() {
        let loaded = Load { packs: vec!["midrail:default".into()], ..Load::default() }.load().unwrap();
        let engine = Engine::builder(loaded.policy, &loaded.source).build().unwrap();
        let exported = Arc::new(Mutex::new(Vec::<(Value, Option<Value>)>::new()));
        let into = exported.clone();
        engine.on_record(move |record, place| {
            into.lock().unwrap().push(decision("default", record, place, None));
        });
        let secret = concat!("ghp_", "16C7e42F292c6912E7710c838347Ae178B4a");
        let args = json!({"command": format!("rm -rf ~ # {secret}")});
        let decided = engine.decide(Event::before_tool("Bash", args).in_session("s"));
        let exported = exported.lock().unwrap();
        let (span, log) = exported.first().unwrap();
        assert_eq!(span["name"], "execute_tool Bash");
        assert_eq!(span["events"].as_array().unwrap().len(), decided.verdicts.len());
        assert_eq!(span["traceId"].as_str().unwrap().len(), 32);
        assert_eq!(span["spanId"].as_str().unwrap().len(), 16);
        let attributes = span["attributes"].to_string();
        assert!(attributes.contains("safety-001") && attributes.contains("\"block\""), "{attributes}");
        assert_eq!(log.as_ref().unwrap()["severityText"], "ERROR");
        assert!(!format!("{exported:?}").contains(secret));
    }
}
