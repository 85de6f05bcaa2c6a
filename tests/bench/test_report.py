"""The page and the chart of a run, made from a record that was never measured."""

from xml.etree import ElementTree

import pytest

from bench.chart import svg
from bench.figures import number
from bench.report import page


@pytest.fixture
def part():
    return {
        "date": "2026-01-01",
        "rounds": 3,
        "scale": "small",
        "machine": {"processor": "a processor", "cores": 2, "system": "Linux"},
        "flush_microseconds": 58.0,
        "neighbours": 0.1,
        "server": {"server_version": "18", "fsync": "on", "synchronous_commit": "on"},
        "minutes": 7.6,
        "size": {"n": 400, "processes": [1, 2, 4]},
        "versions": {"DBOS": {"python": "3.11.7", "dbos": "3.4.0"}},
        "figures": {
            "psycopg": {"1 process": [500.0, 480.0, 520.0], "p50 alone": [2.0, 2.0, 2.0]},
            "durable": {"1 process": [400.0, 390.0, 450.0], "p50 alone": [2.5, 2.5, 2.5]},
            "DBOS": {"1 process": [25.0, 24.0, 26.0]},
        },
        "absent": {"oban": "needs Python 3.12 or newer; none was found\nsecond line"},
    }


def row(text, begins):
    (line,) = [line for line in text.splitlines() if line.startswith(begins)]
    return line


def test_a_cell_is_the_ratio_to_the_floor_then_median_and_spread(part):
    line = row(page({"W1": part}), "| **durable**")

    assert "**0.80** · 400 (390–450)" in line
    assert "**0.80** · 2.50 (2.50–2.50)" in line


def test_a_contender_that_was_left_out_stands_in_the_table_with_its_reason(part):
    line = row(page({"W1": part}), "| oban")

    assert line.endswith("not measured: needs Python 3.12 or newer; none was found |")


def test_a_contender_that_failed_in_a_later_round_is_told_from_one_that_was_not_measured(part):
    part["absent"]["DBOS"] = "not done after 90 s"

    assert row(page({"W1": part}), "| DBOS |").endswith("not to the end: not done after 90 s |")


def test_a_peer_is_shown_with_its_version(part):
    assert "| DBOS 3.4.0 |" in page({"W1": part})


def test_every_row_of_a_workloads_table_has_as_many_cells(part):
    _, _, section = page({"W1": part}).partition("## W1.")
    rows = [line for line in section.splitlines() if line.startswith("|")]

    assert len(rows) == 6
    assert len({line.count("|") for line in rows}) == 1


def test_the_circumstances_stand_once_where_all_workloads_are_of_one_run_and_with_each_where_not(part):
    again = {**part, "date": "2026-02-02"}

    assert page({"W1": part, "W9": part}).count("Measured 2026-01-01") == 1
    assert page({"W1": part, "W9": again}).count("Measured 2026-") == 2


def test_the_chart_is_an_image_with_a_bar_for_each_contender(part):
    root = ElementTree.fromstring(svg(part, "W1", "1 process"))

    assert len(root.findall("{http://www.w3.org/2000/svg}rect")) == 3
    assert "prefers-color-scheme:dark" in root.find("{http://www.w3.org/2000/svg}style").text


def test_nothing_is_drawn_where_the_floor_was_not_measured(part):
    del part["figures"]["psycopg"]

    assert svg(part, "W1", "1 process") == ""


@pytest.mark.parametrize(("value", "shown"), [(1234.5, "1 234"), (12.34, "12.3"), (1.234, "1.23")])
def test_a_number_has_three_digits_that_mean_something(value, shown):
    assert number(value) == shown
