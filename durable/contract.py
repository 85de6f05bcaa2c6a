"""
The contract: who may take a run, and who may write it. This file is the heart, and it imports Django only.

A run is one row. It lives through a small status machine, and every arrow of that machine is one conditional UPDATE
that names the status it leaves. An UPDATE that matches no row is a lost race: a normal outcome, answered with False.

To work on a run a process *claims* it: one statement that skips rows somebody else is claiming, adds 1 to the *fence*,
counts the attempt, and writes a *lease*. The lease says until when nobody else may take the run; it is stamped and
compared with the database's clock alone. The fence says who may write. It only grows, and it stands in the WHERE of
every write an owner makes: receipt, renewal, release, failure, settlement. All of them go through one method,
`Claim.write`, so there is one place to read and one place to break.

The first can lapse while a process sleeps; the second is checked where it counts, in the UPDATE. An owner that lost its
lease finds no row under its fence, gets `LostLease`, and abandons its open transaction, effect and all.

`due_at` is when a run may next be claimed; NULL means nothing more to do. So one plain index serves every claim: waiting
runs whose time has come and runs whose owner vanished stand in it side by side, oldest first. A claimed run keeps its
`due_at`, and a receipt touches no indexed column, so both stay heap-only updates.

A *receipt* is written in the transaction of the effect that it records. That is what `Claim.write` is called for inside
a transaction, before the effect: the UPDATE takes the row lock, so nobody can take the run until the transaction ends.

What follows: Machine · transition · claim · look · release_early · hasten · reap · put_back · Claim · write_together.
"""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from django.db import connections
from django.db.models import (
    BigIntegerField,
    CharField,
    DateTimeField,
    F,
    JSONField,
    PositiveIntegerField,
    Q,
    QuerySet,
    TextField,
)
from django.db.models.functions import Least, Now

from . import cursors
from .clock import InSeconds, later_sql, now_sql, seconds_param
from .errors import Interrupted, LostLease
from .instances import instances_of

__all__ = [
    "NOW",
    "Claim",
    "Later",
    "Machine",
    "Taking",
    "claim",
    "hasten",
    "look",
    "put_back",
    "reap",
    "release_early",
    "transition",
    "unweighed",
    "write_together",
]


_PLAIN = {int, str}
_PLAIN_FIELDS = {CharField, TextField, PositiveIntegerField, BigIntegerField}
_NOTHING_FIELDS = _PLAIN_FIELDS | {DateTimeField}

# Values an owner may write besides plain ones: what they are is decided by the database's clock.
NOW = object()

#: One row that cannot be counted further must not make the claim of all the others fail.
_MOST_ATTEMPTS = 2**31 - 2

#: A claim of more is planned for a limit that the planner is not told.
_FEW = 16


@dataclass(frozen=True, slots=True)
class Later:
    """So many seconds from now, by the database's clock."""

    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """
    The statuses of one shape and the arrows between them.

    A claim leads from `waiting` to `claimed`, and from `claimed` to itself where the lease has lapsed.
    """

    waiting: str
    claimed: str
    done: str  # the terminal status that means success
    dead: str  # the terminal status that means: no more attempts without a person
    terminal: frozenset[str]
    arrows: frozenset[tuple[str, str]]

    @property
    def open(self) -> tuple[str, str]:
        """The statuses a claimer takes runs from."""
        return (self.waiting, self.claimed)


