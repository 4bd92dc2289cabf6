"""A scripted MCP server, on standard streams or with --http as streamable HTTP.

    mcp_server.py LOG [OPTION]...

Each message that comes is a line of LOG: {"got": message}, and each HTTP request one more:
{"http": method, "headers": {...}}. Options:

    --noise          print a banner and JSON that is no message before and between messages
    --pages          one tool a page
    --many N         N more tools
    --hang           write boom-77 to standard error and answer nothing
    --late FILE      answer `initialize` once that file is there
    --stateless      know the revision 2026-07-28 only
    --chatty         write a megabyte to standard error
    --evil           put escape sequences into every word for people
    --child          start a child that sleeps for ten minutes
    --http PORTFILE  serve HTTP on a free port, which is written to that file
    --sse            answer calls with a stream: a priming event, progress, the answer
    --standing       have a standing stream, on which all that is no answer goes
    --breaks         end the first stream before its answer, which then comes by GET
    --forgets        forget the session before the second call
    --token T        want this bearer token
"""
import json
import os
import subprocess
import sys
import threading
import time

args = sys.argv[1:]
log_path = args.pop(0)


def option(name, many=False):
    if name not in args:
        return None if many else False
    return args[args.index(name) + 1] if many else True


MANY = int(option("--many", True) or 0)
LOCK = threading.Lock()
tools_added = []
cancelled = set()
waiting = {}
state = {"initialized": False, "calls": 0, "asks": {}}

if option("--child"):
    child = subprocess.Popen(["sleep", "600"])
    with open(log_path + ".pids", "w") as f:
        f.write(f"{os.getpid()} {child.pid}")


def log(entry):
    with LOCK, open(log_path, "a") as f:
        f.write(json.dumps(entry) + "\n")


def tool(name, properties=None, read_only=False, **more):
    schema = {"type": "object", "properties": properties or {}}
    result = {"name": name, "description": f"The tool {name}.", "inputSchema": schema, **more}
    if read_only:
        result["annotations"] = {"readOnlyHint": True}
    return result


EVIL = "a\u001b[31mred\u001b[2J\u001b]0;evil\u0007\u001b]52;c;ZXZpbA==\u0007\u009b5m\b\u202ec"


def evil_tools():
    number = {"type": "number", "description": EVIL}
    return [{"name": EVIL, "title": EVIL, "description": EVIL, "inputSchema": {"type": "object", "properties": {EVIL: number}}},
            {"name": "form", "description": EVIL, "inputSchema": {"type": "object"}, "annotations": {"title": EVIL}},
            {"name": "fail", "description": EVIL, "inputSchema": {"type": "object"}},
            {"name": "wrong", "description": EVIL, "inputSchema": {"type": "object"}}]


def evil_call(name, message, send):
    meta = message["params"].get("_meta", {})
    if "progressToken" in meta:
        send({"jsonrpc": "2.0", "method": "notifications/progress",
              "params": {"progressToken": meta["progressToken"], "progress": 1, "message": EVIL}})
        time.sleep(0.3)
    if name == "form":
        request("elicitation/create", {"message": EVIL, "requestedSchema": {"type": "object", "properties": {
            EVIL: {"type": "string", "title": EVIL, "description": EVIL, "enum": [EVIL, "b"], "enumNames": [EVIL, "b"], "default": EVIL},
            "t": {"type": "string", "default": EVIL, "format": EVIL}}}}, send)
    if name == "wrong":
        raise ValueError(EVIL)
    return text(EVIL, isError=name == "fail")


def tools():
    if option("--evil"):
        return evil_tools()
    number = {"type": "number"}
    listed = [
        tool("ping", read_only=True),
        tool("add", {"a": number, "b": number}, True),
        tool("odd.name/x", read_only=True),
        tool("touch", {"path": {"type": "string"}}),
        tool("picture", read_only=True),
        tool("big", read_only=True),
        tool("fail", read_only=True),
        tool("slow", {"seconds": number}, True),
        tool("change", read_only=True),
        tool("ask", {"form": {"type": "object"}}, True),
        tool("ask_on", read_only=True),
        tool("die", {"n": number}, True),
        tool("environment", read_only=True),
        tool("task_only", execution={"taskSupport": "required"}),
        {"name": "union", "annotations": {"readOnlyHint": True}, "inputSchema": {"anyOf": [
            {"type": "object", "properties": {"x": {"$ref": "#/$defs/X"}}},
            {"type": "object", "properties": {"y": {"type": ["string", "null"], "pattern": "(?=a)"}}}],
            "$defs": {"X": {"type": "integer"}}}},
        {"no": "name"}, 7, {"name": "no_schema", "inputSchema": None},
    ]
    listed += [tool(f"many_{n}", {f"p{k}": {"type": "string", "description": "A parameter of some length, to take room."}
                                  for k in range(6)}, True) for n in range(MANY)]
    return listed + tools_added


