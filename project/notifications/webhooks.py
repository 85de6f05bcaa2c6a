"""
Webhooks, signed as Standard Webhooks says (https://www.standardwebhooks.com): id, timestamp, signature.

The id is the message's key and the body is made of what was posted, so every attempt sends the same event. The timestamp
is the attempt's own: a receiver refuses old ones, to keep out replays.
"""

import base64
import binascii
import hashlib
import hmac
import json
import time

from durable import Refused

from . import calling

__all__ = ["Gone", "send", "sign"]


class Gone(Exception):
    """The receiver said 410: it wants no more of these."""


def send(url, secret, key, created_at, data):
    """
    POST an event. Return its id.

    Raises:
        Gone: 410. Refused: an answer that will not change, or no usable secret. RetryAfter: 429 and 503, as long as asked for.
        Exception: anything else is tried again.
    """
    body = json.dumps({"timestamp": created_at.isoformat(), **data}, separators=(",", ":"), sort_keys=True).encode()
    now = int(time.time())
    status, headers, answer = calling.post(
        url,
        body,
        {
            "Content-Type": "application/json",
            "User-Agent": "known-state-example",
            "webhook-id": key,
            "webhook-timestamp": str(now),
            "webhook-signature": sign(secret, key, now, body),
        },
    )
    if 200 <= status < 300:
        return key
    raise _meaning(status, headers, f"the receiver answered {status} {answer[:200].decode('utf-8', 'replace')}")


def _meaning(status, headers, said):
    """Return the exception for an answer that is not a success."""
    if status == 410:
        return Gone(said)
    if status in (429, 503):
        return calling.later(headers, 60.0, said)
    if 300 <= status < 400 or status in (400, 401, 403, 404, 405, 413, 415, 422):
        refused = Refused(said)
        refused.code = status
        return refused
    return OSError(said)


def sign(secret, key, timestamp, body):
    """Return the signature header: HMAC-SHA256 over id, timestamp and body, with the base64 secret after whsec_."""
    try:
        raw = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error as error:
        message = "the webhook's secret is not base64; let its owner set a new one"
        raise Refused(message) from error
    if not raw:
        message = "the webhook has no secret; let its owner set one"
        raise Refused(message)
    signed = hmac.new(raw, f"{key}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(signed).decode()}"
