"""`manage.py prune_runs`: settled runs that are old enough go, open runs never."""

import pytest
from django.core.management import CommandError, call_command

from durable.clock import InSeconds
from durable.pruning import parse_age
from tests.app.models import Errand, Told

from .marks import commits

pytestmark = commits


@pytest.fixture
def aged():
    """An old done run, an old canceled one, a fresh done one, and an old open one."""
    done, canceled, fresh, still_open = (Told.objects.start(key=key) for key in ("done", "canceled", "fresh", "open"))
    done.run()
    canceled.cancel()
    fresh.run()
    Told.objects.exclude(pk=fresh.pk).exclude(pk=still_open.pk).update(settled_at=InSeconds(-100 * 86_400))
    Told.objects.filter(pk=still_open.pk).update(created_at=InSeconds(-100 * 86_400))


def keys() -> set[str]:
    return set(Told.objects.values_list("key", flat=True))


def test_only_old_settled_runs_are_deleted(aged, capsys):
    call_command("prune_runs", "--older-than", "90d")

    assert keys() == {"fresh", "open"}
    assert "app.told: 2 settled run(s) deleted" in capsys.readouterr().out


def test_a_dry_run_counts_and_deletes_nothing(aged, capsys):
    call_command("prune_runs", "--older-than", "90d", "--dry-run")

    assert len(keys()) == 4
    assert "app.told: 2 settled run(s) would be deleted" in capsys.readouterr().out


def test_other_kinds_are_left_alone(aged, capsys):
    Errand.objects.run()

    call_command("prune_runs", "--older-than", "0s", "--kind", "errand")

    assert len(keys()) == 4
    assert not Errand.objects.exists()


@pytest.mark.parametrize(
    ("text", "seconds"), [("90d", 7_776_000), ("12h", 43_200), ("30m", 1800), ("2w", 1_209_600), ("0s", 0)]
)
def test_an_age_is_a_number_and_a_unit(text, seconds):
    assert parse_age(text) == seconds


@pytest.mark.parametrize("text", ["90", "d", "-1d", "1.5h", "soon", "", "1234567d"])
def test_what_is_no_age_is_refused_with_examples(text):
    with pytest.raises(ValueError, match="90d, 12h, 30m, 2w"):
        parse_age(text)


def test_an_unknown_kind_is_exit_2():
    with pytest.raises(CommandError, match="no kind 'nosuch'") as refused:
        call_command("prune_runs", "--older-than", "1d", "--kind", "nosuch")

    assert refused.value.returncode == 2