def text(words, **more):
    return {"content": [{"type": "text", "text": words}], **more}


def call(message, send):
    params = message["params"]
    name, arguments, meta = params["name"], params.get("arguments"), params.get("_meta", {})
    state["calls"] += 1
    if option("--evil"):
        return evil_call(name, message, send)
    if name == "ping":
        return text("pong")
    if name == "add":
        total = arguments["a"] + arguments["b"]
        return text(f"the sum is {total}", structuredContent={"total": total}, _meta={"took": 7})
    if name == "odd.name/x":
        return text("odd indeed")
    if name == "touch":
        open(arguments["path"], "w").close()
        return text("touched")
    if name == "picture":
        data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
        return {"content": [{"type": "image", "data": data, "mimeType": "image/png"},
                            {"type": "resource_link", "uri": "demo://1", "name": "one"}]}
    if name == "big":
        return text("\n".join(f"line {n} \u001b[31m" for n in range(40000)))
    if name == "fail":
        return text("it went wrong", isError=True)
    if name == "slow":
        end = time.time() + arguments["seconds"]
        step = 0
        while time.time() < end and message["id"] not in cancelled:
            if "progressToken" in meta:
                step += 1
                send({"jsonrpc": "2.0", "method": "notifications/progress",
                      "params": {"progressToken": meta["progressToken"], "progress": step, "message": "working"}})
            time.sleep(0.1)
        return None if message["id"] in cancelled else text("slow but done")
    if name == "change":
        tools_added.append(tool("added", read_only=True))
        send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        return text("changed")
    if name == "ask" and option("--stateless"):
        # It asks in its answer, and wants its own words back with those of the client.
        if "inputResponses" not in params:
            form = {"type": "object", "properties": {"colour": {"type": "string", "enum": ["red", "blue"]}}, "required": ["colour"]}
            return {"resultType": "input_required", "requestState": "state-81", "inputRequests": {
                "who": {"method": "elicitation/create", "params": {"message": "Which colour?", "requestedSchema": form}},
                "where": {"method": "roots/list", "params": {}}}}
        return text(f"state {params['requestState']}, answer: " + json.dumps(params["inputResponses"]))
    if name == "ask_on":
        return {"resultType": "input_required", "requestState": "again", "inputRequests": {"a": {"method": "ping"}}}
    if name == "ask":
        colour = {"message": "Which colour?", "requestedSchema": {"type": "object", "properties": {
            "colour": {"type": "string", "enum": ["red", "blue"]}}, "required": ["colour"]}}
        answer = request("elicitation/create", arguments.get("form") or colour, send)
        return text("answer: " + json.dumps(answer))
    if name == "die":
        print("oh no, I die-42", file=sys.stderr, flush=True)
        os._exit(3)
    if name == "environment":
        return text(json.dumps(dict(os.environ)))
    if name == "added" or name.startswith("many_"):
        return text(f"this is {name}")
    raise ValueError(f"no tool {name}")


def request(method, params, send):
    """Asks the client and waits for its answer."""
    event, key = threading.Event(), f"s{len(state['asks'])}"
    state["asks"][key] = [event, None]
    send({"jsonrpc": "2.0", "id": key, "method": method, "params": params})
    event.wait(20)
    return state["asks"][key][1]


def handle(message, send):
    log({"got": message})
    method, id = message.get("method"), message.get("id")
    if method is None:
        ask = state["asks"].get(id)
        if ask:
            ask[1] = message.get("result", message.get("error"))
            ask[0].set()
        return
    if method == "notifications/cancelled":
        cancelled.add(message["params"]["requestId"])
    if id is None:
        return
    result = error = None
    try:
        if method == "initialize":
            if option("--stateless"):
                error = {"code": -32022, "message": "unsupported version", "data": {"supported": ["2026-07-28"]}}
            else:
                while option("--late", True) and not os.path.exists(option("--late", True)):
                    time.sleep(0.05)
                result = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {"listChanged": True}},
                          "serverInfo": {"name": "scripted", "version": "1"}, "instructions": "Be gentle with zebra-11."}
                if option("--evil"):
                    result |= {"serverInfo": {"name": EVIL, "title": EVIL, "version": EVIL}, "instructions": EVIL}
        elif method == "server/discover" and option("--stateless"):
            result = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "serverInfo": {"name": "modern", "version": "2"}}
        elif method == "ping":
            result = {}
        elif method == "tools/list":
            listed = tools()
            if option("--pages"):
                at = int(message["params"].get("cursor", 0))
                result = {"tools": listed[at:at + 1]}
                if at + 1 < len(listed):
                    result["nextCursor"] = str(at + 1)
            else:
                result = {"tools": listed}
        elif method == "tools/call":
            result = call(message, send)
            if result is None:
                return
        else:
            error = {"code": -32601, "message": "no such method"}
    except Exception as e:
        error = {"code": -32602, "message": EVIL if option("--evil") else repr(e)}
    if option("--stateless") and result is not None:
        result.setdefault("resultType", "complete")
    send({"jsonrpc": "2.0", "id": id, **({"error": error} if error else {"result": result})})


