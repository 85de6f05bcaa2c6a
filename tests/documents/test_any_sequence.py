"""Any sequence of saves, repeats, settlements, deletions and restores by any writers keeps the truths (D1, D2, D5)."""

import itertools
import json
import uuid

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

import documents
from documents.models import Conflict, Document, Revision

from . import oracle
from .factories import Person

WRITERS = st.sampled_from(["ada:1", "ada:2", "bob:1"])


class Desk(RuleBasedStateMachine):
    """A model beside the real thing: every token that was ever sent, and where it must be found."""

    def __init__(self):
        super().__init__()
        for model in (Conflict, Revision, Document):
            model.objects.all().delete()
        self.numbers = itertools.count(1)
        self.people = {name: Person(username=name) for name in ("ada", "bob")}
        self.seen = dict.fromkeys(["ada:1", "ada:2", "bob:1"], 0)  # the version each page shows
        self.sent = []  # (save id, writer, base, content, outcome)
        self.stored, self.kept = set(), {}  # tokens in revisions; conflict → token of the newest copy

    def head(self):
        return Document.objects.values_list("version", flat=True).first() or 0

    def put(self, writer, base, content, save_id):
        return documents.save(
            "note", "n", content, expected_version=base, save_id=save_id, writer=writer, by=self.people[writer[:3]]
        )

    @rule(writer=WRITERS)
    def save(self, writer):
        base, save_id = self.seen[writer], uuid.uuid4()
        content = oracle.edit(f"t{next(self.numbers)}", base)
        try:
            outcome = self.put(writer, base, content, save_id)
        except documents.Gone:
            assert Document.objects.get().deleted_at is not None
            return
        self.sent.append((save_id, writer, base, content, outcome))
        if isinstance(outcome, documents.Saved):
            assert outcome.version == base + 1, "a save wins only on the version it had seen"
            self.stored.add(content["token"])
            self.seen[writer] = outcome.version
        else:
            assert base != outcome.head_version
            self.kept[outcome.conflict_id] = content["token"]

    @rule(data=st.data())
    def repeat(self, data):
        if not self.sent:
            return
        save_id, writer, base, content, before = data.draw(st.sampled_from(self.sent))
        if not isinstance(before, documents.Saved):
            return
        outcome = self.put(writer, base, content, save_id)
        assert (type(outcome), outcome.version) == (documents.Replayed, before.version)

    @rule(writer=WRITERS)
    def read(self, writer):
        self.seen[writer] = self.head()

    @rule(data=st.data(), choice=st.sampled_from(["keep_stored", "take_theirs"]), late=st.booleans())
    def settle(self, data, choice, late):
        if not self.kept:
            return
        pk = data.draw(st.sampled_from(sorted(self.kept)))
        conflict = Conflict.objects.get(pk=pk)
        version = self.head() - (1 if late else 0)
        outcome = documents.settle(pk, choice=choice, expected_version=version, expected_changes=conflict.changes)
        if conflict.settled_at is not None:
            assert isinstance(outcome, documents.SettledBefore)
        elif late:
            assert isinstance(outcome, documents.MovedOn)
        else:
            assert isinstance(outcome, documents.Settled)
            if choice == "take_theirs":
                self.stored.add(self.kept[pk])

    @rule(late=st.booleans())
    def delete(self, late):
        version = self.head() - (1 if late else 0)
        if version < 1:
            return
        try:
            outcome = documents.delete("note", "n", expected_version=version)
        except documents.Gone:
            return
        assert isinstance(outcome, documents.Moved if late else documents.Saved)

    @rule(data=st.data())
    def restore(self, data):
        versions = list(Revision.objects.exclude(content="").values_list("version", flat=True))
        if versions:
            outcome = documents.restore("note", "n", data.draw(st.sampled_from(versions)), expected_version=self.head())
            assert isinstance(outcome, documents.Saved)

    @invariant()
    def nothing_is_lost_and_nothing_overwritten(self):
        if not Document.objects.exists():
            return
        stored, _ = oracle.check()
        assert self.stored <= set(stored)
        for pk, token in self.kept.items():
            assert json.loads(Conflict.objects.get(pk=pk).theirs)["token"] == token
        assert Conflict.objects.count() == len(self.kept)


class AnySequence(TestCase):
    def test_any_sequence_keeps_the_truths(self):
        quick = settings(
            max_examples=25, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
        )
        run_state_machine_as_test(Desk, settings=quick)


pytestmark = pytest.mark.django_db
