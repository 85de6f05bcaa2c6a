// A world under virtual time: browsers with storage, tabs with sessions, a wire that loses, delays, doubles and lies.

import { createServer } from "./fake-server.js";

// CLIENT: a file made by build.py from entry.js; without it the rooms themselves are tested.
const { createSession, createStorage, createWriter, roundedIn } = await import(process.env.CLIENT || "./entry.js");
export { roundedIn };

export const URL_ = "/documents/sheet/budget/";
export const NAME = "sheet/budget";

/** Numbers from a seed; the same seed, the same run. */
export function randomOf(seed) {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const drained = () => new Promise((done) => setImmediate(done));

export function createWorld({ seed = 1, server: serverOptions = {}, session: sessionOptions = {}, keepalive = 60_000 } = {}) {
  const random = randomOf(seed);
  const timers = [];
  let now = 1_700_000_000_000;
  let counter = 0;

  const clock = {
    now: () => now,
    after(ms, then) {
      const timer = { at: now + ms, then, order: counter++ };
      timers.push(timer);
      return () => {
        const at = timers.indexOf(timer);
        if (at >= 0) timers.splice(at, 1);
      };
    },
  };
  const server = createServer({ now: () => now, ...serverOptions });
  const world = { clock, server, random, tabs: [], browsers: [], fates: [], onRequest: () => {}, wire: { delay: 20, fate: () => "fine" } };

  /** Let time pass; whatever is due on the way happens in order. */
  world.advance = async (ms) => {
    const until = now + ms;
    await drained();
    for (;;) {
      timers.sort((one, other) => one.at - other.at || one.order - other.order);
      if (!timers.length || timers[0].at > until) break;
      const timer = timers.shift();
      now = Math.max(now, timer.at);
      timer.then();
      await drained();
    }
    now = until;
  };

  world.browser = (user = "ann") => {
    const local = new Map();
    const browser = {
      cookie: `cookie-${world.browsers.length}`, user, local, quota: Infinity, forbidden: false, locks: new Map(), tabs: [], mode: "locks",
      indexed: null,
      storage: () => {
        if (browser.forbidden) throw new Error("SecurityError");
        return fakeStorage(local, () => browser.quota);
      },
    };
    world.browsers.push(browser);
    if (user) server.login(browser.cookie, user);
    return browser;
  };

  /** A tab; `from` is the tab that was duplicated, or reloaded; `beside` is another document of the same page. */
  world.open = async (browser, { from = null, beside = null, options = {}, url = URL_ } = {}) => {
    const tab = { browser, alive: true, frozen: false, kept: new Map(from ? from.kept : []), inFlight: 0, screens: [], url, name: `tab${world.tabs.length}`, budget: beside?.budget || { left: keepalive } };
    world.tabs.push(tab);
    browser.tabs.push(tab);
    const onlyAlive = { now: clock.now, after: (ms, then) => clock.after(ms, () => tab.alive && (tab.frozen ? tab.missed.push(then) : then())) };
    tab.missed = [];
    const channel = channelOf(world, tab);
    const storage = createStorage({ local: () => (tab.alive ? browser.storage() : deadStorage()), indexed: browser.indexed });
    const newId = () => `${String(counter++).padStart(8, "0")}-0000-4000-8000-000000000000`;
    const locks = browser.mode === "locks" ? locksOf(browser, tab) : null;
    tab.writer = createWriter({ session: () => fakeStorage(tab.kept, () => Infinity), locks, channel, newId, clock: onlyAlive });
    tab.channel = channel;
    const outside = {
      budget: tab.budget, clock: onlyAlive, storage, writer: tab.writer, channel, random, newId, online: () => !browser.offline,
      token: () => (browser.httpOnly ? "" : browser.stale ? browser.stale : server.sessions.get(browser.cookie)?.csrf || ""),
      fetch: (to, init) => wire(world, tab, to, init),
    };
    const claiming = tab.writer.claim();
    if (browser.mode !== "locks") await world.advance(200);
    await claiming;
    tab.session = createSession(url, { csrfUrl: "/documents/csrf/", user: `tag-${browser.user}`, schema: server.schema, ...sessionOptions, ...options }, outside);
    return tab;
  };

  world.kill = (tab) => {
    tab.alive = false;
    for (const [name, holder] of tab.browser.locks) if (holder === tab) tab.browser.locks.delete(name);
    tab.browser.tabs = tab.browser.tabs.filter((one) => one !== tab);
  };
  world.thaw = (tab) => {
    tab.frozen = false;
    for (const then of tab.missed.splice(0)) then();
  };
  return world;
}

function wire(world, tab, to, init) {
  return new Promise((resolve, reject) => {
    const { server, clock, wire: { delay } } = world;
    const request = { method: init.method, path: to, headers: init.headers, body: init.body, cookie: tab.browser.cookie, keepalive: init.keepalive };
    const fate = world.fates.length ? world.fates.shift() : world.wire.fate(request, tab);
    const lag = () => (typeof delay === "function" ? delay() : delay);
    const fail = () => tab.alive && reject(new TypeError("Failed to fetch"));
    const isWrite = init.method !== "GET";
    if (isWrite) tab.inFlight++;
    init.signal.addEventListener("abort", () => {
      if (isWrite && !request.over) tab.inFlight--;
      request.over = true;
      fail();
    });
    world.onRequest(request, tab, fate);
    const finish = (answer) => {
      if (!tab.alive || request.over) return;
      request.over = true;
      if (isWrite) tab.inFlight--;
      if (answer) resolve(responseOf(answer, world.reword));
      else fail();
    };
    if (tab.browser.offline || fate === "dropRequest") return void clock.after(lag(), () => finish(null));
    if (fate === "hang") return;
    const deliver = () => {
      if (!tab.alive && !request.keepalive && fate !== "fine") return null;
      const reply = server.handle(request);
      world.onHandled?.(request, reply, tab);
      return reply;
    };
    clock.after(lag(), () => {
      if (fate === "html200") return void clock.after(lag(), () => finish({ status: 200, html: "<!doctype html><title>Log in</title>" }));
      if (fate === "bad502") return void clock.after(lag(), () => finish({ status: 502, html: "<h1>Bad gateway</h1>" }));
      if (fate === "redirect") return void clock.after(lag(), () => finish({ status: 0, type: "opaqueredirect", html: "" }));
      const reply = deliver();
      if (fate === "duplicate" || fate === "late") clock.after(lag() * 7, deliver);
      if (fate === "dropAnswer") clock.after(lag(), () => finish(null));
      else if (reply) clock.after(lag(), () => finish(reply));
    });
  });
}

const responseOf = ({ status, body, headers = {}, html, type = "basic" }, reword = (text) => text) => ({
  status, type,
  headers: { get: (name) => headers[name] ?? null },
  text: async () => (html === undefined ? reword(JSON.stringify(body)) : html),
});

const fakeStorage = (map, quota) => ({
  get length() { return map.size; },
  key: (at) => [...map.keys()][at] ?? null,
  getItem: (key) => map.get(key) ?? null,
  removeItem: (key) => void map.delete(key),
  setItem(key, value) {
    let size = key.length + value.length;
    for (const [name, kept] of map) if (name !== key) size += name.length + kept.length;
    if (size > quota()) throw new Error("QuotaExceededError");
    map.set(key, String(value));
  },
});
const deadStorage = () => { throw new Error("this tab is dead"); };

const locksOf = (browser, tab) => ({
  async request(name, options, work) {
    if (browser.locks.has(name)) return work(null);
    browser.locks.set(name, tab);
    await work({ name });
    if (browser.locks.get(name) === tab) browser.locks.delete(name);
  },
  query: async () => ({ held: [...browser.locks.keys()].map((name) => ({ name })) }),
});

function channelOf(world, tab) {
  const listeners = new Set();
  tab.hear = (message) => listeners.forEach((listener) => listener(message));
  return {
    send(message) {
      for (const other of tab.browser.tabs) if (other !== tab) world.clock.after(1, () => other.alive && !other.frozen && other.hear(structuredClone(message)));
    },
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
