import assert from "node:assert/strict";
import { test } from "node:test";

const { begin, classify, createStorage, statusOf, step } = await import(process.env.CLIENT || "./entry.js");
const SETTINGS = { wait: 1000, longest: 5000, maxBytes: 0, follow: true, create: null, schema: 1 };
const NOW = 100_000;

const ready = (more = {}) => ({ ...begin(SETTINGS), loaded: true, version: 3, base: '"old"', text: '"old"', ...more });
const dirty = (more = {}) => ready({ text: '"new"', edits: 1, ...more });
const flying = (more = {}) => dirty({ busy: "put", attempt: { saveId: "s1", version: 3, text: '"new"' }, sentAt: NOW - 100, ...more });
const torn = (more = {}) => {
  const { conflict, ...rest } = more;
  return dirty({ conflict: { id: "c1", version: 5, stored: '"theirs"', by: "sara", at: "", sent: '"new"', changes: 1, told: null, deleted: false, ...conflict }, ...rest });
};
const feed = (state, type, more = {}) => {
  const { state: s, effects } = step(state, { type, now: NOW, id: "new-id", random: 0.5, ...more });
  return { s, did: effects.map((one) => one.do), effects };
};
const answer = (state, of, outcome, more = {}) => feed(state, "answer", { of, outcome, about: of === "put" ? "s1" : "c1", ...more });
const ok = (body) => ({ kind: "ok", body });
const block = (status, code = status, more = {}) => ({ kind: "block", block: { status, code, ...more } });
const LATER = { kind: "later", after: 0, offline: false };
const SAVED = ok({ saveId: "s1", savedVersion: 4, headVersion: 4, replayed: false });
const doc = (version, content, more) => ok({ version, content, merges: false, by: "sara", at: "", settledConflicts: [], ...more });

test("D3 only an answer that names this save is saved", () => {
  const asked = { user: "me", saveId: "s1" };
  const said = (status, body, more) => classify({ status, body, ...more }, asked);

  assert.equal(said(200, { saveId: "s1" }).kind, "ok");
  assert.equal(said(200, { saveId: "s2" }).kind, "later");
  assert.equal(said(200, null).kind, "later");
  assert.equal(said(0, null).offline, true);
  assert.equal(said(0, null, { redirected: true }).block.code, "login_required");
  assert.equal(said(0, null, { redirected: true }).block.status, "auth");
  assert.equal(said(401, null).block.status, "auth");
  assert.equal(said(401, { code: "login_required" }, { user: "anonymous" }).block.code, "login_required");
  assert.equal(said(200, { saveId: "s1" }, { user: "you" }).block.code, "other_user");
  assert.equal(said(403, { code: "other_user" }).block.status, "auth");
  assert.equal(said(403, { code: "csrf_failed" }).block.status, "auth");
  assert.equal(said(403, { code: "forbidden" }).block.status, "forbidden");
  assert.equal(said(404, null).kind, "later", "a proxy's page");
  assert.equal(said(404, { code: "not_found" }).block.status, "gone");
  assert.equal(said(413, null).block.status, "too_large");
  assert.equal(said(422, { code: "invalid" }).block.status, "invalid");
  assert.equal(said(428, { code: "version_required" }).block.status, "invalid");
  assert.equal(said(429, { code: "rate_limited" }, { after: 9 }).after, 9);
  assert.equal(said(503, { code: "busy" }).kind, "later");
  assert.equal(said(409, null).kind, "later");
  assert.equal(said(412, { code: "version_conflict" }).kind, "version_conflict");
  assert.equal(said(409, { code: "schema_changed" }).block.stays, true);
});

test("a step never touches the state it was given", () => {
  const before = torn();
  const copy = structuredClone(before);
  feed(before, "settle", { choice: "take_theirs", version: 5 });
  answer({ ...before, busy: "amend" }, "amend", ok({ changes: 2 }), { text: '"new"' });
  answer({ ...before, busy: "look" }, "look", ok({ changes: 2, base: 1, merges: true, points: [], stored: { version: 5 } }));

  assert.deepEqual(before, copy);
});

