const assert = require("node:assert");
const { add, count, addAll } = require("./stock.js");

async function main() {
  assert.strictEqual(await count("bolts"), 0);
  await addAll([]);
  await addAll([["bolts", 1], ["bolts", 2], ["bolts", 3], ["nuts", 10], ["bolts", -4]]);
  assert.strictEqual(await count("bolts"), 2);
  await add("nuts", -10);
  assert.strictEqual(await count("nuts"), 0);
  console.log(process.argv[2]);
}

main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
