// The record: a title and attributes with an id each, over a document session. Fields are matched by id, so a change
// from elsewhere lands in its own field and the caret stays where it is.

const form = document.getElementById("record");
const fields = form.querySelector("fieldset");
const element = document.querySelector("document-session");
const title = document.getElementById("title");
const list = document.getElementById("attributes");
const blank = document.getElementById("attribute");
let session = null;

const contentNow = () => ({
  ...session.content,
  title: title.value,
  attributes: [...list.children].map((line) => ({ ...line.kept, id: line.dataset.id, label: line.querySelector(".label").value, value: line.querySelector(".value").value })),
});
const edited = () => session?.state.loaded && session.edit(contentNow());
const put = (field, value) => {
  if (field.value !== value) field.value = value;
};

function lineFor({ id }) {
  const line = blank.content.firstElementChild.cloneNode(true);
  line.dataset.id = id;
  return line;
}

function draw({ title: text, attributes }) {
  put(title, text || "");
  const lines = new Map([...list.children].map((line) => [line.dataset.id, line]));
  attributes.forEach((one, at) => {
    const line = lines.get(one.id) || lineFor(one);
    lines.delete(one.id);
    line.kept = one;
    put(line.querySelector(".label"), one.label);
    put(line.querySelector(".value"), one.value);
    if (list.children[at] !== line) list.insertBefore(line, list.children[at] || null);
  });
  for (const line of lines.values()) line.remove();
}

form.addEventListener("input", edited);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  session?.flush();
});
document.getElementById("add").addEventListener("click", () => {
  const id = `a${crypto.getRandomValues(new Uint32Array(1))[0].toString(36)}`;
  list.append(lineFor({ id }));
  edited();
  list.lastElementChild.querySelector(".label").focus();
});
list.addEventListener("click", ({ target }) => {
  const line = target.closest("li");
  const other = target.closest(".up") ? line.previousElementSibling : target.closest(".down") ? line.nextElementSibling : null;
  if (target.closest(".away")) {
    const next = line.nextElementSibling || line.previousElementSibling;
    line.remove();
    (next?.querySelector(".away") || document.getElementById("add")).focus();
  } else if (other && target.closest(".up")) other.before(line);
  else if (other) other.after(line);
  else return;
  edited();
  if (other) target.focus();
});

function use(opened) {
  session = opened;
  session.subscribe(({ loaded, hidden }) => {
    form.hidden = hidden;
    fields.disabled = !loaded || hidden;
    if (loaded && !hidden) draw(session.content);
  });
}

// What was stored under a new name is shown at its own address.
element.addEventListener("documents:saved-as", ({ detail }) => location.assign(`../${detail.url.split("/").at(-2)}/`));

if (element.session) use(element.session);
else element.addEventListener("documents:open", ({ detail }) => use(detail));