def transition(rows: QuerySet[Any], source: str | tuple[str, ...], target: str, **fields: Any) -> bool:
    """
    Move rows from one status to another, if they are still there.

    For everyone who is not the owner: staff, the program that started the run. A run moved out of its owner's hands gets
    the next fence, so that the owner can write nothing more. A terminal target takes it out of every claimer's sight.

    Args:
        rows: which runs, on any alias; inside or outside a transaction.
        source: the status, or any of the statuses, they must still be in.
        target: the status they get; every arrow must be one of the machine's.
        fields: further columns to set in the same statement.

    Returns:
        Whether any row moved. False means another caller was first: carry on, do not raise.

    Raises:
        ValueError: for an arrow the machine does not have.
    """
    machine: Machine = rows.model.MACHINE
    sources = (source,) if isinstance(source, str) else source
    unlawful = [one for one in sources if (one, target) not in machine.arrows]
    if unlawful:
        message = f"{rows.model._meta.label} has no arrow from {' or '.join(unlawful)} to {target}"
        raise ValueError(message)
    values: dict[str, Any] = {"status": target, "updated_at": Now(), "lease_expires_at": None, "owner": ""}
    if machine.claimed in sources:
        values["fence"] = F("fence") + 1
    if target in machine.terminal:
        values |= {"settled_at": Now(), "due_at": None}
    else:
        values |= {"settled_at": None, "due_at": Now()}
    return rows.filter(status__in=sources).update(**values | fields) > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Taking:
    """Which runs a claimer is after. Whatever it says, only open runs with a free lease are ever taken."""

    pk: Any = None  # this run, whenever it is due
    ahead: bool = False  # also runs whose time has not come: what a restart may have healed
    untouched_since: Any = None  # a database time: only runs that nobody has written later
    within: tuple[tuple[str, Any], ...] = ()  # (column, value): the part of the table, where the index begins with it
    also: tuple[tuple[str, Any], ...] = ()  # (column, value): what the shape's code can carry out
    only: Q | None = None  # whatever else must be true of it, of its own columns

    def condition(self, machine: Machine) -> Q:
        """Return the choice for the ORM."""
        free = Q(lease_expires_at__isnull=True) | Q(lease_expires_at__lte=Now())
        when = Q(due_at__isnull=False) if self.ahead else Q(due_at__lte=Now())
        if self.pk is not None:
            when = Q(pk=self.pk)
        if self.untouched_since is not None:
            when &= Q(updated_at__lte=self.untouched_since)
        return Q(status__in=machine.open) & free & when & Q(**dict((*self.within, *self.also))) & (self.only or Q())


def claim(
    model: type[Any], *, using: str, owner: str, lease: float, limit: int = 1, taking: Taking | None = None
) -> list[tuple[Any, Claim]]:
    """
    Take up to `limit` runs that nobody holds, oldest due first.

    On PostgreSQL it is one statement that never waits for a row somebody else is taking and never takes more than
    `limit`. Elsewhere each run is taken by its own compare-and-swap on the fence. Call it outside a transaction: what it
    takes must be visible to the others at once.

    Args:
        model: a concrete run model.
        using: the database alias.
        owner: who claims; a label for people.
        lease: seconds until others may take the run.
        limit: how many runs at the most.
        taking: which runs; without it, those that are due.

    Returns:
        Pairs of a run as it now stands and the claim that proves the right to write it. Empty: nothing to take.
    """
    taking = taking or Taking()
    if limit < 1:
        return []
    if connections[using].vendor == "postgresql":
        return _claim_in_one_statement(model, using, owner, lease, limit, taking)
    return _claim_one_by_one(model, using, owner, lease, limit, taking)


def look(model: type[Any], *, using: str, taking: Taking) -> tuple[str, list[Any]]:
    """Return a query for one row if `claim` would now find something to take, and its parameters. It locks nothing."""
    if connections[using].vendor == "postgresql":
        picked, params = _picking(cast("Any", model), taking, using)
        return f"SELECT 1 {picked} LIMIT 1", params
    rows = model._base_manager.using(using).filter(taking.condition(model.MACHINE)).order_by("due_at")
    sql, values = rows.values("pk")[:1].query.get_compiler(using=using).as_sql()
    return sql, list(values)


def release_early(rows: QuerySet[Any], *, fence: int, owner: str) -> bool:
    """
    Let a lease lapse now, because its owner provably no longer exists.

    Return whether it was still that owner's. The run itself is not touched: the next claim takes it, with a new fence.
    """
    held = rows.filter(status=rows.model.MACHINE.claimed, fence=fence, owner=owner, lease_expires_at__gt=Now())
    return held.update(lease_expires_at=Now(), updated_at=Now()) > 0


def hasten(rows: QuerySet[Any]) -> bool:
    """Make runs due at once that wait for their time. Return whether any did; nothing but their time is changed."""
    waiting = rows.filter(status=rows.model.MACHINE.waiting, due_at__gt=Now())
    return waiting.update(due_at=Now(), updated_at=Now()) > 0


