import assert from "node:assert/strict";
import { test } from "node:test";
import { createWorld, NAME, roundedIn } from "./world.js";

const puts = (world, key = "budget") => world.server.log.filter((one) => one.method === "PUT" && one.path.endsWith(`/${key}/`));
const slots = (browser) => [...browser.local].filter(([key]) => key.startsWith("documents:draft:"));
const bodyOf = (put) => JSON.parse(put.body);

async function start({ content = { text: "" }, user = "ann", ...more } = {}) {
  const world = createWorld(more);
  world.server.foreign(NAME, content);
  const browser = world.browser(user);
  const tab = await world.open(browser);
  await world.advance(100);
  return { world, browser, tab, session: tab.session, server: world.server };
}

test("C59 a save whose answer was lost is no conflict with oneself", async () => {
  const { world, session, server } = await start();
  world.fates.push("dropAnswer");

  session.edit({ text: "Hello" });
  await world.advance(60_000);

  assert.equal(session.state.status, "clean");
  assert.equal(server.head(NAME).version, 2);
  assert.equal(server.conflicts.size, 0);
  assert.deepEqual(puts(world).map((put) => bodyOf(put).saveId), Array(2).fill(bodyOf(puts(world)[0]).saveId));
});

test("C62 a deleted document stays deleted, and the text stays here", async () => {
  const { world, session, server, browser } = await start();
  session.edit({ text: "Hello" });
  server.remove(NAME);

  await world.advance(600_000);

  assert.equal(session.state.status, "gone");
  assert.equal(puts(world).length, 1);
  assert.equal(server.head(NAME).text, "");
  assert.match(slots(browser)[0][1], /Hello/);
});

test("C65 too large: one attempt at most, the draft is kept, and it goes on when it fits again", async () => {
  const { world, session, browser } = await start({ server: { maxBytes: 1000 } });

  session.edit({ text: "x".repeat(3000) });
  await world.advance(60_000);

  assert.equal(session.state.status, "too_large");
  assert.equal(session.state.block.limit, 1000);
  assert.equal(puts(world).length, 1);
  assert.match(slots(browser)[0][1], /xxxx/);
  session.edit({ text: "short" });
  await world.advance(5000);
  assert.equal(session.state.status, "clean");
});

test("C65 a limit known to the page is not even tried, and it counts bytes", async () => {
  const world = createWorld();
  world.server.foreign(NAME, { text: "" });
  const { session } = await world.open(world.browser(), { options: { maxBytes: 1000 } });
  await world.advance(100);

  session.edit({ text: "😀".repeat(300) });
  await world.advance(60_000);

  assert.equal(session.state.status, "too_large");
  assert.equal(puts(world).length, 0);
});

test("C69 a number that a browser would round is shown and never sent back", async () => {
  const world = createWorld();
  world.server.foreign(NAME, { id: "9007199254740993", t: "x" });
  world.reword = (text) => text.replace('"9007199254740993"', "9007199254740993");
  const browser = world.browser();
  const { session } = await world.open(browser);
  await world.advance(100);
  session.edit({ ...session.content, t: "y" });
  session.flush();
  await world.advance(60_000);

  assert.equal(session.state.status, "invalid");
  assert.equal(session.state.block.path, "9007199254740993");
  assert.equal(puts(world).length, 0);
  assert.match(slots(browser)[0][1], /y/);
});

test("C69 which numbers a browser rounds", () => {
  assert.equal(roundedIn('{"id":9007199254740993,"t":"x"}'), "9007199254740993");
  assert.equal(roundedIn('{"a":"9007199254740993","b":12345678901234567890123}'), "12345678901234567890123");
  assert.equal(roundedIn('{"a":9007199254740991,"b":"\\"9007199254740993","c":0.1234567890123456}'), "");
});

test("C70 a session that ends while typing: one refusal, no storm, one save after the login, then no draft", async () => {
  const { world, session, server, browser } = await start();
  server.expire(browser.cookie);
  session.edit({ text: "a" });
  await world.advance(5000);
  session.edit({ text: "ab" });
  for (let at = 0; at < 5; at++) {
    session.wake();
    await world.advance(60_000);
  }

  assert.equal(session.state.status, "auth");
  assert.ok(puts(world).length <= 2);
  const before = puts(world).length;
  server.login(browser.cookie, "ann");
  session.wake();
  await world.advance(10_000);

  assert.equal(session.state.status, "clean");
  assert.equal(puts(world).length, before + 1);
  assert.equal(bodyOf(puts(world).at(-1)).expectedVersion, 1);
  assert.equal(bodyOf(puts(world).at(-1)).content.text, "ab");
  assert.equal(slots(browser).length, 0);
});

