"""The template tag, the widget and the static file, without a browser."""

import json
import re
from html import unescape
from pathlib import Path

import pytest
from django import forms
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser
from django.core.management import call_command
from django.template import Context, Template
from django.test import RequestFactory, override_settings
from django.utils import translation

import documents
from documents import words
from documents.views.answers import user_tag
from documents.widgets import SessionField
from tests.docs_app.models import Book


def rendered(source, **context):
    request = RequestFactory().get("/")
    request.user = AnonymousUser()
    return Template("{% load documents %}" + source).render(Context({"request": request, **context}))


def test_the_tag_says_which_document_and_loads_the_module_once():
    html = rendered('{% document_session "sheet" "a b" %}{% document_session "record" key %}', key=7)

    assert html.count("<script") == 1
    assert 'type="module" src="/static/documents/document-session.js"' in html
    assert 'data-url="/documents/sheet/a%20b/"' in html
    assert 'data-url="/documents/record/7/"' in html
    assert 'data-user="anonymous"' in html
    assert f'data-max-bytes="{documents.kinds.kind_named("sheet").limits.max_bytes}"' in html


def test_the_tag_quotes_what_it_is_given():
    evil = '"><script>alert(1)</script>'

    html = rendered(
        '{% document_session "sheet" "k" form=evil create=new words=words %}',
        evil=evil,
        new={"t": evil},
        words={"clean": evil},
    )

    assert "<script>alert" not in html
    assert "data-create=" in html
    assert html.count("<script") == 1


def test_the_tag_passes_a_nonce_on_where_the_page_has_one():
    assert 'nonce="abc"' in rendered('{% document_session "sheet" "k" %}', csp_nonce="abc")


def test_the_words_of_the_tag_are_those_of_the_script():
    script = (Path(words.__file__).parent / "client" / "ui" / "words.js").read_text()

    there = dict(re.findall(r'^  (\w+): "(.*)",$', script, re.MULTILINE))

    assert len(there) > 40
    assert {name: there.get(name, name) for name in words.WORDS} == words.WORDS
    assert set(there) <= set(words.WORDS)


def test_the_tag_hands_over_the_words_of_the_pages_language_and_the_pages_own_first():
    assert "data-words" not in rendered('{% document_session "sheet" "k" %}')

    with translation.override("de"):
        html = rendered('{% document_session "sheet" "k" words=own %}', own={"dirty": "Offen"})

    said = json.loads(unescape(re.search(r'data-words="([^"]*)"', html)[1]))
    assert (said["clean"], said["dirty"]) == ("Gespeichert", "Offen")


def test_an_unknown_kind_is_an_error_where_the_page_is_written():
    with pytest.raises(documents.NotFound):
        rendered('{% document_session "nothing" "k" %}')


class BookForm(forms.ModelForm):
    session = SessionField("book")

    class Meta:
        model = Book
        fields = ["title", "notes"]


@pytest.mark.django_db
def test_the_widget_puts_the_session_into_a_model_form_and_is_no_field():
    book = Book.objects.create(slug="ulm", title="Ulm")
    request = RequestFactory().get("/")
    request.user = get_user_model().objects.create_user("ann", email="ann@example.org")
    form = BookForm(instance=book)
    form.fields["session"].of("ulm", request)

    html = str(form)

    assert 'data-url="/documents/book/ulm/"' in html
    assert f'data-user="{user_tag(request)}"' in html
    assert 'type="module"' in str(form.media)
    assert "documents/document-session.js" in str(form.media)
    posted = BookForm({"title": "Ulm, new", "notes": ""}, instance=book)
    assert posted.is_valid(), posted.errors
    posted.save()
    assert Book.objects.get().title == "Ulm, new"


def test_two_forms_do_not_share_a_document():
    one, other = BookForm(), BookForm()

    one.fields["session"].of("a")

    assert one.fields["session"].widget.key == "a"
    assert other.fields["session"].widget.key == ""


@pytest.mark.parametrize(
    "storage",
    [
        "django.contrib.staticfiles.storage.ManifestStaticFilesStorage",
        "whitenoise.storage.CompressedManifestStaticFilesStorage",
    ],
)
def test_hashed_files_hold_together_with_only_the_hashed_ones_kept(tmp_path, storage):
    storages = {**settings.STORAGES, "staticfiles": {"BACKEND": storage}}

    with override_settings(STATIC_ROOT=str(tmp_path), STORAGES=storages, WHITENOISE_KEEP_ONLY_HASHED_FILES=True):
        call_command("collectstatic", interactive=False, verbosity=0)
        html = rendered('{% document_session "sheet" "k" %}')

    src = re.search(r'src="/static/([^"]+)"', html)[1]
    assert re.fullmatch(r"documents/document-session\.[0-9a-f]{12}\.js", src)
    assert "import" not in (tmp_path / src).read_text().split("export")[0].split("\n", 1)[1][:20]
    assert json.loads((tmp_path / "staticfiles.json").read_text())["paths"]["documents/document-session.js"] == src