def reap(rows: QuerySet[Any], *, fence: int, **fields: Any) -> bool:
    """
    Settle as dead a run that nobody holds and that must not be taken again, because its budget is spent.

    Its fence stays. A vanished owner that comes back after all with a success still matches it, and its word is better
    than ours. Return whether the run was still as the caller saw it.
    """
    machine: Machine = rows.model.MACHINE
    free = Q(lease_expires_at__isnull=True) | Q(lease_expires_at__lte=Now())
    settled = {"status": machine.dead, "settled_at": Now(), "updated_at": Now(), "due_at": None}
    left = {"lease_expires_at": None, "owner": ""}
    return rows.filter(free, status__in=machine.open, fence=fence).update(**settled, **left, **fields) > 0


def put_back(rows: QuerySet[Any], *, fence: int, **fields: Any) -> bool:
    """
    Let a run wait again whose owner vanished before it began anything. Return whether it was as the caller saw it.

    Its fence stays, and so does the time of its last change: nothing was done to it.
    """
    machine: Machine = rows.model.MACHINE
    free = Q(lease_expires_at__isnull=True) | Q(lease_expires_at__lte=Now())
    left = {"status": machine.waiting, "lease_expires_at": None, "owner": ""}
    return rows.filter(free, status=machine.claimed, fence=fence).update(**left, **fields) > 0


