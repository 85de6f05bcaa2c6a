"""What docs/documents.openapi.json says is what the views do: any lawful or unlawful request, by schemathesis."""

import datetime as dt
import json
import os
import re
import uuid
from pathlib import Path

import pytest
import requests
import schemathesis
import urllib3
from django.test import Client
from django.urls import get_resolver
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import unsupported_method

import documents.urls
from documents.conf import setting

from .factories import Person, save, stored

DESCRIPTION = json.loads((Path(documents.__file__).parent.parent / "docs" / "documents.openapi.json").read_text())
EXAMPLES = int(os.environ.get("EXAMPLES", "15"))

schema = schemathesis.openapi.from_dict(DESCRIPTION)
ORIGIN = "http://testserver"


@pytest.fixture
def client(db):
    ada = Person(username="ada")
    for kind in ("note", "card"):
        stored({"attributes": [{"id": "a", "v": 1}]}, kind=kind, versions=3)
        save({"attributes": []}, 1, kind=kind, by=ada, writer="tab")
    client = Client()
    client.force_login(ada)
    return client


def sent(case, client):
    """Send a case through Django's test client; return the answer as schemathesis reads it."""
    request = requests.Request(**case.as_transport_kwargs(base_url=ORIGIN)).prepare()
    kind = request.headers.pop("Content-Type", "application/octet-stream")
    headers = {name: value for name, value in request.headers.items() if name not in ("Content-Length", "Cookie")}
    path = request.url.removeprefix(ORIGIN)
    answer = client.generic(request.method, path, request.body or b"", content_type=kind, headers=headers)
    response = requests.Response()
    response.status_code, response._content, response.request = answer.status_code, answer.content, request
    response.headers.update(answer.headers)
    response.raw = urllib3.HTTPResponse(headers=dict(answer.items()), status=answer.status_code)
    response.url, response.reason, response.elapsed = request.url, answer.reason_phrase, dt.timedelta()
    return response


def aim(case):
    """Point most requests at a document that is there; what schemathesis made up finds nothing to test."""
    from documents.models import Conflict

    path = case.path_parameters
    if not path or len(str(path.get("key"))) % 4 == 0:
        return
    kind = "card" if len(str(path["key"])) % 2 else "note"
    case.path_parameters = {**path, "kind": kind, "key": "n"}
    if "conflictId" in path:
        case.path_parameters["conflictId"] = str(Conflict.objects.get(document__kind=kind).pk)
    if case.method == "PATCH" and isinstance(case.body, dict) and kind == "card":
        case.body = case.body | {"set": {"/attributes/a": {"id": "a", "v": repr(case.body.get("set"))}}}
    if (
        isinstance(case.body, dict)
        and isinstance(case.body.get("expectedVersion"), int)
        and case.body["expectedVersion"] % 2
    ):
        case.body = (
            {**case.body, "expectedVersion": 3, "changes": 1}
            if "changes" in case.body
            else {**case.body, "expectedVersion": 3}
        )


@schema.parametrize()
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_request_is_answered_as_described(case, client):
    aim(case)

    response = sent(case, client)

    # Rules that JSON Schema cannot say (a base version that is there, content that fits the kind) refuse lawful
    # bodies, and unlawful query members are ignored; which bodies are refused has its own tests.
    case.validate_response(
        response,
        excluded_checks=[
            schemathesis.checks.CHECKS.get_one(name)
            for name in (
                "positive_data_acceptance",
                "negative_data_rejection",
                "ignored_auth",
                "missing_required_header",
            )
        ]
        + [unsupported_method],
    )


def test_every_address_is_described_and_every_described_address_is_there():
    described = {re.sub(r"\{\w+\}", "{}", path).removeprefix("/documents/") for path in DESCRIPTION["paths"]}
    served = {re.sub(r"<str:\w+>", "{}", str(one.pattern)) for one in documents.urls.urlpatterns} - {"<path:rest>"}

    assert described == served
    assert get_resolver().resolve(f"/documents/note/n/conflicts/{uuid.uuid4()}/settle/").url_name == "settle"


def test_i14_every_described_write_demands_its_version():
    for name in ("Save", "Patch", "Delete", "Restore", "Settle"):
        schema = DESCRIPTION["components"]["schemas"][name]
        assert {"expectedVersion", "saveId"} <= set(schema["required"])
        assert schema["additionalProperties"] is False
        assert not {"force", "overwrite"} & set(schema["properties"])


def test_every_code_that_is_raised_is_described():
    from documents import errors

    text = json.dumps(DESCRIPTION)
    codes = {getattr(errors, name).code for name in errors.__all__ if name != "DocumentsError"}
    assert all(f'"{code}"' in text for code in codes), codes
    assert setting("MAX_BYTES") == 2_000_000
