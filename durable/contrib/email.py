"""
E-mail through the outbox: every `send_mail()` of a project becomes transactional and durable.

    EMAIL_BACKEND = "durable.contrib.email.OutboxEmailBackend"
    DURABLE = {"EMAIL": "django.core.mail.backends.smtp.EmailBackend"}  # what really sends; the default

A mail is posted in the caller's transaction and sent by a worker. A crash at the wrong moment sends it a second time,
with the same Message-ID, by which many mail servers and readers tell that it is the same one.
"""

from __future__ import annotations

import base64
import contextlib
import email
import email.message
import email.policy
import hashlib
import smtplib
from collections.abc import Iterator, Sequence
from email.mime.base import MIMEBase
from email.utils import format_datetime, parseaddr
from typing import Any

import django
from django.core.mail import EmailMessage, EmailMultiAlternatives
from django.core.mail.backends.base import BaseEmailBackend
from django.utils.module_loading import import_string

from durable import NotConfigured, Refused, outbox
from durable.conf import setting

__all__ = ["TOPIC", "OutboxEmailBackend", "identified", "outgoing", "pack", "telling_refusals", "unpack"]

TOPIC = "durable.email"

_TIMEOUT = 30.0  # seconds, where the project's own settings have none: a silent server must not hold a worker for ever

#: Answers by which a server says that we did not log in properly (RFC 4954, section 6).
_LOGIN = {530, 534, 535, 538}

#: What an EmailMessage holds, and what is packed under a name of its own.
_KNOWN = {
    "alternatives", "attachments", "bcc", "body", "cc", "connection", "_connection", "encoding", "extra_headers",
    "from_email", "outbox_key", "reply_to", "subject", "to",
}  # fmt: skip
_SUBTYPES = ("content_subtype", "mixed_subtype", "alternative_subtype")


class OutboxEmailBackend(BaseEmailBackend):
    """An e-mail backend that posts instead of sending. An `outbox_key` on the mail makes it one message however often."""

    def __init__(self, fail_silently: bool = False, **kwargs: Any) -> None:
        if kwargs.get("username") or kwargs.get("password"):
            message = (
                "a user name or password given for one mail cannot be kept in the outbox; set EMAIL_HOST_USER instead"
            )
            raise ValueError(message)
        kwargs = {name: value for name, value in kwargs.items() if name not in ("username", "password")}
        super().__init__(**kwargs)

    def send_messages(self, email_messages: Sequence[Any]) -> int:
        """
        Post the mails in the caller's transaction; return how many.

        Raises:
            BadPayload, TypeError: a mail holds what cannot be kept; nothing is posted.
        """
        mails = [mail for mail in email_messages if mail.recipients()]
        keys = [getattr(mail, "outbox_key", None) for mail in mails]
        return len(outbox.post_many(TOPIC, [pack(mail) for mail in mails], keys=keys))


@outbox.handler(TOPIC, external="at-least-once", attempts=8, timeout=120)
def send(message: Any) -> str:
    """Send a posted mail through the backend that the project names."""
    mail = identified(unpack(message.payload), message)
    # Closed whatever happens: a login that was refused leaves Django's backend with an open socket.
    with telling_refusals(), contextlib.closing(outgoing()) as backend:
        backend.send_messages([mail])
    return str(mail.extra_headers["Message-ID"])


def outgoing() -> Any:
    """
    Return a new instance of the backend that really sends: DURABLE["EMAIL"], a dotted path or a name in MAILERS.

    Raises:
        NotConfigured: there is no such backend, or it would post again.
    """
    name = str(setting("EMAIL"))
    backend: Any
    try:
        if "." not in name:
            from django.core.mail import mailers  # type: ignore[attr-defined,unused-ignore]

            backend = mailers[name]
        else:
            # From 6.1 on, Django's own backends want to be told that they are none of MAILERS.
            alone = {"alias": None} if django.VERSION >= (6, 1) and name.startswith("django.") else {}
            backend = import_string(name)(**alone)
    except Exception as error:
        message = f"DURABLE['EMAIL'] = {name!r} gives no e-mail backend: {error}"
        raise NotConfigured(message) from error
    if isinstance(backend, OutboxEmailBackend):
        message = f"DURABLE['EMAIL'] = {name!r} would post every mail again; name the backend that really sends"
        raise NotConfigured(message)
    if getattr(backend, "timeout", 0) is None:
        backend.timeout = _TIMEOUT
    return backend


def identified(mail: Any, message: Any) -> Any:
    """Give a mail the Message-ID and the date of its message: the same on every attempt. Return it."""
    given = {name.lower(): name for name in mail.extra_headers}
    if "message-id" in given:
        mail.extra_headers["Message-ID"] = mail.extra_headers.pop(given["message-id"])
    else:
        _, _, domain = parseaddr(str(mail.from_email))[1].rpartition("@")
        # A key of one topic may stand in another: a hash of both, where the key is not the message's own id.
        name = message.key if message.key == str(message.pk) else _hash(f"{message.topic} {message.key}")
        mail.extra_headers["Message-ID"] = f"<{name}@{domain or 'localhost'}>"
    if "date" not in given:
        mail.extra_headers["Date"] = format_datetime(message.created_at)
    return mail


