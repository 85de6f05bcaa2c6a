"""
Patching: a save that was sent as the values of the attributes that changed.

A closing page may send 64 KiB. So a large document comes as its changed attributes, is made whole here from the version
it was made on, and goes through the one door as if all of it had been sent: the same checks, the same save id, the same
conflict. Only values of attributes which that version has; whatever else changed, the page sends the whole content.
"""

from typing import Any

from . import reading
from .database import database
from .door import Content, read_value, value_of
from .errors import Invalid
from .kinds import DocumentKind
from .merging import ABSENT, same

__all__ = ["patched"]

INSTEAD = "send the whole content"


def patched(kind: DocumentKind, key: str, version: int, values: dict[str, Any]) -> Content:
    """
    Return the content of a version with these values, by attribute id (`/title`, `/attributes/a7`).

    Raise Invalid where it can't be made so: then nothing is wrong with the edit, and a save of the whole content says the
    same. Raise TooLarge or Unrepresentable as the JSON door does.
    """
    if kind.merge is None:
        raise Invalid(("", f"this kind has no attributes; {INSTEAD}"))
    base = reading.text_of(kind.name, key, version, using=database())
    if base is None:
        raise Invalid(("", f"version {version} is not kept; {INSTEAD}"))
    attributes, order = kind.merge.split(value_of(base))
    content = kind.merge.join(attributes | values, order)
    # What is unknown, or renames itself, does not come back as it was sent; a list whose items are attributes is in them.
    again, _ = kind.merge.split(content)
    lists = {name.rpartition("/")[0] for name in order}
    lost = [name for name, value in values.items() if not same(again.get(name, ABSENT), value) or name in lists]
    if lost:
        raise Invalid(*((name, f"is no value of an attribute of version {version}; {INSTEAD}") for name in lost))
    return read_value(content, kind.limits)
