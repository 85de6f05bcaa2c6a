"""Two staff with one ordinary row open: the second sees what changed, and nothing is overwritten unseen (C60, I-54)."""

import re

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from documents.models import Revision
from tests.docs_app.models import Book, Shelf

from .factories import Person

pytestmark = pytest.mark.django_db


def login(name):
    client = Client()
    client.force_login(Person(username=name, is_staff=True, is_superuser=True))
    return client


@pytest.fixture
def ann():
    return login("ann")


@pytest.fixture
def bob():
    return login("bob")


@pytest.fixture
def book():
    return Book.objects.create(slug="sketch", title="Sketch", notes="line one\nline two", price="12.50", copies=1)


def form(response):
    """Return what a browser would post of an admin form."""
    html = response.content.decode()
    found = {}
    for tag in re.findall(r"<(?:input|textarea|select)[^>]*>(?:[^<]*</textarea>)?", html):
        name = re.search(r' name="([^"]*)"', tag)
        if not name or 'type="submit"' in tag or name[1].startswith("csrf"):
            continue
        value = re.search(r' value="([^"]*)"', tag)
        text = re.search(r">\n?([^<]*)</textarea>", tag)
        if "checkbox" in tag:
            if "checked" in tag:
                found[name[1]] = "on"
        else:
            found[name[1]] = text[1] if text else value[1] if value else ""
    for name, options in re.findall(r'<select name="([^"]*)"[^>]*>(.*?)</select>', html, re.S):
        chosen = re.search(r'value="([^"]*)" selected', options)
        found[name] = chosen[1] if chosen else ""
    return found


def page(row):
    return reverse(f"admin:docs_app_{row._meta.model_name}_change", args=[row.pk])


def test_c66_one_editor_alone_notices_nothing_and_no_line_break_is_doubled(ann, book):
    typed = {"title": "New", "notes": "line one\r\nline two"}  # as a browser posts it
    response = ann.post(page(book), form(ann.get(page(book))) | typed)

    assert response.status_code == 302
    book.refresh_from_db()
    assert (book.title, book.notes) == ("New", "line one\nline two")


def test_the_second_editor_is_shown_what_moved_and_saves_a_merge_they_have_seen(ann, bob, book):
    hers, his = form(ann.get(page(book))), form(bob.get(page(book)))
    ann.post(page(book), hers | {"title": "Ann's", "copies": "5"})

    refused = bob.post(page(book), his | {"title": "Bob's", "price": "9.00"})

    html = refused.content.decode()
    assert refused.status_code == 200
    assert "Nothing was saved: ann (" in html
    assert "Title and Copies" in html
    assert "Stored meanwhile, against yours:" in html
    book.refresh_from_db()
    assert (book.title, book.copies) == ("Ann's", 5)
    shown = form(refused)
    assert (shown["title"], shown["copies"], shown["price"]) == ("Bob&#x27;s", "5", "9.00")

    assert bob.post(page(book), shown | {"title": "Bob's"}).status_code == 302
    book.refresh_from_db()
    assert (book.title, book.copies, str(book.price)) == ("Bob's", 5, "9.00")


def test_a_field_that_is_not_in_the_form_is_neither_lost_nor_in_the_way(ann, book):
    loaded = form(ann.get(page(book)))
    Book.objects.update(rating=4.5)

    assert ann.post(page(book), loaded | {"title": "New"}).status_code == 302
    book.refresh_from_db()
    assert (book.title, book.rating) == ("New", 4.5)


def test_both_typing_the_same_is_no_conflict(ann, bob, book):
    hers, his = form(ann.get(page(book))), form(bob.get(page(book)))
    ann.post(page(book), hers | {"title": "Same"})

    assert bob.post(page(book), his | {"title": "Same"}).status_code == 302


def test_a_change_from_the_shell_is_shown_too(ann, book):
    loaded = form(ann.get(page(book)))
    Book.objects.update(notes="by a script")

    html = ann.post(page(book), loaded | {"title": "New"}).content.decode()

    assert "Nothing was saved: somebody changed Notes" in html
    assert "by a script" in html


@pytest.mark.parametrize("base", ["", "made up", None])
def test_i54_a_page_without_a_base_saves_nothing(ann, book, base):
    loaded = form(ann.get(page(book))) | {"title": "New", "_documents_base": base}
    if base is None:
        other = Book.objects.create(slug="other", title="Other")
        loaded["_documents_base"] = form(ann.get(page(other)))["_documents_base"]

    html = ann.post(page(book), loaded).content.decode()

    assert "this page did not say what it had shown" in html
    book.refresh_from_db()
    assert book.title == "Sketch"


