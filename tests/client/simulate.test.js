import assert from "node:assert/strict";
import { test } from "node:test";
import { explore } from "./explore.js";
import { run, shortened, traceOf } from "./simulate.js";

const SEEDS = Number(process.env.SEEDS || 3000);
const FROM = Number(process.env.SEED || 1);

test(`D1–D5 over ${SEEDS} seeds of 60 actions: no token lost, none overwritten, nothing waits for ever`, async (t) => {
  for (let seed = FROM; seed < FROM + SEEDS; seed++) {
    const trace = traceOf(seed);
    const found = await run(seed, trace);
    if (!found) continue;
    const short = await shortened(seed, trace);
    const lines = short.map(({ name, pick, pause }) => `    ${name} pick=${pick} pause=${pause}`);
    assert.fail(`seed ${seed}: ${found.fault[0]}\n${lines.join("\n")}\n  again: SEED=${seed} SEEDS=1 node --test tests/client/simulate.test.js`);
  }
  t.diagnostic(`seeds ${FROM} to ${FROM + SEEDS - 1}`);
});

for (const [edits, faults, decisions] of process.env.LONG ? [[4, 2, 0], [3, 1, 1]] : [[2, 1, 1], [3, 1, 0]]) {
  test(`every order of 2 tabs, ${edits} edits, ${faults} faults, ${decisions} decisions`, (t) => {
    const found = explore({ edits, faults, decisions, limit: 4_000_000 });
    assert.equal(found.fault, "", `\n    ${found.way.join("\n    ")}`);
    assert.ok(found.complete || process.env.LONG);
    t.diagnostic(`${found.states} states, depth ${found.depth}${found.complete ? ", complete" : ", cut off"}`);
  });
}
