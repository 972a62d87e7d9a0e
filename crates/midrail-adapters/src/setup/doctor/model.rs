//! A scripted model on loopback, for a test with the host itself: it requests one tool call and then ends its turn. It
//! speaks the four wire formats of the hosts (Anthropic messages, OpenAI responses and chat completions, Gemini).

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};

/// The largest request.
const MAX_BODY: u64 = 64 << 20;

/// The text of the turn with the call. A request that contains it follows the call.
const CALLED: &str = "midrail-live-test";

/// A tool call, in the format of the host's tool.
#[derive(Clone)]
pub(super) struct ScriptedCall {
    pub(super) name: String,
    pub(super) input: Value,
}

/// A running model. It ends when this is dropped.
pub(super) struct ScriptedModel {
    pub(super) url: String,
    script: Arc<Script>,
}

struct Script {
    call: ScriptedCall,
    /// The requests after the call.
    answers: Mutex<Vec<String>>,
    is_reached: AtomicBool,
    is_over: AtomicBool,
}

impl ScriptedModel {
    pub(super) fn start(call: ScriptedCall) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let url = format!("http://{}", listener.local_addr()?);
        listener.set_nonblocking(true)?;
        let (answers, is_reached, is_over) = (Mutex::default(), AtomicBool::default(), AtomicBool::default());
        let script = Arc::new(Script { call, answers, is_reached, is_over });
        let served = script.clone();
        thread::spawn(move || {
            while !served.is_over.load(Ordering::Relaxed) {
                match listener.accept() {
                    Ok((stream, _)) => {
                        let served = served.clone();
                        thread::spawn(move || drop(served.serve(stream)));
                    }
                    Err(_) => thread::sleep(Duration::from_millis(10)),
                }
            }
        });
        Ok(ScriptedModel { url, script })
    }

    /// Whether the host requested a turn.
    pub(super) fn is_reached(&self) -> bool {
        self.script.is_reached.load(Ordering::Relaxed)
    }

    /// Whether the host sent a text after the call.
    pub(super) fn received(&self, text: &str) -> bool {
        self.script.answers.lock().iter().any(|body| body.contains(text))
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        self.script.is_over.store(true, Ordering::Relaxed);
    }
}

impl Script {
    /// Answers the requests of one connection.
    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        let mut reader = BufReader::new(stream.try_clone()?);
        let Some((method, path, body)) = read_request(&mut reader)? else { return Ok(()) };
        let (kind, text) = self.answer(&method, &path, &body);
        let mut stream = stream;
        write!(
            stream,
            "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{text}",
            text.len()
        )?;
        stream.flush()
    }

    fn answer(&self, method: &str, path: &str, body: &str) -> (&'static str, String) {
        let plain = |value: Value| ("application/json", value.to_string());
        let path = path.split('?').next().unwrap_or_default().to_lowercase();
        if method != "POST" {
            let model = json!({"id": "scripted", "object": "model", "created": 0, "owned_by": "loopback"});
            return plain(json!({"object": "list", "data": [model], "models": []}));
        }
        if path.ends_with("count_tokens") || path.ends_with("counttokens") {
            return plain(json!({"input_tokens": 10, "totalTokens": 10}));
        }
        let request: Value = serde_json::from_str(body).unwrap_or_default();
        // Requests for titles and summaries have no tools.
        let has_tools = ["/tools", "/request/tools"].iter().any(|tools| {
            request.pointer(tools).and_then(Value::as_array).is_some_and(|tools| !tools.is_empty())
        }) || body.contains("additional_tools");
        let is_called = body.contains(CALLED);
        self.is_reached.store(true, Ordering::Relaxed);
        if is_called {
            self.answers.lock().push(body.to_owned());
        }
        let call = (has_tools && !is_called).then_some(&self.call);
        let text = if call.is_some() { CALLED } else { "Done." };
        let streams = request.get("stream").and_then(Value::as_bool).unwrap_or(false);
        if path.ends_with("/messages") {
            anthropic(text, call, streams)
        } else if path.ends_with("/responses") {
            responses(text, call, streams)
        } else if path.ends_with("/chat/completions") {
            chat(text, call, streams)
        } else if path.contains("generatecontent") {
            gemini(text, call, path.contains("stream"), &request)
        } else {
            plain(json!({}))
        }
    }
}

