/**
 * Keeps the progress page fresh: fetches the page again, puts its inner part in place of ours, says what changed.
 * Without this script the page reloads itself.
 */
const EVERY = 1500;
const LONGEST = 30000;

/** Watch the page until the deletion is settled. Returns a function that ends the watching. */
export function watch({ document, fetch, address, wait, cancel, parse }) {
  let pause = EVERY;
  let timer = wait(look, pause);

  async function look() {
    try {
      const response = await fetch(address, { headers: { Accept: "text/html" }, cache: "no-store" });
      if (!response.ok) throw new Error(`status ${response.status}`);
      show(parse(await response.text()));
      pause = EVERY;
      document.getElementById("offline").hidden = true;
    } catch {
      // Shown, and tried again ever more rarely: the work goes on without this page.
      document.getElementById("offline").hidden = false;
      pause = Math.min(pause * 2, LONGEST);
    }
    if (!document.getElementById("progress").hasAttribute("data-settled")) timer = wait(look, pause);
  }

  function show(fresh) {
    const [old, next] = [document.getElementById("progress"), fresh.getElementById("progress")];
    if (old.isEqualNode(next)) return;
    old.replaceWith(document.importNode(next, true));
    document.title = fresh.title;
    const [headline, sum] = [next.querySelector("h1"), next.querySelector(".sum span")];
    document.getElementById("said").textContent = `${headline.textContent}. ${sum.textContent}`;
  }

  return () => cancel(timer);
}

if (typeof window !== "undefined") {
  watch({
    document: window.document,
    fetch: window.fetch.bind(window),
    address: window.location.href,
    wait: window.setTimeout.bind(window),
    cancel: window.clearTimeout.bind(window),
    parse: (text) => new DOMParser().parseFromString(text, "text/html"),
  });
}
