"""A save sent as the values that changed is the same save: the same door, the same answers, the same repeats."""

import uuid
from datetime import timedelta

import pytest

import documents
from documents.door import alike, dump
from documents.models import Conflict, Revision
from documents.pruning import prune

from .client import Page
from .factories import Person, counts, head, save, stored

pytestmark = pytest.mark.django_db
CARD = {"title": "Ada", "attributes": [{"id": "a1", "v": 1}, {"id": "a/2", "v": 2.0}]}

BOOK = {
    "title": "T",
    "notes": "",
    "shelf": None,
    "price": "0",
    "published": None,
    "read_at": None,
    "length": None,
    "code": str(uuid.uuid4()),
    "copies": "1",
    "rating": 2.0,
    "lent": False,
    "extra": {},
}


@pytest.fixture
def ada():
    return Person(username="ada")


@pytest.fixture
def page(ada):
    stored(CARD, kind="card")
    return Page(ada)


def patch(page, changed, version=1, *, path="card/n/", headers=None, **more):
    body = {"expectedVersion": version, "saveId": str(uuid.uuid4()), "writer": "tab", "set": changed} | more
    return page.send("PATCH", path, body, **(headers or {}))


def put(page, content, version=1, **more):
    return page.put(content, version, "card/n/", **more)


def test_the_values_that_were_sent_take_the_place_of_the_old_ones_and_the_rest_stays(page):
    name = str(uuid.uuid4())

    answer = patch(page, {"/title": "Ada L.", "/attributes/a~12": {"id": "a/2", "v": None}}, saveId=name, reason="late")

    assert answer == (200, {"saveId": name, "savedVersion": 2, "headVersion": 2, "replayed": False})
    made = {"title": "Ada L.", "attributes": [{"id": "a1", "v": 1}, {"id": "a/2", "v": None}]}
    revision = Revision.objects.get(document__kind="card", version=2)
    assert revision.content == dump(made)
    assert (revision.by_name, revision.writer, revision.reason, revision.sent_digest) == ("ada", "tab", "late", "")


def test_a_read_says_how_a_page_names_the_attributes(page):
    stored("one", kind="note")
    page.put(BOOK, 0, "book/b/")

    assert page.get("card/n/")[1]["patch"] == {"list": "attributes", "id": "id"}
    assert page.get("book/b/")[1]["patch"] == {}
    assert page.get("note/n/")[1]["patch"] is None


@pytest.mark.parametrize(
    ("changed", "path"),
    [
        ({"/nothing": 1}, "/nothing"),
        ({"/nothing": None}, "/nothing"),
        ({"/title": "x", "/attributes/a9": {"id": "a9"}}, "/attributes/a9"),
        ({"/attributes/a1": {"id": "a9"}}, "/attributes/a1"),  # an attribute that renames itself
        ({"/attributes": [{"id": "a1", "v": 7}]}, "/attributes"),  # the list, which its items say already
        ({"/attributes": []}, "/attributes"),
        ({"title": "x"}, "title"),
        ({"/attributes/a1": {"id": "a/2"}}, "/attributes/1"),  # two of one name
        ({"/attributes/a1": 3}, "/attributes/0"),
    ],
)
def test_what_is_no_value_of_an_attribute_is_refused_with_its_place_and_nothing_is_written(page, changed, path):
    status, body = patch(page, changed)

    assert (status, body["code"], body["path"]) == (422, "invalid", path)
    assert body["errors"][0]["path"] == path
    assert head("card") == (1, CARD)


def test_it_says_to_send_the_whole_where_the_version_is_not_kept(page):
    put(page, CARD | {"title": "B"})
    put(page, CARD | {"title": "C"}, 2)
    list(prune(keep=1, older_than=timedelta(seconds=-5)))

    for version in (0, 1, 2, 9):
        status, body = patch(page, {"/title": "mine"}, version)
        assert (status, body["code"], body["path"]) == (422, "invalid", ""), version
        assert "send the whole content" in body["message"]
    assert patch(page, {"/title": "mine"}, 3)[0] == 200