class Claim:
    """
    The right to change one run, proven to the database on every write.

    Made by `claim()`, or by the INSERT of a run that is born claimed. Used by one thread; `renew` may be called from
    another with that thread's own connection.
    """

    __slots__ = (
        "_stored_key", "alias", "cut_off", "deadline", "fence", "lease", "lost", "lost_owner", "machine", "model", "owner",
        "pk", "should_stop", "timed_out",
    )  # fmt: skip

    def __init__(
        self,
        model: type[Any],
        *,
        using: str,
        pk: Any,
        fence: int,
        owner: str,
        lease: float,
        lost_owner: str | None = None,
    ) -> None:
        self.model: Any = model
        self.machine: Machine = model.MACHINE
        self.alias = using
        self.pk = pk
        self.fence = fence
        self.owner = owner
        self.lease = lease
        self.lost_owner = lost_owner  # who held the run before us and vanished; None where nobody did
        self.lost = False  # a renewal found that somebody else owns the run
        self.timed_out = False  # the step in hand outlived its timeout
        self.deadline: float | None = None  # of the step in hand, by this process's monotonic clock
        self.cut_off: Callable[[], None] | None = None  # ends the open transaction of the step in hand
        self.should_stop: Callable[[], bool] = bool
        self._stored_key: Any = None

    @property
    def by(self) -> str:
        """The owner in the short form that people read: host/pid."""
        return self.owner.partition(" ")[0]

    def __repr__(self) -> str:
        return f"<Claim {self.model._meta.label} {self.pk} fence={self.fence}>"

    def write(
        self,
        changes: Mapping[str, Any],
        *,
        unless: str | None = None,
        states: tuple[str, ...] | None = None,
    ) -> None:
        """
        Write columns of the run, if we still own it. Every write of an owner is this statement.

        Args:
            changes: model field name to value; `NOW` and `Later(seconds)` are the database's to work out.
            unless: a column that must still be NULL: a receipt is written once.
            states: the statuses the run may be in; normally only the claimed one.

        Raises:
            LostLease: no row matched. Nothing was written.
        """
        if not self._update(changes, unless, states or (self.machine.claimed,), waits=True):
            raise self.lost_lease()

    def write_beside(
        self,
        connection: Any,
        changes: Mapping[str, Any],
        beside: tuple[str, Sequence[Any]],
        following: tuple[str, Sequence[Any]] | None = None,
        *,
        states: tuple[str, ...] | None = None,
    ) -> tuple[bool, bool]:
        """
        Do as `write`, with statements of the caller's inside the same one. PostgreSQL only: elsewhere, use a transaction.

        Args:
            connection: this thread's, of the run's alias.
            changes: as for `write`.
            beside: an UPDATE, INSERT or DELETE of another table, with its parameters. It is carried out whether or not the
                run is still ours, and sees the database as it was before.
            following: another one, of which is asked whether it wrote anything.
            states: as for `write`.

        Returns:
            Whether the run was still ours, and is written; and if so, whether `following` wrote anything.
        """
        mine, its_params = self._statement(connection, changes, None, states or (self.machine.claimed,), waits=True)
        if following is None:
            sql, params = _with_others(mine, beside[0], ""), [*beside[1], *its_params]
        else:
            sql, params = _with_others(mine, beside[0], following[0]), [*beside[1], *following[1], *its_params]
        found = cursors.rows(connection, sql, params, often=True)
        return bool(found), bool(found and found[0][0])

    def write_next(self, connection: Any, changes: Mapping[str, Any], *, unless: str) -> bool:
        """
        Commit the open transaction, and begin the next with a receipt as `write` would, in one message to PostgreSQL.

        Nothing of the next transaction can be done before the answer, which says that the first is committed. Call it where
        nobody looks on (`cursors.nobody_looks_on`), in a transaction that may be committed.

        Args:
            connection: this thread's, of the run's alias.
            changes: as for `write`.
            unless: as for `write`.

        Returns:
            Whether the next transaction is begun, with its receipt. If not, `write` is to find out why.

        Raises:
            django.db.Error: as from a COMMIT.
        """
        statement = self._statement(connection, changes, unless, (self.machine.claimed,), waits=True)
        return cursors.chain(connection, *statement)

    def write_ahead(
        self, connection: Any, insertion: tuple[str, Sequence[Any]], changes: Mapping[str, Any], *, unless: str
    ) -> tuple[bool | None, bool]:
        """
        Insert the run, and begin the next transaction with a receipt of it, in one message. See `cursors.write_ahead`.

        Args:
            connection: this thread's, of the run's alias.
            insertion: the INSERT, born claimed, and its parameters.
            changes: as for `write`.
            unless: as for `write`.
        """
        statement = self._statement(connection, changes, unless, (self.machine.claimed,), waits=True)
        return cursors.write_ahead(connection, insertion, statement)

    def check(self) -> None:
        """
        Raise before a step is begun that should not be: the run was lost, or this process was asked to stop.

        Sends nothing. That we own the run is proven by `write`; this only spares work that would be thrown away.
        """
        if self.lost:
            raise self.lost_lease()
        if self.should_stop():
            message = "this process was asked to stop"
            raise Interrupted(message)

    def renew(self) -> bool:
        """
        Extend the lease, but not past the deadline of the step in hand. Return whether the run is still ours.

        Never waits: while our own step holds the row nobody can take the run, and there is nothing to extend.
        """
        seconds = self.lease
        if self.deadline is not None:
            seconds = min(seconds, self.deadline - time.monotonic())
        claimed = (self.machine.claimed,)
        if seconds > 0 and self._update({"lease_expires_at": Later(seconds)}, None, claimed, waits=False):
            return True
        return self._rows().filter(status=self.machine.claimed, fence=self.fence).exists()

    def release(self, *, due_in: float = 0.0, **changes: Any) -> None:
        """
        Give the claim back with the run still open, claimable again after `due_in` seconds.

        Raises:
            LostLease: somebody else owns it already.
        """
        left = {"status": self.machine.waiting, "lease_expires_at": None, "owner": "", "due_at": Later(due_in)}
        self.write({**left, "updated_at": NOW, **changes})

    def settle(self, status: str, *, states: tuple[str, ...] | None = None, **changes: Any) -> None:
        """
        Bring the run to a terminal status, with the changes in the same statement.

        Raises:
            LostLease: somebody else owns it, or it is settled already.
        """
        self.write({**self.settling(status), **changes}, states=states)

    def settling(self, status: str) -> dict[str, Any]:
        """Return what a settlement writes, for a receipt that settles the run with it."""
        if status not in self.machine.terminal:
            message = f"{status!r} is not a terminal status of {self.model._meta.label}"
            raise ValueError(message)
        return {
            "status": status,
            "lease_expires_at": None,
            "owner": "",
            "due_at": None,
            "settled_at": NOW,
            "updated_at": NOW,
        }

    def wrote(self, column: str) -> bool:
        """Return whether the receipt in that column was committed under our fence: what a lost answer leaves open."""
        return self._rows().filter(fence=self.fence, **{f"{column}__isnull": False}).exists()

    def _update(self, changes: Mapping[str, Any], unless: str | None, states: tuple[str, ...], *, waits: bool) -> bool:
        connection = connections[self.alias]
        statement = self._statement(connection, changes, unless, states, waits=waits)
        receipt = unless is not None  # the first statement of its transaction, which `commit` begins again
        return cursors.write(connection, *statement, often=receipt, begins=receipt) == 1

    def _statement(
        self, connection: Any, changes: Mapping[str, Any], unless: str | None, states: tuple[str, ...], *, waits: bool
    ) -> tuple[str, tuple[Any, ...]]:
        shape = _shape(changes)
        waits = waits or not connection.features.has_select_for_update_skip_locked
        sql, given = _owners_update(self.model, connection.vendor, shape, unless, states, waits)
        params = _params(given, changes, connection)
        mine: tuple[Any, ...] = (self.key(connection), self.fence)
        if unless is not None and connection.vendor == "postgresql":
            mine += (self._silence_allowed(),)
        return sql, (*params, *mine) if waits else (*params, *mine, *mine)

    def _silence_allowed(self) -> str:
        """Return how long our transaction may say nothing before the server ends it, in milliseconds."""
        seconds = self.lease if self.deadline is None else max(1.0, self.deadline - time.monotonic())
        return str(round(seconds * 1000))

    def key(self, connection: Any) -> Any:
        """Return the run's primary key as a parameter of a statement of the caller's."""
        if self._stored_key is None:
            self._stored_key = self.model._meta.pk.get_db_prep_value(self.pk, connection)
        return self._stored_key

    def _rows(self) -> QuerySet[Any]:
        rows: QuerySet[Any] = self.model._base_manager.using(self.alias).filter(pk=self.pk)
        return rows

    def lost_lease(self) -> LostLease:
        """Return the error that says the run is not ours any more."""
        self.lost = True
        return LostLease(
            f"{self.model._meta.object_name} {self.pk} has a newer owner or is settled (we hold fence {self.fence}). "
            "Nothing was written; the run goes on without us."
        )


