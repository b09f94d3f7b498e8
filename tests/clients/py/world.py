"""What every Python scenario uses: a scripted model, options that point at our binary, and short readers.

A scenario is an async function; `run.py MODULE FUNCTION` runs it and prints its verdict. The folder it
starts in, HOME and the binary come from the test that starts it. Deliberately absent: retries and pauses.
"""

import atexit
import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

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

CLAUDE = os.environ["CLAUDE"]
RALPH = os.environ["RALPH"]
HOME = Path(os.environ["HOME"])
HERE = Path.cwd()


@dataclass
class Model:
    """A model that says what it was told to say."""

    url: str
    log: Path

    def requests(self):
        """Bodies of the requests that offered tools, in order."""
        return [body for body in self.all_requests() if body.get("tools")]

    def all_requests(self):
        lines = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [line["body"] for line in lines if line["path"].startswith("/v1/messages") and line["body"]]

    def headers(self):
        return [json.loads(line)["headers"] for line in self.log.read_text().splitlines()]


def model(*turns, untooled=()):
    folder = Path(tempfile.mkdtemp(prefix="model-"))
    script, log = folder / "script.json", folder / "log.ndjson"
    script.write_text(json.dumps({"turns": list(turns), "untooled": list(untooled)}))
    server = subprocess.Popen([RALPH, "mock", str(script), "--log", str(log)], stdout=subprocess.PIPE, text=True)
    atexit.register(server.kill)
    return Model(server.stdout.readline().strip(), log)


def say(text, **more):
    return {"content": [{"type": "text", "text": text}], **more}


def call(tool, _also=(), **tool_input):
    return {"content": [*_also, {"type": "tool_use", "name": tool, "input": tool_input}]}


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
