#!/usr/bin/env python3
"""Runs the binary against a real llama.cpp server and real small models.

usage: real-peers.py short        wires, cache and overflow on the 135M model; the main job on the 1.5B coder, done at
                                  least once in twelve tries in each of two harnesses (a model of that size wavers)
       real-peers.py long [N]     the main job N times (default 3) in each harness on the 1.5B coder, done in most of them;
                                  a session of 15 turns that reads from the cache; an overflow of a small window

Prints a line a check; exits with 1 if one fails. Needs target/release/interpreter.
"""
import json, os, pathlib, re, subprocess, sys, tempfile, time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = ROOT / "target/release/interpreter"
MODELS = ROOT / ".ci/real-model.sh"
PORT = 18431
CODER_HARNESSES = ("qwen-code", "minimal", "mini-swe-agent")
# Where every run has its folders; gone at the end, whatever happens.
SCRATCH = tempfile.TemporaryDirectory(prefix="real-peers-")
BASE_URL = f'model_providers.llamacpp.base_url="http://127.0.0.1:{PORT}/v1"'
failures = 0


def check(name, ok, detail=""):
    global failures
    failures += not ok
    print(f"{'ok  ' if ok else 'FAIL'} {name}{': ' + detail if detail else ''}", flush=True)


class Server:
    def __init__(self, model, template, window):
        self.args = [str(MODELS), "start", str(PORT), model, template, str(window)]

    def __enter__(self):
        subprocess.run([str(MODELS), "stop", str(PORT)], check=False)
        subprocess.run(self.args, check=True, stdout=subprocess.DEVNULL)

    def __exit__(self, *_):
        subprocess.run([str(MODELS), "stop", str(PORT)], check=False)
        time.sleep(1)


def interpreter(args, home, work, limit=900, **stdin):
    """Runs the binary to its end; one that takes too long is killed and counts as exit code -1."""
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "INTERPRETER_HOME": str(home / "i"), "SHELL": "/bin/bash"}
    began = time.time()
    try:
        done = subprocess.run([str(BINARY), *args], text=True, capture_output=True, cwd=work, env=env, timeout=limit, **stdin)
    except subprocess.TimeoutExpired as late:
        said = late.stderr or ""  # bytes in spite of text=True, in some versions
        said = said.decode(errors="replace") if isinstance(said, bytes) else said
        done = subprocess.CompletedProcess(late.cmd, -1, "", f"{said}\nkilled after {limit} s")
    done.seconds = time.time() - began
    return done


def agent(args, task):
    """The task, piped in, in a fresh folder with a fresh home; gives both, and the finished process."""
    home, work = (pathlib.Path(tempfile.mkdtemp(dir=SCRATCH.name)) for _ in range(2))
    return home, work, interpreter(["--oss", "--local-provider", "llamacpp", "-c", BASE_URL, *args], home, work, input=task)


def counts(home):
    """(prompt, cached, output) tokens of each request, by the server's own numbers, from the one session file."""
    rows = []
    for file in home.glob("i/sessions/*/*/*/*.jsonl"):
        for line in file.read_text().splitlines():
            try:
                payload = json.loads(line).get("payload") or {}
            except ValueError:
                continue  # torn, in the file of a run that was killed
            if payload.get("type") == "token_count":
                last = payload["info"]["last_token_usage"]
                rows.append((last["input_tokens"], last["cached_input_tokens"], last["output_tokens"]))
    return rows


def cache_share(rows):
    """The least share of the previous prompt that came from the cache; None with fewer than two requests."""
    return min((cached / before for (before, _, _), (_, cached, _) in zip(rows, rows[1:]) if before), default=None)


def percent(share):
    # Above 100 %: the reply before was read from the cache as well.
    return "nothing to compare" if share is None else f"at least {share:.1%} of the previous prompt"


def wires():
    with Server("small", "xml", 8192):
        for wire in ("chat", "responses", "messages"):
            wired = ["-c", f'model_providers.llamacpp.wire_api="{wire}"']
            for _ in range(8):
                home, work, done = agent([*wired, "-c", "sampling.temperature=0", "-c", "max_steps=3", "--harness", "minimal"], "Say hello.")
                rows = counts(home)
                if rows:
                    break
            # Sense is not to be had from it. The prompt shows that the tools arrived.
            check(f"the 135M model answers on {wire}", done.returncode in (0, 1) and bool(rows) and rows[0][0] > 300 and rows[0][2] > 0,
                  f"exit {done.returncode}, tokens {rows}" + ("" if rows else "\n" + done.stderr))
            # A reply that repeats itself is cut, and the server tells no counts of it: so it is asked again.
            for _ in range(8):
                again = interpreter(["exec", "--skip-git-repo-check", "-c", BASE_URL, *wired, "resume", "--last", "Say hello."],
                                    home, work, stdin=subprocess.DEVNULL)
                if len(counts(home)) > len(rows):
                    break
            share = cache_share(counts(home))
            check(f"a resumed session reads from the cache on {wire}", share is not None and share >= 0.95,
                  percent(share) + ("" if share is not None else "\n" + again.stderr))
    with Server("small", "xml", 2048):
        home, _, done = agent(["--harness", "native", "--size", "full"], "Say hello.")
        # The first sentence about it is a warning, the last one the error.
        why = next((line for line in reversed(done.stderr.splitlines()) if "2048" in line and "warning" not in line), None)
        check("a prompt above the real window is never sent", done.returncode == 1 and why is not None and not counts(home), why or done.stderr)