test("C71 the next user on this computer sees nothing; the first one finds the draft again", async () => {
  const { world, session, server, browser, tab } = await start();
  world.wire.fate = () => "dropRequest";
  session.edit({ text: "secret" });
  await world.advance(3000);
  world.wire.fate = () => "fine";
  world.kill(tab);

  server.login(browser.cookie, "ben");
  browser.user = "ben";
  const bens = await world.open(browser);
  await world.advance(5000);
  assert.equal(bens.session.state.offers.length, 0);
  world.kill(bens);

  server.login(browser.cookie, "ann");
  browser.user = "ann";
  const again = await world.open(browser);
  await world.advance(5000);
  assert.equal(JSON.parse(again.session.state.offers[0].draft.text).text, "secret");
});

test("C72 typing during a save: never two on the wire, the second carries all of it on the first one's version", async () => {
  const { world, session, server, tab } = await start();
  world.wire.delay = 1000;
  let most = 0;
  world.onRequest = () => (most = Math.max(most, tab.inFlight));

  session.edit({ text: "Hello" });
  session.flush();
  await world.advance(1000);
  session.edit({ text: "Hello world" });
  await world.advance(1500);
  assert.equal(session.state.status, "dirty");
  assert.deepEqual(session.content, { text: "Hello world" });
  await world.advance(20_000);

  assert.equal(most, 1);
  assert.deepEqual(puts(world).map(bodyOf).map((put) => [put.expectedVersion, put.content.text]), [[1, "Hello"], [2, "Hello world"]]);
  assert.equal(JSON.parse(server.head(NAME).text).text, "Hello world");
});

test("C74 closing in the middle of a save: the slot holds the newest text before the handler returns", async () => {
  const { world, session, browser, tab } = await start();
  const long = "A".repeat(70_000);
  session.edit({ text: long });
  session.flush();
  session.edit({ text: `${long}B` });

  session.hide();
  assert.ok(slots(browser)[0][1].includes("AB"));
  world.kill(tab);
  await world.advance(100);
  const next = await world.open(browser);
  await world.advance(1000);

  assert.ok(next.session.state.offers[0].draft.text.includes("AB"));
  assert.equal(next.session.state.offers[0].live, false);
});

test("I-35 a keepalive request never exceeds the browser's limit, in bytes", async () => {
  const { world, session } = await start();
  const seen = [];
  world.onRequest = (request) => request.method === "PUT" && seen.push(request.keepalive);

  session.edit({ text: "😀".repeat(20_000) }); // 40 000 code units, 80 000 bytes
  session.hide();
  await world.advance(5000);
  session.edit({ text: "short" });
  session.hide();
  await world.advance(5000);
  session.edit({ text: "😀".repeat(20_001) });
  await world.advance(5000);

  assert.deepEqual(seen, [false, true, false]);
});

test("C75 storage full: the save goes out, the older slot is untouched, and it says there is no local copy", async () => {
  const { world, session, browser } = await start();
  world.wire.fate = () => "dropRequest";
  session.edit({ text: "first" });
  const [[key, before]] = slots(browser);
  browser.quota = 10;
  session.edit({ text: "second, much longer" });

  assert.equal(session.state.backup, "memory");
  assert.equal(browser.local.get(key), before);
  world.wire.fate = () => "fine";
  await world.advance(60_000);
  assert.equal(session.state.status, "clean");

  browser.forbidden = true;
  session.edit({ text: "third" });
  assert.equal(session.state.backup, "memory");
  browser.forbidden = false;
  browser.quota = Infinity;
  session.edit({ text: "fourth" });
  assert.equal(session.state.backup, "local");
});

