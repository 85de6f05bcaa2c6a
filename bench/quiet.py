"""Whether the machine is left alone: a figure from a busy one is no result, and nothing is published from it."""

import os
import time

__all__ = ["QUIET", "load_at_rest"]

QUIET = 1.0  # processes waiting or running, averaged over a minute; more before we begin is somebody else at work
REST, PATIENCE = 0.5, 300  # what is waited for, and how many seconds at most


def load_at_rest() -> float:
    """The load before we begin. What has just ended is still in that minute, so it is given some minutes to be over."""
    until = time.monotonic() + PATIENCE
    while os.getloadavg()[0] > REST and time.monotonic() < until:
        time.sleep(5)
    return os.getloadavg()[0]
