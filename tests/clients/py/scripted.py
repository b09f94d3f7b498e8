"""A scripted model, and where we are: the folder, HOME and the binary come from the test that starts us.

Nothing here knows an SDK, so that scenarios of older ones can use it too.
"""

import atexit
import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

CLAUDE = os.environ["CLAUDE"]
RALPH = os.environ["RALPH"]
CLIENTS = Path(os.environ["CLIENTS"])
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