for (const mode of ["locks", "channel"]) {
  test(`C77 a duplicated tab takes a name of its own, a reload keeps it (${mode})`, async () => {
    const world = createWorld();
    world.server.foreign(NAME, { text: "" });
    const browser = world.browser();
    browser.mode = mode;
    const first = await world.open(browser);
    await world.advance(500);
    world.wire.fate = (request) => (request.method === "PUT" ? "dropRequest" : "fine");
    first.session.edit({ text: "one" });
    const second = await world.open(browser, { from: first });
    await world.advance(1000);
    second.session.edit({ text: "two" });

    assert.notEqual(first.writer.name(), second.writer.name());
    assert.equal(slots(browser).length, 2);
    assert.equal(second.session.state.offers[0].live, true);
    world.kill(first);
    const again = await world.open(browser, { from: first });
    await world.advance(1000);
    assert.equal(again.writer.name(), first.writer.name());
    assert.ok(again.session.state.offers.some((one) => one.draft.text.includes("one") && !one.live));
  });
}

test("C78 opening a page never touches a draft, and never sends it", async () => {
  const { world, browser, tab, session } = await start({ content: { text: "old" } });
  world.wire.fate = () => "dropRequest";
  session.edit({ text: "new" });
  await world.advance(2000);
  world.kill(tab);
  world.wire.fate = () => "fine";
  const before = slots(browser);
  const count = puts(world).length;

  const next = await world.open(browser, { from: tab });
  await world.advance(15_000);

  assert.deepEqual(slots(browser), before);
  assert.equal(puts(world).length, count);
  assert.equal(next.session.state.offers.length, 1);
  assert.deepEqual(next.session.content, { text: "old" });
});

test("C79 a tab from yesterday: one save, one conflict, nothing more until a person acts", async () => {
  const { world, session, server, tab, browser } = await start();
  session.edit({ text: "x" });
  tab.frozen = true;
  for (let at = 0; at < 4; at++) server.foreign(NAME, { text: `theirs ${at}` });
  await world.advance(24 * 3600_000);

  world.thaw(tab);
  session.wake();
  await world.advance(3600_000);

  assert.equal(puts(world).length, 1);
  assert.equal(session.state.status, "conflict");
  assert.equal(server.head(NAME).version, 5);
  assert.match(slots(browser)[0][1], /x/);
});

test("I-1 five edits during a slow save are one more save, on the right version", async () => {
  const { world, session } = await start();
  world.wire.delay = 1500;
  session.edit({ text: "1" });
  session.flush();
  for (let at = 2; at <= 6; at++) {
    await world.advance(200);
    session.edit({ text: String(at) });
  }
  await world.advance(60_000);

  assert.deepEqual(puts(world).map((put) => bodyOf(put).expectedVersion), [1, 2]);
});

test("I-10 in a conflict nothing is saved; the refused copy follows the typing, in one row", async () => {
  const { world, session, server } = await start();
  server.foreign(NAME, { text: "theirs" });
  session.edit({ text: "mine" });
  await world.advance(5000);
  for (let at = 0; at < 20; at++) {
    session.edit({ text: `mine ${at}` });
    await world.advance(30_000);
  }

  assert.equal(puts(world).length, 1);
  assert.equal(server.conflicts.size, 1);
  assert.equal([...server.conflicts.values()][0].theirs, '{"text":"mine 19"}');
  assert.deepEqual(session.content, { text: "mine 19" });
});

test("I-15 a tab nobody types in never saves", async () => {
  const { world, session } = await start();
  for (let at = 0; at < 60; at++) {
    session.hide();
    await world.advance(60_000);
    session.wake();
  }

  assert.equal(puts(world).length, 0);
});

test("I-16 typing back to what is stored sends nothing and leaves no draft", async () => {
  const { world, session, browser } = await start();
  session.edit({ text: "x" });
  assert.equal(slots(browser).length, 1);
  session.edit({ text: "" });
  await world.advance(60_000);

  assert.equal(puts(world).length, 0);
  assert.equal(slots(browser).length, 0);
  assert.equal(session.state.status, "clean");
});

test("I-7 a replay after somebody else's save says both versions; the next edit conflicts honestly", async () => {
  const { world, session, server } = await start();
  world.fates.push("dropAnswer");
  session.edit({ text: "mine" });
  session.flush();
  await world.advance(100);
  server.foreign(NAME, { text: "theirs" });
  session.edit({ text: "mine too" });
  await world.advance(60_000);

  assert.equal(session.state.status, "conflict");
  assert.deepEqual(puts(world).map((put) => bodyOf(put).expectedVersion), [1, 1, 2]);
});

