// The machine: one function, (state, event) → state and effects. Effects are data; the session carries them out, drafts
// first. Nothing is sent in a conflict, nothing is edited before the first read, nothing is thrown away before its
// replacement has arrived.

import { answered } from "./answers.js";
import { closeConflict, decide } from "./conflict.js";
import { draftOf, isMendable, isUnsaved } from "./state.js";
import { bytesOf } from "./text.js";

/**
 * @typedef {import("./state.js").State} State
 * @typedef {{type: string, now: number, id: string, random: number, [more: string]: any}} Event
 * @typedef {{do: string, [more: string]: any}} Effect
 */

/**
 * Apply one event. The old state is not touched.
 * @param {State} state
 * @param {Event} event
 * @returns {{state: State, effects: Effect[]}}
 */
export function step(state, event) {
  const s = { ...state, binned: false };
  const effects = /** @type {Effect[]} */ ([]);
  // While somebody else is logged in nobody types here: their keys must not end up in this person's draft.
  const deaf = s.closed || (s.hidden && ["edit", "stage", "adopt", "settle", "discard"].includes(event.type));
  if (!deaf) handlers[event.type](s, event, (effect) => effects.push(effect));
  return { state: s, effects: [...draftEffects(state, s), ...effects] };
}

/** The draft follows the state by itself, so no handler can forget it. @param {State} before @param {State} s */
function draftEffects(before, s) {
  const draft = draftOf(s);
  if (!draft) return isUnsaved(before) ? [{ do: s.binned ? "bin" : "drop" }] : [];
  const same =
    isUnsaved(before) &&
    before.text === s.text &&
    before.staged === s.staged &&
    before.version === s.version &&
    before.attempt === s.attempt;
  return same ? [] : [{ do: "draft", draft }];
}

/** Do the next thing that is due. @param {State} s @param {Event} e @param {(effect: Effect) => void} put */
export function proceed(s, e, put) {
  s.dueAt = null;
  if (!s.loaded || s.discarding !== null || (s.wanted && (!isUnsaved(s) || s.conflict))) read(s, put);
  if (!s.loaded || s.busy || s.block || s.discarding !== null) return;
  s.again = false;
  if (s.conflict) return decide(s, put);
  if (!s.attempt) {
    if (s.text === s.base) {
      s.tries = 0;
      return;
    }
    const text = /** @type {string} */ (s.text);
    const { maxBytes } = s.settings;
    if (maxBytes && bytesOf(text) > maxBytes) {
      s.block = { status: "too_large", code: "too_large", limit: maxBytes };
      return;
    }
    s.attempt = { saveId: e.id, version: s.version, text };
  }
  s.busy = "put";
  s.sentAt = e.now;
  s.mark++;
  put({ do: "put", ...s.attempt, base: e.type === "hide" && s.attempt.version === s.version && s.base });
}

/** Ask for the stored copy. @param {State} s @param {(effect: Effect) => void} put */
export function read(s, put) {
  if (s.reading) return;
  s.reading = true;
  s.wanted = false;
  s.readMark = s.mark;
  put({ do: "get", seq: ++s.seq });
}

/** Set the timer for what is unsent; take it away when nothing is. @param {State} s @param {Event} e */
export function schedule(s, e) {
  const unsent = s.conflict ? s.conflict.id && s.text !== s.conflict.sent : s.text !== s.base || s.attempt;
  if (!unsent && !s.settling) {
    s.since = s.dueAt = null;
    s.tries = 0;
    return;
  }
  if (s.tries) {
    s.dueAt ??= e.now + s.settings.wait;
    return;
  }
  s.since ??= e.now;
  const wait = Math.max(s.settings.wait, 2 * s.lasted);
  s.dueAt = s.again ? e.now : Math.min(e.now + wait, s.since + s.settings.longest);
}

/** Whether only a read can say if it may go on. @param {State} s */
const isBehindDoor = (s) => s.block && (s.hidden || ["auth", "gone"].includes(s.block.status));

