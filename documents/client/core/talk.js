// Talk: requests to the server, and its answers in our words. A redirect is not followed: a login page is not an answer.

import { classify } from "./answers.js";
import { patchOf } from "./patch.js";
import { bytesOf } from "./text.js";

/**
 * @param {{fetch: typeof fetch, budget: {left: number}, clock: {now(): number, after(ms: number, then: () => void): () => void}, url: string,
 *   csrfUrl: string, token: () => string, timeout: number, user: () => string, learn: (user: string) => void}} parts
 */
export function createTalk({ fetch, budget, clock, url, csrfUrl, token, timeout, user, learn }) {
  let fresh = /** @type {string|undefined} */ ("");

  async function once(/** @type {string} */ to, method = "GET", body = "") {
    const size = bytesOf(body);
    const keepalive = size > 0 && size <= budget.left;
    const stop = new AbortController();
    const cancel = clock.after(timeout, () => stop.abort());
    if (keepalive) budget.left -= size;
    try {
      const response = await fetch(to, {
        method,
        keepalive,
        body: body || undefined,
        signal: stop.signal,
        redirect: "manual",
        cache: "no-cache",
        headers: {
          Accept: "application/json",
          "Content-Type": "application/json",
          "X-CSRFToken": fresh || token(),
          ...(user() && { "Documents-User": user() }),
        },
      });
      const raw = await response.text();
      const { status, headers, type } = response;
      const after = /** @type {any} */ (headers.get("Retry-After")) * 1000;
      return { status, body: parse(raw), raw, after, user: headers.get("Documents-User") || "", redirected: type === "opaqueredirect" };
    } catch (error) {
      return { status: 0, body: error && null }; // no answer: the save may be stored or not
    } finally {
      cancel();
      if (keepalive) budget.left += size;
    }
  }

  async function ask(/** @type {string} */ path, /** @type {string} */ method = "GET", body = "", saveId = "") {
    let answer = await once(url + path, method, body);
    if (answer.body?.code === "csrf_failed") {
      fresh = (await once(csrfUrl)).body?.csrfToken;
      answer = await once(url + path, method, body);
      if (token()) fresh = ""; // a readable cookie is newer than what we were told
    }
    const outcome = classify(answer, { user: user(), saveId });
    if (outcome.kind === "ok" || outcome.block?.code === "not_found") learn(/** @type {string} */ (answer.user));
    return outcome;
  }

  /** A closing page sends what changed, where only that gets through; refused, the whole says the same. @param {any} save */
  async function put({ version, saveId, writer, schema, text, base, names }) {
    const fits = (/** @type {string} */ body) => bytesOf(body) <= budget.left;
    const save = { expectedVersion: version, saveId, writer, schema };
    const whole = bodyOf(save, text);
    const set = base && names && !fits(whole) && patchOf(base, text, names);
    const part = set && bodyOf(save, set, "set");
    const outcome = part && fits(part) && (await ask("", "PATCH", part, saveId));
    return outcome && outcome.kind !== "block" ? outcome : ask("", "PUT", whole, saveId);
  }

  return {
    put,
    get: () => ask(""),
    revision: (/** @type {number} */ version) => ask(`revisions/${version}/`),
    look: (/** @type {string} */ id) => ask(`conflicts/${id}/`),
    amend: (/** @type {string} */ id, /** @type {string} */ text, /** @type {string} */ saveId) =>
      ask(`conflicts/${id}/`, "PUT", bodyOf({ saveId }, text)),
    settle: (/** @type {any} */ { id, choice, version, changes, saveId, picks, text }) =>
      ask(`conflicts/${id}/settle/`, "POST", bodyOf({ choice, expectedVersion: version, changes, saveId, picks }, text)),
    seen: (/** @type {string} */ id) => ask(`conflicts/${id}/seen/`, "POST", "{}"),
  };
}

const parse = (/** @type {string} */ text) => {
  try {
    return JSON.parse(text);
  } catch (error) {
    return error && null; // a proxy's page, not our answer
  }
};

// The content goes in as the text it is: nothing is parsed and written anew on the way.
/** @param {any} members @param {string} text @param {string} [name] */
const bodyOf = (members, text, name = "content") => JSON.stringify(members).slice(0, -1) + (text ? `,"${name}":${text}}` : "}");
