"""The HTTP protocol: each code, in its order, as JSON (C62, C65, C68, C69, I-14, I-17, I-28 to I-36)."""

import json
import uuid

import pytest
from django.contrib.auth.models import Permission
from django.db import OperationalError
from django.middleware.csrf import rotate_token
from django.test import RequestFactory

from documents.models import Conflict, Document

from .client import Page
from .factories import Person, counts, head, save, stored

pytestmark = pytest.mark.django_db
PATHS = ["note/n/", "note/n/revisions/", "note/n/conflicts/", "nobody/n/"]


@pytest.fixture
def ada():
    return Person(username="ada")


@pytest.fixture
def page(ada):
    return Page(ada)


def test_a_first_save_is_201_and_the_next_200_and_neither_carries_content(page):
    name = str(uuid.uuid4())

    assert page.put("one", 0, saveId=name) == (
        201,
        {"saveId": name, "savedVersion": 1, "headVersion": 1, "replayed": False},
    )
    status, body = page.put("two", 1)

    assert (status, body["savedVersion"], page.last["ETag"]) == (200, 2, '"2"')
    assert "content" not in body


def test_a_read_gives_the_exact_text_and_who_and_when(page):
    text = '{ "10":1,"2" : 1.0, "t":"e\\u0301 \\ud83d\\ude00" }'
    page.send("PUT", "note/n/", f'{{"expectedVersion":0,"saveId":"{uuid.uuid4()}","content":{text}}}')

    status, body = page.get()

    assert status == 200
    assert f'"content":{text},'.encode() in page.last.content
    assert (body["version"], body["by"], body["schema"], body["merges"], body["deleted"]) == (1, "ada", 1, False, False)
    assert (page.last["ETag"], page.last["Cache-Control"]) == ('"1"', "private, no-cache")
    assert page.get(If_None_Match='"1"') == (304, None)


def test_a_stale_save_is_409_with_the_stored_content_and_the_conflict_is_kept(page):
    stored("new", versions=2, by=Person(username="bob"))

    status, body = page.put("mine", 1)

    assert status == 409
    assert (body["code"], body["expectedVersion"], body["headVersion"]) == ("version_conflict", 1, 2)
    assert (body["stored"]["content"], body["stored"]["by"]) == ("new", "bob")
    assert str(Conflict.objects.get().pk) == body["conflictId"]


def test_if_match_is_an_alias_and_answers_412(page):
    stored("new", versions=2)
    body = {"saveId": str(uuid.uuid4()), "content": "mine"}

    assert page.send("PUT", "note/n/", body, If_Match='"1"')[0] == 412
    assert page.send("PUT", "note/n/", body | {"saveId": str(uuid.uuid4())}, If_Match='"2"')[0] == 200
    assert page.send("PUT", "note/m/", body, If_None_Match="*")[0] == 201
    assert (
        page.send("PUT", "note/m/", body | {"saveId": str(uuid.uuid4()), "content": "x"}, If_None_Match="*")[0] == 412
    )
    for bad in ("*", 'W/"2"', '"2", "3"', "2", '"x"', '"٣"', '"' + "9" * 40 + '"'):
        assert page.send("PUT", "note/n/", body, If_Match=bad)[1]["code"] == "invalid_version"
    assert page.put("x", 3, headers={"If_Match": '"2"'})[1]["code"] == "invalid_version"


@pytest.mark.parametrize("version", ["1", 1.0, True, -1, 2**63, [1], {}])
def test_a_version_is_strictly_an_integer(page, version):
    status, body = page.put("x", version)

    assert (status, body["code"]) == (400, "invalid_version")


def test_i14_a_write_without_a_version_is_428_at_every_address(page):
    stored(versions=2)
    conflict = save("c", 1, by=Person(username="ada")).conflict_id
    body = {"saveId": str(uuid.uuid4())}

    for method, path, more in [
        ("PUT", "note/n/", {"content": "x"}),
        ("DELETE", "note/n/", {}),
        ("POST", "note/n/restore/", {"version": 1}),
        ("POST", f"note/n/conflicts/{conflict}/settle/", {"choice": "keep_stored", "changes": 1}),
    ]:
        status, answer = page.send(method, path, body | more)
        assert (status, answer["code"]) == (428, "version_required"), path