/// Method, path and body of a request. `None`: the connection ended.
fn read_request(reader: &mut BufReader<TcpStream>) -> io::Result<Option<(String, String, String)>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (mut length, mut is_chunked) = (0, false);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let header = header.trim_end().to_lowercase();
        if header.is_empty() {
            break;
        }
        match header.split_once(':') {
            Some(("content-length", value)) => length = value.trim().parse::<u64>().unwrap_or(0),
            Some(("transfer-encoding", value)) => is_chunked = value.contains("chunked"),
            _ => {}
        }
    }
    let mut body = Vec::new();
    if is_chunked {
        loop {
            let mut size = String::new();
            reader.read_line(&mut size)?;
            let size = u64::from_str_radix(size.trim(), 16).unwrap_or(0).min(MAX_BODY);
            reader.take(size).read_to_end(&mut body)?;
            let mut end = String::new();
            reader.read_line(&mut end)?;
            if size == 0 {
                break;
            }
        }
    } else {
        reader.take(length.min(MAX_BODY)).read_to_end(&mut body)?;
    }
    Ok(Some((method, path, String::from_utf8_lossy(&body).into_owned())))
}

/// An answer as a stream of events, or as one object.
fn reply(
    is_stream: bool,
    whole: Value,
    events: &[Value],
    is_named: bool,
    end: &str,
) -> (&'static str, String) {
    if !is_stream {
        return ("application/json", whole.to_string());
    }
    let event = |event: &Value| {
        let name = event.get("type").and_then(Value::as_str).filter(|_| is_named);
        let name = name.map(|name| format!("event: {name}\n")).unwrap_or_default();
        format!("{name}data: {event}\n\n")
    };
    ("text/event-stream", events.iter().map(event).collect::<String>() + end)
}

fn anthropic(text: &str, call: Option<&ScriptedCall>, streams: bool) -> (&'static str, String) {
    let mut blocks = vec![json!({"type": "text", "text": text})];
    blocks.extend(
        call.map(|call| json!({"type": "tool_use", "id": "toolu_1", "name": call.name, "input": call.input})),
    );
    let reason = if call.is_some() { "tool_use" } else { "end_turn" };
    let usage = json!({"input_tokens": 10, "output_tokens": 1});
    let message = |content: &[Value], reason: Value| {
        json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": content,
            "stop_reason": reason, "stop_sequence": null, "usage": usage,
        })
    };
    let mut events = vec![json!({"type": "message_start", "message": message(&[], Value::Null)})];
    for index in 0..blocks.len() {
        let (start, delta) = match call.filter(|_| index > 0) {
            Some(call) => (
                json!({"type": "tool_use", "id": "toolu_1", "name": call.name, "input": {}}),
                json!({"type": "input_json_delta", "partial_json": call.input.to_string()}),
            ),
            None => (json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": text})),
        };
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let delta = json!({"stop_reason": reason, "stop_sequence": null});
    events.push(json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 20}}));
    events.push(json!({"type": "message_stop"}));
    reply(streams, message(&blocks, json!(reason)), &events, true, "")
}

fn responses(text: &str, call: Option<&ScriptedCall>, streams: bool) -> (&'static str, String) {
    let part = json!({"type": "output_text", "text": text, "annotations": []});
    let message = json!({
        "type": "message", "role": "assistant", "id": "msg_1", "status": "completed", "content": [part],
    });
    let mut items = vec![message];
    items.extend(call.map(|call| {
        json!({
            "type": "function_call", "id": "fc_1", "status": "completed", "call_id": "call_1", "name": call.name,
            "arguments": call.input.to_string(),
        })
    }));
    let response = |status: &str, output: &[Value]| {
        json!({
            "id": "resp_1", "object": "response", "created_at": 1, "status": status, "model": "scripted",
            "output": output, "parallel_tool_calls": true, "tool_choice": "auto", "tools": [], "error": null,
            "metadata": {}, "usage": {
                "input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 5,
                "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 15,
            },
        })
    };
    let mut events = vec![json!({"type": "response.created", "response": response("in_progress", &[])})];
    for (index, item) in items.iter().enumerate() {
        events.push(json!({"type": "response.output_item.added", "output_index": index, "item": item}));
        events.push(json!({"type": "response.output_item.done", "output_index": index, "item": item}));
    }
    let whole = response("completed", &items);
    events.push(json!({"type": "response.completed", "response": whole}));
    reply(streams, whole, &events, true, "")
}

