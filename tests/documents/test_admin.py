"""The admin: staff settle, histories are read, no list is heavy, nothing is unescaped (C60, C63, C66, C80, C82)."""

import re
import uuid

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.db import connection
from django.db.models import Value
from django.db.models.functions import Repeat
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

import documents
from documents.models import Conflict, Document, Revision

from .factories import Person, counts, head, save, stored

pytestmark = pytest.mark.django_db
XSS = "<img src=x onerror=alert(1)>"


def record(a, b, title="t"):
    return {"title": title, "attributes": [{"id": "a", "v": a}, {"id": "b", "v": b}]}


@pytest.fixture
def staff():
    return Person(username="staff", is_staff=True, is_superuser=True)


@pytest.fixture
def client(staff):
    client = Client()
    client.force_login(staff)
    return client


def conflict(theirs=None, kind="card", base=None, now=None, **more):
    save(base or record(1, 1), 0, kind=kind)
    save(now or record(2, 1), 1, kind=kind, by=Person(username="bob"))
    outcome = save(theirs or record(1, 3, "mine"), 1, kind=kind, by=Person(username="ada"), **more)
    return Conflict.objects.get(pk=outcome.conflict_id)


def url(one):
    return reverse("admin:documents_conflict_change", args=[one.pk])


def fields(html):
    """Return what a browser would post of the page's form, with every preselected choice."""
    form = html[html.index('id="conflict-form"') :]
    found = {}
    for tag in re.findall(r"<input [^>]*>", form):
        name = re.search(r'name="([^"]*)"', tag)
        value = re.search(r'value="([^"]*)"', tag)
        if name and 'type="submit"' not in tag and ("radio" not in tag or "checked" in tag):
            found[name[1]] = value[1] if value else ""
    return found


def opened(client, one):
    html = client.get(url(one)).content.decode()
    return html, fields(html)


def test_the_page_shows_three_sides_with_names_and_marks(client):
    html, _ = opened(client, conflict())

    assert "version 1 · system" in html
    assert "version 2 · bob" in html
    assert "<del>" in html
    assert "<ins>" in html
    assert "added: " in html
    assert "/attributes/b" in html
    assert '"v":' in html or "&quot;v&quot;:" in html


def test_the_page_needs_no_script_and_has_no_inline_style(client):
    html = opened(client, conflict())[0]
    content = html[html.index('id="content-main"') : html.index("</form>", html.index('id="conflict-form"'))]

    assert "<script" not in content
    assert "style=" not in content
    assert " on" not in re.sub(r">[^<]*<", "><", content).replace(" onlyread", "")


def test_staff_take_theirs_and_the_decision_is_a_revision_and_a_log_entry(client, staff):
    one = conflict()
    _, form = opened(client, one)

    response = client.post(url(one), form | {"choice": "take_theirs", "reason": "newer", "settle": "1"}, follow=True)

    assert "Theirs taken; the document is at version 3." in response.content.decode()
    assert head("card") == (3, record(1, 3, "mine"))
    revision = Revision.objects.get(version=3)
    assert (revision.action, revision.by, revision.reason) == ("settle", staff, "newer")
    assert LogEntry.objects.get().object_id == str(one.pk)
    html, _ = opened(client, one)
    assert "Settled." in html
    assert "staff decided on" in html
    assert "newer" in html


def test_c66_their_bytes_are_stored_and_no_line_break_is_doubled(client):
    one = conflict({"t": "one\ntwo\n"}, kind="note", base="x", now="y")
    _, form = opened(client, one)

    client.post(url(one), form | {"choice": "take_theirs", "settle": "1"})

    assert Revision.objects.get(version=3).content == one.theirs
    assert "\\r" not in one.theirs


def test_c66_keeping_what_is_stored_makes_no_version(client):
    one = conflict()
    _, form = opened(client, one)

    client.post(url(one), form | {"choice": "keep_stored", "settle": "1"})

    assert counts("card") == (2, 1)
    assert Conflict.objects.get().decision == "keep_stored"


