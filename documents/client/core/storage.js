// Storage: localStorage, then IndexedDB, then memory, tried in this order on every write, and it says where it ended.
// The first is synchronous, so the last keystroke survives a closing tab; nobody else's entry is ever evicted.

/**
 * @typedef {"local"|"indexed"|"memory"} Level
 * @typedef {(key: string, value?: string|null) => Promise<any>} Slow a value sets, null removes, no key lists all;
 *   answers null where it failed
 */

/**
 * @param {{local: () => Storage, indexed: Slow|null}} places `local` is asked each time: reading it may throw
 */
export function createStorage({ local, indexed }) {
  const memory = /** @type {Map<string, string>} */ (new Map());

  // Full, forbidden, or wiped under our feet: null, and the next place is asked.
  const tried = (/** @type {(store: Storage) => any} */ work) => {
    try {
      return [work(local())];
    } catch (error) {
      return error && null;
    }
  };

  return {
    /**
     * Keep a value. `settled` is called with the level it reached: at once for localStorage, later otherwise.
     * @param {string} key @param {string} value @param {(level: Level) => void} settled
     */
    write(key, value, settled) {
      if (tried((store) => store.setItem(key, value))) {
        if (memory.delete(key)) indexed?.(key, null);
        return settled("local");
      }
      memory.set(key, value); // an older value in localStorage stays: the newer one may yet be lost
      if (indexed) indexed(key, value).then((done) => settled(done ? "indexed" : "memory"));
      else settled("memory");
    },

    /** @param {string} key */
    remove(key) {
      tried((store) => store.removeItem(key));
      memory.delete(key);
      indexed?.(key, null);
    },

    /** Every entry below a prefix; the same key may come from several places. @param {string} prefix @returns {Promise<[string, string][]>} */
    async list(prefix) {
      const far = (await indexed?.("")) || [[]];
      const [near] = /** @type {[any[]]} */ (
        tried((store) => Array.from(store, (_, at) => [store.key(at), store.getItem(store.key(at) || "")])) || [[]]
      );
      return [...memory, ...far[0], ...near].filter(([key, value]) => key?.startsWith(prefix) && value);
    },
  };
}

/**
 * A key-value store in IndexedDB. The browser kills connections of sleeping tabs, so a failure is tried once more anew.
 * @param {() => IDBFactory} factory @returns {Slow}
 */
export function createIndexed(factory) {
  let opening = /** @type {Promise<IDBDatabase>|null} */ (null);

  /** @type {(request: IDBRequest) => Promise<any>} */
  const answer = (request) =>
    new Promise((resolve, reject) => {
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });

  function open() {
    const request = factory().open("documents", 1);
    request.onupgradeneeded = () => request.result.createObjectStore("slots");
    return answer(request);
  }

  return async (key, value) => {
    for (let round = 0; round < 2; round++) {
      try {
        opening ??= /** @type {Promise<IDBDatabase>} */ (open());
        const store = (await opening).transaction("slots", "readwrite").objectStore("slots");
        if (key) return [await answer(value === null ? store.delete(key) : store.put(value, key))];
        const [keys, values] = await Promise.all([answer(store.getAllKeys()), answer(store.getAll())]);
        return [keys.map((/** @type {string} */ name, /** @type {number} */ at) => [name, values[at]])];
      } catch (error) {
        opening = /** @type {null} */ (error && null);
      }
    }
    return null;
  };
}