def test_a_kind_that_does_not_merge_takes_none(page):
    stored({"a": 1})

    status, body = patch(page, {"/a": 2}, path="note/n/")

    assert (status, body["code"]) == (422, "invalid")
    assert "send the whole content" in body["message"]
    assert head() == (1, {"a": 1})


def test_the_values_pass_the_strict_door(page):
    for text in (
        '{"/title":1e999}',
        '{"/title":9007199254740993}',
        '{"/title":"a","/title":"b"}',
        '{"/title":"\\ud800"}',
    ):
        body = f'{{"expectedVersion":1,"saveId":"{uuid.uuid4()}","set":{text}}}'
        status, answer = page.send("PATCH", "card/n/", body)
        assert (status, answer["code"]) == (422, "unrepresentable"), text
    for wrong in ([], "x", None):
        assert patch(page, wrong)[1]["path"] == "/set"
    assert patch(page, {}, content={})[1]["code"] == "invalid_body"
    assert head("card") == (1, CARD)


def test_the_result_is_held_to_the_limits_not_only_what_was_sent(page, monkeypatch):
    kind = documents.kinds.kind_named("card")
    monkeypatch.setattr(kind, "max_bytes", len(dump(CARD)) + 10, raising=False)

    assert patch(page, {"/title": "x" * 12})[0] == 200
    status, body = patch(page, {"/title": "x" * 60}, 2)
    assert (status, body["code"], body["limit"]) == (413, "too_large", kind.max_bytes)


def test_a_stale_one_is_kept_whole_in_a_conflict(page):
    save(CARD | {"title": "theirs"}, 1, kind="card")

    status, body = patch(page, {"/attributes/a1": {"id": "a1", "v": 9}})

    assert (status, body["code"], body["headVersion"]) == (409, "version_conflict", 2)
    kept = Conflict.objects.get(pk=body["conflictId"])
    assert kept.theirs == dump(CARD | {"attributes": [{"id": "a1", "v": 9}, {"id": "a/2", "v": 2.0}]})
    assert patch(page, {"/title": "x"}, None, headers={"If-Match": '"1"'})[0] == 412


def test_its_repeat_as_a_whole_is_known_though_a_browser_spells_it_otherwise(page):
    name = str(uuid.uuid4())
    patch(page, {"/title": "Ada L."}, saveId=name)
    # 2.0 is 2 in a browser, and a page may write its members in an order of its own.
    whole = {"attributes": [{"v": 1, "id": "a1"}, {"id": "a/2", "v": 2}], "title": "Ada L."}

    status, body = put(page, whole, saveId=name)

    assert (status, body) == (200, {"saveId": name, "savedVersion": 2, "headVersion": 2, "replayed": True})
    assert patch(page, {"/title": "Ada L."}, saveId=name)[1]["replayed"] is True
    for other in (whole | {"title": "Bob"}, whole | {"attributes": whole["attributes"][::-1]}):
        assert put(page, other, saveId=name)[1]["code"] == "save_id_reused"
    assert patch(page, {"/title": "Bob"}, saveId=name)[1]["code"] == "save_id_reused"
    page.client.force_login(Person(username="bob"))
    assert put(page, whole, saveId=name)[1]["code"] == "save_id_reused"
    assert counts("card") == (2, 0)


def test_a_repeat_in_another_spelling_is_not_known_once_the_content_is_gone(page):
    name = str(uuid.uuid4())
    patch(page, {"/title": "B"}, saveId=name)
    put(page, CARD, 2)
    list(prune(keep=1, older_than=timedelta(seconds=-5)))

    assert put(page, {"attributes": CARD["attributes"], "title": "B"}, saveId=name)[1]["code"] == "save_id_reused"
    whole = f'{{"expectedVersion":1,"saveId":"{name}","content":{dump(CARD | {"title": "B"})}}}'
    assert page.send("PUT", "card/n/", whole)[1]["replayed"] is True


