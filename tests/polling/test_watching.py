"""Looking: what the far side says is believed, what it does not say is not made up."""

import io
import json

import pytest
from django.core.management import call_command
from django.db.models.functions import Now

from durable import Refused, RetryAfter, polling
from durable.clock import InSeconds
from durable.contract import Taking, claim
from durable.models import Operation
from durable.pruning import prune

from .conftest import Call, Findable, Stoppable, make_due, one_pass, passes

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def running(kind):
    """Start an operation of a kind and let it be begun."""

    def begin(base=Call, **options):
        operation = polling.start(kind(base, **options), {}, one_at_a_time="x")
        one_pass()
        return now(operation)

    return begin


def now(operation):
    return Operation.objects.get(pk=operation.pk)


def test_failed_that_is_not_final_and_a_word_nobody_knows_keep_it_watched(running, far_side):
    """C53."""
    words = ["scheduling", "running", "failed", "running", "frobnicating"]
    operation = running()
    far_side.answers["poll"] = [polling.Pending(word) for word in words]
    states = []

    for _ in range(6):
        states.append(now(operation).status)
        passes(1)

    assert states == ["running"] * 6
    assert now(operation).status == "succeeded"
    assert [entry["status"] for entry in now(operation).seen] == [
        "scheduling", "running", "failed", "frobnicating", "finished",
    ]  # fmt: skip
    assert far_side.count("begin") == 1


def test_a_bad_look_is_no_failure_of_the_operation(running, far_side):
    """C55, and row 64: a 500 on poll changes nothing."""
    operation = running()
    far_side.answers["poll"] = [OSError("500"), TimeoutError("read"), RetryAfter(60, "429"), polling.Pending("running")]
    states = []

    for _ in range(5):
        passes(1)
        states.append(now(operation).status)

    assert states == ["running"] * 4 + ["succeeded"]
    assert [entry["type"] for entry in now(operation).failures] == ["TimeoutError", "OSError"]
    assert now(operation).last_error == ""


def test_looks_that_fail_are_spaced_ever_more_and_one_that_works_ends_that(running, far_side):
    operation = running()
    far_side.answers["poll"] = [OSError("down")] * 3 + [polling.Pending("running")]
    pauses = []

    for _ in range(4):
        Operation.objects.update(due_at=Now())
        one_pass()
        row = now(operation)
        pauses.append((row.due_at - row.updated_at).total_seconds())

    assert pauses[0] < pauses[1] < pauses[2]
    assert 4.9 < pauses[3] < 6.0  # every=5, jittered


def test_no_look_comes_earlier_than_the_far_side_asked_whoever_nudges(running, far_side):
    operation = running(Stoppable)
    far_side.answers["poll"] = [RetryAfter(600, "slow down")]
    passes(1)
    asked = far_side.count("poll")
    Operation.objects.update(updated_at=InSeconds(-100))

    assert now(operation).nudge() is False
    assert now(operation).cancel() is True  # what it may ask, a worker asks in time
    one_pass()

    assert far_side.count("poll") == asked
    assert (now(operation).due_at - now(operation).updated_at).total_seconds() > 400


def test_a_page_that_watches_makes_it_due_and_asks_nobody(running, far_side):
    operation = running(every=60)
    assert now(operation).nudge() is False  # it was looked at a moment ago
    Operation.objects.update(updated_at=InSeconds(-61), due_at=InSeconds(500))

    assert now(operation).nudge() is True
    assert far_side.count("poll") == 0
    one_pass()

    assert now(operation).status == "succeeded"


def test_what_the_far_side_says_failed_is_failed_and_may_be_looked_at_again(running, far_side):
    operation = running()
    far_side.answers["poll"] = [polling.Failed("disk full", status="error")]
    passes(1)
    assert (now(operation).status, now(operation).last_error) == ("failed", "disk full")

    assert now(operation).look_again(by="ada") is True
    passes(1)

    assert now(operation).status == "succeeded"
    assert [(one["what"], one["by"]) for one in now(operation).decisions] == [("look again", "ada")]


def test_a_failed_one_whose_place_was_taken_cannot_be_looked_at_again(running, far_side):
    from durable import AlreadyInFlight

    operation = running()
    far_side.answers["poll"] = [polling.Failed("disk full")]
    passes(1)
    polling.start(operation.kind, {}, one_at_a_time="x")

    with pytest.raises(AlreadyInFlight):
        now(operation).look_again(by="ada")

    assert now(operation).status == "failed"


@pytest.mark.parametrize("answer", [polling.Pending("running"), OSError("down"), RetryAfter(5, "429")])
def test_silence_ends_in_unknown_never_in_failed_and_only_after_a_last_look(running, far_side, answer):
    operation = running(give_up_after=3600)
    far_side.answers["poll"] = [answer]
    Operation.objects.update(watched_since=InSeconds(-3601), due_at=Now())

    one_pass()

    assert now(operation).status == "unknown"
    assert far_side.count("poll") == 1
    assert "look again" in now(operation).explain()


