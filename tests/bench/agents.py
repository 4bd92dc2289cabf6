#!/usr/bin/env python3
"""Agents beside each other, against one scripted server on loopback that answers at once.

usage: agents.py [FLAGS] [NAME=COMMAND ...]

Measures, in one run, and as ratios to the first:
  start    start to the first generating request, requests before it, its size, peak memory, CPU
  turn     own wall time and CPU of a turn that runs a command, and of one that reads a file
  growth   own CPU of a turn at one size of the request, late in a long session and early in one with long texts; memory
  tree     in a folder of a million lines: start, a search, an edit
  resume   this project's binary alone: a session file of 100 MB

COMMAND is a shell line that ends where the prompt is to follow; {port} in it is the server's port, $HOME an empty home. NAME=PROGRAM alone
does for the names codex, qwen, opencode and pi. What an agent needs in its home is made by NAME.setup=COMMAND before it starts.
"""
import argparse, os, pathlib, random, shlex, statistics, subprocess, sys, tempfile, threading, time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
OURS = ("{program} exec --skip-git-repo-check --harness qwen-code -m mock -c model_provider=mock "
        "-c model_providers.mock.base_url=http://127.0.0.1:{port}/v1")
# How an agent is told of the server, and to run without questions: its setup and its command.
KNOWN = {
    "codex": ("mkdir -p $HOME/.codex",
              "{program} exec --skip-git-repo-check --sandbox workspace-write -m mock -c model_provider=mock "
              "-c 'model_providers.mock={name=\"mock\",base_url=\"http://127.0.0.1:{port}/v1\",wire_api=\"responses\"}'"),
    "qwen": ("mkdir -p $HOME/.qwen; echo '{\"telemetry\":{\"enabled\":false},\"privacy\":{\"usageStatisticsEnabled\":false},"
             "\"general\":{\"disableAutoUpdate\":true,\"enableAutoUpdate\":false},"
             "\"model\":{\"generationConfig\":{\"contextWindowSize\":4000000}}}' >$HOME/.qwen/settings.json",
             "{program} --yolo --auth-type openai --openai-api-key none --openai-base-url http://127.0.0.1:{port}/v1 --model mock -p"),
    "opencode": ("mkdir -p $HOME/.config/opencode; echo '{\"permission\":\"allow\",\"provider\":{\"mock\":{\"npm\":\"@ai-sdk/openai-compatible\",\"name\":\"mock\","
                 "\"options\":{\"baseURL\":\"http://127.0.0.1:{port}/v1\",\"apiKey\":\"none\"},"
                 "\"models\":{\"mock\":{\"name\":\"mock\",\"limit\":{\"context\":4000000,\"output\":8192}}}}}}' >$HOME/.config/opencode/opencode.json",
                 "{program} run -m mock/mock"),
    "pi": ("mkdir -p $HOME/.pi/agent; echo '{\"providers\":{\"mock\":{\"baseUrl\":\"http://127.0.0.1:{port}/v1\",\"api\":\"openai-completions\",\"apiKey\":\"none\","
           "\"models\":[{\"id\":\"mock\",\"contextWindow\":4000000,\"maxTokens\":8192}]}}}' >$HOME/.pi/agent/models.json",
           "{program} --offline --provider mock --model mock -p"),
}
# Nothing that they would look for in the network may cost them time here.
QUIET = {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "PI_OFFLINE": "1", "CI": "1"}
PARTS = ("start", "turn", "growth", "tree", "resume")
LIMIT = 1200
SYLLABLES = "ba co du el fi gar hon il jun ka lor men no op pre qui ran sol ter un ver wen yal zo".split()


class Agent:
    def __init__(self, name, command, setup):
        self.name, self.command, self.setup = name, command, setup


