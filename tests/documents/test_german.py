"""Every text of documents and of the desk has a German one, and the compiled catalogue is what the readable one says."""

import ast
import gettext
import re
from pathlib import Path

import pytest
from django.utils.translation.template import templatize

ROOT = Path(__file__).resolve().parent.parent.parent
MARKS = {"_", "gettext", "gettext_lazy", "gettext_noop", "ngettext"}
LITERAL = re.compile(r"""u?('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""")
# Said by Django's own catalogue, or by another app of the example site.
ELSEWHERE = {"Admin", "Sign in", "Sign out"}


def texts_of(app: Path) -> set[str]:
    """Return every text that is marked for translation in an app's code and templates."""
    found = set()
    for path in app.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id not in MARKS:
                continue
            found |= {one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)}
    for path in app.rglob("*.html"):
        # What is not a text for translation is blanked out there.
        found |= {ast.literal_eval(text) for text in LITERAL.findall(templatize(path.read_text(encoding="utf-8")))}
    return found


@pytest.mark.parametrize("app", ["documents", "project/desk"])
def test_every_text_has_a_german_one(app):
    folder = ROOT / app / "locale" / "de" / "LC_MESSAGES"
    with (folder / "django.mo").open("rb") as file:
        catalogue = gettext.GNUTranslations(file)._catalog
    known = {name[0] if isinstance(name, tuple) else name for name in catalogue}
    texts = texts_of(ROOT / app)

    assert len(texts) > 15
    plural = set(re.findall(r'^msgid_plural "(.*)"$', (folder / "django.po").read_text(encoding="utf-8"), re.MULTILINE))
    assert sorted(texts - known - plural - ELSEWHERE) == []


@pytest.mark.parametrize("app", ["documents", "project/desk", "project/accounts", "project/notifications"])
def test_the_compiled_catalogue_is_what_the_readable_one_says(app):
    folder = ROOT / app / "locale" / "de" / "LC_MESSAGES"
    with (folder / "django.mo").open("rb") as file:
        catalogue = gettext.GNUTranslations(file)._catalog
    readable = (folder / "django.po").read_text(encoding="utf-8")
    said = re.findall(r'^msgstr(?:\[\d\])? ((?:"(?:[^"\\]|\\.)*"\n?)+)', readable, re.MULTILINE)
    texts = ["".join(ast.literal_eval(line) for line in one.strip().split("\n")) for one in said]

    assert sorted(texts[1:]) == sorted(text for name, text in catalogue.items() if name)
