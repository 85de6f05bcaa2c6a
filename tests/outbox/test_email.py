"""E-mail through the outbox, against a real SMTP server."""

import smtplib
from email.message import MIMEPart
from email.mime.base import MIMEBase
from email.mime.image import MIMEImage

import django
import pytest
from django.core import mail
from django.core.mail import EmailMessage, EmailMultiAlternatives, send_mail, send_mass_mail
from django.db import transaction

from durable import outbox
from durable.contrib import email as durable_email
from durable.models import Message
from durable.payloads import BadPayload
from tests.outbox.conftest import drain, make_due
from tests.outbox.mailserver import MailServer, sends_through

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def server(settings):
    with MailServer() as running:
        sends_through(settings, running.port)
        yield running


@pytest.fixture(autouse=True)
def _handler():
    if outbox.find(durable_email.TOPIC) is None:
        outbox.handler(durable_email.TOPIC, external="at-least-once")(durable_email.send)


def test_a_mail_is_posted_in_the_callers_transaction_and_sent_by_a_worker(server):
    with transaction.atomic():
        assert send_mail("Hello", "Body", "shop@example.org", ["ada@example.org"]) == 1
        transaction.set_rollback(True)
    with transaction.atomic():
        send_mail("Kept", "Body", "shop@example.org", ["ada@example.org"], html_message="<b>Body</b>")
    assert server.taken == []

    drain()

    (taken,) = server.taken
    message = Message.objects.get()
    assert taken.mail["Subject"] == "Kept"
    assert taken.mail["Message-ID"] == f"<{message.key}@example.org>" == message.provider_id
    assert [part.get_content_type() for part in taken.mail.walk()] == [
        "multipart/alternative",
        "text/plain",
        "text/html",
    ]


def test_every_part_of_a_mail_comes_out_as_the_project_made_it(server):
    made = EmailMultiAlternatives(
        "Betreff: Grüße – 😀", "Text ä\n", "Der Laden <shop@example.org>", ["Ada <ada@example.org>", "b@example.org"],
        cc=["c@example.org"], bcc=["secret@example.org"], reply_to=["reply@example.org"],
        headers={"X-Campaign": "spring", "List-Unsubscribe": "<https://example.org/u>"},
    )  # fmt: skip
    made.attach_alternative("<p>Text ä</p>", "text/html")
    made.attach("räport.csv", "a;b\n1;2\n", "text/csv")
    made.attach("bytes.bin", bytes(range(256)), "application/octet-stream")
    made.attach("latin.txt", "é".encode("latin-1"), "text/plain")
    part = MIMEPart() if django.VERSION >= (6, 0) else MIMEImage(b"\x89PNG not really", "png")
    if django.VERSION >= (6, 0):
        part.set_content(b"\x89PNG not really", maintype="image", subtype="png")
    part["Content-ID"] = "<logo>"
    made.attach(part)
    made.send()

    direct = durable_email.outgoing()
    direct.send_messages([made])
    drain()

    by_hand, through = (taken for taken in server.taken)
    assert (through.sender, through.recipients) == (by_hand.sender, by_hand.recipients)
    assert "secret@example.org" in through.recipients
    assert b"secret@example.org" not in through.raw
    own = {"Message-ID", "Date", "Content-Type"}
    assert {n: v for n, v in through.mail.items() if n not in own} == {
        n: v for n, v in by_hand.mail.items() if n not in own
    }
    assert [
        (part.get_content_type(), part.get_filename(), part["Content-ID"], part.get_payload(decode=True))
        for part in through.mail.walk()
    ] == [
        (part.get_content_type(), part.get_filename(), part["Content-ID"], part.get_payload(decode=True))
        for part in by_hand.mail.walk()
    ]


def test_a_repeat_carries_the_same_message_id_and_date(server):
    send_mail("Hello", "Body", "shop@example.org", ["ada@example.org"])
    server.data = ["451 try later"]

    drain()
    make_due()
    drain()
    message = Message.objects.get()
    durable_email.send(message)  # as after a crash before the receipt

    first, second = server.taken
    assert first.raw == second.raw
    assert message.attempts == 2


def test_a_mail_with_a_key_is_one_mail_however_often_it_is_sent(server):
    for _ in range(3):
        made = EmailMessage("Receipt", "Body", "shop@example.org", ["ada@example.org"])
        made.outbox_key = "receipt:7"
        made.send()

    drain()

    assert len(server.taken) == 1
    assert server.taken[0].mail["Message-ID"].endswith("@example.org>")


def test_a_message_id_of_the_projects_own_is_kept(server):
    EmailMessage(
        "Hello", "Body", "shop@example.org", ["ada@example.org"], headers={"message-id": "<mine@example.org>"}
    ).send()

    drain()

    assert server.ids() == ["<mine@example.org>"]


