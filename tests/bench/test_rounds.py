"""Who plays in which round: everybody in every one, and where peers play in fewer, spread over the run."""

import pytest

from bench.catalogue import CONTENDERS
from bench.rounds import takes_part

FLOOR, OURS, PEER = (CONTENDERS[name] for name in ("psycopg", "durable", "Absurd"))


def rounds_of(entrant, code, rounds, scale="small"):
    return [number for number in range(rounds) if takes_part(entrant, code, scale, number, rounds)]


@pytest.mark.parametrize("entrant", [FLOOR, OURS], ids=lambda entrant: entrant.name)
@pytest.mark.parametrize("code", ["W1", "W4"])
def test_floors_and_we_play_in_every_round(entrant, code):
    assert rounds_of(entrant, code, 5) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("code", "rounds", "played"),
    [("W1", 7, [0, 2, 4]), ("W1", 9, [0, 3, 6]), ("W1", 3, [0, 1, 2]), ("W1", 2, [0, 1]), ("W4", 3, [0])],
)
def test_peers_play_as_often_as_their_workload_says_spread_over_the_run(code, rounds, played):
    assert rounds_of(PEER, code, rounds) == played


def test_at_full_scale_peers_play_in_every_round():
    assert rounds_of(PEER, "W1", 5, "full") == [0, 1, 2, 3, 4]
