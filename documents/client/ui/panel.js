// The panel: what a person is told and may decide, in every state that is not "saved". Nothing in it decides by itself.

import { openDocument } from "../core/open.js";
import { differences } from "./compare.js";
import { make } from "./look.js";

/**
 * @typedef {{session: any, options: any, say: (word: string) => string, again: () => void, tell: (name: string, detail: any) => void,
 *   picks: Record<string, string>, name?: string, fault?: string}} Hands
 */

const when = (/** @type {any} */ at) => (isNaN(Date.parse(at)) && isNaN(at) ? "" : new Date(at).toLocaleString());

/** @param {string} text @param {() => void} onclick @param {any} [more] */
const button = (text, onclick, more) => make("button", { type: "button", onclick, ...more }, text);

/** The way out with one's text, whatever happened. @param {Hands} hands */
function rescue({ session, say }) {
  const text = () => JSON.stringify(session.content, null, 2);
  return [
    button(say("copy"), () => navigator.clipboard.writeText(text())),
    button(say("download"), () => {
      const href = URL.createObjectURL(new Blob([text()], { type: "application/json" }));
      make("a", { href, download: `${session.url.split("/").at(-2)}.json` }).click();
      URL.revokeObjectURL(href);
    }),
  ];
}

/** @param {any} view @param {Hands} hands */
function conflictParts({ conflict: c, settling, failed }, hands) {
  const { session, say, picks } = hands;
  const rows = differences(session.content, c.stored, c.points);
  const stored = `${say("stored")} (${[c.by, when(c.at)].filter(Boolean).join(", ")})`;
  const open = rows.some((row) => row.pick === "" && !picks[row.id]);
  const choice = (/** @type {any} */ row, /** @type {string} */ side, /** @type {string|undefined} */ text) => {
    const shown = text ?? make("i", {}, say("nothing"));
    if (row.pick === undefined) return shown;
    const checked = (picks[row.id] || row.pick) === side;
    const onchange = () => {
      picks[row.id] = side;
      hands.again();
    };
    return make("label", {}, make("input", { type: "radio", name: row.id, checked, onchange }), shown);
  };
  const decide = (/** @type {string} */ word, /** @type {string} */ how, more = {}) =>
    button(say(word), () => session.settle(how, { version: c.version, ...more }), { disabled: settling });
  const head = make("tr", {}, make("td"), ...[say("mine"), stored].map((text) => make("th", { scope: "col" }, text)));
  const line = (/** @type {any} */ row) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, row.label),
      make("td", { title: say("mine") }, choice(row, "theirs", row.mine)),
      make("td", { title: stored }, choice(row, "stored", row.stored)),
    );
  const table = make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows.map(line)));
  return [
    c.told ? `${say("settled")} ${c.told.settledBy || c.told.by}: ${say(c.told.decision)} ${c.told.reason || ""}` : say("both"),
    failed && say(failed),
    c.deleted ? say("gone") : make("div", { className: "scroll", tabIndex: 0, role: "region", ariaLabel: say("conflict") }, table),
    decide("keepMine", "take_theirs"),
    decide("takeStored", "keep_stored"),
    c.points && c.id && button(say("merge"), () => session.settle("merge", { picks: { ...picks }, version: c.version }), { disabled: settling || open }),
  ];
}

/** Store what is here under a name that nothing has; only when it is there let go of the old one. @param {Hands} hands */
async function saveAs(hands) {
  const { session, options, tell } = hands;
  const url = session.url.replace(/[^/]+.$/, `${encodeURIComponent(/** @type {string} */ (hands.name))}/`);
  const copy = await openDocument(url, { ...options, create: null });
  let step = 0;
  copy.subscribe((/** @type {any} */ { loaded, block, conflict, version, unsaved }) => {
    if (step > 1) return;
    if (block || conflict || (version && !step)) {
      step = 2;
      hands.fault = "taken";
      hands.again();
    } else if (loaded && !step) {
      step = 1;
      copy.edit(session.content);
      copy.flush();
    } else if (step && !unsaved) {
      step = 2;
      session.discardAndReload();
      tell("documents:saved-as", copy);
    }
  });
}

/** @param {Hands} hands */
function newName(hands) {
  const { session, say, fault } = hands;
  const value = (hands.name ||= decodeURIComponent(session.url.split("/").at(-2)) + " 2");
  const name = make("input", { value, ariaLabel: say("name"), oninput: () => (hands.name = name.value) });
  return [name, button(say("saveAs"), () => saveAs(hands)), fault && say(fault)];
}

/** @param {any} view @param {Hands} hands */
function blockedParts({ status, block, failed }, hands) {
  const { session, say } = hands;
  const { message, path = "", limit, loginUrl } = block || {};
  const why = [message, path, limit && `≤ ${limit} B`].filter(Boolean).join(" · ");
  return [
    failed ? say(failed) : why,
    loginUrl && make("a", { href: loginUrl, target: "_blank" }, say("login")),
    ...(status === "gone" ? newName(hands) : []),
    button(say("retry"), session.flush),
    ["gone", "forbidden", "invalid"].includes(status) && button(say("discard"), session.discardAndReload),
  ];
}

/** What others left behind in this browser. @param {any[]} list @param {Hands} hands */
function offerParts(list, { session, say }) {
  return list.map((one) =>
    make(
      "p",
      {},
      `${say(one.binned ? "binned" : "draft")}, ${when(one.at)}, ${one.live ? say("live") : `${say("on")} ${one.draft.version}`} `,
      button(say("adopt"), () => session.adopt(one)),
      ...(one.live || one.binned ? [] : [button(say("dismiss"), () => session.dismiss(one))]),
    ),
  );
}

/** What is to be shown now, or nothing. @param {any} view @param {Hands} hands @returns {(Node|string)[]} */
export function panelOf(view, hands) {
  const { status, unsaved, failed, backup } = view;
  if (view.hidden) return [];
  const bad = view.conflict || view.block || view.tries;
  const told = status === "conflict" ? conflictParts(view, hands) : bad ? blockedParts(view, hands) : [failed && hands.say(failed)];
  const left = unsaved ? [] : offerParts(view.offers, hands);
  const parts = [...told, ...((bad || (unsaved && backup === "memory")) && view.loaded ? rescue(hands) : []), ...left];
  return parts.filter(Boolean).map((part) => (typeof part === "string" ? make("p", {}, part) : part));
}