test("I-22 a save that was stored, its answer lost, the tab closed: nothing is offered", async () => {
  for (const later of [false, true]) {
    const { world, session, server, tab, browser } = await start();
    world.fates.push("dropAnswer");
    session.edit({ text: "mine" });
    session.flush();
    await world.advance(100);
    world.kill(tab);
    if (later) server.foreign(NAME, { text: "theirs" });
    const next = await world.open(browser, { from: tab });
    await world.advance(5000);

    assert.equal(next.session.state.offers.length, 0, `later: ${later}`);
    assert.equal(slots(browser).length, 0);
  }
});

for (const fate of ["html200", "bad502", "redirect", "hang", "dropRequest", "dropAnswer"]) {
  test(`I-28 an answer that is not ours is never "saved" (${fate})`, async () => {
    const { world, session, browser } = await start();
    world.wire.fate = () => fate;
    session.edit({ text: "x" });
    await world.advance(40_000);

    assert.ok(["retrying", "auth", "offline"].includes(session.state.status), session.state.status);
    assert.equal(slots(browser).length, 1);
    world.wire.fate = () => "fine";
    session.wake();
    await world.advance(60_000);
    assert.equal(session.state.status, "clean");
  });
}

test("I-29 a token that was rotated in another tab costs nothing but one more request with the same save id", async () => {
  const { world, session, server, browser } = await start();
  const csrf = server.sessions.get(browser.cookie).csrf;
  server.sessions.get(browser.cookie).csrf = `${csrf}-rotated`;
  const tokenless = createWorld;
  void tokenless;

  session.edit({ text: "x" });
  await world.advance(5000);

  assert.equal(session.state.status, "clean");
});

test("I-29 a token that no script can read is asked for, once, and again after it was rotated", async () => {
  const { world, session, server, browser } = await start();
  browser.httpOnly = true;
  const asked = () => server.log.filter((one) => one.path.endsWith("/csrf/")).length;
  for (const [text, count] of [["a", 1], ["ab", 1], ["abc", 2]]) {
    if (count === 2) server.rotate(browser.cookie);
    session.edit({ text });
    await world.advance(5000);
    assert.deepEqual([session.state.status, asked()], ["clean", count]);
  }
});

test("I-29 a cookie that can be read again is believed more than what we were told", async () => {
  const { world, session, server, browser } = await start();
  const asked = () => server.log.filter((one) => one.path.endsWith("/csrf/")).length;
  browser.stale = "from before the login";
  session.edit({ text: "a" });
  await world.advance(5000);
  browser.stale = "";
  server.rotate(browser.cookie);
  session.edit({ text: "ab" });
  await world.advance(5000);

  assert.deepEqual([session.state.status, asked()], ["clean", 1]);
});

test("storage with room for one copy: what is thrown away takes the draft's place in the bin", async () => {
  const { world, session, browser } = await start();
  world.wire.fate = (request) => (request.method === "PUT" ? "dropRequest" : "fine");
  session.edit({ text: "x".repeat(2000) });
  browser.quota = 3000;
  session.discardAndReload();
  await world.advance(1000);

  const kept = [...browser.local].filter(([key]) => key.startsWith("documents:bin:"));
  assert.equal(kept.length, 1);
  assert.ok(kept[0][1].includes("xxx"));
});

test("I-35 all requests of a page share the browser's limit for keepalive, and give it back", async () => {
  const { world, browser, tab, session } = await start();
  const other = await world.open(browser, { beside: tab });
  await world.advance(100);
  const seen = [];
  world.onRequest = (request) => request.method === "PUT" && seen.push(request.keepalive);
  world.wire.fate = () => "hang";
  session.edit({ text: "x".repeat(40_000) });
  other.session.edit({ text: "y".repeat(40_000) });
  await world.advance(10_000);
  assert.deepEqual(seen.splice(0), [true, false]);

  await world.advance(30_000);
  assert.ok(seen.includes(true), "the first one's share is free again");
});

