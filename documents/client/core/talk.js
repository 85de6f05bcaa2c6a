// Talk: requests to the server, and its answers in our words. A redirect is not followed: a login page is not an answer.

import { classify } from "./answers.js";
import { bytesOf } from "./text.js";

// The browser refuses keepalive bodies beyond 64 KiB in all; a save that fits goes on when the tab is closed.
const KEEPALIVE = 60_000;
let alive = 0;

/**
 * @param {{fetch: typeof fetch, clock: {now(): number, after(ms: number, then: () => void): () => void}, url: string,
 *   csrfUrl: string, token: () => string, timeout: number, user: () => string, learn: (user: string) => void}} parts
 */
export function createTalk({ fetch, clock, url, csrfUrl, token, timeout, user, learn }) {
  let fresh = "";

  async function once(/** @type {string} */ method, /** @type {string} */ to, /** @type {string|undefined} */ body) {
    const size = body ? bytesOf(body) : 0;
    const keepalive = size > 0 && alive + size <= KEEPALIVE;
    const stop = new AbortController();
    const cancel = clock.after(timeout, () => stop.abort());
    if (keepalive) alive += size;
    const headers = /** @type {Record<string, string>} */ ({ Accept: "application/json" });
    if (user()) headers["Documents-User"] = user();
    if (body) Object.assign(headers, { "Content-Type": "application/json", "X-CSRFToken": fresh || token() });
    const init = { method, body, headers, keepalive, signal: stop.signal };
    try {
      const response = await fetch(to, { ...init, redirect: "manual", credentials: "same-origin", cache: "no-cache" });
      const raw = await response.text();
      const after = Number(response.headers.get("Retry-After")) * 1000 || 0;
      const tag = response.headers.get("Documents-User") || "";
      const redirected = response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400);
      return { status: response.status, body: parse(raw), raw, after, user: tag, redirected };
    } catch (error) {
      return { status: 0, body: null, reason: String(error) }; // no answer: the save may be stored or not
    } finally {
      cancel();
      if (keepalive) alive -= size;
    }
  }

  async function ask(/** @type {string} */ method, /** @type {string} */ path, /** @type {any} */ body, saveId = "") {
    const text = body && (typeof body === "string" ? body : JSON.stringify(body));
    let answer = await once(method, url + path, text);
    if (answer.body?.code === "csrf_failed") {
      fresh = (await once("GET", csrfUrl, undefined)).body?.csrfToken || "";
      answer = await once(method, url + path, text);
      fresh = token() ? "" : fresh; // a readable cookie is newer than what we were told
    }
    const outcome = classify(answer, { user: user(), saveId });
    if (outcome.kind === "ok" && answer.user) learn(answer.user);
    return outcome;
  }

  return {
    get: () => ask("GET", "", undefined),
    revision: (/** @type {number} */ version) => ask("GET", `revisions/${version}/`, undefined),
    put: (/** @type {any} */ save) => ask("PUT", "", saveBody(save), save.saveId),
    look: (/** @type {string} */ id) => ask("GET", `conflicts/${id}/`, undefined),
    amend: (/** @type {string} */ id, /** @type {string} */ text, /** @type {string} */ saveId) =>
      ask("PUT", `conflicts/${id}/`, `{"saveId":"${saveId}","content":${text}}`),
    settle: (/** @type {any} */ s) => ask("POST", `conflicts/${s.id}/settle/`, settleBody(s)),
    seen: (/** @type {string} */ id) => ask("POST", `conflicts/${id}/seen/`, {}),
  };
}

const parse = (/** @type {string} */ text) => {
  try {
    return JSON.parse(text);
  } catch {
    return null; // a proxy's page, not our answer
  }
};

// The content goes in as the text it is: nothing is parsed and written anew on the way.
const saveBody = ({ version, saveId, writer, schema, text }) =>
  `{"expectedVersion":${version},"saveId":"${saveId}","writer":${JSON.stringify(writer)},"schema":${schema},"content":${text}}`;

const settleBody = ({ choice, version, changes, saveId, picks, text }) =>
  JSON.stringify({ choice, expectedVersion: version, changes, saveId, ...(picks && { picks }) }).slice(0, -1) +
  (text ? `,"content":${text}}` : "}");
