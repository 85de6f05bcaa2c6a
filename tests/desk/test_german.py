"""German, as a proof that every text can be translated: none is missing, and the pages speak it."""

import ast
import gettext
import re
from pathlib import Path

import pytest
from django.utils import translation

import durable

from . import scenes
from .test_run_page import address

ROOT = Path(durable.__file__).parent
CATALOGUE = ROOT / "locale" / "de" / "LC_MESSAGES"
MARKS = {"_": 0, "gettext": 0, "gettext_lazy": 0, "ngettext": 0, "pgettext": 1, "pgettext_lazy": 1}


def texts():
    """Return (context, text) of everything the sources mark for translation."""
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None
            if name in MARKS and node.args and isinstance(node.args[MARKS[name]], ast.Constant):
                context = node.args[0].value if MARKS[name] else None
                yield context, node.args[MARKS[name]].value
    for path in ROOT.rglob("*.html"):
        for text in re.findall(r"""{% translate (?:"([^"]+)"|'([^']+)') %}""", path.read_text(encoding="utf-8")):
            yield None, text[0] or text[1]


def test_every_text_is_in_the_german_catalogue():
    with (CATALOGUE / "django.mo").open("rb") as file:
        catalogue = gettext.GNUTranslations(file)._catalog
    known = {key if isinstance(key, str) else key[0] for key in catalogue}

    missing = {text for context, text in texts() if (f"{context}\x04{text}" if context else text) not in known}

    assert missing - {"Home"} == set()


def test_the_compiled_catalogue_is_that_of_the_texts():
    written = (CATALOGUE / "django.po").read_text(encoding="utf-8")
    with (CATALOGUE / "django.mo").open("rb") as file:
        told = [text for text in gettext.GNUTranslations(file)._catalog.values() if text]

    for text in told:
        for line in text.splitlines():
            assert line.replace('"', '\\"') in written


@pytest.mark.django_db
def test_a_german_operator_is_answered_in_german(staff):
    run = scenes.waiting()

    pages = {
        name: staff.get(path, headers={"accept-language": "de"}).content.decode()
        for name, path in {
            "run": address(run),
            "decision": address(run, "decide", "cancel"),
            "list": "/admin/accounts/accountdeletion/",
            "overview": "/admin/durable/",
        }.items()
    }

    assert "Wird von selbst wiederholt in 4 min" in pages["run"]
    assert "Fehlgeschlagen" in pages["run"]
    assert "Was nicht geschieht" in pages["decision"]
    assert "Gehalten von / nächster Versuch" in pages["list"]
    assert "Alles gut: Nichts hängt" in pages["overview"]


@pytest.mark.django_db
def test_the_sentence_of_the_terminal_is_german_too():
    with translation.override("de"):
        assert scenes.done().explain().startswith("Erledigt seit ")
