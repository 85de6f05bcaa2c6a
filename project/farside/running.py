"""Both far sides behind their fronts, for as long as a `with` block lasts."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .front import Front
from .keys import Keys
from .process import FarSideError, start

__all__ = ["FarSideError", "FarSides", "running"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FarSides:
    """Where to call, and what was called."""

    stripe: Front
    s3: Front

    def environment(self) -> dict[str, str]:
        """The variables that point the site (see project/settings.py) at these servers."""
        return {"STRIPE_API_BASE": self.stripe.url, "S3_ENDPOINT_URL": self.s3.url}


@contextmanager
def running(folder: Path) -> Iterator[FarSides]:
    """Start both servers and their fronts, logs in the folder; stop all of them at the end."""
    servers, fronts = [], []
    try:
        with ThreadPoolExecutor() as pool:
            started = [pool.submit(start, kind, folder) for kind in ("stripe", "s3")]
        servers.extend(future.result() for future in started if future.exception() is None)
        for future in started:
            future.result()
        stripe, s3 = servers
        fronts.append(Front.start(stripe.url, folder / "stripe-calls.jsonl", keys=Keys()))
        fronts.append(Front.start(s3.url, folder / "s3-calls.jsonl"))
        yield FarSides(stripe=fronts[0], s3=fronts[1])
    finally:
        for part in (*fronts, *servers):
            part.stop()
