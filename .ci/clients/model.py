#!/usr/bin/env python3
"""A model server on loopback that does what the task tells it, for checks with real clients.

usage: model.py PORT_FILE [LOG]       serves until it is killed; writes its port, and each request as a line of JSON

The newest message of the user that holds a line `PROGRAM [...]` is the program: a JSON list of steps, of which each
reply takes the next one, so that many sessions can run at once without meeting. After its last step it says `done`.
A conversation without a program gets the first text of $ANSWERS where a JSON Schema is asked for, else the second.

  {"say": "text"}               answers; with "think" it thinks first; "gap": 0.1 waits between the words
  {"call": ["tool", {...}]}     calls a tool
  {"wait": 5}                   says nothing for so long, then `late`
  {"status": 400, "error": ""}  fails

It speaks Chat Completions and Responses, both as streams.
"""
import http.server, json, os, pathlib, select, socket, sys, threading, time

LOCK = threading.Lock()


def texts(value):
    """All texts in a message."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(texts(v) for v in value)
    return texts(value.get("text") or value.get("content") or "") if isinstance(value, dict) else ""


def step(body):
    """The step that this request asks for."""
    program, at, newest = None, 0, ""
    for item in body.get("messages") or body.get("input") or []:
        kind, role = item.get("type", "message"), item.get("role")
        newest = texts(item) if role == "user" else newest
        if role == "user" and "PROGRAM [" in texts(item):
            text = texts(item)
            program, _ = json.JSONDecoder().raw_decode(text[text.rindex("PROGRAM [") + len("PROGRAM "):])
            at = 0
        elif role == "assistant" or kind in ("function_call", "custom_tool_call"):
            at += 1
    if program is None:
        schema, other = json.loads(os.environ.get("ANSWERS", '["done", "done"]'))
        return {"say": schema if "JSON Schema" in newest else other}
    return dict(program[at]) if at < len(program) else {"say": "done"}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    log = None

    def log_message(self, *_):
        pass

    def plain(self, status, value):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        if self.path.split("?")[0].endswith("/v1/models"):
            names = ["mock", "other"]
            return self.plain(200, {"object": "list", "data": [{"id": n, "object": "model"} for n in names]})
        self.plain(404, {"error": {"message": "not here"}})

    def do_POST(self):
        data = self.rfile.read(int(self.headers.get("content-length") or 0))
        body = json.loads(data or b"{}")
        if self.log:
            with LOCK, open(self.log, "a") as out:
                headers = {k.lower(): v for k, v in self.headers.items()}
                out.write(json.dumps({"path": self.path, "headers": headers, "body": body}) + "\n")
        wire = {"/v1/chat/completions": self.chat, "/v1/responses": self.respond}.get(self.path.split("?")[0])
        if not wire:
            return self.plain(404, {"error": {"message": "not here"}})
        now = step(body)
        if "status" in now:
            return self.plain(now["status"], {"error": {"message": now.get("error", "scripted"), "type": "invalid_request_error"}})
        # As many tokens as a real one would count, or the agent takes the prompt for cut.
        now["read"] = len(data) // 4
        try:
            if "wait" in now:
                self.sleep(now["wait"])
                now = {"say": "late", "read": now["read"]}
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.end_headers()
            wire(now)
        except (BrokenPipeError, ConnectionResetError):
            pass
        self.close_connection = True

    def sleep(self, seconds):
        """Waits, unless the client leaves."""
        end = time.time() + seconds
        while time.time() < end:
            if select.select([self.connection], [], [], min(0.1, max(0, end - time.time())))[0]:
                if not self.connection.recv(1, socket.MSG_PEEK):
                    raise ConnectionResetError

    def send(self, value):
        name = f"event: {value['type']}\n" if "type" in value else ""
        self.wfile.write(f"{name}data: {json.dumps(value)}\n\n".encode())
        self.wfile.flush()

    def words(self, now):
        for word in now.get("say", "").split(" "):
            yield word
            if now.get("gap"):
                self.sleep(now["gap"])

    def chat(self, now):
        def delta(part, finish=None):
            self.send({"id": "c", "object": "chat.completion.chunk", "model": "mock", "choices": [{"index": 0, "delta": part, "finish_reason": finish}]})

        delta({"role": "assistant"})
        if "think" in now:
            delta({"reasoning_content": now["think"]})
        if "say" in now:
            for at, word in enumerate(self.words(now)):
                delta({"content": (" " if at else "") + word})
        if "call" in now:
            name, arguments = now["call"]
            call = {"index": 0, "id": "call_0", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            delta({"tool_calls": [call]})
        delta({}, "tool_calls" if "call" in now else "stop")
        usage = {"prompt_tokens": now["read"], "completion_tokens": 10, "total_tokens": now["read"] + 10}
        self.send({"id": "c", "object": "chat.completion.chunk", "model": "mock", "choices": [], "usage": usage})
        self.wfile.write(b"data: [DONE]\n\n")

    def respond(self, now):
        self.send({"type": "response.created", "response": {"id": "r", "status": "in_progress"}})
        output = []
        if "think" in now:
            part = {"type": "summary_text", "text": now["think"]}
            thought = {"type": "reasoning", "id": "rs", "summary": [part]}
            self.send({"type": "response.output_item.added", "output_index": 0, "item": {**thought, "summary": []}})
            self.send({"type": "response.reasoning_summary_text.delta", "item_id": "rs", "output_index": 0, "summary_index": 0, "delta": now["think"]})
            self.send({"type": "response.output_item.done", "output_index": 0, "item": thought})
            output.append(thought)
        if "say" in now:
            message = {"type": "message", "id": "m", "role": "assistant", "status": "in_progress", "content": []}
            self.send({"type": "response.output_item.added", "output_index": len(output), "item": message})
            for at, word in enumerate(self.words(now)):
                text = (" " if at else "") + word
                self.send({"type": "response.output_text.delta", "item_id": "m", "output_index": len(output), "content_index": 0, "delta": text})
            done = {**message, "status": "completed", "content": [{"type": "output_text", "text": now["say"], "annotations": []}]}
            self.send({"type": "response.output_item.done", "output_index": len(output), "item": done})
            output.append(done)
        if "call" in now:
            name, arguments = now["call"]
            call = {"type": "function_call", "id": "f", "call_id": f"call_{time.monotonic_ns()}", "name": name, "arguments": json.dumps(arguments), "status": "completed"}
            self.send({"type": "response.output_item.added", "output_index": len(output), "item": call})
            self.send({"type": "response.output_item.done", "output_index": len(output), "item": call})
            output.append(call)
        usage = {"input_tokens": now["read"], "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 10, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": now["read"] + 10}
        self.send({"type": "response.completed", "response": {"id": "r", "status": "completed", "output": output, "usage": usage}})


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


def main():
    Handler.log = sys.argv[2] if len(sys.argv) > 2 else None
    server = Server(("127.0.0.1", 0), Handler)
    part = pathlib.Path(sys.argv[1] + ".part")
    part.write_text(str(server.server_address[1]))
    part.rename(sys.argv[1])
    server.serve_forever()


main()
