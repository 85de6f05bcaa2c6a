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

/** A short digest; it tells two texts apart, it proves nothing. @param {string} text */
export function digestOf(text) {
  let high = 0xdeadbeef;
  let low = 0x41c6ce57;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    high = Math.imul(high ^ code, 2654435761);
    low = Math.imul(low ^ code, 1597334677);
  }
  return (high >>> 0).toString(36) + (low >>> 0).toString(36);
}

/**
 * The first number in a JSON text that a browser would round, or "". Such a document is shown, never saved from here.
 * @param {string} raw
 */
export function roundedIn(raw) {
  for (const [token] of raw.matchAll(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g)) {
    if (token[0] === '"' || token.length < 16) continue;
    if (/^-?\d+$/.test(token) ? !Number.isSafeInteger(Number(token)) : !Number.isFinite(Number(token))) return token;
  }
  return "";
}
