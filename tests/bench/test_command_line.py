"""Wrong use of `python -m bench` ends with exit status 2 and a sentence, before anything is started."""

import pytest

from bench.__main__ import main
from bench.catalogue import CONTENDERS
from bench.turns import TURNS
from bench.workloads import WORKLOADS


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["W42"], "there is no workload W42"),
        (["W7"], "W7 is a script of its own: document save and history: bench/documents_save.py"),
        (["--contenders", "nobody"], "there is no contender 'nobody'"),
        (["--rounds", "none"], "no number of rounds"),
        (["--rounds", "0"], "no number of rounds"),
        (["--scale", "huge"], "invalid choice"),
        (["--publish", "--rounds", "2"], "--publish needs at least 3 rounds"),
        (["--publish", "--scale", "tiny"], "what is measured at scale tiny is no result"),
        (["W1", "w10", "--publish", "--contenders", "ours,psycopg"], "W10 needs its floor, pgbench, in the same run"),
    ],
)
def test_wrong_use_is_exit_2_with_a_sentence(capsys, given, said):
    with pytest.raises(SystemExit) as ended:
        main(given)

    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_a_database_that_is_not_postgresql_is_exit_2(monkeypatch, capsys):
    monkeypatch.setenv("DATABASE_URL", "sqlite:///var/bench.sqlite3")

    assert main([]) == 2
    assert "the bench needs PostgreSQL" in capsys.readouterr().err


def test_every_contender_takes_part_in_workloads_that_exist():
    for entrant in CONTENDERS.values():
        assert set(entrant.places) <= set(WORKLOADS)


def test_every_workload_has_a_floor_that_takes_part_in_it():
    for workload in WORKLOADS.values():
        assert workload.code in CONTENDERS[workload.floor].places


def test_every_workload_has_a_turn_and_all_three_scales():
    for workload in WORKLOADS.values():
        assert workload.code in TURNS
        assert set(workload.scales) == {"tiny", "small", "full"}
