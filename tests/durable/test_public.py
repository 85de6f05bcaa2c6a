"""The public face: what is exported, what importing it costs, and the settings it reads."""

import importlib
import pkgutil
import subprocess
import sys
from types import ModuleType

import pytest
from django.test import override_settings

import durable
from durable.conf import DEFAULTS, problems, setting


def test_the_export_list_is_what_is_public_and_sorted():
    public = {
        name for name, value in vars(durable).items() if not name.startswith("_") and not isinstance(value, ModuleType)
    }

    assert durable.__all__ == sorted(durable.__all__)
    assert public == {*durable.__all__}
    assert durable.__all__ == [
        "AlreadyInFlight", "Backoff", "DurableError", "InsideTransaction", "KeyConflict", "LostLease",
        "NotConfigured", "Refused", "RetryAfter", "Wait", "step",
    ]  # fmt: skip


def modules() -> list[str]:
    found = pkgutil.walk_packages(durable.__path__, "durable.")
    return sorted(name for _, name, is_package in found if not is_package and ".migrations." not in name)


@pytest.mark.parametrize("name", modules())
def test_every_module_says_what_it_promises_and_exports_what_exists(name):
    module = importlib.import_module(name)

    assert (module.__doc__ or "").strip() or name.endswith("__init__")
    for exported in getattr(module, "__all__", []):
        assert hasattr(module, exported)


def test_the_models_facade_and_the_crash_kit_export_what_the_docs_name():
    from durable import models, testing

    assert models.__all__ == [
        "Acknowledgement", "Attempt", "Decision", "Job", "JobManager", "Message", "Operation", "Pass", "Plan",
        "PlanReceipt", "Topic", "Worker",
    ]  # fmt: skip
    assert {"assert_survives", "crash_at_statement", "expire_leases", "run_until_settled"} <= {*testing.__all__}


def test_importing_it_needs_neither_settings_nor_a_registry_nor_a_database():
    code = (
        "import durable; durable.step; durable.Backoff(); durable.Wait(1); import sys; print('psycopg' in sys.modules)"
    )

    answer = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": "."},
    )

    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.strip() == "False"


def test_every_error_has_one_root_and_a_definition():
    from durable import errors

    classes = [value for value in vars(errors).values() if isinstance(value, type)]

    assert all(
        issubclass(one, errors.DurableError) and one.__doc__ for one in classes if one.__module__ == errors.__name__
    )


def test_a_setting_is_read_when_it_is_used():
    with override_settings(DURABLE={"LEASE": 7}):
        assert (setting("LEASE"), setting("POLL")) == (7, DEFAULTS["POLL"])


def test_every_default_is_a_sound_setting():
    with override_settings(DURABLE=dict(DEFAULTS)):
        assert problems() == []
