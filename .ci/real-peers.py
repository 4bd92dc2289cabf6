#!/usr/bin/env python3
"""Runs the binary against a real llama.cpp server and real small models.

usage: real-peers.py short        wires, cache and overflow on the 135M model; the main job once on the 1.5B coder
       real-peers.py long [N]     the main job N times (default 3) in each harness on the 1.5B coder

Prints a line a check; exits with 1 if one fails. Needs target/release/interpreter.
"""
import json, os, pathlib, shutil, subprocess, sys, tempfile, time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = ROOT / "target/release/interpreter"
MODELS = ROOT / ".ci/real-model.sh"
PORT = 18431
CODER_HARNESSES = ("qwen-code", "minimal", "mini-swe-agent")
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


def agent(args, task, files=None, home=None, limit=900):
    """One run in a fresh folder; gives the folder, the home, and the finished process."""
    home = home or tempfile.mkdtemp(prefix="peer-home-")
    work = tempfile.mkdtemp(prefix="peer-work-")
    for name, text in (files or {}).items():
        pathlib.Path(work, name).write_text(text)
    env = {"PATH": os.environ["PATH"], "HOME": home, "INTERPRETER_HOME": home + "/i", "SHELL": "/bin/bash"}
    base = ["-c", f'model_providers.llamacpp.base_url="http://127.0.0.1:{PORT}/v1"']
    began = time.time()
    done = subprocess.run([str(BINARY), "--oss", "--local-provider", "llamacpp", *base, *args], input=task, text=True,
                          capture_output=True, cwd=work, env=env, timeout=limit)
    done.seconds = time.time() - began
    return pathlib.Path(work), pathlib.Path(home, "i"), done


def counts(home):
    """(prompt, cached, output) tokens of each request, by the server's own numbers, from the newest session file."""
    files = sorted(home.glob("sessions/*/*/*/*.jsonl"))
    rows = []
    for line in files[-1].read_text().splitlines() if files else []:
        payload = json.loads(line).get("payload") or {}
        if payload.get("type") == "token_count":
            last = payload["info"]["last_token_usage"]
            rows.append((last["input_tokens"], last["cached_input_tokens"], last["output_tokens"]))
    return rows


def cache_share(rows):
    """The least share of the previous prompt that came from the cache."""
    return min((cached / before for (before, _, _), (_, cached, _) in zip(rows, rows[1:]) if before), default=1.0)


def wires():
    with Server("small", "plain", 8192):
        for wire in ("chat", "responses", "messages"):
            args = ["-c", f'model_providers.llamacpp.wire_api="{wire}"', "-c", "sampling.temperature=0", "--harness", "minimal"]
            work, home, done = agent(args, "Say hello.")
            rows = counts(home)
            check(f"the 135M model answers on {wire}", done.returncode in (0, 1) and bool(rows) and rows[0][0] > 100,
                  f"exit {done.returncode}, tokens {rows}" + ("" if rows else "\n" + done.stderr))
            again = subprocess.run([str(BINARY), "exec", "--skip-git-repo-check", "-c", f'model_providers.llamacpp.base_url="http://127.0.0.1:{PORT}/v1"',
                                    "-c", f'model_providers.llamacpp.wire_api="{wire}"', "resume", "--last", "Say it again."],
                                   text=True, capture_output=True, cwd=work, stdin=subprocess.DEVNULL,
                                   env={"PATH": os.environ["PATH"], "HOME": str(home.parent), "INTERPRETER_HOME": str(home), "SHELL": "/bin/bash"})
            rows = counts(home)
            check(f"a resumed session reads from the cache on {wire}", len(rows) > 1 and cache_share(rows) >= 0.95,
                  f"least share {cache_share(rows):.3f} of {len(rows)} requests" + ("" if len(rows) > 1 else "\n" + again.stderr))
    with Server("small", "plain", 2048):
        _, home, done = agent(["--harness", "native"], "word " * 3000)
        check("a prompt above the real window is never cut silently", done.returncode != 0 and "2048" in done.stderr and not counts(home),
              done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "no message")


def main_job(harness):
    work, home, done = agent(["--harness", harness, "-c", "sampling.temperature=0.2", "-c", "max_steps=12"],
                             "Create hello.py that prints hello, then run it.")
    rows = counts(home)
    made = work / "hello.py"
    ran = made.exists() and subprocess.run(["python3", str(made)], capture_output=True, text=True).stdout.strip().lower().startswith("hello")
    logged = any("hello.py" in line and "function_call" in line or "hello.py" in line and "assistant" in line
                 for f in home.glob("sessions/*/*/*/*.jsonl") for line in f.read_text().splitlines())
    detail = (f"exit {done.returncode}, {len(rows)} requests, prompt {[r[0] for r in rows]}, cached {[r[1] for r in rows]}, "
              f"output {[r[2] for r in rows]}, least cached share {cache_share(rows):.3f}, {done.seconds:.0f} s")
    return made.exists() and ran and logged and done.returncode == 0, cache_share(rows), detail, done


def main_jobs(harnesses, runs):
    with Server("coder", "plain", 16384):
        for harness in harnesses:
            good, share = 0, 1.0
            for _ in range(runs):
                ok, cached, detail, done = main_job(harness)
                print(f"     {harness}: {'done' if ok else 'not done'}, {detail}", flush=True)
                if not ok:
                    print("\n".join("       | " + line for line in done.stderr.splitlines()[-25:]), flush=True)
                good, share = good + ok, min(share, cached)
            check(f"the main job in {harness} on the 1.5B coder", good * 2 > runs, f"{good} of {runs} runs")
            check(f"the cache is used in {harness}", share >= 0.95, f"least share {share:.3f}")


def main():
    if not BINARY.exists():
        sys.exit("target/release/interpreter is missing: run `cargo build --release` first")
    mode = sys.argv[1] if len(sys.argv) > 1 else "short"
    if mode == "short":
        wires()
        main_jobs(("qwen-code",), 1)
    elif mode == "long":
        main_jobs(CODER_HARNESSES, int(sys.argv[2]) if len(sys.argv) > 2 else 3)
    else:
        sys.exit(__doc__)
    for folder in pathlib.Path(tempfile.gettempdir()).glob("peer-*"):
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(1 if failures else 0)


main()
