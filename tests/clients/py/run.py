"""Runs scenarios, each four words (module, function, folder, home), and prints one line of JSON for each.

The SDK takes a second to import, so it is imported once and every scenario runs in a fork.
"""

import importlib
import json
import os
import sys
import traceback

import anyio


def play(module, name, folder, home):
    os.chdir(folder)
    os.environ["HOME"] = home
    try:
        anyio.run(getattr(importlib.import_module(module), name))
        verdict = {"ok": True}
    except BaseException:
        verdict = {"ok": False, "why": traceback.format_exc()}
    print(json.dumps(verdict), flush=True)


if __name__ == "__main__":
    words = sys.argv[1:]
    scenarios = [words[at : at + 4] for at in range(0, len(words), 4)]
    if all(module != "old" for module, *_ in scenarios):
        import claude_agent_sdk  # noqa: F401
    for scenario in scenarios:
        child = os.fork()
        if child == 0:
            play(*scenario)
            sys.exit(0)
        os.waitpid(child, 0)
