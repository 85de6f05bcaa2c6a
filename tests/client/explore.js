// Every order of a small world: 2 tabs, up to 4 edits, up to 2 faults, one step at a time over the same machine. Breadth
// first, so the first broken rule comes with the shortest way to it. States that look alike are visited once.

import { createHash } from "node:crypto";
import { createServer } from "./fake-server.js";
import { NAME, URL_ } from "./world.js";

const { begin, classify, isUnsaved, statusOf, step } = await import(process.env.CLIENT || "./entry.js");
const settings = { wait: 1000, longest: 5000, maxBytes: 0, follow: true, create: null, schema: 1 };
const COOKIE = "cookie";

function serverOf(kept) {
  const server = createServer({ merges: false });
  server.sessions.set(COOKIE, { user: "ann", csrf: "c" });
  for (const [key, { revisions }] of kept.documents) server.documents.set(key, { revisions: [...revisions] }); // revisions never change
  for (const [key, value] of kept.conflicts) server.conflicts.set(key, { ...value });
  server.nextConflict = kept.nextConflict;
  return server;
}
const keep = (server) => ({ documents: [...server.documents], conflicts: [...server.conflicts], nextConflict: server.nextConflict });

const requestOf = (effect, writer) => {
  const base = { cookie: COOKIE, headers: { "X-CSRFToken": "c" }, path: URL_, method: "GET" };
  const conflict = `${URL_}conflicts/${effect.id}/`;
  if (effect.do === "get") return base;
  if (effect.do === "look") return { ...base, path: conflict };
  const content = effect.text ? JSON.parse(effect.text) : undefined;
  if (effect.do === "put") return { ...base, method: "PUT", body: JSON.stringify({ expectedVersion: effect.version, saveId: effect.saveId, writer, schema: 1, content }) };
  if (effect.do === "amend") return { ...base, method: "PUT", path: conflict, body: JSON.stringify({ content, saveId: `amend-${effect.text}` }) };
  return { ...base, method: "POST", path: `${conflict}settle/`, body: JSON.stringify({ choice: effect.choice, expectedVersion: effect.version, changes: effect.changes, content, saveId: effect.saveId }) };
};

/** One event into one tab; returns the next world. */
function feed(world, index, event) {
  const tab = world.tabs[index];
  const s = tab.state;
  const now = event.type === "tick" ? s.dueAt : world.now;
  const id = event.type === "settle" ? `settle-${index}-${s.conflict?.version}-${s.edits}` : `save-${index}-${tab.life}-${s.version}-${s.text}`;
  const { state, effects } = step(s, { now, id, random: 0.5, ...event });
  const next = { ...tab, state, wire: [...tab.wire] };
  let { bin, slots } = world;
  for (const effect of effects) {
    const slot = `${index}.${tab.life}`;
    if (effect.do === "draft") slots = { ...slots, [slot]: effect.draft };
    else if (["drop", "bin"].includes(effect.do)) {
      if (effect.do === "bin" && slots[slot]) bin = [...bin, slots[slot].text];
      slots = Object.fromEntries(Object.entries(slots).filter(([name]) => name !== slot));
    } else if (effect.do === "take") {
      bin = [...bin, effect.offer.draft.text];
      slots = Object.fromEntries(Object.entries(slots).filter(([name]) => name !== effect.offer.key));
    } else if (["get", "put", "look", "amend", "settle"].includes(effect.do)) next.wire.push({ effect, reply: null });
  }
  return { ...world, bin, slots, tabs: world.tabs.map((one, at) => (at === index ? next : one)) };
}

const answerEvent = ({ effect }, outcome) => ({
  type: "answer", of: effect.do, seq: effect.seq, text: effect.text, outcome, about: effect.do === "put" ? effect.saveId : effect.id,
});

function handled(world, request) {
  const server = serverOf(world.server);
  const reply = server.handle(request);
  return [{ ...world, server: keep(server) }, { ...reply, user: "" }];
}

