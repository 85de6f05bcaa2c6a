"""HTTP for the handlers: one pool of kept connections a process, no redirects, no retries, a deadline for every call."""

import email.utils
import logging
import time

import urllib3

from durable import RetryAfter

__all__ = ["post", "seconds_asked_for"]

_pool = urllib3.PoolManager(
    retries=False, timeout=urllib3.Timeout(connect=5, read=15), num_pools=50, maxsize=8, block=False
)

# At DEBUG it writes addresses down, and Telegram's hold the token.
logging.getLogger("urllib3.connectionpool").setLevel(logging.INFO)

_MOST = 64 * 1024  # bytes of an answer that are read
_LONGEST = 86_400.0


def post(url, body, headers):
    """
    POST bytes and return (status, headers, the beginning of the answer).

    Raises:
        urllib3.exceptions.HTTPError: no answer came; whether the far side acted is unknown.
    """
    answer = _pool.request("POST", url, body=body, headers=headers, redirect=False, preload_content=False)
    try:
        return answer.status, answer.headers, answer.read(_MOST)
    finally:
        answer.drain_conn()
        answer.release_conn()


def seconds_asked_for(headers, default):
    """Return what a Retry-After header asks for, a number or a date, bounded to a day."""
    text = headers.get("Retry-After", "").strip()
    if text.isdecimal():
        return min(float(text[:9]), _LONGEST)
    try:
        when = email.utils.parsedate_to_datetime(text).timestamp()
    except (TypeError, ValueError, OverflowError):
        return default
    return min(max(0.0, when - time.time()), _LONGEST)


def later(headers, default, reason, *, whole_topic=False):
    """Return the exception that waits as long as the far side asks."""
    return RetryAfter(seconds_asked_for(headers, default), reason, whole_topic=whole_topic)