test("each state has its word, and the stronger one wins", () => {
  assert.equal(statusOf(begin(SETTINGS)), "loading");
  assert.equal(statusOf(ready()), "clean");
  assert.equal(statusOf(dirty()), "dirty");
  assert.equal(statusOf(ready({ staged: '"x"' })), "dirty");
  assert.equal(statusOf(flying()), "saving");
  assert.equal(statusOf(flying({ tries: 1 })), "retrying");
  assert.equal(statusOf(flying({ tries: 1, offline: true })), "offline");
  assert.equal(statusOf(torn({ tries: 1 })), "conflict");
  assert.equal(statusOf(torn({ block: { status: "auth" } })), "auth");
  assert.equal(statusOf(torn({ closed: true })), "closed");
});

test("flush while a save is under way sends the rest at once after it", () => {
  const { s } = feed(flying({ text: '"newer"' }), "flush");
  assert.equal(answer(s, "put", SAVED).s.dueAt, NOW);
  assert.equal(answer(flying({ text: '"newer"' }), "put", SAVED).s.dueAt, NOW + 1000);
});

test("waking tries again at once; hiding sends what is there; a clean page sends nothing", () => {
  assert.deepEqual(feed(flying({ busy: "", tries: 3 }), "wake").did, ["put"]);
  assert.deepEqual(feed({ ...begin(SETTINGS), tries: 2 }, "wake").did, ["get"]);
  assert.deepEqual(feed(dirty(), "hide").did, ["draft", "put"].slice(0));
  assert.deepEqual(feed(ready(), "hide").did, []);
  assert.deepEqual(feed(dirty({ block: { status: "forbidden", code: "forbidden" } }), "hide").did, []);
  assert.deepEqual(feed(dirty({ block: { status: "forbidden", code: "forbidden" } }), "wake").did, []);
  assert.deepEqual(feed(dirty(), "wake").did, []);
});

test("only a page that hides says what its save was made on, and only where that is known", () => {
  const baseOf = (state, type = "hide") => feed(state, type).effects.at(-1).base;
  assert.equal(baseOf(dirty()), '"old"');
  assert.equal(baseOf(flying({ busy: "" })), '"old"');
  assert.equal(baseOf(dirty(), "flush"), false);
  assert.equal(baseOf(dirty({ base: null })), null);
  const other = { saveId: "s1", version: 2, text: '"new"' };
  assert.equal(baseOf(dirty({ attempt: other })), false);
});

test("a notice is news only if it is newer and not our own", () => {
  assert.deepEqual(feed(ready(), "notice", { version: 4 }).did, ["get"]);
  assert.deepEqual(feed(ready(), "notice", { version: 3 }).did, []);
  assert.deepEqual(feed(flying(), "notice", { version: 4, saveId: "s1" }).s.behind, 0);
  const { s, did } = feed(dirty(), "notice", { version: 9 });
  assert.deepEqual([s.behind, did], [9, []]);
  assert.deepEqual(feed(torn(), "notice", { version: 9 }).did, ["get"]);
});

test("D5 a decision counts against the version on the screen, once, and only in a conflict", () => {
  assert.equal(feed(torn(), "settle", { choice: "take_theirs", version: 4 }).s.settling, null);
  assert.equal(feed(dirty(), "settle", { choice: "take_theirs", version: 3 }).s.settling, null);
  const { s } = feed(torn(), "settle", { choice: "take_theirs", version: 5 });
  assert.equal(s.busy, "settle");
  assert.equal(feed(s, "settle", { choice: "keep_stored", version: 5 }).s.settling.choice, "take_theirs");
});

test("before a decision the copy on the server is looked at, and brought up to what is on the screen", () => {
  const first = feed(torn({ conflict: { changes: null } }), "settle", { choice: "take_theirs", version: 5 });
  assert.deepEqual(first.did, ["look"]);
  const second = answer(first.s, "look", ok({ changes: 4, merges: false, points: null, stored: { version: 5, content: "theirs" } }));
  assert.deepEqual(second.effects.at(-1).changes, 4);
  assert.deepEqual(feed(torn({ text: '"newer"' }), "settle", { choice: "take_theirs", version: 5 }).did.at(-1), "amend");
  assert.deepEqual(feed(torn({ text: '"newer"' }), "settle", { choice: "keep_stored", version: 5 }).did.at(-1), "settle");
});

