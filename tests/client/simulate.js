// The simulator: people, tabs, faults and a server, from one seed. Every edit types a token that exists once. The oracle
// knows where each token may be: that is "nothing lost silently, nothing overwritten silently" as a count (D1–D5).

import { createWorld, NAME, randomOf } from "./world.js";

const TOKEN = /t\d+/g;
const tokensIn = (text) => new Set(String(text).match(TOKEN) || []);

// name → how often, and what it does. `pick` is a number from the trace, so a shortened trace means the same.
export const ACTIONS = {
  edit: 30, stage: 3, unstage: 1, undo: 3, flush: 4, hide: 4, leave: 6, wake: 6, wait: 8, refresh: 2,
  freeze: 2, thaw: 3, kill: 3, open: 4, reload: 4, duplicate: 2, bfcache: 2,
  keepStored: 4, keepMine: 4, merge: 2, discard: 2, adopt: 5, dismiss: 2, oldScreen: 1,
  foreign: 6, remove: 1, restore: 2, prune: 2, staff: 2, revoke: 1, allow: 2, expire: 2, login: 4, otherUser: 1, rotate: 2, schema: 0.3, busy: 1, idle: 2,
  offline: 2, online: 4, quota: 1, forbid: 1, roomy: 3, wipe: 0.3, calm: 4, storm: 3, logout: 0.5,
};
const NAMES = Object.keys(ACTIONS);
const TOTAL = NAMES.reduce((sum, name) => sum + ACTIONS[name], 0);
const PAD = "x".repeat(300);
const FATES = ["fine", "fine", "dropRequest", "dropAnswer", "duplicate", "late", "html200", "bad502", "redirect", "hang"];

export function traceOf(seed, length = 60) {
  const random = randomOf(seed);
  return Array.from({ length }, () => {
    let at = random() * TOTAL;
    const name = NAMES.find((one) => (at -= ACTIONS[one]) < 0);
    return { name, pick: random(), pause: Math.floor(random() ** 3 * 8000) };
  });
}

/**
 * Run a trace; return what it broke, or null. `taped` is given the server before anything happens. Where the kind merges, a
 * whole document is more than its browser sends from a closing page, and what changed mostly is not.
 */
