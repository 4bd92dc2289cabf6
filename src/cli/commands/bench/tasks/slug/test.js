const assert = require("node:assert");
const { slug } = require("./slug.js");

assert.strictEqual(slug("Hello World"), "hello-world");
assert.strictEqual(slug("The quick brown fox"), "the-quick-brown-fox");
assert.strictEqual(slug("  Rock & Roll!  "), "rock-roll");
assert.strictEqual(slug("a -- b"), "a-b");
console.log("all tests passed");
