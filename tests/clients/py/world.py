"""What the scenarios of today's Python SDK use: options that point at our binary, and short readers.

A scenario is an async function; `run.py MODULE FUNCTION` runs it and prints its verdict. Deliberately
absent: retries and pauses.
"""

import json

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ResultMessage,
    SystemMessage,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
    query,
)

from scripted import CLAUDE, HERE, HOME, call, model, say

__all__ = ["CLAUDE", "HERE", "HOME", "call", "model", "say"]


def options(api, /, **more):
    env = {"ANTHROPIC_BASE_URL": api.url, **more.pop("env", {})}
    return ClaudeAgentOptions(**{"cli_path": CLAUDE, "cwd": str(HERE), "env": env, **more})


async def ask(prompt, api, /, **more):
    """One query to its end: every message that came."""
    return [message async for message in query(prompt=prompt, options=options(api, **more))]


async def fails(prompt, api, /, **more):
    """A query that must raise: the messages before, and the exception."""
    messages = []
    try:
        async for message in query(prompt=prompt, options=options(api, **more)):
            messages.append(message)
    except Exception as error:
        return messages, error
    raise AssertionError(f"nothing was raised after {messages}")


def of(kind, messages):
    return [message for message in messages if isinstance(message, kind)]


def result(messages):
    results = of(ResultMessage, messages)
    assert len(results) == 1, f"one result, not {results}"
    return results[0]


def init(messages):
    inits = system(messages, "init")
    assert inits, f"no init in {messages}"
    return inits[0]


def system(messages, subtype):
    return [message.data for message in of(SystemMessage, messages) if message.subtype == subtype]


def blocks(messages, kind):
    lists = [m.content for m in messages if isinstance(m, (AssistantMessage, UserMessage)) and isinstance(m.content, list)]
    return [block for content in lists for block in content if isinstance(block, kind)]


def texts(messages):
    return [block.text for block in blocks(of(AssistantMessage, messages), TextBlock)]


def tool_uses(messages):
    return blocks(messages, ToolUseBlock)


def tool_results(messages):
    return blocks(messages, ToolResultBlock)


def sent_text(request):
    """Everything a request says to the model in its messages, as one text."""
    return json.dumps(request["messages"], ensure_ascii=False)


def system_text(request):
    prompt = request.get("system", "")
    return prompt if isinstance(prompt, str) else "\n".join(block["text"] for block in prompt)


def write(name, text):
    path = HERE / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path