def test_a_deletion_is_not_taken_for_a_save_of_the_same_id(page):
    stored({"a": 1})
    name = str(uuid.uuid4())
    page.send("DELETE", "note/n/", {"expectedVersion": 1, "saveId": name})

    assert page.put({"a": 1}, 1, saveId=name)[1]["code"] == "save_id_reused"
    stored({"a": 1}, key="m")
    page.put({"a": 2}, 1, "note/m/", saveId=name)
    assert page.send("DELETE", "note/m/", {"expectedVersion": 1, "saveId": name})[1]["code"] == "save_id_reused"


def test_the_repeat_of_a_refused_one_that_was_settled_opens_no_second_conflict(page, ada):
    save(CARD | {"title": "theirs"}, 1, kind="card")
    name = str(uuid.uuid4())
    kept = patch(page, {"/title": "mine"}, saveId=name)[1]["conflictId"]
    documents.settle(kept, choice="keep_stored", expected_version=2, expected_changes=1, by=ada)

    status, body = put(page, {"attributes": CARD["attributes"], "title": "mine"}, saveId=name)

    assert (status, body["conflictId"]) == (409, kept)
    assert counts("card") == (2, 1)
    other = put(page, CARD | {"title": "more"}, saveId=name)
    assert other[1]["conflictId"] != kept


def test_a_row_of_a_model_takes_one_and_its_clean_spelling_is_the_same_repeat(page):
    name = str(uuid.uuid4())
    page.put({**BOOK, "price": "1.5"}, 0, "book/b/")
    whole = page.get("book/b/")[1]["content"]

    assert patch(page, {"/price": "2.50"}, path="book/b/", saveId=name)[0] == 200

    status, body = page.put({**whole, "price": "2.5"}, 1, "book/b/", saveId=name)
    assert (status, body["replayed"]) == (200, True)
    assert head("book", "b")[1] == whole | {"price": "2.50"}


def test_the_same_people_may_send_one_who_may_send_the_whole_and_see_what_it_is_made_from(page, monkeypatch):
    for name in ("stranger", "reader"):
        status, body = patch(Page(Person(username=name)), {"/title": "x"})
        assert (status, body["code"]) == (403, "forbidden")
    assert patch(Page(), {"/title": "x"})[0] == 401
    strict = Page(Person(username="ada"), enforce_csrf_checks=True)
    assert patch(strict, {"/title": "x"})[1]["code"] == "csrf_failed"

    kind = documents.kinds.kind_named("card")
    monkeypatch.setattr(kind, "can_read", lambda user, key: False, raising=False)
    assert patch(page, {"/title": "x"})[1]["code"] == "forbidden"
    assert put(page, CARD | {"title": "blind"})[0] == 200


def test_the_other_refusals_are_those_of_a_whole_save(page):
    assert patch(page, {"/title": "x"}, schema=2)[1]["code"] == "schema_changed"
    assert patch(page, {"/title": "x"}, None)[1]["code"] == "version_required"
    assert patch(page, {"/title": "x"}, document="card/other")[1]["path"] == "/document"
    documents.delete("card", "n", expected_version=1)
    assert patch(page, {"/title": "x"})[1]["code"] == "gone"


@pytest.mark.parametrize(
    ("one", "other", "is_so"),
    [
        ("1.0", "1", True),
        ('{"a":1,"b":[1e2]}', '{"b":[100],"a":1.0}', True),
        ("-0.0", "0", True),
        ("1e-7", "0.0000001", True),
        ("1", "true", False),
        ("[1,2]", "[2,1]", False),
        ("null", "0", False),
        ('"1"', "1", False),
        ('{"a":null}', "{}", False),
    ],
)
def test_two_spellings_are_alike_where_a_browser_reads_one_value(one, other, is_so):
    assert alike(one, other) is is_so
