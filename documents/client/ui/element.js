// <document-session url="…">: the status chip and the panel below it. Inside a form, or with for="its-id", it makes the
// form save itself. Taken off the page it saves what can be saved; the session lives on.

import { openDocument } from "../core/open.js";
import { bindForm } from "./form.js";
import { make, STYLE } from "./look.js";
import { panelOf } from "./panel.js";
import { WORDS } from "./words.js";

export class DocumentSession extends HTMLElement {
  async connectedCallback() {
    const root = this.shadowRoot || this.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE);
    root.adoptedStyleSheets = [sheet];
    const chip = make("p", { className: "chip", role: "status" });
    const panel = make("section", { hidden: true });
    root.replaceChildren(chip, panel);

    const { url, user, create, words, maxBytes, schema } = this.dataset;
    const said = { ...WORDS, ...JSON.parse(words || "{}") };
    const options = { user, maxBytes: Number(maxBytes || 0), schema: Number(schema || 1), ...(create && { create: JSON.parse(create) }) };
    const session = (this.session = await openDocument(url || "", options));
    if (!this.isConnected) return;

    let shown = "";
    let decided = "";
    const tell = (/** @type {string} */ name, /** @type {any} */ detail) => this.dispatchEvent(new CustomEvent(name, { bubbles: true, composed: true, detail }));
    const hands = { session, options, tell, picks: {}, say: (/** @type {string} */ word) => said[word] || word, again: () => draw(session.state, true) };
    const draw = (/** @type {any} */ view, anew = false) => {
      const { status, block, conflict, backup, unsaved, behind } = view;
      const notes = [said[block?.code] || hands.say(status)];
      if (unsaved && backup === "memory") notes.push(said.memory);
      if (behind && !conflict) notes.push(said.behind);
      chip.className = `chip ${status}${block || conflict || notes.length > 1 ? " bad" : ""}`;
      if (chip.textContent !== notes.join(" · ")) chip.textContent = notes.join(" · ");
      // The panel is drawn anew only when it says something else, so that nobody loses their place in it.
      const { offers, failed, settling, hidden } = view;
      const says = JSON.stringify([status, block, conflict && { ...conflict, sent: 0 }, unsaved || offers, failed, settling, hidden, backup, conflict && session.content]);
      if (!anew && says === shown) return;
      shown = says;
      if (conflict?.id !== decided) hands.picks = {}; // choices outlive a third change, not the conflict
      decided = conflict?.id;
      const parts = panelOf(view, hands);
      panel.className = block || conflict ? "bad" : "";
      panel.hidden = !parts.length;
      const place = root.activeElement && [...panel.querySelectorAll("*")].indexOf(root.activeElement);
      panel.replaceChildren(...parts);
      if (place) /** @type {HTMLElement} */ (panel.querySelectorAll("*")[place])?.focus();
    };
    const form = this.closest("form") || document.getElementById(this.getAttribute("for") || "");
    const undos = [
      session.subscribe((/** @type {any} */ view) => {
        draw(view);
        tell("documents:state", view);
      }),
      form ? bindForm(/** @type {HTMLFormElement} */ (form), session) : () => {},
    ];
    this.undo = () => undos.forEach((undo) => undo());
    tell("documents:open", session);
  }

  disconnectedCallback() {
    this.undo?.();
    this.session?.hide();
  }
}

if (!customElements.get("document-session")) customElements.define("document-session", DocumentSession);
