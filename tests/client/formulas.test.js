import assert from "node:assert/strict";
import { test } from "node:test";
import { computed, nameOf, placeOf, textOf } from "../../project/desk/static/desk/formulas.js";

const value = (formula, cells = {}) => computed({ ...cells, Z9: formula }).Z9;

test("arithmetic, order and signs", () => {
  assert.equal(value("=1+2*3^2"), 19);
  assert.equal(value("=-(2+3)*2"), -10);
  assert.equal(value("=10/4"), 2.5);
  assert.equal(value("=50%*4"), 2);
  assert.equal(textOf(value("=0.1+0.2")), "0.3");
});

test("cells, ranges and functions", () => {
  const cells = { A1: 1, A2: "2", A3: "text", B1: "=A1+A2" };

  assert.equal(value("=SUM(A1:B3)", cells), 6);
  assert.equal(value("=AVERAGE(A1:A3)", cells), 1.5);
  assert.equal(value("=MAX(a1:a2, 7)", cells), 7);
  assert.equal(value('=IF(B1>2,"big","small")', cells), "big");
  assert.equal(value('="x"&B1', cells), "x3");
  assert.equal(value("=COUNT(A1:A9)", cells), 2);
  assert.equal(value("=ROUND(2.345,1)"), 2.3);
});

test("a fault is a value, and takes nothing else down", () => {
  const shown = computed({ A1: "=1/0", A2: "=A1+1", A3: "=B9+1", B1: "=B2", B2: "=B1", C1: "=NO(1)", C2: "=1+", C3: "=A3*2" });

  assert.deepEqual(shown, { A1: "#DIV/0!", A2: "#DIV/0!", A3: 1, B1: "#CIRC!", B2: "#CIRC!", C1: "#NAME?", C2: "#SYNTAX!", C3: 2 });
  assert.equal(value('="a"*2'), "#VALUE!");
  assert.equal(value("=constructor(1)"), "#NAME?");
  assert.equal(value("=A1:B2:C3"), "#SYNTAX!");
});

test("names and places are each other's inverse", () => {
  for (const name of ["A1", "Z9", "AA10", "AZ1", "ZZ9999"]) assert.equal(nameOf(placeOf(name).column, placeOf(name).row), name);
});
