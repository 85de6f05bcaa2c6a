// The small world: two tabs of one person, one document, and every next step. A world is a handful of parts (each tab with
// its wire, the server, what is kept beside them); a part that looks like an earlier one is that one, so a world is a few
// numbers, and what one part does is worked out once. Times only order what is ordered already, so no name has them.

import { createHash } from "node:crypto";
import { createServer } from "./fake-server.js";
import { NAME, URL_ } from "./world.js";

const { begin, classify, isUnsaved, statusOf, step } = await import(process.env.CLIENT || "./entry.js");
const settings = { wait: 1000, longest: 5000, maxBytes: 0, follow: true, create: null, schema: 1 };
const COOKIE = "cookie";

/** Parts by number. The same name is the same part. */
function parts(nameOf, factsOf = () => null) {
  const known = new Map();
  const all = [];
  const facts = [];
  return {
    all,
    facts,
    id(part) {
      const name = createHash("md5").update(JSON.stringify(nameOf(part))).digest("latin1");
      let id = known.get(name);
      if (id === undefined) {
        known.set(name, (id = all.length));
        all.push(part);
        facts.push(factsOf(part));
      }
      return id;
    },
  };
}

/** The answer to two numbers, worked out once. */
function table(work) {
  let known = null; // most are never asked
  return (one, other = 0) => {
    const key = one * 2 ** 24 + other;
    let found = known?.get(key);
    if (found === undefined) (known ??= new Map()).set(key, (found = work(one, other)));
    return found;
  };
}

/** Tokens as bits: t0 is 1, t1 is 2. */
const maskOf = (text) => (text.match(/t\d+/g) || []).reduce((mask, token) => mask | (1 << Number(token.slice(1))), 0);

const tabName = ({ index, life, wire, state: s }) => [
  index,
  life,
  { ...s, settings: 0, dueAt: s.dueAt !== null, since: s.since !== null, sentAt: 0, lasted: 0, seq: 0, mark: s.mark - s.readMark, readMark: 0, edits: s.discarding || s.settling ? s.edits : 0, tries: Math.min(s.tries, 1) },
  wire.map(({ effect, reply }) => [{ ...effect, seq: effect.seq === s.seq }, reply]),
];

/** What the rules ask of a tab, whatever the rest of its world is. */
function tabFacts({ state: s, wire }) {
  const stuck = isUnsaved(s) && !s.busy && !s.conflict && !s.block && s.dueAt === null;
  const writes = wire.filter((one) => one.effect.do !== "get").length;
  const fault = stuck ? "rest: unsaved, and nothing will ever send it" : writes > 1 ? "queue: two writes on the wire" : "";
  return { mask: maskOf(s.text || ""), clean: statusOf(s) === "clean", fault, moves: null };
}

const serverFacts = ({ revisions, conflicts }) => ({
  texts: revisions.map((one) => one.text),
  masks: revisions.map((one) => maskOf(one.text)),
  mask: [...revisions.map((one) => one.text), ...conflicts.map(([, one]) => one.theirs)].reduce((mask, text) => mask | maskOf(text), 0),
});

/** Drafts by slot, what lies in the bin, requests that were given up and are still under way, what a person saw and decided against. */
const asideFacts = ({ slots, bin }) => ({ mask: Object.values(slots).reduce((mask, draft) => mask | maskOf(draft.text), bin) });