def test_i13_a_stale_version_is_409_at_every_address_that_writes(page):
    stored(versions=3)
    conflict = save("c", 1, by=Person(username="ada")).conflict_id

    for method, path, more in [
        ("PUT", "note/n/", {"content": "x"}),
        ("DELETE", "note/n/", {}),
        ("POST", "note/n/restore/", {"version": 1}),
        ("POST", f"note/n/conflicts/{conflict}/settle/", {"choice": "take_theirs", "changes": 1}),
    ]:
        status, answer = page.send(method, path, {"saveId": str(uuid.uuid4()), "expectedVersion": 2} | more)
        assert (status, answer["headVersion"]) == (409, 3), path
    assert head() == (3, "one")


def test_c59_a_lost_answer_is_replayed(page):
    name = str(uuid.uuid4())
    page.put("one", 0, saveId=name)
    page.put("two", 1)

    status, body = page.put("one", 0, saveId=name)

    assert (status, body) == (200, {"saveId": name, "savedVersion": 1, "headVersion": 2, "replayed": True})
    assert page.put("other", 2, saveId=name)[1]["code"] == "save_id_reused"


def test_i28_c70_nobody_is_answered_401_json_at_every_address_and_learns_nothing():
    stored()
    page = Page()

    for path in [*PATHS, "note/absent/", f"note/n/conflicts/{uuid.uuid4()}/"]:
        status, body = page.get(path)
        assert (status, body["code"]) == (401, "login_required")
        assert page.last["Content-Type"] == "application/json"
        assert "ETag" not in page.last
    assert page.put("x", 0)[0] == 401


def test_i32_permission_is_refused_before_anything_is_said():
    stored()
    page = Page(Person(username="stranger"))
    answers = [page.put("x", version, path)[:2] for version in (0, 1, 7) for path in ("note/n/", "note/absent/")]

    assert all(status == 403 and body["code"] == "forbidden" for status, body in answers)
    assert len({json.dumps(body) for _, body in answers}) == 1
    assert "ETag" not in page.last
    assert not Conflict.objects.exists()
    assert [page.get(path)[0] for path in PATHS] == [403, 403, 403, 404]


def test_a_reader_may_read_and_not_write():
    stored()
    page = Page(Person(username="reader"))

    assert page.get()[0] == 200
    assert page.put("x", 1)[0] == 403
    assert page.post("note/n/restore/", expectedVersion=1, version=1)[0] == 403


def test_c62_a_deleted_document_is_gone_for_every_save_and_its_history_stays(page):
    stored("text", versions=2)

    status, body = page.send("DELETE", "note/n/", {"expectedVersion": 2, "saveId": str(uuid.uuid4())})

    assert (status, body["savedVersion"]) == (200, 3)
    for answer in (page.get(), page.put("late", 2), page.put("late", 0), page.put("late", 3)):
        assert (answer[0], answer[1]["code"]) == (410, "gone")
    assert page.get("note/n/revisions/")[1]["revisions"][0]["action"] == "delete"
    assert page.post("note/n/restore/", expectedVersion=3, version=2)[0] == 200
    assert page.get()[1]["content"] == "text"


def test_deleting_needs_its_own_permission_and_the_seen_version(page):
    stored(versions=2)
    body = {"expectedVersion": 1, "saveId": str(uuid.uuid4())}

    assert Page(Person(username="bob")).send("DELETE", "note/n/", body)[0] == 403
    assert page.send("DELETE", "note/n/", body)[1]["conflictId"] is None
    assert not Conflict.objects.exists()