/** The stored copy takes the place of the local one. @param {State} s @param {number} version @param {string} text */
export function replace(s, version, text) {
  s.version = version;
  s.base = s.text = text;
  s.staged = s.since = s.dueAt = null;
  s.attempt = s.conflict = s.block = null;
  s.behind = s.tries = 0;
  s.again = false;
}

/** There is nothing to reload: the person threw away what was still here. @param {State} s */
export function letGo(s) {
  s.base = s.text; // which was never stored, so nothing can be patched onto it
  s.staged = s.attempt = s.conflict = s.names = null;
  s.binned = true;
}

/** @type {Record<string, (s: State, e: Event, put: (effect: Effect) => void) => void>} */
const handlers = {
  open: proceed,
  answer: answered,

  edit(s, e) {
    if (!s.loaded || (e.text === s.text && s.staged === null)) return;
    s.staged = null;
    s.mark++;
    s.edits++;
    s.failed = "";
    if (e.text !== s.text && isMendable(s.block)) s.block = null;
    s.text = e.text;
    schedule(s, e);
  },

  stage(s, e) {
    if (!s.loaded || e.text === s.staged) return;
    s.staged = e.text;
    s.mark++;
    s.edits++;
  },

  tick(s, e, put) {
    if (s.dueAt !== null && e.now >= s.dueAt) proceed(s, e, put);
  },

  flush(s, e, put) {
    s.failed = "";
    if (s.busy) s.again = true;
    else if (isBehindDoor(s)) read(s, put);
    else {
      if (s.block && !s.block.stays) s.block = null;
      proceed(s, e, put);
    }
  },

  wake(s, e, put) {
    if (s.block) {
      if (isBehindDoor(s)) read(s, put);
    } else if (s.tries || !s.loaded) proceed(s, e, put);
    else if (s.conflict || (s.settings.follow && !s.busy && !isUnsaved(s))) read(s, put);
  },

  hide(s, e, put) {
    if (!s.block && !s.busy && s.loaded && isUnsaved(s)) proceed(s, e, put);
  },

  refresh: (s, e, put) => read(s, put),

  notice(s, e, put) {
    if (e.version <= s.version || (s.attempt && e.saveId === s.attempt.saveId)) return;
    s.wanted = true;
    if (!s.conflict && (isUnsaved(s) || s.busy)) s.behind = e.version;
    else if (s.loaded && !s.block) read(s, put);
  },

  note(s, e) {
    Object.assign(s, e.fact); // what the storage says: how safe the draft is, what others left behind
  },

  adopt(s, e, put) {
    const { draft } = e;
    if (!s.loaded || isUnsaved(s) || s.busy || s.block || draft.schema !== s.schema) return;
    s.base = draft.version === s.version ? s.base : null;
    s.version = draft.version;
    s.text = draft.text;
    s.staged = draft.staged;
    s.attempt = draft.attempt && { ...draft.attempt, text: draft.attempt.text ?? draft.text, unsure: true };
    s.mark++;
    s.edits++;
    put({ do: "take", offer: e.offer });
    schedule(s, e);
  },

  settle(s, e, put) {
    if (!s.conflict || s.settling || e.version !== s.conflict.version) return;
    s.failed = "";
    if (!s.conflict.id) return closeConflict(s, e, put);
    const { choice, picks, text } = e;
    s.settling = { choice, picks, text, saveId: e.id, edits: s.edits, version: e.version };
    s.mark++;
    if (!s.busy && !s.block) proceed(s, e, put);
  },

  discard(s, e, put) {
    if (!s.loaded) return;
    s.failed = "";
    s.discarding = { edits: s.edits, staged: null };
    if (s.busy) return; // a running save may store what is thrown away; its answer comes first
    s.seq++; // whatever read is under way was asked for before
    s.reading = false;
    read(s, put);
  },

  logout(s) {
    s.block = { status: "auth", code: "logged_out" };
    s.hidden = true;
    s.dueAt = null;
  },

  close(s) {
    s.closed = true;
    s.dueAt = null;
  },
};