export function createSmallWorld() {
  const tabs = parts(tabName, tabFacts);
  const servers = parts((all) => all, serverFacts);
  const asides = parts((all) => all, asideFacts);
  const requests = parts((all) => all);
  const replies = parts((all) => all);
  const changes = parts((all) => all); // what a step does to what is kept aside
  const drafts = parts((all) => all);

  const requestOf = (effect, { index, life }) => {
    const conflict = `${URL_}conflicts/${effect.id}/`;
    if (effect.do === "get") return { method: "GET", path: URL_ };
    if (effect.do === "look") return { method: "GET", path: conflict };
    const content = effect.text ? JSON.parse(effect.text) : undefined;
    if (effect.do === "put") return { method: "PUT", path: URL_, body: JSON.stringify({ expectedVersion: effect.version, saveId: effect.saveId, writer: `w${index}.${life}`, schema: 1, content }) };
    if (effect.do === "amend") return { method: "PUT", path: conflict, body: JSON.stringify({ content, saveId: `amend-${effect.text}` }) };
    return { method: "POST", path: `${conflict}settle/`, body: JSON.stringify({ choice: effect.choice, expectedVersion: effect.version, changes: effect.changes, content, saveId: effect.saveId }) };
  };

  const handled = table((server, request) => {
    const { revisions, conflicts, nextConflict } = servers.all[server];
    const fake = createServer({ merges: false });
    fake.sessions.set(COOKIE, { user: "ann", csrf: "c" });
    fake.documents.set(NAME, { revisions: [...revisions] }); // revisions never change
    for (const [key, value] of conflicts) fake.conflicts.set(key, { ...value });
    fake.nextConflict = nextConflict;
    const reply = fake.handle({ cookie: COOKIE, headers: { "X-CSRFToken": "c" }, ...requests.all[request] });
    const next = servers.id({ revisions: fake.documents.get(NAME).revisions, conflicts: [...fake.conflicts], nextConflict: fake.nextConflict });
    return { server: next, reply: replies.id({ ...reply, user: "" }) };
  });

  const changed = table((aside, change) => {
    let { slots, bin, ghosts, approved } = asides.all[aside];
    for (const [what, key, value] of changes.all[change]) {
      const { [key]: draft, ...others } = slots;
      if (what === "draft") slots = { ...others, [key]: value };
      else if (what === "drop") slots = others;
      else if (what === "bin") {
        if (draft) bin |= maskOf(draft.text);
        slots = others;
      } else if (what === "ghost") ghosts = [...ghosts, key].sort((one, other) => one - other);
      else if (what === "gone") ghosts = ghosts.filter((_, at) => at !== ghosts.indexOf(key));
      else approved |= key;
    }
    slots = Object.fromEntries(Object.entries(slots).sort());
    return asides.id({ slots, bin, ghosts, approved });
  });

  /** One event into one tab: the tab after it, and the change to what is kept aside. */
  function feed(tab, event, more = []) {
    const { index, life, state: s } = tab;
    const now = event.type === "tick" ? s.dueAt : 0;
    const id = event.type === "settle" ? `settle-${index}-${s.conflict?.version}-${s.edits}` : `save-${index}-${life}-${s.version}-${s.text}`;
    const { state, effects } = step(s, { now, id, random: 0.5, ...event });
    const wire = [...tab.wire];
    const slot = `${index}.${life}`;
    const done = [...more];
    for (const effect of effects) {
      if (effect.do === "draft") done.push(["draft", slot, { ...effect.draft, edits: 0 }]);
      else if (effect.do === "drop" || effect.do === "bin") done.push([effect.do, slot]);
      else if (effect.do === "take") done.push(["bin", effect.offer.key]);
      else if (effect.do !== "seen" && effect.do !== "announce") wire.push({ effect, reply: null });
    }
    return { tab: tabs.id({ ...tab, state, wire }), change: changes.id(done) };
  }

  const answerEvent = ({ effect }, outcome) => ({
    type: "answer", of: effect.do, seq: effect.seq, text: effect.text, outcome, about: effect.do === "put" ? effect.saveId : effect.id,
  });
  const lost = (tab, at, more) => feed({ ...tab, wire: tab.wire.filter((_, other) => other !== at) }, answerEvent(tab.wire[at], { kind: "later", after: 0 }), more);

  /** Whatever a tab may do by itself, worked out once. `costs` is a fault, a decision, or nothing. */
  function movesOf(id) {
    const tab = tabs.all[id];
    const { index, life, state, wire } = tab;
    const moves = [];
    const move = (name, costs, made) => moves.push({ name: `${name} ${index}`, costs, request: -1, ...made });
    if (state.dueAt !== null) move("tick", "", feed(tab, { type: "tick" }));
    const { conflict } = state;
    if (conflict && !state.settling) {
      for (const choice of ["keep_stored", "take_theirs"]) {
        const seen = choice === "take_theirs" ? [["approve", maskOf(conflict.stored)]] : [];
        move(choice, "decision", feed(tab, { type: "settle", choice, version: conflict.version }, seen));
      }
    }
    for (const [at, message] of wire.entries()) {
      const { effect, reply } = message;
      if (reply) {
        const outcome = classify(reply, { user: "", saveId: effect.do === "put" ? effect.saveId : "" });
        move(`answer ${effect.do}`, "", feed({ ...tab, wire: wire.filter((_, other) => other !== at) }, answerEvent(message, outcome)));
        move("lose answer", "fault", lost(tab, at));
        continue;
      }
      const request = requests.id(requestOf(effect, tab));
      const arrived = table((reply) => tabs.id({ ...tab, wire: wire.map((one, other) => (other === at ? { ...one, reply: replies.all[reply] } : one)) }));
      move(`deliver ${effect.do}`, "", { request, arrived });
      move("lose request", "fault", lost(tab, at));
      if (effect.do !== "get") move("late copy", "fault", lost(tab, at, [["ghost", request]]));
    }
    const ghosts = wire.filter((one) => !one.reply && one.effect.do === "put").map((one) => ["ghost", requests.id(requestOf(one.effect, tab))]);
    move("kill", "fault", feed({ index, life: life + 1, state: begin(settings), wire: [] }, { type: "open" }, ghosts));
    const edited = table((token) => {
      const text = JSON.stringify({ t: [...JSON.parse(state.text).t, `t${token}`] });
      return feed(tab, { type: "edit", text });
    });
    const adopted = table((draft) => {
      const [key, kept] = drafts.all[draft];
      return feed(tab, { type: "adopt", draft: kept, offer: { key, draft: kept } });
    });
    return { list: moves, loaded: state.loaded, edited, adopted, life, index };
  }
  const moves = (id) => (tabs.facts[id].moves ??= movesOf(id));

  /** Call `next(name, tab 0, tab 1, server, aside, edits, faults, decisions)` for every next world. */
  function successors([one, other, server, aside, edits, faults, decisions], left, next) {
    const pair = [moves(one), moves(other)];
    const put = (name, index, tab, change, to = server, more = [0, 0, 0]) => {
      const kept = change < 0 ? aside : changed(aside, change);
      next(name, index ? one : tab, index ? tab : other, to, kept, edits + more[0], faults + more[1], decisions + more[2]);
    };
    for (const [index, { list, loaded, edited, adopted }] of pair.entries()) {
      if (edits < left.edits && loaded) {
        const made = edited(edits + 1);
        put(`edit ${index}`, index, made.tab, made.change, server, [1, 0, 0]);
      }
      for (const { name, costs, tab, change, request, arrived } of list) {
        if ((costs === "fault" && faults >= left.faults) || (costs === "decision" && decisions >= left.decisions)) continue;
        if (request >= 0) {
          const done = handled(server, request);
          put(name, index, arrived(done.reply), -1, done.server);
        } else put(name, index, tab, change, server, [0, costs === "fault" ? 1 : 0, costs === "decision" ? 1 : 0]);
      }
      if (!tabs.facts[index ? other : one].clean) continue;
      for (const entry of Object.entries(asides.all[aside].slots)) {
        const [owner, life] = entry[0].split(".").map(Number);
        if (pair[owner].life === life) continue; // alive
        const made = adopted(drafts.id(entry));
        put(`adopt ${index} ${entry[0]}`, index, made.tab, made.change);
      }
    }
    for (const ghost of asides.all[aside].ghosts) {
      const done = handled(server, ghost);
      put("late copy arrives", 0, one, changes.id([["gone", ghost]]), done.server);
    }
  }

  /** What is lost from a version to the next, as bits. */
  const lostBetween = table((before, after) => {
    const [from, masks] = [servers.facts[before].masks.length, servers.facts[after].masks];
    let missing = 0;
    for (let at = from; at < masks.length; at++) missing |= masks[at - 1] & ~masks[at];
    return missing;
  });

  /** What is broken in a world that came from one whose server was `before`, or "". */
  function broken([one, other, server, aside, edits], before) {
    const facts = [tabs.facts[one], tabs.facts[other]];
    const { mask, texts } = servers.facts[server];
    for (const [index, id] of [one, other].entries()) {
      if (facts[index].fault) return facts[index].fault;
      const { version, text } = tabs.all[id].state;
      if (facts[index].clean && texts[version - 1] !== text) return "D3: saved is shown, and it is not";
    }
    const everywhere = mask | facts[0].mask | facts[1].mask | asides.facts[aside].mask;
    for (let at = 1; at <= edits; at++) if (!(everywhere & (1 << at))) return `D1: t${at} is nowhere`;
    if (before !== server) {
      const missing = lostBetween(before, server) & ~asides.all[aside].approved;
      if (missing) return `D2: a version lost t${31 - Math.clz32(missing)}`;
    }
    return "";
  }

  /** Two open tabs and a document of one version. */
  function first() {
    const fake = createServer();
    fake.foreign(NAME, { t: ["t0"] });
    const server = servers.id({ revisions: fake.documents.get(NAME).revisions, conflicts: [], nextConflict: 1 });
    const aside = asides.id({ slots: {}, bin: 0, ghosts: [], approved: 0 });
    const ready = [0, 1].map((index) => {
      const opened = tabs.all[feed({ index, life: 0, state: begin(settings), wire: [] }, { type: "open" }).tab];
      const message = opened.wire[0];
      const { reply } = handled(server, requests.id(requestOf(message.effect, opened)));
      return feed({ ...opened, wire: [] }, answerEvent(message, classify(replies.all[reply], { user: "" }))).tab;
    });
    return [...ready, server, aside, 0, 0, 0];
  }

  const counts = () => `${tabs.all.length} tabs, ${servers.all.length} servers, ${asides.all.length} asides`;
  return { first, successors, broken, counts };
}
