#!/usr/bin/env bash
# acpx, a client of the Agent Client Protocol for scripts, against model.py.
# usage: acpx.sh BINARY MODULES PORT SCRATCH
set -euo pipefail
binary=$1 modules=$2 port=$3 scratch=$4
mkdir -p "$scratch/home" "$scratch/work"
cat > "$scratch/home/config.toml" <<END
model = "mock"
model_provider = "mock"
harness = "qwen-code"
model_context_window = 32768
harness_guidance = false
[model_providers.mock]
name = "mock"
base_url = "http://127.0.0.1:$port/v1"
wire_api = "chat"
END
cd "$scratch/work"
export HOME=$scratch INTERPRETER_HOME=$scratch/home
task='Do this. PROGRAM [{"call": ["run_shell_command", {"command": "echo made > made.txt", "description": "x"}]}, {"say": "All is done."}]'
said=$(node "$modules/acpx/dist/cli.js" --approve-all --agent "$binary acp" exec "$task" 2>&1) || { echo "FAIL acpx: $said"; exit 1; }
grep -q "All is done." <<<"$said" || { echo "FAIL acpx: no answer in $said"; exit 1; }
[ "$(cat made.txt)" = made ] || { echo "FAIL acpx: the command did not run: $said"; exit 1; }
echo "ok   acpx: a task with a command"
