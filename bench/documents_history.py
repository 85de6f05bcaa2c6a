"""Pages of a document with 10 000 revisions of 2 KB: the list over HTTP, the admin's page, two versions compared."""

import json
import statistics
import time
import uuid

from .documents_contenders import content_of

__all__ = ["history"]

REVISIONS = 10_000


def history(looks: int = 30) -> dict[str, dict[str, float]]:
    """Return page → queries, and median and least milliseconds from the request to the whole answer."""
    from django.contrib.auth.models import User
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext
    from django.urls import reverse

    from documents.models import Document, Revision

    document = Document.objects.create(
        kind="bench", key="long", version=REVISIONS, created_at="2026-01-01T00:00Z", saved_at="2026-01-01T00:00Z"
    )
    text = json.dumps(content_of(2_000, 2))
    base = {"document": document, "content": text, "size": len(text), "schema": 1, "action": "save", "by_name": "ada"}
    Revision.objects.bulk_create(
        [
            Revision(version=at + 1, save_id=uuid.uuid4(), writer=f"w{at % 3}", at="2026-01-01T00:00Z", **base)
            for at in range(REVISIONS)
        ],
        batch_size=1_000,
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    client = Client()
    client.force_login(User.objects.create_superuser("ada", "ada@example.org", "secret"))
    listed = reverse("documents:revisions", args=["bench", "long"])
    page = reverse("admin:documents_document_change", args=[document.pk])
    addresses = {
        "history, newest page (JSON)": listed,
        "history, from the middle (JSON)": f"{listed}?before={REVISIONS // 2}",
        "history in the admin": page,
        "history in the admin, two versions compared": f"{page}?from=1&to={REVISIONS}",
    }
    found = {}
    for name, address in addresses.items():
        assert client.get(address).status_code == 200
        with CaptureQueriesContext(connection) as queries:
            client.get(address)
            asked = len(queries)
        took = []
        for _ in range(looks):
            began = time.perf_counter()
            client.get(address)
            took.append((time.perf_counter() - began) * 1000)
        found[name] = {"queries": asked, "median": statistics.median(took), "least": min(took)}
    return found
