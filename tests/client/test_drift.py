"""
The fake server of the simulator says what the real views say: its tapes are repeated here, request by request.

    DRIFT=500 pytest tests/client/test_drift.py -s      more seeds
"""

import json
import os
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

import documents
from documents.kinds import kind_named
from documents.models import Conflict, Revision
from documents.pruning import prune

from .node import HERE, node

SEEDS = int(os.environ.get("DRIFT", "40"))
KEY = "budget"
# Answers of the wire, not of the documents: the test client has no token to lose, and no database that is busy.
WIRE = ("csrf_failed", "busy")
ACTED_ON = (
    *("code", "saveId", "savedVersion", "headVersion", "replayed", "expectedVersion", "version", "content", "deleted"),
    *("schema", "changes", "decision", "baseVersion", "theirs", "base", "merges", "patch", "path", "seen", "limit"),
)


class Taped(documents.DocumentKind):
    revoked: set[str] = set()

    def can_read(self, user, key):
        return user.get_username() not in self.revoked

    can_write = can_read


@documents.register("taped")
class Plain(Taped):
    pass


@documents.register("taped-merging")
class Merging(Taped):
    merge = documents.ByKey()


class Real:
    """The real side: clients by cookie, and the real ids behind the tape's."""

    def __init__(self, kind: str, tapes: list[dict[str, Any]]) -> None:
        self.kind, self.clients, self.ids, self.tags = kind, {}, {}, {}
        self.users = {name: get_user_model().objects.get(username=name) for name in ("ann", "ben", "sara")}
        for name, user in self.users.items():
            client = Client()
            client.force_login(user)
            self.tags[f"tag-{name}"] = client.get("/documents/csrf/").json()["user"]

    @property
    def head(self) -> int:
        last = Revision.objects.filter(document__kind=self.kind).order_by("-version").first()
        return last.version if last else 0

    def play(self, line: dict[str, Any]) -> None:
        type(kind_named(self.kind)).schema, Taped.revoked = line["schema"], set(line["revoked"])
        getattr(self, f"_{line['op']}")(line)

    def _foreign(self, line):
        documents.save(self.kind, KEY, line["content"], expected_version=self.head, by=self.users["sara"])

    def _remove(self, line):
        documents.delete(self.kind, KEY, expected_version=self.head, by=self.users["sara"])

    def _restore(self, line):
        old = Revision.objects.filter(document__kind=self.kind).exclude(content="").order_by("-version").first()
        documents.restore(self.kind, KEY, old.version, expected_version=self.head, by=self.users["sara"])

    def _prune(self, line):
        list(prune(kind=self.kind, keep=1, older_than=timedelta(seconds=-5)))

    def _staff(self, line):
        conflict = Conflict.objects.get(pk=self.ids[line["id"]])
        documents.settle(
            conflict.pk,
            choice=line["choice"],
            expected_version=self.head,
            expected_changes=conflict.changes,
            by=self.users["sara"],
        )

    def _login(self, line):
        client = self.clients[line["cookie"]] = Client()
        client.force_login(self.users[line["user"]])

    def _expire(self, line):
        self.clients[line["cookie"]] = Client()

    def _request(self, line):
        if line["reply"].get("code") in WIRE or line["path"].endswith("/csrf/"):
            return
        path = line["path"].replace("/sheet/", f"/{self.kind}/")
        for fake, real in self.ids.items():
            path = path.replace(f"/{fake}/", f"/{real}/")
        headers = {"Documents-User": self.tags[line["as"]]} if line.get("as") else {}
        client = self.clients.get(line["cookie"], Client())
        response = client.generic(
            line["method"], path, line.get("body") or "", content_type="application/json", headers=headers
        )
        body = response.json()
        if fake := line["reply"].get("conflictId"):
            self.ids.setdefault(fake, body.get("conflictId"))
        said, meant = self.gist(response.status_code, body), self.gist(line["status"], line["reply"], real=False)
        assert said == meant, f"{line['method']} {path} {line.get('body')}"

    def gist(self, status: int, body: dict[str, Any], *, real: bool = True) -> dict[str, Any]:
        """Return what a client acts on: the same members from both sides."""
        gist = {"status": status, **{name: body[name] for name in ACTED_ON if body.get(name) is not None}}
        if body.get("conflictId"):
            gist["conflictId"] = body["conflictId"] if real else self.ids.get(body["conflictId"])
        if isinstance(body.get("stored"), dict):
            gist["stored"] = {name: body["stored"][name] for name in ("version", "content", "deleted")}
        for name in ("openConflicts", "settledConflicts"):
            if name in body:
                ids = [one["conflictId"] for one in body[name]]
                gist[name] = sorted(ids if real else [str(self.ids.get(one)) for one in ids])
        return gist


@pytest.mark.django_db
def test_the_fake_server_and_the_real_views_give_the_same_answers():
    for name in ("ann", "ben", "sara"):
        get_user_model().objects.create_user(name, email=f"{name}@example.org")
    lines = [json.loads(line) for line in node(HERE / "tape.js", "1", str(SEEDS)).splitlines()]
    requests, patches = 0, 0

    for line in lines:
        Conflict.objects.all().delete()
        documents.models.Document.objects.all().delete()
        real = Real("taped-merging" if line["merges"] else "taped", line["tape"])
        for step in line["tape"]:
            requests += step["op"] == "request"
            patches += step.get("method") == "PATCH"
            try:
                real.play(step)
            except AssertionError as error:
                pytest.fail(f"seed {line['seed']}: {error}")

    print(f"{requests} requests of {SEEDS} seeds, {patches} of them patches, answered alike")
    assert requests > SEEDS * 5
    assert patches > SEEDS / 10
