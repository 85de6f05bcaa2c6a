"""Telegram's Bot API (https://core.telegram.org/bots/api): one call, and what its answers mean."""

import json

import urllib3
from django.conf import settings

from durable import NotConfigured, Refused, RetryAfter

from . import calling

__all__ = ["Blocked", "send"]

_LONGEST = 4096  # characters of a message, the Bot API's own limit


class Blocked(Exception):
    """The reader blocked the bot, or is gone."""


def send(chat, text):
    """
    Send a text to a chat. Return Telegram's id of the message.

    Raises:
        Blocked: 403. RetryAfter: 429, as long as asked for; that limit is the bot's, so the whole topic waits.
        NotConfigured: there is no token, or Telegram does not know it. Refused: an answer that will not change.
        Exception: anything else is tried again.
    """
    token = settings.TELEGRAM_BOT_TOKEN
    if not token:
        message = "TELEGRAM_BOT_TOKEN is not set"
        raise NotConfigured(message)
    body = json.dumps({"chat_id": chat, "text": _fitted(text)}).encode()
    try:
        status, _, answer = calling.post(
            f"{settings.TELEGRAM_API_BASE}/bot{token}/sendMessage", body, {"Content-Type": "application/json"}
        )
    except urllib3.exceptions.HTTPError as error:
        # The address holds the token: the library's own words must not reach a log or the admin.
        message = f"no answer from Telegram: {type(error).__name__}"
        raise OSError(message) from None
    said = _read(answer)
    if status == 200 and said.get("ok"):
        return str(said["result"]["message_id"])
    raise _meaning(status, said)


def _meaning(status, said):
    """Return the exception for an answer that is not a success."""
    what = f"Telegram: {status} {said.get('description', '')}".strip()
    if status == 403:
        return Blocked(what)
    if status in (401, 404):
        return NotConfigured(f"Telegram does not know this bot: {what}")
    if status == 429:
        seconds = said.get("parameters", {}).get("retry_after", 60)
        return RetryAfter(min(float(seconds), 86_400.0), what, whole_topic=True)
    if 400 <= status < 500:
        refused = Refused(what)
        refused.code = status
        return refused
    return OSError(what)


def _fitted(text):
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 2]} …"


def _read(answer):
    try:
        said = json.loads(answer)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}