# A receipt holds the run's row until its transaction ends, and a server does not see by itself that its client is gone:
# not while a query runs, and not behind a network that fell silent. So the receipt's own statement bounds both, for its
# transaction alone: a session's settings would be lost, or leak to strangers, in a pooler. What the role or the server
# sets already stays. (Only on Linux can a server look for its client during a query at every supported version.)
_WHILE_WE_HOLD_THE_ROW = (
    " AND CASE current_setting('idle_in_transaction_session_timeout') WHEN '0'"
    " THEN set_config('idle_in_transaction_session_timeout', %s, true) END IS DISTINCT FROM ''"
    " AND CASE WHEN current_setting('client_connection_check_interval') = '0' AND version() LIKE '%%linux%%'"
    " THEN set_config('client_connection_check_interval', '1000', true) END IS DISTINCT FROM ''"
)


def write_together(
    claims: Sequence[Claim],
    changes: Mapping[str, Any],
    each: Mapping[str, Sequence[Any]],
    *,
    beside: str = "",
    states: tuple[str, ...] | None = None,
) -> set[Any]:
    """
    Write the same columns of many runs, those of them that we still own. What `Claim.write` is, for a batch.

    On PostgreSQL it is one statement, with each claim's own fence in it; elsewhere one statement per run, so call it in a
    transaction.

    Args:
        claims: of one model and one alias.
        changes: what every run gets; `NOW` and `Later(seconds)` are the database's to work out.
        each: column to one value per claim, in the order of the claims; plain text and numbers only.
        beside: on PostgreSQL, an UPDATE, INSERT or DELETE of another table inside the same statement, without parameters.
            It reads `mine`, one row per claim with its id, its fence and the columns of `each`, and is carried out
            whether or not those runs are still ours.
        states: the statuses the runs may be in; normally only the claimed one.

    Returns:
        The primary keys of the runs that were ours, and are written. The others have a newer owner.
    """
    if not claims:
        return set()
    one, connection = claims[0], connections[claims[0].alias]
    states = states or (one.machine.claimed,)
    if connection.vendor != "postgresql":
        rows = [{**changes, **{name: values[n] for name, values in each.items()}} for n in range(len(claims))]
        pairs = zip(claims, rows, strict=True)
        return {right.pk for right, row in pairs if right._update(row, None, states, waits=True)}
    sql, given = _owners_batch(one.model, one.alias, _shape(changes), tuple(each), beside, states)
    lists = ([right.pk for right in claims], [right.fence for right in claims], *each.values())
    params = [*map(cursors.as_array, lists), *_params(given, changes, connection)]
    lost = cursors.rows(connection, sql, params, often=True)
    return {right.pk for right in claims} - {row[0] for row in lost}


