"""A workload that was measured again takes the place of its last figures, and the others stay."""

import json

import pytest

from bench.publish import DOCS, HEAD, publish, publish_fit, written

from .test_report import part  # noqa: F401 - a fixture

RESULTS = DOCS / "performance" / "results.json"


def faster(measured):
    return {**measured, "figures": {**measured["figures"], "durable": {"1 process": [450.0] * 3}}}


def test_a_workload_takes_the_place_of_its_last_figures_and_leaves_the_others(part, tmp_path):  # noqa: F811
    publish({"W1": part, "W9": part}, tmp_path)
    publish({"W1": faster(part)}, tmp_path)

    first, _, second = (tmp_path / "performance.md").read_text().partition("## W9.")
    assert "450 (450–450)" in first
    assert "400 (390–450)" not in first
    assert "## W1." in first
    assert second
    assert list(json.loads((tmp_path / "performance" / "results.json").read_text())) == ["W1", "W9"]
    assert (tmp_path / "performance" / "w1.svg").exists()


@pytest.mark.parametrize(
    "flaw",
    [
        {"minutes": None},
        {"rounds": 2},
        {"neighbours": 1.5},
        {"scale": "tiny"},
        {"figures": {}},
        {"figures": {"psycopg": {"1 process": [500.0]}}},
    ],
)
def test_what_is_no_result_is_named_and_not_published(part, tmp_path, capsys, flaw):  # noqa: F811
    publish({"W1": part}, tmp_path)
    publish_fit({"W1": {**faster(part), **flaw}}, tmp_path)

    assert "400 (390–450)" in (tmp_path / "performance.md").read_text()
    assert "left out: W1" in capsys.readouterr().err


def test_what_the_scripts_of_their_own_have_found_has_its_sections(tmp_path):
    names = {name: [1.0, 2.0, 3.0] for name in ("text", "json", "documents.save", "new", "simple", "reversion")}
    pages = [{"kind": kind, "page": "/p", "queries": 4, "median": 700.0, "first": 1.0} for kind in ("overview", "list")]
    publish(
        {
            "W7": {"turns": {"on": {"2 KB": names}}, "lz4": False, "machine": "one machine", "rounds": 3},
            "W8": {"rows": 1_000_000, "pages": pages, "machine": "another machine"},
        },
        tmp_path,
    )

    page = (tmp_path / "performance.md").read_text()
    assert "| documents.save | 2.00 ms |" in page
    assert "1 000 000 account deletions" in page
    assert "Beyond the bound: `/p` 700 ms. another machine." in page


def test_the_page_is_what_the_kept_results_say():
    page = (DOCS / "performance.md").read_text()
    if "## Targets" not in page:  # a page of before results were kept
        assert not RESULTS.exists()
        return
    text, charts = written(json.loads(RESULTS.read_text()))

    assert page == HEAD + text
    for name, drawing in charts.items():
        assert (DOCS / "performance" / name).read_text() == drawing