def test_an_operation_that_ended_while_nobody_looked_is_believed(running, far_side):
    """Reference C2: the far side is asked before anything is said to be too late."""
    operation = running(give_up_after=3600)
    Operation.objects.update(watched_since=InSeconds(-10 * 86_400), due_at=Now())

    one_pass()

    assert now(operation).status == "succeeded"


def test_a_handle_nobody_knows_any_more_is_unknown_and_not_asked_for_ever(running, far_side):
    operation = running()
    far_side.answers["poll"] = [Refused("404 no such operation")]

    passes(3)

    assert now(operation).status == "unknown"
    assert far_side.count("poll") == 1


def test_an_answer_that_is_no_outcome_is_an_error_of_the_look(running, far_side):
    operation = running()
    far_side.answers["poll"] = [lambda: "done"]
    passes(1)
    assert now(operation).status == "running"
    assert "polling.Pending" in now(operation).last_error


def test_a_result_that_cannot_be_stored_does_not_undo_the_success(running, far_side):
    operation = running()
    far_side.answers["poll"] = [polling.Succeeded({"at": object})]

    passes(1)

    assert now(operation).status == "succeeded"
    assert "text" in now(operation).result


def test_workers_that_die_over_it_in_a_row_leave_it_unknown(running, settings):
    settings.DURABLE = {"MAX_LOSSES": 3}
    operation = running()
    for _ in range(3):
        assert claim(Operation, using="default", owner="gone/1 x", lease=60, taking=Taking(pk=operation.pk))
        Operation.objects.update(lease_expires_at=InSeconds(-1), due_at=InSeconds(-2))

    one_pass()

    assert now(operation).status == "unknown"
    assert "lost 3 times in a row" in now(operation).last_error


def test_a_look_that_went_well_leaves_no_worker_counted_as_lost(running, far_side):
    operation = running()
    far_side.answers["poll"] = [polling.Pending("running")] * 5

    passes(5)

    assert (now(operation).losses, now(operation).failures) == (0, [])


def test_who_gave_it_back_writes_nothing_more(running, far_side):
    from durable.attempt import attempt
    from durable.errors import LostLease

    operation = running()
    far_side.answers["poll"] = [polling.Pending("running")]
    ((run, right),) = claim(Operation, using="default", owner="a/1", lease=60, taking=Taking(pk=operation.pk))
    attempt(run, right)
    before = Operation.objects.values().get(pk=operation.pk)

    for write in (lambda: right.write({"last_error": "late"}), right.release, lambda: right.settle("succeeded")):
        with pytest.raises(LostLease):
            write()

    assert right.renew() is False
    assert Operation.objects.values().get(pk=operation.pk) == before


# Canceling ------------------------------------------------------------------------------------------------------------


def test_what_was_not_begun_is_canceled_at_once_and_never_begun(kind, far_side):
    operation = polling.start(kind(Stoppable), {})

    assert operation.cancel(by="ada") is True
    passes(2)

    assert (operation.status, now(operation).status) == ("canceled", "canceled")
    assert far_side.asked == []


def test_the_far_side_is_asked_to_stop_once_and_it_ends_as_the_far_side_says(running, far_side):
    operation = running(Stoppable)
    far_side.answers["poll"] = [polling.Pending("cancelling"), polling.Canceled(status="cancelled")]

    assert now(operation).cancel(by="ada") is True
    passes(1)
    assert now(operation).status == "running"
    passes(1)

    assert now(operation).status == "canceled"
    assert far_side.count("cancel") == 1
    assert now(operation).flight is None


def test_a_cancellation_that_came_too_late_is_a_success(running, far_side):
    operation = running(Stoppable)
    far_side.answers["cancel"] = [Refused("it is finishing")]
    now(operation).cancel()

    passes(1)

    assert now(operation).status == "succeeded"


def test_where_the_far_side_cannot_stop_canceling_says_that_it_is_only_watched_no_longer(running, far_side):
    operation = running()

    assert now(operation).cancel(by="ada") is True

    assert now(operation).status == "canceled"
    assert "may finish it" in now(operation).last_error
    assert far_side.count("poll") == 0


def test_a_cancellation_during_the_call_does_not_lose_the_handle(kind, far_side):
    """Reference C3: what a cancellation finds in hand is canceled by whoever has the handle."""
    operation = polling.start(kind(Stoppable), {})
    far_side.answers["begin"] = [lambda: now(operation).cancel(by="ada") and "op-9"]
    far_side.answers["poll"] = [polling.Canceled()]

    passes(2)

    assert (now(operation).status, now(operation).handle) == ("canceled", "op-9")
    assert far_side.count("cancel") == 1


def test_what_is_over_cannot_be_canceled(running):
    operation = running()
    passes(1)

    assert now(operation).cancel() is False
    assert now(operation).status == "succeeded"


