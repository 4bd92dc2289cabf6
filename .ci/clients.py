#!/usr/bin/env python3
"""Drives the binary with real clients against a scripted model: the SDK of Codex, and editors.

usage: clients.py short | long [MINUTES]      short: every check, a soak of half a minute; long: a soak of 10 minutes

Prints a line a check; exits with 1 if one fails. $CLIENT names the ones to run, such as "acp-sdk acp-schema". Needs target/release/interpreter (or the file that $INTERPRETER names),
node 18 or later with npm, and Python with venv. The clients are installed once into ~/.cache/interpreter-clients.
"""
import json, os, pathlib, shutil, subprocess, sys, tempfile, time, venv

ROOT = pathlib.Path(__file__).resolve().parent.parent
HERE = ROOT / ".ci/clients"
BINARY = pathlib.Path(os.environ.get("INTERPRETER") or ROOT / "target/release/interpreter").resolve()
CACHE = pathlib.Path.home() / ".cache/interpreter-clients"
# The SDK of Codex brings a binary of 300 MB as an optional package, which is left out.
NPM = ["@openai/codex-sdk@0.163.0", "@agentclientprotocol/sdk@2.4.0", "acpx@0.1.15"]
PYPI = ["agent-client-protocol==0.12.1", "jsonschema==4.26.0"]


# What the model says in the example, which brings no program of its own.
ANSWERS = ['{"purpose": "to try things", "languages": ["Rust"]}', "The README."]


def install():
    """The clients, unless exactly these are there already."""
    wanted = "\n".join(NPM + PYPI)
    mark = CACHE / "installed"
    if mark.exists() and mark.read_text() == wanted:
        return
    CACHE.mkdir(parents=True, exist_ok=True)
    npm = ["npm", "install", "--prefix", str(CACHE), "--omit=optional", "--ignore-scripts", "--no-audit", "--no-fund", *NPM]
    subprocess.run(npm, check=True)
    venv.create(CACHE / "venv", with_pip=True)
    subprocess.run([str(CACHE / "venv/bin/pip"), "install", "--quiet", *PYPI], check=True)
    mark.write_text(wanted)


class Model:
    """The scripted model server."""

    def __init__(self, scratch):
        self.port_file, self.log = scratch / "port", scratch / "requests.jsonl"

    def __enter__(self):
        env = {**os.environ, "ANSWERS": json.dumps(ANSWERS)}
        command = [sys.executable, str(HERE / "model.py"), str(self.port_file), str(self.log)]
        self.process = subprocess.Popen(command, env=env)
        end = time.time() + 20
        while not self.port_file.exists():
            if time.time() > end or self.process.poll() is not None:
                raise SystemExit("the scripted model does not start")
            time.sleep(0.02)
        self.port = self.port_file.read_text()
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def run(name, command, limit):
    """One client, to its end. True when all of its checks hold."""
    with tempfile.TemporaryDirectory(prefix=f"{name}-") as scratch, Model(pathlib.Path(scratch)) as model:
        line = command(model, scratch)
        try:
            code = subprocess.run([str(word) for word in line], timeout=limit, stdin=subprocess.DEVNULL).returncode
        except subprocess.TimeoutExpired:
            print(f"FAIL {name}: killed after {limit} s")
            return False
    if code != 0:
        print(f"FAIL {name}: exit code {code}")
    return code == 0


def example(model, scratch, modules):
    """The example of the SDK in a folder that has the package."""
    scratch = pathlib.Path(scratch)
    shutil.copy(ROOT / "examples/sdk/summary.mjs", scratch)
    (scratch / "node_modules").symlink_to(modules)
    (scratch / "home").mkdir()
    (scratch / "home/config.toml").write_text(
        'model = "mock"\nmodel_provider = "mock"\n[model_providers.mock]\nname = "mock"\nwire_api = "responses"\n'
        f'base_url = "http://127.0.0.1:{model.port}/v1"\n'
    )
    os.environ.update(INTERPRETER=str(BINARY), INTERPRETER_HOME=str(scratch / "home"))
    return ["node", scratch / "summary.mjs", scratch]


def main():
    if len(sys.argv) < 2 or sys.argv[1] not in ("short", "long"):
        raise SystemExit(__doc__)
    if not BINARY.exists():
        raise SystemExit(f"{BINARY} is not there; build it first")
    install()
    modules = CACHE / "node_modules"
    python = CACHE / "venv/bin/python"
    record = tempfile.NamedTemporaryFile(prefix="acp-record-")
    schema = modules / "@agentclientprotocol/sdk/schema/v1/schema.json"
    seconds = 30 if sys.argv[1] == "short" else 60 * float(sys.argv[2] if len(sys.argv) > 2 else 10)
    checks = {
        "codex-sdk": (lambda m, s: ["node", HERE / "codex-sdk.mjs", BINARY, modules, m.port, m.log, s], 180),
        "sdk-example": (lambda m, s: example(m, s, modules), 90),
        "acp-sdk": (lambda m, s: ["node", HERE / "acp-sdk.mjs", BINARY, modules, m.port, s, record.name], 180),
        "acp-schema": (lambda m, s: [python, HERE / "acp-schema.py", schema, record.name], 60),
        "acp-python": (lambda m, s: [python, HERE / "acp-python.py", BINARY, m.port, s], 90),
        "acpx": (lambda m, s: [HERE / "acpx.sh", BINARY, modules, m.port, s], 90),
        "acp-soak": (lambda m, s: [sys.executable, HERE / "acp-soak.py", BINARY, m.port, s, seconds], seconds + 60),
    }
    # The schema is held against what the SDK recorded before it.
    only = os.environ.get("CLIENT", "").split()
    good = [run(name, *check) for name, check in checks.items() if not only or name in only]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
