"""What every test of `durable` finds: a process without hooks, and short words for the effects of a run."""

import pytest

from tests.app.models import Effect
from tests.app.orders import HOOKS


@pytest.fixture(autouse=True)
def hooks():
    """What this process does in a step, by the step's name."""
    HOOKS.clear()
    yield HOOKS
    HOOKS.clear()


@pytest.fixture
def effects():
    """Return the names of what a run did, in the order it happened."""

    def of(run) -> list[str]:
        return list(Effect.objects.filter(run=run.pk).order_by("pk").values_list("name", flat=True))

    return of
