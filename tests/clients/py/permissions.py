"""What may run: modes, rules, the callback, hooks."""

from claude_agent_sdk import (
    ClaudeSDKClient,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionUpdate,
)

from world import HERE, ask, call, fails, init, model, options, result, say, sent_text, system, tool_results, tool_uses


async def bypass():
    api = model(call("Bash", command="echo made > made.txt; cat made.txt"), say("done"))
    messages = await ask("go", api, permission_mode="bypassPermissions")
    assert [block.name for block in tool_uses(messages)] == ["Bash"]
    [outcome] = tool_results(messages)
    assert outcome.tool_use_id == tool_uses(messages)[0].id and outcome.content == "made", outcome
    user = next(message for message in messages if getattr(message, "tool_use_result", None))
    assert user.tool_use_result["stdout"] == "made", user
    assert (result(messages).num_turns, result(messages).result) == (2, "done")


async def allowed_tools():
    turns = [call("Bash", command="ls"), call("Write", file_path=str(HERE / "x"), content="no"), say("done")]
    messages = await ask("go", model(*turns), allowed_tools=["Read", "Bash(ls:*)"])
    ran, refused = tool_results(messages)
    assert not ran.is_error and refused.is_error, (ran, refused)
    final = result(messages)
    assert [denial["tool_name"] for denial in final.permission_denials] == ["Write"], final.permission_denials
    assert (final.subtype, final.is_error) == ("success", False) and not (HERE / "x").exists()


async def callback_allows():
    asked = []

    async def allow(name, tool_input, context):
        asked.append((name, tool_input, context))
        return PermissionResultAllow(updated_input={**tool_input, "command": "echo changed > out.txt"})

    api = model(call("Bash", command="echo original > out.txt"), say("done"))
    messages = await ask("go", api, can_use_tool=allow)
    [(name, tool_input, context)] = asked
    assert (name, tool_input["command"]) == ("Bash", "echo original > out.txt")
    assert context.tool_use_id == tool_uses(messages)[0].id, context
    assert (HERE / "out.txt").read_text() == "changed\n"
    assert result(messages).permission_denials == []


async def callback_remembers():
    """What the client hands back as "don't ask again" holds for the session and is stored where it says."""
    asked = []

    async def always(name, tool_input, context):
        asked.append(tool_input)
        assert context.suggestions, context
        return PermissionResultAllow(updated_permissions=context.suggestions)

    api = model(call("Bash", command="touch a"), call("Bash", command="touch b"), say("done"))
    await ask("go", api, can_use_tool=always)
    assert len(asked) == 1 and (HERE / "b").exists(), asked
    assert "Bash(touch:*)" in (HERE / ".claude/settings.local.json").read_text()


async def callback_sets_the_mode():
    asked = []

    async def accept_edits(name, tool_input, context):
        asked.append(name)
        mode = PermissionUpdate(type="setMode", mode="acceptEdits", destination="session")
        return PermissionResultAllow(updated_permissions=[mode])

    turns = [call("Write", file_path=str(HERE / name), content="x") for name in ("a", "b")]
    messages = await ask("go", model(*turns, say("done")), can_use_tool=accept_edits)
    assert asked == ["Write"] and (HERE / "b").exists(), asked
    assert "acceptEdits" in [status.get("permissionMode") for status in system(messages, "status")]


async def callback_denies():
    async def deny(name, tool_input, context):
        return PermissionResultDeny(message="not on a Friday")

    api = model(call("Bash", command="touch x"), say("understood"))
    messages = await ask("go", api, can_use_tool=deny)
    [refused] = tool_results(messages)
    assert refused.is_error and "not on a Friday" in str(refused.content), refused
    assert "not on a Friday" in sent_text(api.requests()[1])
    assert result(messages).result == "understood" and len(result(messages).permission_denials) == 1


async def callback_interrupts():
    async def stop(name, tool_input, context):
        return PermissionResultDeny(message="stop everything", interrupt=True)

    api = model(call("Bash", command="touch x"), say("never said"))
    messages, _ = await fails("go", api, can_use_tool=stop)
    assert len(api.requests()) == 1 and not (HERE / "x").exists()
    assert tool_results(messages)[0].is_error
    assert (result(messages).subtype, result(messages).is_error) == ("error_during_execution", True), result(messages)


