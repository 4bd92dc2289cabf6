#!/usr/bin/env python3
"""Holds a record of acp-sdk.mjs against the official schema, message by message, in both directions.

usage: acp-schema.py SCHEMA RECORD       needs the package jsonschema
"""
import json, sys
from jsonschema import Draft202012Validator

schema = json.load(open(sys.argv[1]))
defs = schema["$defs"]
# The definitions by method: of requests and notifications, and of their answers.
asked, answered = {}, {}
for name, definition in defs.items():
    method = definition.get("x-method")
    if method:
        (answered if name.endswith("Response") else asked).setdefault(method, name)


def validator(name):
    return Draft202012Validator({"$schema": "https://json-schema.org/draft/2020-12/schema", "$ref": f"#/$defs/{name}", "$defs": defs})


waiting = {"client": {}, "agent": {}}
seen, faults = {}, 0
for line in open(sys.argv[2]):
    entry = json.loads(line)
    side = entry["direction"]
    other = "agent" if side == "client" else "client"
    message = json.loads(entry["line"])
    assert message.get("jsonrpc") == "2.0", message
    if "method" in message:
        name, value = asked.get(message["method"]), message.get("params")
        if "id" in message:
            waiting[side][message["id"]] = message["method"]
    else:
        method = waiting[other].pop(message["id"], None)
        if "error" in message:
            name, value = "Error", message["error"]
        else:
            name, value = answered.get(method), message["result"]
        if method is None:
            print(f"FAIL acp-schema: an answer to nothing: {message}")
            faults += 1
    if name is None:
        print(f"FAIL acp-schema: not in the schema: {message}")
        faults += 1
        continue
    seen[name] = seen.get(name, 0) + 1
    for error in list(validator(name).iter_errors(value))[:3]:
        print(f"FAIL acp-schema: {name} at {error.json_path}: {error.message[:300]}")
        faults += 1
for side, left in waiting.items():
    if left:
        print(f"FAIL acp-schema: requests of the {side} without an answer: {left}")
        faults += 1
if not {"SessionNotification", "PromptResponse", "RequestPermissionRequest", "NewSessionResponse", "LoadSessionResponse"} <= set(seen):
    print(f"FAIL acp-schema: too little was seen: {seen}")
    faults += 1
if not faults:
    print(f"ok   acp-schema: {sum(seen.values())} messages of {len(seen)} kinds")
sys.exit(1 if faults else 0)
