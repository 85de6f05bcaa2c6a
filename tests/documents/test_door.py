"""The JSON door: equal or refused, with the place (S10, C68, C69, I-33, I-34)."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from documents.door import dump, read_text, read_value
from documents.envelope import members
from documents.errors import InvalidBody, TooLarge, Unrepresentable
from documents.strict import Limits

LIMITS = Limits(max_bytes=10_000, max_depth=10)
BIG = Limits(max_bytes=10_000, max_depth=10, big_integers=True)


def refused(text, limits=LIMITS):
    with pytest.raises(Unrepresentable) as refusal:
        read_text(text, limits)
    return refusal.value.details["path"]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ('{"v":NaN}', "/v"),
        ("[1,-Infinity]", "/1"),
        ('{"a":{"b":"x\\u0000y"}}', "/a/b"),
        ('{"\\u0000":1}', ""),
        ('["ok","\\ud83d"]', "/1"),
        ('["\\ude00\\ud83d"]', "/0"),
        ('{"id":9007199254740993}', "/id"),
        ('{"id":-9007199254740992}', "/id"),
        ('{"n":1e400}', "/n"),
        ('{"n":0.12345678901234567890}', "/n"),
        ('{"n":1234567890.1234567891}', "/n"),
        ('{"n":9007199254740993.0}', "/n"),
        ('{"n":123e20000}', "/n"),
        ('{"a":1,"b":{"x":1,"x":2}}', "/b/x"),
        ('{"a":1, "a" : 2}', "/a"),
        ('{"a" :1,"a":"\\":"}', "/a"),
        ('{"a/b~c":NaN}', "/a~1b~0c"),
        ("[" * 11 + "]" * 11, ""),
        ("[" * 4500 + "]" * 4500, ""),
        ("1" * 5000, ""),
        ('{"n":' + "1" * 400 + "}", "/n"),
    ],
)
def test_c68_i34_what_would_not_come_back_is_refused_with_its_place(text, path):
    assert refused(text) == path


@pytest.mark.parametrize(
    "text",
    [
        '"\\\\u0000 is six characters"',
        '"\\\\ud83d too"',
        '"\U0001f600"',
        '"\\ud83d\\ude00"',
        '"é (composed)"',
        '"e\u0301 (decomposed)"',
        '"line\u2028separator"',
        '""',
        '{"10":1,"2":2,"1":3}',
        '{ "spaced" : [ 1 , 2 ] }',
        "[1.0,1e5,-0,0.1,5e-324,1.7976931348623157e308,0.30000000000000004,100000000000000000000.0]",
        "[9007199254740991,-9007199254740991,1e21]",
        '{"crlf":"a\\r\\nb"}',
        '{"in a string":"\\":\\":", "NaN":"Infinity 1e400 12345678901234567890"}',
        "null",
        "false",
        "[" * 10 + "]" * 10,
    ],
)
def test_c68_what_json_can_say_is_kept_to_the_byte(text):
    assert read_text(text, LIMITS).text == text


def test_c69_a_kind_with_big_integers_keeps_them():
    assert read_text('{"id":9007199254740993}', BIG).value == {"id": 9007199254740993}
    assert refused('{"a":{"id":9007199254740993,"n":NaN}}', BIG) == "/a/n"


def test_a_text_that_is_no_json_is_an_invalid_body():
    for text in ("", "{", "{'a':1}", "[1,]", '"\t"', "\ufeff1", "1 2"):
        with pytest.raises(InvalidBody):
            read_text(text, LIMITS)


def test_the_limit_counts_bytes_not_characters():
    with pytest.raises(TooLarge) as refusal:
        read_text('"' + "\U0001f600" * 2500 + '"', LIMITS)

    assert refusal.value.details == {"size": 10_002, "limit": 10_000}


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({1: "a"}, ""),
        ({"a": (1, 2)}, "/a"),
        ({"a": [1, {2}]}, "/a/1"),
        ([float("nan")], "/0"),
        ({"a": "\ud83d"}, "/a"),
        ({"\ud83d": 1}, ""),
        ({"a": "\0"}, "/a"),
        ({"a": b"x"}, "/a"),
        ({"a": 2**53}, "/a"),
        ({"a": 10**5000}, ""),
    ],
)
def test_a_python_value_that_json_would_change_is_refused(value, path):
    with pytest.raises(Unrepresentable) as refusal:
        read_value(value, LIMITS)
    assert refusal.value.details["path"] == path


def test_a_python_value_that_contains_itself_is_refused():
    value = []
    value.append(value)
    with pytest.raises(Unrepresentable):
        read_value(value, LIMITS)


def test_members_keep_the_exact_text_of_each_value():
    found = members(' {"content" : { "a":1.0 } ,"n":null}\n', LIMITS)

    assert found == {"content": ('{ "a":1.0 }', {"a": 1.0}), "n": ("null", None)}
    assert members("{}", LIMITS) == {}


@pytest.mark.parametrize(
    "body", ["", "[]", "1", "{", '{"a"}', '{"a":1', '{"a":1,}', '{"a":1}x', '{"a":1,"a":2}', "{a:1}", '{"a":1 "b":2}']
)
def test_members_of_what_is_no_object_are_refused(body):
    with pytest.raises(InvalidBody):
        members(body, LIMITS)


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters())
TREES = st.recursive(
    SCALARS, lambda t: st.lists(t, max_size=4) | st.dictionaries(st.text(st.characters()), t, max_size=4)
)


def a_browser_keeps(value):
    """What JavaScript would still hold, by our own knowledge of it: an oracle apart from the door."""
    if isinstance(value, bool) or value is None:
        return True
    if isinstance(value, int):
        return abs(value) < 2**53
    if isinstance(value, float):
        return value == value and abs(value) != float("inf")
    if isinstance(value, str):
        return "\0" not in value and not any(0xD800 <= ord(c) < 0xE000 for c in value)
    if isinstance(value, dict):
        return all(a_browser_keeps(k) and a_browser_keeps(v) for k, v in value.items())
    return all(a_browser_keeps(v) for v in value)


@settings(max_examples=400, deadline=None)
@given(TREES)
def test_any_value_comes_back_equal_or_is_refused(value):
    try:
        content = read_value(value, LIMITS)
    except Unrepresentable:
        assert not a_browser_keeps(value)
    else:
        assert a_browser_keeps(value)
        assert json.loads(content.text) == value


@settings(max_examples=300, deadline=None)
@given(TREES.filter(a_browser_keeps), st.booleans(), st.sampled_from([None, 1, " "]))
def test_any_text_of_a_good_value_passes_untouched_however_it_is_written(value, ascii_only, indent):
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)

    assert read_text(text, LIMITS).text == text


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(st.text('ab":\\ ', max_size=3), st.text('":\\ x', max_size=4)), max_size=5),
    st.sampled_from([":", " :", ": "]),
)
def test_a_key_given_twice_is_always_seen(pairs, colon):
    text = "{" + ",".join(f"{dump(k)}{colon}{dump(v)}" for k, v in pairs) + "}"

    if len({key for key, _ in pairs}) == len(pairs):
        assert read_text(text, LIMITS).text == text
    else:
        refused(text)


def test_half_a_character_in_a_python_text_is_refused_with_its_place_or_as_no_json():
    assert refused('{"a":"\ud83d"}') == "/a"
    with pytest.raises(InvalidBody):
        read_text('{"a":"\ud83d"', LIMITS)
