// Closing with more than a browser sends from a closing page: what changed goes by attribute id, where only that fits.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createWorld, NAME } from "./world.js";

const { patchOf } = await import(process.env.CLIENT || "./entry.js");
const LIST = { list: "attributes", id: "id" };
const LONG = "A".repeat(70_000);
const record = (title, ...values) => ({ title, attributes: [{ id: "a0", value: LONG }, ...values.map((value, at) => ({ id: `a/${at + 1}`, value }))] });
const writes = (world) => world.server.log.filter((one) => ["PUT", "PATCH"].includes(one.method));
const methods = (world) => writes(world).map((one) => one.method);
const slots = (browser) => [...browser.local].filter(([key]) => key.startsWith("documents:draft:"));
const headOf = (world) => JSON.parse(world.server.head(NAME).text);

async function start({ content = record("Ada", "1", "2"), merges = LIST, clean } = {}) {
  const world = createWorld({ server: { merges, clean } });
  world.server.foreign(NAME, content);
  const browser = world.browser();
  const tab = await world.open(browser);
  await world.advance(100);
  return { world, browser, tab, session: tab.session, server: world.server };
}

const patch = (base, text, names = LIST) => {
  const found = patchOf(JSON.stringify(base), JSON.stringify(text), names);
  return found && JSON.parse(found);
};

test("a patch names what changed: a member, an item of the list by its id, escaped as in a JSON Pointer", () => {
  const base = { title: "a", "x/~y": 1, attributes: [{ id: "a1", v: 1 }, { id: "b/~2", v: 2 }], other: [{ id: "o" }] };

  assert.deepEqual(patch(base, { ...base, title: "b" }), { "/title": "b" });
  assert.deepEqual(patch(base, { ...base, "x/~y": null }), { "/x~1~0y": null });
  assert.deepEqual(patch(base, { ...base, attributes: [base.attributes[0], { id: "b/~2", v: [] }] }), { "/attributes/b~1~02": { id: "b/~2", v: [] } });
  assert.deepEqual(patch(base, { ...base, other: [{ id: "o", v: 1 }] }), { "/other": [{ id: "o", v: 1 }] });
  assert.deepEqual(patch(base, { ...base, attributes: [{ id: "a1", v: 3 }, base.attributes[1]] }, {}), { "/attributes": [{ id: "a1", v: 3 }, base.attributes[1]] });
  assert.deepEqual(patch(base, base), {});
});

test("what is more than new values of the same attributes is no patch", () => {
  const [one, two] = [{ id: "1" }, { id: "2" }];
  const base = { title: "a", attributes: [one, two] };

  for (const attributes of [[two, one], [one], [one, two, { id: "3" }], [one, { id: "3" }], [one, two, two], {}, null]) assert.equal(patch(base, { ...base, attributes }), "", JSON.stringify(attributes));
  for (const text of [{ title: "a" }, { ...base, more: 1 }, { attributes: [one, two], title: "a" }, null, 7, "ab", [1]]) assert.equal(patch(base, text), "", JSON.stringify(text));
  assert.equal(patch({ attributes: [{ id: "1,2" }] }, { attributes: [{ id: "1" }, { id: "2" }] }), "");
  const empty = { title: "a", attributes: [] };
  for (const text of [{ title: "b" }, { attributes: [], title: "a" }, { ...empty, attributes: [one] }]) assert.equal(patch(empty, text), "", JSON.stringify(text));
  assert.equal(patch({ title: "a" }, { title: "b", attributes: [] }), "", "a list that appears, though it is empty");
  assert.equal(patch({ attributes: [null, 5] }, { attributes: [{}] }), "", "and it throws over no content");
});

