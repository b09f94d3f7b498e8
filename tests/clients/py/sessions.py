"""Sessions that outlive a process: fork, truncated resume, the SDK's own readers and writers, stores, checkpoints."""

import json
from uuid import uuid4

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeSDKClient,
    InMemorySessionStore,
    ResultError,
    UserMessage,
    delete_session,
    fork_session,
    get_session_info,
    get_session_messages,
    get_subagent_messages,
    list_sessions,
    list_subagents,
    project_key_for_directory,
    rename_session,
    tag_session,
)

from world import HERE, HOME, ask, call, fails, model, of, options, result, say, sent_text, texts, tool_results

FOLDER = str(HERE)


def transcript(session):
    [path] = (HOME / ".claude/projects").glob(f"*/{session}.jsonl")
    return path


def entries(session):
    return [json.loads(line) for line in transcript(session).read_text().splitlines()]


async def fork():
    api = model(say("one"), say("two"), say("three"))
    source = result(await ask("remember plum", api)).session_id
    before = transcript(source).read_bytes()
    forked = result(await ask("go on", api, resume=source, fork_session=True)).session_id
    assert forked != source and transcript(source).read_bytes() == before
    chosen = str(uuid4())
    named = result(await ask("go on", api, resume=source, fork_session=True, session_id=chosen)).session_id
    assert named == chosen and transcript(source).read_bytes() == before
    assert all("plum" in sent_text(request) for request in api.requests()[1:])


async def two_turns():
    """A session of two turns: its id, and its user and assistant entries."""
    api = model(say("answer one"), say("answer two"))
    session = result(await ask("question one", api)).session_id
    await ask("question two", api, resume=session)
    return session, [entry for entry in entries(session) if entry["type"] in ("user", "assistant")]


async def resume_at():
    session, chain = await two_turns()
    api = model(say("another two"))
    await ask("question three", api, resume=session, resume_session_at=chain[1]["uuid"])
    sent = sent_text(api.requests()[0])
    assert "answer one" in sent and "question two" not in sent and "question three" in sent, sent


async def resume_drops_turn():
    session, chain = await two_turns()
    [_, answer, prompt, _] = chain
    api = model(say("another two"))
    await ask("question three", api, resume=session, resume_session_at=answer["uuid"], resume_drops_turn=prompt["uuid"])
    assert "question two" not in sent_text(api.requests()[0])

    session, chain = await two_turns()
    before = transcript(session).read_bytes()
    for wrong in (str(uuid4()), chain[0]["uuid"], ""):
        messages, error = await fails(
            "no", model(say("never")), resume=session, resume_session_at=chain[1]["uuid"], resume_drops_turn=wrong
        )
        assert "Resume rejected by --resume-drops-turn:" in str(error), repr(error)
        assert not of(AssistantMessage, messages)
    assert transcript(session).read_bytes() == before


async def unknown_session():
    missing = str(uuid4())
    messages, error = await fails("hi", model(say("never")), resume=missing)
    assert f"No conversation found with session ID: {missing}" in str(error), repr(error)
    assert isinstance(error, ResultError) or not messages
    try:
        async with ClaudeSDKClient(options(model(say("never")), resume=missing)):
            raise AssertionError("it connected to a session that is not there")
    except Exception as error:
        assert "No conversation found with session ID" in str(error), repr(error)


async def own_session_id():
    wanted = str(uuid4())
    assert result(await ask("hi", model(say("ok")), session_id=wanted)).session_id == wanted
    assert transcript(wanted).stat().st_mode & 0o777 == 0o600


