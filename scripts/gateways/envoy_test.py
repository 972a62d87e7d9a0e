"""Calls Midrail as Envoy does for external authorization, with the published messages of Envoy and the official client of gRPC."""

import json
import pathlib
import socket
import subprocess
import sys
import tempfile

import grpc
from envoy.service.auth.v3 import external_auth_pb2 as auth
from envoy.service.auth.v3 import external_auth_pb2_grpc as stubs

PACK = """pack: gateway
extends: none
guardrails:
  - {id: never, tools: mcp__files__erase, effect: block, reason: Nothing is erased}
"""


def call(name):
    request = auth.CheckRequest()
    http = request.attributes.request.http
    http.id, http.method, http.path, http.host = "1", "POST", "/mcp", "mcp.example"
    http.headers["mcp-session-id"] = "m-1"
    http.raw_body = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": name, "arguments": {}}}).encode()
    request.attributes.context_extensions["mcp_server"] = "files"
    request.attributes.source.address.socket_address.address = "10.0.0.1"
    return request


def check(name, is_good, shown=""):
    if not is_good:
        sys.exit(f"FAILED: {name}\n{shown}")
    print(f"ok  {name}")


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="midrail-envoy-"))
    (folder / ".midrail").mkdir()
    (folder / ".midrail/pack.yaml").write_text(PACK)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{listener.getsockname()[1]}"
    env = {"HOME": str(folder), "XDG_STATE_HOME": str(folder / "state"), "PATH": "/usr/bin:/bin"}
    service = subprocess.Popen([sys.argv[1], "serve", "--listen", address], cwd=folder, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        channel = grpc.insecure_channel(address)
        grpc.channel_ready_future(channel).result(timeout=30)
        stub = stubs.AuthorizationStub(channel)
        for _ in range(100):
            answer = stub.Check(call("look"), timeout=5)
        check("100 calls over one connection are allowed", answer.status.code == 0 and answer.HasField("ok_response"), answer)
        answer = stub.Check(call("erase"), timeout=5)
        error = json.loads(answer.denied_response.body)
        check("a call is denied with the reason", answer.status.code == 7 and answer.denied_response.status.code == 403
              and "Nothing is erased" in error["error"]["message"] and error["id"] == 7, answer)
        header = answer.denied_response.headers[0].header
        check("the client receives JSON", (header.key, header.value) == ("content-type", "application/json"), answer)
        request = call("look")
        request.attributes.request.http.raw_body = b"{"
        check("a body that cannot be read is denied", stub.Check(request, timeout=5).status.code == 7)
    finally:
        service.terminate()
        service.wait(30)
    print("Envoy: all 4 checks passed")


if __name__ == "__main__":
    main()