test("a closing tab sends one changed attribute of a large record, and the server has all of it", async () => {
  const { world, browser, tab, session } = await start();
  const seen = [];
  world.onRequest = (request) => seen.push([request.method, request.keepalive]);

  session.edit(record("Ada", "1", "last word"));
  session.hide();
  assert.deepEqual(seen, [["PATCH", true]], "before the handler returns");
  world.kill(tab);
  await world.advance(5000);

  assert.deepEqual(headOf(world), record("Ada", "1", "last word"));
  const { version, content, ...sent } = JSON.parse(writes(world)[0].body);
  assert.deepEqual([sent.expectedVersion, sent.schema, sent.set], [1, 1, { "/attributes/a~12": { id: "a/2", value: "last word" } }]);
  const next = await world.open(browser);
  await world.advance(2000);
  assert.deepEqual([next.session.state.status, next.session.state.offers], ["clean", []]);
  assert.equal(slots(browser).length, 0);
});

test("a patched save is a save: clean, and the next one is made on it", async () => {
  const { world, session, browser } = await start();

  session.edit(record("Ada", "1", "new"));
  session.hide();
  await world.advance(5000);
  session.edit(record("Ada", "1", "newer"));
  session.hide();
  await world.advance(5000);

  assert.equal(session.state.status, "clean");
  assert.deepEqual(writes(world).map((one) => [one.method, JSON.parse(one.body).expectedVersion, one.status]), [["PATCH", 1, 200], ["PATCH", 2, 200]]);
  assert.equal(world.server.head(NAME).text, JSON.stringify(session.content));
  assert.equal(slots(browser).length, 0);
});

test("while a page is looked at, and where the whole fits, the whole is sent", async () => {
  const { world, session, server } = await start();
  session.edit(record("Ada", "1", "new"));
  await world.advance(5000);
  session.edit(record("Ada", "1", "newer"));
  session.flush();
  await world.advance(5000);
  assert.deepEqual(methods(world), ["PUT", "PUT"]);

  server.foreign(NAME, { title: "small", attributes: [] });
  session.wake();
  await world.advance(1000);
  session.edit({ title: "smaller", attributes: [] });
  session.hide();
  await world.advance(1000);
  assert.deepEqual(methods(world), ["PUT", "PUT", "PUT"]);
});

test("what no patch can say stays in the draft, and the whole is tried", async () => {
  const more = record("Ada", "1", "2", "3");
  for (const [content, merges] of [[more, LIST], [record("B", "1", "2"), false], [record("B".repeat(61_000), "1", "2"), LIST]]) {
    const { world, browser, tab, session } = await start({ merges });
    const seen = [];
    world.onRequest = (request) => seen.push([request.method, request.keepalive]);
    world.wire.fate = () => "dropRequest";

    session.edit(content);
    session.hide();
    world.kill(tab);

    assert.deepEqual(seen, [["PUT", false]]);
    assert.deepEqual(JSON.parse(JSON.parse(slots(browser)[0][1]).draft.text), content);
  }
});

test("a refused patch is no refusal of the text: the whole follows with the same id, and nothing is in the way", async () => {
  for (const [made, answer] of [[(server) => server.prune(NAME), 409], [(server) => (server.merges = true), 200], [(server) => (server.merges = false), 200]]) {
    const { world, session, server } = await start();
    const states = [];
    if (answer === 409) server.foreign(NAME, record("foreign", "1", "2"));
    made(server);
    session.subscribe(({ status }) => states.push(status));

    session.edit(record("Ada", "1", "mine"));
    session.hide();
    await world.advance(1000);

    const sent = writes(world);
    assert.deepEqual(sent.map((one) => [one.method, one.status]), [["PATCH", 422], ["PUT", answer]]);
    assert.equal(new Set(sent.map((one) => JSON.parse(one.body).saveId)).size, 1);
    assert.equal(states.at(-1), answer === 409 ? "conflict" : "clean");
    assert.ok(!states.includes("invalid"));
  }
});

test("a text that the server refuses is refused as ever, in whatever way it was sent", async () => {
  const { world, session } = await start({ clean: (content) => (content.title ? content : undefined) });

  session.edit(record("", "1", "2"));
  session.hide();
  await world.advance(60_000);

  assert.deepEqual(writes(world).map((one) => [one.method, one.status]), [["PATCH", 422], ["PUT", 422]]);
  assert.deepEqual([session.state.status, session.state.block.path], ["invalid", "/x"]);
});

