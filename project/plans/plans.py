"""
The actions that plans of this site may consist of.

Renaming a contact, changing a document and sending a mail happen in the database, exactly once: the mail is a message of the
outbox, which then sends it at least once. Opening a customer at Stripe reaches outside; Stripe takes our key, so that a
repeat finds the customer there is.
"""

import json
import uuid
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from django.core.mail import send_mail
from django.db.models import F

import documents
from durable import Refused, plans
from project.accounts import billing

from . import versions
from .models import Contact

__all__ = ["change_document", "close_customer", "open_customer", "rename_contact", "send"]

Email = Annotated[str, {"format": "email", "maxLength": 254}]


@dataclass
class Rename:
    id: int
    name: Annotated[str, {"minLength": 1, "maxLength": 120}]


@plans.action(
    "contact.rename", schema=Rename, targets=versions.contact, undo="contact.rename", risk="low",
    words="Rename contact {id} to “{name}”",
)  # fmt: skip
def rename_contact(args: Rename, context) -> dict[str, Any]:
    """Give the contact its new name, if it is at the version that was approved."""
    rows = Contact.objects.filter(pk=args.id, version=context.baseline("contact", args.id))
    was = rows.values_list("name", flat=True).first()
    if was is None or not rows.update(name=args.name, version=F("version") + 1):
        message = f"Contact {args.id} changed since it was reviewed."
        raise plans.TargetMoved(message)
    return {"was": was, "undo": {"id": args.id, "name": was}}


@dataclass
class Change:
    kind: Literal["sheet", "record"]
    key: str
    content: dict[str, Any]


@plans.action(
    "document.change", schema=Change, targets=versions.document, undo="document.change",
    words=lambda args: f"Replace the content of the {args['kind']} “{args['key']}”",
)  # fmt: skip
def change_document(args: Change, context) -> dict[str, Any]:
    """Save the content on the version that was approved."""
    before, base = documents.read(args.kind, args.key), context.baseline(f"document.{args.kind}", args.key)
    outcome = documents.save(
        args.kind, args.key, args.content, expected_version=base, by=context.approver,
        save_id=uuid.uuid5(uuid.NAMESPACE_URL, context.key), reason=f"plan {context.plan_id}, step {context.position}",
    )  # fmt: skip
    if isinstance(outcome, documents.Conflicted):
        # Raised, so that the refused copy is undone with the step: it stands in the plan already.
        message = (
            f"The {args.kind} “{args.key}” changed since it was reviewed: stored {outcome.head_version}, wanted {base}."
        )
        raise plans.TargetMoved(message)
    undo = {"kind": args.kind, "key": args.key, "content": json.loads(before.text)}
    return {"version": outcome.version, "undo": undo}


@dataclass
class Mail:
    to: Email
    subject: Annotated[str, {"minLength": 1, "maxLength": 200, "pattern": "^[^\r\n]*$"}]
    text: str


@plans.action("mail.send", schema=Mail, risk="medium", words="Send “{subject}” to {to}")
def send(args: Mail, context) -> dict[str, Any]:
    """Post the mail in the step's transaction; a worker of the outbox sends it."""
    send_mail(args.subject, args.text, None, [args.to])
    return {"posted": True}


@dataclass
class Customer:
    email: Email
    payment_method: Annotated[str, {"pattern": "^pm_"}]


@plans.action(
    "customer.open", schema=Customer, external="keyed", undo="customer.close", risk="high", timeout=60,
    words="Open a customer for {email} at Stripe",
)  # fmt: skip
def open_customer(args: Customer, context) -> dict[str, Any]:
    """Open the customer this step's key stands for."""
    customer = billing.create_customer(args.email, args.payment_method, key=context.key)
    return {"customer": customer, "undo": {"customer": customer}}


@dataclass
class Closing:
    customer: str


@plans.action(
    "customer.close", schema=Closing, external="idempotent", risk="high", timeout=60,
    words="Delete customer {customer} at Stripe",
)  # fmt: skip
def close_customer(args: Closing, context) -> None:
    """Delete the customer, if that has not happened yet."""
    if not args.customer.startswith("cus_"):
        message = f"{args.customer} is no customer of Stripe."
        raise Refused(message)
    billing.delete_customer(args.customer)
