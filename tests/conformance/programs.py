"""
Programs: what two to four hands do to one run. Every interleaving of each is played.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from durable import Refused, Wait

from .far_side import FAR_SIDE
from .hands import Hand
from .oracle import Doer
from .stage import Cast, Scene
from .verbs import carry_on, free_early, lapse

__all__ = ["PROGRAMS", "Program"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """Some hands, and how the run stands when they begin."""

    name: str
    parts: Callable[[], list[Cast]]
    prepare: Callable[[Any, tuple[str, ...]], None] = lambda run, story: None
    slow: bool = False  # every step takes long enough for its second write
    most_steps: int = 1  # longer stories are for the long suite
    brief: frozenset[str] = frozenset()  # the steps of the usual suite; none: all


def worker(name: str, *, lose_answers: frozenset[int] = frozenset()) -> Cast:
    """Claims the run and carries it on."""

    def work(scene: Scene, hand: Hand) -> None:
        def seen(right: Any) -> None:
            scene.rights[name] = right
            hand.doer.fence = right.fence

        carry_on(scene.subject, scene.pk, name, seen)

    return Cast(doer=Doer(name), work=work, lose_answers=lose_answers)


def beat(of: str) -> Cast:
    """Renews that worker's lease, from a thread of its own."""

    def work(scene: Scene, hand: Hand) -> None:
        hand.until(lambda: of in scene.rights)
        hand.doer.fence = scene.rights[of].fence
        scene.rights[of].renew()

    return Cast(doer=Doer(f"heartbeat of {of}"), work=work)


def time_passes() -> Cast:
    """Lets whatever lease there is run out, once somebody has claimed."""

    def work(scene: Scene, hand: Hand) -> None:
        hand.until(lambda: bool(scene.rights))
        lapse(scene.subject, scene.pk)

    return Cast(doer=Doer("time", clock=True), work=work)


def boot_pass(of: str) -> Cast:
    """Believes that worker dead and frees its lease at once."""

    def work(scene: Scene, hand: Hand) -> None:
        hand.until(lambda: of in scene.rights)
        free_early(scene.subject, scene.rights[of])

    return Cast(doer=Doer("boot pass", clock=True), work=work)


def staff(*verbs: str) -> Cast:
    """Presses those buttons, one after the other."""

    def work(scene: Scene, hand: Hand) -> None:
        run = scene.subject.model(pk=scene.pk)
        run._state.db, run._state.adding = "default", False
        for verb in verbs:
            getattr(scene.subject, verb)(run)

    return Cast(doer=Doer("staff", staff=True), work=work)


def maintenance() -> Cast:
    """Mends what no claimer would see."""

    def work(scene: Scene, hand: Hand) -> None:
        scene.subject.model.maintain("default")

    return Cast(doer=Doer("maintenance", staff=True), work=work)


def fails_first(error: Callable[[], BaseException]) -> Callable[[Any, tuple[str, ...]], None]:
    """The first start of the first step ends in that."""
    return lambda run, story: FAR_SIDE.script(run.pk, story[0], error())


def out_of_sight(run: Any, story: tuple[str, ...]) -> None:
    """A row that no verb of ours makes: open, and never due."""
    type(run)._base_manager.filter(pk=run.pk).update(due_at=None)


def trouble() -> BaseException:
    return RuntimeError("the far side is down")


PROGRAMS: tuple[Program, ...] = (
    Program(name="three workers", parts=lambda: [worker("A"), worker("B"), worker("C")]),
    Program(
        name="takeover",
        parts=lambda: [worker("A"), time_passes(), worker("B")],
        most_steps=2,
        brief=frozenset({"draw", "call"}),
    ),
    Program(
        name="takeover, slow steps",
        parts=lambda: [worker("A"), time_passes(), worker("B")],
        slow=True,
    ),
    Program(name="early takeover", parts=lambda: [worker("A"), boot_pass("A"), worker("B")]),
    Program(
        name="takeover, heartbeat",
        parts=lambda: [worker("A"), beat("A"), time_passes(), worker("B")],
        brief=frozenset({"call"}),
    ),
    Program(name="heartbeat, staff cancels", parts=lambda: [worker("A"), beat("A"), staff("cancel")]),
    Program(name="staff cancels", parts=lambda: [worker("A"), staff("cancel"), worker("B")]),
    Program(
        name="staff cancels, retries",
        parts=lambda: [worker("A"), staff("cancel", "retry"), worker("B")],
        brief=frozenset({"draw", "call"}),
    ),
    Program(
        name="takeover, staff cancels",
        parts=lambda: [worker("A"), time_passes(), staff("cancel"), worker("B")],
        brief=frozenset({"draw"}),
    ),
    Program(
        name="failure, staff retries",
        parts=lambda: [worker("A"), staff("retry"), worker("B")],
        prepare=fails_first(trouble),
    ),
    Program(
        name="failure, takeover", parts=lambda: [worker("A"), time_passes(), worker("B")], prepare=fails_first(trouble)
    ),
    Program(
        name="refusal, staff retries",
        parts=lambda: [worker("A"), staff("retry"), worker("B")],
        prepare=fails_first(lambda: Refused("no such account")),
    ),
    Program(
        name="wait, takeover",
        parts=lambda: [worker("A"), time_passes(), worker("B")],
        prepare=fails_first(lambda: Wait(30, "not yet")),
    ),
    Program(name="lost answer", parts=lambda: [worker("A", lose_answers=frozenset({1})), time_passes(), worker("B")]),
    Program(
        name="lost answer, staff cancels", parts=lambda: [worker("A", lose_answers=frozenset({1})), staff("cancel")]
    ),
    Program(name="out of sight", parts=lambda: [worker("A"), maintenance(), worker("B")], prepare=out_of_sight),
)
