"""The blocks of docs/document-session.md, as a reader would use them: the template is rendered, the scripts run in Chromium."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.contrib.auth.models import AnonymousUser
from django.template import Context, Template
from django.test import RequestFactory

from .conftest import state, wait
from .pages import BookForm

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "document-session.md"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
STUBS = """
    const { drawn } = Object.assign(window, { drawn: [] });
    const draw = (content) => drawn.push(JSON.stringify(content));
    const onChange = (then) => (window.change = then);
    const onTyping = (then) => (window.typed = then);
    const goTo = () => {};
"""


def block(language: str, number: int) -> str:
    return [text for name, text in BLOCKS if name == language][number]


def test_the_page_has_these_blocks_and_no_others():
    assert [name for name, _ in BLOCKS] == ["django", "django", "js", "js"]


@pytest.mark.django_db
def test_the_template_makes_a_form_that_saves_itself():
    request = RequestFactory().get("/")
    request.user = AnonymousUser()

    html = Template(block("django", 0)).render(
        Context({"request": request, "book": SimpleNamespace(slug="moby"), "form": BookForm()})
    )

    assert 'data-url="/documents/book/moby/"' in html
    assert html.index("<form") < html.index("<document-session") < html.index('name="title"') < html.index("</form>")


@pytest.mark.django_db(transaction=True)
def test_the_script_draws_what_is_stored_and_saves_what_is_changed(person, sheet, stored):
    sheet(A1=1)
    page = person("ann").open("sheet", "budget")
    again = "const parent = element.parentElement; element.remove(); parent.append(element);"

    page.evaluate(f"() => {{ {STUBS} {block('js', 0)} {again} }}")
    page.wait_for_function("window.drawn.length")
    page.evaluate("window.typed('half')")
    assert state(page)["staged"] == "half"
    page.evaluate("window.typed(null)")
    page.evaluate("window.change({ cells: { A1: 2 } })")
    wait(page, "clean")

    assert page.evaluate("window.drawn.at(-1)") == '{"cells":{"A1":2}}'
    assert stored("sheet", "budget") == (2, {"cells": {"A1": 2}})


@pytest.mark.django_db(transaction=True)
def test_signing_out_as_the_page_shows_it_closes_the_session(person, sheet):
    sheet(A1=1)
    page = person("ann").open("sheet", "budget")

    page.evaluate(f"async () => {{ const form = document.getElementById('sign-out'); {block('js', 1)} }}")
    page.evaluate("document.getElementById('sign-out').dispatchEvent(new Event('submit'))")

    assert wait(page, "auth") == "auth"
    assert state(page)["hidden"] is True
