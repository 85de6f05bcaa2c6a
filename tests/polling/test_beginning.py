"""An operation is begun at most once: S8. What is in doubt is looked up, or is honestly unknown."""

import threading

import pytest
from django.db import connection, connections, transaction

from durable import AlreadyInFlight, KeyConflict, NotConfigured, Refused, RetryAfter, polling
from durable.attempt import Outcome, attempt
from durable.clock import InSeconds
from durable.contract import Taking, claim
from durable.models import Operation
from durable.payloads import BadPayload

from .conftest import Findable, make_due, one_pass, passes

pytestmark = pytest.mark.django_db(transaction=True)


def now(operation):
    return Operation.objects.get(pk=operation.pk)


def test_the_intent_and_its_key_are_committed_before_the_call(kind, far_side):
    seen = []

    def look_from_outside():
        other = connections.create_connection("default")
        with other.cursor() as cursor:
            cursor.execute("SELECT key, status, begun_at IS NOT NULL, handle FROM durable_operation")
            seen.extend(cursor.fetchall())
        other.close()

    far_side.answers["begin"] = [look_from_outside]
    polling.start(kind(), {}, key="reset:7")

    one_pass()

    assert [tuple(row[:2]) for row in seen] == [("reset:7", "running")]
    assert bool(seen[0][2])
    assert seen[0][3] == ""


def test_it_is_queued_then_running_then_succeeded_with_a_receipt_of_every_status(kind, far_side):
    far_side.answers["begin"] = [lambda: polling.Accepted("op-1", "scheduling")]
    far_side.answers["poll"] = [polling.Pending("scheduling"), polling.Pending("running")]
    operation = polling.start(kind(), {"branch": "preview"}, by="ada")
    assert operation.status == "queued"

    one_pass()
    assert (now(operation).status, now(operation).handle, now(operation).far_status) == (
        "running",
        "op-1",
        "scheduling",
    )
    passes(3)

    done = now(operation)
    assert (done.status, done.result, done.started_by) == ("succeeded", {"n": 1}, "ada")
    assert [entry["status"] for entry in done.seen] == ["scheduling", "running", "finished"]
    assert all(entry["first"] <= entry["last"] for entry in done.seen)
    assert [receipt.step for receipt in done.receipts()] == [
        "begin", "status scheduling", "status running", "status finished", "poll",
    ]  # fmt: skip
    assert far_side.begun == [operation.key]


def test_a_terminal_operation_is_never_looked_at_again(kind, far_side):
    operation = polling.start(kind(), {})
    passes(2)
    asked = len(far_side.asked)

    passes(2)

    assert now(operation).run() is True
    assert len(far_side.asked) == asked


@pytest.mark.parametrize(
    ("base", "options", "status", "begun"),
    [
        pytest.param(None, {}, "unknown", 1, id="no way to look it up"),
        pytest.param(Findable, {}, "succeeded", 1, id="looked up"),
        pytest.param(None, {"keyed": True}, "succeeded", 2, id="the same key again"),
    ],
)
def test_a_begin_whose_answer_is_lost(kind, far_side, base, options, status, begun):
    operation = polling.start(kind(base, **options) if base else kind(**options), {})

    def lose():
        far_side.begun.append(operation.key)
        raise TimeoutError("read timed out")

    far_side.answers["begin"] = [lose]
    passes(4)

    assert now(operation).status == status
    assert far_side.begun == [operation.key] * begun  # under a key, the far side makes one of two


def test_what_the_far_side_does_not_know_is_unknown_and_not_begun_again(kind, far_side):
    far_side.answers["begin"] = [TimeoutError("read timed out")]
    operation = polling.start(kind(Findable), {})

    passes(4)

    assert now(operation).status == "unknown"
    assert "the far side does not know it" in now(operation).last_error
    assert far_side.count("begin") == 1


