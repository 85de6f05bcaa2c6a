"""The far sides do what the demo and the other tests believe of them."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import stripe

from project.accounts import billing
from project.farside import FarSideError, process

ROOT = Path(__file__).resolve().parents[2]


def test_localstripe_alone_ignores_keys_which_is_why_the_front_keeps_them(stripe_itself):
    first = stripe_itself.customers.create({"email": "a@example.org"}, {"idempotency_key": "alone"})
    second = stripe_itself.customers.create({"email": "a@example.org"}, {"idempotency_key": "alone"})

    assert first.id != second.id


def test_the_same_key_and_body_get_the_stored_answer(stripe_front):
    api = billing.client().v1

    first = api.customers.create({"email": "a@example.org"}, {"idempotency_key": "same"})
    second = api.customers.create({"email": "a@example.org"}, {"idempotency_key": "same"})

    assert first.id == second.id
    assert second.last_response.headers["Idempotent-Replayed"] == "true"
    assert [call.fate for call in stripe_front.calls()[-2:]] == ["answered", "replayed"]


def test_the_same_key_with_another_body_is_an_error(stripe_front):
    api = billing.client().v1
    api.customers.create({"email": "a@example.org"}, {"idempotency_key": "other"})

    with pytest.raises(stripe.IdempotencyError) as caught:
        api.customers.create({"email": "b@example.org"}, {"idempotency_key": "other"})

    assert caught.value.http_status == 400


def test_a_key_has_no_effect_on_a_delete(stripe_front, paid):
    api = billing.client().v1
    api.customers.delete(paid[0], options={"idempotency_key": "delete"})

    with pytest.raises(stripe.InvalidRequestError) as caught:
        api.customers.delete(paid[0], options={"idempotency_key": "delete"})

    assert caught.value.http_status == 404


def test_a_lost_answer_is_on_record_and_the_far_side_has_acted(stripe_front, stripe_itself, paid):
    stripe_front.lose_next_answer("DELETE", "/v1/subscriptions/")

    with pytest.raises(stripe.APIConnectionError):
        billing.client().v1.subscriptions.cancel(paid[1])

    assert stripe_front.calls()[-1].fate == "lost"
    assert stripe_itself.subscriptions.retrieve(paid[1]).status == "canceled"


def test_a_delayed_call_arrives_that_much_later(stripe_front, paid):
    stripe_front.delay_next("GET", "/v1/customers/", seconds=0.3)
    began = time.monotonic()

    billing.client().v1.customers.retrieve(paid[0])

    assert time.monotonic() - began >= 0.3


def test_the_log_holds_the_bytes_that_arrived(stripe_front):
    billing.client().v1.customers.create({"email": "ä@example.org"}, {"idempotency_key": "bytes"})

    call = stripe_front.calls()[-1]
    assert (call.method, call.path, call.key, call.status) == ("POST", "/v1/customers", "bytes", 200)
    assert call.content() == b"email=%C3%A4%40example.org"


@pytest.mark.parametrize("kind", ["stripe", "s3"])
def test_a_far_side_ends_with_its_parent_even_if_that_is_killed(kind, tmp_path):
    parent = subprocess.Popen(
        [sys.executable, "-c", _START_AND_WAIT, kind, str(tmp_path)], stdout=subprocess.PIPE, cwd=ROOT
    )
    child = psutil.Process(int(parent.stdout.readline()))

    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    parent.stdout.close()

    assert _is_gone(child)


_START_AND_WAIT = """
import pathlib, sys, time
from project.farside.process import start
print(start(sys.argv[1], pathlib.Path(sys.argv[2])).process.pid, flush=True)
time.sleep(60)
"""


def _is_gone(child):
    # Nobody waits for an orphan in a container whose first process does not reap: a zombie is gone.
    until = time.monotonic() + 20
    while child.is_running() and child.status() != psutil.STATUS_ZOMBIE:
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def test_a_far_side_that_does_not_start_is_told_in_one_sentence(tmp_path):
    with pytest.raises(FarSideError, match=r"^The local nonsense server did not start: KeyError: 'nonsense'$"):
        process.start("nonsense", tmp_path)
