"""Backoff arithmetic: never shorter than nominal, never past the cap, never an overflow. C27"""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from durable import Backoff

attempts = st.integers(min_value=-5, max_value=2**63)
backoffs = st.builds(
    Backoff,
    base=st.floats(0, 1e9, allow_nan=False),
    factor=st.floats(1, 1e9, allow_nan=False),
    cap=st.floats(0, 315_576_000, allow_nan=False),
    jitter=st.floats(0, 10, allow_nan=False),
)


@given(backoffs, attempts)
def test_a_delay_is_finite_and_between_nominal_and_nominal_with_jitter(backoff, attempt):
    nominal, delay = backoff.nominal(attempt), backoff.delay(attempt)

    assert 0 <= nominal <= backoff.cap or nominal == pytest.approx(backoff.cap)
    assert nominal <= delay <= nominal * (1 + backoff.jitter) * (1 + 1e-9)
    assert math.isfinite(delay)


@given(backoffs, attempts)
def test_no_delay_is_shorter_than_the_one_before(backoff, attempt):
    assert backoff.nominal(attempt + 1) >= backoff.nominal(attempt) * (1 - 1e-9)


@given(st.integers(1, 12))
def test_a_nominal_delay_is_the_power_as_long_as_it_is_under_the_cap(attempt):
    backoff = Backoff(base=1, factor=2, cap=10_000)

    assert backoff.nominal(attempt) == 2 ** (attempt - 1)


@given(st.integers(1, 100), st.integers(0, 200))
def test_a_budget_is_spent_when_so_many_attempts_were_made(budget, made):
    assert Backoff(attempts=budget).spent(made) is (made >= budget)


def test_without_a_budget_nothing_is_ever_spent():
    assert Backoff().spent(2**31) is False


def test_the_default_is_half_a_minute_growing_to_an_hour():
    assert [Backoff().nominal(attempt) for attempt in range(1, 7)] == [30, 120, 480, 1920, 3600, 3600]


def test_a_hundred_delays_of_one_moment_are_spread():
    """A fleet that failed together must not return together."""
    backoff = Backoff(base=60, jitter=0.5)

    delays = [backoff.delay(1) for _ in range(100)]

    assert len({round(delay, 3) for delay in delays}) >= 50
    assert 60 <= min(delays) <= max(delays) <= 90


@pytest.mark.parametrize("name", ["base", "factor", "cap", "jitter"])
@pytest.mark.parametrize("value", [-1, math.nan, math.inf, "5", None, True])
def test_what_could_space_nothing_is_refused_when_it_is_declared(name, value):
    with pytest.raises(ValueError, match=name):
        Backoff(**{name: value})


@pytest.mark.parametrize("attempts", [0, -1, 1.5, True, "3"])
def test_a_budget_is_a_whole_number_from_one_up(attempts):
    with pytest.raises(ValueError, match="attempts"):
        Backoff(attempts=attempts)


def test_a_cap_beyond_ten_years_is_a_mistake():
    with pytest.raises(ValueError, match="ten years"):
        Backoff(cap=10**9)