# Deciding -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def unknown(kind, far_side):
    """An operation nobody can say anything of."""
    far_side.answers["begin"] = [TimeoutError("read timed out")]
    operation = polling.start(kind(), {}, one_at_a_time="x")
    passes(2)
    assert now(operation).status == "unknown"
    return now(operation)


def test_it_happened_watches_it_under_the_handle_a_person_gave(unknown, far_side):
    assert unknown.it_happened("op-7", by="ada") is True

    passes(1)

    assert (now(unknown).status, now(unknown).handle) == ("succeeded", "op-7")
    assert ("poll", "op-7") in far_side.asked
    assert far_side.count("begin") == 1


def test_it_did_not_happen_begins_it_again_under_the_same_key(unknown, far_side):
    assert unknown.it_did_not_happen(by="ada") is True

    passes(2)

    assert now(unknown).status == "succeeded"
    assert [about for method, about in far_side.asked if method == "begin"] == [unknown.key] * 2
    assert [one["by"] for one in now(unknown).decisions] == ["ada"]


def test_looking_again_where_nothing_can_be_looked_up_is_unknown_again(unknown, far_side):
    assert unknown.look_again(by="ada") is True

    passes(1)

    assert now(unknown).status == "unknown"
    assert far_side.count("begin") == 1


def test_of_two_people_who_decide_one_does(unknown):
    other = now(unknown)

    assert unknown.it_happened("op-7", by="ada") is True
    assert other.it_did_not_happen(by="bob") is False

    assert [one["by"] for one in now(unknown).decisions] == ["ada"]


def test_every_decision_is_kept(unknown, far_side):
    unknown.look_again(by="ada")
    passes(1)
    now(unknown).look_again(by="bob")
    passes(1)
    now(unknown).cancel(by="eve")

    assert [(one["what"], one["by"]) for one in now(unknown).decisions] == [
        ("look again", "ada"), ("look again", "bob"), ("cancel", "eve"),
    ]  # fmt: skip
    assert now(unknown).status == "canceled"


@pytest.mark.parametrize("decide", ["look_again", "it_happened"])
def test_who_held_it_before_a_decision_writes_nothing_after_it(running, far_side, decide):
    from durable.errors import LostLease

    operation = running()
    ((_, right),) = claim(Operation, using="default", owner="a/1", lease=60, taking=Taking(pk=operation.pk))
    right.settle("unknown")
    arguments = ("op-7",) if decide == "it_happened" else ()
    assert getattr(now(operation), decide)(*arguments, by="ada") is True
    before = Operation.objects.values().get(pk=operation.pk)

    assert right.renew() is False
    for write in (lambda: right.write({"last_error": "late"}), right.release, lambda: right.settle("succeeded")):
        with pytest.raises(LostLease):
            write()

    assert Operation.objects.values().get(pk=operation.pk) == before


@pytest.mark.parametrize("decide", ["look_again", "it_did_not_happen"])
def test_a_decision_on_one_that_runs_is_refused(running, decide):
    operation = running()

    assert getattr(operation, decide)(by="ada") is False
    assert operation.it_happened("op-7", by="ada") is False

    assert now(operation).decisions == []


def test_an_unknown_one_is_reported_and_never_pruned(unknown):
    Operation.objects.update(settled_at=InSeconds(-1_000_000))

    assert prune(Operation, 1000) == 0
    assert any("waits for a person" in problem for problem in one_pass().problems)


def test_an_answer_that_comes_after_the_lease_is_logged_with_its_handle(kind, far_side, caplog):
    operation = polling.start(kind(Findable), {})

    def hang():
        Operation.objects.filter(pk=operation.pk).update(lease_expires_at=InSeconds(-1))
        assert claim(Operation, using="default", owner="b/2", lease=60, taking=Taking(pk=operation.pk))
        return "op-late"

    far_side.answers["begin"] = [hang]
    make_due()
    one_pass()

    assert now(operation).handle == ""
    assert "op-late" in caplog.text


# By name --------------------------------------------------------------------------------------------------------------


def test_reconcile_takes_one_kind_of_operation_by_its_name(kind, far_side):
    name, other = kind(), kind()
    mine, theirs = polling.start(name, {}), polling.start(other, {})
    out = io.StringIO()

    call_command("reconcile", "--kind", name, "--format", "json", stdout=out, stderr=io.StringIO())

    assert json.loads(out.getvalue())["outcomes"]["waiting"] == 1
    assert (now(mine).status, now(theirs).status) == ("running", "queued")


def test_a_kind_named_whole_beside_one_of_its_lanes_is_taken_whole(kind, far_side):
    from durable import kinds

    name, other = kind(), kind()

    models, lanes = kinds.chosen([name, "durable.operation"])
    assert (models, lanes) == ([Operation], {})
    models, lanes = kinds.chosen([name, other])
    assert (models, lanes) == ([Operation], {Operation: frozenset({name, other})})
