"""Handlers for one test each, a far side with a call log, and workers in this process."""

import threading

import pytest

from durable import kinds, outbox, pauses
from durable.models import Message
from durable.runner import Reconciler
from durable.shutdown import Shutdown

pytestmark = pytest.mark.django_db(transaction=True)


class FarSide:
    """A provider: keeps (key, payload) of every call, and answers as it is told."""

    def __init__(self):
        self.calls = []
        self.answers = []  # exceptions or ids, one per call; empty: accept
        self.lock = threading.Lock()

    def __call__(self, message):
        with self.lock:
            self.calls.append((message.key, message.payload))
            answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, BaseException):
            raise answer
        return answer

    @property
    def keys(self):
        return [key for key, _ in self.calls]


@pytest.fixture(autouse=True)
def _clean_registry(settings):
    settings.DURABLE = {"LEASE": 5.0, "POLL": 0.05, "GRACE": 0.5}
    before = {handler.topic for handler in outbox.known()}
    pauses.forget()
    yield
    for handler in outbox.known():
        if handler.topic not in before:
            outbox.forget(handler.topic)
    pauses.forget()


@pytest.fixture
def far_side():
    return FarSide()


@pytest.fixture
def topic(far_side):
    """Register a handler that calls the far side. `topic(**options)` returns the topic's name."""

    def register(name="news", send=None, **options):
        outbox.handler(name, **{"external": "keyed", **options})(send or far_side.__call__)
        return name

    return register


def drain(threads=1, **options):
    """One boot pass over the outbox."""
    reconciler = Reconciler([Message], Shutdown(grace=0), threads=threads, **options)
    reconciler.prepare()
    return reconciler.run_pass()


def make_due():
    """Move every waiting message's due time to now, as time would."""
    from django.db.models.functions import Now

    kinds.rows_of(Message).filter(status="pending").update(due_at=Now())


def take(message, *, lease=5.0, owner="somewhere/1"):
    """Claim one message as another worker would; return (message, claim)."""
    from durable.contract import Taking, claim

    taken = claim(Message, using="default", owner=owner, lease=lease, taking=Taking(pk=message.pk))
    return taken[0]
