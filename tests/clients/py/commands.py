"""Prompts that are commands, and the frames around turns: state, hooks, plugins."""

import json

from claude_agent_sdk import (
    ClaudeSDKClient,
    ConversationResetMessage,
    HookMatcher,
    ResultMessage,
    SystemMessage,
)

from world import HERE, HOME, ask, call, fails, init, model, of, options, result, say, sent_text, system, texts, write


async def round_of(client, prompt):
    await client.query(prompt)
    return [message async for message in client.receive_response()]


async def clear():
    api = model(say("one"), say("two"))
    async with ClaudeSDKClient(options(api)) as client:
        before = result(await round_of(client, "remember plum")).session_id
        cleared = await round_of(client, "/clear")
        [reset] = of(ConversationResetMessage, cleared)
        after = result(cleared).session_id
        assert reset.session_id == before and reset.new_conversation_id and after != before, cleared
        final = result(await round_of(client, "what word?"))
        assert final.session_id == after and "plum" not in sent_text(api.requests()[1])


async def compact():
    api = model(say("one"), say("two"), say("three"), untooled=[say("They talked about plums.")])
    async with ClaudeSDKClient(options(api)) as client:
        await round_of(client, "first")
        await round_of(client, "second")
        compacted = await round_of(client, "/compact")
        subtypes = [message.subtype for message in of(SystemMessage, compacted)]
        assert "compact_boundary" in subtypes, subtypes
        [boundary] = system(compacted, "compact_boundary")
        assert boundary["compact_metadata"]["trigger"] == "manual" and "pre_tokens" in boundary["compact_metadata"]
        statuses = [status["status"] for status in system(compacted, "status")]
        assert statuses[0] == "compacting" and statuses[-1] is None, statuses
        assert subtypes.index("status") < subtypes.index("compact_boundary")
        await round_of(client, "third")
        sent = sent_text(api.requests()[-1])
        assert "They talked about plums." in sent and "second" not in sent, sent


async def unknown_command():
    messages, error = await fails("/no-such-command", model(say("never")))
    assert "no-such-command" in str(result(messages)) and "no-such-command" in str(error), messages


async def project_command():
    write(".claude/commands/greet.md", "---\ndescription: greets\nargument-hint: who\n---\nGreet $0 and then $ARGUMENTS.")
    api = model(say("hello"))
    messages = await ask("/greet Ada Bob", api)
    assert "greet" in init(messages)["slash_commands"]
    assert "Greet Ada and then Ada Bob." in sent_text(api.requests()[0])


async def verbatim_prompt():
    """A prompt that the client has composed is neither a command nor a mention of files."""
    write("secret.txt", "the secret")
    api = model(say("ok"), say("ok"))
    await ask("/clear @secret.txt", api, verbatim_prompts=True)
    sent = sent_text(api.requests()[0])
    assert "/clear @secret.txt" in sent and "the secret" not in sent, sent
    await ask("look at @secret.txt", api)
    assert "the secret" in sent_text(api.requests()[1])


async def session_state():
    """Frames that only hosts see stay hidden; those that were asked for come around the turn."""
    quiet = await ask("hi", model(say("ok")))
    assert not system(quiet, "session_state_changed")
    loud = await ask("hi", model(say("ok")), env={"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1"})
    states = [state["state"] for state in system(loud, "session_state_changed")]
    assert states == ["running", "idle"], states
    order = [type(message) for message in loud]
    assert order.index(ResultMessage) < len(order) - 1, "idle comes after the result"


async def background_agent_is_awaited():
    """A callback keeps stdin open; an agent in the background may still need it after the result."""
    heard = []

    async def note(hook_input, tool_use_id, context):
        heard.append(hook_input["tool_name"])
        return {}

    delegate = call("Agent", description="look", prompt="Look.", subagent_type="general-purpose", run_in_background=True)
    api = model(delegate, say("started"), call("Bash", command="ls"), say("seen"), say("told"), say("told"))
    hooks = {"PreToolUse": [HookMatcher(hooks=[note])]}
    messages = await ask("go", api, hooks=hooks, permission_mode="bypassPermissions")
    ended = [message for message in system(messages, "task_notification") if message["status"] == "completed"]
    assert len(ended) == 1, messages
    assert "Bash" in heard, heard


async def hook_events():
    write(
        ".claude/settings.json",
        json.dumps({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "touch ran"}]}]}}),
    )
    trusted = {"projects": {str(HERE): {"hasTrustDialogAccepted": True}}}
    (HOME / ".claude.json").write_text(json.dumps(trusted))

    async def note(hook_input, tool_use_id, context):
        return {}

    api = model(call("Bash", command="ls"), say("done"))
    hooks = {"PostToolUse": [HookMatcher(hooks=[note])]}
    messages = await ask("go", api, include_hook_events=True, hooks=hooks, setting_sources=["project"])
    started, ended = system(messages, "hook_started"), system(messages, "hook_response")
    assert {event["hook_event"] for event in started} >= {"PreToolUse", "PostToolUse"}, started
    assert {event["hook_id"] for event in started} == {event["hook_id"] for event in ended}
    assert all(event["outcome"] == "success" for event in ended), ended
    assert (HERE / "ran").exists()
    again = await ask("go", model(call("Bash", command="ls"), say("done")), hooks=hooks, setting_sources=["project"])
    assert not system(again, "hook_started")


async def local_plugin():
    write("plug/.claude-plugin/plugin.json", json.dumps({"name": "plug", "version": "1.0.0"}))
    write("plug/commands/hello.md", "---\ndescription: says hello\n---\nSay hello from the plugin.")
    write("plug/agents/helper.md", "---\nname: helper\ndescription: helps\n---\nYou are the plugin's helper.")
    api = model(say("hello"))
    messages = await ask("/plug:hello", api, plugins=[{"type": "local", "path": str(HERE / "plug")}])
    start = init(messages)
    assert [plugin["name"] for plugin in start["plugins"]] == ["plug"], start["plugins"]
    assert "plug:hello" in start["slash_commands"] and "plug:helper" in start["agents"], start
    assert "Say hello from the plugin." in sent_text(api.requests()[0])


async def action():
    """The GitHub action: two blocks, the last of which is a command; project servers allowed by settings."""
    write(".claude/commands/review.md", "Review it carefully.")

    async def prompts():
        content = [{"type": "text", "text": "context first"}, {"type": "text", "text": "/review"}]
        yield {"type": "user", "session_id": "", "message": {"role": "user", "content": content}, "parent_tool_use_id": None}

    api = model(say("reviewed"))
    settings = json.dumps({"enableAllProjectMcpServers": True})
    env = {"CLAUDE_CODE_ENTRYPOINT": "claude-code-github-action"}
    messages = await ask(prompts(), api, settings=settings, env=env, mcp_servers='{"mcpServers":{}}')
    assert texts(messages) == ["reviewed"]
    sent = sent_text(api.requests()[0])
    assert "Review it carefully." in sent and "context first" in sent, sent