@functools.lru_cache(maxsize=1024)
def _owners_batch(
    model: Any,
    using: str,
    shape: tuple[tuple[str, str], ...],
    each: tuple[str, ...],
    beside: str,
    states: tuple[str, ...],
) -> tuple[str, list[tuple[str, Any]]]:
    column, table = _columns(model), _quote(model._meta.db_table)
    names = [column[name] for name in ("id", "fence", *each)]
    assignments, given = _assignments(model, "postgresql", shape)
    assignments += [f"{column[name]} = mine.{column[name]}" for name in each]
    fields = [model._meta.get_field(name) for name in ("id", "fence", *each)]
    # A list a column: a statement that names each value takes longer to read than all the rest. From a sub-select the
    # planner takes it for a few rows, which it looks up in the index, instead of so many that it would rather read the
    # whole table.
    lists = ", ".join(f"(SELECT %s::{cursors.array_of(field, connections[using])})" for field in fields)
    statuses = ", ".join(f"'{status}'" for status in states)  # words of a Machine, never a user's
    more = f", beside AS ({beside})" if beside else ""
    key, held = column["id"], unweighed(f"run.{column['status']} IN ({statuses})")
    # Answered with those that were not ours: most often there is none.
    sql = f"""
        WITH mine ({", ".join(names)}) AS (SELECT * FROM UNNEST({lists})){more},
        written AS (
            UPDATE {table} AS run SET {", ".join(assignments)} FROM mine
            WHERE run.{key} = mine.{key} AND run.{column["fence"]} = mine.{column["fence"]}
              AND {held}
            RETURNING run.{key}
        )
        SELECT {key} FROM mine WHERE {key} NOT IN (SELECT {key} FROM written)
    """  # noqa: S608 - names of our own columns, quoted
    return sql, given


@functools.lru_cache(maxsize=1024)
def _with_others(mine: str, beside: str, following: str) -> str:
    if following:
        return (
            f"WITH beside AS ({beside}), following AS ({following} RETURNING 1)"
            f" {mine} RETURNING EXISTS(SELECT FROM following)"
        )
    return f"WITH beside AS ({beside}) {mine} RETURNING FALSE"