test("whatever a patch is refused with, only what the whole is answered counts: a proxy may know no PATCH", async () => {
  const { world, session, server } = await start();
  server.remove(NAME);
  session.edit(record("Ada", "1", "mine"));
  session.hide();
  await world.advance(1000);

  assert.deepEqual(methods(world), ["PATCH", "PUT"]);
  assert.equal(session.state.status, "gone");
});

test("a patch whose answer was lost is repeated as a whole with its id, and known", async () => {
  const { world, session, server } = await start();
  world.fates.push("dropAnswer");

  session.edit(record("Ada", "1", "mine"));
  session.hide();
  await world.advance(60_000);

  assert.deepEqual(methods(world), ["PATCH", "PUT"]);
  assert.equal(new Set(writes(world).map((one) => JSON.parse(one.body).saveId)).size, 1);
  assert.deepEqual([session.state.status, server.head(NAME).version, server.conflicts.size], ["clean", 2, 0]);
});

test("a stale patch is a conflict, and the refused copy is all that is on the screen", async () => {
  const { world, session, server } = await start();
  server.foreign(NAME, record("theirs", "1", "2"));

  session.edit(record("Ada", "1", "mine"));
  session.hide();
  await world.advance(1000);

  assert.equal(session.state.status, "conflict");
  const [conflict] = [...server.conflicts.values()];
  assert.equal(conflict.theirs, JSON.stringify(session.content));
  assert.equal(methods(world).length, 1);
});

test("where the text of the version is not known, nothing is patched onto it", async () => {
  const { world, browser, tab, session, server } = await start();
  world.wire.fate = (request) => (request.method === "GET" ? "fine" : "dropRequest");
  session.edit(record("Ada", "1", "mine"));
  world.kill(tab);
  world.wire.fate = () => "fine";
  server.foreign(NAME, record("theirs", "1", "2"));
  const next = await world.open(browser);
  await world.advance(2000);

  next.session.adopt(next.session.state.offers[0]);
  next.session.edit(record("Ada", "1", "mine too"));
  next.session.hide();
  await world.advance(1000);

  assert.deepEqual(methods(world), ["PUT"]);
  assert.equal([...server.conflicts.values()][0].theirs, JSON.stringify(record("Ada", "1", "mine too")));
});

test("what was thrown away with a deleted document is no base for a patch", async () => {
  const { world, session, server } = await start();
  session.edit(record("mine", "1", "2"));
  server.remove(NAME);
  session.flush();
  await world.advance(1000);
  session.discardAndReload();
  await world.advance(1000);
  session.edit(record("mine", "1", "more"));
  server.restore(NAME);
  session.wake();
  await world.advance(100);

  session.hide();
  await world.advance(3000);

  const [conflict] = [...server.conflicts.values()];
  assert.equal(session.state.status, "conflict");
  assert.equal(conflict.theirs, JSON.stringify(session.content), "version 1 with one value changed would be another text");
});

test("a document that this page made is sent whole until it is read again", async () => {
  const world = createWorld({ server: { merges: LIST } });
  const { session } = await world.open(world.browser(), { options: { create: record("", "1") } });
  await world.advance(100);

  for (const title of ["one", "two", "three"]) {
    if (title === "three") session.wake();
    await world.advance(1000);
    session.edit(record(title, "1"));
    session.hide();
    await world.advance(1000);
  }

  assert.deepEqual(methods(world), ["PUT", "PUT", "PATCH"]);
  assert.equal(session.state.status, "clean");
});

test("a read while something is unsaved says nothing about what the save was made on", async () => {
  const { world, session, server } = await start();
  session.edit(record("mine", "1", "2"));
  server.remove(NAME);
  session.flush();
  await world.advance(1000);
  session.discardAndReload();
  await world.advance(1000);
  server.restore(NAME);
  server.foreign(NAME, record("mine", "1", "2")); // the text that was thrown away, but of another version
  session.edit(record("mine", "1", "more"));
  session.wake();
  await world.advance(100);

  session.hide();
  await world.advance(3000);

  assert.deepEqual(methods(world).slice(1), ["PUT"]);
  assert.equal([...server.conflicts.values()][0].theirs, JSON.stringify(session.content));
});