def main_job(harness):
    """One run of the main job: done or not, the least cached share, and the numbers in words."""
    home, work, done = agent(["--harness", harness, "-c", "max_steps=12"],
                             "Create hello.py that prints hello, then run it.")
    rows = counts(home)
    made = work / "hello.py"
    prints = made.exists() and subprocess.run(["python3", str(made)], capture_output=True, text=True, timeout=30).stdout.lower().startswith("hello")
    # The line of a command in the progress, the command being the model's.
    ran = re.search(r"^• run .*(python3? |\./)\S*hello\.py", done.stderr, re.MULTILINE) is not None
    share = cache_share(rows)
    detail = (f"exit {done.returncode}, file {'right' if prints else 'missing or wrong'}, {'run' if ran else 'not run'}, {len(rows)} requests, "
              f"prompt {[r[0] for r in rows]}, cached {[r[1] for r in rows]} ({percent(share)}), output {[r[2] for r in rows]}, {done.seconds:.0f} s")
    return prints and ran and done.returncode == 0, share, detail, done


def main_jobs(harnesses, runs, wanted):
    """Runs the main job up to so many times in each harness, until it was done as often as wanted."""
    with Server("coder", "plain", 16384):
        for harness in harnesses:
            good, tries, shares = 0, 0, []
            while tries < runs and good < wanted:
                ok, share, detail, done = main_job(harness)
                print(f"     {harness}: {'done' if ok else 'not done'}, {detail}", flush=True)
                if not ok:
                    print("\n".join("       | " + line for line in done.stderr.splitlines()[-25:]), flush=True)
                good, tries = good + ok, tries + 1
                shares += [share] if share is not None else []
            check(f"the main job in {harness} on the 1.5B coder", good >= wanted, f"done in {good} of {tries} runs")
            check(f"the cache is used in {harness}", bool(shares) and min(shares) >= 0.95, percent(min(shares, default=None)))


def lines(home, kind):
    """The payloads of that kind in the one session file."""
    found = []
    for file in home.glob("i/sessions/*/*/*/*.jsonl"):
        for line in file.read_text().splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if record.get("type") == kind:
                found.append(record.get("payload") or {})
    return found


def long_session(harness, turns=15):
    """A conversation of so many turns, each in a process of its own: every prompt begins with the one before. The last
    request of a step limit has no tools, so a turn gets more steps than it needs."""
    with Server("coder", "plain", 32768):
        home, work, done = agent(["--harness", harness, "-c", "max_steps=8"], "Create the file n1.txt with the single line 1.")
        for turn in range(2, turns + 1):
            done = interpreter(["exec", "--skip-git-repo-check", "-c", BASE_URL, "-c", "max_steps=8", "resume", "--last",
                                f"Now create the file n{turn}.txt with the single line {turn}."], home, work, stdin=subprocess.DEVNULL)
        rows, share = counts(home), cache_share(counts(home))
        made = len(list(work.glob("n*.txt")))
        check(f"{turns} turns in {harness} read from the cache", len(rows) >= turns and share is not None and share >= 0.95,
              f"{len(rows)} requests, last prompt {rows[-1][0] if rows else 0}, {percent(share)}, {made} files made, last exit {done.returncode}")


def overflow(harness, window=4096):
    """More to read than fits, in several turns: it is made room for and goes on; the server never cuts a prompt."""
    files = (("a", "apple"), ("b", "banana"), ("c", "cherry"), ("d", "date"), ("e", "elder"), ("f", "fig"))
    with Server("coder", "plain", window):
        home, work = (pathlib.Path(tempfile.mkdtemp(dir=SCRATCH.name)) for _ in range(2))
        for name, word in files:
            (work / f"{name}.txt").write_text(f"The code word is {word}.\n" + "".join(f"{name} line {n} of a long report\n" for n in range(90)))
        flags = ["--skip-git-repo-check", "-c", BASE_URL, "-c", "max_steps=3"]
        first = ["exec", *flags, "--oss", "--local-provider", "llamacpp", "--harness", harness]
        ends = []
        for turn, (name, _) in enumerate(files):
            task = f"Run this command: cat {name}.txt"
            call = [*first, task] if turn == 0 else ["exec", *flags, "resume", "--last", task]
            done = interpreter(call, home, work, stdin=subprocess.DEVNULL)
            ends.append(done.returncode)
        done = interpreter(["exec", *flags, "resume", "--last", "Run this command: echo finished > done.txt"], home, work, stdin=subprocess.DEVNULL)
        ends.append(done.returncode)
        rows, elided, compacted = counts(home), len(lines(home, "elided")), len(lines(home, "compacted"))
        last = (done.stderr.strip().splitlines() or [""])[-1]
        fits = bool(rows) and max(r[0] + r[2] for r in rows) <= window
        went_on = (work / "done.txt").exists()
        check(f"an overflow of {window} tokens in {harness} ends in room or in a sentence",
              fits and elided + compacted > 0 and (went_on or 1 in ends),
              f"{len(rows)} requests, {elided} elisions, {compacted} summaries, prompts {[r[0] for r in rows]}, exits {ends}, "
              f"the last task is {'done' if went_on else 'not done'}, last line: {last}")


def main():
    if not BINARY.exists():
        sys.exit("target/release/interpreter is missing: run `cargo build --release` first")
    mode = sys.argv[1] if len(sys.argv) > 1 else "short"
    if mode == "short":
        wires()
        main_jobs(("qwen-code", "mini-swe-agent"), 12, 1)
    elif mode == "long":
        runs = int(sys.argv[2]) if len(sys.argv) > 2 else 3
        main_jobs(CODER_HARNESSES, runs, runs // 2 + 1)
        long_session("mini-swe-agent")
        overflow("mini-swe-agent")
        overflow("minimal")
    else:
        sys.exit(__doc__)
    sys.exit(1 if failures else 0)


main()