test("a draft that says what is stored is not offered, whoever stored it", async () => {
  const { world, session, server, tab, browser } = await start();
  world.wire.fate = (request) => (request.method === "PUT" ? "dropRequest" : "fine");
  session.edit({ text: "same" });
  world.kill(tab);
  server.foreign(NAME, { text: "same" });
  const next = await world.open(browser);
  await world.advance(2000);

  assert.deepEqual(next.session.state.offers, []);
  assert.equal(slots(browser).length, 0);
});

test("what was thrown away stays a week, and at most twenty of them", async () => {
  const { world, session, tab, browser } = await start();
  const bins = () => [...browser.local.keys()].filter((key) => key.startsWith("documents:bin:")).length;
  for (let at = 0; at < 23; at++) {
    session.edit({ text: `thrown away ${at}` });
    session.discardAndReload();
    await world.advance(1000);
  }
  await session.offers();
  assert.equal(bins(), 20);
  assert.equal(session.state.offers[0].draft.text, '{"text":"thrown away 22"}');
  session.adopt(session.state.offers[0]);
  await world.advance(5000);
  assert.equal(bins(), 19);
  session.dismiss({ ...session.state.offers[0], key: "documents:draft:somebody:else" });
  assert.equal(bins(), 19, "nobody else's slot is touched");
  await world.advance(8 * 24 * 3600_000);
  await session.offers();
  assert.equal(bins(), 0);
  void tab;
});

test("a page from the back-forward cache whose name was taken writes on under a new one, in one slot", async () => {
  const { world, session, tab, browser } = await start();
  world.wire.fate = (request) => (request.method === "PUT" ? "dropRequest" : "fine");
  session.edit({ text: "one" });
  const before = tab.writer.name();
  tab.writer.release();
  await world.advance(10);
  const other = await world.open(browser, { from: tab });
  await world.advance(500);
  await tab.writer.claim();
  session.edit({ text: "two" });

  assert.equal(other.writer.name(), before);
  assert.notEqual(tab.writer.name(), before);
  assert.deepEqual(slots(browser).map(([key]) => key.includes(tab.writer.name())), [true]);
});

test("a logout in one tab closes the eyes of all", async () => {
  const { world, session, browser, tab } = await start();
  const other = await world.open(browser);
  await world.advance(100);
  other.session.edit({ text: "secret" });
  tab.channel.send({ type: "logout" });
  session.logout();
  await world.advance(100);

  for (const one of [session, other.session]) assert.deepEqual([one.state.status, one.content, one.state.offers], ["auth", undefined, []]);
});

test("a page that does not say who is logged in learns it from the first answer", async () => {
  const world = createWorld();
  world.server.foreign(NAME, { text: "" });
  const browser = world.browser();
  const { session } = await world.open(browser, { options: { user: "" } });
  await world.advance(100);
  session.edit({ text: "x" });

  assert.match(slots(browser)[0][0], /tag-ann/);
  const fresh = await world.open(browser, { url: "/documents/sheet/fresh/", options: { user: "", create: { text: "" } } });
  await world.advance(100);
  fresh.session.edit({ text: "x" });
  assert.ok(slots(browser).some(([key]) => key.includes("tag-ann") && key.includes("fresh")));
  session.rebase(() => assert.fail("there is no conflict to merge"));
});

test("I-30 another person logs in: nothing is sent, nothing shown, and it comes back with its owner", async () => {
  const { world, session, server, browser } = await start();
  session.edit({ text: "secret" });
  server.login(browser.cookie, "ben");
  await world.advance(10_000);

  assert.equal(session.state.status, "auth");
  assert.equal(session.content, undefined);
  assert.equal(server.head(NAME).version, 1);
  server.login(browser.cookie, "ann");
  session.wake();
  await world.advance(10_000);
  assert.deepEqual(session.content, { text: "secret" });
  assert.equal(session.state.status, "clean");
});

test("I-32 a permission that was taken away: one refusal, the draft stays", async () => {
  const { world, session, server, browser } = await start();
  server.revoked.add("ann");
  session.edit({ text: "x" });
  await world.advance(5000);
  session.edit({ text: "xy" });
  await world.advance(600_000);

  assert.equal(session.state.status, "forbidden");
  assert.equal(puts(world).length, 1);
  assert.match(slots(browser)[0][1], /xy/);
  server.revoked.clear();
  session.flush();
  await world.advance(1000);
  assert.equal(session.state.status, "clean");
});