/** Every next world, with the name of the step that leads there. */
function* successors(world, { edits, faults, decisions }) {
  for (const [index, tab] of world.tabs.entries()) {
    const { state } = tab;
    const status = statusOf(state);
    if (world.edits < edits && state.loaded) {
      const token = `t${world.edits + 1}`;
      const text = JSON.stringify({ t: [...JSON.parse(state.text).t, token] });
      yield [`edit ${index}`, { ...feed(world, index, { type: "edit", text }), edits: world.edits + 1 }];
    }
    if (state.dueAt !== null) yield [`tick ${index}`, feed(world, index, { type: "tick" })];
    if (state.conflict && !state.settling && world.decisions < decisions) {
      for (const choice of ["keep_stored", "take_theirs"]) {
        const seen = choice === "take_theirs" ? state.conflict.stored.match(/t\d+/g) : [];
        const after = feed(world, index, { type: "settle", choice, version: state.conflict.version });
        yield [`${choice} ${index}`, { ...after, decisions: world.decisions + 1, approved: [...new Set([...world.approved, ...seen])].sort() }];
      }
    }
    if (status === "clean") {
      for (const [key, draft] of Object.entries(world.slots)) {
        const [owner, life] = key.split(".");
        if (world.tabs[owner].life === Number(life)) continue; // alive
        yield [`adopt ${index} ${key}`, feed(world, index, { type: "adopt", draft, offer: { key, draft } })];
      }
    }
    for (const [at, message] of tab.wire.entries()) {
      const rest = { ...tab, wire: tab.wire.filter((_, other) => other !== at) };
      const without = { ...world, tabs: world.tabs.map((one, other) => (other === index ? rest : one)) };
      if (!message.reply) {
        const [next, reply] = handled(world, requestOf(message.effect, `w${index}.${tab.life}`));
        const arrived = { ...tab, wire: tab.wire.map((one, other) => (other === at ? { ...one, reply } : one)) };
        yield [`deliver ${index} ${message.effect.do}`, { ...next, tabs: next.tabs.map((one, other) => (other === index ? arrived : one)) }];
        if (world.faults < faults) {
          const later = feed(without, index, answerEvent(message, { kind: "later", after: 0 }));
          yield [`lose request ${index}`, { ...later, faults: world.faults + 1 }];
          if (message.effect.do !== "get") yield [`late copy ${index}`, { ...later, faults: world.faults + 1, ghosts: [...world.ghosts, requestOf(message.effect, `w${index}.${tab.life}`)] }];
        }
      } else {
        const outcome = classify(message.reply, { user: "", saveId: message.effect.do === "put" ? message.effect.saveId : "" });
        yield [`answer ${index} ${message.effect.do}`, feed(without, index, answerEvent(message, outcome))];
        if (world.faults < faults) yield [`lose answer ${index}`, { ...feed(without, index, answerEvent(message, { kind: "later", after: 0 })), faults: world.faults + 1 }];
      }
    }
    if (world.faults < faults) {
      const fresh = { state: begin(settings), wire: [], life: tab.life + 1 };
      const reopened = { ...world, faults: world.faults + 1, ghosts: [...world.ghosts, ...tab.wire.filter((one) => !one.reply && one.effect.do === "put").map((one) => requestOf(one.effect, `w${index}.${tab.life}`))] };
      yield [`kill ${index}`, feed({ ...reopened, tabs: world.tabs.map((one, at) => (at === index ? fresh : one)) }, index, { type: "open" })];
    }
  }
  for (const [at, ghost] of world.ghosts.entries()) {
    const [next] = handled(world, ghost);
    yield [`late copy arrives`, { ...next, ghosts: world.ghosts.filter((_, other) => other !== at) }];
  }
}

const found = new Map();
const tokensIn = (text) => {
  if (!found.has(text)) found.set(text, text.match(/t\d+/g) || []);
  return found.get(text);
};

/** What is broken in this world, or "". */
function broken(world, before) {
  const revisions = world.server.documents[0][1].revisions;
  const places = new Set();
  const put = (text) => tokensIn(text).forEach((token) => places.add(token));
  for (const one of revisions) put(one.text);
  for (const [, one] of world.server.conflicts) put(one.theirs);
  for (const one of Object.values(world.slots)) put(one.text);
  for (const text of world.bin) put(text);
  for (const { state } of world.tabs) {
    put(state.text || "");
    if (statusOf(state) === "clean" && revisions[state.version - 1]?.text !== state.text) return "D3: saved is shown, and it is not";
    if (isUnsaved(state) && !state.busy && !state.conflict && !state.block && state.dueAt === null) return "rest: unsaved, and nothing will ever send it";
  }
  for (let at = 1; at <= world.edits; at++) if (!places.has(`t${at}`)) return `D1: t${at} is nowhere`;
  const count = before ? before.server.documents[0][1].revisions.length : revisions.length;
  for (const { text, version } of revisions.slice(count)) {
    const now = new Set(tokensIn(text));
    for (const token of tokensIn(revisions[version - 2].text)) if (!now.has(token) && !world.approved.includes(token)) return `D2: version ${version} lost ${token}`;
  }
  for (const { state, wire } of world.tabs) {
    if (wire.filter((one) => one.effect.do !== "get").length > 1) return "queue: two writes on the wire";
    void state;
  }
  return "";
}

