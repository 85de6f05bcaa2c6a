"""People and documents of this folder's tests."""

import json
import uuid

import factory
from django.contrib.auth import get_user_model

import documents
from documents.models import Conflict, Document, Revision


class Person(factory.django.DjangoModelFactory):
    class Meta:
        model = get_user_model()
        django_get_or_create = ("username",)

    username = "ada"


def stored(content="one", *, kind="note", key="n", versions=1, by=None):
    """Store a document with that many versions; return it. The last version holds the content."""
    for version in range(versions):
        last = version == versions - 1
        outcome = documents.save(kind, key, content if last else {"step": version}, expected_version=version, by=by)
        assert isinstance(outcome, documents.Saved), outcome
    return Document.objects.get(kind=kind, key=key)


def head(kind="note", key="n"):
    """Return version and content of the head, past every door."""
    document = Document.objects.get(kind=kind, key=key)
    revision = Revision.objects.get(document=document, version=document.version)
    return document.version, json.loads(revision.content) if revision.content else None


def counts(kind="note", key="n"):
    """Return how many revisions and how many conflicts there are."""
    return (
        Revision.objects.filter(document__kind=kind, document__key=key).count(),
        Conflict.objects.filter(document__kind=kind, document__key=key).count(),
    )


def save(content, version, *, kind="note", key="n", **more):
    """Save with a fresh save id."""
    more.setdefault("save_id", uuid.uuid4())
    return documents.save(kind, key, content, expected_version=version, **more)
