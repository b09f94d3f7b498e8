"""Tools from outside: MCP servers in the client's process and beside it, and the requests about them."""

import json
import sys
from pathlib import Path

from claude_agent_sdk import ClaudeSDKClient, create_sdk_mcp_server, tool

from world import ask, call, init, model, options, result, say, tool_results, write

CALC = {"type": "stdio", "command": sys.executable, "args": [str(Path(__file__).with_name("calc_server.py"))]}
SILENT = {"type": "stdio", "command": "/nonexistent/server", "args": []}


def greeter(heard):
    @tool("greet", "greets somebody", {"name": str})
    async def greet(arguments):
        heard.append(arguments)
        return {"content": [{"type": "text", "text": f"Hello, {arguments['name']}!"}]}

    @tool("broken", "always fails", {})
    async def broken(arguments):
        raise RuntimeError("out of order")

    return create_sdk_mcp_server("greeter", tools=[greet, broken])


async def in_process():
    heard = []
    turns = [call("mcp__greeter__greet", name="Ada"), call("mcp__greeter__broken"), say("done")]
    api = model(*turns)
    allowed = ["mcp__greeter__greet", "mcp__greeter__broken"]
    messages = await ask("greet", api, mcp_servers={"greeter": greeter(heard)}, allowed_tools=allowed)
    assert "mcp__greeter__greet" in init(messages)["tools"]
    [server] = init(messages)["mcp_servers"]
    assert (server["name"], server["status"]) == ("greeter", "connected"), server
    greeted, broken = tool_results(messages)
    assert "Hello, Ada!" in str(greeted.content) and not greeted.is_error and heard == [{"name": "Ada"}]
    assert broken.is_error and "out of order" in str(broken.content), broken
    assert "mcp__greeter__greet" in [offered["name"] for offered in api.requests()[0]["tools"]]


async def in_process_needs_permission():
    heard = []
    api = model(call("mcp__greeter__greet", name="Ada"), say("done"))
    messages = await ask("greet", api, mcp_servers={"greeter": greeter(heard)})
    assert heard == [] and tool_results(messages)[0].is_error
    assert [denial["tool_name"] for denial in result(messages).permission_denials] == ["mcp__greeter__greet"]


async def on_stdio():
    api = model(call("mcp__calc__add", a=20, b=22), call("mcp__calc__fail"), say("done"))
    messages = await ask("add", api, mcp_servers={"calc": CALC}, allowed_tools=["mcp__calc"])
    assert [(server["name"], server["status"]) for server in init(messages)["mcp_servers"]] == [("calc", "connected")]
    added, failed = tool_results(messages)
    assert "42" in str(added.content) and failed.is_error and "it broke" in str(failed.content)


async def from_files():
    write(".mcp.json", json.dumps({"mcpServers": {"project": CALC}}))
    write(".claude/settings.local.json", json.dumps({"enableAllProjectMcpServers": True}))
    config = write("servers.json", json.dumps({"mcpServers": {"calc": CALC, "gone": SILENT}}))
    api = model(call("mcp__calc__add", a=1, b=2), say("done"))
    messages = await ask("add", api, mcp_servers=config, strict_mcp_config=True, allowed_tools=["mcp__calc__add"])
    servers = {server["name"]: server["status"] for server in init(messages)["mcp_servers"]}
    assert servers == {"calc": "connected", "gone": "failed"}, servers
    assert "3" in str(tool_results(messages)[0].content)


async def status_and_switches():
    api = model(say("one"), call("mcp__calc__add", a=1, b=2), say("two"))
    async with ClaudeSDKClient(options(api, mcp_servers={"calc": CALC, "gone": SILENT}, allowed_tools=["mcp__calc"])) as client:
        await client.query("hi")
        assert "mcp__calc__add" in init([message async for message in client.receive_response()])["tools"]
        servers = {server["name"]: server for server in (await client.get_mcp_status())["mcpServers"]}
        assert (servers["calc"]["status"], servers["gone"]["status"]) == ("connected", "failed"), servers
        assert [offered["name"] for offered in servers["calc"]["tools"]] == ["add", "fail"], servers
        assert servers["gone"]["error"], servers
        await client.toggle_mcp_server("calc", False)
        disabled = {server["name"]: server["status"] for server in (await client.get_mcp_status())["mcpServers"]}
        assert disabled["calc"] == "disabled", disabled
        await client.toggle_mcp_server("calc", True)
        await client.reconnect_mcp_server("calc")
        for name in ("gone", "never heard of"):
            try:
                await client.reconnect_mcp_server(name)
                raise AssertionError(f"{name} was reconnected")
            except Exception as error:
                assert "reconnected" not in str(error), error
        await client.query("add")
        assert "3" in str(tool_results([message async for message in client.receive_response()])[0].content)


async def context_usage():
    async with ClaudeSDKClient(options(model(say("one")))) as client:
        await client.query("hi")
        async for _ in client.receive_response():
            pass
        usage = await client.get_context_usage()
        assert 0 < usage["totalTokens"] < usage["maxTokens"] <= usage["rawMaxTokens"], usage
        for key in ("categories", "percentage", "gridRows", "model", "memoryFiles", "mcpTools", "agents", "isAutoCompactEnabled"):
            assert key in usage, f"{key} is missing from {usage}"


async def stop_task():
    api = model(call("Bash", command="sleep 300", run_in_background=True), say("started"), say("noticed"))
    async with ClaudeSDKClient(options(api, permission_mode="bypassPermissions")) as client:
        await client.query("go")
        messages = [message async for message in client.receive_response()]
        [started] = [message for message in messages if getattr(message, "subtype", "") == "task_started"]
        await client.stop_task(started.task_id)
        async for message in client.receive_messages():
            if getattr(message, "subtype", "") == "task_notification":
                break
        assert (message.task_id, message.status) == (started.task_id, "stopped"), message
        # A task that is not there is stopped already.
        await client.stop_task("nothing-like-it")
