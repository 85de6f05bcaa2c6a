"""The settings by the id of their check: what is wrong, and what to do. S10"""

import pytest
from django.conf import settings
from django.test import override_settings

from durable import checks

from .problems import named


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"LAESE": 60}, "'LAESE'"),
        ({"LEASE": "60"}, "DURABLE['LEASE'] is '60'"),
        ({"LEASE": 0}, "DURABLE['LEASE'] is 0"),
        ({"POLL": True}, "DURABLE['POLL'] is True"),
        ({"THREADS": 1.5}, "DURABLE['THREADS'] is 1.5"),
        ({"MAX_LOSSES": -1}, "DURABLE['MAX_LOSSES'] is -1"),
        ({"GRACE": float("nan")}, "DURABLE['GRACE'] is nan"),
        ([], "DURABLE is a list"),
        (None, "DURABLE is a NoneType"),
    ],
)
def test_durable_E001_a_mistake_in_the_setting(given, said):
    with override_settings(DURABLE=given):
        assert said in named(checks.check_settings(), "durable.E001").msg


def test_durable_E001_names_the_known_keys():
    with override_settings(DURABLE={"LAESE": 60}):
        assert "LEASE" in named(checks.check_settings(), "durable.E001").hint


def test_durable_E002_times_without_a_zone():
    with override_settings(USE_TZ=False):
        assert "USE_TZ" in named(checks.check_settings(), "durable.E002").hint


def test_durable_E003_a_database_it_does_not_know(monkeypatch):
    monkeypatch.setitem(settings.DATABASES["default"], "ENGINE", "django.db.backends.mysql")

    assert "django.db.backends.mysql" in named(checks.check_settings(), "durable.E003").msg


def test_durable_W001_sqlite_that_may_say_locked(monkeypatch):
    monkeypatch.setitem(settings.DATABASES["default"], "ENGINE", "django.db.backends.sqlite3")
    monkeypatch.setitem(settings.DATABASES["default"], "OPTIONS", {})

    assert "transaction_mode" in named(checks.check_settings(), "durable.W001").hint


def test_the_suites_own_settings_have_no_problem():
    assert checks.check_settings() == []