async def callback_fails():
    async def broken(name, tool_input, context):
        raise RuntimeError("the callback is broken")

    messages = await ask("go", model(call("Bash", command="touch x"), say("done")), can_use_tool=broken)
    assert tool_results(messages)[0].is_error and not (HERE / "x").exists()
    assert result(messages).result == "done"


async def hooks_deny_and_change():
    heard = []

    async def before(hook_input, tool_use_id, context):
        heard.append((hook_input["hook_event_name"], hook_input["tool_name"], tool_use_id))
        assert hook_input["tool_use_id"] == tool_use_id and hook_input["session_id"] and hook_input["cwd"]
        if "forbidden" in hook_input["tool_input"]["command"]:
            return decision("deny", permissionDecisionReason="that word")
        return decision("allow", updatedInput={"command": "echo hooked > hooked.txt"})

    async def after(hook_input, tool_use_id, context):
        heard.append((hook_input["hook_event_name"], hook_input["tool_name"], tool_use_id))
        assert "tool_response" in hook_input
        more = {"hookEventName": "PostToolUse", "additionalContext": "the moon is full"}
        return {"hookSpecificOutput": more}

    async def never(hook_input, tool_use_id, context):
        raise AssertionError("no Edit or Write was called")

    hooks = {
        "PreToolUse": [HookMatcher(matcher="Bash", hooks=[before]), HookMatcher(matcher="Edit|Write", hooks=[never])],
        "PostToolUse": [HookMatcher(hooks=[after])],
    }
    api = model(call("Bash", command="echo forbidden"), call("Bash", command="touch x"), say("done"))
    messages = await ask("go", api, hooks=hooks)
    first, second = tool_uses(messages)
    assert heard == [
        ("PreToolUse", "Bash", first.id),
        ("PreToolUse", "Bash", second.id),
        ("PostToolUse", "Bash", second.id),
    ], heard
    refused, ran = tool_results(messages)
    assert refused.is_error and "that word" in str(refused.content) and not ran.is_error
    assert (HERE / "hooked.txt").exists() and not (HERE / "x").exists()
    assert "the moon is full" in sent_text(api.requests()[2])


async def hook_asks():
    """A hook that says "ask" brings the question to the callback, even where everything is allowed."""
    asked = []

    async def before(hook_input, tool_use_id, context):
        return decision("ask", permissionDecisionReason="a person must see this")

    async def allow(name, tool_input, context):
        asked.append(name)
        return PermissionResultAllow()

    api = model(call("Bash", command="touch x"), say("done"))
    hooks = {"PreToolUse": [HookMatcher(hooks=[before])]}
    await ask("go", api, hooks=hooks, can_use_tool=allow, permission_mode="bypassPermissions")
    assert asked == ["Bash"] and (HERE / "x").exists()


def decision(permission, **more):
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": permission, **more}}


async def modes():
    edit = call("Write", file_path=str(HERE / "a"), content="x")
    messages = await ask("go", model(edit, say("done")), permission_mode="acceptEdits")
    assert init(messages)["permissionMode"] == "acceptEdits" and (HERE / "a").exists()
    (HERE / "a").unlink()
    for mode in ("plan", "dontAsk"):
        messages = await ask("go", model(edit, say("done")), permission_mode=mode)
        assert init(messages)["permissionMode"] == mode
        assert tool_results(messages)[0].is_error and not (HERE / "a").exists(), mode


async def mode_changes_live():
    edit = call("Write", file_path=str(HERE / "a"), content="x")
    api = model(edit, say("could not"), edit, say("could"))
    async with ClaudeSDKClient(options(api)) as client:
        await client.query("try")
        refused = [message async for message in client.receive_response()]
        assert tool_results(refused)[0].is_error
        await client.set_permission_mode("acceptEdits")
        await client.query("again")
        allowed = [message async for message in client.receive_response()]
        assert "acceptEdits" in [init(allowed)["permissionMode"], *[s.get("permissionMode") for s in system(allowed, "status")]]
        assert not tool_results(allowed)[0].is_error and (HERE / "a").exists()
        try:
            await client.set_permission_mode("bypassPermissions")
            raise AssertionError("bypass was not permitted at start")
        except Exception as error:
            assert "bypassPermissions" in str(error), error
