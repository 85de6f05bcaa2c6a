// Formulas: what a sheet's cells show. Numbers, text, + - * / ^ & and comparisons, ranges, and a handful of functions.
// A fault is a value too (#DIV/0!), so one bad cell does not take the sheet down.

const TOKEN = /\s*(?:(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)|"((?:[^"]|"")*)"|([A-Za-z]{1,2}[1-9]\d{0,3})(?![A-Za-z(])|([A-Za-z]+)(?=\()|(<=|>=|<>|[-+*/^&=<>(),;:%]))/y;

class Fault extends Error {}
const fail = (name) => {
  throw new Fault(name);
};

export function nameOf(column, row) {
  let letters = "";
  for (let rest = column + 1; rest > 0; rest = Math.floor((rest - 1) / 26)) letters = String.fromCharCode(65 + ((rest - 1) % 26)) + letters;
  return letters + (row + 1);
}

export function placeOf(name) {
  const [, letters, digits] = /^([A-Z]+)(\d+)$/.exec(name);
  return { column: [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0) - 1, row: Number(digits) - 1 };
}

const numberOf = (value) => {
  if (value === undefined || value === "") return 0;
  const number = Number(value);
  return Number.isNaN(number) ? fail("#VALUE!") : number;
};
const numbersIn = (values) => values.flat().filter((value) => value !== "" && value !== undefined && !Number.isNaN(Number(value))).map(Number);
const sum = (values) => numbersIn(values).reduce((total, one) => total + one, 0);
const divided = (one, other) => (other === 0 ? fail("#DIV/0!") : one / other);

const FUNCTIONS = {
  SUM: (...values) => sum(values),
  AVERAGE: (...values) => divided(sum(values), numbersIn(values).length),
  MIN: (...values) => Math.min(...numbersIn(values), ...(numbersIn(values).length ? [] : [0])),
  MAX: (...values) => Math.max(...numbersIn(values), ...(numbersIn(values).length ? [] : [0])),
  COUNT: (...values) => numbersIn(values).length,
  ROUND: (value, digits = 0) => Math.round(numberOf(value) * 10 ** numberOf(digits)) / 10 ** numberOf(digits),
  ABS: (value) => Math.abs(numberOf(value)),
  IF: (test, yes = true, no = false) => (test && test !== "" ? yes : no),
};

function tokensOf(text) {
  const tokens = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    if (!text.slice(TOKEN.lastIndex).trim()) break;
    const match = TOKEN.exec(text) || fail("#SYNTAX!");
    const [, number, string, cell, name, sign] = match;
    if (number !== undefined) tokens.push({ number: Number(number) });
    else if (string !== undefined) tokens.push({ string: string.replaceAll('""', '"') });
    else if (cell) tokens.push({ cell: cell.toUpperCase() });
    else tokens.push(name ? { name: name.toUpperCase() } : { sign });
  }
  return tokens;
}

/** Evaluate one formula; `look(name)` returns another cell's value. */
function evaluated(text, look) {
  const tokens = tokensOf(text);
  let at = 0;
  const sign = (...signs) => (signs.includes(tokens[at]?.sign) ? tokens[at++].sign : "");
  const chain = (next, signs, apply) => () => {
    let value = next();
    for (let found = sign(...signs); found; found = sign(...signs)) value = apply(found, value, next());
    return value;
  };

  function range(from) {
    const [one, other] = [placeOf(from), placeOf(tokens[at]?.cell || fail("#SYNTAX!"))];
    at++;
    const values = [];
    for (let row = Math.min(one.row, other.row); row <= Math.max(one.row, other.row); row++) {
      for (let column = Math.min(one.column, other.column); column <= Math.max(one.column, other.column); column++) values.push(look(nameOf(column, row)));
    }
    return values;
  }

  function primary() {
    const token = tokens[at++] || fail("#SYNTAX!");
    if ("number" in token) return token.number;
    if ("string" in token) return token.string;
    if (token.cell) return sign(":") ? range(token.cell) : look(token.cell);
    if (token.sign === "-") return -numberOf(primary());
    if (token.sign === "+") return numberOf(primary());
    if (token.sign === "(") {
      const value = compare();
      return sign(")") ? value : fail("#SYNTAX!");
    }
    const work = Object.hasOwn(FUNCTIONS, token.name || "") ? FUNCTIONS[token.name] : fail(token.name ? "#NAME?" : "#SYNTAX!");
    const values = [];
    if (!sign("(")) fail("#SYNTAX!");
    if (sign(")")) return work();
    do values.push(compare());
    while (sign(",", ";"));
    return sign(")") ? work(...values) : fail("#SYNTAX!");
  }

  const percent = () => {
    const value = primary();
    return sign("%") ? numberOf(value) / 100 : value;
  };
  const power = chain(percent, ["^"], (_, one, other) => numberOf(one) ** numberOf(other));
  const product = chain(power, ["*", "/"], (how, one, other) => (how === "*" ? numberOf(one) * numberOf(other) : divided(numberOf(one), numberOf(other))));
  const total = chain(product, ["+", "-"], (how, one, other) => (how === "+" ? numberOf(one) + numberOf(other) : numberOf(one) - numberOf(other)));
  const joined = chain(total, ["&"], (_, one, other) => `${one ?? ""}${other ?? ""}`);
  const same = { "=": (a, b) => a === b, "<>": (a, b) => a !== b, "<": (a, b) => a < b, ">": (a, b) => a > b, "<=": (a, b) => a <= b, ">=": (a, b) => a >= b };
  const compare = chain(joined, Object.keys(same), (how, one, other) => same[how](one ?? "", other ?? ""));
  const value = compare();
  if (at < tokens.length) fail("#SYNTAX!");
  return Array.isArray(value) ? value[0] : value;
}

/** What every cell shows: name → value. A cell that needs itself shows #CIRC!. */
export function computed(cells) {
  const values = new Map();
  const open = new Set();

  function look(name) {
    if (values.has(name)) {
      const known = values.get(name);
      return known instanceof Fault ? fail(known.message) : known;
    }
    const raw = cells[name];
    if (typeof raw !== "string" || !raw.startsWith("=")) {
      return typeof raw === "string" && raw.trim() !== "" && !Number.isNaN(Number(raw)) ? Number(raw) : raw;
    }
    if (open.has(name)) fail("#CIRC!");
    open.add(name);
    try {
      const value = evaluated(raw.slice(1), look);
      values.set(name, typeof value === "number" && !Number.isFinite(value) ? new Fault("#NUM!") : value);
    } catch (fault) {
      values.set(name, fault instanceof Fault ? fault : new Fault(fault instanceof RangeError ? "#DEEP!" : "#ERROR!"));
    } finally {
      open.delete(name);
    }
    return look(name);
  }

  const shown = {};
  for (const name of Object.keys(cells)) {
    try {
      shown[name] = look(name) ?? "";
    } catch (fault) {
      shown[name] = fault.message;
    }
  }
  return shown;
}

const round = new Intl.NumberFormat("en", { maximumFractionDigits: 10, useGrouping: false });

/** The text of a value in a cell. */
export const textOf = (value) => (typeof value === "number" ? round.format(value) : typeof value === "boolean" ? String(value).toUpperCase() : String(value));
