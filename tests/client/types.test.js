// The types that ship beside the module name what is there: no method, option or state of one is missing in the other.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { test } from "node:test";
import { createWorld, NAME } from "./world.js";

const { begin, statusOf } = await import("./entry.js");
const read = (path) => readFileSync(new URL(`../../documents/${path}`, import.meta.url), "utf8");
const TYPES = read("static/documents/document-session.d.ts");
const bodyOf = (name) => TYPES.match(new RegExp(`export interface ${name}\\b[^{]*\\{\\n([\\s\\S]*?)\\n\\}`))[1];
const membersOf = (name) => [...bodyOf(name).matchAll(/^ {2}(?:readonly )?(\w+)\??[:(]/gm)].map((one) => one[1]).sort();

test("the file is TypeScript", () => {
  assert.doesNotThrow(() => stripTypeScriptTypes(TYPES));
  assert.throws(() => stripTypeScriptTypes(TYPES.replace("readonly url:", "readonly url")));
});

test("a session has what its type names, and nothing else", async () => {
  const world = createWorld();
  world.server.foreign(NAME, { text: "" });
  const { session } = await world.open(world.browser("ann"));

  assert.deepEqual(Object.keys(session).sort(), membersOf("Session"));
  const view = Object.keys(session.state);
  assert.deepEqual(membersOf("State").filter((name) => !view.includes(name)), []);
  for (const name of membersOf("Offer").filter((one) => one !== "draft")) assert.match(read("client/core/drafts.js"), new RegExp(`\\b${name}\\b`));
});

test("every option is known to the session, and every default has its line", () => {
  const defaults = read("client/core/session.js").match(/DEFAULTS = \{(.*)\}/)[1].match(/\w+(?=:)/g);

  assert.deepEqual([...defaults, "user", "create", "csrfUrl"].sort(), membersOf("Options"));
});

test("every word for a state is in the type, and no other", () => {
  const named = TYPES.match(/type Status =([\s\S]*?);/)[1].match(/\w+/g).sort();
  const settings = { create: null, schema: 1 };
  const block = ["auth", "forbidden", "gone", "too_large", "invalid"];
  const ready = { ...begin(settings), loaded: true, text: "1", base: "1" };
  const some = [
    begin(settings), ready, { ...ready, text: "2" }, { ...ready, busy: "put" }, { ...ready, tries: 1 }, { ...ready, tries: 1, offline: true },
    { ...ready, conflict: {} }, { ...ready, closed: true }, ...block.map((status) => ({ ...ready, block: { status } })),
  ];

  assert.deepEqual([...new Set(some.map(statusOf))].sort(), named);
});

test("what the module exports is declared", () => {
  const exported = read("client/ui/index.js").match(/export \{(.*)\}/)[1].match(/\w+/g).sort();

  assert.deepEqual([...TYPES.matchAll(/^export (?:function|class) (\w+)/gm)].map((one) => one[1]).sort(), exported);
});
