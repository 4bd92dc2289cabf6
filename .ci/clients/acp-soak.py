#!/usr/bin/env python3
"""Four sessions of one agent at work for a while, with calls, cancels and reopenings: nothing may be lost, cross, come
late or stay behind, and the memory stays flat.

usage: acp-soak.py BINARY PORT SCRATCH SECONDS
"""
import json, os, pathlib, queue, random, subprocess, sys, threading, time

BINARY, PORT, SCRATCH, SECONDS = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), float(sys.argv[4])
SESSIONS = 4
# Memory may grow by so much between the first third and the last, in kB: conversations grow, until they are closed.
GROWTH = 12_000
CONFIG = f"""
model = "mock"
model_provider = "mock"
harness = "qwen-code"
model_context_window = 32768
approval_policy = "never"
harness_guidance = false
[model_providers.mock]
name = "mock"
base_url = "http://127.0.0.1:{PORT}/v1"
wire_api = "chat"
"""


class Agent:
    def __init__(self):
        self.home, self.work = SCRATCH / "home", SCRATCH / "work"
        self.home.mkdir(), self.work.mkdir()
        (self.home / "config.toml").write_text(CONFIG)
        env = {"PATH": os.environ["PATH"], "HOME": str(SCRATCH), "INTERPRETER_HOME": str(self.home), "SHELL": "/bin/bash"}
        self.process = subprocess.Popen([BINARY, "acp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        self.lock, self.last, self.answers, self.told = threading.Lock(), 0, {}, {}
        self.faults = []
        threading.Thread(target=self.read, daemon=True).start()
        self.ask("initialize", {"protocolVersion": 1, "clientCapabilities": {}})

    def read(self):
        for line in self.process.stdout:
            message = json.loads(line)
            if "method" in message:
                params = message["params"]
                inbox = self.told.get(params["sessionId"])
                if inbox is None:
                    self.faults.append(f"an update of a session that is not open: {message}")
                else:
                    inbox.append(params["update"])
            else:
                # What comes behind the answer to session/new is of a session that is known.
                session = (message.get("result") or {}).get("sessionId")
                if session:
                    self.told[session] = []
                self.answers.pop(message["id"]).put(message)

    def write(self, message):
        with self.lock:
            self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            self.process.stdin.flush()

    def send(self, method, params):
        with self.lock:
            self.last += 1
            name, inbox = self.last, queue.Queue()
            self.answers[name] = inbox
        self.write({"id": name, "method": method, "params": params})
        return inbox

    def ask(self, method, params, limit=30):
        answer = self.send(method, params).get(timeout=limit)
        if "error" in answer:
            raise AssertionError(f"{method}: {answer['error']}")
        return answer["result"]

    def memory(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])


class Session(threading.Thread):
    def __init__(self, agent, number, end):
        super().__init__(daemon=True)
        self.agent, self.number, self.end = agent, number, end
        self.random = random.Random(number)
        self.turns = self.cancels = self.opened = 0
        self.fault = None

    def run(self):
        try:
            while time.time() < self.end:
                self.life()
        except Exception as error:  # the main thread tells it
            self.fault = f"session {self.number}, turn {self.turns}: {error!r}"

    def life(self):
        """A session from its beginning to its end, in some turns."""
        agent = self.agent
        session = agent.ask("session/new", {"cwd": str(agent.work), "mcpServers": []})["sessionId"]
        self.opened += 1
        for _ in range(self.random.randint(3, 12)):
            if time.time() > self.end:
                break
            self.turn(session)
        agent.ask("session/close", {"sessionId": session})
        agent.told.pop(session)

    def turn(self, session):
        self.turns += 1
        mark = f"mark-{self.number}-{self.turns}"
        inbox = self.agent.told[session]
        inbox.clear()
        cancel = self.random.random() < 0.3
        steps = [{"call": ["run_shell_command", {"command": f"seq 1 40; echo {mark}", "description": "x"}]} for _ in range(self.random.randint(0, 2))]
        if cancel:
            steps.append(self.random.choice([{"wait": 30}, {"call": ["run_shell_command", {"command": f"echo {mark}; sleep 30", "description": "x"}]}, {"say": " ".join(f"{mark}-{n}" for n in range(500)), "gap": 0.02}]))
        steps.append({"say": f"{mark} is done.", "gap": 0.002})
        prompt = [{"type": "text", "text": f"Do this. PROGRAM {json.dumps(steps)}"}]
        answer = self.agent.send("session/prompt", {"sessionId": session, "prompt": prompt})
        if cancel:
            time.sleep(self.random.random() * 0.5)
            began = time.time()
            self.agent.write({"method": "session/cancel", "params": {"sessionId": session}})
        result = answer.get(timeout=40)
        assert "result" in result, result
        count = len(inbox)
        reason = result["result"]["stopReason"]
        text = "".join(u["content"]["text"] for u in inbox if u["sessionUpdate"] == "agent_message_chunk")
        if cancel:
            self.cancels += 1
            took = time.time() - began
            assert reason == "cancelled", reason
            assert took < 3, f"a cancel took {took:.1f} s"
        else:
            assert reason == "end_turn", reason
            assert text == f"{mark} is done.", text
        calls = {}
        for update in inbox:
            if "toolCallId" in update:
                calls[update["toolCallId"]] = update.get("status", calls.get(update["toolCallId"]))
        assert all(status in ("completed", "failed") for status in calls.values()), calls
        if not cancel:
            assert len(calls) == len(steps) - 1, f"{len(calls)} calls of {len(steps) - 1}"
        others = json.dumps(inbox)
        for other in range(SESSIONS):
            assert other == self.number or f"mark-{other}-" not in others, f"an update of session {other}"
        time.sleep(0.01)
        assert len(inbox) == count, f"late: {inbox[count:]}"


def main():
    agent = Agent()
    end = time.time() + SECONDS
    sessions = [Session(agent, n, end) for n in range(SESSIONS)]
    for session in sessions:
        session.start()
    memory = []
    while any(s.is_alive() for s in sessions):
        time.sleep(0.5)
        memory.append(agent.memory())
        if agent.process.poll() is not None:
            raise SystemExit("FAIL acp-soak: the agent ended")
    faults = [s.fault for s in sessions if s.fault] + agent.faults[:5]
    children = subprocess.run(["ps", "--ppid", str(agent.process.pid), "-o", "args="], capture_output=True, text=True).stdout
    if children.strip():
        faults.append(f"left behind: {children}")
    third = max(1, len(memory) // 3)
    early, late = max(memory[:third]), max(memory[-third:])
    if late > early + GROWTH:
        faults.append(f"memory grew from {early} to {late} kB")
    agent.process.stdin.close()
    if agent.process.wait(timeout=5) != 0:
        faults.append("the agent did not end well")
    turns, cancels, opened = (sum(getattr(s, key) for s in sessions) for key in ("turns", "cancels", "opened"))
    numbers = f"{turns} turns, {cancels} cancels, {opened} sessions in {SECONDS:.0f} s, memory {early} to {late} kB"
    for fault in faults:
        print(f"FAIL acp-soak: {fault}")
    if not faults:
        print(f"ok   acp-soak: {numbers}")
    sys.exit(1 if faults else 0)


main()
