// A store of counts by name. Every answer comes later, as it would from a real one.
const counts = new Map();
const later = (value) => new Promise((done) => setTimeout(() => done(value), 2));

async function get(name) {
  return later(counts.get(name));
}

async function set(name, count) {
  await later();
  counts.set(name, count);
}

module.exports = { get, set };
