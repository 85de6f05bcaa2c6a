// Drafts: each session of each tab has one slot of its own. It overwrites and clears only that one. What others left
// behind is offered, never applied; what a person throws away stays in a bin for a week.

/**
 * @typedef {{text: string, staged: string|null, version: number, attempt: any, schema: number,
 *   edits: number}} Draft
 * @typedef {{key: string, was: string, draft: Draft, at: number, live: boolean, binned: boolean}} Offer
 */

const WEEK = 7 * 24 * 3600 * 1000;
const ROOM = 20;

/**
 * @param {{storage: ReturnType<typeof import("./storage.js").createStorage>, clock: {now(): number}, user: string,
 *   document: string, writer: () => string, leaf: string}} parts
 */
export function createDrafts({ storage, clock, user, document, writer, leaf }) {
  const place = `${encodeURIComponent(user)}:${encodeURIComponent(document)}:`;
  const slots = `documents:draft:${place}`;
  const bin = `documents:bin:${place}`;
  let key = "";
  let was = "";

  const parse = (/** @type {string} */ text) => {
    try {
      const kept = JSON.parse(text);
      JSON.parse(kept.draft.text);
      return kept.user === user && kept.document === document && kept.draft.version >= 0 && kept;
    } catch (error) {
      return error && null; // cut short or of another release: it hides nobody else's
    }
  };

  /** Take an entry away, unless its tab has gone on since. @param {{key: string, was: string}} entry */
  const remove = async (entry) => {
    for (const [, text] of await storage.list(entry.key)) if (text === entry.was) storage.remove(entry.key);
  };

  /** Put an entry into the bin. @param {{key: string, was: string}} entry @param {() => void} then */
  function toBin(entry, then) {
    const to = `${bin}${clock.now()}:${entry.key.slice(slots.length)}`;
    storage.write(to, entry.was, async (level) => {
      await remove(entry);
      if (level === "memory") storage.write(to, entry.was, then); // it fits where it was
      else then();
    });
  }

  return {
    /** @param {Draft} draft @param {(level: import("./storage.js").Level) => void} settled */
    write(draft, settled) {
      const before = key;
      key = `${slots}${writer()}:${leaf}`;
      was = JSON.stringify({ user, document, writer: writer(), at: clock.now(), draft });
      storage.write(key, was, settled);
      if (before && before !== key) storage.remove(before);
    },

    /** The work is on the server, or there is none. */
    clear() {
      if (key) storage.remove(key);
      key = was = "";
    },

    /** The person threw it away: keep it for a week. @param {() => void} then */
    discard(then) {
      if (key) toBin({ key, was }, then);
      key = was = "";
    },

    /** Put somebody's slot into the bin. @param {Offer} offer @param {() => void} then */
    bin(other, then) {
      if (other.binned) then();
      else toBin(other, then);
    },

    /**
     * What others, or this tab before a reload, left behind; newest first. Then what lies in the bin.
     * @param {(writer: string) => boolean} isLive @returns {Promise<Offer[]>}
     */
    async list(isLive) {
      const found = /** @type {Map<string, Offer>} */ (new Map());
      const binned = [];
      for (const [other, was] of await storage.list(slots)) {
        const kept = other === key ? null : parse(was);
        const twin = /** @type {any} */ (found.get(other));
        if (!kept || twin?.draft.edits >= kept.draft.edits) continue;
        const live = kept.writer !== writer() && isLive(kept.writer);
        found.set(other, { ...kept, key: other, was, live, binned: false });
      }
      for (const [other, was] of await storage.list(bin)) {
        const kept = parse(was);
        const since = parseInt(other.slice(bin.length));
        if (!kept || clock.now() - since > WEEK) storage.remove(other);
        else binned.push({ ...kept, key: other, was, live: false, binned: true, at: since });
      }
      const newest = (/** @type {Offer} */ one, /** @type {Offer} */ other) => other.at - one.at;
      for (const old of binned.sort(newest).splice(ROOM)) storage.remove(old.key);
      return [...[...found.values()].sort(newest), ...binned];
    },

    remove,
  };
}