test("a look finds the document moved on, or the conflict ended", () => {
  const busy = torn({ busy: "look", conflict: { changes: null } });
  const look = { changes: 1, merges: false, points: null };
  const onward = answer(busy, "look", ok({ ...look, stored: { version: 6, content: "more", by: "ben", at: "" } })).s;
  assert.deepEqual([onward.conflict.version, onward.conflict.stored, onward.failed], [6, '"more"', "moved_on"]);
  const over = answer(busy, "look", ok({ ...look, decision: "keep_stored", settledBy: "sara", stored: { version: 5, content: "theirs" } }));
  assert.deepEqual([over.s.conflict.id, over.s.conflict.told.settledBy], ["", "sara"]);
  assert.ok(over.did.includes("seen"));
  assert.ok(over.did.includes("get"));
});

test("a conflict that vanished on the server can still be decided here", () => {
  const lost = answer(torn({ busy: "amend", text: '"newer"' }), "amend", block("gone", "not_found"), { text: '"newer"' }).s;
  assert.equal(lost.conflict.id, "");
  const other = answer(torn({ busy: "amend", text: '"bad"' }), "amend", block("invalid"), { text: '"bad"' }).s;
  assert.deepEqual([other.block, other.conflict.sent, other.dueAt], [null, '"bad"', null]);
});

test("a decision the server refuses ends the deciding, not the conflict", () => {
  const deciding = torn({ busy: "settle", settling: { choice: "merge", saveId: "x", edits: 1, version: 5 } });
  const { s } = answer(deciding, "settle", block("invalid", "invalid", { message: "no title" }));
  assert.deepEqual([s.settling, s.failed, s.block, s.conflict.id], [null, "no title", null, "c1"]);
});

test("deciding without a row on the server: stored is adopted, mine is saved on what was seen", () => {
  const told = { id: "", told: { by: "sara" } };
  const kept = feed(torn({ conflict: told }), "settle", { choice: "keep_stored", version: 5 });
  assert.deepEqual([statusOf(kept.s), kept.s.text, kept.did], ["clean", '"theirs"', ["bin"]]);
  const mine = feed(torn({ conflict: told }), "settle", { choice: "take_theirs", version: 5 });
  assert.deepEqual(mine.effects.at(-1), { do: "put", saveId: "new-id", version: 5, text: '"new"', base: false });
  const merged = feed(torn({ conflict: told }), "settle", { choice: "merge", text: '"both"', version: 5 });
  assert.equal(merged.effects.at(-1).text, '"both"');
  assert.deepEqual(feed(torn({ text: '"newer"', conflict: told }), "flush").did, []);
  const gone = feed(torn({ conflict: { ...told, deleted: true, stored: "null" } }), "settle", { choice: "keep_stored", version: 5 });
  assert.deepEqual([statusOf(gone.s), gone.s.text], ["gone", '"new"']);
});

test("what a merge made is shown; half-typed input stays", () => {
  const deciding = (more) => torn({ busy: "settle", staged: '"half"', settling: { choice: "merge", saveId: "x", edits: 1, version: 5, ...more } });
  const done = ok({ conflictId: "c1", version: 6, decision: "merge" });
  const { s, did } = answer(deciding({ text: '"both"' }), "settle", done);
  assert.deepEqual([s.text, s.base, s.version, s.staged], ['"both"', '"both"', 6, '"half"']);
  assert.ok(did.includes("announce"));
  const picked = answer(deciding({ picks: {} }), "settle", done);
  assert.deepEqual([picked.s.text, picked.did.at(-1)], ['"new"', "get"]);
  const shown = feed(picked.s, "answer", { of: "get", seq: picked.s.seq, outcome: doc(6, "both") }).s;
  assert.deepEqual([shown.text, shown.version, shown.staged], ['"both"', 6, '"half"']);
});

test("an answer to something else changes nothing", () => {
  assert.equal(answer(dirty(), "put", SAVED).s.version, 3);
  assert.equal(answer(torn({ busy: "amend" }), "put", SAVED).s.busy, "amend");
  assert.deepEqual(answer(torn({ busy: "look", conflict: { changes: null } }), "look", LATER).did, [], "no second look at once");
  const { s } = answer(flying(), "put", SAVED, { about: "s0" });
  assert.deepEqual([s.version, s.busy], [3, ""]);
  assert.ok(s.dueAt !== null);
  assert.equal(feed(ready({ seq: 5, reading: true }), "answer", { of: "get", seq: 4, outcome: doc(9, "x") }).s.version, 3);
});