def test_it_is_looked_for_as_long_as_the_far_side_may_still_be_taking_it(kind, far_side):
    far_side.answers["begin"] = [TimeoutError("read timed out")]
    operation = polling.start(kind(Findable, find_for=600), {})
    passes(3)
    assert now(operation).status == "running"
    far_side.begun.append(operation.key)  # now it has arrived

    passes(2)

    assert now(operation).status == "succeeded"
    assert far_side.count("begin") == 1


def test_a_worker_that_died_before_the_call_and_one_that_died_after_it_look_the_same_and_neither_begins_twice(
    kind, far_side
):
    name = kind(Findable)
    for sent in (False, True):
        operation = polling.start(name, {})
        claim(Operation, using="default", owner="dead/1", lease=60, taking=Taking(pk=operation.pk))
        rows = Operation.objects.filter(pk=operation.pk)
        rows.update(begun_at=InSeconds(-5), watched_since=InSeconds(-5), lease_expires_at=InSeconds(-1))
        if sent:
            far_side.begun.append(operation.key)

        passes(3)

        assert now(operation).status == ("succeeded" if sent else "unknown")
    assert far_side.count("begin") == 0


def test_a_worker_that_died_before_it_stamped_has_begun_nothing_so_it_is_begun(kind, far_side):
    operation = polling.start(kind(), {})
    claim(Operation, using="default", owner="dead/1", lease=60, taking=Taking(pk=operation.pk))
    Operation.objects.filter(pk=operation.pk).update(lease_expires_at=InSeconds(-1))

    passes(3)

    assert now(operation).status == "succeeded"
    assert far_side.begun == [operation.key]


def test_an_owner_that_lost_it_before_its_stamp_begins_nothing(kind, far_side):
    operation = polling.start(kind(), {})
    ((run, right),) = claim(Operation, using="default", owner="a/1", lease=60, taking=Taking(pk=operation.pk))
    Operation.objects.filter(pk=operation.pk).update(lease_expires_at=InSeconds(-1))
    claim(Operation, using="default", owner="b/2", lease=60, taking=Taking(pk=operation.pk))

    assert attempt(run, right) is Outcome.LOST

    assert far_side.asked == []
    assert now(operation).begun_at is None


@pytest.mark.parametrize("error", [RetryAfter(120, "locked"), NotConfigured("no API key")], ids=["423", "no key"])
def test_a_far_side_that_says_not_now_has_begun_nothing_and_is_asked_again(kind, far_side, error):
    far_side.answers["begin"] = [error]
    operation = polling.start(kind(), {})

    one_pass()
    assert (now(operation).status, now(operation).begun_at) == ("queued", None)
    passes(3)

    assert now(operation).status == "succeeded"
    assert far_side.begun == [operation.key]


def test_a_refused_begin_has_failed_and_frees_its_place(kind, far_side):
    far_side.answers["begin"] = [Refused("no such branch")]
    name = kind()
    operation = polling.start(name, {}, one_at_a_time="preview")

    one_pass()

    assert now(operation).status == "failed"
    assert "no such branch" in now(operation).last_error
    assert polling.start(name, {}, one_at_a_time="preview").status == "queued"


def test_a_refusal_of_the_second_call_under_a_key_does_not_say_that_the_first_failed(kind, far_side):
    operation = polling.start(kind(keyed=True), {})
    far_side.answers["begin"] = [TimeoutError("read timed out"), Refused("409")]

    passes(2)

    assert now(operation).status == "unknown"


def test_a_handle_that_is_none_is_no_answer(kind, far_side):
    far_side.answers["begin"] = [lambda: 7]
    operation = polling.start(kind(Findable), {})

    passes(3)

    assert now(operation).status == "succeeded"
    assert "handle" in now(operation).failures[0]["message"]
    assert far_side.count("begin") == 1


# Starting -------------------------------------------------------------------------------------------------------------


