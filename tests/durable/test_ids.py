"""Ids: of version 7, in the order of time, one by one and many at a time."""

import time
import uuid

import pytest

from durable.ids import uuid7, uuid7_texts


@pytest.mark.parametrize("make", [lambda: [uuid7() for _ in range(2_000)], lambda: uuid7_texts(2_000)])
def test_an_id_is_of_version_7_tells_its_millisecond_and_is_not_made_twice(make):
    before = time.time_ns() // 1_000_000
    made = [uuid.UUID(str(one)) for one in make()]
    after = time.time_ns() // 1_000_000

    assert {(one.version, one.variant) for one in made} == {(7, uuid.RFC_4122)}
    assert all(before <= one.int >> 80 <= after for one in made)
    assert len(set(made)) == 2_000
    for bit in (*range(62), *range(64, 76)):  # each random bit is one as often as not
        assert 800 < sum(one.int >> bit & 1 for one in made) < 1_200


def test_ids_made_at_a_time_are_in_their_order_and_written_as_a_uuid_is():
    made = uuid7_texts(1_000)

    assert made == sorted(made)
    assert all(str(uuid.UUID(one)) == one for one in made)
    assert uuid7_texts(0) == []