test("a lost answer leaves the save unsure; its id survives a login page, and a refusal ends it", () => {
  const lost = answer(flying(), "put", LATER).s;
  assert.deepEqual([lost.attempt.unsure, lost.tries, lost.dueAt], [true, 1, NOW + 1000]);
  assert.equal(answer({ ...lost, busy: "put" }, "put", block("auth", "login_required")).s.attempt.saveId, "s1");
  assert.equal(answer(flying(), "put", block("auth", "login_required")).s.attempt, null);
  assert.equal(answer({ ...lost, busy: "put" }, "put", block("invalid")).s.attempt, null);
  assert.equal(answer(flying({ text: '"mended"' }), "put", block("invalid")).s.block, null);
  assert.equal(answer(flying(), "put", { ...LATER, after: 60_000 }).s.dueAt, NOW + 60_000);
});

test("somebody saved on top of ours: it is read when nothing is unsaved, and said while something is", () => {
  const body = ok({ saveId: "s1", savedVersion: 4, headVersion: 6, replayed: true });
  assert.deepEqual(answer(flying(), "put", body).did.at(-1), "get");
  const busy = answer(flying({ text: '"newer"' }), "put", body);
  assert.deepEqual([busy.s.behind, busy.did.includes("get"), busy.s.version], [6, false, 4]);
});

test("what the server wrote differently lands only where nobody has typed since", () => {
  const state = flying({ attempt: { saveId: "s1", version: 3, text: '{"a":"x ","b":"1"}' }, text: '{"a":"x ","b":"2"}' });
  const { s } = answer(state, "put", ok({ ...SAVED.body, normalised: { a: "x", b: "one" } }));
  assert.deepEqual([s.text, s.base], ['{"a":"x","b":"2"}', '{"a":"x","b":"one"}']);
  const whole = answer(flying(), "put", ok({ ...SAVED.body, normalised: { "": "NEW" } })).s;
  assert.deepEqual([whole.text, whole.base], ['"NEW"', '"NEW"']);
});

test("throwing away waits for a running save, fetches, and lets nothing go that was typed since", () => {
  const waiting = feed(flying(), "discard");
  assert.deepEqual(waiting.did, []);
  const asked = answer(waiting.s, "put", LATER);
  assert.deepEqual(asked.did.at(-1), "get");
  const reading = feed(dirty(), "discard").s;
  const get = (state, outcome) => feed(state, "answer", { of: "get", seq: state.seq, outcome });
  assert.deepEqual([get(reading, doc(4, "theirs")).s.text, get(reading, doc(4, "theirs")).did], ['"theirs"', ["bin"]]);
  assert.equal(get(reading, LATER).s.failed, "not_reloaded");
  assert.ok(get(reading, LATER).s.dueAt !== null, "the unsaved text is still on its way");
  assert.equal(get(reading, doc(2, "older")).s.failed, "not_reloaded");
  const typed = feed(reading, "edit", { text: '"typed on"' }).s;
  assert.deepEqual([get(typed, doc(4, "theirs")).s.text, get(typed, doc(4, "theirs")).s.failed], ['"typed on"', "typed_on"]);
  assert.deepEqual(get(reading, block("gone")).did, ["bin"]);
  assert.equal(get(typed, block("gone")).did.includes("bin"), false);
  assert.deepEqual(feed(begin(SETTINGS), "discard").did, []);
});

test("a read that is older, or raced, is dropped; one that failed is wanted again", () => {
  const asked = (state) => feed(state, "refresh").s;
  const get = (state, outcome) => feed(state, "answer", { of: "get", seq: state.seq, outcome });
  assert.equal(get(asked(ready()), doc(2, "older")).s.text, '"old"');
  assert.equal(get(asked(ready()), LATER).s.wanted, true);
  assert.equal(get(asked(ready({ offline: true })), doc(3, "old")).s.offline, false);
  const raced = get(feed(asked(ready()), "edit", { text: '"new"' }).s, doc(4, "theirs")).s;
  assert.deepEqual([raced.text, raced.behind, raced.wanted], ['"new"', 4, true]);
  const blocked = get(asked(dirty({ block: { status: "forbidden", code: "forbidden" } })), doc(3, "old")).s;
  assert.deepEqual([blocked.block.code, blocked.dueAt], ["forbidden", null]);
});

