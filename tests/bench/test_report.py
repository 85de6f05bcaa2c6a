"""The page and the chart of a run, made from a record that was never measured."""

from xml.etree import ElementTree

import pytest

from bench.chart import svg
from bench.report import markdown, number


@pytest.fixture
def record():
    return {
        "date": "2026-01-01",
        "rounds": 3,
        "scale": "small",
        "machine": {"processor": "a processor", "cores": 2, "system": "Linux"},
        "flush_microseconds": 58.0,
        "neighbours": 0.1,
        "server": {"server_version": "18", "fsync": "on", "synchronous_commit": "on"},
        "versions": {"DBOS": {"python": "3.11.7", "dbos": "3.4.0"}},
        "figures": {
            "W1": {
                "psycopg": {"1 process": [500.0, 480.0, 520.0], "p50 alone": [2.0, 2.0, 2.0]},
                "durable": {"1 process": [400.0, 390.0, 450.0], "p50 alone": [2.5, 2.5, 2.5]},
                "DBOS": {"1 process": [25.0, 24.0, 26.0]},
            }
        },
        "absent": {"W1": {"oban": "needs Python 3.12 or newer; none was found\nsecond line"}},
    }


def test_a_cell_is_the_ratio_to_the_floor_then_median_and_spread(record):
    (line,) = [line for line in markdown(record).splitlines() if line.startswith("| **durable**")]

    assert "**0.80** · 400 (390–450)" in line
    assert "**0.80** · 2.50 (2.50–2.50)" in line


def test_a_contender_that_was_left_out_stands_in_the_table_with_its_reason(record):
    (line,) = [line for line in markdown(record).splitlines() if line.startswith("| oban")]

    assert line.endswith("not measured: needs Python 3.12 or newer; none was found |")


def test_a_peer_is_shown_with_its_version(record):
    assert "| DBOS 3.4.0 |" in markdown(record)


def test_every_row_of_a_table_has_as_many_cells(record):
    rows = [line for line in markdown(record).splitlines() if line.startswith("|")]

    assert len({row.count("|") for row in rows}) == 1


def test_the_chart_is_an_image_with_a_bar_for_each_contender(record):
    root = ElementTree.fromstring(svg(record, "W1", "1 process"))

    assert len(root.findall("{http://www.w3.org/2000/svg}rect")) == 3
    assert "prefers-color-scheme:dark" in root.find("{http://www.w3.org/2000/svg}style").text


def test_nothing_is_drawn_where_the_floor_was_not_measured(record):
    del record["figures"]["W1"]["psycopg"]

    assert svg(record, "W1", "1 process") == ""


@pytest.mark.parametrize(("value", "shown"), [(1234.5, "1 234"), (12.34, "12.3"), (1.234, "1.23")])
def test_a_number_has_three_digits_that_mean_something(value, shown):
    assert number(value) == shown
