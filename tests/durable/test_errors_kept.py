"""Whatever a step raises is kept in words every database can store, and its delay never overflows. C27 C30"""

import pytest
from django.db import connection

from durable import clock
from durable.run import clean_text
from durable.testing import run_until_settled
from tests.app.models import Errand, Told

from .marks import commits

pytestmark = commits


def raising(error):
    def body(job):
        raise error

    return body


def test_an_error_text_that_no_database_stores_is_stored_readably(hooks):
    """C30: a NUL is a DataError, a lone surrogate slips past `except DatabaseError`."""
    hooks["one"] = raising(ValueError("x\x00y\ud83d" + "z" * 5_000_000))
    bad, good = Told.objects.start(), Errand.objects.start()

    with pytest.raises(AssertionError, match="still open"):
        run_until_settled(passes=1)

    bad.refresh_from_db()
    assert (bad.status, bad.lease_expires_at) == ("pending", None)
    assert bad.last_error.startswith("ValueError: x\\x00y\\ud83d")
    assert len(bad.last_error.encode()) <= 64 * 1024
    assert len(bad.failures[0]["message"]) < 3_000
    assert Errand.objects.get(pk=good.pk).status == "done"


def test_an_error_that_cannot_even_be_printed_is_kept_by_its_type(hooks):
    class Broken(Exception):
        def __str__(self):
            raise TypeError("no text")

    hooks["one"] = raising(Broken())
    job = Told.objects.start()

    job.run()

    assert (job.status, job.lease_expires_at) == ("pending", None)
    assert job.last_error.startswith("Broken")
    assert job.failures[0]["type"] == "Broken"


def test_an_error_without_words_is_kept_by_its_type(hooks):
    hooks["one"] = raising(ValueError())
    job = Told.objects.start()

    job.run()

    assert job.last_error == "ValueError"


def test_a_reason_to_wait_is_stored_readably_too(hooks):
    from durable import Wait

    hooks["one"] = raising(Wait(5, "not\x00yet\ud83d"))
    job = Told.objects.start()

    job.run()

    assert job.last_error == "not\\x00yet\\ud83d"


@pytest.mark.parametrize("attempts", [47, 64, 1024, 1_000_000, 2_147_483_646, 2_147_483_647])
def test_the_delay_never_overflows(attempts, monkeypatch):
    """C27: the power was computed before the cap; a claim that counts past the column's end stops every claim."""
    job = Errand.objects.start()
    Errand.objects.filter(pk=job.pk).update(attempts=attempts)
    monkeypatch.setattr(Errand.one, "body", lambda self: 1 / 0)

    job.run()

    delay = (job.due_at - clock.read(connection)).total_seconds()
    assert 3590 < delay < 5400
    assert job.last_error.startswith("ZeroDivisionError")


@pytest.mark.parametrize(
    ("text", "stored"),
    [("plain", "plain"), ("a\x00b", "a\\x00b"), ("\udfff", "\\udfff"), ("é 😀", "é 😀"), ("", "")],
)
def test_clean_text_keeps_what_can_be_kept(text, stored):
    assert clean_text(text) == stored


def test_clean_text_leaves_out_the_middle():
    cut = clean_text("a" * 500 + "b" * 500, 101)

    assert cut == "a" * 48 + " … " + "b" * 48
