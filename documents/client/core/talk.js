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
  let fresh = /** @type {string|undefined} */ ("");

  async function once(/** @type {string} */ to, method = "GET", body = "") {
    const size = bytesOf(body);
    const keepalive = size > 0 && alive + size <= KEEPALIVE;
    const stop = new AbortController();
    const cancel = clock.after(timeout, () => stop.abort());
    if (keepalive) alive += size;
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
      const header = (/** @type {string} */ name) => response.headers.get(name) || "";
      const after = Number(header("Retry-After")) * 1000;
      const redirected = response.type === "opaqueredirect";
      return { status: response.status, body: parse(raw), raw, after, user: header("Documents-User"), redirected };
    } catch (error) {
      return { status: 0, body: error && null }; // no answer: the save may be stored or not
    } finally {
      cancel();
      if (keepalive) alive -= size;
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

  return {
    get: () => ask(""),
    revision: (/** @type {number} */ version) => ask(`revisions/${version}/`),
    put: (/** @type {any} */ save) => ask("", "PUT", saveBody(save), save.saveId),
    look: (/** @type {string} */ id) => ask(`conflicts/${id}/`),
    amend: (/** @type {string} */ id, /** @type {string} */ text, /** @type {string} */ saveId) =>
      ask(`conflicts/${id}/`, "PUT", `{"saveId":"${saveId}","content":${text}}`),
    settle: (/** @type {any} */ decision) => ask(`conflicts/${decision.id}/settle/`, "POST", settleBody(decision)),
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
/** @param {any} save */
const saveBody = ({ version, saveId, writer, schema, text }) =>
  `{"expectedVersion":${version},"saveId":"${saveId}","writer":${JSON.stringify(writer)},"schema":${schema},"content":${text}}`;

/** @param {any} decision */
const settleBody = ({ choice, version, changes, saveId, picks, text }) =>
  JSON.stringify({ choice, expectedVersion: version, changes, saveId, picks }).slice(0, -1) +
  (text ? `,"content":${text}}` : "}");
