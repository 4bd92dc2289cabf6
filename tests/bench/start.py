#!/usr/bin/env python3
"""How long an agent takes from its start to the first generating request, how much memory it
needs, and how large that request is, against a server on loopback that answers at once.

usage: start.py [--runs N] [NAME=COMMAND ...]

Without commands: this project's release binary. Each COMMAND is a shell line in which {port} is
the server's port; it gets an empty home in $HOME. All commands are measured in one run, in turn,
and shown beside the first as a ratio.
"""
import http.server, json, os, pathlib, statistics, subprocess, sys, tempfile, threading, time

ROOT = pathlib.Path(__file__).resolve().parents[2]
GENERATING = ("/v1/chat/completions", "/v1/responses", "/v1/messages", "/api/chat")
OURS = (f"{ROOT}/target/release/interpreter exec --skip-git-repo-check --harness qwen-code -m mock "
        "-c model_provider=mock -c model_providers.mock.base_url=http://127.0.0.1:{port}/v1 hi")
seen = []


class Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, kind, body):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        body = {"/props": {"build_info": "bench", "total_slots": 1, "default_generation_settings": {"n_ctx": 32768}}}.get(self.path.split("?")[0])
        models = {"object": "list", "data": [{"id": "mock", "owned_by": "llamacpp", "meta": {"n_ctx": 32768, "n_ctx_train": 32768}}]}
        self.answer("application/json", json.dumps(body or models).encode())

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.split("?")[0]
        if path not in GENERATING:
            return self.answer("application/json", b"{}")
        seen.append((time.perf_counter(), len(raw)))
        chunk = lambda delta, finish: "data: " + json.dumps({"id": "c", "object": "chat.completion.chunk", "model": "mock", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}) + "\n\n"
        if path == "/v1/responses":
            message = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": "hello", "annotations": []}]}
            done = {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": [message], "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}}}
            events = [{"type": "response.created", "response": {"id": "r"}}, {"type": "response.output_item.done", "output_index": 0, "item": message}, done]
            body = "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events)
        else:
            body = chunk({"role": "assistant", "content": "hello"}, None) + chunk({}, "stop") + "data: [DONE]\n\n"
        self.answer("text/event-stream", body.encode())


def peak_memory(pid, found):
    """The most memory so far, in MB, until the process is gone. `ru_maxrss` would count what Python
    held when it forked."""
    try:
        while True:
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
            line = next((l for l in status.splitlines() if l.startswith("VmHWM")), None)
            if line is None:
                return
            found.append(int(line.split()[1]) / 1024)
            time.sleep(0.002)
    except OSError:
        return


def measure(command, port):
    with tempfile.TemporaryDirectory() as home:
        work = pathlib.Path(home, "work")
        work.mkdir()
        seen.clear()
        env = dict(os.environ, HOME=home, INTERPRETER_HOME=home + "/i", CODEX_HOME=home + "/c")
        began = time.perf_counter()
        child = subprocess.Popen(["/bin/sh", "-c", "exec " + command.format(port=port)], cwd=work, env=env,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        found = [0]
        watcher = threading.Thread(target=peak_memory, args=(child.pid, found))
        watcher.start()
        err = child.stderr.read()
        _, status, usage = os.wait4(child.pid, 0)
        watcher.join()
        if not seen:
            sys.exit(f"no request came from: {command}\n{err.decode(errors='replace')}")
        return (seen[0][0] - began) * 1000, max(found), seen[0][1], (usage.ru_utime + usage.ru_stime) * 1000


def main():
    words = sys.argv[1:]
    runs = int(words[words.index("--runs") + 1]) if "--runs" in words else 15
    named = [w.split("=", 1) for w in words if "=" in w] or [["interpreter", OURS]]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"{'agent':16}{'first request':>15}{'peak memory':>14}{'request':>11}{'CPU':>9}   ratio of times")
    first = None
    for name, command in named:
        rows = [measure(command, server.server_address[1]) for _ in range(runs)]
        start, memory, size, cpu = (statistics.median(column) for column in zip(*rows))
        first = first or start
        print(f"{name:16}{start:12.1f} ms{memory:11.1f} MB{size / 1000:8.1f} kB{cpu:6.0f} ms   {start / first:.1f}")


main()