def test_c60_the_list_edit_is_guarded_too(ann, bob, book):
    where = reverse("admin:docs_app_book_changelist")
    hers, his = form(ann.get(where)), form(bob.get(where))
    assert ann.post(where, hers | {"form-0-title": "Ann's", "_save": "1"}).status_code == 302

    html = bob.post(where, his | {"form-0-title": "Bob's", "_save": "1"}).content.decode()

    assert "Nothing was saved: ann (" in html
    assert "Stored now: Ann&#x27;s" in html
    book.refresh_from_db()
    assert book.title == "Ann's"
    bob.post(where, form(bob.get(where)) | {"form-0-title": "Bob's", "_save": "1"})
    book.refresh_from_db()
    assert book.title == "Bob's"


def test_the_list_edit_leaves_other_columns_as_they_are_now(ann, book):
    where = reverse("admin:docs_app_book_changelist")
    loaded = form(ann.get(where))
    Book.objects.update(notes="newer")

    assert ann.post(where, loaded | {"form-0-title": "New", "_save": "1"}).status_code == 302
    book.refresh_from_db()
    assert (book.title, book.notes) == ("New", "newer")
    html = ann.post(where, loaded | {"form-0-title": "x", "_documents_base": "", "_save": "1"}).content.decode()
    assert "this row was not on the page" in html


def test_a_row_of_the_list_that_this_person_did_not_touch_is_not_in_the_way_and_not_overwritten(ann, bob, book):
    Book.objects.create(slug="zebra", title="Zebra")
    where = reverse("admin:docs_app_book_changelist")
    hers, his = form(ann.get(where)), form(bob.get(where))
    mine = next(name for name, value in his.items() if value == "Sketch")
    theirs = next(name for name, value in his.items() if value == "Zebra")
    ann.post(where, hers | {theirs: "Ann's", "_save": "1"})

    assert bob.post(where, his | {mine: "Bob's", "_save": "1"}).status_code == 302
    assert sorted(Book.objects.values_list("title", flat=True)) == ["Ann's", "Bob's"]


def test_rows_of_an_inline_are_compared(ann, bob):
    shelf = Shelf.objects.create(name="Top")
    Book.objects.create(slug="a", title="A", shelf=shelf)
    hers, his = form(ann.get(page(shelf))), form(bob.get(page(shelf)))
    assert ann.post(page(shelf), hers | {"book_set-0-title": "Ann's"}).status_code == 302

    refused = bob.post(page(shelf), his | {"book_set-0-title": "Bob's"})

    assert "changed books (stored now: Ann&#x27;s)" in refused.content.decode()
    assert Book.objects.get().title == "Ann's"
    assert bob.post(page(shelf), form(refused) | {"book_set-0-title": "Bob's"}).status_code == 302
    assert Book.objects.get().title == "Bob's"


def test_a_save_becomes_a_version_of_the_models_document_under_the_editors_name(ann, book):
    ann.post(page(book), form(ann.get(page(book))) | {"title": "New"})

    revision = Revision.objects.get()
    assert (revision.document.kind, revision.document.key, revision.by_name) == ("book", "sketch", "ann")
    assert '"title":"New"' in revision.content


def test_adding_a_row_needs_no_base(ann):
    add = reverse("admin:docs_app_book_add")

    assert "_documents_base" not in ann.get(add).content.decode()
    assert ann.post(add, form(ann.get(add)) | {"slug": "new", "title": "New"}).status_code == 302


def test_i54_a_fixture_goes_in_and_out(book, tmp_path):
    path = tmp_path / "books.json"
    call_command("dumpdata", "docs_app.book", output=str(path), verbosity=0)
    Book.objects.all().delete()

    call_command("loaddata", str(path), verbosity=0)

    assert Book.objects.get().title == "Sketch"


def test_c24_another_validation_error_keeps_the_base(ann, bob, book):
    hers, his = form(ann.get(page(book))), form(bob.get(page(book)))
    wrong = bob.post(page(book), his | {"title": ""})
    ann.post(page(book), hers | {"title": "Ann's"})

    html = bob.post(page(book), form(wrong) | {"title": "Bob's"}).content.decode()

    assert "Nothing was saved: ann (" in html
    book.refresh_from_db()
    assert book.title == "Ann's"