export async function run(seed, trace, { merges = seed % 2 === 0, taped = null, counts = {} } = {}) {
  const net = randomOf(seed ^ 0x5bd1e995);
  const world = createWorld({ seed, server: { merges }, keepalive: merges ? PAD.length + 100 : 60_000 });
  const { server } = world;
  taped?.(server);
  const owner = new Map();
  const excused = new Set(); // tokens that a person took away, or was warned about
  const approved = new Set(); // tokens that a person saw and decided against
  const fault = [];
  const fail = (rule, why) => fault.push(`${rule}: ${why}`);
  let next = 1;
  let storm = false;

  server.foreign(NAME, { t: ["t0"], u: [], pad: merges ? PAD : "" });
  owner.set("t0", "sara");
  world.wire.delay = () => Math.floor(net() ** 2 * (storm ? 9000 : 200));
  world.wire.fate = () => (storm ? FATES[Math.floor(net() * FATES.length)] : "fine");
  const browsers = [world.browser("ann"), world.browser("ben")];
  await world.open(browsers[0]);
  await world.open(browsers[1]);
  await world.advance(500);

  world.onRequest = (request, tab) => {
    if (tab.inFlight > 1 + (tab.seenFlight || 0) && !request.path.endsWith("/seen/")) fail("queue", `${tab.name} has two writes on the wire`);
    if (request.path.endsWith("/seen/")) tab.inFlight--;
  };
  let top = 1;
  world.onHandled = (request, reply, tab) => {
    const head = server.head(NAME);
    const user = server.sessions.get(request.cookie)?.user;
    const kept = reply.status < 300 || reply.body.code === "version_conflict";
    if (request.method === "PATCH") counts[reply.status] = (counts[reply.status] || 0) + 1;
    if (["PUT", "PATCH"].includes(request.method) && kept) {
      for (const token of tokensIn(request.body)) {
        const stored = server.documents.get(NAME).revisions.some((one) => one.by !== user && tokensIn(one.text).has(token));
        if (owner.get(token) !== user && !stored) fail("D4", `${token} of ${owner.get(token)} was sent as ${user} by ${tab.name}`);
      }
    }
    if (request.path.endsWith("/settle/") && reply.status === 200 && !reply.body.replayed && !tab.clicked) fail("D5", `${tab.name} settled without a click`);
    if (head.version > top) {
      const before = server.documents.get(NAME).revisions.find((one) => one.version === head.version - 1);
      const now = tokensIn(head.text);
      if (before && head.text) {
        for (const token of tokensIn(before.text)) {
          if (!now.has(token) && !approved.has(token)) fail("D2", `version ${head.version} by ${head.by} lost ${token}`);
        }
      }
      top = head.version;
    }
  };

  const alive = () => world.tabs.filter((tab) => tab.alive && !tab.frozen);
  const chosen = (list, pick) => list[Math.floor(pick * list.length)];

  /** Two attributes take the tokens in turn, so that a patch of one must leave the other as it was stored. */
  const listOf = (token) => (Number(token.slice(1)) % 2 ? "t" : "u");
  const withToken = (content, token) => ({ ...content, [listOf(token)]: [...content[listOf(token)], token] });

  function type(tab, content) {
    tab.session.edit(content);
    return JSON.stringify(tab.session.content) === JSON.stringify(content);
  }

  const acts = {
    edit(tab) {
      const { session } = tab;
      if (!session.state.loaded || session.content === undefined) return;
      const token = `t${next++}`;
      const { staged } = session.state;
      if (type(tab, withToken(staged ? withToken(session.content, staged) : session.content, token))) owner.set(token, tab.user);
    },
    stage(tab) {
      if (!tab.session.state.loaded || tab.session.content === undefined || tab.session.state.staged) return;
      const token = `t${next++}`;
      tab.session.stage(token);
      if (tab.session.state.staged === token) owner.set(token, tab.user);
    },
    unstage(tab) {
      if (tab.session.state.staged) excused.add(tab.session.state.staged);
      tab.session.stage(null);
    },
    undo(tab) {
      const { content } = tab.session;
      const token = [...tokensIn(JSON.stringify(content))].sort((one, other) => one.slice(1) - other.slice(1)).at(-1);
      if (tab.session.state.staged || !token || owner.get(token) !== tab.user) return;
      excused.add(token);
      approved.add(token);
      type(tab, { ...content, [listOf(token)]: content[listOf(token)].filter((one) => one !== token) });
    },
    flush: (tab) => tab.session.flush(),
    hide: (tab) => tab.session.hide(),
    leave(tab) {
      acts.edit(tab);
      tab.session.hide();
    },
    wake: (tab) => tab.session.wake(),
    refresh: (tab) => tab.session.refresh(),
    wait() {},
    freeze(tab) {
      tab.session.hide();
      tab.frozen = true;
    },
    thaw(_, pick) {
      const tab = chosen(world.tabs.filter((one) => one.alive && one.frozen), pick);
      if (!tab) return;
      world.thaw(tab);
      tab.session.wake();
    },
    kill: (tab) => alive().length > 1 && die(tab),
    async open(_, pick) {
      if (alive().length < 5) await world.open(chosen(browsers, pick)).then(known);
    },
    async reload(tab) {
      die(tab);
      known(await world.open(tab.browser, { from: tab }));
    },
    async duplicate(tab) {
      if (alive().length < 5) known(await world.open(tab.browser, { from: tab }));
    },
    async bfcache(tab) {
      tab.session.hide();
      tab.writer.release();
      tab.frozen = true;
      await world.advance(3000);
      if (!tab.alive) return;
      world.thaw(tab);
      await tab.writer.claim();
      tab.session.wake();
    },
    keepStored: (tab) => settle(tab, "keep_stored"),
    keepMine: (tab) => settle(tab, "take_theirs"),
    oldScreen(tab) {
      if (!tab.session.state.conflict) return;
      tab.session.settle("take_theirs", { version: tab.session.state.conflict.version - 1 });
    },
    merge(tab) {
      if (!merges || !tab.session.state.conflict) return;
      tab.clicked = true;
      const both = (one = [], other) => [...new Set([...one, ...other])];
      tab.session.rebase((base, mine, stored) => ({ ...mine, t: both(stored?.t, mine.t), u: both(stored?.u, mine.u) }));
    },
    discard(tab) {
      full(tab);
      tab.session.discardAndReload();
    },
    adopt(tab, pick) {
      const offer = chosen(tab.session.state.offers, pick);
      if (offer) tab.session.adopt(offer);
    },
    dismiss(tab, pick) {
      full(tab);
      const offer = chosen(tab.session.state.offers.filter((one) => !one.live && !one.binned), pick);
      if (offer) tab.session.dismiss(offer);
    },
    foreign() {
      const head = server.head(NAME);
      if (!head.text) return;
      const token = `t${next++}`;
      owner.set(token, "sara");
      server.foreign(NAME, withToken(JSON.parse(head.text), token));
      top = server.head(NAME).version;
    },
    remove() {
      if (!server.head(NAME).text) return;
      server.remove(NAME);
      top = server.head(NAME).version;
    },
    restore() {
      const old = server.documents.get(NAME).revisions.findLast((one) => one.text && !one.pruned);
      if (!old || server.head(NAME).text || old.schema !== server.schema) return;
      server.restore(NAME);
      top = server.head(NAME).version;
    },
    prune: () => server.prune(NAME),
    staff(_, pick) {
      const open = [...server.conflicts.values()].filter((one) => !one.decision);
      if (!open.length || !server.head(NAME).text) return;
      const conflict = chosen(open, pick);
      const choice = (pick * 100) % 1 < 0.5 || conflict.schema !== server.schema ? "keep_stored" : "take_theirs";
      if (choice === "take_theirs") for (const token of tokensIn(server.head(NAME).text)) approved.add(token);
      server.staff(conflict.id, choice);
      top = server.head(NAME).version;
    },
    revoke: (tab) => server.revoked.add(tab.user),
    allow: () => server.revoked.clear(),
    expire: (tab) => server.expire(tab.browser.cookie),
    login: (tab) => server.sessions.get(tab.browser.cookie)?.user !== tab.browser.user && server.login(tab.browser.cookie, tab.browser.user),
    otherUser(tab) {
      tab.browser.user = tab.browser.user === "ann" ? "ben" : "ann";
      server.login(tab.browser.cookie, tab.browser.user);
    },
    rotate: (tab) => server.rotate(tab.browser.cookie),
    schema: () => server.schema++,
    busy: () => (server.busy = true),
    idle: () => (server.busy = false),
    offline: (tab) => (tab.browser.offline = true),
    online(tab) {
      tab.browser.offline = false;
      for (const one of alive()) if (one.browser === tab.browser) one.session.wake();
    },
    quota: (tab) => narrow(tab, { quota: 300 + (merges ? PAD.length : 0) }),
    forbid: (tab) => narrow(tab, { forbidden: true }),
    roomy: (tab) => Object.assign(tab.browser, { quota: Infinity, forbidden: false }),
    wipe(tab) {
      for (const text of tab.browser.local.values()) for (const token of tokensIn(text)) excused.add(token);
      tab.browser.local.clear();
    },
    calm: () => (storm = false),
    storm: () => (storm = true),
    logout(tab) {
      server.expire(tab.browser.cookie);
      tab.channel.send({ type: "logout" });
      tab.session.logout();
    },
  };

  /** Where nothing can be stored there is no bin: what a person throws away is gone. */
  function full({ browser, session }) {
    if (browser.quota === Infinity && !browser.forbidden) return;
    const gone = JSON.stringify([session.content, session.state.staged, session.state.offers.map((one) => one.draft)]);
    for (const token of tokensIn(gone)) excused.add(token);
  }
  function narrow({ browser }, how) {
    Object.assign(browser, how);
    for (const tab of browser.tabs) if (tab.session.state.settling) full(tab); // thrown away, and still on its way to the bin
  }
  function known(tab) {
    tab.user = tab.browser.user;
  }
  function die(tab) {
    // Without a local copy the page said so, and asked to be kept open.
    if (tab.session.state.backup !== "local") for (const token of tokensIn(JSON.stringify([tab.screen, tab.session.content, tab.session.state.staged]))) excused.add(token);
    tab.session.hide();
    world.kill(tab);
  }
  function settle(tab, choice) {
    const { conflict } = tab.session.state;
    if (!conflict) return;
    tab.clicked = true;
    if (choice === "keep_stored") full(tab);
    if (choice === "take_theirs") for (const token of tokensIn(JSON.stringify(conflict.stored))) approved.add(token);
    tab.session.settle(choice);
  }

  function look() {
    const places = new Set(excused);
    const put = (text) => tokensIn(text).forEach((token) => places.add(token));
    for (const one of server.documents.get(NAME).revisions) put(one.text);
    for (const one of server.conflicts.values()) put(one.theirs);
    for (const browser of browsers) for (const text of browser.local.values()) put(text);
    for (const tab of world.tabs) {
      if (!tab.alive) continue;
      const { session } = tab;
      const { status, version, staged, offers } = session.state;
      tab.screen = session.content === undefined ? tab.screen : JSON.stringify([session.content, staged]);
      put(tab.screen);
      const stored = server.documents.get(NAME).revisions.find((one) => one.version === version);
      if (status === "clean" && version && stored?.text !== JSON.stringify(session.content)) fail("D3", `${tab.name} says saved, but version ${version} is another text`);
      for (const offer of offers) {
        const foreign = [...tokensIn(offer.draft.text)].filter((token) => owner.get(token) !== tab.user && !server.documents.get(NAME).revisions.some((one) => tokensIn(one.text).has(token)));
        if (foreign.length) fail("D4", `${tab.name} of ${tab.user} is shown ${foreign} of ${owner.get(foreign[0])}`);
      }
    }
    for (const token of owner.keys()) if (!places.has(token)) fail("D1", `${token} of ${owner.get(token)} is nowhere`);
  }

  world.tabs.forEach(known);
  for (const { name, pick, pause } of trace) {
    const tab = chosen(alive(), (pick * 7919) % 1);
    if (!tab && !["thaw", "open"].includes(name)) continue;
    await acts[name](tab || world.tabs[0], pick);
    for (const one of alive()) if (one.session.content !== undefined) one.screen = JSON.stringify([one.session.content, one.session.state.staged]);
    await world.advance(pause);
    look();
    if (fault.length) return { fault, at: name };
  }

  // Rest: the weather clears, everybody is back. Then nothing may still be waiting.
  storm = false;
  server.busy = false;
  server.revoked.clear();
  for (const browser of browsers) {
    Object.assign(browser, { offline: false, quota: Infinity, forbidden: false });
    if (server.sessions.get(browser.cookie)?.user !== browser.user) server.login(browser.cookie, browser.user);
  }
  for (const tab of world.tabs) if (tab.alive && tab.frozen) world.thaw(tab);
  for (let round = 0; round < 4; round++) {
    for (const tab of alive()) {
      tab.session.wake();
      if (tab.session.state.status === "forbidden") tab.session.flush();
    }
    await world.advance(60_000);
    look();
  }
  for (const tab of alive()) {
    const { status, staged, block } = tab.session.state;
    const strange = tab.user !== tab.browser.user;
    const fine = ["clean", "conflict"].includes(status) || (status === "gone" && !server.head(NAME).text) || (status === "dirty" && staged) || block?.code === "schema_changed" || (strange && status === "auth");
    if (!fine) fail("rest", `${tab.name} is still ${status} ${JSON.stringify({ ...tab.session.state, offers: 0, settings: 0 })}`);
  }
  return fault.length ? { fault, at: "rest" } : null;
}

