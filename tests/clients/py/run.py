"""Runs one scenario and prints one line of JSON: what became of it."""

import importlib
import json
import sys
import traceback

import anyio

if __name__ == "__main__":
    module, name = sys.argv[1:3]
    try:
        anyio.run(getattr(importlib.import_module(module), name))
        verdict = {"ok": True}
    except BaseException:
        verdict = {"ok": False, "why": traceback.format_exc()}
    print(json.dumps(verdict))
