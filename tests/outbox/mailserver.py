"""A real SMTP server for the tests: keeps what it took, and answers as it is told."""

import asyncio
import email
import email.policy
import socket
import threading
from dataclasses import dataclass, field

import django
from aiosmtpd.controller import Controller

__all__ = ["MailServer", "sends_through", "through"]


@dataclass
class Taken:
    sender: str
    recipients: list
    raw: bytes

    @property
    def mail(self):
        return email.message_from_bytes(self.raw, policy=email.policy.default)


@dataclass
class MailServer:
    """`with MailServer() as server:` listens on `server.port`; `server.taken` are the mails it said 250 to."""

    rcpt: list = field(default_factory=list)  # answers to the next RCPT commands, such as "550 no such user"
    data: list = field(default_factory=list)  # answers to the next DATA
    taken: list = field(default_factory=list)
    delay: float = 0.0  # seconds it takes over each mail

    def __enter__(self):
        self.lock = threading.Lock()
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.controller = Controller(self, hostname="127.0.0.1", port=self.port, data_size_limit=50_000_000)
        self.controller.start()
        return self

    def __exit__(self, *_):
        self.controller.stop()

    async def handle_RCPT(self, server, session, envelope, address, options):
        if self.rcpt:
            answer = self.rcpt.pop(0)
            if not answer.startswith("250"):
                return answer
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        if self.data:
            answer = self.data.pop(0)
            if not answer.startswith("250"):
                return answer
        await asyncio.sleep(self.delay)
        with self.lock:
            self.taken.append(Taken(envelope.mail_from, list(envelope.rcpt_tos), bytes(envelope.content)))
        return "250 taken"

    def ids(self):
        """The Message-ID of each mail taken, in order."""
        return [taken.mail["Message-ID"] for taken in list(self.taken)]


def through(server):
    """The environment that makes the example site send through it."""
    return {"EMAIL_HOST": "127.0.0.1", "EMAIL_PORT": str(server.port)}


def sends_through(settings, port, **options):
    """Post every mail of this process, and send what was posted through that port."""
    options = {"host": "127.0.0.1", "port": port, "timeout": 20, "username": "", "password": "", **options}
    posting = "durable.contrib.email.OutboxEmailBackend"
    if django.VERSION >= (6, 1):
        smtp = {"BACKEND": "django.core.mail.backends.smtp.EmailBackend", "OPTIONS": options}
        settings.MAILERS = {"default": {"BACKEND": posting}, "smtp": smtp}
        settings.DURABLE = {**settings.DURABLE, "EMAIL": "smtp"}
        return
    settings.EMAIL_BACKEND = posting
    settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_TIMEOUT = "127.0.0.1", port, options["timeout"]
    settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD = options["username"], options["password"]
