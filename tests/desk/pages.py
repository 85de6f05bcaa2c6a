"""Every page of the desk with something to see on it, and those of the conflicts of documents."""

from django.urls import reverse

import documents
from documents.models import Conflict
from durable.clock import InSeconds

from . import scenes, shapes
from .test_run_page import address

__all__ = ["dead_message", "pages"]


def dead_message():
    return scenes.message(
        "k7", status="dead", said="550 no such user", attempts=2, due_at=None, settled_at=InSeconds(-5)
    )


def pages():
    """Return the address of every page of the desk, and of the conflicts of documents, by name."""
    runs = scenes.scenes()
    scenes.workers()
    runs["message"] = dead_message()
    runs |= {"remote": shapes.remote(), "unknown": shapes.unknown(), "pass": shapes.a_pass(), "plan": shapes.plan()}
    documents.save("record", "ada", {"title": "Ada", "attributes": []}, expected_version=0, actor_name="ann")
    documents.save("record", "ada", {"title": "Ada L.", "attributes": []}, expected_version=0, actor_name="ben")
    skipped = runs["due"]
    skipped.skip("cancel_subscription", reason="no subscription any more", by="ada")
    conflict = Conflict.objects.get()
    found = {name: address(run) for name, run in runs.items()}
    return {
        "overview": "/admin/durable/",
        "list": reverse("admin:accounts_accountdeletion_changelist"),
        "messages": reverse("admin:durable_message_changelist"),
        "operations": reverse("admin:durable_operation_changelist"),
        "plans": reverse("admin:durable_plan_changelist"),
        "passes": reverse("admin:durable_pass_changelist"),
        "approve": address(runs["plan"], "decide", "approve"),
        "it-happened": address(runs["unknown"], "decide", "it-happened"),
        "skip": address(runs["waiting"], "decide", "skip") + "?step=delete_files",
        "release": address(runs["elsewhere"], "decide", "release"),
        "history": address(runs["waiting"], "history"),
        "conflicts": reverse("admin:documents_conflict_changelist"),
        "conflict": reverse("admin:documents_conflict_change", args=[conflict.pk]),
        "document": reverse("admin:documents_document_change", args=[conflict.document_id]),
        **found,
    }
