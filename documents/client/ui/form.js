// Forms: a plain form as a document. Its named fields are the members; only what differs is written back, so the caret
// stays where it is and nothing that was typed is reverted.

const skipped = (/** @type {any} */ field) =>
  !field.name || ["file", "submit", "button", "hidden", "password"].includes(field.type) || field.dataset.document === "off";

/** A field's value; what was a number stays one, and an empty date is none. @param {any} field @param {unknown} before */
function valueOf(field, before) {
  if (field.type === "checkbox") return field.checked;
  if (field.type === "select-multiple") return [...field.selectedOptions].map((one) => one.value);
  if (!field.value && !/text|search|email|url|tel/.test(field.type)) return null;
  const number = Number(field.value);
  return typeof before === "number" && Math.abs(number) < 2 ** 53 ? number : field.value;
}

/** @param {any} field @param {any} value */
function put(field, value) {
  if (field.type === "checkbox") field.checked = Boolean(value);
  else if (field.type === "radio") field.checked = field.value === String(value);
  else if (field.type === "select-multiple") for (const one of field.options) one.selected = (value || []).includes(one.value);
  else if (field.value !== String(value ?? "") && !(field.value && Number(field.value) === value)) field.value = value ?? "";
}

/**
 * Bind a form and a session to each other.
 * @param {HTMLFormElement} form @param {any} session @returns {() => void} its own undo
 */
export function bindForm(form, session) {
  const fields = () => /** @type {any[]} */ ([...form.elements]).filter((field) => !skipped(field));

  function typed(/** @type {Event} */ event) {
    const field = /** @type {any} */ (event.target);
    if (skipped(field) || (field.type === "radio" && !field.checked)) return;
    const before = session.content?.[field.name];
    const value = valueOf(field, before);
    if (String(before ?? "") !== String(value ?? "")) session.edit({ ...session.content, [field.name]: value });
  }

  function submitted(/** @type {Event} */ event) {
    event.preventDefault();
    session.flush();
  }

  const undo = session.subscribe((/** @type {any} */ { loaded, hidden }) => {
    form.inert = form.hidden = hidden;
    if (!loaded || hidden) return;
    for (const field of fields()) if (field.name in session.content) put(field, session.content[field.name]);
  });
  const bound = new AbortController(); // its signal undoes both
  form.addEventListener("input", typed, bound);
  form.addEventListener("submit", submitted, bound);
  return () => {
    undo();
    bound.abort();
  };
}
