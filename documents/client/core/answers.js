// Answers: what the server said, and what follows. Saved means one thing here: its JSON echoed the id of this save.

import { amended, conflicted, ended, looked, moved, settled } from "./conflict.js";
import { letGo, proceed, read, replace, schedule } from "./machine.js";
import { isMendable, isUnsaved } from "./state.js";
import { roundedIn, textOf } from "./text.js";

/** @typedef {import("./state.js").State} State @typedef {import("./machine.js").Event} Event */
/** @typedef {(effect: import("./machine.js").Effect) => void} Put */

const BLOCKS = /** @type {Record<number, import("./state.js").Status>} */ ({ 401: "auth", 403: "forbidden", 404: "gone", 410: "gone", 413: "too_large" });

/** @typedef {{kind: string, body?: any, block?: any, after?: number, offline?: boolean, rounded?: string}} Outcome */

/**
 * Read an answer: ok, refused (with the code), blocked (permanent) or later (try again).
 * @param {{status: number, body: any, after?: number, user?: string, redirected?: boolean, raw?: string}} answer
 * @param {{user: string, saveId?: string}} asked
 * @returns {Outcome}
 */
export function classify({ status, body, after, user, redirected, raw }, asked) {
  const code = body?.code || "";
  const block = (/** @type {string} */ word, as = code, more = {}) => ({
    kind: "block",
    block: { ...body, status: word, code: as, ...more },
  });
  if (code === "other_user" || (user && asked.user && user !== asked.user && status !== 401)) return block("auth", "other_user");
  if (redirected) return block("auth", "login_required");
  if (status >= 200 && status < 300 && body) {
    if (asked.saveId && body.saveId !== asked.saveId) return { kind: "later" };
    return { kind: "ok", body, rounded: raw ? roundedIn(raw) : "" };
  }
  if (status === 409 && code === "schema_changed") return block("invalid", code, { stays: true });
  if ((status === 409 || status === 412) && code) return { kind: code, body };
  if (status === 403 && code === "csrf_failed") return block("auth");
  // A proxy's HTML says 404 while a site is being deployed; only our own JSON can say that a document is gone.
  if (status >= 400 && status < 500 && status !== 429 && (code || [401, 403, 413].includes(status))) return block(BLOCKS[status] || "invalid");
  return { kind: "later", after, offline: !status };
}

/** @param {State} s @param {Event} e @param {Put} put */
export function answered(s, e, put) {
  if (e.of === "get") return readAnswered(s, e, put);
  if (e.of !== s.busy) return;
  const { kind } = e.outcome;
  s.busy = "";
  s.mark++;
  const asked = e.of === "put" ? s.attempt?.saveId : s.conflict?.id;
  if (e.about !== asked) schedule(s, e); // decided otherwise meanwhile
  else if (kind === "later") later(s, e);
  else if (kind === "block") blocked(s, e);
  else {
    s.tries = 0;
    s.offline = false;
    if (kind === "ok") /** @type {Record<string, Function>} */ ({ put: saved, look: looked, amend: amended, settle: settled })[e.of](s, e, put);
    else if (kind === "already_settled") ended(s, e.outcome.body, put);
    else if (kind === "moved_on") moved(s, e.outcome.body);
    else conflicted(s, e.outcome.body);
  }
  if (s.discarding !== null) read(s, put);
  if (s.tries || s.block) return;
  if (s.settling || (s.conflict && (s.conflict.id ? s.conflict.changes === null : s.wanted))) proceed(s, e, put);
  else if (s.wanted && !isUnsaved(s)) proceed(s, e, put);
  else schedule(s, e);
}

/** @param {State} s @param {Event} e @param {Put} put */
function saved(s, e, put) {
  const { savedVersion, headVersion, normalised } = e.outcome.body;
  const { text } = /** @type {import("./state.js").Attempt} */ (s.attempt);
  s.lasted = e.now - s.sentAt;
  s.version = savedVersion;
  s.base = text;
  s.attempt = s.since = null;
  if (normalised) normalise(s, text, normalised);
  if (headVersion > savedVersion) {
    s.wanted = true;
    s.behind = headVersion;
  } else s.behind = 0;
  put({ do: "announce", version: savedVersion, saveId: e.about });
}

/** Take over what the server wrote differently, where nobody has typed since. @param {State} s @param {string} sent @param {Record<string, any>} changed */
function normalise(s, sent, changed) {
  const before = JSON.parse(sent);
  const here = JSON.parse(/** @type {string} */ (s.text));
  for (const name of "" in changed ? [] : Object.keys(changed)) {
    if (here && JSON.stringify(here[name]) === JSON.stringify(before[name])) here[name] = changed[name];
    before[name] = changed[name];
  }
  // A member without a name stands for the whole, where the content is no object.
  s.base = textOf("" in changed ? changed[""] : before);
  s.text = s.text === sent ? s.base : textOf(here);
}

