const store = require("./store.js");

// Adds pieces of something, or takes them away when `pieces` is below zero.
async function add(name, pieces) {
  const count = await store.get(name);
  store.set(name, count + pieces);
}

// How many pieces there are; 0 for something that was never added.
async function count(name) {
  return await store.get(name);
}

// Adds all deliveries: pairs of name and pieces. Resolves when every one is in the store.
async function addAll(deliveries) {
  deliveries.forEach(async ([name, pieces]) => {
    await add(name, pieces);
  });
}

module.exports = { add, count, addAll };
