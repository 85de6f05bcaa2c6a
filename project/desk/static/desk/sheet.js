// The sheet: a grid over a document session. What is half typed is staged, so it is in the draft and never sent; what
// is committed is an edit. The grid draws what the session says, and nothing else.

const root = document.getElementById("sheet");
const element = document.querySelector("document-session");
const grid = document.getElementById("grid");
const formula = document.getElementById("formula");
const place = document.getElementById("place");
const { computed, nameOf, placeOf, textOf } = await import(root.dataset.formulas);

const COLUMNS = 10;
const ROWS = 24;
let session = null;
let chosen = "A1";
let editor = null; // the input inside a cell, while one is open
let drawn = null;

const cellsOf = () => session?.content?.cells || {};
const cellAt = (name) => document.getElementById(`cell-${name}`);
const valueOf = (text) => (/^-?(0|[1-9]\d{0,14})(\.\d{1,10})?$/.test(text.trim()) ? Number(text) : text);

function build() {
  const last = Object.keys(cellsOf()).map(placeOf);
  const rows = Math.max(ROWS, ...last.map((one) => one.row + 2));
  const columns = Math.max(COLUMNS, ...last.map((one) => one.column + 2));
  if (grid.rows.length === rows + 1 && grid.rows[0].cells.length === columns + 1) return;
  const head = document.createElement("tr");
  head.append(document.createElement("td"));
  for (let column = 0; column < columns; column++) head.append(heading(nameOf(column, 0).slice(0, -1), "col"));
  const lines = Array.from({ length: rows }, (_, row) => {
    const line = document.createElement("tr");
    line.append(heading(String(row + 1), "row"));
    for (let column = 0; column < columns; column++) {
      const cell = document.createElement("td");
      Object.assign(cell, { id: `cell-${nameOf(column, row)}`, tabIndex: -1 });
      cell.setAttribute("role", "gridcell");
      line.append(cell);
    }
    return line;
  });
  grid.replaceChildren(head, ...lines);
  choose(chosen, false);
}

function heading(text, scope) {
  const cell = document.createElement("th");
  Object.assign(cell, { textContent: text, scope });
  return cell;
}

function draw() {
  const cells = cellsOf();
  const text = JSON.stringify(cells);
  if (text === drawn) return;
  drawn = text;
  build();
  const shown = computed(cells);
  for (const cell of grid.querySelectorAll("[role=gridcell]")) {
    const name = cell.id.slice(5);
    if (editor?.parentElement === cell) continue;
    const value = name in cells ? textOf(shown[name]) : "";
    if (cell.textContent !== value) cell.textContent = value;
    cell.className = value.startsWith("#") ? "fault" : typeof shown[name] === "number" ? "number" : "";
  }
  if (document.activeElement !== formula && !editor) formula.value = cells[chosen] ?? "";
}

function choose(name, focus = true) {
  const cell = cellAt(name);
  if (!cell) return;
  cellAt(chosen)?.removeAttribute("aria-selected");
  if (cellAt(chosen)) cellAt(chosen).tabIndex = -1;
  chosen = name;
  cell.tabIndex = 0;
  cell.setAttribute("aria-selected", "true");
  place.textContent = name;
  formula.value = cellsOf()[name] ?? "";
  if (focus) cell.focus();
}

function move(down, right) {
  const { column, row } = placeOf(chosen);
  if (column + right >= 0 && row + down >= 0) choose(nameOf(column + right, row + down));
}

const stage = (text) => session.stage(text === String(cellsOf()[chosen] ?? "") ? null : { cell: chosen, input: text });

function commit(name, text) {
  const cells = { ...cellsOf() };
  if (text === "") delete cells[name];
  else cells[name] = valueOf(text);
  session.stage(null);
  if (String(cellsOf()[name] ?? "") !== text) session.edit({ ...session.content, cells });
}

function open(text) {
  if (!session?.state.loaded || session.state.hidden || editor) return;
  const cell = cellAt(chosen);
  editor = document.createElement("input");
  Object.assign(editor, { value: text ?? cellsOf()[chosen] ?? "", autocomplete: "off", spellcheck: false, ariaLabel: chosen });
  cell.replaceChildren(editor);
  editor.addEventListener("input", () => {
    formula.value = editor.value;
    stage(editor.value);
  });
  editor.addEventListener("blur", () => close(true));
  editor.focus();
  if (text !== undefined) stage(text);
}

function close(keep) {
  if (!editor) return;
  const { value } = editor;
  const name = editor.parentElement.id.slice(5);
  const old = editor;
  editor = null;
  old.remove();
  if (keep) commit(name, value);
  else session.stage(null);
  drawn = null;
  draw();
}

grid.addEventListener("keydown", (event) => {
  const arrows = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  if (editor) {
    if (event.key === "Escape") close(false);
    else if (event.key === "Enter" || event.key === "Tab") close(true);
    else return;
    event.preventDefault();
    move(...(event.key === "Enter" ? [event.shiftKey ? -1 : 1, 0] : event.key === "Tab" ? [0, event.shiftKey ? -1 : 1] : [0, 0]));
  } else if (arrows[event.key]) {
    event.preventDefault();
    move(...arrows[event.key]);
  } else if (event.key === "Enter" || event.key === "F2") {
    event.preventDefault();
    open();
  } else if (event.key === "Delete" || event.key === "Backspace") {
    event.preventDefault();
    if (session?.state.loaded) commit(chosen, "");
  } else if (event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    open(event.key);
  } else if (event.key === "Home") {
    event.preventDefault();
    choose(nameOf(0, event.ctrlKey ? 0 : placeOf(chosen).row));
  }
});
grid.addEventListener("click", ({ target }) => {
  const cell = target.closest("[role=gridcell]");
  if (cell && editor?.parentElement !== cell) choose(cell.id.slice(5));
});
grid.addEventListener("dblclick", () => open());
formula.addEventListener("input", () => stage(formula.value));
formula.addEventListener("change", () => commit(chosen, formula.value));
formula.addEventListener("keydown", ({ key }) => {
  if (key === "Enter") move(1, 0);
  if (key !== "Escape") return;
  session.stage(null);
  formula.value = cellsOf()[chosen] ?? "";
  cellAt(chosen).focus();
});

function use(opened) {
  session = opened;
  session.subscribe(({ loaded, hidden }) => {
    root.hidden = hidden;
    formula.disabled = !loaded || hidden;
    if (loaded && !hidden) draw();
  });
}

// What was stored under a new name is shown at its own address.
element.addEventListener("documents:saved-as", ({ detail }) => location.assign(`../${detail.url.split("/").at(-2)}/`));

build();
if (element.session) use(element.session);
else element.addEventListener("documents:open", ({ detail }) => use(detail));
