// The page: what the browser provides, in the shape a session takes, and the moments of a page's life.

import { createIndexed, createStorage } from "./storage.js";
import { createWriter } from "./writer.js";

const clock = {
  now: Date.now,
  after(/** @type {number} */ ms, /** @type {() => void} */ then) {
    const timer = setTimeout(then, ms);
    return () => clearTimeout(timer);
  },
};

const newId = () =>
  "10000000-1000-4000-8000-100000000000".replace(/[018]/g, (/** @type {any} */ digit) =>
    (digit ^ (crypto.getRandomValues(new Uint8Array(1))[0] & (15 >> (digit / 4)))).toString(16),
  );

/** A channel between the tabs of this site that can be put down while the page is frozen. */
function createChannel() {
  let listeners = /** @type {((message: any) => void)[]} */ ([]);
  let channel = /** @type {BroadcastChannel|null} */ (null);
  const open = () => {
    channel = new BroadcastChannel("documents");
    channel.onmessage = ({ data }) => listeners.forEach((listener) => listener(data));
  };
  open();
  return {
    open,
    shut() {
      channel?.close();
      channel = null;
    },
    send: (/** @type {any} */ message) => channel?.postMessage(message),
    listen(/** @type {(message: any) => void} */ listener) {
      listeners = [...listeners, listener];
      return () => (listeners = listeners.filter((one) => one !== listener));
    },
  };
}

/** Django's token, read at the time of sending: logging in again changes it. */
const token = () => document.cookie.match(/(?:^|; )csrftoken=([^;]+)/)?.[1] || "";

/** Everything outside, made once per page. */
export function createPage() {
  const channel = createChannel();
  const storage = createStorage({ local: () => localStorage, indexed: createIndexed(() => indexedDB) });
  const writer = createWriter({ session: () => sessionStorage, locks: navigator.locks || null, channel, newId, clock });
  // The browser refuses keepalive bodies beyond 64 KiB in all; a save that fits goes on when the tab is closed.
  return { fetch: fetch.bind(globalThis), budget: { left: 60_000 }, clock, storage, channel, writer, newId, token, random: Math.random };
}

/**
 * Tell the sessions when the page goes to sleep and wakes. No `unload`; `beforeunload` only while the backup failed.
 * @param {ReturnType<typeof createPage>} page @param {() => any[]} sessions
 */
export function watchPage({ channel, writer }, sessions) {
  const all = (/** @type {string} */ name) => sessions().forEach((session) => session[name]());
  const wake = () => all("wake");
  document.addEventListener("visibilitychange", () => all(document.visibilityState === "hidden" ? "hide" : "wake"));
  addEventListener("online", wake);
  addEventListener("focus", wake);
  addEventListener("pagehide", () => {
    all("hide");
    writer.release();
    channel.shut();
  });
  addEventListener("pageshow", async (event) => {
    if (!event.persisted) return;
    channel.open();
    await writer.claim();
    wake();
  });
  addEventListener("beforeunload", (event) => {
    if (sessions().some(({ state }) => state.unsaved && state.backup === "memory")) event.preventDefault();
  });
}
