"""
Versions: how a step's targets are told to `durable.plans`. Documents are known to `documents`, plans to `durable`; only the
site knows both.
"""

import documents
from durable import Refused, plans

from .models import Contact

__all__ = ["contact", "document"]


def contact(args, context):
    """Return the contact a step renames, at its present version; locked while the step is executed."""
    row = context.lock(Contact.objects.filter(pk=args.id)).first()
    if row is None and not context.executing:
        message = f"There is no contact {args.id}."
        raise Refused(message)
    name = f"contact “{row.name}”" if row else f"contact {args.id}"
    return [plans.Target(kind="contact", id=args.id, version=row.version if row else None, label=name)]


def document(args, context):
    """Return the document a step changes, at its present version. Saving it compares once more, and atomically."""
    name = f"{args.kind} “{args.key}”"
    try:
        version = documents.read(args.kind, args.key).version
    except (documents.NotFound, documents.Gone) as error:
        if not context.executing:
            raise Refused(str(error)) from error
        version = None
    return [plans.Target(kind=f"document.{args.kind}", id=args.key, version=version, label=name)]
