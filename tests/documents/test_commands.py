"""prune_documents and verify_documents: what goes, what stays, what is found."""

import datetime as dt
import io
import uuid

import pytest
from django.core.management import CommandError, call_command

import documents
from documents import pruning
from documents.models import Conflict, Document, Revision

from .factories import save, stored

pytestmark = pytest.mark.django_db
LONG_AGO = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)


def run(*words):
    out, err = io.StringIO(), io.StringIO()
    call_command(*words, stdout=out, stderr=err)
    return out.getvalue() + err.getvalue()


def prune(*more):
    return run("prune_documents", "--keep", "2", "--older-than", "90d", *more)


def whole():
    return sorted(Revision.objects.filter(pruned_at=None).values_list("version", flat=True))


def test_pruning_takes_old_content_and_leaves_receipts():
    stored("head", versions=6)
    save("stale", 2)
    Revision.objects.exclude(version=3).update(at=LONG_AGO)

    assert "2 revisions would" in prune("--dry-run")
    assert "2 revisions lost" in prune()

    assert whole() == [2, 3, 5, 6]  # 2: a conflict was made on it; 3: young; 5 and 6: the newest two
    assert Revision.objects.count() == 6
    assert "0 revisions" in prune()
    assert "1 documents are" in run("verify_documents")


def test_pruning_goes_on_where_it_was_stopped(monkeypatch):
    monkeypatch.setattr(pruning, "BATCH", 2)
    stored("head", versions=8)
    Revision.objects.update(at=LONG_AGO)

    pages = pruning.prune(keep=2, older_than=dt.timedelta(days=1))
    assert next(pages)[0] == 2
    pages.close()

    assert whole() == [3, 4, 5, 6, 7, 8]
    assert "4 revisions" in prune("-v2")
    assert whole() == [7, 8]


def test_a_repeat_of_a_pruned_save_is_still_known():
    name = uuid.uuid4()
    save("old", 0, save_id=name)
    for version in range(1, 4):
        save(version, version)
    Revision.objects.update(at=LONG_AGO)
    prune("--kind", "note")

    assert save("old", 0, save_id=name) == documents.Replayed(version=1, head_version=4, save_id=name)


@pytest.mark.parametrize(
    "words", [["--keep", "0"], ["--keep", "-3"], ["--keep", "x"], ["--older-than", "soon"], ["--older-than", "9"]]
)
def test_a_rule_that_cannot_be_meant_is_refused(words):
    with pytest.raises(CommandError):
        prune(*words)


def verify():
    err = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("verify_documents", stderr=err)
    assert ended.value.code == 1
    return err.getvalue()


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda: Revision.objects.filter(version=2).delete(), "has 2 revisions from 1 to 3"),
        (lambda: Document.objects.update(version=4), "at version 4"),
        (lambda: Document.objects.update(digest="x"), "another digest"),
        (lambda: Document.objects.update(deleted_at=LONG_AGO), "whether it is deleted"),
        (lambda: Revision.objects.filter(version=3).update(pruned_at=LONG_AGO), "was pruned"),
        (lambda: Revision.objects.filter(version=1).update(content='"y"'), "the text of 1"),
        (lambda: Conflict.objects.update(theirs='"y"'), "not the one its digest"),
    ],
)
def test_damage_is_found_and_named(damage, sentence):
    stored(versions=3)
    save("stale", 1)
    damage()

    assert sentence in verify()


def test_a_quick_look_reads_no_texts():
    stored()
    Revision.objects.update(content='"y"')

    assert "as they should be" in run("verify_documents", "--no-texts")
