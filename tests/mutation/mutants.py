"""
Mutants: the contract, broken in one place each, and the tests of which one must go red.

Each is a change of text in one module of `durable`. Text that is no longer there makes the mutant stale, and the check red.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["MUTANTS", "NOTHING", "PREPARED", "Mutant"]

NOTHING = "nothing"

#: In every process: a claim can write without its fence, for the mutants that make one caller do so.
PREPARED: Final = {
    "durable.contract": (
        (
            "self.key(connection), self.fence)",
            "self.key(connection), *(() if self.fence is None else (self.fence,)))",
        ),
        ("shape, unless, states, waits)\n", "shape, unless, states, waits, self.fence is not None)\n"),
        ("    waits: bool,\n) -> tuple", "    waits: bool,\n    fenced: bool = True,\n) -> tuple"),
        ("AND {column['fence']} = %s AND", "AND {column['fence'] + ' = %s' if fenced else 'TRUE'} AND"),
        (
            "    def check(self) -> None:\n",
            "    def unfenced(self):\n"
            "        import copy\n"
            "        twin = copy.copy(self)\n"
            "        twin.fence = None\n"
            "        return twin\n\n"
            "    def check(self) -> None:\n",
        ),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One change."""

    module: str
    changes: tuple[tuple[str, str], ...]
    tests: tuple[str, ...]


def _in(module: str, old: str, new: str, *tests: str) -> Mutant:
    return Mutant(module=f"durable.{module}", changes=((old, new),), tests=tests)


def _played(*scenarios: str) -> tuple[str, ...]:
    path = "tests/conformance/test_every_interleaving.py::test_no_interleaving_breaks_a_law"
    return tuple(f"{path}[job-{scenario}]" for scenario in scenarios)


STATEMENTS = "tests/conformance/test_statements.py"
LATE = "tests/conformance/test_late_writes.py"
LATE_COMMIT = "tests/conformance/test_late_commit.py"
LOCKS = "tests/conformance/test_lock_order.py::test_two_paths_never_deadlock_and_only_who_must_wait_waits"
CLAIMS = "tests/conformance/test_claims.py"
CLOCKS = "tests/durable/test_clocks.py"
HEARTBEAT = "tests/durable/test_heartbeat.py"
DECISIONS = "tests/durable/test_deciding.py"
BEGINNING = "tests/polling/test_beginning.py"
WATCHING = "tests/polling/test_watching.py"
AHEAD = "tests/outbox/test_begun_ahead.py"
PREPARED_PLANS = "tests/durable/test_prepared.py"
CHAIN = "tests/durable/test_chain.py"
AT_ONCE = "tests/durable/test_begun_ahead.py"
HEALING = "tests/plans/test_healing.py"
DECIDING = "tests/plans/test_deciding.py"
ALL = "states=(*claim.machine.open, *claim.machine.terminal)"

