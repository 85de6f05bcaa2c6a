"""German, as a proof that every text can be translated: none is missing, and the pages speak it."""

import ast
import gettext
import re
from pathlib import Path

import pytest
from django.utils import translation
from django.utils.translation.template import templatize

from . import scenes, shapes
from .test_run_page import address

ROOT = Path(__file__).resolve().parent.parent.parent
APPS = ["durable", "documents", "project"]
#: By the name of the function: where its text stands among the arguments.
MARKS = {"_": 0, "gettext": 0, "gettext_lazy": 0, "ngettext": 0, "ngettext_lazy": 0, "pgettext": 1, "pgettext_lazy": 1,
         "npgettext": 1}  # fmt: skip
LITERAL = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""


def sources(app, kind):
    return [path for path in (ROOT / app).rglob(f"*.{kind}") if "node_modules" not in path.parts]


def calls(path):
    """Return (call, whether it stands inside an f-string) of all that mark a text in a source."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    hidden = {inner for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MARKS:
            yield node, node in hidden


def texts(app):
    """Return the key in a catalogue of everything that is marked for translation."""
    for path in sources(app, "py"):
        for node, _ in calls(path):
            given = [one.value for one in node.args[: MARKS[node.func.id] + 1] if isinstance(one, ast.Constant)]
            if len(given) == MARKS[node.func.id] + 1:
                yield "\x04".join(given)
    for path in sources(app, "html"):
        marked = templatize(path.read_text(encoding="utf-8"))  # Django's own, for makemessages
        for name, found in re.findall(rf"\b(n?p?gettext|_)\(u?({LITERAL}(?:, ?u?{LITERAL})*)", marked):
            given = [ast.literal_eval(one) for one in re.findall(LITERAL, found)]
            yield "\x04".join(given[: MARKS[name] + 1])


def catalogues(app):
    return sorted((ROOT / app).rglob("locale/de/LC_MESSAGES/django.po"))


def told(po):
    with po.with_suffix(".mo").open("rb") as file:
        return gettext.GNUTranslations(file)._catalog


@pytest.mark.parametrize("app", APPS)
def test_every_text_is_in_the_german_catalogue(app):
    known = {key if isinstance(key, str) else key[0] for po in catalogues(app) for key in told(po)}

    marked = set(texts(app))

    assert len(marked) > 50
    assert marked - known - {"Home"} == set()


@pytest.mark.parametrize("app", APPS)
def test_no_text_is_hidden_from_makemessages_in_an_f_string(app):
    assert [f"{path}:{node.lineno}" for path in sources(app, "py") for node, hidden in calls(path) if hidden] == []


@pytest.mark.parametrize("app", APPS)
def test_no_text_is_left_untranslated_or_in_doubt(app):
    for po in catalogues(app):
        entries = po.read_text(encoding="utf-8").strip().split("\n\n")[1:]

        assert [entry for entry in entries if re.search(r'^#,.*fuzzy|^msgstr(\[\d\])? ""$(?!\n")', entry, re.M)] == []


@pytest.mark.parametrize("app", APPS)
def test_the_compiled_catalogue_is_that_of_the_texts(app):
    for po in catalogues(app):
        written = po.read_text(encoding="utf-8")

        for text in filter(None, told(po).values()):
            for line in text.splitlines():
                assert line.replace('"', '\\"') in re.sub(r'"\n"', "", written), po


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
def test_the_other_shapes_speak_german_too(staff):
    runs = {"operation": shapes.remote(), "unknown": shapes.unknown(), "pass": shapes.a_pass(), "plan": shapes.plan()}

    with translation.override("de"):
        said = {name: run.explain() for name, run in runs.items()}

    assert said["operation"].startswith("Läuft drüben: die Gegenseite zeigt 'running'; nachgesehen wird wieder in")
    assert said["unknown"].startswith("Unbekannt seit ")
    assert "Ein Mensch muss entscheiden" in said["unknown"]
    assert said["pass"].startswith("Erledigt; beim nächsten Start")
    assert "1000 abgeglichen, 12 geändert, 0 fehlgeschlagen" in said["pass"]
    assert "wartet darauf, dass jemand ihn genehmigt" in said["plan"]
    page = staff.get("/admin/durable/", headers={"accept-language": "de"}).content.decode()
    assert "Pläne: 1 wartet auf eine Entscheidung." in page
    for words in ("Vorgänge", "Nachrichten", "Durchgang billing"):
        assert words in page


@pytest.mark.django_db
def test_the_sentence_of_the_terminal_is_german_too():
    with translation.override("de"):
        assert scenes.done().explain().startswith("Erledigt seit ")
