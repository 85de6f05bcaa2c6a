"""A reader, the far sides, and a registry that other tests have not emptied."""

import pytest

from durable import pauses
from project.notifications import calling
from project.notifications.models import Preferences
from tests.factories import UserFactory
from tests.notifications.farside import FarSide
from tests.outbox.mailserver import MailServer, sends_through

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@pytest.fixture(autouse=True)
def _afresh(settings):
    settings.DURABLE = {"LEASE": 5.0, "POLL": 0.05}
    pauses.forget()
    yield
    pauses.forget()
    calling._pool.clear()


@pytest.fixture
def reader(transactional_db):
    """Return a function that makes somebody who is told in the ways it names."""

    def make(**wishes):
        user = UserFactory()
        Preferences.objects.create(user=user, **wishes)
        return user

    return make


@pytest.fixture
def mail(settings):
    with MailServer() as server:
        sends_through(settings, server.port)
        yield server


@pytest.fixture
def hook():
    with FarSide((204, {}, b"")) as far:
        yield far


@pytest.fixture
def telegram(settings):
    with FarSide((200, {}, {"ok": True, "result": {"message_id": 42}})) as far:
        settings.TELEGRAM_API_BASE, settings.TELEGRAM_BOT_TOKEN = far.url, "123:secret-token"
        yield far
