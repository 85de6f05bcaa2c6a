"""Owners: a label for people, and a proof of death that says no wherever there is doubt."""

import dataclasses
import os
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from durable.owner import Owner, current, is_gone, parse

words = st.text("abcdefABCDEF0123456789", max_size=12)
numbers = st.text("0123456789", max_size=20)
owners = st.builds(
    Owner,
    host=st.text("abcxyz0189.-", min_size=1, max_size=70),
    pid=st.integers(1, 2**22), machine=words, boot=words, pids=numbers, start=numbers,
)  # fmt: skip


@given(owners)
def test_an_owner_reads_back_as_it_was_written(owner):
    text = str(owner)

    assert parse(text) == owner
    assert len(text) <= 200
    assert text.startswith(owner.label)


@pytest.mark.parametrize(
    "text", ["", "somebody", "host/12", "host/x machine= boot= pids= start=", "a/1 machine=a boot=b"]
)
def test_what_is_no_owner_of_ours_is_not_parsed_and_not_declared_dead(text):
    assert parse(text) is None
    assert is_gone(text) is False


def test_this_process_is_not_gone():
    assert is_gone(str(current())) is False


@pytest.fixture
def ended():
    """The owner of a process of this host that has ended."""
    child = subprocess.Popen(["true"])
    child.wait()
    return dataclasses.replace(current(), pid=child.pid)


def test_a_process_that_has_ended_is_gone(ended):
    assert is_gone(str(ended)) is True


def test_a_process_whose_number_was_given_to_another_is_gone():
    other = dataclasses.replace(current(), pid=os.getppid(), start="1")

    assert is_gone(str(other)) is True


def test_a_process_of_an_earlier_boot_of_this_machine_is_gone(ended):
    assert is_gone(str(dataclasses.replace(current(), boot="0ther"))) is True


@pytest.mark.parametrize(
    "doubt", [{"host": "elsewhere"}, {"machine": "0ther"}, {"machine": ""}, {"pids": "1"}, {"pids": ""}, {"boot": ""}]
)
def test_in_doubt_nobody_is_gone(ended, doubt):
    assert is_gone(str(dataclasses.replace(ended, **doubt))) is False


def test_a_forked_child_is_another_owner(tmp_path):
    from .actors import Forked

    child = Forked(lambda: (tmp_path / "owner").write_text(str(current())))

    assert child.wait() == 0
    assert parse((tmp_path / "owner").read_text()).pid == child.pid != current().pid