def test_a_merge_by_choice_with_a_preview_first(client):
    one = conflict(record(9, 3, "mine"))
    _, form = opened(client, one)
    open_field = next(name for name, value in form.items() if value == "/attributes/a")[3:]

    html = client.post(url(one), form | {"choice": "merge", "preview": "1"}).content.decode()
    assert "Still to decide:" in html
    assert counts("card") == (2, 1)
    html = client.post(url(one), form | {"choice": "merge", "settle": "1"}).content.decode()
    assert "Nothing was written. Still to decide" in html
    assert "doc-open" in html
    html = client.post(url(one), form | {"choice": "merge", open_field: "theirs", "preview": "1"}).content.decode()
    assert "What would be stored: version 3" in html
    assert "Still to decide" not in html
    assert fields(html)[open_field] == "theirs"
    client.post(url(one), fields(html) | {"settle": "1"})

    assert head("card") == (3, record(9, 3, "mine"))


def test_no_choice_is_no_decision(client):
    one = conflict()
    html = client.post(url(one), opened(client, one)[1] | {"settle": "1"}).content.decode()

    assert "choose what becomes of this conflict" in html
    assert Conflict.objects.get().settled_at is None


def test_i49_a_page_of_an_older_version_is_shown_again_with_the_choices_kept(client):
    one = conflict(record(9, 3, "mine"))
    _, form = opened(client, one)
    open_field = next(name for name, value in form.items() if value == "/attributes/a")[3:]
    save(record(2, 7), 2, kind="card", by=Person(username="carol"))

    answer = form | {"choice": "merge", open_field: "theirs", "reason": "because", "settle": "1"}
    html = client.post(url(one), answer).content.decode()

    assert "version 3 was stored by carol" in html
    again = fields(html)
    kept = next(name for name, value in again.items() if value == "/attributes/a")[3:]
    assert (again["version"], again["choice"], again["reason"], again[kept]) == ("3", "merge", "because", "theirs")
    assert "doc-new" in html
    assert counts("card") == (3, 1)


def test_i49_a_newer_copy_of_the_author_is_not_settled_unseen(client):
    one = conflict(writer="tab")
    _, form = opened(client, one)
    save(record(1, 4), 1, kind="card", by=Person(username="ada"), writer="tab")

    html = client.post(url(one), form | {"choice": "keep_stored", "settle": "1"}).content.decode()

    assert "the author sent a newer copy" in html
    assert Conflict.objects.get().settled_at is None


def test_c63_the_second_settler_is_told_who_was_first(client):
    one = conflict()
    _, form = opened(client, one)
    documents.settle(one.pk, choice="keep_stored", expected_version=2, expected_changes=1, by=Person(username="ann"))

    html = client.post(url(one), form | {"choice": "take_theirs", "settle": "1"}, follow=True).content.decode()

    assert "was settled first by ann (stored kept)" in html
    assert counts("card") == (2, 1)


def test_a_button_pressed_twice_settles_once(client):
    one = conflict()
    _, form = opened(client, one)

    for _ in range(2):
        html = client.post(url(one), form | {"choice": "take_theirs", "settle": "1"}, follow=True).content.decode()

    assert "Theirs taken" in html
    assert counts("card") == (3, 1)
    assert LogEntry.objects.count() == 1


def test_looking_is_one_permission_and_deciding_another():
    one, reader = conflict(), Person(username="looker", is_staff=True)
    client = Client()
    client.force_login(reader)
    assert client.get(url(one)).status_code == 403

    reader.user_permissions.add(Permission.objects.get(codename="view_conflict"))
    html = client.get(url(one)).content.decode()

    assert "Settle this conflict" not in html
    assert client.post(url(one), {"choice": "take_theirs", "settle": "1"}).status_code == 403
    assert Conflict.objects.get().settled_at is None


