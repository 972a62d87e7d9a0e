"""A scripted model that speaks the Messages API of Anthropic on this machine."""

import json
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Script(ThreadingHTTPServer):
    """Makes the calls of a script, and then answers. `scripts` has one for each agent, by a word of its system prompt; the
    empty word is in all of them."""

    daemon_threads = True

    def __init__(self, scripts, answer="done"):
        super().__init__(("127.0.0.1", 0), Handler)
        self.left = {word: list(calls) for word, calls in scripts.items()}
        self.answer = answer
        self.seen = []
        self.lock = threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.shutdown()
        self.server_close()

    def respond(self, request):
        """The content of the answer to a request."""
        with self.lock:
            self.seen.append("\n".join(texts(request["messages"])))
            system = json.dumps(request.get("system"))
            word = next(word for word in self.left if word in system)
            if not request.get("tools") or not self.left[word]:
                return {"type": "text", "text": self.answer}
            name, input = self.left[word].pop(0)
            return {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex[:12]}", "name": name, "input": input}


def texts(value):
    """All texts in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts(each)


class Handler(BaseHTTPRequestHandler):
    server: Script

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        self.send(b"{}", "application/json")

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        if not self.path.split("?")[0].endswith("/messages"):
            return self.send(b'{"input_tokens": 1}', "application/json")
        block = self.server.respond(request)
        usage = {"input_tokens": 1, "output_tokens": 1}
        reason = "tool_use" if block["type"] == "tool_use" else "end_turn"
        head = {"id": f"msg_{uuid.uuid4().hex[:12]}", "type": "message", "role": "assistant", "model": "script"}
        if not request.get("stream"):
            whole = {**head, "content": [block], "stop_reason": reason, "stop_sequence": None, "usage": usage}
            return self.send(json.dumps(whole).encode(), "application/json")
        started = {**head, "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        if block["type"] == "text":
            empty, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        events = [
            {"type": "message_start", "message": started},
            {"type": "content_block_start", "index": 0, "content_block": empty},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage},
            {"type": "message_stop"},
        ]
        lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]
        self.send("".join(lines).encode(), "text/event-stream")

    def send(self, body, kind):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