class Run:
    """One run of an agent to its end: what the server saw, and what it took."""

    def __init__(self, server, agent, home, work, script, prompt="hi", root=False, limit=LIMIT):
        server.forget()
        server.script = script
        env = {**os.environ, **QUIET, "HOME": home, "INTERPRETER_HOME": home + "/interpreter"}
        for key in ("CODEX_HOME", "OPENAI_API_KEY", "OPENAI_BASE_URL", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
            env.pop(key, None)
        line = "exec " + filled(agent.command, server.port) + " " + shlex.quote(prompt)
        began = time.perf_counter()
        child = subprocess.Popen(["/bin/sh", "-c", line], cwd=work, env=env, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
        server.root = child.pid if root else None
        self.peak = 0.0
        watcher = threading.Thread(target=self.watch, args=(child.pid,))
        killer = threading.Timer(limit, lambda: os.killpg(child.pid, 9))
        watcher.start(), killer.start()
        said = child.stderr.read()
        _, status, usage = os.wait4(child.pid, 0)
        self.wall = time.perf_counter() - began
        child.returncode = status
        killer.cancel(), watcher.join()
        self.cpu = usage.ru_utime + usage.ru_stime
        self.all, self.turns = server.seen, server.turns()
        generating = [at for at, seen in enumerate(self.all) if seen.generating]
        if not self.turns:
            sys.exit(f"no request came from {agent.name}: {line}\n{said.decode(errors='replace')[-3000:]}")
        self.first, self.before = self.all[generating[0]].at - began, generating[0]
        self.first_size = self.turns[0].size
        server.root = None
        self.said = said.decode(errors="replace")

    def watch(self, pid):
        """The most memory of all its processes at one time, in MB."""
        while True:
            now = mock.memory_mb(pid, "VmHWM")
            if not now:
                return
            self.peak = max(self.peak, now)
            time.sleep(0.002 if self.peak < 60 else 0.02)

    def gaps(self):
        """Own wall time of each turn, in seconds: from the answer to the next request."""
        return [after.at - before.answered for before, after in zip(self.turns, self.turns[1:])]


def filled(command, port):
    return command.replace("{port}", str(port))


def room(agent, server, files=0):
    """An empty home and a folder, with small files if some are asked for."""
    scratch = tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True)
    home, work = os.path.join(scratch.name, "home"), os.path.join(scratch.name, "work")
    os.mkdir(home), os.mkdir(work)
    if agent.setup:
        subprocess.run(["/bin/sh", "-c", filled(agent.setup, server.port)], env={**os.environ, "HOME": home}, check=True)
    for at in range(files):
        pathlib.Path(work, f"f{at}.txt").write_text("".join(f"line {at} {line} of a small file\n" for line in range(12)))
    return scratch, home, work


def steps(kind, count, what):
    """A script of so many calls, then an answer."""
    return lambda step: ("", kind, what(step)) if step < count else "done"


def prose(seed, size):
    """Text without repeats, which guards against loops would stop at; the same for the same seed."""
    dice, lines, length = random.Random(seed), [], 0
    while length < size:
        lines.append(" ".join(dice.choice(SYLLABLES) + dice.choice(SYLLABLES) for _ in range(12)) + ".")
        length += len(lines[-1]) + 1
    return "\n".join(lines)


def start(agent, server, flags):
    rows = []
    for _ in range(flags.runs):
        scratch, home, work = room(agent, server)
        with scratch:
            run = Run(server, agent, home, work, lambda step: "hello")
            rows.append((run.first * 1000, run.before, run.first_size / 1000, run.peak, run.cpu * 1000))
    names = ("first request, ms", "requests before it", "first request, kB", "peak memory, MB", "CPU of one answer, ms")
    return dict(zip(names, (statistics.median(column) for column in zip(*rows))))


def turn(agent, server, flags):
    found = {}
    for kind, what in (("command", lambda step: f"echo step {step}"), ("read", None)):
        scratch, home, work = room(agent, server, files=40)
        with scratch:
            run = Run(server, agent, home, work, steps(kind, 30, what or (lambda step: f"{work}/f{step}.txt")), root=True)
            check_turns(agent, run, 31)
            own = (run.turns[-1].cpu - run.turns[5].cpu) / (len(run.turns) - 6)
            found[f"turn, {kind}: wall, ms"] = statistics.median(run.gaps()[5:]) * 1000
            found[f"turn, {kind}: own CPU, ms"] = own * 1000
    return found


def check_turns(agent, run, wanted):
    if len(run.turns) < wanted:
        print(f"  ({agent.name} ended after {len(run.turns)} of {wanted} requests: {run.said[-300:]!r})", file=sys.stderr)


def growth(agent, server, flags):
    """A long session of small turns, and a short one whose texts make its tenth request as large."""
    count, late = flags.turns, 15
    scratch, home, work = room(agent, server, files=min(count, 1000))
    with scratch:
        script = steps("read", count, lambda step: f"{work}/f{step % 1000}.txt")
        long = Run(server, agent, home, work, script, root=True)
    check_turns(agent, long, count + 1)
    turns = long.turns
    if len(turns) < 60:
        return {"growth": None}
    size = turns[-1].size
    each = max(1, (size - turns[0].size) // 5)
    scratch, home, work = room(agent, server, files=40)
    with scratch:
        fat = lambda step: (prose(step, each) if step < 5 else "", "read", f"{work}/f{step}.txt") if step < 10 + late else "done"
        short = Run(server, agent, home, work, fat, root=True)
    check_turns(agent, short, 11 + late)
    of = lambda run, a, b: (run.turns[b].cpu - run.turns[a].cpu) / (b - a) * 1000
    last, tenth = of(long, -1 - late, -1), of(short, 10, 10 + late) if len(short.turns) > 10 + late else None
    grown = turns[-1].memory - turns[10].memory
    return {
        f"turn {count}: request, kB": size / 1000,
        f"turn {count}: own CPU, ms": last,
        "turn 10 at that size: own CPU, ms": tenth,
        "turn 10: request, kB": short.turns[min(10, len(short.turns) - 1)].size / 1000,
        "late / early": last / tenth if tenth else None,
        f"turn {count}: memory, MB": turns[-1].memory,
        "memory grown / request grown": grown * 1048576 / (size - turns[10].size),
        f"CPU of all {count} turns, s": turns[-1].cpu - turns[0].cpu,
    }


def tree(agent, server, flags):
    scratch, home, work = room(agent, server)
    with scratch:
        for folder in range(40):
            os.mkdir(f"{work}/d{folder}")
            for file in range(50):
                body = "".join(f"fn function_{folder}_{file}_{line}() {{ work({line}); }}\n" for line in range(500))
                pathlib.Path(work, f"d{folder}/m{file}.rs").write_text(body)
        pathlib.Path(work, "d17/m33.rs").open("a").write("fn the_needle() {}\n")
        whole = pathlib.Path(work, "big.txt")
        whole.write_text("".join(f"line {line} of a large file\n" for line in range(1_000_000)))
        calls = [("search", "the_needle"), ("search", "the_needl[e]"), ("read", f"{work}/d17/m33.rs"),
                 ("edit", (f"{work}/d17/m33.rs", "fn the_needle() {}", "fn the_thread() {}"))]
        script = lambda step: ("", *calls[step]) if step < len(calls) else "done"
        run = Run(server, agent, home, work, script)
        check_turns(agent, run, len(calls) + 1)
        edited = "the_thread" in pathlib.Path(work, "d17/m33.rs").read_text()
        gaps = [gap * 1000 for gap in run.gaps()] + [None] * len(calls)
    return {"large tree: first request, ms": run.first * 1000, "large tree: search, ms": gaps[1],
            "large tree: edit, ms": gaps[3] if edited else None, "large tree: whole run, ms": run.wall * 1000,
            "large tree: peak memory, MB": run.peak}


def resume(agent, server, flags):
    """A file of a session as it comes to be, with results that were put away and conversations that were summarised."""
    if agent.name != flags.first:
        return {}
    small = mock.Server(window=131_072)
    scratch, home, work = room(agent, small, files=40)
    with scratch:
        script = lambda step: (prose(step, 30_000), "read", f"{work}/f{step % 40}.txt") if step < flags.size * 23 else "done"
        made = Run(small, agent, home, work, script)
        files = sorted(pathlib.Path(home, "interpreter/sessions").rglob("*.jsonl"), key=lambda file: file.stat().st_size)
        again = Agent("resume", agent.command.replace(" exec ", " exec ", 1) + " resume --last", None)
        size = files[-1].stat().st_size / 1e6
        print(f"  (a session of {size:.0f} MB, made in {made.wall:.0f} s with {len(made.turns)} requests)", file=sys.stderr)
        runs = [Run(small, again, home, work, lambda step: "hello") for _ in range(3)]
    middle = sorted(runs, key=lambda run: run.first)[1]
    return {"resume: file, MB": size, "resume: first request, ms": middle.first * 1000, "resume: peak memory, MB": middle.peak,
            "resume: request, kB": middle.first_size / 1000}


def named(words, binary):
    agents, setups = [Agent("interpreter", OURS.replace("{program}", shlex.quote(binary)), None)], {}
    for word in words:
        name, command = word.split("=", 1)
        if name.endswith(".setup"):
            setups[name[:-6]] = command
        elif name in KNOWN and " " not in command:
            setup, line = KNOWN[name]
            agents.append(Agent(name, line.replace("{program}", shlex.quote(os.path.abspath(command))), setup))
        else:
            agents.append(Agent(name, command, None))
    for agent in agents:
        agent.setup = setups.get(agent.name, agent.setup)
    return agents


def shown(value):
    return "-" if value is None else f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--runs", type=int, default=9, help="starts of each agent (the median counts)")
    flags.add_argument("--turns", type=int, default=1000, help="turns of the long session")
    flags.add_argument("--size", type=int, default=100, help="MB of the session that is resumed")
    flags.add_argument("--only", default=",".join(PARTS), help="parts, with commas between")
    flags.add_argument("--binary", default=os.environ.get("INTERPRETER") or str(ROOT / "target/release/interpreter"))
    flags.add_argument("agents", nargs="*", metavar="NAME=COMMAND")
    flags = flags.parse_args()
    agents = named(flags.agents, os.path.abspath(flags.binary))
    flags.first = agents[0].name
    server = mock.Server()
    print(f"{'':46}" + "".join(f"{agent.name:>20}" for agent in agents), flush=True)
    for part in flags.only.split(","):
        found = [{} for _ in agents]
        for at, agent in enumerate(agents):
            began = time.perf_counter()
            found[at] = globals()[part](agent, server, flags)
            print(f"  ({part} of {agent.name}: {time.perf_counter() - began:.0f} s)", file=sys.stderr)
        for row in found[0]:
            first, cells = found[0][row], []
            for values in found:
                value = values.get(row)
                ratio = f" ({value / first:.1f}x)" if value is not None and first and values is not found[0] else ""
                cells.append(f"{shown(value) + ratio:>20}")
            print(f"{row:46}" + "".join(cells), flush=True)


if __name__ == "__main__":
    main()