def test_a_sheet_offers_no_merge_and_says_why(client):
    html = opened(client, conflict("z", kind="note", base="x", now="y"))[0]

    assert "A note is never merged" in html
    assert 'value="merge"' not in html


def test_a_kind_whose_code_is_gone_can_be_read_and_not_settled(client):
    one = conflict()
    Document.objects.update(kind="old")

    html = opened(client, one)[0]

    assert "is not on this site" in html
    assert 'name="settle"' not in html
    assert "mine" in html


def test_a_copy_that_cannot_be_split_is_shown_with_the_reason(client):
    one = conflict()
    Conflict.objects.update(theirs='{"attributes":5}')

    html = opened(client, one)[0]

    assert "cannot be compared place by place" in html
    assert 'value="merge"' not in html


def test_three_megabytes_are_settled_without_being_posted(client):
    text = "word " * 600_000
    one = conflict(text + "end", kind="big", base=text, now="a " + text)
    html, form = opened(client, one)

    assert len(html) < 100_000
    assert sum(map(len, form.values())) < 1_000
    client.post(url(one), form | {"choice": "take_theirs", "settle": "1"})
    assert head("big") == (3, text + "end")


def test_a_page_with_thousands_of_places_stays_a_page(client):
    many = lambda v: {f"k{i}": v for i in range(3_000)}  # noqa: E731
    one = conflict(many(3), kind="big", base=many(1), now=many(2))

    html, _ = opened(client, one)

    assert "2600 more places differ" in html
    assert len(html) < 1_000_000


def test_c80_nothing_of_a_content_is_markup(client, staff):
    bad = Person(username=XSS)
    save({"title": XSS, XSS: 1}, 0, kind="big", key=XSS, by=bad)
    save({"title": XSS + "2", XSS: 2}, 1, kind="big", key=XSS, by=bad, reason=XSS)
    one = Conflict.objects.get(pk=save({"title": XSS + "3", XSS: 3}, 1, kind="big", key=XSS, by=bad).conflict_id)
    document, revision = Document.objects.get(), Revision.objects.get(version=2)
    pages = [
        url(one),
        reverse("admin:documents_document_change", args=[document.pk]) + "?from=1&to=2",
        reverse("admin:documents_revision_change", args=[revision.pk]),
        *(reverse(f"admin:documents_{name}_changelist") for name in ("document", "revision", "conflict")),
    ]

    for page in pages:
        response = client.get(page)
        assert response.status_code == 200
        assert XSS not in response.content.decode(), page
        assert "&lt;img" in response.content.decode(), page
    _, form = opened(client, one)
    for choice in ("take_theirs", "keep_stored"):
        html = client.post(url(one), form | {"choice": choice, "reason": XSS, "preview": "1"}).content.decode()
        assert XSS not in html


def test_c82_lists_of_two_thousand_rows_of_100_kb_read_no_content_and_are_small(client, staff):
    document = stored()
    common = {"document": document, "size": 100_002, "schema": 1, "by_name": "ada", "by": staff}
    Conflict.objects.bulk_create(
        Conflict(
            base_version=1,
            stored_version=1,
            save_id=uuid.uuid4(),
            writer=str(i),
            opened_at="2026-01-01T00:00Z",
            changed_at="2026-01-01T00:00Z",
            **common,
        )
        for i in range(2_000)
    )
    Revision.objects.bulk_create(
        Revision(version=i + 2, action="save", save_id=uuid.uuid4(), writer="w", at="2026-01-01T00:00Z", **common)
        for i in range(2_000)
    )
    heavy = Repeat(Value("x"), 100_000)
    assert Conflict.objects.update(theirs=heavy) == 2_000
    Revision.objects.update(content=heavy)

    for name, column in [("conflict", "theirs"), ("revision", "content"), ("document", "content")]:
        with CaptureQueriesContext(connection) as queries:
            response = client.get(reverse(f"admin:documents_{name}_changelist"))
        assert len(queries) <= 12
        assert len(response.content) < 1_000_000
        assert not [q for q in queries if f'."{column}"' in q["sql"]]