const named = new WeakMap();
const once = (/** @type {object} */ thing, make) => {
  if (!named.has(thing)) named.set(thing, createHash("md5").update(JSON.stringify(make(thing))).digest("base64"));
  return named.get(thing);
};
const tabName = ({ state: s, wire, life }) => [
  { ...s, settings: 0, dueAt: s.dueAt !== null, since: s.since !== null, sentAt: 0, lasted: 0, seq: 0, mark: s.mark - s.readMark, readMark: 0, edits: s.discarding || s.settling ? s.edits : 0, tries: Math.min(s.tries, 1) },
  wire.map(({ effect, reply }) => [effect.do, effect.saveId, effect.text, effect.version, effect.seq === s.seq, reply?.status, reply?.body?.version, reply?.body?.headVersion, reply?.body?.savedVersion, reply?.body?.changes]),
  life,
];

/** A short name for a world: without times, which only order what is ordered already. */
const nameOf = (world) =>
  [...world.tabs.map((tab) => once(tab, tabName)), once(world.server, (all) => all), once(world.slots, (all) => all), once(world.bin, (all) => all), once(world.ghosts, (all) => all), world.edits, world.faults, world.decisions].join();

export function explore({ edits = 4, faults = 2, decisions = 1, limit = 2_000_000, tabs = 2 } = {}) {
  const server = createServer();
  server.foreign(NAME, { t: ["t0"] });
  let first = { now: 0, tabs: [], server: keep(server), slots: {}, bin: [], ghosts: [], edits: 0, faults: 0, decisions: 0, approved: [] };
  first.tabs = Array.from({ length: tabs }, () => ({ state: begin(settings), wire: [], life: 0 }));
  for (let index = 0; index < tabs; index++) {
    first = feed(first, index, { type: "open" });
    const [next, reply] = handled(first, requestOf({ do: "get" }));
    const message = first.tabs[index].wire[0];
    first = feed({ ...next, tabs: first.tabs.map((one, at) => (at === index ? { ...one, wire: [] } : one)) }, index, answerEvent(message, classify(reply, { user: "" })));
  }
  const seen = new Set([nameOf(first)]);
  let level = [{ world: first, way: null, step: "" }];
  let depth = 0;
  const wayTo = (node) => (node.way ? [...wayTo(node.way), node.step] : []);
  while (level.length && seen.size < limit) {
    const next = [];
    for (const node of level) {
      for (const [name, world] of successors(node.world, { edits, faults, decisions })) {
        const key = nameOf(world);
        if (seen.has(key)) continue;
        seen.add(key);
        const fault = broken(world, node.world);
        const made = { world, way: node, step: name };
        if (fault) return { fault, way: wayTo(made), states: seen.size, depth };
        next.push(made);
      }
    }
    level = next;
    depth++;
  }
  return { fault: "", way: [], states: seen.size, depth, complete: !level.length };
}

if (process.argv[1]?.endsWith("explore.js")) {
  const [edits = "4", faults = "2", decisions = "1", limit = "2000000"] = process.argv.slice(2);
  const started = Date.now();
  const found = explore({ edits: Number(edits), faults: Number(faults), decisions: Number(decisions), limit: Number(limit) });
  if (found.fault) console.log(`${found.fault}\n    ${found.way.join("\n    ")}`);
  console.log(`${found.states} states, depth ${found.depth}, ${found.complete ? "complete" : "cut off"}, ${edits} edits, ${faults} faults, ${decisions} decisions, ${Date.now() - started} ms`);
  process.exitCode = found.fault ? 1 : 0;
}
