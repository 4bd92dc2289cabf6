# A PreToolUse hook: no command may push by force. What the hook reads is one JSON object; its
# tool_input holds the command. Exit code 2 blocks, and the model reads the reason.
if grep -Eq '"command": ?"[^"]*git push[^"]*(--force|-f( |"))'; then
    echo "pushing by force is not allowed; push to a new branch instead" >&2
    exit 2
fi
