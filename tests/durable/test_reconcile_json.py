"""`reconcile --format json`: keys are only ever added."""

import json

from tests.app.models import Errand, Told

from .marks import commits

pytestmark = commits


def test_the_summary_as_json_has_stable_keys(reconcile):
    Told.objects.start(orders={"one": "fail"})
    Errand.objects.start()

    code, said = reconcile("--format", "json")

    answer = json.loads(said)
    assert code == 1
    assert sorted(answer) == ["failed", "outcomes", "problems", "stopped_by", "taken_over", "troubled"]
    assert answer["outcomes"] == {
        "done": 1, "dead": 0, "failed": 1, "waiting": 0, "interrupted": 0, "lost": 0, "unknown": 0
    }  # fmt: skip
    assert answer["failed"] is True


def test_the_list_as_json_has_stable_keys(reconcile):
    job = Told.objects.start(key="k")

    _, said = reconcile("--list", "--format", "json")

    [row] = json.loads(said)
    assert sorted(row) == [
        "age_seconds", "attempts", "due_at", "explain", "fence", "id", "key", "kind", "last_error", "lease_expires_at",
        "owner", "progress", "standing", "status", "stuck",
    ]  # fmt: skip
    assert (row["id"], row["kind"], row["key"], row["status"]) == (str(job.pk), "app.told", "k", "pending")


def test_an_explanation_as_json_has_receipts_and_failures(reconcile):
    job = Told.objects.start(orders={"two": "fail down"})
    job.run()

    _, said = reconcile("--explain", "told", str(job.pk), "--format", "json")

    row = json.loads(said)
    assert [receipt["step"] for receipt in row["receipts"]] == ["one", "two", "three"]
    assert sorted(row["receipts"][0]) == ["at", "guarantee", "key", "owner", "skipped", "starts", "step", "took"]
    assert row["failures"][0]["message"] == "down"


def test_a_dry_run_as_json_counts_by_kind(reconcile):
    Told.objects.start()

    _, said = reconcile("--dry-run", "--kind", "told", "--format", "json")

    assert json.loads(said) == [{"kind": "app.told", "would_take": 1, "held_by_others": 0}]
