#!/usr/bin/env python3
"""What the fence adds to a command: sandbox_cost.py [RUNS] [OTHER-PROGRAM ...]
Times `true`, bare and through `$INTERPRETER sandbox` (default: target/release/interpreter), in turn, and prints medians.
OTHER is another program's command prefix to compare with, for example: codex sandbox linux --"""
import os, pathlib, statistics, subprocess, sys, tempfile, time
RUNS = int((sys.argv[1:] or [50])[0])
ME = os.path.abspath(os.environ.get("INTERPRETER", pathlib.Path(__file__).parents[2] / "target/release/interpreter"))
FORMS = {"bare": [], "started, not fenced": [ME, "sandbox", "--sandbox", "danger-full-access", "--"],
         "read-only": [ME, "sandbox", "--sandbox", "read-only", "--"],
         "workspace-write": [ME, "sandbox", "--sandbox", "workspace-write", "--"]}
if sys.argv[2:]:
    FORMS["other"] = sys.argv[2:]
with tempfile.TemporaryDirectory() as folder:
    work, home = os.path.join(folder, "work"), os.path.join(folder, "home")
    os.mkdir(work), os.mkdir(home)
    env = {**os.environ, "INTERPRETER_HOME": home}
    times = {name: [] for name in FORMS}
    for turn in range(RUNS + 3):
        for name, prefix in FORMS.items():
            began = time.perf_counter()
            done = subprocess.run([*prefix, "/bin/true"], cwd=work, env=env, stdin=subprocess.DEVNULL, capture_output=True)
            took = (time.perf_counter() - began) * 1000
            if done.returncode != 0:
                sys.exit(f"{name}: {done.stderr.decode(errors='replace')}")
            if turn >= 3:
                times[name].append(took)
    middle = {name: statistics.median(all) for name, all in times.items()}
    for name, ms in middle.items():
        print(f"{name:20} median {ms:6.1f} ms   least {min(times[name]):6.1f} ms")
    ours = middle["workspace-write"]
    print(f"added to a bare command: {ours - middle['bare']:.1f} ms; of it the fence: {ours - middle['started, not fenced']:.1f} ms")
    if "other" in middle:
        print(f"ratio to the other: {ours / middle['other']:.2f}")