MUTANTS: Final[dict[str, Mutant]] = {
    NOTHING: _in("contract", "", ""),
    # The fence, caller by caller -----------------------------------------------------------------------------------
    "database stamp without the fence": _in(
        "stepping",
        "claim.write(self._stamp(step, claim, None",
        "claim.unfenced().write(self._stamp(step, claim, None",
        f"{LATE}::test_no_receipt_of_a_late_owner_is_written[close]",
    ),
    "external stamp without the fence": _in(
        "stepping",
        "lambda: claim.write(stamp,",
        "lambda: claim.unfenced().write(stamp,",
        f"{LATE}::test_no_receipt_of_a_late_owner_is_written[call]",
    ),
    "recorded stamp without the fence": _in(
        "stepping",
        "claim.write(self._stamp(step, claim, took",
        "claim.unfenced().write(self._stamp(step, claim, took",
        f"{LATE}::test_no_receipt_of_a_late_owner_is_written[tell]",
    ),
    "late fields without the fence": _in("stepping", "claim.write(late,", "claim.unfenced().write(late,", STATEMENTS),
    "renewal without the fence": _in(
        "contract",
        "and self._update({",
        "and self.unfenced()._update({",
        f"{LATE}::test_no_write_of_a_late_owner_is_made[renew]",
    ),
    "a renewal that asks without the fence": _in(
        "contract",
        "status=self.machine.claimed, fence=self.fence).exists()",
        "status=self.machine.claimed).exists()",
        f"{LATE}::test_a_late_heartbeat_knows_that_it_is_late",
    ),
    "release without the fence": _in(
        "contract",
        "self.write({**left,",
        "self.unfenced().write({**left,",
        f"{LATE}::test_no_write_of_a_late_owner_is_made[release]",
    ),
    "settlement without the fence": _in(
        "contract",
        "self.write({**self.settling(status)",
        "self.unfenced().write({**self.settling(status)",
        f"{LATE}::test_no_write_of_a_late_owner_is_made[settle]",
    ),
    "failure without the fence": _in(
        "jobs",
        "claim.release(due_in=pause",
        "claim.unfenced().release(due_in=pause",
        f"{LATE}::test_no_write_of_a_late_owner_is_made[fail]",
    ),
    "giving up without the fence": _in(
        "jobs",
        "claim.settle(DEAD, **changes",
        "claim.unfenced().settle(DEAD, **changes",
        f"{LATE}::test_no_write_of_a_late_owner_is_made[refuse]",
    ),
    "a loss recorded without the fence": _in(
        "jobs",
        'claim.write({"failures"',
        'claim.unfenced().write({"failures"',
        f"{LATE}::test_no_write_of_a_late_owner_is_made[lose]",
    ),
    "a wait without the fence": _in(
        "attempt",
        "lambda: run.give_back(claim, **left)",
        "lambda: run.give_back(claim.unfenced(), **left)",
        f"{LATE}::test_no_write_of_a_late_owner_is_made[wait]",
    ),
    "an early release without the fence": _in(
        "contract",
        "claimed, fence=fence, owner=owner, lease",
        "claimed, owner=owner, lease",
        f"{LATE}::test_a_boot_pass_frees_only_the_claim_it_saw",
    ),
    "a lost answer looked up without the fence": _in(
        "contract",
        "filter(fence=self.fence, **{",
        "filter(**{",
        f"{LATE}::test_a_receipt_of_another_owner_is_not_taken_for_ones_own",
    ),
    "a cancellation without the next fence": _in(
        "contract", 'values["fence"] = F("fence") + 1', "pass", f"{LATE}::test_a_cancellation_takes_the_next_fence"
    ),
    "a retry that resets the fence": _in(
        "jobs",
        'fresh = {"attempts": 0, "losses": 0,',
        'fresh = {"attempts": 0, "losses": 0, "fence": 0,',
        *_played("failure,_staff_retries-draw"),
    ),
    "adoption without the next fence": _in(
        "adopting", 'mine, fence=models.F("fence") + 1)', "mine)", "tests/conformance/test_deploys.py"
    ),
    "a claim without the next fence": _in(
        "contract", """= run.{column["fence"]} + 1,""", """= run.{column["fence"]},""", *_played("takeover-draw")
    ),
    # The status ------------------------------------------------------------------------------------------------------
    "writes in any status": _in(
        "contract",
        "unless, states or (self.machine.claimed,), waits=True)",
        "unless, (*self.machine.open, *self.machine.terminal), waits=True)",
        f"{LATE}::test_a_claim_that_was_given_back_writes_nothing",
    ),
    "a renewal in any status": _in(
        "contract",
        "        claimed = (self.machine.claimed,)\n",
        "        claimed = (*self.machine.open, *self.machine.terminal)\n",
        f"{LATE}::test_a_claim_that_was_given_back_writes_nothing",
    ),
    "transitions from any status": _in(
        "contract", "rows.filter(status__in=sources)", "rows", f"{DECISIONS}::test_a_done_run_is_left_alone"
    ),
    "arrows the machine does not have": _in("contract", "    if unlawful:\n", "    if False:\n", CLAIMS),
    # The claim -------------------------------------------------------------------------------------------------------
    "a claim that waits for locks": _in(
        "contract",
        "            LIMIT {limit}\n            FOR UPDATE SKIP LOCKED",
        "            LIMIT {limit}\n            FOR UPDATE",
        f"{CLAIMS}::test_a_run_that_somebody_is_claiming_is_passed_over_without_waiting",
    ),
    "a claim that locks nothing": _in(
        "contract",
        "            LIMIT {limit}\n            FOR UPDATE SKIP LOCKED",
        "            LIMIT {limit}",
        CLAIMS,
    ),
    "a claim that is not materialized": _in("contract", "AS MATERIALIZED (", "AS (", STATEMENTS),
    "a claim without a limit": _in(
        "contract", "            LIMIT {limit}\n", "            LIMIT {limit} + 999\n", CLAIMS
    ),
    "a claim in no order": _in(
        "contract", """\n            ORDER BY {index}\"\"\"""", '"""', CLAIMS, "tests/conformance/test_query_plans.py"
    ),
    "a claim that ignores leases": _in(
        "contract", """f"{lease} IS NULL OR""", """f"TRUE OR""", *_played("three_workers-call")
    ),
    "a claim that ignores due times": _in(
        "contract", """f"{column['due_at']} <= (SELECT {now})",""", """f"{column['due_at']} IS NOT NULL",""", CLAIMS
    ),
    "a claim of settled runs": _in(
        "contract",
        "params: list[Any] = [*model.MACHINE.open]",
        "params: list[Any] = [model.MACHINE.claimed, model.MACHINE.done]",
        CLAIMS,
    ),
    "a claim of what other code started": _in(
        "jobs", 'return (("step_names", cls.names_of_steps()),)', "return ()", "tests/durable/test_deploys.py"
    ),
    "a claim that counts no attempt": _in(
        "contract",
        """{_MOST_ATTEMPTS}) + 1,\n            {column["lease""",
        """{_MOST_ATTEMPTS}),\n            {column["lease""",
        *_played("takeover-draw"),
    ),
    "a claim that counts no loss": _in(
        "contract", "<> '' THEN 1 ELSE 0 END", "<> '' THEN 0 ELSE 0 END", "tests/durable/test_losses.py"
    ),
    "claims weighed by the planner": _in(
        "contract",
        'return f"CASE WHEN {condition} THEN TRUE END IS NOT NULL"',
        "return condition",
        "tests/conformance/test_query_plans.py",
    ),
    "claims weighed by old statistics": _in(
        "contract",
        """f"{column['due_at']} <= (SELECT {now})",""",
        """f"{column['due_at']} <= {now}",""",
        "tests/conformance/test_query_plans.py::test_statistics_of_an_hour_when_next_to_nothing_was_due_mislead_nobody",
    ),
    "a fork beside an open connection of the heartbeat": _in(
        "heartbeat",
        "if self._open and not self._held and self._thread is not threading.current_thread():",
        "if False:",
        "tests/durable/test_heartbeat.py::test_a_child_forked_right_after_a_run_inherits_no_connection_of_the_thread",
    ),
    # The outbox ------------------------------------------------------------------------------------------------------
    "a message settled, its record not": _in(
        "contract",
        "beside AS ({beside})",
        """beside AS ({beside.replace('WHERE', 'WHERE FALSE AND')})""",
        "tests/outbox/test_sending.py",
    ),
    "a batch settled without its fences": _in(
        "contract",
        """ AND run.{column["fence"]} = mine.{column["fence"]}""",
        "",
        "tests/outbox/test_lanes.py::test_what_was_lost_out_of_a_batch_is_left_to_its_new_owner",
    ),
    "an attempt begun under any later fence": _in(
        "message_log",
        "id = %s AND fence = %s",
        "id = %s AND fence >= %s",
        f"{AHEAD}::test_a_message_that_somebody_else_took_is_not_begun_with_the_receipt_of_the_one_before",
    ),
    "an attempt begun under a lapsed lease": _in(
        "message_log",
        " AND lease_expires_at > {now}",
        "",
        f"{AHEAD}::test_a_message_whose_lease_has_lapsed_is_not_begun_with_the_receipt_of_the_one_before",
    ),
    "an attempt begun by who was asked to stop": _in(
        "sending",
        " or claim.should_stop():",
        ":",
        f"{AHEAD}::test_who_is_asked_to_stop_during_a_send_begins_no_other",
    ),
    "an attempt begun and given up": _in(
        "runner",
        " or left[-1][0].begun_ahead is not None",
        "",
        f"{AHEAD}::test_who_was_asked_to_stop_sends_what_is_begun_and_gives_back_the_rest_untouched",
    ),
    "a beginning believed for ever": _in(
        "sending",
        "time.monotonic() - at < min(_BELIEVED, claim.lease / 10)",
        "True",
        f"{AHEAD}::test_what_was_begun_long_ago_is_asked_for_again_before_it_is_sent",
    ),
    "a copy that nobody sees": _in(
        "copying", "if not cursors.nobody_looks_on(connection):", "if False:", "tests/outbox/test_copying.py"
    ),
    "a copy where there are policies": _in(
        "copying", "return not refused", "return True", "tests/outbox/test_copying.py"
    ),
    "a plan kept that reads the whole table": _in(
        "prepared", 'if any("Seq Scan" in line', 'if any("nothing" in line', PREPARED_PLANS
    ),
    "a name in a transaction": _in("cursors", "if often and connection.autocommit:", "if often:", PREPARED_PLANS),
    "a forgotten name taken for the step's failure": _in(
        "effects", "return isinstance(error, NameForgotten)", "return False", PREPARED_PLANS
    ),
    "a name behind a pooler": _in(
        "prepared", "cursor.fetchone()[0] == cursor.connection.info.backend_pid", "True", PREPARED_PLANS
    ),
    # Transactions in one message with the next -----------------------------------------------------------------------
    "a chained receipt without the fence": _in(
        "stepping",
        "return claim.write_next(",
        "return claim.unfenced().write_next(",
        f"{CHAIN}::test_a_run_that_changed_hands_with_a_commit_gets_no_receipt_from_the_chain",
    ),
    "a chained receipt that nobody counts": _in(
        "opening",
        "others[-1].status == _DONE and others[-1].command_tuples == 1",
        "others[-1].status == _DONE",
        f"{CHAIN}::test_a_run_that_changed_hands_with_a_commit_gets_no_receipt_from_the_chain",
    ),
    "a next step although its process must stop": _in(
        "stepping", "            claim.check()\n        except", "            pass\n        except", CHAIN
    ),
    "a next step before what waits for the commit": _in("chain", "and not connection.run_on_commit", "", CHAIN),
    "a next step before those who listen are told": _in(
        "stepping", "or signals.step_done.receivers:", "or False:", CHAIN
    ),
    "a begun step left open": _in("stepping", "        self._chain.close()", "        pass", CHAIN),
    "a run begun ahead that nobody holds": _in(
        "heartbeat",
        "if not blocks or not blocks[0]._from_testcase:",
        "if not blocks:",
        f"{HEARTBEAT}::test_a_lease_is_renewed_at_a_third_of_it_while_an_external_step_works",
    ),
    "a run begun ahead and not put down": _in("starting", "        stepping.put_down()", "        pass", AT_ONCE),
    "a key that is taken and a run begun all the same": _in(
        "opening", "_changed(written, self._connection) > 0", "True", AT_ONCE
    ),
    "what a run does on its start left out ahead": _in(
        "starting", "if type(run).on_start is _nothing(type(run)):", "if True:", AT_ONCE
    ),
    "an external step begun as if it were the database's": _in(
        "stepping", "if not steps or steps[0].external is not None:", "if not steps:", AT_ONCE
    ),
    "a quote in a value that goes with a name": _in("prepared", """and "'" not in value """, "", PREPARED_PLANS),
    "a backslash in a value that goes with a name": _in("prepared", """and "\\\\" not in value """, "", PREPARED_PLANS),
    "a test's transaction committed by a chain": _in("chain", "and not connection.savepoint_ids  #", "#", CHAIN),
    "a receipt under another isolation than the project's": _in(
        "opening", "            and raw.isolation_level is None\n", "", CHAIN
    ),
    # Decisions of staff ----------------------------------------------------------------------------------------------
    "a decision on a run that was not seen": _in(
        "run",
        "return rows.filter(status=self.status, fence=self.fence)",
        "return rows",
        "tests/desk/test_deciding.py::test_the_update_itself_is_bound_to_what_was_seen",
    ),
    "a skip without the fence": _in(
        "skipping",
        'rows.filter(fence=found["fence"], **',
        "rows.filter(**",
        "tests/durable/test_skipping.py::test_a_claim_between_the_look_and_the_update_wins",
    ),
    "a skip that keeps the fence": _in(
        "skipping",
        'fence=F("fence") + 1,',
        'fence=F("fence"),',
        "tests/durable/test_skipping.py::test_two_people_who_skip_different_steps_do_not_lose_either_decision",
    ),
    "a skip without a word beside the receipt": _in(
        "skipping",
        '"step_log": {**found["step_log"], step: entry}',
        '"step_log": found["step_log"]',
        "tests/durable/test_skipping.py::test_its_receipt_says_by_whom_and_why_after_the_run_is_done",
    ),
    # Leases and clocks -----------------------------------------------------------------------------------------------
    "a renewal that waits": _in(
        "contract", "claimed, waits=False)", "claimed, waits=True)", f"{LOCKS}[heartbeat, stamp-job]"
    ),
    "a renewal past the deadline": _in(
        "contract", "seconds = min(seconds, self.deadline - time.monotonic())", "pass", HEARTBEAT
    ),
    "a receipt that leaves the lease to age": _in(
        "stepping", '{step.column: NOW, "lease_expires_at": Later(claim.lease),', "{step.column: NOW,", CLAIMS
    ),
    "the worker's clock for now": _in(
        "clock",
        'if vendor == "sqlite" else "STATEMENT_TIMESTAMP()"',
        """if vendor == "sqlite" else "'" + __import__("django.utils.timezone").utils.timezone.now().isoformat() + "'::timestamptz\"""",
        STATEMENTS,
        CLOCKS,
    ),
    "the worker's clock for leases": _in(
        "clock",
        """return "STATEMENT_TIMESTAMP() + %s""",
        """return "'" + __import__("django.utils.timezone").utils.timezone.now().isoformat() + "'::timestamptz + %s""",
        STATEMENTS,
        CLOCKS,
    ),
    "the transaction's start for leases": _in(
        "clock", 'return "STATEMENT_TIMESTAMP() + %s', 'return "NOW() + %s', STATEMENTS
    ),
    # Receipts --------------------------------------------------------------------------------------------------------
    "a receipt outside the effect's transaction": _in(
        "effects",
        "            with transactions:\n",
        "            with contextlib.nullcontext():\n",
        "tests/conformance/test_receipts.py",
    ),
    "a receipt after the effect": Mutant(
        module="durable.stepping",
        changes=(
            (
                "            claim.write(self._stamp(step, claim, None, last=last), unless=step.column)\n        began",
                "            pass\n        began",
            ),
            (
                "        took = time.monotonic() - began\n        late:",
                "        took = time.monotonic() - began\n"
                "        claim.write(self._stamp(step, claim, None, last=last), unless=step.column)\n        late:",
            ),
        ),
        tests=(f"{LATE}::test_a_late_owner_does_not_even_begin_a_database_step",),
    ),
    "a receipt before the external call": Mutant(
        module="durable.stepping",
        changes=(
            (
                "            result = step.body(self.job)\n",
                "            commit(claim, step.column, lambda: claim.write(self._stamp(step, claim, None, last=False)))\n"
                "            result = step.body(self.job)\n",
            ),
        ),
        tests=_played("takeover-call"),
    ),
    "a receipt that may be written twice": _in(
        "contract", '        where += f" AND {column[unless]} IS NULL"\n', "        pass\n", LATE_COMMIT
    ),
    "a late COMMIT that is not looked for": _in("effects", "if finished and wrote():", "if False:", LATE_COMMIT),
    "a late COMMIT that ends the attempt": _in("effects", "claim.lost = False  #", "pass  #", LATE_COMMIT),
    "an error after COMMIT that undoes the record": _in(
        "effects",
        "if finished and bool(persistently(claim, wrote)):",
        "if False:",
        "tests/durable/test_transactions.py::test_an_on_commit_callback_that_raises_does_not_undo_the_receipt",
    ),
    "a broken transaction that is committed": _in(
        "effects",
        "    if broken:\n",
        "    if False:\n",
        "tests/durable/test_answers.py::test_a_swallowed_database_error_fails_the_step_instead_of_losing_its_effect",
    ),
    "done before the last step": _in("stepping", "last=not self._todo", "last=True", *_played("takeover-draw+call")),
    "a step that is done again": _in(
        "stepping", "getattr(job, step.column) is None]", "True]", *_played("takeover-call+close")
    ),
    "a key that changes with the claim": _in(
        "jobs", "{self.pk}:{step}", "{self.pk}:{self.fence}:{step}", *_played("takeover-call")
    ),
    # Ends ------------------------------------------------------------------------------------------------------------
    "a run out of sight that is left there": _in(
        "run",
        "lost_from_sight.update(due_at=Now())",
        "pass",
        f"{CLAIMS}::test_an_open_run_that_is_never_due_is_brought_back_by_maintenance",
    ),
    "a settlement that leaves a due time": _in(
        "contract", '            "due_at": None,\n', "", *_played("takeover-draw")
    ),
    "a cancellation that leaves a due time": _in(
        "contract", '"settled_at": Now(), "due_at": None}', '"settled_at": Now()}', *_played("staff_cancels-draw")
    ),
    "a failure that keeps the lease": _in(
        "contract",
        'self.machine.waiting, "lease_expires_at": None,',
        "self.machine.waiting,",
        *_played("failure,_takeover-draw"),
    ),
    "a failure that is never due again": _in(
        "contract", '"due_at": Later(due_in)}', '"due_at": None}', *_played("failure,_takeover-draw")
    ),
    "a wait that costs an attempt": _in(
        "attempt",
        '            "attempts": _not_counted(run),\n',
        "",
        "tests/durable/test_exits.py::test_waiting_costs_no_attempt_and_is_no_failure",
    ),
    "a lost owner that begins another step": _in(
        "contract",
        "        if self.lost:\n",
        "        if False:\n",
        f"{LATE}::test_an_owner_told_that_it_is_late_makes_no_call",
    ),
    # Operations and passes -------------------------------------------------------------------------------------------
    "a beginning stamped without the fence": _in(
        "watching",
        'claim.write(stamp, unless="begun_at")',
        'claim.unfenced().write(stamp, unless="begun_at")',
        f"{BEGINNING}::test_an_owner_that_lost_it_before_its_stamp_begins_nothing",
    ),
    "a beginning that is not stamped before the call": _in(
        "watching",
        "            _stamp(op, claim)\n",
        "",
        f"{BEGINNING}::test_the_intent_and_its_key_are_committed_before_the_call",
    ),
    "a handle kept without the fence": _in(
        "watching",
        'claim.write(kept, unless="accepted_at")',
        'claim.unfenced().write(kept, unless="accepted_at")',
        f"{WATCHING}::test_an_answer_that_comes_after_the_lease_is_logged_with_its_handle",
    ),
    "a doubt that is begun again": _in(
        "watching",
        "    if kind.keyed:\n        return False\n",
        "    return False\n",
        f"{BEGINNING}::test_what_the_far_side_does_not_know_is_unknown_and_not_begun_again",
    ),
    "an operation given back under the same fence": _in(
        "operations",
        '{"status": RUNNING, "fence": claim.fence + 1}',
        '{"status": RUNNING}',
        f"{WATCHING}::test_who_gave_it_back_writes_nothing_more",
    ),
    "a decision that leaves the fence": _in(
        "decisions",
        'return {"fence": F("fence") + 1}',
        "return {}",
        f"{WATCHING}::test_who_held_it_before_a_decision_writes_nothing_after_it",
    ),
    "a cancellation that does not ask whether it was begun": Mutant(
        module="durable.decisions",
        changes=(
            ('if seen["begun_at"] is None:', "if True:"),
            ("same.filter(begun_at__isnull=True)", "same"),
        ),
        tests=(f"{WATCHING}::test_a_cancellation_during_the_call_does_not_lose_the_handle",),
    ),
    "silence that is taken for a failure": _in(
        "watching",
        'raise Ended(op.MACHINE.dead, _silence(op, kind, f"still',
        'raise Ended(FAILED, _silence(op, kind, f"still',
        f"{WATCHING}::test_silence_ends_in_unknown_never_in_failed_and_only_after_a_last_look",
    ),
    "a checkpoint without the fence": _in(
        "syncing",
        "self.claim.write({**self.row.left",
        "self.claim.unfenced().write({**self.row.left",
        "tests/passes/test_passes.py::test_who_lost_it_stops_at_the_next_checkpoint_and_writes_nothing",
    ),
    "a pass that begins at its first row after a crash": _in(
        "syncing",
        "rows if self.row.cursor is None else",
        "rows if True else",
        "tests/passes/test_passes.py::test_a_crash_costs_no_more_than_the_rows_since_the_last_checkpoint",
    ),
    # Plans -----------------------------------------------------------------------------------------------------------
    "a plan's receipt without the fence": _in(
        "executing",
        'self.claim.write({"lease_expires_at": Later(self.claim.lease), "updated_at": NOW}, unless="settled_at")',
        'self.claim.unfenced().write({"lease_expires_at": Later(self.claim.lease), "updated_at": NOW}, unless="settled_at")',
        f"{HEALING}::test_an_owner_that_was_healed_away_writes_nothing_into_a_resumed_plan",
    ),
    "a plan's receipt behind a terminal status": _in(
        "executing",
        '"updated_at": NOW}, unless="settled_at")',
        '"updated_at": NOW}, states=("executing", "failed"))',
        f"{HEALING}::test_an_owner_that_was_healed_away_writes_nothing",
    ),
    "a refusal without the fence": _in(
        "endings",
        "claim.settle(plan.MACHINE.dead, **told(plan, claim, position, error, REFUSED))",
        "claim.unfenced().settle(plan.MACHINE.dead, **told(plan, claim, position, error, REFUSED))",
        f"{HEALING}::test_no_end_of_a_late_owner_is_written",
    ),
    "an interruption without the fence": _in(
        "endings",
        "claim.settle(plan.MACHINE.dead, **told(plan, claim, position, error, INTERRUPTED))",
        "claim.unfenced().settle(plan.MACHINE.dead, **told(plan, claim, position, error, INTERRUPTED))",
        f"{HEALING}::test_no_end_of_a_late_owner_is_written",
    ),
    "a failure without the fence": _in(
        "endings",
        "claim.settle(plan.MACHINE.dead, **told(plan, claim, position, error, FAILURE))",
        "claim.unfenced().settle(plan.MACHINE.dead, **told(plan, claim, position, error, FAILURE))",
        f"{HEALING}::test_no_end_of_a_late_owner_is_written",
    ),
    "a failed step whose effect stays": _in(
        "executing",
        "            with transaction.atomic(using=self.claim.alias):\n                return self._called(position, action)",
        "            return self._called(position, action)",
        "tests/plans/test_executing.py::test_it_stops_at_the_first_step_that_is_not_ok_and_keeps_what_was_done",
    ),
    "a rollback by the database taken for a verdict": _in(
        "executing",
        "(self.claim.timed_out or undone_by_the_database(error, connection, raw))",
        "self.claim.timed_out",
        "tests/plans/test_executing.py::test_C21_what_the_database_rolled_back_is_done_again_and_is_no_verdict",
    ),
    "a payload that is not compared": _in(
        "proving",
        "if digest_of(plan) != plan.digest or granted.digest != plan.digest:",
        "if False:",
        "tests/plans/test_executing.py::test_C47_a_plan_changed_after_its_approval_is_refused",
    ),
    "a digest that the approval does not hold": _in(
        "proving",
        " or granted.digest != plan.digest:",
        ":",
        "tests/plans/test_executing.py::test_C47_a_plan_changed_after_its_approval_is_refused",
    ),
    "a target that is not compared": _in(
        "executing",
        "if payloads.canonical(target.version) != payloads.canonical(wanted):",
        "if False:",
        "tests/plans/test_baselines.py::test_C52_a_target_that_moved_since_is_left_alone_and_the_plan_stops",
    ),
    "an approval after the expiry": _in(
        "deciding",
        "rows = plan._row().filter(digest=digest_of(plan), expires_at__gt=Now())",
        "rows = plan._row().filter(digest=digest_of(plan))",
        f"{DECIDING}::test_an_expired_plan_is_not_approved_and_nobody_is_written_down",
    ),
    "an approval of what was not read": _in(
        "deciding",
        "rows = plan._row().filter(digest=digest_of(plan), expires_at__gt=Now())",
        "rows = plan._row().filter(expires_at__gt=Now())",
        f"{DECIDING}::test_a_plan_that_became_another_since_it_was_read_is_not_approved",
    ),
    "a resumption of any failed plan": _in(
        "deciding",
        "filter(cause=INTERRUPTED, digest=digest_of(plan))",
        "filter(digest=digest_of(plan))",
        f"{DECIDING}::test_only_an_interrupted_plan_can_be_resumed",
    ),
    "a lapsed plan that a worker takes": _in(
        "planned",
        "Lane(also=cls.can_carry_out(), only",
        "Lane(only",
        f"{HEALING}::test_no_worker_takes_a_plan_whose_owner_vanished_or_whose_time_is_over",
    ),
    "an expired plan that a worker takes": _in(
        "planned",
        "Lane(also=cls.can_carry_out(), only=Q(expires_at__gt=Now()), yields=True)",
        "Lane(also=cls.can_carry_out(), yields=True)",
        f"{HEALING}::test_no_worker_takes_a_plan_whose_owner_vanished_or_whose_time_is_over",
    ),
    "an expired plan that run() takes": _in(
        "planned",
        "also=self.can_carry_out(), only=Q(expires_at__gt=Now()))",
        "also=self.can_carry_out())",
        f"{DECIDING}::test_an_approved_plan_that_expired_is_never_begun",
    ),
    "a plan given back that is taken for a lost one": _in(
        "healing",
        "reap(row.filter(status=EXECUTING), fence",
        "reap(row, fence",
        f"{HEALING}::test_a_plan_that_was_given_back_meanwhile_is_not_taken_for_one_whose_owner_vanished",
    ),
}
