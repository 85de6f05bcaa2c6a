"""
One turn of one contender, in a process of its own: `python -m bench.child '{"module": …, "url": …, …}'`.

The last line of its output is JSON: the figures of this turn, or the reason there are none.
"""

import importlib
import json
import sys
import traceback
from typing import Any

from bench.contender import Contender, Unable
from bench.counting import log_statements
from bench.flights import slow_flush
from bench.turns import TURNS

__all__ = ["main"]

# Set for the contender's database before it connects: a session reads its settings when it begins.
FIRST = {"W9": log_statements, "W10": slow_flush}


def _contender(place: str, url: str) -> Contender:
    module, name = place.split(":")
    return getattr(importlib.import_module(module), name)(url)


def main() -> int:
    order: dict[str, Any] = json.loads(sys.argv[1])
    try:
        if first := FIRST.get(order["workload"]):
            first(order["url"])
        contender = _contender(order["place"], order["url"])
        contender.setup()
        try:
            answer = {"figures": TURNS[order["workload"]](contender, order["url"], order["size"])}
        finally:
            contender.teardown()
    except Unable as reason:
        answer = {"unable": str(reason)}
    except Exception as error:  # whatever a peer raises is its result, kept and shown
        traceback.print_exc()
        answer = {"unable": f"{type(error).__name__}: {error}"}
    sys.stdout.flush()
    print("\n" + json.dumps(answer), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
