"""Pictures of the desk, for people to look at; PICTURES names the folder they are put into."""

import os
from pathlib import Path

import pytest
from django.urls import reverse

import documents
from documents.models import Conflict
from durable.models import Message
from project.accounts.models import AccountDeletion
from tests.desk import scenes, shapes

from .operators import desk  # noqa: F401 - a fixture

pytestmark = [pytest.mark.long, pytest.mark.django_db(transaction=True)]


def change(run):
    return reverse(f"admin:{run._meta.app_label}_{run._meta.model_name}_change", args=[run.pk])


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_pictures_of_every_page(desk, scheme, width):
    folder = Path(os.environ.get("PICTURES") or "/tmp/pictures")
    folder.mkdir(parents=True, exist_ok=True)
    for n in range(40):
        scenes.deletion(
            f"old:{n}", done=5, ago=7200, status="done", due_at=None, settled_at=scenes.InSeconds(-n * n * 3)
        )
    runs = scenes.scenes()
    scenes.workers()
    dead = scenes.message("receipt:7", status="dead", said="550 no such user", attempts=3, due_at=None,
                          settled_at=scenes.InSeconds(-50))  # fmt: skip
    scenes.message("receipt:8")
    runs |= {"remote": shapes.remote(), "unknown": shapes.unknown(), "pass": shapes.a_pass(), "plan": shapes.plan()}
    record = {"title": "Ada Lovelace", "attributes": [{"id": "a", "label": "Phone", "value": "+44 20 7946 0000"},
                                                    {"id": "b", "label": "City", "value": "London"}]}  # fmt: skip
    documents.save("record", "ada", record, expected_version=0, actor_name="ann")
    for number, (name, value) in enumerate([("ann", "+44 20 7946 0001"), ("ben", "+44 20 7946 0999")]):
        theirs = {**record, "attributes": [{**record["attributes"][0], "value": value}, record["attributes"][1]]}
        documents.save("record", "ada", theirs, expected_version=1, actor_name=name)
        assert number < 2
    page = desk(color_scheme=scheme, viewport={"width": width, "height": 800})
    skipped = runs["due"]
    skipped.skip("cancel_subscription", reason="she had none", by="ada")
    pages = {
        "overview": "/admin/durable/",
        "list": reverse("admin:accounts_accountdeletion_changelist"),
        "message": change(dead),
        "conflict": reverse("admin:documents_conflict_change", args=[Conflict.objects.get().pk]),
        "approve": reverse("admin:durable_plan_decide", args=[runs["plan"].pk, "approve"]),
        "skip": reverse("admin:accounts_accountdeletion_decide", args=[runs["waiting"].pk, "skip"])
        + "?step=delete_files",
        "release": reverse("admin:accounts_accountdeletion_decide", args=[runs["elsewhere"].pk, "release"]),
        **{name: change(run) for name, run in runs.items()},
    }
    for name, address in pages.items():
        page.goto(page.base + address)
        page.screenshot(path=folder / f"{name}-{scheme}-{width}.png", full_page=width == 390)
    assert AccountDeletion.objects.exists()
    assert Message.objects.exists()