def test_the_same_key_with_the_same_arguments_is_a_replay_settled_or_not(kind):
    name = kind()
    first = polling.start(name, {"n": 1}, key="k", one_at_a_time="x")
    assert polling.start(name, {"n": 1}, key="k", one_at_a_time="x").pk == first.pk
    passes(2)

    again = polling.start(name, {"n": 1}, key="k", one_at_a_time="x")

    assert (again.pk, again.status) == (first.pk, "succeeded")


def test_the_same_key_with_other_arguments_is_refused_and_another_kind_may_use_it(kind):
    polling.start(kind(), {"n": 1}, key="k")
    with pytest.raises(KeyConflict, match=r'\{"n":2\}'):
        polling.start(Operation.objects.get().kind, {"n": 2}, key="k")

    assert polling.start(kind(), {"n": 2}, key="k").payload == {"n": 2}


@pytest.mark.postgres
def test_the_same_key_twice_at_the_same_moment_is_a_replay_for_both(kind):
    name, found, errors = kind(), [], []
    barrier = threading.Barrier(2)

    def begin():
        try:
            barrier.wait(10)
            with transaction.atomic():
                found.append(polling.start(name, {}, key="k", one_at_a_time="x").pk)
        except Exception as error:
            errors.append(error)
        finally:
            connections.close_all()

    for _ in range(20):
        Operation.objects.all().delete()
        found.clear()
        threads = [threading.Thread(target=begin) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)

        assert errors == []
        assert len(found) == 2
        assert len(set(found)) == 1


def test_one_at_a_time_holds_until_it_is_over_and_an_unknown_one_is_not_over(kind, far_side):
    name = kind()
    far_side.answers["begin"] = [TimeoutError("read timed out")]
    first = polling.start(name, {}, one_at_a_time="preview")
    passes(2)
    assert now(first).status == "unknown"

    with pytest.raises(AlreadyInFlight, match="Say what became of it first") as caught:
        polling.start(name, {}, one_at_a_time="preview")
    assert caught.value.run.pk == first.pk
    assert polling.start(name, {}, one_at_a_time="other").pk != first.pk

    now(first).it_happened("h-7", by="ada")
    make_due()
    passes(2)
    assert polling.start(name, {}, one_at_a_time="preview").pk != first.pk


def test_a_conflict_leaves_the_callers_transaction_unhurt(kind):
    name = kind()
    polling.start(name, {}, one_at_a_time="x")

    with transaction.atomic():
        with pytest.raises(AlreadyInFlight):
            polling.start(name, {}, one_at_a_time="x")
        kept = polling.start(name, {}, key="kept")

    assert now(kept).status == "queued"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("", {}), ValueError), (("x", None), BadPayload), (("x", {"n": float("nan")}), BadPayload),
    ],
)  # fmt: skip
def test_what_could_not_be_kept_is_refused_where_it_is_started(arguments, error):
    with pytest.raises(error):
        polling.start(*arguments)


def test_an_unknown_kind_is_left_alone_and_reported(kind, far_side):
    operation = polling.start("nobody.knows", {})

    report = one_pass()

    assert now(operation).status == "queued"
    assert any("nobody.knows" in problem for problem in report.problems)
    assert "no class of the kind" in now(operation).explain()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"every": 0}, "every"), ({"give_up_after": -1}, "give_up_after"), ({"timeout": True}, "timeout"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_declaration_is_told_at_import(options, said):
    with pytest.raises(polling.CallError, match=said):
        polling.register("x", **{"every": 5, "give_up_after": 60, **options})


def test_a_class_without_poll_is_refused_at_import():
    with pytest.raises(polling.CallError, match=r"has no poll\(\)"):

        @polling.register("x", every=5, give_up_after=60)
        class Half(polling.ExternalCall):
            def begin(self, op):
                return "h"


def test_a_save_of_a_stale_instance_undoes_nothing(kind):
    operation = polling.start(kind(), {})
    stale = now(operation)
    passes(2)

    stale.save()

    assert now(operation).status == "succeeded"
    assert connection.vendor in ("postgresql", "sqlite")
