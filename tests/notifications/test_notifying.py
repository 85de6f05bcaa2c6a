"""Telling people: once, in their language, not in the night; and what the far sides' answers mean."""

import base64
import datetime as dt
import hashlib
import hmac
import json
import zoneinfo

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import connection, transaction
from django.db.models.functions import Now

from durable.clock import InSeconds, read
from durable.models import Message, Topic
from project.notifications.digesting import post_digests
from project.notifications.models import Digest, Notification, Preferences
from project.notifications.notifying import notify
from project.notifications.quiet import seconds_until_loud
from tests.notifications.conftest import SECRET
from tests.outbox.conftest import drain, make_due

pytestmark = pytest.mark.django_db(transaction=True)

COMMENT = {"who": "Ada", "what": "Plan", "text": "Looks good"}


def only(**which):
    return Message.objects.get(**which)


# Telling ---------------------------------------------------------------------------------------------------------------


def test_a_notification_and_its_messages_commit_with_what_they_tell_of(reader, mail):
    """A8."""
    user = reader(email="ada@example.org")
    with transaction.atomic():
        notify(user, "comment", COMMENT, key="comment:1")
        transaction.set_rollback(True)
    with transaction.atomic():
        notify(user, "comment", COMMENT, key="comment:2")

    drain()

    assert Notification.objects.count() == Message.objects.count() == len(mail.taken) == 1


def test_the_same_event_tells_the_same_person_once(reader, mail):
    """A2."""
    user = reader(email="ada@example.org")

    for _ in range(3):
        notify(user, "comment", COMMENT, key="comment:1")
    drain()

    assert len(mail.taken) == 1


def test_the_words_are_the_readers_own_at_the_time_of_sending(reader, mail):
    user = reader(email="ada@example.org", language="en")
    notify(user, "security", {"where": "Köln"}, key="login:1")
    Preferences.objects.update(language="de")

    drain()

    assert mail.taken[0].mail["Subject"] == "Neue Anmeldung bei Ihrem Konto"
    body = mail.taken[0].mail.get_body(("plain",)).get_content()
    assert "Köln" in body


def test_what_a_stranger_wrote_is_text_and_not_markup(reader, mail):
    user = reader(email="ada@example.org")
    notify(user, "comment", {**COMMENT, "text": "<img src=x onerror=alert(1)>"}, key="comment:1")

    drain()

    assert "<img" not in mail.taken[0].mail.get_body(("html",)).get_content()


def test_a_reader_without_an_address_any_more_is_left_alone(reader, mail):
    user = reader(email="ada@example.org")
    notify(user, "comment", COMMENT, key="comment:1")
    Preferences.objects.update(email="")

    drain()

    assert only().status == "failed"
    assert mail.taken == []


def test_one_channel_that_is_down_holds_up_no_other(reader, mail, hook):
    """A13."""
    user = reader(email="ada@example.org", webhook=f"{hook.url}/hook", webhook_secret=SECRET)
    mail.data = ["451 later"]
    notify(user, "comment", COMMENT, key="comment:1")

    drain()

    assert only(topic="notifications.webhook").status == "sent"
    assert only(topic="notifications.email").status == "pending"


def test_an_unknown_kind_is_refused_where_it_is_told(reader):
    with pytest.raises(ValueError, match="comment"):
        notify(reader(), "comments", {}, key="x")


def test_a_time_zone_that_does_not_exist_is_refused(reader):
    wishes = reader().preferences
    wishes.timezone = "Mars/Olympus"

    with pytest.raises(ValidationError):
        wishes.full_clean()


# Quiet hours -----------------------------------------------------------------------------------------------------------


def night(hours_from, hours_until):
    now = read(connection)
    return {
        "quiet_from": (now + dt.timedelta(hours=hours_from)).time(),
        "quiet_until": (now + dt.timedelta(hours=hours_until)).time(),
    }


def test_quiet_hours_defer_and_drop_nothing(reader, mail):
    user = reader(email="ada@example.org", **night(-1, 2))
    notify(user, "comment", COMMENT, key="comment:1")

    drain()

    message = only()
    assert mail.taken == []
    assert (message.status, message.attempts) == ("pending", 0)
    assert 7190 < (message.due_at - message.updated_at).total_seconds() <= 7201
    assert "quiet hours" in message.explain()

    Preferences.objects.update(**night(-3, -1))
    make_due()
    drain()
    assert len(mail.taken) == 1


def test_what_is_urgent_is_told_at_night(reader, mail):
    user = reader(email="ada@example.org", **night(-1, 2))

    notify(user, "security", {"where": "Köln"}, key="login:1")
    drain()

    assert len(mail.taken) == 1


BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("now", "quiet", "hours"),
    [
        (dt.datetime(2026, 1, 5, 23, 0, tzinfo=BERLIN), (dt.time(22), dt.time(7)), 8),
        (dt.datetime(2026, 1, 5, 6, 0, tzinfo=BERLIN), (dt.time(22), dt.time(7)), 1),
        (dt.datetime(2026, 1, 5, 7, 0, tzinfo=BERLIN), (dt.time(22), dt.time(7)), 0),
        (dt.datetime(2026, 1, 5, 22, 0, tzinfo=BERLIN), (dt.time(22), dt.time(7)), 9),
        (dt.datetime(2026, 1, 5, 13, 0, tzinfo=BERLIN), (dt.time(12), dt.time(14)), 1),
        (dt.datetime(2026, 1, 5, 14, 0, tzinfo=BERLIN), (dt.time(12), dt.time(14)), 0),
        (dt.datetime(2026, 1, 5, 14, 0, tzinfo=BERLIN), (dt.time(9), dt.time(9)), 0),
        (dt.datetime(2026, 1, 5, 14, 0, tzinfo=BERLIN), (None, dt.time(9)), 0),
        # The night on which the clocks go forward is an hour shorter, the one in autumn an hour longer.
        (dt.datetime(2026, 3, 28, 22, 0, tzinfo=BERLIN), (dt.time(22), dt.time(7)), 8),
        (dt.datetime(2026, 10, 24, 22, 0, tzinfo=BERLIN), (dt.time(22), dt.time(7)), 10),
    ],
)
def test_a_night_ends_by_the_readers_own_clock(now, quiet, hours):
    assert seconds_until_loud(now.astimezone(dt.UTC), "Europe/Berlin", *quiet) == hours * 3600


# Digests ---------------------------------------------------------------------------------------------------------------


def test_a_digest_tells_all_that_waited_once(reader, mail):
    user = reader(email="ada@example.org", digest="daily")
    for n in range(60):
        notify(user, "comment", {**COMMENT, "what": f"Plan {n}"}, key=f"comment:{n}")
    drain()
    assert mail.taken == []

    assert post_digests() == (1, 0)
    assert post_digests() == (0, 0)
    drain()

    (taken,) = mail.taken
    assert taken.mail["Subject"] == "60 things happened"
    body = taken.mail.get_body(("plain",)).get_content()
    assert "Plan 0" in body
    assert "and 10 more" in body
    assert not Notification.objects.filter(waits_for_digest=True).exists()


def test_a_digest_that_fails_loses_nothing_and_stops_nobody_else(reader, mail, monkeypatch):
    unlucky, lucky = reader(email="a@example.org", digest="daily"), reader(email="b@example.org", digest="daily")
    for user in (unlucky, lucky):
        notify(user, "comment", COMMENT, key="comment:1")
    from project.notifications import digesting

    def fails(user, digest, notifications):
        if user == unlucky:
            raise ValueError("a bad day")
        return post(user, digest, notifications)

    post = digesting.post_digest
    monkeypatch.setattr(digesting, "post_digest", fails)
    assert post_digests() == (1, 1)
    monkeypatch.undo()
    assert Notification.objects.filter(user=unlucky, waits_for_digest=True).count() == 1
    assert Digest.objects.count() == 1

    assert post_digests() == (1, 0)
    drain()

    assert sorted(taken.recipients[0] for taken in mail.taken) == ["a@example.org", "b@example.org"]


def test_a_timer_that_comes_early_or_late_skips_no_day(reader):
    user = reader(email="a@example.org", digest="daily")
    day = dt.timedelta(days=1)
    Preferences.objects.update(digest_due_at=InSeconds(-59 * 60))
    due = Preferences.objects.get().digest_due_at
    notify(user, "comment", COMMENT, key="comment:1")

    post_digests()
    assert Preferences.objects.get().digest_due_at == due + day

    Preferences.objects.update(digest_due_at=due - 3 * day)  # the timer stood still for three days
    post_digests()
    assert Preferences.objects.get().digest_due_at == due + day


def test_the_command_posts_digests(reader, mail, capsys):
    notify(reader(email="a@example.org", digest="weekly"), "comment", COMMENT, key="comment:1")

    call_command("post_digests")

    assert "1 digest(s) posted, 0 failed" in capsys.readouterr().out


# Webhooks --------------------------------------------------------------------------------------------------------------


