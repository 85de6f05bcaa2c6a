"""Secrets: what an error carries by accident is neither kept nor shown; what it says for people stays."""

import pytest
from django.test import override_settings

from durable.redacting import redact, without_secrets
from tests.app.models import Told

from .marks import commits

KEPT = [
    "Invalid token: expected ')'",
    "idempotency_key=delete:41 was used before",
    "S3Error: SlowDown: Please reduce your request rate.",
    "https://example.org/path?order=7 answered 503",
    "KeyError: 'password'",
    "no such key: accounts.accountdeletion:01a2:delete_files",
    'column "secret_id" does not exist',
    "at 12:00:05 on host:443",
]


@pytest.mark.parametrize("text", KEPT)
def test_what_people_need_to_read_stays(text):
    assert redact(text) == text


SECRETS = [
    ("postgres://app:{}@db/shop refused", "hunter2hunter2"),
    ("Authorization: Bearer {}", "abcdef0123456789"),
    ("sent {{'Authorization': 'Basic {}'}}", "YWRhOmh1bnRlcjI="),
    ("login failed: password={}", "hunter2"),
    ("?api_key={}&order=7", "abc123"),
    ('{{"client_secret": "{}"}}', "s3cr3t, with a comma"),
    ("{{'access_token': '{}', 'order': 7}}", "tok-1"),
    ("Cookie: sessionid={}", "abc; csrftoken=def"),
    ("No such API key: {}", "sk_live_51Hxyz0123456789"),
    ("{} is expired", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"),
    ("push to {} refused", "ghp_0123456789abcdefghijABCDEFGHIJ012345"),
    ("https://api.telegram.org/bot{}/sendMessage", "123456789:AAE-abcdefghijklmnopqrstuvwxyz01234"),
    ("-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----", "MIIEowIBAAKCAQEA"),
]


@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_what_looks_like_a_secret_is_taken_out(text, secret):
    told = redact(text.format(secret))

    assert secret not in told
    assert "[redacted]" in told


@override_settings(PARTNER_API_KEY="quite-an-ordinary-word", DATABASES_PASSWORD="x")
def test_the_values_of_this_sites_own_secret_settings_are_taken_out_wherever_they_stand():
    assert redact("POST /quite-an-ordinary-word/7 failed") == "POST /[redacted]/7 failed"


def test_a_json_value_is_shown_without_what_stands_under_a_secret_name():
    value = {"to": "ada", "token": "t", "deep": [{"Password": "p", "n": 1}], "cookie": None}

    assert without_secrets(value) == {
        "to": "ada", "token": "[redacted]", "deep": [{"Password": "[redacted]", "n": 1}], "cookie": None,
    }  # fmt: skip


@commits
def test_no_secret_of_an_error_is_kept_on_the_row():
    job = Told.objects.start(orders={"two": "fail password=hunter2"})
    job.run()
    job.refresh_from_db()

    assert "hunter2" not in f"{job.last_error}{job.failures}{job.explain()}"
    assert job.last_error == "ValueError: password=[redacted]"


@commits
@override_settings(DURABLE={"REDACT": "builtins.str"})
def test_a_site_may_name_a_function_of_its_own():
    job = Told.objects.start(orders={"two": "fail password=hunter2"})
    job.run()
    job.refresh_from_db()

    assert job.last_error == "ValueError: password=hunter2"


@commits
@override_settings(DURABLE={"REDACT": "builtins.int"})
def test_a_function_that_raises_takes_the_text_along_and_not_the_record():
    job = Told.objects.start(orders={"two": "fail password=hunter2"})
    job.run()
    job.refresh_from_db()

    assert job.last_error == "(the error's text was left out: REDACT failed with ValueError)"
    assert job.failures[0]["type"] == "ValueError"