def test_what_never_was_is_404(page):
    stored()
    for path in (
        "note/absent/",
        "nobody/n/",
        "note/n/revisions/9/",
        f"note/n/revisions/{'9' * 30}/",
        "note/absent/revisions/",
    ):
        assert (page.get(path)[0], page.get(path)[1]["code"]) == (404, "not_found"), path
    for path in ("note", "note/n", "note/n/nothing/", "note/n/conflicts/x/"):
        assert page.put("x", 0, path)[1]["code"] == "not_found"
    assert page.put("x", 4, "note/absent/")[0] == 404
    assert page.put("x", 0, f"note/{'k' * 201}/")[0] == 404


@pytest.mark.parametrize(("size", "status"), [(100, 201), (101, 413), (20_000, 413), (3_000_000, 413)])
def test_c65_i36_too_large_is_json_with_the_limit(page, size, status):
    answer, body = page.put("x" * (size - 2), 0, "tiny/n/")

    assert answer == status
    if status == 413:
        assert (body["code"], body["limit"]) == ("too_large", 100)


def test_i36_the_limit_of_the_site_is_below_djangos(page, settings):
    assert page.put("x" * 1_999_998, 0)[0] == 201
    assert page.put("x" * 2_600_000, 1)[1]["limit"] == 2_000_000
    assert page.put("x" * 4_000_000, 0, "big/n/")[0] == 201  # its kind says so; Django's own limit is not ours
    assert settings.DATA_UPLOAD_MAX_MEMORY_SIZE > 2_000_000


@pytest.mark.parametrize(
    ("content", "path"),
    [
        ('{"v":NaN}', "/v"),
        ('["a\\u0000b"]', "/0"),
        ('"\\ud83d"', ""),
        ('{"id":9007199254740993}', "/id"),
        ('{"a":1,"a":1}', "/a"),
    ],
)
def test_c68_c69_what_would_not_come_back_is_422_with_the_path_and_nothing_is_written(page, content, path):
    status, body = page.send("PUT", "note/n/", f'{{"expectedVersion":0,"saveId":"{uuid.uuid4()}","content":{content}}}')

    assert (status, body["code"], body["path"]) == (422, "unrepresentable", path)
    assert not Document.objects.exists()


def test_c69_a_kind_with_big_integers_gives_them_back_digit_by_digit(page):
    page.put({"id": 9007199254740993, "t": "x"}, 0, "big/n/")

    assert b'"id": 9007199254740993' in page.client.get("/documents/big/n/").content


@pytest.mark.parametrize(
    "body",
    [
        "",
        "[]",
        "{",
        b'{"a":"\xff"}',
        '{"expectedVersion":0,"content":1}',
        '{"expectedVersion":0,"saveId":"x","content":1}',
        '{"expectedVersion":0,"saveId":"5b0e4a3c-8a44-4c8e-9f52-8f1f0d3a6c11"}',
        '{"expectedVersion":0,"saveId":"5b0e4a3c-8a44-4c8e-9f52-8f1f0d3a6c11","content":1,"force":true}',
        '{"expectedVersion":0,"saveId":"5b0e4a3c-8a44-4c8e-9f52-8f1f0d3a6c11","content":1,"writer":5}',
        '{"expectedVersion":0,"saveId":"5b0e4a3c-8a44-4c8e-9f52-8f1f0d3a6c11","content":1,"writer":"\\ud800"}',
        '{"expectedVersion":0,"saveId":"5b0e4a3c-8a44-4c8e-9f52-8f1f0d3a6c11","content":1,"\\ud800":1}',
        '{"expectedVersion":0,"saveId":"5b0e4a3c-8a44-4c8e-9f52-8f1f0d3a6c11","content":1,"schema":"1"}',
        '{"expectedVersion":0,"saveId":"5b0e4a3c-8a44-4c8e-9f52-8f1f0d3a6c11","content":1,"document":"note/m"}',
    ],
)
def test_i17_a_body_that_is_not_a_save_of_this_document_is_400(page, body):
    status, answer = page.send("PUT", "note/n/", body)

    assert (status, answer["code"]) == (400, "invalid_body")
    assert not Document.objects.exists()


def test_a_body_names_its_document_and_a_form_is_no_body(page):
    assert page.put("x", 0, document="note/n")[0] == 201
    assert (
        page.send("PUT", "note/n/", "a=1", content_type="application/x-www-form-urlencoded")[1]["code"]
        == "invalid_body"
    )


