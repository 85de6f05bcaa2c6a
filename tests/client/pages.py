"""A plain Django form and an htmx page that save themselves with one tag; addresses for test_forms.py."""

import re
from importlib.resources import files
from pathlib import Path

from django import forms
from django.http import HttpRequest, HttpResponse
from django.template import RequestContext, Template
from django.urls import include, path
from django.utils.html import format_html

from documents.widgets import SessionField
from tests.docs_app.models import Book

TOP = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Book</title>{head}</head><body><main>"""


class BookForm(forms.ModelForm):
    session = SessionField("book")

    class Meta:
        model = Book
        fields = ["title", "notes", "price", "published", "copies", "rating", "lent", "shelf"]
        widgets = {
            "published": forms.DateInput(attrs={"type": "date"}),
            "rating": forms.NumberInput(attrs={"type": "number", "step": "any"}),
        }


def book(request: HttpRequest, slug: str) -> HttpResponse:
    form = BookForm(instance=Book.objects.get(slug=slug))
    form.fields["session"].of(slug, request)
    page = TOP.format(head=form.media) + "<form id='book' method='post'>{{ form }}<button>Save</button></form></main>"
    return HttpResponse(Template(page).render(RequestContext(request, {"form": form})))


def htmx(request: HttpRequest, major: int) -> HttpResponse:
    """htmx itself, as the wheel of django-htmx carries it."""
    script = files("django_htmx") / "static" / "django_htmx" / f"htmx-{major}.min.js"
    return HttpResponse(script.read_bytes(), content_type="text/javascript")


def swapping(request: HttpRequest, major: int) -> HttpResponse:
    """Two parts that htmx swaps for each other; the form of the first saves itself."""
    quiet = '{"includeIndicatorStyles": false}'  # it would put an inline style into the page
    head = format_html('<meta name="htmx-config" content="{}"><script src="/htmx-{}.js"></script>', quiet, major)
    page = TOP.format(head=head) + "<div id='part'>{% include part %}</div></main>"
    return HttpResponse(Template(page).render(RequestContext(request, {"part": NOTE, "empty": {"text": ""}})))


NOTE = Template(
    "{% load documents %}<form>{% document_session 'note' 'n' create=empty %}<input name='text' aria-label='Text'></form>"
    "<button id='away' hx-get='/away/' hx-target='#part'>Away</button>"
)
DOCS = Path(__file__).resolve().parent.parent.parent / "docs" / "document-session.md"


def alpine(request: HttpRequest) -> HttpResponse:
    """The page of the documentation. Alpine evaluates its attributes, so its policy allows that."""
    block = re.search(r"^```django\n(<div x-data.*?)^```", DOCS.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)[
        1
    ]
    top = TOP.format(head="<script defer src='/alpine.js'></script>")
    page = Template(f"{{% load documents %}}{top}{block}</main>")
    response = HttpResponse(page.render(RequestContext(request, {"empty": {"text": ""}})))
    response["Content-Security-Policy"] = "default-src 'self'; script-src 'self' 'unsafe-eval'"
    return response


AWAY = Template("<p>Away.</p><button id='back' hx-get='/back/' hx-target='#part'>Back</button>")


def away(request: HttpRequest) -> HttpResponse:
    return HttpResponse(AWAY.render(RequestContext(request)))


def back(request: HttpRequest) -> HttpResponse:
    return HttpResponse(NOTE.render(RequestContext(request, {"empty": {"text": ""}})))


urlpatterns = [
    path("book/<str:slug>/", book),
    path("swapping/<int:major>/", swapping),
    path("htmx-<int:major>.js", htmx),
    path("alpine/", alpine),
    path("away/", away),
    path("back/", back),
    path("", include("project.urls")),
]
