const assert = require("node:assert");
const { add, count, addAll } = require("./stock.js");

async function main() {
  assert.strictEqual(await count("nails"), 0);
  await add("nails", 5);
  assert.strictEqual(await count("nails"), 5);
  await addAll([["screws", 2], ["nails", 1], ["screws", 3]]);
  assert.strictEqual(await count("screws"), 5);
  assert.strictEqual(await count("nails"), 6);
  console.log("all tests passed");
}

main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