def test_i39_the_kind_normalises_and_refuses_with_a_path(page):
    assert page.put({"title": " Plan "}, 0, "trimmed/n/")[1]["normalised"] == {"title": "Plan"}
    status, body = page.put({"title": ""}, 1, "trimmed/n/")
    assert (status, body["code"], body["path"]) == (422, "invalid", "/title")


def test_i32a_a_page_of_an_older_schema_is_told_to_load_anew(page):
    assert page.put("x", 0, "second/n/")[1]["code"] == "schema_changed"
    assert page.put("x", 0, "second/n/", schema=1)[1]["schema"] == 2
    assert page.put("x", 0, "second/n/", schema=3)[0] == 409
    assert page.put("x", 0, "second/n/", schema=2)[0] == 201
    assert not Conflict.objects.exists()


def test_too_many_saves_are_429_with_retry_after(page):
    status, body = page.put("x", 0, "tiny/tired/")

    assert (status, body["code"], page.last["Retry-After"]) == (429, "rate_limited", "7")


def test_a_busy_database_is_503_with_retry_after(page, monkeypatch):
    def swap(*args, **kwargs):
        raise OperationalError("database is locked")

    monkeypatch.setattr("documents.saving.swap", swap)
    status, body = page.put("x", 0)

    assert (status, body["code"], page.last["Retry-After"]) == (503, "busy", "1")


def test_i29_a_rotated_token_is_csrf_failed_json_and_a_fresh_one_works_with_the_same_save_id(ada):
    page, name = Page(ada, enforce_csrf_checks=True), str(uuid.uuid4())
    token = page.get("csrf/")[1]["csrfToken"]
    assert page.put("one", 0, headers={"X_CSRFToken": token})[0] == 201

    request = RequestFactory().get("/")
    rotate_token(request)
    page.client.cookies["csrftoken"] = request.META["CSRF_COOKIE"]
    status, body = page.put("two", 1, saveId=name, headers={"X_CSRFToken": token})

    assert (status, body["code"]) == (403, "csrf_failed")
    token = page.get("csrf/")[1]["csrfToken"]
    assert page.put("two", 1, saveId=name, headers={"X_CSRFToken": token})[0] == 200


def test_i29_tokens_may_live_in_the_session(ada, settings):
    settings.CSRF_USE_SESSIONS = True
    page = Page(ada, enforce_csrf_checks=True)

    assert page.put("one", 0)[1]["code"] == "csrf_failed"
    token = page.get("csrf/")[1]["csrfToken"]
    assert page.put("one", 0, headers={"X_CSRFToken": token})[0] == 201
    assert page.last.cookies.get("csrftoken") is None


def test_an_expired_session_is_401_even_where_the_token_is_old_too():
    assert Page(enforce_csrf_checks=True).put("x", 0)[0] == 401


def test_i30_c71_another_login_is_noticed_before_anything_is_read(ada):
    page, other = Page(ada), Page(Person(username="bob"))
    page.put("ada's", 0)
    tag = page.last["Documents-User"]

    assert other.put("ada's draft", 1, headers={"Documents_User": tag})[1]["code"] == "other_user"
    assert other.get(Documents_User=tag)[1]["code"] == "other_user"
    assert page.put("more", 1, headers={"Documents_User": tag})[0] == 200
    assert head() == (2, "more")
    assert other.get("csrf/")[1]["user"] != tag


def test_an_address_says_which_methods_it_knows(page):
    status, body = page.send("POST", "note/n/", {})

    assert (status, body["code"], page.last["Allow"]) == (405, "method_not_allowed", "DELETE, GET, HEAD, PATCH, PUT")
    assert page.post("csrf/")[0] == 405


def test_head_is_get_without_a_body(page):
    stored()

    assert page.send("HEAD", "note/n/") == (200, None)
    assert page.last["ETag"] == '"1"'


