"""A plain form and an htmx page get autosave from one tag, in a real Chromium."""

import datetime as dt

import pytest

import documents
from tests.docs_app.models import Book, Shelf

from .conftest import state, wait
from .node import npm_install

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.urls("tests.client.pages")]


def test_a_model_form_saves_itself_and_every_sort_of_field_fits(person):
    shelf = Shelf.objects.create(name="High")
    Book.objects.create(slug="ulm", title="Ulm", copies=1, published=dt.date(2020, 1, 2), rating=1.5)
    ann = person("ann")
    page = ann.context.new_page()
    page.goto(f"{ann.address}/book/ulm/")
    wait(page, "clean")

    page.fill("[name=title]", "Ulm, revised")
    page.fill("[name=copies]", "3")
    page.fill("[name=price]", "12.50")
    page.fill("[name=published]", "")
    page.fill("[name=rating]", "4.25")
    page.check("[name=lent]")
    page.select_option("[name=shelf]", str(shelf.pk))
    page.click("button:text('Save')")
    wait(page, "clean")

    book = Book.objects.get()
    assert (book.title, book.copies, str(book.price), book.published) == ("Ulm, revised", 3, "12.50", None)
    assert (book.rating, book.lent, book.shelf) == (4.25, True, shelf)
    assert page.url.endswith("/book/ulm/"), "the form was not posted"


def test_a_change_from_elsewhere_lands_in_its_field_and_the_caret_stays(person):
    Book.objects.create(slug="ulm", title="Ulm", notes="old")
    ann = person("ann")
    page = ann.context.new_page()
    page.goto(f"{ann.address}/book/ulm/")
    wait(page, "clean")
    page.focus("[name=title]")
    page.keyboard.press("Home")

    Book.objects.update(notes="from a script")
    page.evaluate("dispatchEvent(new Event('focus'))")
    page.wait_for_function("() => document.querySelector('[name=notes]').value === 'from a script'")

    assert page.evaluate("document.activeElement.selectionStart") == 0


def test_a_field_the_kind_refuses_says_so_and_keeps_the_text(person):
    Book.objects.create(slug="ulm", title="Ulm")
    ann = person("ann")
    page = ann.context.new_page()
    page.goto(f"{ann.address}/book/ulm/")
    wait(page, "clean")

    page.fill("[name=copies]", "-99999999999999999999")
    wait(page, "invalid")

    assert state(page)["block"]["path"] == "/copies"
    assert page.input_value("[name=copies]") == "-99999999999999999999"
    page.fill("[name=copies]", "5")
    wait(page, "clean")
    assert Book.objects.get().copies == 5


@pytest.mark.parametrize("major", [2, 4])
def test_htmx_swaps_the_form_away_and_nothing_is_dropped(person, major):
    documents.save("note", "n", {"text": "before"}, expected_version=0, actor_name="the test")
    ann = person("ann")
    page = ann.context.new_page()
    page.goto(f"{ann.address}/swapping/{major}/")
    wait(page, "clean")
    page.fill("[name=text]", "typed, then swapped away")

    page.click("#away")
    page.click("#back")
    wait(page, "clean")

    assert page.input_value("[name=text]") == "typed, then swapped away"
    assert documents.read("note", "n").version == 2


@pytest.mark.long  # Alpine comes from npm
def test_an_alpine_page_saves_itself_and_shows_what_came_from_elsewhere(person, tmp_path):
    npm_install(tmp_path, "alpinejs@3.15.0")
    script = tmp_path / "node_modules" / "alpinejs" / "dist" / "cdn.min.js"
    documents.save("note", "n", {"text": "before"}, expected_version=0, actor_name="the test")
    ann = person("ann")
    page = ann.context.new_page()
    page.route("**/alpine.js", lambda route: route.fulfill(path=script, content_type="text/javascript"))
    page.goto(f"{ann.address}/alpine/")
    wait(page, "clean")
    text = page.get_by_label("Text", exact=True)
    assert text.input_value() == "before"

    text.press_sequentially(", typed")
    wait(page, "clean")
    assert documents.read("note", "n").text == '{"text":"before, typed"}'
    documents.save("note", "n", {"text": "from elsewhere"}, expected_version=2, actor_name="Sara")
    page.evaluate("document.querySelector('document-session').session.refresh()")
    page.wait_for_function("document.querySelector('textarea').value === 'from elsewhere'")

    text.fill("mine")
    documents.save("note", "n", {"text": "theirs"}, expected_version=3, actor_name="Sara")
    wait(page, "conflict")
    page.get_by_role("button", name="Take stored").click()
    wait(page, "clean")
    assert text.input_value() == "theirs"