test("I-32a a page of an older release can't save; it keeps the text", async () => {
  const { world, session, server } = await start();
  server.schema = 2;
  session.edit({ text: "x" });
  await world.advance(60_000);
  session.edit({ text: "xy" });
  session.flush();
  await world.advance(60_000);

  assert.equal(session.state.block.code, "schema_changed");
  assert.equal(puts(world).length, 1);
});

test("I-39 what the server wrote differently ends clean, and fresh typing is not reverted (I-37)", async () => {
  const clean = (content) => ({ ...content, slug: content.slug.trim() });
  const { world, session } = await start({ content: { text: "", slug: "a" }, server: { clean } });
  session.edit({ text: "x", slug: " b " });
  await world.advance(5000);
  assert.deepEqual(session.content, { text: "x", slug: "b" });
  assert.equal(session.state.status, "clean");

  world.wire.delay = 1000;
  session.edit({ text: "x", slug: " c " });
  session.flush();
  await world.advance(500);
  session.edit({ text: "xy", slug: " d " });
  await world.advance(1600);
  assert.deepEqual(session.content, { text: "xy", slug: " d " });
  await world.advance(20_000);
  assert.equal(session.state.status, "clean");
});

test("I-42 a read never touches unsaved work, and is repeated when there is none", async () => {
  const { world, session, server } = await start();
  session.edit({ text: "mine" });
  session.refresh();
  await world.advance(100);
  assert.deepEqual(session.content, { text: "mine" });
  session.edit({ text: "" });
  server.foreign(NAME, { text: "theirs" });
  session.refresh();
  session.edit({ text: "x" });
  session.edit({ text: "" });
  await world.advance(5000);

  assert.deepEqual(session.content, { text: "theirs" });
  assert.equal(puts(world).length, 0);
});

test("I-43 a server that was down for half an hour has the text within one backoff of its return", async () => {
  const { world, session } = await start();
  world.wire.fate = () => "dropRequest";
  session.edit({ text: "x" });
  await world.advance(1800_000);
  world.wire.fate = () => "fine";
  await world.advance(46_000);

  assert.equal(session.state.status, "clean");
});

test("Retry-After is honoured", async () => {
  const { world, session, server } = await start();
  server.busy = true;
  session.edit({ text: "x" });
  session.flush();
  await world.advance(50);
  server.busy = false;
  await world.advance(1900);
  assert.equal(puts(world).length, 1);
  await world.advance(3000);
  assert.equal(session.state.status, "clean");
});

test("I-52 a clean tab follows a save made in another tab, without a word", async () => {
  const { world, browser, session } = await start();
  const other = await world.open(browser);
  await world.advance(100);
  other.session.edit({ text: "from there" });
  await world.advance(5000);

  assert.deepEqual(session.content, { text: "from there" });
  assert.equal(session.state.status, "clean");
});

test("I-4 a notice about our own save is no news", async () => {
  const { world, session, tab } = await start();
  session.edit({ text: "x" });
  session.flush();
  const { saveId } = JSON.parse(world.server.log.at(-1).body || "{}");
  tab.hear({ type: "saved", url: session.url, user: "tag-ann", version: 2, saveId });
  await world.advance(5000);

  assert.equal(session.state.status, "clean");
  assert.equal(session.state.behind, 0);
});

test("typing during an outage does not make it ask more often", async () => {
  const { world, session } = await start();
  world.wire.fate = () => "dropRequest";
  for (let at = 0; at < 120; at++) {
    session.edit({ text: String(at) });
    await world.advance(1000);
  }
  let asked = 0;
  world.onRequest = () => asked++;
  for (let at = 0; at < 120; at++) {
    session.edit({ text: `later ${at}` });
    await world.advance(1000);
  }

  assert.ok(asked <= 9, `${asked} requests in two minutes`);
});

test("the same text again is no edit, the same input again no input", async () => {
  const { session, tab } = await start();
  session.edit({ text: "x" });
  session.stage("half");
  const { edits } = session.state;
  session.stage("half");
  assert.equal(session.state.edits, edits);
  session.edit({ text: "x" });
  assert.equal(session.state.staged, null);
  session.edit({ text: "x" });
  assert.equal(session.state.edits, edits + 1);
  void tab;
});

