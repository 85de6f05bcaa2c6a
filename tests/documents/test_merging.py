"""The published laws of the merge, over random contents (I-50, I-51)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from documents.errors import Invalid
from documents.merging import ABSENT, ORDER, ByAttribute, ByKey, merge, same

SHAPE = ByAttribute("attributes")
VALUES = st.sampled_from(["", "x", "y", 0, 1, 1.0, True, None, ["a"]])


@st.composite
def contents(draw):
    ids = draw(st.permutations(["a", "b", "c", "d/~"]).map(lambda p: p[: draw(st.integers(0, 4))]))
    content = {
        name: draw(VALUES)
        for name in draw(st.permutations(["title", "note"]).map(lambda p: p[: draw(st.integers(0, 2))]))
    }
    if ids or draw(st.booleans()):
        content["attributes"] = [{"id": name, "v": draw(VALUES)} for name in ids]
    return content


def exactly(one, other):
    """The same values and the same order of everything."""
    import json

    return json.dumps(one) == json.dumps(other)


LAW = settings(max_examples=300, deadline=None)


@LAW
@given(contents())
def test_law_a_content_split_and_joined_is_itself(x):
    assert exactly(SHAPE.join(*SHAPE.split(x)), x)


@LAW
@given(contents(), contents())
def test_law_one_sided_work_is_taken_as_it_is(b, x):
    assert exactly(merge(SHAPE, b, x, b).content, x)
    assert exactly(merge(SHAPE, b, b, x).content, x)
    assert merge(SHAPE, b, x, b).open == merge(SHAPE, b, b, x).open == []


@LAW
@given(contents(), contents())
def test_law_agreement_is_no_conflict(b, x):
    merged = merge(SHAPE, b, x, x)

    assert exactly(merged.content, x)
    assert merged.open == []


@LAW
@given(contents(), contents(), contents())
def test_law_symmetric_up_to_labels(b, x, y):
    one, other = merge(SHAPE, b, x, y), merge(SHAPE, b, y, x)

    assert sorted(one.open) == sorted(other.open)
    assert {p.id for p in one.points} == {p.id for p in other.points}
    if not one.open:
        assert exactly(one.content, other.content)
    picks = dict.fromkeys(one.open, "theirs")
    mirrored = dict.fromkeys(one.open, "stored")
    assert exactly(merge(SHAPE, b, x, y, picks).content, merge(SHAPE, b, y, x, mirrored).content)


@LAW
@given(
    contents(),
    contents(),
    contents(),
    st.dictionaries(st.sampled_from(["/title", "/attributes/a", ORDER]), st.sampled_from(["stored", "theirs", "base"])),
)
def test_law_no_value_from_nowhere_whatever_is_picked(b, x, y, picks):
    copies = [SHAPE.split(one)[0] for one in (b, x, y)]

    result = SHAPE.split(merge(SHAPE, b, x, y, picks).content)[0]

    for name, value in result.items():
        assert any(same(copy.get(name, ABSENT), value) for copy in copies)


@LAW
@given(contents(), contents(), contents())
def test_law_what_all_agree_on_stays_and_what_one_deleted_and_nobody_edited_goes(b, x, y):
    (bv, _), (xv, _), (yv, _) = (SHAPE.split(one) for one in (b, x, y))

    result = SHAPE.split(merge(SHAPE, b, x, y).content)[0]

    for name in {*bv, *xv, *yv}:
        here, there, base = xv.get(name, ABSENT), yv.get(name, ABSENT), bv.get(name, ABSENT)
        if same(here, there):
            assert same(result.get(name, ABSENT), here)
        elif same(here, base) and name != "/attributes":  # the list stays as long as one of its items does
            assert same(result.get(name, ABSENT), there)


@LAW
@given(contents(), contents(), contents())
def test_law_every_open_point_is_shown_and_a_pick_for_each_closes_all(b, x, y):
    merged = merge(SHAPE, b, x, y)

    assert set(merged.open) - {ORDER} == {point.id for point in merged.points if point.conflict}
    assert merge(SHAPE, b, x, y, dict.fromkeys(merged.open, "stored")).open == []


def test_i50_deleted_here_and_edited_there_is_a_conflict():
    base = {"attributes": [{"id": "a", "v": 1}]}
    edited = {"attributes": [{"id": "a", "v": 2}]}

    merged = merge(SHAPE, base, {"attributes": []}, edited)

    assert merged.open == ["/attributes/a"]
    assert merge(SHAPE, base, {"attributes": []}, edited, {"/attributes/a": "theirs"}).content == edited
    assert merge(SHAPE, base, {"attributes": []}, edited, {"/attributes/a": "stored"}).content == {"attributes": []}


def test_the_order_is_merged_apart_from_the_values():
    def of(**items):
        return {"attributes": [{"id": name, "v": value} for name, value in items.items()]}

    merged = merge(SHAPE, of(a=1, b=2, c=3), of(c=3, a=1, b=2), of(a=1, b=9, n=0, c=3))

    assert exactly(merged.content, of(c=3, a=1, b=9, n=0))
    assert merged.open == []


def test_two_different_orders_are_a_point_of_their_own():
    merged = merge(ByKey(), {"a": 1, "b": 1, "c": 1}, {"b": 1, "a": 1, "c": 1}, {"a": 1, "c": 1, "b": 1})

    assert merged.open == [ORDER]


def test_a_base_nobody_knows_makes_every_difference_a_conflict():
    merged = merge(ByKey(), ABSENT, {"a": 1, "b": 1}, {"a": 2, "b": 1, "c": 3})

    assert merged.open == ["/a", "/c"]


@pytest.mark.parametrize(
    "content",
    [
        [],
        "x",
        {"attributes": {}},
        {"attributes": [{}]},
        {"attributes": [{"id": "a"}, {"id": "a"}]},
        {"attributes": [{"id": 1}]},
    ],
)
def test_i51_what_cannot_be_split_is_refused_with_its_place(content):
    with pytest.raises(Invalid):
        SHAPE.split(content)


def test_i51_an_attribute_may_be_called_id():
    assert merge(ByKey(), {"id": 1}, {"id": 2}, {"id": 1, "/": 5}).content == {"id": 2, "/": 5}
