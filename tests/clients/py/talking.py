"""Prompts and answers: one query, a client of several rounds, resume, partial messages, limits, failures."""

from pathlib import Path

import anyio
from claude_agent_sdk import AssistantMessage, ClaudeSDKClient, ResultError, ResultMessage, StreamEvent, SystemMessage

from world import HERE, ask, call, fails, init, model, of, options, result, say, sent_text, system, texts, tool_results


async def one_query():
    api = model(say("hello"))
    messages = await ask("hi", api)
    assert isinstance(messages[0], SystemMessage) and messages[0].subtype == "init", messages
    assert texts(messages) == ["hello"]
    final = result(messages)
    assert (final.subtype, final.is_error, final.result, final.num_turns) == ("success", False, "hello", 1), final
    assert messages[-1] is final
    assert init(messages)["session_id"] == final.session_id
    assert "hi" in sent_text(api.requests()[0])


async def two_rounds():
    api = model(say("one"), say("two"))
    async with ClaudeSDKClient(options(api)) as client:
        info = await client.get_server_info()
        for key in ("commands", "agents", "output_style", "available_output_styles", "models", "account"):
            assert key in info, f"{key} is missing from {info}"
        assert all(key in info["models"][0] for key in ("value", "displayName", "description")), info["models"]
        rounds = []
        for prompt in ("first", "second"):
            await client.query(prompt)
            rounds.append([message async for message in client.receive_response()])
    assert [texts(messages) for messages in rounds] == [["one"], ["two"]]
    assert result(rounds[0]).session_id == result(rounds[1]).session_id
    second = sent_text(api.requests()[1])
    assert "first" in second and "one" in second and "second" in second, second


async def resume_and_continue():
    api = model(say("one"), say("two"), say("three"))
    session = result(await ask("remember the word plum", api)).session_id
    again = result(await ask("what word?", api, resume=session))
    assert again.session_id == session
    assert "plum" in sent_text(api.requests()[1])
    newest = result(await ask("and now?", api, continue_conversation=True))
    assert newest.session_id == session
    assert "what word?" in sent_text(api.requests()[2])


async def partial_messages():
    api = model(call("Bash", command="true"), say("hello there, this is more than one piece of text"))
    messages = await ask("hi", api, include_partial_messages=True, permission_mode="bypassPermissions")
    assert isinstance(messages[0], SystemMessage) and messages[0].subtype == "init", messages[0]
    kinds = [message.event["type"] for message in of(StreamEvent, messages)]
    assert kinds[0] == "message_start" and kinds[-1] == "message_stop", kinds
    assert "content_block_delta" in kinds
    assistant = next(index for index, message in enumerate(messages) if isinstance(message, AssistantMessage))
    before = [message.event["type"] for message in of(StreamEvent, messages[:assistant])]
    assert before[:2] == ["message_start", "content_block_start"], before
    deltas = [message.event["delta"] for message in of(StreamEvent, messages) if message.event["type"] == "content_block_delta"]
    text = "".join(delta["text"] for delta in deltas if delta["type"] == "text_delta")
    assert text == "hello there, this is more than one piece of text"
    assert not of(StreamEvent, await ask("hi", model(say("hello"))))


async def max_turns():
    messages, error = await fails(
        "go", model(call("Bash", command="true")), max_turns=1, permission_mode="bypassPermissions"
    )
    final = result(messages)
    assert (final.subtype, final.is_error) == ("error_max_turns", True), final
    assert final.errors == ["Reached maximum number of turns (1)"], final.errors
    assert isinstance(error, ResultError) and error.subtype == "error_max_turns" and error.exit_code == 1, repr(error)


async def budget():
    turn = {**call("Bash", command="true"), "usage": {"input_tokens": 1_000_000, "output_tokens": 1000}}
    messages, error = await fails("go", model(turn), max_budget_usd=0.0001, permission_mode="bypassPermissions")
    assert result(messages).subtype == "error_max_budget_usd", messages
    assert isinstance(error, ResultError), repr(error)


async def api_failures():
    body = {"type": "error", "error": {"type": "invalid_request_error", "message": "no such thing"}}
    messages, error = await fails("go", model({"status": 400, "error": body}))
    final = result(messages)
    assert (final.subtype, final.is_error, final.api_error_status) == ("success", True, 400), final
    assert "no such thing" in final.result and final.result.startswith("API Error"), final.result
    synthetic = of(AssistantMessage, messages)[-1]
    assert (synthetic.model, synthetic.error) == ("<synthetic>", "invalid_request"), synthetic
    assert isinstance(error, ResultError) and error.terminal_reason == "api_error", repr(error)


async def overload_is_retried():
    api = model({"status": 529, "headers": {"retry-after": "0"}}, say("made it"))
    messages = await ask("go", api)
    assert result(messages).result == "made it"
    retries = system(messages, "api_retry")
    assert [retry["error_status"] for retry in retries] == [529], retries


async def interrupt():
    slow = say("never heard in full, because it stalls on its way", stall_after_events=4)
    api = model(slow, call("Bash", command="echo $$ > pid.new; mv pid.new pid; exec sleep 300"), say("still here"))
    async with ClaudeSDKClient(options(api, include_partial_messages=True, permission_mode="bypassPermissions")) as client:
        await client.query("talk")
        await interrupted_after(client, lambda message: isinstance(message, StreamEvent))
        await client.query("work")
        during = await interrupted_after(client, lambda message: bool(tool_uses_of(message)))
        assert tool_results(during)[-1].is_error, during
        pid = int((HERE / "pid").read_text())
        assert not runs(pid), "the command must be gone with the result"
        await client.query("are you there?")
        assert result([message async for message in client.receive_response()]).result == "still here"


def runs(pid):
    """A process that has ended and waits to be noticed does not run."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")")[-1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def tool_uses_of(message):
    return isinstance(message, AssistantMessage) and any(hasattr(block, "input") for block in message.content)


async def until_it_runs(messages):
    """A command that was called leaves a file with its id, whole from the start; no event tells when it has."""
    while any(tool_uses_of(message) for message in messages) and not (HERE / "pid").exists():
        await anyio.sleep(0.01)


async def interrupted_after(client, moment):
    """Interrupts once `moment` has come; returns the rest of the turn, which must end soon with one result."""
    messages = []
    with anyio.fail_after(15):
        async for message in client.receive_messages():
            messages.append(message)
            if moment(message):
                break
        await until_it_runs(messages)
        await client.interrupt()
        async for message in client.receive_response():
            messages.append(message)
    final = result(messages)
    assert final.subtype == "error_during_execution" and final.is_error, final
    assert any("[Request interrupted by user" in str(message) for message in messages), messages
    return messages


async def clean_run_is_silent():
    said = []
    await ask("hi", model(say("hello")), stderr=said.append)
    assert said == []
    messages = await ask("hi", model(say("hello")), stderr=said.append, extra_args={"debug-to-stderr": None})
    assert result(messages).result == "hello" and said, said


async def late_answer():
    """A result arrives although stdin was closed before the turn began."""
    messages = await ask("hi", model(say("late", delay_ms=300)))
    assert [type(message) for message in messages[-2:]] == [AssistantMessage, ResultMessage]
