// Storage: localStorage, then IndexedDB, then memory, tried in this order on every write, and it says where it ended.
// The first is synchronous, so the last keystroke survives a closing tab; nobody else's entry is ever evicted.

/**
 * @typedef {"local"|"indexed"|"memory"} Level
 * @typedef {{get(key: string): Promise<any>, set(key: string, value: string): Promise<any>,
 *   remove(key: string): Promise<any>, entries(): Promise<[string, string][]>}} Slow
 */

/**
 * @param {{local: () => Storage, indexed: Slow|null}} places `local` is asked each time: reading it may throw
 */
export function createStorage({ local, indexed }) {
  const memory = /** @type {Map<string, string>} */ (new Map());

  const attempt = (/** @type {() => any} */ work) => {
    try {
      return [true, work()];
    } catch (error) {
      return [false, error]; // full, forbidden, or wiped under our feet: the next place is asked
    }
  };

  return {
    /**
     * Keep a value. `settled` is called with the level it reached: at once for localStorage, later otherwise.
     * @param {string} key @param {string} value @param {(level: Level) => void} settled
     */
    write(key, value, settled) {
      if (attempt(() => local().setItem(key, value))[0]) {
        if (memory.delete(key)) indexed?.remove(key).catch(() => settled("local"));
        return settled("local");
      }
      memory.set(key, value); // an older value in localStorage stays: the newer one may yet be lost
      if (!indexed) return settled("memory");
      indexed.set(key, value).then(
        () => settled("indexed"),
        () => settled("memory"),
      );
    },

    /** @param {string} key */
    read(key) {
      return memory.get(key) ?? attempt(() => local().getItem(key) ?? undefined)[1];
    },

    /** @param {string} key */
    remove(key) {
      attempt(() => local().removeItem(key));
      memory.delete(key);
      return indexed ? indexed.remove(key).catch(() => undefined) : Promise.resolve();
    },

    /** Every entry below a prefix; the same key may come from two places. @param {string} prefix @returns {Promise<[string, string][]>} */
    async list(prefix) {
      const [fine, found] = attempt(() => {
        const store = local();
        return Array.from({ length: store.length }, (_, at) => store.key(at) || "").map((key) => [key, store.getItem(key)]);
      });
      const slow = indexed ? await indexed.entries().catch(() => []) : [];
      return [...memory, ...slow, ...(fine ? found : [])].filter(([key, value]) => key.startsWith(prefix) && value !== null);
    },
  };
}

/**
 * A key-value store in IndexedDB that opens anew when the browser has killed its connection.
 * @param {() => IDBFactory} factory @param {string} name @returns {Slow}
 */
export function createIndexed(factory, name) {
  let opening = /** @type {Promise<IDBDatabase>|null} */ (null);

  const ask = (/** @type {IDBRequest} */ request) =>
    new Promise((resolve, reject) => {
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });

  function open() {
    opening ??= new Promise((resolve, reject) => {
      const request = factory().open(name, 1);
      request.onupgradeneeded = () => request.result.createObjectStore("slots");
      request.onerror = () => reject(request.error);
      request.onsuccess = () => {
        request.result.onclose = () => (opening = null);
        resolve(request.result);
      };
    });
    opening.catch(() => (opening = null));
    return opening;
  }

  async function use(/** @type {IDBTransactionMode} */ mode, /** @type {(store: IDBObjectStore) => Promise<any>} */ work, again = true) {
    try {
      return await work((await open()).transaction("slots", mode).objectStore("slots"));
    } catch (error) {
      opening = null;
      if (!again) throw error;
      return use(mode, work, false);
    }
  }

  return {
    get: (key) => use("readonly", (store) => ask(store.get(key))),
    set: (key, value) => use("readwrite", (store) => ask(store.put(value, key))),
    remove: (key) => use("readwrite", (store) => ask(store.delete(key))),
    entries: () =>
      use("readonly", async (store) => {
        const [keys, values] = await Promise.all([ask(store.getAllKeys()), ask(store.getAll())]);
        return keys.map((/** @type {string} */ key, /** @type {number} */ at) => [key, values[at]]);
      }),
  };
}
