// Text: content is compared, kept and sent as its exact JSON text. Two values are the same when their texts are.

/**
 * The JSON text of a value. Throws TypeError for what JSON would change without a word: NaN, Infinity, undefined.
 * @param {unknown} value
 * @returns {string}
 */
export function textOf(value) {
  const text = JSON.stringify(value, (name, inner) => {
    if (typeof inner === "number" && !Number.isFinite(inner)) throw new TypeError(`${name}: ${inner} is not JSON`);
    return inner;
  });
  if (text === undefined) throw new TypeError("undefined is not JSON");
  return text;
}

/** Bytes of UTF-8: what limits count. @param {string} text */
export const bytesOf = (text) => new TextEncoder().encode(text).length;

/**
 * The first integer in a JSON text that a browser would round, or "". Such a document is shown, never saved from here.
 * @param {string} raw
 */
export function roundedIn(raw) {
  for (const [token] of raw.matchAll(/"(?:[^"\\]|\\.)*"|(?<![.\d])-?\d{16,}(?![.\deE])/g)) {
    if (token[0] !== '"' && !Number.isSafeInteger(Number(token))) return token;
  }
  return "";
}
