#!/usr/bin/env python3
"""The baseline of `harness bench`: a bare loop, one bash block a reply, on the same tasks.
First: interpreter harness bench --export DIR. Then: bare_loop.py URL DIR [RUNS] [TASK ...]
URL ends in /v1; $MODEL is its model if it has several. Commands run in `$INTERPRETER sandbox` (default: target/debug/interpreter)."""
import json, os, pathlib, re, shutil, subprocess, sys, tempfile, time, urllib.request, uuid
URL, DIR, RUNS, ONLY = sys.argv[1], pathlib.Path(sys.argv[2]), int((sys.argv[3:] or [3])[0]), sys.argv[4:]
AGENT = os.path.abspath(os.environ.get("INTERPRETER", pathlib.Path(__file__).parents[2] / "target/debug/interpreter"))
SYSTEM = ("You work in a folder on the user's machine. In each reply, say in one sentence what you do next, and give one command "
          "in a ```bash block. You get its output. When the task is done and checked, reply DONE without a block.")
def sh(line, cwd, limit=60):
    try:
        r = subprocess.run([AGENT, "sandbox", "-s", "workspace-write", "--", "bash", "-c", line], cwd=cwd, timeout=limit,
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        return r.returncode, r.stdout
    except subprocess.TimeoutExpired:
        return 124, "the command ran into its time limit"
def ask(messages, left):
    model = {"model": os.environ["MODEL"]} if "MODEL" in os.environ else {}
    body = json.dumps({**model, "messages": messages, "temperature": 0.2, "max_tokens": 1024}).encode()
    request = urllib.request.Request(URL + "/chat/completions", body, {"content-type": "application/json"})
    return json.load(urllib.request.urlopen(request, timeout=left))["choices"][0]["message"]["content"]
def attempt(task, cwd):
    messages, end = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": task["prompt"]}], time.time() + 600
    for step in range(20):
        try: reply = ask(messages, max(1, end - time.time()))
        except OSError: return step
        block = re.search(r"```(?:bash|sh)\n(.*?)```", reply, re.S)
        if not block and "DONE" in reply: return step
        code, out = sh(block[1], cwd) if block else (1, "Give one command in a ```bash block, or reply DONE.")
        messages += [{"role": "assistant", "content": reply}, {"role": "user", "content": f"exit code {code}\n{out[:2000]}"}]
    return 20
solved = tries = 0
for run in range(RUNS):
    for folder in sorted(p for p in DIR.iterdir() if not ONLY or p.name in ONLY):
        task, began, word = json.loads((folder / "task.json").read_text()), time.time(), uuid.uuid4().hex
        with tempfile.TemporaryDirectory() as cwd:
            shutil.copytree(folder / "files", cwd, dirs_exist_ok=True)
            steps, took = attempt(task, cwd), time.time() - began
            same = all((pathlib.Path(cwd) / k).is_file() and (pathlib.Path(cwd) / k).read_bytes() == (folder / "files" / k).read_bytes() for k in task["kept"])
            shutil.copytree(folder / "check", cwd, dirs_exist_ok=True)
            code, out = sh(f"{task['check']} {word}", cwd)
        good = same and code == 0 and out.rstrip().endswith(word)
        solved, tries = solved + good, tries + 1
        print(f"run {run + 1} {task['name']:15}{'solved' if good else '-':8}{steps:3} steps {took:6.0f} s", flush=True)
print(f"{solved} of {tries} solved")
