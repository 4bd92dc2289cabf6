// A project's summary in a fixed form, and one more question in the same thread.
//
// usage: node summary.mjs [FOLDER]
import { Codex } from "@openai/codex-sdk";

const codex = new Codex({
  codexPathOverride: process.env.INTERPRETER ?? "interpreter",
  // Anything of config.toml; without a provider, the local server that answers is used.
  config: { harness_guidance: true },
});
const thread = codex.startThread({
  workingDirectory: process.argv[2] ?? process.cwd(),
  sandboxMode: "read-only",
  skipGitRepoCheck: true,
});

const outputSchema = {
  type: "object",
  properties: {
    purpose: { type: "string" },
    languages: { type: "array", items: { type: "string" } },
  },
  required: ["purpose", "languages"],
  additionalProperties: false,
};
const { events } = await thread.runStreamed("Read the README and look at the files. What is this project for?", { outputSchema });
let answer = "";
for await (const event of events) {
  if (event.type === "item.completed" && event.item.type === "command_execution") console.error(`ran ${event.item.command}`);
  if (event.type === "item.completed" && event.item.type === "agent_message") answer = event.item.text;
}
const summary = JSON.parse(answer);
console.log(`${summary.purpose} (${summary.languages.join(", ")})`);

const turn = await thread.run("Which file would you read first?");
console.log(turn.finalResponse);
console.error(`thread ${thread.id}, ${turn.usage.input_tokens} tokens read`);
