// A tape of the simulator: everything that reaches the server and what the fake one said, for test_drift.py to repeat
// against the real views. One JSON line for each seed.

import { run, traceOf } from "./simulate.js";

const [from = "1", count = "20"] = process.argv.slice(2);

function taping(server, tape) {
  const note = (op, more) => tape.push({ op, schema: server.schema, revoked: [...server.revoked], ...more });
  for (const name of ["foreign", "remove", "restore", "prune"]) {
    const real = server[name];
    server[name] = (...given) => {
      note(name, { content: given[1] });
      return real(...given);
    };
  }
  const { handle, staff, login, expire } = server;
  server.staff = (id, choice) => {
    note("staff", { id, choice });
    return staff(id, choice);
  };
  server.login = (cookie, user) => {
    note("login", { cookie, user });
    login(cookie, user);
  };
  server.expire = (cookie) => {
    note("expire", { cookie });
    expire(cookie);
  };
  server.handle = (request) => {
    const reply = handle(request);
    const { method, path, body, cookie, headers } = request;
    note("request", { method, path, body, cookie, as: headers["Documents-User"], status: reply.status, reply: reply.body });
    return reply;
  };
}

for (let seed = Number(from); seed < Number(from) + Number(count); seed++) {
  const tape = [];
  const found = await run(seed, traceOf(seed), { taped: (server) => taping(server, tape) });
  if (found) throw new Error(`seed ${seed}: ${found.fault[0]}`);
  console.log(JSON.stringify({ seed, merges: seed % 2 === 0, tape }));
}
