"""Instances that a claim makes: what a query would have made of the same rows."""

import datetime

import pytest
from django.db import connection
from django.db.models.signals import post_init, pre_init
from django.test import override_settings

from durable.contract import Taking, claim
from durable.instances import _is_plain
from durable.models import Message
from tests.app.models import Told, Typed

from .marks import commits

pytestmark = commits


def claimed(run):
    ((found, _),) = claim(type(run), using="default", owner="a/1", lease=60, taking=Taking(pk=run.pk))
    return found


@pytest.mark.parametrize("model", [Told, Typed], ids=lambda model: model.__name__)
def test_a_claimed_run_is_what_a_query_finds(model):
    started = model.objects.start()

    run, found = claimed(started), model.objects.get(pk=started.pk)

    assert type(run) is model
    assert run == found
    names = {field.attname for field in model._meta.concrete_fields}
    assert {name: run.__dict__[name] for name in names} == {name: found.__dict__[name] for name in names}
    assert {name: type(run.__dict__[name]) for name in names} == {name: type(found.__dict__[name]) for name in names}
    assert (run._state.db, run._state.adding) == (found._state.db, found._state.adding) == ("default", False)
    assert run.get_deferred_fields() == set()


def test_whoever_listens_to_instances_being_made_hears_of_claimed_ones():
    heard = []

    def hear(sender, **_):
        heard.append(sender)

    started = Told.objects.start()
    for signal in (pre_init, post_init):
        signal.connect(hear, sender=Told)
        try:
            heard.clear()
            claimed(started)
            assert Told in heard
        finally:
            signal.disconnect(hear, sender=Told)
        Told.objects.update(lease_expires_at=None)


def test_a_model_that_makes_its_instances_in_its_own_way_is_left_to_it(monkeypatch):
    made = []

    class Own:
        @classmethod
        def from_db(cls, db, names, values, **more):
            made.append(cls)
            return super(Told, cls).from_db(db, names, values, **more)

    assert _is_plain(Told)
    assert _is_plain(Message)
    started = Told.objects.start()
    monkeypatch.setattr(Told, "from_db", classmethod(Own.from_db.__func__), raising=False)
    _is_plain.cache_clear()
    try:
        claimed(started)
    finally:
        monkeypatch.undo()
        _is_plain.cache_clear()
    assert Told in made


@pytest.mark.postgres
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_times_are_the_same_however_they_are_read(zone):
    """The hour that comes twice, too, where the connection has a zone of its own."""
    connection.close()
    connection.settings_dict["TIME_ZONE"], before = zone, connection.settings_dict["TIME_ZONE"]
    for name in ("timezone", "timezone_name"):
        connection.__dict__.pop(name, None)
    try:
        twice = [datetime.datetime(2026, 10, 25, hour, 30, tzinfo=datetime.UTC) for hour in (0, 1)]
        for at in (*twice, datetime.datetime(2026, 1, 2, 3, 4, 5, 60_000, tzinfo=datetime.UTC)):
            started = Told.objects.start()
            Told.objects.filter(pk=started.pk).update(created_at=at)
            run, found = claimed(started), Told.objects.get(pk=started.pk)
            assert run.created_at == found.created_at == at
            assert run.created_at.utcoffset() == found.created_at.utcoffset()
            assert run.created_at.tzinfo is found.created_at.tzinfo
    finally:
        connection.close()
        connection.settings_dict["TIME_ZONE"] = before
        for name in ("timezone", "timezone_name"):
            connection.__dict__.pop(name, None)


@pytest.mark.postgres
def test_without_time_zones_times_are_naive():
    with override_settings(USE_TZ=False):
        started = Told.objects.start()
        run, found = claimed(started), Told.objects.get(pk=started.pk)
        assert run.created_at == found.created_at
        assert run.created_at.tzinfo is None