/** @param {State} s @param {Event} e */
function later(s, e) {
  if (s.attempt) s.attempt = { ...s.attempt, unsure: true };
  s.offline = e.outcome.offline;
  s.tries++;
  const delay = Math.min(30_000, 500 * 2 ** s.tries) * (0.5 + e.random);
  s.dueAt = e.now + Math.max(delay, e.outcome.after || 0);
}

/** @param {State} s @param {Event} e */
function blocked(s, e) {
  const { block } = e.outcome;
  const harmless = e.of !== "put" && ["invalid", "too_large", "gone"].includes(block.status);
  s.tries = 0;
  s.dueAt = null;
  if (s.settling) s.failed = block.message || block.code;
  s.settling = null;
  if (harmless && e.of === "amend") s.conflict = { ...s.conflict, sent: e.text }; // not again until something is typed
  if (harmless && block.code === "not_found") s.conflict = { ...s.conflict, id: "" };
  if (harmless && block.code !== "gone") return;
  const sent = s.attempt?.text;
  // Behind a login the save was not looked at, but an earlier copy of it may be stored: its id is still needed.
  if (!s.attempt?.unsure || !["auth", "forbidden"].includes(block.status)) s.attempt = null;
  if (!isMendable(block) || sent === undefined || sent === s.text) refused(s, block);
}

/** @param {State} s @param {Event} e @param {Put} put */
function readAnswered(s, e, put) {
  if (e.seq !== s.seq) return;
  s.reading = false;
  const { kind, block, body } = e.outcome;
  if (kind === "block" && !s.loaded && block.code === "not_found" && s.settings.create !== null) {
    load(s, 0, s.settings.create);
  } else if (kind !== "ok") {
    if (block?.status === "gone" && s.discarding?.edits === s.edits) letGo(s);
    else if (s.discarding !== null) s.failed = "not_reloaded";
    s.discarding = null;
    if (kind === "block") refused(s, block);
    else if (s.loaded) s.wanted = true;
    else later(s, e);
    if (s.loaded && !s.block) schedule(s, e);
    return;
  } else {
    if (s.block && ["auth", "gone"].includes(s.block.status)) s.block = null;
    s.hidden = false;
    const text = JSON.stringify(body.content);
    arrived(s, body, text, put);
    if (s.base === text && s.version === body.version) s.names = body.patch; // what was read is what a save is made on
    if (e.outcome.rounded) s.block = { status: "invalid", code: "rounded", path: e.outcome.rounded, stays: true };
  }
  if (!s.tries) s.offline = false;
  if (s.block) return;
  if (s.again || s.settling || (s.wanted && !isUnsaved(s))) proceed(s, e, put);
  else schedule(s, e);
}

/** @param {State} s @param {import("./state.js").Block} block */
function refused(s, block) {
  s.block = block;
  s.hidden ||= block.code === "other_user";
  s.dueAt = null;
}

/** @param {State} s @param {any} body @param {string} text @param {Put} put */
function arrived(s, body, text, put) {
  const { version, by, at } = body;
  if (!s.loaded) {
    s.merges = body.merges;
    return load(s, version, text);
  }
  const late = version < s.version; // an old copy from somewhere between
  if (s.discarding !== null) {
    const { edits, staged } = s.discarding;
    s.discarding = null;
    if (late || s.edits !== edits) s.failed = late ? "not_reloaded" : "typed_on";
    else {
      replace(s, version, text);
      s.binned = true;
      s.staged = staged;
    }
    return;
  }
  if (late) return;
  if (s.conflict) {
    // Our own decision is answered to us; what a read says of it meanwhile is no news.
    const told = s.conflict.id && !s.settling && body.settledConflicts?.find((/** @type {any} */ one) => one.conflictId === s.conflict.id);
    if (told) ended(s, told, put);
    if (!s.conflict.id && text === s.text) Object.assign(s, { version, base: text, conflict: null });
    else if (version !== s.conflict.version) s.conflict = { ...s.conflict, version, stored: text, by, at };
    s.wanted = false;
  } else if (isUnsaved(s) || s.busy || s.mark !== s.readMark) {
    s.behind = version > s.version ? version : 0;
    s.wanted = true; // dropped: somebody typed meanwhile; it is repeated when nothing is unsaved
  } else replace(s, version, text);
}

/** @param {State} s @param {number} version @param {string} text */
function load(s, version, text) {
  s.loaded = true;
  s.tries = 0;
  replace(s, version, text);
}
