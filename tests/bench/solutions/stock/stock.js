const store = require("./store.js");

async function add(name, pieces) {
  await store.set(name, (await count(name)) + pieces);
}

async function count(name) {
  return (await store.get(name)) ?? 0;
}

async function addAll(deliveries) {
  for (const [name, pieces] of deliveries) {
    await add(name, pieces);
  }
}

module.exports = { add, count, addAll };