def test_history_is_listed_folded_and_paged(page, settings):
    settings.DOCUMENTS = {"PAGE": 3}
    for version in range(5):
        page.put({"v": version}, version)

    _, first = page.get("note/n/revisions/?fold=0")
    _, rest = page.get(f"note/n/revisions/?fold=0&before={first['before']}")
    _, folded = page.get("note/n/revisions/")

    assert [line["version"] for line in first["revisions"] + rest["revisions"]] == [5, 4, 3, 2, 1]
    assert rest["before"] is None
    assert [(line["version"], line["saves"]) for line in folded["revisions"]] == [(5, 3)]
    assert page.get("note/n/revisions/?before=x")[0] == 400
    assert page.get("note/n/revisions/2/")[1]["content"] == {"v": 1}


def test_two_versions_are_compared_word_by_word(page):
    page.put({"a": "one two three", "b": 1}, 0)
    page.put({"a": "one 2 three", "b": 1}, 1)

    _, body = page.get("note/n/diff/?from=1&to=2")

    [place] = body["places"]
    assert place["label"] == "/a"
    assert place["from"] == [
        {"mark": "same", "text": "one "},
        {"mark": "del", "text": "two"},
        {"mark": "same", "text": " three"},
    ]
    assert place["to"][1] == {"mark": "ins", "text": "2"}
    assert page.get("note/n/diff/?from=1&to=9")[0] == 404


def test_c60_a_restore_of_a_page_loaded_earlier_is_409(page):
    stored("new", versions=6)

    status, body = page.post("note/n/restore/", expectedVersion=5, version=2)

    assert (status, body["code"], body["headVersion"]) == (409, "version_conflict", 6)
    assert head() == (6, "new")


def conflict_of(page):
    stored("new", versions=2)
    return page.put("mine", 1)[1]["conflictId"]


def test_i53_an_author_sees_their_conflict_and_writes_on_in_it(page):
    pk = conflict_of(page)

    _, body = page.get(f"note/n/conflicts/{pk}/")
    assert (body["base"], body["theirs"], body["stored"]["content"], body["points"]) == (
        {"step": 0},
        "mine",
        "new",
        None,
    )
    assert page.send("PUT", f"note/n/conflicts/{pk}/", {"content": "mine, more", "saveId": str(uuid.uuid4())}) == (
        200,
        {"conflictId": pk, "changes": 2},
    )
    assert [one["conflictId"] for one in page.get("note/n/conflicts/")[1]["conflicts"]] == [pk]
    assert page.get()[1]["openConflicts"][0]["conflictId"] == pk


def test_i48_nobody_else_sees_it_and_staff_with_the_permission_do(page):
    pk = conflict_of(page)
    bob, staff = Person(username="bob"), Person(username="staff")
    staff.user_permissions.add(Permission.objects.get(codename="settle_conflict"))

    for method, path, body in [
        ("GET", "", None),
        ("PUT", "", {"content": 1, "saveId": str(uuid.uuid4())}),
        ("POST", "settle/", {"choice": "keep_stored", "expectedVersion": 2, "changes": 1, "saveId": str(uuid.uuid4())}),
        ("POST", "seen/", {}),
    ]:
        assert Page(bob).send(method, f"note/n/conflicts/{pk}/{path}", body)[0] == 404
    assert Page(bob).get("note/n/conflicts/")[1] == {"conflicts": []}
    assert len(Page(staff).get("note/n/conflicts/")[1]["conflicts"]) == 1
    assert Page(staff).post(
        f"note/n/conflicts/{pk}/settle/", choice="take_theirs", expectedVersion=2, changes=1, reason="agreed"
    ) == (200, {"conflictId": pk, "decision": "take_theirs", "version": 3, "replayed": False})
    assert head() == (3, "mine")


