// Patch: what changed, by attribute id, for a closing page whose whole text is more than the browser lets it send.
// The ids are the server's (documents/merging.py); what it does not know it refuses, and the whole text goes out.

/** @typedef {{list?: string, id?: string}} Names each member is an attribute, and so is each item of the list, by its id */

/**
 * The changed values by attribute id, as JSON text, or "" where more than values changed.
 * @param {string} base @param {string} text @param {Names} names
 */
export function patchOf(base, text, names) {
  const before = attributesOf(base, names);
  const after = attributesOf(text, names);
  const ids = (/** @type {any[]} */ all) => JSON.stringify(all.map(([id]) => id));
  if (ids(before) !== ids(after)) return "";
  return JSON.stringify(Object.fromEntries(after.filter(([, value], at) => JSON.stringify(value) !== JSON.stringify(before[at][1]))));
}

/** Pairs of id and value, in order. @param {string} text @param {Names} names @returns {any[][]} */
function attributesOf(text, { list, id }) {
  const step = (/** @type {unknown} */ name) => "/" + `${name}`.replace(/~/g, "~0").replace(/\//g, "~1");
  return Object.entries(JSON.parse(text) || {}).flatMap(([name, value]) =>
    name === list && Array.isArray(value)
      ? [[step(name), 0], ...value.map((item) => [step(name) + step(item?.[/** @type {string} */ (id)]), item])]
      : [[step(name), value]],
  );
}