def test_a_webhook_is_signed_and_a_repeat_is_the_same_event(reader, hook):
    user = reader(webhook=f"{hook.url}/hook", webhook_secret=SECRET)
    notify(user, "comment", COMMENT, key="comment:1")
    hook.answers = [(500, {}, b"oops")]

    drain()
    make_due()
    drain()

    (path, first, body), (_, second, again) = hook.calls
    assert path == "/hook"
    assert body == again
    assert first["webhook-id"] == second["webhook-id"] == only().key == only().provider_id
    signed = f"{second['webhook-id']}.{second['webhook-timestamp']}.".encode() + again
    key = base64.b64decode(SECRET.removeprefix("whsec_"))
    assert (
        second["webhook-signature"] == "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    )
    assert json.loads(body)["type"] == "comment"


@pytest.mark.parametrize(
    ("answer", "status", "outcome", "seconds"),
    [
        ((200, {}, b""), "sent", "sent", None),
        ((429, {"Retry-After": "120"}, b""), "pending", "later", (120, 121)),
        ((503, {"Retry-After": "90"}, b""), "pending", "later", (90, 91)),
        ((503, {"Retry-After": "Thu, 01 Jan 1970 00:00:00 GMT"}, b""), "pending", "later", (0, 1)),
        ((429, {"Retry-After": "soon"}, b""), "pending", "later", (60, 61)),
        ((500, {}, b"oops"), "pending", "failed", (30, 35)),
        ((404, {}, b"no such hook"), "failed", "refused", None),
        ((302, {"Location": "http://127.0.0.1:1/"}, b""), "failed", "refused", None),
    ],
)
def test_what_a_receiver_answers_decides_what_happens_next(reader, hook, answer, status, outcome, seconds):
    notify(reader(webhook=hook.url, webhook_secret=SECRET), "comment", COMMENT, key="comment:1")
    hook.answers = [answer]

    drain()

    message = only()
    assert (message.status, message.log.get().outcome) == (status, outcome)
    if seconds:
        assert seconds[0] <= (message.due_at - message.updated_at).total_seconds() <= seconds[1]


def test_a_receiver_that_says_gone_is_asked_no_more(reader, hook):
    user = reader(webhook=hook.url, webhook_secret=SECRET)
    notify(user, "comment", COMMENT, key="comment:1")
    hook.answers = [(410, {}, b"")]

    drain()
    notify(user, "comment", COMMENT, key="comment:2")
    drain()

    assert len(hook.calls) == 1
    assert only().status == "failed"
    assert Preferences.objects.get().webhook == ""


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_not base64!"])
def test_a_secret_that_signs_nothing_sends_nothing(reader, hook, secret):
    notify(reader(webhook=hook.url, webhook_secret=secret), "comment", COMMENT, key="comment:1")

    drain()

    assert hook.calls == []
    assert only().status == "failed"


def test_a_receiver_that_nobody_reaches_is_tried_again(reader):
    notify(reader(webhook="http://127.0.0.1:1/", webhook_secret=SECRET), "comment", COMMENT, key="comment:1")

    drain()

    assert only().status == "pending"


# Telegram --------------------------------------------------------------------------------------------------------------


def test_telegram_is_called_as_documented_and_its_id_is_kept(reader, telegram):
    notify(reader(telegram="77"), "comment", COMMENT, key="comment:1")

    drain()

    ((path, headers, body),) = telegram.calls
    assert path == "/bot123:secret-token/sendMessage"
    assert headers["Content-Type"] == "application/json"
    assert json.loads(body) == {"chat_id": "77", "text": "Ada commented on Plan\n\nAda wrote: Looks good"}
    assert (only().status, only().provider_id) == ("sent", "42")


def test_a_reader_who_blocked_the_bot_is_not_written_to_again(reader, telegram):
    user = reader(telegram="77")
    telegram.answers = [
        (403, {}, {"ok": False, "error_code": 403, "description": "Forbidden: bot was blocked by the user"})
    ]
    notify(user, "comment", COMMENT, key="comment:1")

    drain()

    assert only().status == "failed"
    assert "blocked by the user" in only().last_error
    assert Preferences.objects.get().telegram == ""


def test_a_flood_limit_lets_the_whole_bot_wait(reader, telegram):
    limit = {"ok": False, "error_code": 429, "description": "Too Many Requests", "parameters": {"retry_after": 35}}
    telegram.answers = [(429, {}, limit)]
    for n in range(3):
        notify(reader(telegram=str(n)), "comment", COMMENT, key="comment:1")

    drain()

    assert len(telegram.calls) == 1
    assert Message.objects.filter(status="pending", attempts=0).count() == 3
    assert Topic.objects.filter(name="notifications.telegram", paused_until__gt=Now()).exists()


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ((400, {}, {"ok": False, "description": "Bad Request: chat not found"}), "failed"),
        ((502, {}, b"<html>bad gateway</html>"), "pending"),
        ((200, {}, b"not json"), "pending"),
    ],
)
def test_other_answers_of_telegram(reader, telegram, answer, status):
    telegram.answers = [answer]
    notify(reader(telegram="77"), "comment", COMMENT, key="comment:1")

    drain()

    assert only().status == status


def test_a_missing_or_wrong_token_pauses_the_topic_and_burns_nothing(reader, telegram, settings):
    """A14."""
    settings.TELEGRAM_BOT_TOKEN = ""
    notify(reader(telegram="77"), "comment", COMMENT, key="comment:1")

    drain()

    assert (only().status, only().attempts) == ("pending", 0)
    assert "TELEGRAM_BOT_TOKEN is not set" in only().explain()
    assert telegram.calls == []


def test_the_bots_token_reaches_no_row_and_no_log(reader, telegram, settings, caplog):
    settings.TELEGRAM_API_BASE = "http://127.0.0.1:1"
    notify(reader(telegram="77"), "comment", COMMENT, key="comment:1")

    drain()

    message = only()
    assert message.status == "pending"
    assert "secret-token" not in f"{message.last_error}{message.failures}{message.log.get().error}{caplog.text}"


def test_a_long_text_is_cut_to_what_telegram_takes(reader, telegram):
    notify(reader(telegram="77"), "comment", {**COMMENT, "text": "ä" * 10_000}, key="comment:1")

    drain()

    assert len(json.loads(telegram.calls[0][2])["text"]) == 4096
