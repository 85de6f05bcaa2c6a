"""The targets and the losses of the page follow from the kept figures alone."""

from bench import losses
from bench.targets import targets


def parts(code="W1", size=None, **figures):
    made = {
        name.replace("_", " "): {metric: [value] * 3 for metric, value in of.items()} for name, of in figures.items()
    }
    return {code: {"figures": made, "size": size or {}}}


def row(text, of):
    (line,) = [line for line in text.splitlines() if of in line]
    return line


def test_a_target_is_reached_from_the_very_ratio_on():
    seen = parts(psycopg={"1 process": 500}, durable={"1 process": 400})

    assert row(targets(seen), "the psycopg loop, 1 process").endswith(
        "| **0.80 ×** (400 beside 500 of psycopg) | yes |"
    )


def test_a_target_that_is_missed_says_no_or_which_of_us_reaches_it():
    seen = parts(
        psycopg={"1 process": 500, "4 processes": 500},
        durable={"1 process": 399, "4 processes": 399},
        durable_with_prepared_statements={"1 process": 450, "4 processes": 390},
    )

    assert row(targets(seen), "the psycopg loop, 1 process").endswith("| only with prepared statements |")
    assert row(targets(seen), "the psycopg loop, 4 processes").endswith("| no |")


def test_a_target_without_figures_is_not_measured():
    assert row(targets({}), "p50 to the first step").endswith("| – | not measured |")


def test_the_fastest_peer_is_the_one_that_is_named():
    seen = parts(
        durable={"1 process": 300}, DBOS={"1 process": 30}, PgQueuer={"1 process": 250}, pgbench={"1 process": 900}
    )

    assert "**1.20 ×** (300 beside 250 of PgQueuer) | no |" in row(targets(seen), "the fastest peer, 1 process")


def test_peers_that_complete_in_batches_are_not_among_those_who_complete_each_message():
    metric = "drain, 1 process"
    seen = parts("W2", durable={metric: 1000}, PgQueuer={metric: 9000}, DBOS={metric: 500})

    line = row(targets(seen), f"completes each message durably, {metric}")
    assert "**2.00 ×** (1 000 beside 500 of DBOS) | yes |" in line


def test_a_cost_is_held_against_the_cost_of_few():
    rates = {"10 k due": 600, "1 M due": 500, "1 M due, no statistics": 300}
    seen = parts("W3", {"settled": 1_000_000}, durable=rates)

    assert "**1.20 ×** (600 and 500 runs/s beside 1 000 000 settled) | yes |" in row(
        targets(seen), "10 k due, 1 M due |"
    )
    assert row(targets(seen), "no statistics").endswith("| no |")


def test_a_time_is_held_against_the_least_time_of_the_others():
    metric = "100 runs resumed"
    seen = parts("W4", psycopg={metric: 50}, durable={metric: 150}, DBOS={metric: 1000}, Absurd={metric: 100})

    assert row(targets(seen), "the time of the minimal SQL").endswith(
        "| **3.00 ×** (150 ms beside 50.0 ms of psycopg) | yes |"
    )
    assert row(targets(seen), "every peer that runs steps").endswith(
        "| **1.50 ×** (150 ms beside 100 ms of Absurd) | no |"
    )


def test_who_is_ahead_stands_among_the_losses_with_the_reason_written_for_it(monkeypatch):
    monkeypatch.setattr(losses, "WHY", {("W1", "psycopg"): "It has no admin."})
    seen = parts(
        psycopg={"1 process": 500, "p50 alone": 2}, durable={"1 process": 400, "p50 alone": 2}, DBOS={"1 process": 30}
    )

    text = losses.losses(seen)
    assert "| W1 | psycopg | 1 process 1.25 × | It has no admin. |" in text
    assert "DBOS" not in text


def test_who_is_ahead_without_a_reason_stands_there_all_the_same(monkeypatch):
    monkeypatch.setattr(losses, "WHY", {})

    text = losses.losses(parts(DBOS={"1 process": 500}, durable={"1 process": 400}))
    assert "| W1 | DBOS | 1 process 1.25 × | not explained yet" in text


def test_a_lead_within_the_noise_is_no_loss_and_without_any_there_is_no_section():
    assert losses.losses(parts(DBOS={"1 process": 410}, durable={"1 process": 400})) == ""


def test_who_completes_in_batches_is_held_against_our_batch_handler():
    metric = "drain, 1 process"
    seen = parts("W2", durable={metric: 900}, durable_with_a_batch_handler={metric: 6000}, PgQueuer={metric: 9000})

    assert "| W2 | PgQueuer | drain, 1 process 1.50 × |" in losses.losses(seen)


def test_every_written_reason_is_of_a_contender_that_takes_part():
    for code, name in losses.WHY:
        assert code in losses.CONTENDERS[name].places
