"""Older Python SDKs: their command lines, and no initialize. Each comes first on the path, without world.py."""

import json
import sys

from scripted import CLIENTS, HERE, call, model, say


def from_folder(name):
    sys.path.insert(0, str(CLIENTS / "old" / name))


async def claude_code_sdk():
    from_folder("claude-code-sdk==0.0.25")
    from claude_code_sdk import ClaudeCodeOptions, ClaudeSDKClient, ResultMessage, query

    api = model(call("Bash", command="echo hi"), say("hello"), say("again"))
    env = {"ANTHROPIC_BASE_URL": api.url}
    options = ClaudeCodeOptions(cwd=str(HERE), env=env, permission_mode="bypassPermissions")
    messages = [message async for message in query(prompt="-- hi", options=options)]
    assert isinstance(messages[-1], ResultMessage) and messages[-1].result == "hello", messages
    assert "-- hi" in json.dumps(api.requests()[0]["messages"])
    async with ClaudeSDKClient(options) as client:
        await client.query("once more")
        answers = [message async for message in client.receive_response()]
    assert answers[-1].result == "again", answers


async def first_agent_sdk():
    from_folder("claude-agent-sdk==0.1.0")
    from claude_agent_sdk import AgentDefinition, ClaudeAgentOptions, ResultMessage, __version__, query

    assert __version__ == "0.1.0"
    (HERE / "CLAUDE.md").write_text("The project likes figs.")
    api = model(say("hello"))
    scout = AgentDefinition(description="looks around", prompt="You are a scout.")
    options = ClaudeAgentOptions(cwd=str(HERE), env={"ANTHROPIC_BASE_URL": api.url}, agents={"scout": scout})
    messages = [message async for message in query(prompt="hi", options=options)]
    assert "scout" in messages[0].data["agents"], messages[0]
    assert isinstance(messages[-1], ResultMessage) and messages[-1].result == "hello", messages
    assert "figs" not in json.dumps(api.requests()[0]), "without sources nothing of the project is read"