def test_i56_the_history_page_of_ten_thousand_revisions_is_five_queries(client, staff):
    document = stored()
    Revision.objects.bulk_create(
        Revision(
            document=document,
            version=i + 2,
            content='"x"',
            size=3,
            schema=1,
            action="save",
            save_id=uuid.uuid4(),
            writer=f"w{i % 3}",
            by_name="ada",
            at="2026-01-01T00:00Z",
        )
        for i in range(10_000)
    )
    Document.objects.update(version=10_001)
    page = reverse("admin:documents_document_change", args=[document.pk])
    client.get(page)

    with CaptureQueriesContext(connection) as queries:
        html = client.get(page).content.decode()

    ours = [q for q in queries if "documents_" in q["sql"]]
    assert len(ours) <= 3
    assert len(queries) <= 5
    assert "?before=9952" in html
    assert "10001" in client.get(page).content.decode()
    assert "9951" in client.get(page + "?before=9952").content.decode()


def test_c60_a_restore_from_a_page_of_an_old_version_says_so_and_writes_nothing(client):
    document = stored("new", versions=5)
    page = reverse("admin:documents_document_change", args=[document.pk])
    save("newer", 5, by=Person(username="bob"))

    old = {"restore": "2", "version": "5", "save_id": str(uuid.uuid4())}
    html = client.post(page, old, follow=True).content.decode()
    assert "Nothing was restored: version 6 was stored meanwhile by bob" in html
    assert head() == (6, "newer")
    html = client.post(page, old | {"version": "6"}, follow=True).content.decode()
    assert "Version 2 was restored as version 7." in html
    assert head() == (7, {"step": 1})


def test_any_two_versions_are_compared_on_the_documents_page(client):
    document = stored("one two three", versions=1)
    save("one 2 three", 1)
    page = reverse("admin:documents_document_change", args=[document.pk])

    html = client.get(f"{page}?from=1&to=2").content.decode()

    assert re.search(r"one <del>.*two</del><ins>.*2</ins> three", html)
    assert client.get(f"{page}?from=1&to=99").status_code == 200
    assert client.get(f"{page}?from=x&to={'9' * 40}").status_code == 200


def test_restoring_needs_its_permission():
    document, reader = stored(versions=2), Person(username="looker", is_staff=True)
    reader.user_permissions.add(Permission.objects.get(codename="view_document"))
    client = Client()
    client.force_login(reader)
    page = reverse("admin:documents_document_change", args=[document.pk])

    assert "Restore 1" not in client.get(page).content.decode()
    assert client.post(page, {"restore": "1", "version": "2"}).status_code == 403


@pytest.mark.parametrize("name", ["document", "revision", "conflict"])
def test_nothing_is_added_changed_or_deleted_by_hand(client, name):
    stored(versions=2)
    assert client.get(reverse(f"admin:documents_{name}_add")).status_code == 403
    for pk in ("7", "x", "9" * 30, str(uuid.uuid4())):
        assert client.get(reverse(f"admin:documents_{name}_change", args=[pk])).status_code == 302
        assert client.post(reverse(f"admin:documents_{name}_delete", args=[pk])).status_code in (302, 403)


def test_the_list_of_conflicts_is_a_list_of_things_to_do(client):
    one = conflict()
    where = reverse("admin:documents_conflict_changelist")
    assert str(one.pk) in client.get(where).content.decode()

    documents.settle(one.pk, choice="keep_stored", expected_version=2, expected_changes=1)

    assert str(one.pk) not in client.get(where).content.decode()
    assert str(one.pk) in client.get(where + "?state=settled").content.decode()
    assert str(one.pk) in client.get(where + "?state=all&kind=card").content.decode()
    assert str(one.pk) not in client.get(where + "?state=all&kind=note").content.decode()
