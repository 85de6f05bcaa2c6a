// The registry: a session belongs to its document, not to what shows it. Taking a panel off the page saves, never drops.

import { createPage, watchPage } from "./page.js";
import { createSession } from "./session.js";

let page = /** @type {ReturnType<typeof createPage>|null} */ (null);
let claimed = /** @type {Promise<void>|null} */ (null);
const sessions = /** @type {Map<string, Promise<any>>} */ (new Map());
const living = /** @type {Set<any>} */ (new Set());

/**
 * Open a document, or return the session that has it open already.
 * @param {string} url @param {Record<string, any>} [options]
 */
export function openDocument(url, options = {}) {
  const key = new URL(url, location.href).pathname.replace(/\/?$/, "/");
  const opening = sessions.get(key) || start(key, options);
  sessions.set(key, opening);
  return opening;
}

/** What the browser provides, made when it is first needed. */
function ready() {
  if (!page) {
    page = createPage();
    watchPage(page, () => [...living]);
    claimed = page.writer.claim();
  }
  return page;
}

async function start(/** @type {string} */ url, /** @type {Record<string, any>} */ options) {
  ready();
  await claimed;
  // documents/<kind>/<key>/ → documents/csrf/, unless the page says otherwise
  const session = createSession(url, { csrfUrl: url.replace(/[^/]*\/[^/]*\/$/, "csrf/"), ...options }, /** @type {any} */ (page));
  living.add(session);
  const close = session.close;
  session.close = () => {
    close();
    living.delete(session);
    sessions.delete(url);
  };
  return session;
}

/** Call it when this person logs out: every tab stops sending and showing; the drafts wait for their return. */
export function loggedOut() {
  ready().channel.send({ type: "logout" });
  living.forEach((session) => session.logout());
}
