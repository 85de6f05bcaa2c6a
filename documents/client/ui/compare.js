// Comparing: the places where two copies differ, as a person names them. Items of a list go by their id.

/** Every leaf of a value by its pointer, with a label. @param {any} value @returns {Map<string, [string, string]>} */
function leavesOf(value, path = "", label = "", found = new Map()) {
  if (value === null || typeof value !== "object") return found.set(path, [label || path, String(value ?? "")]);
  // A labelled item is one place: its label and its value.
  if (value.id && "value" in value) return found.set(path, [value.label || value.id, String(value.value)]);
  for (const [name, inner] of Object.entries(value)) leavesOf(inner, `${path}/${inner?.id ?? name}`, inner?.label || name, found);
  return found;
}

/**
 * @param {any} mine @param {any} stored @param {{id: string, conflict: boolean, default: string|null}[]|null} points
 * @returns {{id: string, label: string, mine?: string, stored?: string, pick?: string|null}[]}
 */
export function differences(mine, stored, points) {
  const [here, there] = [leavesOf(mine), leavesOf(stored)];
  return [...new Set([...there.keys(), ...here.keys()])]
    .map((id) => {
      const [label] = here.get(id) || there.get(id) || [id];
      const point = points?.find((one) => one.id === id);
      return { id, label, mine: here.get(id)?.[1], stored: there.get(id)?.[1], pick: point && (point.default || "") };
    })
    .filter((row) => row.mine !== row.stored);
}
