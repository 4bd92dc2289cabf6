// Turns a title into the last part of an address: lower case, words joined by one dash.
function slug(title) {
  return title
    .toLowerCase()
    .replace(" ", "-")
    .replace(/[^a-z0-9-]/g, "");
}

module.exports = { slug };
