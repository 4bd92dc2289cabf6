#!/usr/bin/env python3
"""Whether an interactive session stays smooth and small: how long a key takes to be seen while a
reply streams at 200 tokens a second, and how much memory the session needs after many turns.

usage: session.py [--turns N] [BINARY]

Without BINARY: this project's release binary. Fails when a key takes 10 ms or more (the median; the
slowest of a hundred is told, too), or when the memory is above 40 MB.
"""
import argparse, http.server, json, os, pathlib, pty, select, shutil, statistics, sys, tempfile, threading, time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOKENS_A_SECOND = 200
STREAMED = 8 * TOKENS_A_SECOND
MOST_SECONDS, MOST_MB = 0.010, 40


class Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, body):
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        props = {"build_info": "bench", "total_slots": 1, "default_generation_settings": {"n_ctx": 131072}}
        models = {"object": "list", "data": [{"id": "mock", "owned_by": "llamacpp", "meta": {"n_ctx": 131072, "n_ctx_train": 131072}}]}
        self.answer(json.dumps(props if self.path.startswith("/props") else models).encode())

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        if not self.path.endswith("/chat/completions"):
            return self.answer(b"{}")
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        last = json.dumps(body["messages"][-1])
        words = STREAMED if "stream" in last else 20
        for at in range(words):
            self.chunk({"content": f"word{at} " if at % 12 else f"word{at}.\n\n"}, None)
            if words == STREAMED:
                time.sleep(1 / TOKENS_A_SECOND)
        self.chunk({}, "stop")
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def chunk(self, delta, finish):
        data = {"id": "c", "object": "chat.completion.chunk", "model": "mock", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
        self.wfile.write(b"data: " + json.dumps(data).encode() + b"\n\n")
        self.wfile.flush()


class Session:
    """The binary in a terminal of 80 columns."""

    def __init__(self, binary, port):
        self.home = tempfile.mkdtemp()
        os.mkdir(f"{self.home}/ws")
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(f"{self.home}/ws")
            os.environ.update(HOME=self.home, INTERPRETER_HOME=f"{self.home}/home", TERM="xterm")
            os.execv(binary, [binary, "--harness", "qwen-code", "-m", "mock", "-c", "model_provider=mock",
                              "-c", f"model_providers.mock.base_url=http://127.0.0.1:{port}/v1"])
        self.seen = b""

    def read(self, wait):
        if select.select([self.terminal], [], [], wait)[0]:
            self.seen += os.read(self.terminal, 65536)

    def wait_for(self, mark, limit=60):
        end = time.monotonic() + limit
        while mark not in self.seen:
            if time.monotonic() > end:
                sys.exit(f"{mark!r} was not seen: {self.seen[-2000:]!r}")
            self.read(0.05)
        self.seen = self.seen.split(mark, 1)[1]

    def types(self, text):
        os.write(self.terminal, text.encode())

    def memory(self):
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    def end(self):
        self.types("/exit\r")
        os.waitpid(self.pid, 0)
        shutil.rmtree(self.home, ignore_errors=True)


def typing(session):
    session.types("stream\r")
    session.wait_for(b"word5")
    typed, times = "", []
    for at in range(100):
        key = "abcdefghij"[at % 10]
        typed = (typed + key)[-6:]
        began = time.perf_counter()
        session.seen = b""
        session.types(key)
        # What is typed stands at the end of the line, where no earlier key can be taken for it.
        while typed.encode() + b"\x1b[?7h" not in session.seen:
            session.read(0.001)
            if time.perf_counter() - began > 2:
                sys.exit(f"the key {key} was not seen: {session.seen[-500:]!r}")
        times.append(time.perf_counter() - began)
        time.sleep(0.03)
    session.types("\x15")
    session.wait_for(b"1 request")
    return times


def main():
    flags = argparse.ArgumentParser()
    flags.add_argument("--turns", type=int, default=500)
    flags.add_argument("binary", nargs="?", default=str(ROOT / "target/release/interpreter"))
    flags = flags.parse_args()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    session = Session(os.path.abspath(flags.binary), server.server_address[1])
    session.wait_for("› ".encode())
    times = typing(session)
    slowest, median = max(times), statistics.median(times)
    print(f"a key while {TOKENS_A_SECOND} tokens a second stream: {median * 1e3:.1f} ms, the slowest {slowest * 1e3:.1f} ms")
    for turn in range(flags.turns):
        session.wait_for(b"\x1b[?2004h")
        session.types(f"turn {turn}\r")
        session.wait_for(b"1 request")
    memory = session.memory()
    print(f"memory after {flags.turns} turns: {memory:.1f} MB")
    session.end()
    sys.exit(median >= MOST_SECONDS or memory > MOST_MB)


if __name__ == "__main__":
    main()
