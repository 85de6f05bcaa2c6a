"""Every Python block of docs/documents.md is run, in order, as a reader would type it."""

import re
import types
from pathlib import Path

import pytest
from django.contrib.admin import AdminSite

import documents
from documents import kinds
from documents.models import Conflict
from tests.docs_app.models import Book

from .factories import Person

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "documents.md"


@pytest.mark.django_db
def test_the_blocks_of_the_page_run(monkeypatch):
    monkeypatch.setattr(kinds, "_kinds", {})
    site = AdminSite()
    names = {
        "__name__": "yourapp.documents",
        "documents": documents,
        "ada": Person(username="ada"),
        "bob": Person(username="bob"),
        "Contact": Book,
        "admin": types.SimpleNamespace(register=lambda model: lambda cls: site.register(model, cls)),
    }
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) == 4

    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)

    assert Conflict.objects.get().pk == names["conflict"]
    assert names["stored"].text == '{"A1":"=B1*3"}'
    assert set(kinds.kinds()) == {"sheet", "contact"}
    assert site.is_registered(Book)


def test_every_setting_and_every_code_stands_on_the_page():
    from documents import errors
    from documents.conf import DEFAULTS

    text = PAGE.read_text(encoding="utf-8")
    codes = [getattr(errors, name).code for name in errors.__all__ if name != "DocumentsError"]

    assert [name for name in DEFAULTS if f'"{name}"' not in text] == []
    assert [code for code in codes if f"`{code}`" not in text] == []
