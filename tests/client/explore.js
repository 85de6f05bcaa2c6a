// Every order of a small world: 2 tabs, up to 4 edits, up to 2 faults, one step at a time over the same machine. Breadth
// first, so the first broken rule comes with the shortest way to it. Worlds are numbers in flat arrays and are compared
// exactly: tens of millions fit, and none is taken for another.

import { createSmallWorld } from "./small-world.js";

const WIDTH = 5; // two tabs, server, aside, counters
const packed = (edits, faults, decisions) => edits | (faults << 8) | (decisions << 16);

export function explore({ edits = 4, faults = 2, decisions = 1, limit = 2_000_000, say = () => {} } = {}) {
  const small = createSmallWorld();
  const room = limit + 1;
  const worlds = new Int32Array(room * WIDTH);
  const cameFrom = new Int32Array(room);
  const cameBy = new Uint16Array(room);
  const steps = new Map();
  let bits = 10;
  while (2 ** bits < room * 1.6) bits++;
  const places = new Int32Array(2 ** bits); // 0: free, else the world's number + 1
  let count = 0;

  /** Keep a world; return its number, or -1 where it is known. */
  function keep(one, other, server, aside, counters) {
    let hash = Math.imul(one, 0x9e3779b1) ^ Math.imul(other + 0x7f4a7c15, 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 15), 0xc2b2ae35) ^ Math.imul(server + 1, 0x27d4eb2f);
    hash = Math.imul(hash ^ (hash >>> 13), 0x165667b1) ^ Math.imul(aside + counters * 0x01000193, 0x9e3779b1);
    let at = (hash ^ (hash >>> 16)) >>> (32 - bits);
    for (; places[at]; at = (at + 1) & (2 ** bits - 1)) {
      const there = (places[at] - 1) * WIDTH;
      if (worlds[there] === one && worlds[there + 1] === other && worlds[there + 2] === server && worlds[there + 3] === aside && worlds[there + 4] === counters) return -1;
    }
    worlds.set([one, other, server, aside, counters], count * WIDTH);
    places[at] = count + 1;
    return count++;
  }

  const numberOf = (name) => {
    if (!steps.has(name)) steps.set(name, steps.size);
    return steps.get(name);
  };
  const wayTo = (at) => {
    const names = [...steps.keys()];
    const way = [];
    for (; at; at = cameFrom[at]) way.unshift(names[cameBy[at]]);
    return way;
  };

  const [one, other, server, aside] = small.first();
  keep(one, other, server, aside, 0);
  let depth = 0;
  let end = 1; // where the next level begins
  let fault = null;
  let at = 0;
  for (; at < count && count < limit && !fault; at++) {
    if (at === end) {
      depth++;
      end = count;
      say(`depth ${depth}, ${count} states`);
    }
    const [a, b, s, k, c] = worlds.subarray(at * WIDTH, at * WIDTH + WIDTH);
    small.successors([a, b, s, k, c & 255, (c >> 8) & 255, c >> 16], { edits, faults, decisions }, (name, ...next) => {
      if (fault || count >= limit) return;
      const [ta, tb, ts, tk, ...counters] = next;
      const made = keep(ta, tb, ts, tk, packed(...counters));
      if (made < 0) return;
      cameFrom[made] = at;
      cameBy[made] = numberOf(name);
      const why = small.broken(next, s);
      if (why) fault = { why, made };
    });
  }
  const complete = !fault && at === count && count < limit;
  return { fault: fault?.why || "", way: fault ? wayTo(fault.made) : [], states: count, depth: depth + (fault ? 1 : 0), complete, parts: small.counts() };
}

if (process.argv[1]?.endsWith("explore.js")) {
  const [edits = "4", faults = "2", decisions = "1", limit = "2000000"] = process.argv.slice(2);
  const started = Date.now();
  const say = process.env.LOUD ? (line) => console.log(`${line}, ${Date.now() - started} ms`) : undefined;
  const found = explore({ edits: Number(edits), faults: Number(faults), decisions: Number(decisions), limit: Number(limit), say });
  if (found.fault) console.log(`${found.fault}\n    ${found.way.join("\n    ")}`);
  console.log(`${found.states} states of ${found.parts}, depth ${found.depth}, ${found.complete ? "complete" : "cut off"}, ${edits} edits, ${faults} faults, ${decisions} decisions, ${Date.now() - started} ms`);
  process.exitCode = found.fault ? 1 : 0;
}
