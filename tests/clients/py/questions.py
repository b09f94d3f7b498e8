"""Questions that come to the client beside plain permissions: choices, plans, agents, tools that answer for it."""

import json

from claude_agent_sdk import (
    AgentDefinition,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionUpdate,
    create_sdk_mcp_server,
    tool,
)

from world import HERE, ask, call, init, model, result, say, sent_text, system, tool_results, tool_uses

QUESTION = {
    "question": "Which colour?",
    "header": "Colour",
    "multiSelect": False,
    "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}],
}


async def choice():
    asked = []

    async def answer(name, tool_input, context):
        asked.append((name, tool_input["questions"][0]["question"]))
        return PermissionResultAllow(updated_input={**tool_input, "answers": {"Which colour?": "Blue"}})

    api = model(call("AskUserQuestion", questions=[QUESTION]), say("Blue it is."))
    messages = await ask("paint it", api, can_use_tool=answer, permission_mode="bypassPermissions")
    assert asked == [("AskUserQuestion", "Which colour?")], (asked, tool_results(messages))
    assert "Blue" in str(tool_results(messages)[0].content) and not tool_results(messages)[0].is_error
    assert "AskUserQuestion" in init(messages)["tools"]


async def plan():
    asked = []

    async def approve(name, tool_input, context):
        asked.append((name, tool_input.get("plan")))
        mode = PermissionUpdate(type="setMode", mode="acceptEdits", destination="session")
        return PermissionResultAllow(updated_permissions=[mode])

    write = call("Write", file_path=str(HERE / "a"), content="x")
    api = model(call("ExitPlanMode", plan="1. write a"), write, say("done"))
    messages = await ask("plan it", api, can_use_tool=approve, permission_mode="plan")
    assert asked == [("ExitPlanMode", "1. write a")], (asked, tool_results(messages))
    assert (HERE / "a").exists() and result(messages).permission_denials == []
    assert [status["permissionMode"] for status in system(messages, "status")] == ["acceptEdits"]


async def plan_refused():
    async def refuse(name, tool_input, context):
        return PermissionResultDeny(message="think again")

    api = model(call("ExitPlanMode", plan="1. write a"), say("I shall."))
    messages = await ask("plan it", api, can_use_tool=refuse, permission_mode="plan")
    assert "think again" in sent_text(api.requests()[1]) and result(messages).result == "I shall."


async def of_agents():
    """A question that an agent's call raises names the agent."""
    asked = []

    async def allow(name, tool_input, context):
        asked.append((name, context.agent_id, context.tool_use_id))
        return PermissionResultAllow()

    delegate = call("Agent", description="make", prompt="Make it.", subagent_type="maker", run_in_background=False)
    maker = AgentDefinition(description="makes", prompt="You make things.")
    api = model(delegate, call("Bash", command="touch x"), say("made"), say("done"))
    messages = await ask("go", api, can_use_tool=allow, agents={"maker": maker})
    [started] = system(messages, "task_started")
    inner = next(block for block in tool_uses(messages) if block.name == "Bash")
    assert asked == [("Bash", started["task_id"], inner.id)], asked
    assert (HERE / "x").exists()


async def state_while_waiting():
    async def allow(name, tool_input, context):
        return PermissionResultAllow()

    env = {"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1"}
    messages = await ask("go", model(call("Bash", command="touch x"), say("done")), can_use_tool=allow, env=env)
    states = [state["state"] for state in system(messages, "session_state_changed")]
    assert states == ["running", "requires_action", "running", "idle"], states


async def answered_by_a_tool():
    heard = []

    @tool("approve", "answers permission questions", {"tool_name": str, "input": dict, "tool_use_id": str})
    async def approve(arguments):
        heard.append(arguments["tool_name"])
        changed = {"command": "touch changed"}
        return {"content": [{"type": "text", "text": json.dumps({"behavior": "allow", "updatedInput": changed})}]}

    servers = {"guard": create_sdk_mcp_server("guard", tools=[approve])}
    api = model(call("Bash", command="touch x"), say("done"))
    await ask("go", api, mcp_servers=servers, permission_prompt_tool_name="mcp__guard__approve")
    assert heard == ["Bash"] and (HERE / "changed").exists() and not (HERE / "x").exists()


async def hooks_that_stop():
    async def stop(hook_input, tool_use_id, context):
        return {"continue_": False, "stopReason": "enough for today"}

    api = model(call("Bash", command="ls"), say("never"))
    messages = await ask("go", api, hooks={"PostToolUse": [HookMatcher(hooks=[stop])]}, allowed_tools=["Bash"])
    assert len(api.requests()) == 1, "the run must stop"
    assert result(messages).subtype == "success", result(messages)


async def hooks_that_fail():
    async def broken(hook_input, tool_use_id, context):
        raise RuntimeError("the hook is broken")

    api = model(call("Bash", command="ls"), say("done"))
    messages = await ask("go", api, hooks={"PreToolUse": [HookMatcher(hooks=[broken])]}, allowed_tools=["Bash"])
    assert not tool_results(messages)[0].is_error and result(messages).result == "done"


async def stop_hook_blocks_once():
    heard = []

    async def stop(hook_input, tool_use_id, context):
        heard.append(hook_input["stop_hook_active"])
        return {} if hook_input["stop_hook_active"] else {"decision": "block", "reason": "run the tests first"}

    api = model(say("done"), say("tested"))
    messages = await ask("go", api, hooks={"Stop": [HookMatcher(hooks=[stop])]})
    assert heard == [False, True] and result(messages).result == "tested"
    assert "run the tests first" in sent_text(api.requests()[1])
