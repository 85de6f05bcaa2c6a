// Drafts: each session of each tab has one slot of its own. It overwrites and clears only that one. What others left
// behind is offered, never applied; what a person throws away stays in a bin for a week.

/**
 * @typedef {{text: string, staged: string|null, version: number, attempt: any, schema: number,
 *   edits: number}} Draft
 * @typedef {{key: string, draft: Draft, at: number, live: boolean, binned: boolean}} Offer
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
  let value = "";

  const parse = (/** @type {string} */ text) => {
    try {
      const kept = JSON.parse(text);
      JSON.parse(kept.draft.text);
      return kept.user === user && kept.document === document && kept.draft.version >= 0 && kept;
    } catch (error) {
      return error && null; // cut short or of another release: it hides nobody else's
    }
  };

  function toBin(/** @type {string} */ from, /** @type {string} */ kept, /** @type {() => void} */ then) {
    const to = `${bin}${clock.now()}:${from.slice(slots.length)}`;
    storage.write(to, kept, (level) => {
      storage.remove(from);
      if (level === "memory") storage.write(to, kept, then); // it fits where it was
      else then();
    });
  }

  return {
    /** @param {Draft} draft @param {(level: import("./storage.js").Level) => void} settled */
    write(draft, settled) {
      const before = key;
      key = `${slots}${writer()}:${leaf}`;
      value = JSON.stringify({ user, document, writer: writer(), at: clock.now(), draft });
      storage.write(key, value, settled);
      if (before && before !== key) storage.remove(before);
    },

    /** The work is on the server, or there is none. */
    clear() {
      if (key) storage.remove(key);
      key = value = "";
    },

    /** The person threw it away: keep it for a week. @param {() => void} then */
    discard(then) {
      if (key) toBin(key, value, then);
      key = value = "";
    },

    /** Put somebody's slot into the bin. @param {Offer} offer @param {() => void} then */
    bin({ key: other, draft, at }, then) {
      if (other === key || !other.startsWith(slots)) return then();
      toBin(other, JSON.stringify({ user, document, at, draft }), then);
    },

    /**
     * What others, or this tab before a reload, left behind; newest first. Then what lies in the bin.
     * @param {(writer: string) => boolean} isLive @returns {Promise<Offer[]>}
     */
    async list(isLive) {
      const found = /** @type {Map<string, Offer>} */ (new Map());
      const binned = [];
      for (const [other, text] of await storage.list(slots)) {
        const kept = other === key ? null : parse(text);
        const twin = found.get(other);
        if (!kept || (twin && twin.draft.edits >= kept.draft.edits)) continue;
        const live = kept.writer !== writer() && isLive(kept.writer);
        found.set(other, { key: other, draft: kept.draft, at: kept.at, live, binned: false });
      }
      for (const [other, text] of await storage.list(bin)) {
        const kept = parse(text);
        const since = parseInt(other.slice(bin.length));
        if (!kept || clock.now() - since > WEEK) storage.remove(other);
        else binned.push({ key: other, draft: kept.draft, at: since, live: false, binned: true });
      }
      const newest = (/** @type {Offer} */ one, /** @type {Offer} */ other) => other.at - one.at;
      for (const old of binned.sort(newest).splice(ROOM)) storage.remove(old.key);
      return [...[...found.values()].sort(newest), ...binned];
    },

    remove: storage.remove,
  };
}
