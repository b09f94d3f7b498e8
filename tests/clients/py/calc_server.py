"""A small MCP server on stdio: adds, and fails when asked to."""

import json
import sys

TOOLS = [
    {
        "name": "add",
        "description": "adds",
        "inputSchema": {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}},
    },
    {"name": "fail", "description": "fails", "inputSchema": {"type": "object"}},
]


def answer(method, params):
    if method == "initialize":
        info = {"name": "calc", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call" and params["name"] == "add":
        numbers = params["arguments"]
        return {"content": [{"type": "text", "text": str(numbers["a"] + numbers["b"])}]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": "it broke"}], "isError": True}
    return None


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        outcome = answer(request["method"], request.get("params"))
        body = {"result": outcome} if outcome is not None else {"error": {"code": -32601, "message": "not here"}}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **body}), flush=True)
