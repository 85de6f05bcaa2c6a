"""The operation of the crash suite: a far side that takes a key and can be asked for it. What it takes is in the ledger."""

import os
from pathlib import Path

from durable import polling

from .models import CALLED, outside


@polling.register("crash.errand", every=0.2, give_up_after=3600, keyed=True)
class Errand(polling.ExternalCall):
    def begin(self, op):
        if self.find(op) is None:
            outside(op, "begin")
        return f"h-{op.key}"

    def find(self, op):
        CALLED.append("find")
        ledger = Path(os.environ["CRASH_LEDGER"])
        lines = ledger.read_text().splitlines() if ledger.exists() else []
        return f"h-{op.key}" if any(line.startswith(f"{op.pk} begin ") for line in lines) else None

    def poll(self, op):
        outside(op, "poll")
        return polling.Succeeded(status="finished")
