"""The scripted model server of the benches: Chat Completions and Responses, streamed, on loopback, at once.

A script is a function from the number of the step to a reply: a text, or (text, kind, what), where kind is what the
agent shall do: command LINE, read FILE, search WORD, or edit (FILE, OLD, NEW). The call is put into the words of the tools that the
request offers, so that one script fits any agent; what an agent has no tool for goes to its shell.
"""
import http.server, json, pathlib, threading, time

GENERATING = ("/v1/chat/completions", "/v1/responses")
FILE_KEYS = ("file_path", "filePath", "absolute_path", "path")
OLD_NEW = {"old_string": "new_string", "oldString": "newString", "oldText": "newText"}
PIECE = 4096


def processes(root):
    """The process and all below it."""
    found, open_ = [], [root]
    while open_:
        pid = open_.pop()
        found.append(pid)
        try:
            for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
                open_ += [int(child) for child in (task / "children").read_text().split()]
        except OSError:
            pass
    return found


def cpu_seconds(root):
    """What the processes that now live have used, in seconds: ended threads count, ended children do not."""
    total = 0.0
    for pid in processes(root):
        try:
            # The CPU clock of another process, as clock_getcpuclockid(3) makes it.
            total += time.clock_gettime((~pid << 3) | 2)
        except OSError:
            pass
    return total


def memory_mb(root, field="VmRSS"):
    """The memory of a process in MB: `VmRSS` now, `VmHWM` at most so far. Of several processes the sum of now, in which
    what they share counts once."""
    pids = processes(root)
    if len(pids) > 1:
        return sum(kilobytes(f"/proc/{pid}/smaps_rollup", "Pss") for pid in pids) / 1024
    return kilobytes(f"/proc/{root}/status", field) / 1024


def kilobytes(file, field):
    try:
        return int(pathlib.Path(file).read_text().split(f"\n{field}:")[1].split()[0])
    except (OSError, IndexError):
        return 0


class Seen:
    """One request, as it came."""

    def __init__(self, generating, at, size, tools, root):
        self.generating, self.at, self.size, self.tools, self.answered = generating, at, size, tools, None
        self.cpu, self.memory = (cpu_seconds(root), memory_mb(root)) if root else (None, None)


