"""What the far sides received for the two runs of the story, counted per step and key."""

from collections import Counter
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

from project.accounts import bucket
from project.accounts.models import AccountDeletion, SubscriptionOpening
from project.farside import FarSides
from project.farside.calls import Call

__all__ = ["Received", "calls_per_step"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """One kind of request, and how often it arrived."""

    step: str
    request: str
    key: str
    received: int
    statuses: str


def calls_per_step(far_sides: FarSides, opening: SubscriptionOpening, deletion: AccountDeletion) -> list[Received]:
    """Return the calls of both runs, in the order of their steps."""
    kinds = [kind for call in far_sides.stripe.calls() if (kind := _at_stripe(call, opening, deletion))]
    kinds += [kind for call in far_sides.s3.calls() if (kind := _at_s3(call, deletion))]
    statuses: dict[tuple[str, str, str], Counter[int]] = {}
    for step, request, key, status in kinds:
        statuses.setdefault((step, request, key), Counter())[status] += 1
    return [
        Received(
            step=step,
            request=request,
            key=key,
            received=counts.total(),
            statuses=", ".join(f"{count} x {status}" for status, count in sorted(counts.items())),
        )
        for (step, request, key), counts in statuses.items()
    ]


def _at_stripe(call: Call, opening: SubscriptionOpening, deletion: AccountDeletion) -> tuple[str, str, str, int] | None:
    path = urlsplit(call.path).path
    for step in opening.steps():
        if call.key == opening.key_for(step):
            return step, f"{call.method} {path.removeprefix('/v1/').removesuffix('s')}", call.key, call.status
    if path == f"/v1/subscriptions/{deletion.subscription}":
        return "cancel_subscription", f"{call.method} subscription", call.key, call.status
    if path == f"/v1/customers/{deletion.customer}":
        return "delete_customer", f"{call.method} customer", call.key, call.status
    return None


def _at_s3(call: Call, deletion: AccountDeletion) -> tuple[str, str, str, int] | None:
    address = urlsplit(call.path)
    query = parse_qs(address.query, keep_blank_values=True)
    if address.path.strip("/") != deletion.bucket:
        return None
    if call.method == "POST" and "delete" in query:
        return "delete_objects", "POST ?delete", "", call.status
    if query.get("prefix") == [bucket.prefix_for(deletion.user_id)]:
        return "delete_objects", "GET ?versions", "", call.status
    return None
