"""What is left behind when a session is over: nothing."""

import os
import signal
import threading
import time

from durable.shutdown import Shutdown

from .actors import Forked, until
from .marks import commits

pytestmark = commits


def test_a_process_that_lives_on_after_a_pass_is_not_ended_by_its_grace_time():
    def outlive():
        with Shutdown(grace=0.1) as shutdown:
            os.kill(os.getpid(), signal.SIGTERM)
            until(shutdown.stopping)
        time.sleep(0.5)
        print("still here")

    child = Forked(outlive)

    assert child.wait() == 0
    assert "still here" in child.said


def test_the_handlers_of_before_are_put_back():
    before = signal.getsignal(signal.SIGTERM)

    with Shutdown(grace=1):
        during = signal.getsignal(signal.SIGTERM)

    assert signal.getsignal(signal.SIGTERM) is before
    assert during is not before


def test_a_thread_that_is_not_the_main_one_leaves_the_handlers_alone():
    before, seen = signal.getsignal(signal.SIGTERM), []

    def work():
        with Shutdown(grace=1):
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert seen == [before]
