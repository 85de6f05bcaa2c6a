// State: everything a session knows, and what follows from it. Texts are JSON texts; times come with the events.

/**
 * @typedef {"loading"|"clean"|"dirty"|"saving"|"retrying"|"conflict"|"auth"|"forbidden"|"gone"|"too_large"|"invalid"
 *   |"offline"|"closed"} Status
 * @typedef {{wait: number, longest: number, maxBytes: number, follow: boolean, create: string|null,
 *   schema: number}} Settings
 * @typedef {{saveId: string, version: number, text: string, unsure?: boolean}} Attempt one save, known by its id
 * @typedef {{status: Status, code: string, message?: string, [more: string]: unknown}} Block a permanent answer
 * @typedef {ReturnType<typeof begin>} State
 */

/** The state before anything happened. @param {Settings} settings */
export const begin = (settings) => ({
  settings,
  loaded: false,
  closed: false,
  version: 0, // the version the local text was made on
  base: /** @type {string|null} */ (null), // its text; null where only the server knows it
  text: /** @type {string|null} */ (null), // what is on the screen
  staged: /** @type {string|null} */ (null), // half-typed input: kept in the draft, never sent
  edits: 0, // generation: counts local changes
  attempt: /** @type {Attempt|null} */ (null), // the save whose answer is not known yet
  busy: "", // the write on the wire: put, amend or settle; one at a time
  again: false, // somebody asked to save while busy
  tries: 0,
  offline: false,
  dueAt: /** @type {number|null} */ (null), // the only timer
  since: /** @type {number|null} */ (null), // when the oldest unsent edit was made
  sentAt: 0,
  lasted: 0, // how long the last save took
  block: /** @type {Block|null} */ (null),
  hidden: false, // somebody else is logged in: nothing is shown or sent until this user is back
  conflict: /** @type {any} */ (null), // {id, version, stored, by, at, sent, changes, points, base, told}
  settling: /** @type {any} */ (null),
  reading: false,
  seq: 0, // read number
  mark: 0, // counts whatever makes an earlier read stale
  readMark: 0,
  wanted: false, // a read was dropped, or a newer version announced
  behind: 0, // a stored version newer than ours, while we have unsaved work
  discarding: /** @type {{edits: number, staged: string|null}|null} */ (null), // what may go once the stored copy is here
  failed: "", // why the last thing a person asked for did not happen
  merges: false,
  names: /** @type {import("./patch.js").Names|null} */ (null), // of attributes, where a patch may stand for the whole
  schema: settings.schema, // of this page, not of the stored text: the site refuses pages of an older release
  backup: "local", // local, indexed, memory
  offers: /** @type {any[]} */ ([]),
  binned: false, // the slot goes to the bin, because a person discarded it
});

/** Whether the stored text is not what was committed here. @param {State} s */
export const isDirty = (s) => s.loaded && (s.text !== s.base || s.attempt !== null);

/** Whether something here is nowhere else yet: then a draft exists. @param {State} s */
export const isUnsaved = (s) => isDirty(s) || s.staged !== null || s.conflict !== null;

/** The one word for it. A permanent answer outranks a conflict, a conflict outranks the network. @param {State} s */
export function statusOf(s) {
  if (s.closed) return "closed";
  if (s.block) return s.block.status;
  if (s.conflict) return "conflict";
  if (s.tries) return s.offline ? "offline" : "retrying";
  if (!s.loaded) return "loading";
  if (s.busy) return "saving";
  return isUnsaved(s) ? "dirty" : "clean";
}

/** Whether another text may end a refusal. @param {Block|null|undefined} block */
export const isMendable = (block) => block && !block.stays && ["invalid", "too_large"].includes(block.status);

/** What the draft slot should hold: nothing, or all that is not on the server; the base is there, by its version. @param {State} s */
export function draftOf(s) {
  if (!isUnsaved(s)) return null;
  const { text, staged, version, schema, edits } = s;
  // The save under way is named, its text only where it is another one.
  const attempt = s.attempt && { ...s.attempt, text: s.attempt.text === text ? undefined : s.attempt.text };
  return { text, staged, version, attempt, schema, edits };
}
