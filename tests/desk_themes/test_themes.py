"""
Two other looks of the admin, django-unfold and django-jazzmin: nothing of the desk is broken under them.

Both stand on Django 5.2 and on 6.x; which one a run has had is in its own requirements, and neither is left out.
`THEME_SHOTS` names a folder for screenshots.
"""

import os
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

#: What a person presses. Of the theme's own they are none of our business.
BUTTONS = ".dur-actions a, [id^=decide-], #confirm, #conflict-form [type=submit], .dur-confirm a, .doc-actions a"

#: Of each of them, what is wrong: it cannot be seen, or something lies over it, once it was scrolled to.
HIDDEN = """buttons => [...document.querySelectorAll(buttons)].filter(one => {
    if (one.closest("details:not([open])")) return false;
    one.scrollIntoView({ block: "center", inline: "nearest", behavior: "instant" });
    const box = one.getBoundingClientRect();
    const style = getComputedStyle(one);
    const inside = box.width > 8 && box.height > 8 && box.left >= -1 && box.right <= innerWidth + 1
        && box.top >= -1 && box.bottom <= innerHeight + 1;
    const at = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
    return !inside || style.visibility !== "visible" || Number(style.opacity) < 0.5
        || !(at && (one.contains(at) || at.contains(one)));
}).map(one => one.outerHTML.slice(0, 120))"""

#: What of ours reaches over the edge of the page, and is in nothing that scrolls by itself.
OVER = """() => [...document.querySelectorAll("[class*=dur-], [class*=doc-]")].filter(one => {
    const scrolls = up => up && up !== document.body && up !== document.documentElement
        && (["auto", "scroll"].includes(getComputedStyle(up).overflowX) || scrolls(up.parentElement));
    const box = one.getBoundingClientRect();
    return box.width > 2 && box.right > innerWidth + 1 && !scrolls(one.parentElement)
        && !one.matches(".dur-hidden, .visually-hidden");
}).map(one => one.outerHTML.slice(0, 120))"""

#: A field that nobody can see the edge of.
EDGELESS = """() => [...document.querySelectorAll(":is(.dur-decide, .doc-settle) :is(textarea, input[type=text])")]
.filter(one => {
    const style = getComputedStyle(one);
    return !(parseFloat(style.borderTopWidth) >= 1 && style.borderTopStyle !== "none" && one.offsetWidth > 100);
}).map(one => one.outerHTML.slice(0, 120))"""

#: What is only for a screen reader, and is seen all the same.
SEEN = """() => [...document.querySelectorAll("#content-main :is(.dur-hidden, .visually-hidden)")].filter(one =>
    one.getBoundingClientRect().width > 2).map(one => one.outerHTML.slice(0, 120))"""

SCROLLS = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
#: Each page, and what it is about: it must be read on the page itself.
SHOWN = {
    "overview": "things need you", "list": "delete:41", "waiting": "delete:41", "dead": "delete:45",
    "unknown": "reset:staging", "plan": "Rename Ada", "approve": "Rename Ada", "skip": "delete:41", "release": "delete:44",
    "conflict": "Conflict on", "conflicts": "ada", "document": "ada",
}  # fmt: skip


def pale(page):
    """Return what of ours is written in a colour that cannot be read on the ground behind it, as axe sees it.

    The colours of links and of code are the theme's own.
    """
    ours = next((one for one in (".dur", "#content-main:has([class^=doc-])") if page.query_selector(one)), None)
    if ours is None:
        return []
    found = Axe().run(page, context=ours, options={"runOnly": ["color-contrast"]}).response["violations"]
    said = [node["html"][:120] for one in found for node in one["nodes"]]
    return [html for html in said if not html.startswith(("<a ", "<code"))]


def shot(page, name):
    folder = os.environ.get("THEME_SHOTS")
    if folder:
        page.evaluate("() => scrollTo(0, 0)")
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


LOOKS = [("unfold", 1280, "light"), ("jazzmin", 390, "dark")]
OTHER_LOOKS = [("unfold", 390, "dark"), ("jazzmin", 1280, "light")]


@pytest.mark.parametrize(
    ("themed", "width", "scheme"), [*LOOKS, *(pytest.param(*look, marks=pytest.mark.long) for look in OTHER_LOOKS)],
    indirect=["themed"],
)  # fmt: skip
def test_each_page_can_be_read_and_each_button_pressed(themed, visitor, width, scheme):
    page, faults = visitor(viewport={"width": width, "height": 800}, color_scheme=scheme), {}

    for name, subject in SHOWN.items():
        answer = page.goto(themed.url + themed.pages[name])
        page.wait_for_load_state("networkidle")
        found = {
            "status": answer.status if answer.status != 200 else "",
            "hidden": page.evaluate(HIDDEN, BUTTONS),
            "over the edge": page.evaluate(OVER),
            "edgeless": page.evaluate(EDGELESS),
            "seen": page.evaluate(SEEN),
            "unnamed": subject if subject not in page.inner_text("#content-main, main, #content") else "",
            "no timeline": name in ("waiting", "dead") and not page.is_visible(".dur-timeline tbody tr"),
            "pale": pale(page),
            "scrolls": page.evaluate(SCROLLS) if page.evaluate(SCROLLS) > 1 else "",
        }
        shot(page, f"{themed.theme}-{width}-{name}")
        if any(found.values()):
            faults[name] = {what: value for what, value in found.items() if value}

    assert faults == {}
