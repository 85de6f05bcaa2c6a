// Writer: who writes here. The name survives a reload, and no two living tabs share one: it is claimed with a lock that
// ends with the tab. Duplicate tab copies sessionStorage, so a name that is already claimed is not ours.

const PLACE = "documents:writer:";

/**
 * @param {{session: () => Storage, locks: LockManager|null, channel: any, newId: () => string,
 *   clock: {after(ms: number, then: () => void): any}}} parts
 */
export function createWriter({ session, locks, channel, newId, clock }) {
  let id = "";
  let release = () => {};
  let alive = /** @type {string[]} */ ([]);

  channel?.listen((/** @type {any} */ { type, writer }) => {
    if (type === "probe" && id) channel.send({ type: "alive", writer: PLACE + id });
    if (type === "alive") alive.push(writer);
  });

  /** The names of all living writers: from the locks, or, without them, by asking around. @returns {Promise<(string|undefined)[]>} */
  async function living() {
    if (locks) return ((await locks.query()).held || []).map((lock) => lock.name);
    alive = [];
    channel?.send({ type: "probe" });
    return new Promise((done) => clock.after(150, () => done(alive)));
  }

  /** @param {string} name @returns {Promise<boolean>} */
  const hold = (name) =>
    new Promise((resolve, reject) => {
      const mine = (/** @type {Lock|null} */ lock) => {
        resolve(Boolean(lock));
        return lock && new Promise((done) => (release = () => done(null)));
      };
      /** @type {LockManager} */ (locks).request(PLACE + name, { ifAvailable: true }, mine).catch(reject);
    });

  // Forbidden, sessionStorage throws: then the name lives as long as this page.
  const kept = (/** @type {(store: Storage) => any} */ work) => {
    try {
      return work(session());
    } catch (error) {
      return error && "";
    }
  };

  return {
    name: () => id,

    /** Make the name ours, or take a new one. Also after a page came back from the back-forward cache. */
    async claim() {
      const wished = id || kept((store) => store.getItem(PLACE));
      const free = wished && (locks ? await hold(wished) : !(await living()).includes(PLACE + wished));
      id = free ? wished : newId();
      if (!free && locks) await hold(id);
      kept((store) => store.setItem(PLACE, id));
    },

    /** A frozen page keeps no lock; it would keep the page out of the back-forward cache. */
    release: () => release(),

    /** A test whether a writer is alive now. @returns {Promise<(writer: string) => boolean>} */
    async living() {
      const names = await living();
      return (writer) => names.includes(PLACE + writer);
    },
  };
}
