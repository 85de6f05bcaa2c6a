// A conflict ends only by a person's decision. While it is open the refused copy on the server follows the typing, so
// that whoever settles it, here or in the admin, settles what is really there.

import { letGo, proceed, replace, schedule } from "./machine.js";

/** @typedef {import("./state.js").State} State @typedef {import("./machine.js").Event} Event */
/** @typedef {(effect: import("./machine.js").Effect) => void} Put */

/** Enter, or renew, the conflict that a refused save answered with. @param {State} s @param {any} body */
export function conflicted(s, body) {
  s.conflict = {
    ...storedIn(body),
    id: body.conflictId || "",
    sent: s.attempt ? s.attempt.text : s.text,
    changes: null,
    told: null,
  };
  s.attempt = null;
  s.settling = null;
}

const storedIn = (/** @type {any} */ body) => ({
  version: body.headVersion,
  stored: JSON.stringify(body.stored.content),
  deleted: body.stored.deleted,
  by: body.stored.by,
  at: body.stored.at,
});

/** Send what the open conflict needs: the copy we look at, our newer typing, the decision. @param {State} s @param {Put} put */
export function decide(s, put) {
  const { conflict: c, settling } = s;
  if (!c.id) return;
  s.mark++;
  if (c.changes === null) {
    s.busy = "look";
    put({ do: "look", id: c.id });
  } else if (c.sent !== s.text && settling?.choice !== "keep_stored") {
    s.busy = "amend";
    put({ do: "amend", id: c.id, text: s.text });
  } else if (settling) {
    s.busy = "settle";
    put({ do: "settle", id: c.id, changes: c.changes, ...settling });
  } else s.busy = "";
}

/** @param {State} s @param {Event} e @param {Put} put */
export function looked(s, { outcome: { body } }, put) {
  const { changes, base, merges, points, stored } = body;
  s.conflict = { ...s.conflict, changes, base, points: merges ? points : null };
  if (body.decision) ended(s, body, put);
  else if (stored.version !== s.conflict.version) moved(s, { headVersion: stored.version, stored });
}

/** @param {State} s @param {Event} e */
export function amended(s, { outcome: { body }, text }) {
  s.conflict = { ...s.conflict, changes: body.changes, sent: text };
}

/** Our decision is on the record. @param {State} s @param {Event} e @param {Put} put */
export function settled(s, e, put) {
  const { conflict: c, settling } = s;
  const untouched = s.edits === settling.edits;
  const { version } = e.outcome.body;
  s.settling = s.conflict = null;
  s.wanted = true;
  put({ do: "announce", version });
  if (settling.choice === "take_theirs") {
    s.version = version;
    s.base = c.sent;
  } else if (!untouched) {
    // typed on while we decided: the old base stays, and the next save asks again
  } else if (settling.choice === "keep_stored") {
    takeStored(s, version, c);
  } else if (settling.text) {
    const { staged } = s; // half-typed input is in no merge
    s.binned = true;
    replace(s, version, settling.text);
    s.staged = staged;
  } else {
    s.discarding = { edits: s.edits, staged: s.staged }; // the server merged; fetch the result before ours goes
  }
}

/** @param {State} s @param {number} version @param {any} conflict */
function takeStored(s, version, { stored, deleted }) {
  if (deleted) {
    letGo(s);
    s.block = { status: "gone", code: "gone" };
  } else replace(s, version, stored);
  s.binned = true;
}

/** The document, or our copy, is no longer what was on the screen: look again. @param {State} s @param {any} body */
export function moved(s, body) {
  s.conflict = { ...s.conflict, ...storedIn(body), changes: body.changes ?? s.conflict.changes, moved: true };
  s.settling = null;
  s.failed = "moved_on";
}

/** Somebody else ended it. The author is told, and decides about what is still on the screen. @param {State} s @param {any} body @param {Put} put */
export function ended(s, body, put) {
  put({ do: "seen", id: s.conflict.id });
  s.conflict = { ...s.conflict, id: "", told: body };
  s.settling = null;
  s.wanted = true;
}

/** Decide where the server has nothing to settle: by adopting what was on the screen, or by a save that has seen it. @param {State} s @param {Event} e @param {Put} put */
export function closeConflict(s, e, put) {
  const { version, stored } = s.conflict;
  if (e.choice === "keep_stored") return takeStored(s, version, s.conflict);
  if (e.text) s.text = e.text;
  s.conflict = null;
  s.version = version;
  s.base = stored;
  s.again = true;
  schedule(s, e);
  proceed(s, e, put);
}
