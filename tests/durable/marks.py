"""Marks of this suite."""

import pytest

#: Real commits, in a project that has these apps alone: the kinds of others are not known.
commits = pytest.mark.django_db(transaction=True, available_apps=["durable", "tests.app"])
