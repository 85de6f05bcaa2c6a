"""A document over the user's own row: one transaction, every field equal after the trip, outside changes noticed."""

import datetime as dt
import uuid
from decimal import Decimal

import pytest
from django.db import IntegrityError

import documents
from documents.models import Conflict, Document, Revision
from tests.docs_app.models import Book, Shelf

from .factories import counts, head, save

pytestmark = pytest.mark.django_db

CODE = "5b0e4a3c-8a44-4c8e-9f52-8f1f0d3a6c11"


def book(**changes):
    return {
        "title": "Sketch",
        "notes": "a\nb",
        "shelf": None,
        "price": "12.50",
        "published": "1843-08-01",
        "read_at": "2026-03-01T11:30:00.123456+00:00",
        "length": "01:02:03",
        "code": CODE,
        "copies": 3,
        "rating": 4.5,
        "lent": True,
        "extra": {"z": [1, 2.5, None], "a": {"é": "\u2028"}},
    } | changes


def saved(content, version, key="sketch", **more):
    return save(content, version, kind="book", key=key, **more)


def test_a_save_writes_the_row_and_the_version_together():
    shelf = Shelf.objects.create(name="Top")

    outcome = saved(book(shelf=shelf.pk), 0)

    row = Book.objects.get(slug="sketch")
    assert outcome.created
    assert (row.shelf, row.price, row.published) == (shelf, Decimal("12.50"), dt.date(1843, 8, 1))
    assert (row.read_at.microsecond, row.length, row.code) == (123456, dt.timedelta(0, 3723), uuid.UUID(CODE))
    assert (row.copies, row.rating, row.lent, row.extra) == (3, 4.5, True, book()["extra"])
    assert head("book", "sketch") == (1, book(shelf=shelf.pk))


def test_what_the_row_says_is_what_was_saved_and_no_read_makes_a_version():
    saved(book(), 0)

    for _ in range(2):
        documents.read("book", "sketch")

    assert counts("book", "sketch") == (1, 0)


def test_another_spelling_is_normalised_and_said_so():
    outcome = saved(book(price="12.5", read_at="2026-03-01T12:30:00.123456+01:00", code=CODE.upper()), 0)

    assert outcome.normalised == {
        "price": "12.50",
        "read_at": "2026-03-01T11:30:00.123456+00:00",
        "code": CODE,
    }


def test_integers_beyond_a_browser_travel_as_text():
    saved(book(copies="9007199254740993"), 0)

    assert Book.objects.get().copies == 9007199254740993
    assert head("book", "sketch")[1]["copies"] == "9007199254740993"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("title", ""),
        ("title", 5),
        ("title", {"a": 1}),
        ("title", "x" * 101),
        ("price", 1.5),
        ("price", "1.234"),
        ("published", "yesterday"),
        ("read_at", "2026-03-01T12:00:00"),
        ("shelf", 999),
        ("shelf", True),
        ("copies", 1.5),
        ("lent", "yes"),
        ("lent", 1),
        ("code", "not a uuid"),
        ("rating", "4"),
        ("nothing", 1),
    ],
)
def test_a_value_that_does_not_fit_its_field_is_refused_by_name(field, value):
    with pytest.raises(documents.Invalid) as refusal:
        saved(book(**{field: value}), 0)

    assert refusal.value.details["path"] == f"/{field}"
    assert not Book.objects.exists()
    assert not Document.objects.exists()


def test_a_missing_field_is_not_taken_for_its_default():
    content = book()
    del content["notes"]

    with pytest.raises(documents.Invalid, match="/notes: is missing"):
        saved(content, 0)


def test_a_row_made_elsewhere_is_version_one_at_the_first_look():
    shelf = Shelf.objects.create(name="Top")

    stored = documents.read("shelf", str(shelf.pk))

    assert (stored.version, stored.text, stored.by, stored.action) == (
        1,
        '{"name":"Top"}',
        "outside documents",
        "outside",
    )
    assert save({"name": "Low"}, 1, kind="shelf", key=str(shelf.pk)).version == 2


def test_a_change_behind_our_back_is_a_version_and_is_not_overwritten():
    saved(book(), 0)
    Book.objects.update(notes="changed by a script")

    outcome = saved(book(notes="mine"), 1)

    assert isinstance(outcome, documents.Conflicted)
    assert (outcome.head_version, outcome.stored.by) == (2, "outside documents")
    assert '"notes":"changed by a script"' in outcome.stored.text
    assert Book.objects.get().notes == "changed by a script"
    assert Conflict.objects.get().base_version == 1


def test_bookkeeping_columns_make_no_version():
    saved(book(), 0)

    Book.objects.get().save()

    assert saved(book(notes="mine"), 1).version == 2


def test_a_row_deleted_behind_our_back_is_gone_and_is_not_brought_back():
    saved(book(), 0)
    Book.objects.all().delete()

    with pytest.raises(documents.Gone):
        saved(book(notes="late"), 1)
    with pytest.raises(documents.Gone):
        documents.read("book", "sketch")
    assert not Book.objects.exists()
    assert head("book", "sketch")[0] == 2


def test_a_constraint_of_the_model_refuses_and_nothing_is_half_written():
    saved(book(), 0)

    with pytest.raises(documents.Invalid, match="/code"):
        saved(book(), 0, key="another")

    assert Document.objects.count() == Revision.objects.count() == Book.objects.count() == 1


def test_an_error_in_the_models_own_save_takes_the_version_with_it(monkeypatch):
    saved(book(), 0)

    def save(self, *args, **kwargs):
        raise IntegrityError

    monkeypatch.setattr(Book, "save", save)
    with pytest.raises(documents.Invalid):
        saved(book(notes="mine"), 1)
    assert head("book", "sketch")[0] == 1


def test_a_kind_that_may_not_create_says_so():
    with pytest.raises(documents.NotFound):
        save({"name": "New"}, 0, kind="shelf", key="77")
    with pytest.raises(documents.NotFound):
        documents.read("shelf", "not a number")
    assert not Document.objects.exists()


def test_a_settlement_of_a_row_changed_behind_our_back_is_shown_again():
    saved(book(), 0)
    saved(book(notes="stored"), 1)
    conflict = Conflict.objects.get(pk=saved(book(notes="mine"), 1).conflict_id)
    Book.objects.update(notes="by a script")

    for choice in ("keep_stored", "take_theirs"):
        outcome = documents.settle(conflict.pk, choice=choice, expected_version=2, expected_changes=1)
        assert isinstance(outcome, documents.MovedOn)
        assert outcome.stored.version == 3

    assert documents.settle(conflict.pk, choice="take_theirs", expected_version=3, expected_changes=1).version == 4
    assert Book.objects.get().notes == "mine"
