// Writer: who writes here. The name survives a reload, and no two living tabs share one: it is claimed with a lock that
// ends with the tab. Duplicate tab copies sessionStorage, so a name that is already claimed is not ours.

/**
 * @param {{session: () => Storage, locks: LockManager|null, channel: any, newId: () => string,
 *   wait: (ms: number) => Promise<void>}} parts
 */
export function createWriter({ session, locks, channel, newId, wait }) {
  let id = "";
  let release = () => {};
  const heard = /** @type {Set<string>} */ (new Set());
  const lockName = (/** @type {string} */ name) => `documents:writer:${name}`;

  channel?.listen((/** @type {any} */ message) => {
    if (message.type === "probe" && id) channel.send({ type: "alive", writer: id });
    if (message.type === "alive") heard.add(message.writer);
  });

  async function probe() {
    heard.clear();
    channel?.send({ type: "probe" });
    await wait(150);
    return heard;
  }

  /** @param {string} name @returns {Promise<boolean>} */
  function hold(name) {
    return new Promise((resolve, reject) => {
      const held = /** @type {LockManager} */ (locks).request(lockName(name), { ifAvailable: true }, (lock) => {
        if (!lock) return resolve(false);
        return new Promise((done) => {
          release = () => done(undefined);
          resolve(true);
        });
      });
      held.catch(reject);
    });
  }

  const remembered = () => {
    try {
      return session().getItem("documents:writer") || "";
    } catch (error) {
      return String(error && ""); // forbidden: a name for this page only
    }
  };

  return {
    name: () => id,

    /** Make the name ours, or take a new one. Also after a page came back from the back-forward cache. */
    async claim() {
      const wished = id || remembered();
      const free = wished && (locks ? await hold(wished) : !(await probe()).has(wished));
      const name = free ? wished : newId();
      if (!free && locks) await hold(name);
      id = name;
      try {
        session().setItem("documents:writer", id);
      } catch (error) {
        return void error; // forbidden or full: the name lives as long as this page
      }
    },

    /** A frozen page keeps no lock; it would keep the page out of the back-forward cache. */
    release: () => release(),

    /** A test whether a writer is alive now. @returns {Promise<(writer: string) => boolean>} */
    async living() {
      if (!locks) {
        const alive = new Set(await probe());
        return (name) => alive.has(name);
      }
      const held = new Set((await locks.query()).held?.map((lock) => lock.name));
      return (name) => held.has(lockName(name));
    },
  };
}
