"""The arithmetic of the bench: medians, percentiles, ratios."""

import pytest

from bench.figures import Figure, percentile, ratio


def test_a_figure_is_the_median_with_the_least_and_the_most():
    figure = Figure.of([30.0, 10.0, 20.0])

    assert (figure.middle, figure.least, figure.most, figure.rounds) == (20.0, 10.0, 30.0, 3)


def test_a_figure_of_no_rounds_is_refused():
    with pytest.raises(ValueError, match="at least one round"):
        Figure.of([])


@pytest.mark.parametrize(("share", "expected"), [(0.5, 50), (0.99, 99), (1.0, 100), (0.0, 1)])
def test_a_percentile_is_a_value_that_was_measured(share, expected):
    values = list(range(100, 0, -1))

    assert percentile(values, share) == expected


def test_a_ratio_above_one_is_better_than_the_floor_whichever_way_the_metric_points():
    assert ratio(200, 100, better="higher") == 2.0
    assert ratio(5.0, 10.0, better="lower") == 2.0
    assert ratio(5.0, 0.0, better="lower") is None