test("nothing is counted, staged or kept before the first read", async () => {
  const world = createWorld();
  world.server.foreign(NAME, { text: "" });
  const browser = world.browser();
  const { session } = await world.open(browser);
  session.edit({ text: "too early" });
  session.stage("too early");

  assert.equal(session.state.edits, 0);
  assert.equal(slots(browser).length, 0);
  session.settle("keep_stored");
  session.discardAndReload();
  await world.advance(1000);
  assert.equal(session.state.status, "clean");
  assert.equal(session.state.staged, null);
});

test("looking twice while a read is under way asks once", async () => {
  const { world, session } = await start();
  const before = world.server.log.length;
  session.wake();
  session.wake();
  session.refresh();
  await world.advance(1000);

  assert.equal(world.server.log.length, before + 1);
});

test("a clean session has no timer, and one that was put right no longer says it is trying", async () => {
  const { world, session } = await start();
  session.edit({ text: "x" });
  session.edit({ text: "" });
  assert.equal(session.state.dueAt, null);

  world.fates.push("bad502");
  session.edit({ text: "y" });
  session.flush();
  await world.advance(100);
  assert.equal(session.state.status, "retrying");
  await world.advance(60_000);
  assert.deepEqual([session.state.status, session.state.dueAt, session.state.tries], ["clean", null, 0]);
});

async function inConflict(options) {
  const all = await start(options);
  all.server.foreign(NAME, { text: "theirs" });
  all.session.edit({ text: "mine" });
  await all.world.advance(5000);
  assert.equal(all.session.state.status, "conflict");
  assert.deepEqual(all.session.content, { text: "mine" });
  return all;
}

test("conflict: stored is taken, mine goes to the bin and can be brought back", async () => {
  const { world, session, server, browser } = await inConflict();
  session.settle("keep_stored");
  await world.advance(5000);

  assert.equal(session.state.status, "clean");
  assert.deepEqual(session.content, { text: "theirs" });
  assert.equal(slots(browser).length, 0);
  assert.equal([...server.conflicts.values()][0].decision, "keep_stored");
  await session.offers();
  const [binned] = session.state.offers;
  assert.equal(binned.binned, true);
  session.adopt(binned);
  await world.advance(5000);
  assert.equal(session.state.status, "conflict");
  assert.deepEqual(session.content, { text: "mine" });
});

test("conflict: mine is kept, as a settlement against the version that was on the screen", async () => {
  const { world, session, server } = await inConflict();
  session.edit({ text: "mine, longer" });
  session.settle("take_theirs");
  await world.advance(5000);

  assert.equal(session.state.status, "clean");
  assert.equal(server.head(NAME).text, '{"text":"mine, longer"}');
  assert.equal(server.head(NAME).action, "settle");
});

test("I-49 the document moves on while deciding: nothing is written, look again", async () => {
  const { world, session, server } = await inConflict();
  server.foreign(NAME, { text: "theirs again" });
  session.settle("take_theirs");
  await world.advance(5000);

  assert.equal(session.state.status, "conflict");
  assert.equal(session.state.failed, "moved_on");
  assert.deepEqual(session.state.conflict.stored, { text: "theirs again" });
  session.settle("take_theirs", { version: 2 }); // an old screen
  await world.advance(5000);
  assert.equal(server.head(NAME).version, 3);
  session.settle("take_theirs");
  await world.advance(5000);
  assert.equal(server.head(NAME).text, '{"text":"mine"}');
});

test("conflict: a merge is a button, its result is saved against the stored version", async () => {
  const { world, session, server } = await inConflict({ server: { merges: true } });
  session.rebase((base, mine, stored) => ({ text: `${stored.text} + ${mine.text} (was ${JSON.stringify(base.text)})` }));
  await world.advance(5000);

  assert.equal(server.head(NAME).text, '{"text":"theirs + mine (was \\"\\")"}');
  assert.equal(session.state.status, "clean");
});

test("conflict: typing while the decision is on its way is not thrown away and overwrites nothing", async () => {
  const { world, session, server } = await inConflict();
  session.settle("keep_stored");
  session.edit({ text: "mine, typed on" });
  await world.advance(10_000);

  assert.deepEqual(session.content, { text: "mine, typed on" });
  assert.equal(session.state.status, "conflict");
  assert.equal(server.head(NAME).text, '{"text":"theirs"}');
});

