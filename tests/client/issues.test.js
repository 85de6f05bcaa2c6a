// What went wrong elsewhere, by its number, where no case has it yet.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createWorld, NAME } from "./world.js";

const { createIndexed } = await import(process.env.CLIENT || "./entry.js");
const puts = (world) => world.server.log.filter((one) => one.method === "PUT" && one.path.endsWith("/budget/"));
const slots = (browser) => [...browser.local].filter(([key]) => key.startsWith("documents:draft:"));

async function start() {
  const world = createWorld();
  world.server.foreign(NAME, { text: "" });
  const browser = world.browser("ann");
  const tab = await world.open(browser);
  await world.advance(100);
  return { world, browser, tab, session: tab.session, server: world.server };
}

test("I-2 every path to the server is the one queue: a button, the debounce and hiding are never two saves at once", async () => {
  const { world, session, server } = await start();
  world.wire.delay = 3000;
  let most = 0;
  world.onRequest = (request, { inFlight }) => (most = Math.max(most, inFlight));

  session.edit({ text: "one" });
  session.flush();
  session.hide();
  session.edit({ text: "two" });
  session.flush();
  session.hide();
  await world.advance(60_000);

  assert.equal(most, 1);
  assert.deepEqual(puts(world).map((put) => JSON.parse(put.body).expectedVersion), [1, 2]);
  assert.equal(server.conflicts.size, 0);
});

test("I-9 I-53 a refused save leaves the screen as it was, with the stored text beside it", async () => {
  const { world, session, server } = await start();
  server.foreign(NAME, { text: "theirs" });
  session.edit({ text: "mine" });
  await world.advance(5000);

  assert.equal(session.state.status, "conflict");
  assert.deepEqual(session.content, { text: "mine" });
  assert.deepEqual(session.state.conflict.stored, { text: "theirs" });
});

test("I-11 I-47 clocks that are an hour wrong decide nothing: the version on which it was made does", async () => {
  const { world, server, browser } = await start();
  const now = world.clock.now;
  for (const [text, wrong] of [["behind", -3_600_000], ["ahead", 3_600_000], ["behind again", -3_600_000]]) {
    world.clock.now = () => now() + wrong;
    const tab = await world.open(browser);
    world.clock.now = now;
    await world.advance(500);
    tab.session.edit({ text });
    await world.advance(30_000);
    assert.equal(tab.session.state.status, "clean");
    world.kill(tab);
  }

  assert.deepEqual(server.documents.get(NAME).revisions.map((one) => one.version), [1, 2, 3, 4]);
  assert.equal(server.head(NAME).text, '{"text":"behind again"}');
  assert.equal(slots(browser).length, 0);
});

test("I-19 I-21 three tabs with a new document each, all killed: three offers", async () => {
  const world = createWorld();
  const browser = world.browser("ann");
  browser.offline = true;
  for (const text of ["one", "two", "three"]) {
    browser.offline = false;
    const tab = await world.open(browser, { options: { create: { text: "" } } });
    await world.advance(500);
    browser.offline = true;
    tab.session.edit({ text });
    await world.advance(500);
    world.kill(tab);
  }
  browser.offline = false;
  const { session } = await world.open(browser, { options: { create: { text: "" } } });
  await world.advance(500);

  assert.deepEqual(session.state.offers.map(({ draft }) => JSON.parse(draft.text).text).sort(), ["one", "three", "two"]);
});

test("I-23 two documents in one browser never show each other's drafts", async () => {
  const world = createWorld();
  const browser = world.browser("ann");
  const urls = ["/documents/sheet/budget/", "/documents/sheet/budget2/"];
  for (const url of urls) world.server.foreign(url.slice("/documents/".length, -1), { text: "" });
  world.wire.fate = (request) => (request.method === "PUT" ? "dropRequest" : "fine");
  for (const url of urls) {
    const tab = await world.open(browser, { url });
    await world.advance(500);
    tab.session.edit({ text: url });
    await world.advance(100);
    world.kill(tab);
  }

  for (const url of urls) {
    const { session } = await world.open(browser, { url });
    await world.advance(500);
    assert.deepEqual(session.state.offers.map(({ draft }) => JSON.parse(draft.text).text), [url]);
  }
});

for (let dies = 1; dies <= 6; dies++) {
  test(`I-26 an IndexedDB that dies at its transaction ${dies} is opened anew, and says so where that failed too`, async () => {
    const kept = new Map();
    let transactions = 0;
    let opened = 0;
    const request = (result) => {
      const made = { result };
      queueMicrotask(() => made.onsuccess?.());
      return made;
    };
    const database = () => ({
      transaction() {
        if (++transactions === dies) throw new DOMException("the connection is closing", "InvalidStateError");
        return {
          objectStore: () => ({
            put: (value, key) => request(kept.set(key, value) && key),
            delete: (key) => request(kept.delete(key)),
            getAllKeys: () => request([...kept.keys()]),
            getAll: () => request([...kept.values()]),
          }),
        };
      },
    });
    const indexed = createIndexed(() => ({ open: () => request((opened++, database())) }));

    assert.ok(await indexed("a", "1"));
    assert.ok(await indexed("b", "2"));
    assert.ok(await indexed("a", null));
    assert.deepEqual(await indexed(""), [[["b", "2"]]]);
    assert.equal(opened, dies <= 4 ? 2 : 1);
    const dead = createIndexed(() => ({ open: () => { throw new Error("forbidden"); } }));
    assert.equal(await dead("a", "1"), null);
  });
}

test("I-40 a button inside the debounce takes the waiting save along: one save, not two", async () => {
  const { world, session } = await start();
  session.edit({ text: "published" });
  await world.advance(300);
  session.flush();
  await world.advance(60_000);

  assert.equal(puts(world).length, 1);
  assert.equal(session.state.status, "clean");
});

test("I-46 hiding is the last certain moment: the draft is there and the save on its way before it returns", async () => {
  const { world, session, browser } = await start();
  session.edit({ text: "last words" });
  session.hide();

  assert.match(slots(browser)[0][1], /last words/);
  assert.equal(session.state.status, "saving");
  await world.advance(1000);
  assert.equal(puts(world).length, 1);
});

test("a timer is set when its moment moves, not at every event", async () => {
  const { world, session } = await start();
  session.edit({ text: "one" });
  let set = 0;
  const { after } = world.clock;
  world.clock.after = (ms, then) => {
    set++;
    return after(ms, then);
  };

  for (let at = 0; at < 5; at++) session.stage(`half ${at}`);

  assert.equal(set, 0);
});