def stdio():
    out = threading.Lock()

    def send(message):
        with out:
            if option("--noise"):
                sys.stdout.write("DEBUG sending\r\n42\n")
            sys.stdout.write(json.dumps(message) + "\n")
            sys.stdout.flush()

    if option("--noise"):
        print("> scripted@1 start\n\nListening...", flush=True)
    if option("--evil"):
        print(EVIL, file=sys.stderr, flush=True)
    if option("--hang"):
        if option("--evil"):
            sys.exit(3)
        print("boom-77", file=sys.stderr, flush=True)
        time.sleep(600)
    if option("--chatty"):
        threading.Thread(target=lambda: sys.stderr.write("chat " * 200_000), daemon=True).start()
    for line in sys.stdin:
        message = json.loads(line)
        threading.Thread(target=handle, args=(message, send), daemon=True).start()


def http():
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    sessions, late, standing = set(), {}, []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def answer(self, status, body=b"", kind="application/json", headers=()):
            self.send_response(status)
            if body:
                self.send_header("Content-Type", kind)
            for name, value in headers:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def begin_stream(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream; charset=utf-8")
            self.send_header("Connection", "close")
            self.end_headers()
            self.close_connection = True

        def event(self, message, id=None):
            data = json.dumps(message)
            head = f"id: {id}\n" if id else ""
            # Cut in the middle of a line.
            whole = f"{head}event: message\ndata: {data}\n\n".encode()
            for piece in (whole[:20], whole[20:]):
                self.wfile.write(piece)
                self.wfile.flush()

        def note(self):
            log({"http": self.command, "headers": {k.lower(): v for k, v in self.headers.items()}})
            token, sent = option("--token", True), self.headers.get("Authorization")
            if token and sent != f"Bearer {token}":
                why = 'error="invalid_token", error_description="The token has expired", ' if sent else ""
                challenge = f'Bearer {why}resource_metadata="http://127.0.0.1/.well-known/oauth-protected-resource"'
                self.answer(401, b'{"error": "who are you"}', headers=[("WWW-Authenticate", challenge)])
                return False
            return True

        def do_DELETE(self):
            self.note()
            self.answer(405)

        def do_GET(self):
            if not self.note():
                return
            if option("--standing"):
                self.begin_stream()
                sent = 0
                while True:
                    while sent < len(standing):
                        self.event(standing[sent])
                        sent += 1
                    time.sleep(0.05)
            last = self.headers.get("Last-Event-ID")
            if last not in late:
                return self.answer(405)
            self.begin_stream()
            self.event(late.pop(last))

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if not self.note():
                return
            message = json.loads(body)
            method = message.get("method")
            session = self.headers.get("MCP-Session-Id")
            if option("--stateless"):
                pass
            elif method == "initialize":
                session = f"session-{len(sessions)}"
                sessions.add(session)
            elif session not in sessions:
                return self.answer(404, b'{"error": "unknown session"}')
            if option("--forgets") and method == "tools/call" and state["calls"] == 1:
                sessions.clear()
                sessions.add("none")
                state["calls"] = 2
                return self.answer(404, b"gone")
            found = []
            if message.get("id") is None or method is None:
                handle(message, found.append)
                return self.answer(202)
            if option("--sse") and method == "tools/call":
                self.begin_stream()
                self.wfile.write(b": hello\nid: 7\nretry: 300\ndata:\n\n")
                self.wfile.flush()
                if option("--breaks") and state["calls"] == 0:
                    handle(message, found.append)
                    late["7"] = found[-1]
                    return
                return handle(message, self.event)
            handle(message, found.append)
            standing.extend(found[:-1])
            headers = [("mcp-session-id", session)] if method == "initialize" and session else []
            self.answer(200, json.dumps(found[-1]).encode(), "application/json; charset=utf-8", headers)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    port_file = option("--http", True)
    with open(port_file + ".new", "w") as f:
        f.write(str(server.server_address[1]))
    os.rename(port_file + ".new", port_file)
    server.serve_forever()


if option("--http", True):
    http()
else:
    stdio()