class Server:
    def __init__(self, window=4_000_000, model="mock"):
        self.window, self.root, self.script = window, None, lambda step: "hello"
        self.forget()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *_):
                pass

            def do_GET(self):
                outer.seen.append(Seen(False, time.perf_counter(), 0, 0, None))
                props = {"build_info": "bench", "total_slots": 1, "default_generation_settings": {"n_ctx": outer.window}}
                meta = {"n_ctx": outer.window, "n_ctx_train": outer.window}
                models = {"object": "list", "data": [{"id": model, "object": "model", "owned_by": "llamacpp", "meta": meta}]}
                if self.path.startswith("/props"):
                    self.answer("application/json", [json.dumps(props).encode()])
                elif self.path.startswith("/v1/models"):
                    self.answer("application/json", [json.dumps(models).encode()])
                else:
                    self.send_response(404)
                    self.send_header("content-length", "0")
                    self.end_headers()

            def do_POST(self):
                raw = self.rfile.read(int(self.headers.get("content-length") or 0))
                at, path = time.perf_counter(), self.path.split("?")[0]
                if path not in GENERATING:
                    outer.seen.append(Seen(False, at, len(raw), 0, None))
                    return self.answer("application/json", [b"{}"])
                body = json.loads(raw)
                tools = offered(body)
                seen = Seen(True, at, len(raw), len(tools), outer.root)
                outer.seen.append(seen)
                reply = outer.reply(tools)
                events = responses if path.endswith("responses") else chat
                self.answer("text/event-stream" if body.get("stream") else "application/json",
                            events(reply, len(raw) // 4, outer.steps, body.get("stream")))
                seen.answered = time.perf_counter()

            def answer(self, kind, parts):
                body = b"".join(parts)
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
                self.wfile.flush()

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def forget(self):
        self.seen, self.steps = [], 0

    def reply(self, tools):
        """The next step; a request without tools is no step (a title, say)."""
        if not tools:
            return "a title", None, None
        step = self.script(self.steps)
        self.steps += 1
        if isinstance(step, str):
            return step, None, None
        text, kind, what = step
        return text, *call(kind, what, tools)

    def turns(self):
        """The requests of the main conversation."""
        return [seen for seen in self.seen if seen.tools]


def offered(body):
    found = []
    for tool in body.get("tools") or []:
        tool = tool.get("function") or tool
        if tool.get("name"):
            found.append((tool["name"], (tool.get("parameters") or {}).get("properties") or {}, (tool.get("parameters") or {}).get("required") or []))
    return found


def call(kind, what, tools):
    """Name and arguments of a call that does it, in the words of these tools."""
    for name, properties, required in tools:
        arguments, low = None, name.lower()
        file = next((key for key in FILE_KEYS if key in properties), None)
        if kind == "read" and file and "read" in low:
            arguments = {file: what}
        elif kind == "search" and "pattern" in properties and ("grep" in low or "search" in low):
            arguments = {"pattern": what}
        elif kind == "edit" and file:
            old = next((key for key in OLD_NEW if key in properties), None)
            if old:
                arguments = {file: what[0], old: what[1], OLD_NEW[old]: what[2]}
            elif "edits" in properties:
                arguments = {file: what[0], "edits": [{"oldText": what[1], "newText": what[2]}]}
        elif kind == "command":
            key = next((key for key in ("command", "cmd") if key in properties and "session_id" not in required), None)
            if key:
                arguments = {key: ["bash", "-c", what] if properties[key].get("type") == "array" else what}
        if arguments is not None:
            fill = {"string": "now", "boolean": False, "integer": 60000, "number": 60000}
            for key in required:
                arguments.setdefault(key, fill.get(properties[key].get("type"), "now"))
            return name, json.dumps(arguments)
    if kind == "command":
        raise SystemExit(f"there is no tool for commands among {[name for name, *_ in tools]}")
    if kind == "edit":
        path, old, new = what
        if any(name == "exec_command" or name == "shell" or name == "shell_command" for name, *_ in tools):
            line = f"apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: {path}\n@@\n-{old}\n+{new}\n*** End Patch\nEOF"
        else:
            line = f"sed -i 's/{old}/{new}/' {path}"
    else:
        line = f"cat {what}" if kind == "read" else f"grep -rn {what} ."
    return call("command", line, tools)


def pieces(text):
    return [text[at:at + PIECE] for at in range(0, len(text), PIECE)]


def chat(reply, tokens, step, stream):
    text, name, arguments = reply
    usage = {"prompt_tokens": tokens, "completion_tokens": 10, "total_tokens": tokens + 10}
    calls = [{"index": 0, "id": f"call_{step}", "type": "function", "function": {"name": name, "arguments": arguments}}] if name else []
    finish = "tool_calls" if name else "stop"
    if not stream:
        message = {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}
        return [json.dumps({"id": "c", "object": "chat.completion", "created": 1, "model": "mock", "usage": usage,
                            "choices": [{"index": 0, "message": message, "finish_reason": finish}]}).encode()]

    def chunk(delta, finish=None, **more):
        choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
        return b"data: " + json.dumps({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "mock", "choices": choices, **more}).encode() + b"\n\n"

    return [chunk({"role": "assistant", "content": ""}), *[chunk({"content": piece}) for piece in pieces(text)],
            *[chunk({"tool_calls": [one]}) for one in calls], chunk({}, finish),
            chunk({}, None, usage=usage).replace(json.dumps([{"index": 0, "delta": {}, "finish_reason": None}]).encode(), b"[]"), b"data: [DONE]\n\n"]


def responses(reply, tokens, step, stream):
    text, name, arguments = reply
    usage = {"input_tokens": tokens, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 10,
             "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": tokens + 10}
    items = []
    if text:
        items.append({"type": "message", "id": f"m{step}", "role": "assistant", "status": "completed",
                      "content": [{"type": "output_text", "text": text, "annotations": []}]})
    if name:
        items.append({"type": "function_call", "id": f"f{step}", "call_id": f"call_{step}", "name": name, "arguments": arguments, "status": "completed"})
    whole = {"id": f"r{step}", "object": "response", "status": "completed", "model": "mock", "output": items, "usage": usage}
    if not stream:
        return [json.dumps(whole).encode()]
    events = [{"type": "response.created", "response": {**whole, "status": "in_progress", "output": [], "usage": None}}]
    for at, item in enumerate(items):
        events.append({"type": "response.output_item.added", "output_index": at, "item": {**item, "status": "in_progress", **({"content": []} if item["type"] == "message" else {"arguments": ""})}})
        if item["type"] == "message":
            events += [{"type": "response.output_text.delta", "item_id": item["id"], "output_index": at, "content_index": 0, "delta": piece} for piece in pieces(text)]
        events.append({"type": "response.output_item.done", "output_index": at, "item": item})
    events.append({"type": "response.completed", "response": whole})
    return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events]
