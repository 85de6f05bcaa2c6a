"""Declaration mistakes show when the site starts, each check by its id; the desk's kinds keep their own rules."""

import pytest
from django.core.exceptions import ImproperlyConfigured
from hypothesis import given, settings
from hypothesis import strategies as st

import documents
from documents import checks, kinds
from documents.comparing import compare, inline, marked
from documents.kinds import kind_named
from tests.docs_app.models import Book


@pytest.fixture
def declared():
    before = dict(kinds._kinds)
    yield
    kinds._kinds.clear()
    kinds._kinds.update(before)


def found():
    return {message.id for message in checks.check_kinds()}


def test_documents_E001(settings):
    settings.DOCUMENTS = {"MAX_BYTE": 5, "PAGE": "50"}

    messages = checks.check_settings()

    assert [message.id for message in messages] == ["documents.E001"] * 2
    assert "MAX_BYTES" in messages[0].hint
    settings.DOCUMENTS = {"PAGE": 5}
    assert checks.check_settings() == []


def test_documents_E002(declared):
    @documents.register("undecided")
    class Undecided(documents.DocumentKind):
        def can_read(self, user, key):
            return True

    assert "documents.E002" in found()


def test_documents_E003_and_E004(declared):
    @documents.register("odd")
    class Odd(documents.ModelKind):
        model = Book
        fields = ["title", "absent", "id", "touched_at"]
        key_field = "title"

    messages = [message for message in checks.check_kinds() if message.obj is Odd]
    assert [message.id for message in messages if message.id != "documents.E002"] == ["documents.E003"] * 3 + [
        "documents.E004"
    ]


def test_documents_W001():
    assert found() == {"documents.W001"}  # the suite's kind `big`


def test_two_kinds_cannot_have_one_name(declared):
    with pytest.raises(ImproperlyConfigured, match="already"):

        @documents.register("note")
        class Note(documents.DocumentKind):
            pass

    for name in ("", "a/b", "x" * 65):
        with pytest.raises(ImproperlyConfigured):
            documents.register(name)(documents.DocumentKind)


def test_the_kinds_of_an_app_are_found_when_the_site_starts():
    assert {"sheet", "record", "note"} <= set(kinds.kinds())


def test_every_public_name_is_there():
    assert all(getattr(documents, name) for name in documents.__all__)
    with pytest.raises(AttributeError):
        _ = documents.nothing


@pytest.mark.parametrize(
    ("content", "path"),
    [
        ({}, "/cells"),
        ({"cells": {"A0": 1}}, "/cells/A0"),
        ({"cells": {"A1": True}}, "/cells/A1"),
        ({"cells": {"A1": [1]}}, "/cells/A1"),
    ],
)
def test_a_sheet_refuses_what_is_no_cell(content, path):
    with pytest.raises(documents.Invalid) as refusal:
        kind_named("sheet").clean(content)
    assert refusal.value.details["path"] == path


def test_a_sheet_keeps_formulas_as_text_and_drops_empty_cells():
    content = {"cells": {"a1": "=B1*2", "B1": 2.5, "C1": ""}, "columns": {"A": 80}}

    assert kind_named("sheet").clean(content) == {"cells": {"A1": "=B1*2", "B1": 2.5}, "columns": {"A": 80}}


def test_cells_are_compared_in_the_order_of_the_sheet():
    cells = {"cells": {"A10": "x", "A2": "x", "AA1": "x", "B1": "x"}}

    assert [row[1] for row in kind_named("sheet").rows(cells)] == ["A2", "A10", "B1", "AA1"]


@pytest.mark.parametrize(
    "content",
    [
        [],
        {"title": ""},
        {"title": "x", "attributes": [{"id": "a"}]},
        {"title": "x", "attributes": [{"id": "a", "label": 1, "value": ""}]},
    ],
)
def test_a_record_refuses_what_has_no_title_or_no_text(content):
    with pytest.raises(documents.Invalid):
        kind_named("record").clean(content)


def test_a_record_is_compared_by_its_labels():
    def record(value):
        return {"title": "Ada", "attributes": [{"id": "a1", "label": "Phone", "value": value}]}

    rows, more = compare(kind_named("record"), record("1"), record("2"), record("1"))

    assert [(row.id, row.label, row.base, row.stored, row.theirs) for row in rows] == [
        ("/attributes/a1", "Phone", "1", "2", "1")
    ]
    assert more == 0


@settings(max_examples=200, deadline=None)
@given(st.text("ab \n<é", max_size=40), st.text("ab \n<é", max_size=40))
def test_marks_lose_no_character_of_either_text(old, new):
    before, after = marked(old, new)

    assert "".join(text for _, text in before) == old
    assert "".join(text for _, text in after) == new
    assert "".join(text for kind, text in inline(old, new) if kind != "ins") == old


def test_marks_of_megabytes_are_short_and_quick():
    segments = inline("word " * 400_000, "x " + "word " * 400_000 + "y")

    assert sum(len(text) for _, text in segments) < 3_000
    assert {kind for kind, _ in segments} == {"del", "ins", "more"}  # too much to compare word by word, and shown so