async def managed_by_the_sdk():
    parallel = {"content": [{"type": "tool_use", "name": "Bash", "input": {"command": f"echo {n}"}} for n in range(3)]}
    api = model(parallel, say("counted"), say("again"), say("from the fork"))
    messages = await ask("count with me", api, permission_mode="bypassPermissions")
    session = result(messages).session_id
    await ask("and once more", api, resume=session)

    [info] = list_sessions(directory=FOLDER)
    assert (info.session_id, info.first_prompt, info.cwd) == (session, "count with me", FOLDER), info
    assert info.git_branch and info.created_at and info.summary, info

    read = get_session_messages(session, directory=FOLDER)
    kinds = [message.type for message in read]
    assert kinds == ["user", *["assistant"] * 3, *["user"] * 3, "assistant", "user", "assistant"], kinds
    on_wire = [message.uuid for message in messages if isinstance(message, (AssistantMessage, UserMessage))]
    assert set(on_wire) <= {message.uuid for message in read}, "the wire and the transcript have the same ids"
    results = [block["tool_use_id"] for message in read[4:7] for block in message.message["content"]]
    assert len(set(results)) == 3

    rename_session(session, "Counting", directory=FOLDER)
    tag_session(session, "math", directory=FOLDER)
    info = get_session_info(session, directory=FOLDER)
    assert (info.custom_title, info.summary, info.tag) == ("Counting", "Counting", "math"), info
    tag_session(session, None, directory=FOLDER)
    assert get_session_info(session, directory=FOLDER).tag is None

    forked = fork_session(session, directory=FOLDER, title="Counting on").session_id
    assert {info.session_id for info in list_sessions(directory=FOLDER)} == {session, forked}
    resumed = await ask("still counting?", api, resume=forked)
    assert (result(resumed).session_id, texts(resumed)) == (forked, ["from the fork"])
    assert "and once more" in sent_text(api.requests()[-1])
    assert get_session_info(forked, directory=FOLDER).custom_title == "Counting on"
    assert len(get_session_messages(forked, directory=FOLDER)) == len(read) + 2

    delete_session(session, directory=FOLDER)
    assert [info.session_id for info in list_sessions(directory=FOLDER)] == [forked]


async def renamed_while_it_runs():
    """The SDK appends to a live transcript; what we append afterwards leaves it in place."""
    api = model(say("one"), say("two"))
    async with ClaudeSDKClient(options(api)) as client:
        await client.query("first")
        session = result([message async for message in client.receive_response()]).session_id
        rename_session(session, "Renamed", directory=FOLDER)
        await client.query("second")
        await anext(aiter(client.receive_response()))
    info = get_session_info(session, directory=FOLDER)
    assert info.custom_title == "Renamed", info
    assert [message.type for message in get_session_messages(session, directory=FOLDER)][:3] == ["user", "assistant", "user"]


async def subagents_are_found():
    delegate = call("Agent", description="look", prompt="Look around.", subagent_type="general-purpose", run_in_background=False)
    session = result(await ask("go", model(delegate, say("seen"), say("done")))).session_id
    [agent] = list_subagents(session, directory=FOLDER)
    inner = get_subagent_messages(session, agent, directory=FOLDER)
    assert [message.type for message in inner] == ["user", "assistant"], inner
    assert inner[0].parent_tool_use_id, inner[0]


async def store():
    """A session store gets every entry before the result, and a session is resumed from it alone."""
    kept = InMemorySessionStore()
    api = model(say("one"), say("two"))
    first = await ask("remember plum", api, session_store=kept)
    session = result(first).session_id
    assert not [message for message in first if "mirror" in getattr(message, "subtype", "")], first
    listed = await kept.list_sessions(project_key_for_directory(FOLDER))
    assert [entry["session_id"] for entry in listed] == [session], listed
    transcript(session).unlink()
    second = await ask("what word?", api, resume=session, session_store=kept)
    assert result(second).session_id == session and "plum" in sent_text(api.requests()[1])


async def rewind():
    original = HERE / "kept.txt"
    original.write_text("before\n")
    turns = [
        call("Read", file_path=str(original)),
        call("Edit", file_path=str(original), old_string="before", new_string="after"),
        call("Write", file_path=str(HERE / "made.txt"), content="new"),
        say("done"),
    ]
    more = {"enable_file_checkpointing": True, "extra_args": {"replay-user-messages": None}, "permission_mode": "acceptEdits"}
    async with ClaudeSDKClient(options(model(*turns), **more)) as client:
        await client.query("change things")
        messages = [message async for message in client.receive_response()]
        assert (original.read_text(), (HERE / "made.txt").exists()) == ("after\n", True), tool_results(messages)
        prompt = next(message for message in of(UserMessage, messages) if message.uuid and not message.tool_use_result)
        for wrong in (str(uuid4()), "nonsense"):
            try:
                await client.rewind_files(wrong)
                raise AssertionError("a checkpoint was found where there is none")
            except Exception as error:
                assert "No file checkpoint found" in str(error), error
        await client.rewind_files(prompt.uuid)
    assert (original.read_text(), (HERE / "made.txt").exists()) == ("before\n", False)
