// Session: one document, for as long as it is open. It feeds events to the machine and carries out its effects, drafts
// before everything else. Everything from outside is handed in, so all of this runs under a virtual clock.

import { createDrafts } from "./drafts.js";
import { step } from "./machine.js";
import { begin, isUnsaved, statusOf } from "./state.js";
import { createTalk } from "./talk.js";
import { textOf } from "./text.js";

const DEFAULTS = { wait: 1500, longest: 10_000, timeout: 20_000, maxBytes: 0, schema: 1, follow: true };

/**
 * @param {string} url the document's address, with a slash at its end
 * @param {Record<string, any>} given options: see documents.d.ts
 * @param {Record<string, any>} outside {fetch, budget, storage, clock, random, newId, token, writer, channel}
 */
export function createSession(url, given, outside) {
  const { clock, storage, writer, channel, random, newId } = outside;
  const options = { ...DEFAULTS, ...given };
  let state = begin({ ...options, create: "create" in options ? textOf(options.create) : null });
  let { user } = given;
  let drafts = /** @type {ReturnType<typeof createDrafts>|null} */ (null);
  let cancelTimer = () => {};
  let timerAt = /** @type {number|null} */ (null);
  let view = /** @type {any} */ (null);
  let listeners = /** @type {((view: any) => void)[]} */ ([]);

  const learn = (/** @type {string} */ tag) => (user ||= tag);
  const talk = createTalk({ .../** @type {any} */ (outside), ...options, url, user: () => user, learn });

  function send(/** @type {string} */ type, /** @type {any} */ more = {}) {
    const result = step(state, { type, now: clock.now(), id: newId(), random: random(), ...more });
    state = result.state;
    view = null;
    for (const effect of result.effects) doers[effect.do](effect);
    setTimer();
    for (const listener of [...listeners]) listener(api.state);
  }

  function setTimer() {
    if (state.dueAt === timerAt) return;
    cancelTimer();
    timerAt = state.dueAt;
    cancelTimer = timerAt === null ? () => {} : clock.after(Math.max(0, timerAt - clock.now()), tick);
  }

  function tick() {
    timerAt = null;
    send("tick");
  }

  const slot = () => (drafts ??= createDrafts({ storage, clock, user, document: url, writer: writer.name, leaf: newId().slice(0, 8) }));
  const backup = (/** @type {string} */ level) => state.backup !== level && send("note", { fact: { backup: level } });
  const answer = (/** @type {Promise<any>} */ reply, /** @type {any} */ more) =>
    void reply.then((outcome) => send("answer", { ...more, outcome }));

  const doers = /** @type {Record<string, (effect: any) => any>} */ ({
    draft: ({ draft }) => slot().write(draft, backup),
    drop: () => slot().clear(),
    bin: () => slot().discard(offer),
    take: ({ offer: taken }) => {
      // Only a copy that is safe in our own slot lets the other one go; a living tab keeps its own.
      if (taken.live || state.backup === "memory") return;
      if (taken.binned) slot().remove(taken);
      else slot().bin(taken, offer);
    },
    get: ({ seq }) => answer(talk.get().then(opened), { of: "get", seq }),
    put: (save) => answer(talk.put({ ...save, writer: writer.name(), schema: state.schema, names: state.names }), { of: "put", about: save.saveId }),
    look: ({ id }) => answer(talk.look(id), { of: "look", about: id }),
    amend: ({ id, text }) => answer(talk.amend(id, text, newId()), { of: "amend", about: id, text }),
    settle: (decision) => answer(talk.settle(decision), { of: "settle", about: decision.id }),
    seen: ({ id }) => void talk.seen(id),
    announce: ({ version, saveId }) => channel?.send({ type: "saved", url, user, version, saveId }),
  });

  /** After the first good read we know who reads; only then may drafts be looked at. @param {any} outcome */
  function opened(outcome) {
    if (outcome.kind === "ok" || outcome.block?.code === "not_found") void offer();
    return outcome;
  }

  async function offer() {
    const found = await slot().list(await writer.living());
    const offers = [];
    for (const one of found) {
      if (one.binned || one.live || !(await isStored(one.draft))) offers.push(one);
      else slot().remove(one);
    }
    send("note", { fact: { offers } });
  }

  /** Whether a draft says nothing new: it is what is stored, or what its own save made of the version it was on. @param {any} draft */
  async function isStored(draft) {
    if (draft.staged !== null) return false;
    if (state.loaded && !isUnsaved(state) && draft.text === state.text) return true;
    if (!draft.attempt || draft.attempt.text !== undefined || state.version <= draft.attempt.version) return false;
    const { kind, body } = await talk.revision(draft.attempt.version + 1);
    return kind === "ok" && JSON.stringify(body.content) === draft.text;
  }

  const undo = channel?.listen((/** @type {any} */ message) => {
    const { type, version, saveId } = message;
    if (type === "logout") send(type);
    else if (type === "saved" && message.url === url && message.user === user) send("notice", { version, saveId });
  });

  const value = (/** @type {string|null} */ text) => (text === null ? null : JSON.parse(text));

  const api = {
    url,

    /** Everything a page shows, as one object. */
    get state() {
      const { hidden, staged, conflict, settling, discarding, offers } = state;
      view ??= {
        ...state,
        status: statusOf(state),
        unsaved: isUnsaved(state),
        staged: hidden ? null : value(staged),
        settling: Boolean(settling || discarding),
        offers: hidden ? [] : offers,
        conflict: hidden || !conflict ? null : { ...conflict, stored: value(conflict.stored) },
      };
      return view;
    },

    /** What is on the screen, as a fresh copy; undefined before the first read and while somebody else is logged in. */
    get content() {
      return state.loaded && !state.hidden ? value(state.text) : undefined;
    },

    /** @param {(view: any) => void} listener @returns {() => void} its own undo */
    subscribe(listener) {
      listeners = [...listeners, listener];
      listener(api.state);
      return () => {
        listeners = listeners.filter((one) => one !== listener);
      };
    },

    edit: (/** @type {unknown} */ content) => send("edit", { text: textOf(content) }),
    stage: (/** @type {unknown} */ input) => send("stage", { text: input == null ? null : textOf(input) }),
    flush: () => send("flush"),
    refresh: () => send("refresh"),
    hide: () => send("hide"),
    wake: () => send("wake"),
    discardAndReload: () => send("discard"),
    logout: () => send("logout"),

    /** End the conflict: "keep_stored", "take_theirs" (mine), or "merge" with picks by attribute id. */
    settle: (/** @type {string} */ choice, /** @type {any} */ { picks, content, version = state.conflict?.version } = {}) =>
      send("settle", { choice, picks, version, text: content === undefined ? undefined : textOf(content) }),

    /** Merge as the kind does it: resolve(base, mine, stored) returns the content, or undefined to leave it open. */
    rebase(/** @type {(base: any, mine: any, stored: any) => any} */ resolve) {
      const c = state.conflict;
      if (!c) return;
      const content = resolve(c.base ?? value(state.base), value(state.text), value(c.stored));
      if (content !== undefined) api.settle("merge", { content });
    },

    adopt: (/** @type {any} */ one) => send("adopt", { draft: one.draft, offer: one }),
    dismiss: (/** @type {any} */ one) => slot().bin(one, offer),
    offers: offer,

    /** Save what can be saved and stop. The draft stays if anything is unsaved. */
    close() {
      send("hide");
      send("close");
      undo?.();
    },
  };

  send("open");
  return api;
}