test("in a conflict a read renews what is compared, and a decision of somebody else is told", () => {
  const get = (state, outcome) => feed(state, "answer", { of: "get", seq: state.seq, outcome });
  const reading = feed(torn(), "wake").s;
  const newer = get(reading, doc(7, "newest")).s;
  assert.deepEqual([newer.conflict.version, newer.conflict.stored, newer.conflict.id], [7, '"newest"', "c1"]);
  const settled = [{ conflictId: "c1", decision: "keep_stored", by: "sara" }];
  assert.equal(get(reading, doc(5, "theirs", { settledConflicts: settled })).s.conflict.told.by, "sara");
  assert.equal(get(reading, doc(6, "new", { settledConflicts: settled })).s.conflict, null);
  assert.equal(get(reading, doc(6, "new", { settledConflicts: [{ ...settled[0], conflictId: "c9" }] })).s.conflict.id, "c1");
});

test("D4 while somebody else is logged in nothing is heard, and only a good read opens again", () => {
  const hidden = answer(flying(), "put", block("auth", "other_user")).s;
  assert.equal(hidden.hidden, true);
  assert.equal(feed(hidden, "edit", { text: '"not mine"' }).s.text, '"new"');
  assert.equal(feed(hidden, "stage", { text: '"not mine"' }).s.staged, null);
  assert.deepEqual(feed(hidden, "flush").did, ["get"]);
  assert.equal(feed(ready(), "logout").s.hidden, true);
  const asked = feed(hidden, "wake").s;
  const refused = feed(asked, "answer", { of: "get", seq: asked.seq, outcome: block("forbidden") }).s;
  assert.equal(refused.hidden, true);
  assert.deepEqual(feed(refused, "wake").did, ["get"]);
  const back = feed(asked, "answer", { of: "get", seq: asked.seq, outcome: doc(3, "old") }).s;
  assert.deepEqual([back.hidden, statusOf(back), back.dueAt !== null], [false, "dirty", true]);
});

test("a draft is adopted only into a session with nothing of its own, and of the same release", () => {
  const draft = { text: '"left"', staged: null, version: 2, attempt: { saveId: "s0", version: 2 }, schema: 1, edits: 4 };
  const { s, did } = feed(ready(), "adopt", { draft, offer: {} });
  assert.deepEqual([s.version, s.base, s.attempt], [2, null, { saveId: "s0", version: 2, text: '"left"', unsure: true }]);
  assert.deepEqual(did, ["draft", "take"], "first ours is safe, then theirs goes");
  for (const state of [dirty(), torn(), ready({ staged: '"x"' }), ready({ schema: 2 }), ready({ block: { status: "auth", code: "x" } })]) {
    assert.deepEqual(feed(state, "adopt", { draft, offer: {} }).did, []);
  }
});

test("closed is closed", () => {
  const { s } = feed(dirty(), "close");
  assert.deepEqual(feed(s, "edit", { text: '"x"' }).did, []);
  assert.deepEqual(feed(s, "tick").did, []);
});

test("storage: what reached the first place again is taken out of the second", async () => {
  const local = new Map();
  const far = new Map();
  let full = false;
  const store = () => ({
    get length() { return local.size; },
    key: (at) => [...local.keys()][at],
    getItem: (key) => local.get(key) ?? null,
    removeItem: (key) => local.delete(key),
    setItem(key, value) {
      if (full) throw new Error("QuotaExceededError");
      local.set(key, value);
    },
  });
  const indexed = async (key, value) => (key ? (value === null ? far.delete(key) : far.set(key, value), [1]) : [[...far]]);
  const storage = createStorage({ local: store, indexed });
  const write = (value) => new Promise((done) => storage.write("k", value, done));

  assert.equal(await write("one"), "local");
  full = true;
  assert.equal(await write("two"), "indexed");
  assert.deepEqual([local.get("k"), far.get("k")], ["one", "two"]);
  assert.deepEqual((await storage.list("k")).map(([, value]) => value), ["two", "two", "one"]);
  full = false;
  assert.equal(await write("three"), "local");
  assert.deepEqual([local.get("k"), far.size], ["three", 0]);
  storage.remove("k");
  assert.deepEqual(await storage.list("k"), []);
});