def test_i48_the_authors_next_read_says_how_it_ended_until_they_saw_it(page):
    pk = conflict_of(page)
    staff = Person(username="staff", is_superuser=True)
    Page(staff).post(f"note/n/conflicts/{pk}/settle/", choice="keep_stored", expectedVersion=2, changes=1, reason="old")

    [told] = page.get(If_None_Match='"2"')[1]["settledConflicts"]

    assert (told["conflictId"], told["decision"], told["by"], told["reason"]) == (pk, "keep_stored", "staff", "old")
    assert (
        page.send("PUT", f"note/n/conflicts/{pk}/", {"content": "x", "saveId": str(uuid.uuid4())})[1]["code"]
        == "already_settled"
    )
    assert page.send("POST", f"note/n/conflicts/{pk}/seen/", {})[1]["seen"] is True
    assert page.get()[1]["settledConflicts"] == []


def test_i49_c63_a_settlement_that_came_late_is_told_what_happened(page):
    pk = conflict_of(page)
    save("newer", 2)

    status, body = page.post(
        f"note/n/conflicts/{pk}/settle/", choice="take_theirs", expectedVersion=2, changes=1, picks={"/a": "theirs"}
    )
    assert (status, body["code"], body["headVersion"], body["picks"]) == (409, "moved_on", 3, {"/a": "theirs"})
    assert page.post(f"note/n/conflicts/{pk}/settle/", choice="keep_stored", expectedVersion=3, changes=1)[0] == 200
    status, body = page.post(f"note/n/conflicts/{pk}/settle/", choice="take_theirs", expectedVersion=3, changes=1)
    assert (status, body["code"], body["settledBy"], body["decision"]) == (409, "already_settled", "ada", "keep_stored")
    assert counts() == (3, 1)


def test_a_record_is_merged_by_choice(page):
    record = lambda a, b: {"attributes": [{"id": "a", "v": a}, {"id": "b", "v": b}]}  # noqa: E731
    page.put(record(1, 1), 0, "card/r/")
    page.put(record(2, 2), 1, "card/r/")
    pk = page.put(record(3, 1), 1, "card/r/")[1]["conflictId"]
    where = f"card/r/conflicts/{pk}/"

    points = page.get(where)[1]["points"]
    assert points == [
        {"id": "/attributes/a", "conflict": True, "default": None},
        {"id": "/attributes/b", "conflict": False, "default": "stored"},
    ]
    status, body = page.post(f"{where}settle/", choice="merge", expectedVersion=2, changes=1)
    assert (status, body["code"], body["open"]) == (422, "unresolved", ["/attributes/a"])
    picks = {"/attributes/a": "theirs"}
    assert page.post(f"{where}settle/", choice="merge", expectedVersion=2, changes=1, picks=picks)[0] == 200
    assert head("card", "r") == (3, record(3, 2))


@pytest.mark.django_db(transaction=True)
def test_a_409_keeps_its_conflict_under_atomic_requests(ada, settings):
    from django.db import connection

    settings.DATABASES["default"]["ATOMIC_REQUESTS"] = connection.settings_dict["ATOMIC_REQUESTS"] = True
    try:
        stored(versions=2)
        page = Page(ada)
        pk = page.put("mine", 1)[1]["conflictId"]
        assert page.put("two", 2)[0] == 200
    finally:
        settings.DATABASES["default"]["ATOMIC_REQUESTS"] = connection.settings_dict["ATOMIC_REQUESTS"] = False
    assert str(Conflict.objects.get().pk) == pk


def test_a_kind_may_be_open_to_everybody_and_still_asks(settings):
    import documents
    from documents import kinds

    @documents.register("wall")
    class Wall(documents.DocumentKind):
        login_required = False

        def can_read(self, user, key):
            return True

        def can_write(self, user, key):
            return key == "open" or user.is_authenticated

    try:
        page = Page()
        assert page.put("x", 0, "wall/open/")[0] == 201
        assert page.get("wall/open/")[1]["by"] == "anonymous"
        assert page.put("x", 0, "wall/shut/")[0] == 401
        pk = page.put("y", 0, "wall/open/")[1]["conflictId"]
        assert Page().get("wall/open/conflicts/")[1] == {"conflicts": []}
        assert len(Page().get("wall/open/conflicts/?writer=tab")[1]["conflicts"]) == 1
        assert page.get(f"wall/open/conflicts/{pk}/")[0] == 200
    finally:
        del kinds._kinds["wall"]