for (const choice of ["keep_stored", "take_theirs"]) {
  test(`I-48 staff settle first (${choice}): the author is told, and still decides about the screen`, async () => {
    const { world, session, server } = await inConflict();
    server.staff([...server.conflicts.keys()][0], choice);
    session.wake();
    await world.advance(5000);

    if (choice === "take_theirs") return assert.equal(session.state.status, "clean");
    assert.equal(session.state.conflict.told.by || "", "sara");
    assert.deepEqual(session.content, { text: "mine" });
    session.settle("keep_stored");
    assert.equal(session.state.status, "clean");
    assert.deepEqual(session.content, { text: "theirs" });
  });
}

test("discardAndReload fetches first: offline it keeps everything", async () => {
  const { world, session, browser } = await start();
  browser.offline = true;
  session.edit({ text: "mine" });
  await world.advance(3000);
  session.discardAndReload();
  await world.advance(30_000);
  assert.deepEqual(session.content, { text: "mine" });
  assert.equal(session.state.failed, "not_reloaded");

  browser.offline = false;
  session.discardAndReload();
  session.edit({ text: "mine, typed on" });
  await world.advance(100);
  assert.deepEqual(session.content, { text: "mine, typed on" });
  await world.advance(60_000);
  assert.equal(session.state.status, "clean");
});

test("E12 half-typed input is in the draft and never on the wire", async () => {
  const { world, session, browser } = await start();
  session.stage({ cell: "A1", input: "=SU" });
  session.hide();
  await world.advance(60_000);

  assert.equal(puts(world).length, 0);
  assert.match(slots(browser)[0][1], /=SU/);
  assert.equal(session.state.status, "dirty");
});

test("E9 a sibling's draft goes only when ours is safe; a living tab keeps its own", async () => {
  const { world, session, browser, tab } = await start();
  world.wire.fate = (request) => (request.method === "PUT" ? "dropRequest" : "fine");
  session.edit({ text: "left behind" });
  await world.advance(2000);
  world.kill(tab);
  const next = await world.open(browser);
  await world.advance(1000);
  browser.quota = 10;
  next.session.adopt(next.session.state.offers[0]);
  await world.advance(500);
  assert.equal(slots(browser).length, 1);
  assert.match(slots(browser)[0][1], /left behind/);
});

test("a draft that was adopted carries its unanswered save: stored before, it is no conflict", async () => {
  const { world, session, tab, browser, server } = await start();
  world.fates.push("dropAnswer");
  session.edit({ text: "one" });
  session.flush();
  await world.advance(100);
  session.edit({ text: "one two" });
  world.kill(tab);
  const next = await world.open(browser);
  await world.advance(1000);
  next.session.adopt(next.session.state.offers[0]);
  await world.advance(10_000);

  assert.equal(next.session.state.status, "clean");
  assert.equal(server.conflicts.size, 0);
  assert.equal(server.head(NAME).text, '{"text":"one two"}');
});

test("a first load that fails is not editable, and saves nothing over what is stored", async () => {
  const world = createWorld();
  world.server.foreign(NAME, { text: "precious" });
  world.wire.fate = () => "bad502";
  const { session } = await world.open(world.browser());
  await world.advance(100);
  session.edit({ text: "" });
  session.flush();
  await world.advance(1000);
  assert.equal(session.state.status, "retrying");
  world.wire.fate = () => "fine";
  await world.advance(60_000);

  assert.deepEqual(session.content, { text: "precious" });
  assert.equal(puts(world).length, 0);
});

test("a new document is created by the first edit, on version 0", async () => {
  const world = createWorld();
  const { session } = await world.open(world.browser(), { options: { create: { text: "" } } });
  await world.advance(60_000);
  assert.equal(puts(world).length, 0);
  session.edit({ text: "first" });
  await world.advance(5000);

  assert.equal(bodyOf(puts(world)[0]).expectedVersion, 0);
  assert.equal(session.state.status, "clean");
});

test("what JSON would change without a word is refused at the door", async () => {
  const { session } = await start();
  assert.throws(() => session.edit({ text: NaN }), TypeError);
  assert.throws(() => session.edit(undefined), TypeError);
});
