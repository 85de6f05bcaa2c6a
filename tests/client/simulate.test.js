import assert from "node:assert/strict";
import { test } from "node:test";
import { explore } from "./explore.js";
import { run, shortened, traceOf } from "./simulate.js";

const SEEDS = Number(process.env.SEEDS || 2000);
const FROM = Number(process.env.SEED || 1);

test(`D1–D5 over ${SEEDS} seeds of 60 actions: no token lost, none overwritten, nothing waits for ever`, async (t) => {
  const counts = {};
  for (let seed = FROM; seed < FROM + SEEDS; seed++) {
    const trace = traceOf(seed);
    const found = await run(seed, trace, { counts });
    if (!found) continue;
    const short = await shortened(seed, trace);
    const lines = short.map(({ name, pick, pause }) => `    ${name} pick=${pick} pause=${pause}`);
    assert.fail(`seed ${seed}: ${found.fault[0]}\n${lines.join("\n")}\n  again: SEED=${seed} SEEDS=1 node --test tests/client/simulate.test.js`);
  }
  t.diagnostic(`seeds ${FROM} to ${FROM + SEEDS - 1}, patches by answer ${JSON.stringify(counts)}`);
  for (const status of SEEDS < 1000 ? [] : [200, 409, 422]) assert.ok(counts[status] > 0, `no patch was answered ${status}`);
});

// edits, faults and decisions; test_core.py names the ones that take minutes.
const ORDERS = process.env.ORDERS || "3,1,1 2,2,0";

for (const [edits, faults, decisions] of ORDERS.split(" ").map((one) => one.split(",").map(Number))) {
  test(`every order of 2 tabs, ${edits} edits, ${faults} faults, ${decisions} decisions`, (t) => {
    const found = explore({ edits, faults, decisions, limit: 30_000_000 });
    assert.equal(found.fault, "", `\n    ${found.way.join("\n    ")}`);
    assert.ok(found.complete, "cut off before the end");
    t.diagnostic(`${found.states} states of ${found.parts}, depth ${found.depth}, complete`);
  });
}