fn chat(text: &str, call: Option<&ScriptedCall>, streams: bool) -> (&'static str, String) {
    let function = |call: &ScriptedCall| json!({"name": call.name, "arguments": call.input.to_string()});
    let calls: Vec<Value> = call
        .iter()
        .map(|call| json!({"index": 0, "id": "call_1", "type": "function", "function": function(call)}))
        .collect();
    let reason = if calls.is_empty() { "stop" } else { "tool_calls" };
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15});
    let mut message = json!({"role": "assistant", "content": text});
    if let Some(fields) = message.as_object_mut().filter(|_| !calls.is_empty()) {
        fields.insert("tool_calls".to_owned(), json!(calls));
    }
    let choice = json!({"index": 0, "message": message, "finish_reason": reason});
    let base = |object: &str, choice: Value| {
        json!({
            "id": "chatcmpl-1", "created": 1, "model": "scripted", "object": object, "choices": [choice],
            "usage": usage,
        })
    };
    let chunk = |delta: Value, reason: Value| {
        base("chat.completion.chunk", json!({"index": 0, "delta": delta, "finish_reason": reason}))
    };
    let events = [chunk(message, Value::Null), chunk(json!({}), json!(reason))];
    reply(streams, base("chat.completion", choice), &events, false, "data: [DONE]\n\n")
}

fn gemini(text: &str, call: Option<&ScriptedCall>, streams: bool, request: &Value) -> (&'static str, String) {
    let settings = ["/generationConfig", "/request/generationConfig"];
    let mut settings = settings.iter().filter_map(|at| request.pointer(at));
    // Internal requests (which model, which speaker) have a schema; one object satisfies all of them.
    let wants_json = settings.any(|settings| {
        settings.get("responseMimeType") == Some(&json!("application/json"))
            || settings.get("responseJsonSchema").is_some()
    });
    let parts = if wants_json {
        let text = json!({
            "reasoning": "scripted", "model_choice": "flash", "next_speaker": "user",
            "complexity_reasoning": "scripted", "complexity_score": 10,
        });
        vec![json!({"text": text.to_string()})]
    } else {
        let call =
            call.map(|call| json!({"functionCall": {"id": "call_1", "name": call.name, "args": call.input}}));
        std::iter::once(json!({"text": text})).chain(call).collect()
    };
    let content = json!({"role": "model", "parts": parts});
    let whole = json!({
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
        "modelVersion": "scripted", "responseId": "1",
    });
    let events = [whole.clone()];
    reply(streams, whole, &events, false, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn post(model: &ScriptedModel, path: &str, body: &Value) -> String {
        let mut stream = TcpStream::connect(model.url.trim_start_matches("http://")).unwrap();
        let body = body.to_string();
        write!(stream, "POST {path} HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn every_format_has_one_call() {
        for path in
            ["/v1/messages", "/v1/responses", "/v1/chat/completions", "/v1beta/m:streamGenerateContent"]
        {
            let call = ScriptedCall { name: "Bash".to_owned(), input: json!({"command": "echo"}) };
            let model = ScriptedModel::start(call).unwrap();
            assert!(!model.is_reached());
            assert!(!post(&model, path, &json!({"stream": true})).contains("Bash"), "{path}: no tools");
            for stream in [true, false] {
                let answer = post(&model, path, &json!({"tools": [{}], "stream": stream}));
                assert!(answer.contains("Bash") && answer.contains(CALLED), "{path}: {answer}");
            }
            let next = json!({"tools": [{}], "stream": true, "messages": [CALLED, "Midrail blocked this"]});
            let answer = post(&model, path, &next);
            assert!(answer.contains("Done.") && !answer.contains("Bash"), "{path}: {answer}");
            assert!(model.is_reached() && model.received("Midrail blocked this"));
        }
    }
}