def _shape(changes: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return what decides the text of the statement: the columns, and where their values come from."""
    return tuple(
        [
            (
                name,
                "now" if value is NOW
                else "later" if type(value) is Later
                else "nothing" if value is None
                else "empty" if type(value) is str and not value
                else "value",
            )
            for name, value in changes.items()
        ]
    )  # fmt: skip


def _assignments(
    model: Any, vendor: str, shape: tuple[tuple[str, str], ...]
) -> tuple[list[str], list[tuple[str, Any]]]:
    """
    Return what is written as SQL, and each parameter of it: its column, and the field that prepares it.

    Nothing and the empty text stand in the SQL itself: to pass one takes the driver longer than to write it. The field is
    None for a number of seconds.
    """
    column, assignments, given = _columns(model), [], []
    for name, kind in shape:
        field = model._meta.get_field(name)
        right = {"now": now_sql(vendor), "later": later_sql(vendor)}.get(kind, "%s")
        if kind == "nothing" and type(field) in _NOTHING_FIELDS:
            right = "NULL"
        elif kind == "empty" and type(field) in _PLAIN_FIELDS:
            right = "''"
        elif kind != "now":
            given.append((name, None if kind == "later" else field))
        assignments.append(f"{column[name]} = {right}")
    return assignments, given


def _params(given: list[tuple[str, Any]], changes: Mapping[str, Any], connection: Any) -> list[Any]:
    return [
        seconds_param(changes[name].seconds) if field is None else _as_param(field, changes[name], connection)
        for name, field in given
    ]


@functools.lru_cache(maxsize=1024)
def _owners_update(
    model: Any,
    vendor: str,
    shape: tuple[tuple[str, str], ...],
    unless: str | None,
    states: tuple[str, ...],
    waits: bool,
) -> tuple[str, list[tuple[str, Any]]]:
    """Return the statement, and the parameters of what it writes as `_assignments` does."""
    column, table = _columns(model), _quote(model._meta.db_table)
    assignments, given = _assignments(model, vendor, shape)
    statuses = ", ".join(f"'{status}'" for status in states)  # words of a Machine, never a user's
    mine = f"{column['id']} = %s AND {column['fence']} = %s AND {column['status']} IN ({statuses})"
    where = mine
    if unless is not None:
        where += f" AND {column[unless]} IS NULL"
        if vendor == "postgresql":
            where += _WHILE_WE_HOLD_THE_ROW
    if not waits:
        picked = f"SELECT {column['id']} FROM {table} WHERE {mine} FOR UPDATE SKIP LOCKED"  # noqa: S608
        where += f" AND {column['id']} = ({picked})"
    return f"UPDATE {table} SET {', '.join(assignments)} WHERE {where}", given  # noqa: S608 - our own columns, quoted


def _as_param(field: Any, value: Any, connection: Any) -> Any:
    # Text and numbers are what they are: most of what an owner writes needs no preparation.
    if type(value) in _PLAIN and type(field) in _PLAIN_FIELDS:
        return value
    if type(field) is JSONField and type(value) is dict and field.encoder is None:
        return json.dumps(value)  # the text that the field's own adapter would make of it
    return field.get_db_prep_save(value, connection)


def _claim_in_one_statement(
    model: type[Any], using: str, owner: str, lease: float, limit: int, taking: Taking
) -> list[tuple[Any, Claim]]:
    machine: Machine = model.MACHINE
    picked, params = _picking(cast("Any", model), taking, using)
    params += [limit, machine.claimed, machine.claimed, seconds_param(lease), owner, machine.claimed]
    connection = connections[using]
    rows = cursors.rows(connection, _claim_sql(cast("Any", model), picked, limit <= _FEW), params)
    owners = json.loads(rows[0][0]) if rows and rows[0][0] else {}  # by the ids of those that somebody held
    runs = instances_of(model, connection, [row[1:] for row in rows])
    runs.sort(key=lambda run: (run.due_at is None, run.due_at))
    return [(run, _claim_of(run, using, owner, lease, owners.get(str(run.pk)) or None)) for run in runs]


def _picking(model: Any, taking: Taking, using: str) -> tuple[str, list[Any]]:
    """Return which rows a claimer is after, in the order it takes them, from FROM to ORDER BY; and its parameters."""
    connection, field = connections[using], model._meta.get_field
    params: list[Any] = [*model.MACHINE.open]
    if taking.pk is not None:
        params.append(model._meta.pk.get_db_prep_value(taking.pk, connection))
    if taking.untouched_since is not None:
        params.append(taking.untouched_since)
    pairs = (*taking.within, *taking.within, *taking.also)
    params += [field(name).get_db_prep_value(value, connection) for name, value in pairs]
    only, its_params = _where(model, taking.only, using)
    params += its_params
    when = "this" if taking.pk is not None else "ahead" if taking.ahead else "due"
    within, also = (tuple(name for name, _ in pairs) for pairs in (taking.within, taking.also))
    return _picked_sql(model, when, taking.untouched_since is not None, within, also, only), params


@functools.lru_cache(maxsize=1024)
def _where(model: Any, only: Q | None, using: str) -> tuple[str, tuple[Any, ...]]:
    """Return a condition on the run's own columns as SQL for the claim, and its parameters."""
    if only is None:
        return "", ()
    query = model._base_manager.using(using).filter(only).query
    sql, params = query.where.as_sql(query.get_compiler(using=using), connections[using])
    return sql, tuple(params)


@functools.lru_cache(maxsize=1024)
def _picked_sql(
    model: Any, when: str, untouched: bool, within: tuple[str, ...], also: tuple[str, ...], only: str
) -> str:
    now, column, table = now_sql("postgresql"), _columns(model), _quote(model._meta.db_table)
    lease = column["lease_expires_at"]
    # From a sub-select, so that the planner does not know the bound. It may believe that next to nothing has a due time,
    # because nothing had when it last looked; it would then read and sort all that has one by now, for each claim.
    conditions = {
        "due": f"{column['due_at']} <= (SELECT {now})",
        "ahead": f"{column['due_at']} <= (SELECT 'infinity'::timestamptz)",
        "this": f"{column['id']} = %s",
    }[when]
    if untouched:
        conditions += " AND " + unweighed(f"{column['updated_at']} <= %s")
    # Between two rows of the index that begins with them, in its order: an equality is taken for one row in two hundred
    # where there are no statistics, and all of that share would be read and sorted for each claim.
    index = ", ".join(column[name] for name in (*within, "due_at"))
    if within:
        ends = ", ".join(["%s"] * len(within))
        conditions += f" AND ({index}) >= ({ends}, '-infinity')"
        conditions += f" AND ({index}) <= ({ends}, 'infinity')"
    conditions += "".join(f" AND {unweighed(f'{column[name]} = %s')}" for name in also)
    conditions += f" AND {unweighed(only)}" if only else ""
    return f"""FROM {table}
            WHERE {unweighed(f"{column['status']} IN (%s, %s)")} AND {conditions}
              AND {unweighed(f"{lease} IS NULL OR {lease} <= {now}")}
            ORDER BY {index}"""


@functools.lru_cache(maxsize=1024)
def _claim_sql(model: Any, picked: str, few: bool) -> str:
    now, column, table = now_sql("postgresql"), _columns(model), _quote(model._meta.db_table)
    key = column["id"]
    # Where it is taken for more than there are, all that is due would be read and sorted for each claim. A limit that the
    # planner does not know is taken for a tenth of them.
    limit = "%s" if few else "(SELECT %s)"
    # MATERIALIZED: planned as a join, the sub-select could be run again for each row and take more than its limit (C42).
    # As an array, not joined: what is in one is looked up by its key, however many the planner takes it for.
    return f"""
        WITH picked AS MATERIALIZED (
            SELECT {column["id"]}, {column["status"]} AS was_status, {column["owner"]} AS was_owner
            {picked}
            LIMIT {limit}
            FOR UPDATE SKIP LOCKED
        )
        UPDATE {table} AS run SET
            {column["losses"]} =
                LEAST(run.{column["losses"]}, {_MOST_ATTEMPTS})
                + CASE WHEN run.{column["status"]} = %s AND run.{column["owner"]} <> '' THEN 1 ELSE 0 END,
            {column["status"]} = %s,
            {column["fence"]} = run.{column["fence"]} + 1,
            {column["attempts"]} = LEAST(run.{column["attempts"]}, {_MOST_ATTEMPTS}) + 1,
            {column["lease_expires_at"]} = {later_sql("postgresql")},
            {column["owner"]} = %s,
            {column["updated_at"]} = {now}
        WHERE run.{key} = ANY(ARRAY(SELECT {key} FROM picked))
        RETURNING
            (SELECT JSONB_OBJECT_AGG({key}, was_owner) FROM picked WHERE was_status = %s),
            {", ".join("run." + name for name in column.values())}
    """  # noqa: S608 - names of our own columns, quoted


def unweighed(condition: str) -> str:
    """
    Return the condition in a form whose share of rows the planner does not guess.

    Whatever has a due time is open and nearly always ours to carry out. A planner without statistics takes each for one
    row in two hundred, and then reads and sorts every due run for each claim, instead of the first of the index. That
    something is not null, it takes for true of nearly every row. What a batch still holds are a few rows of a large table:
    taken for the only ones that fit, they would be looked for in all of it, once for each of the batch.
    """
    return f"CASE WHEN {condition} THEN TRUE END IS NOT NULL"


def _claim_one_by_one(
    model: type[Any], using: str, owner: str, lease: float, limit: int, taking: Taking
) -> list[tuple[Any, Claim]]:
    machine: Machine = model.MACHINE
    rows: QuerySet[Any] = model._base_manager.using(using)
    takeable = rows.filter(taking.condition(machine)).order_by("due_at")
    claims = []
    for pk, fence, status, was_owner, losses in list(
        takeable.values_list("pk", "fence", "status", "owner", "losses")[:limit]
    ):
        lapsed = status == machine.claimed and was_owner != ""
        taken = rows.filter(taking.condition(machine), pk=pk, fence=fence, status=status).update(
            status=machine.claimed,
            fence=fence + 1,
            attempts=Least(F("attempts"), _MOST_ATTEMPTS) + 1,
            losses=losses + lapsed,
            lease_expires_at=InSeconds(lease),
            owner=owner,
            updated_at=Now(),
        )
        if taken:
            run = rows.get(pk=pk)
            claims.append((run, _claim_of(run, using, owner, lease, was_owner if lapsed else None)))
    return claims


def _claim_of(run: Any, using: str, owner: str, lease: float, lost_owner: str | None) -> Claim:
    return Claim(type(run), using=using, pk=run.pk, fence=run.fence, owner=owner, lease=lease, lost_owner=lost_owner)


def _columns(model: type[Any]) -> dict[str, str]:
    return {field.name: _quote(field.column) for field in model._meta.concrete_fields}


def _quote(name: str | None) -> str:
    return '"{}"'.format(str(name).replace('"', '""'))
