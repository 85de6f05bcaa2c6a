/**
 * Lets a page of the desk follow what it shows: reads its living part again, counts down in between.
 * Stops while nobody looks, and where the server says that nothing will change by itself. Without it the page is whole.
 */

const TICK = 1000;

const area = document.querySelector("#dur-live");
const part = () => area?.querySelector("[data-watch]");
const short = (seconds) => {
  const whole = Math.max(0, Math.round(seconds));
  if (whole >= 7200) return null;
  return whole >= 120 ? `${Math.floor(whole / 60)} min ${whole % 60} s` : `${whole} s`;
};

let read = performance.now();
let next = 0;
let asking = false;

/** Put new HTML in place of the old, with what the person had opened, and where they were. */
function put(html) {
  const fresh = new DOMParser().parseFromString(html, "text/html").body;
  const old = part();
  const made = fresh.querySelector("[data-watch]");
  if (!made) throw new Error("not a page of the desk");
  for (const details of old.querySelectorAll("details[id]")) {
    const twin = made.querySelector(`#${CSS.escape(details.id)}`);
    if (twin) twin.open = details.open;
  }
  const focused = document.activeElement?.closest?.("#dur-live [id]")?.id;
  // A reader is told where the run stands when that changes, not every second.
  const said = document.querySelector("#dur-said");
  if (said && old.dataset.standing !== made.dataset.standing) said.textContent = made.querySelector(".dur-words")?.textContent ?? "";
  old.replaceWith(document.importNode(made, true));
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

async function look() {
  const every = Number(part()?.dataset.every);
  if (!every || document.hidden || asking) return;
  asking = true;
  try {
    const answer = await fetch(part().dataset.watch, { credentials: "same-origin", cache: "no-store", redirect: "error" });
    if (!answer.ok) throw new Error(String(answer.status));
    put(await answer.text());
    read = performance.now();
    next = read + every * TICK;
    show(false);
  } catch {
    // A page that stands still must say so; it tries again, each time later.
    next = performance.now() + 5 * every * TICK;
    show(true);
  } finally {
    asking = false;
  }
}

function show(lost) {
  const here = part();
  here?.querySelector("[data-lost]")?.toggleAttribute("hidden", !lost);
  here?.querySelector("[data-live]")?.toggleAttribute("hidden", lost || !Number(here.dataset.every));
}

function count() {
  const since = (performance.now() - read) / 1000;
  for (const one of area.querySelectorAll("[data-seconds]")) {
    one.dataset.form ??= one.textContent;
    const left = short(Number(one.dataset.seconds) - since);
    if (left) one.textContent = one.dataset.form.replace(/\d+ (?:s|min|h)\b/, left);
  }
  for (const one of area.querySelectorAll("[data-running]")) {
    const took = short(Number(one.dataset.running) + since);
    if (took) one.textContent = took;
  }
  if (performance.now() >= next) look();
}

if (part()) {
  next = read + Number(part().dataset.every) * TICK;
  show(false);
  let timer = setInterval(count, TICK);
  document.addEventListener("visibilitychange", () => {
    clearInterval(timer);
    if (document.hidden) return;
    timer = setInterval(count, TICK);
    look();
  });
}
