"""
Backoff: how long to wait before the next attempt. Pure arithmetic, no clock.

The delay is anchored on the database's clock by whoever writes it down.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

__all__ = ["Backoff"]

#: Ten years. A longer wait is a mistake, and a timestamp far in the future cannot be read back by every driver.
_LONGEST = 315_576_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """
    The spacing of attempts: `base`, `base × factor`, `base × factor²` … up to `cap` seconds, each spread by `jitter`.

    The first two delays are exact to the jitter, and none is ever shorter than its nominal value: jitter only adds.

    Raises:
        ValueError: at declaration, for values that could not space anything.
    """

    base: float = 30.0  # seconds before the second attempt
    factor: float = 4.0  # growth from one attempt to the next
    cap: float = 3600.0  # the longest nominal delay, in seconds
    jitter: float = 0.15  # the most that is added, as a share of the delay
    attempts: int | None = None  # the budget; None: tried until done

    def __post_init__(self) -> None:
        for name, least in (("base", 0.0), ("factor", 1.0), ("cap", 0.0), ("jitter", 0.0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < math.inf:
                message = f"Backoff({name}=…) takes a finite number from {least:g} up, not {value!r}"
                raise ValueError(message)
        if self.cap > _LONGEST:
            message = f"Backoff(cap=…) takes at most {_LONGEST:g} seconds (ten years), not {self.cap!r}"
            raise ValueError(message)
        if self.attempts is not None and (
            isinstance(self.attempts, bool) or not isinstance(self.attempts, int) or self.attempts < 1
        ):
            message = f"Backoff(attempts=…) takes a whole number from 1 up, or None for no limit, not {self.attempts!r}"
            raise ValueError(message)

    def delay(self, attempt: int) -> float:
        """Return the seconds to wait after this many attempts (1 = after the first), jitter included."""
        return self.nominal(attempt) * (1.0 + self.jitter * random.random())  # noqa: S311 - spread, not secrecy

    def nominal(self, attempt: int) -> float:
        """Return the delay without jitter. Any whole number is safe: the power is never computed past the cap."""
        steps = max(0, attempt - 1)
        if self.base == 0 or self.factor == 1 or steps == 0:
            return float(min(self.base, self.cap))
        # Compare logarithms: 4.0 ** 1024 would overflow before min() could help (C27).
        if self.base >= self.cap or steps >= (math.log(self.cap) - math.log(self.base)) / math.log(self.factor):
            return float(self.cap)
        # In two halves: with a tiny base the whole power overflows although the product is under the cap.
        half = steps // 2
        return min(float(self.cap), self.base * self.factor**half * self.factor ** (steps - half))

    def spent(self, attempts: int) -> bool:
        """Return whether the budget allows no further attempt."""
        return self.attempts is not None and attempts >= self.attempts