def test_many_mails_are_posted_in_one_statement(server, django_assert_num_queries):
    with django_assert_num_queries(1):
        assert send_mass_mail([("S", "B", "shop@example.org", [f"u{n}@example.org"]) for n in range(20)]) == 20


@pytest.mark.parametrize(
    ("rcpt", "data", "status", "outcome"),
    [
        (["550 no such user"], [], "failed", "refused"),
        (["450 busy"], [], "pending", "failed"),
        ([], ["554 spam"], "failed", "refused"),
        ([], ["452 disk full"], "pending", "failed"),
        ([], ["530 authentication required"], "pending", "unconfigured"),
    ],
)
def test_what_the_server_says_decides_what_happens_next(server, rcpt, data, status, outcome):
    server.rcpt, server.data = rcpt, data
    send_mail("Hello", "Body", "shop@example.org", ["ada@example.org"])

    drain()

    message = Message.objects.get()
    assert (message.status, message.log.get().outcome) == (status, outcome)


def test_a_mail_to_several_of_whom_one_is_refused_counts_as_sent(server):
    server.rcpt = ["250 OK", "550 no such user"]
    send_mail("Hello", "Body", "shop@example.org", ["ada@example.org", "nobody@example.org"])

    drain()

    assert Message.objects.get().status == "sent"
    assert server.taken[0].recipients == ["ada@example.org"]


def test_a_login_that_is_refused_pauses_the_topic(settings, server, monkeypatch):
    def login(*_):
        raise smtplib.SMTPAuthenticationError(535, b"bad credentials")

    monkeypatch.setattr(smtplib.SMTP, "login", login)
    sends_through(settings, server.port, username="u", password="p")
    send_mail("Hello", "Body", "shop@example.org", ["ada@example.org"])

    report = drain()

    assert Message.objects.get().attempts == 0
    assert any("bad credentials" in problem for problem in drain().problems + report.problems)


def test_a_server_that_is_down_is_tried_again(settings, server):
    sends_through(settings, 1)
    send_mail("Hello", "Body", "shop@example.org", ["ada@example.org"])

    drain()

    assert Message.objects.get().last_error.startswith("ConnectionRefusedError")


def test_a_mail_server_that_says_nothing_does_not_hold_a_worker_for_ever(settings, server):
    sends_through(settings, server.port, timeout=None)
    assert durable_email.outgoing().timeout == 30

    sends_through(settings, server.port, timeout=7)
    assert durable_email.outgoing().timeout == 7


def test_a_real_backend_that_would_post_again_is_not_configured(settings, server):
    settings.DURABLE = {**settings.DURABLE, "EMAIL": "durable.contrib.email.OutboxEmailBackend"}
    send_mail("Hello", "Body", "shop@example.org", ["ada@example.org"])

    drain()

    message = Message.objects.get()
    assert message.status == "pending"
    assert "post every mail again" in message.last_error


def test_any_backend_may_really_send(settings, server):
    settings.DURABLE = {**settings.DURABLE, "EMAIL": "django.core.mail.backends.locmem.EmailBackend"}
    made = EmailMessage("Hello", "Body", "shop@example.org", ["ada@example.org"])
    made.tags = ["spring"]  # what other backends look for
    made.send()

    drain()

    assert mail.outbox[0].tags == ["spring"]


def test_a_mail_that_could_not_be_kept_is_refused_where_it_is_sent(server):
    class Signed(EmailMessage):
        def message(self):
            return super().message()

    with pytest.raises(TypeError, match="Signed"):
        Signed("Hello", "Body", "shop@example.org", ["ada@example.org"]).send()
    with pytest.raises(BadPayload, match="body"):
        EmailMessage("Hello", "nul \x00", "shop@example.org", ["ada@example.org"]).send()
    made = EmailMessage("Hello", "Body", "shop@example.org", ["ada@example.org"])
    made.esp_extra = object()
    with pytest.raises(BadPayload, match="esp_extra"):
        made.send()
    assert not Message.objects.exists()


def test_a_mail_to_nobody_is_not_posted(server):
    assert durable_email.OutboxEmailBackend().send_messages([EmailMessage("Hello", "Body", "a@example.org", [])]) == 0


def test_an_attachment_of_many_megabytes_comes_through(server):
    made = EmailMessage("Hello", "Body", "shop@example.org", ["ada@example.org"])
    content = bytes(range(256)) * 4 * 4096  # 4 MiB
    made.attach("big.bin", content, "application/octet-stream")
    made.send()

    drain()

    (part,) = server.taken[0].mail.iter_attachments()
    assert part.get_payload(decode=True) == content


def test_the_classes_of_older_and_newer_parts_are_both_kept():
    part = MIMEBase("application", "x-thing")
    part.set_payload("content")
    packed = durable_email._pack_attachment(part)

    assert "mime" in packed
