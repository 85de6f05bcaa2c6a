"""One in flight: no two open runs share the values a kind names."""

import pytest
from django.db import transaction

from durable import AlreadyInFlight
from durable.starting import boarding
from tests.app.models import Account, Closing, Told

from .marks import commits

pytestmark = commits


def test_a_second_run_for_the_same_values_is_refused_and_names_the_first():
    account = Account.objects.create(name="ada")
    first = Closing.objects.start(account=account)

    with pytest.raises(AlreadyInFlight, match="already in flight") as caught:
        Closing.objects.start(account=account)

    assert caught.value.run.pk == first.pk
    assert str(first.pk) in str(caught.value)


def test_the_refusal_leaves_the_callers_transaction_whole():
    account = Account.objects.create(name="ada")
    Closing.objects.start(account=account)

    with transaction.atomic():
        with pytest.raises(AlreadyInFlight):
            Closing.objects.start(account=account)
        Account.objects.create(name="bob")

    assert Account.objects.count() == 2


@pytest.mark.parametrize("settle", [lambda job: job.run(), lambda job: job.cancel()])
def test_a_settled_run_frees_its_place_in_flight(settle):
    account = Account.objects.create(name="ada")
    settle(Closing.objects.start(account=account))

    second = Closing.objects.start(account=account)

    assert second.status == "pending"


def test_a_dead_run_frees_its_place_and_takes_it_again_on_retry():
    account = Account.objects.create(name="ada")
    dead = Closing.objects.start(account=account, orders={"two": "refuse no"})
    dead.run()
    second = Closing.objects.start(account=account)

    with pytest.raises(AlreadyInFlight):
        dead.retry()
    second.cancel()
    moved = dead.retry()

    assert moved is True
    assert dead.status == "pending"
    with pytest.raises(AlreadyInFlight):
        Closing.objects.start(account=account)


def test_other_values_fly_at_the_same_time():
    ada, bob = Account.objects.create(name="ada"), Account.objects.create(name="bob")

    Closing.objects.start(account=ada)
    Closing.objects.start(account=bob)

    assert Closing.objects.count() == 2


def test_values_that_differ_far_behind_are_two_places_in_flight(monkeypatch):
    monkeypatch.setattr(Told, "one_in_flight", ["note"])
    long = "x" * 250

    places = [boarding(Told(note=note))["flight"] for note in (long + "a", long + "b", "short")]

    assert len({*places}) == 3
    assert max(len(place) for place in places) <= Closing._meta.get_field("flight").max_length