@contextlib.contextmanager
def telling_refusals() -> Iterator[None]:
    """
    Turn what a mail server says into outcomes: for ever is `Refused`, not logged in `NotConfigured`, the rest is retried.

    A mail to several recipients, some of whom are refused, counts as sent: it cannot be sent to the others again.
    """
    try:
        yield
    except smtplib.SMTPNotSupportedError as error:
        raise NotConfigured(str(error)) from error
    except smtplib.SMTPRecipientsRefused as error:
        codes = {code for code, _ in error.recipients.values()}
        if codes and all(_is_final(code) for code in codes):
            raise _refused(str(error.recipients), min(codes)) from error
        raise
    except (smtplib.SMTPConnectError, smtplib.SMTPHeloError):
        raise  # the server speaks of itself, not of the mail
    except smtplib.SMTPResponseException as error:
        said = f"{error.smtp_code} {_text(error.smtp_error)}"
        if isinstance(error, smtplib.SMTPAuthenticationError) or error.smtp_code in _LOGIN:
            message = f"the mail server does not let us in: {said}"
            raise NotConfigured(message) from error
        if _is_final(error.smtp_code):
            raise _refused(said, error.smtp_code) from error
        raise


# Packing --------------------------------------------------------------------------------------------------------------


def pack(mail: Any) -> dict[str, Any]:
    """
    Return a mail as JSON that `unpack` makes the same mail of.

    Raises:
        TypeError: the mail's class makes its own MIME, which would be lost.
    """
    cls = type(mail)
    if cls.message not in (EmailMessage.message, EmailMultiAlternatives.message):
        message = (
            f"{cls.__qualname__} has a message() of its own, which the outbox cannot keep; attach what it adds instead"
        )
        raise TypeError(message)
    packed: dict[str, Any] = {
        "subject": str(mail.subject),
        "body": str(mail.body),
        "from_email": str(mail.from_email),
        **{name: [str(address) for address in getattr(mail, name)] for name in ("to", "cc", "bcc", "reply_to")},
        "headers": {str(name): str(value) for name, value in mail.extra_headers.items()},
        "encoding": mail.encoding if mail.encoding is None or isinstance(mail.encoding, str) else str(mail.encoding),
        "attachments": [_pack_attachment(part) for part in mail.attachments],
        "alternatives": [
            {"type": part[1], **_pack_content(part[0])} for part in getattr(mail, "alternatives", None) or []
        ],
        **{name: getattr(mail, name) for name in _SUBTYPES if hasattr(mail, name)},
    }
    # What other backends look for on a mail: tags, metadata, template ids.
    extra = {name: value for name, value in vars(mail).items() if name not in _KNOWN and name not in _SUBTYPES}
    return packed | ({"extra": extra} if extra else {})


def unpack(packed: dict[str, Any]) -> Any:
    """Return the mail that was packed."""
    mail = EmailMultiAlternatives(
        subject=packed["subject"],
        body=packed["body"],
        from_email=packed["from_email"],
        headers=dict(packed["headers"]),
        **{name: packed[name] for name in ("to", "cc", "bcc", "reply_to")},
    )
    mail.encoding = packed["encoding"]
    for name in _SUBTYPES:
        if name in packed:
            setattr(mail, name, packed[name])
    for part in packed["alternatives"]:
        mail.attach_alternative(_unpack_content(part), part["type"])
    for part in packed["attachments"]:
        if "mime" in part:
            raw = base64.b64decode(part["mime"])
            if django.VERSION >= (6, 0):
                mail.attachments.append(email.message_from_bytes(raw, policy=email.policy.default))
            else:
                mail.attachments.append(email.message_from_bytes(raw, _class=_Part))
        else:
            mail.attach(part["name"], _unpack_content(part), part["type"])
    for name, value in packed.get("extra", {}).items():
        setattr(mail, name, value)
    return mail


class _Part(MIMEBase):
    """A parsed part of the class that Django before 6.0 asks for."""

    def __init__(self, policy: Any = email.policy.compat32) -> None:
        email.message.Message.__init__(self, policy=policy)


def _pack_attachment(part: Any) -> dict[str, Any]:
    if isinstance(part, MIMEBase | email.message.Message):
        return {"mime": base64.b64encode(part.as_bytes()).decode()}
    name, content, mimetype = part
    return {"name": None if name is None else str(name), "type": mimetype, **_pack_content(content)}


def _pack_content(content: Any) -> dict[str, str]:
    if isinstance(content, bytes | bytearray | memoryview):
        return {"base64": base64.b64encode(content).decode()}
    if isinstance(content, EmailMessage):
        content = content.message()
    if isinstance(content, email.message.Message):
        return {"base64": base64.b64encode(content.as_bytes()).decode()}
    return {"text": str(content)}


def _unpack_content(part: dict[str, Any]) -> str | bytes:
    return base64.b64decode(part["base64"]) if "base64" in part else str(part["text"])


def _refused(said: str, code: int) -> Refused:
    error = Refused(f"the mail server refuses it for good: {said}")
    error.code = code  # type: ignore[attr-defined]
    return error


def _is_final(code: int) -> bool:
    return 500 <= code < 600


def _text(said: Any) -> str:
    return said.decode("utf-8", "backslashreplace") if isinstance(said, bytes) else str(said)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:40]
