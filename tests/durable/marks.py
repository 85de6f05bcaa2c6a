"""Marks of this suite."""

import pytest

#: Real commits. Only our own tables are emptied after each test, and nothing is created anew: that is what takes long.
commits = pytest.mark.django_db(transaction=True, available_apps=["durable", "tests.app"])
