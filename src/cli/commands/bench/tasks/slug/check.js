const assert = require("node:assert");
const { slug } = require("./slug.js");

assert.strictEqual(slug(""), "");
assert.strictEqual(slug("One"), "one");
assert.strictEqual(slug("Top 10: tips,  tricks & traps"), "top-10-tips-tricks-traps");
assert.strictEqual(slug("--already-a-slug--"), "already-a-slug");
assert.strictEqual(slug("tab\tand\nline"), "tab-and-line");
console.log(process.argv[2]);