/** The shortest trace that still breaks the same rule. */
export async function shortened(seed, trace, options = {}) {
  const rule = async (list) => (await run(seed, list, options))?.fault[0].split(":")[0];
  const wanted = await rule(trace);
  for (let size = trace.length >> 1; size >= 1; size >>= 1) {
    for (let at = 0; at + size <= trace.length; ) {
      const shorter = [...trace.slice(0, at), ...trace.slice(at + size)];
      if ((await rule(shorter)) === wanted) trace = shorter;
      else at += size;
    }
  }
  return trace;
}

if (process.argv[1]?.endsWith("simulate.js")) {
  const [from = "1", count = "500", length = "60"] = process.argv.slice(2);
  const started = Date.now();
  let broken = 0;
  const counts = {};
  for (let seed = Number(from); seed < Number(from) + Number(count); seed++) {
    const trace = traceOf(seed, Number(length));
    const found = await run(seed, trace, { counts });
    if (!found) continue;
    broken++;
    const short = await shortened(seed, trace);
    const again = await run(seed, short);
    console.log(`seed ${seed}: ${again.fault.slice(0, 3).join(" | ")} (${again.at})`);
    for (const { name, pick, pause } of short) console.log(`    ${name} pick=${pick.toFixed(4)} pause=${pause}`);
    if (broken >= 3) break;
  }
  console.log(`${count} seeds from ${from}, ${length} actions each, ${broken} broken, ${Date.now() - started} ms, patches by answer ${JSON.stringify(counts)}`);
  process.exitCode = broken ? 1 : 0;
}
