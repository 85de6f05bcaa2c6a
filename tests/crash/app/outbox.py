"""The message of the crash suite: posting it is a line in the ledger."""

from durable import Backoff, outbox

from .models import outside


@outbox.handler("crash.letter", external="keyed", attempts=None, backoff=Backoff(base=0.2, factor=1, cap=60))
def post(message):
    outside(message, "post")
    return "letter 7"
