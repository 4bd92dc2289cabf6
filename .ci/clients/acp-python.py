#!/usr/bin/env python3
"""The Python client of the Agent Client Protocol as an editor, against model.py.

usage: acp-python.py BINARY PORT SCRATCH       needs the package agent-client-protocol
"""
import asyncio, json, os, pathlib, sys
from acp import PROTOCOL_VERSION, Client, spawn_agent_process, text_block
from acp.schema import AllowedOutcome, ClientCapabilities, Implementation, RequestPermissionResponse

BINARY, PORT, SCRATCH = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
CONFIG = f"""
model = "mock"
model_provider = "mock"
harness = "qwen-code"
model_context_window = 32768
harness_guidance = false
approval_policy = "untrusted"
[model_providers.mock]
name = "mock"
base_url = "http://127.0.0.1:{PORT}/v1"
wire_api = "chat"
"""


def program(*steps):
    return [text_block(f"Do this. PROGRAM {json.dumps(steps)}")]


class Editor(Client):
    def __init__(self):
        self.updates, self.asked = [], 0

    async def request_permission(self, options, session_id, tool_call, **_):
        self.asked += 1
        allowed = next(o for o in options if o.kind == "allow_once")
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=allowed.option_id))

    async def session_update(self, session_id, update, **_):
        self.updates.append((session_id, update))

    def text(self, session):
        chunks = [u for s, u in self.updates if s == session and u.session_update == "agent_message_chunk"]
        return "".join(u.content.text for u in chunks)


async def main():
    home, work = SCRATCH / "home", SCRATCH / "work"
    home.mkdir(), work.mkdir()
    (home / "config.toml").write_text(CONFIG)
    (work / "a.txt").write_text("one\nold\n")
    env = {"PATH": os.environ["PATH"], "HOME": str(SCRATCH), "INTERPRETER_HOME": str(home), "SHELL": "/bin/bash"}
    editor = Editor()
    async with spawn_agent_process(editor, BINARY, "acp", env=env) as (agent, process):
        hello = await agent.initialize(protocol_version=PROTOCOL_VERSION, client_capabilities=ClientCapabilities(), client_info=Implementation(name="check", version="1"))
        assert hello.protocol_version == 1 and hello.agent_info.name == "interpreter", hello
        session = (await agent.new_session(cwd=str(work), mcp_servers=[])).session_id
        edit = {"call": ["edit", {"file_path": str(work / "a.txt"), "old_string": "old", "new_string": "new"}]}
        done = await agent.prompt(session_id=session, prompt=program({"call": ["read_file", {"file_path": str(work / "a.txt")}]}, edit, {"say": "It is done."}))
        assert done.stop_reason == "end_turn", done
        assert editor.text(session) == "It is done.", editor.text(session)
        assert editor.asked == 1, editor.asked
        assert (work / "a.txt").read_text() == "one\nnew\n"
        kinds = {u.session_update for _, u in editor.updates}
        assert {"tool_call", "tool_call_update", "usage_update", "available_commands_update"} <= kinds, kinds
        print("ok   acp-python: a turn with a question and an edit")
        turn = asyncio.create_task(agent.prompt(session_id=session, prompt=program({"wait": 20})))
        await asyncio.sleep(0.5)
        await agent.cancel(session_id=session)
        assert (await asyncio.wait_for(turn, 2)).stop_reason == "cancelled"
        print("ok   acp-python: a cancel")
        await agent.set_session_mode(session_id=session, mode_id="read-only")
        loaded = await agent.load_session(session_id=session, cwd=str(work), mcp_servers=[])
        assert loaded.modes.current_mode_id == "read-only", loaded
        print("ok   acp-python: mode and load")


asyncio.run(asyncio.wait_for(main(), 60))
